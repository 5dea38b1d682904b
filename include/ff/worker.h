// Worker: claims executions, runs handlers for them, and sees every one to its end.
//
//   ff::Worker worker(engine, {.worker_id = "web-1", .ns = "acme", .lanes = {"web"},
//                              .max_concurrent_tasks = 8});
//   worker.provide(std::make_shared<Http>());
//   worker.on<Job>("fetch", [](ff::Task& task, const Job& job, Http& http) -> Out { … });
//   worker.run();                                     // until SIGTERM, then drains
//
// The worker owns its threads: one that claims, one that renews leases and sends heartbeats, one
// for each task that may run at a time, and one that sends frames in time once there are any.
// Handlers run on those of the tasks; no exception of theirs leaves the worker. It works on any
// Engine. Set it up on one thread; start, stop, take and stats may then be called from any, but
// not from inside a handler.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include <ff/engine.h>
#include <ff/handler.h>
#include <ff/logging.h>
#include <ff/task.h>

namespace ff {

namespace worker {
class Runtime;
}

/// A handler whose lease was lost is asked to stop, or not.
enum class OnLostLease : std::uint8_t { cancel, ignore };

/// Pauses that double: from `first` to `most`.
struct WorkerBackoff {
    std::chrono::milliseconds first;
    std::chrono::milliseconds most;
};

struct WorkerOptions {
    std::string worker_id;           ///< required: the logical name, 1..256 bytes
    std::string worker_instance_id;  ///< empty: `<worker_id>-<host>-<pid>-<8 hex digits>`
    std::string ns = "default";      ///< only this tenant's work is claimed
    std::vector<std::string> lanes;  ///< required: 1..64
    std::vector<std::string> capabilities;
    std::chrono::milliseconds lease_ttl{30'000};  ///< 1 s or more; renewed every third of it
    std::size_t max_concurrent_tasks = 1;
    std::chrono::milliseconds claim_poll_interval{1'000};  ///< longest idle pause
    std::chrono::milliseconds poll_block{20'000};          ///< how long a claim waits; 0..30 s
    WorkerBackoff idle_backoff{std::chrono::milliseconds(50), std::chrono::milliseconds(1'000)};
    WorkerBackoff error_backoff{std::chrono::milliseconds(200), std::chrono::milliseconds(30'000)};
    std::chrono::milliseconds liveness_ttl{60'000};  ///< heartbeats come every third of it
    std::chrono::milliseconds drain_timeout{30'000};
    OnLostLease on_lost_lease = OnLostLease::cancel;
    std::optional<std::size_t> threads;  ///< for handlers; as many as tasks when absent
    LogFn log;                           ///< stderr when absent
    std::shared_ptr<Clock> clock;        ///< for tests; a clock nobody can set when absent
};

/// What a worker has done since it started.
struct WorkerStats {
    std::uint64_t claimed = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;      ///< attempts, whether they are tried again or not
    std::uint64_t other_ends = 0;  ///< cancelled, delayed, waiting for children
    std::uint64_t lost = 0;        ///< leases that were gone before the task was finished
    std::uint64_t released = 0;    ///< tasks given back
    std::uint64_t claim_errors = 0;
    std::uint64_t renewals = 0;
    std::uint64_t renewal_errors = 0;
    std::uint64_t registrations = 0;
    std::uint64_t at_capacity = 0;  ///< grants refused: `ff_worker_at_capacity_total`
    std::size_t running = 0;        ///< now
};

/// Makes a document of payloads in another encoding than JSON.
using PayloadDecoder = std::function<expected<json>(std::string_view bytes)>;

class Worker {
  public:
    Worker(std::shared_ptr<Engine> engine, WorkerOptions options);
    /// Stops as stop() does.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // ------------------------------------------------------------------------------- setup
    // Before start(), which reports what was wrong with it.

    /// The handler for a kind; see ff/handler.h for what it may take and return.
    template <class Payload = void, class F>
    Worker& on(std::string kind, F handler) {
        using Held = std::conditional_t<std::is_void_v<Payload>, worker::NoPayload, Payload>;
        add(std::move(kind), worker::make_handler<Held>(std::move(handler)));
        return *this;
    }
    /// The handler for kinds that have none of their own; with one, work of every kind is claimed.
    template <class Payload = void, class F>
    Worker& on_any(F handler) {
        using Held = std::conditional_t<std::is_void_v<Payload>, worker::NoPayload, Payload>;
        add(worker::any_kind, worker::make_handler<Held>(std::move(handler)));
        return *this;
    }
    /// What handlers may ask for by its type. Shared by all tasks; keep it safe for threads.
    template <class T>
    Worker& provide(std::shared_ptr<T> state) {
        add_state(std::type_index(typeid(T)), std::move(state));
        return *this;
    }
    /// How payloads of an encoding are read; `json` and payloads without one need none.
    Worker& codec(std::string encoding, PayloadDecoder decoder);

    // ----------------------------------------------------------------------------- running

    /// Checks the options, registers and begins to claim. Waits for the registration while the
    /// engine cannot be reached. `invalid_config` for bad options.
    expected<void> start();
    /// start(), wait for SIGINT, SIGTERM or request_stop(), then stop(). A second signal ends the
    /// process. Gives the first fatal error: the engine refused our credentials or our settings, or
    /// its store is damaged.
    expected<void> run();
    /// Begins to stop: no claim from here on. Any thread, handlers too; does not wait.
    void request_stop();
    /// Waits until somebody asks the worker to stop, or it has a fatal error.
    void wait();
    /// request_stop(), let handlers finish for drain_timeout, then ask them to stop, 5 seconds
    /// later
    /// give their work back; sign off, and wait for the threads. A handler that never returns is
    /// waited for. Gives the first fatal error.
    expected<void> stop();

    /// Turns a grant into a task of this worker. `at_capacity` when every slot is busy; the grant
    /// is untouched then, as it is for any other error that is found here.
    expected<void> take(const Grant& grant);

    [[nodiscard]] const std::string& worker_id() const;
    [[nodiscard]] const std::string& worker_instance_id() const;
    [[nodiscard]] WorkerStats stats() const;

  private:
    void add(std::string kind, worker::Handler handler);
    void add_state(std::type_index type, std::shared_ptr<void> state);

    std::unique_ptr<worker::Runtime> runtime_;
};

}  // namespace ff
