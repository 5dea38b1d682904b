// The writers of one engine: one, or two.
//
// A file has one. A database that processes share may have a second: it has a connection of its own
// and is to the first what another process would be, with timers of its own for what it wrote, so
// nothing has to know which of them changes what. The first does everything. The second has no
// claims that wait and no periodic passes; it takes plain commands over while the first has more
// than fill a transaction, so that the server is at work on two. Fewer are better off together:
// sixteen commands in two transactions cost more than in one. It is opened when it is first wanted,
// beside everything else.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/writer.h"

namespace ff::engine {

class Writers {
  public:
    using OpenStore = std::function<expected<std::unique_ptr<store::Store>>()>;

    /// `open_second` opens the same database once more; empty where there is to be one writer.
    Writers(store::Store& store, const core::Settings& settings, const EngineOptions& options,
            Clock& clock, IdSource& ids, Writer::Notices notices, OpenStore open_second);
    /// Stops as stop() does.
    ~Writers();
    Writers(const Writers&) = delete;
    Writers& operator=(const Writers&) = delete;

    /// As Writer::submit. Commands that come together are run by one writer, in their order.
    void submit(Pending pending);
    void submit(std::vector<Pending> pendings);
    /// As Writer::stop, for both.
    void stop();
    /// Time may have moved.
    void wake();
    /// A claim that waits: these are the first one's.
    void abandon(std::uint64_t claim) { first_.abandon(claim); }

    [[nodiscard]] EngineStats stats() const;
    [[nodiscard]] const ScannerLog& scanner_log() const { return first_.scanner_log(); }

  private:
    // What one of them has written: for everybody, and for the other one.
    void first_wrote(const Changed& changed);
    void second_wrote(const Changed& changed);
    /// Who is to have commands that either may run.
    Writer& less_loaded();
    void open_second();

    const core::Settings& settings_;
    const EngineOptions& options_;
    Clock& clock_;
    IdSource& ids_;
    Finisher::ChangedFn durable_;
    OpenStore open_store_;
    store::Store& first_store_;
    Tally tally_;
    std::atomic<store::Store*> second_place_{nullptr};  // set once it is there
    Writer first_;

    std::atomic<int> crowded_{0};  // commands that found the first with enough, less those not
    std::mutex mutex_;
    bool asked_ = false;    // guarded by mutex_
    bool stopped_ = false;  // guarded by mutex_
    std::thread opener_;    // guarded by mutex_
    std::unique_ptr<store::Store> second_store_;
    std::unique_ptr<Writer> second_owner_;
    std::atomic<Writer*> second_{nullptr};  // set once it is there
};

}  // namespace ff::engine
