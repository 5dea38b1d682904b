// Runtime: the inside of a Worker. Puts its parts together, starts them and winds them down.
//
//   Claimer --tasks--> Pool (handlers)          Shift: slots, and the wish to stop
//                        |  each a HeldTask     Keeper: renewals and heartbeats
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include <ff/worker.h>

#include "worker/claimer.h"
#include "worker/keeper.h"
#include "worker/pool.h"
#include "worker/setup.h"
#include "worker/shift.h"

namespace ff::worker {

/// How long handlers have to react when they are asked to stop in a shutdown. Then their work is
/// given to somebody else, whether they have stopped or not.
inline constexpr DurationMs drain_grace_ms = 5'000;

class Runtime {
  public:
    Runtime(std::shared_ptr<Engine> engine, WorkerOptions options);
    ~Runtime() { (void)stop(); }
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    void add(std::string kind, Handler handler);
    void add_state(std::type_index type, std::shared_ptr<void> state);
    void add_decoder(std::string encoding, PayloadDecoder decoder);

    expected<void> start();
    void request_stop();
    void wait() { shift_.wait_for_stop(); }
    [[nodiscard]] bool stopping() const { return shift_.stopping(); }
    [[nodiscard]] std::optional<Error> fatal() const { return shift_.fatal(); }
    expected<void> stop();
    expected<void> take(const Grant& grant);

    [[nodiscard]] const WorkerOptions& options() const { return setup_->options; }
    [[nodiscard]] WorkerStats stats() const;
    void log(Severity severity, const std::string& line) const { setup_->log(severity, line); }

  private:
    enum class Phase : std::uint8_t { setting_up, running, stopped };

    void note_fault(std::string fault);
    expected<void> check_setup();
    expected<void> sign_on();
    void tell_start() const;
    /// A slot has been taken for it.
    void begin(ClaimedTask claimed, TimestampMs received_at);
    void give_back(const std::vector<std::shared_ptr<HeldTask>>& tasks);
    /// For what is said in parting: asked once, and the answer waited for only so long.
    [[nodiscard]] std::vector<Response> ask_in_parting(std::vector<Request> requests) const;
    expected<ClaimedTask> use(const Grant& grant);
    void drain();
    void release_rest();
    void sign_off();

    const std::shared_ptr<Setup> setup_;  ///< changes until start(), never after
    std::optional<Error> fault_;          ///< of the setup, the first
    Shift shift_;
    const std::shared_ptr<Keeper> keeper_;
    Pool pool_;
    Claimer claimer_;

    std::mutex changing_;  ///< held by start() and stop()
    std::atomic<Phase> phase_{Phase::setting_up};
};

}  // namespace ff::worker
