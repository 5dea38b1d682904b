// An engine for the tests of those who use the library: in memory, on a clock that only the test
// moves.
//
//   auto engine = std::make_shared<ff::testing::Engine>();
//   ff::Client client(engine);
//   engine->advance(60s);                     // delays end, leases run out, sweeps run
//
// A whole engine, not a model of one. Give its clock to workers of the test, so that they wait by
// the same time; clients go by it anyway.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <ff/clock.h>
#include <ff/engine.h>

namespace ff::testing {

class Engine final : public ff::Engine {
  public:
    /// Clock and store are its own, whatever the options say. Throws ff::Exception for bad options.
    explicit Engine(EngineOptions options = {});

    [[nodiscard]] const std::shared_ptr<ManualClock>& clock() const { return clock_; }
    [[nodiscard]] TimestampMs now() const override { return clock_->now(); }
    /// Moves time forward. When it returns, everything that became due has happened in the engine;
    /// what threads of a worker make of it takes its own time. One step is one moment: a lease that
    /// ends within it has ended, even if its worker would have renewed it on the way.
    void advance(DurationMs ms);
    void advance(std::chrono::milliseconds by) { advance(static_cast<DurationMs>(by.count())); }

    void call(Request request, DoneFn done) override;
    void call_many(std::vector<Request> requests,
                   std::move_only_function<void(std::vector<Response>)> done) override;
    Response run_any(Request request) override;
    [[nodiscard]] EngineStats stats() const override;
    void stop() override;

  private:
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
    std::shared_ptr<ff::Engine> inner_;
};

}  // namespace ff::testing
