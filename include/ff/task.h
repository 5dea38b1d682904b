// Task: one claimed execution as its handler sees it, and what a handler may answer.
//
// The worker owns it and keeps its lease renewed; a handler gets a reference that is good until the
// handler returns, and may use it from threads of its own until then. Everything here may be called
// from any thread. Calls that throw ff::Exception have a twin `try_…` that gives expected<T>. Once
// the task is finished, every call to the engine is refused with `task finished`.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include <ff/codec.h>
#include <ff/contracts.h>
#include <ff/exception.h>
#include <ff/flow_builder.h>
#include <ff/frame_writer.h>
#include <ff/inputs.h>
#include <ff/logging.h>
#include <ff/submit.h>

namespace ff {

namespace worker {
class HeldTask;
}

/// The facts about a task, as it was claimed.
struct TaskInfo {
    ExecutionId execution_id;
    std::uint32_t attempt_index = 0;
    AttemptId attempt_id;
    AttemptType attempt_type = AttemptType::initial;
    LeaseId lease_id;
    std::uint64_t lease_epoch = 0;
    std::string ns;
    std::string lane;
    std::string kind;
    Tags tags;
    std::optional<FlowId> flow_id;
    std::int32_t priority = 0;
    bool resumed = false;  ///< the attempt goes on after a pause
    std::optional<std::string> payload_encoding;
    std::optional<TimestampMs> attempt_deadline_at;    ///< by the store's clock
    std::optional<TimestampMs> execution_deadline_at;  ///< by the store's clock
    std::optional<std::string> policy_snapshot;        ///< JSON
    std::string worker_id;
    std::string worker_instance_id;
};

/// Why a handler should stop.
FF_WORD_ENUM(CancelCause, none, cancelled, lost_lease, attempt_timeout, deadline, drain)

/// How a task was finished. Only a Task makes one: a handler that has one in hand is done.
class Result {
  public:
    enum class Kind : std::uint8_t {
        completed,
        retry_scheduled,
        failed,
        cancelled,
        delayed,
        waiting_children,
        suspended,
        released
    };

    [[nodiscard]] Kind kind() const { return kind_; }
    /// When it runs again: set for `retry_scheduled` and `delayed`.
    [[nodiscard]] std::optional<TimestampMs> delay_until() const { return delay_until_; }
    /// Where signals may be sent to, and with which tokens: set for `suspended`.
    [[nodiscard]] const std::optional<SuspensionDetails>& suspension() const { return suspension_; }

  private:
    friend class worker::HeldTask;
    explicit Result(Kind kind, std::optional<TimestampMs> delay_until = {})
        : kind_(kind), delay_until_(delay_until) {}

    Kind kind_;
    std::optional<TimestampMs> delay_until_;
    std::optional<SuspensionDetails> suspension_;
};

/// How a task suspends itself. What is not said is the policy's or the engine's to say.
struct SuspendOptions {
    std::optional<std::chrono::milliseconds> timeout;  ///< from now
    TimeoutBehavior on_timeout = TimeoutBehavior::fail;
    SuspensionReason reason = SuspensionReason::waiting_for_signal;
    std::optional<std::chrono::milliseconds> resume_delay;
    std::optional<std::string> continuation;  ///< for whoever resumes; opaque
    /// Empty: a new one for every key that the condition names.
    std::vector<WaitpointBinding> waitpoints;
};

/// What became of a try to suspend.
struct SuspendOutcome {
    std::optional<Result> result;  ///< suspended; absent: early signals suffice, the lease stays
    SuspensionDetails details;
    [[nodiscard]] bool suspended() const { return result.has_value(); }
};

/// Thrown by a handler to fail with a category of its choice; retry policies look at the category.
/// `transient`, `permanent`, `infra_crash`, `timeout` and `cancelled` are known to the engine, any
/// other counts as transient.
class TaskFailure : public std::runtime_error {
  public:
    TaskFailure(std::string category, const std::string& reason)
        : std::runtime_error(reason), category_(std::move(category)) {}
    [[nodiscard]] const std::string& category() const { return category_; }

