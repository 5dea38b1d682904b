#include <ff/task.h>

#include <cxxabi.h>

#include <cstdlib>
#include <limits>

#include "worker/held_task.h"

namespace ff {

namespace {

std::string type_name(std::type_index type) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
    return status == 0 ? name.get() : type.name();
}

}  // namespace

void TaskLog::write(Severity severity, std::string_view line) const {
    (*log_)(severity, id_.to_string() + ": " + std::string(line));
}

const TaskInfo& Task::info() const { return held_.info(); }
const std::string& Task::input() const { return held_.input(); }
TaskLog Task::log() const { return {held_.setup().options.log, info().execution_id}; }

expected<json> Task::input_document() const {
    const auto& encoding = info().payload_encoding;
    if (!encoding || encoding->empty() || *encoding == json_encoding) {
        return js::parse(input());
    }
    const auto& decoders = held_.setup().decoders;
    const auto found = decoders.find(*encoding);
    if (found == decoders.end()) {
        return ff::fail(ErrorCode::invalid_input,
                        "the payload is encoded as " + *encoding +
                            "; tell the worker how to read that with Worker::codec");
    }
    return found->second(input());
}

std::shared_ptr<void> Task::find_state(std::type_index type) const {
    const auto& states = held_.setup().states;
    const auto found = states.find(type);
    return found == states.end() ? nullptr : found->second;
}

std::string Task::missing_state(std::type_index type) {
    return "state " + type_name(type) + " was not provided; give it to Worker::provide";
}

// ------------------------------------------------------------------------------------ liveness

std::stop_token Task::stop_token() const { return held_.stop_token(); }
CancelCause Task::cancel_cause() const { return held_.cancel_cause(); }
bool Task::lease_healthy() const { return held_.lease_healthy(); }
std::uint32_t Task::renewal_failures() const { return held_.renewal_failures(); }
TimestampMs Task::lease_deadline() const { return held_.lease_deadline(); }
expected<void> Task::try_renew() { return held_.renew_now(); }

expected<void> Task::try_progress(std::int32_t percent, const std::string& message) {
    Progress op;
    op.percent = percent;
    if (!message.empty()) {
        op.message = message;
    }
    return held_.progress(std::move(op));
}

TimestampMs Task::store_now() const { return held_.store_now(); }

// -------------------------------------------------------------------------------------- limits

namespace {

ReportUsage usage_report(const BudgetId& budget, Amounts amounts, std::string dedup_key) {
    ReportUsage op;
    op.budget_id = budget;
    op.dimensions = std::move(amounts);
    op.dedup_key = std::move(dedup_key);
    return op;
}

}  // namespace

expected<UsageResult> Task::try_report_usage(const BudgetId& budget, Amounts amounts,
                                             std::string dedup_key) {
    return held_.report_usage(usage_report(budget, std::move(amounts), std::move(dedup_key)));
}

expected<UsageResult> Task::try_settle_usage(const BudgetId& budget, Amounts amounts,
                                             std::string dedup_key) {
    ReportUsage op = usage_report(budget, std::move(amounts), std::move(dedup_key));
    op.settle = true;
    return held_.report_usage(std::move(op));
}

expected<UsageResult> Task::try_record_spend(const BudgetId& budget, Amounts amounts,
                                             std::string idempotency_key) {
    return held_.record_spend(
        RecordSpend{budget, execution_id(), std::move(amounts), std::move(idempotency_key)});
}

expected<bool> Task::try_release_budget(const BudgetId& budget) {
    FF_TRY(const ReleaseBudgetResult result,
           held_.release_budget(ReleaseBudget{budget, execution_id()}));
    return result.released;
}

// -------------------------------------------------------------------------------------- stream

namespace {

Frame durable_frame(std::string type, std::string payload, FrameOptions options) {
    Frame frame;
    frame.frame_type = std::move(type);
    frame.payload = std::move(payload);
    frame.kind = options.kind;
    frame.correlation_id = std::move(options.correlation);
    frame.retention_maxlen = options.retention_maxlen;
    return frame;
}

expected<Frame> live_frame(std::string type, std::string payload, std::chrono::milliseconds ttl) {
    if (ttl.count() < 0 || ttl.count() > std::numeric_limits<std::uint32_t>::max()) {
        return ff::fail(ErrorCode::invalid_input, "ttl must be in 0..=4294967295 ms (got " +
                                                      std::to_string(ttl.count()) + ")");
    }
    Frame frame = durable_frame(std::move(type), std::move(payload), {});
    frame.mode = FrameMode::best_effort;
    frame.best_effort.ttl_ms = static_cast<std::uint32_t>(ttl.count());
    return frame;
}

expected<Frame> summary_frame(const json& patch) {
    if (patch.if_object() == nullptr) {
        return ff::fail(ErrorCode::invalid_input, "patch must be a JSON object");
    }
    Frame frame = durable_frame("summary", js::dump(patch), {});
    frame.mode = FrameMode::summary;
    return frame;
}

}  // namespace

