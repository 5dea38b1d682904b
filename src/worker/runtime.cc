#include "worker/runtime.h"

#include <algorithm>
#include <utility>

#include "worker/faults.h"
#include "worker/frame_timer.h"

namespace ff::worker {

namespace {

/// How long an engine that cannot be reached may hold up the end of the worker, at each step.
constexpr DurationMs parting_ms = 10'000;

std::shared_ptr<Setup> make_setup(std::shared_ptr<Engine> engine, WorkerOptions options) {
    complete_options(options);
    auto setup = std::make_shared<Setup>();
    setup->engine = std::move(engine);
    setup->options = std::move(options);
    setup->frame_timer = std::make_shared<FrameTimer>(setup->options.clock);
    return setup;
}

}  // namespace

Runtime::Runtime(std::shared_ptr<Engine> engine, WorkerOptions options)
    : setup_(make_setup(std::move(engine), std::move(options))),
      shift_(setup_->options.clock, setup_->options.max_concurrent_tasks),
      keeper_(std::make_shared<Keeper>(
          setup_,
          [this](const Error& error) {
              setup_->log(Severity::error,
                          "registering was refused, the worker stops: " + error.message());
              shift_.fail(error);
              claimer_.abandon();
          })),
      pool_([this] { shift_.free_slot(); }),
      claimer_(setup_, shift_, [this](ClaimedTask claimed, TimestampMs received_at) {
          begin(std::move(claimed), received_at);
      }) {}

// --------------------------------------------------------------------------------------- setup

void Runtime::note_fault(std::string fault) {
    if (!fault_) {
        fault_ = Error{ErrorCode::invalid_config, std::move(fault), {}};
    }
}

void Runtime::add(std::string kind, Handler handler) {
    if (phase_ != Phase::setting_up) {
        throw Exception({ErrorCode::invalid_config, "handlers are added before start()", {}});
    }
    if (const auto named = check_label("kind", kind, 1, 256); kind != any_kind && !named) {
        note_fault(named.error().detail);
    }
    if (!setup_->handlers.emplace(kind, std::move(handler)).second) {
        note_fault("kind " + kind + " has two handlers");
    }
}

void Runtime::add_state(std::type_index type, std::shared_ptr<void> state) {
    if (phase_ != Phase::setting_up) {
        throw Exception({ErrorCode::invalid_config, "state is provided before start()", {}});
    }
    setup_->states[type] = std::move(state);
}

void Runtime::add_decoder(std::string encoding, PayloadDecoder decoder) {
    if (phase_ != Phase::setting_up) {
        throw Exception({ErrorCode::invalid_config, "codecs are added before start()", {}});
    }
    setup_->decoders[std::move(encoding)] = std::move(decoder);
}

expected<void> Runtime::check_setup() {
    if (fault_) {
        return std::unexpected(*fault_);
    }
    if (!setup_->engine) {
        return ff::fail(ErrorCode::invalid_config, "a worker needs an engine");
    }
    FF_TRY_VOID(check_options(setup_->options));
    if (setup_->handlers.empty()) {
        return ff::fail(ErrorCode::invalid_config,
                        "no handler: call on(kind, handler) before start()");
    }
    return {};
}

// --------------------------------------------------------------------------------------- start

expected<void> Runtime::start() {
    const std::lock_guard lock(changing_);
    if (phase_ != Phase::setting_up) {
        return ff::fail(ErrorCode::invalid_config, "a worker is started once");
    }
    FF_TRY_VOID(check_setup());
    tell_start();
    FF_TRY_VOID(sign_on());
    phase_ = Phase::running;
    pool_.start(setup_->options.threads.value_or(setup_->options.max_concurrent_tasks));
    keeper_->start();
    claimer_.start();
    return {};
}

void Runtime::tell_start() const {
    const WorkerOptions& options = setup_->options;
    const std::string capabilities = joined(options.capabilities);
    setup_->log(Severity::info, "worker " + options.worker_id + " starts as " +
                                    options.worker_instance_id + ": namespace " + options.ns +
                                    ", lanes " + joined(options.lanes) + ", capabilities " +
                                    (capabilities.empty() ? "none" : capabilities) + " (" +
                                    log_digest(capabilities) + "), " +
                                    std::to_string(options.max_concurrent_tasks) + " at a time");
    for (const auto& [kind, handler] : setup_->handlers) {
        for (const std::type_index& type : handler.needs) {
            if (!setup_->states.contains(type)) {
                setup_->log(Severity::warn,
                            "the handler of " + kind + " will fail: " + Task::missing_state(type));
            }
        }
    }
}

expected<void> Runtime::sign_on() {
    Pauses pauses(setup_->options.error_backoff, Pauses::Jitter::fifth);
    for (;;) {
        const auto registered = setup_->engine->run(registration(*setup_));
        if (registered) {
            setup_->counters->registrations += 1;
            return {};
        }
        if (is_fatal(registered.error())) {
            return std::unexpected(registered.error());
        }
        const DurationMs pause = pauses.next();
        setup_->log(Severity::warn, "registering failed, next try in " + std::to_string(pause) +
                                        " ms: " + registered.error().message());
        if (!shift_.pause(pause)) {
            return ff::fail(ErrorCode::shutting_down, "the worker was stopped before it started");
        }
    }
}

void Runtime::begin(ClaimedTask claimed, TimestampMs received_at) {
    setup_->counters->claimed += 1;
    auto held = std::make_shared<HeldTask>(setup_, std::move(claimed), received_at);
    // Kept from the moment it was claimed, so that no handler runs on a lease nobody renews.
    keeper_->hold(held, received_at);
    if (pool_.run(held)) {
        return;
    }
    keeper_->drop(held);
    give_back({held});
    shift_.free_slot();
}

// ---------------------------------------------------------------------------------------- take

expected<void> Runtime::take(const Grant& grant) {
    if (phase_ != Phase::running || shift_.stopping()) {
        return ff::fail(ErrorCode::shutting_down, "the worker is not running");
    }
    if (!shift_.take_slot()) {
        setup_->counters->at_capacity += 1;
        return ff::fail(ErrorCode::at_capacity,
                        "all " + std::to_string(setup_->options.max_concurrent_tasks) +
                            " slots are busy; the grant was not used");
    }
    claimer_.abandon();  // it may have counted on the slot
    auto claimed = use(grant);
    if (!claimed) {
        shift_.free_slot();
        return std::unexpected(std::move(claimed).error());
    }
    begin(std::move(*claimed), setup_->now());
    return {};
}

expected<ClaimedTask> Runtime::use(const Grant& grant) {
    const WorkerOptions& options = setup_->options;
    const auto fill = [&](auto op) {
        op.execution_id = grant.execution_id;
        op.worker_id = options.worker_id;
        op.worker_instance_id = options.worker_instance_id;
        op.lane_id = grant.lane_id;
        op.lease_ttl_ms = options.lease_ttl.count();
        op.grant_key = grant.grant_key;
        return op;
    };
    if (grant.kind != GrantKind::reclaim) {
        return grant.kind == GrantKind::resume ? setup_->engine->run(fill(ClaimResumedExecution{}))
                                               : setup_->engine->run(fill(ClaimExecution{}));
    }
    FF_TRY(ReclaimResult result, setup_->engine->run(fill(ReclaimExecution{})));
    switch (result.status) {
        case ReclaimResult::Status::claimed: return std::move(*result.task);
        case ReclaimResult::Status::grant_not_found:
            return ff::fail(ErrorCode::invalid_claim_grant, "there is no such grant any more");
        case ReclaimResult::Status::reclaim_cap_exceeded:
            return ff::fail(ErrorCode::execution_not_reclaimable,
                            "reclaimed " + std::to_string(result.reclaim_count) +
                                " times, which is the most allowed");
        case ReclaimResult::Status::not_reclaimable: break;
    }
    return ff::fail(ErrorCode::execution_not_reclaimable, result.detail);
}

// ---------------------------------------------------------------------------------------- stop

void Runtime::request_stop() {
    shift_.request_stop();
    claimer_.abandon();
}

expected<void> Runtime::stop() {
    request_stop();
    const std::lock_guard lock(changing_);
    if (phase_ == Phase::running) {
        claimer_.join();
        drain();
        keeper_->stop();
        sign_off();
        if (const std::size_t left = pool_.running().size(); left > 0) {
            setup_->log(Severity::warn, "waiting for " + std::to_string(left) +
                                            " handlers that do not heed their stop token");
        }
        pool_.join();
        setup_->frame_timer->stop();
    }
    phase_ = Phase::stopped;
    if (const auto fatal = shift_.fatal()) {
        return std::unexpected(*fatal);
    }
    return {};
}

void Runtime::drain() {
    if (shift_.wait_idle(setup_->now() + setup_->options.drain_timeout.count())) {
        return;
    }
    for (const auto& task : pool_.running()) {
        task->request_stop(CancelCause::drain);
    }
    if (!shift_.wait_idle(setup_->now() + drain_grace_ms)) {
        release_rest();
    }
}

void Runtime::release_rest() {
    std::vector<std::shared_ptr<HeldTask>> unfinished;
    for (const auto& task : pool_.running()) {
        task->give_up();
        // One whose end is on its way to the engine must not be given to somebody else.
        if (!task->finished() && !task->finishing()) {
            unfinished.push_back(task);
        }
    }
    give_back(unfinished);
}

void Runtime::give_back(const std::vector<std::shared_ptr<HeldTask>>& tasks) {
    std::vector<Request> ops;
    for (const auto& task : tasks) {
        ops.emplace_back(Release{task->handle()});
    }
    const std::vector<Response> answers = ask_in_parting(std::move(ops));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i]) {
            setup_->counters->released += 1;
            tasks[i]->log(Severity::warn, "given back unfinished: the worker stops");
        } else {
            tasks[i]->log(Severity::warn, "could not be given back, its lease will expire: " +
                                              answers[i].error().message());
        }
    }
}

