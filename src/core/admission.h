// Whether an execution may start as far as budgets and quotas are concerned: what applies to it,
// what must be seen, and the answer. Used by every way to claim.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/budget_rules.h"
#include "core/changes.h"
#include "core/context.h"
#include "core/quota_rules.h"
#include "core/snapshot.h"

namespace ff::core {

/// What applies to an execution, each in the order of ids.
struct Applicable {
    std::vector<BudgetId> budgets;
    std::vector<QuotaPolicyId> quotas;  ///< where one counts by key: that of the execution's key
    std::map<QuotaPolicyId, QuotaPolicyId> parents;  ///< of those

    [[nodiscard]] bool empty() const { return budgets.empty() && quotas.empty(); }
};

/// What must be loaded to know what applies; to be asked until it is nothing. Attachments by place,
/// and those of its flow, if it is known to have some (a flow that claims need not look at has
/// none); then, for one that carries a key, which policies count by key.
void need_applicable(const Snapshot& view, const Execution& e, ReadSet& set);
Applicable applicable(const Snapshot& view, const Execution& e);
/// What must be loaded to decide.
void need_limits(const Snapshot& view, const Execution& e, const Applicable& limits, ReadSet& set);

struct Verdict {
    bool admitted = false;
    /// Admitted: what was taken; to be kept only if the claim succeeds. Refused: it is blocked.
    Changes changes;
    bool took = false;       ///< a start or a slot
    bool took_slot = false;  ///< a slot
    std::vector<BudgetId> reserved_in;
    Error refusal;  ///< of one that was refused
};
Verdict decide_limits(const Snapshot& view, const Execution& e, const Applicable& limits,
                      const Context& ctx);
/// Marks the row of one that was admitted.
void note_admission(const Verdict& verdict, Execution& e);

/// For claims of a named execution: the reads of all this, and the verdict.
void need_admission(const Snapshot& view, const ExecutionId& id, ReadSet& set);

/// Drops the starts that have aged, as far as they are loaded.
void drop_aged(const Snapshot& view, QuotaPolicy& policy, Changes& changes);

/// What an execution has of a policy, without a start that has aged; call after drop_aged().
std::optional<Admission> still_held(const Snapshot& view, const Admission* found,
                                    QuotaPolicy& policy, TimestampMs now);

/// The budgets named in its own row.
std::vector<BudgetId> own_budgets(const Execution& e);
void set_own_budgets(Execution& e, const std::vector<BudgetId>& ids);

/// Of one that waits at the gate of a budget or policy.
bool waits_at_limit(const Execution& e);
/// Is the gate that of one of these?
bool holds_gate(const Applicable& limits, const std::string& gate);

/// What an execution gives back because of a change; sets the row right.
void add_limit_work(const Execution* before, Execution& after, std::vector<LimitWork>& out);
void reads_more(const Snapshot& view, const LimitWork& work, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const LimitWork& work, const Context& ctx);

/// Keeps a policy as it is now; that of a key only while there is something to keep.
void put_or_drop(QuotaPolicy policy, Changes& changes);

/// Nothing is reserved for the execution of the row any more.
void return_reserved(const Budget& found, const LedgerRow& held, Changes& changes, TimestampMs now);

/// `cause` is the execution it came of, if one did. It can be found by what is known of that.
LogEvent budget_event(const Snapshot& view, const Budget& budget, std::string type,
                      const Breach& breach, const std::optional<ExecutionId>& cause,
                      TimestampMs now);

}  // namespace ff::core
