// Flows: graphs of executions, from their making to their end.
#include <algorithm>

#include "core/cancel_left.h"
#include "http/list_route.h"
#include "http/operation_route.h"
#include "http/routes.h"
#include "http/schemas.h"
#include "http/watch.h"
#include "wire/object.h"

namespace ff::http {

namespace {

using std::chrono::milliseconds;

std::string about_flow(const FlowId& id) { return "flow_id=" + id.to_string(); }

wire::Answer flow_not_found(const FlowId& id) {
    return wire::write_error({ErrorCode::flow_not_found, "flow not found: " + id.to_string(), {}});
}

json wait_ms_schema(DurationMs most) {
    json schema = wire::schemas::integer(0, most);
    schema.set("default", most);
    return schema;
}

/// How long a request waits: not at all without `wait`, else `wait_timeout_ms` or the most there
/// is.
struct Wait {
    bool asked = false;
    milliseconds most{0};
};

std::optional<wire::RequestFault> read_wait(const wire::Routed& request, DurationMs most,
                                            Wait& wait) {
    wire::RequestIn in(request);
    std::optional<std::uint64_t> asked_ms;
    in.query_flag("wait", wait.asked);
    in.query_optional("wait_timeout_ms", asked_ms);
    if (const auto fault = in.fault()) {
        return fault;
    }
    if (asked_ms && std::cmp_greater(*asked_ms, most)) {
        return wire::RequestFault{
            400, "invalid query: wait_timeout_ms: at most " + std::to_string(most)};
    }
    wait.most = milliseconds(asked_ms ? static_cast<DurationMs>(*asked_ms) : most);
    return std::nullopt;
}

// --------------------------------------------------------------------------------------- making

/// A policy that cannot be read is a body of the wrong shape, as of a single create.
template <class Op>
void add_making(Router& router, Service& service) {
    Route route = route_of<Op>();
    route.handler = [&service](Exchange& exchange) {
        auto op = read_operation<Op>(exchange);
        if (!op) {
            return;
        }
        service.engine().async(
            std::move(*op), [respond = std::move(exchange.respond)](auto result) mutable {
                respond([result = std::move(result)](Client) {
                    if (result) {
                        return wire::write_answer<Op>(*result);
                    }
                    wire::Answer answer = wire::write_error(result.error(), Op::name);
                    if (result.error().code == ErrorCode::invalid_policy_json) {
                        answer.status = 422;
                    }
                    return answer;
                });
            });
    };
    router.add(std::move(route));
}

// ---------------------------------------------------------------------------------------- reads

wire::Answer described(const FlowId& id, const expected<std::optional<FlowSnapshot>>& found) {
    if (!found) {
        return wire::write_error(found.error(), DescribeFlow::name);
    }
    return *found ? wire::write_answer<DescribeFlow>(*found) : flow_not_found(id);
}

/// With `wait` it is answered when the flow has ended, or as it stands when the time is over.
void add_describe(Router& router, Service& service) {
    Route route = route_of<DescribeFlow>();
    route.waits = true;
    route.waits_with = "wait=";
    route.describe = [] {
        return with_query(wire::request_schema<DescribeFlow>(),
                          {{"wait", wire::schemas::of(false)},
                           {"wait_timeout_ms", wait_ms_schema(wire::flow_wait_ms_max)}});
    };
    route.handler = [&service](Exchange& exchange) {
        auto op = read_operation<DescribeFlow>(exchange);
        if (!op) {
            return;
        }
        Wait wait;
        if (const auto fault = read_wait(exchange.request, wire::flow_wait_ms_max, wait)) {
            exchange.answer(wire::write_fault(*fault));
            return;
        }
        const FlowId id = op->flow_id;
        if (!wait.asked) {
            service.engine().async(*op, [id, respond =
                                                 std::move(exchange.respond)](auto found) mutable {
                respond([id, found = std::move(found)](Client) { return described(id, found); });
            });
            return;
        }
        Watch<DescribeFlow>::start(
            service, std::move(exchange), *op, wait.most,
            [id](expected<std::optional<FlowSnapshot>>& found,
                 Over over) -> std::optional<wire::Answer> {
                const bool open = found && *found && (*found)->public_flow_state == FlowState::open;
                if (open && over == Over::no) {
                    return std::nullopt;
                }
                return described(id, found);
            });
    };
    router.add(std::move(route));
}

void add_describe_edge(Router& router, Service& service) {
    Route route = route_of<DescribeEdge>();
    route.handler = [&service](Exchange& exchange) {
        auto op = read_operation<DescribeEdge>(exchange);
        if (!op) {
            return;
        }
        std::string text = "edge not found: " + op->edge_id.to_string();
        service.engine().async(*op, [text = std::move(text), respond = std::move(exchange.respond)](
                                        expected<std::optional<EdgeSnapshot>> found) mutable {
            respond([text = std::move(text), found = std::move(found)](Client) {
                if (!found) {
                    return wire::write_error(found.error(), DescribeEdge::name);
                }
                return *found ? wire::write_answer<DescribeEdge>(*found)
                              : wire::write_error({ErrorCode::edge_not_found, text, {}});
            });
        });
    };
    router.add(std::move(route));
}

/// The edges behind `cursor`, as many as asked for; they come by id.
wire::Answer edge_page(std::vector<EdgeSnapshot> edges, const std::optional<EdgeId>& cursor,
                       std::uint32_t limit) {
    if (cursor) {
        std::erase_if(edges, [&](const EdgeSnapshot& edge) { return edge.edge_id <= *cursor; });
    }
    std::optional<std::string> next;
    if (edges.size() > limit) {
        edges.resize(limit);
        next = edges.empty() ? std::nullopt : std::optional(edges.back().edge_id.to_string());
    }
    std::string list;
    wire::write_edges(list, edges);
    return {200, wire::items_page(list, next), "application/json", {}};
}

void add_edges(Router& router, Service& service) {
    add_list<ListEdges, EdgeId>(router, service, edge_page);
}

void add_graph_read(Router& router, Service& service) {
    Route route = route_of<ReadFlowGraph>();
    route.describe = [] {
        return with_query(wire::request_schema<ReadFlowGraph>(),
                          {{"format", wire::schemas::words("json, dot, mermaid")}});
    };
    route.handler = [&service](Exchange& exchange) {
        auto op = read_operation<ReadFlowGraph>(exchange);
        if (!op) {
            return;
        }
        const std::string* asked = exchange.request.query_value("format");
        const std::string format = asked != nullptr && !asked->empty() ? *asked : "json";
        if (format != "json" && format != "dot" && format != "mermaid") {
            exchange.answer(
                wire::write_fault({400, "invalid query: format: expected json, dot or mermaid"}));
            return;
        }
        service.engine().async(*op, [format, respond = std::move(exchange.respond)](
                                        expected<FlowGraph> graph) mutable {
            respond([format, graph = std::move(graph)](Client) -> wire::Answer {
                if (!graph) {
                    return wire::write_error(graph.error(), ReadFlowGraph::name);
                }
                if (format == "json") {
                    return wire::write_answer<ReadFlowGraph>(*graph);
                }
                return {200,
                        format == "dot" ? graph->to_dot() : graph->to_mermaid(),
                        "text/plain; charset=utf-8",
                        {}};
            });
        });
    };
    router.add(std::move(route));
}

void add_inputs(Router& router, Service& service) {
    Route route = route_of<ReadInputs>();
    route.handler = [&service](Exchange& exchange) {
        auto op = read_operation<ReadInputs>(exchange);
        if (!op) {
            return;
        }
        const std::string* form = exchange.request.query_value("form");
        const auto written =
            form != nullptr && *form == "rows" ? wire::InputsForm::rows : wire::InputsForm::values;
        service.engine().async(*op, [written, respond = std::move(exchange.respond)](
                                        expected<InputsResult> found) mutable {
            respond([written, found = std::move(found)](Client) {
                return found ? wire::write_inputs(*found, written)
                             : wire::write_error(found.error(), ReadInputs::name);
            });
        });
    };
    router.add(std::move(route));
}

// ----------------------------------------------------------------------------------------- tags

void add_tags(Router& router, Service& service) {
    Route all{wire::Method::get, "/v1/flows/{id}/tags"};
    all.operation = "get_flow_tags";
    all.summary = "Tags of a flow";
    all.describe = [] { return wire::request_schema<DescribeFlow>(); };
    all.handler = [&service](Exchange& exchange) {
        auto op = read_operation<DescribeFlow>(exchange);
        if (!op) {
            return;
        }
        service.engine().async(*op, [id = op->flow_id, respond = std::move(exchange.respond)](
                                        expected<std::optional<FlowSnapshot>> found) mutable {
            respond([id, found = std::move(found)](Client) -> wire::Answer {
                if (!found || !*found) {
                    return described(id, found);
                }
                std::string out = "{\"tags\":";
                wire::write(out, (*found)->tags);
                return {200, out + "}", "application/json", {}};
            });
        });
    };
    router.add(std::move(all));
    Route one = route_of<GetFlowTag>();
    one.handler = [&service](Exchange& exchange) {
        auto op = read_operation<GetFlowTag>(exchange);
        if (!op) {
            return;
        }
        std::string key = op->key;
        service.engine().async(
            std::move(*op), [key = std::move(key), respond = std::move(exchange.respond)](
                                expected<std::optional<std::string>> found) mutable {
                respond([key = std::move(key), found = std::move(found)](Client) {
                    if (!found) {
                        return wire::write_error(found.error(), GetFlowTag::name);
                    }
                    return *found ? wire::write_answer<GetFlowTag>(*found)
                                  : wire::plain_error(404, "tag not found: " + key);
                });
            });
    };
    router.add(std::move(one));
}

void add_set_flow_tag(Router& router, Service& service) {
    Route route{wire::Method::put, "/v1/flows/{id}/tags/{key}"};
    route.body = Body::json;
    route.operation = "set_flow_tag";
    route.summary = "Set one tag of a flow";
    route.describe = [] {
        json operation = wire::request_schema<GetFlowTag>();
        operation.set(
            "requestBody",
            wire::json_body(json{{"type", "object"},
                                 {"required", js::Array{"value"}},
                                 {"properties", json{{"value", wire::schemas::text({})}}}}));
        return operation;
    };
    route.handler = [&service](Exchange& exchange) {
        wire::RequestIn in(exchange.request);
        SetFlowTags op;
        std::string value;
        in.flow_id(op.flow_id);
        in.required("value", value);
        if (const auto fault = in.fault()) {
            exchange.answer(wire::write_fault(*fault));
            return;
        }
        op.tags.emplace(exchange.request.parameter("key"), std::move(value));
        call_engine(service, std::move(op), std::move(exchange.respond));
    };
    router.add(std::move(route));
}

// --------------------------------------------------------------------------------------- cancel

wire::Answer not_in_time(milliseconds waited) {
    const std::string ms = std::to_string(waited.count());
    return wire::write_error({ErrorCode::timeout,
                              "cancel_flow has not ended after " + ms +
                                  " ms; the flow is cancelled and the rest goes on",
                              {{"op", std::string(CancelFlow::name)}, {"elapsed_ms", ms}}});
}

/// Waits until the policy has reached every member it is for.
void await_cancel(Service& service, Exchange exchange, const FlowId& id, CancelFlowResult result,
                  wire::CancelForm form, milliseconds most) {
    Watch<ReadFlowSummary>::start(
        service, std::move(exchange), ReadFlowSummary{id}, most,
        [result = std::move(result), form, most](expected<FlowSummary>& summary,
                                                 Over over) mutable -> std::optional<wire::Answer> {
            const bool vanished = !summary && summary.error().code == ErrorCode::flow_not_found;
            if (!summary && !vanished) {
                return wire::write_error(summary.error(), CancelFlow::name);
            }
            result.scheduled =
                !vanished && core::cancel_left(result.cancellation_policy, *summary) > 0;
            if (result.scheduled && over == Over::no) {
                return std::nullopt;
            }
            return result.scheduled && over == Over::time ? not_in_time(most)
                                                          : wire::write_cancelled(result, form);
        });
}

void cancel(Service& service, Exchange exchange) {
    auto op = read_operation<CancelFlow>(exchange);
    if (!op) {
        return;
    }
    Wait wait;
    if (const auto fault = read_wait(exchange.request, wire::cancel_wait_ms_max, wait)) {
        exchange.answer(wire::write_fault(*fault));
        return;
    }
    const std::string* detail = exchange.request.query_value("detail");
    const auto form = detail != nullptr && *detail == "true" ? wire::CancelForm::whole
                                                             : wire::CancelForm::compatible;
    std::string text =
        about_flow(op->flow_id) + " policy=" + std::string(to_string(op->cancellation_policy));
    const FlowId id = op->flow_id;
    service.engine().async(std::move(*op), [&service, id, wait, form, text = std::move(text),
                                            exchange = std::move(exchange)](
                                               expected<CancelFlowResult> result) mutable {
        service.audit(
            CancelFlow::name,
            result ? text : text + " refused=" + std::string(to_string(result.error().code)));
        if (!result) {
            exchange.answer(wire::write_error(result.error(), CancelFlow::name));
        } else if (wait.asked && (result->scheduled || result->already_terminal)) {
            await_cancel(service, std::move(exchange), id, std::move(*result), form, wait.most);
        } else {
            exchange.respond([result = std::move(*result), form](Client) {
                return wire::write_cancelled(result, form);
            });
        }
    });
}

void add_cancel_flow(Router& router, Service& service) {
    Route route = route_of<CancelFlow>();
    route.waits = true;
    route.waits_with = "wait=";
    route.describe = [] {
        return with_query(wire::request_schema<CancelFlow>(),
                          {{"wait", wire::schemas::of(false)},
                           {"wait_timeout_ms", wait_ms_schema(wire::cancel_wait_ms_max)}});
    };
    route.handler = [&service](Exchange& exchange) { cancel(service, std::move(exchange)); };
    router.add(std::move(route));
}

/// One that an operator does to a flow.
template <class Op>
void add_course(Router& router, Service& service) {
    add_audited<Op>(router, service, [](const Op& op) { return about_flow(op.flow_id); });
}

}  // namespace

void add_flow_routes(Router& router, Service& service) {
    add_operation<CreateFlow>(router, service);
    add_making<SubmitFlow>(router, service);
    add_operation<AddExecutionToFlow>(router, service);
    add_operation<StageDependencyEdge>(router, service);
    add_operation<SetEdgeGroupPolicy>(router, service);
    add_operation<ApplyDependency>(router, service);
    add_operation<ApplyAllDependencies>(router, service);
    add_making<SpawnChildren>(router, service);
    add_cancel_flow(router, service);
    add_course<SealFlow>(router, service);
    add_course<PauseFlow>(router, service);
    add_course<ResumeFlow>(router, service);
    add_course<RetryFlow>(router, service);
    add_operation<ListFlows>(router, service);
    add_describe(router, service);
    add_operation<ListFlowMembers>(router, service);
    add_edges(router, service);
    add_describe_edge(router, service);
    add_operation<ReadFlowSummary>(router, service);
    add_graph_read(router, service);
    add_tags(router, service);
    add_operation<SetFlowTags>(router, service);
    add_operation<RemoveFlowTag>(router, service);
    add_set_flow_tag(router, service);
    add_operation<EvaluateEligibility>(router, service);
    add_audited<PromoteExecution>(router, service, [](const PromoteExecution& op) {
        return "execution_id=" + op.execution_id.to_string();
    });
    add_inputs(router, service);
    add_operation<CancelFlowHeader>(router, service, Access::admin);
    add_operation<AckCancelMember>(router, service, Access::admin);
    add_operation<ResolveDependency>(router, service, Access::admin);
}

}  // namespace ff::http
