// The fence: may this caller still change this attempt?
#pragma once

#include <ff/contracts.h>

#include "core/context.h"
#include "core/records.h"

namespace ff::core {

enum class FenceRule : std::uint8_t {
    required,           ///< a triple must be given
    operator_may_omit,  ///< without a triple, an operator acts on whatever lease is current
};

/// Shape of what was given: `fence_required`, `partial_fence_triple`, or a handle of another kind
/// of store (`handle_from_other_backend`).
expected<void> check_fence_shape(const LeaseRef& ref, FenceRule rule, Source source,
                                 const Settings& settings);

/// The checks on the row, in order: `execution_not_active`, `lease_revoked`, `lease_expired`,
/// `stale_lease`. On `lease_expired` of a lease nobody has marked yet, the caller marks it.
expected<void> check_fence(const Execution& e, const LeaseRef& ref, TimestampMs now);

/// Does the reference name exactly the execution's last lease? (For repeated terminal calls.)
bool names_last_lease(const Execution& e, const LeaseRef& ref);

}  // namespace ff::core