std::vector<Response> Runtime::ask_in_parting(std::vector<Request> requests) const {
    struct Box {
        explicit Box(std::shared_ptr<Clock> clock) : wait(std::move(clock)) {}
        ClockWait wait;
        std::vector<Response> answers;  // guarded by wait.mutex()
        bool came = false;              // guarded by wait.mutex()
    };
    const std::size_t count = requests.size();
    const auto box = std::make_shared<Box>(setup_->options.clock);  // the answer may come later
    setup_->engine->call_many(std::move(requests), [box](std::vector<Response> answers) {
        {
            const std::lock_guard lock(box->wait.mutex());
            box->answers = std::move(answers);
            box->came = true;
        }
        box->wait.notify();
    });
    std::unique_lock lock(box->wait.mutex());
    const TimestampMs due = box->wait.now() + parting_ms;
    if (box->wait.until(lock, due, [&box] { return box->came; })) {
        return std::move(box->answers);
    }
    return std::vector<Response>(
        count, ff::fail(ErrorCode::timeout, "no answer came while the worker stopped"));
}

void Runtime::sign_off() {
    MarkWorkerDead op;
    op.ns = setup_->options.ns;
    op.worker_instance_id = setup_->options.worker_instance_id;
    op.reason = "shutdown";
    std::vector<Request> one;
    one.emplace_back(std::move(op));
    if (const auto marked = std::move(ask_in_parting(std::move(one))[0]); !marked) {
        setup_->log(Severity::warn, "signing off: " + marked.error().message());
        return;
    }
    setup_->log(Severity::info, "worker " + setup_->options.worker_id + " has stopped");
}

WorkerStats Runtime::stats() const {
    const Counters& counted = *setup_->counters;
    WorkerStats stats;
    stats.claimed = counted.claimed;
    stats.completed = counted.completed;
    stats.failed = counted.failed;
    stats.other_ends = counted.other_ends;
    stats.lost = counted.lost;
    stats.released = counted.released;
    stats.claim_errors = counted.claim_errors;
    stats.renewals = counted.renewals;
    stats.renewal_errors = counted.renewal_errors;
    stats.registrations = counted.registrations;
    stats.at_capacity = counted.at_capacity;
    stats.running = shift_.busy();
    return stats;
}

}  // namespace ff::worker
