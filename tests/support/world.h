// A tiny in-memory world around the pure core: the committed records, a clock that is set by hand,
// and one operation at a time, run as an engine runs it (validate, load what it reads, decide,
// apply, arm the timer, keep the rows).
//
// After every operation each touched execution is checked: invariants, legal step, timer, grant,
// one completion event for each end. What is wrong is kept in `violations`; nothing throws and
// nothing stops. A World is a value: a search copies it to branch.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cascade.h"
#include "core/decide.h"
#include "core/derive.h"

namespace ff::testing {

/// Everything a store would hold.
struct Records {
    std::map<ExecutionId, core::Execution> executions;
    std::map<core::Eid, core::ExecutionInput> inputs;
    std::map<core::Eid, std::map<std::uint32_t, core::Attempt>> attempts;
    std::map<core::Eid, core::GrantRow> grants;
    std::map<std::string, core::Lane> lanes;
    std::map<core::IdempotencyKey, core::IdempotencyEntry> idempotency;
    std::map<core::WorkerKey, core::WorkerRow> workers;
    std::map<FlowId, core::Flow> flows;
    std::map<core::EdgeKey, core::Edge> edges;
    std::map<ExecutionId, core::EdgeGroup> groups;
    std::map<core::FlowWorkKey, core::FlowWork> work;
    std::map<core::SuspensionKey, core::Suspension> suspensions;
    std::map<WaitpointId, core::Waitpoint> waitpoints;
    std::map<core::SignalKey, core::Signal> signals;
    std::map<core::SatisfierKey, core::Satisfier> satisfiers;
    std::map<std::string, core::HmacKey> hmac_keys;
    std::vector<core::ExecutionEvent> events;
    std::vector<core::LogEvent> log_events;

    bool operator==(const Records&) const = default;
};

class World {
  public:
    static constexpr TimestampMs start = 1'700'000'000'000;

    explicit World(core::Settings settings = {}, std::uint64_t seed = 1)
        : settings_(settings), ids_(seed) {}

    TimestampMs now = start;
    Records records;
    std::vector<std::string> violations;

    /// Runs one operation. The answer is what a caller would get.
    template <class Op>
    auto run(Op op) -> decltype(core::decide(std::declval<const core::Snapshot&>(), op,
                                             std::declval<const core::Context&>())
                                    .answer) {
        if (auto ok = core::validate(op); !ok) {
            return std::unexpected(std::move(ok).error());
        }
        return decide_and_commit(op);
    }
    expected<CreateResult> run(CreateExecution op);
    expected<SubmitFlowResult> run(SubmitFlow op);
    expected<SuspendResult> run(Suspend op);
    expected<SignalResult> run(DeliverSignal op);
    expected<SignalResult> run(DeliverApprovalSignal op);
    expected<ClaimResult> run(Claim op);
    expected<ClaimForWorkerResult> run(ClaimForWorker op);

    /// Handles every timer that is due now. Answers how many found something to do.
    std::size_t tick();
    /// Lets time pass, firing each timer at its moment.
    void advance(DurationMs by);

    /// Null when there is none.
    [[nodiscard]] const core::Execution* find(const ExecutionId& id) const;
    [[nodiscard]] const core::Attempt* attempt(const ExecutionId& id, std::uint32_t index) const;
    [[nodiscard]] const core::GrantRow* grant(const ExecutionId& id) const;
    [[nodiscard]] const core::Route& route(const core::Execution& e) const;
    [[nodiscard]] const core::Settings& settings() const { return settings_; }

    // ---- the parts of run(), for those who run several operations in one transaction

    enum class Steps : std::uint8_t { one, several };

    core::Context context() { return {now, ids_, numbers_, *policies_, settings_, *keystore_}; }
    [[nodiscard]] core::Snapshot empty_view() const { return core::Snapshot(*routes_); }
    void load(const core::ReadSet& set, core::Snapshot& view) const;
    /// Keeps what the view has become, and checks it.
    void commit(core::Snapshot& view, Steps steps);

  private:
    struct Numbers final : core::RowNumbers {
        std::int64_t next_eid(TimestampMs) override { return ++eid; }
        std::int64_t next_route_id() override { return ++route; }
        std::int64_t eid = 0;
        std::int64_t route = 0;
    };

    template <class Op>
    auto decide_and_commit(const Op& op) {
        core::ReadSet set;
        core::reads(op, set);
        core::Snapshot view(*routes_);
        load(set, view);
        load_more(op, view);
        auto decision = core::decide(view, op, context());
        return settle(view, std::move(decision));
    }
    /// Loads what is asked for because of what is loaded.
    template <class Op>
    void load_more(const Op& op, core::Snapshot& view) const {
        using core::reads_more;
        for (;;) {
            core::ReadSet set;
            reads_more(view, op, set);
            if (set.empty()) {
                return;
            }
            load(set, view);
        }
    }
    /// Keeps what was decided, also what a rejection writes.
    template <class R>
    expected<R> settle(core::Snapshot& view, core::Decision<R> decision) {
        if (!decision.answer && !decision.changes.empty() &&
            decision.answer.error().code != ErrorCode::lease_expired &&
            decision.answer.error().code != ErrorCode::capability_mismatch &&
            decision.answer.error().code != ErrorCode::invalid_token &&
            decision.answer.error().code != ErrorCode::token_expired) {
            violations.push_back("rejection: " + decision.answer.error().message() +
                                 " wrote something");
        }
        apply(view, std::move(decision.changes));
        const bool alone = work_.empty();
        follow_up(view);
        commit(view, alone ? Steps::one : Steps::several);
        return std::move(decision.answer);
    }
    /// Keeps changes, and what follows from them for flows.
    void apply(core::Snapshot& view, core::Changes changes);
    void follow_up(core::Snapshot& view);
    /// A world has no limits.
    static void load_limits(const core::LimitReads& wanted, core::Snapshot& view);
    void load_flows(const core::ReadSet& set, core::Snapshot& view) const;
    void keep_flows(core::Snapshot& view);
    void check_flow(const FlowId& id);
    void load_open_waits(const core::Execution& e, core::Snapshot& view) const;
    void load_waits(const core::ReadSet& set, core::Snapshot& view) const;
    void keep_waits(core::Snapshot& view);
    void erase_waits(core::Eid eid);
    void check_waits(const core::Execution& e);
    void load(const core::ReadSet::ExecutionNeed& need, core::Snapshot& view) const;
    void keep(core::ExecutionCell& cell);
    void erase(const core::Execution& gone);
    void check(const core::ExecutionCell& cell);
    void check_step(const core::ExecutionCell& cell, const core::Snapshot& view);

    /// The first in claim order that this worker may have.
    [[nodiscard]] const core::Execution* candidate(const Claim& op) const;

    // Shared by copies: routes are replaced, never changed; the others only save work.
    std::shared_ptr<const core::RouteTable> routes_ = std::make_shared<core::RouteTable>();
    std::shared_ptr<core::PolicyCache> policies_ = std::make_shared<core::PolicyCache>();
    std::shared_ptr<core::Keystore> keystore_ = std::make_shared<core::Keystore>();
    core::Settings settings_;
    SeededIdSource ids_;
    Numbers numbers_;
    std::vector<core::FlowWork> work_;  ///< empty between operations
};

}  // namespace ff::testing
