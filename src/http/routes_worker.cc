// Workers: taking work, the registry, lanes and leases.
#include "http/operation_route.h"
#include "http/routes.h"
#include "http/schemas.h"
#include "wire/object.h"

namespace ff::http {

namespace {

std::vector<Handle> handles_of(const ClaimResult& claimed) {
    std::vector<Handle> handles;
    for (const ClaimedTask& task : claimed.tasks) {
        handles.push_back(task.handle);
    }
    return handles;
}

/// Gives back what was claimed for somebody who is not there any more.
void give_back(Service& service, const std::vector<Handle>& handles) {
    for (const Handle& handle : handles) {
        service.begin_errand();
        service.engine().async(Release{handle}, [&service, id = handle.execution_id](auto result) {
            if (!result && info(result.error().code).kind != ErrorKind::state &&
                info(result.error().code).kind != ErrorKind::contention) {
                service.audit("undelivered",
                              "execution_id=" + id.to_string() + " waits for its lease to end");
            }
            service.end_errand();
        });
    }
}

wire::Answer polls_full(std::size_t most) {
    return wire::write_error({ErrorCode::too_many_waiters,
                              "too many concurrent poll calls (server max: " +
                                  std::to_string(most) + "); retry with backoff",
                              {}});
}

void poll(Service& service, Exchange exchange) {
    auto op = read_operation<Claim>(exchange);
    if (!op) {
        return;
    }
    if (service.draining()) {
        exchange.answer(wire::write_error({ErrorCode::shutting_down, "the server is stopping", {}},
                                          Claim::name));
        return;
    }
    const std::size_t most = service.options().polls_max;
    if (!service.polls().take(most)) {
        exchange.answer(polls_full(most));
        return;
    }
    op->abandoned = exchange.gone;
    service.engine().async(std::move(*op), [&service, respond = std::move(exchange.respond)](
                                               expected<ClaimResult> result) mutable {
        service.polls().give_back();
        respond([&service, result = std::move(result)](Client client) {
            if (!result) {
                return wire::write_error(result.error(), Claim::name);
            }
            wire::Answer answer = wire::write_answer<Claim>(*result);
            if (client == Client::gone) {
                give_back(service, handles_of(*result));
            } else if (!result->tasks.empty()) {
                answer.undelivered = [&service, handles = handles_of(*result)] {
                    give_back(service, handles);
                };
            }
            return answer;
        });
    });
}

// ------------------------------------------------------------------------------------- heartbeats

/// The leases that a heartbeat renews, as the body lists them.
expected<std::vector<Renew>> read_leases(const json& body) {
    std::vector<Renew> out;
    const json* list = body.find("leases");
    if (list == nullptr || list->is_null()) {
        return out;
    }
    const js::Array* items = list->if_array();
    if (items == nullptr) {
        return ff::fail(ErrorCode::invalid_input, "leases: expected an array");
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
        wire::Routed routed;
        routed.body = (*items)[i];
        wire::RequestIn in(routed, wire::RequestIn::Named::in_body);
        Renew op;
        wire::describe_request(in, op);
        if (const auto fault = in.fault()) {
            return ff::fail(ErrorCode::invalid_input,
                            "leases[" + std::to_string(i) + "]" +
                                (fault->about.empty() ? ": " + fault->error : "." + fault->about));
        }
        out.push_back(std::move(op));
    }
    return out;
}

std::string heartbeat_text(const HeartbeatResult& beat, const std::vector<ExecutionId>& ids,
                           const std::vector<Response>& responses) {
    std::string out;
    wire::ObjectOut object(out);
    object.field("outcome", std::string_view(beat.registered ? "refreshed" : "not_registered"));
    if (beat.registered) {
        object.field("next_expiry_ms", beat.next_expiry_ms);
    }
    object.key("leases");
    out.push_back('[');
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const Response& response = responses[i + 1];
        out += i > 0 ? "," : "";
        wire::ObjectOut lease(out);
        lease.field("execution_id", ids[i]);
        lease.field("renewed", response.has_value());
        if (response) {
            lease.field("expires_at", ff::get<RenewResult>(*response).expires_at_ms);
        } else {
            lease.field("code", to_string(response.error().code));
            if (const auto outcome = response.error().field("terminal_outcome"); !outcome.empty()) {
                lease.field("terminal_outcome", outcome);
            }
        }
        lease.field("cancel_requested", false);
        lease.close();
    }
    out.push_back(']');
    object.close();
    return out;
}

/// One request refreshes the registry entry and renews every lease the worker holds.
void add_heartbeat(Router& router, Service& service) {
    Route route = route_of<HeartbeatWorker>();
    route.describe = describe_heartbeat;
    route.size = wire::BodyClass::large;
    route.handler = [&service](Exchange& exchange) {
        auto beat = read_operation<HeartbeatWorker>(exchange);
        if (!beat) {
            return;
        }
        auto leases = read_leases(exchange.request.body);
        if (!leases) {
            exchange.answer(wire::write_fault(
                {422, "invalid JSON: Unprocessable Entity: " + leases.error().detail}));
            return;
        }
        std::vector<Request> requests;
        std::vector<ExecutionId> ids;
        requests.emplace_back(std::in_place_type<HeartbeatWorker>, std::move(*beat));
        for (Renew& renew : *leases) {
            ids.push_back(renew.lease.execution_id);
            requests.emplace_back(std::in_place_type<Renew>, std::move(renew));
        }
        service.engine().call_many(
            std::move(requests), [ids = std::move(ids), respond = std::move(exchange.respond)](
                                     std::vector<Response> responses) mutable {
                respond([ids = std::move(ids),
                         responses = std::move(responses)](Client) -> wire::Answer {
                    if (!responses[0]) {
                        return wire::write_error(responses[0].error(), HeartbeatWorker::name);
                    }
                    return {200,
                            heartbeat_text(ff::get<HeartbeatResult>(*responses[0]), ids, responses),
                            "application/json",
                            {}};
                });
            });
    };
    router.add(std::move(route));
}

}  // namespace

void add_worker_routes(Router& router, Service& service) {
    Route polling = route_of<Claim>();
    polling.waits = true;
    polling.handler = [&service](Exchange& exchange) { poll(service, std::move(exchange)); };
    router.add(std::move(polling));
    add_operation<ClaimForWorker>(router, service);
    add_operation<RegisterWorker>(router, service);
    add_heartbeat(router, service);
    add_audited<MarkWorkerDead>(router, service, [](const MarkWorkerDead& op) {
        return "worker_instance_id=" + op.worker_instance_id;
    });
    add_operation<ListWorkers>(router, service);
    add_operation<ListExpiredLeases>(router, service);
    add_operation<ListLanes>(router, service);
    add_operation<SetLaneState>(router, service);
}

}  // namespace ff::http
