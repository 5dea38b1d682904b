#include "core/wait_invariants.h"

#include <algorithm>
#include <optional>

namespace ff::core {

std::vector<std::string> check_waits(const Execution& e, std::span<const Suspension> suspensions,
                                     std::span<const Waitpoint> waitpoints) {
    std::vector<std::string> findings;
    const auto require = [&](bool holds, const char* sentence) {
        if (!holds) {
            findings.emplace_back(sentence);
        }
    };
    const Suspension* open = nullptr;
    std::uint32_t newest = 0;
    for (const Suspension& row : suspensions) {
        newest = std::max(newest, row.key.episode);
        if (!row.closed_at) {
            require(open == nullptr, "W1: more than one suspension is open");
            open = &row;
        }
        require(row.waits_until.has_value() == !row.closed_at,
                "W1: a suspension is listed exactly while it is open");
        require(row.closed_at.has_value() == row.close_reason.has_value(),
                "W1: a suspension is closed for no reason");
    }
    require(newest == e.suspension_count, "W1: suspension_count is not the newest episode");
    const bool suspended = e.state.phase == LifecyclePhase::suspended;
    require(suspended == (open != nullptr), "W2: suspended exactly while a suspension is open");
    require(suspended == e.current_suspension_id.has_value() &&
                suspended == e.current_waitpoint_id.has_value(),
            "W2: current_suspension_id and current_waitpoint_id are set exactly when suspended");
    require(open == nullptr || e.current_suspension_id == open->id,
            "W2: the open suspension is not the current one");
    require(e.suspension_timeout_at ==
                (open != nullptr ? open->timeout_at : std::optional<TimestampMs>()),
            "W2: suspension_timeout_at is not the open suspension's");

    std::uint32_t still_open = 0;
    std::optional<TimestampMs> due;
    for (const Waitpoint& row : waitpoints) {
        still_open += row.open() ? 1 : 0;
        require(row.open() == !row.closed_at, "W5: closed_at of a waitpoint contradicts its state");
        if (row.state == WaitpointState::active) {
            require(open != nullptr && row.episode == open->key.episode,
                    "W5: an active waitpoint without its open suspension");
        }
        if (row.state == WaitpointState::pending) {
            require(!is_terminal(e.state) && row.attempt_index == e.current_attempt_index,
                    "W5: a pending waitpoint outlived its attempt");
            if (row.expires_at && (!due || *row.expires_at < *due)) {
                due = row.expires_at;
            }
        }
        require(row.matched_signal_count <= row.signal_count, "W5: more signals matched than came");
    }
    require(still_open == e.open_waitpoints, "W5: open_waitpoints is not their number");
    require(due == e.waitpoint_due_at, "W5: waitpoint_due_at is not the earliest expiry");
    return findings;
}

}  // namespace ff::core
