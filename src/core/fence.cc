#include "core/fence.h"

#include "core/transitions.h"

namespace ff::core {

namespace {

std::string_view tag_name(BackendTag tag) {
    switch (tag) {
        case BackendTag::reserved: return "reserved";
        case BackendTag::postgres: return "postgres";
        case BackendTag::sqlite: return "sqlite";
    }
    return "unknown";
}

/// The first part of the triple that is not the current lease's, or null.
const char* first_difference(const LeaseRef& ref, const Execution& e) {
    if (ref.lease_epoch != e.lease_epoch) {
        return "lease_epoch";
    }
    if (ref.lease_id != e.lease_id) {
        return "lease_id";
    }
    if (ref.attempt_id != e.current_attempt_id) {
        return "attempt_id";
    }
    if (ref.attempt_index && ref.attempt_index != e.current_attempt_index) {
        return "attempt_index";
    }
    return nullptr;
}

}  // namespace

expected<void> check_fence_shape(const LeaseRef& ref, FenceRule rule, Source source,
                                 const Settings& settings) {
    if (ref.backend && *ref.backend != settings.backend) {
        return ff::fail(ErrorCode::handle_from_other_backend,
                        "expected=" + std::string(tag_name(settings.backend)) +
                            " actual=" + std::string(tag_name(*ref.backend)));
    }
    const int given = (ref.lease_id ? 1 : 0) + (ref.lease_epoch ? 1 : 0) + (ref.attempt_id ? 1 : 0);
    if (given == 3) {
        return {};
    }
    if (given > 0) {
        return ff::fail(ErrorCode::partial_fence_triple);
    }
    if (rule == FenceRule::required || source != Source::operator_override) {
        return ff::fail(ErrorCode::fence_required);
    }
    return {};
}

expected<void> check_fence(const Execution& e, const LeaseRef& ref, TimestampMs now) {
    if (e.state.phase != LifecyclePhase::active) {
        return std::unexpected(not_active(e));
    }
    if (e.state.ownership == OwnershipState::lease_revoked) {
        return ff::fail(ErrorCode::lease_revoked, e.lease_revoke_reason.value_or(""));
    }
    if (e.lease_expires_at.value_or(0) <= now || e.state.ownership != OwnershipState::leased) {
        return ff::fail(ErrorCode::lease_expired,
                        "at " + std::to_string(e.lease_expires_at.value_or(0)));
    }
    if (!ref.lease_id) {
        return {};  // an operator's call binds the current lease
    }
    const char* other = first_difference(ref, e);
    if (other != nullptr) {
        return ff::fail(ErrorCode::stale_lease, "the current lease has epoch " +
                                                    std::to_string(e.lease_epoch) +
                                                    "; the call names another " + other);
    }
    return {};
}

bool names_last_lease(const Execution& e, const LeaseRef& ref) {
    return ref.lease_epoch == e.lease_epoch && ref.attempt_id &&
           ref.attempt_id == e.current_attempt_id;
}

}  // namespace ff::core
