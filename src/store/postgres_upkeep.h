// The upkeep of a PostgreSQL store's tables, in a thread of its own: VACUUM where rows come and go
// faster than autovacuum comes by, ANALYZE where the planner believes a table to be next to empty
// that is not.
//
// Plans are made once and kept. One that was made while a table was empty, or seemed so from its
// last VACUUM, may walk the whole of an index for every row: that takes no time then, and a second
// a row soon after. Autovacuum puts it right a minute later; here it takes a few seconds, and every
// session of every process makes its plans anew.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "store/postgres_db.h"

namespace ff::store {

class PgUpkeep {
  public:
    using WarnFn = std::function<void(std::string_view)>;

    /// Connects only when there is something to do.
    PgUpkeep(std::string url, WarnFn warn);
    /// Whatever is under way is broken off.
    ~PgUpkeep();
    PgUpkeep(const PgUpkeep&) = delete;
    PgUpkeep& operator=(const PgUpkeep&) = delete;

    /// A transaction was committed that deleted so many rows of the queue tables.
    void note_commit(std::uint64_t deleted);

  private:
    using Clock = std::chrono::steady_clock;

    void run();
    void work();
    /// Waits; true when it is time to stop.
    bool rest(std::chrono::milliseconds time);
    /// False when there is no server: the writer will tell.
    bool connected();
    /// Runs a statement of which the warning says what it was for; false when it failed.
    bool did(const std::string& statement, std::string_view what);
    [[nodiscard]] bool vacuum_due() const;
    void vacuum_queues();
    /// Have there been commits whose rows may be counted by now, and is it time to look?
    bool growth_due();
    void analyze_grown();
    /// Tables that have outgrown what the planner knows, but those that were seen to just now.
    expected<std::vector<std::string>> find_grown();

    const std::string url_;
    const WarnFn warn_;
    std::atomic<std::uint64_t> deleted_ = 0;
    std::atomic<bool> written_ = false;

    // Its thread only.
    Clock::time_point vacuum_at_{};
    Clock::time_point look_at_{};
    Clock::time_point look_until_{};
    std::unordered_map<std::string, Clock::time_point>
        again_at_;  ///< not analyzed before, by table

    std::mutex stop_mutex_;
    std::condition_variable stopped_;
    bool stop_ = false;   // guarded by stop_mutex_
    bool ended_ = false;  // guarded by stop_mutex_: the thread will do no more
    /// Used by its thread only, and changed under stop_mutex_.
    std::unique_ptr<PgConnection> connection_;
    std::thread thread_;
};

}  // namespace ff::store
