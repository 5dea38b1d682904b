// Attaching limits to executions, flows, lanes and namespaces.
#include <algorithm>

#include "core/admission.h"
#include "core/decide.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::core {

namespace {

/// More than so many who wait for a limit are let go by the periodic pass.
constexpr std::size_t released_at_once = 10'000;

struct Link {
    LimitKey limit;
    TargetKey target;
};

Link link_of(const AttachBudget& args) {
    return {{LimitKind::budget, LimitId{args.budget_id.uuid}}, {args.target_type, args.target_id}};
}
Link link_of(const DetachBudget& args) {
    return {{LimitKind::budget, LimitId{args.budget_id.uuid}}, {args.target_type, args.target_id}};
}
Link link_of(const AttachQuota& args) {
    return {{LimitKind::quota, LimitId{args.quota_policy_id.uuid}},
            {args.target_type, args.target_id}};
}
Link link_of(const DetachQuota& args) {
    return {{LimitKind::quota, LimitId{args.quota_policy_id.uuid}},
            {args.target_type, args.target_id}};
}

BudgetId budget_of(const Link& link) { return {link.limit.id.uuid}; }
QuotaPolicyId policy_of(const Link& link) { return {link.limit.id.uuid}; }
std::string gate_of(const Link& link) {
    return link.limit.kind == LimitKind::budget ? core::gate_of(budget_of(link))
                                                : core::gate_of(policy_of(link));
}

/// Does it count by key?
bool is_by_key(const Snapshot& view, const Link& link) {
    const QuotaPolicy* policy =
        link.limit.kind == LimitKind::quota ? view.limits.policy(policy_of(link)) : nullptr;
    return policy != nullptr && policy->limits.per_key;
}
/// Where the execution would wait for it.
std::string gate_of(const Snapshot& view, const Link& link, const Execution& e) {
    return is_by_key(view, link) && e.limit_key
               ? core::gate_of(policy_of_key(policy_of(link), *e.limit_key))
               : gate_of(link);
}

template <class Args>
expected<void> check_target(Args& args) {
    switch (args.target_type) {
        case LimitTarget::execution:
            return rewrite_id<ExecutionId>(args.target_id)
                       ? expected<void>()
                       : ff::fail(ErrorCode::invalid_input,
                                  "target_id: not an execution id: " + args.target_id);
        case LimitTarget::flow:
            return rewrite_id<FlowId>(args.target_id)
                       ? expected<void>()
                       : ff::fail(ErrorCode::invalid_input,
                                  "target_id: not a flow id: " + args.target_id);
        case LimitTarget::lane: return check_lane("target_id", args.target_id);
        case LimitTarget::namespace_: return check_namespace("target_id", args.target_id);
    }
    return {};
}

void read_link(const Link& link, ReadSet& set) {
    switch (link.target.type) {
        case LimitTarget::execution: set.need(*ExecutionId::parse(link.target.id)); break;
        case LimitTarget::flow: set.flows.push_back(*FlowId::parse(link.target.id)); break;
        case LimitTarget::lane: set.lanes.push_back(link.target.id); break;
        case LimitTarget::namespace_: break;
    }
    if (link.limit.kind == LimitKind::budget) {
        set.limits.budgets.push_back(budget_of(link));
    } else {
        set.limits.policies.push_back(policy_of(link));
    }
    set.limits.targets.push_back(link.target);
}

expected<void> check_exists(const Snapshot& view, const Link& link) {
    switch (link.target.type) {
        case LimitTarget::execution: {
            const Execution* e = view.execution(*ExecutionId::parse(link.target.id));
            if (e == nullptr) {
                return ff::fail(ErrorCode::execution_not_found);
            }
            if (is_terminal(e->state)) {
                return ff::fail(ErrorCode::terminal,
                                "execution " + e->id.to_string() + " has ended");
            }
            return {};
        }
        case LimitTarget::flow:
            return view.flow(*FlowId::parse(link.target.id)) != nullptr
                       ? expected<void>()
                       : ff::fail(ErrorCode::flow_not_found);
        case LimitTarget::lane:
            return view.lane(link.target.id) != nullptr
                       ? expected<void>()
                       : ff::fail(ErrorCode::lane_not_found, "there is no lane " + link.target.id +
                                                                 " yet: it comes with its "
                                                                 "first execution");
        case LimitTarget::namespace_: return {};
    }
    return {};
}

bool is_attached(const Snapshot& view, const Link& link) {
    const auto rows = view.limits.attached_to(link.target);
    return std::ranges::any_of(rows, [&](const Attachment& row) {
        return row.key.kind == link.limit.kind && row.key.limit == link.limit.id;
    });
}

/// A budget of one flow or execution covers nothing outside it.
expected<void> check_scope(const Snapshot& view, const Link& link) {
    const Budget* budget = view.limits.budget(budget_of(link));
    if (budget->scope_type == to_string(link.target.type) && budget->scope_id == link.target.id) {
        return {};
    }
    bool inside = budget->scope_type != "execution" && budget->scope_type != "flow";
    if (budget->scope_type == "flow" && link.target.type == LimitTarget::execution) {
        const Execution* e = view.execution(*ExecutionId::parse(link.target.id));
        inside = e->flow_id && e->flow_id->to_string() == budget->scope_id;
    }
    return inside ? expected<void>()
                  : ff::fail(ErrorCode::budget_attach_conflict,
                             "the budget is of " + budget->scope_type + " " + budget->scope_id);
}

/// What the target must know of it.
void mark_target(const Snapshot& view, const Link& link, Changes& changes, TimestampMs now) {
    if (link.target.type == LimitTarget::flow) {
        Flow flow = *view.flow(*FlowId::parse(link.target.id));
        flow.limited = true;
        changes.put_flows.push_back(std::move(flow));
    }
    if (link.target.type != LimitTarget::execution) {
        return;
    }
    Execution e = *view.execution(*ExecutionId::parse(link.target.id));
    if (link.limit.kind == LimitKind::quota) {
        e.quota = policy_of(link);
    } else if (auto ids = own_budgets(e); std::ranges::find(ids, budget_of(link)) == ids.end()) {
        ids.push_back(budget_of(link));
        set_own_budgets(e, ids);
    }
    e.last_mutation_at = now;
    changes.put_executions.push_back(std::move(e));
}

Decision<AttachmentResult> attach(const Snapshot& view, const Link& link, const Context& ctx) {
    if (is_attached(view, link)) {
        return AttachmentResult{false};
    }
    if (auto ok = check_exists(view, link); !ok) {
        return std::move(ok).error();
    }
    std::size_t same_kind = 0;
    for (const Attachment& row : view.limits.attached_to(link.target)) {
        same_kind += row.key.kind == link.limit.kind ? 1 : 0;
    }
    if (link.limit.kind == LimitKind::budget) {
        if (auto ok = check_scope(view, link); !ok) {
            return std::move(ok).error();
        }
    } else if (link.target.type == LimitTarget::execution) {
        const Execution* e = view.execution(*ExecutionId::parse(link.target.id));
        const QuotaPolicy* other = e->quota ? view.limits.policy(*e->quota) : nullptr;
        // One that is not defined any more, or never was, limits nothing.
        if (other != nullptr && !other->deleted && *e->quota != policy_of(link)) {
            return ff::fail(ErrorCode::quota_attach_conflict,
                            "the execution has policy " + e->quota->to_string());
        }
    }
    if (same_kind >= limits_per_target_max) {
        return ff::fail(ErrorCode::invalid_input, "target_id: at most 16 on one target");
    }
    Changes changes;
    const bool by_place =
        link.target.type == LimitTarget::lane || link.target.type == LimitTarget::namespace_;
    changes.put_attachments.push_back(
        {{link.limit.kind, link.limit.id, link.target}, by_place, is_by_key(view, link)});
    mark_target(view, link, changes, ctx.now);
    return {AttachmentResult{true}, std::move(changes)};
}

/// Whoever waits for the limit tries again: it may be covered no more.
void release_waiting(const Snapshot& view, const Link& link, Changes& changes, const Context& ctx) {
    for (const ExecutionId& id : view.parked(gate_of(link))) {
        const Execution* waiting = view.execution(id);
        const bool changed = std::ranges::any_of(changes.put_executions,
                                                 [&](const Execution& e) { return e.id == id; });
        if (waiting != nullptr && waiting->gate == gate_of(link) && !changed) {
            Execution e = *waiting;
            make_eligible(e, ctx.now);
            changes.put_executions.push_back(std::move(e));
        }
    }
}

Decision<AttachmentResult> detach(const Snapshot& view, const Link& link, const Context& ctx) {
    if (!is_attached(view, link)) {
        return AttachmentResult{false};
    }
    Changes changes;
    changes.delete_attachments.push_back({link.limit.kind, link.limit.id, link.target});
    if (link.target.type == LimitTarget::execution) {
        if (const Execution* found = view.execution(*ExecutionId::parse(link.target.id))) {
            Execution e = *found;
            if (link.limit.kind == LimitKind::quota) {
                e.quota.reset();
            } else {
                auto ids = own_budgets(e);
                std::erase(ids, budget_of(link));
                set_own_budgets(e, ids);
            }
            e.last_mutation_at = ctx.now;
            if (e.gate == gate_of(view, link, e)) {
                make_eligible(e, ctx.now);
            }
            changes.put_executions.push_back(std::move(e));
        }
        return {AttachmentResult{true}, std::move(changes)};
    }
    if (is_by_key(view, link)) {
        QuotaPolicy policy = *view.limits.policy(policy_of(link));
        tell_keys(policy, KeysTask::release, ctx.now);
        changes.put_policies.push_back(std::move(policy));
    }
    release_waiting(view, link, changes, ctx);
    return {AttachmentResult{true}, std::move(changes)};
}

void read_waiting_at(const Snapshot& view, const Link& link, ReadSet& set) {
    if (link.target.type != LimitTarget::execution && !view.knows_parked(gate_of(link))) {
        set.parked.emplace_back(gate_of(link), released_at_once);
    }
}

}  // namespace

