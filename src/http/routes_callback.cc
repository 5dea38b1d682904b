// Callbacks: whoever has the path may answer, with any body. No other credential is asked for, so
// nothing here tells whether a waitpoint exists to who cannot prove its token.
#include <algorithm>

#include "http/operation_route.h"
#include "http/routes.h"
#include "http/secret_paths.h"
#include "wire/callback.h"

namespace ff::http {

namespace {

wire::Answer not_found() { return wire::plain_error(404, "callback not found"); }

/// How the payload is spelled, from the type the sender gave it.
std::string encoding_of(std::string_view content_type) {
    if (is_json_type(content_type)) {
        return "json";
    }
    std::string type(content_type.substr(0, content_type.find(';')));
    while (type.ends_with(' ')) {
        type.pop_back();
    }
    const bool plain =
        std::ranges::all_of(type, [](char c) { return c > 0x20 && c < 0x7F; }) && type.size() < 256;
    return type.empty() || !plain ? "application/octet-stream" : type;
}

/// The signal, without the execution it is for.
expected<DeliverSignal> signal_of(const Exchange& exchange, const wire::CallbackTarget& target) {
    DeliverSignal op;
    op.waitpoint_id = target.waitpoint_id;
    op.waitpoint_token = target.token;
    op.signal_name = "callback";
    op.signal_category = "callback";
    op.source_type = "webhook";
    op.target_scope = SignalScope::waitpoint;
    if (const std::string* name = exchange.request.query_value("signal");
        name != nullptr && !name->empty()) {
        op.signal_name = *name;
    }
    if (const std::string* source = exchange.request.query_value("source")) {
        op.source_identity = *source;
    }
    if (exchange.idempotency_key) {
        if (!is_valid_utf8(*exchange.idempotency_key)) {
            return ff::fail(ErrorCode::invalid_input, "Idempotency-Key: not UTF-8");
        }
        op.idempotency_key = *exchange.idempotency_key;
    }
    op.payload_encoding = encoding_of(exchange.content_type);
    return op;
}

wire::Answer answer_of(Service& service, const std::string& peer,
                       const expected<SignalResult>& result) {
    if (result) {
        wire::Answer answer = wire::write_signal(*result, wire::Form::compatible);
        answer.status = result->duplicate ? 200 : 202;
        return answer;
    }
    switch (result.error().code) {
        case ErrorCode::execution_not_found:
        case ErrorCode::waitpoint_not_found:
        case ErrorCode::missing_token:
        case ErrorCode::invalid_token:
        case ErrorCode::token_expired: service.failed_attempts().add(peer); return not_found();
        case ErrorCode::waitpoint_closed:
        case ErrorCode::target_not_signalable:
        case ErrorCode::pending_waitpoint_expired: {
            wire::Answer answer = wire::write_error(result.error(), DeliverSignal::name);
            answer.status = 410;
            return answer;
        }
        default: return wire::write_error(result.error(), DeliverSignal::name);
    }
}

void receive(Service& service, Exchange exchange) {
    const auto target = wire::parse_callback(exchange.request.parameter("token"));
    if (!target) {
        exchange.answer(not_found());
        return;
    }
    // Who has guessed too often at this waitpoint is not heard here any more. Others at the same
    // address are: it may be a proxy's.
    const std::string guesser = exchange.peer + " " + target->waitpoint_id.to_string();
    if (auto refusal = refuse_guessing(service, guesser)) {
        exchange.answer(std::move(*refusal));
        return;
    }
    auto op = signal_of(exchange, *target);
    if (!op) {
        exchange.answer(wire::write_error(op.error(), DeliverSignal::name));
        return;
    }
    if (!exchange.raw_body.empty()) {
        op->payload = std::move(exchange.raw_body);
    }
    service.engine().async(
        FindWaitpoint{target->waitpoint_id},
        [&service, op = std::move(*op), peer = guesser, respond = std::move(exchange.respond)](
            expected<std::optional<WaitpointInfo>> found) mutable {
            if (!found) {
                respond([error = found.error()](Client) {
                    return wire::write_error(error, DeliverSignal::name);
                });
                return;
            }
            // One that is not there is delivered to nobody, and answered like a forged token.
            op.execution_id = *found ? (*found)->execution_id : ExecutionId{};
            service.engine().async(
                std::move(op), [&service, peer = std::move(peer), respond = std::move(respond)](
                                   expected<SignalResult> result) mutable {
                    respond([&service, peer = std::move(peer), result = std::move(result)](Client) {
                        return answer_of(service, peer, result);
                    });
                });
        });
}

json describe_callback() {
    const auto parameter = [](std::string_view in, std::string_view name, bool required) {
        return json{{"name", name},
                    {"in", in},
                    {"required", required},
                    {"schema", json{{"type", "string"}}}};
    };
    return json{
        {"parameters",
         js::Array{parameter("path", "token", true), parameter("query", "signal", false),
                   parameter("query", "source", false),
                   parameter("header", "Idempotency-Key", false)}},
        {"requestBody", json{{"required", false}, {"content", json{{"*/*", js::Object{}}}}}}};
}

}  // namespace

void add_callback_routes(Router& router, Service& service) {
    Route route{wire::Method::post, std::string(wire::callback_prefix) + "{token}"};
    route.body = Body::as_it_is;
    route.access = Access::open;
    route.operation = "receive_callback";
    route.summary = "Signal a waitpoint; the path is the credential, the body the payload";
    route.describe = describe_callback;
    route.handler = [&service](Exchange exchange) { receive(service, std::move(exchange)); };
    router.add(std::move(route));
}

}  // namespace ff::http
