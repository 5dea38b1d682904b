// Load for an HTTP server: many connections, one thread, as little work a request as can be, so
// that
// what is measured is the server. Requests are made by the caller, answers are looked at by the
// caller; this only moves bytes. For benchmarks: it understands no more of HTTP than our server
// says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

namespace ff::cli {

/// An answer; the body is good until the next request of the connection is made.
struct LoadAnswer {
    int status = 0;
    std::string_view body;
};

class HttpLoad {
  public:
    /// Appends the next request of a connection to `out`, given the answer to the last one (none at
    /// first). False: this connection has nothing more to ask.
    using Step = std::function<expected<bool>(std::size_t connection, const LoadAnswer* last,
                                              std::string& out)>;

    /// Opens so many connections to a loopback port or another IPv4 address.
    static expected<HttpLoad> open(const std::string& host, std::uint16_t port,
                                   std::size_t connections);
    HttpLoad(HttpLoad&& other) noexcept;
    HttpLoad& operator=(HttpLoad&&) = delete;
    ~HttpLoad();

    /// Runs until every connection has nothing more to ask; the seconds it took. The first fault of
    /// a connection or of a step ends it.
    expected<double> run(const Step& step);
    /// Sends one request on each connection and does not wait for the answers.
    expected<void> send_all(const std::function<std::string(std::size_t connection)>& request);
    [[nodiscard]] std::size_t size() const { return links_.size(); }

  private:
    struct Link {
        int fd = -1;
        std::string input;
        std::string output;
        bool asking = false;
    };
    HttpLoad() = default;
    expected<bool> ask(std::size_t index, const LoadAnswer* last, const Step& step);
    expected<bool> hear(std::size_t index, const Step& step);

    int epoll_ = -1;
    std::vector<Link> links_;
};

/// `POST path` with a body, or without one when it is empty.
void append_post(std::string& out, std::string_view path, std::string_view body);

/// The text of a member of a JSON object, found by its name: enough for answers whose values have
/// no quotes in them. Empty when there is none.
std::string_view member_text(std::string_view body, std::string_view name, std::size_t from = 0);

}  // namespace ff::cli
