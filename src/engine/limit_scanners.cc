// The repair passes of budgets and quotas. What reports, claims and ends cause happens in their own
// transaction, and time acts at its moment; these find nothing in a healthy store but rows past
// their time.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/admission.h"
#include "core/decide.h"
#include "engine/scanners.h"

namespace ff::engine {

namespace {

constexpr std::size_t gates_per_pass = 100;
constexpr std::size_t limits_per_pass = 50;
constexpr std::size_t rows_per_page = 500;
constexpr std::size_t pages_per_pass = 20;
constexpr std::size_t dedups_per_pass = 1'000;
constexpr TimestampMs end_of_time = std::numeric_limits<TimestampMs>::max();

/// Slots of a policy that nobody can need: of those that have ended, wait or are gone.
bool keeps_slot(const std::optional<core::Execution>& e) {
    return e && (e->state.phase == LifecyclePhase::active || e->grant_expires_at);
}

void add_to(Amounts& sums, const Amounts& amounts) {
    for (const auto& [dimension, amount] : amounts) {
        std::uint64_t& sum = sums[dimension];
        sum = core::add_amounts(sum, amount);
    }
}

/// What ledger rows say of a budget: spent in the present period, and reserved.
struct LedgerSums {
    Amounts spent;
    Amounts reserved;
};
LedgerSums sums_of(const std::vector<core::LedgerRow>& rows, const core::Budget& budget) {
    LedgerSums sums;
    for (const core::LedgerRow& row : rows) {
        add_to(sums.reserved, row.reserved);
        if (row.reset_epoch == budget.reset_count) {
            add_to(sums.spent, row.spent);
        }
    }
    return sums;
}

/// What a budget says against what is written down; nothing for one that is gone.
expected<std::vector<std::string>> check_ledger(store::Reader& reader, const BudgetId& id) {
    std::vector<std::string> findings;
    FF_TRY(const auto budget, reader.budget(id));
    FF_TRY(const auto rows, reader.ledgers(id, std::nullopt, rows_per_page));
    if (!budget || rows.size() == rows_per_page) {
        return findings;  // a long ledger is not summed up: that would hold up everybody
    }
    const LedgerSums sums = sums_of(rows, *budget);
    if (sums.reserved != budget->reserved) {
        findings.emplace_back("what is reserved is not what executions hold");
    }
    for (const auto& [dimension, amount] : sums.spent) {
        const auto used = budget->usage.find(dimension);
        if (used == budget->usage.end() || used->second < amount) {
            findings.push_back(dimension + " counts less than was spent");
        }
    }
    return findings;
}

/// A policy, and what was given of it.
struct Given {
    core::QuotaPolicy policy;
    std::uint64_t slots = 0;
    std::uint64_t starts = 0;
};
/// Nothing for one that is gone.
expected<std::optional<Given>> given_of(store::Reader& reader, const QuotaPolicyId& id) {
    FF_TRY(auto policy, reader.policy(id));
    if (!policy) {
        return std::nullopt;
    }
    FF_TRY(const std::uint64_t slots, reader.slot_count(id));
    FF_TRY(const std::uint64_t starts, reader.starts(id, end_of_time));
    return Given{std::move(*policy), slots, starts};
}

}  // namespace

expected<void> Scanners::look_at_gates(TimestampMs now, ScannerResult& result) {
    std::vector<core::LimitKey> keys;
    FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
        FF_TRY(keys, batch_.store().scan_waiting_limits(gates_at_, gates_per_pass));
        return {};
    }));
    gates_at_ = keys.size() < gates_per_pass ? core::LimitKey{} : keys.back();
    for (const core::LimitKey& key : keys) {
        // Each for itself: one that fails keeps back nobody else.
        if (auto done = batch_.run_internal(now,
                                            [&]() -> expected<void> {
                                                FF_TRY(const std::uint64_t handled,
                                                       batch_.handle_limit(key, true));
                                                result.processed += handled;
                                                return {};
                                            });
            !done) {
            result.errors += 1;
            result.findings.push_back(std::string(to_string(key.kind)) + " " + key.id.to_string() +
                                      ": " + done.error().message());
        }
    }
    return {};
}

/// Pages until enough rows that are in order were seen, or the walk is round.
expected<void> Scanners::walk(const LimitRowsAt& at,
                              const std::function<expected<std::size_t>()>& page) {
    std::size_t seen = 0;
    for (std::size_t pages = 0; pages < pages_per_pass && seen < rows_per_page; ++pages) {
        FF_TRY(const std::size_t in_order, page());
        seen += in_order;
        if (at.limit == core::LimitId{}) {
            break;
        }
    }
    return {};
}

