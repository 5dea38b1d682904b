// What the tests of flows share: members, edges, graphs by name, and ends.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/conformance.h"

namespace ff::engine::test {

class FlowConformance : public Conformance {
  protected:
    static constexpr Source holder = Source::lease_holder;
    using Ids = std::vector<ExecutionId>;

    FlowId make_flow(FlowSettings settings = {}) {
        return ok(CreateFlow{{}, "dag", "acme", settings}).flow_id;
    }
    /// A member that nothing holds back yet.
    ExecutionId member(const FlowId& flow, CreateExecution op = job()) {
        op.execution_id = ExecutionId::for_flow(flow, partitions(), new_uuid());
        const ExecutionId id = create(std::move(op));
        ok(AddExecutionToFlow{flow, id});
        return id;
    }
    Ids members(const FlowId& flow, std::size_t count) {
        Ids out;
        for (std::size_t i = 0; i < count; ++i) {
            out.push_back(member(flow));
        }
        return out;
    }
    PartitionCounts partitions() { return ok(ReadCapabilities{}).partitions; }
    std::uint64_t revision(const FlowId& flow) { return flow_of(flow).graph_revision; }
    FlowSnapshot flow_of(const FlowId& flow) {
        auto found = ok(DescribeFlow{flow});
        EXPECT_TRUE(found);
        return found.value_or(FlowSnapshot{});
    }
    StageDependencyEdge edge(const FlowId& flow, const ExecutionId& from, const ExecutionId& to) {
        StageDependencyEdge op;
        op.flow_id = flow;
        op.upstream_execution_id = from;
        op.downstream_execution_id = to;
        op.expected_graph_revision = revision(flow);
        return op;
    }
    EdgeId stage(const FlowId& flow, const ExecutionId& from, const ExecutionId& to) {
        return ok(edge(flow, from, to)).edge_id;
    }
    EdgeId link(const FlowId& flow, const ExecutionId& from, const ExecutionId& to) {
        const EdgeId id = stage(flow, from, to);
        ok(ApplyDependency{flow, id, from, to});
        return id;
    }
    void link(StageDependencyEdge op) {
        const EdgeId id = ok(op).edge_id;
        ok(ApplyDependency{op.flow_id, id, op.upstream_execution_id, op.downstream_execution_id});
    }
    EdgeGroupSnapshot group(const FlowId& flow, const ExecutionId& downstream) {
        for (const auto& found : flow_of(flow).edge_groups) {
            if (found.downstream_execution_id == downstream) {
                return found;
            }
        }
        ADD_FAILURE() << "no group of " << downstream.to_string();
        return {};
    }
    EdgeSnapshot read_edge(const FlowId& flow, const EdgeId& id) {
        auto found = ok(DescribeEdge{flow, id});
        EXPECT_TRUE(found);
        return found.value_or(EdgeSnapshot{});
    }

    /// Claims this very execution, which must be claimable.
    ClaimedTask take(const ExecutionId& id) {
        IssueClaimGrant grant;
        grant.execution_id = id;
        grant.lane_id = "default";
        grant.worker_id = "w1";
        grant.worker_instance_id = instance_of("w1");
        const auto given = engine().run(grant);
        EXPECT_TRUE(given) << code_of(given);
        if (!given) {
            return {};
        }
        if (given->kind == GrantKind::resume) {
            ClaimResumedExecution op;
            op.execution_id = id;
            op.worker_id = "w1";
            op.worker_instance_id = instance_of("w1");
            op.lane_id = "default";
            op.lease_ttl_ms = 30'000;
            return ok(op);
        }
        ClaimExecution op;
        op.execution_id = id;
        op.worker_id = "w1";
        op.worker_instance_id = instance_of("w1");
        op.lane_id = "default";
        op.lease_ttl_ms = 30'000;
        return ok(op);
    }
    void succeed(const ExecutionId& id, std::optional<std::string> result = "done") {
        ok(Complete{take(id).handle, std::move(result), {}, holder});
    }
    void fail(const ExecutionId& id) { ok(Fail{take(id).handle, "broken", "permanent", holder}); }
    std::string shown(const ExecutionId& id) { return std::string(to_string(public_of(id))); }
    std::string eligibility(const ExecutionId& id) { return ok(EvaluateEligibility{id}).status; }

    /// A graph of jobs: `nodes` by name, edges as pairs.
    SubmitFlow graph(const std::vector<std::string>& nodes,
                     const std::vector<std::pair<std::string, std::string>>& edges) {
        SubmitFlow op;
        op.flow_kind = "dag";
        op.ns = "acme";
        for (const auto& name : nodes) {
            FlowNode node;
            node.name = name;
            node.execution = job();
            op.nodes.push_back(std::move(node));
        }
        for (const auto& [from, to] : edges) {
            FlowEdge e;
            e.from = from;
            e.to = to;
            op.edges.push_back(std::move(e));
        }
        return op;
    }
    FlowNode& node(SubmitFlow& op, const std::string& name) {
        return *std::ranges::find(op.nodes, name, &FlowNode::name);
    }
    const ExecutionId missing_{0, new_uuid()};
};

}  // namespace ff::engine::test
