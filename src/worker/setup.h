// Setup: what a worker was told before it started. Fixed afterwards, shared by all its threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include <ff/worker.h>

namespace ff::worker {

/// WorkerStats as it is counted.
struct Counters {
    std::atomic<std::uint64_t> claimed{0};
    std::atomic<std::uint64_t> completed{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> other_ends{0};
    std::atomic<std::uint64_t> lost{0};
    std::atomic<std::uint64_t> released{0};
    std::atomic<std::uint64_t> claim_errors{0};
    std::atomic<std::uint64_t> renewals{0};
    std::atomic<std::uint64_t> renewal_errors{0};
    std::atomic<std::uint64_t> registrations{0};
    std::atomic<std::uint64_t> at_capacity{0};
};

class FrameTimer;

struct Setup {
    std::shared_ptr<Engine> engine;
    WorkerOptions options;  ///< complete once check_options has seen them
    std::map<std::string, Handler> handlers;
    std::map<std::type_index, std::shared_ptr<void>> states;
    std::map<std::string, PayloadDecoder> decoders;
    std::shared_ptr<Counters> counters = std::make_shared<Counters>();
    std::shared_ptr<FrameTimer> frame_timer;

    [[nodiscard]] TimestampMs now() const { return options.clock->now(); }
    void log(Severity severity, std::string_view line) const { options.log(severity, line); }
    /// A third of the lease's time.
    [[nodiscard]] DurationMs renewal_interval() const {
        return std::max<DurationMs>(1, options.lease_ttl.count() / 3);
    }
};

/// `a,b,c`.
std::string joined(const std::vector<std::string>& words);

/// Fills in what was left out: instance id, log, clock. The names may still be wrong.
void complete_options(WorkerOptions& options);
/// `invalid_config` that names the first fault. Sorts the capabilities.
expected<void> check_options(WorkerOptions& options);

}  // namespace ff::worker
