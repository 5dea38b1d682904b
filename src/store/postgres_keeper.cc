#include "store/postgres_keeper.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/postgres_clock.h"

namespace ff::store {

namespace {

/// How often to look when nothing is heard, and as a safety net when it is.
constexpr int ask_ms = 250;
constexpr int look_ms = 1'000;
/// Others may write a thousand times a second; who waits for rows need not look as often, nor be
/// told as often.
constexpr int rows_ms = 25;
/// How soon word that could not be sent is tried again.
constexpr int tell_again_ms = 1'000;
/// How far two clocks drift apart meanwhile is not worth a word; that one was set is noticed soon.
constexpr int clock_ms = 2'000;
/// How long the test waits for its notification.
constexpr int test_ms = 1'000;
constexpr int reconnect_ms = 1'000;

}  // namespace

PgKeeper::PgKeeper(std::string url, std::string channel, std::string self,
                   std::shared_ptr<ServerClock> clock, WarnFn warn)
    : url_(std::move(url)),
      channel_(std::move(channel)),
      self_(std::move(self)),
      server_clock_(std::move(clock)),
      warn_(std::move(warn)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

expected<std::string> PgKeeper::channel_of(PgConnection& connection) {
    return connection.scalar(
        "SELECT 'ff_wake_' || relnamespace FROM pg_class WHERE oid = 'ff_meta'::regclass");
}

expected<std::unique_ptr<PgKeeper>> PgKeeper::start(const std::string& url, PgConnection& writer,
                                                    std::string self, EngineOptions::Notify notify,
                                                    std::shared_ptr<ServerClock> clock,
                                                    WarnFn warn) {
    FF_TRY(std::string channel, channel_of(writer));
    std::unique_ptr<PgKeeper> keeper(
        new PgKeeper(url, std::move(channel), std::move(self), std::move(clock), std::move(warn)));
    keeper->clock_due_ = Clock::now() + std::chrono::milliseconds(clock_ms);
    if (notify != EngineOptions::Notify::off) {
        FF_TRY(keeper->listener_, PgConnection::open(url));
        FF_TRY(const bool arrives, keeper->test(writer));
        keeper->hears_ = arrives;
        keeper->note_listener();
        if (!arrives) {
            keeper->listener_.reset();
            if (notify == EngineOptions::Notify::on) {
                return ff::fail(ErrorCode::store_open_failed,
                                "notifications of PostgreSQL do not arrive, and notify is on; a"
                                " pooler in transaction mode swallows them: connect to the server"
                                " itself, or set notify to auto");
            }
        }
    }
    keeper->listening_ = std::thread([k = keeper.get()] { k->listen(); });
    return keeper;
}

PgKeeper::~PgKeeper() {
    {
        std::lock_guard lock(stop_mutex_);
        stop_ = true;
    }
    stopped_.notify_all();
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_fd_, &one, sizeof(one));
    if (listening_.joinable()) {
        listening_.join();  // and the others know of everything
    }
    close(wake_fd_);
}

void PgKeeper::watch(std::function<void(Store::Heard)> heard) {
    std::lock_guard lock(watch_mutex_);
    heard_ = std::move(heard);
}

void PgKeeper::note_listener() {
    std::lock_guard lock(backend_mutex_);
    backend_ = listener_->pooled() ? "" : listener_->backend();  // else it is anybody's
    since_ = Clock::now();
}

std::optional<std::string> PgKeeper::backend_at(Clock::time_point moment) {
    std::lock_guard lock(backend_mutex_);
    return since_ < moment && !backend_.empty() ? std::optional(backend_) : std::nullopt;
}

void PgKeeper::call(Store::Heard what) {
    if (what == Store::Heard::work) {
        called_work_ = Clock::now();
    } else {
        called_rows_ = Clock::now();
        owes_rows_ = false;
    }
    std::lock_guard lock(watch_mutex_);
    if (heard_) {
        heard_(what);
    }
}

void PgKeeper::note_rows() {
    if (!untold_.exchange(true)) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = write(wake_fd_, &one, sizeof(one));
    }
}

expected<PgConnection*> PgKeeper::speaking() {
    if (listener_ && listener_->alive()) {
        return listener_.get();
    }
    if (!speaker_ || !speaker_->alive()) {
        FF_TRY(speaker_, PgConnection::open(url_));
    }
    return speaker_.get();
}

expected<void> PgKeeper::send_word() {
    FF_TRY(auto* const connection, speaking());
    // There is nothing in this transaction that must be on disk.
    return connection->execute("SET LOCAL synchronous_commit = off; SELECT pg_notify('" + channel_ +
                               "', '" + self_ + std::string(rows_only) + "')");
}

