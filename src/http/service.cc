#include "http/service.h"

#include "http/routes.h"
#include "wire/errors.h"

namespace ff::http {

bool is_json_type(std::string_view type) {
    std::string text(type.substr(0, type.find(';')));
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
        text.pop_back();
    }
    for (char& c : text) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return text == "application/json" ||
           (text.starts_with("application/") && text.ends_with("+json"));
}

namespace {

wire::RequestFault syntax_fault(const Error& error) {
    return {400, "invalid JSON: Bad Request: " + error.detail};
}

/// Reads the body of a route that takes JSON; none at all counts as an empty object.
std::optional<wire::RequestFault> read_body(const RequestHead& head, const std::string& text,
                                            json& body) {
    if (text.empty()) {
        body = js::Object{};
        return std::nullopt;
    }
    if (!is_json_type(head.content_type.value_or(""))) {
        return wire::RequestFault{.status = 415,
                                  .error = "invalid JSON: Unsupported Media Type",
                                  .about = "send it as content-type: application/json"};
    }
    auto parsed = js::parse(text);
    if (!parsed) {
        return syntax_fault(parsed.error());
    }
    if (parsed->if_object() == nullptr) {
        return wire::RequestFault{422, "invalid JSON: Unprocessable Entity: expected an object"};
    }
    body = std::move(*parsed);
    return std::nullopt;
}

/// Answers, logs and stores say names again: they are text.
std::optional<wire::RequestFault> unspeakable(
    const std::vector<std::pair<std::string_view, std::string>>& path,
    const std::vector<wire::QueryPair>& query) {
    for (const auto& [name, value] : path) {
        if (!is_valid_utf8(value)) {
            return wire::RequestFault{400, "invalid path: " + std::string(name) + ": not UTF-8"};
        }
    }
    for (const auto& [name, value] : query) {
        if (!is_valid_utf8(name) || !is_valid_utf8(value)) {
            return wire::RequestFault{400, "invalid query: not UTF-8"};
        }
        if (name.contains('\0')) {
            return wire::RequestFault{400, "invalid query: a name with a NUL character"};
        }
        if (value.contains('\0')) {
            return wire::RequestFault{400, "invalid query: " + name + ": a NUL character"};
        }
    }
    return std::nullopt;
}

}  // namespace

Service::Service(std::shared_ptr<Engine> engine, ServiceOptions options)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      gate_(options_.gate),
      waiting_(options_.waiting_max),
      failed_attempts_(options_.failed_attempts_max) {
    add_routes(router_, *this);
}

Service::~Service() {
    std::unique_lock lock(errands_mutex_);
    errands_done_.wait(lock, [this] { return errands_ == 0; });
}

TimestampMs Service::now() const {
    if (options_.clock) {
        return options_.clock->now();
    }
    return engine_->now();
}

void Service::begin_errand() {
    const std::lock_guard lock(errands_mutex_);
    ++errands_;
}

void Service::end_errand() {
    const std::lock_guard lock(errands_mutex_);
    --errands_;
    errands_done_.notify_all();  // under the lock: afterwards the service may be gone
}

wire::Answer Service::too_large(const Route& route) {
    js::Object body{{"error", "payload_too_large"},
                    {"limit_bytes", static_cast<std::uint64_t>(wire::body_bytes_max(route.size))},
                    {"route", route.path}};
    return {413, js::dump(body), "application/json", {}};
}

Admission Service::look_at(const RequestHead& head) const {
    Admission out;
    out.refusal = gate_.preflight(head);
    if (out.refusal) {
        return out;
    }
    Found found = router_.find(head.method, head.path());
    // Who is not known learns nothing of what is there.
    out.refusal = gate_.refuse(head, found.route != nullptr ? found.route->access : Access::token);
    if (out.refusal) {
        return out;
    }
    if (found.route == nullptr) {
        out.refusal = wire::Answer{found.allow.empty() ? 404 : 405, "", "", {}};
        if (!found.allow.empty()) {
            out.refusal->headers.emplace_back("Allow", found.allow);
        }
        return out;
    }
    out.route = found.route;
    out.parameters = std::move(found.parameters);
    out.bad_escape = found.bad_escape;
    out.body_max = wire::body_bytes_max(found.route->size);
    if (head.content_length && *head.content_length > out.body_max) {
        out.refusal = too_large(*found.route);
    }
    return out;
}

void Service::hand_on(Admission admission, const RequestHead& head, std::string body,
                      Respond respond, std::stop_token gone, Later later) {
    Exchange exchange{{std::move(admission.parameters), {}, {}},
                      {},
                      std::move(respond),
                      std::move(gone),
                      std::move(later),
                      {},
                      {},
                      head.peer};
    if (admission.bad_escape) {
        exchange.answer(wire::write_fault({400, "invalid path: broken percent-encoding"}));
        return;
    }
    auto query = wire::query_of(head.query());
    if (!query) {
        exchange.answer(wire::write_fault({400, "invalid query: broken percent-encoding"}));
        return;
    }
    if (const auto fault = unspeakable(exchange.request.path, *query)) {
        exchange.answer(wire::write_fault(*fault));
        return;
    }
    exchange.request.query = std::move(*query);
    if (admission.route->body == Body::json) {
        if (const auto fault = read_body(head, body, exchange.request.body)) {
            const auto early = admission.route->early_fault != nullptr
                                   ? admission.route->early_fault(exchange.request)
                                   : std::nullopt;
            exchange.answer(wire::write_fault(early ? *early : *fault));
            return;
        }
    } else if (admission.route->body == Body::as_it_is) {
        exchange.raw_body = std::move(body);
        exchange.content_type = head.content_type.value_or("");
        exchange.idempotency_key = head.idempotency_key;
    }
    exchange.wants_events =
        head.accept && head.accept->find("text/event-stream") != std::string::npos;
    exchange.last_event_id = head.last_event_id;
    admission.route->handler(exchange);
}

void Service::finished(const RequestHead& head, const Route* route, int status,
                       std::chrono::nanoseconds took) const {
    if (options_.finished) {
        options_.finished(head, route, status, took);
    }
}

}  // namespace ff::http
