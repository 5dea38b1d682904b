// Makes batches durable and answers their callers, on a thread of its own, so that the writer can
// work on the next batch while the disk works on this one. When there is no next batch the writer
// does it itself: handing over would only cost the callers a change of threads.
//
// Batches are finished in the order they were committed. If a sync fails, what is on disk is not
// known: every answer from then on is that error, and the engine must be restarted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "engine/command.h"
#include "engine/tally.h"
#include "store/store.h"

namespace ff::engine {

class Finisher {
  public:
    /// Hears of what a durable batch has changed, before its callers are answered.
    using ChangedFn = std::function<void(const Changed&)>;

    /// `synced` is called when the disk has what it was given, before anybody is answered; from
    /// the finisher's thread only.
    Finisher(store::Store& store, Tally& tally, ChangedFn told = {},
             std::function<void()> synced = {});
    /// Finishes everything handed over.
    ~Finisher();

    /// Is there anything for the writer to do while the disk works?
    enum class Next : bool { none, waits };
    /// Takes over a committed batch. Waits while too many batches are unfinished. With nothing to
    /// do next, and no batch before it, it is finished at once. True when it has been.
    bool finish(std::vector<Outcome> outcomes, bool wrote, Changed changed = {},
                Next next = Next::waits);
    /// Callers of batches that were handed over and that the disk does not have yet.
    [[nodiscard]] std::size_t unsynced_callers() const { return unsynced_callers_; }
    /// Waits until everything handed over so far has been answered.
    void drain();
    /// True after a failed sync.
    [[nodiscard]] bool broken();

  private:
    void run();
    /// Makes durable what was written, unless an earlier sync has failed.
    void sync(bool wrote, std::optional<Error>& broken);
    /// Tells and answers. Nobody else may be at it.
    void answer(std::vector<Outcome>& outcomes, const Changed& changed,
                const std::optional<Error>& broken);

    /// More than this and the writer waits: small batches gain nothing from running further ahead.
    static constexpr std::size_t batches_max = 2;

    store::Store& store_;
    Tally& tally_;
    std::mutex mutex_;
    std::condition_variable work_;
    std::condition_variable room_;
    const ChangedFn told_;
    const std::function<void()> synced_;
    std::atomic<std::size_t> unsynced_callers_{0};
    std::vector<Outcome> outcomes_;  // guarded by mutex_
    Changed changed_;                // guarded by mutex_
    std::size_t batches_ = 0;        // guarded by mutex_: handed over, not taken yet
    bool wrote_ = false;             // guarded by mutex_
    bool busy_ = false;              // guarded by mutex_
    bool stop_ = false;              // guarded by mutex_
    std::optional<Error> broken_;    // guarded by mutex_
    std::thread thread_;
};

}  // namespace ff::engine
