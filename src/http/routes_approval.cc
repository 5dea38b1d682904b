// Approval links: made by operators, opened and answered by people who have nothing else.
//
// Looking at a link changes nothing, so that whoever follows links ahead of people does no harm.
#include <algorithm>

#include "http/approval_link.h"
#include "http/approval_page.h"
#include "http/operation_route.h"
#include "http/routes.h"
#include "http/secret_paths.h"
#include "wire/url.h"

namespace ff::http {

namespace {

constexpr std::string_view approve_prefix = "/v1/approve/";
constexpr DurationMs link_ms_max = 90 * 86'400'000LL;
constexpr std::size_t choices_max = 8;
constexpr std::size_t choice_bytes_max = 256;  ///< leaves room in the key that makes it count once
constexpr std::size_t text_bytes_max = 1'024;

using LinkKey = std::shared_ptr<const std::string>;

// --------------------------------------------------------------------------------------- making

std::optional<wire::RequestFault> fault_of(const ApprovalLink& link) {
    const auto refused = [](std::string_view why) {
        return wire::RequestFault{400, "invalid_input: " + std::string(why)};
    };
    if (link.actor.empty() || link.actor.size() > text_bytes_max) {
        return refused("actor: 1 to 1024 bytes");
    }
    if (link.choices.empty() || link.choices.size() > choices_max) {
        return refused("choices: 1 to 8 of them");
    }
    for (const std::string& choice : link.choices) {
        if (choice.empty() || choice.size() > choice_bytes_max) {
            return refused("choices: each 1 to 256 bytes");
        }
    }
    return std::nullopt;
}

void make_link(Service& service, const LinkKey& key, Exchange exchange) {
    wire::RequestIn in(exchange.request);
    ApprovalLink link;
    DurationMs expires_in_ms = 0;
    link.choices = {"approved", "rejected"};
    in.id(link.execution_id);
    in.path_id("waitpoint_id", link.waitpoint_id);
    in.required("actor", link.actor);
    in.required_ranged("expires_in_ms", expires_in_ms, 1, link_ms_max);
    in.or_null("choices", link.choices);
    in.optional_text("note", link.note, text_bytes_max);
    auto fault = in.fault();
    if (!fault) {
        fault = fault_of(link);
    }
    if (fault) {
        exchange.answer(wire::write_fault(*fault));
        return;
    }
    link.link_id = SignalId{new_uuid()};
    link.expires_at = service.now() + expires_in_ms;
    const ReadWaitpointToken read{link.execution_id, link.waitpoint_id};
    service.engine().async(read, [&service, key, link = std::move(link),
                                  respond = std::move(exchange.respond)](
                                     expected<std::optional<std::string>> token) mutable {
        if (token && *token) {
            service.audit("make_approval_link",
                          "execution_id=" + link.execution_id.to_string() +
                              " waitpoint_id=" + link.waitpoint_id.to_string() +
                              " actor=" + link.actor + " link=" + link.link_id.to_string());
        }
        respond([key, link = std::move(link), token = std::move(token)](Client) -> wire::Answer {
            if (!token) {
                return wire::write_error(token.error(), ReadWaitpointToken::name);
            }
            if (!*token) {
                return wire::write_error({ErrorCode::waitpoint_not_found, {}, {}});
            }
            const json body{{"url_path", std::string(approve_prefix) + link_text(link, *key)},
                            {"expires_at", link.expires_at}};
            return {200, js::dump(body), "application/json", {{"Cache-Control", "no-store"}}};
        });
    });
}

json describe_making() {
    json operation = wire::request_schema<ReadWaitpointToken>();
    const json text{{"type", "string"}};
    json properties{{"actor", text},
                    {"expires_in_ms", wire::schemas::integer(1, link_ms_max)},
                    {"choices", json{{"type", "array"},
                                     {"items", text},
                                     {"minItems", 1},
                                     {"maxItems", static_cast<std::int64_t>(choices_max)}}},
                    {"note", text}};
    operation.set("requestBody",
                  wire::json_body(json{{"type", "object"},
                                       {"required", js::Array{"actor", "expires_in_ms"}},
                                       {"properties", std::move(properties)}}));
    return operation;
}

// ---------------------------------------------------------------------------------------- pages

/// Forged or incomplete: all the same to who cannot prove anything.
wire::Answer invalid_page() {
    return message_page(404, "This link is not valid",
                        "It is incomplete or was changed. Ask for a new one.");
}

/// What people see of a refusal.
wire::Answer guessed_page(const wire::Answer& refusal) {
    wire::Answer page = message_page(refusal.status, "Not now",
                                     "Too many links that were not valid came from your network. "
                                     "Try again in a minute.");
    page.headers.insert(page.headers.end(), refusal.headers.begin(), refusal.headers.end());
    return page;
}

wire::Answer used_page() {
    return message_page(410, "This link has been used",
                        "The answer that was given with it stands. Nothing has been changed.");
}

wire::Answer over_page() {
    return message_page(410, "Too late",
                        "What this link was for is over. Nothing has been changed.");
}

wire::Answer expired_page() {
    return message_page(410, "This link has expired", "Ask for a new one.");
}

wire::Answer broken_page(const Error& error) {
    const int status = info(error.code).http_status >= 500 ? 503 : 409;
    return message_page(status, "That did not work", "Nothing has been changed. Try again later.");
}

// ---------------------------------------------------------------------------------------- using

/// One visit to a link, from its text to a page. Lives until it is answered.
class Visit : public std::enable_shared_from_this<Visit> {
  public:
    Visit(Service& service, LinkKey key, Exchange exchange)
        : service_(service),
          key_(std::move(key)),
          exchange_(std::move(exchange)),
          text_(exchange_.request.parameter("link")) {}

