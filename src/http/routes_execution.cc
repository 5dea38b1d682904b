// Executions: creating, reading, finding, and what operators do to them.
#include <algorithm>
#include <array>

#include <ff/policy.h>

#include "http/list_route.h"
#include "http/operation_route.h"
#include "http/routes.h"
#include "http/schemas.h"
#include "wire/object.h"

namespace ff::http {

namespace {

/// The engine's word for a policy that cannot be read; over HTTP it is a body of the wrong shape.
wire::Answer create_answer(const expected<CreateResult>& result) {
    if (result) {
        return wire::write_answer<CreateExecution>(*result);
    }
    const Error& error = result.error();
    if (error.code == ErrorCode::invalid_policy_json) {
        return wire::write_fault({422,
                                  "invalid JSON: Unprocessable Entity: policy: " + error.detail,
                                  error.code, "policy", error.detail});
    }
    return wire::write_error(error, CreateExecution::name);
}

void add_create(Router& router, Service& service) {
    Route route = route_of<CreateExecution>();
    route.handler = [&service](Exchange& exchange) {
        auto op = read_operation<CreateExecution>(exchange);
        if (!op) {
            return;
        }
        service.engine().async(
            std::move(*op), [respond = std::move(exchange.respond)](auto result) mutable {
                respond([result = std::move(result)](Client) { return create_answer(result); });
            });
    };
    router.add(std::move(route));
}

// ------------------------------------------------------------------------------------ in batches

std::string joined(const std::vector<wire::Answer>& answers) {
    std::string out = "{\"results\":[";
    for (std::size_t i = 0; i < answers.size(); ++i) {
        out += (i > 0 ? "," : "") + answers[i].body;
    }
    return out + "]}";
}

/// Items of a batch: those that can be read go to the engine together, the others have their
/// answer.
struct CreateBatch {
    std::vector<wire::Answer> answers;
    std::vector<std::size_t> places;  ///< of the requests among the answers
    std::vector<Request> requests;
};

CreateBatch read_creates(const js::Array& items) {
    CreateBatch batch;
    batch.answers.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        wire::Routed routed;
        routed.body = items[i];
        wire::RequestIn in(routed);
        CreateExecution op;
        wire::describe_request(in, op);
        if (const auto fault = in.fault()) {
            batch.answers[i] = wire::write_fault(*fault);
        } else {
            batch.places.push_back(i);
            batch.requests.emplace_back(std::in_place_type<CreateExecution>, std::move(op));
        }
    }
    return batch;
}

void run_creates(Service& service, CreateBatch batch, Respond respond) {
    auto requests = std::move(batch.requests);
    service.engine().call_many(
        std::move(requests), [batch = std::move(batch), respond = std::move(respond)](
                                 std::vector<Response> responses) mutable {
            respond([batch = std::move(batch),
                     responses = std::move(responses)](Client) mutable -> wire::Answer {
                for (std::size_t i = 0; i < responses.size(); ++i) {
                    wire::Answer& answer = batch.answers[batch.places[i]];
                    answer = responses[i] ? create_answer(ff::get<CreateResult>(*responses[i]))
                                          : create_answer(std::unexpected(responses[i].error()));
                }
                return {200, joined(batch.answers), "application/json", {}};
            });
        });
}

void add_create_batch(Router& router, Service& service) {
    Route route;
    route.method = wire::Method::post;
    route.path = "/v1/executions/batch";
    route.size = wire::BodyClass::large;
    route.body = Body::json;
    route.operation = "create_executions";
    route.summary = "Create many executions in one transaction";
    route.describe = describe_create_batch;
    route.handler = [&service](Exchange& exchange) {
        const json* list = exchange.request.body.find("executions");
        const js::Array* items = list != nullptr ? list->if_array() : nullptr;
        if (items == nullptr || items->empty() || items->size() > wire::batch_creates_max) {
            exchange.answer(wire::write_fault(
                {422, "invalid JSON: Unprocessable Entity: executions: expected an array of 1 to " +
                          std::to_string(wire::batch_creates_max) + " items"}));
            return;
        }
        run_creates(service, read_creates(*items), std::move(exchange.respond));
    };
    router.add(std::move(route));
}

// ------------------------------------------------------------------------------------------ lists

bool asks_for_filter(const wire::Routed& request) {
    constexpr std::array<std::string_view, 8> filters{
        "namespace", "lane", "state", "kind", "flow", "created_after", "created_before", "order"};
    return std::ranges::any_of(request.query, [&](const wire::QueryPair& pair) {
        return pair.first.starts_with("tag.") ||
               std::ranges::find(filters, pair.first) != filters.end();
    });
}

/// Reads a search. A filter that is not known would be no filter at all, and what is then found
/// may be cancelled by whoever asked.
std::optional<SearchExecutions> read_search(Exchange& exchange) {
    constexpr std::array<std::string_view, 10> known{
        "namespace",     "lane",           "state", "kind",   "flow",
        "created_after", "created_before", "order", "cursor", "limit"};
    for (const auto& [name, value] : exchange.request.query) {
        if (!name.starts_with("tag.") && std::ranges::find(known, name) == known.end()) {
            exchange.answer(
                wire::write_fault({400, "invalid query: " + name + ": no such filter"}));
            return std::nullopt;
        }
    }
    return read_operation<SearchExecutions>(exchange);
}

void add_search(Router& router, Service& service) {
    Route route = route_of<SearchExecutions>();
    route.handler = [&service](Exchange& exchange) {
        if (auto op = read_search(exchange)) {
            call_engine(service, std::move(*op), std::move(exchange.respond));
        }
    };
    router.add(std::move(route));
}

/// One path, two reads: a partition's ids, or a search when there is a filter instead.
void add_list(Router& router, Service& service) {
    Route route = route_of<ListExecutions>();
    route.describe = describe_list;
    route.handler = [&service](Exchange& exchange) {
        if (exchange.request.query_value("partition") == nullptr &&
            asks_for_filter(exchange.request)) {
            if (auto op = read_search(exchange)) {
                call_engine(service, std::move(*op), std::move(exchange.respond));
            }
        } else if (auto op = read_operation<ListExecutions>(exchange)) {
            call_engine(service, std::move(*op), std::move(exchange.respond));
        }
    };
    router.add(std::move(route));
}

/// A read whose result may be absent: then 404 with a text of its own.
template <class Op>
void add_optional_read(Router& router, Service& service, std::string_view absent) {
    Route route = route_of<Op>();
    route.handler = [&service, absent](Exchange& exchange) {
        auto op = read_operation<Op>(exchange);
        if (!op) {
            return;
        }
        std::string text = std::string(absent) + op->execution_id.to_string();
        service.engine().async(std::move(*op), [text = std::move(text),
                                                respond = std::move(exchange.respond)](
                                                   expected<typename Op::Result> result) mutable {
            if (result && !*result) {
                respond([text = std::move(text)](Client) { return wire::plain_error(404, text); });
            } else {
                respond_with<Op>(std::move(respond), std::move(result));
            }
        });
    };
    router.add(std::move(route));
}

// --------------------------------------------------------------------------------------- attempts

/// The attempts behind `cursor`, which is the index of one; they come by index.
wire::Answer attempt_page(std::vector<AttemptInfo> attempts,
                          const std::optional<std::uint32_t>& cursor, std::uint32_t limit) {
    if (cursor) {
        std::erase_if(attempts,
                      [&](const AttemptInfo& one) { return one.attempt_index <= *cursor; });
    }
    std::optional<std::string> next;
    if (attempts.size() > limit) {
        attempts.resize(limit);
        next = attempts.empty() ? std::nullopt
                                : std::optional(std::to_string(attempts.back().attempt_index));
    }
    return wire::write_attempts(attempts, next);
}

void add_attempts(Router& router, Service& service) {
    add_list<ListAttempts, std::uint32_t>(router, service, attempt_page);
}

// ------------------------------------------------------------------------------------------- tags

/// Reads the tags of an execution and answers with what `write` makes of them.
void answer_tags(Service& service, Exchange exchange,
                 std::function<wire::Answer(const Tags&)> write) {
    wire::RequestIn in(exchange.request);
    DescribeExecution op;
    wire::describe_request(in, op);
    if (const auto fault = in.fault()) {
        exchange.answer(wire::write_fault(*fault));
        return;
    }
    const std::string id = op.execution_id.to_string();
    service.engine().async(
        op, [id, write = std::move(write), respond = std::move(exchange.respond)](
                expected<std::optional<ExecutionSnapshot>> found) mutable {
            respond([id, write = std::move(write), found = std::move(found)](Client) {
                if (!found) {
                    return wire::write_error(found.error(), DescribeExecution::name);
                }
                return *found ? write((*found)->tags)
                              : wire::plain_error(404, "execution not found: " + id);
            });
        });
}

json only_id() { return wire::request_schema<DescribeExecution>(); }

void add_tag_reads(Router& router, Service& service) {
    Route all{wire::Method::get, "/v1/executions/{id}/tags"};
    all.operation = "get_execution_tags";
    all.summary = "Its tags";
    all.describe = only_id;
    all.handler = [&service](Exchange& exchange) {
        answer_tags(service, std::move(exchange), [](const Tags& tags) -> wire::Answer {
            std::string out = "{\"tags\":";
            wire::write(out, tags);
            return {200, out + "}", "application/json", {}};
        });
    };
    router.add(std::move(all));
    Route one = route_of<GetExecutionTag>();
    one.handler = [&service](Exchange& exchange) {
        std::string key(exchange.request.parameter("key"));
        answer_tags(service, std::move(exchange), [key](const Tags& tags) -> wire::Answer {
            const auto it = tags.find(key);
            if (it == tags.end()) {
                return wire::plain_error(404, "tag not found: " + key);
            }
            return wire::write_answer<GetExecutionTag>(it->second);
        });
    };
    router.add(std::move(one));
}

void add_set_tag(Router& router, Service& service) {
    Route route{wire::Method::put, "/v1/executions/{id}/tags/{key}"};
    route.body = Body::json;
    route.operation = "set_execution_tag";
    route.summary = "Set one tag";
    route.describe = describe_set_tag;
    route.handler = [&service](Exchange& exchange) {
        wire::RequestIn in(exchange.request);
        SetExecutionTags op;
        std::string value;
        in.id(op.execution_id);
        in.required("value", value);
        if (const auto fault = in.fault()) {
            exchange.answer(wire::write_fault(*fault));
            return;
        }
        op.tags.emplace(exchange.request.parameter("key"), std::move(value));
        call_engine(service, std::move(op), std::move(exchange.respond));
    };
    router.add(std::move(route));
}

// -------------------------------------------------------------------------------------- operators

/// `POST …/revoke-lease`: the older form, whose body is not looked at.
void add_revoke(Router& router, Service& service) {
    Route route{wire::Method::post, "/v1/executions/{id}/revoke-lease"};
    route.operation = "revoke_lease_of_execution";
    route.summary = "Revoke its lease";
    route.describe = only_id;
    route.handler = [&service](Exchange& exchange) {
        auto read = read_operation<DescribeExecution>(exchange);
        if (!read) {
            return;
        }
        service.audit(RevokeLease::name, about_id(read->execution_id));
        RevokeLease op;
        op.execution_id = read->execution_id;
        call_engine(service, std::move(op), std::move(exchange.respond));
    };
    router.add(std::move(route));
}

void add_replay(Router& router, Service& service) {
    Route route = route_of<ReplayExecution>();
    route.body = Body::none;
    route.describe = only_id;
    route.handler = [&service](Exchange& exchange) {
        if (auto op = read_operation<ReplayExecution>(exchange)) {
            service.audit(ReplayExecution::name, about_id(op->execution_id));
            call_engine(service, std::move(*op), std::move(exchange.respond));
        }
    };
    router.add(std::move(route));
}

const ClaimedTask* task_of(const ClaimedTask& task) { return &task; }
const ClaimedTask* task_of(const ReclaimResult& result) {
    return result.task ? &*result.task : nullptr;
}

/// Calls the engine with an operation that turns a grant into a lease, and tells how long it took
/// since `began` when it did.
template <class Op>
void claim_with(Service& service, Op op, std::chrono::steady_clock::time_point began,
                std::move_only_function<void(expected<typename Op::Result>)> done) {
    service.engine().async(
        std::move(op), [&service, began, done = std::move(done)](auto result) mutable {
            const ClaimedTask* task = result ? task_of(*result) : nullptr;
            if (task != nullptr && service.options().claimed_from_grant) {
                service.options().claimed_from_grant(task->handle.lane_id,
                                                     std::chrono::steady_clock::now() - began);
            }
            done(std::move(result));
        });
}

/// A grant is turned into whatever lease it was made for, unless the body says which it must be.
void add_claim(Router& router, Service& service) {
    Route route = route_of<ClaimExecution>();
    route.handler = [&service](Exchange& exchange) {
        const auto began = std::chrono::steady_clock::now();
        const json* kind = exchange.request.body.find("kind");
        const std::string* word = kind != nullptr ? kind->if_string() : nullptr;
        auto resumed = read_operation<ClaimResumedExecution>(exchange);
        if (!resumed) {
            return;
        }
        if (word != nullptr && *word == "resume") {
            claim_with(service, std::move(*resumed), began,
                       [respond = std::move(exchange.respond)](auto task) mutable {
                           respond_with<ClaimResumedExecution>(std::move(respond), std::move(task));
                       });
            return;
        }
        const bool exact = word != nullptr && *word == "claim";
        auto fresh = read_operation<ClaimExecution>(exchange);
        if (!fresh) {
            return;
        }
        claim_with(
            service, std::move(*fresh), began,
            [&service, exact, began, resumed = std::move(*resumed),
             respond = std::move(exchange.respond)](expected<ClaimedTask> task) mutable {
                if (exact || task || task.error().code != ErrorCode::use_claim_resumed_execution) {
                    respond_with<ClaimExecution>(std::move(respond), std::move(task));
                    return;
                }
                claim_with(service, std::move(resumed), began,
                           [respond = std::move(respond)](auto again) mutable {
                               respond_with<ClaimResumedExecution>(std::move(respond),
                                                                   std::move(again));
                           });
            });
    };
    router.add(std::move(route));
}

void add_reclaim(Router& router, Service& service) {
    Route route = route_of<ReclaimExecution>();
    route.handler = [&service](Exchange& exchange) {
        const auto began = std::chrono::steady_clock::now();
        if (auto op = read_operation<ReclaimExecution>(exchange)) {
            claim_with(service, std::move(*op), began,
                       [respond = std::move(exchange.respond)](auto result) mutable {
                           respond_with<ReclaimExecution>(std::move(respond), std::move(result));
                       });
        }
    };
    router.add(std::move(route));
}

}  // namespace

