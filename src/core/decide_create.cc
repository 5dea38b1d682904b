#include <algorithm>

#include <ff/json.h>
#include "core/admission.h"
#include "core/decide.h"
#include "core/new_execution.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::core {

namespace {

constexpr DurationMs dedup_window_default_ms = 86'400'000;
/// Deadlines in a policy below this are durations, above it absolute times.
constexpr std::int64_t absolute_time_floor = 1'000'000'000'000;
constexpr std::size_t tags_max = 64;
constexpr std::size_t input_bytes_max = 1U << 20;

expected<void> check_shape(const CreateExecution& args, const Settings& settings) {
    if (args.execution_id && args.execution_id->partition >= settings.partitions.flow) {
        return ff::fail(ErrorCode::invalid_input, "partition index out of range");
    }
    FF_TRY_VOID(check_namespace("namespace", args.ns));
    FF_TRY_VOID(check_lane("lane_id", args.lane_id));
    FF_TRY_VOID(check_label("execution_kind", args.execution_kind, 1, 256));
    FF_TRY_VOID(check_label("creator_identity", args.creator_identity, 0, 256));
    if (args.payload_encoding) {
        FF_TRY_VOID(check_label("payload_encoding", *args.payload_encoding, 0, 256));
    }
    if (args.input_payload.size() > input_bytes_max) {
        return ff::fail(ErrorCode::payload_too_large,
                        "input_payload: exceeds " + std::to_string(input_bytes_max) +
                            " bytes (got " + std::to_string(args.input_payload.size()) + ")");
    }
    if (args.idempotency_key) {
        FF_TRY_VOID(check_reason("idempotency_key", *args.idempotency_key, 512));
    }
    if (args.tags.size() > tags_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "tags: at most 64 (got " + std::to_string(args.tags.size()) + ")");
    }
    for (const auto& [key, value] : args.tags) {
        FF_TRY_VOID(check_tag(key, value));
    }
    for (const auto& [field, at] :
         {std::pair{"delay_until", args.delay_until},
          std::pair{"execution_deadline_at", args.execution_deadline_at}}) {
        if (at && *at < 0) {
            return ff::fail(ErrorCode::invalid_input,
                            std::string(field) + ": must not be negative");
        }
    }
    return {};
}

std::string join(const std::vector<std::string>& tokens) {
    std::string out;
    for (const auto& token : tokens) {
        if (!out.empty()) {
            out += ',';
        }
        out += token;
    }
    return out;
}

std::optional<IdempotencyKey> idempotency_key(const CreateExecution& args) {
    if (!args.idempotency_key) {
        return std::nullopt;
    }
    return IdempotencyKey{args.ns, *args.idempotency_key};
}

}  // namespace

void append_tag_events(const CreateExecution& args, const Execution& e, Changes& changes,
                       TimestampMs now) {
    if (args.tags.empty()) {
        return;
    }
    const std::string snapshot = tags_json(args.tags);
    for (const auto& [key, value] : args.tags) {
        LogEvent event;
        event.family = LogFamily::instance_tags;
        event.type = "attached";
        event.at = now;
        event.eid = e.eid;
        event.execution_id = e.id;
        event.flow_id = e.flow_id;
        event.ns = args.ns;
        event.tags = snapshot;
        event.payload = js::dump(js::Object{{"tag", key}, {"value", value}, {"previous", nullptr}});
        changes.log_events.push_back(std::move(event));
    }
}

Execution new_execution(const PreparedCreate& command, const Policy& policy, const Context& ctx) {
    const CreateExecution& args = command.args;
    Execution e;
    e.eid = ctx.numbers.next_eid(ctx.now);
    e.id = command.id;
    e.priority = std::clamp(args.priority != 0 ? args.priority : policy.priority, 0, priority_max);
    e.created_at = ctx.now;
    e.has_tags = !args.tags.empty();
    e.has_policy = command.policy_json.has_value();
    e.has_idempotency_key = idempotency_key(args).has_value();
    if (policy.stream_policy) {
        e.retention_ms = policy.stream_policy->retention_ttl_ms;
    }
    e.execution_deadline_at = args.execution_deadline_at;
    if (!e.execution_deadline_at && policy.timeout_policy) {
        e.execution_deadline_at = policy.timeout_policy->execution_deadline_ms;
        if (e.execution_deadline_at && *e.execution_deadline_at < absolute_time_floor) {
            *e.execution_deadline_at += ctx.now;
        }
    }
    StateVector state{LifecyclePhase::runnable,       OwnershipState::unowned,
                      EligibilityState::eligible_now, BlockingReason::waiting_for_worker,
                      TerminalOutcome::none,          AttemptState::pending_first_attempt};
    const auto delay = args.delay_until ? args.delay_until : policy.delay_until;
    if (delay && *delay > ctx.now) {
        e.delay_until = delay;
        e.blocking_detail = "delayed until " + std::to_string(*delay);
        state.eligibility = EligibilityState::not_eligible_until_time;
        state.blocking_reason = BlockingReason::waiting_for_delay;
    }
    e.quota = policy.quota_policy_id;
    set_own_budgets(e, policy.budget_ids);
    e.reserve = policy.budget_reserve;
    e.limit_key = policy.limit_key;
    set_state(e, state, ctx.now);
    return e;
}

void need_limits_of_new(const PreparedCreate& command, ReadSet& set) {
    // Nobody can have named an id that was made just now.
    set.limits.places = set.limits.places || command.args.execution_id.has_value();
}

