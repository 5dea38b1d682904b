#include "cli/bench_engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace ff::cli {

namespace {

CreateExecution create_op(std::size_t kind) {
    CreateExecution op;
    op.ns = "bench";
    op.lane_id = bench_lane;
    op.execution_kind = fmt::format("kind-{}", kind);
    op.input_payload.assign(bench_payload_bytes, 'x');
    op.creator_identity = "bench";
    return op;
}

Claim claim_op(std::uint32_t tasks, std::size_t worker) {
    Claim op;
    op.lanes = {bench_lane};
    op.worker_id = "bench";
    op.worker_instance_id = fmt::format("bench-{}", worker);
    op.lease_ttl_ms = bench_lease_ms;
    op.max_tasks = tasks;
    return op;
}

Complete complete_op(const Handle& handle) {
    Complete op;
    op.lease = handle;
    op.result_payload = std::string(bench_payload_bytes, 'y');
    op.source = Source::lease_holder;
    return op;
}

template <class R>
expected<void> all_of(const std::vector<expected<R>>& answers) {
    for (const expected<R>& answer : answers) {
        if (!answer) {
            return std::unexpected(answer.error());
        }
    }
    return {};
}

}  // namespace

expected<std::unique_ptr<BenchEngine>> BenchEngine::open(const BenchOptions& options,
                                                         const std::string& folder,
                                                         const std::string& name) {
    std::unique_ptr<BenchEngine> bench(new BenchEngine);
    bench->kind_ = options.store;
    std::string location = "memory:";
    if (options.store == BenchStore::sqlite) {
        bench->path_ = fmt::format("{}/{}.db", folder, name);
        location = bench->path_;
    } else if (options.store == BenchStore::postgres) {
        FF_TRY(bench->database_, ScratchDatabase::make(*options.url, name));
        location = bench->database_->url();
    }
    EngineOptions engine_options;
    engine_options.lanes = {bench_lane, bench_aside_lane};
    FF_TRY(bench->engine_, Engine::open(location, engine_options));
    FF_TRY(const Capabilities capabilities, bench->engine_->run(ReadCapabilities{}));
    bench->durability_ = capabilities.durability;
    return bench;
}

expected<void> BenchEngine::tell(Figures& figures, std::string name, double value, std::string unit,
                                 std::optional<double> against) const {
    Figure figure;
    figure.name = std::move(name);
    figure.store = store();
    figure.value = value;
    figure.unit = std::move(unit);
    figure.durability = durability();
    if (against) {
        figure.against(*against);
    }
    return figures.add(std::move(figure));
}

BenchEngine::~BenchEngine() {
    if (engine_) {
        engine_->stop();
        engine_.reset();
    }
    if (!path_.empty()) {
        std::error_code ignored;
        for (const char* tail : {"", "-wal", "-shm", "-lock"}) {
            std::filesystem::remove(path_ + tail, ignored);
        }
    }
}

expected<void> BenchEngine::create() {
    FF_TRY_VOID(engine_->run(create_op(0)));
    return {};
}

expected<void> BenchEngine::create_aside() {
    CreateExecution op = create_op(0);
    op.lane_id = bench_aside_lane;
    FF_TRY_VOID(engine_->run(std::move(op)));
    return {};
}

expected<bool> BenchEngine::claim(std::vector<Handle>& handles, std::uint32_t tasks,
                                  std::size_t worker) {
    FF_TRY(ClaimResult claimed, engine_->run(claim_op(tasks, worker)));
    for (ClaimedTask& task : claimed.tasks) {
        if (task.input_payload.size() != bench_payload_bytes) {
            return ff::fail(ErrorCode::internal, "a claim gave another payload than was created");
        }
        handles.push_back(std::move(task.handle));
    }
    return !claimed.tasks.empty();
}

void BenchEngine::claim_later(std::size_t worker,
                              std::function<void(expected<std::vector<Handle>>)> done) {
    Claim op = claim_op(1, worker);
    op.max_wait_ms = 10'000;
    engine_->async(std::move(op), [done = std::move(done)](expected<ClaimResult> claimed) {
        if (!claimed) {
            return done(std::unexpected(std::move(claimed).error()));
        }
        std::vector<Handle> handles;
        for (ClaimedTask& task : claimed->tasks) {
            handles.push_back(std::move(task.handle));
        }
        done(std::move(handles));
    });
}

expected<void> BenchEngine::renew(const Handle& handle) {
    FF_TRY_VOID(engine_->run(Renew{handle, bench_lease_ms}));
    return {};
}

expected<void> BenchEngine::complete(const Handle& handle) {
    FF_TRY_VOID(engine_->run(complete_op(handle)));
    return {};
}

namespace {

/// One worker of run_callbacks(). Its callbacks come one after another.
struct CallbackWorker {
    Engine& engine;
    Claim op;
    const std::function<bool(bool)>& goes_on;
    std::latch& at_end;
    std::optional<Error> error;

