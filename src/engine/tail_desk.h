// Where readers of streams wait for the next frame, or for the end.
//
// A reader that found nothing waits here without a thread and without a view of the store. When
// something is written to its stream, all who wait for that stream are served by one read. Every
// public function may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

#include <ff/engine.h>

#include "store/store.h"

namespace ff::engine {

class TailDesk {
  public:
    using Job = std::move_only_function<void()>;
    /// Runs a job soon, on a thread that may read.
    using Later = std::function<void(Job)>;

    TailDesk(store::Store& store, Clock& clock, std::size_t waiting_max, Later later);

    /// Answers when there are frames, the stream is closed, or the time is over.
    void tail(TailStream op, Engine::DoneFn done);
    /// These executions have changed, and it is durable.
    void changed(std::span<const ExecutionId> executions);
    /// Anything may have changed.
    void changed_anywhere();
    /// Is anybody waiting? Only then changes need be told.
    [[nodiscard]] bool is_empty() const { return waiting_ == 0; }

    /// Answers those whose time is over.
    void expire();
    [[nodiscard]] std::optional<TimestampMs> next_deadline();
    /// Answers everybody with what there is; nobody waits from then on.
    void close();

  private:
    struct Stream {
        ExecutionId execution;
        std::uint32_t attempt_index = 0;
        auto operator<=>(const Stream&) const = default;
    };
    struct Reader {
        TailStream op;
        Engine::DoneFn done;
        TimestampMs deadline = 0;
        bool parked = false;
        bool stale = false;  ///< something was written while it read
        std::atomic<bool> abandoned = false;
        std::unique_ptr<std::stop_callback<std::function<void()>>> on_abandon;
    };
    using ReaderPtr = std::shared_ptr<Reader>;

    static Stream stream_of(const Reader& reader) {
        return {reader.op.execution_id, reader.op.attempt_index};
    }
    /// One reader by itself, for the first time or where a common read does not do.
    void read(const ReaderPtr& reader);
    /// All of them wait for one stream.
    void serve(std::vector<ReaderPtr> readers);
    /// True: it waits. False: it must read again.
    bool park(const ReaderPtr& reader);
    void leave(const ReaderPtr& reader);
    static void answer(const ReaderPtr& reader, Response response);
    void wake(std::vector<ReaderPtr> readers);
    /// Takes those that are parked out of `readers`; marks the others.
    std::vector<ReaderPtr> take_parked(const std::set<ReaderPtr>& readers);

    store::Store& store_;
    Clock& clock_;
    const std::size_t waiting_max_;
    const Later later_;
    std::atomic<std::size_t> waiting_{0};
    std::mutex mutex_;
    std::map<Stream, std::set<ReaderPtr>> readers_;            // guarded by mutex_
    std::set<std::pair<TimestampMs, ReaderPtr>> by_deadline_;  // guarded by mutex_: parked ones
    bool closed_ = false;                                      // guarded by mutex_
};

}  // namespace ff::engine