void attach_limits(const Snapshot& view, const PreparedCreate& command, Execution& e,
                   Changes& changes) {
    const TargetKey self{LimitTarget::execution, e.id.to_string()};
    auto budgets = own_budgets(e);
    if (command.args.execution_id && view.limits.any_places()) {
        for (const LimitKey& limit : view.limits.placed_at(self)) {
            if (limit.kind == LimitKind::budget) {
                budgets.push_back(BudgetId{limit.id.uuid});
            }
        }
        std::ranges::sort(budgets);
        budgets.erase(std::ranges::unique(budgets).begin(), budgets.end());
        set_own_budgets(e, budgets);
    }
    for (const BudgetId& id : budgets) {
        changes.put_attachments.push_back({{LimitKind::budget, LimitId{id.uuid}, self}, false});
    }
    if (e.quota) {
        changes.put_attachments.push_back(
            {{LimitKind::quota, LimitId{e.quota->uuid}, self}, false});
    }
}

expected<PreparedCreate> prepare(CreateExecution args, const Settings& settings, IdSource& ids,
                                 TimestampMs now) {
    FF_TRY_VOID(check_shape(args, settings));
    PreparedCreate command;
    command.id = args.execution_id
                     ? *args.execution_id
                     : ExecutionId::solo(args.lane_id, settings.partitions, ids.uuid(now));
    if (args.partition_id && *args.partition_id != command.id.partition) {
        return ff::fail(ErrorCode::invalid_input, "partition_id " +
                                                      std::to_string(*args.partition_id) +
                                                      " differs from the execution id's index " +
                                                      std::to_string(command.id.partition));
    }
    if (args.policy) {
        command.policy = Policy::parse(*args.policy);
        command.policy_json = command.policy ? command.policy->to_json() : std::string();
    }
    if (args.payload_encoding && args.payload_encoding->empty()) {
        args.payload_encoding.reset();
    }
    if (args.idempotency_key && args.idempotency_key->empty()) {
        args.idempotency_key.reset();
    }
    command.route = {args.lane_id, args.ns, args.execution_kind, ""};
    if (command.policy && command.policy->routing_requirements) {
        command.route.capabilities =
            join(command.policy->routing_requirements->required_capabilities);
    }
    command.args = std::move(args);
    return command;
}

void reads(const PreparedCreate& command, ReadSet& set) {
    set.need(command.id).fresh = !command.args.execution_id;
    set.lanes.push_back(command.args.lane_id);
    if (auto key = idempotency_key(command.args)) {
        set.idempotency.push_back(std::move(*key));
    }
    need_limits_of_new(command, set);
}

ExecutionInput new_input(const PreparedCreate& command, Eid eid) {
    const CreateExecution& args = command.args;
    ExecutionInput input;
    input.eid = eid;
    input.creator_identity = args.creator_identity;
    input.payload = args.input_payload;
    input.payload_encoding = args.payload_encoding;
    input.policy = command.policy_json;
    input.tags = args.tags;
    input.idempotency_key = args.idempotency_key;
    return input;
}

RouteId NewRows::route(const RouteKey& key, const Policy& policy, Changes& changes,
                       const Context& ctx) {
    if (auto it = routes_.find(key); it != routes_.end()) {
        return it->second;
    }
    if (const Route* known = view_.route(key)) {
        return routes_.emplace(key, known->id).first->second;
    }
    Route fresh{ctx.numbers.next_route_id(), key, {}};
    if (policy.routing_requirements) {
        fresh.required = policy.routing_requirements->required_capabilities;
    }
    const RouteId id = fresh.id;
    changes.put_routes.push_back(std::move(fresh));
    return routes_.emplace(key, id).first->second;
}

void NewRows::lane(const std::string& name, Changes& changes, const Context& ctx) {
    if (lanes_.insert(name).second && view_.lane(name) == nullptr) {
        changes.put_lanes.push_back({name, LaneState::active, ctx.now});
    }
}

expected<void> check_lane_accepts(const Snapshot& view, const std::string& name) {
    const Lane* lane = view.lane(name);
    if (lane != nullptr &&
        (lane->state == LaneState::draining || lane->state == LaneState::disabled)) {
        return ff::fail(ErrorCode::lane_not_accepting,
                        "lane " + name + " is " + std::string(to_string(lane->state)));
    }
    return {};
}

Decision<CreateResult> decide(const Snapshot& view, const PreparedCreate& command,
                              const Context& ctx) {
    const CreateExecution& args = command.args;
    if (auto ok = check_lane_accepts(view, args.lane_id); !ok) {
        return std::move(ok).error();
    }
    const auto key = idempotency_key(args);
    if (key) {
        const IdempotencyEntry* entry = view.idempotency(*key);
        if (entry != nullptr && entry->expires_at > ctx.now) {
            return CreateResult{false, entry->execution_id, PublicState::waiting};
        }
    }
    if (view.execution(command.id) != nullptr) {
        return CreateResult{false, command.id, PublicState::waiting};
    }
    if (!command.policy) {
        return command.policy.error();
    }
    const Policy& policy = *command.policy;

    Changes changes;
    NewRows made(view);
    Execution e = new_execution(command, policy, ctx);
    e.route = made.route(command.route, policy, changes, ctx);
    made.lane(args.lane_id, changes, ctx);
    if (key) {
        const DurationMs window = policy.dedup_window_ms.value_or(dedup_window_default_ms);
        if (window > 0) {
            changes.put_idempotency.push_back({*key, command.id, ctx.now + window});
        }
    }
    append_tag_events(args, e, changes, ctx.now);
    attach_limits(view, command, e, changes);
    ExecutionInput input = new_input(command, e.eid);
    const PublicState shown = e.public_state;
    changes.put_executions.push_back(std::move(e));
    changes.put_inputs.push_back(std::move(input));
    return {CreateResult{true, command.id, shown}, std::move(changes)};
}

}  // namespace ff::core
