#include "worker/held_task.h"

#include <algorithm>
#include <array>
#include <utility>

#include "worker/faults.h"
#include "worker/frame_buffer.h"
#include "worker/pauses.h"

namespace ff::worker {

namespace {

/// After so many renewals that failed in a row the lease is not to be relied on.
constexpr std::uint32_t unhealthy_failures = 3;
/// Between tries of a finishing operation.
constexpr WorkerBackoff finish_backoff{std::chrono::milliseconds(100),
                                       std::chrono::milliseconds(5'000)};

TaskInfo info_of(ClaimedTask& claimed, const WorkerOptions& options) {
    TaskInfo info;
    info.execution_id = claimed.handle.execution_id;
    info.attempt_index = claimed.handle.attempt_index;
    info.attempt_id = claimed.handle.attempt_id;
    info.attempt_type = claimed.attempt_type;
    info.lease_id = claimed.handle.lease_id;
    info.lease_epoch = claimed.handle.lease_epoch;
    info.ns = std::move(claimed.ns);
    info.lane = claimed.handle.lane_id;
    info.kind = std::move(claimed.execution_kind);
    info.tags = std::move(claimed.tags);
    info.flow_id = claimed.flow_id;
    info.priority = claimed.priority;
    info.resumed = claimed.resumed();
    info.payload_encoding = std::move(claimed.payload_encoding);
    info.attempt_deadline_at = claimed.attempt_deadline_at;
    info.execution_deadline_at = claimed.execution_deadline_at;
    info.policy_snapshot = std::move(claimed.policy_snapshot);
    info.worker_id = options.worker_id;
    info.worker_instance_id = options.worker_instance_id;
    return info;
}

/// The id of a spawned child, the same for every attempt of its parent. Two hashes of 64 bits are
/// plenty for names within one execution; the version says that the rest is our own affair.
ExecutionId child_id(const ExecutionId& parent, const std::string& name) {
    const std::string seed = parent.raw() + name;
    ExecutionId id{parent.partition, {}};
    const std::array halves{fnv1a64("child\n" + seed), fnv1a64(seed + "\nchild")};
    for (std::size_t i = 0; i < id.uuid.bytes.size(); ++i) {
        id.uuid.bytes[i] = static_cast<std::uint8_t>(halves[i / 8] >> (8 * (i % 8)));
    }
    id.uuid.bytes[6] = static_cast<std::uint8_t>((id.uuid.bytes[6] & 0x0FU) | 0x80U);  // version 8
    id.uuid.bytes[8] = static_cast<std::uint8_t>((id.uuid.bytes[8] & 0x3FU) | 0x80U);
    return id;
}

}  // namespace

HeldTask::HeldTask(std::shared_ptr<const Setup> setup, ClaimedTask claimed, TimestampMs received_at)
    : setup_(std::move(setup)),
      handle_(claimed.handle),
      input_(std::move(claimed.input_payload)),
      clock_offset_(received_at - (claimed.lease_expires_at - setup_->options.lease_ttl.count())),
      info_(info_of(claimed, setup_->options)),
      wait_(setup_->options.clock),
      lease_deadline_(received_at + setup_->options.lease_ttl.count()) {}

HeldTask::~HeldTask() { abandon_frames("the task is gone"); }

void HeldTask::log(Severity severity, const std::string& line) const {
    setup_->log(severity, name() + ": " + line);
}

// ------------------------------------------------------------------------------------ liveness

CancelCause HeldTask::cancel_cause() const {
    const std::lock_guard lock(wait_.mutex());
    return cause_;
}

bool HeldTask::lease_healthy() const {
    const std::lock_guard lock(wait_.mutex());
    return failures_ < unhealthy_failures && !lease_over_ && wait_.now() < lease_deadline_;
}

std::uint32_t HeldTask::renewal_failures() const {
    const std::lock_guard lock(wait_.mutex());
    return failures_;
}

TimestampMs HeldTask::lease_deadline() const {
    const std::lock_guard lock(wait_.mutex());
    return lease_deadline_;
}

bool HeldTask::finished() const {
    const std::lock_guard lock(wait_.mutex());
    return finished_;
}

bool HeldTask::finishing() const {
    const std::lock_guard lock(wait_.mutex());
    return finishing_;
}

void HeldTask::request_stop(CancelCause cause) {
    {
        const std::lock_guard lock(wait_.mutex());
        if (cause_ != CancelCause::none || finished_) {
            return;
        }
        cause_ = cause;
    }
    stop_.request_stop();  // runs callbacks of the handler's: no lock is held
}

TimestampMs HeldTask::look_at_time(TimestampMs now) {
    TimestampMs next = ClockWait::never;
    CancelCause cause = CancelCause::none;
    const auto look = [&](TimestampMs at, CancelCause why) {
        if (at > now) {
            next = std::min(next, at);
        } else if (cause == CancelCause::none) {
            cause = why;
        }
    };
    bool ran_out = false;
    {
        const std::lock_guard lock(wait_.mutex());
        if (finished_) {
            return ClockWait::never;
        }
        if (cause_ == CancelCause::none) {
            if (info_.execution_deadline_at) {
                look(local(*info_.execution_deadline_at), CancelCause::deadline);
            }
            if (info_.attempt_deadline_at) {
                look(local(*info_.attempt_deadline_at), CancelCause::attempt_timeout);
            }
        }
        if (!lease_over_) {
            ran_out = lease_deadline_ <= now;
            look(lease_deadline_, CancelCause::lost_lease);
        }
    }
    // The better known reason first: a deadline ends the lease too.
    if (cause != CancelCause::none && cause != CancelCause::lost_lease) {
        request_stop(cause);
    }
    if (ran_out) {
        lose({ErrorCode::lease_expired, "its time ran out before it was renewed", {}});
    }
    return next;
}

/// The lease is gone. While a finishing call is under way its answer tells what became of the task,
/// and the lease may be gone because that call was carried out.
void HeldTask::lose(const Error& error) {
    const TimestampMs now = wait_.now();
    CancelCause cause = CancelCause::none;
    bool awaited = false;
    {
        const std::lock_guard lock(wait_.mutex());
        if (lease_over_ || finished_) {
            return;
        }
        lease_over_ = true;
        awaited = finishing_;
        if (!awaited) {
            count_lost();
            cause = cause_of(error, now);
        }
    }
    abandon_frames("the lease is lost: " + error.message());
    if (awaited) {
        return;
    }
    log(Severity::warn, cause == CancelCause::cancelled
                            ? "the execution was cancelled, by an operator or with its flow"
                            : "the lease is lost: " + error.message());
    if (cause != CancelCause::lost_lease || setup_->options.on_lost_lease == OnLostLease::cancel) {
        request_stop(cause);
    }
}

CancelCause HeldTask::cause_of(const Error& error, TimestampMs now) const {
    const std::string_view outcome = error.field("terminal_outcome");
    if (outcome == "cancelled") {
        return CancelCause::cancelled;
    }
    if (info_.attempt_deadline_at && local(*info_.attempt_deadline_at) <= now) {
        return CancelCause::attempt_timeout;
    }
    return outcome == "expired" ? CancelCause::deadline : CancelCause::lost_lease;
}

// ------------------------------------------------------------------------------------ renewals

bool HeldTask::wants_renewal() const {
    const std::lock_guard lock(wait_.mutex());
    return !finished_ && !lease_over_;
}

Renew HeldTask::renewal() const { return {handle_, setup_->options.lease_ttl.count()}; }

void HeldTask::renewal_answered(TimestampMs sent_at, const expected<RenewResult>& answer) {
    if (answer) {
        setup_->counters->renewals += 1;
        const std::lock_guard lock(wait_.mutex());
        failures_ = 0;
        // From when it was sent: the store counts from later.
        lease_deadline_ = std::max(lease_deadline_, sent_at + setup_->options.lease_ttl.count());
        return;
    }
    if (ends_lease(answer.error())) {
        lose(answer.error());
        return;
    }
    renewal_unanswered();
}

void HeldTask::renewal_unanswered() {
    setup_->counters->renewal_errors += 1;
    std::uint32_t failures = 0;
    {
        const std::lock_guard lock(wait_.mutex());
        failures = ++failures_;
    }
    if (failures == unhealthy_failures) {
        log(Severity::warn, "three renewals of the lease have failed in a row");
    }
}

expected<void> HeldTask::check_unfinished() const {
    const std::lock_guard lock(wait_.mutex());
    if (finished_ || finishing_) {
        return ff::fail(ErrorCode::invalid_input, "task finished");
    }
    return {};
}

expected<void> HeldTask::renew_now() {
    FF_TRY_VOID(check_unfinished());
    const TimestampMs sent_at = setup_->now();
    const auto answer = setup_->engine->run(renewal());
    renewal_answered(sent_at, answer);
    if (!answer) {
        return std::unexpected(answer.error());
    }
    return {};
}

expected<void> HeldTask::progress(Progress op) {
    FF_TRY_VOID(check_unfinished());
    op.lease = handle_;
    FF_TRY_VOID(setup_->engine->run(std::move(op)));
    return {};
}

// -------------------------------------------------------------------------------------- limits

expected<UsageResult> HeldTask::report_usage(ReportUsage op) {
    FF_TRY_VOID(check_unfinished());
    op.lease = handle_;
    const BudgetId budget = op.budget_id;
    FF_TRY(UsageResult result, setup_->engine->run(std::move(op)));
    const std::string reason = "budget " + budget.to_string() + ": " + result.dimension + " " +
                               std::to_string(result.current_usage) + "/" +
                               std::to_string(result.limit);
    if (result.needs_approval) {
        // It waits where the budget's others wait, and goes on with this attempt.
        FF_TRY_VOID(release());
        return ff::fail(ErrorCode::budget_exceeded, reason + "; it goes on when it is approved");
    }
    if (result.outcome != UsageOutcome::hard_breach || result.on_hard_limit != OnHardLimit::fail) {
        return result;
    }
    FF_TRY_VOID(fail(reason, "budget_exceeded"));
    return ff::fail(ErrorCode::budget_exceeded, reason);
}

expected<UsageResult> HeldTask::record_spend(RecordSpend op) {
    FF_TRY_VOID(check_unfinished());
    return setup_->engine->run(std::move(op));
}

expected<ReleaseBudgetResult> HeldTask::release_budget(const ReleaseBudget& op) {
    FF_TRY_VOID(check_unfinished());
    return setup_->engine->run(op);
}

// -------------------------------------------------------------------------------------- stream

std::shared_ptr<FrameBuffer> HeldTask::frames_if_any() const {
    const std::lock_guard lock(wait_.mutex());
    return frames_;
}

std::shared_ptr<FrameBuffer> HeldTask::frames() {
    bool over = false;
    std::shared_ptr<FrameBuffer> made;
    {
        const std::lock_guard lock(wait_.mutex());
        if (frames_) {
            return frames_;
        }
        made = frames_ = std::make_shared<FrameBuffer>(setup_, handle_);
        over = lease_over_ || given_up_;
    }
    if (over) {
        abandon_frames("the lease is lost");
    }
    return made;
}

void HeldTask::abandon_frames(const std::string& why) {
    if (const auto frames = frames_if_any()) {
        frames->abandon({ErrorCode::stale_owner_cannot_append, why, {}});
    }
}

expected<void> HeldTask::write_frame(Frame frame) {
    FF_TRY_VOID(check_unfinished());
    return frames()->write(std::move(frame));
}

expected<AppendedFrame> HeldTask::append_frame(Frame frame) {
    FF_TRY_VOID(check_unfinished());
    const bool patches = frame.mode == FrameMode::summary;
    FF_TRY(AppendedFrame appended, frames()->append(std::move(frame)));
    if (patches && !appended.summary_version) {
        // Its first answer was lost, and the second does not say which version it made. Nobody else
        // writes to this stream.
        FF_TRY(const auto summary,
               setup_->engine->run(ReadStreamSummary{info_.execution_id, info_.attempt_index}));
        appended.summary_version = summary ? std::optional(summary->version) : std::nullopt;
    }
    return appended;
}

expected<void> HeldTask::flush_frames() {
    FF_TRY_VOID(check_unfinished());
    const auto frames = frames_if_any();
    return frames ? frames->flush() : expected<void>();
}

template <class Op>
expected<void> HeldTask::aim(Op& op, std::optional<std::uint32_t> attempt_index) {
    op.execution_id = info_.execution_id;
    op.attempt_index = attempt_index.value_or(info_.attempt_index);
    FF_TRY_VOID(check_unfinished());
    const auto frames = frames_if_any();
    if (frames && op.attempt_index == info_.attempt_index) {
        frames->sync();
    }
    return {};
}

expected<StreamPage> HeldTask::read_stream(ReadStream op,
                                           std::optional<std::uint32_t> attempt_index) {
    FF_TRY_VOID(aim(op, attempt_index));
    return setup_->engine->run(std::move(op));
}

expected<StreamPage> HeldTask::tail_stream(TailStream op,
                                           std::optional<std::uint32_t> attempt_index) {
    FF_TRY_VOID(aim(op, attempt_index));
    op.abandoned = stop_token();
    return setup_->engine->run(std::move(op));
}

expected<std::optional<StreamSummary>> HeldTask::read_summary(
    std::optional<std::uint32_t> attempt_index) {
    ReadStreamSummary op;
    FF_TRY_VOID(aim(op, attempt_index));
    return setup_->engine->run(std::move(op));
}

// ---------------------------------------------------------------------------------------- flow

expected<Inputs> HeldTask::inputs() const {
    FF_TRY(InputsResult found, setup_->engine->run(ReadInputs{info_.execution_id}));
    return Inputs(std::move(found.inputs));
}

expected<SpawnResult> HeldTask::spawn(SpawnChildren op) {
    FF_TRY_VOID(check_unfinished());
    op.lease = handle_;
    for (FlowNode& node : op.nodes) {
        CreateExecution& child = node.execution;
        if (child.ns.empty()) {
            child.ns = info_.ns;
        }
        if (!child.execution_id) {
            child.execution_id = child_id(info_.execution_id, node.name);
        }
    }
    return setup_->engine->run(std::move(op));
}

// ----------------------------------------------------------------------------------- finishing

expected<void> HeldTask::begin_finishing() {
    const std::lock_guard lock(wait_.mutex());
    if (finished_ || finishing_) {
        return ff::fail(ErrorCode::invalid_input, "task finished");
    }
    finishing_ = true;
    return {};
}

void HeldTask::end_finishing(const Error* error) {
    const std::lock_guard lock(wait_.mutex());
    finishing_ = false;
    // An argument that was refused can be given again, another way; nothing else can.
    finished_ = error == nullptr || ends_lease(*error) || may_pass(*error);
    if (error != nullptr && finished_) {
        count_lost();
    }
    lease_over_ = lease_over_ || finished_;
}

void HeldTask::end_finishing_undone() {
    bool lost = false;
    {
        const std::lock_guard lock(wait_.mutex());
        finishing_ = false;
        lost = lease_over_;
        if (lost) {
            count_lost();
        }
    }
    // It was lost while the answer was on its way, when nobody said so.
    if (lost && setup_->options.on_lost_lease == OnLostLease::cancel) {
        request_stop(CancelCause::lost_lease);
    }
}

void HeldTask::count_lost() {
    if (!std::exchange(counted_lost_, true)) {
        setup_->counters->lost += 1;
    }
}

bool HeldTask::try_again(const Error& error, DurationMs pause) {
    std::unique_lock lock(wait_.mutex());
    const TimestampMs now = wait_.now();
    if (given_up_ || !may_pass(error) || now >= lease_deadline_) {
        return false;
    }
    // A renewal may come meanwhile and make the lease longer: this is only how long we pause.
    wait_.until(lock, std::min(now + pause, lease_deadline_), [this] { return given_up_; });
    return true;
}

namespace {

/// Is the task over with this answer? Suspending may find that there is nothing to wait for.
template <class R>
bool ends_task(const R&) {
    return true;
}
bool ends_task(const SuspendResult& result) { return result.suspended; }

std::vector<WaitpointBinding> new_waitpoints(const ResumeCondition& condition) {
    std::vector<WaitpointBinding> bindings;
    for (std::string& key : condition.waitpoint_keys()) {
        bindings.push_back(WaitpointBinding::fresh(std::move(key)));
    }
    if (bindings.empty()) {
        bindings.push_back(WaitpointBinding::fresh());
    }
    return bindings;
}

}  // namespace

template <class Op>
expected<typename Op::Result> HeldTask::finish(const Op& op) {
    FF_TRY_VOID(begin_finishing());
    // While the lease is still ours: whatever ends the attempt closes its stream.
    if (const auto frames = frames_if_any()) {
        frames->drain();
    }
    Pauses pauses(finish_backoff, Pauses::Jitter::fifth);
    bool told = false;
    for (;;) {
        auto answer = setup_->engine->run(op);
        if (answer) {
            ends_task(*answer) ? end_finishing(nullptr) : end_finishing_undone();
            return answer;
        }
        if (!try_again(answer.error(), pauses.next())) {
            end_finishing(&answer.error());
            return answer;
        }
        if (!std::exchange(told, true)) {
            log(Severity::warn,
                std::string(Op::name) +
                    " did not get through and is tried again: " + answer.error().message());
        }
    }
}

expected<Result> HeldTask::complete(std::optional<std::string> bytes,
                                    std::optional<std::string> encoding) {
    FF_TRY_VOID(
        finish(Complete{handle_, std::move(bytes), std::move(encoding), Source::lease_holder}));
    setup_->counters->completed += 1;
    return Result(Result::Kind::completed);
}

expected<Result> HeldTask::fail(const std::string& reason, const std::string& category) {
    FF_TRY(const FailResult failed, finish(Fail{handle_, reason, category, Source::lease_holder}));
    setup_->counters->failed += 1;
    return failed.retry_scheduled ? Result(Result::Kind::retry_scheduled, failed.delay_until)
                                  : Result(Result::Kind::failed);
}

expected<Result> HeldTask::cancel(const std::string& reason) {
    FF_TRY_VOID(finish(CancelExecution{handle_, reason, "worker"}));
    setup_->counters->other_ends += 1;
    return Result(Result::Kind::cancelled);
}

expected<Result> HeldTask::delay_until(TimestampMs at) {
    FF_TRY_VOID(finish(Delay{handle_, at, Source::lease_holder}));
    setup_->counters->other_ends += 1;
    return Result(Result::Kind::delayed, at);
}

expected<Result> HeldTask::wait_children() {
    FF_TRY_VOID(finish(WaitChildren{handle_, Source::lease_holder}));
    setup_->counters->other_ends += 1;
    return Result(Result::Kind::waiting_children);
}

expected<WaitpointTicket> HeldTask::create_waitpoint(const std::string& key, DurationMs ttl_ms) {
    FF_TRY_VOID(check_unfinished());
    return setup_->engine->run(CreateWaitpoint{handle_, key, ttl_ms});
}

expected<SuspendOutcome> HeldTask::suspend(ResumeCondition condition, SuspendOptions options) {
    Suspend op;
    op.lease = handle_;
    op.waitpoints =
        options.waitpoints.empty() ? new_waitpoints(condition) : std::move(options.waitpoints);
    op.resume_condition = std::move(condition);
    if (options.resume_delay) {
        op.resume_policy.resume_delay_ms = options.resume_delay->count();
    }
    op.reason_code = options.reason;
    if (options.timeout) {
        op.timeout_at = later(store_now(), *options.timeout);
    }
    op.timeout_behavior = options.on_timeout;
    op.continuation_metadata_pointer = std::move(options.continuation);
    {
        // An answer that is lost on the way is asked for again, with the same key.
        const std::lock_guard lock(wait_.mutex());
        op.idempotency_key =
            "task:" + handle_.lease_id.to_string() + ":" + std::to_string(++suspends_);
    }
    FF_TRY(SuspendResult answer, finish(op));
    SuspendOutcome outcome;
    outcome.details = std::move(answer.details);
    if (answer.suspended) {
        setup_->counters->other_ends += 1;
        outcome.result = Result(Result::Kind::suspended);
        outcome.result->suspension_ = outcome.details;
    }
    return outcome;
}

expected<std::vector<SignalInfo>> HeldTask::resume_signals() const {
    return setup_->engine->run(ObserveSignals{info_.execution_id, info_.attempt_index});
}

expected<Result> HeldTask::release() {
    FF_TRY_VOID(finish(Release{handle_}));
    setup_->counters->released += 1;
    return Result(Result::Kind::released);
}

void HeldTask::let_go() {
    {
        const std::lock_guard lock(wait_.mutex());
        finished_ = true;
        lease_over_ = true;
        count_lost();
    }
    abandon_frames("the task was let go");
}

void HeldTask::give_up() {
    {
        const std::lock_guard lock(wait_.mutex());
        given_up_ = true;
    }
    wait_.notify();
    abandon_frames("the worker stops");
}

}  // namespace ff::worker
