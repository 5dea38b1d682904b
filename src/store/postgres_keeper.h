// What a PostgreSQL store hears from outside while it is open: word from other processes, and what
// time it is.
//
// Another process that made work ready says so with NOTIFY, in its transaction. That it has written
// something for readers its keeper says, some times a second: commits that notify go one at a time
// in the whole server, each through its flush. Where notifications do not arrive (a pooler in
// transaction mode swallows them) the keeper asks to look several times a second.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <ff/engine.h>

#include "base/server_clock.h"
#include "store/postgres_db.h"
#include "store/store.h"

namespace ff::store {

class PgKeeper {
  public:
    using WarnFn = std::function<void(std::string_view)>;
    /// Stands behind the name of a process that has made nothing ready.
    static constexpr std::string_view rows_only = " rows";

    /// What is said of a store is heard by the processes at the same tables, whatever search path
    /// led them there, and by nobody at another store in the database.
    static expected<std::string> channel_of(PgConnection& connection);

    /// Tests whether a notification of `writer` arrives. `store_open_failed` when it must and does
    /// not. A `clock` is kept with the server's.
    static expected<std::unique_ptr<PgKeeper>> start(const std::string& url, PgConnection& writer,
                                                     std::string self, EngineOptions::Notify notify,
                                                     std::shared_ptr<ServerClock> clock,
                                                     WarnFn warn);
    ~PgKeeper();
    PgKeeper(const PgKeeper&) = delete;
    PgKeeper& operator=(const PgKeeper&) = delete;

    /// Called when other processes may have written; an empty function ends it.
    void watch(std::function<void(Store::Heard)> heard);
    /// This process has committed something that readers elsewhere may wait for. They are told
    /// soon, and at the latest when this ends.
    void note_rows();
    /// The listener's server process, if that was there at a moment: as long as it lives the server
    /// has not crashed since.
    std::optional<std::string> backend_at(std::chrono::steady_clock::time_point moment);
    [[nodiscard]] bool hears() const { return hears_; }
    [[nodiscard]] const std::string& channel() const { return channel_; }

  private:
    PgKeeper(std::string url, std::string channel, std::string self,
             std::shared_ptr<ServerClock> clock, WarnFn warn);
    expected<bool> test(PgConnection& writer);
    void listen();
    void listen_once();
    void call(Store::Heard what);
    /// A notification, or nothing when none came in time.
    void take(std::string_view word);
    /// Has anybody numbered events since the last time? Who wrote them may be gone without a word.
    bool events_came();
    /// Tells the others of our rows when it is time to, or at once.
    enum class Telling : std::uint8_t { when_due, now };
    void tell(Telling when);
    expected<void> send_word();
    /// Asks what time it is, when it is time to. Without an answer the clock goes on as it was.
    void follow_clock();
    /// The listener's connection, or one for those who have none.
    expected<PgConnection*> speaking();
    /// How long the listening thread may rest, at most so many milliseconds.
    [[nodiscard]] int patience(int most) const;
    /// Rests so long, or until there is something to tell or it is time to stop.
    void rest_until_woken(int ms);
    /// Waits; true when it is time to stop.
    bool rest(int ms);

    const std::string url_;
    const std::string channel_;
    const std::string self_;                           ///< payload of our own notifications
    const std::shared_ptr<ServerClock> server_clock_;  ///< absent: nobody goes by it
    WarnFn warn_;
    std::unique_ptr<PgConnection> listener_;  ///< absent: asking instead
    std::unique_ptr<PgConnection> speaker_;   ///< to speak without a listener; its thread only
    std::atomic<bool> hears_ = false;
    int wake_fd_ = -1;

    std::mutex watch_mutex_;
    std::function<void(Store::Heard)> heard_;  // guarded by watch_mutex_

    void note_listener();
    std::mutex backend_mutex_;
    std::string backend_;                            // guarded by backend_mutex_, as is the next
    std::chrono::steady_clock::time_point since_{};  ///< there is that listener

    // Listening thread only.
    using Clock = std::chrono::steady_clock;
    Clock::time_point called_work_{};
    Clock::time_point called_rows_{};
    bool owes_rows_ = false;  ///< others have written rows, and nobody has been told
    Clock::time_point told_{};
    std::string events_seen_;
    Clock::time_point clock_due_{};

    std::atomic<bool> untold_ = false;  ///< we have written rows, and the others do not know

    std::mutex stop_mutex_;
    std::condition_variable stopped_;
    bool stop_ = false;  // guarded by stop_mutex_
    std::thread listening_;
};

}  // namespace ff::store
