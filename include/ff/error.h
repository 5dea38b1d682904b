// Errors: one list of codes with what each means to a caller, and expected<T>.
//
// Code is for programs, detail is for people. The table behind the functions here is the only
// place where a code's kind, class, HTTP status and retry advice are written down.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ff {

/// What family of fault it is; decides how a client reacts.
enum class ErrorKind : std::uint8_t {
    not_found,
    validation,
    contention,
    conflict,
    state,
    bug,
    transport,
    unavailable,
    resource_exhausted,
    timeout,
    config,
};

/// What a caller's loop should do about it.
enum class ErrorClass : std::uint8_t {
    terminal,        ///< do not retry
    retryable,       ///< try again after a pause
    cooperative,     ///< act on it, then stop
    informational,   ///< already so: treat as a no-op
    bug,             ///< must not happen
    expected_empty,  ///< nothing there, and that is normal
    soft,            ///< log and go on
};

// X(code, kind, class, http_status, retryable)
#define FF_ERROR_CODES(X)                                                                          \
    X(execution_not_found, not_found, terminal, 404, false)                                        \
    X(flow_not_found, not_found, terminal, 404, false)                                             \
    X(attempt_not_found, not_found, terminal, 404, false)                                          \
    X(budget_not_found, not_found, terminal, 404, false)                                           \
    X(quota_policy_not_found, not_found, terminal, 404, false)                                     \
    X(stream_not_found, not_found, expected_empty, 404, false)                                     \
    X(edge_not_found, not_found, terminal, 404, false)                                             \
    X(worker_not_found, not_found, terminal, 404, false)                                           \
    X(lane_not_found, not_found, terminal, 404, false)                                             \
    X(webhook_not_found, not_found, terminal, 404, false)                                          \
    X(invalid_input, validation, terminal, 400, false)                                             \
    X(fence_required, validation, terminal, 400, false)                                            \
    X(partial_fence_triple, validation, terminal, 400, false)                                      \
    X(capability_mismatch, validation, retryable, 400, true)                                       \
    X(invalid_capabilities, validation, terminal, 400, false)                                      \
    X(invalid_policy_json, validation, terminal, 400, false)                                       \
    X(payload_too_large, validation, terminal, 400, false)                                         \
    X(signal_limit_exceeded, validation, terminal, 400, false)                                     \
    X(invalid_waitpoint_key, validation, terminal, 400, false)                                     \
    X(invalid_token, validation, terminal, 400, false)                                             \
    X(missing_token, validation, terminal, 400, false)                                             \
    X(token_expired, validation, terminal, 400, false)                                             \
    X(waitpoint_not_token_bound, validation, terminal, 400, false)                                 \
    X(retention_limit_exceeded, validation, terminal, 400, false)                                  \
    X(invalid_lease_for_suspend, validation, terminal, 400, false)                                 \
    X(invalid_dependency, validation, terminal, 400, false)                                        \
    X(invalid_dependency_kind, validation, terminal, 400, false)                                   \
    X(invalid_cancellation_policy, validation, terminal, 400, false)                               \
    X(edge_group_policy_already_fixed, validation, terminal, 400, false)                           \
    X(edge_endpoint_mismatch, validation, terminal, 400, false)                                    \
    X(namespace_mismatch, validation, terminal, 400, false)                                        \
    X(invalid_waitpoint_for_execution, validation, terminal, 400, false)                           \
    X(invalid_blocking_reason, validation, terminal, 400, false)                                   \
    X(invalid_offset, validation, retryable, 400, true)                                            \
    X(unauthorized, validation, terminal, 400, false)                                              \
    X(invalid_budget_scope, validation, terminal, 400, false)                                      \
    X(budget_override_not_allowed, validation, terminal, 400, false)                               \
    X(invalid_quota_spec, validation, terminal, 400, false)                                        \
    X(invalid_kid, validation, terminal, 400, false)                                               \
    X(invalid_secret_hex, validation, terminal, 400, false)                                        \
    X(invalid_grace_ms, validation, terminal, 400, false)                                          \
    X(invalid_tag_key, validation, terminal, 400, false)                                           \
    X(invalid_frame_type, validation, soft, 400, false)                                            \
    X(corruption, validation, terminal, 400, false)                                                \
    X(handle_from_other_backend, validation, terminal, 400, false)                                 \
    X(use_claim_resumed_execution, contention, retryable, 409, true)                               \
    X(not_a_resumed_execution, contention, retryable, 409, true)                                   \
    X(execution_not_leaseable, contention, retryable, 409, true)                                   \
    X(lease_conflict, contention, retryable, 409, true)                                            \
    X(invalid_claim_grant, contention, retryable, 409, true)                                       \
    X(claim_grant_expired, contention, retryable, 409, true)                                       \
    X(no_eligible_execution, contention, retryable, 409, true)                                     \
    X(waitpoint_not_found, contention, retryable, 404, true)                                       \
    X(stale_graph_revision, contention, retryable, 409, true)                                      \
    X(execution_not_active, contention, terminal, 409, false)                                      \
    X(execution_not_eligible, contention, informational, 409, true)                                \
    X(execution_not_in_eligible_set, contention, informational, 409, true)                         \
    X(execution_not_reclaimable, contention, informational, 409, false)                            \
    X(no_active_lease, contention, informational, 409, false)                                      \
    X(rate_limit_exceeded, contention, retryable, 429, true)                                       \
    X(concurrency_limit_exceeded, contention, retryable, 429, true)                                \
    X(retry_exhausted, contention, retryable, 500, false)                                          \
    X(dependency_already_exists, conflict, terminal, 409, false)                                   \
    X(cycle_detected, conflict, terminal, 409, false)                                              \
    X(self_referencing_edge, conflict, terminal, 409, false)                                       \
    X(execution_already_in_flow, conflict, terminal, 409, false)                                   \
    X(flow_already_exists, conflict, terminal, 409, false)                                         \
    X(graph_too_large, conflict, terminal, 409, false)                                             \
    X(flow_limit_exceeded, conflict, terminal, 409, false)                                         \
    X(downstream_already_terminal, conflict, terminal, 409, false)                                 \
    X(waitpoint_already_exists, conflict, informational, 409, false)                               \
    X(budget_attach_conflict, conflict, terminal, 409, false)                                      \
    X(quota_attach_conflict, conflict, terminal, 409, false)                                       \
    X(rotation_conflict, conflict, terminal, 409, false)                                           \
    X(webhook_conflict, conflict, terminal, 409, false)                                            \
    X(active_attempt_exists, conflict, bug, 409, false)                                            \
    X(stale_lease, state, terminal, 409, false)                                                    \
    X(lane_not_accepting, state, terminal, 409, false)                                             \
    X(execution_not_terminal, state, terminal, 409, false)                                         \
    X(max_replays_exhausted, state, terminal, 409, false)                                          \
    X(replay_not_allowed, state, terminal, 409, false)                                             \
    X(not_runnable, state, terminal, 409, false)                                                   \
    X(terminal, state, terminal, 409, false)                                                       \
    X(flow_already_terminal, state, terminal, 409, false)                                          \
    X(lease_expired, state, terminal, 409, false)                                                  \
    X(lease_revoked, state, terminal, 409, false)                                                  \
    X(already_satisfied, state, informational, 409, false)                                         \
    X(execution_not_suspended, state, informational, 409, false)                                   \
    X(already_suspended, state, informational, 409, false)                                         \
    X(waitpoint_closed, state, informational, 409, false)                                          \
    X(waitpoint_not_pending, state, informational, 409, false)                                     \
    X(pending_waitpoint_expired, state, informational, 409, false)                                 \
    X(waitpoint_active, state, informational, 409, false)                                          \
    X(grant_already_exists, state, informational, 409, false)                                      \
    X(deps_not_satisfied, state, informational, 409, false)                                        \
    X(not_blocked_by_deps, state, informational, 409, false)                                       \
    X(stream_closed, state, terminal, 409, false)                                                  \
    X(stale_owner_cannot_append, state, terminal, 409, false)                                      \
    X(execution_not_in_flow, state, terminal, 409, false)                                          \
    X(target_not_signalable, state, terminal, 409, false)                                          \
    X(webhook_not_held, state, terminal, 409, false)                                               \
    X(budget_exceeded, state, cooperative, 409, false)                                             \
    X(budget_soft_exceeded, state, informational, 409, false)                                      \
    X(overloaded, unavailable, retryable, 503, true)                                               \
    X(hmac_secret_not_initialized, unavailable, terminal, 503, false)                              \
    X(invalid_secret, unavailable, terminal, 503, false)                                           \
    X(shutting_down, unavailable, retryable, 503, false)                                           \
    X(too_many_waiters, resource_exhausted, retryable, 429, true)                                  \
    X(resource_exhausted, resource_exhausted, retryable, 429, true)                                \
    X(at_capacity, resource_exhausted, retryable, 429, true)                                       \
    X(timeout, timeout, retryable, 504, true)                                                      \
    X(circuit_open, transport, retryable, 503, true)                                               \
    X(commit_in_doubt, transport, retryable, 500, true)                                            \
    X(store_busy, transport, retryable, 500, true)                                                 \
    X(store_io, transport, retryable, 500, true)                                                   \
    X(store_full, transport, retryable, 500, true)                                                 \
    X(store_corrupt, transport, terminal, 500, false)                                              \
    X(store_in_use, config, terminal, 500, false)                                                  \
    X(store_open_failed, config, terminal, 500, false)                                             \
    X(schema_too_new, config, terminal, 500, false)                                                \
    X(partition_mismatch, config, terminal, 500, false)                                            \
    X(invalid_config, config, terminal, 500, false)                                                \
    X(invariant_violation, bug, bug, 500, false)                                                   \
    X(internal, bug, bug, 500, false)

