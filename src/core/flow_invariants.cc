#include "core/flow_invariants.h"

#include <algorithm>
#include <map>

#include "core/flow_rules.h"

namespace ff::core {

namespace {

class FlowCheck {
  public:
    explicit FlowCheck(const FlowRows& rows) : rows_(rows) {
        for (const Execution& member : rows.members) {
            members_.emplace(member.id, &member);
        }
        for (const EdgeGroup& group : rows.groups) {
            groups_.emplace(group.downstream, &group);
        }
    }

    std::vector<std::string> run() {
        check_counts();
        check_ends();
        check_acyclic();
        check_groups();
        check_members();
        if (!rows_.work_waits) {
            for (const EdgeKey& key : overdue_edges(rows_)) {
                say("edge " + key.id.to_string() + " waits for an upstream that has ended");
            }
        }
        return std::move(findings_);
    }

  private:
    void say(std::string finding) { findings_.push_back(std::move(finding)); }
    void require_equal(std::uint64_t stored, std::uint64_t counted, const std::string& what) {
        if (stored != counted) {
            say(what + " is " + std::to_string(stored) + ", counted " + std::to_string(counted));
        }
    }

    void check_counts() {
        const Flow& flow = rows_.flow;
        require_equal(flow.graph_revision, flow.node_count + flow.edge_count, "graph_revision");
        require_equal(flow.node_count, rows_.members.size() + flow.trimmed, "node_count");
        require_equal(flow.edge_count, rows_.edges.size(), "edge_count");
        std::uint64_t live = 0;
        std::uint64_t bad = 0;
        std::uint64_t slots = 0;
        for (const Execution& member : rows_.members) {
            live += is_terminal(member.state) ? 0 : 1;
            bad += is_terminal(member.state) && is_bad_end(member) ? 1 : 0;
            slots += member.holds_flow_slot ? 1 : 0;
        }
        require_equal(flow.live, live, "live members");
        if (flow.trimmed == 0) {
            require_equal(flow.bad, bad, "failed members");
        }
        require_equal(flow.slots, slots, "running members");
        if (flow.max_active_members > 0 && slots > flow.max_active_members) {
            say("more members run than may");
        }
    }

    void check_ends() {
        if (rows_.flow.trimmed > 0) {
            return;
        }
        for (const Edge& edge : rows_.edges) {
            if (!members_.contains(edge.upstream) || !members_.contains(edge.downstream)) {
                say("edge " + edge.key.id.to_string() + " has an end that is no member");
            }
        }
    }

    void check_acyclic() {
        std::map<ExecutionId, std::vector<ExecutionId>> next;
        std::map<ExecutionId, std::size_t> waiting;
        for (const Edge& edge : rows_.edges) {
            next[edge.upstream].push_back(edge.downstream);
            waiting[edge.downstream] += 1;
            waiting.try_emplace(edge.upstream, 0);
        }
        std::vector<ExecutionId> open;
        for (const auto& [id, count] : waiting) {
            if (count == 0) {
                open.push_back(id);
            }
        }
        std::size_t seen = 0;
        while (!open.empty()) {
            const ExecutionId id = open.back();
            open.pop_back();
            ++seen;
            for (const ExecutionId& child : next[id]) {
                if (--waiting[child] == 0) {
                    open.push_back(child);
                }
            }
        }
        if (seen != waiting.size()) {
            say("the graph has a cycle");
        }
    }

    void check_groups() {
        std::map<ExecutionId, EdgeGroup> counted;
        for (const Edge& edge : rows_.edges) {
            EdgeGroup& group = counted[edge.downstream];
            group.staged += 1;
            group.applied += edge.state == EdgeState::applied ? 1 : 0;
            if (edge.dependency && *edge.dependency != DependencyState::unsatisfied) {
                count(group, *edge.dependency, edge.outcome.value_or(TerminalOutcome::none));
            }
        }
        for (const auto& [id, recount] : counted) {
            const auto found = groups_.find(id);
            if (found == groups_.end()) {
                say("no edge group of " + id.to_string());
                continue;
            }
            const EdgeGroup& group = *found->second;
            const std::string of = " of the edge group of " + id.to_string();
            require_equal(group.staged, recount.staged, "staged" + of);
            require_equal(group.applied, recount.applied, "applied" + of);
            require_equal(group.succeeded, recount.succeeded, "succeeded" + of);
            require_equal(group.failed, recount.failed, "failed" + of);
            require_equal(group.skipped, recount.skipped, "skipped" + of);
            require_equal(group.not_taken, recount.not_taken, "not_taken" + of);
            if (group.state == GroupState::pending &&
                evaluate_group(group, rows_.flow.sealed) != GroupState::pending) {
                say("the edge group of " + id.to_string() + " should have fired");
            }
            if (group.siblings_pending && !rows_.work_waits) {
                say("siblings of " + id.to_string() + " were never cancelled");
            }
        }
    }

    void check_members() {
        for (const Execution& member : rows_.members) {
            const auto found = groups_.find(member.id);
            const EdgeGroup* group = found == groups_.end() ? nullptr : found->second;
            const bool blocked =
                member.state.eligibility == EligibilityState::blocked_by_dependencies;
            if (blocked && (group == nullptr || group->state == GroupState::satisfied)) {
                say(member.id.to_string() + " is blocked by dependencies that are satisfied");
            }
            if (member.state.outcome == TerminalOutcome::skipped &&
                (group == nullptr || group->state != GroupState::impossible)) {
                say(member.id.to_string() + " was skipped though its group is not impossible");
            }
            if (group != nullptr && group->state == GroupState::impossible &&
                !is_terminal(member.state)) {
                say(member.id.to_string() + " goes on though its group is impossible");
            }
        }
    }

    const FlowRows& rows_;
    std::map<ExecutionId, const Execution*> members_;
    std::map<ExecutionId, const EdgeGroup*> groups_;
    std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> check_flow(const FlowRows& rows) { return FlowCheck(rows).run(); }

std::vector<EdgeKey> overdue_edges(const FlowRows& rows) {
    std::map<ExecutionId, const Execution*> members;
    for (const Execution& member : rows.members) {
        members.emplace(member.id, &member);
    }
    std::vector<EdgeKey> out;
    for (const Edge& edge : rows.edges) {
        if (edge.state != EdgeState::applied || edge.dependency != DependencyState::unsatisfied) {
            continue;
        }
        const auto found = members.find(edge.upstream);
        if (found == members.end() || !is_terminal(found->second->state)) {
            continue;
        }
        const Execution& upstream = *found->second;
        if (!edge.fence_replays || upstream.replay_count > *edge.fence_replays) {
            out.push_back(edge.key);
        }
    }
    return out;
}

}  // namespace ff::core
