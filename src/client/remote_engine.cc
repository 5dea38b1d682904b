#include "client/remote_engine.h"

#include <algorithm>
#include <charconv>
#include <thread>
#include <type_traits>
#include <utility>

#include "client/remote_ids.h"
#include "core/condition_rules.h"
#include "core/decide.h"
#include "wire/answers.h"
#include "wire/errors.h"
#include "wire/request_out.h"

namespace ff::client {

namespace {

template <class Op>
constexpr bool is_checked = requires(Op& op) { core::validate(op); };

/// Graphs are checked as a whole.
template <class Op>
constexpr bool is_graph = std::is_same_v<Op, SubmitFlow> || std::is_same_v<Op, SpawnChildren>;

bool is_for_this_process(const Request& request) {
    return ff::by_type([]<class Op>(std::type_identity<Op>) { return wire::is_local<Op>; },
                       request);
}

/// The server gives a rotation 120 seconds, and its own answer says more than silence.
constexpr std::chrono::milliseconds rotation_time{130'000};

/// Requests that may take long, apart from claims: reads that wait at the server above all.
Patience patience_of(const Request& request) {
    if (const auto* tail = ff::get_if<TailStream>(&request)) {
        return {tail->block_ms, tail->abandoned};
    }
    if (const auto* events = ff::get_if<ReadEvents>(&request)) {
        return {events->block_ms, events->abandoned};
    }
    if (ff::holds_alternative<RotateWaitpointKey>(request)) {
        return {.at_least = rotation_time};
    }
    return {};
}

/// Who has given up already may have what is there.
void look_only(Request& request) {
    if (auto* tail = ff::get_if<TailStream>(&request)) {
        tail->block_ms = 0;
        tail->abandoned = {};
    } else if (auto* events = ff::get_if<ReadEvents>(&request)) {
        events->block_ms = 0;
        events->abandoned = {};
    }
}

constexpr std::string_view sent_field = "sent";

bool may_have_arrived(const Error& error) { return error.field(sent_field) == "maybe"; }

/// Of several tries one may have arrived, whatever the last one says of itself.
void note_arrival(Error& error) {
    for (auto& [name, value] : error.fields) {
        if (name == sent_field) {
            value = "maybe";
            return;
        }
    }
    error.fields.emplace_back(sent_field, "maybe");
}

/// A read that waits and is given up has found nothing, here as in an engine of this process.
Response given_up(const Request& request, Error error) {
    if (patience_of(request).abandoned.stop_requested()) {
        if (ff::holds_alternative<TailStream>(request)) {
            return Reply(StreamPage{});
        }
        EventPage page;
        page.next_cursor = ff::get<ReadEvents>(request).cursor;
        return Reply(std::move(page));
    }
    // What may have been created can be looked for: its id was made here, if the caller had none.
    if (const auto* create = ff::get_if<CreateExecution>(&request);
        create != nullptr && may_have_arrived(error)) {
        error.fields.emplace_back("execution_id", create->execution_id->to_string());
    }
    return std::unexpected(std::move(error));
}

/// Faults of the connection, and answers that ask to come again.
bool is_passing(const expected<wire::Received>& received) {
    if (!received) {
        const ErrorCode code = received.error().code;
        return code == ErrorCode::store_io || code == ErrorCode::timeout;
    }
    switch (received->status) {
        case 429:
        case 502:
        case 504: return true;
        case 503: {
            const ErrorCode code = wire::read_error(503, received->body).code;
            return code != ErrorCode::shutting_down &&
                   code != ErrorCode::hmac_secret_not_initialized &&
                   code != ErrorCode::invalid_secret;
        }
        default: return received->status >= 500 && wire::says_retryable(received->body);
    }
}

}  // namespace

// ----------------------------------------------------------------------------------------- address

namespace {

/// An address as it may be said: what stands before an @ is a secret.
std::string shown(std::string_view url) {
    const std::size_t at = url.rfind('@');
    if (at == std::string_view::npos) {
        return std::string(url);
    }
    const std::size_t scheme = url.find("://");
    const std::size_t begin = scheme != std::string_view::npos && scheme < at ? scheme + 3 : 0;
    return std::string(url.substr(0, begin)) + "…" + std::string(url.substr(at));
}

}  // namespace

expected<ServerAddress> ServerAddress::parse(std::string_view url) {
    ServerAddress at;
    const auto wrong = [&](std::string_view what) {
        return ff::fail(ErrorCode::invalid_config,
                        "the address of a server is http://host:port, not " + shown(url) + ": " +
                            std::string(what));
    };
    std::string_view rest = url;
    if (rest.starts_with("https://")) {
        at.tls = true;
        rest.remove_prefix(8);
    } else if (rest.starts_with("http://")) {
        rest.remove_prefix(7);
    } else {
        return wrong("it does not begin with http:// or https://");
    }
    while (rest.ends_with('/')) {
        rest.remove_suffix(1);
    }
    if (rest.find_first_of("/?#@ ") != std::string_view::npos) {
        return wrong("it has more than a host and a port");
    }
    at.port = at.tls ? 443 : 80;
    const std::size_t bracket = rest.find(']');
    const std::size_t colon = rest.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos) {
        const std::string_view digits = rest.substr(colon + 1);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), at.port);
        if (error != std::errc() || end != digits.data() + digits.size() || at.port == 0) {
            return wrong("the port is no number between 1 and 65535");
        }
    }
    std::string_view host = rest.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    if (host.empty()) {
        return wrong("the host is missing");
    }
    at.host = host;
    return at;
}