    void look() {
        when_proved([](Visit& self) { self.show(); });
    }
    void choose() {
        when_proved([](Visit& self) { self.check_choice(); });
    }

  private:
    using Next = void (*)(Visit&);

    void answer(wire::Answer page) { exchange_.answer(std::move(page)); }
    /// Only who fails is told to wait: a link that is right is heard whatever others have tried.
    void refuse() {
        if (const auto refusal = refuse_guessing(service_, exchange_.peer)) {
            answer(guessed_page(*refusal));
            return;
        }
        service_.failed_attempts().add(exchange_.peer, {});
        answer(invalid_page());
    }
    /// Goes on with what the engine says; faults of the engine end the visit.
    template <class Op, class Then>
    void ask(Op op, Then then) {
        service_.engine().async(std::move(op), [self = shared_from_this(), then](
                                                   expected<typename Op::Result> result) mutable {
            if (!result) {
                self->answer(broken_page(result.error()));
            } else {
                then(*self, std::move(*result));
            }
        });
    }

    void when_proved(Next next) {
        next_ = next;
        auto presented = parse_link(text_);
        if (!presented || !presented->is_signed_with(*key_)) {
            refuse();
            return;
        }
        presented_ = std::move(*presented);
        ask(FindWaitpoint{link().waitpoint_id}, [](Visit& self,
                                                   const std::optional<WaitpointInfo>& found) {
            self.open_ =
                found && found->execution_id == self.link().execution_id &&
                (found->state == WaitpointState::active || found->state == WaitpointState::pending);
            self.look_for_use();
        });
    }

    /// The signal of a link has the link's id.
    void look_for_use() {
        ListSignals op;
        op.execution_id = link().execution_id;
        op.signal_id = link().link_id;
        service_.engine().async(
            std::move(op), [self = shared_from_this()](expected<SignalPage> page) {
                if (!page && page.error().code != ErrorCode::execution_not_found) {
                    self->answer(broken_page(page.error()));
                    return;
                }
                const bool used = page && !page->signals.empty() &&
                                  page->signals[0].waitpoint_id == self->link().waitpoint_id;
                if (used) {
                    self->answer(used_page());
                } else if (!self->open_) {
                    self->answer(over_page());
                } else if (self->link().expires_at <= self->service_.now()) {
                    self->answer(expired_page());
                } else {
                    self->next_(*self);
                }
            });
    }

    void show() {
        std::vector<Request> reads;
        const ExecutionId& id = link().execution_id;
        reads.emplace_back(std::in_place_type<ReadExecutionInfo>, id);
        reads.emplace_back(std::in_place_type<ReadExecutionContext>, id);
        reads.emplace_back(std::in_place_type<ListSuspensions>, id, 1U);
        service_.engine().call_many(
            std::move(reads), [self = shared_from_this()](std::vector<Response> found) {
                // Pages are made where answers are: the engine's thread has others to serve.
                self->exchange_.respond(
                    [self, found = std::move(found)](Client) { return self->page_of(found); });
            });
    }

    [[nodiscard]] wire::Answer page_of(const std::vector<Response>& found) const {
        for (const Response& one : found) {
            if (!one) {
                return broken_page(one.error());
            }
        }
        const auto& info = ff::get<ExecutionInfo>(*found[0]);
        const auto& context = ff::get<ExecutionContext>(*found[1]);
        const auto& suspensions = ff::get<std::vector<SuspensionInfo>>(*found[2]);
        ApprovalSubject subject;
        subject.kind = info.execution_kind;
        subject.ns = info.ns;
        subject.lane = info.lane_id;
        subject.tags = context.tags;
        subject.payload = context.input_payload;
        if (!suspensions.empty() && !suspensions.back().closed_at) {
            const SuspensionInfo& waits = suspensions.back();
            subject.reason = waits.reason_code;
            subject.since = waits.created_at;
            subject.until = waits.timeout_at;
        }
        return approval_page(link(), subject);
    }

    void check_choice() {
        const auto form = wire::query_of(exchange_.raw_body);
        if (form) {
            for (const auto& [name, value] : *form) {
                choice_ = name == "choice" ? value : choice_;
            }
        }
        if (std::ranges::find(link().choices, choice_) == link().choices.end()) {
            answer(message_page(400, "That is none of the answers",
                                "Go back and choose one of those on the page."));
            return;
        }
        ask(ReadExecutionInfo{link().execution_id},
            [](Visit& self, const ExecutionInfo& info) { self.deliver(info.lane_id); });
    }

