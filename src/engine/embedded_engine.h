// The engine in this process: checks what callers give, sends writes to the writer and answers
// reads beside it. Operations are checked and prepared on the caller's thread, so that the writer
// only decides.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <ff/engine.h>

#include "core/context.h"
#include "engine/event_desk.h"
#include "engine/event_lag.h"
#include "engine/tail_desk.h"
#include "engine/writers.h"
#include "store/location.h"
#include "store/store.h"

namespace ff::engine {

/// Where warnings go unless the embedder takes them.
void warn_to_stderr(std::string_view text);

class EmbeddedEngine final : public Engine {
  public:
    /// Takes over an open store. `open_second` opens the same database once more: see Writers.
    static expected<std::shared_ptr<EmbeddedEngine>> start(std::unique_ptr<store::Store> store,
                                                           EngineOptions options,
                                                           Writers::OpenStore open_second = {});
    ~EmbeddedEngine() override;

    void call(Request request, DoneFn done) override;
    void call_many(std::vector<Request> requests,
                   std::move_only_function<void(std::vector<Response>)> done) override;
    Response run_any(Request request) override;
    [[nodiscard]] EngineStats stats() const override;
    [[nodiscard]] TimestampMs now() const override { return clock_->now(); }
    void stop() override;

    store::Store& store() { return *store_; }

  private:
    EmbeddedEngine(std::unique_ptr<store::Store> store, EngineOptions options);

    expected<void> register_lanes();
    /// The configured secret signs tokens, unless the store has a key already.
    expected<void> install_secret();
    /// What came into the store before there was a key to seal it with.
    expected<void> seal_secrets();
    /// The checked command, ready for the writer; or the rejection.
    expected<Command> prepare(Request request);
    /// Answers a read on this thread.
    Response read(const Request& request);
    /// A claim that waits hears when nobody wants it any more.
    void watch_abandonment(Pending& pending);
    void read_later(Request request, DoneFn done);
    /// Answers a read, or begins what begins with one, on a reading thread.
    void read_now(const Request& request, TimestampMs asked_at, DoneFn done);
    void submit(Request request, DoneFn done);
    /// Finds the place where a webhook begins, then creates it.
    void create_webhook(CreateWebhook args, DoneFn done);
    /// Counts the waitpoints that a rotation leaves behind, then rotates.
    void rotate_key(const RotateWaitpointKey& args, DoneFn done);
    void run_reads();
    /// Has the lag of webhooks counted again, if the last count is old.
    void renew_lag() const;
    [[nodiscard]] std::optional<TimestampMs> next_deadline();

    EngineOptions options_;
    std::shared_ptr<Clock> clock_;
    std::shared_ptr<IdSource> ids_;
    std::unique_ptr<store::Store> store_;
    core::Settings settings_;
    std::unique_ptr<TailDesk> tails_;  // the writer tells them of changes
    std::unique_ptr<EventDesk> events_;
    std::unique_ptr<Writers> writers_;
    mutable EventLag lag_;
    std::uint64_t clock_token_ = 0;
    std::atomic<std::uint64_t> claim_numbers_{0};

    // Reads asked for with a callback run here.
    mutable std::mutex reads_mutex_;
    mutable std::condition_variable reads_arrived_;
    mutable std::deque<ReadJob> reads_;  // guarded by reads_mutex_
    bool clock_moved_ = false;           // guarded by reads_mutex_
    std::atomic<bool> stopping_{false};  // set under reads_mutex_
    std::vector<std::thread> readers_;
    std::once_flag stopped_;
};

}  // namespace ff::engine
