// The conformance suite of the Engine: what every engine must do, however it is reached.
//
// A test is written once with TEST_P on a suite derived from Conformance and runs on every entry
// of engine_backends(); another store, or a client of a server, joins by one entry there. Tests
// use the public API only. Time is a ManualClock where the engine's clock can be handed in; a test
// that lets time pass says so with FF_NEEDS_CLOCK() and is reported as skipped elsewhere.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/engine.h>

#include "support/temp_dir.h"

namespace ff::engine::test {

using ff::support::TempDir;

// ------------------------------------------------------------------------------------ backends

/// An engine as a backend opened it.
struct Rig {
    std::shared_ptr<Engine> engine;
    std::shared_ptr<ManualClock> clock;  ///< absent when the engine keeps its own time
    /// Of an engine that is reached over a network: waits until everything sent has arrived.
    std::function<void()> sent;
};

struct Backend {
    std::string name;
    bool durable = false;  ///< opening the same folder again finds everything
    bool remote = false;   ///< reached over HTTP: the limits of spec 07 hold
    /// Opens an engine; anything it keeps goes into the folder. `clock` is to be used if possible.
    std::function<expected<Rig>(const std::string& folder, EngineOptions options,
                                std::shared_ptr<ManualClock> clock)>
        open;
};

const std::vector<Backend>& engine_backends();
std::string backend_name(const testing::TestParamInfo<Backend>& info);

/// Runs a suite derived from Conformance on every backend.
#define FF_ON_EVERY_ENGINE(Suite)                                                                  \
    INSTANTIATE_TEST_SUITE_P(Engines, Suite, testing::ValuesIn(engine_backends()), backend_name)

/// For what only an engine in this process does (its own limits, its statistics).
#define FF_NEEDS_EMBEDDED()                                                                        \
    if (GetParam().remote) {                                                                       \
        GTEST_SKIP() << GetParam().name << " has limits of its own";                               \
    }

#define FF_NEEDS_CLOCK()                                                                           \
    if (!has_clock()) {                                                                            \
        GTEST_SKIP() << "the clock of " << GetParam().name << " cannot be moved";                  \
    }

// ---------------------------------------------------------------------------------- operations

inline constexpr TimestampMs t0 = 1'700'000'000'000;

/// A create with what is required and nothing else: namespace `acme`, kind `render`.
CreateExecution job(const std::string& lane = "default");
CreateExecution job_with_policy(const std::string& policy, const std::string& lane = "default");
/// A job that only a worker with all these tokens may run.
CreateExecution job_requiring(const std::vector<std::string>& tokens,
                              const std::string& lane = "default");
CreateExecution job_with_priority(std::int32_t priority, const std::string& lane = "default");
/// A claim of one task. The instance of worker `w1` is `w1-a`.
Claim claim_by(const std::string& worker, const std::string& lane = "default");
ClaimForWorker grant_for(const std::string& worker, const std::string& lane = "default");
RegisterWorker registration(const std::string& instance,
                            const std::vector<std::string>& capabilities = {},
                            const std::string& lane = "default", const std::string& ns = "acme");
std::string instance_of(const std::string& worker);

/// A copy with a change.
template <class Op, class Change>
Op with(Op op, Change change) {
    change(op);
    return op;
}

/// Every byte there is, NUL among them; not UTF-8.
std::string all_bytes();

/// `code` of an error, `ok` of a success.
template <class T>
std::string code_of(const expected<T>& result) {
    return result ? "ok" : std::string(to_string(result.error().code));
}

/// The six stored words of a vector, separated by spaces.
std::string words(const StateVector& state);

// ------------------------------------------------------------------------------------ the suite

/// A claim that was sent and may wait, and the answer it gets.
class SentClaim {
  public:
    SentClaim(Engine& engine, Claim op);
    /// Has the answer come? Exact after Conformance::settle().
    [[nodiscard]] bool answered() const;
    /// Waits for the answer; fails the test when it does not come.
    std::vector<ClaimedTask> tasks();
    expected<ClaimResult> get();

