#include "engine/finisher.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "engine/engine_thread.h"

namespace ff::engine {

Finisher::Finisher(store::Store& store, Tally& tally, ChangedFn told, std::function<void()> synced)
    : store_(store),
      tally_(tally),
      told_(std::move(told)),
      synced_(std::move(synced)),
      thread_([this] { run(); }) {}

Finisher::~Finisher() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    work_.notify_one();
    thread_.join();
}

bool Finisher::finish(std::vector<Outcome> outcomes, bool wrote, Changed changed, Next next) {
    tally_.answered(outcomes);
    if (store_.commits_are_durable()) {
        if (told_ && !changed.empty()) {
            told_(changed);
        }
        for (Outcome& outcome : outcomes) {
            outcome.pending.done(std::move(outcome.response));
        }
        return true;
    }
    std::unique_lock lock(mutex_);
    if (next == Next::none && batches_ == 0 && !busy_) {
        busy_ = true;
        std::optional<Error> broken = broken_;
        lock.unlock();
        sync(wrote, broken);
        answer(outcomes, changed, broken);
        lock.lock();
        broken_ = std::move(broken);
        busy_ = false;
        room_.notify_all();
        return true;
    }
    room_.wait(lock, [&] { return batches_ < batches_max; });
    batches_ += 1;
    unsynced_callers_ += outcomes.size();
    wrote_ = wrote_ || wrote;
    changed_.add(std::move(changed));
    if (outcomes_.empty()) {
        outcomes_ = std::move(outcomes);
    } else {
        std::ranges::move(outcomes, std::back_inserter(outcomes_));
    }
    const bool wake = !busy_;
    lock.unlock();
    if (wake) {
        work_.notify_one();
    }
    return false;
}

void Finisher::drain() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return batches_ == 0 && !busy_; });
}

bool Finisher::broken() {
    std::lock_guard lock(mutex_);
    return broken_.has_value();
}

void Finisher::sync(bool wrote, std::optional<Error>& broken) {
    if (wrote && !broken) {
        const auto began = std::chrono::steady_clock::now();
        if (auto synced = store_.make_durable(); !synced) {
            broken = std::move(synced).error();
        }
        tally_.synced(std::chrono::steady_clock::now() - began);
    }
}

void Finisher::answer(std::vector<Outcome>& outcomes, const Changed& changed,
                      const std::optional<Error>& broken) {
    if (told_ && !broken && !changed.empty()) {
        told_(changed);
    }
    for (Outcome& outcome : outcomes) {
        outcome.pending.done(broken ? Response(std::unexpected(*broken))
                                    : std::move(outcome.response));
    }
    // Now, not with the next batch: what the callbacks own may be waited for, and letting it go
    // may call back in here.
    outcomes.clear();
}

void Finisher::run() {
    enter_engine_thread("ff-finisher");
    std::vector<Outcome> outcomes;
    Changed changed;
    std::unique_lock lock(mutex_);
    for (;;) {
        work_.wait(lock, [&] { return batches_ > 0 || stop_; });
        if (batches_ == 0) {
            return;
        }
        std::swap(outcomes, outcomes_);
        std::swap(changed, changed_);
        const bool wrote = std::exchange(wrote_, false);
        batches_ = 0;
        busy_ = true;
        std::optional<Error> broken = broken_;
        lock.unlock();
        room_.notify_all();

        sync(wrote, broken);
        unsynced_callers_ -= outcomes.size();
        if (synced_) {
            synced_();
        }
        answer(outcomes, changed, broken);
        changed = {};

        lock.lock();
        broken_ = std::move(broken);
        busy_ = false;
        if (batches_ == 0) {
            room_.notify_all();
        }
    }
}

}  // namespace ff::engine
