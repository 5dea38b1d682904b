// The clock of a server elsewhere, followed from here: a local clock, and how far the server's is
// ahead of it, which somebody asks now and then. Reading the time asks nobody.
//
// Processes on several machines that follow one server agree on the time to about the time that a
// question takes, whatever the clocks of their machines say.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include <ff/clock.h>

namespace ff {

/// What another clock said at some moment between two of ours.
struct ClockSample {
    TimestampMs sent = 0;  ///< by our clock
    TimestampMs server = 0;
    TimestampMs received = 0;  ///< by our clock

    [[nodiscard]] DurationMs round_trip() const { return received - sent; }
    /// How far the other clock is ahead, if it was read in the middle.
    [[nodiscard]] DurationMs ahead() const { return server - (sent + round_trip() / 2); }
    /// Can it be as far ahead as that? What is below a millisecond was cut off.
    [[nodiscard]] bool allows(DurationMs ahead) const {
        return server - received - 1 <= ahead && ahead <= server - sent + 1;
    }
};

/// Thread-safe. Never goes back: when the server's clock is set back, see OnwardTime.
class ServerClock final : public Clock {
  public:
    /// By a clock of this machine that nobody sets: a wall clock that is set would be believed
    /// until the server is asked again.
    ServerClock();
    explicit ServerClock(std::shared_ptr<Clock> local) : local_(std::move(local)) {}

    /// Not before the first learn(): a time that is too late could not be taken back.
    TimestampMs now() override;
    DurationMs sleep_hint(TimestampMs due) override;
    std::uint64_t subscribe(std::function<void()> listener) override;
    void unsubscribe(std::uint64_t token) override { local_->unsubscribe(token); }

    /// What samples are taken by.
    [[nodiscard]] Clock& local() { return *local_; }
    /// Believes what a sample says, unless what it believes already can be true as well: how long
    /// an answer takes varies, and time is not to vary with it.
    void learn(const ClockSample& sample);
    /// How far the server's clock is ahead of the local one.
    [[nodiscard]] DurationMs ahead() const { return ahead_; }

  private:
    const std::shared_ptr<Clock> local_;
    std::atomic<DurationMs> ahead_{0};
    OnwardTime time_;
};

}  // namespace ff