  private:
    std::future<expected<ClaimResult>> answer_;
};

/// Keeps what an engine warns of. Any thread.
class Warnings {
  public:
    void add(std::string_view text) {
        const std::lock_guard lock(mutex_);
        texts_.emplace_back(text);
    }
    [[nodiscard]] std::vector<std::string> all() const {
        const std::lock_guard lock(mutex_);
        return texts_;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> texts_;  // guarded by mutex_
};

class Conformance : public testing::TestWithParam<Backend> {
  protected:
    void SetUp() override;

    Engine& engine() { return *rig_.engine; }
    std::shared_ptr<Engine> share() { return rig_.engine; }
    [[nodiscard]] bool has_clock() const { return rig_.clock != nullptr; }
    ManualClock& clock() { return *rig_.clock; }
    TimestampMs now() { return clock().now(); }
    /// What the engine has warned of so far.
    [[nodiscard]] std::vector<std::string> warnings() const { return warnings_->all(); }

    /// Starts over: an empty store with these options.
    void open_with(EngineOptions options);
    /// Closes the engine and opens the same store again.
    void reopen();
    void reopen_with(const std::function<void(EngineOptions&)>& change);
    void close() { rig_.engine.reset(); }

    /// Lets time pass and everything that it makes due happen.
    void after(DurationMs ms);
    /// When it returns, every operation sent before has been taken up, and every answer that one
    /// of them caused has been given.
    void settle();

    /// The value of an operation that must succeed.
    template <class Op>
    typename Op::Result ok(Op op) {
        auto result = engine().run(std::move(op));
        EXPECT_TRUE(result) << Op::name << ": " << code_of(result) << " " << detail_of(result);
        return result ? std::move(*result) : typename Op::Result{};
    }
    /// The code of an operation's error, or `ok`.
    template <class Op>
    std::string refused(Op op) {
        return code_of(engine().run(std::move(op)));
    }
    /// The error of an operation that must fail.
    template <class Op>
    Error error(Op op) {
        auto result = engine().run(std::move(op));
        EXPECT_FALSE(result) << Op::name << " succeeded";
        return result ? Error{} : std::move(result).error();
    }

    /// Creates one; it must be new.
    ExecutionId create(CreateExecution op = job());
    /// Claims one; there must be one.
    ClaimedTask claim(const std::string& worker = "w1", const std::string& lane = "default");
    ClaimedTask claim(Claim op);
    /// Creates and claims.
    ClaimedTask start(CreateExecution op = job(), const std::string& worker = "w1");
    std::vector<ClaimedTask> claim_some(Claim op) { return ok(std::move(op)).tasks; }
    [[nodiscard]] bool has_work(const std::string& worker = "probe",
                                const std::string& lane = "default");
    /// The ids in the order in which one worker gets them, until there is nothing left.
    std::vector<ExecutionId> drain(const Claim& op);
    Grant grant(const std::string& worker = "w1", const std::string& lane = "default");

    ExecutionSnapshot snapshot(const ExecutionId& id);
    std::string state(const ExecutionId& id) { return words(snapshot(id).info.state); }
    PublicState public_of(const ExecutionId& id) { return ok(ReadExecutionState{id}); }
    std::vector<AttemptInfo> attempts(const ExecutionId& id) { return ok(ListAttempts{id}); }
    AttemptInfo attempt(const ExecutionId& id, std::size_t index);
    /// The lease history: `event`, `event:reason`, ends as `event:reason=outcome`.
    std::vector<std::string> history(const ExecutionId& id);
    /// Everything that reads can show, as text.
    std::string dump();

  private:
    template <class T>
    static std::string detail_of(const expected<T>& result) {
        return result ? "" : result.error().detail;
    }
    void open();

    std::unique_ptr<TempDir> folder_;
    EngineOptions options_;
    std::shared_ptr<Warnings> warnings_;
    Rig rig_;
};

/// Everything that the reads of an engine can show, as text that can be compared.
std::string dump_of(Engine& engine);

}  // namespace ff::engine::test
