#include <ff/task.h>

#include <cxxabi.h>

#include <cstdlib>

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

expected<UsageResult> Task::try_report_usage(const BudgetId& budget, Amounts amounts,
                                             std::string dedup_key) {
    ReportUsage op;
    op.budget_id = budget;
    op.dimensions = std::move(amounts);
    op.dedup_key = std::move(dedup_key);
    return held_.report_usage(std::move(op));
}

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
    return held_.delay_until(held_.store_now() + by.count());
}

expected<Result> Task::try_wait_children() { return held_.wait_children(); }
expected<Result> Task::try_release() { return held_.release(); }

}  // namespace ff
