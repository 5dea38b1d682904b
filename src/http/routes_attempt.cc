// Attempts: what the holder of a lease does, one by one and in batches.
#include "http/operation_route.h"
#include "http/routes.h"
#include "http/schemas.h"

namespace ff::http {

namespace {

/// `POST …/attempts/{idx}/cancel`: a worker gives up for good.
void add_cancel(Router& router, Service& service) {
    Route route{wire::Method::post, "/v1/executions/{id}/attempts/{idx}/cancel"};
    route.body = Body::json;
    route.operation = "cancel_attempt";
    route.summary = "Cancel the execution, as its lease holder";
    route.describe = describe_cancel_attempt;
    route.handler = [&service](Exchange& exchange) {
        wire::RequestIn in(exchange.request);
        CancelExecution op;
        op.source = "worker";
        in.lease(op.lease);
        in.required("reason", op.reason);
        if (const auto fault = in.fault()) {
            exchange.answer(wire::write_fault(*fault));
            return;
        }
        if (!op.lease.lease_id && !op.lease.lease_epoch && !op.lease.attempt_id) {
            exchange.answer(wire::write_error({ErrorCode::fence_required, {}, {}}));
            return;
        }
        call_engine(service, std::move(op), std::move(exchange.respond));
    };
    router.add(std::move(route));
}

// ------------------------------------------------------------------------------ complete-batch

/// One item of a batch, as the route of its single call would have read it.
template <class Op>
std::optional<wire::Answer> read_item(const json& item, const json& outcome, Op& op) {
    wire::Routed routed;
    routed.body = outcome;
    for (const std::string_view name :
         {"execution_id", "attempt_index", "fence", "handle", "source"}) {
        if (const json* member = item.find(name)) {
            routed.body.set(std::string(name), *member);
        }
    }
    wire::RequestIn in(routed, wire::RequestIn::Named::in_body);
    wire::describe_request(in, op);
    if (const auto fault = in.fault()) {
        return wire::write_fault(*fault);
    }
    return std::nullopt;
}

struct OutcomeBatch {
    std::vector<wire::Answer> answers;
    std::vector<std::size_t> places;
    std::vector<Request> requests;
};

template <class Op>
void add_item(OutcomeBatch& batch, std::size_t place, const json& item, const json& outcome) {
    Op op;
    if (auto refusal = read_item(item, outcome, op)) {
        batch.answers[place] = std::move(*refusal);
    } else {
        batch.places.push_back(place);
        batch.requests.emplace_back(std::in_place_type<Op>, std::move(op));
    }
}

OutcomeBatch read_outcomes(const js::Array& items) {
    OutcomeBatch batch;
    batch.answers.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].if_object() == nullptr) {
            batch.answers[i] =
                wire::write_fault({422, "invalid JSON: Unprocessable Entity: expected an object"});
        } else if (const json* failure = items[i].find("fail");
                   failure != nullptr && !failure->is_null()) {
            add_item<Fail>(batch, i, items[i],
                           failure->if_object() != nullptr ? *failure : json(js::Object{}));
        } else {
            add_item<Complete>(batch, i, items[i], items[i]);
        }
    }
    return batch;
}

wire::Answer outcome_answer(const Request& request, Response& response) {
    const bool completes = ff::holds_alternative<Complete>(request);
    if (!response) {
        return wire::write_error(response.error(), completes ? Complete::name : Fail::name);
    }
    return completes ? wire::write_answer<Complete>(ff::get<StateResult>(*response))
                     : wire::write_answer<Fail>(ff::get<FailResult>(*response));
}

void run_outcomes(Service& service, OutcomeBatch batch, Respond respond) {
    auto requests = batch.requests;
    service.engine().call_many(std::move(requests), [batch = std::move(batch),
                                                     respond = std::move(respond)](
                                                        std::vector<Response> responses) mutable {
        respond([batch = std::move(batch),
                 responses = std::move(responses)](Client) mutable -> wire::Answer {
            for (std::size_t i = 0; i < responses.size(); ++i) {
                batch.answers[batch.places[i]] = outcome_answer(batch.requests[i], responses[i]);
            }
            std::string out = "{\"results\":[";
            for (std::size_t i = 0; i < batch.answers.size(); ++i) {
                out += (i > 0 ? "," : "") + batch.answers[i].body;
            }
            return {200, out + "]}", "application/json", {}};
        });
    });
}

void add_complete_batch(Router& router, Service& service) {
    Route route{wire::Method::post, "/v1/attempts/complete-batch"};
    route.size = wire::BodyClass::large;
    route.body = Body::json;
    route.operation = "complete_batch";
    route.summary = "End many attempts, each with success or a failure";
    route.describe = describe_outcome_batch;
    route.handler = [&service](Exchange& exchange) {
        const json* list = exchange.request.body.find("items");
        const js::Array* items = list != nullptr ? list->if_array() : nullptr;
        if (items == nullptr || items->empty() || items->size() > wire::batch_outcomes_max) {
            exchange.answer(wire::write_fault(
                {422, "invalid JSON: Unprocessable Entity: items: expected an array of 1 to " +
                          std::to_string(wire::batch_outcomes_max) + " items"}));
            return;
        }
        run_outcomes(service, read_outcomes(*items), std::move(exchange.respond));
    };
    router.add(std::move(route));
}

}  // namespace

void add_attempt_routes(Router& router, Service& service) {
    add_operation<Renew>(router, service);
    add_operation<Progress>(router, service);
    add_operation<Complete>(router, service);
    add_operation<Fail>(router, service);
    add_cancel(router, service);
    add_operation<Delay>(router, service);
    add_operation<WaitChildren>(router, service);
    add_operation<Release>(router, service);
    add_complete_batch(router, service);
}

}  // namespace ff::http
