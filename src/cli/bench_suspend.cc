#include "cli/bench_suspend.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cli/bench_engine.h"

namespace ff::cli {

namespace {

/// Seconds of processor time this process has used.
double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// What a waiting execution is woken with.
struct SuspendedOne {
    ExecutionId id;
    WaitpointTicket ticket;
};

Suspend suspending(const Handle& handle, std::optional<TimestampMs> timeout_at) {
    Suspend op;
    op.lease = handle;
    op.resume_condition = any_signal("go");
    op.timeout_at = timeout_at;
    op.timeout_behavior = TimeoutBehavior::escalate;
    return op;
}

DeliverSignal signal_to(const SuspendedOne& waiting) {
    DeliverSignal op;
    op.execution_id = waiting.id;
    op.waitpoint_id = waiting.ticket.waitpoint_id;
    op.waitpoint_token = waiting.ticket.waitpoint_token;
    op.signal_name = "go";
    return op;
}

class SuspendBench {
  public:
    SuspendBench(const BenchOptions& options, std::string folder, Figures& figures)
        : options_(options), folder_(std::move(folder)), figures_(figures) {}

    expected<void> run() {
        FF_TRY_VOID(one_at_a_time());
        FF_TRY_VOID(side_by_side());
        FF_TRY_VOID(many_that_wait());
        figures_.print_table("suspend");
        return {};
    }

  private:
    static constexpr std::size_t claim_size = 64;

    expected<void> add(BenchEngine& bench, const std::string& name, double value,
                       const std::string& unit, std::optional<double> against = {}) {
        return bench.tell(figures_, "suspend." + name, value, unit, against);
    }

    static expected<Handle> claim_one(BenchEngine& bench, std::size_t worker) {
        std::vector<Handle> handles;
        FF_TRY(const bool any, bench.claim(handles, 1, worker));
        if (!any) {
            return ff::fail(ErrorCode::internal, "nothing to claim");
        }
        return handles.front();
    }

    /// Suspend, signal, claim what was resumed: three commands, each on disk before the next.
    static expected<Handle> round_trip(BenchEngine& bench, const Handle& handle,
                                       std::size_t worker) {
        FF_TRY(SuspendResult result, bench.engine().run(suspending(handle, std::nullopt)));
        FF_TRY_VOID(bench.engine().run(
            signal_to({handle.execution_id, std::move(result.details.waitpoint)})));
        return claim_one(bench, worker);
    }

    /// The same as workers do it: one waits for work when the signal comes, and has it with the
    /// commit of the signal.
    static expected<Handle> round_trip_waiting(BenchEngine& bench, const Handle& handle) {
        FF_TRY(SuspendResult result, bench.engine().run(suspending(handle, std::nullopt)));
        std::promise<expected<std::vector<Handle>>> claimed;
        bench.claim_later(1, [&](auto handles) { claimed.set_value(std::move(handles)); });
        const auto signalled = bench.engine().run(
            signal_to({handle.execution_id, std::move(result.details.waitpoint)}));
        FF_TRY(const auto handles, claimed.get_future().get());
        FF_TRY_VOID(signalled);
        if (handles.empty()) {
            return ff::fail(ErrorCode::internal, "nothing to claim");
        }
        return handles.front();
    }

    expected<void> one_at_a_time() {
        figures_.progress("suspend, signal, resume, one at a time");
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "suspend_one"));
        const int rounds = options_.quick ? 50 : 1'000;
        std::vector<double> commits;  // of the plainest durable thing there is: one new execution
        std::vector<double> renewals;
        std::vector<double> trips;
        std::vector<double> waiting_trips;
        FF_TRY_VOID(bench->create());
        FF_TRY(Handle handle, claim_one(*bench, 0));
        for (int i = 0; i < rounds; ++i) {
            auto begun = SteadyClock::now();
            FF_TRY_VOID(bench->create_aside());
            commits.push_back(ms_since(begun));
            begun = SteadyClock::now();
            FF_TRY_VOID(bench->renew(handle));
            renewals.push_back(ms_since(begun));
            begun = SteadyClock::now();
            FF_TRY(handle, round_trip(*bench, handle, 0));
            trips.push_back(ms_since(begun));
            begun = SteadyClock::now();
            FF_TRY(handle, round_trip_waiting(*bench, handle));
            waiting_trips.push_back(ms_since(begun));
        }
        const double commit = quantile(commits, 0.5);
        FF_TRY_VOID(add(*bench, "commit_p50", commit, "ms"));
        FF_TRY_VOID(add(*bench, "renew_p50", quantile(renewals, 0.5), "ms", commit));
        FF_TRY_VOID(add(*bench, "roundtrip", quantile(trips, 0.5), "ms", commit));
        FF_TRY_VOID(
            add(*bench, "roundtrip_p99", quantile(trips, 0.99), "ms", quantile(commits, 0.99)));
        return add(*bench, "roundtrip_waiting", quantile(waiting_trips, 0.5), "ms", commit);
    }

