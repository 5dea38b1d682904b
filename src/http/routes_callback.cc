// Callbacks: whoever has the path may answer, with any body. No other credential is asked for, so
// nothing here tells whether a waitpoint exists to who cannot prove its token.
#include <algorithm>

#include "core/waitpoint_tokens.h"
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

/// Who tries, and at which waitpoint.
struct Attempt {
    std::string peer;
    std::string target;
};

/// Who fails too often, at whatever it tries, is told so. Only who fails: an address may be that of
/// a proxy, and a right token is heard whatever others have tried from there.
wire::Answer refuse_attempt(Service& service, const Attempt& attempt) {
    if (auto refusal = refuse_guessing(service, attempt.peer)) {
        return std::move(*refusal);
    }
    service.failed_attempts().add(attempt.peer, attempt.target);
    return not_found();
}

wire::Answer answer_of(Service& service, const Attempt& attempt,
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
        case ErrorCode::token_expired: return refuse_attempt(service, attempt);
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

/// Can this be the token of the waitpoint? What listings show of it says so without a proof, and
/// takes as long when there is no such waitpoint.
bool may_be_proved(const std::optional<WaitpointInfo>& found, const std::string& token) {
    const std::string nobodys(core::token_fingerprint(token).size(), '-');
    const std::string& own = found ? found->token_fingerprint : nobodys;
    const bool same = core::same_secret(core::token_fingerprint(token), own);
    return found.has_value() && same;
}

void deliver(Service& service, DeliverSignal op, Attempt attempt, Respond respond) {
    service.engine().async(
        std::move(op), [&service, attempt = std::move(attempt),
                        respond = std::move(respond)](expected<SignalResult> result) mutable {
            respond([&service, attempt = std::move(attempt), result = std::move(result)](Client) {
                return answer_of(service, attempt, result);
            });
        });
}

void receive(Service& service, Exchange exchange) {
    const auto target = wire::parse_callback(exchange.request.parameter("token"));
    Attempt attempt{exchange.peer, target ? target->waitpoint_id.to_string() : ""};
    if (!target) {
        exchange.answer(refuse_attempt(service, attempt));
        return;
    }
    // Who has guessed too often at this waitpoint is not heard there any more.
    if (auto refusal = refuse_guessing(service, attempt.peer, attempt.target)) {
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
        [&service, op = std::move(*op), attempt = std::move(attempt),
         respond =
             std::move(exchange.respond)](expected<std::optional<WaitpointInfo>> found) mutable {
            if (!found) {
                respond([error = found.error()](Client) {
                    return wire::write_error(error, DeliverSignal::name);
                });
                return;
            }
            op.execution_id = *found ? (*found)->execution_id : ExecutionId{};
            if (may_be_proved(*found, op.waitpoint_token)) {
                deliver(service, std::move(op), std::move(attempt), std::move(respond));
                return;
            }
            // Answered before the attempt is written down: how long that takes would tell whether
            // the waitpoint exists. Of an address that tries too much nothing more is written.
            const bool heard = service.failed_attempts().seconds_to_wait(attempt.peer, {}) == 0;
            respond([&service, attempt = std::move(attempt)](Client) {
                return refuse_attempt(service, attempt);
            });
            if (heard) {
                op.payload.reset();
                service.engine().async(std::move(op), [](const expected<SignalResult>&) {});
            }
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
    route.handler = [&service](Exchange& exchange) { receive(service, std::move(exchange)); };
    router.add(std::move(route));
}

}  // namespace ff::http
