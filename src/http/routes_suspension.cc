// Suspension: waiting under a lease, signals, and the keys that prove them.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <mutex>

#include "http/operation_route.h"
#include "http/routes.h"

namespace ff::http {

namespace {

/// Whether the caller wants all that is known, or what it was always told.
wire::Form form_of(const Exchange& exchange) {
    const std::string* detail = exchange.request.query_value("detail");
    return detail != nullptr && *detail == "true" ? wire::Form::whole : wire::Form::compatible;
}

/// A route whose answer comes in two forms; `about` makes a line for the audit log, if any.
template <class Op, class Write>
void add_formed(Router& router, Service& service, Write write,
                std::function<std::string(const Op&)> about = {}) {
    Route route = route_of<Op>();
    route.handler = [&service, write, about = std::move(about)](Exchange& exchange) {
        auto op = read_operation<Op>(exchange);
        if (!op) {
            return;
        }
        const wire::Form form = form_of(exchange);
        std::string text = about ? about(*op) : std::string();
        service.engine().async(std::move(*op), [&service, write, form, text = std::move(text),
                                                respond = std::move(exchange.respond)](
                                                   expected<typename Op::Result> result) mutable {
            if (!text.empty()) {
                service.audit(Op::name, result ? text
                                               : text + " refused=" +
                                                     std::string(to_string(result.error().code)));
            }
            respond([write, form, result = std::move(result)](Client) {
                return result ? write(*result, form) : wire::write_error(result.error(), Op::name);
            });
        });
    };
    router.add(std::move(route));
}

void add_find(Router& router, Service& service) {
    Route route = route_of<FindWaitpoint>();
    route.handler = [&service](Exchange& exchange) {
        auto op = read_operation<FindWaitpoint>(exchange);
        if (!op) {
            return;
        }
        service.engine().async(*op, [respond = std::move(exchange.respond)](
                                        expected<std::optional<WaitpointInfo>> found) mutable {
            respond([found = std::move(found)](Client) {
                if (!found) {
                    return wire::write_error(found.error(), FindWaitpoint::name);
                }
                return *found ? wire::write_answer<FindWaitpoint>(*found)
                              : wire::write_error({ErrorCode::waitpoint_not_found, {}, {}});
            });
        });
    };
    router.add(std::move(route));
}

// ------------------------------------------------------------------------------------------ keys

/// An answer that two may try to give: the engine, or the clock.
class Once {
  public:
    explicit Once(Respond respond) : respond_(std::move(respond)) {}
    /// Was it the first?
    bool give(wire::Answer answer) {
        Respond respond;
        {
            const std::lock_guard lock(mutex_);
            respond = std::move(respond_);
            respond_ = nullptr;
        }
        if (respond) {
            respond([answer = std::move(answer)](Client) mutable { return std::move(answer); });
            return true;
        }
        return false;
    }
    [[nodiscard]] bool given() {
        const std::lock_guard lock(mutex_);
        return !respond_;
    }

