// What operators change: priority, replay, blocks, tags, lanes.
#include <algorithm>

#include <ff/json.h>
#include "core/admission.h"
#include "core/cascade.h"
#include "core/decide.h"
#include "core/replay.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::core {

// ----------------------------------------------------------------------------------- priority

void reads(const ChangePriority& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged);
}

Decision<StateResult> decide(const Snapshot& view, const ChangePriority& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (found->state.phase != LifecyclePhase::runnable ||
        found->state.eligibility != EligibilityState::eligible_now) {
        return ff::fail(ErrorCode::execution_not_eligible,
                        "phase " + std::string(to_string(found->state.phase)) + ", " +
                            std::string(to_string(found->state.eligibility)));
    }
    Execution e = *found;
    const std::int32_t old_priority = e.priority;
    e.priority = std::clamp(args.new_priority, 0, priority_max);
    e.last_mutation_at = ctx.now;
    Changes changes;
    changes.log_events.push_back(operator_event(
        view, e, "priority_changed",
        js::dump(js::Object{{"old_priority", old_priority}, {"new_priority", e.priority}}),
        ctx.now));
    changes.put_executions.push_back(std::move(e));
    return {StateResult{found->id, found->public_state}, std::move(changes)};
}

// ------------------------------------------------------------------------------------- replay

void reads(const ReplayExecution& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged_or_policy);
}

void reads_more(const Snapshot& view, const ReplayExecution& args, ReadSet& set) {
    need_replay(view, args.execution_id, set);
}

Decision<StateResult> decide(const Snapshot& view, const ReplayExecution& args,
                             const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto ok = check_replay(view, *found, ctx); !ok) {
        return std::move(ok).error();
    }
    GraphEdit edit(view, ctx);
    if (auto ok = replay(edit, view, args.execution_id, Upstreams::may_follow, ctx); !ok) {
        return std::move(ok).error();
    }
    const StateResult reply{found->id, edit.execution(args.execution_id)->public_state};
    return {reply, edit.take()};
}

// --------------------------------------------------------------------------- block and unblock

namespace {

struct BlockRow {
    BlockingReason reason;
    EligibilityState eligibility;
};

constexpr BlockRow block_table[] = {
    {BlockingReason::waiting_for_budget, EligibilityState::blocked_by_budget},
    {BlockingReason::waiting_for_quota, EligibilityState::blocked_by_quota},
    {BlockingReason::waiting_for_capable_worker, EligibilityState::blocked_by_route},
    {BlockingReason::paused_by_operator, EligibilityState::blocked_by_operator},
    {BlockingReason::paused_by_policy, EligibilityState::blocked_by_lane_state},
};

const BlockRow* find_block(std::string_view reason) {
    for (const BlockRow& row : block_table) {
        if (to_string(row.reason) == reason) {
            return &row;
        }
    }
    return nullptr;
}

}  // namespace

expected<void> validate(BlockExecution& args) {
    if (args.detail) {
        FF_TRY_VOID(check_reason("detail", *args.detail, 1024));
    }
    return {};
}

void reads(const BlockExecution& args, ReadSet& set) { set.need(args.execution_id); }

Decision<BlockResult> decide(const Snapshot& view, const BlockExecution& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (is_terminal(found->state)) {
        return not_active(*found);
    }
    if (found->state.phase != LifecyclePhase::runnable) {
        return ff::fail(ErrorCode::execution_not_eligible,
                        "phase " + std::string(to_string(found->state.phase)));
    }
    const BlockRow* row = find_block(args.reason);
    if (row == nullptr) {
        return ff::fail(ErrorCode::invalid_blocking_reason, args.reason);
    }
    if (found->state.eligibility != EligibilityState::eligible_now) {
        return BlockResult{false, "it is " + std::string(to_string(found->state.eligibility))};
    }
    Execution e = *found;
    Changes changes;
    e.blocking_detail = args.detail && !args.detail->empty() ? args.detail : std::nullopt;
    e.blocked_at = ctx.now;
    set_state(e,
              {LifecyclePhase::runnable, OwnershipState::unowned, row->eligibility, row->reason,
               TerminalOutcome::none, e.state.attempt_state},
              ctx.now);
    changes.put_executions.push_back(std::move(e));
    return {BlockResult{true, ""}, std::move(changes)};
}

void reads(const UnblockExecution& args, ReadSet& set) { set.need(args.execution_id); }

Decision<Done> decide(const Snapshot& view, const UnblockExecution& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    const bool blocked = found->state.phase == LifecyclePhase::runnable &&
                         std::ranges::any_of(block_table, [&](const BlockRow& row) {
                             return row.eligibility == found->state.eligibility;
                         });
    const std::string_view reason = to_string(found->state.blocking_reason);
    if (!blocked || found->state.blocking_reason == BlockingReason::paused_by_flow_cancel ||
        (args.expected_reason && *args.expected_reason != reason)) {
        return ff::fail(ErrorCode::execution_not_eligible,
                        "it is " + std::string(to_string(found->state.eligibility)) + ", " +
                            std::string(reason));
    }
    Execution e = *found;
    Changes changes;
    make_eligible(e, ctx.now);
    changes.put_executions.push_back(std::move(e));
    return {Done{}, std::move(changes)};
}

void reads(const UnblockIfAdmitted& args, ReadSet& set) { set.need(args.execution_id); }