expected<void> validate(AttachBudget& args) { return check_target(args); }
expected<void> validate(DetachBudget& args) { return check_target(args); }
expected<void> validate(AttachQuota& args) { return check_target(args); }
expected<void> validate(DetachQuota& args) { return check_target(args); }

void reads(const AttachBudget& args, ReadSet& set) { read_link(link_of(args), set); }
void reads(const DetachBudget& args, ReadSet& set) { read_link(link_of(args), set); }
void reads(const AttachQuota& args, ReadSet& set) { read_link(link_of(args), set); }
void reads(const DetachQuota& args, ReadSet& set) { read_link(link_of(args), set); }

void reads_more(const Snapshot& view, const AttachQuota& args, ReadSet& set) {
    if (args.target_type != LimitTarget::execution) {
        return;
    }
    const Execution* e = view.execution(*ExecutionId::parse(args.target_id));
    if (e != nullptr && e->quota && !view.limits.knows_policy(*e->quota)) {
        set.limits.policies.push_back(*e->quota);
    }
}
void reads_more(const Snapshot& view, const DetachBudget& args, ReadSet& set) {
    read_waiting_at(view, link_of(args), set);
}
void reads_more(const Snapshot& view, const DetachQuota& args, ReadSet& set) {
    read_waiting_at(view, link_of(args), set);
}

