#include "wire/errors.h"

#include <algorithm>
#include <array>

#include <ff/contracts.h>
#include <ff/json.h>

#include "wire/object.h"

namespace ff::wire {

namespace {

constexpr std::array error_names{
#define FF_X(code, kind, cls, http, retry) std::string_view(#code),
    FF_ERROR_CODES(FF_X)
#undef FF_X
};

/// Codes that stand in `error` as they are; other faults of validation are `validation_error`.
constexpr std::array named_validation{
    ErrorCode::invalid_input,
    ErrorCode::capability_mismatch,
    ErrorCode::invalid_capabilities,
    ErrorCode::invalid_policy_json,
    ErrorCode::payload_too_large,
    ErrorCode::signal_limit_exceeded,
    ErrorCode::invalid_waitpoint_key,
    ErrorCode::invalid_token,
    ErrorCode::waitpoint_not_token_bound,
    ErrorCode::retention_limit_exceeded,
    ErrorCode::invalid_lease_for_suspend,
    ErrorCode::invalid_dependency,
    ErrorCode::invalid_dependency_kind,
    ErrorCode::invalid_cancellation_policy,
    ErrorCode::edge_group_policy_already_fixed,
    ErrorCode::edge_endpoint_mismatch,
    ErrorCode::namespace_mismatch,
    ErrorCode::invalid_waitpoint_for_execution,
    ErrorCode::invalid_blocking_reason,
    ErrorCode::invalid_offset,
    ErrorCode::unauthorized,
    ErrorCode::invalid_budget_scope,
    ErrorCode::budget_override_not_allowed,
    ErrorCode::invalid_quota_spec,
    ErrorCode::invalid_kid,
    ErrorCode::invalid_secret_hex,
    ErrorCode::invalid_grace_ms,
    ErrorCode::invalid_tag_key,
    ErrorCode::invalid_frame_type,
};

constexpr std::array named_states{
    ErrorCode::execution_not_terminal,
    ErrorCode::max_replays_exhausted,
    ErrorCode::replay_not_allowed,
    ErrorCode::not_runnable,
    ErrorCode::terminal,
    ErrorCode::flow_already_terminal,
    ErrorCode::budget_exceeded,
    ErrorCode::budget_soft_exceeded,
};

/// What is so already: benign to a caller that repeats itself.
constexpr std::array benign_states{
    ErrorCode::already_satisfied,
    ErrorCode::lease_expired,
    ErrorCode::lease_revoked,
};

/// Tokens can be neither made nor checked: coming again does not help.
constexpr std::array unusable_keys{
    ErrorCode::hmac_secret_not_initialized,
    ErrorCode::invalid_secret,
};

template <std::size_t N>
bool is_among(ErrorCode code, const std::array<ErrorCode, N>& codes) {
    return std::ranges::find(codes, code) != codes.end();
}

std::string with_detail(std::string text, std::string_view detail) {
    if (!detail.empty()) {
        text += ": ";
        text += detail;
    }
    return text;
}

/// The words of one row of the table.
struct Words {
    std::string error;
    std::string_view kind;
};

Words validation_words(const Error& error) {
    if (error.code == ErrorCode::fence_required || error.code == ErrorCode::partial_fence_triple) {
        return {"invalid_input: " + std::string(to_string(error.code)), {}};
    }
    if (error.code == ErrorCode::missing_token || error.code == ErrorCode::token_expired) {
        return {"validation_error: " + std::string(to_string(error.code)), {}};
    }
    if (is_among(error.code, named_validation)) {
        return {with_detail(std::string(to_string(error.code)), error.detail), {}};
    }
    return {with_detail("validation_error", error.detail.empty() ? to_string(error.code)
                                                                 : std::string_view(error.detail)),
            {}};
}

Words state_words(const Error& error) {
    std::string_view kind = "state_conflict";
    if (is_among(error.code, named_states)) {
        kind = to_string(error.code);
    } else if (is_among(error.code, benign_states)) {
        kind = "already_satisfied";
    }
    return {std::string(kind) + ": " + camel_name(to_string(error.code)), kind};
}

Words contention_words(const Error& error) {
    switch (error.code) {
        case ErrorCode::rate_limit_exceeded:
        case ErrorCode::concurrency_limit_exceeded:
            return {with_detail(std::string(to_string(error.code)), error.detail),
                    to_string(error.code)};
        case ErrorCode::retry_exhausted:
            return {"retry_exhausted: RetryExhausted", "retry_exhausted"};
        case ErrorCode::waitpoint_not_found: return {"not found: waitpoint", {}};
        default: return {"contention: " + camel_name(to_string(error.code)), "contention"};
    }
}

/// Which other flow it is in stands in the text too (spec 03 section 3.4).
Words conflict_words(const Error& error) {
    const std::string_view name = to_string(error.code);
    std::string text = std::string(name) + ": " + camel_name(name);
    if (error.code == ErrorCode::execution_already_in_flow) {
        text = with_detail(std::move(text), error.detail);
    }
    return {std::move(text), name};
}

std::string not_found_text(const Error& error) {
    if (!error.detail.empty()) {
        return error.detail;
    }
    const std::string_view code = to_string(error.code);
    return "not found: " + std::string(code.substr(0, code.find("_not_found")));
}

Words words_of(const Error& error) {
    const std::string_view name = to_string(error.code);
    switch (info(error.code).kind) {
        case ErrorKind::not_found: return {not_found_text(error), {}};
        case ErrorKind::validation: return validation_words(error);
        case ErrorKind::contention: return contention_words(error);
        case ErrorKind::conflict: return conflict_words(error);
        case ErrorKind::state: return state_words(error);
        case ErrorKind::resource_exhausted:
            return {error.detail.empty() ? std::string(name) : error.detail, "resource_exhausted"};
        case ErrorKind::unavailable:
            if (is_among(error.code, unusable_keys)) {
                return {with_detail(std::string(name), error.detail), name};
            }
            return {with_detail(error.code == ErrorCode::shutting_down ? "backend op unavailable"
                                                                       : std::string(name),
                                error.detail),
                    "unavailable"};
        case ErrorKind::timeout: return {with_detail(std::string(name), error.detail), "timeout"};
        case ErrorKind::transport:
            return {with_detail(std::string(name), error.detail), "transport"};
        case ErrorKind::bug:
        case ErrorKind::config: break;
    }
    return {with_detail(std::string(name), error.detail), {}};
}

/// Has a caller any use for the advice? The table of the chapter says for which kinds.
bool tells_retry(const ErrorInfo& about) {
    return about.http_status != 404 && about.kind != ErrorKind::validation;
}

}  // namespace

std::string camel_name(std::string_view code) {
    std::string out;
    bool upper = true;
    for (const char c : code) {
        if (c == '_') {
            upper = true;
        } else {
            out.push_back(upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
            upper = false;
        }
    }
    return out;
}

std::optional<ErrorCode> parse_error_code(std::string_view word) {
    const auto it = std::ranges::find(error_names, word);
    if (it == error_names.end()) {
        return std::nullopt;
    }
    return static_cast<ErrorCode>(it - error_names.begin());
}

namespace {

/// Whole seconds, rounded up; 1 where nobody knows better.
std::string retry_after_text(const Error& error) {
    const auto wait = js::parse(error.field("retry_after_ms"));
    const auto ms = wait ? wait->as_int64() : std::nullopt;
    return ms && *ms > 1'000 ? std::to_string((*ms + 999) / 1'000) : "1";
}

}  // namespace

Answer write_error(const Error& error, std::string_view operation) {
    const ErrorInfo& about = info(error.code);
    Words words = words_of(error);
    if (error.code == ErrorCode::shutting_down && !operation.empty()) {
        words.error = with_detail("backend op unavailable", operation);
    }
    std::string out;
    ObjectOut object(out);
    object.field("error", words.error);
    if (!words.kind.empty()) {
        object.field("kind", words.kind);
    }
    if (tells_retry(about)) {
        object.field("retryable", about.retryable);
    }
    object.field("code", to_string(error.code));
    if (!error.detail.empty() || !error.fields.empty()) {
        object.key("detail");
        ObjectOut detail(out);
        if (!error.detail.empty()) {
            detail.field("message", error.detail);
        }
        for (const auto& [name, value] : error.fields) {
            detail.field(name, value);
        }
        detail.close();
    }
    object.close();
    Answer answer{about.http_status, std::move(out), "application/json", {}};
    if (answer.status == 429 || answer.status == 503) {
        answer.headers.emplace_back("Retry-After", retry_after_text(error));
    }
    return answer;
}

Answer write_fault(const RequestFault& fault) {
    std::string out;
    ObjectOut object(out);
    object.field("error", fault.error);
    object.field("code", to_string(fault.code));
    if (!fault.member.empty() || !fault.about.empty()) {
        object.key("detail");
        ObjectOut detail(out);
        if (!fault.member.empty()) {
            detail.field("member", fault.member);
        }
        detail.field("message", fault.about);
        detail.close();
    }
    object.close();
    return {fault.status, std::move(out), "application/json", {}};
}

Answer plain_error(int status, std::string_view text) {
    std::string out;
    ObjectOut object(out);
    object.field("error", text);
    object.close();
    return {status, std::move(out), "application/json", {}};
}

namespace {

/// What a status means whoever sends it: somebody between us and the server may. That one knows
/// nothing of executions and arguments, and its word must end nothing that can still go on.
ErrorCode code_of_any_status(int status) {
    switch (status) {
        case 401: return ErrorCode::unauthorized;
        case 413: return ErrorCode::payload_too_large;
        case 429: return ErrorCode::too_many_waiters;
        case 503: return ErrorCode::overloaded;
        case 502:
        case 504: return ErrorCode::timeout;
        default: return ErrorCode::store_io;
    }
}

/// What a status means when our server sends it.
ErrorCode code_of_our_status(int status) {
    switch (status) {
        case 400:
        case 415:
        case 422: return ErrorCode::invalid_input;
        case 403: return ErrorCode::unauthorized;
        case 404: return ErrorCode::execution_not_found;
        default: return code_of_any_status(status);
    }
}

bool has_text(const json& document, std::string_view name) {
    const json* value = document.find(name);
    return value != nullptr && value->if_string() != nullptr;
}

}  // namespace

bool says_retryable(std::string_view body) {
    const auto document = js::parse(body);
    const json* retryable =
        document && document->if_object() != nullptr ? document->find("retryable") : nullptr;
    const bool* yes = retryable != nullptr ? retryable->if_bool() : nullptr;
    return yes != nullptr && *yes;
}

Error read_error(int status, std::string_view body, Believed believed) {
    const auto document = js::parse(body);
    if (!document || document->if_object() == nullptr ||
        (!has_text(*document, "code") &&
         (believed == Believed::only_codes || !has_text(*document, "error")))) {
        return {code_of_any_status(status),
                "HTTP status " + std::to_string(status) + ", not in the words of a server of ours",
                {}};
    }
    Error error{code_of_our_status(status), {}, {}};
    if (const json* code = document->find("code");
        code != nullptr && code->if_string() != nullptr) {
        error.code = parse_error_code(*code->if_string()).value_or(error.code);
    } else if (const json* text = document->find("error"); text != nullptr) {
        error.detail = text->if_string() != nullptr ? *text->if_string() : "";
        const json* limit = document->find("limit_bytes");
        if (const auto bytes = limit != nullptr ? limit->as_uint64() : std::nullopt) {
            error.detail = "a request like this may have " + std::to_string(*bytes) +
                           " bytes, and inputs and results grow by a third on the way";
        }
        return error;
    }
    if (const json* detail = document->find("detail"); detail && detail->if_object() != nullptr) {
        for (const auto& [name, value] : *detail->if_object()) {
            const std::string* text = value.if_string();
            if (text == nullptr) {
                continue;
            }
            if (name == "message") {
                error.detail = *text;
            } else {
                error.fields.emplace_back(name, *text);
            }
        }
    } else if (status == 422 || status == 400) {
        const json* text = document->find("error");
        error.detail = text != nullptr && text->if_string() != nullptr ? *text->if_string() : "";
        if (error.code != ErrorCode::invalid_input ||
            error.detail == to_string(ErrorCode::invalid_input)) {
            error.detail.clear();  // the engine said no more than the code
        }
    }
    return error;
}

}  // namespace ff::wire