  private:
    std::string category_;
};

/// Lines for people, each with the id of the execution.
class TaskLog {
  public:
    TaskLog(const LogFn& log, const ExecutionId& id) : log_(&log), id_(id) {}
    void write(Severity severity, std::string_view line) const;
    void debug(std::string_view line) const { write(Severity::debug, line); }
    void info(std::string_view line) const { write(Severity::info, line); }
    void warn(std::string_view line) const { write(Severity::warn, line); }
    void error(std::string_view line) const { write(Severity::error, line); }

  private:
    const LogFn* log_;
    ExecutionId id_;
};

class Task {
  public:
    explicit Task(worker::HeldTask& held) : held_(held) {}
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    // ------------------------------------------------------------------------------- facts

    [[nodiscard]] const TaskInfo& info() const;
    [[nodiscard]] const ExecutionId& execution_id() const { return info().execution_id; }
    [[nodiscard]] std::uint32_t attempt_index() const { return info().attempt_index; }
    [[nodiscard]] const AttemptId& attempt_id() const { return info().attempt_id; }
    [[nodiscard]] AttemptType attempt_type() const { return info().attempt_type; }
    [[nodiscard]] const LeaseId& lease_id() const { return info().lease_id; }
    [[nodiscard]] std::uint64_t lease_epoch() const { return info().lease_epoch; }
    [[nodiscard]] const std::string& ns() const { return info().ns; }
    [[nodiscard]] const std::string& lane() const { return info().lane; }
    [[nodiscard]] const std::string& kind() const { return info().kind; }
    [[nodiscard]] const Tags& tags() const { return info().tags; }
    [[nodiscard]] const std::optional<FlowId>& flow_id() const { return info().flow_id; }
    [[nodiscard]] std::int32_t priority() const { return info().priority; }
    [[nodiscard]] bool resumed() const { return info().resumed; }

    /// The payload as it was submitted, byte for byte.
    [[nodiscard]] const std::string& input() const;
    /// The payload decoded: JSON, or what the worker's codec for its encoding makes of it.
    template <class T>
    [[nodiscard]] expected<T> try_input_as() const {
        if constexpr (std::same_as<T, std::string>) {
            return input();
        } else {
            FF_TRY(const json document, input_document());
            return from_json<T>(document);
        }
    }
    template <class T>
    [[nodiscard]] T input_as() const {
        return value_or_throw(try_input_as<T>());
    }

    /// What Worker::provide was given for this type; nothing is null.
    template <class T>
    [[nodiscard]] std::shared_ptr<T> find_state() const {
        return std::static_pointer_cast<T>(find_state(std::type_index(typeid(T))));
    }
    /// The same; a TaskFailure of category `extractor_missing_state` when it was not given.
    template <class T>
    [[nodiscard]] T& state() const {
        const auto found = find_state<T>();
        if (!found) {
            throw TaskFailure("extractor_missing_state", missing_state(typeid(T)));
        }
        return *found;
    }
    [[nodiscard]] bool has_state(std::type_index type) const { return find_state(type) != nullptr; }
    /// `state <type> was not provided; …`
    static std::string missing_state(std::type_index type);

    [[nodiscard]] TaskLog log() const;

    // ---------------------------------------------------------------------------- liveness

    /// Asked to stop when the work is cancelled or out of time, the lease is lost, or the worker
    /// has waited long enough for it in its own shutdown. Callbacks on it run on a thread of the
    /// worker's that renews leases: they must be quick.
    [[nodiscard]] std::stop_token stop_token() const;
    [[nodiscard]] bool stop_requested() const { return stop_token().stop_requested(); }
    [[nodiscard]] CancelCause cancel_cause() const;
    /// Is the lease ours as far as we know? Ask before what cannot be undone. False after three
    /// renewals failed in a row, after the engine said the lease is gone, and once its time is
    /// over.
    [[nodiscard]] bool lease_healthy() const;
    /// In a row, up to now.
    [[nodiscard]] std::uint32_t renewal_failures() const;
    /// When the lease ends, by the worker's clock.
    [[nodiscard]] TimestampMs lease_deadline() const;
    /// Renews now; the worker does so by itself every third of the lease's time.
    void renew() { value_or_throw(try_renew()); }
    expected<void> try_renew();
    /// Overwrites what was reported before. 0..100.
    void progress(std::int32_t percent, const std::string& message = {}) {
        value_or_throw(try_progress(percent, message));
    }
    expected<void> try_progress(std::int32_t percent, const std::string& message = {});

