#include <ff/follow.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <ff/client.h>

#include "client/wait.h"

namespace ff {

namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock;

/// A wait for an attempt that runs: its frames and its end are heard of at once.
constexpr DurationMs block_ms = 20'000;
/// A wait for one that has not begun. Nobody says when it never will.
constexpr DurationMs short_block_ms = 1'000;
constexpr std::uint64_t frames_a_page = 500;
/// Between looks at an engine that does not wait: one that only reads a store.
constexpr milliseconds idle_pause_first{20};
constexpr milliseconds idle_pause_max{250};
constexpr milliseconds away_pause_first{100};
constexpr milliseconds away_pause_max{2'000};

/// A pause that ends when `stop` is asked for.
void pause_for(milliseconds time, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

std::string FollowCursor::to_string() const {
    return std::to_string(attempt_index) + ":" + after.to_string();
}

expected<FollowCursor> FollowCursor::parse(std::string_view text) {
    FollowCursor out;
    const std::size_t colon = text.find(':');
    const std::string_view digits = text.substr(0, colon);
    const auto [end, fault] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out.attempt_index);
    if (colon == std::string_view::npos || digits.empty() || fault != std::errc() ||
        end != digits.data() + digits.size()) {
        return ff::fail(ErrorCode::invalid_input,
                        "a place is <attempt>:<ms>-<seq>, not '" + std::string(text) + "'");
    }
    FF_TRY(const FrameCursor place, FrameCursor::parse(text.substr(colon + 1)));
    if (place.at == FrameCursor::At::end) {
        return ff::fail(ErrorCode::invalid_input, "a place is behind a frame, not at the end");
    }
    out.after = place.id;  // of `start` the first
    return out;
}

Following::Following(std::shared_ptr<Engine> engine, ExecutionId id, FollowOptions options)
    : engine_(std::move(engine)),
      id_(std::move(id)),
      options_(std::move(options)),
      attempt_(options_.attempt_index.value_or(options_.from.attempt_index)),
      after_(attempt_ == options_.from.attempt_index ? options_.from.after : FrameId{}),
      cursor_{attempt_, after_} {}

expected<std::optional<FollowedFrame>> Following::try_next() {
    while (at_ == page_.size()) {
        if (ended_ || options_.stop.stop_requested()) {
            return std::optional<FollowedFrame>();
        }
        FF_TRY(const Next next, known_ ? read() : look());
        if (next == Next::end) {
            return std::optional<FollowedFrame>();
        }
    }
    FollowedFrame out;
    static_cast<StreamFrame&>(out) = std::move(page_[at_++]);
    out.attempt_index = attempt_;
    cursor_ = out.cursor();
    return std::optional(std::move(out));
}

expected<Following::Next> Following::read() {
    TailStream op;
    op.execution_id = id_;
    op.attempt_index = attempt_;
    op.after = after_;
    op.block_ms = !options_.wait ? 0 : begun_ ? block_ms : short_block_ms;
    op.limit = frames_a_page;
    op.visibility = options_.visibility;
    op.frame_types = options_.frame_types;
    op.abandoned = options_.stop;
    const auto asked = SteadyTime::now();
    FF_TRY(StreamPage page, ask(op));
    if (!page.frames.empty()) {
        idle_pause_ = milliseconds(0);
        page_ = std::move(page.frames);
        at_ = 0;
        after_ = page_.back().id;
        begun_ = true;
        return Next::frames;
    }
    if (page.closed_at) {
        closed_ = page.closed_reason;
        return after_closure();
    }
    return after_nothing(SteadyTime::now() - asked < idle_pause_first);
}

/// There is nothing new, and the stream is open.
expected<Following::Next> Following::after_nothing(bool came_early) {
    FF_TRY(const Next next, look());
    if (!options_.wait) {
        return Next::end;
    }
    if (came_early && next != Next::end) {
        pause_for(idle_pause_, options_.stop);
        idle_pause_ = std::clamp(idle_pause_ * 2, idle_pause_first, idle_pause_max);
    }
    return next;
}

/// The stream of an attempt is closed and read. There may be another attempt, now or later.
expected<Following::Next> Following::after_closure() {
    if (options_.attempt_index) {
        ended_ = true;
        return Next::end;
    }
    attempt_ += 1;
    after_ = {};
    begun_ = false;
    FF_TRY(const Next next, look());
    if (next != Next::end) {
        cursor_ = {attempt_, after_};
    }
    return next == Next::look_again && !begun_ && !options_.wait ? Next::end : next;
}

/// Has the attempt begun, and if not, may it still?
expected<Following::Next> Following::look() {
    FF_TRY(const auto found, ask(DescribeExecution{id_}));
    if (!found && !known_) {
        return ff::fail(ErrorCode::execution_not_found, "execution not found: " + id_.to_string());
    }
    known_ = true;
    begun_ = found && attempt_ < found->total_attempt_count;
    // One that is gone has ended long ago.
    ended_ = !begun_ && (!found || client::has_ended(found->info.public_state));
    return ended_ ? Next::end : Next::look_again;
}

template <class Op>
expected<typename Op::Result> Following::ask(const Op& op) {
    const auto until = SteadyTime::now() + options_.patience;
    milliseconds pause = away_pause_first;
    for (;;) {
        auto answer = engine_->run(op);
        if (answer || !info(answer.error().code).retryable || options_.stop.stop_requested() ||
            SteadyTime::now() + pause > until) {
            return answer;
        }
        pause_for(pause, options_.stop);
        pause = std::min(pause * 2, away_pause_max);
    }
}

// -------------------------------------------------------------------------------- of the client

Following Client::follow(const ExecutionId& id, FollowOptions options) {
    return {engine_, id, std::move(options)};
}

Following Client::follow(const ExecutionId& id, std::uint32_t attempt_index) {
    FollowOptions options;
    options.attempt_index = attempt_index;
    return follow(id, std::move(options));
}

expected<std::unique_ptr<Subscription>> Client::try_subscribe(EventFamily family, EventCursor from,
                                                              EventFilter filter) {
    return engine_->subscribe(family, from, std::move(filter));
}

expected<std::optional<StreamSummary>> Client::try_summary(
    const ExecutionId& id, std::optional<std::uint32_t> attempt_index) {
    if (!attempt_index) {
        FF_TRY(const auto found, engine_->run(DescribeExecution{id}));
        if (!found || found->total_attempt_count == 0) {
            return std::optional<StreamSummary>();
        }
        attempt_index = found->total_attempt_count - 1;
    }
    return engine_->run(ReadStreamSummary{id, *attempt_index});
}

}  // namespace ff
