// The writer: one thread that owns the store's writing side.
//
// It takes whatever waits, runs it as one batch (one transaction, one sync) and hands the batch to
// the finisher, which answers the callers when it is durable. While one batch is being written the
// next one gathers: a command alone is not delayed, a thousand share a sync. Between batches it
// handles what time has made due, runs the periodic passes and lets the store tidy up.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <ff/engine.h>

#include "engine/batch.h"
#include "engine/finisher.h"
#include "engine/scanners.h"

namespace ff::engine {

class Writer {
  public:
    /// Who is to be told of what was written; from any thread.
    struct Notices {
        Finisher::ChangedFn durable;
        std::function<void()> others;  ///< another process may have written anything
    };
    /// Who runs the periodic passes: they look at the whole store, so one of an engine's writers.
    enum class Passes : bool { others, own };
    Writer(store::Store& store, const core::Settings& settings, const EngineOptions& options,
           Clock& clock, IdSource& ids, Tally& tally, Passes passes, Notices notices = {});
    /// Stops as stop() does.
    ~Writer();

    /// Queues a command; `overloaded` or `shutting_down` come back through its own `done`, at once.
    void submit(Pending pending);
    void submit(std::vector<Pending> pendings);
    /// Takes no more commands, finishes what was taken, releases waiting claims, joins.
    void stop();
    /// Time may have moved: look at what is due.
    void wake();
    /// Another writer may have made work ready: look whether a waiting claim may have it.
    void look_for_work();

    /// The waiting claim of this number need not wait any longer. Any thread.
    void abandon(std::uint64_t claim);

    /// How much has been taken and is not done yet, by weight.
    [[nodiscard]] std::size_t load() const { return load_; }
    /// What the tally does not know.
    [[nodiscard]] EngineStats stats() const;
    [[nodiscard]] const ScannerLog& scanner_log() const { return scanners_.log(); }

  private:
    void run();
    std::vector<Pending> take(bool& stopping);
    /// Lets more commands come while that costs nothing: they share a transaction and a sync.
    void gather(std::unique_lock<std::mutex>& lock, DurationMs idle);
    /// Is what has come worth a batch, beside what the disk is at work on? Under mutex_.
    [[nodiscard]] bool is_enough() const;
    void stop_gathering();
    /// Is the writer to be woken for what has just been put into the inbox? Under mutex_.
    bool must_wake();
    /// To the finisher, with what the batch has changed.
    void hand_over(std::vector<Outcome> outcomes, bool wrote,
                   Finisher::Next next = Finisher::Next::none);
    void process(std::vector<Pending> commands, TimestampMs now);
    /// One transaction. On a shared store one that another process was in the way of is run again.
    Batch::Run transact(std::vector<Pending> commands, TimestampMs now, std::size_t due_max,
                        Waiting waiting);
    /// Runs one batch and sees to its answers; tells what became of the due work in it.
    ScannerResult run_batch(std::vector<Pending> commands, TimestampMs now, std::size_t due_max);
    /// Everything that is due, whatever is in the inbox.
    ScannerResult handle_due(TimestampMs now);
    /// A batch failed: what it held is run again, each by itself, so that only the guilty fails.
    void answer_refused(Batch::Run& run);
    void run_apart(Batch::Run failed, TimestampMs now);
    void run_alone(std::vector<Outcome> outcomes, TimestampMs now);
    void answer_abandoned();
    void run_scanner(Pending pending, TimestampMs now);
    [[nodiscard]] DurationMs idle_ms(TimestampMs now);
    [[nodiscard]] std::optional<Error> refuse(std::size_t commands, std::size_t bytes) const;

    store::Store& store_;
    const EngineOptions& options_;
    Clock& clock_;
    Batch::WarnFn warn_;
    Tally& tally_;
    const Passes passes_;
    Finisher finisher_;
    Batch batch_;
    Scanners scanners_;

    // Writer thread only.
    std::minstd_rand jitter_{std::random_device{}()};
    std::size_t weight_ = 0;    // of what is being run
    bool stumbled_ = false;     // the last batch failed, and was nobody's
    std::size_t answered_ = 0;  // callers of the last batch, who may be about to come back
    std::chrono::steady_clock::time_point expected_until_;  // and are waited for until then
    std::uint64_t tickets_ = 0;                             // given to commands that are run alone

    mutable std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<Pending> inbox_;            // guarded by mutex_
    std::size_t inbox_bytes_ = 0;           // guarded by mutex_
    std::vector<std::uint64_t> abandoned_;  // guarded by mutex_: numbers of claims
    bool stopping_ = false;                 // guarded by mutex_
    bool poked_ = false;                    // guarded by mutex_
    bool sleeping_ = false;                 // guarded by mutex_
    bool gathering_ = false;                // guarded by mutex_

    std::atomic<bool> others_wrote_{false};  ///< another process may have made work ready
    std::atomic<std::size_t> load_{0};
    std::atomic<std::uint64_t> commands_{0};
    std::atomic<std::uint64_t> batches_{0};
    std::atomic<std::uint64_t> due_handled_{0};
    std::atomic<std::uint64_t> waiting_{0};
    std::once_flag stopped_;
    std::thread thread_;
};

}  // namespace ff::engine
