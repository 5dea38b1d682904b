// Where an operation is asked for: `binding<Op>` names its route, and describe_request() shows its
// members to a visitor.
#pragma once

#include <string_view>

#include "wire/message.h"

namespace ff::wire {

class RequestVisitor;

struct Binding {
    Method method;
    std::string_view path;  ///< `{name}` are parameters
    BodyClass body = BodyClass::control;
    std::string_view summary;
};

template <class Op>
inline constexpr Binding binding{};

/// One item of a list in a body: it has members, and no route of its own.
inline constexpr Binding no_route{Method::post, "", BodyClass::control, ""};

}  // namespace ff::wire

// NOLINTBEGIN(bugprone-macro-parentheses): names of members and of types
#define FF_BIND(Op, method, path, body, summary)                                                   \
    template <>                                                                                    \
    inline constexpr Binding binding<Op>{Method::method, path, BodyClass::body, summary};          \
    void describe_request(RequestVisitor& v, Op& op);
// NOLINTEND(bugprone-macro-parentheses)
