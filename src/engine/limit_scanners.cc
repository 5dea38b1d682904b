// The repair passes of budgets and quotas. What reports, claims and ends cause happens in their own
// transaction, and time acts at its moment; these find nothing in a healthy store but rows past
// their time.
#include <algorithm>
#include <map>
#include <set>

#include "core/admission.h"
#include "core/decide.h"
#include "engine/scanners.h"

namespace ff::engine {

namespace {

constexpr std::size_t gates_per_pass = 100;
constexpr std::size_t limits_per_pass = 50;
constexpr std::size_t rows_per_look = 1'000;
constexpr std::size_t dedups_per_pass = 1'000;

/// Slots of a policy that nobody can need: of those that have ended, wait or are gone.
bool keeps_slot(const std::optional<core::Execution>& e) {
    return e && (e->state.phase == LifecyclePhase::active || e->grant_expires_at);
}

struct PolicyFindings {
    core::QuotaPolicy policy;
    std::vector<core::AdmissionKey> stray;  ///< slots to take back
    std::uint64_t slots = 0;
    std::uint64_t starts = 0;
};

expected<PolicyFindings> look_at(store::Reader& reader, const core::QuotaPolicy& policy) {
    PolicyFindings out;
    out.policy = policy;
    std::optional<ExecutionId> after;
    for (;;) {
        FF_TRY(const auto rows, reader.slots(policy.id, after, rows_per_look));
        for (const core::Admission& row : rows) {
            after = row.key.execution;
            out.slots += 1;
            FF_TRY(const auto e, reader.execution(row.key.execution));
            if (!keeps_slot(e)) {
                out.stray.push_back(row.key);
            }
        }
        if (rows.size() < rows_per_look) {
            break;
        }
    }
    FF_TRY(out.starts, reader.starts(policy.id));
    return out;
}

/// Amounts that are written down of the present period, and executions that are gone.
struct LedgerFindings {
    Amounts spent;
    std::vector<core::LedgerKey> gone;
};

expected<LedgerFindings> look_at(store::Reader& reader, const core::Budget& budget) {
    LedgerFindings out;
    std::optional<ExecutionId> after;
    for (;;) {
        FF_TRY(const auto rows, reader.ledgers(budget.id, after, rows_per_look));
        for (const core::LedgerRow& row : rows) {
            after = row.key.execution;
            FF_TRY(const auto e, reader.execution(row.key.execution));
            if (!e) {
                out.gone.push_back(row.key);
            }
            if (row.reset_epoch == budget.reset_count) {
                for (const auto& [dimension, amount] : row.spent) {
                    std::uint64_t& sum = out.spent[dimension];
                    sum = core::add_amounts(sum, amount);
                }
            }
        }
        if (rows.size() < rows_per_look) {
            return out;
        }
    }
}

}  // namespace

expected<std::uint64_t> Scanners::look_at_gates(TimestampMs now) {
    std::uint64_t let_go = 0;
    FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
        FF_TRY(const auto keys, batch_.store().scan_waiting_limits(gates_at_, gates_per_pass));
        gates_at_ = keys.size() < gates_per_pass ? core::LimitKey{} : keys.back();
        for (const core::LimitKey& key : keys) {
            FF_TRY(const std::uint64_t handled, batch_.handle_limit(key, true));
            let_go += handled;
        }
        return {};
    }));
    return let_go;
}

