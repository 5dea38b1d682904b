#include "worker/claimer.h"

#include <algorithm>
#include <utility>

#include "worker/faults.h"

namespace ff::worker {

namespace {

/// Tasks asked for in one claim.
constexpr std::size_t tasks_max = 16;
/// Kinds one claim can name; a worker with more handlers claims every kind.
constexpr std::size_t kinds_max = 256;

WorkerBackoff idle_range(const WorkerOptions& options) {
    WorkerBackoff range = options.idle_backoff;
    range.most = std::max(range.first, std::min(range.most, options.claim_poll_interval));
    return range;
}

std::string capability_digest(std::vector<std::string> capabilities) {
    std::ranges::sort(capabilities);
    return log_digest(joined(capabilities));
}

}  // namespace

Claimer::Claimer(std::shared_ptr<const Setup> setup, Shift& shift, StartFn start_task)
    : setup_(std::move(setup)),
      shift_(shift),
      start_task_(std::move(start_task)),
      digest_(capability_digest(setup_->options.capabilities)),
      idle_pauses_(idle_range(setup_->options), Pauses::Jitter::none),
      error_pauses_(setup_->options.error_backoff, Pauses::Jitter::fifth) {}

void Claimer::start() {
    thread_ = std::thread([this] { run(); });
}

void Claimer::abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    waiting_.request_stop();
}

void Claimer::join() {
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Claimer::run() {
    bool goes_on = true;
    while (goes_on) {
        const std::size_t free = shift_.wait_for_slot();
        if (free == 0) {
            return;
        }
        const TimestampMs begun = setup_->now();
        auto answer = claim(free);
        if (!answer) {
            goes_on = rest_after_error(answer.error());
        } else if (answer->tasks.empty()) {
            error_pauses_.reset();
            goes_on = rest_after_nothing(setup_->now() - begun);
        } else {
            error_pauses_.reset();
            idle_pauses_.reset();
            receive(std::move(answer->tasks));
        }
    }
}

expected<ClaimResult> Claimer::claim(std::size_t free) {
    const WorkerOptions& options = setup_->options;
    Claim op;
    op.lanes = options.lanes;
    op.capabilities = options.capabilities;
    op.worker_id = options.worker_id;
    op.worker_instance_id = options.worker_instance_id;
    op.lease_ttl_ms = options.lease_ttl.count();
    op.max_wait_ms = options.poll_block.count();
    op.max_tasks = static_cast<std::uint32_t>(std::min(free, tasks_max));
    op.ns = options.ns;
    const bool takes_all = setup_->handlers.contains(any_kind);
    if (!takes_all && setup_->handlers.size() <= kinds_max) {
        for (const auto& [kind, handler] : setup_->handlers) {
            op.kinds.push_back(kind);
        }
    }
    {
        const std::lock_guard lock(mutex_);
        waiting_ = std::stop_source();
        op.abandoned = waiting_.get_token();
        abandoned_ = false;
    }
    if (shift_.stopping()) {
        return ClaimResult{};  // abandon() came before there was anything to abandon
    }
    return setup_->engine->run(std::move(op));
}

void Claimer::receive(std::vector<ClaimedTask> tasks) {
    const TimestampMs now = setup_->now();
    for (ClaimedTask& task : tasks) {
        if (shift_.take_slot()) {
            start_task_(std::move(task), now);
            continue;
        }
        // The worker stopped meanwhile, or a grant took the slot: somebody else shall have it.
        if (const auto released = setup_->engine->run(Release{task.handle}); !released) {
            setup_->log(Severity::warn, task.execution_id().to_string() +
                                            " could not be given back, its lease will expire: " +
                                            released.error().message());
        } else {
            setup_->counters->released += 1;
        }
    }
}

bool Claimer::rest_after_error(const Error& error) {
    setup_->counters->claim_errors += 1;
    if (is_fatal(error)) {
        setup_->log(Severity::error, "claiming was refused, the worker stops: " + error.message());
        shift_.fail(error);
        return false;
    }
    const DurationMs pause = error_pauses_.next();
    setup_->log(Severity::warn, "claiming (capabilities " + digest_ + ") failed, next try in " +
                                    std::to_string(pause) + " ms: " + error.message());
    return shift_.pause(pause);
}

bool Claimer::rest_after_nothing(DurationMs waited) {
    {
        const std::lock_guard lock(mutex_);
        if (abandoned_) {
            return true;
        }
    }
    const DurationMs block = setup_->options.poll_block.count();
    if (block > 0 && waited >= block) {
        idle_pauses_.reset();
        return true;
    }
    return shift_.pause(idle_pauses_.next());
}

}  // namespace ff::worker
