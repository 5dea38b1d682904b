#include "worker/frame_buffer.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "core/decide.h"
#include "worker/faults.h"
#include "worker/frame_timer.h"

namespace ff::worker {

namespace {

/// Between tries of a batch that did not get through.
constexpr WorkerBackoff send_backoff{std::chrono::milliseconds(100),
                                     std::chrono::milliseconds(5'000)};

/// Is it something about the frames, so that others may be written?
bool concerns_frames(const Error& error) {
    switch (error.code) {
        case ErrorCode::invalid_input:
        case ErrorCode::invalid_frame_type:
        case ErrorCode::retention_limit_exceeded:
        case ErrorCode::corruption: return true;  // of the summary document: others can be written
        default: return false;
    }
}

}  // namespace

FrameBuffer::FrameBuffer(std::shared_ptr<const Setup> setup, const Handle& handle)
    : setup_(std::move(setup)),
      handle_(handle),
      wait_(setup_->options.clock),
      last_number_(handle.lease_epoch << 32U),
      pauses_(send_backoff, Pauses::Jitter::fifth) {}

/// About what a frame takes in memory and in a request.
std::size_t FrameBuffer::weight(const Frame& frame) {
    return frame.payload.size() + frame.frame_type.size() +
           frame.correlation_id.value_or("").size() + 64;
}

/// What can be seen to be wrong is said at once, to whoever did it.
expected<Frame> FrameBuffer::checked(Frame frame) {
    AppendFrames one;
    one.frames.push_back(std::move(frame));
    FF_TRY_VOID(core::validate(one));
    return std::move(one.frames[0]);
}

// ------------------------------------------------------------------------------------- writing

expected<void> FrameBuffer::write(Frame frame) {
    FF_TRY(frame, checked(std::move(frame)));
    Lock lock(wait_.mutex());
    FF_TRY_VOID(told());
    wait_.until(lock, ClockWait::never, [&] { return broken_ || has_room(frame); });
    FF_TRY_VOID(told());
    push(std::move(frame));
    send_due(lock);
    return {};
}

expected<AppendedFrame> FrameBuffer::append(Frame frame) {
    FF_TRY(frame, checked(std::move(frame)));
    Lock lock(wait_.mutex());
    if (broken_) {
        return std::unexpected(*broken_);
    }
    push(std::move(frame));
    urgent_up_to_ = last_number_;
    Waiter waiter{last_number_, std::nullopt};
    waiters_.push_back(&waiter);
    send_due(lock);
    lock.lock();
    wait_.until(lock, ClockWait::never, [&] { return waiter.answer.has_value(); });
    std::erase(waiters_, &waiter);
    return std::move(*waiter.answer);
}

expected<void> FrameBuffer::flush() {
    Lock lock(wait_.mutex());
    wait_settled(lock);
    return told();
}

void FrameBuffer::sync() {
    Lock lock(wait_.mutex());
    wait_settled(lock);
}

void FrameBuffer::drain() {
    Lock lock(wait_.mutex());
    wait_settled(lock);
    std::string line;
    if (const auto refused = std::exchange(refused_, std::nullopt)) {
        line = std::to_string(std::exchange(refused_count_, 0)) +
               " frame(s) of its stream were refused: " + refused->message();
    }
    if (const std::size_t lost = std::exchange(lost_count_, 0); lost > 0) {
        line = std::to_string(lost) + " frame(s) of its stream are lost: " + broken_->message();
    }
    lock.unlock();
    if (!line.empty()) {
        setup_->log(Severity::warn, handle_.execution_id.to_string() + ": " + line);
    }
}

void FrameBuffer::abandon(const Error& why) {
    {
        const Lock lock(wait_.mutex());
        if (!broken_) {
            break_off(why);
        }
    }
    wait_.notify();
}

void FrameBuffer::on_time() {
    Lock lock(wait_.mutex());
    timer_at_.reset();
    set_timer();  // when it was set for something that has gone since
    send_due(lock);
}

void FrameBuffer::wait_settled(Lock& lock) {
    const std::uint64_t number = last_number_;
    urgent_up_to_ = number;
    send_due(lock);
    lock.lock();
    wait_.until(lock, ClockWait::never, [&] {
        // Others may go on writing: only what was there is waited for.
        const bool sent = waiting_.empty() || *waiting_.front().client_seq > number;
        const bool answered = batch_.empty() || *batch_.front().client_seq > number;
        return broken_ || (sent && answered);
    });
}

expected<void> FrameBuffer::told() {
    if (broken_) {
        lost_count_ = 0;
        return std::unexpected(*broken_);
    }
    if (auto refused = std::exchange(refused_, std::nullopt)) {
        refused_count_ = 0;
        return std::unexpected(std::move(*refused));
    }
    return {};
}

void FrameBuffer::push(Frame frame) {
    if (waiting_.empty() && state_ != State::pausing) {
        send_at_ = wait_.now() + flush_after_ms;
    }
    frame.client_seq = ++last_number_;
    waiting_bytes_ += weight(frame);
    waiting_.push_back(std::move(frame));
    set_timer();
}

bool FrameBuffer::has_room(const Frame& frame) const {
    return waiting_.empty() || (waiting_.size() < waiting_frames_max &&
                                waiting_bytes_ + weight(frame) <= waiting_bytes_max);
}

// ------------------------------------------------------------------------------------- sending

bool FrameBuffer::is_due() const {
    if (broken_ || state_ == State::sending) {
        return false;
    }
    if (state_ == State::pausing) {
        return wait_.now() >= send_at_;
    }
    return !waiting_.empty() &&
           (waiting_.size() >= flush_frames || waiting_bytes_ >= flush_bytes || alone_ > 0 ||
            *waiting_.front().client_seq <= urgent_up_to_ || wait_.now() >= send_at_);
}

/// The timer holds one time for each buffer, the earliest.
void FrameBuffer::set_timer() {
    const bool wanted =
        !broken_ && (state_ == State::pausing || (state_ == State::idle && !waiting_.empty()));
    if (wanted && (!timer_at_ || *timer_at_ > send_at_)) {
        timer_at_ = send_at_;
        setup_->frame_timer->set(weak_from_this(), send_at_);
    }
}

void FrameBuffer::send_due(Lock& lock) {
    if (is_due()) {
        send(lock);
    } else {
        lock.unlock();
    }
}

void FrameBuffer::send(Lock& lock) {
    if (state_ == State::idle) {
        take_batch();
    }
    state_ = State::sending;
    AppendFrames op;
    op.lease = handle_;
    op.frames = batch_;
    lock.unlock();
    // Those who wait for room. The answer may come before the next line is done: no lock is held.
    wait_.notify();
    setup_->engine->async(
        std::move(op),
        [self = shared_from_this()](expected<AppendResult> answer) { self->answered(answer); });
}

void FrameBuffer::take_batch() {
    const std::size_t most = alone_ > 0 ? 1 : frames_per_append_max;
    alone_ -= alone_ > 0 ? 1 : 0;
    std::size_t bytes = 0;
    while (!waiting_.empty() && batch_.size() < most) {
        const std::size_t size = weight(waiting_.front());
        if (!batch_.empty() && bytes + size > batch_bytes_max) {
            break;
        }
        bytes += size;
        batch_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    waiting_bytes_ -= bytes;
    send_at_ = wait_.now() + flush_after_ms;  // of those that are left, or come
}

/// On a thread of the engine's.
void FrameBuffer::answered(const expected<AppendResult>& answer) {
    Lock lock(wait_.mutex());
    if (broken_) {
        return;
    }
    if (answer) {
        settle(*answer);
    } else if (may_pass(answer.error())) {
        pause(answer.error());
    } else if (concerns_frames(answer.error())) {
        refuse_batch(answer.error());
    } else {
        break_off(answer.error());
    }
    set_timer();
    wait_.notify();
    send_due(lock);
}

FrameBuffer::Waiter* FrameBuffer::waiter_of(const Frame& frame) {
    const auto found = std::ranges::find(waiters_, *frame.client_seq, &Waiter::number);
    return found == waiters_.end() ? nullptr : *found;
}

void FrameBuffer::settle(const AppendResult& result) {
    for (std::size_t i = 0; i < batch_.size(); ++i) {
        if (Waiter* waiter = waiter_of(batch_[i])) {
            waiter->answer = result.appended[i];
        }
    }
    batch_.clear();
    state_ = State::idle;
    pauses_.reset();
    told_pause_ = false;
}

void FrameBuffer::pause(const Error& error) {
    state_ = State::pausing;
    send_at_ = wait_.now() + pauses_.next();
    if (!std::exchange(told_pause_, true)) {
        setup_->log(Severity::warn, handle_.execution_id.to_string() +
                                        ": frames of its stream did not get through and are sent "
                                        "again: " +
                                        error.message());
    }
}

/// All of a batch is refused for one of its frames: each is tried by itself.
void FrameBuffer::refuse_batch(const Error& error) {
    state_ = State::idle;
    if (batch_.size() > 1) {
        alone_ += batch_.size();
        for (auto& frame : std::views::reverse(batch_)) {
            waiting_bytes_ += weight(frame);
            waiting_.push_front(std::move(frame));
        }
    } else if (Waiter* waiter = waiter_of(batch_[0])) {
        waiter->answer = std::unexpected(error);
    } else {
        refused_count_ += 1;
        if (!refused_) {
            refused_ = error;
        }
    }
    batch_.clear();
}

void FrameBuffer::break_off(const Error& error) {
    broken_ = error;
    lost_count_ = batch_.size() + waiting_.size();
    for (Waiter* waiter : waiters_) {
        if (!waiter->answer) {
            waiter->answer = std::unexpected(error);
            lost_count_ -= 1;  // somebody is told
        }
    }
    batch_.clear();
    waiting_.clear();
    waiting_bytes_ = 0;
    alone_ = 0;
}

}  // namespace ff::worker