    expected<void> side_by_side() {
        figures_.progress("suspend, signal, resume, 16 side by side");
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "suspend_many"));
        constexpr std::size_t threads = 16;
        const int rounds = options_.quick ? 20 : 500;
        FF_TRY_VOID(bench->create_many(threads));
        Crew crew;
        FF_TRY(const double seconds, crew.run(threads, [&](std::size_t thread) -> expected<void> {
            FF_TRY(Handle handle, claim_one(*bench, thread));
            for (int i = 0; i < rounds && !crew.failed(); ++i) {
                FF_TRY(SuspendResult result, bench->engine().run(suspending(handle, std::nullopt)));
                FF_TRY_VOID(bench->engine().run(
                    signal_to({handle.execution_id, std::move(result.details.waitpoint)})));
                // Whoever is resumed first is anybody's.
                std::vector<Handle> next;
                for (bool any = false; !any && !crew.failed();) {
                    FF_TRY(any, bench->claim(next, 1, thread));
                }
                if (!next.empty()) {
                    handle = next.front();
                }
            }
            return {};
        }));
        return add(*bench, "roundtrips_16", static_cast<double>(threads) * rounds / seconds,
                   "per_second");
    }

    /// So many that wait, each with a deadline far away.
    expected<void> fill_suspended(BenchEngine& bench, std::size_t count) {
        const TimestampMs far = SystemClock().now() + 30LL * 86'400'000;
        for (std::size_t done = 0; done < count;) {
            const std::size_t part = std::min(bench_bulk, count - done);
            FF_TRY_VOID(bench.create_many(part));
            std::vector<Handle> handles;
            while (handles.size() < part) {
                std::vector<Handle> some;
                FF_TRY(const bool any, bench.claim(some, claim_size, 0));
                if (!any) {
                    return ff::fail(ErrorCode::internal, "nothing to claim");
                }
                handles.insert(handles.end(), some.begin(), some.end());
            }
            std::vector<Suspend> ops;
            for (std::size_t i = 0; i < handles.size(); ++i) {
                ops.push_back(suspending(handles[i], far + static_cast<TimestampMs>(done + i)));
            }
            for (const auto& answer : bench.engine().run_all(std::move(ops))) {
                if (!answer) {
                    return std::unexpected(answer.error());
                }
            }
            done += part;
            if (done % 20'000 < bench_bulk) {
                figures_.progress("suspended " + std::to_string(done));
            }
        }
        return {};
    }

    /// Claims and completes a backlog one execution at a time; cycles a second.
    expected<double> cycles(BenchEngine& bench, std::size_t count) {
        FF_TRY_VOID(bench.create_many(count));
        const auto begun = SteadyClock::now();
        FF_TRY(const std::uint64_t done, bench.drain_by_callbacks(16));
        if (done != count) {
            return ff::fail(ErrorCode::internal, "not everything was claimed");
        }
        return static_cast<double>(count) * 1'000 / ms_since(begun);
    }

    expected<void> many_that_wait() {
        const std::size_t waiting = options_.quick ? 5'000 : 1'000'000;
        const std::size_t backlog = options_.quick ? 1'000 : 10'000;
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "suspend_million"));
        figures_.progress("claims with nobody suspended");
        FF_TRY_VOID(cycles(*bench, backlog));  // warm
        FF_TRY(const double before, cycles(*bench, backlog));
        FF_TRY_VOID(fill_suspended(*bench, waiting));
        figures_.progress("claims while many are suspended");
        FF_TRY_VOID(cycles(*bench, backlog));
        FF_TRY(const double after, cycles(*bench, backlog));
        FF_TRY_VOID(add(*bench, "claims_none_suspended", before, "per_second"));
        FF_TRY_VOID(add(*bench, "claims_" + std::to_string(waiting) + "_suspended", after,
                        "per_second", before));
        figures_.progress("doing nothing while many are suspended");
        const double cpu = cpu_seconds();
        const int seconds = options_.quick ? 1 : 5;
        std::this_thread::sleep_for(std::chrono::seconds(seconds));
        // Never quite nothing: the figure must be a positive number.
        const double share = std::max((cpu_seconds() - cpu) / seconds * 100, 0.001);
        return add(*bench, "idle_cpu_" + std::to_string(waiting) + "_suspended", share, "percent");
    }

    const BenchOptions& options_;
    std::string folder_;
    Figures& figures_;
};

}  // namespace

expected<void> bench_suspend(const BenchOptions& options, const std::string& folder,
                             Figures& figures) {
    return SuspendBench(options, folder, figures).run();
}

}  // namespace ff::cli
