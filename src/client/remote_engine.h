// An engine in another process, reached over HTTP: the same type as one in this process.
//
// Arguments are checked here as an embedded engine checks them, so that bad ones get the same
// answer
// and cost no request. Ids are made here, which makes a create safe to repeat. Calls
// that are safe to repeat are repeated after faults of the connection and while the server is busy.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include <ff/engine.h>

#include "client/http_client.h"
#include "core/context.h"

namespace ff::client {

/// How long an answer may take beyond the usual, and who says that nobody wants it any more.
struct Patience {
    DurationMs wait_ms = 0;
    std::stop_token abandoned;
    std::chrono::milliseconds at_least{0};  ///< the whole time, if the usual is shorter
};

struct RemoteOptions {
    std::chrono::milliseconds request_timeout{30'000};  ///< waiting claims get theirs added
    std::chrono::milliseconds connect_timeout{10'000};
    std::optional<std::string> bearer_token;
    std::string ca_file;
    std::chrono::milliseconds retry_base{100};
    double retry_factor = 2.0;
    int tries = 5;
    double jitter = 0.2;
};

/// Where a server is, from `http://host:port` or `https://…`.
struct ServerAddress {
    std::string host;
    std::uint16_t port = 0;
    bool tls = false;

    /// `invalid_config` says what is wrong with the address.
    static expected<ServerAddress> parse(std::string_view url);
};

class RemoteEngine final : public Engine {
  public:
    /// Asks the server what it is. Fails with what the connection or the server says.
    static expected<std::shared_ptr<Engine>> connect(const std::string& url,
                                                     const RemoteOptions& options);
    RemoteEngine(std::unique_ptr<HttpClient> http, RemoteOptions options);
    ~RemoteEngine() override;

    void call(Request request, DoneFn done) override;
    void call_many(std::vector<Request> requests,
                   std::move_only_function<void(std::vector<Response>)> done) override;
    /// `commands` counts requests sent.
    [[nodiscard]] EngineStats stats() const override;
    void stop() override;

    // For the parts of this room.

    /// The operation as the server takes it, or why it would not.
    expected<Request> checked(Request request);
    /// Sends one checked operation, again if need be.
    void send(std::shared_ptr<const Request> request, DoneFn done);
    /// The same for a call of any form. The field `sent` of an error tells of all tries.
    void send_call(wire::Call call, const Patience& patience, bool may_repeat,
                   HttpClient::Done done);
    [[nodiscard]] HttpClient& http() { return *http_; }
    [[nodiscard]] const RemoteOptions& options() const { return options_; }

  private:
    /// One of the tries of a call.
    struct Try {
        bool may_repeat;
        int number = 1;
        bool arrived = false;  ///< perhaps, one of those before
    };
    void try_call(wire::Call call, const Patience& patience, Try which, HttpClient::Done done);
    [[nodiscard]] std::chrono::milliseconds pause_before(int tried);

    const std::unique_ptr<HttpClient> http_;
    const RemoteOptions options_;
    core::Settings settings_;  ///< as the server told them
};

/// Is doing it twice as good as once?
bool may_repeat(const Request& request);

/// A claim may wait longer than a request: it is asked for again until its time is over.
void send_claim(RemoteEngine& engine, Claim claim, Engine::DoneFn done);
/// Is it a list that a server gives in pages, although the operation is the whole list?
bool is_paged(const Request& request);
void send_pages(RemoteEngine& engine, Request request, Engine::DoneFn done);
/// A server that stops is not this engine that stops: there may be another soon.
Response told_by_server(Response response);

/// Many operations, those that have a route for many in as few requests as can be.
void send_many(RemoteEngine& engine, std::vector<Request> requests,
               std::move_only_function<void(std::vector<Response>)> done);

}  // namespace ff::client
