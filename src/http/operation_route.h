// A route that is one operation of the engine: read the request, call, write the answer.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "http/router.h"
#include "http/service.h"
#include "wire/answers.h"
#include "wire/errors.h"
#include "wire/request_in.h"
#include "wire/request_schema.h"
#include "wire/requests.h"

namespace ff::http {

/// Reads the operation; answers by itself and gives nothing when the request is none.
template <class Op>
std::optional<Op> read_operation(Exchange& exchange) {
    wire::RequestIn in(exchange.request);
    Op op;
    wire::describe_request(in, op);
    if (const auto fault = in.fault()) {
        exchange.answer(wire::write_fault(*fault));
        return std::nullopt;
    }
    return op;
}

/// What is wrong with the path and the query of a request, whatever its body.
template <class Op>
std::optional<wire::RequestFault> early_fault(const wire::Routed& request) {
    wire::Routed without_body{request.path, request.query, js::Object{}};
    wire::RequestIn in(without_body);
    Op op;
    wire::describe_request(in, op);
    return in.early_fault();
}

/// The answer of an operation, written on the connection's thread. `permit` goes with it.
template <class Op>
void respond_with(Respond respond, expected<typename Op::Result> result,
                  std::shared_ptr<void> permit = nullptr) {
    respond([result = std::move(result), permit = std::move(permit)](Client) mutable {
        wire::Answer answer =
            result ? wire::write_answer<Op>(*result) : wire::write_error(result.error(), Op::name);
        answer.permit = std::move(permit);
        return answer;
    });
}

/// Calls the engine and answers with what it says.
template <class Op>
void call_engine(Service& service, Op op, Respond respond) {
    service.engine().async(std::move(op), [respond = std::move(respond)](auto result) mutable {
        respond_with<Op>(std::move(respond), std::move(result));
    });
}

/// The route of an operation, without its handler.
template <class Op>
Route route_of(Access access = Access::token) {
    const wire::Binding& at = wire::binding<Op>;
    Route route;
    route.method = at.method;
    route.path = at.path;
    route.size = at.body;
    route.body =
        at.method == wire::Method::post || at.method == wire::Method::put ? Body::json : Body::none;
    route.access = access;
    route.operation = Op::name;
    route.summary = at.summary;
    route.early_fault = &early_fault<Op>;
    route.describe = [] { return wire::request_schema<Op>(); };
    return route;
}

template <class Op>
void add_operation(Router& router, Service& service, Access access = Access::token) {
    Route route = route_of<Op>(access);
    route.handler = [&service](Exchange exchange) {
        if (auto op = read_operation<Op>(exchange)) {
            call_engine(service, std::move(*op), std::move(exchange.respond));
        }
    };
    router.add(std::move(route));
}

/// An execution as lines of the audit log name it.
inline std::string about_id(const ExecutionId& id) { return "execution_id=" + id.to_string(); }

/// The same, with a line in the audit log once it has been done.
template <class Op>
void add_audited(Router& router, Service& service, std::function<std::string(const Op&)> about,
                 Access access = Access::token) {
    Route route = route_of<Op>(access);
    route.handler = [&service, about = std::move(about)](Exchange exchange) {
        auto op = read_operation<Op>(exchange);
        if (!op) {
            return;
        }
        std::string text = about(*op);
        service.engine().async(std::move(*op), [&service, text = std::move(text),
                                                respond = std::move(exchange.respond)](
                                                   auto result) mutable {
            service.audit(
                Op::name,
                result ? text : text + " refused=" + std::string(to_string(result.error().code)));
            respond_with<Op>(std::move(respond), std::move(result));
        });
    };
    router.add(std::move(route));
}

}  // namespace ff::http
