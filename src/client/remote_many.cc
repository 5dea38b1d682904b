// Many operations over HTTP: creates, outcomes and heartbeats have routes for many; releases go
// side by side, and whatever else is among them one by one. The order of the operations is kept.
#include <algorithm>
#include <atomic>

#include "client/remote_engine.h"
#include "wire/answers.h"
#include "wire/errors.h"
#include "wire/object.h"
#include "wire/request_out.h"

namespace ff::client {

namespace {

/// Bodies stay below the limit of the route.
constexpr std::size_t batch_bytes = wire::body_bytes_max(wire::BodyClass::large) - 4'096;
constexpr std::size_t renewals_max = 1'000;

bool is_outcome(const Request& request) {
    return ff::holds_alternative<Complete>(request) || ff::holds_alternative<Fail>(request);
}

class Sequence : public std::enable_shared_from_this<Sequence> {
  public:
    Sequence(RemoteEngine& engine, std::vector<Request> requests,
             std::move_only_function<void(std::vector<Response>)> done)
        : engine_(engine),
          requests_(std::move(requests)),
          responses_(requests_.size(), Response(Done{})),
          done_(std::move(done)) {}

    void next() {
        while (at_ < requests_.size()) {
            auto ready = engine_.checked(std::move(requests_[at_]));
            if (ready) {
                requests_[at_] = std::move(*ready);
                send();
                return;
            }
            responses_[at_++] = std::unexpected(std::move(ready).error());
        }
        done_(std::move(responses_));
    }

  private:
    /// The run of operations at `at_` that one request can carry.
    void send() {
        if (ff::holds_alternative<CreateExecution>(requests_[at_])) {
            send_creates();
        } else if (is_outcome(requests_[at_])) {
            send_outcomes();
        } else if (ff::holds_alternative<HeartbeatWorker>(requests_[at_])) {
            send_heartbeat();
        } else if (ff::holds_alternative<Release>(requests_[at_])) {
            send_releases();
        } else {
            send_one();
        }
    }

    void send_one() {
        engine_.call(std::move(requests_[at_]), [self = shared_from_this()](Response response) {
            self->responses_[self->at_++] = std::move(response);
            self->next();
        });
    }

    /// There is no route for many of them, and none depends on another: all at once.
    void send_releases() {
        end_ = at_;
        while (end_ < requests_.size() && ff::holds_alternative<Release>(requests_[end_])) {
            ++end_;
        }
        const auto left = std::make_shared<std::atomic<std::size_t>>(end_ - at_);
        const std::size_t end = end_;
        for (std::size_t i = at_; i < end; ++i) {
            engine_.call(std::move(requests_[i]),
                         [self = shared_from_this(), i, end, left](Response response) {
                             self->responses_[i] = std::move(response);
                             if (left->fetch_sub(1) == 1) {
                                 self->at_ = end;
                                 self->next();
                             }
                         });
        }
    }

    /// Adds items to `body` while the next operation is of the kind and there is room.
    template <class IsKind, class AddItem>
    void gather(std::string& body, std::size_t items_max, IsKind is_kind, AddItem add) {
        end_ = at_;
        while (end_ < requests_.size() && end_ - at_ < items_max && is_kind(requests_[end_])) {
            if (end_ > at_) {  // the first has been checked
                auto ready = engine_.checked(requests_[end_]);
                if (!ready) {
                    return;
                }
                requests_[end_] = std::move(*ready);
            }
            std::string item = add(requests_[end_]);
            if (end_ > at_ && body.size() + item.size() > batch_bytes) {
                return;
            }
            body += (end_ > at_ ? "," : "") + item;
            ++end_;
        }
    }

    void send_creates() {
        std::string body = "{\"executions\":[";
        gather(
            body, wire::batch_creates_max,
            [](const Request& r) { return ff::holds_alternative<CreateExecution>(r); },
            [](const Request& r) { return wire::write_request(r).body; });
        post("/v1/executions/batch", body + "]}", "results");
    }

    /// The single call's body with the execution and the attempt, which its path had.
    static std::string outcome_item(const Request& request) {
        const LeaseRef& lease = ff::visit(
            []<class Op>(const Op& op) -> const LeaseRef& {
                if constexpr (requires { op.lease; }) {
                    return op.lease;
                } else {
                    std::abort();  // only outcomes come here
                }
            },
            request);
        std::string item;
        wire::ObjectOut object(item);
        object.field("execution_id", lease.execution_id);
        if (lease.attempt_index) {
            object.field("attempt_index", *lease.attempt_index);
        } else {
            object.field("attempt_index", std::string_view("current"));
        }
        const std::string body = wire::write_request(request).body;
        if (ff::holds_alternative<Fail>(request)) {
            const auto parsed = js::parse(body);
            for (const std::string_view name : {"fence", "source"}) {
                if (const json* member = parsed->find(name)) {
                    object.field(name, *member);
                }
            }
            object.key("fail");
            item += body;
        } else if (body.size() > 2) {
            item += "," + body.substr(1, body.size() - 2);
        }
        object.close();
        return item;
    }

    void send_outcomes() {
        std::string body = "{\"items\":[";
        gather(body, wire::batch_outcomes_max, is_outcome, outcome_item);
        post("/v1/attempts/complete-batch", body + "]}", "results");
    }

