#include "http/operation_route.h"

namespace ff::http {

std::optional<Request> read_request(const Operation& operation, Exchange& exchange) {
    wire::RequestIn in(exchange.request);
    Request request = operation.describe(in);
    if (const auto fault = in.fault()) {
        exchange.answer(wire::write_fault(*fault));
        return std::nullopt;
    }
    return request;
}

namespace {

/// What is wrong with the path and the query of a request, whatever its body.
std::optional<wire::RequestFault> early_fault(const Operation& operation,
                                              const wire::Routed& request) {
    wire::Routed without_body{request.path, request.query, js::Object{}};
    wire::RequestIn in(without_body);
    operation.describe(in);
    return in.early_fault();
}

}  // namespace

void respond_with(const Operation& operation, Respond respond, Response response,
                  std::shared_ptr<void> permit) {
    respond(
        [&operation, response = std::move(response), permit = std::move(permit)](Client) mutable {
            wire::Answer answer = response ? operation.write(*response)
                                           : wire::write_error(response.error(), operation.name);
            answer.permit = std::move(permit);
            return answer;
        });
}

void call_engine(const Operation& operation, Service& service, Request request, Respond respond) {
    service.engine().call(std::move(request),
                          [&operation, respond = std::move(respond)](Response response) mutable {
                              respond_with(operation, std::move(respond), std::move(response));
                          });
}

Route route_of(const Operation& operation, Access access) {
    const wire::Binding& at = operation.at;
    Route route;
    route.method = at.method;
    route.path = at.path;
    route.size = at.body;
    route.body =
        at.method == wire::Method::post || at.method == wire::Method::put ? Body::json : Body::none;
    route.access = access;
    route.operation = operation.name;
    route.summary = at.summary;
    route.early_fault = [&operation](const wire::Routed& request) {
        return early_fault(operation, request);
    };
    route.describe = [&operation] {
        wire::RequestSchema schema(operation.at);
        operation.describe(schema);
        return schema.take();
    };
    return route;
}

std::function<void(Exchange&)> handler_of(const Operation& operation, Service& service) {
    return [&operation, &service](Exchange& exchange) {
        if (auto request = read_request(operation, exchange)) {
            call_engine(operation, service, std::move(*request), std::move(exchange.respond));
        }
    };
}

void add_operation(const Operation& operation, Router& router, Service& service, Access access) {
    Route route = route_of(operation, access);
    route.handler = handler_of(operation, service);
    router.add(std::move(route));
}

void add_audited(const Operation& operation, Router& router, Service& service,
                 std::function<std::string(const Request&)> about, Access access) {
    Route route = route_of(operation, access);
    route.handler = [&operation, &service, about = std::move(about)](Exchange& exchange) {
        auto request = read_request(operation, exchange);
        if (!request) {
            return;
        }
        std::string text = about(*request);
        service.engine().call(std::move(*request), [&operation, &service, text = std::move(text),
                                                    respond = std::move(exchange.respond)](
                                                       Response response) mutable {
            service.audit(operation.name,
                          response
                              ? text
                              : text + " refused=" + std::string(to_string(response.error().code)));
            respond_with(operation, std::move(respond), std::move(response));
        });
    };
    router.add(std::move(route));
}

}  // namespace ff::http