    // ------------------------------------------------------------------------------- limits

    /// Counts what this attempt has consumed. A report that would pass a hard limit counts nothing;
    /// when the budget says `fail` the task is failed there and then, with the category
    /// `budget_exceeded`, and this throws. So it does when a soft limit is past that needs an
    /// approval: the task is handed back then, and goes on with this attempt when it is given.
    UsageResult report_usage(const BudgetId& budget, Amounts amounts, std::string dedup_key = {}) {
        return value_or_throw(try_report_usage(budget, std::move(amounts), std::move(dedup_key)));
    }
    /// The error is `budget_exceeded` once the task was failed or handed back because of it.
    expected<UsageResult> try_report_usage(const BudgetId& budget, Amounts amounts,
                                           std::string dedup_key = {});
    /// The last report of a task that reserved: what is left of the reservation goes back.
    UsageResult settle_usage(const BudgetId& budget, Amounts amounts, std::string dedup_key = {}) {
        return value_or_throw(try_settle_usage(budget, std::move(amounts), std::move(dedup_key)));
    }
    expected<UsageResult> try_settle_usage(const BudgetId& budget, Amounts amounts,
                                           std::string dedup_key = {});
    /// Counts, and writes down for this execution what release_budget() takes back. A breach is an
    /// answer here: it ends nothing. Spending with the same key again counts once.
    UsageResult record_spend(const BudgetId& budget, Amounts amounts,
                             std::string idempotency_key = {}) {
        return value_or_throw(
            try_record_spend(budget, std::move(amounts), std::move(idempotency_key)));
    }
    expected<UsageResult> try_record_spend(const BudgetId& budget, Amounts amounts,
                                           std::string idempotency_key = {});
    /// Takes back all that record_spend() wrote down for this execution; false: there was nothing.
    bool release_budget(const BudgetId& budget) {
        return value_or_throw(try_release_budget(budget));
    }
    expected<bool> try_release_budget(const BudgetId& budget);

    // ------------------------------------------------------------------------------ stream
    // What the attempt has to say while it runs, for whoever reads along: Client::follow, `ff
    // tail`. An attempt that goes on after a pause goes on with its stream.

    /// Appends a durable frame and waits until it is on disk. Bytes as they stand, anything else
    /// as JSON. When the engine cannot be reached it is tried again until the lease has run out.
    template <class T>
    AppendedFrame append(std::string type, const T& value, FrameOptions options = {}) {
        return value_or_throw(try_append(std::move(type), value, std::move(options)));
    }
    template <class T>
    expected<AppendedFrame> try_append(std::string type, const T& value,
                                       FrameOptions options = {}) {
        FF_TRY(std::string payload, frame_payload(value));
        return try_append_bytes(std::move(type), std::move(payload), std::move(options));
    }
    /// Merges an object into the document of the attempt (JSON merge patch: null deletes), and
    /// gives the document's new version.
    std::uint64_t append_summary(const json& patch) {
        return value_or_throw(try_append_summary(patch));
    }
    expected<std::uint64_t> try_append_summary(const json& patch);
    /// A frame that is kept for about two lifetimes.
    template <class T>
    AppendedFrame append_live(std::string type, const T& value,
                              std::chrono::milliseconds ttl = live_ttl) {
        return value_or_throw(try_append_live(std::move(type), value, ttl));
    }
    template <class T>
    expected<AppendedFrame> try_append_live(std::string type, const T& value,
                                            std::chrono::milliseconds ttl = live_ttl) {
        FF_TRY(std::string payload, frame_payload(value));
        return try_append_live_bytes(std::move(type), std::move(payload), ttl);
    }
    /// For many frames: gathers them and does not wait.
    [[nodiscard]] FrameWriter frames() { return FrameWriter(held_); }

    // Reading a stream of this execution: this attempt's, with all that was written before the
    // call, or another's.

