// One request on its way through the server, free of sockets: what came, and where the answer goes.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "wire/message.h"
#include "wire/request_in.h"

namespace ff::http {

/// The head of a request: its first line and the fields the server looks at.
struct RequestHead {
    std::string method;  ///< as sent: `GET`, `PURGE`, …
    std::string target;
    std::optional<std::string> authorization;
    std::optional<std::string> content_type;
    std::optional<std::string> host;
    std::optional<std::string> origin;
    std::optional<std::string> asked_method;   ///< Access-Control-Request-Method
    std::optional<std::string> asked_headers;  ///< Access-Control-Request-Headers
    std::optional<std::uint64_t> content_length;
    bool chunked = false;
    std::optional<std::string> idempotency_key;
    std::optional<std::string> accept;
    std::optional<std::string> last_event_id;
    std::string peer;  ///< the address it came from

    [[nodiscard]] bool has_body() const { return chunked || content_length.value_or(0) > 0; }
    [[nodiscard]] std::string_view path() const {
        return std::string_view(target).substr(0, target.find('?'));
    }
    [[nodiscard]] std::string_view query() const {
        const std::size_t mark = target.find('?');
        return mark == std::string::npos ? std::string_view()
                                         : std::string_view(target).substr(mark + 1);
    }
};

/// Whether somebody still waits for the answer. It is made in any case, so that what it hands out
/// can be taken back.
enum class Client : std::uint8_t { waiting, gone };

/// Makes the answer, on the connection's own thread.
using MakeAnswer = std::move_only_function<wire::Answer(Client)>;
/// Takes it; from any thread, exactly once.
using Respond = std::move_only_function<void(MakeAnswer)>;

/// Runs work on the connection's own thread after a pause; from any thread. The work is run in any
/// case, also when nobody listens any more.
using Later = std::function<void(std::chrono::milliseconds, std::move_only_function<void()>)>;

struct Exchange {
    wire::Routed request;
    std::string raw_body;
    Respond respond;
    std::stop_token gone;  ///< of a route that waits: nobody listens any more, or the server stops
    Later later;           ///< of a route that waits
    std::string content_type;                    ///< of raw_body; empty: not said
    std::optional<std::string> idempotency_key;  ///< of a route that takes bodies as they are
    std::string peer;                            ///< the address it came from
    bool wants_events = false;                   ///< it accepts text/event-stream
    std::optional<std::string> last_event_id;    ///< of a client that lost its stream

    void answer(wire::Answer answer) {
        respond([answer = std::move(answer)](Client) mutable { return std::move(answer); });
    }
};

}  // namespace ff::http