expected<AppendedFrame> Task::try_append_bytes(std::string type, std::string payload,
                                               FrameOptions options) {
    return held_.append_frame(
        durable_frame(std::move(type), std::move(payload), std::move(options)));
}

expected<std::uint64_t> Task::try_append_summary(const json& patch) {
    FF_TRY(Frame frame, summary_frame(patch));
    FF_TRY(const AppendedFrame appended, held_.append_frame(std::move(frame)));
    return appended.summary_version.value_or(0);
}

expected<AppendedFrame> Task::try_append_live_bytes(std::string type, std::string payload,
                                                    std::chrono::milliseconds ttl) {
    FF_TRY(Frame frame, live_frame(std::move(type), std::move(payload), ttl));
    return held_.append_frame(std::move(frame));
}

expected<StreamPage> Task::try_read_stream(FrameCursor from, FrameCursor to, std::uint64_t limit,
                                           std::optional<std::uint32_t> attempt_index) {
    ReadStream op;
    op.from = from;
    op.to = to;
    op.limit = limit;
    return held_.read_stream(std::move(op), attempt_index);
}

expected<StreamPage> Task::try_tail_stream(FrameId after, std::chrono::milliseconds block,
                                           std::uint64_t limit, StreamVisibility visibility,
                                           std::optional<std::uint32_t> attempt_index) {
    TailStream op;
    op.after = after;
    op.block_ms = block.count();
    op.limit = limit;
    op.visibility = visibility;
    return held_.tail_stream(std::move(op), attempt_index);
}

expected<std::optional<StreamSummary>> Task::try_read_summary(
    std::optional<std::uint32_t> attempt_index) {
    return held_.read_summary(attempt_index);
}

expected<void> FrameWriter::try_write_bytes(std::string type, std::string payload,
                                            FrameOptions options) {
    return held_->write_frame(
        durable_frame(std::move(type), std::move(payload), std::move(options)));
}

expected<void> FrameWriter::try_write_summary(const json& patch) {
    FF_TRY(Frame frame, summary_frame(patch));
    return held_->write_frame(std::move(frame));
}

expected<void> FrameWriter::try_write_live_bytes(std::string type, std::string payload,
                                                 std::chrono::milliseconds ttl) {
    FF_TRY(Frame frame, live_frame(std::move(type), std::move(payload), ttl));
    return held_->write_frame(std::move(frame));
}

expected<void> FrameWriter::try_flush() { return held_->flush_frames(); }

// ---------------------------------------------------------------------------------------- flow

expected<Inputs> Task::try_inputs() const { return held_.inputs(); }
expected<SpawnResult> Task::try_spawn(SpawnChildren op) { return held_.spawn(std::move(op)); }

// ---------------------------------------------------------------------------------- suspending

expected<WaitpointTicket> Task::try_create_waitpoint(const std::string& key,
                                                     std::chrono::milliseconds ttl) {
    return held_.create_waitpoint(key, ttl.count());
}

expected<SuspendOutcome> Task::try_suspend(ResumeCondition condition, SuspendOptions options) {
    return held_.suspend(std::move(condition), std::move(options));
}

expected<SuspendOutcome> Task::try_suspend_on(const WaitpointTicket& pending,
                                              ResumeCondition condition, SuspendOptions options) {
    options.waitpoints = {WaitpointBinding::pending(pending.waitpoint_id)};
    return held_.suspend(std::move(condition), std::move(options));
}

expected<std::vector<SignalInfo>> Task::try_resume_signals() const {
    return held_.resume_signals();
}

expected<Result> Task::strictly(expected<SuspendOutcome> outcome) {
    FF_TRY(SuspendOutcome done, std::move(outcome));
    if (!done.result) {
        return ff::fail(ErrorCode::already_satisfied,
                        "signals that came before suffice; try_suspend() lets the task go on");
    }
    return std::move(*done.result);
}

// ----------------------------------------------------------------------------------- finishing

expected<Result> Task::try_complete() { return held_.complete(std::nullopt, std::nullopt); }

expected<Result> Task::try_complete_with(std::string bytes, std::optional<std::string> encoding) {
    return held_.complete(std::move(bytes), std::move(encoding));
}

expected<Result> Task::try_fail(const std::string& reason, const std::string& category) {
    return held_.fail(reason, category);
}

expected<Result> Task::try_cancel(const std::string& reason) { return held_.cancel(reason); }
expected<Result> Task::try_delay_until(TimestampMs at) { return held_.delay_until(at); }

expected<Result> Task::try_delay(std::chrono::milliseconds by) {
    return held_.delay_until(later(held_.store_now(), by));
}

expected<Result> Task::try_wait_children() { return held_.wait_children(); }
expected<Result> Task::try_release() { return held_.release(); }

}  // namespace ff