// --------------------------------------------------------------------------------------- the
// engine

RemoteEngine::RemoteEngine(std::unique_ptr<HttpClient> http, RemoteOptions options)
    : http_(std::move(http)), options_(std::move(options)) {}

RemoteEngine::~RemoteEngine() { http_->stop(); }

expected<std::shared_ptr<Engine>> RemoteEngine::connect(const std::string& url,
                                                        const RemoteOptions& options) {
    FF_TRY(const ServerAddress at, ServerAddress::parse(url));
    HttpClientOptions how;
    how.host = at.host;
    how.port = at.port;
    how.tls = at.tls;
    how.ca_file = options.ca_file;
    how.bearer_token = options.bearer_token;
    how.connect_timeout = options.connect_timeout;
    FF_TRY(auto http, HttpClient::make(std::move(how)));
    auto engine = std::make_unique<RemoteEngine>(std::move(http), options);
    FF_TRY(const Capabilities server, engine->run(ReadCapabilities{}));
    engine->settings_.partitions = server.partitions;
    engine->settings_.backend =
        server.family == "postgres" ? BackendTag::postgres : BackendTag::sqlite;
    // The last user may be a callback on the client's own thread, which cannot wait for itself.
    return std::shared_ptr<Engine>(engine.release(), [](Engine* gone) {
        auto* remote = static_cast<RemoteEngine*>(gone);
        if (remote->http().on_own_thread()) {
            std::thread([remote] { delete remote; }).detach();
        } else {
            delete remote;
        }
    });
}

expected<Request> RemoteEngine::checked(Request request) {
    FF_TRY_VOID(ff::visit(
        [this]<class T>(T& op) -> expected<void> {
            if constexpr (std::is_same_v<T, CreateExecution>) {
                thread_local SystemIdSource ids;
                SystemClock clock;
                FF_TRY(core::PreparedCreate prepared,
                       core::prepare(std::move(op), settings_, ids, clock.now()));
                prepared.args.execution_id = prepared.id;
                op = std::move(prepared.args);
            } else if constexpr (is_graph<T>) {
                thread_local SystemIdSource ids;
                SystemClock clock;
                FF_TRY_VOID(core::prepare(T(op), settings_, ids, clock.now()));
            } else if constexpr (is_checked<T>) {
                if constexpr (std::is_same_v<T, Suspend>) {
                    if (!op.suspension_id) {
                        op.suspension_id = SuspensionId{new_uuid()};
                    }
                    core::complete_bindings(op, [] { return WaitpointId{new_uuid()}; });
                }
                FF_TRY_VOID(core::validate(op));
            }
            return {};
        },
        request));
    return request;
}

void RemoteEngine::call(Request request, DoneFn done) {
    const MintedIds minted = mint_ids(request);
    if (minted.any()) {
        done = [minted, done = std::move(done)](Response response) mutable {
            done(settle(minted, std::move(response)));
        };
    }
    if (patience_of(request).abandoned.stop_requested()) {
        look_only(request);
    }
    auto ready = checked(std::move(request));
    if (!ready) {
        done(std::unexpected(std::move(ready).error()));
    } else if (is_for_this_process(*ready)) {
        done(ff::fail(ErrorCode::invalid_input, "webhooks are delivered by the server itself"));
    } else if (auto* claim = ff::get_if<Claim>(&*ready)) {
        send_claim(*this, std::move(*claim), std::move(done));
    } else if (is_paged(*ready)) {
        send_pages(*this, std::move(*ready), std::move(done));
    } else {
        send(std::make_shared<const Request>(std::move(*ready)), std::move(done));
    }
}

void RemoteEngine::call_many(std::vector<Request> requests,
                             std::move_only_function<void(std::vector<Response>)> done) {
    send_many(*this, std::move(requests), std::move(done));
}

void RemoteEngine::send(std::shared_ptr<const Request> request, DoneFn done) {
    wire::Call call;
    if (const auto* info = ff::get_if<ReadExecutionInfo>(request.get())) {
        // The description has all of it; the older form of this read leaves some out.
        call = wire::write_request(Request(DescribeExecution{info->execution_id}));
    } else {
        call = wire::write_request(*request);
    }
    const bool repeat = may_repeat(*request);
    const Patience patience = patience_of(*request);
    send_call(std::move(call), patience, repeat,
              [request = std::move(request),
               done = std::move(done)](expected<wire::Received> received) mutable {
                  if (!received) {
                      done(given_up(*request, std::move(received).error()));
                  } else {
                      done(told_by_server(wire::read_answer(*request, *received)));
                  }
              });
}