void PgKeeper::follow_clock() {
    if (!server_clock_ || Clock::now() < clock_due_) {
        return;
    }
    clock_due_ = Clock::now() + std::chrono::milliseconds(clock_ms);
    if (listener_ && !listener_->alive()) {
        return;  // it is about to be replaced
    }
    if (auto connection = speaking()) {
        if (const auto sample = ask_time(**connection, server_clock_->local())) {
            const DurationMs before = server_clock_->ahead();
            server_clock_->learn(*sample);
            const DurationMs back = before - server_clock_->ahead();
            if (back > clocks_apart_ms_max) {
                warn_("the PostgreSQL server's clock was set back by " + std::to_string(back) +
                      " ms: here time goes at half its speed until the server has caught up; "
                      "processes that are started meanwhile go by the server's, so leases may seem "
                      "to end too early: start all of them anew, or wait");
            }
        }
    }
}

void PgKeeper::tell(Telling when) {
    if (!untold_ || (when == Telling::when_due && Clock::now() < told_)) {
        return;
    }
    untold_ = false;  // what is committed from here on is told the next time
    int pause = rows_ms;
    if (auto sent = send_word(); !sent) {
        untold_ = true;
        pause = tell_again_ms;
    }
    told_ = Clock::now() + std::chrono::milliseconds(pause);
}

int PgKeeper::patience(int most) const {
    const auto until = [](Clock::time_point due) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
        return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    };
    if (owes_rows_) {
        most = std::min(most, until(called_rows_ + std::chrono::milliseconds(rows_ms)));
    }
    return untold_ ? std::min(most, until(told_)) : most;
}

void PgKeeper::rest_until_woken(int ms) {
    pollfd wait{wake_fd_, POLLIN, 0};
    poll(&wait, 1, ms);
}

bool PgKeeper::rest(int ms) {
    std::unique_lock lock(stop_mutex_);
    return stopped_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stop_; });
}

expected<bool> PgKeeper::test(PgConnection& writer) {
    FF_TRY_VOID(listener_->execute("LISTEN " + channel_));
    const std::string word = "test " + self_;
    FF_TRY_VOID(writer.execute("SELECT pg_notify('" + channel_ + "', '" + word + "')"));
    const auto deadline = Clock::now() + std::chrono::milliseconds(test_ms);
    while (Clock::now() < deadline) {
        FF_TRY(const auto heard, listener_->next_notification(test_ms, wake_fd_));
        if (heard == word) {
            return true;
        }
    }
    return false;
}

void PgKeeper::listen() {
    auto ask_at = Clock::now();
    while (!rest(0)) {
        std::uint64_t woken = 0;
        [[maybe_unused]] const auto taken = read(wake_fd_, &woken, sizeof(woken));
        tell(Telling::when_due);
        follow_clock();
        if (listener_) {
            listen_once();
            continue;
        }
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(ask_at - Clock::now()).count();
        if (left > 0) {
            rest_until_woken(patience(static_cast<int>(left)));
            continue;
        }
        call(Store::Heard::work);
        call(Store::Heard::rows);
        ask_at = Clock::now() + std::chrono::milliseconds(ask_ms);
    }
    if (listener_ && listener_->alive()) {
        tell(Telling::now);  // nobody waits at the end for a server that cannot be reached
    }
}

bool PgKeeper::events_came() {
    auto high = listener_->scalar("SELECT value FROM ff_meta WHERE name = 'event_high'");
    if (!high) {
        return false;
    }
    const std::string before = std::exchange(events_seen_, *high);
    return !before.empty() && before != *high;
}

void PgKeeper::take(std::string_view word) {
    const auto now = Clock::now();
    const bool rows = word.ends_with(rows_only);
    const bool ours = word == self_ || word == self_ + std::string(rows_only);
    const bool others = !word.empty() && !ours;
    owes_rows_ = owes_rows_ || others;
    // Work is looked for now and then anyway, and so are events that nobody told of.
    const bool look = now >= called_work_ + std::chrono::milliseconds(look_ms);
    if ((others && !rows) || look) {
        call(Store::Heard::work);
    }
    owes_rows_ = (look && events_came()) || owes_rows_;
    if (owes_rows_ && now >= called_rows_ + std::chrono::milliseconds(rows_ms)) {
        call(Store::Heard::rows);
    }
}

void PgKeeper::listen_once() {
    if (hears_) {
        auto heard = listener_->next_notification(patience(look_ms), wake_fd_);
        if (heard) {
            take(heard->value_or(""));
            return;
        }
        warn_("no word from other processes: " + heard.error().message());
        hears_ = false;
    }
    // Lost: what was sent meanwhile is lost too, so look until there is a connection again.
    call(Store::Heard::work);
    call(Store::Heard::rows);
    if (rest(reconnect_ms)) {
        return;
    }
    auto fresh = PgConnection::open(url_);
    if (fresh && (*fresh)->execute("LISTEN " + channel_)) {
        listener_ = std::move(*fresh);
        hears_ = true;
        note_listener();
        clock_due_ = {};  // it may be another server
        call(Store::Heard::work);
        call(Store::Heard::rows);
    }
}

}  // namespace ff::store