    /// One request, whose answers are in the array `name`.
    void post(std::string_view path, std::string body, std::string_view name) {
        const bool repeat = std::all_of(requests_.begin() + static_cast<std::ptrdiff_t>(at_),
                                        requests_.begin() + static_cast<std::ptrdiff_t>(end_),
                                        [](const Request& request) { return may_repeat(request); });
        engine_.send_call({wire::Method::post, std::string(path), std::move(body)}, {}, repeat,
                          [self = shared_from_this(), name](auto received) {
                              self->heard(std::move(received), name);
                          });
    }

    void heard(expected<wire::Received> received, std::string_view name) {
        const js::Array* results = nullptr;
        Error error{ErrorCode::store_io, "the server's answer was not understood", {}};
        expected<json> body = json();
        if (!received) {
            error = received.error();
        } else if (received->status != 200) {
            error = wire::read_error(received->status, received->body, believed());
        } else {
            body = js::parse(received->body);
            const json* list = body ? body->find(name) : nullptr;
            results = list != nullptr ? list->if_array() : nullptr;
        }
        const bool whole = results != nullptr && results->size() == end_ - at_;
        for (std::size_t i = at_; i < end_; ++i) {
            responses_[i] = whole ? item_response(requests_[i], (*results)[i - at_])
                                  : Response(std::unexpected(error));
        }
        at_ = end_;
        next();
    }

    /// Outcomes end work, and creates do not.
    [[nodiscard]] wire::Believed believed() const {
        return is_outcome(requests_[at_]) ? wire::Believed::only_codes : wire::Believed::any_error;
    }

    static Response item_response(const Request& request, const json& result) {
        const bool refused = result.find("error") != nullptr;
        return wire::read_answer(request, {refused ? 400 : 200, js::dump(result), {}});
    }

    // A heartbeat takes the renewals behind it along.

    void send_heartbeat() {
        const auto& beat = ff::get<HeartbeatWorker>(requests_[at_]);
        std::string body;
        wire::ObjectOut object(body);
        object.field("worker_instance_id", beat.worker_instance_id);
        object.field("namespace", beat.ns);
        object.key("leases");
        body.push_back('[');
        for (end_ = at_ + 1; end_ < requests_.size() && end_ - at_ <= renewals_max; ++end_) {
            const auto* renew = ff::get_if<Renew>(&requests_[end_]);
            if (renew == nullptr || !renew->lease.attempt_index) {
                break;
            }
            auto ready = engine_.checked(requests_[end_]);
            if (!ready) {
                break;
            }
            requests_[end_] = std::move(*ready);
            renew = &ff::get<Renew>(requests_[end_]);
            const std::string inner = wire::write_request(requests_[end_]).body;
            body += end_ > at_ + 1 ? "," : "";
            wire::ObjectOut lease(body);
            lease.field("execution_id", renew->lease.execution_id);
            lease.field("attempt_index", *renew->lease.attempt_index);
            body += "," + inner.substr(1);
        }
        body.push_back(']');
        object.close();
        std::string path = "/v1/workers/";
        wire::append_encoded(path, beat.worker_instance_id);
        engine_.send_call({wire::Method::post, path + "/heartbeat", std::move(body)}, {}, true,
                          [self = shared_from_this()](auto received) {
                              self->heard_heartbeat(std::move(received));
                          });
    }

    void heard_heartbeat(expected<wire::Received> received) {
        if (!received) {
            fail_run(received.error());
            return;
        }
        responses_[at_] = wire::read_answer(requests_[at_], *received);
        const auto body = js::parse(received->body);
        const json* list = body ? body->find("leases") : nullptr;
        const js::Array* leases = list != nullptr ? list->if_array() : nullptr;
        for (std::size_t i = at_ + 1; i < end_; ++i) {
            const bool there = leases != nullptr && i - at_ - 1 < leases->size();
            responses_[i] =
                there ? renewal(ff::get<Renew>(requests_[i]), (*leases)[i - at_ - 1])
                      : Response(std::unexpected(wire::read_error(received->status, received->body,
                                                                  wire::Believed::only_codes)));
        }
        at_ = end_;
        next();
    }

    static Response renewal(const Renew& renew, const json& lease) {
        const json* expires = lease.find("expires_at");
        if (const auto at = expires != nullptr ? expires->as_int64() : std::nullopt) {
            return Reply(RenewResult{*at, renew.lease.lease_epoch.value_or(0)});
        }
        const json* code = lease.find("code");
        const std::string* word = code != nullptr ? code->if_string() : nullptr;
        const auto known = word != nullptr ? wire::parse_error_code(*word) : std::nullopt;
        Error error{known.value_or(ErrorCode::store_io), {}, {}};
        if (const json* outcome = lease.find("terminal_outcome");
            outcome != nullptr && outcome->if_string() != nullptr) {
            error.fields.emplace_back("terminal_outcome", *outcome->if_string());
        }
        return std::unexpected(std::move(error));
    }

    void fail_run(const Error& error) {
        for (; at_ < end_; ++at_) {
            responses_[at_] = std::unexpected(error);
        }
        next();
    }

    RemoteEngine& engine_;
    std::vector<Request> requests_;
    std::vector<Response> responses_;
    std::size_t at_ = 0;   ///< the first without an answer
    std::size_t end_ = 0;  ///< of the run that is under way
    std::move_only_function<void(std::vector<Response>)> done_;
};

}  // namespace

void send_many(RemoteEngine& engine, std::vector<Request> requests,
               std::move_only_function<void(std::vector<Response>)> done) {
    std::make_shared<Sequence>(engine, std::move(requests), std::move(done))->next();
}

}  // namespace ff::client
