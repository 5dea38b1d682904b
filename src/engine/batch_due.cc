// What time asks for in a batch: executions, flows, limits and work whose time has come, each
// handled as the commands beside it are. What cannot be read or decided is set aside and stops
// nobody else.
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/cascade.h"
#include "core/decide.h"
#include "engine/batch.h"

namespace ff::engine {

namespace {

/// Due work that failed, and nobody knows by whom, is tried again after this time.
constexpr DurationMs failing_retry_ms = 1'000;
/// What is due and another process was at is looked at again after so long.
constexpr DurationMs due_pause_ms = 5;

std::string name_of(core::Eid eid) { return "execution " + std::to_string(eid); }
std::string name_of(const FlowId& id) { return "flow " + id.to_string(); }

}  // namespace

template <class Key>
expected<void> Batch::load_due(std::vector<Key>& keys, SetAside<Key>& failing,
                               const std::function<expected<void>(std::span<const Key>)>& load) {
    const auto all = keys.empty() ? expected<void>() : load(keys);
    if (all || !is_of_the_row(all.error().code)) {
        return all;
    }
    std::vector<Key> readable;
    for (const Key& key : keys) {
        const auto one = load({&key, 1});
        if (one) {
            readable.push_back(key);
            continue;
        }
        if (!is_of_the_row(one.error().code)) {
            return one;
        }
        warn_("due work of " + name_of(key) + " cannot be read: " + one.error().message());
        failing.add(key, ctx_.now);
    }
    keys = std::move(readable);
    return {};
}

std::uint64_t Batch::frames_gone(const core::Changes& changes) const {
    std::uint64_t gone = 0;
    for (const core::FrameTrim& trim : changes.trim_frames) {
        gone += trim.count;
    }
    for (const core::Eid eid : changes.delete_executions) {
        const auto& metas = snapshot_.streams.metas;
        for (auto it = metas.lower_bound({eid, 0}); it != metas.end() && it->first.eid == eid;
             ++it) {
            gone += it->second.current() ? it->second.current()->retained() : 0;
        }
    }
    return gone;
}

expected<void> Batch::handle_due(Run& run, std::size_t due_max) {
    if (due_max == 0 || !next_due_ || *next_due_ > ctx_.now) {
        return {};
    }
    bool all = true;
    due_had_ = 0;
    for (const auto handle : {&Batch::handle_due_flows, &Batch::take_waiting_work,
                              &Batch::handle_due_limits, &Batch::handle_due_executions}) {
        FF_TRY(const bool all_of_it, (this->*handle)(run, due_max));
        if (due_max == 1 && due_.size() > 0) {
            return {};  // one piece by itself
        }
        all = all && all_of_it;
    }
    if (!all) {
        if (due_had_ == 0 && run.due_handled == 0 && store_.shared()) {
            // Others are at all of it, and may leave it as it is.
            next_due_ = ctx_.now + due_pause_ms;
        }
        return {};
    }
    // What this batch arms itself is added after the commit.
    FF_TRY(next_due_, store_.next_due(ctx_.now));
    each_kind_of_due([this](const auto& taken, auto& failing) {
        failing.keep_only(taken, ctx_.now);
        if (const auto at = failing.next_at(ctx_.now)) {
            next_due_ = std::min(next_due_.value_or(*at), *at);
        }
    });
    return {};
}

expected<bool> Batch::handle_due_executions(Run& run, std::size_t limit) {
    limit += failing_.count(ctx_.now);
    FF_TRY(const auto keys, store_.scan_due(ctx_.now, limit));
    for (const core::TimerKey& key : keys) {
        if (!failing_.holds(key.eid, ctx_.now)) {
            due_.executions.push_back(key.eid);
        }
    }
    FF_TRY_VOID(
        load_due<core::Eid>(due_.executions, failing_, [this](std::span<const core::Eid> eids) {
            return store_.load(eids, core::InputNeed::if_tagged_or_policy, true, snapshot_);
        }));
    FF_TRY_VOID(load_more_of_due());
    std::uint64_t frames_left = core::frames_per_sweep;
    for (const core::Eid eid : due_.executions) {
        if (frames_left == 0) {
            return false;  // the others have theirs in the next transaction
        }
        FF_TRY_VOID(handle_due_execution(eid, frames_left, run));
    }
    return keys.size() < limit;
}

/// Where asking is dear, all of them ask together; each does once more before it is decided.
expected<void> Batch::load_more_of_due() {
    while (store_.shared()) {
        core::ReadSet set;
        for (const core::Eid eid : due_.executions) {
            if (const core::ExecutionCell* cell = snapshot_.find_cell(eid)) {
                core::reads_more(snapshot_, core::HandleDue{cell->id}, set);
            }
        }
        if (set.empty()) {
            break;
        }
        if (const auto loaded = load(set); !loaded) {
            // Of one that cannot be read the others hear nothing: it is found when it asks alone.
            return is_of_the_row(loaded.error().code) ? expected<void>() : loaded;
        }
    }
    return {};
}

expected<void> Batch::handle_due_execution(core::Eid eid, std::uint64_t& frames_left, Run& run) {
    const core::ExecutionCell* cell = snapshot_.find_cell(eid);
    if (cell == nullptr && store_.shared()) {
        return {};  // another process is at it
    }
    if (cell == nullptr) {
        warn_("timer of execution " + std::to_string(eid) + " that does not exist");
        failing_.add(eid, ctx_.now);
        return {};
    }
    due_had_ += 1;
    const core::HandleDue command{cell->id, frames_left};
    const auto loaded = load_more(command);
    if (!loaded && !is_of_the_row(loaded.error().code)) {
        return loaded;
    }
    auto decision = loaded ? core::decide(snapshot_, command, ctx_)
                           : core::Decision<bool>(std::unexpected(loaded.error()));
    if (!decision.answer) {
        warn_("due work of " + cell->id.to_string() + ": " + decision.answer.error().message());
        failing_.add(eid, ctx_.now);
        return {};
    }
    frames_left -= std::min(frames_left, frames_gone(decision.changes));
    apply(std::move(decision.changes));
    run.due_handled += *decision.answer ? 1 : 0;
    return {};
}

expected<bool> Batch::handle_due_flows(Run& run, std::size_t limit) {
    limit += failing_flows_.count(ctx_.now);
    FF_TRY(const auto flows, store_.scan_due_flows(ctx_.now, limit));
    std::ranges::copy_if(flows, std::back_inserter(due_.flows),
                         [this](const FlowId& id) { return !failing_flows_.holds(id, ctx_.now); });
    FF_TRY_VOID(load_due<FlowId>(due_.flows, failing_flows_, [this](std::span<const FlowId> ids) {
        core::ReadSet set;
        set.flows.assign(ids.begin(), ids.end());
        return store_.load(set, snapshot_);
    }));
    bool passed_over = false;
    for (const FlowId& id : due_.flows) {
        if (!snapshot_.knows_flow(id)) {
            passed_over = true;  // another process is at it
            continue;
        }
        auto decision = core::decide(snapshot_, core::HandleFlowDue{id}, ctx_);
        if (!decision.answer) {
            warn_("due work of flow " + id.to_string() + ": " + decision.answer.error().message());
            failing_flows_.add(id, ctx_.now);
            continue;
        }
        apply(std::move(decision.changes));
        run.due_handled += *decision.answer ? 1 : 0;
    }
    return flows.size() < limit && !passed_over;
}

expected<bool> Batch::take_waiting_work(Run& run, std::size_t limit) {
    limit += failing_work_.count(ctx_.now);
    FF_TRY(const auto waiting, store_.scan_work(ctx_.now, limit, snapshot_));
    core::Changes taken;
    for (const core::FlowWorkKey& key : waiting) {
        if (failing_work_.holds(key, ctx_.now)) {
            continue;
        }
        joins_resumed_ += key.kind == core::FlowWorkKind::cancel_siblings ? 1 : 0;
        work_.push_back(*snapshot_.work(key));
        taken.delete_work.push_back(key);
        due_.work.push_back(key);
    }
    apply(std::move(taken));
    run.due_handled += due_.work.size();
    return waiting.size() < limit;
}

expected<std::uint64_t> Batch::handle_limit(const core::LimitKey& key, bool offers_lapse) {
    const auto decided = [&](auto command) -> expected<core::LimitDue> {
        FF_TRY(auto decision, decide_one(command));
        return std::move(decision.answer);
    };
    FF_TRY(const core::LimitDue due,
           key.kind == core::LimitKind::budget
               ? decided(core::HandleBudgetDue{BudgetId{key.id.uuid}})
               : decided(core::HandleQuotaDue{QuotaPolicyId{key.id.uuid}, offers_lapse}));
    if (due.cancel_flow) {
        CancelFlow cancel;
        cancel.flow_id = *due.cancel_flow;
        cancel.reason = due.cancel_reason;
        cancel.cancellation_policy = CancellationPolicy::cancel_all;
        // A flow that has ended or is gone needs no cancelling.
        FF_TRY_VOID(decide_one(cancel));
    }
    return due.handled;
}

expected<void> Batch::handle_due_limit(const core::LimitKey& key, Run& run) {
    if (failing_limits_.holds(key, ctx_.now)) {
        return {};
    }
    const auto handled = handle_limit(key, false);
    if (!handled && is_of_the_row(handled.error().code)) {
        warn_("due work of " + std::string(to_string(key.kind)) + " " + key.id.to_string() + ": " +
              handled.error().message());
        failing_limits_.add(key, ctx_.now);
        return {};
    }
    FF_TRY_VOID(handled);
    run.due_handled += *handled > 0 ? 1 : 0;
    return {};
}

expected<void> Batch::open_gates(Run& run) {
    std::vector<core::LimitKey> open;
    for (const auto& [id, policy] : snapshot_.limits.policies) {
        if (policy.dirty && policy.current() && policy.current()->waiting &&
            policy.current()->wake_at.value_or(ctx_.now + 1) <= ctx_.now) {
            open.push_back({core::LimitKind::quota, {id.uuid}});
        }
    }
    for (const core::LimitKey& key : open) {
        FF_TRY_VOID(handle_due_limit(key, run));
    }
    return open.empty() ? expected<void>() : follow_up();
}

expected<bool> Batch::handle_due_limits(Run& run, std::size_t limit) {
    limit += failing_limits_.count(ctx_.now);
    FF_TRY(const auto keys, store_.scan_due_limits(ctx_.now, limit));
    for (const core::LimitKey& key : keys) {
        if (!failing_limits_.holds(key, ctx_.now)) {
            due_.limits.push_back(key);
        }
        FF_TRY_VOID(handle_due_limit(key, run));
    }
    return keys.size() < limit;
}

void Batch::pause_due() {
    if (next_due_) {
        next_due_ = std::max(*next_due_, ctx_.now + failing_retry_ms);
    }
}

expected<void> Batch::refresh_next_due() {
    FF_TRY_VOID(store_.begin());
    auto due = store_.next_due(std::numeric_limits<TimestampMs>::min());
    store_.rollback();
    FF_TRY(next_due_, std::move(due));
    return {};
}

}  // namespace ff::engine