void RemoteEngine::send_call(wire::Call call, const Patience& patience, bool may_repeat,
                             HttpClient::Done done) {
    try_call(std::move(call), patience, {may_repeat}, std::move(done));
}

void RemoteEngine::try_call(wire::Call call, const Patience& patience, Try which,
                            HttpClient::Done done) {
    wire::Call copy = which.may_repeat && which.number < options_.tries ? call : wire::Call{};
    const bool waits = patience.wait_ms > 0;
    const std::chrono::milliseconds added(waits ? patience.wait_ms + 5'000 : 0);
    http_->send(
        std::move(call), waits ? Answers::when_it_likes : Answers::promptly,
        std::max(options_.request_timeout + added, patience.at_least), patience.abandoned,
        [this, copy = std::move(copy), patience, which,
         done = std::move(done)](expected<wire::Received> received) mutable {
            which.arrived = which.arrived || (!received && may_have_arrived(received.error()));
            if (!which.may_repeat || which.number >= options_.tries || !is_passing(received) ||
                patience.abandoned.stop_requested()) {
                if (!received && which.arrived) {
                    note_arrival(received.error());
                }
                done(std::move(received));
                return;
            }
            http_->later(pause_before(which.number), [this, copy = std::move(copy), patience, which,
                                                      done = std::move(done)]() mutable {
                ++which.number;
                try_call(std::move(copy), patience, which, std::move(done));
            });
        });
}

std::chrono::milliseconds RemoteEngine::pause_before(int tried) {
    thread_local std::minstd_rand random{std::random_device{}()};
    double pause = static_cast<double>(options_.retry_base.count());
    for (int i = 1; i < tried; ++i) {
        pause *= options_.retry_factor;
    }
    std::uniform_real_distribution<double> spread(1 - options_.jitter, 1 + options_.jitter);
    return std::chrono::milliseconds(static_cast<std::int64_t>(pause * spread(random)));
}

EngineStats RemoteEngine::stats() const {
    EngineStats stats;
    stats.commands = http_->sent();
    return stats;
}

Response told_by_server(Response response) {
    if (!response && response.error().code == ErrorCode::shutting_down) {
        response.error().fields.emplace_back("who", "server");
    }
    return response;
}

void RemoteEngine::stop() { http_->stop(); }

bool may_repeat(const Request& request) {
    // NOLINTBEGIN(bugprone-branch-clone): each has a reason of its own
    return ff::visit(
        []<class Op>(const Op& op) {
            if constexpr (std::is_same_v<Op, CreateWaitpoint>) {
                return false;  // each makes another
            } else if constexpr (std::is_same_v<Op, Suspend>) {
                return !op.idempotency_key.empty();  // else the second finds its lease gone
            } else if constexpr (std::is_same_v<Op, ReportUsage> ||
                                 std::is_same_v<Op, ReportUsageAdmin>) {
                return !op.dedup_key.empty();  // else it may count twice
            } else if constexpr (std::is_same_v<Op, RecordSpend>) {
                return !op.idempotency_key.empty();
            } else if constexpr (std::is_same_v<Op, AppendFrames>) {
                // A frame without a number would be written once more.
                return op.lease.lease_id.has_value() &&
                       std::ranges::all_of(op.frames, [](const Frame& frame) {
                           return frame.client_seq.has_value();
                       });
            } else if constexpr (requires { op.lease; }) {
                return op.lease.lease_id.has_value();  // fenced: replay-safe
            } else if constexpr (std::is_same_v<Op, Claim> || std::is_same_v<Op, ClaimForWorker> ||
                                 std::is_same_v<Op, IssueClaimGrant> ||
                                 std::is_same_v<Op, IssueGrantAndClaim> ||
                                 std::is_same_v<Op, IssueReclaimGrant> ||
                                 std::is_same_v<Op, ReclaimExecution> ||
                                 std::is_same_v<Op, ReplayExecution> ||
                                 std::is_same_v<Op, ResetBudget> || std::is_same_v<Op, RetryFlow> ||
                                 std::is_same_v<Op, PromoteExecution> ||
                                 std::is_same_v<Op, ResolveDependency> ||
                                 std::is_same_v<Op, CancelFlowHeader> ||
                                 std::is_same_v<Op, BlockExecution> ||
                                 std::is_same_v<Op, ResumeExecution> ||
                                 std::is_same_v<Op, ExpireSuspension> ||
                                 std::is_same_v<Op, UnblockExecution>) {
                return false;  // the second time would find something else
            } else if constexpr (std::is_same_v<Op, RevokeLease>) {
                return op.expected_lease_id.has_value();  // else it may take the next one's lease
            } else if constexpr (std::is_same_v<Op, ClaimExecution>) {
                return op.lease_id.has_value() && op.attempt_id.has_value();
            } else if constexpr (std::is_same_v<Op, ClaimResumedExecution>) {
                return op.lease_id.has_value();
            } else {
                return true;  // reads, creates with an id, and what sets something to a value
            }
        },
        request);
    // NOLINTEND(bugprone-branch-clone)
}

}  // namespace ff::client
