// The errors of suspension: status, kind, code and retry advice of spec 04 section 17.
#include "wire/flow_support.h"

namespace ff::wire::test {

namespace {

/// Where chapter 07 and this one differ on whether to come again, chapter 07 counts:
/// execution_not_active and no_active_lease do not pass.
const ErrorRow suspension_rows[] = {
    {ErrorCode::execution_not_found, "", 404, "", "", "not found: execution"},
    {ErrorCode::waitpoint_not_found, "", 404, "", "", "not found: waitpoint"},
    {ErrorCode::missing_token, "", 400, "", "", "validation_error: missing_token"},
    {ErrorCode::token_expired, "kid k1", 400, "", "", "validation_error: token_expired"},
    {ErrorCode::invalid_input, "waitpoints_empty", 400, "", "", "invalid_input: waitpoints_empty"},
    {ErrorCode::invalid_token, "", 400, "", "", "invalid_token"},
    {ErrorCode::signal_limit_exceeded, "", 400, "", "", "signal_limit_exceeded"},
    {ErrorCode::payload_too_large, "x", 400, "", "", "payload_too_large: x"},
    {ErrorCode::invalid_waitpoint_key, "x", 400, "", "", "invalid_waitpoint_key: x"},
    {ErrorCode::waitpoint_not_token_bound, "", 400, "", "", "waitpoint_not_token_bound"},
    {ErrorCode::invalid_lease_for_suspend, "", 400, "", "", "invalid_lease_for_suspend"},
    {ErrorCode::invalid_waitpoint_for_execution, "", 400, "", "",
     "invalid_waitpoint_for_execution"},
    {ErrorCode::invalid_kid, "kid must be non-empty", 400, "", "",
     "invalid_kid: kid must be non-empty"},
    {ErrorCode::invalid_secret_hex, "x", 400, "", "", "invalid_secret_hex: x"},
    {ErrorCode::invalid_grace_ms, "x", 400, "", "", "invalid_grace_ms: x"},
    {ErrorCode::fence_required, "", 400, "", "", "invalid_input: fence_required"},
    {ErrorCode::partial_fence_triple, "", 400, "", "", "invalid_input: partial_fence_triple"},
    {ErrorCode::already_suspended, "", 409, "state_conflict", "false",
     "state_conflict: AlreadySuspended"},
    {ErrorCode::execution_not_suspended, "", 409, "state_conflict", "false",
     "state_conflict: ExecutionNotSuspended"},
    {ErrorCode::waitpoint_closed, "", 409, "state_conflict", "false",
     "state_conflict: WaitpointClosed"},
    {ErrorCode::target_not_signalable, "", 409, "state_conflict", "false",
     "state_conflict: TargetNotSignalable"},
    {ErrorCode::waitpoint_not_pending, "", 409, "state_conflict", "false",
     "state_conflict: WaitpointNotPending"},
    {ErrorCode::pending_waitpoint_expired, "", 409, "state_conflict", "false",
     "state_conflict: PendingWaitpointExpired"},
    {ErrorCode::waitpoint_active, "", 409, "state_conflict", "false",
     "state_conflict: WaitpointActive"},
    {ErrorCode::stale_lease, "", 409, "state_conflict", "false", "state_conflict: StaleLease"},
    {ErrorCode::already_satisfied, "", 409, "already_satisfied", "false",
     "already_satisfied: AlreadySatisfied"},
    {ErrorCode::lease_expired, "", 409, "already_satisfied", "false",
     "already_satisfied: LeaseExpired"},
    {ErrorCode::lease_revoked, "", 409, "already_satisfied", "false",
     "already_satisfied: LeaseRevoked"},
    {ErrorCode::execution_not_active, "", 409, "contention", "false",
     "contention: ExecutionNotActive"},
    {ErrorCode::execution_not_leaseable, "", 409, "contention", "true",
     "contention: ExecutionNotLeaseable"},
    {ErrorCode::not_a_resumed_execution, "", 409, "contention", "true",
     "contention: NotAResumedExecution"},
    {ErrorCode::use_claim_resumed_execution, "", 409, "contention", "true",
     "contention: UseClaimResumedExecution"},
    {ErrorCode::invalid_claim_grant, "", 409, "contention", "true",
     "contention: InvalidClaimGrant"},
    {ErrorCode::claim_grant_expired, "", 409, "contention", "true",
     "contention: ClaimGrantExpired"},
    {ErrorCode::no_active_lease, "", 409, "contention", "false", "contention: NoActiveLease"},
    {ErrorCode::waitpoint_already_exists, "", 409, "waitpoint_already_exists", "false",
     "waitpoint_already_exists: WaitpointAlreadyExists"},
    {ErrorCode::rotation_conflict, "k2", 409, "rotation_conflict", "false",
     "rotation_conflict: RotationConflict"},
    {ErrorCode::hmac_secret_not_initialized, "", 503, "hmac_secret_not_initialized", "false",
     "hmac_secret_not_initialized"},
    {ErrorCode::invalid_secret, "x", 503, "invalid_secret", "false", "invalid_secret: x"},
    {ErrorCode::retry_exhausted, "", 500, "retry_exhausted", "false",
     "retry_exhausted: RetryExhausted"},
};

}  // namespace

TEST(SuspensionErrors, AreThoseOfTheTable) {
    for (const ErrorRow& row : suspension_rows) {
        expect_row(row, DeliverSignal::name);
    }
}

TEST(SuspensionErrors, AWaitpointThatIsNotThereIsNotThereForAnybody) {
    const ErrorRow absent{ErrorCode::waitpoint_not_found, "", 404, "", "", "not found: waitpoint"};
    for (const std::string_view operation :
         {Suspend::name, CloseWaitpoint::name, DeliverApprovalSignal::name}) {
        expect_row(absent, operation);
    }
}

}  // namespace ff::wire::test
