// What suspensions and waitpoints go through, whoever makes them: shared by the decisions of
// suspension, by time, and by every end of an attempt.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/context.h"
#include "core/snapshot.h"

namespace ff::core {

/// Must the rows of suspension be looked at when this execution's attempt ends?
bool has_open_waits(const Execution& e);

/// A moment so long after another; the last one there is when that is beyond it.
TimestampMs later(TimestampMs now, DurationMs span);

/// The open suspension of an execution and its open waitpoints, taken out of the view to be
/// changed. put() writes what differs and brings the execution's own members up to date. A row that
/// should be there and is not is absent here too: who needs it says `corruption`.
class Waits {
  public:
    Waits(const Snapshot& view, const Execution& e);

    /// The open suspension, or the one a decision is about to open.
    std::optional<Suspension> suspension;
    std::map<WaitpointId, Waitpoint> waitpoints;

    /// Everything ends: the suspension and its waitpoints for `reason`, those that no suspension
    /// ever used with `never_committed`.
    void close_all(std::string_view reason, TimestampMs now);
    /// The suspension ends and the execution goes on; other waitpoints stay as they are.
    void close_resumed(const std::string& reason, TimestampMs now);
    /// Pending waitpoints whose time is over go.
    void close_expired_pending(TimestampMs now);

    void put(Execution& e, Changes& changes) const;

  private:
    const Snapshot& view_;
};

/// When an attempt ends, what it waited for is closed.
void close_waits(const Snapshot& view, Execution& e, std::string_view reason, Changes& changes,
                 TimestampMs now);

/// How a suspended execution becomes runnable again.
struct Resume {
    ResumeTrigger trigger = ResumeTrigger::signal;
    std::string close_reason = "resumed";
    DurationMs delay_ms = 0;
    std::string delay_detail;  ///< after `resume delay <n>ms`
    std::optional<SignalId> closer;
    std::optional<std::string> resumed_by;
};
void resume(Execution& e, Waits& waits, Resume how, TimestampMs now);

/// The reason people see, from the reason of a suspension.
BlockingReason blocking_reason_of(std::string_view reason_code);

/// The ids and keys a suspension was made with, the primary one first.
std::string encode_waitpoints(const std::vector<std::pair<WaitpointId, std::string>>& waitpoints);
expected<std::vector<std::pair<WaitpointId, std::string>>> decode_waitpoints(std::string_view text);

/// An event for those who follow signals.
/// `effect` is what they call it; a repetition has no effect of its own.
LogEvent signal_event(const Snapshot& view, const Execution& e, const Signal& signal,
                      std::string_view effect, TimestampMs now);

/// `corruption`: the suspension of this execution has no row that can be read.
Error no_suspension(const Execution& e);

/// Applies the timeout of the open suspension, which is due. Its signal is written when the
/// behaviour has one.
expected<void> apply_suspension_timeout(const Snapshot& view, Execution& e, Changes& changes,
                                        const Context& ctx);

}  // namespace ff::core
