// Requests to one server over connections that are kept open and used again.
//
// One thread of its own does the waiting; any thread may send. A request that finds no idle
// connection opens one, up to a number; more requests than that wait for their turn. Long polls are
// not counted, and never hold up others. Answers come on the client's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <ff/error.h>

#include "wire/answers.h"
#include "wire/message.h"

namespace ff::client {

struct HttpClientOptions {
    std::string host;
    std::uint16_t port = 80;
    bool tls = false;
    std::string ca_file;  ///< whom to trust; empty: whom the system trusts
    std::optional<std::string> bearer_token;
    std::chrono::milliseconds connect_timeout{10'000};
    /// Connections that have been idle for longer are not used again: the server drops them.
    std::chrono::milliseconds idle_max{30'000};
    std::size_t connections_max = 64;  ///< at work at a time, those of polls apart
    std::uint64_t answer_bytes_max = 256U << 20;
    /// May every request be sent twice? Those that only look always may. What ends before an answer
    /// begins, on a connection that was used before, then goes once more on a new one.
    bool repeats = false;
    /// Which of the addresses that the host resolves to may be used; all when absent.
    std::function<bool(std::string_view address)> allowed;
    std::string when_not_allowed;  ///< what to do about it, for the message
};

/// Does the server answer as soon as it can, or when there is something to say?
enum class Answers : std::uint8_t { promptly, when_it_likes };

class HttpClient {
  public:
    using Done = std::move_only_function<void(expected<wire::Received>)>;

    virtual ~HttpClient() = default;
    /// A client without connections yet.
    static expected<std::unique_ptr<HttpClient>> make(HttpClientOptions options);

    /// Sends a request; `done` is called once. `timeout` counts from now. When `given_up` is asked
    /// to stop, the server is told that nobody waits; what it has answered by then still comes.
    /// `store_io` is any fault of the connection; its field `sent` says whether the request may
    /// have reached the server.
    virtual void send(wire::Call call, Answers answers, std::chrono::milliseconds timeout,
                      std::stop_token given_up, Done done) = 0;
    /// Runs `work` on the client's thread after a pause.
    virtual void later(std::chrono::milliseconds pause, std::move_only_function<void()> work) = 0;
    /// How many requests send() was given.
    [[nodiscard]] virtual std::uint64_t sent() const = 0;
    /// Is this the thread that answers come on? It cannot stop() itself.
    [[nodiscard]] virtual bool on_own_thread() const = 0;
    /// Ends everything that is under way with `shutting_down`, and refuses what comes.
    virtual void stop() = 0;
};

}  // namespace ff::client
