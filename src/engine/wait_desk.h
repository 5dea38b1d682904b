// Where reads wait for something to be written.
//
// A read that found nothing waits here without a thread and without a view of the store. When
// something is written to the place it looks at, all who wait for that place are served by one
// read. Every public function may be called from any thread.
//
// `Kind` says what is read:
//   Op, Page                     the operation, with `block_ms` and `abandoned`, and its answer
//   Place                        what readers wait for together, ordered
//   place_of(op)
//   check(op)                    shape and limits
//   read(op, context)            a page; an op that read nothing may be moved on to where it ended
//   is_answer(page)              must not wait
//   is_last(page)                nothing was behind it: only then waiting makes sense
//   common(ops)                  one read that does for all of them
//   share(op, page)              what of that one read is this op's; moves the op on
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>
#include <vector>

#include <ff/engine.h>

#include "engine/reads.h"
#include "store/store.h"

namespace ff::engine {

/// Runs a job soon, on a thread that may read. Such threads go on, after close(), for as long as
/// somebody waits; a job that is empty only lets them look again whether that is so.
using ReadJob = std::move_only_function<void()>;
using ReadLater = std::function<void(ReadJob)>;

template <class Kind>
class WaitDesk {
  public:
    using Op = typename Kind::Op;
    using Page = typename Kind::Page;
    using Place = typename Kind::Place;

    WaitDesk(store::Store& store, Clock& clock, std::size_t waiting_max, ReadLater later)
        : store_(store), clock_(clock), waiting_max_(waiting_max), later_(std::move(later)) {}

    /// Answers when there is something, or the time is over, which began when it was asked.
    void ask(Op op, TimestampMs asked_at, Engine::DoneFn done);
    /// Something was written to the places of [from, to], and it is durable.
    void changed(const Place& from, const Place& to) {
        if (is_empty()) {
            return;
        }
        std::vector<ReaderPtr> woken;
        {
            std::lock_guard lock(mutex_);
            for (auto it = readers_.lower_bound(from); it != readers_.end() && it->first <= to;
                 ++it) {
                std::ranges::move(take_parked(it->second), std::back_inserter(woken));
            }
        }
        wake(std::move(woken));
    }
    /// Anything may have changed.
    void changed_anywhere() {
        std::vector<ReaderPtr> woken;
        {
            std::lock_guard lock(mutex_);
            for (const auto& [place, readers] : readers_) {
                std::ranges::move(take_parked(readers), std::back_inserter(woken));
            }
        }
        wake(std::move(woken));
    }
    /// Is nobody waiting? Then changes need not be told.
    [[nodiscard]] bool is_empty() const { return waiting_ == 0; }
    [[nodiscard]] std::size_t waiting() const { return waiting_; }

    /// How many wait at the places of [from, to].
    [[nodiscard]] std::size_t waiting(const Place& from, const Place& to) {
        std::lock_guard lock(mutex_);
        std::size_t out = 0;
        for (auto it = readers_.lower_bound(from); it != readers_.end() && it->first <= to; ++it) {
            out += it->second.size();
        }
        return out;
    }

    /// Answers those whose time is over.
    void expire();
    [[nodiscard]] std::optional<TimestampMs> next_deadline() {
        std::lock_guard lock(mutex_);
        return by_deadline_.empty() ? std::nullopt : std::optional(by_deadline_.begin()->first);
    }
    /// Answers everybody with what there is; nobody waits from then on.
    void close();

  private:
    struct Reader {
        Op op;
        Place place;
        Engine::DoneFn done;
        TimestampMs deadline = 0;
        bool parked = false;
        bool stale = false;  ///< something was written while it read
        std::atomic<bool> abandoned = false;
        std::unique_ptr<std::stop_callback<std::function<void()>>> on_abandon;
    };
    using ReaderPtr = std::shared_ptr<Reader>;

    void watch(const ReaderPtr& reader);
    /// One reader by itself, for the first time or where a common read does not do. One page; for
    /// more it stands behind those who read too.
    void read(const ReaderPtr& reader);
    void read_on(const ReaderPtr& reader) {
        later_([this, reader] { read(reader); });
    }
    /// All of them wait for one place.
    void serve(std::vector<ReaderPtr> readers);
    [[nodiscard]] bool is_over(const Reader& reader) const {
        return reader.abandoned || reader.deadline <= clock_.now();
    }
    /// True: it waits. False: it must read again.
    bool park(const ReaderPtr& reader) {
        std::lock_guard lock(mutex_);
        if (std::exchange(reader->stale, false) || reader->abandoned) {
            return false;
        }
        reader->parked = true;
        by_deadline_.emplace(reader->deadline, reader);
        return true;
    }
    void answer(const ReaderPtr& reader, expected<Page> page);
    void wake(std::vector<ReaderPtr> readers);
    /// Takes those that are parked out of `readers`; marks the others.
    std::vector<ReaderPtr> take_parked(const std::set<ReaderPtr>& readers);