    /// Frames between two places, both included.
    StreamPage read_stream(FrameCursor from = FrameCursor::start(),
                           FrameCursor to = FrameCursor::end(), std::uint64_t limit = 100,
                           std::optional<std::uint32_t> attempt_index = {}) {
        return value_or_throw(try_read_stream(from, to, limit, attempt_index));
    }
    expected<StreamPage> try_read_stream(FrameCursor from = FrameCursor::start(),
                                         FrameCursor to = FrameCursor::end(),
                                         std::uint64_t limit = 100,
                                         std::optional<std::uint32_t> attempt_index = {});
    /// Frames behind a place; waits up to `block` (30 s at most) for the first, not when the task
    /// is to stop.
    StreamPage tail_stream(FrameId after = {}, std::chrono::milliseconds block = {},
                           std::uint64_t limit = 50,
                           StreamVisibility visibility = StreamVisibility::all,
                           std::optional<std::uint32_t> attempt_index = {}) {
        return value_or_throw(try_tail_stream(after, block, limit, visibility, attempt_index));
    }
    expected<StreamPage> try_tail_stream(FrameId after = {}, std::chrono::milliseconds block = {},
                                         std::uint64_t limit = 50,
                                         StreamVisibility visibility = StreamVisibility::all,
                                         std::optional<std::uint32_t> attempt_index = {});
    /// The document; nothing when there was never a patch.
    std::optional<StreamSummary> read_summary(std::optional<std::uint32_t> attempt_index = {}) {
        return value_or_throw(try_read_summary(attempt_index));
    }
    expected<std::optional<StreamSummary>> try_read_summary(
        std::optional<std::uint32_t> attempt_index = {});

    // -------------------------------------------------------------------------------- flow
    // A task in a flow may add to its graph while it runs. Handlers that do so begin with
    //
    //   if (!task.resumed()) {
    //       task.map("resize", pages, [](const Page& page) { return ff::Submit("resize", page); });
    //       return task.wait_children();
    //   }
    //   const auto sizes = task.inputs().all_as<Size>();

    /// What its upstreams, spawned children among them, have handed to it.
    [[nodiscard]] Inputs inputs() const { return value_or_throw(try_inputs()); }
    [[nodiscard]] expected<Inputs> try_inputs() const;

    /// Adds nodes and edges to this task's flow, all or nothing. Ids follow from this execution
    /// and the names of the nodes: a later attempt that spawns the same again finds it there.
    SpawnResult spawn(const FlowBuilder& graph) { return value_or_throw(try_spawn(graph)); }
    expected<SpawnResult> try_spawn(const FlowBuilder& graph) {
        ManualClock now(store_now());
        FF_TRY(SpawnChildren op, graph.children(now, ns()));
        return try_spawn(std::move(op));
    }
    /// The lease, namespaces and ids need not be filled in.
    expected<SpawnResult> try_spawn(SpawnChildren op);

    /// One more execution in this task's flow, which nobody waits for. Its id follows from this
    /// execution and the name: submitted again by a later attempt, it is found there.
    ExecutionId submit_child(const std::string& name, Submit child) {
        return value_or_throw(try_submit_child(name, std::move(child)));
    }
    expected<ExecutionId> try_submit_child(const std::string& name, Submit child) {
        FlowBuilder graph;
        graph.node(name, std::move(child));
        FF_TRY(const SpawnResult made, try_spawn(graph));
        return made.nodes.at(name);
    }

    /// One child for each item, named `name[0]`, `name[1]`, …, and an edge from each to this task.
    /// `make(item)` gives its Submit. The ids are in the order of the items.
    template <class Items, class Make>
    std::vector<ExecutionId> map(const std::string& name, const Items& items, Make make) {
        return value_or_throw(try_map(name, items, std::move(make)));
    }
    template <class Items, class Make>
    expected<std::vector<ExecutionId>> try_map(const std::string& name, const Items& items,
                                               Make make) {
        FlowBuilder graph;
        std::vector<std::string> names;
        for (const auto& item : items) {
            names.push_back(name + "[" + std::to_string(names.size()) + "]");
            graph.node(names.back(), make(item)).joins();
        }
        std::vector<ExecutionId> ids;
        if (names.empty()) {
            return ids;
        }
        FF_TRY(const SpawnResult made, try_spawn(graph));
        for (const std::string& child : names) {
            ids.push_back(made.nodes.at(child));
        }
        return ids;
    }

    // ---------------------------------------------------------------------------- suspending
    // A handler that waits for somebody or something outside begins with
    //
    //   if (!task.resumed()) {
    //       const auto ask = task.create_waitpoint("review", 24h);   // its token can go out now
    //       send_to_reviewer(ask.waitpoint_token);
    //       const auto outcome = task.try_suspend_on(ask, ff::any_signal("approved"), {});
    //       if (outcome->suspended()) { return *outcome->result; }   // else: the answer was faster
    //   }
    //   for (const auto& signal : task.resume_signals()) { ... }

