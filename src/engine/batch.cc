#include "engine/batch.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/decide.h"

namespace ff::engine {

namespace {

/// Due work that failed is tried again after this time.
constexpr DurationMs failing_retry_ms = 1'000;
/// A row that failed as often as this in a row is left alone for longer.
constexpr int failures_max = 3;
constexpr DurationMs failing_rest_ms = 60'000;

template <class C>
constexpr bool is_claim = std::is_same_v<C, Claim> || std::is_same_v<C, ClaimForWorker>;

void reads_of(const Command& command, core::ReadSet& set) {
    std::visit(
        [&set]<class C>(const C& c) {
            if constexpr (std::is_same_v<C, std::unique_ptr<core::PreparedCreate>>) {
                core::reads(*c, set);
            } else if constexpr (!is_claim<C> && !std::is_same_v<C, RunScanner>) {
                core::reads(c, set);
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
      snapshot_(store.routes()),
      ctx_{0, ids, store, policies_, settings},
      ready_(store),
      desk_(store, ready_, waiting_claims_max, warn_) {}

void Batch::apply(core::Changes changes) {
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
    for (const core::Execution& row : changes.put_executions) {
        const core::ExecutionCell* cell = snapshot_.find_cell(row.id);
        moved(cell != nullptr ? cell->execution.get() : nullptr, &row);
    }
    for (core::Eid eid : changes.delete_executions) {
        moved(snapshot_.find_cell(eid)->execution.get(), nullptr);
    }
    if (!changes.put_lanes.empty()) {
        desk_.recheck_all();  // a lane that opens makes nothing ready that was not ready before
    }
    snapshot_.apply(std::move(changes));
}

expected<void> Batch::handle_due(Run& run, std::size_t due_max) {
    if (due_max == 0 || !next_due_ || *next_due_ > ctx_.now) {
        return {};
    }
    const auto left_alone = [this](const auto& entry) { return entry.second.until > ctx_.now; };
    const std::size_t limit =
        due_max + static_cast<std::size_t>(std::ranges::count_if(failing_, left_alone));
    FF_TRY(auto keys, store_.scan_due(ctx_.now, limit));
    const bool all = keys.size() < limit;
    for (const auto& key : keys) {
        auto it = failing_.find(key.eid);
        if (it == failing_.end() || !left_alone(*it)) {
            due_now_.push_back(key.eid);
        }
    }
    run.due_taken = due_now_.size();
    FF_TRY_VOID(store_.load(due_now_, core::InputNeed::if_tagged_or_policy, true, snapshot_));
    for (core::Eid eid : due_now_) {
        const core::ExecutionCell* cell = snapshot_.find_cell(eid);
        if (cell == nullptr && store_.shared()) {
            continue;  // another process is at it
        }
        if (cell == nullptr) {
            warn_("timer of execution " + std::to_string(eid) + " that does not exist");
            set_aside(eid);
            continue;
        }
        auto decision = core::decide(snapshot_, core::HandleDue{cell->id}, ctx_);
        if (!decision.answer) {
            warn_("due work of " + cell->id.to_string() + ": " + decision.answer.error().message());
            set_aside(eid);
            continue;
        }
        apply(std::move(decision.changes));
        run.due_handled += *decision.answer ? 1 : 0;
    }
    if (all) {
        // What this batch arms itself is added after the commit.
        FF_TRY(next_due_, store_.next_due(ctx_.now));
        // Those whose time to try again has come are tried now, or have nothing due any more.
        std::erase_if(failing_, [&](const auto& entry) {
            return !left_alone(entry) && std::ranges::find(due_now_, entry.first) == due_now_.end();
        });
        for (const auto& entry : failing_) {
            if (left_alone(entry)) {
                next_due_ = std::min(next_due_.value_or(entry.second.until), entry.second.until);
            }
        }
    }
    return {};
}

expected<void> Batch::load_all(const std::vector<Pending>& commands) {
    core::ReadSet set;
    for (const Pending& pending : commands) {
        reads_of(pending.command, set);
    }
    return set.empty() ? expected<void>() : store_.load(set, snapshot_);
}

void Batch::decide_all(std::vector<Pending>& commands, Run& run) {
    std::vector<Pending> claims;
    for (Pending& pending : commands) {
        if (takes_any(pending.command)) {
            claims.push_back(std::move(pending));
            continue;
        }
        Response response = std::visit(
            [this]<class C>(const C& c) -> Response {
                if constexpr (std::is_same_v<C, std::unique_ptr<core::PreparedCreate>>) {
                    return settle(core::decide(snapshot_, *c, ctx_));
                } else if constexpr (is_claim<C> || std::is_same_v<C, RunScanner>) {
                    return ff::fail(ErrorCode::internal, "not a command of a batch");
                } else {
                    return settle(core::decide(snapshot_, c, ctx_));
                }
            },
            pending.command);
        run.outcomes.push_back({std::move(pending), std::move(response)});
    }
    commands = std::move(claims);
}

expected<void> Batch::begin(TimestampMs now) {
    ctx_.now = now;
    due_now_.clear();
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
        decide_all(commands, run);
        // From here `commands` holds the claims only.
        ok = desk_.serve(
            std::exchange(commands, {}), waiting, snapshot_, ctx_,
            [this](core::Changes changes) { apply(std::move(changes)); }, run.outcomes,
            run.refused);
    }
    for (Pending& pending : commands) {
        run.outcomes.push_back({std::move(pending), Response(Done{})});
    }
    if (!ok) {
        store_.rollback();
        fail(run, std::move(ok).error(), due_ok ? Suspect::others : Suspect::due);
        if (!due_ok) {
            pause_due();
        }
        return run;
    }
    if (auto committed = commit(run); !committed) {
        const bool only_due = only_due_ && run.outcomes.empty();
        fail(run, std::move(committed).error(), only_due ? Suspect::due : Suspect::others);
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
                                          cell.grant.dirty;
                               }) ||
           dirty(snapshot_.lanes) || dirty(snapshot_.idempotency_entries) ||
           dirty(snapshot_.workers);
}

expected<void> Batch::commit(Run& run) {
    if (!anything_to_write()) {
        store_.rollback();
        snapshot_.clear();
        ready_.committed();
        return {};
    }
    FF_TRY_VOID(store_.commit(snapshot_, ctx_.now, settings_.retention_ms));
    tally_.committed(snapshot_, std::chrono::steady_clock::now() - began_);
    run.wrote = true;
    unsynced_ = true;
    after_commit();
    return {};
}

void Batch::after_commit() {
    for (const core::ExecutionCell& cell : snapshot_.cells) {
        if (cell.execution.dirty && cell.execution.current && cell.execution.current->timer_at) {
            const TimestampMs at = *cell.execution.current->timer_at;
            next_due_ = next_due_ ? std::min(*next_due_, at) : at;
        }
    }
    for (core::Eid eid : due_now_) {
        if (auto it = failing_.find(eid); it != failing_.end() && it->second.until <= ctx_.now) {
            failing_.erase(it);
        }
    }
    snapshot_.clear();
    ready_.committed();
}

void Batch::fail(Run& run, Error error, Suspect suspect) {
    snapshot_.clear();
    ready_.forget_all();
    desk_.recheck_all();
    next_due_ = ctx_.now;  // whatever was known may have been undone: look again
    if (suspect == Suspect::due && due_now_.size() <= 1) {
        if (!due_now_.empty()) {
            set_aside(due_now_[0]);
        }
        pause_due();
    }
    run.failure = std::move(error);
}

void Batch::pause_due() {
    if (next_due_) {
        next_due_ = std::max(*next_due_, ctx_.now + failing_retry_ms);
    }
}

void Batch::set_aside(core::Eid eid) {
    Failing& failing = failing_[eid];
    failing.times += 1;
    failing.until = ctx_.now + (failing.times < failures_max ? failing_retry_ms : failing_rest_ms);
}

expected<void> Batch::run_internal(TimestampMs now, const std::function<expected<void>()>& body) {
    only_due_ = false;
    FF_TRY_VOID(begin(now));
    Run run;
    if (auto ok = body(); !ok) {
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

expected<void> Batch::refresh_next_due() {
    FF_TRY_VOID(store_.begin());
    auto due = store_.next_due(std::numeric_limits<TimestampMs>::min());
    store_.rollback();
    FF_TRY(next_due_, std::move(due));
    return {};
}

}  // namespace ff::engine
