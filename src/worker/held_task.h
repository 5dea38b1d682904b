// HeldTask: one lease in the worker's hands, from the claim to the answer that ends it.
//
// Shared by the thread that runs its handler, the keeper that renews it, and whoever stops the
// worker. It knows how long the lease is good, whether the task is finished, and why it should
// stop; and it carries out what finishes it, at most once with success. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <ff/task.h>

#include "base/clock_wait.h"
#include "worker/setup.h"

namespace ff::worker {

class FrameBuffer;

class HeldTask {
  public:
    /// `received_at`: when the claim was answered, by the worker's clock.
    HeldTask(std::shared_ptr<const Setup> setup, ClaimedTask claimed, TimestampMs received_at);
    ~HeldTask();
    HeldTask(const HeldTask&) = delete;
    HeldTask& operator=(const HeldTask&) = delete;

    [[nodiscard]] const Setup& setup() const { return *setup_; }
    [[nodiscard]] const TaskInfo& info() const { return info_; }
    [[nodiscard]] const std::string& input() const { return input_; }
    [[nodiscard]] const Handle& handle() const { return handle_; }
    [[nodiscard]] std::string name() const { return info_.execution_id.to_string(); }
    /// Now, by the store's clock as far as we know it.
    [[nodiscard]] TimestampMs store_now() const { return setup_->now() - clock_offset_; }
    void log(Severity severity, const std::string& line) const;

    // ---------------------------------------------------------------------------- liveness

    [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
    [[nodiscard]] CancelCause cancel_cause() const;
    [[nodiscard]] bool lease_healthy() const;
    [[nodiscard]] std::uint32_t renewal_failures() const;
    [[nodiscard]] TimestampMs lease_deadline() const;
    [[nodiscard]] bool finished() const;
    /// A finishing call is under way.
    [[nodiscard]] bool finishing() const;

    /// Asks the handler to stop. The first cause stays.
    void request_stop(CancelCause cause);
    /// Time alone may be a reason to stop: asks for it if so. Gives when it may be one next.
    TimestampMs look_at_time(TimestampMs now);

    // ---------------------------------------------------------------------------- renewals

    /// Should the lease still be renewed?
    [[nodiscard]] bool wants_renewal() const;
    [[nodiscard]] Renew renewal() const;
    /// Takes in the answer of a renewal that was sent at `sent_at`.
    void renewal_answered(TimestampMs sent_at, const expected<RenewResult>& answer);
    /// A renewal got no answer in its time.
    void renewal_unanswered();
    expected<void> renew_now();
    expected<void> progress(Progress op);

    // ------------------------------------------------------------------------------- limits

    /// Fails the task when the budget is broken and says so.
    expected<UsageResult> report_usage(ReportUsage op);
    expected<UsageResult> record_spend(RecordSpend op);
    expected<ReleaseBudgetResult> release_budget(const ReleaseBudget& op);

    // ------------------------------------------------------------------------------ stream

    expected<void> write_frame(Frame frame);
    expected<AppendedFrame> append_frame(Frame frame);
    expected<void> flush_frames();
    // Of this attempt when none is named, with what was written before.
    expected<StreamPage> read_stream(ReadStream op, std::optional<std::uint32_t> attempt_index);
    expected<StreamPage> tail_stream(TailStream op, std::optional<std::uint32_t> attempt_index);
    expected<std::optional<StreamSummary>> read_summary(std::optional<std::uint32_t> attempt_index);

    // -------------------------------------------------------------------------------- flow

    expected<Inputs> inputs() const;
    /// Lease, namespaces and ids that are missing are filled in.
    expected<SpawnResult> spawn(SpawnChildren op);

    // ---------------------------------------------------------------------------- suspending

    expected<WaitpointTicket> create_waitpoint(const std::string& key, DurationMs ttl_ms);
    /// Finishes the task, unless signals that came early suffice.
    expected<SuspendOutcome> suspend(ResumeCondition condition, SuspendOptions options);
    expected<std::vector<SignalInfo>> resume_signals() const;

    // --------------------------------------------------------------------------- finishing

    expected<Result> complete(std::optional<std::string> bytes,
                              std::optional<std::string> encoding);
    expected<Result> fail(const std::string& reason, const std::string& category);
    expected<Result> cancel(const std::string& reason);
    expected<Result> delay_until(TimestampMs at);
    expected<Result> wait_children();
    expected<Result> release();
    /// It was not finished and will not be: its lease is left to expire.
    void let_go();
    /// Nobody waits any more: a finishing call that cannot reach the engine stops trying.
    void give_up();

  private:
    /// Runs a finishing operation and retries it while the engine cannot be reached and the lease
    /// lasts.
    template <class Op>
    expected<typename Op::Result> finish(const Op& op);
    /// Both `invalid_input: task finished` once that is so.
    expected<void> check_unfinished() const;
    expected<void> begin_finishing();
    void end_finishing(const Error* error);
    void end_finishing_undone();
    /// Is there a point in another try? Waits before it.
    bool try_again(const Error& error, DurationMs pause);
    void lose(const Error& error);
    /// Made when it is first needed: most tasks write no frames.
    std::shared_ptr<FrameBuffer> frames();
    [[nodiscard]] std::shared_ptr<FrameBuffer> frames_if_any() const;
    /// What waits in the buffer is lost.
    void abandon_frames(const std::string& why);
    /// Sends what waits before something else is asked about this stream.
    template <class Op>
    expected<void> aim(Op& op, std::optional<std::uint32_t> attempt_index);
    void count_lost();  // wait_.mutex() is held
    [[nodiscard]] CancelCause cause_of(const Error& error, TimestampMs now) const;
    /// A time of the store's clock by ours.
    [[nodiscard]] TimestampMs local(TimestampMs store_time) const {
        return store_time + clock_offset_;
    }

    // Fixed after construction.
    const std::shared_ptr<const Setup> setup_;
    const Handle handle_;
    const std::string input_;
    const DurationMs clock_offset_;  ///< our clock minus the store's
    const TaskInfo info_;

    ClockWait wait_;
    std::stop_source stop_;
    // Guarded by wait_.mutex().
    TimestampMs lease_deadline_;
    std::uint32_t failures_ = 0;
    CancelCause cause_ = CancelCause::none;
    bool lease_over_ = false;  ///< the engine said so, or its time ran out
    bool counted_lost_ = false;
    bool finishing_ = false;
    bool finished_ = false;
    bool given_up_ = false;
    int suspends_ = 0;  ///< tried so far
    std::shared_ptr<FrameBuffer> frames_;
};

}  // namespace ff::worker
