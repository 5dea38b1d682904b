// The periodic passes. Due times drive the engine; these are the safety nets and the sweeps of
// things that have no timer of their own. Each pass is bounded; one that fills its bound runs again
// at once. Writer thread only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ff/engine.h>

#include "core/context.h"
#include "core/flow_invariants.h"
#include "engine/batch.h"
#include "engine/event_trim.h"
#include "engine/scanner_log.h"

namespace ff::engine {

/// `invalid_config` for a period of a pass that does not exist or that is too short.
expected<void> check_scanner_periods(const EngineOptions& options);

/// What went wrong with one row. Told of if the row itself is to blame, so that the pass goes on
/// with the others; an error of the pass otherwise.
inline expected<void> tell_of(const Error& error, const std::string& row, ScannerResult& result) {
    if (!is_of_the_row(error.code)) {
        return std::unexpected(error);
    }
    result.findings.push_back(row + ": " + error.message());
    result.errors += 1;
    return {};
}

class Scanners {
  public:
    /// Handles everything due at a moment and gives the answers that come of it.
    using DueFn = std::function<ScannerResult(TimestampMs now)>;

    Scanners(Batch& batch, const core::Settings& settings, const EngineOptions& options,
             TimestampMs now, DueFn handle_due);

    /// Runs every pass whose time has come.
    void run_due(TimestampMs now);
    /// Runs one pass now. `invalid_input` for an unknown name, listing the known ones.
    expected<ScannerResult> run(const std::string& name, TimestampMs now);
    /// A worker has registered: lifts the route blocks it may have been missing for.
    void unblock_routes(TimestampMs now);
    [[nodiscard]] std::optional<TimestampMs> next_at() const;
    [[nodiscard]] const ScannerLog& log() const { return log_; }

  private:
    friend expected<void> check_scanner_periods(const EngineOptions& options);

    using Pass = expected<ScannerResult> (Scanners::*)(TimestampMs);
    struct Kind {
        std::string_view name;
        DurationMs period_ms;
        Pass pass;
        std::uint64_t batch = 1'000;  ///< one that did so much is followed by another at once
    };
    struct Scanner : Kind {
        std::optional<TimestampMs> next_at;  ///< absent: only when asked for
        bool failing = false;                ///< the last time; it is told once
    };
    static const std::vector<Kind>& kinds();
    /// The names, for people.
    static std::string known_names();

    /// Runs `body` as a pass of this scanner, and notes it.
    expected<ScannerResult> noted(const Scanner& scanner, TimestampMs now,
                                  const std::function<expected<ScannerResult>()>& body);
    expected<ScannerResult> run_in_background(const Scanner& scanner, TimestampMs now);
    void report(Scanner& scanner, const expected<ScannerResult>& result);