// ------------------------------------------------------------------------------------ budgets

expected<std::size_t> Scanners::ledger_page(TimestampMs now, ScannerResult& result) {
    std::size_t looked = 0;
    std::vector<core::LedgerKey> gone;
    store::Store& store = batch_.store();
    FF_TRY_VOID(batch_.make_readable());
    FF_TRY_VOID(store.read([&](store::Reader& reader) -> expected<void> {
        const BudgetId budget{ledgers_at_.limit.uuid};
        const auto page = reader.ledgers(budget, ledgers_at_.execution, rows_per_page);
        if (!page) {  // the rest of this ledger is passed over
            FF_TRY_VOID(tell_of(page.error(), "ledger of budget " + budget.to_string(), result));
        }
        const auto& rows = page.value_or(std::vector<core::LedgerRow>{});
        looked = rows.size();
        for (const core::LedgerRow& row : rows) {
            const auto e = reader.execution(row.key.execution);
            if (!e) {
                FF_TRY_VOID(tell_of(e.error(), row.key.execution.to_string(), result));
            } else if (!*e) {
                gone.push_back(row.key);
            }
        }
        if (rows.size() == rows_per_page) {
            ledgers_at_.execution = rows.back().key.execution;
            return {};
        }
        FF_TRY(const auto next, reader.budget_ids(budget, 1));
        ledgers_at_ =
            next.empty() ? LimitRowsAt{} : LimitRowsAt{core::LimitId{next[0].uuid}, std::nullopt};
        return {};
    }));
    if (gone.empty()) {
        return looked;
    }
    FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
        core::ReadSet set;
        set.limits.ledgers = gone;
        for (const core::LedgerKey& key : gone) {
            set.limits.budgets.push_back(key.budget);
        }
        FF_TRY_VOID(store.load(set, batch_.snapshot()));
        const core::LimitTable& limits = batch_.snapshot().limits;
        for (const core::LedgerKey& key : gone) {
            const core::LedgerRow* row = limits.ledger(key);
            const core::Budget* budget = limits.budget(key.budget);
            core::Changes changes;
            if (row != nullptr && budget != nullptr && !row->reserved.empty()) {
                core::return_reserved(*budget, *row, changes, now);
                changes.put_ledgers.clear();
            }
            changes.delete_ledgers = {key};
            batch_.keep(std::move(changes));
        }
        return {};
    }));
    result.processed += gone.size();
    return looked - gone.size();
}

expected<ScannerResult> Scanners::budget_reconciler(TimestampMs now) {
    ScannerResult result;
    store::Store& store = batch_.store();
    FF_TRY_VOID(batch_.make_readable());
    FF_TRY_VOID(store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto ids, reader.budget_ids(budgets_at_, limits_per_pass));
        budgets_at_ = ids.size() < limits_per_pass ? std::nullopt : std::optional(ids.back());
        for (const BudgetId& id : ids) {
            const auto findings = check_ledger(reader, id);
            if (!findings) {
                FF_TRY_VOID(tell_of(findings.error(), "budget " + id.to_string(), result));
                continue;
            }
            for (const std::string& finding : *findings) {
                result.findings.push_back("budget " + id.to_string() + ": " + finding);
            }
        }
        return {};
    }));
    FF_TRY_VOID(walk(ledgers_at_, [&] { return ledger_page(now, result); }));
    result.errors = result.findings.size();
    FF_TRY(const ScannerResult swept,
           sweep([&] { return store.sweep_usage_dedup(now, dedups_per_pass); }));
    result.processed += swept.processed;
    return result;
}

// ------------------------------------------------------------------------------------- quotas

