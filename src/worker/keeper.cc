#include "worker/keeper.h"

#include <algorithm>
#include <utility>

#include "worker/faults.h"

namespace ff::worker {

RegisterWorker registration(const Setup& setup) {
    const WorkerOptions& options = setup.options;
    return {options.ns,    options.worker_id,    options.worker_instance_id,
            options.lanes, options.capabilities, options.liveness_ttl.count()};
}

Keeper::Keeper(std::shared_ptr<const Setup> setup, std::function<void(const Error&)> on_fatal)
    : setup_(std::move(setup)),
      on_fatal_(std::move(on_fatal)),
      wait_(setup_->options.clock),
      register_pauses_(setup_->options.error_backoff, Pauses::Jitter::fifth) {}

void Keeper::start() {
    heartbeat_at_ = wait_.now() + setup_->options.liveness_ttl.count() / 3;
    thread_ = std::thread([this] { run(); });
}

void Keeper::hold(std::shared_ptr<HeldTask> task, TimestampMs claimed_at) {
    {
        const std::lock_guard lock(wait_.mutex());
        leases_.push_back({std::move(task), claimed_at + setup_->renewal_interval(), 0});
        changed_ = true;
    }
    wait_.notify();
}

void Keeper::drop(const std::shared_ptr<HeldTask>& task) {
    const std::lock_guard lock(wait_.mutex());
    std::erase_if(leases_, [&task](const Lease& lease) { return lease.task == task; });
}

void Keeper::stop() {
    {
        const std::lock_guard lock(wait_.mutex());
        stopping_ = true;
    }
    wait_.notify();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Keeper::run() {
    std::unique_lock lock(wait_.mutex());
    while (!stopping_) {
        if (!inbox_.empty()) {
            const std::vector<Answer> answers = std::exchange(inbox_, {});
            std::ranges::for_each(answers, [this](const Answer& answer) { settle(answer); });
            lock.unlock();
            std::ranges::for_each(answers, [this](const Answer& answer) { digest(answer); });
            lock.lock();
        }
        drop_finished();
        const TimestampMs now = wait_.now();
        std::vector<std::shared_ptr<HeldTask>> held;
        std::ranges::transform(leases_, std::back_inserter(held), &Lease::task);
        Round round = plan(now);
        lock.unlock();
        // Outside the lock: handlers hear of it, and their callbacks run here.
        TimestampMs look_at = ClockWait::never;
        for (const auto& task : held) {
            look_at = std::min(look_at, task->look_at_time(now));
        }
        send(std::move(round), now);
        lock.lock();
        look_at_ = look_at;
        wait_.until(lock, next_due(), [this] { return stopping_ || changed_ || !inbox_.empty(); });
        changed_ = false;
    }
}

void Keeper::drop_finished() {
    std::erase_if(leases_, [](const Lease& lease) { return lease.task->finished(); });
}

/// What is due now. Calls are rarer when what is nearly due goes along: leases within a fifth of
/// their interval, and all of them with a heartbeat that was due itself. Renewals never go without
/// a heartbeat, which carries them.
Keeper::Round Keeper::plan(TimestampMs now) {
    Round round;
    const DurationMs interval = setup_->renewal_interval();
    const TimestampMs soon = now + interval / 5;
    const bool renewal_due = std::ranges::any_of(leases_, [now](const Lease& lease) {
        return lease.renew_at <= now && lease.task->wants_renewal();
    });
    round.heartbeat = heartbeat_at_ <= now || (renewal_due && heartbeat_at_ <= soon);
    if (round.heartbeat) {
        heartbeat_at_ = now + setup_->options.liveness_ttl.count() / 3;
    }
    for (Lease& lease : leases_) {
        const bool along = round.heartbeat || (renewal_due && lease.renew_at <= soon);
        if (!along || !lease.task->wants_renewal()) {
            continue;
        }
        if (lease.unanswered > 0) {
            round.late.push_back(lease.task);
        }
        lease.renew_at = now + interval;
        lease.unanswered += 1;
        round.renewals.push_back(lease.task);
    }
    if (!round.renewals.empty() && !round.heartbeat) {
        // To a server they all go along in its one request.
        round.heartbeat = true;
        heartbeat_at_ = now + setup_->options.liveness_ttl.count() / 3;
    }
    if (register_at_ && *register_at_ <= now) {
        register_at_.reset();
        round.registration = true;
    }
    return round;
}

TimestampMs Keeper::next_due() const {
    TimestampMs due = std::min(heartbeat_at_, look_at_);
    for (const Lease& lease : leases_) {
        if (lease.task->wants_renewal()) {
            due = std::min(due, lease.renew_at);
        }
    }
    return register_at_ ? std::min(due, *register_at_) : due;
}

void Keeper::send(Round round, TimestampMs now) {
    for (const auto& task : round.late) {
        task->renewal_unanswered();
    }
    std::vector<Request> requests;
    if (round.heartbeat) {
        requests.emplace_back(
            HeartbeatWorker{setup_->options.ns, setup_->options.worker_instance_id});
    }
    for (const auto& task : round.renewals) {
        requests.emplace_back(task->renewal());
    }
    if (round.registration) {
        requests.emplace_back(registration(*setup_));
    }
    if (requests.empty()) {
        return;
    }
    setup_->engine->call_many(
        std::move(requests), [weak = weak_from_this(), round = std::move(round),
                              now](std::vector<Response> responses) mutable {
            if (const auto keeper = weak.lock()) {
                keeper->receive({now, std::move(round), std::move(responses)});
            }
        });
}

/// On a thread of the engine's: only puts the answer down.
void Keeper::receive(Answer answer) {
    {
        const std::lock_guard lock(wait_.mutex());
        inbox_.push_back(std::move(answer));
    }
    wait_.notify();
}

void Keeper::settle(const Answer& answer) {
    for (const auto& task : answer.round.renewals) {
        const auto found = std::ranges::find(leases_, task, &Lease::task);
        if (found != leases_.end() && found->unanswered > 0) {
            found->unanswered -= 1;
        }
    }
}

void Keeper::digest(const Answer& answer) {
    auto next = answer.responses.begin();
    if (answer.round.heartbeat) {
        digest_heartbeat(*next++);
    }
    for (const auto& task : answer.round.renewals) {
        const Response& response = *next++;
        if (response) {
            task->renewal_answered(answer.sent_at, ff::get<RenewResult>(*response));
        } else {
            task->renewal_answered(answer.sent_at, std::unexpected(response.error()));
        }
    }
    if (answer.round.registration) {
        digest_registration(*next++);
    }
}

void Keeper::digest_heartbeat(const Response& response) {
    if (!response) {
        setup_->log(Severity::warn, "heartbeat: " + response.error().message());
        return;
    }
    if (ff::get<HeartbeatResult>(*response).registered) {
        return;
    }
    setup_->log(Severity::warn, "the registry does not know this worker; registering again");
    const std::lock_guard lock(wait_.mutex());
    register_at_ = wait_.now();
}

void Keeper::digest_registration(const Response& response) {
    if (response) {
        setup_->counters->registrations += 1;
        register_pauses_.reset();
        return;
    }
    if (is_fatal(response.error())) {
        on_fatal_(response.error());
        return;
    }
    setup_->log(Severity::warn, "registering again: " + response.error().message());
    const std::lock_guard lock(wait_.mutex());
    register_at_ = wait_.now() + register_pauses_.next();
}

}  // namespace ff::worker