Decision<AttachmentResult> decide(const Snapshot& view, const AttachBudget& args,
                                  const Context& ctx) {
    if (view.limits.budget(args.budget_id) == nullptr) {
        return ff::fail(ErrorCode::budget_not_found);
    }
    return attach(view, link_of(args), ctx);
}

Decision<AttachmentResult> decide(const Snapshot& view, const DetachBudget& args,
                                  const Context& ctx) {
    if (view.limits.budget(args.budget_id) == nullptr) {
        return ff::fail(ErrorCode::budget_not_found);
    }
    return detach(view, link_of(args), ctx);
}

Decision<AttachmentResult> decide(const Snapshot& view, const AttachQuota& args,
                                  const Context& ctx) {
    const QuotaPolicy* policy = view.limits.policy(args.quota_policy_id);
    if (policy == nullptr || policy->deleted || policy->unnamed || policy->parent) {
        return ff::fail(ErrorCode::quota_policy_not_found);
    }
    return attach(view, link_of(args), ctx);
}

Decision<AttachmentResult> decide(const Snapshot& view, const DetachQuota& args,
                                  const Context& ctx) {
    const QuotaPolicy* policy = view.limits.policy(args.quota_policy_id);
    const bool defined = policy != nullptr && !policy->deleted && !policy->unnamed;
    if (!defined && !is_attached(view, link_of(args))) {
        return ff::fail(ErrorCode::quota_policy_not_found);
    }
    return detach(view, link_of(args), ctx);
}

}  // namespace ff::core
