// Keeper: renews the leases in hand and keeps the worker in the registry, on one thread.
//
// Each lease is renewed every third of its time, first one interval after its claim, together with
// a heartbeat in the same call. The thread sends and does not wait for answers: a call that
// hangs does not keep the next one from being made. It also notices when time alone is a reason for
// a handler to stop. Owned by the Runtime through a shared pointer, as answers may come late.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock_wait.h"
#include "worker/held_task.h"
#include "worker/pauses.h"
#include "worker/setup.h"

namespace ff::worker {

/// How this worker signs on.
RegisterWorker registration(const Setup& setup);

class Keeper : public std::enable_shared_from_this<Keeper> {
  public:
    /// `on_fatal` is called on the keeper's thread when the engine refuses the worker.
    Keeper(std::shared_ptr<const Setup> setup, std::function<void(const Error&)> on_fatal);

    /// The worker has been registered just now.
    void start();
    /// Renews the lease of a task until it is finished or dropped.
    void hold(std::shared_ptr<HeldTask> task, TimestampMs claimed_at);
    /// For a task that never began.
    void drop(const std::shared_ptr<HeldTask>& task);
    /// Ends the thread. Answers that come later are not looked at.
    void stop();

  private:
    struct Lease {
        std::shared_ptr<HeldTask> task;
        TimestampMs renew_at = 0;
        std::uint32_t unanswered = 0;  ///< renewals under way
    };
    /// What is to be sent at one moment.
    struct Round {
        bool heartbeat = false;
        bool registration = false;
        std::vector<std::shared_ptr<HeldTask>> renewals;
        std::vector<std::shared_ptr<HeldTask>> late;  ///< of these the last renewal is unanswered
    };
    struct Answer {
        TimestampMs sent_at = 0;
        Round round;
        std::vector<Response> responses;
    };

    void run();
    // The next four hold wait_.mutex().
    void drop_finished();
    Round plan(TimestampMs now);
    [[nodiscard]] TimestampMs next_due() const;
    void settle(const Answer& answer);

    void send(Round round, TimestampMs now);
    void receive(Answer answer);
    void digest(const Answer& answer);
    void digest_heartbeat(const Response& response);
    void digest_registration(const Response& response);

    // Fixed after construction.
    const std::shared_ptr<const Setup> setup_;
    const std::function<void(const Error&)> on_fatal_;

    const ClockWait wait_;
    // Guarded by wait_.mutex().
    std::vector<Lease> leases_;
    std::vector<Answer> inbox_;
    TimestampMs heartbeat_at_ = 0;
    std::optional<TimestampMs> register_at_;  ///< set: the registry does not know us
    TimestampMs look_at_ = ClockWait::never;  ///< when time may be a reason to stop
    bool changed_ = false;
    bool stopping_ = false;

    Pauses register_pauses_;  ///< keeper thread only
    std::thread thread_;
};

}  // namespace ff::worker
