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
/// How long the test waits for its notification.
constexpr int test_ms = 1'000;
constexpr int reconnect_ms = 1'000;
/// Fewer dead rows than these slow nobody down.
constexpr std::uint64_t deleted_min = 2'000;
constexpr int tidy_ms = 1'000;
/// A VACUUM of a long queue takes time; it gets at most this part of it.
constexpr int tidy_share = 10;

}  // namespace

PgKeeper::PgKeeper(std::string url, std::string self, WarnFn warn)
    : url_(std::move(url)),
      self_(std::move(self)),
      warn_(std::move(warn)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

expected<std::unique_ptr<PgKeeper>> PgKeeper::start(const std::string& url, PgConnection& writer,
                                                    std::string self, EngineOptions::Notify notify,
                                                    WarnFn warn) {
    std::unique_ptr<PgKeeper> keeper(new PgKeeper(url, std::move(self), std::move(warn)));
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

void PgKeeper::watch(std::function<void()> changed) {
    std::lock_guard lock(watch_mutex_);
    changed_ = std::move(changed);
}

void PgKeeper::call() {
    std::lock_guard lock(watch_mutex_);
    if (changed_) {
        changed_();
    }
}

bool PgKeeper::rest(int ms) {
    std::unique_lock lock(stop_mutex_);
    return stopped_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stop_; });
}

expected<bool> PgKeeper::test(PgConnection& writer) {
    using Clock = std::chrono::steady_clock;
    FF_TRY_VOID(listener_->execute(std::string("LISTEN ") + channel));
    const std::string word = "test " + self_;
    FF_TRY_VOID(writer.execute(std::string("SELECT pg_notify('") + channel + "', '" + word + "')"));
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
            call();
            continue;
        }
        listen_once();
    }
}

void PgKeeper::listen_once() {
    if (hears_) {
        auto heard = listener_->next_notification(look_ms, wake_fd_);
        if (heard) {
            if (*heard != self_) {
                call();  // another process has written, or it is time to look anyway
            }
            return;
        }
        warn_("no word from other processes: " + heard.error().message());
        hears_ = false;
    }
    // Lost: what was sent meanwhile is lost too, so look until there is a connection again.
    call();
    if (rest(reconnect_ms)) {
        return;
    }
    auto fresh = PgConnection::open(url_);
    if (fresh && (*fresh)->execute(std::string("LISTEN ") + channel)) {
        listener_ = std::move(*fresh);
        hears_ = true;
        call();
    }
}

void PgKeeper::tidy() {
    using Clock = std::chrono::steady_clock;
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
                                            " ff_timer, ff_flow_work");
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
