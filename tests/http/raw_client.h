// A client that sends exactly the bytes it is given and reads what comes back, for tests of the
// server. It knows just enough of HTTP to find the end of an answer.
//
// One thread, or one that sends and one that reads. Nothing waits for ever: what does not come
// within `patience` fails the test.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/json.h>

namespace ff::http::test {

/// How long a test waits for what must happen. Generous: machines that run tests are busy.
inline constexpr std::chrono::seconds patience{60};

/// One answer of a server.
struct RawAnswer {
    int status = 0;  ///< 0: none came
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;

    /// The value of a field that stands at most once; absent when it does not. Any case.
    [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
    /// How often a field stands.
    [[nodiscard]] std::size_t count(std::string_view name) const;
    /// The body as JSON; null and a test failure when it is none.
    [[nodiscard]] json document() const;
    /// A member of the body as text: strings as they are, others as JSON, none as "".
    [[nodiscard]] std::string member(std::string_view name) const;
};

/// A request as text. Fields are lines without their line breaks; Content-Length is added to a
/// body.
std::string request_text(std::string_view method, std::string_view target,
                         std::string_view body = {}, const std::vector<std::string>& fields = {});
/// The same with `Content-Type: application/json`.
std::string json_request(std::string_view method, std::string_view target, std::string_view body,
                         std::vector<std::string> fields = {});

class RawClient {
  public:
    /// Connects to a server on this machine.
    explicit RawClient(std::uint16_t port);
    ~RawClient();
    RawClient(RawClient&& other) noexcept;
    RawClient& operator=(RawClient&&) = delete;

    /// Sends all of it; false when the other side has gone.
    bool send(std::string_view bytes);
    /// The same, but gives up when the other side takes nothing for so long. False then too.
    bool sends_within(std::string_view bytes, std::chrono::milliseconds time);
    /// The next answer. `to_head`: of a HEAD request, which has no body whatever its fields say.
    RawAnswer read_answer(bool to_head = false);
    /// send and read_answer.
    RawAnswer ask(std::string_view bytes) { return send(bytes) ? read_answer() : RawAnswer{}; }

    /// What comes up to and with `end`; less when the server closes before.
    std::string read_until(std::string_view end);
    std::string read_bytes(std::size_t count);
    /// What comes until the server closes; fails the test when it does not.
    std::string read_to_end();
    /// Has the server closed, with nothing more to read? Waits for it.
    bool is_closed_by_server() { return read_to_end().empty(); }
    /// Does anything come within this time? For showing that nothing does: keep it short.
    bool hears_within(std::chrono::milliseconds time);

    /// Sends no more, but reads on.
    void finish_sending();
    /// Goes away without a farewell: the other side gets a reset.
    void reset();
    void close();
    /// One that takes in so little that the server cannot get rid of a large answer.
    static RawClient with_small_buffer(std::uint16_t port);
    /// Does anybody listen?
    static bool can_connect(std::uint16_t port);

  private:
    explicit RawClient(int fd) : fd_(fd) {}
    bool fill();

    int fd_ = -1;
    bool ended_ = false;  ///< the server sends no more
    std::string input_;
};

}  // namespace ff::http::test