    void claim() {
        engine.async(Claim(op), [this](expected<ClaimResult> claimed) {
            if (!claimed) {
                return end(std::move(claimed).error());
            }
            if (!claimed->tasks.empty()) {
                complete(claimed->tasks[0].handle);
            } else {
                goes_on(false) ? claim() : at_end.count_down();
            }
        });
    }
    void complete(const Handle& handle) {
        engine.async(complete_op(handle), [this](auto completed) {
            if (!completed) {
                return end(std::move(completed).error());
            }
            goes_on(true) ? claim() : at_end.count_down();
        });
    }
    void end(Error why) {
        error = std::move(why);
        at_end.count_down();
    }
};

/// Workers that never block: the answer to each claim sends the complete, and its answer the next
/// claim. After each of them `goes_on` is asked, with whether it was a complete; claims that found
/// nothing in their time count as none.
expected<void> run_callbacks(Engine& engine, std::size_t workers, DurationMs max_wait_ms,
                             const std::function<bool(bool)>& goes_on) {
    std::latch at_end(static_cast<std::ptrdiff_t>(workers));
    std::vector<CallbackWorker> crew;
    crew.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i) {
        Claim op = claim_op(1, i);
        op.max_wait_ms = max_wait_ms;
        crew.push_back({engine, std::move(op), goes_on, at_end, {}});
    }
    for (CallbackWorker& worker : crew) {
        worker.claim();
    }
    at_end.wait();
    for (CallbackWorker& worker : crew) {
        if (worker.error) {
            return std::unexpected(std::move(*worker.error));
        }
    }
    return {};
}

}  // namespace

expected<std::uint64_t> BenchEngine::drain_by_callbacks(std::size_t workers) {
    std::atomic<std::uint64_t> done = 0;
    FF_TRY_VOID(run_callbacks(*engine_, workers, 0, [&](bool completed) {
        done += completed ? 1 : 0;
        return completed;
    }));
    return done.load();
}

expected<double> BenchEngine::work_through(std::size_t workers, std::size_t count,
                                           SteadyClock::time_point begun) {
    std::atomic<std::uint64_t> done = 0;
    std::atomic<double> seconds = 0;
    FF_TRY_VOID(run_callbacks(*engine_, workers, 200, [&](bool completed) {
        if (completed && ++done == count) {
            seconds = seconds_since(begun);
        }
        return done < count;
    }));
    return seconds;
}

expected<void> BenchEngine::create_many(std::size_t count, std::size_t routes) {
    std::vector<CreateExecution> ops;
    ops.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        ops.push_back(create_op(routes == 1 ? 0 : next_kind_++ % routes));
    }
    return all_of(engine_->run_all(std::move(ops)));
}

expected<void> BenchEngine::renew_many(const std::vector<Handle>& handles) {
    std::vector<Renew> ops;
    ops.reserve(handles.size());
    for (const Handle& handle : handles) {
        ops.push_back({handle, bench_lease_ms});
    }
    return all_of(engine_->run_all(std::move(ops)));
}

expected<void> BenchEngine::complete_many(const std::vector<Handle>& handles) {
    std::vector<Complete> ops;
    ops.reserve(handles.size());
    for (const Handle& handle : handles) {
        ops.push_back(complete_op(handle));
    }
    return all_of(engine_->run_all(std::move(ops)));
}

expected<void> BenchEngine::fill_waiting(std::uint64_t count, std::size_t routes) {
    while (count > 0) {
        const std::size_t now = std::min<std::uint64_t>(count, bench_bulk);
        FF_TRY_VOID(create_many(now, routes));
        count -= now;
    }
    return {};
}

expected<void> BenchEngine::fill_finished(std::uint64_t count) {
    while (count > 0) {
        const std::size_t now = std::min<std::uint64_t>(count, bench_bulk);
        FF_TRY_VOID(create_many(now));
        std::vector<Handle> handles;
        while (handles.size() < now) {
            FF_TRY(const bool more,
                   claim(handles, static_cast<std::uint32_t>(now - handles.size()), 0));
            if (!more) {
                return ff::fail(ErrorCode::internal, "what was created could not be claimed");
            }
        }
        FF_TRY_VOID(complete_many(handles));
        count -= now;
    }
    return {};
}

expected<double> Crew::run(std::size_t threads, const Body& body) {
    std::latch ready(static_cast<std::ptrdiff_t>(threads) + 1);
    std::mutex mutex;
    std::optional<Error> first;  // guarded by mutex
    std::vector<std::thread> crew;
    crew.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i) {
        crew.emplace_back([&, i] {
            ready.arrive_and_wait();
            if (auto done = body(i); !done) {
                std::lock_guard lock(mutex);
                failed_ = true;
                if (!first) {
                    first = std::move(done).error();
                }
            }
        });
    }
    ready.arrive_and_wait();
    const auto begun = SteadyClock::now();
    for (std::thread& thread : crew) {
        thread.join();
    }
    const double seconds = seconds_since(begun);
    if (first) {
        return std::unexpected(std::move(*first));
    }
    return seconds;
}

}  // namespace ff::cli
