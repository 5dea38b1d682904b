// Scenario tables: a life of an execution as text that needs no C++ to be read.
//
//     create a policy=once    | created                  | waiting
//     claim w1                | a fresh initial #0 e1    | active leased
//     fail a transient        | retry +1000 #1           | delayed retries=1
//     after 1000              |                          | waiting pending_retry_attempt
//
// One row is one command, the answer it must get and the state it must leave. An empty answer or
// state is not compared; a row without a command only looks at the state. Executions, workers
// (`w1`) and policies are known by names. State words are
// any of the seven state values, `gone`, or `name=value` (see fact() in the source); they are
// about the execution the command names, else the one named last, or the one in `b: ...`.
//
// A Scenario is a World that fails the running test when anything was violated.
#pragma once

#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "support/world.h"

namespace ff::testing {

class Scenario : public World {
  public:
    using World::World;
    Scenario(const Scenario&) = default;
    Scenario& operator=(const Scenario&) = default;
    ~Scenario();

    /// Policies by the names tables use.
    std::map<std::string, std::string> policies;

    void play(std::string_view table, std::source_location where = std::source_location::current());

    // ---- the same things for tests that go into detail

    [[nodiscard]] const ExecutionId& id(const std::string& name) const { return ids.at(name); }
    /// The row; the test fails (and a blank row is given) when there is none.
    [[nodiscard]] const core::Execution& row(const std::string& name) const;
    [[nodiscard]] core::Attempt attempt_row(const std::string& name, std::uint32_t index) const;
    /// The newest handle of an execution, or the newest a worker got for it.
    [[nodiscard]] const Handle& handle(const std::string& name,
                                       const std::string& worker = "") const;
    /// The events of one execution: `type`, `type:reason`, ends as `type:reason=outcome`.
    [[nodiscard]] std::vector<std::string> history(const std::string& name) const;

    static CreateExecution create_args();
    static Claim claim_args(const std::string& worker);

    std::map<std::string, ExecutionId> ids;
    std::map<std::pair<std::string, std::string>, Handle> handles;  ///< by execution and worker

  private:
    class Row;
    struct Commands;
    std::string fact(const core::Execution& e, const std::string& name) const;
    std::string differences(std::string_view expected) const;
    std::string name_of(const ExecutionId& id) const;
    std::string take(const ClaimedTask& task, const std::string& worker);

    std::string subject_;  ///< the execution named last
};

/// `code` or `code: detail` of an error, `ok` of a success.
template <class T>
std::string answer_of(const expected<T>& result) {
    return result ? "ok" : result.error().message();
}

}  // namespace ff::testing