    store::Store& store_;
    Clock& clock_;
    const std::size_t waiting_max_;
    const ReadLater later_;
    std::atomic<std::size_t> waiting_{0};
    std::mutex mutex_;
    std::map<Place, std::set<ReaderPtr>> readers_;             // guarded by mutex_
    std::set<std::pair<TimestampMs, ReaderPtr>> by_deadline_;  // guarded by mutex_: parked ones
    bool closed_ = false;                                      // guarded by mutex_
};

template <class Kind>
void WaitDesk<Kind>::ask(Op op, TimestampMs asked_at, Engine::DoneFn done) {
    if (auto fine = Kind::check(op); !fine) {
        done(std::unexpected(std::move(fine).error()));
        return;
    }
    auto reader = std::make_shared<Reader>();
    reader->deadline = asked_at + op.block_ms;
    reader->place = Kind::place_of(op);
    reader->op = std::move(op);
    reader->done = std::move(done);
    {
        std::lock_guard lock(mutex_);
        if (waiting_ >= waiting_max_) {
            reader->deadline = 0;  // it may look, but not wait
        }
        reader->abandoned = closed_;
        readers_[reader->place].insert(reader);
        waiting_ += 1;
    }
    watch(reader);
    read(reader);
}

template <class Kind>
void WaitDesk<Kind>::watch(const ReaderPtr& reader) {
    if (!reader->op.abandoned.stop_possible()) {
        return;
    }
    const std::weak_ptr<Reader> weak = reader;
    reader->on_abandon = std::make_unique<std::stop_callback<std::function<void()>>>(
        reader->op.abandoned, [this, weak] {
            const ReaderPtr gone = weak.lock();
            if (!gone) {
                return;
            }
            std::unique_lock lock(mutex_);
            gone->abandoned = true;
            auto parked = take_parked({gone});
            lock.unlock();
            wake(std::move(parked));
        });
}

template <class Kind>
std::vector<typename WaitDesk<Kind>::ReaderPtr> WaitDesk<Kind>::take_parked(
    const std::set<ReaderPtr>& readers) {
    std::vector<ReaderPtr> out;
    for (const ReaderPtr& reader : readers) {
        reader->stale = !reader->parked;
        if (std::exchange(reader->parked, false)) {
            by_deadline_.erase({reader->deadline, reader});
            out.push_back(reader);
        }
    }
    return out;
}

template <class Kind>
void WaitDesk<Kind>::wake(std::vector<ReaderPtr> readers) {
    std::ranges::sort(readers, {}, [](const ReaderPtr& reader) { return reader->place; });
    for (auto from = readers.begin(); from != readers.end();) {
        const auto to = std::find_if(from, readers.end(), [&](const ReaderPtr& reader) {
            return reader->place != (*from)->place;
        });
        later_([this, group = std::vector<ReaderPtr>(from, to)]() mutable {
            serve(std::move(group));
        });
        from = to;
    }
}

template <class Kind>
void WaitDesk<Kind>::answer(const ReaderPtr& reader, expected<Page> page) {
    bool was_last = false;
    {
        std::lock_guard lock(mutex_);
        const auto it = readers_.find(reader->place);
        it->second.erase(reader);
        if (it->second.empty()) {
            readers_.erase(it);
        }
        was_last = --waiting_ == 0 && closed_;
    }
    if (was_last) {
        later_({});
    }
    reader->on_abandon.reset();  // waits for one that is running, which takes the lock
    reader->done(page ? Response(Reply(std::move(*page)))
                      : Response(std::unexpected(std::move(page).error())));
}

template <class Kind>
void WaitDesk<Kind>::read(const ReaderPtr& reader) {
    const bool over = is_over(*reader);
    auto page = Kind::read(reader->op, ReadContext{store_, clock_.now(), nullptr});
    if (!page || over || Kind::is_answer(*page)) {
        answer(reader, std::move(page));
    } else if (!Kind::is_last(*page) || !park(reader)) {
        read_on(reader);
    }
}

template <class Kind>
void WaitDesk<Kind>::serve(std::vector<ReaderPtr> readers) {
    if (readers.size() == 1) {
        read(readers.front());
        return;
    }
    std::vector<const Op*> ops;
    for (const ReaderPtr& reader : readers) {
        ops.push_back(&reader->op);
    }
    Op common = Kind::common(ops);
    auto page = Kind::read(common, ReadContext{store_, clock_.now(), nullptr});
    for (const ReaderPtr& reader : readers) {
        if (!page) {
            answer(reader, std::unexpected(page.error()));
            continue;
        }
        Page own = Kind::share(reader->op, *page);
        if (Kind::is_answer(own) || is_over(*reader)) {
            answer(reader, std::move(own));
        } else if (!Kind::is_last(*page) || !park(reader)) {
            read_on(reader);  // the page was for others; there may be more behind it
        }
    }
}

template <class Kind>
void WaitDesk<Kind>::expire() {
    std::vector<ReaderPtr> over;
    {
        std::lock_guard lock(mutex_);
        const TimestampMs now = clock_.now();
        while (!by_deadline_.empty() && by_deadline_.begin()->first <= now) {
            std::ranges::move(take_parked({by_deadline_.begin()->second}),
                              std::back_inserter(over));
        }
    }
    wake(std::move(over));
}

template <class Kind>
void WaitDesk<Kind>::close() {
    std::vector<ReaderPtr> all;
    {
        std::lock_guard lock(mutex_);
        closed_ = true;
        for (const auto& [place, readers] : readers_) {
            for (const ReaderPtr& reader : readers) {
                reader->abandoned = true;
            }
            std::ranges::move(take_parked(readers), std::back_inserter(all));
        }
    }
    wake(std::move(all));
}

}  // namespace ff::engine