    expected<ScannerResult> due_pass(TimestampMs now);
    expected<ScannerResult> worker_ttl_sweep(TimestampMs now);
    expected<ScannerResult> grant_sweep(TimestampMs now);
    expected<ScannerResult> idempotency_sweep(TimestampMs now);
    expected<ScannerResult> event_trimmer(TimestampMs now);
    expected<ScannerResult> stream_trimmer(TimestampMs now);
    expected<ScannerResult> unblock(TimestampMs now);
    expected<ScannerResult> index_reconciler(TimestampMs now);
    /// Resolves what an end should have resolved, and applies edges that were staged and forgotten.
    expected<ScannerResult> dependency_reconciler(TimestampMs now);
    /// Compares what flows count with what they have.
    expected<ScannerResult> flow_projector(TimestampMs now);
    /// Lets who waits at the gate of a limit go on, should it have been forgotten.
    expected<void> look_at_gates(TimestampMs now, ScannerResult& result);
    /// Budgets as they will be when those who were let go have reserved; none: not to be read.
    using OfferedBudgets = std::map<BudgetId, std::optional<core::Budget>>;
    /// Does the budget at whose gate it waits let it go?
    expected<bool> is_clear(const BudgetId& id, const core::Execution& e, OfferedBudgets& offered);
    /// The same for one that the gate did not look at: its limit was detached while somebody else
    /// was at its row, or it fits and stands behind many who do not.
    expected<bool> let_go_at_limit(const core::Execution& e, OfferedBudgets& offered,
                                   TimestampMs now);
    /// The same for who waits for a turn that nobody has.
    expected<void> look_at_turns(TimestampMs now, ScannerResult& result);
    /// Rolling through the rows of limits, a page at a time.
    struct LimitRowsAt {
        core::LimitId limit;
        std::optional<ExecutionId> execution;
    };
    static expected<void> walk(const LimitRowsAt& at,
                               const std::function<expected<std::size_t>()>& page);
    /// Drops what those have spent who are gone. Both answer how many rows were in order.
    expected<std::size_t> ledger_page(TimestampMs now, ScannerResult& result);
    /// Gives back the slots that nobody can need.
    expected<std::size_t> slot_page(TimestampMs now, ScannerResult& result);
    expected<void> recount(const core::QuotaPolicy& seen, std::uint64_t slots, std::uint64_t starts,
                           TimestampMs now, ScannerResult& result);
    /// Compares usage with what was written down, and drops what is past its time.
    expected<ScannerResult> budget_reconciler(TimestampMs now);
    /// Compares what policies count with what they gave, and puts it right.
    expected<ScannerResult> quota_reconciler(TimestampMs now);
    /// Counts the flows that have members which are still to be cancelled.
    expected<void> count_cancels(ScannerResult& result);
    using FlowVisit = std::function<void(const core::FlowRows&)>;
    /// The next flows after `at` that have not ended, whole; moves it.
    expected<void> visit_flows(std::optional<FlowId>& at, ScannerResult& result,
                               const FlowVisit& visit);
    /// Applies edges that were staged and forgotten.
    expected<void> apply_staged(TimestampMs now, ScannerResult& result);
    expected<ScannerResult> sweep(const std::function<expected<std::uint64_t>()>& body);
    /// The live workers, read when they are first asked for; unreadable: nobody knows.
    struct Registry {
        bool read = false;
        std::optional<std::vector<core::WorkerRow>> live;
    };
    /// Does one live worker have all that the route requires? If nobody knows, claims will see.
    expected<bool> is_served(const core::Route& route, Registry& registry, TimestampMs now);
    /// Lifts what is over among the next blocked rows after `at`, and moves it.
    expected<std::uint64_t> unblock_page(core::Bucket bucket, core::Eid& at, Registry& registry,
                                         TimestampMs now);
    /// The same of one row that an operation has blocked.
    expected<bool> unblock_one(const core::Execution& e, core::Bucket bucket, Registry& registry,
                               TimestampMs now);
    /// A page of the index reconciler: what is wrong, and what of it may be mended.
    struct Examined {
        std::vector<std::string> findings;
        std::vector<core::RepairExecution> repairs;
        std::uint64_t unreadable = 0;
    };
    expected<Examined> examine(std::span<const core::Eid> eids);
    static expected<void> examine_row(store::Reader& reader, const core::Execution& e,
                                      Examined& out);

    Batch& batch_;
    const core::Settings& settings_;
    const EngineOptions& options_;
    const DueFn handle_due_;
    std::vector<Scanner> scanners_;
    ScannerLog log_;
    core::Eid reconciler_at_ = 0;            ///< rolling: continues where it stopped
    std::uint64_t inconsistent_so_far_ = 0;  ///< in the present round
    std::uint64_t inconsistent_before_ = 0;  ///< in the last
    std::optional<FlowId> dependencies_at_;
    std::optional<FlowId> projector_at_;
    core::LimitKey gates_at_;
    core::RouteId turns_at_ = std::numeric_limits<core::RouteId>::min();
    std::optional<BudgetId> budgets_at_;
    std::optional<QuotaPolicyId> policies_at_;
    LimitRowsAt ledgers_at_;
    LimitRowsAt slots_at_;
    EventTrim event_trim_;
    std::vector<core::Eid> unblock_at_;  ///< one position for each blocked bucket
    bool more_at_once_ = false;          ///< the running pass has left something for the next
};

}  // namespace ff::engine
