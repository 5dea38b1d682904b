// A store that does as it is told: passes everything on to another one, and on the way holds
// commits back, makes them fail, or invents timers. For tests of what the engine does then.
//
// Owned by the engine under test; the test keeps a pointer. Any thread may turn the knobs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace ff::engine::test {

class FaultStore final : public store::Store {
  public:
    using FailFn = std::function<bool(const core::Snapshot&)>;

    explicit FaultStore(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}

    /// Commits for which it answers true fail and leave nothing behind.
    void fail_commits_if(FailFn fails) {
        const std::lock_guard lock(mutex_);
        fails_ = std::move(fails);
    }
    void fail_commits(bool all) {
        fail_commits_if([all](const core::Snapshot&) { return all; });
    }
    /// Every sync from now on fails.
    void fail_syncs() {
        const std::lock_guard lock(mutex_);
        sync_fails_ = true;
    }
    /// No transaction can be begun.
    void fail_begins(bool fails) {
        const std::lock_guard lock(mutex_);
        begin_fails_ = fails;
    }
    /// Executions for whose number it gives a code cannot be loaded by number.
    void fail_loads_if(std::function<std::optional<ErrorCode>(core::Eid)> fault) {
        const std::lock_guard lock(mutex_);
        load_fault_ = std::move(fault);
    }
    /// Flows for which it gives a code cannot be loaded.
    void fail_flows_if(std::function<std::optional<ErrorCode>(const FlowId&)> fault) {
        const std::lock_guard lock(mutex_);
        flow_fault_ = std::move(fault);
    }
    /// It says that other processes write to it, too.
    void pretend_shared() { shared_ = true; }
    [[nodiscard]] bool shared() const override { return shared_; }
    [[nodiscard]] std::shared_ptr<Clock> clock() const override { return inner_->clock(); }
    /// A timer of an execution that does not exist.
    void invent_timer(core::TimerKey key) {
        const std::lock_guard lock(mutex_);
        invented_.push_back(key);
    }
    /// Commits wait until let_go().
    void hold() {
        const std::lock_guard lock(mutex_);
        held_ = true;
    }
    void let_go() {
        {
            const std::lock_guard lock(mutex_);
            held_ = false;
        }
        changed_.notify_all();
    }
    /// Syncs wait until let_syncs_go().
    void hold_syncs() {
        const std::lock_guard lock(mutex_);
        syncs_held_ = true;
    }
    void let_syncs_go() {
        {
            const std::lock_guard lock(mutex_);
            syncs_held_ = false;
        }
        changed_.notify_all();
    }
    /// Waits until so many transactions have been committed.
    void wait_for_commits(std::uint64_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return commits_ >= count; });
    }
    [[nodiscard]] std::uint64_t commits() const {
        const std::lock_guard lock(mutex_);
        return commits_;
    }
    /// Waits until a commit waits.
    void wait_for_commit() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_; });
    }
    [[nodiscard]] std::uint64_t failed_commits() const {
        const std::lock_guard lock(mutex_);
        return failed_;
    }

    [[nodiscard]] const store::StoreInfo& info() const override { return inner_->info(); }
    [[nodiscard]] const core::RouteTable& routes() const override { return inner_->routes(); }
    std::int64_t next_eid(TimestampMs now) override { return inner_->next_eid(now); }
    std::int64_t next_route_id() override { return inner_->next_route_id(); }

    expected<void> begin() override {
        {
            const std::lock_guard lock(mutex_);
            if (begin_fails_) {
                return ff::fail(ErrorCode::store_busy, "as told");
            }
        }
        return inner_->begin();
    }
    expected<void> load(const core::ReadSet& set, core::Snapshot& snapshot) override {
        {
            const std::lock_guard lock(mutex_);
            for (const FlowId& id : set.flows) {
                if (const auto code = flow_fault_ ? flow_fault_(id) : std::nullopt) {
                    return ff::fail(*code, "as told");
                }
            }
        }
        return inner_->load(set, snapshot);
    }
    expected<void> load(std::span<const core::Eid> eids, core::InputNeed input, bool attempt,
                        core::Snapshot& snapshot) override {
        {
            const std::lock_guard lock(mutex_);
            for (core::Eid eid : eids) {
                if (const auto code = load_fault_ ? load_fault_(eid) : std::nullopt) {
                    return ff::fail(*code, "as told");
                }
            }
        }
        return inner_->load(eids, input, attempt, snapshot);
    }
    expected<std::vector<core::ReadyKey>> scan_ready(core::RouteId route,
                                                     const std::optional<core::ReadyKey>& after,
                                                     std::size_t limit) override {
        return inner_->scan_ready(route, after, limit);
    }
    expected<std::vector<core::TimerKey>> scan_due(TimestampMs now, std::size_t limit) override {
        std::vector<core::TimerKey> keys;
        {
            const std::lock_guard lock(mutex_);
            for (const core::TimerKey& key : invented_) {
                if (key.due_at <= now && keys.size() < limit) {
                    keys.push_back(key);
                }
            }
        }
        FF_TRY(const auto rest, inner_->scan_due(now, limit - keys.size()));
        keys.insert(keys.end(), rest.begin(), rest.end());
        return keys;
    }
    expected<std::optional<TimestampMs>> next_due(TimestampMs after) override {
        FF_TRY(auto due, inner_->next_due(after));
        const std::lock_guard lock(mutex_);
        for (const core::TimerKey& key : invented_) {
            if (key.due_at > after && (!due || key.due_at < *due)) {
                due = key.due_at;
            }
        }
        return due;
    }
    expected<store::TurnPage> lock_turns(std::span<const core::RouteId> queues) override {
        return inner_->lock_turns(queues);
    }
    expected<std::vector<core::Eid>> scan_bucket(core::Bucket bucket, core::Eid after,
                                                 std::size_t limit) override {
        return inner_->scan_bucket(bucket, after, limit);
    }
    expected<std::vector<core::Eid>> scan_all(core::Eid after, std::size_t limit) override {
        return inner_->scan_all(after, limit);
    }
    expected<std::vector<FlowId>> scan_due_flows(TimestampMs now, std::size_t limit) override {
        return inner_->scan_due_flows(now, limit);
    }
    expected<std::vector<core::FlowWorkKey>> scan_work(TimestampMs now, std::size_t limit,
                                                       core::Snapshot& snapshot) override {
        return inner_->scan_work(now, limit, snapshot);
    }
    expected<std::vector<FlowId>> held_flows() override { return inner_->held_flows(); }
    expected<std::vector<core::EdgeKey>> scan_staged(TimestampMs before,
                                                     std::size_t limit) override {
        return inner_->scan_staged(before, limit);
    }
    expected<std::vector<core::LimitKey>> scan_due_limits(TimestampMs now,
                                                          std::size_t limit) override {
        return inner_->scan_due_limits(now, limit);
    }
    expected<std::vector<core::LimitKey>> scan_waiting_limits(const core::LimitKey& after,
                                                              std::size_t limit) override {
        return inner_->scan_waiting_limits(after, limit);
    }
    expected<std::uint64_t> sweep_usage_dedup(TimestampMs now, std::size_t limit) override {
        return inner_->sweep_usage_dedup(now, limit);
    }
    expected<std::vector<core::StreamKey>> scan_streams(TimestampMs now,
                                                        std::size_t limit) override {
        return inner_->scan_streams(now, limit);
    }
    expected<std::vector<core::WorkerKey>> scan_dead_workers(TimestampMs now,
                                                             std::size_t limit) override {
        return inner_->scan_dead_workers(now, limit);
    }
    expected<std::vector<core::WorkerRow>> live_workers(TimestampMs now) override {
        return inner_->live_workers(now);
    }
    expected<std::uint64_t> sweep_grants(TimestampMs before, std::size_t limit) override {
        return inner_->sweep_grants(before, limit);
    }
    expected<std::uint64_t> sweep_idempotency(TimestampMs now, std::size_t limit) override {
        return inner_->sweep_idempotency(now, limit);
    }
    expected<std::uint64_t> trim_events(EventFamily family, std::int64_t through) override {
        return inner_->trim_events(family, through);
    }
    expected<void> commit(core::Snapshot& snapshot, TimestampMs now,
                          DurationMs retention_default_ms) override {
        bool fails = false;
        {
            std::unique_lock lock(mutex_);
            if (held_) {
                waiting_ = true;
                changed_.notify_all();
                changed_.wait(lock, [&] { return !held_; });
                waiting_ = false;
            }
            fails = fails_ && fails_(snapshot);
            failed_ += fails ? 1 : 0;
        }
        if (fails) {
            inner_->rollback();
            return ff::fail(ErrorCode::store_full, "as told");
        }
        auto committed = inner_->commit(snapshot, now, retention_default_ms);
        if (committed) {
            const std::lock_guard lock(mutex_);
            commits_ += 1;
            changed_.notify_all();
        }
        return committed;
    }
    void rollback() override { inner_->rollback(); }
    expected<void> commit_upkeep() override { return inner_->commit_upkeep(); }
    expected<void> make_durable() override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !syncs_held_; });
        if (sync_fails_) {
            return ff::fail(ErrorCode::store_io, "as told");
        }
        return inner_->make_durable();
    }
    void maintain() override { inner_->maintain(); }
    expected<void> read(const std::function<expected<void>(store::Reader&)>& body) override {
        return inner_->read(body);
    }
    [[nodiscard]] std::uint64_t rows_written() const override { return inner_->rows_written(); }

  private:
    std::unique_ptr<store::Store> inner_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    FailFn fails_;                                                       // guarded by mutex_
    std::vector<core::TimerKey> invented_;                               // guarded by mutex_
    std::function<std::optional<ErrorCode>(core::Eid)> load_fault_;      // guarded by mutex_
    std::function<std::optional<ErrorCode>(const FlowId&)> flow_fault_;  // guarded by mutex_
    std::atomic<bool> shared_ = false;
    bool begin_fails_ = false;   // guarded by mutex_
    bool sync_fails_ = false;    // guarded by mutex_
    bool syncs_held_ = false;    // guarded by mutex_
    bool held_ = false;          // guarded by mutex_
    bool waiting_ = false;       // guarded by mutex_
    std::uint64_t failed_ = 0;   // guarded by mutex_
    std::uint64_t commits_ = 0;  // guarded by mutex_
};

}  // namespace ff::engine::test
