#include "support/world.h"

#include <algorithm>
#include <ranges>

#include "core/invariants.h"

namespace ff::testing {

namespace {

template <class Map, class Key>
auto copy_of(const Map& rows, const Key& key) -> std::optional<typename Map::mapped_type> {
    auto it = rows.find(key);
    return it == rows.end() ? std::nullopt : std::optional(it->second);
}

template <class Map, class Key>
auto pointer_to(const Map& rows, const Key& key) -> const typename Map::mapped_type* {
    auto it = rows.find(key);
    return it == rows.end() ? nullptr : &it->second;
}

template <class Map, class Tracked>
void keep_dirty(Map& rows, const Tracked& tracked) {
    for (const auto& [key, row] : tracked) {
        if (!row.dirty) {
            continue;
        }
        if (row.current()) {
            rows.insert_or_assign(key, *row.current());
        } else {
            rows.erase(key);
        }
    }
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
    return std::ranges::find(words, word) != words.end();
}

bool has_ended(const core::Attempt& attempt) { return attempt.ended_at.has_value(); }

}  // namespace

// --------------------------------------------------------------------------------- operations

expected<CreateResult> World::run(CreateExecution op) {
    FF_TRY(auto command, core::prepare(std::move(op), settings_, ids_, now));
    return decide_and_commit(command);
}

expected<ClaimResult> World::run(Claim op) {
    FF_TRY_VOID(core::validate(op));
    ClaimResult result;
    while (result.tasks.size() < op.max_tasks) {
        const core::Execution* found = candidate(op);
        if (found == nullptr) {
            break;
        }
        core::Snapshot view(*routes_);
        load({found->id, core::InputNeed::always, false, false}, view);
        const core::Lessee lessee{op.worker_id,    op.worker_instance_id, route(*found).key.lane,
                                  op.lease_ttl_ms, std::nullopt,          std::nullopt};
        load_more(IssueClaimGrant{.execution_id = found->id}, view);  // its flow
        if (found->flow_id) {
            if (auto instead = core::hold_back(view, *found, context())) {
                FF_TRY_VOID(settle(view, core::Decision<Done>(Done{}, std::move(*instead))));
                continue;
            }
        }
        FF_TRY(auto task, settle(view, core::decide_take(view, *found, lessee, context())));
        if (task) {  // else it was at its reclaim cap and has ended: look on
            result.tasks.push_back(std::move(*task));
        }
    }
    return result;
}

expected<ClaimForWorkerResult> World::run(ClaimForWorker op) {
    FF_TRY_VOID(core::validate(op));
    const Claim wanted{.lanes = {op.lane_id}, .capabilities = op.capabilities, .ns = op.ns};
    while (const core::Execution* found = candidate(wanted)) {
        core::Snapshot view(*routes_);
        load({found->id, core::InputNeed::always, false, false}, view);
        FF_TRY(auto grant, settle(view, core::decide_grant(view, *found, op, context())));
        if (grant) {
            return ClaimForWorkerResult{std::move(grant)};
        }
    }
    return ClaimForWorkerResult{};
}

const core::Execution* World::candidate(const Claim& op) const {
    const core::Execution* best = nullptr;
    const auto place = [](const core::Execution& e) { return std::pair(-e.priority, e.eid); };
    for (const auto& [id, e] : records.executions) {
        const core::Route& way = route(e);
        const LaneState lane = records.lanes.at(way.key.lane).state;
        if (core::ready_key(e) && !e.gate && contains(op.lanes, way.key.lane) &&
            lane != LaneState::paused && lane != LaneState::disabled &&
            satisfies(op.capabilities, way.required) && (!op.ns || *op.ns == way.key.ns) &&
            (op.kinds.empty() || contains(op.kinds, way.key.kind)) &&
            (best == nullptr || place(e) < place(*best))) {
            best = &e;
        }
    }
    return best;
}

std::size_t World::tick() {
    std::vector<ExecutionId> due;
    for (const auto& [id, e] : records.executions) {
        if (e.timer_at && *e.timer_at <= now) {
            due.push_back(id);
        }
    }
    std::size_t acted = 0;
    for (const ExecutionId& id : due) {
        const auto still_due = [&] {
            const core::Execution* left = find(id);
            return left != nullptr && left->timer_at && *left->timer_at <= now;
        };
        const core::Execution* before = find(id);
        const bool had_ended = before != nullptr && is_terminal(before->state);
        auto answer = run(core::HandleDue{id});
        acted += answer && *answer ? 1 : 0;
        if (answer && !had_ended && still_due() && is_terminal(find(id)->state)) {
            answer = run(core::HandleDue{id});  // kept for no time: it goes in the next transaction
        }
        if (!answer || still_due()) {
            violations.push_back("timer: still due after it was handled");
        }
    }
    return acted;
}

void World::advance(DurationMs by) {
    const TimestampMs until = now + by;
    tick();
    for (;;) {
        std::optional<TimestampMs> next;
        for (const auto& [id, e] : records.executions) {
            if (e.timer_at && *e.timer_at > now && *e.timer_at <= until) {
                next = std::min(next.value_or(until), *e.timer_at);
            }
        }
        if (!next) {
            break;
        }
        now = *next;
        tick();
    }
    now = until;
}

// -------------------------------------------------------------------------------------- reads

const core::Execution* World::find(const ExecutionId& id) const {
    return pointer_to(records.executions, id);
}

const core::Attempt* World::attempt(const ExecutionId& id, std::uint32_t index) const {
    const core::Execution* e = find(id);
    const auto* rows = e == nullptr ? nullptr : pointer_to(records.attempts, e->eid);
    return rows == nullptr ? nullptr : pointer_to(*rows, index);
}

const core::GrantRow* World::grant(const ExecutionId& id) const {
    const core::Execution* e = find(id);
    return e == nullptr ? nullptr : pointer_to(records.grants, e->eid);
}

const core::Route& World::route(const core::Execution& e) const { return *routes_->find(e.route); }

// Exactly what was asked for is loaded: a decision that looks at more aborts.
void World::load(const core::ReadSet::ExecutionNeed& need, core::Snapshot& view) const {
    core::ExecutionCell& cell = view.cell(need.id);
    cell.execution.load(copy_of(records.executions, need.id));
    if (!cell.execution.current()) {
        return;
    }
    const core::Execution& e = *cell.execution.current();
    view.index_by_eid(cell);
    load_open_waits(e, view);
    if (core::needs_input(need.input, e)) {
        cell.input.load(copy_of(records.inputs, e.eid));
    }
    if (need.grant) {
        cell.grant.load(copy_of(records.grants, e.eid));
    }
    if (need.attempt && core::needs_attempt(e)) {
        const core::Attempt* row = attempt(e.id, *e.current_attempt_index);
        cell.attempts[*e.current_attempt_index].load(row == nullptr ? std::nullopt
                                                                    : std::optional(*row));
    }
}

void World::load_limits(const core::LimitReads& wanted, core::Snapshot& view) {
    if (wanted.places) {
        view.limits.load_places({});
    }
    for (const auto& target : wanted.targets) {
        view.limits.load_target(target, {});
    }
    for (const auto& ids : {wanted.budgets, wanted.budgets_looked}) {
        for (const BudgetId& id : ids) {
            view.limits.load_budget(id, std::nullopt);
        }
    }
    for (const QuotaPolicyId& id : wanted.policies) {
        view.limits.load_policy(id, std::nullopt);
    }
    for (const auto& key : wanted.admissions) {
        view.limits.load_admission(key, std::nullopt);
    }
}

void World::load(const core::ReadSet& set, core::Snapshot& view) const {
    for (const auto& need : set.executions) {
        load(need, view);
    }
    load_limits(set.limits, view);
    for (const auto& name : set.lanes) {
        view.load_lane(name, copy_of(records.lanes, name));
    }
    for (const auto& key : set.idempotency) {
        view.load_idempotency(key, copy_of(records.idempotency, key));
    }
    for (const auto& key : set.workers) {
        view.load_worker(key, copy_of(records.workers, key));
    }
    for (const auto& key : set.leased_by) {
        std::vector<ExecutionId> held;
        for (const auto& [id, e] : records.executions) {
            if (e.state.ownership == OwnershipState::leased &&
                e.worker_instance_id == key.worker_instance_id && route(e).key.ns == key.ns) {
                load({id, core::InputNeed::if_tagged, false, false}, view);
                held.push_back(id);
            }
        }
        view.load_leased_by(key, std::move(held));
    }
    load_flows(set, view);
    load_waits(set, view);
}

// ------------------------------------------------------------------------------------- commit

void World::commit(core::Snapshot& view, Steps steps) {
    if (!view.new_routes.empty()) {
        auto grown = std::make_shared<core::RouteTable>();
        for (const core::Route& known : routes_->all()) {
            grown->add(known);
        }
        for (const core::Route& fresh : view.new_routes) {
            grown->add(fresh);
        }
        routes_ = std::move(grown);
    }
    keep_waits(view);
    keep_dirty(records.lanes, view.lanes);
    keep_dirty(records.workers, view.workers);
    for (core::ExecutionCell& cell : view.cells) {
        if (cell.deleted && cell.execution.stored) {
            erase(*cell.execution.stored);
            cell.execution.stored.reset();  // what may stand there now is another, and new
        }
        if (cell.execution.current()) {
            keep(cell);
        }
        if (cell.group.dirty) {
            records.groups.insert_or_assign(cell.id, *cell.group.current());
        }
        if (cell.execution.dirty && cell.execution.current()) {
            check(cell);
            if (steps == Steps::one) {
                check_step(cell, view);
            }
        }
    }
    keep_dirty(records.idempotency, view.idempotency_entries);
    keep_flows(view);
    std::ranges::copy(view.events, std::back_inserter(records.events));
    std::ranges::copy(view.log_events, std::back_inserter(records.log_events));
}

void World::keep(core::ExecutionCell& cell) {
    if (cell.execution.dirty) {
        core::Execution& e = cell.execution.edit();
        core::arm_timer(cell.execution.stored, e, now, settings_.retention_ms);
        records.executions.insert_or_assign(e.id, e);
    }
    if (cell.input.dirty) {
        records.inputs.insert_or_assign(cell.input.current()->eid, *cell.input.current());
    }
    for (const auto& [index, row] : cell.attempts) {
        if (row.dirty) {
            auto& kept = records.attempts[row.current()->eid];
            auto [it, fresh] = kept.try_emplace(index, *row.current());
            if (!fresh && has_ended(it->second) && it->second != *row.current()) {
                violations.push_back("history: an attempt changed after its end");
            }
            it->second = *row.current();
        }
    }
    if (cell.grant.dirty && cell.grant.current()) {
        records.grants.insert_or_assign(cell.grant.current()->eid, *cell.grant.current());
    } else if (cell.grant.dirty) {
        records.grants.erase(cell.execution.current()->eid);
    }
}

void World::erase(const core::Execution& gone) {
    std::erase_if(records.idempotency,
                  [&](const auto& entry) { return entry.second.execution_id == gone.id; });
    records.executions.erase(gone.id);
    records.inputs.erase(gone.eid);
    records.attempts.erase(gone.eid);
    records.grants.erase(gone.eid);
    erase_waits(gone.eid);
}

void World::check(const core::ExecutionCell& cell) {
    const core::Execution& e = *cell.execution.current();
    std::vector<core::Attempt> rows;
    if (const auto* kept = pointer_to(records.attempts, e.eid)) {
        std::ranges::copy(*kept | std::views::values, std::back_inserter(rows));
    }
    std::ranges::move(core::check_invariants(e, rows), std::back_inserter(violations));
    check_waits(e);
    const auto require = [&](bool holds, const char* sentence) {
        if (!holds) {
            violations.emplace_back(sentence);
        }
    };
    const auto due = core::next_due(e, settings_.retention_ms);
    require(!due || (e.timer_at && *e.timer_at <= *due), "timer: armed too late");
    const core::GrantRow* grant_row = grant(e.id);
    require(!e.grant_expires_at ||
                (grant_row != nullptr && grant_row->expires_at == *e.grant_expires_at),
            "grant: hidden behind a grant that is not there");
    const bool held = e.state.phase == LifecyclePhase::suspended ||
                      (e.state.phase == LifecyclePhase::runnable &&
                       e.state.eligibility != EligibilityState::eligible_now);
    require(is_terminal(e.state) || held || core::ready_key(e) || e.timer_at,
            "stranded: neither a worker, nor time, nor a hold will move it");
}

void World::check_step(const core::ExecutionCell& cell, const core::Snapshot& view) {
    const core::Execution& e = *cell.execution.current();
    const auto& before = cell.execution.stored;
    if (before) {
        std::ranges::move(core::check_step(*before, e), std::back_inserter(violations));
    }
    std::ptrdiff_t completions = 0;
    for (const core::ExecutionEvent& event : view.events) {
        completions += event.eid == e.eid && event.outcome ? 1 : 0;
        if (event.type != core::LeaseEventType::none &&
            event.type != core::LeaseEventType::replay_initiated && !event.lease_id) {
            violations.emplace_back("history: an event without its lease");
        }
    }
    const bool ended = is_terminal(e.state) && !(before && is_terminal(before->state));
    if (completions != (ended ? 1 : 0)) {
        violations.emplace_back("completion: exactly one event for each end");
    }
}

}  // namespace ff::testing
