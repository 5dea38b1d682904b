#include "cli/demo_actors.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <ff/clock.h>

namespace ff::cli {

namespace {

using State = DemoWorkerView::State;

constexpr DurationMs claim_wait_ms = 200;
constexpr auto restart_after = std::chrono::milliseconds(600);
constexpr std::size_t submit_max = 200;  // at once
/// Work longer than this renews its lease on the way.
constexpr DurationMs renew_from_ms = 15;

void pause(DurationMs ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Answers that tell a worker that the job is no longer its own. A stall of the whole machine can
/// do that to any worker.
bool lease_is_lost(const Error& error) {
    switch (error.code) {
        case ErrorCode::stale_lease:
        case ErrorCode::lease_expired:
        case ErrorCode::lease_revoked:
        case ErrorCode::execution_not_active: return true;
        default: return false;
    }
}

class DemoWorker {
  public:
    DemoWorker(Engine& engine, DemoStory& story, DemoBoard& board, std::size_t number)
        : engine_(engine),
          story_(story),
          board_(board),
          gpu_(number == 0),
          name_(fmt::format("worker-{}", number < 26
                                             ? std::string(1, static_cast<char>('a' + number))
                                             : std::to_string(number + 1))),
          seat_(board.add_worker(name_, gpu_)) {}

    void run() {
        if (!enlist()) {
            return;
        }
        while (!board_.stopped()) {
            auto claimed = engine_.run(claim());
            if (!claimed) {
                if (claimed.error().code != ErrorCode::shutting_down) {
                    board_.fail(claimed.error(), "a claim");
                }
                return;
            }
            for (const ClaimedTask& task : claimed->tasks) {
                work(task);
            }
        }
    }

  private:
    [[nodiscard]] std::string instance() const { return fmt::format("{}-{}", name_, lives_); }

    bool enlist() {
        RegisterWorker op;
        op.ns = demo_namespace;
        op.worker_id = name_;
        op.worker_instance_id = instance();
        op.lanes.assign(demo_lanes.begin(), demo_lanes.end());
        if (gpu_) {
            op.capabilities.emplace_back(demo_capability);
        }
        if (auto done = engine_.run(std::move(op)); !done) {
            board_.fail(done.error(), "registering a worker");
            return false;
        }
        return true;
    }

    [[nodiscard]] Claim claim() const {
        Claim op;
        op.lanes.assign(demo_lanes.begin(), demo_lanes.end());
        if (gpu_) {
            op.capabilities.emplace_back(demo_capability);
        }
        op.worker_id = name_;
        op.worker_instance_id = instance();
        op.lease_ttl_ms = demo_lease_ttl_ms;
        op.max_wait_ms = claim_wait_ms;
        return op;
    }

    void work(const ClaimedTask& task) {
        DemoJob* job = story_.find(task.execution_id());
        if (job == nullptr) {
            board_.fail({ErrorCode::internal, task.execution_id().to_string(), {}},
                        "knowing a job that was claimed");
            return;
        }
        DemoLane& lane = board_.lanes[job->lane];
        if (task.handle.kind == HandleKind::reclaimed) {
            board_.takeovers += 1;  // counted as active since its first claim
            board_.tell(fmt::format("lease of {} expired, taken over by {}", job->title(), name_),
                        Style::yellow);
        } else {
            lane.active += 1;
        }
        board_.set_worker(seat_, State::busy, job->kind);
        if (job->kills_worker && !job->killed.exchange(true)) {
            die(*job);
            return;
        }
        if (do_the_work(*job, task)) {
            report(*job, task, lane);
        }
        board_.set_worker(seat_, State::idle, "");
    }

    void die(const DemoJob& job) {
        board_.set_worker(seat_, State::killed, job.kind);
        board_.tell(fmt::format("{} was killed while running {}", name_, job.title()), Style::red);
        std::this_thread::sleep_for(restart_after);
        lives_ += 1;
        if (board_.stopped() || !enlist()) {
            return;
        }
        board_.set_worker(seat_, State::idle, "");
        board_.tell(fmt::format("{} is back", name_));
    }

    /// False when the lease was lost on the way.
    bool do_the_work(const DemoJob& job, const ClaimedTask& task) {
        if (job.work_ms < renew_from_ms) {
            pause(job.work_ms);
            return true;
        }
        pause(job.work_ms / 2);
        const auto renewed = engine_.run(Renew{task.handle, demo_lease_ttl_ms});
        if (!renewed) {
            return lost(job, renewed.error(), "a renewal");
        }
        board_.renewals += 1;
        pause(job.work_ms - job.work_ms / 2);
        return true;
    }

    void report(DemoJob& job, const ClaimedTask& task, DemoLane& lane) {
        if (job.fails_for_good || job.failed_times < job.failures) {
            report_failure(job, task, lane);
            return;
        }
        Complete op;
        op.lease = task.handle;
        op.result_payload = fmt::format(R"({{"by":"{}"}})", name_);
        op.source = Source::lease_holder;
        if (auto done = engine_.run(std::move(op)); !done) {
            lost(job, done.error(), "a completion");
            return;
        }
        board_.gpu_jobs += job.needs_gpu ? 1 : 0;
        lane.active -= 1;
        lane.done += 1;
    }

    void report_failure(DemoJob& job, const ClaimedTask& task, DemoLane& lane) {
        Fail op;
        op.lease = task.handle;
        op.failure_reason = job.failure;
        op.failure_category = job.fails_for_good ? "permanent" : "transient";
        op.source = Source::lease_holder;
        const auto failed = engine_.run(std::move(op));
        if (!failed) {
            lost(job, failed.error(), "a failure");
            return;
        }
        lane.active -= 1;
        if (failed->retry_scheduled) {
            job.failed_times += 1;
            board_.retries += 1;
            board_.tell(fmt::format("{} failed ({}), will be retried", job.title(), job.failure),
                        Style::dim, DemoEvent::Weight::minor);
        } else {
            lane.done += 1;
            board_.tell(fmt::format("{} failed for good: {}", job.title(), job.failure),
                        Style::red);
        }
    }

    bool lost(const DemoJob& job, const Error& error, std::string_view doing) {
        if (!lease_is_lost(error)) {
            board_.fail(error, doing);
        } else {
            board_.tell(fmt::format("{} was too slow with {}", name_, job.title()), Style::yellow);
        }
        return false;
    }

    Engine& engine_;
    DemoStory& story_;
    DemoBoard& board_;
    const bool gpu_;
    const std::string name_;
    const std::size_t seat_;
    int lives_ = 1;
};

bool call_off(Engine& engine, DemoJob& job, DemoBoard& board) {
    const std::string reason = "the customer closed the account";
    CancelExecution op;
    op.lease = LeaseRef(job.id);
    op.reason = reason;
    if (auto done = engine.run(std::move(op)); !done) {
        board.fail(done.error(), "a cancellation");
        return false;
    }
    board.lanes[job.lane].done += 1;
    board.tell(fmt::format("{} was cancelled: {}", job.title(), reason), Style::cyan);
    return true;
}

}  // namespace

void run_worker(Engine& engine, DemoStory& story, DemoBoard& board, std::size_t number) {
    DemoWorker(engine, story, board, number).run();
}

void submit_jobs(Engine& engine, DemoStory& story, DemoBoard& board, double seconds) {
    auto& jobs = story.jobs();
    SystemClock clock;
    const double begun = board.seconds();
    std::size_t next = 0;
    bool called_off = false;
    while (next < jobs.size() && !board.stopped()) {
        const double part = std::min(1.0, (board.seconds() - begun) / seconds);
        const auto due = static_cast<std::size_t>(part * static_cast<double>(jobs.size()));
        const std::size_t end = std::min(due, next + submit_max);
        if (end == next) {
            pause(5);
            continue;
        }
        std::vector<CreateExecution> creates;
        for (std::size_t i = next; i < end; ++i) {
            creates.push_back(jobs[i].create(clock.now()));
            board.lanes[jobs[i].lane].submitted += 1;
        }
        for (const auto& created : engine.run_all(std::move(creates))) {
            if (!created) {
                board.fail(created.error(), "submitting a job");
                return;
            }
        }
        next = end;
        if (!called_off && next > jobs.size() / 2) {
            called_off = true;
            if (!call_off(engine, story.called_off(), board)) {
                return;
            }
        }
    }
}

}  // namespace ff::cli
