// Opening an engine by name, and the blocking calls every engine has.
#include <semaphore.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include <ff/engine.h>

#include "core/waitpoint_tokens.h"
#include "engine/embedded_engine.h"
#include "engine/engine_thread.h"
#include "engine/scanners.h"
#include "store/location.h"
#include "store/memory_store.h"
#include "store/postgres_store.h"
#include "store/sqlite_store.h"

namespace ff {

namespace {

/// One engine per store per process: a second opener gets the first one's engine.
struct Registry {
    struct Entry {
        std::weak_ptr<Engine> engine;  ///< empty while it is being opened, expired while closed
        EngineOptions options;
    };
    std::mutex mutex;
    std::condition_variable settled;    ///< an opening or a closing is over
    std::map<std::string, Entry> open;  // guarded by mutex
};

/// Never destroyed: an engine may outlive every static object.
Registry& registry() {
    static Registry& instance = *new Registry;
    return instance;
}

bool same_tuning(const EngineOptions& a, const EngineOptions& b) {
    const auto tuning = [](const EngineOptions& o) {
        return std::tie(o.pool_size, o.writers, o.synchronous, o.busy_timeout_ms, o.cache_mib,
                        o.statement_timeout_ms, o.notify, o.flow_partitions, o.queue_commands_max,
                        o.queue_bytes_max, o.waiting_claims_max, o.batch_commands_max,
                        o.retention_ms, o.reclaim_grace_ms, o.event_retention_ms, o.event_rows_max,
                        o.scanner_periods_ms, o.lanes, o.waitpoint_secret, o.make_waitpoint_key,
                        o.keystore_key, o.background, o.clock, o.ids);
    };
    return tuning(a) == tuning(b);
}

expected<std::unique_ptr<store::Store>> open_store(const store::Location& location,
                                                   const EngineOptions& options) {
    using Form = store::Location::Form;
    switch (location.form) {
        case Form::memory: return store::MemoryStore::make(options);
        case Form::postgres: return store::PostgresStore::open(location, options);
        default: return store::SqliteStore::open(location, options);
    }
}

void warn(const EngineOptions& options, const std::string& text) {
    (options.warn ? options.warn : engine::warn_to_stderr)(text);
}

/// Opens a store and an engine on it.
expected<std::shared_ptr<engine::EmbeddedEngine>> start(const store::Location& location,
                                                        EngineOptions options) {
    if (!options.warn) {
        options.warn = engine::warn_to_stderr;  // stores warn, too
    }
    FF_TRY(auto opened, open_store(location, options));
    engine::Writers::OpenStore open_second;
    if (opened->shared() && options.writers > 1) {
        EngineOptions writing = options;
        writing.pool_size = 1;  // the first one reads for both
        if (auto clock = opened->clock()) {
            writing.clock = std::move(clock);  // and asks for the time
        }
        open_second = [location, writing = std::move(writing)] {
            return open_store(location, writing);
        };
    }
    return engine::EmbeddedEngine::start(std::move(opened), std::move(options),
                                         std::move(open_second));
}

/// A pointer whose last copy closes the engine and then calls `closed`. When that copy goes on one
/// of the engine's own threads, with a callback, another thread does it: none can wait for itself.
std::shared_ptr<Engine> share(std::shared_ptr<Engine> inner, std::function<void()> closed) {
    Engine* const address = inner.get();
    return {address, [inner = std::move(inner), closed = std::move(closed)](Engine*) mutable {
                auto close = [inner = std::move(inner), closed = std::move(closed)]() mutable {
                    inner.reset();
                    closed();
                };
                if (engine::on_engine_thread) {
                    std::thread(std::move(close)).detach();
                } else {
                    close();
                }
            }};
}

expected<void> check_options(const EngineOptions& options) {
    constexpr std::int64_t ms_max = std::int64_t{1} << 53;  // with a time added it still is one
    const auto in_range = [](const char* name, std::int64_t value, std::int64_t low,
                             std::int64_t high) -> expected<void> {
        if (value < low || value > high) {
            return ff::fail(ErrorCode::invalid_config, std::string(name) + " must be between " +
                                                           std::to_string(low) + " and " +
                                                           std::to_string(high) + " (got " +
                                                           std::to_string(value) + ")");
        }
        return {};
    };
    const auto at_least_one = [](const char* name, std::size_t value) -> expected<void> {
        if (value < 1) {
            return ff::fail(ErrorCode::invalid_config, std::string(name) + " must be at least 1");
        }
        return {};
    };
    FF_TRY_VOID(in_range("flow_partitions", options.flow_partitions.value_or(1), 1, 65'535));
    FF_TRY_VOID(in_range("pool_size", options.pool_size, 1, 1'000));
    FF_TRY_VOID(in_range("writers", options.writers, 1, 2));
    FF_TRY_VOID(in_range("busy_timeout_ms", options.busy_timeout_ms, 0, 3'600'000));
    FF_TRY_VOID(in_range("statement_timeout_ms", options.statement_timeout_ms, 0, 3'600'000));
    FF_TRY_VOID(in_range("cache_mib", options.cache_mib, 1, 1'000'000));
    FF_TRY_VOID(at_least_one("queue_commands_max", options.queue_commands_max));
    FF_TRY_VOID(at_least_one("queue_bytes_max", options.queue_bytes_max));
    FF_TRY_VOID(at_least_one("batch_commands_max", options.batch_commands_max));
    FF_TRY_VOID(in_range("retention_ms", options.retention_ms, 0, ms_max));
    FF_TRY_VOID(in_range("reclaim_grace_ms", options.reclaim_grace_ms, 0, ms_max));
    FF_TRY_VOID(in_range("event_retention_ms", options.event_retention_ms, 0, ms_max));
    if (!options.waitpoint_secret.empty() &&
        !core::secret_of_hex(options.waitpoint_secret, false)) {
        return ff::fail(ErrorCode::invalid_config,
                        "the waitpoint secret must be an even number of hex digits, 64 of them at "
                        "best");
    }
    if (!options.keystore_key.empty() && !core::secret_of_hex(options.keystore_key, true)) {
        return ff::fail(ErrorCode::invalid_config, "the keystore key must be 64 hex digits");
    }
    return engine::check_scanner_periods(options);
}

}  // namespace

expected<std::shared_ptr<Engine>> Engine::open(const std::string& store,
                                               const EngineOptions& options) {
    FF_TRY_VOID(check_options(options));
    FF_TRY(const store::Location location, store::parse_location(store));
    if (location.identity.empty()) {
        FF_TRY(auto started, start(location, options));
        return share(std::move(started), [] {});
    }
    std::unique_lock lock(registry().mutex);
    auto& open = registry().open;
    for (auto it = open.find(location.identity); it != open.end();
         it = open.find(location.identity)) {
        if (auto engine = it->second.engine.lock()) {
            const bool same = same_tuning(it->second.options, options);
            lock.unlock();
            if (!same) {
                warn(options, store + " is open already: the options of this opening are ignored");
            }
            return engine;
        }
        registry().settled.wait(lock);
    }
    // Others may open other stores meanwhile: this one may be slow.
    open[location.identity] = {{}, options};
    lock.unlock();
    const auto forget = [identity = location.identity] {
        std::lock_guard relock(registry().mutex);
        registry().open.erase(identity);
        registry().settled.notify_all();
    };
    auto started = start(location, options);
    if (!started) {
        forget();
        return std::unexpected(std::move(started).error());
    }
    auto engine = share(std::move(*started), forget);
    lock.lock();
    open[location.identity].engine = engine;
    registry().settled.notify_all();
    return engine;
}

namespace {

/// Where a blocking call waits for its answer. A POSIX semaphore sleeps at once; the standard
/// library's atomic wait spins and yields first, which on few cores takes time from the writer.
template <class T>
class Waiter {
  public:
    Waiter() { sem_init(&ready_, 0, 0); }
    ~Waiter() { sem_destroy(&ready_); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    void set(T answer) {
        value_ = std::move(answer);
        sem_post(&ready_);  // the waiter may be gone when this returns
    }
    T get() {
        while (sem_wait(&ready_) != 0) {
            // interrupted by a signal: wait on
        }
        return std::move(*value_);
    }

  private:
    sem_t ready_{};
    std::optional<T> value_;
};

}  // namespace

TimestampMs Engine::now() const { return SystemClock().now(); }

Response Engine::run_any(Request request) {
    Waiter<Response> waiter;
    call(std::move(request), [&waiter](Response response) { waiter.set(std::move(response)); });
    return waiter.get();
}

std::vector<Response> Engine::run_many(std::vector<Request> requests) {
    Waiter<std::vector<Response>> waiter;
    call_many(std::move(requests),
              [&waiter](std::vector<Response> responses) { waiter.set(std::move(responses)); });
    return waiter.get();
}

}  // namespace ff
