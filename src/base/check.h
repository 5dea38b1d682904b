// FF_CHECK: for what can only be false when the program is wrong.
//
// Always on, release builds included: a durable engine recovers by restarting, never by going on
// from a state nobody foresaw. Not for bad input and not for a failing world; those are Errors.
#pragma once

#include <string_view>

namespace ff {

/// Prints what failed and where to stderr, then aborts.
[[noreturn]] void check_failed(std::string_view expression, std::string_view message,
                               std::string_view file, int line);

}  // namespace ff

/// `message` is evaluated only when the check fails.
#define FF_CHECK(expression, message)                                                              \
    do {                                                                                           \
        if (!(expression)) [[unlikely]] {                                                          \
            ::ff::check_failed(#expression, message, __FILE__, __LINE__);                          \
        }                                                                                          \
    } while (false)
