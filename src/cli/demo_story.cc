#include "cli/demo_story.h"

#include <fmt/core.h>

#include <ff/policy.h>

namespace ff::cli {

namespace {

enum Lane : std::size_t { email = 0, thumbnails = 1, reports = 2 };

/// A number between 0 and `bound` that depends on `number` alone.
DurationMs scattered(std::size_t number, DurationMs bound) {
    const std::uint64_t mixed = (number + 1) * 0x9E3779B97F4A7C15U >> 33U;
    return static_cast<DurationMs>(mixed % static_cast<std::uint64_t>(bound + 1));
}

std::string policy_of(const DemoJob& job) {
    Policy policy;
    RetryPolicy retry;
    retry.max_retries = 5;
    retry.backoff.initial_delay_ms = 100;
    retry.backoff.max_delay_ms = 1'000;
    policy.retry_policy = retry;
    if (job.needs_gpu) {
        policy.routing_requirements = RoutingRequirements{{std::string(demo_capability)}, {}, {}};
    }
    return policy.to_json();
}

void write_email(DemoJob& job, std::size_t number) {
    const bool urgent = number % 7 == 3;
    job.kind = urgent ? "email.password_reset" : "email.receipt";
    job.priority = urgent ? 500 : 0;
    job.work_ms = 2 + scattered(number, 4);
    job.failure = "smtp: connection reset by peer";
}

void write_thumbnail(DemoJob& job, std::size_t number) {
    job.needs_gpu = number % 8 == 6;
    job.kind = job.needs_gpu ? "video.preview" : "image.thumbnail";
    job.work_ms = 3 + scattered(number, 6);
    job.failure = "image store: timed out";
}

void write_report(DemoJob& job, std::size_t number) {
    const bool nightly = number % 4 == 1;
    job.kind = nightly ? "report.nightly" : "report.export";
    job.priority = nightly ? 0 : 10;
    job.delay_ms = nightly ? 400 + scattered(number, 1'000) : 0;
    job.work_ms = 10 + scattered(number, 15);
    job.failure = "warehouse: too many connections";
}

}  // namespace

CreateExecution DemoJob::create(TimestampMs now) const {
    CreateExecution op;
    op.execution_id = id;
    op.ns = demo_namespace;
    op.lane_id = demo_lanes[lane];
    op.execution_kind = kind;
    op.input_payload = payload;
    op.payload_encoding = "json";
    op.priority = priority;
    op.creator_identity = "demo";
    op.policy = policy_of(*this);
    op.tags = {{"demo.lane", std::string(demo_lanes[lane])}};
    if (delay_ms > 0) {
        op.delay_until = now + delay_ms;
    }
    return op;
}

std::string DemoJob::title() const {
    const std::string text = id.to_string();
    return fmt::format("{} …{}", kind, text.substr(text.size() - 4));
}

DemoStory::DemoStory(std::size_t jobs) {
    for (std::size_t i = 0; i < jobs; ++i) {
        add(i);
    }
    // Three jobs have a fate of their own.
    DemoJob& corrupt = jobs_[jobs / 3];
    corrupt.lane = thumbnails;
    write_thumbnail(corrupt, 0);
    corrupt.failures = 0;
    corrupt.fails_for_good = true;
    corrupt.failure = "not an image";
    corrupt.ending = PublicState::failed;

    DemoJob& fatal = jobs_[jobs * 2 / 5];
    fatal.lane = reports;
    write_report(fatal, 0);
    fatal.failures = 0;
    fatal.kills_worker = true;

    called_off_ = &jobs_[jobs / 5];
    called_off_->lane = reports;
    write_report(*called_off_, 1);
    called_off_->failures = 0;
    called_off_->delay_ms = 3'600'000;
    called_off_->is_called_off = true;
    called_off_->ending = PublicState::cancelled;
    for (DemoJob& job : jobs_) {
        job.id = ExecutionId::solo(demo_lanes[job.lane], PartitionCounts{}, new_uuid());
        job.payload = fmt::format(R"({{"kind":"{}","number":{}}})", job.kind, by_id_.size());
        by_id_.emplace(job.id, &job);
    }
}

void DemoStory::add(std::size_t number) {
    DemoJob& job = jobs_.emplace_back();
    const std::size_t turn = number % 10;
    job.lane = turn < 6 ? email : turn < 9 ? thumbnails : reports;
    switch (job.lane) {
        case email: write_email(job, number); break;
        case thumbnails: write_thumbnail(job, number); break;
        default: write_report(job, number / 10); break;
    }
    job.failures = number % 97 == 13 ? 2 : number % 23 == 5 ? 1 : 0;
}

DemoJob* DemoStory::find(const ExecutionId& id) {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second;
}

}  // namespace ff::cli
