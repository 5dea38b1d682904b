#include "engine/tail_desk.h"

#include <algorithm>
#include <utility>

#include "engine/reads.h"
#include "engine/stream_reads.h"

namespace ff::engine {

TailDesk::TailDesk(store::Store& store, Clock& clock, std::size_t waiting_max, Later later)
    : store_(store), clock_(clock), waiting_max_(waiting_max), later_(std::move(later)) {}

void TailDesk::tail(TailStream op, Engine::DoneFn done) {
    if (auto fine = check(op); !fine) {
        done(std::unexpected(std::move(fine).error()));
        return;
    }
    auto reader = std::make_shared<Reader>();
    reader->deadline = clock_.now() + op.block_ms;
    reader->op = std::move(op);
    reader->done = std::move(done);
    {
        std::lock_guard lock(mutex_);
        if (waiting_ >= waiting_max_) {
            reader->deadline = 0;  // it may look, but not wait
        }
        reader->abandoned = closed_;
        readers_[stream_of(*reader)].insert(reader);
        waiting_ += 1;
    }
    if (reader->op.abandoned.stop_possible()) {
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
    read(reader);
}

std::vector<TailDesk::ReaderPtr> TailDesk::take_parked(const std::set<ReaderPtr>& readers) {
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

void TailDesk::wake(std::vector<ReaderPtr> readers) {
    std::ranges::sort(readers, {}, [](const ReaderPtr& reader) { return stream_of(*reader); });
    for (auto from = readers.begin(); from != readers.end();) {
        const auto to = std::find_if(from, readers.end(), [&](const ReaderPtr& reader) {
            return stream_of(*reader) != stream_of(**from);
        });
        later_([this, group = std::vector<ReaderPtr>(from, to)]() mutable {
            serve(std::move(group));
        });
        from = to;
    }
}

void TailDesk::changed(std::span<const ExecutionId> executions) {
    if (is_empty()) {
        return;
    }
    std::vector<ReaderPtr> woken;
    {
        std::lock_guard lock(mutex_);
        for (const ExecutionId& id : executions) {
            for (auto it = readers_.lower_bound({id, 0});
                 it != readers_.end() && it->first.execution == id; ++it) {
                std::ranges::move(take_parked(it->second), std::back_inserter(woken));
            }
        }
    }
    wake(std::move(woken));
}

void TailDesk::changed_anywhere() {
    if (is_empty()) {
        return;
    }
    std::vector<ReaderPtr> woken;
    {
        std::lock_guard lock(mutex_);
        for (const auto& [stream, readers] : readers_) {
            std::ranges::move(take_parked(readers), std::back_inserter(woken));
        }
    }
    wake(std::move(woken));
}

bool TailDesk::park(const ReaderPtr& reader) {
    std::lock_guard lock(mutex_);
    if (std::exchange(reader->stale, false) || reader->abandoned) {
        return false;
    }
    reader->parked = true;
    by_deadline_.emplace(reader->deadline, reader);
    return true;
}

void TailDesk::leave(const ReaderPtr& reader) {
    {
        std::lock_guard lock(mutex_);
        const auto it = readers_.find(stream_of(*reader));
        it->second.erase(reader);
        if (it->second.empty()) {
            readers_.erase(it);
        }
        waiting_ -= 1;
    }
    reader->on_abandon.reset();  // waits for one that is running, which takes the lock
}

void TailDesk::answer(const ReaderPtr& reader, Response response) {
    reader->done(std::move(response));
}

namespace {

bool has_end(const StreamPage& page) { return !page.frames.empty() || page.closed_at.has_value(); }

}  // namespace

void TailDesk::read(const ReaderPtr& reader) {
    for (;;) {
        const bool last = reader->abandoned || reader->deadline <= clock_.now();
        auto page = engine::answer(reader->op, ReadContext{store_, clock_.now(), nullptr});
        if (!page || last || has_end(*page)) {
            leave(reader);
            answer(reader, page ? Response(Reply(std::move(*page)))
                                : Response(std::unexpected(std::move(page).error())));
            return;
        }
        if (park(reader)) {
            return;
        }
    }
}

void TailDesk::serve(std::vector<ReaderPtr> readers) {
    if (readers.size() == 1) {
        read(readers.front());
        return;
    }
    // From the place of the one that is furthest behind; all of them, whatever they filter.
    TailStream common;
    common.execution_id = readers.front()->op.execution_id;
    common.attempt_index = readers.front()->op.attempt_index;
    common.after = (*std::ranges::min_element(readers, {}, [](const ReaderPtr& r) {
                       return r->op.after.id;
                   }))->op.after;
    common.limit = frames_per_read_max;
    const TimestampMs now = clock_.now();
    auto page = engine::answer(common, ReadContext{store_, now, nullptr});
    for (const ReaderPtr& reader : readers) {
        if (!page) {
            leave(reader);
            answer(reader, std::unexpected(page.error()));
            continue;
        }
        StreamPage own{{}, page->closed_at, page->closed_reason};
        for (const StreamFrame& frame : page->frames) {
            if (own.frames.size() < reader->op.limit && is_wanted(reader->op, frame)) {
                own.frames.push_back(frame);
            }
        }
        // A page may end before the stream does: what this reader wants may stand behind it.
        const bool unsure = own.frames.empty() && !page->frames.empty();
        if ((has_end(own) && !unsure) || reader->abandoned || reader->deadline <= now) {
            leave(reader);
            answer(reader, Response(Reply(std::move(own))));
        } else if (unsure || !park(reader)) {
            read(reader);
        }
    }
}

void TailDesk::expire() {
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

std::optional<TimestampMs> TailDesk::next_deadline() {
    std::lock_guard lock(mutex_);
    return by_deadline_.empty() ? std::nullopt : std::optional(by_deadline_.begin()->first);
}

void TailDesk::close() {
    std::vector<ReaderPtr> all;
    {
        std::lock_guard lock(mutex_);
        closed_ = true;
        for (const auto& [stream, readers] : readers_) {
            for (const ReaderPtr& reader : readers) {
                reader->abandoned = true;
            }
            std::ranges::move(take_parked(readers), std::back_inserter(all));
        }
    }
    wake(std::move(all));
}

}  // namespace ff::engine
