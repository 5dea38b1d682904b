// Rows of limits for the tests of stores.
#include "store/contract.h"

namespace ff::store::test {

void fill_limits(core::Execution& e) {
    e.budgets = "a,b";
    e.quota = QuotaPolicyId{Uuid{{5}}};
    e.blocked_until = t0 + 77;
    e.has_admissions = true;
    e.holds_slots = true;
    e.reserve = {{"tokens", 5}};
    e.reserved_in = "some budgets";
    e.limit_key = "a \"key\"";
    e.has_turn = true;
    e.place = 4'711;
}

core::Budget full_budget(std::uint8_t n) {
    core::Budget row;
    row.id = BudgetId{Uuid{{n}}};
    row.scope_type = "tenant";
    row.scope_id = "a \"scope\"";
    row.mode = EnforcementMode::advisory;
    row.on_hard_limit = OnHardLimit::cancel;
    row.on_soft_limit = OnSoftLimit::none;
    row.reset_interval_ms = 60'000;
    row.next_reset_at = t0 + 60'000;
    row.last_reset_at = t0 + 1;
    row.reset_count = 4;
    row.breach_count = 5;
    row.soft_breach_count = 6;
    row.last_breach_at = t0 + 2;
    row.last_breach_dim = "tokens";
    row.created_at = t0;
    row.updated_at = t0 + 3;
    row.limits = {{"tokens", {amount_max, 80}}, {"c \"x\"", {0, 1}}};
    row.usage = {{"tokens", amount_max}, {"other", 0}};
    row.waiting = true;
    row.wake_at = t0 + 4;
    row.cancel_dim = "tokens";
    row.cancel_from = id_of(7);
    row.timer_at = t0 + 4;
    row.reserved = {{"tokens", 3}};
    row.approved_period = 4;
    return row;
}

core::LedgerRow full_ledger(std::uint8_t budget, std::uint8_t execution) {
    return {
        {BudgetId{Uuid{{budget}}}, id_of(execution)}, 3, {{"tokens", 12}}, {{"tokens", 2}}, t0 + 8};
}

core::QuotaPolicy full_policy(std::uint8_t n) {
    core::QuotaPolicy row;
    row.id = QuotaPolicyId{Uuid{{n}}};
    row.limits = {10, 20, 30, 40, true};
    row.window_ms = 10'000;
    row.created_at = t0;
    row.updated_at = t0 + 1;
    row.running = 2;
    row.in_window = 1;
    row.offered = 1;
    row.waiting = true;
    row.wake_at = t0 + 9;
    row.unnamed = true;
    row.deleted = true;
    row.parent = QuotaPolicyId{Uuid{{n, n}}};
    row.limit_key = "a \"key\"";
    row.keys_task = core::KeysTask::end;
    row.keys_from = "from";
    return row;
}

}  // namespace ff::store::test