    /// A place for signals, made ahead of the suspension. Nobody needs it: it closes by itself.
    WaitpointTicket create_waitpoint(const std::string& key, std::chrono::milliseconds ttl) {
        return value_or_throw(try_create_waitpoint(key, ttl));
    }
    expected<WaitpointTicket> try_create_waitpoint(const std::string& key,
                                                   std::chrono::milliseconds ttl);
    /// Gives the work back until signals satisfy the condition; the same attempt goes on then, from
    /// the start of its handler, with resumed() true. `already_satisfied` when they did before.
    Result suspend(ResumeCondition condition, SuspendOptions options = {}) {
        return value_or_throw(strictly(try_suspend(std::move(condition), std::move(options))));
    }
    /// The same; signals that came early leave the task as it is.
    expected<SuspendOutcome> try_suspend(ResumeCondition condition, SuspendOptions options = {});
    /// On a waitpoint that was made ahead.
    expected<SuspendOutcome> try_suspend_on(const WaitpointTicket& pending,
                                            ResumeCondition condition, SuspendOptions options = {});
    /// The signals that ended the latest suspension of this attempt; none when signals did not.
    [[nodiscard]] std::vector<SignalInfo> resume_signals() const {
        return value_or_throw(try_resume_signals());
    }
    [[nodiscard]] expected<std::vector<SignalInfo>> try_resume_signals() const;

    // --------------------------------------------------------------------------- finishing
    // One of these may succeed. When the engine cannot be reached they try again until the lease
    // has run out. An argument it refuses (a result too large) leaves the task unfinished.

    Result complete() { return value_or_throw(try_complete()); }
    expected<Result> try_complete();
    template <class T>
    Result complete(const T& value) {
        return value_or_throw(try_complete(value));
    }
    /// Bytes as they stand, anything else as JSON.
    template <class T>
    expected<Result> try_complete(const T& value) {
        if constexpr (Bytes<T>) {
            return try_complete_with(std::string(std::string_view(value)), std::nullopt);
        } else {
            FF_TRY(std::string text, encode_json(value));
            return try_complete_with(std::move(text), std::string(json_encoding));
        }
    }
    expected<Result> try_complete_with(std::string bytes, std::optional<std::string> encoding);

    /// Gives `retry_scheduled` or `failed`, as the retry policy says.
    Result fail(const std::string& reason, const std::string& category) {
        return value_or_throw(try_fail(reason, category));
    }
    expected<Result> try_fail(const std::string& reason, const std::string& category);
    Result cancel(const std::string& reason) { return value_or_throw(try_cancel(reason)); }
    expected<Result> try_cancel(const std::string& reason);
    /// Gives the work back until a time of the store's clock; the same attempt goes on then.
    Result delay_until(TimestampMs at) { return value_or_throw(try_delay_until(at)); }
    expected<Result> try_delay_until(TimestampMs at);
    /// The same, for so long from now.
    Result delay(std::chrono::milliseconds by) { return value_or_throw(try_delay(by)); }
    expected<Result> try_delay(std::chrono::milliseconds by);
    /// Gives the work back until what it depends on has ended; the same attempt goes on then, from
    /// the start of its handler, with resumed() true.
    Result wait_children() { return value_or_throw(try_wait_children()); }
    expected<Result> try_wait_children();
    /// Gives the work back as it is, for somebody else to go on with the same attempt at once.
    Result release() { return value_or_throw(try_release()); }
    expected<Result> try_release();

  private:
    [[nodiscard]] expected<json> input_document() const;
    [[nodiscard]] std::shared_ptr<void> find_state(std::type_index type) const;
    [[nodiscard]] TimestampMs store_now() const;
    static expected<Result> strictly(expected<SuspendOutcome> outcome);
    expected<AppendedFrame> try_append_bytes(std::string type, std::string payload,
                                             FrameOptions options);
    expected<AppendedFrame> try_append_live_bytes(std::string type, std::string payload,
                                                  std::chrono::milliseconds ttl);

    worker::HeldTask& held_;
};

}  // namespace ff