  private:
    std::mutex mutex_;
    Respond respond_;  // guarded by mutex_
};

/// Asks the clock now and then, so that a server that stops need not wait for a long timer.
void answer_in_time(const std::shared_ptr<Once>& once, const Later& later,
                    std::chrono::steady_clock::time_point end, std::function<void()> overrun) {
    if (once->given()) {
        return;
    }
    if (std::chrono::steady_clock::now() >= end) {
        if (once->give(wire::write_error({ErrorCode::timeout,
                                          "the rotation has not ended in time; repeating it is "
                                          "safe",
                                          {}}))) {
            overrun();
        }
        return;
    }
    later(std::chrono::milliseconds(100), [once, later, end, overrun = std::move(overrun)] {
        answer_in_time(once, later, end, overrun);
    });
}

wire::Answer rotation_under_way() {
    const json body{
        {"error", "too many concurrent admin_rotate calls (server max: 1); retry with backoff"},
        {"retryable", true},
        {"code", to_string(ErrorCode::resource_exhausted)}};
    return {429, js::dump(body), "application/json", {{"Retry-After", "1"}}};
}

/// What older clients are told about a key of the wrong form, word by word.
std::optional<wire::RequestFault> fault_of(const RotateWaitpointKey& op) {
    if (op.new_kid.empty() || op.new_kid.contains(':')) {
        return wire::RequestFault{400, "new_kid must be non-empty and must not contain ':'",
                                  ErrorCode::invalid_kid};
    }
    const bool hex = std::ranges::all_of(op.new_secret_hex,
                                         [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (op.new_secret_hex.empty() || op.new_secret_hex.size() % 2 != 0 || !hex) {
        return wire::RequestFault{400, "new_secret_hex must be a non-empty even-length hex string",
                                  ErrorCode::invalid_secret_hex};
    }
    return std::nullopt;
}

std::string about_rotation(const expected<RotateKeyResult>& result) {
    if (!result) {
        return " refused=" + std::string(to_string(result.error().code));
    }
    return std::string(result->rotated ? " rotated" : " noop") +
           " previous=" + result->previous_kid.value_or("none") +
           " gc=" + std::to_string(result->gc_count) +
           " waitpoints_outliving_grace=" + std::to_string(result->waitpoints_outliving_grace);
}

void rotate(Service& service, std::atomic<bool>& running, Exchange exchange) {
    wire::RequestIn in(exchange.request);
    RotateWaitpointKey op;
    op.grace_ms = service.options().waitpoint_grace_ms;
    wire::describe_request(in, op);
    auto fault = in.fault();
    if (!fault) {
        fault = fault_of(op);
    }
    if (fault) {
        exchange.answer(wire::write_fault(*fault));
        return;
    }
    if (running.exchange(true)) {
        exchange.answer(rotation_under_way());
        return;
    }
    const wire::Form form = form_of(exchange);
    std::string text = "kid=" + op.new_kid + " caller=" + exchange.peer;
    service.audit(RotateWaitpointKey::name, text + " start");
    const auto once = std::make_shared<Once>(std::move(exchange.respond));
    const auto end = std::chrono::steady_clock::now() + service.options().rotation_max;
    const Later later = exchange.later;
    service.begin_errand();  // it may end when nobody waits any more
    service.engine().async(std::move(op), [&service, &running, once, form,
                                           text](expected<RotateKeyResult> result) mutable {
        service.audit(RotateWaitpointKey::name, text + about_rotation(result));
        running = false;
        once->give(result ? wire::write_rotated(*result, form)
                          : wire::write_error(result.error(), RotateWaitpointKey::name));
        service.end_errand();
    });
    answer_in_time(once, later, end, [&service, text] {
        service.audit(RotateWaitpointKey::name, text + " not in time");
    });
}

void add_rotate(Router& router, Service& service) {
    Route route = route_of<RotateWaitpointKey>(Access::admin);
    route.waits = true;
    route.waits_with = "\n";  // nothing to be woken from: a client that goes changes nothing
    const auto running = std::make_shared<std::atomic<bool>>(false);
    route.handler = [&service, running](Exchange& exchange) {
        rotate(service, *running, std::move(exchange));
    };
    router.add(std::move(route));
}

}  // namespace

void add_suspension_routes(Router& router, Service& service) {
    add_operation<CreateWaitpoint>(router, service);
    add_operation<CloseWaitpoint>(router, service);
    add_operation<Suspend>(router, service);
    add_operation<ObserveSignals>(router, service);
    add_formed<DeliverSignal>(router, service, wire::write_signal);
    add_formed<DeliverApprovalSignal>(
        router, service, wire::write_signal, [](const DeliverApprovalSignal& op) {
            return about_id(op.execution_id) + " waitpoint_id=" + op.waitpoint_id.to_string() +
                   " signal=" + op.signal_name + " actor=" + op.actor;
        });
    add_audited<ResumeExecution>(router, service, [](const ResumeExecution& op) {
        return about_id(op.execution_id) + " actor=" + op.actor;
    });
    add_operation<ExpireSuspension>(router, service);
    add_formed<ListPendingWaitpoints>(router, service, wire::write_waitpoints);
    add_operation<ReadWaitpointToken>(router, service, Access::credential);
    add_find(router, service);
    add_operation<ListSuspensions>(router, service);
    add_operation<ListSuspended>(router, service);
    add_operation<ListSignals>(router, service);
    add_audited<SeedWaitpointKey>(
        router, service, [](const SeedWaitpointKey& op) { return "kid=" + op.kid; }, Access::admin);
    add_rotate(router, service);
    add_operation<ListWaitpointKeys>(router, service, Access::admin);
}

}  // namespace ff::http
