// The types that members of records have. What is done with members of each is compiled once, in
// member_types.cc; everywhere else it is only known to be there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ff/contracts.h>

#include "core/limit_records.h"
#include "core/records.h"
#include "store/table_info.h"

// Calls a macro with each: numbers, texts and what is kept as one, ids, and words, which are kept
// as their number. A type that no member had before goes here, or its column does not link.
#define FF_MEMBER_TYPES(FF_TYPE)                                                                   \
    FF_TYPE(bool)                                                                                  \
    FF_TYPE(std::int32_t)                                                                          \
    FF_TYPE(std::int64_t)                                                                          \
    FF_TYPE(std::uint16_t)                                                                         \
    FF_TYPE(std::uint32_t)                                                                         \
    FF_TYPE(std::uint64_t)                                                                         \
    FF_TYPE(std::optional<std::int32_t>)                                                           \
    FF_TYPE(std::optional<std::int64_t>)                                                           \
    FF_TYPE(std::optional<std::uint32_t>)                                                          \
    FF_TYPE(std::optional<std::uint64_t>)                                                          \
    FF_TYPE(std::string)                                                                           \
    FF_TYPE(std::optional<std::string>)                                                            \
    FF_TYPE(std::vector<std::string>)                                                              \
    FF_TYPE(Tags)                                                                                  \
    FF_TYPE(Amounts)                                                                               \
    FF_TYPE(BudgetLimits)                                                                          \
    FF_TYPE(core::ExecutionExtra)                                                                  \
    FF_TYPE(ExecutionId)                                                                           \
    FF_TYPE(AttemptId)                                                                             \
    FF_TYPE(BudgetId)                                                                              \
    FF_TYPE(EdgeId)                                                                                \
    FF_TYPE(FlowId)                                                                                \
    FF_TYPE(GrantId)                                                                               \
    FF_TYPE(QuotaPolicyId)                                                                         \
    FF_TYPE(SignalId)                                                                              \
    FF_TYPE(SuspensionId)                                                                          \
    FF_TYPE(WaitpointId)                                                                           \
    FF_TYPE(WebhookId)                                                                             \
    FF_TYPE(core::LimitId)                                                                         \
    FF_TYPE(std::optional<ExecutionId>)                                                            \
    FF_TYPE(std::optional<AttemptId>)                                                              \
    FF_TYPE(std::optional<FlowId>)                                                                 \
    FF_TYPE(std::optional<LeaseId>)                                                                \
    FF_TYPE(std::optional<QuotaPolicyId>)                                                          \
    FF_TYPE(std::optional<SignalId>)                                                               \
    FF_TYPE(std::optional<SuspensionId>)                                                           \
    FF_TYPE(std::optional<WaitpointId>)                                                            \
    FF_TYPE(AttemptLifecycle)                                                                      \
    FF_TYPE(AttemptState)                                                                          \
    FF_TYPE(AttemptType)                                                                           \
    FF_TYPE(BlockingReason)                                                                        \
    FF_TYPE(DependencyKind)                                                                        \
    FF_TYPE(EdgeState)                                                                             \
    FF_TYPE(EligibilityState)                                                                      \
    FF_TYPE(EnforcementMode)                                                                       \
    FF_TYPE(EventFamily)                                                                           \
    FF_TYPE(FlowState)                                                                             \
    FF_TYPE(FrameMode)                                                                             \
    FF_TYPE(GrantKind)                                                                             \
    FF_TYPE(GroupPolicyKind)                                                                       \
    FF_TYPE(GroupState)                                                                            \
    FF_TYPE(LaneState)                                                                             \
    FF_TYPE(LifecyclePhase)                                                                        \
    FF_TYPE(LimitTarget)                                                                           \
    FF_TYPE(OnHardLimit)                                                                           \
    FF_TYPE(OnMemberFailure)                                                                       \
    FF_TYPE(OnSatisfied)                                                                           \
    FF_TYPE(OnSoftLimit)                                                                           \
    FF_TYPE(OwnershipState)                                                                        \
    FF_TYPE(PublicState)                                                                           \
    FF_TYPE(SignalEffect)                                                                          \
    FF_TYPE(SignalScope)                                                                           \
    FF_TYPE(SuspensionRequester)                                                                   \
    FF_TYPE(TerminalOutcome)                                                                       \
    FF_TYPE(WaitpointState)                                                                        \
    FF_TYPE(core::FlowWorkKind)                                                                    \
    FF_TYPE(core::KeysTask)                                                                        \
    FF_TYPE(core::LeaseEventType)                                                                  \
    FF_TYPE(core::LimitKind)                                                                       \
    FF_TYPE(core::LogFamily)                                                                       \
    FF_TYPE(std::optional<CancellationPolicy>)                                                     \
    FF_TYPE(std::optional<DependencyState>)                                                        \
    FF_TYPE(std::optional<ResumeTrigger>)                                                          \
    FF_TYPE(std::optional<StreamClosedReason>)                                                     \
    FF_TYPE(std::optional<TerminalOutcome>)                                                        \
    FF_TYPE(std::optional<TimeoutBehavior>)

namespace ff::store {

template <class T>
struct MemberOf {
    static const MemberType type;
};

#define FF_DECLARE_TYPE(T) extern template struct MemberOf<T>;
FF_MEMBER_TYPES(FF_DECLARE_TYPE)
#undef FF_DECLARE_TYPE

}  // namespace ff::store
