// Health, metrics, what the server is, and what operators look at.
#include "http/operation_route.h"
#include "http/routes.h"
#include "http/schemas.h"

namespace ff::http {

namespace {

json no_request() { return js::Object{}; }

Route simple(wire::Method method, std::string path, Access access, std::string operation,
             std::string summary) {
    Route route{method, std::move(path)};
    route.access = access;
    route.operation = std::move(operation);
    route.summary = std::move(summary);
    route.describe = no_request;
    return route;
}

wire::Answer status_answer(int status, std::string_view word) {
    wire::Answer answer{status, js::dump(json{{"status", word}}), "application/json", {}};
    if (status == 503) {
        answer.headers.emplace_back("Retry-After", "1");
    }
    return answer;
}

/// Whatever is wrong with the store: it may be well again in a moment.
wire::Answer unwell(const Error& error) {
    json body{{"error", error.message()},
              {"kind", "unavailable"},
              {"retryable", true},
              {"code", to_string(error.code)}};
    return {503, js::dump(body), "application/json", {{"Retry-After", "1"}}};
}

/// Healthy is who can read its store.
void add_health(Router& router, Service& service) {
    Route health =
        simple(wire::Method::get, "/healthz", Access::open, "health", "Is the store reachable");
    health.handler = [&service](Exchange& exchange) {
        service.engine().async(ListLanes{std::nullopt, 1},
                               [respond = std::move(exchange.respond)](auto lanes) mutable {
                                   respond([lanes = std::move(lanes)](Client) {
                                       return lanes ? status_answer(200, "ok")
                                                    : unwell(lanes.error());
                                   });
                               });
    };
    router.add(std::move(health));
    Route ready = simple(wire::Method::get, "/readyz", Access::token, "ready", "Does it take work");
    ready.handler = [&service](Exchange& exchange) {
        exchange.answer(service.draining() ? status_answer(503, "draining")
                                           : status_answer(200, "ready"));
    };
    router.add(std::move(ready));
}

void add_metrics(Router& router, Service& service) {
    if (!service.options().metrics_text) {
        return;
    }
    Route route =
        simple(wire::Method::get, "/metrics", Access::open, "metrics", "Figures for Prometheus");
    route.handler = [&service](Exchange& exchange) {
        exchange.answer({200,
                         service.options().metrics_text(),
                         "text/plain; version=0.0.4; charset=utf-8",
                         {}});
    };
    router.add(std::move(route));
}

void add_capabilities(Router& router, Service& service) {
    Route route = route_of<ReadCapabilities>();
    route.handler = [&service](Exchange& exchange) {
        service.engine().async(
            ReadCapabilities{}, [&service, respond = std::move(exchange.respond)](
                                    expected<Capabilities> found) mutable {
                respond([&service, found = std::move(found)](Client) {
                    if (!found) {
                        return wire::write_error(found.error(), ReadCapabilities::name);
                    }
                    wire::Answer answer = wire::write_answer<ReadCapabilities>(*found);
                    js::Array lanes;
                    for (const std::string& lane : service.options().lanes) {
                        lanes.emplace_back(lane);
                    }
                    answer.body.pop_back();
                    answer.body += ",\"lanes\":" + js::dump(lanes) + "}";
                    return answer;
                });
            });
    };
    router.add(std::move(route));
}

/// Gives the body back. `ff bench` measures with it what the network and the server cost alone.
void add_echo(Router& router) {
    Route route = simple(wire::Method::post, "/v1/echo", Access::token, "echo",
                         "Answers with the body it was sent");
    route.body = Body::as_it_is;
    route.describe = describe_echo;
    route.handler = [](Exchange& exchange) {
        std::string body = std::move(exchange.raw_body);
        exchange.answer({200, std::move(body), "application/octet-stream", {}});
    };
    router.add(std::move(route));
}

void add_description(Router& router) {
    Route route = simple(wire::Method::get, "/v1/openapi.json", Access::token, "openapi",
                         "This interface as OpenAPI 3.1");
    route.handler = [&router](Exchange& exchange) {
        exchange.answer({200, js::dump(openapi_document(router)), "application/json", {}});
    };
    router.add(std::move(route));
}

void add_config(Router& router, Service& service) {
    if (!service.options().config) {
        return;
    }
    Route route = simple(wire::Method::get, "/v1/admin/config", Access::admin, "config",
                         "The settings that count; secrets as set or unset");
    route.handler = [&service](Exchange& exchange) {
        exchange.answer({200, js::dump(service.options().config()), "application/json", {}});
    };
    router.add(std::move(route));
}

}  // namespace

void add_admin_routes(Router& router, Service& service) {
    add_health(router, service);
    add_metrics(router, service);
    add_capabilities(router, service);
    add_description(router);
    add_echo(router);
    add_config(router, service);
    add_operation<ListScanners>(router, service, Access::admin);
    add_operation<RunScanner>(router, service, Access::admin);
    add_operation<ReadStoreReport>(router, service, Access::admin);
}

}  // namespace ff::http
