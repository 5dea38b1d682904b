#include "worker/setup.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/lease_clock.h"

namespace ff::worker {

namespace {

constexpr std::size_t name_bytes_max = 256;
constexpr std::size_t lanes_max = 64;

std::string host_name() {
    std::array<char, 256> buffer{};
    if (gethostname(buffer.data(), buffer.size() - 1) != 0 || buffer[0] == '\0') {
        return "host";
    }
    std::string name(buffer.data());
    std::ranges::replace_if(name, [](char c) { return c <= ' ' || c > '~'; }, '_');
    return name;
}

/// `<worker_id>-<host>-<pid>-<8 hex>`; of a very long worker id as much as fits.
std::string make_instance_id(const std::string& worker_id) {
    SystemIdSource random;
    std::array<char, 64> tail{};
    (void)std::snprintf(tail.data(), tail.size(), "-%ld-%08x", static_cast<long>(getpid()),
                        static_cast<unsigned>(random.uniform(0xFFFF'FFFF)));
    const std::string rest = "-" + host_name().substr(0, 128) + tail.data();
    return truncate_utf8(worker_id, name_bytes_max - rest.size()) + rest;
}

std::unexpected<Error> refuse(std::string detail) {
    return ff::fail(ErrorCode::invalid_config, std::move(detail));
}

/// The same words, as a fault of the configuration.
expected<void> as_config(expected<void> checked) {
    return checked ? checked : refuse(checked.error().detail);
}

expected<void> check_range(const char* name, std::chrono::milliseconds value, DurationMs low,
                           DurationMs high) {
    if (value.count() < low || value.count() > high) {
        return refuse(std::string(name) + " must be between " + std::to_string(low) + " and " +
                      std::to_string(high) + " ms (got " + std::to_string(value.count()) + ")");
    }
    return {};
}

expected<void> check_backoff(const char* name, const WorkerBackoff& backoff) {
    FF_TRY_VOID(check_range((std::string(name) + ".first").c_str(), backoff.first, 1, 3'600'000));
    return check_range((std::string(name) + ".most").c_str(), backoff.most, backoff.first.count(),
                       3'600'000);
}

expected<void> check_names(WorkerOptions& options) {
    FF_TRY_VOID(as_config(check_worker_name("worker_id", options.worker_id)));
    FF_TRY_VOID(as_config(check_worker_name("worker_instance_id", options.worker_instance_id)));
    FF_TRY_VOID(as_config(check_namespace("namespace", options.ns)));
    if (options.lanes.empty()) {
        return refuse("at least one lane is required");
    }
    if (options.lanes.size() > lanes_max) {
        return refuse("at most 64 lanes are allowed (got " + std::to_string(options.lanes.size()) +
                      ")");
    }
    for (const std::string& lane : options.lanes) {
        FF_TRY_VOID(as_config(check_lane("lane", lane)));
    }
    auto capabilities =
        normalise_capabilities(std::move(options.capabilities), CapabilitySide::worker);
    if (!capabilities) {
        return refuse("capabilities: " + capabilities.error().detail);
    }
    options.capabilities = std::move(*capabilities);
    return {};
}

}  // namespace

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ",") + word;
    }
    return text;
}

void complete_options(WorkerOptions& options) {
    if (options.worker_instance_id.empty()) {
        options.worker_instance_id = make_instance_id(options.worker_id);
    }
    if (!options.log) {
        options.log = log_to_stderr;
    }
    if (!options.clock) {
        options.clock = std::make_shared<LeaseClock>();
    }
}

expected<void> check_options(WorkerOptions& options) {
    FF_TRY_VOID(check_names(options));
    FF_TRY_VOID(check_range("lease_ttl", options.lease_ttl, 1'000, 3'600'000));
    if (options.max_concurrent_tasks < 1) {
        return refuse("max_concurrent_tasks must be at least 1");
    }
    FF_TRY_VOID(check_range("claim_poll_interval", options.claim_poll_interval, 1, 3'600'000));
    FF_TRY_VOID(check_range("poll_block", options.poll_block, 0, 30'000));
    FF_TRY_VOID(check_backoff("idle_backoff", options.idle_backoff));
    FF_TRY_VOID(check_backoff("error_backoff", options.error_backoff));
    FF_TRY_VOID(check_range("liveness_ttl", options.liveness_ttl, 1'000, 3'600'000));
    FF_TRY_VOID(check_range("drain_timeout", options.drain_timeout, 0, 86'400'000));
    if (options.threads && *options.threads < options.max_concurrent_tasks) {
        return refuse("threads must be at least max_concurrent_tasks: a task never waits claimed");
    }
    return {};
}

}  // namespace ff::worker
