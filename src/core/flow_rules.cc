#include "core/flow_rules.h"

#include <ff/json.h>

#include "core/json_path.h"

namespace ff::core {

namespace {

bool condition_holds(const Edge& edge, const js::Value* result) {
    if (!edge.when) {
        return true;
    }
    const auto condition = Condition::parse("when", *edge.when);
    // Checked when the edge was staged; a stored one that is not is never taken.
    return condition && condition->holds(result);
}

bool has_failed(TerminalOutcome outcome) {
    return outcome == TerminalOutcome::failed || outcome == TerminalOutcome::cancelled ||
           outcome == TerminalOutcome::expired;
}

std::uint64_t& bucket_of(EdgeGroup& group, DependencyState state, TerminalOutcome outcome) {
    switch (state) {
        case DependencyState::satisfied: return group.succeeded;
        case DependencyState::not_taken: return group.not_taken;
        default: return outcome == TerminalOutcome::skipped ? group.skipped : group.failed;
    }
}

}  // namespace

DependencyState resolve_edge(const Edge& edge, TerminalOutcome outcome,
                             const std::optional<std::string>& result) {
    if (!result || !edge.when || outcome != TerminalOutcome::success) {
        return resolve_edge(edge, outcome, nullptr);
    }
    const auto document = js::parse(*result);
    return resolve_edge(edge, outcome, document ? &*document : nullptr);
}

DependencyState resolve_edge(const Edge& edge, TerminalOutcome outcome, const js::Value* result) {
    const auto taken_if = [](bool holds) {
        return holds ? DependencyState::satisfied : DependencyState::not_taken;
    };
    switch (edge.kind) {
        case DependencyKind::success_only:
            return outcome == TerminalOutcome::success ? taken_if(condition_holds(edge, result))
                                                       : DependencyState::impossible;
        case DependencyKind::on_failure: return taken_if(has_failed(outcome));
        case DependencyKind::always: return DependencyState::satisfied;
        case DependencyKind::on_skip: return taken_if(outcome == TerminalOutcome::skipped);
    }
    return DependencyState::impossible;
}

void count(EdgeGroup& group, DependencyState state, TerminalOutcome outcome) {
    bucket_of(group, state, outcome) += 1;
}

void uncount(EdgeGroup& group, DependencyState state, TerminalOutcome outcome) {
    std::uint64_t& bucket = bucket_of(group, state, outcome);
    bucket -= bucket > 0 ? 1 : 0;  // a damaged count stops nobody
}

GroupState evaluate_group(const EdgeGroup& group, bool sealed) {
    const std::uint64_t m = group.staged;
    const std::uint64_t bad = group.failed + group.skipped;
    if (group.policy == GroupPolicyKind::all_of) {
        const std::uint64_t counting = m - group.not_taken;  // those not taken are ignored
        if (counting > 0 && group.succeeded == counting) {
            return GroupState::satisfied;
        }
        // None was taken: this branch of the graph is not gone.
        return bad >= 1 || (m > 0 && counting == 0) ? GroupState::impossible : GroupState::pending;
    }
    const std::uint64_t k = group.policy == GroupPolicyKind::any_of ? 1 : group.k;
    if (group.succeeded >= k) {
        return GroupState::satisfied;
    }
    const std::uint64_t lost = bad + group.not_taken;
    if (m == 0) {
        return GroupState::pending;
    }
    if (m >= k) {
        return lost > m - k ? GroupState::impossible : GroupState::pending;
    }
    return sealed ? GroupState::impossible : GroupState::pending;
}

GroupPolicy policy_of(const EdgeGroup& group) {
    return {group.policy, group.k, group.on_satisfied, group.force_cancel_shared};
}

bool is_bad_end(const Execution& member) {
    switch (member.state.outcome) {
        case TerminalOutcome::failed:
        case TerminalOutcome::expired: return true;
        case TerminalOutcome::cancelled: return member.cancellation_reason != sibling_satisfied;
        default: return false;
    }
}

bool is_engines_reason(std::string_view reason) {
    return reason == sibling_satisfied || reason == sibling_impossible || reason == flow_deadline ||
           reason == member_failed;
}

std::string gate_of(const FlowId& flow) { return "flow:" + flow.to_string(); }

std::string summary_state(FlowState state, const std::map<PublicState, std::uint64_t>& members,
                          std::uint64_t excused) {
    const auto number = [&](PublicState which) {
        const auto it = members.find(which);
        return it == members.end() ? std::uint64_t{0} : it->second;
    };
    std::uint64_t total = 0;
    for (const auto& [which, n] : members) {
        total += n;
    }
    const std::uint64_t failed =
        number(PublicState::failed) + number(PublicState::cancelled) + number(PublicState::expired);
    const std::uint64_t ended =
        failed + number(PublicState::completed) + number(PublicState::skipped);
    if (total > 0 && ended == total) {
        return state == FlowState::cancelled ? "cancelled"
               : failed > excused            ? "failed"
                                             : "completed";
    }
    if (number(PublicState::active) > 0) {
        return "running";
    }
    const bool blocked = number(PublicState::suspended) + number(PublicState::delayed) +
                             number(PublicState::rate_limited) +
                             number(PublicState::waiting_children) >
                         0;
    return blocked ? "blocked" : "open";
}

}  // namespace ff::core
