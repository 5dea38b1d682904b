// An engine to measure, with the plain operations a benchmark is made of. Every answer is looked
// at: the first failure ends the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ff/engine.h>

#include "cli/bench.h"
#include "cli/bench_postgres.h"

namespace ff::cli {

inline constexpr const char* bench_lane = "bench";
inline constexpr const char* bench_aside_lane = "aside";
inline constexpr std::size_t bench_payload_bytes = 100;
inline constexpr std::size_t bench_bulk = 500;
inline constexpr DurationMs bench_lease_ms = 3'600'000;

class BenchEngine {
  public:
    /// A fresh store of that name: a file in the folder, or a database on the server.
    static expected<std::unique_ptr<BenchEngine>> open(const BenchOptions& options,
                                                       const std::string& folder,
                                                       const std::string& name);
    /// Closes the store and removes its file or database.
    ~BenchEngine();
    BenchEngine(const BenchEngine&) = delete;
    BenchEngine& operator=(const BenchEngine&) = delete;

    [[nodiscard]] Engine& engine() { return *engine_; }
    [[nodiscard]] const std::string& durability() const { return durability_; }
    [[nodiscard]] std::string store() const { return std::string(to_string(kind_)); }

    /// A figure of this store, with what it is compared with.
    expected<void> tell(Figures& figures, std::string name, double value, std::string unit,
                        std::optional<double> against = {}) const;

    // One command.
    expected<void> create();
    /// One that no claim of the benchmark takes.
    expected<void> create_aside();
    /// False when nothing was there to claim.
    expected<bool> claim(std::vector<Handle>& handles, std::uint32_t tasks, std::size_t worker);
    /// Waits for something to claim, not for its answer.
    void claim_later(std::size_t worker, std::function<void(expected<std::vector<Handle>>)> done);
    expected<void> renew(const Handle& handle);
    expected<void> complete(const Handle& handle);

    /// So many workers that never block: the answer to each claim sends the complete, and its
    /// answer the next claim, until nothing is left. How many executions they completed.
    expected<std::uint64_t> drain_by_callbacks(std::size_t workers);

    /// The same with workers who wait for work, until `count` are completed; the seconds from
    /// `begun` to the last of them.
    expected<double> work_through(std::size_t workers, std::size_t count,
                                  SteadyClock::time_point begun);

    // Many at once.
    /// `routes` different kinds take turns.
    expected<void> create_many(std::size_t count, std::size_t routes = 1);
    expected<void> renew_many(const std::vector<Handle>& handles);
    expected<void> complete_many(const std::vector<Handle>& handles);
    /// Creates, in bulks.
    expected<void> fill_waiting(std::uint64_t count, std::size_t routes = 1);
    /// Takes everything through its whole life, in bulks.
    expected<void> fill_finished(std::uint64_t count);

  private:
    BenchEngine() = default;

    BenchStore kind_ = BenchStore::sqlite;
    std::string path_;  // of the file, if it is one
    std::unique_ptr<ScratchDatabase> database_;
    std::string durability_;
    std::shared_ptr<Engine> engine_;
    std::size_t next_kind_ = 0;
};

/// Runs `body` on so many threads, which start together; the seconds it took them all, or the
/// first error. A thread should return early once `failed()`.
class Crew {
  public:
    using Body = std::function<expected<void>(std::size_t thread)>;
    expected<double> run(std::size_t threads, const Body& body);
    [[nodiscard]] bool failed() const { return failed_; }

  private:
    std::atomic<bool> failed_ = false;
};

}  // namespace ff::cli