void add_execution_routes(Router& router, Service& service) {
    add_create(router, service);
    add_create_batch(router, service);
    add_list(router, service);
    add_search(router, service);
    add_operation<ReadExecutionInfo>(router, service);
    add_operation<ReadExecutionState>(router, service);
    add_optional_read<GetExecutionResult>(router, service, "execution result not found: ");
    add_optional_read<DescribeExecution>(router, service, "execution not found: ");
    add_optional_read<GetExecutionNamespace>(router, service, "execution not found: ");
    add_operation<ReadExecutionContext>(router, service);
    add_operation<ReadAttemptCounters>(router, service);
    add_attempts(router, service);
    add_operation<ExplainExecution>(router, service);
    add_operation<ReadLeaseHistory>(router, service);
    add_tag_reads(router, service);
    add_operation<SetExecutionTags>(router, service);
    add_set_tag(router, service);
    add_operation<RemoveExecutionTag>(router, service);
    add_audited<CancelExecution>(router, service, [](const CancelExecution& op) {
        return about_id(op.lease.execution_id) + " source=" + op.source;
    });
    add_audited<ChangePriority>(router, service, [](const ChangePriority& op) {
        return about_id(op.execution_id) + " priority=" + std::to_string(op.new_priority);
    });
    add_replay(router, service);
    add_revoke(router, service);
    add_audited<RevokeLease>(router, service,
                             [](const RevokeLease& op) { return about_id(op.execution_id); });
    add_operation<IssueReclaimGrant>(router, service);
    add_operation<IssueClaimGrant>(router, service);
    add_claim(router, service);
    add_reclaim(router, service);
    add_operation<IssueGrantAndClaim>(router, service);
    add_operation<MarkLeaseExpiredIfDue>(router, service);
    add_operation<BlockExecution>(router, service);
    add_operation<UnblockExecution>(router, service);
}

}  // namespace ff::http
