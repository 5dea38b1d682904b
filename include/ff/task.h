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

#include <ff/codec.h>
#include <ff/contracts.h>
#include <ff/exception.h>
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
        waiting_children
    };

    [[nodiscard]] Kind kind() const { return kind_; }
    /// When it runs again: set for `retry_scheduled` and `delayed`.
    [[nodiscard]] std::optional<TimestampMs> delay_until() const { return delay_until_; }

  private:
    friend class worker::HeldTask;
    explicit Result(Kind kind, std::optional<TimestampMs> delay_until = {})
        : kind_(kind), delay_until_(delay_until) {}

    Kind kind_;
    std::optional<TimestampMs> delay_until_;
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
    /// Gives the work back until what it depends on has ended.
    Result wait_children() { return value_or_throw(try_wait_children()); }
    expected<Result> try_wait_children();

  private:
    [[nodiscard]] expected<json> input_document() const;
    [[nodiscard]] std::shared_ptr<void> find_state(std::type_index type) const;

    worker::HeldTask& held_;
};

}  // namespace ff
