// A route that is one operation of the engine: read the request, call, write the answer.
//
// Only which operation it is and how its answer is written is compiled for each operation. What a
// route does with that is the same for all and in operation_route.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/router.h"
#include "http/service.h"
#include "wire/answers.h"
#include "wire/errors.h"
#include "wire/request_in.h"
#include "wire/request_schema.h"
#include "wire/requests.h"

namespace ff::http {

/// What a route must know of its operation.
struct Operation {
    std::string_view name;
    const wire::Binding& at;
    /// A new one, whose members have been shown to the visitor.
    Request (*describe)(wire::RequestVisitor& visitor);
    wire::Answer (*write)(const Reply& reply);
};

template <class Op>
Request describe_as(wire::RequestVisitor& visitor) {
    Request request(std::in_place_type<Op>);
    wire::describe_request(visitor, ff::get<Op>(request));
    return request;
}
template <class Op>
wire::Answer write_as(const Reply& reply) {
    return wire::write_answer<Op>(ff::get<typename Op::Result>(reply));
}
template <class Op>
inline constexpr Operation route_operation{Op::name, wire::binding<Op>, &describe_as<Op>,
                                           &write_as<Op>};

// ------------------------------------------------------------------------------ of any operation

/// Reads the operation; answers by itself and gives nothing when the request is none.
std::optional<Request> read_request(const Operation& operation, Exchange& exchange);
/// The answer of an operation, written on the connection's thread. `permit` goes with it.
void respond_with(const Operation& operation, Respond respond, Response response,
                  std::shared_ptr<void> permit = nullptr);
/// Calls the engine and answers with what it says.
void call_engine(const Operation& operation, Service& service, Request request, Respond respond);
/// The route of an operation, without its handler.
Route route_of(const Operation& operation, Access access);
/// A handler that reads the operation, calls the engine and answers.
std::function<void(Exchange&)> handler_of(const Operation& operation, Service& service);
void add_operation(const Operation& operation, Router& router, Service& service, Access access);
/// The same, with a line in the audit log once it has been done.
void add_audited(const Operation& operation, Router& router, Service& service,
                 std::function<std::string(const Request&)> about, Access access);

// ----------------------------------------------------------------------------- of one, by its type

template <class Op>
std::optional<Op> read_operation(Exchange& exchange) {
    auto request = read_request(route_operation<Op>, exchange);
    return request ? std::optional<Op>(ff::get<Op>(std::move(*request))) : std::nullopt;
}

template <class Op>
void respond_with(Respond respond, expected<typename Op::Result> result,
                  std::shared_ptr<void> permit = nullptr) {
    using Result = typename Op::Result;
    respond_with(route_operation<Op>, std::move(respond),
                 result ? Response(Reply(std::in_place_type<Result>, std::move(*result)))
                        : Response(std::unexpected(std::move(result).error())),
                 std::move(permit));
}

template <class Op>
void call_engine(Service& service, Op op, Respond respond) {
    call_engine(route_operation<Op>, service, Request(std::in_place_type<Op>, std::move(op)),
                std::move(respond));
}

template <class Op>
Route route_of(Access access = Access::token) {
    return route_of(route_operation<Op>, access);
}

template <class Op>
void add_operation(Router& router, Service& service, Access access = Access::token) {
    add_operation(route_operation<Op>, router, service, access);
}

/// An execution as lines of the audit log name it.
inline std::string about_id(const ExecutionId& id) { return "execution_id=" + id.to_string(); }

template <class Op>
void add_audited(Router& router, Service& service, std::string (*about)(const Op&),
                 Access access = Access::token) {
    add_audited(
        route_operation<Op>, router, service,
        [about](const Request& request) { return about(ff::get<Op>(request)); }, access);
}

}  // namespace ff::http