expected<ScannerResult> Scanners::budget_reconciler(TimestampMs now) {
    ScannerResult result;
    std::vector<core::LedgerKey> gone;
    store::Store& store = batch_.store();
    if (batch_.take_unsynced()) {
        FF_TRY_VOID(store.make_durable());  // a reader waits for what nobody else would sync now
    }
    FF_TRY_VOID(store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto budgets, reader.budgets(budgets_at_, limits_per_pass));
        budgets_at_ =
            budgets.size() < limits_per_pass ? std::nullopt : std::optional(budgets.back().id);
        for (const core::Budget& budget : budgets) {
            FF_TRY(const LedgerFindings found, look_at(reader, budget));
            gone.insert(gone.end(), found.gone.begin(), found.gone.end());
            for (const auto& [dimension, spent] : found.spent) {
                const auto used = budget.usage.find(dimension);
                if (used == budget.usage.end() || used->second < spent) {
                    result.findings.push_back("budget " + budget.id.to_string() + ": " + dimension +
                                              " counts less than was spent");
                }
            }
            if (budget.waiting && !core::blocking(budget) && !budget.wake_at) {
                result.findings.push_back("budget " + budget.id.to_string() +
                                          ": is clear, and somebody may still wait for it");
            }
        }
        return {};
    }));
    result.errors = result.findings.size();
    if (!gone.empty()) {
        FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
            core::ReadSet set;
            set.limits.ledgers = gone;
            FF_TRY_VOID(store.load(set, batch_.snapshot()));
            core::Changes changes;
            changes.delete_ledgers = gone;
            batch_.keep(std::move(changes));
            return {};
        }));
        result.processed += gone.size();
    }
    FF_TRY(const ScannerResult swept,
           sweep([&] { return store.sweep_usage_dedup(now, dedups_per_pass); }));
    result.processed += swept.processed;
    return result;
}

expected<ScannerResult> Scanners::quota_reconciler(TimestampMs now) {
    ScannerResult result;
    std::vector<PolicyFindings> all;
    store::Store& store = batch_.store();
    if (batch_.take_unsynced()) {
        FF_TRY_VOID(store.make_durable());  // a reader waits for what nobody else would sync now
    }
    FF_TRY_VOID(store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto policies, reader.policies(policies_at_, limits_per_pass));
        policies_at_ =
            policies.size() < limits_per_pass ? std::nullopt : std::optional(policies.back().id);
        for (const core::QuotaPolicy& policy : policies) {
            FF_TRY(PolicyFindings found, look_at(reader, policy));
            all.push_back(std::move(found));
        }
        return {};
    }));
    for (const PolicyFindings& found : all) {
        FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
            // Drops what has aged, too.
            const core::LimitKey key{core::LimitKind::quota, {found.policy.id.uuid}};
            for (const core::AdmissionKey& stray : found.stray) {
                core::ReadSet set;
                set.need(stray.execution);
                set.limits.admissions.push_back(stray);
                FF_TRY_VOID(store.load(set, batch_.snapshot()));
            }
            core::ReadSet set;
            set.limits.policies.push_back(found.policy.id);
            FF_TRY_VOID(store.load(set, batch_.snapshot()));
            const core::Snapshot& view = batch_.snapshot();
            const core::QuotaPolicy* row = view.limits.policy(found.policy.id);
            if (row == nullptr) {
                return {};
            }
            core::QuotaPolicy policy = *row;
            core::Changes changes;
            // What changed since the look is left to the next pass.
            if (policy == found.policy &&
                (policy.running != found.slots || policy.in_window != found.starts)) {
                result.findings.push_back("quota " + policy.id.to_string() + ": counts " +
                                          std::to_string(policy.running) + " slots and " +
                                          std::to_string(policy.in_window) + " starts, has " +
                                          std::to_string(found.slots) + " and " +
                                          std::to_string(found.starts));
                policy.running = found.slots;
                policy.in_window = found.starts;
            }
            for (const core::AdmissionKey& stray : found.stray) {
                const core::Admission* held = view.limits.admission(stray);
                const core::Execution* e = view.execution(stray.execution);
                if (held == nullptr || !held->slot_at ||
                    keeps_slot(e != nullptr ? std::optional(*e) : std::nullopt)) {
                    continue;
                }
                if (auto left = core::without_slot(policy, *held)) {
                    changes.put_admissions.push_back(*left);
                } else {
                    changes.delete_admissions.push_back(stray);
                }
                policy.wake_at = now;
                result.processed += 1;
            }
            changes.put_policies.push_back(std::move(policy));
            batch_.keep(std::move(changes));
            FF_TRY_VOID(batch_.handle_limit(key, false));
            return {};
        }));
    }
    result.errors = result.findings.size();
    return result;
}

}  // namespace ff::engine
