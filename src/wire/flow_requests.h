// The requests of flows, described once like those of requests.h: for reading, for writing and for
// the description of the interface.
//
// `now` is accepted in every body and not looked at: the store's clock decides. Members of nodes
// and edges that say nothing are left out when written (`sparse`): a graph has thousands.
#pragma once

#include <string_view>

#include <ff/contracts.h>

#include "wire/binding.h"

namespace ff::wire {

/// Limits that only HTTP has.
inline constexpr DurationMs flow_wait_ms_max = 30'000;         ///< of one that waits for an end
inline constexpr DurationMs cancel_wait_ms_max = 300'000;      ///< of a cancel that waits
inline constexpr std::int64_t grace_ms_max = (1LL << 53) - 1;  ///< what every JSON number can hold

/// Where the edges of a graph may lead: to nodes of its own only, or also to whoever asks.
enum class Ends : std::uint8_t { named, caller };

FF_BIND(CreateFlow, post, "/v1/flows", control, "Create a flow")
FF_BIND(SubmitFlow, post, "/v1/flows/submit", graph, "Create a whole graph in one transaction")
FF_BIND(AddExecutionToFlow, post, "/v1/flows/{id}/members", control, "Add an execution to a flow")
FF_BIND(StageDependencyEdge, post, "/v1/flows/{id}/edges", control,
        "Stage an edge: it is part of the graph, and holds nothing back yet")
FF_BIND(ApplyDependency, post, "/v1/flows/{id}/edges/apply", control,
        "Apply a staged edge: its downstream waits for it")
FF_BIND(ApplyAllDependencies, post, "/v1/flows/{id}/edges/apply-all", control,
        "Apply every staged edge")
FF_BIND(SetEdgeGroupPolicy, put, "/v1/flows/{id}/edge-groups/{downstream_execution_id}", control,
        "Say how the inbound edges of an execution count together")
FF_BIND(CancelFlow, post, "/v1/flows/{id}/cancel", control, "Cancel a flow")
FF_BIND(SealFlow, post, "/v1/flows/{id}/seal", control,
        "No more members or edges: it ends when its members have ended")
FF_BIND(PauseFlow, post, "/v1/flows/{id}/pause", control, "Hand out no member until it is resumed")
FF_BIND(ResumeFlow, post, "/v1/flows/{id}/resume", control, "Hand out members again")
FF_BIND(RetryFlow, post, "/v1/flows/{id}/retry", control,
        "Run failed members again, and what was skipped because of them")
FF_BIND(SetFlowTags, put, "/v1/flows/{id}/tags", control, "Set tags of a flow")
FF_BIND(RemoveFlowTag, delete_, "/v1/flows/{id}/tags/{key}", control, "Remove a tag of a flow")
FF_BIND(GetFlowTag, get, "/v1/flows/{id}/tags/{key}", control, "One tag of a flow")
FF_BIND(ListFlows, get, "/v1/flows", control, "Flows, by id")
FF_BIND(DescribeFlow, get, "/v1/flows/{id}", control, "All about a flow, or wait for its end")
FF_BIND(ListFlowMembers, get, "/v1/flows/{id}/members", control, "Its members, by id")
FF_BIND(ListEdges, get, "/v1/flows/{id}/edges", control, "Its edges, by id")
FF_BIND(DescribeEdge, get, "/v1/flows/{id}/edges/{edge_id}", control, "One of its edges")
FF_BIND(ReadFlowSummary, get, "/v1/flows/{id}/summary", control,
        "How many of its members are in which state")
FF_BIND(ReadFlowGraph, get, "/v1/flows/{id}/graph", control,
        "Its graph as it stands: JSON, or text for Graphviz and Mermaid")
FF_BIND(SpawnChildren, post, "/v1/executions/{id}/attempts/{idx}/spawn", graph,
        "Add members and edges to the flow of a running execution")
FF_BIND(EvaluateEligibility, get, "/v1/executions/{id}/eligibility", control,
        "Whether its dependencies let it go")
FF_BIND(PromoteExecution, post, "/v1/executions/{id}/promote", control,
        "Repair: let a blocked execution go whose dependencies are satisfied")
FF_BIND(ReadInputs, get, "/v1/executions/{id}/inputs", control, "What its upstreams hand over")
FF_BIND(CancelFlowHeader, post, "/v1/admin/flows/{id}/cancel-header", control,
        "Cancel a flow and only note its members")
FF_BIND(AckCancelMember, post, "/v1/admin/flows/{id}/cancel-members/{execution_id}/ack", control,
        "Say that a noted member has been cancelled")
FF_BIND(ResolveDependency, post, "/v1/admin/flows/{id}/edges/{edge_id}/resolve", control,
        "Repair: resolve an edge by how its upstream ended")

// Parts of graphs. `ends` says what an edge may leave out.
void describe_node(RequestVisitor& v, FlowNode& node);
void describe_edge(RequestVisitor& v, FlowEdge& edge, Ends ends);

}  // namespace ff::wire
