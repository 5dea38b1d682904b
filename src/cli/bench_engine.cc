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

Complete complete_op(const Handle& handle) {
    Complete op;
    op.lease = handle;
    op.result_payload = std::string(bench_payload_bytes, 'y');
    op.source = Source::lease_holder;
    return op;
}

template <class R>
Result<void> all_of(const std::vector<Result<R>>& answers) {
    for (const Result<R>& answer : answers) {
        if (!answer) {
            return std::unexpected(answer.error());
        }
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<BenchEngine>> BenchEngine::open(BenchStore store, const std::string& folder,
                                                       const std::string& name) {
    std::unique_ptr<BenchEngine> bench(new BenchEngine);
    bench->kind_ = store;
    EngineOptions options;
    options.lanes = {bench_lane};
    if (store == BenchStore::sqlite) {
        bench->path_ = fmt::format("{}/{}.db", folder, name);
    }
    FF_TRY(bench->engine_, Engine::open(bench->path_.empty() ? "memory:" : bench->path_, options));
    FF_TRY(const Capabilities capabilities, bench->engine_->run(ReadCapabilities{}));
    bench->durability_ = capabilities.durability;
    return bench;
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

Result<void> BenchEngine::create() {
    FF_TRY_VOID(engine_->run(create_op(0)));
    return {};
}

Result<bool> BenchEngine::claim(std::vector<Handle>& handles, std::uint32_t tasks,
                                std::size_t worker) {
    Claim op;
    op.lanes = {bench_lane};
    op.worker_id = "bench";
    op.worker_instance_id = fmt::format("bench-{}", worker);
    op.lease_ttl_ms = bench_lease_ms;
    op.max_tasks = tasks;
    FF_TRY(ClaimResult claimed, engine_->run(std::move(op)));
    for (Task& task : claimed.tasks) {
        if (task.input_payload.size() != bench_payload_bytes) {
            return ff::fail(ErrorCode::internal, "a claim gave another payload than was created");
        }
        handles.push_back(std::move(task.handle));
    }
    return !claimed.tasks.empty();
}

Result<void> BenchEngine::renew(const Handle& handle) {
    FF_TRY_VOID(engine_->run(Renew{handle, bench_lease_ms}));
    return {};
}

Result<void> BenchEngine::complete(const Handle& handle) {
    FF_TRY_VOID(engine_->run(complete_op(handle)));
    return {};
}

Result<void> BenchEngine::create_many(std::size_t count, std::size_t routes) {
    std::vector<CreateExecution> ops;
    ops.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        ops.push_back(create_op(routes == 1 ? 0 : next_kind_++ % routes));
    }
    return all_of(engine_->run_all(std::move(ops)));
}

Result<void> BenchEngine::renew_many(const std::vector<Handle>& handles) {
    std::vector<Renew> ops;
    ops.reserve(handles.size());
    for (const Handle& handle : handles) {
        ops.push_back({handle, bench_lease_ms});
    }
    return all_of(engine_->run_all(std::move(ops)));
}

Result<void> BenchEngine::complete_many(const std::vector<Handle>& handles) {
    std::vector<Complete> ops;
    ops.reserve(handles.size());
    for (const Handle& handle : handles) {
        ops.push_back(complete_op(handle));
    }
    return all_of(engine_->run_all(std::move(ops)));
}

Result<void> BenchEngine::fill_waiting(std::uint64_t count, std::size_t routes) {
    while (count > 0) {
        const std::size_t now = std::min<std::uint64_t>(count, bench_bulk);
        FF_TRY_VOID(create_many(now, routes));
        count -= now;
    }
    return {};
}

Result<void> BenchEngine::fill_finished(std::uint64_t count) {
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

Result<double> Crew::run(std::size_t threads, const Body& body) {
    using SteadyClock = std::chrono::steady_clock;
    std::latch ready(static_cast<std::ptrdiff_t>(threads) + 1);
    std::mutex mutex;
    std::optional<Error> first;  // guarded by mutex
    std::vector<std::thread> crew;
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
    const double seconds = std::chrono::duration<double>(SteadyClock::now() - begun).count();
    if (first) {
        return std::unexpected(std::move(*first));
    }
    return seconds;
}

}  // namespace ff::cli