void reads_more(const Snapshot& view, const UnblockIfAdmitted& args, ReadSet& set) {
    read_flow_of(view, args.execution_id, set);
    need_admission(view, args.execution_id, set);
}

Decision<bool> decide(const Snapshot& view, const UnblockIfAdmitted& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    const bool blocked = found != nullptr && !found->gate &&
                         (found->state.eligibility == EligibilityState::blocked_by_budget ||
                          found->state.eligibility == EligibilityState::blocked_by_quota);
    if (!blocked || !decide_limits(view, *found, applicable(view, *found), ctx).admitted) {
        return false;
    }
    Execution e = *found;
    Changes changes;
    make_eligible(e, ctx.now);
    changes.put_executions.push_back(std::move(e));
    return {true, std::move(changes)};
}

// --------------------------------------------------------------------------------------- tags

expected<void> validate(SetExecutionTags& args) {
    if (args.tags.empty()) {
        return ff::fail(ErrorCode::invalid_input, "tags: at least one is required");
    }
    if (args.tags.size() > 64) {
        return ff::fail(ErrorCode::invalid_input,
                        "tags: at most 64 (got " + std::to_string(args.tags.size()) + ")");
    }
    for (const auto& [key, value] : args.tags) {
        if (!is_namespaced_tag_key(key)) {
            return ff::fail(ErrorCode::invalid_tag_key, key);
        }
        FF_TRY_VOID(check_tag(key, value));
    }
    return {};
}

void reads(const SetExecutionTags& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::always);
}

namespace {

std::unexpected<Error> input_lost() {
    return ff::fail(ErrorCode::corruption, "input: missing, and with it the tags");
}

LogEvent tag_event(const Snapshot& view, const Execution& e, std::string type, js::Object payload,
                   const Tags& tags, TimestampMs now) {
    LogEvent event;
    event.family = LogFamily::instance_tags;
    event.type = std::move(type);
    event.at = now;
    event.eid = e.eid;
    event.execution_id = e.id;
    event.flow_id = e.flow_id;
    event.ns = view.route(e.route).key.ns;
    event.tags = tags_json(tags);
    event.payload = js::dump(js::Value(std::move(payload)));
    return event;
}

}  // namespace

Decision<CountResult> decide(const Snapshot& view, const SetExecutionTags& args,
                             const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    Execution e = *found;
    if (view.input(e) == nullptr) {
        return input_lost();
    }
    ExecutionInput input = *view.input(e);
    Changes changes;
    std::vector<std::pair<std::string, js::Object>> changed;
    for (const auto& [key, value] : args.tags) {
        auto it = input.tags.find(key);
        if (it != input.tags.end() && it->second == value) {
            continue;
        }
        js::Value previous = it == input.tags.end() ? js::Value() : js::Value(it->second);
        changed.emplace_back(
            key, js::Object{{"tag", key}, {"value", value}, {"previous", std::move(previous)}});
        input.tags[key] = value;
    }
    if (input.tags.size() > 64) {
        return ff::fail(ErrorCode::invalid_input, "tags: at most 64 on one execution");
    }
    for (auto& [key, payload] : changed) {
        changes.log_events.push_back(
            tag_event(view, e, "attached", std::move(payload), input.tags, ctx.now));
    }
    e.has_tags = true;
    e.last_mutation_at = ctx.now;
    changes.put_executions.push_back(std::move(e));
    changes.put_inputs.push_back(std::move(input));
    return {CountResult{static_cast<std::uint32_t>(args.tags.size())}, std::move(changes)};
}

expected<void> validate(RemoveExecutionTag& args) {
    if (!is_namespaced_tag_key(args.key)) {
        return ff::fail(ErrorCode::invalid_tag_key, args.key);
    }
    return {};
}

void reads(const RemoveExecutionTag& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::always);
}

Decision<CountResult> decide(const Snapshot& view, const RemoveExecutionTag& args,
                             const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    Execution e = *found;
    if (view.input(e) == nullptr) {
        return input_lost();
    }
    ExecutionInput input = *view.input(e);
    auto it = input.tags.find(args.key);
    if (it == input.tags.end()) {
        return CountResult{0};
    }
    js::Object payload{{"tag", args.key}, {"previous", it->second}};
    input.tags.erase(it);
    Changes changes;
    changes.log_events.push_back(
        tag_event(view, e, "cleared", std::move(payload), input.tags, ctx.now));
    e.has_tags = !input.tags.empty();
    e.last_mutation_at = ctx.now;
    changes.put_executions.push_back(std::move(e));
    changes.put_inputs.push_back(std::move(input));
    return {CountResult{1}, std::move(changes)};
}

// -------------------------------------------------------------------------------------- lanes

expected<void> validate(SetLaneState& args) { return check_lane("lane_id", args.lane_id); }

void reads(const SetLaneState& args, ReadSet& set) { set.lanes.push_back(args.lane_id); }

Decision<Done> decide(const Snapshot& view, const SetLaneState& args, const Context& ctx) {
    const Lane* found = view.lane(args.lane_id);
    if (found != nullptr && found->state == args.state) {
        return Done{};
    }
    Changes changes;
    changes.put_lanes.push_back(
        {args.lane_id, args.state, found != nullptr ? found->registered_at : ctx.now});
    return {Done{}, std::move(changes)};
}

}  // namespace ff::core