enum class ErrorCode : std::uint8_t {
#define FF_X(code, kind, cls, http, retry) code,
    FF_ERROR_CODES(FF_X)
#undef FF_X
};

/// A fault. `fields` carries what a program needs beyond the code, in a fixed order (for example
/// the four members of execution_not_active).
///
/// Copying, moving and destroying are functions of their own: inline, they would be a good part of
/// every function that can fail.
struct Error {
    using Fields = std::vector<std::pair<std::string, std::string>>;

    ErrorCode code = ErrorCode::internal;
    std::string detail;
    Fields fields;
    int http_status = 0;  ///< of the answer that brought it; 0: it did not come over HTTP

    Error() noexcept;
    explicit Error(ErrorCode code);
    Error(ErrorCode code, std::string detail, Fields fields = {});
    Error(const Error& other);
    Error(Error&& other) noexcept;
    Error& operator=(const Error& other);
    Error& operator=(Error&& other) noexcept;
    ~Error();

    /// How it travelled is no part of what it says.
    bool operator==(const Error& other) const;
    /// `<code>` or `<code>: <detail>`.
    [[nodiscard]] std::string message() const;
    /// The value of a field, or empty.
    [[nodiscard]] std::string_view field(std::string_view name) const;
};

template <class T>
using expected = std::expected<T, Error>;

