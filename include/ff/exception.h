// The one exception of the library: an Error that was thrown.
//
// The blocking calls of Client, Task and Engine::connect throw it; each has a twin with the prefix
// `try_` that gives expected<T> instead. Nothing else of the library throws.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <ff/error.h>

namespace ff {

class Exception : public std::runtime_error {
  public:
    explicit Exception(Error error)
        : std::runtime_error(error.message()), error_(std::move(error)) {}

    [[nodiscard]] const Error& error() const { return error_; }
    [[nodiscard]] ErrorCode code() const { return error_.code; }
    /// The family of the fault, one of the words of ErrorKind or `at_capacity`.
    [[nodiscard]] std::string_view category() const {
        return error_.code == ErrorCode::at_capacity ? to_string(error_.code)
                                                     : to_string(info(error_.code).kind);
    }
    /// May the same call succeed a little later?
    [[nodiscard]] bool retryable() const { return info(error_.code).retryable; }
    /// Of the answer of a server; 0 when there was none.
    [[nodiscard]] int http_status() const { return error_.http_status; }
    [[nodiscard]] const std::string& detail() const { return error_.detail; }

  private:
    Error error_;
};

/// The value, or the error as an Exception.
template <class T>
T value_or_throw(expected<T> result) {
    if (!result) {
        throw Exception(std::move(result).error());
    }
    return std::move(*result);
}
inline void value_or_throw(expected<void> result) {
    if (!result) {
        throw Exception(std::move(result).error());
    }
}

}  // namespace ff