    void deliver(const std::string& lane) {
        DeliverApprovalSignal op;
        op.execution_id = link().execution_id;
        op.lane_id = lane;
        op.waitpoint_id = link().waitpoint_id;
        op.signal_name = choice_;
        op.idempotency_suffix = "link:" + link().link_id.to_string();
        op.signal_id = link().link_id;
        op.actor = link().actor;
        op.note = link().note;
        service_.engine().async(
            std::move(op), [self = shared_from_this()](expected<SignalResult> result) {
                self->service_.audit(
                    "approve_by_link",
                    "execution_id=" + self->link().execution_id.to_string() +
                        " waitpoint_id=" + self->link().waitpoint_id.to_string() +
                        " choice=" + self->choice_ + " actor=" + self->link().actor +
                        (result ? "" : " refused=" + std::string(to_string(result.error().code))));
                self->answer(self->outcome_page(result));
            });
    }

    [[nodiscard]] wire::Answer thanks_page() const {
        return message_page(200, "Thank you", "Your answer has been recorded: " + choice_ + ".");
    }
    /// What waits does so for other answers than the link offers.
    [[nodiscard]] wire::Answer unasked_page() const {
        return message_page(200, "Recorded, but nothing has changed",
                            "Nobody waits for the answer " + choice_ +
                                ". Tell whoever sent you this link that it offers answers that"
                                " are not asked for.");
    }

    [[nodiscard]] wire::Answer page_of(SignalEffect effect) const {
        switch (effect) {
            case SignalEffect::no_op:
            case SignalEffect::signal_ignored_matcher_failed:
            case SignalEffect::signal_ignored_not_in_condition: return unasked_page();
            case SignalEffect::resume_condition_satisfied:
            case SignalEffect::appended_to_waitpoint:
            case SignalEffect::appended_to_waitpoint_duplicate:
            case SignalEffect::buffered_for_pending_waitpoint: break;
        }
        return thanks_page();
    }

    wire::Answer outcome_page(const expected<SignalResult>& result) {
        if (result) {
            return result->duplicate ? used_page() : page_of(result->effect);
        }
        switch (result.error().code) {
            case ErrorCode::waitpoint_closed:
            case ErrorCode::target_not_signalable:
            case ErrorCode::pending_waitpoint_expired:
            case ErrorCode::waitpoint_not_found:
            case ErrorCode::execution_not_found: return over_page();
            default: return broken_page(result.error());
        }
    }

    [[nodiscard]] const ApprovalLink& link() const { return presented_.link; }

    Service& service_;
    const LinkKey key_;
    Exchange exchange_;
    const std::string text_;  ///< the text of the link
    PresentedLink presented_;
    Next next_ = nullptr;
    bool open_ = false;  ///< the waitpoint is
    std::string choice_;
};

json describe_visit() {
    return json{{"parameters", js::Array{json{{"name", "link"},
                                              {"in", "path"},
                                              {"required", true},
                                              {"schema", json{{"type", "string"}}}}}}};
}

json describe_choice() {
    json operation = describe_visit();
    const json form{{"type", "object"},
                    {"required", js::Array{"choice"}},
                    {"properties", json{{"choice", json{{"type", "string"}}}}}};
    operation.set(
        "requestBody",
        json{{"required", true},
             {"content", json{{"application/x-www-form-urlencoded", json{{"schema", form}}}}}});
    return operation;
}

}  // namespace

void add_approval_routes(Router& router, Service& service) {
    const auto key = std::make_shared<const std::string>(link_key(service.options().gate));
    Route make{wire::Method::post, "/v1/executions/{id}/waitpoints/{waitpoint_id}/approval-links"};
    make.body = Body::json;
    make.access = Access::credential;
    make.operation = "make_approval_link";
    make.summary = "A link with which one person can answer once";
    make.describe = describe_making;
    make.handler = [&service, key](Exchange& exchange) {
        make_link(service, key, std::move(exchange));
    };
    router.add(std::move(make));

    Route look{wire::Method::get, std::string(approve_prefix) + "{link}"};
    look.access = Access::open;
    look.operation = "show_approval";
    look.summary = "A page that asks for an answer";
    look.describe = describe_visit;
    look.handler = [&service, key](Exchange& exchange) {
        std::make_shared<Visit>(service, key, std::move(exchange))->look();
    };
    router.add(std::move(look));

    Route choose{wire::Method::post, std::string(approve_prefix) + "{link}"};
    choose.body = Body::as_it_is;
    choose.access = Access::open;
    choose.operation = "answer_approval";
    choose.summary = "Give the answer";
    choose.describe = describe_choice;
    choose.handler = [&service, key](Exchange& exchange) {
        std::make_shared<Visit>(service, key, std::move(exchange))->choose();
    };
    router.add(std::move(choose));
}

}  // namespace ff::http
