#include "store/postgres_keeper.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace ff::store {

namespace {

/// How often to look when nothing is heard, and as a safety net when it is.
constexpr int ask_ms = 250;
constexpr int look_ms = 1'000;
/// Others may write a thousand times a second; who waits for rows need not look as often.
constexpr int rows_ms = 25;
/// How long the test waits for its notification.
constexpr int test_ms = 1'000;
constexpr int reconnect_ms = 1'000;
/// Fewer dead rows than these slow nobody down.
constexpr std::uint64_t deleted_min = 2'000;
constexpr int tidy_ms = 1'000;
/// A VACUUM of a long queue takes time; it gets at most this part of it.
constexpr int tidy_share = 10;

}  // namespace

PgKeeper::PgKeeper(std::string url, std::string channel, std::string self, WarnFn warn)
    : url_(std::move(url)),
      channel_(std::move(channel)),
      self_(std::move(self)),
      warn_(std::move(warn)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

expected<std::string> PgKeeper::channel_of(PgConnection& connection) {
    return connection.scalar(
        "SELECT 'ff_wake_' || relnamespace FROM pg_class WHERE oid = 'ff_meta'::regclass");
}

expected<std::unique_ptr<PgKeeper>> PgKeeper::start(const std::string& url, PgConnection& writer,
                                                    std::string self, EngineOptions::Notify notify,
                                                    WarnFn warn) {
    FF_TRY(std::string channel, channel_of(writer));
    std::unique_ptr<PgKeeper> keeper(
        new PgKeeper(url, std::move(channel), std::move(self), std::move(warn)));
    if (notify != EngineOptions::Notify::off) {
        FF_TRY(keeper->listener_, PgConnection::open(url));
        FF_TRY(const bool arrives, keeper->test(writer));
        keeper->hears_ = arrives;
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
    keeper->tidying_ = std::thread([k = keeper.get()] { k->tidy(); });
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
        listening_.join();
    }
    if (tidying_.joinable()) {
        tidying_.join();
    }
    close(wake_fd_);
}

void PgKeeper::watch(std::function<void(Store::Heard)> heard) {
    std::lock_guard lock(watch_mutex_);
    heard_ = std::move(heard);
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
    while (!rest(0)) {
        if (!listener_) {
            if (rest(ask_ms)) {
                return;
            }
            call(Store::Heard::work);
            call(Store::Heard::rows);
            continue;
        }
        listen_once();
    }
}

void PgKeeper::take(std::string_view word) {
    const auto now = Clock::now();
    const bool rows = word.ends_with(rows_only);
    const bool ours = word == self_ || word == self_ + std::string(rows_only);
    const bool others = !word.empty() && !ours;
    owes_rows_ = owes_rows_ || others;
    // Work is looked for now and then anyway; who waits to read has heard of everything.
    if ((others && !rows) || now >= called_work_ + std::chrono::milliseconds(look_ms)) {
        call(Store::Heard::work);
    }
    if (owes_rows_ && now >= called_rows_ + std::chrono::milliseconds(rows_ms)) {
        call(Store::Heard::rows);
    }
}

void PgKeeper::listen_once() {
    if (hears_) {
        const auto rows_due = called_rows_ + std::chrono::milliseconds(rows_ms);
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(rows_due - Clock::now()).count();
        const int most = owes_rows_ ? std::max(static_cast<int>(left), 0) : look_ms;
        auto heard = listener_->next_notification(most, wake_fd_);
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
        call(Store::Heard::work);
        call(Store::Heard::rows);
    }
}

void PgKeeper::tidy() {
    std::unique_ptr<PgConnection> connection;
    int pause = tidy_ms;
    while (!rest(pause)) {
        pause = tidy_ms;
        if (deleted_ < deleted_min) {
            continue;
        }
        if (!connection || !connection->alive()) {
            auto fresh = PgConnection::open(url_);
            if (!fresh) {
                continue;  // the writer will tell
            }
            connection = std::move(*fresh);
        }
        deleted_ = 0;
        const auto started = Clock::now();
        // Another process may be at it already; one is enough.
        if (auto done = connection->execute("VACUUM (SKIP_LOCKED, TRUNCATE FALSE) ff_ready,"
                                            " ff_timer, ff_turn, ff_flow_work");
            !done && connection->alive()) {
            warn_("VACUUM of the queue tables: " + done.error().message());
            pause = tidy_ms * 60;
            continue;
        }
        const auto took =
            std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started);
        pause = std::max(tidy_ms, static_cast<int>(took.count()) * tidy_share);
    }
}

}  // namespace ff::store
