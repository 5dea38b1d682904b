#include "engine/batch.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "core/cascade.h"
#include "core/decide.h"

namespace ff::engine {

namespace {

/// A queue that another process was at is looked at again after so long.
constexpr DurationMs turns_pause_ms = 2;

template <class C>
constexpr bool is_claim = std::is_same_v<C, Claim> || std::is_same_v<C, ClaimForWorker>;

void reads_of(const Command& command, core::ReadSet& set) {
    ff::visit(
        [&set]<class C>(const C& c) {
            if constexpr (!is_claim<C> && !std::is_same_v<C, RunScanner>) {
                core::reads(c, set);
            }
        },
        command);
}

void more_reads_of(const core::Snapshot& view, const Command& command, core::ReadSet& set) {
    ff::visit(
        [&]<class C>(const C& c) {
            if constexpr (!is_claim<C> && !std::is_same_v<C, RunScanner>) {
                core::reads_more(view, c, set);
            }
        },
        command);
}

}  // namespace

Batch::Batch(store::Store& store, const core::Settings& settings, IdSource& ids, Tally& tally,
             std::size_t waiting_claims_max, WarnFn warn)
    : store_(store),
      settings_(settings),
      tally_(tally),
      warn_(std::move(warn)),
      keystore_(settings.keystore_key),
      snapshot_(store.routes()),
      ctx_{0, ids, store, policies_, settings, keystore_},
      ready_(store),
      turns_(
          store, ready_, snapshot_, ctx_,
          [this](core::Changes&& changes) { apply(std::move(changes)); }, warn_),
      desk_(store, ready_, waiting_claims_max, warn_) {}

void Batch::apply(core::Changes&& changes) {
    const auto moved = [this](const core::Execution* before, const core::Execution* after) {
        const auto from = before != nullptr ? core::ready_key(*before) : std::nullopt;
        const auto to = after != nullptr ? core::ready_key(*after) : std::nullopt;
        if (from == to) {
            return;
        }
        if (from) {
            ready_.erase(*from);
        }
        if (to) {
            ready_.insert(*to);
        }
    };
    for (core::Execution& row : changes.put_executions) {
        const core::ExecutionCell* cell = snapshot_.find_cell(row.id);
        const core::Execution* before = cell != nullptr ? cell->execution.get() : nullptr;
        core::add_limit_work(before, row, limit_work_);
        turns_.note(before, row);
        moved(before, &row);
        core::add_follow_ups(before, row, ctx_.now, work_);
    }
    for (core::Eid eid : changes.delete_executions) {
        const core::Execution* before = snapshot_.find_cell(eid)->execution.get();
        moved(before, nullptr);
        core::add_follow_ups_of_removal(*before, ctx_.now, work_);
    }
    std::ranges::move(changes.follow_ups, std::back_inserter(work_));
    rows_changed_ +=
        changes.put_executions.size() + changes.put_edges.size() + changes.put_groups.size();
    if (!changes.put_lanes.empty()) {
        desk_.recheck_all();  // a lane that opens makes nothing ready that was not ready before
    }
    snapshot_.apply(std::move(changes));
}

expected<void> Batch::give_back() {
    const std::vector<core::LimitWork> round = std::exchange(limit_work_, {});
    while (store_.shared()) {
        core::ReadSet set;
        for (const core::LimitWork& work : round) {
            core::reads_more(snapshot_, work, set);
        }
        if (set.empty()) {
            break;
        }
        FF_TRY_VOID(load(set));
    }
    for (const core::LimitWork& work : round) {
        FF_TRY_VOID(load_more(work));
        auto decision = core::decide(snapshot_, work, ctx_);
        apply(std::move(decision.changes));
    }
    return {};
}

expected<void> Batch::load(const core::ReadSet& set) {
    FF_TRY_VOID(store_.load(set, snapshot_));
    for (const auto& [gate, limit] : set.parked) {
        FF_TRY(const auto keys, store_.scan_ready(core::gate_route(gate), std::nullopt, limit));
        std::vector<core::Eid> eids;
        std::ranges::transform(keys, std::back_inserter(eids), &core::ReadyKey::eid);
        FF_TRY_VOID(store_.load(eids, core::InputNeed::none, false, snapshot_));
        std::vector<ExecutionId> ids;
        for (const core::Eid eid : eids) {
            if (const core::ExecutionCell* cell = snapshot_.find_cell(eid)) {
                ids.push_back(cell->id);
            } else {
                snapshot_.load_parked_partly(gate);  // another process is at it
            }
        }
        snapshot_.load_parked(gate, std::move(ids));
    }
    return {};
}

expected<void> Batch::load_all(const std::vector<Pending>& commands) {
    core::ReadSet set;
    for (const Pending& pending : commands) {
        reads_of(pending.command, set);
    }
    if (set.empty()) {
        return {};
    }
    FF_TRY_VOID(store_.load(set, snapshot_));
    // Where asking is dear, all of them ask together; each does once more before it is decided.
    while (store_.shared()) {
        core::ReadSet more;
        for (const Pending& pending : commands) {
            more_reads_of(snapshot_, pending.command, more);
        }
        if (more.empty()) {
            break;
        }
        FF_TRY_VOID(load(more));
    }
    return {};
}

expected<void> Batch::follow_up() {
    while (!work_.empty()) {
        const std::vector<core::FlowWork> round = std::exchange(work_, {});
        while (store_.shared()) {
            core::ReadSet set;
            for (const core::FlowWork& work : round) {
                core::reads_more(snapshot_, work, set);
            }
            if (set.empty()) {
                break;
            }
            FF_TRY_VOID(load(set));
        }
        for (const core::FlowWork& work : round) {
            if (rows_changed_ >= settings_.flows.cascade_rows && core::may_wait(work.key.kind)) {
                core::Changes later;
                later.put_work.push_back(work);
                apply(std::move(later));
                continue;
            }
            FF_TRY_VOID(load_more(work));
            auto decision = core::decide(snapshot_, work, ctx_);
            if (!decision.answer) {
                return std::unexpected(std::move(decision.answer).error());
            }
            apply(std::move(decision.changes));
        }
    }
    if (!limit_work_.empty()) {
        FF_TRY_VOID(give_back());
    }
    return turns_.give_turns();
}

void Batch::note_scheduled(Run& run) const {
    for (Outcome& outcome : run.outcomes) {
        const auto* cancel = ff::get_if<CancelFlow>(&outcome.pending.command);
        if (cancel == nullptr || !outcome.response) {
            continue;
        }
        if (auto* reply = ff::get_if<CancelFlowResult>(&*outcome.response)) {
            const core::FlowWorkKey first{cancel->flow_id, core::FlowWorkKind::cancel_member,
                                          ExecutionId{}};
            const auto left = std::ranges::find_if(
                snapshot_.flow_work.lower_bound(first), snapshot_.flow_work.end(),
                [](const auto& entry) { return entry.second.current().has_value(); });
            reply->scheduled = !reply->already_terminal && left != snapshot_.flow_work.end() &&
                               left->first.flow == first.flow && left->first.kind == first.kind;
        }
    }
}

expected<void> Batch::decide_all(std::vector<Pending>& commands, Run& run) {
    std::vector<Pending> claims;
    expected<void> failure;  // the store's; all commands still get a place in the outcomes
    for (Pending& pending : commands) {
        if (takes_any(pending.command)) {
            claims.push_back(std::move(pending));
            continue;
        }
        expected<void> loaded;
        Response response = ff::visit(
            [&]<class C>(const C& c) -> Response {
                if constexpr (is_claim<C> || std::is_same_v<C, RunScanner>) {
                    return ff::fail(ErrorCode::internal, "not a command of a batch");
                } else {
                    loaded = load_more(c);
                    if (!loaded) {
                        return Done{};  // the batch fails
                    }
                    return settle(core::decide(snapshot_, c, ctx_));
                }
            },
            pending.command);
        run.outcomes.push_back({std::move(pending), std::move(response)});
        if (!loaded) {
            failure = std::move(loaded);
        }
    }
    commands = std::move(claims);
    return failure;
}

expected<void> Batch::begin(TimestampMs now) {
    ctx_.now = now;
    due_ = {};
    work_.clear();
    limit_work_.clear();
    turns_.begin();
    snapshot_.limits.now = now;
    rows_changed_ = 0;
    joins_resumed_ = 0;
    began_ = std::chrono::steady_clock::now();
    return store_.begin();
}

Batch::Run Batch::run(std::vector<Pending> commands, TimestampMs now, std::size_t due_max,
                      Waiting waiting) {
    Run run;
    run.outcomes.reserve(commands.size());
    only_due_ = commands.empty();
    if (auto begun = begin(now); !begun) {
        pause_due();
        for (Pending& pending : commands) {
            run.outcomes.push_back({std::move(pending), Response(Done{})});
        }
        run.failure = std::move(begun).error();
        run.store_failed = true;
        desk_.refuse_all(*run.failure, run.refused);
        return run;
    }
    ready_.begin();
    if (store_.shared()) {
        desk_.expect(commands);
    }
    // What commands name is loaded first: on a shared store that may wait for another process, and
    // nothing is held while waiting.
    expected<void> ok = load_all(commands);
    bool due_ok = true;
    if (ok) {
        ok = handle_due(run, due_max);
        due_ok = ok.has_value();
    }
    if (ok) {
        ok = decide_all(commands, run);
    }
    if (ok) {
        ok = follow_up();
    }
    if (ok) {
        ok = open_gates(run);
    }
    if (ok) {
        // From here `commands` holds the claims only.
        ok = desk_.serve(std::exchange(commands, {}), waiting, snapshot_, ctx_,
                         {[this](core::Changes&& changes) { apply(std::move(changes)); },
                          [this](const core::Execution* candidate) -> expected<bool> {
                              if (!turns_.comes_first(candidate)) {
                                  return false;
                              }
                              FF_TRY_VOID(turns_.give_turns());
                              return true;
                          }},
                         run.outcomes, run.refused);
    }
    if (ok && !(work_.empty() && limit_work_.empty() && turns_.idle())) {
        ok = follow_up();
        desk_.recheck_all();  // it may have made work ready
    }
    for (Pending& pending : commands) {
        run.outcomes.push_back({std::move(pending), Response(Done{})});
    }
    if (ok) {
        note_scheduled(run);
    }
    // What follows from due work fails with it.
    const bool by_due = !due_ok || (only_due_ && run.outcomes.empty() && run.refused.empty());
    const Suspect suspect = by_due ? Suspect::due : Suspect::others;
    run.due_taken = due_.size();
    if (!ok) {
        store_.rollback();
        fail(run, std::move(ok).error(), suspect);
    } else if (auto committed = commit(run); !committed) {
        fail(run, std::move(committed).error(), suspect);
    }
    return run;
}

bool Batch::anything_to_write() const {
    const auto dirty = [](const auto& map) {
        return std::ranges::any_of(map, [](const auto& entry) { return entry.second.dirty; });
    };
    return !snapshot_.events.empty() || !snapshot_.log_events.empty() ||
           !snapshot_.new_routes.empty() ||
           std::ranges::any_of(snapshot_.cells,
                               [](const core::ExecutionCell& cell) {
                                   return cell.execution.dirty || cell.input.dirty ||
                                          cell.grant.dirty || cell.group.dirty;
                               }) ||
           std::ranges::any_of(snapshot_.flows,
                               [](const auto& entry) { return entry.second.flow.dirty; }) ||
           dirty(snapshot_.edges) || dirty(snapshot_.flow_work) || dirty(snapshot_.lanes) ||
           dirty(snapshot_.idempotency_entries) || dirty(snapshot_.workers) ||
           dirty(snapshot_.webhooks) || dirty(snapshot_.waits.hmac_keys) ||
           dirty(snapshot_.waits.suspensions) || dirty(snapshot_.waits.waitpoints) ||
           dirty(snapshot_.waits.signals) || dirty(snapshot_.waits.satisfiers) ||
           dirty(snapshot_.streams.metas) || snapshot_.limits.dirty();
}

expected<void> Batch::commit(Run& run) {
    if (!anything_to_write()) {
        store_.rollback();
        after_commit();  // a turn that is still owed is looked at again all the same
        return {};
    }
    FF_TRY_VOID(store_.commit(snapshot_, ctx_.now, settings_.retention_ms));
    tally_.committed(snapshot_, std::chrono::steady_clock::now() - began_);
    tally_.resumed_joins(joins_resumed_);
    for (const core::LogEvent& event : snapshot_.log_events) {
        if (event.type == "budget_soft_breach") {
            warn_("a budget is past its soft limit: " + event.payload);
        }
    }
    note_changed();
    run.wrote = true;
    unsynced_ = true;
    after_commit();
    return {};
}

void Batch::note_changed() {
    changed_.routes = changed_.routes || !snapshot_.new_routes.empty();
    for (const core::ExecutionCell& cell : snapshot_.cells) {
        if (cell.execution.dirty) {
            changed_.executions.push_back(cell.id);
        }
    }
    for (const auto& [key, meta] : snapshot_.streams.metas) {
        if (const core::ExecutionCell* cell = snapshot_.find_cell(key.eid); meta.dirty && cell) {
            changed_.executions.push_back(cell->id);
        }
    }
    for (const core::ExecutionEvent& event : snapshot_.events) {
        if (event.outcome) {
            changed_.families.add(EventFamily::completion);
        }
        if (event.type != core::LeaseEventType::none) {
            changed_.families.add(EventFamily::lease_history);
        }
    }
    for (const core::LogEvent& event : snapshot_.log_events) {
        changed_.families.add(core::event_family(event.family));
    }
}

void Batch::after_commit() {
    for (const core::ExecutionCell& cell : snapshot_.cells) {
        if (cell.execution.dirty && cell.execution.current() &&
            cell.execution.current()->timer_at) {
            const TimestampMs at = *cell.execution.current()->timer_at;
            next_due_ = next_due_ ? std::min(*next_due_, at) : at;
        }
    }
    const auto look_at = [this](const std::optional<TimestampMs>& at) {
        if (at) {
            next_due_ = next_due_ ? std::min(*next_due_, *at) : *at;
        }
    };
    for (const auto& [id, cell] : snapshot_.flows) {
        if (cell.flow.dirty && cell.flow.current()) {
            look_at(cell.flow.current()->timer_at);
        }
    }
    for (const auto& [id, budget] : snapshot_.limits.budgets) {
        if (budget.dirty && budget.current()) {
            look_at(budget.current()->timer_at);
        }
    }
    for (const auto& [id, policy] : snapshot_.limits.policies) {
        if (policy.dirty && policy.current()) {
            look_at(policy.current()->wake_at);
        }
    }
    for (const auto& [key, work] : snapshot_.flow_work) {
        if (work.dirty && work.current()) {
            look_at(work.current()->due_at);
        }
    }
    each_kind_of_due(
        [this](const auto& taken, auto& failing) { failing.forget(std::span(taken), ctx_.now); });
    turns_.committed();
    if (turns_.owes()) {
        look_at(ctx_.now + turns_pause_ms);
    }
    snapshot_.clear();
    ready_.committed();
}

void Batch::fail(Run& run, Error error, Suspect suspect) {
    snapshot_.clear();
    ready_.forget_all();
    desk_.recheck_all();
    next_due_ = ctx_.now;  // whatever was known may have been undone: look again
    // Who lost a race to another process has done nothing wrong: the writer runs it again.
    const bool passing = store_.shared() && may_run_again(error.code);
    if (suspect == Suspect::due && due_.size() <= 1 && !passing) {
        each_kind_of_due([this](const auto& taken, auto& failing) {
            std::ranges::for_each(taken, [&](const auto& key) { failing.add(key, ctx_.now); });
        });
        if (due_.size() == 0 || !is_of_the_row(error.code)) {
            pause_due();
        }
    }
    run.failure = std::move(error);
}

expected<void> Batch::run_internal(TimestampMs now, const std::function<expected<void>()>& body) {
    only_due_ = false;
    FF_TRY_VOID(begin(now));
    Run run;
    auto ok = body();
    if (ok) {
        ok = follow_up();
    }
    if (!ok) {
        store_.rollback();
        fail(run, ok.error(), Suspect::others);
        return ok;
    }
    auto committed = commit(run);
    if (!committed) {
        fail(run, committed.error(), Suspect::others);
        return committed;
    }
    // What it made ready is offered in the next batch.
    desk_.recheck_all();
    return {};
}

expected<void> Batch::load_readable(std::span<const core::Eid> eids) {
    const auto load = [this](std::span<const core::Eid> some) {
        return store_.load(some, core::InputNeed::none, false, snapshot_);
    };
    const auto all = load(eids);
    if (all || !is_of_the_row(all.error().code)) {
        return all;
    }
    for (const core::Eid& eid : eids) {
        if (const auto one = load({&eid, 1}); !one && !is_of_the_row(one.error().code)) {
            return one;
        }
    }
    return {};
}

expected<void> Batch::make_readable() {
    return unsynced_ ? store_.make_durable() : expected<void>();
}

}  // namespace ff::engine