expected<std::size_t> Scanners::slot_page(TimestampMs now, ScannerResult& result) {
    std::size_t looked = 0;
    std::vector<core::AdmissionKey> stray;
    store::Store& store = batch_.store();
    FF_TRY_VOID(batch_.make_readable());
    FF_TRY_VOID(store.read([&](store::Reader& reader) -> expected<void> {
        const QuotaPolicyId policy{slots_at_.limit.uuid};
        const auto page = reader.slots(policy, slots_at_.execution, rows_per_page);
        if (!page) {  // the rest of these slots is passed over
            FF_TRY_VOID(tell_of(page.error(), "slots of quota " + policy.to_string(), result));
        }
        const auto& rows = page.value_or(std::vector<core::Admission>{});
        looked = rows.size();
        for (const core::Admission& row : rows) {
            const auto e = reader.execution(row.key.execution);
            if (!e) {
                FF_TRY_VOID(tell_of(e.error(), row.key.execution.to_string(), result));
            } else if (!keeps_slot(*e)) {
                stray.push_back(row.key);
            }
        }
        if (rows.size() == rows_per_page) {
            slots_at_.execution = rows.back().key.execution;
            return {};
        }
        FF_TRY(const auto next, reader.policy_ids(policy, 1));
        slots_at_ =
            next.empty() ? LimitRowsAt{} : LimitRowsAt{core::LimitId{next[0].uuid}, std::nullopt};
        return {};
    }));
    if (stray.empty()) {
        return looked;
    }
    FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
        core::ReadSet set;
        for (const core::AdmissionKey& key : stray) {
            set.need(key.execution);
            set.limits.policies.push_back(key.policy);
            set.limits.admissions.push_back(key);
        }
        FF_TRY_VOID(store.load(set, batch_.snapshot()));
        const core::Snapshot& view = batch_.snapshot();
        for (const core::AdmissionKey& key : stray) {
            const core::Admission* held = view.limits.admission(key);
            const core::Execution* e = view.execution(key.execution);
            const core::QuotaPolicy* found = view.limits.policy(key.policy);
            if (held == nullptr || !held->slot_at || found == nullptr ||
                keeps_slot(e != nullptr ? std::optional(*e) : std::nullopt)) {
                continue;
            }
            core::QuotaPolicy policy = *found;
            core::Changes changes;
            if (auto left = core::without_slot(policy, *held)) {
                changes.put_admissions.push_back(*left);
            } else {
                changes.delete_admissions.push_back(key);
            }
            policy.wake_at = now;
            changes.put_policies.push_back(std::move(policy));
            batch_.keep(std::move(changes));
            result.processed += 1;
        }
        return {};
    }));
    return looked - stray.size();
}

expected<void> Scanners::recount(const core::QuotaPolicy& seen, std::uint64_t slots,
                                 std::uint64_t starts, TimestampMs now, ScannerResult& result) {
    return batch_.run_internal(now, [&]() -> expected<void> {
        core::ReadSet set;
        set.limits.policies.push_back(seen.id);
        FF_TRY_VOID(batch_.store().load(set, batch_.snapshot()));
        const core::QuotaPolicy* row = batch_.snapshot().limits.policy(seen.id);
        if (row == nullptr) {
            return {};
        }
        // What changed since the look is left to the next pass.
        if (*row == seen && (row->running != slots || row->in_window != starts)) {
            result.findings.push_back("quota " + seen.id.to_string() + ": counts " +
                                      std::to_string(row->running) + " slots and " +
                                      std::to_string(row->in_window) + " starts, has " +
                                      std::to_string(slots) + " and " + std::to_string(starts));
            core::QuotaPolicy policy = *row;
            policy.running = slots;
            policy.in_window = starts;
            core::Changes changes;
            changes.put_policies.push_back(std::move(policy));
            batch_.keep(std::move(changes));
        }
        // Drops what has aged, too.
        FF_TRY_VOID(batch_.handle_limit({core::LimitKind::quota, {seen.id.uuid}}, false));
        return {};
    });
}

expected<ScannerResult> Scanners::quota_reconciler(TimestampMs now) {
    ScannerResult result;
    FF_TRY_VOID(walk(slots_at_, [&] { return slot_page(now, result); }));
    std::vector<Given> all;
    FF_TRY_VOID(batch_.make_readable());
    FF_TRY_VOID(batch_.store().read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto ids, reader.policy_ids(policies_at_, limits_per_pass));
        policies_at_ = ids.size() < limits_per_pass ? std::nullopt : std::optional(ids.back());
        for (const QuotaPolicyId& id : ids) {
            auto given = given_of(reader, id);
            if (!given) {
                FF_TRY_VOID(tell_of(given.error(), "quota " + id.to_string(), result));
            } else if (*given) {
                all.push_back(std::move(**given));
            }
        }
        return {};
    }));
    for (const Given& seen : all) {
        // Each for itself: one that fails keeps back no other.
        if (auto done = recount(seen.policy, seen.slots, seen.starts, now, result); !done) {
            result.findings.push_back("quota " + seen.policy.id.to_string() + ": " +
                                      done.error().message());
        }
    }
    result.errors = result.findings.size();
    return result;
}

}  // namespace ff::engine
