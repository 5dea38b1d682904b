#include <ff/error.h>

#include "base/check.h"

#include <array>

namespace ff {
namespace {

constexpr std::array error_table = {
#define FF_X(code, kind, cls, http, retry)                                                         \
    ErrorInfo{#code, ErrorKind::kind, ErrorClass::cls, http, retry},
    FF_ERROR_CODES(FF_X)
#undef FF_X
};

static_assert(error_table.size() == static_cast<std::size_t>(ErrorCode::internal) + 1,
              "the table has one row per code, and `internal` is the last code");

constexpr std::string_view not_found_suffix = "_not_found";

}  // namespace

const ErrorInfo& info(ErrorCode code) {
    const auto row = static_cast<std::size_t>(code);
    FF_CHECK(row < error_table.size(), "not an error code");
    return error_table[row];
}

std::string_view to_string(ErrorCode code) { return info(code).name; }

std::string_view to_string(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::not_found: return "not_found";
        case ErrorKind::validation: return "validation";
        case ErrorKind::contention: return "contention";
        case ErrorKind::conflict: return "conflict";
        case ErrorKind::state: return "state";
        case ErrorKind::bug: return "bug";
        case ErrorKind::transport: return "transport";
        case ErrorKind::unavailable: return "unavailable";
        case ErrorKind::resource_exhausted: return "resource_exhausted";
        case ErrorKind::timeout: return "timeout";
        case ErrorKind::config: return "config";
    }
    check_failed("kind", "not an error kind", __FILE__, __LINE__);
}

Error::Error() noexcept = default;
Error::Error(ErrorCode code) : code(code) {}
Error::Error(ErrorCode code, std::string detail, Fields fields)
    : code(code), detail(std::move(detail)), fields(std::move(fields)) {}
Error::Error(const Error& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

std::unexpected<Error> fail(ErrorCode code) { return std::unexpected<Error>(Error(code)); }

std::unexpected<Error> fail(ErrorCode code, const char* detail) {
    return std::unexpected<Error>(Error(code, detail));
}

std::unexpected<Error> fail(ErrorCode code, std::string detail) {
    return std::unexpected<Error>(Error(code, std::move(detail)));
}

std::unexpected<Error> pass_on(Error& error) noexcept {
    return std::unexpected<Error>(std::move(error));
}

bool Error::operator==(const Error& other) const {
    return code == other.code && detail == other.detail && fields == other.fields;
}

std::string Error::message() const {
    const ErrorInfo& row = info(code);
    if (code == ErrorCode::fence_required || code == ErrorCode::partial_fence_triple) {
        return "invalid_input: " + std::string(row.name);
    }
    if (row.kind == ErrorKind::not_found) {
        if (!detail.empty()) {
            return detail;
        }
        std::string_view entity = row.name;
        entity.remove_suffix(not_found_suffix.size());
        return "not found: " + std::string(entity);
    }
    std::string text(row.name);
    if (!detail.empty()) {
        text.append(": ").append(detail);
    }
    return text;
}

std::string_view Error::field(std::string_view name) const {
    for (const auto& [key, value] : fields) {
        if (key == name) {
            return value;
        }
    }
    return {};
}

}  // namespace ff
