#include "cli/bench_lifecycle.h"

#include <fmt/core.h>
#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cli/bench_ceiling.h"
#include "cli/bench_engine.h"
#include "cli/bench_postgres.h"

namespace ff::cli {

namespace {

class LifecycleBench {
  public:
    LifecycleBench(const BenchOptions& options, std::string folder, Figures& figures)
        : options_(options),
          folder_(std::move(folder)),
          figures_(figures),
          backlog_(options.backlog.value_or(options.quick ? 500 : 20'000)),
          ceiling_seconds_(options.quick ? 0.05 : 0.5) {}

    expected<void> run() {
        FF_TRY_VOID(make_ceiling());
        FF_TRY_VOID(each_alone());
        FF_TRY_VOID(each_in_parallel());
        FF_TRY_VOID(create_in_bulk());
        for (const int workers : options_.workers) {
            FF_TRY_VOID(claim_complete(static_cast<std::size_t>(workers)));
        }
        FF_TRY_VOID(claim_complete_batch());
        FF_TRY_VOID(pick_up());
        figures_.print_table("lifecycle");
        return {};
    }

  private:
    static constexpr std::size_t crowd = 16;
    static constexpr std::size_t batch = 64;

    expected<std::unique_ptr<BenchEngine>> open(const std::string& name) {
        return BenchEngine::open(options_, folder_, name);
    }

    expected<void> make_ceiling() {
        if (options_.store == BenchStore::memory) {
            return {};
        }
        figures_.progress("the ceiling's table");
        if (options_.store == BenchStore::postgres) {
            FF_TRY(pgbench_, PgbenchCeiling::make(options_));
        } else {
            FF_TRY(sqlite_, SqliteCeiling::make(folder_, ceiling_rows(options_)));
        }
        return {};
    }

    /// How many transitions of the SQLite ceiling a figure's unit is made of.
    enum class Transitions : int { one = 1, two = 2 };

    /// What a rate is compared with, measured now; nothing in memory. A whole job is compared with
    /// one transaction of pgbench.
    expected<std::optional<double>> ceiling(Transitions transitions) {
        if (sqlite_) {
            FF_TRY(const double rate, sqlite_->operations_per_second(512, ceiling_seconds_));
            return rate / static_cast<int>(transitions);
        }
        // It takes whole seconds, so a quick run asks it once.
        if (pgbench_ && !(options_.quick && pgbench_rate_)) {
            FF_TRY(pgbench_rate_, pgbench_->transactions_per_second(
                                      PgbenchCeiling::Protocol::simple, options_.quick ? 1 : 2));
        }
        return pgbench_rate_;
    }

    /// Measures `body`, a rate a second, with the ceiling right before and right after it.
    expected<void> rate(const std::string& name, const BenchEngine& bench, Transitions transitions,
                        const std::function<expected<double>()>& body) {
        figures_.progress("lifecycle." + name);
        FF_TRY(const std::optional<double> before, ceiling(transitions));
        FF_TRY(const double value, body());
        FF_TRY(const std::optional<double> after, ceiling(transitions));
        Figure figure{"lifecycle." + name, bench.store(), value, "/s", {}, {}, bench.durability()};
        if (before && after) {
            figure.against((*before + *after) / 2);
        }
        return figures_.add(std::move(figure));
    }

    /// Adds latencies in milliseconds; those of a file are compared with one fsync of the same
    /// moments.
    expected<void> latency(const std::string& name, const BenchEngine& bench, double value_ms,
                           double fsync_ms) {
        Figure figure{"lifecycle." + name, bench.store(), value_ms, "ms", {}, {},
                      bench.durability()};
        if (sqlite_) {
            figure.against(fsync_ms);
        }
        return figures_.add(std::move(figure));
    }

    expected<double> fsync_ms() {
        if (!sqlite_) {
            return 0.0;
        }
        FF_TRY(const double fsyncs, fsyncs_per_second(folder_, ceiling_seconds_));
        return 1'000 / fsyncs;
    }

    // ------------------------------------------------------------- one command at a time, alone

    /// Runs `one` so many times; the milliseconds each took.
    static expected<std::vector<double>> time_each(
        std::size_t count, const std::function<expected<void>(std::size_t)>& one) {
        std::vector<double> times;
        times.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto begun = SteadyClock::now();
            FF_TRY_VOID(one(i));
            times.push_back(ms_since(begun));
        }
        return times;
    }

    expected<void> alone(const std::string& name, const BenchEngine& bench, std::size_t count,
                         const std::function<expected<void>(std::size_t)>& one) {
        std::vector<double> times;
        FF_TRY(const double before, fsync_ms());
        FF_TRY_VOID(rate(name + "_1", bench, Transitions::one, [&]() -> expected<double> {
            const auto begun = SteadyClock::now();
            FF_TRY(times, time_each(count, one));
            return static_cast<double>(count) * 1'000 / ms_since(begun);
        }));
        FF_TRY(const double after, fsync_ms());
        return latency(fmt::format("alone_{}_p50", name), bench, quantile(times, 0.5),
                       (before + after) / 2);
    }

    expected<void> each_alone() {
        const std::size_t count = options_.quick ? 50 : 3'000;
        FF_TRY(const auto bench, open("alone"));
        std::vector<Handle> handles;
        FF_TRY_VOID(alone("create", *bench, count, [&](std::size_t) { return bench->create(); }));
        FF_TRY_VOID(alone("claim", *bench, count,
                          [&](std::size_t) { return claim_one(*bench, handles, 0); }));
        FF_TRY_VOID(
            alone("renew", *bench, count, [&](std::size_t i) { return bench->renew(handles[i]); }));
        return alone("complete", *bench, count,
                     [&](std::size_t i) { return bench->complete(handles[i]); });
    }

    static expected<void> claim_one(BenchEngine& bench, std::vector<Handle>& handles,
                                    std::size_t worker) {
        FF_TRY(const bool found, bench.claim(handles, 1, worker));
        if (!found) {
            return ff::fail(ErrorCode::internal, "a claim found nothing in a backlog");
        }
        return {};
    }

    // ------------------------------------------------------------------------ sixteen at a time

    /// `one` runs `each` times on every thread of a crowd; how many a second.
    static expected<double> crowd_rate(
        std::size_t each, const std::function<expected<void>(std::size_t, std::size_t)>& one) {
        Crew crew;
        FF_TRY(const double seconds, crew.run(crowd, [&](std::size_t thread) -> expected<void> {
            for (std::size_t i = 0; i < each && !crew.failed(); ++i) {
                FF_TRY_VOID(one(thread, i));
            }
            return {};
        }));
        return static_cast<double>(crowd * each) / seconds;
    }

    expected<void> each_in_parallel() {
        const std::size_t each = std::max<std::size_t>(backlog_ / crowd, 1);
        FF_TRY(const auto bench, open("parallel"));
        std::vector<std::vector<Handle>> handles(crowd);
        FF_TRY_VOID(rate("create_16", *bench, Transitions::one, [&] {
            return crowd_rate(each, [&](std::size_t, std::size_t) { return bench->create(); });
        }));
        FF_TRY_VOID(rate("claim_16", *bench, Transitions::one, [&] {
            return crowd_rate(each, [&](std::size_t thread, std::size_t) {
                return claim_one(*bench, handles[thread], thread);
            });
        }));
        FF_TRY_VOID(rate("renew_16", *bench, Transitions::one, [&] {
            return crowd_rate(each, [&](std::size_t thread, std::size_t i) {
                return bench->renew(handles[thread][i]);
            });
        }));
        return rate("complete_16", *bench, Transitions::one, [&] {
            return crowd_rate(each, [&](std::size_t thread, std::size_t i) {
                return bench->complete(handles[thread][i]);
            });
        });
    }

    // ------------------------------------------------------------------------------- in batches

    expected<void> create_in_bulk() {
        const std::size_t bulks = std::max<std::size_t>(backlog_ * 5 / bench_bulk / 2, 1);
        FF_TRY(const auto bench, open("bulk"));
        return rate("create_bulk", *bench, Transitions::one, [&]() -> expected<double> {
            Crew crew;
            FF_TRY(const double seconds, crew.run(2, [&](std::size_t) -> expected<void> {
                for (std::size_t i = 0; i < bulks && !crew.failed(); ++i) {
                    FF_TRY_VOID(bench->create_many(bench_bulk));
                }
                return {};
            }));
            return static_cast<double>(2 * bulks * bench_bulk) / seconds;
        });
    }

    /// Workers drain a backlog, `tasks` executions at a time; jobs a second.
    expected<double> drain(BenchEngine& bench, std::size_t workers, std::uint32_t tasks) {
        std::atomic<std::uint64_t> done = 0;
        Crew crew;
        FF_TRY(const double seconds, crew.run(workers, [&](std::size_t worker) -> expected<void> {
            std::vector<Handle> handles;
            while (!crew.failed()) {
                handles.clear();
                FF_TRY(const bool more, bench.claim(handles, tasks, worker));
                if (!more) {
                    break;
                }
                FF_TRY_VOID(tasks == 1 ? bench.complete(handles[0]) : bench.complete_many(handles));
                done += handles.size();
            }
            return {};
        }));
        return rate_of_all(done, seconds);
    }

    expected<double> drain_by_callbacks(BenchEngine& bench, std::size_t workers) {
        const auto begun = SteadyClock::now();
        FF_TRY(const std::uint64_t done, bench.drain_by_callbacks(workers));
        return rate_of_all(done, seconds_since(begun));
    }

    expected<double> rate_of_all(std::uint64_t done, double seconds) const {
        if (done != backlog_) {
            return ff::fail(ErrorCode::internal,
                            fmt::format("{} of {} executions were completed", done, backlog_));
        }
        return static_cast<double>(backlog_) / seconds;
    }

    /// Workers that never block, as the clients of pgbench and the polls of a server are, and
    /// workers that are threads and sleep until each answer: then every answer is a switch of
    /// threads, which is what is measured beside the engine.
    expected<void> claim_complete(std::size_t workers) {
        const std::string name = fmt::format("claim_complete_{}", workers);
        {
            FF_TRY(const auto bench, open(name));
            FF_TRY_VOID(bench->fill_waiting(backlog_));
            FF_TRY_VOID(rate(name, *bench, Transitions::two,
                             [&] { return drain_by_callbacks(*bench, workers); }));
        }
        FF_TRY(const auto bench, open(name + "_threads"));
        FF_TRY_VOID(bench->fill_waiting(backlog_));
        return rate(name + "_threads", *bench, Transitions::two,
                    [&] { return drain(*bench, workers, 1); });
    }

    expected<void> claim_complete_batch() {
        FF_TRY(const auto bench, open("claim_complete_batch"));
        FF_TRY_VOID(bench->fill_waiting(backlog_));
        return rate("claim_complete_batch", *bench, Transitions::two,
                    [&] { return drain(*bench, 2, batch); });
    }

    // ---------------------------------------------------------------------------------- pick-up

    /// From a submit to the return of a claim that was waiting for it.
    class PickUp {
      public:
        explicit PickUp(BenchEngine& bench) : bench_(bench) {
            sem_init(&picked_, 0, 0);
            worker_ = std::thread([this] { work(); });
        }
        ~PickUp() {
            over_ = true;
            // What it waits for, if it waits still.
            [[maybe_unused]] auto last = bench_.create();
            worker_.join();
            sem_destroy(&picked_);
        }
        PickUp(const PickUp&) = delete;
        PickUp& operator=(const PickUp&) = delete;

        expected<double> sample() {
            const auto parked_by = SteadyClock::now() + std::chrono::seconds(10);
            while (bench_.engine().stats().waiting_claims == 0 && !failed_) {
                if (SteadyClock::now() > parked_by) {
                    return ff::fail(ErrorCode::timeout, "the waiting claim does not wait");
                }
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
            const auto begun = SteadyClock::now();
            if (!failed_) {
                FF_TRY_VOID(bench_.create());
                while (sem_wait(&picked_) != 0) {
                    // interrupted by a signal: wait on
                }
            }
            if (failed_) {
                return std::unexpected(error_);
            }
            return std::chrono::duration<double, std::milli>(picked_at_ - begun).count();
        }

      private:
        void work() {
            while (!over_) {
                if (auto done = work_one(); !done) {
                    error_ = std::move(done).error();
                    failed_ = true;
                    sem_post(&picked_);
                    return;
                }
            }
        }

        expected<void> work_one() {
            Claim op;
            op.lanes = {bench_lane};
            op.worker_id = "bench";
            op.worker_instance_id = "bench-waiting";
            op.lease_ttl_ms = bench_lease_ms;
            op.max_wait_ms = 5'000;
            FF_TRY(const ClaimResult claimed, bench_.engine().run(std::move(op)));
            if (claimed.tasks.empty()) {
                return {};
            }
            picked_at_ = SteadyClock::now();
            // Completed before the next sample is told to begin, so that the engine is idle then.
            FF_TRY_VOID(bench_.complete(claimed.tasks[0].handle));
            sem_post(&picked_);
            return {};
        }

        BenchEngine& bench_;
        std::atomic<bool> over_ = false;
        std::atomic<bool> failed_ = false;
        Error error_;                          // set before failed_
        SteadyClock::time_point picked_at_{};  // handed over by picked_
        sem_t picked_{};
        std::thread worker_;
    };

    expected<void> pick_up() {
        const std::size_t samples = options_.quick ? 40 : 2'000;
        FF_TRY(const auto bench, open("pickup"));
        figures_.progress("lifecycle.pickup");
        FF_TRY(const double before, fsync_ms());
        std::vector<double> times;
        {
            PickUp pick_up(*bench);
            for (std::size_t i = 0; i < samples; ++i) {
                FF_TRY(const double ms, pick_up.sample());
                times.push_back(ms);
            }
        }
        FF_TRY(const double after, fsync_ms());
        const double fsync = (before + after) / 2;
        FF_TRY_VOID(latency("pickup_p50", *bench, quantile(times, 0.5), fsync));
        return latency("pickup_p99", *bench, quantile(times, 0.99), fsync);
    }

    const BenchOptions& options_;
    const std::string folder_;
    Figures& figures_;
    const std::size_t backlog_;
    const double ceiling_seconds_;
    // The ceiling of the store, if it has one.
    std::unique_ptr<SqliteCeiling> sqlite_;
    std::unique_ptr<PgbenchCeiling> pgbench_;
    std::optional<double> pgbench_rate_;  // as last measured
};

}  // namespace

expected<void> bench_lifecycle(const BenchOptions& options, const std::string& folder,
                               Figures& figures) {
    return LifecycleBench(options, folder, figures).run();
}

}  // namespace ff::cli