struct ErrorInfo {
    std::string_view name;
    ErrorKind kind;
    ErrorClass error_class;
    std::uint16_t http_status;
    bool retryable;
};

const ErrorInfo& info(ErrorCode code);
std::string_view to_string(ErrorCode code);
std::string_view to_string(ErrorKind kind);

std::unexpected<Error> fail(ErrorCode code);
std::unexpected<Error> fail(ErrorCode code, const char* detail);
std::unexpected<Error> fail(ErrorCode code, std::string detail);
/// Takes the error of a call that failed, to return it.
std::unexpected<Error> pass_on(Error& error) noexcept;

}  // namespace ff

/// `FF_TRY(auto x, call());` gives the value or returns the error from the enclosing function.
#define FF_TRY_JOIN2(a, b) a##b
#define FF_TRY_JOIN(a, b) FF_TRY_JOIN2(a, b)
#define FF_TRY(decl, ...)                                                                          \
    auto FF_TRY_JOIN(ff_try_, __LINE__) = (__VA_ARGS__);                                           \
    if (!FF_TRY_JOIN(ff_try_, __LINE__)) {                                                         \
        return ::ff::pass_on(FF_TRY_JOIN(ff_try_, __LINE__).error());                              \
    }                                                                                              \
    decl = std::move(*FF_TRY_JOIN(ff_try_, __LINE__)) /* NOLINT(bugprone-macro-parentheses) */
/// The same for calls that give nothing.
#define FF_TRY_VOID(...)                                                                           \
    if (auto FF_TRY_JOIN(ff_try_, __LINE__) = (__VA_ARGS__); !FF_TRY_JOIN(ff_try_, __LINE__)) {    \
        return ::ff::pass_on(FF_TRY_JOIN(ff_try_, __LINE__).error());                              \
    }
