// Whether the cancellation of a flow has reached all it is for.
#pragma once

#include <cstdint>

#include <ff/flows.h>

namespace ff::core {

/// How many members a cancelled flow's policy is still to reach, by what its summary counts.
inline std::uint64_t cancel_left(CancellationPolicy policy, const FlowSummary& summary) {
    std::uint64_t left = 0;
    for (const auto& [state, count] : summary.members) {
        switch (state) {
            case PublicState::waiting:
            case PublicState::delayed:
            case PublicState::rate_limited:
            case PublicState::waiting_children:
            case PublicState::resumable:
                left += policy == CancellationPolicy::flow_only ? 0 : count;
                break;
            case PublicState::active:
            case PublicState::suspended:
                left += policy == CancellationPolicy::cancel_all ? count : 0;
                break;
            case PublicState::completed:
            case PublicState::failed:
            case PublicState::cancelled:
            case PublicState::expired:
            case PublicState::skipped: break;
        }
    }
    return left;
}

}  // namespace ff::core
