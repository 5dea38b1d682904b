// HTTP as plain data: what a request asks for and what an answer says. No sockets, no library.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ff::wire {

enum class Method : std::uint8_t { get, post, put, delete_ };

std::string_view to_string(Method method);

/// How large the body of a request may be (spec 07 section 1.5; graphs: spec 03 section 3.17).
enum class BodyClass : std::uint8_t { control, medium, large, graph };

constexpr std::size_t body_bytes_max(BodyClass size) {
    switch (size) {
        case BodyClass::graph: return 4'194'304;
        case BodyClass::large: return 1'048'576;
        case BodyClass::medium: return 262'144;
        case BodyClass::control: break;
    }
    return 65'536;
}

using Header = std::pair<std::string, std::string>;

/// A request as a client sends it.
struct Call {
    Method method = Method::get;
    std::string target;                ///< path and query, encoded
    std::string body;                  ///< JSON; empty: none
    std::vector<Header> headers = {};  ///< beside those that every request has
};

/// A piece of a body whose end is not known when it begins.
struct BodyPart {
    std::string text;
    bool last = false;
};

/// Where the pieces of such a body come from. The next is asked for when the one before has been
/// taken by the network, so a slow reader is never buried.
class BodyParts {
  public:
    virtual ~BodyParts() = default;
    /// `give` is called once, from any thread.
    virtual void next(std::move_only_function<void(BodyPart)> give) = 0;
};

/// An answer as a server gives it.
struct Answer {
    int status = 200;
    std::string body;
    std::string_view content_type = "application/json";
    std::vector<Header> headers;
    /// Called if it could not be handed over, so that what it gives away can be taken back.
    std::function<void()> undelivered = nullptr;
    std::shared_ptr<BodyParts> parts = nullptr;  ///< what follows `body`, if it is not all
    std::shared_ptr<void> permit = nullptr;      ///< let go once the network has taken it
};

}  // namespace ff::wire
