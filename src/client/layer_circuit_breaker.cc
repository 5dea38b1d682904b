// circuit_breaker: when the engine cannot be reached time after time, callers hear so at once.
//
//   closed --threshold transport errors in a row--> open --open_for--> one call on trial
//   trial ends in a transport error --> open again; in anything else --> closed
#include <mutex>
#include <utility>

#include <ff/layer.h>

namespace ff::layer {

namespace {

/// What a worker must get through: each one saves work that would otherwise be done again. A
/// heartbeat goes in the same call as renewals, so holding it back would spare nobody.
bool always_passes(const Request& request) {
    return ff::by_type(
        []<class Op>(std::type_identity<Op>) {
            return std::is_same_v<Op, Renew> || std::is_same_v<Op, HeartbeatWorker> ||
                   std::is_same_v<Op, Complete> || std::is_same_v<Op, Fail> ||
                   std::is_same_v<Op, CancelExecution> || std::is_same_v<Op, Delay> ||
                   std::is_same_v<Op, WaitChildren> || std::is_same_v<Op, Release> ||
                   std::is_same_v<Op, Suspend> || std::is_same_v<Op, AppendFrames>;
        },
        request);
}

bool is_transport(const Error& error) {
    const ErrorKind kind = info(error.code).kind;
    return kind == ErrorKind::transport || kind == ErrorKind::timeout;
}

class Breaker final : public Layer {
  public:
    explicit Breaker(CircuitBreaker options)
        : threshold_(std::max(1U, options.threshold)),
          open_ms_(options.open_for.count()),
          clock_(options.clock ? std::move(options.clock) : std::make_shared<SystemClock>()) {}

    expected<void> before(LayerCall& call, const Request& request) override {
        const bool passes = always_passes(request);
        const std::lock_guard lock(mutex_);
        call.note = static_cast<std::uint64_t>(Role::usual);
        if (passes || !open_) {
            return {};
        }
        if (clock_->now() >= trial_at_ && !on_trial_) {
            on_trial_ = true;
            call.note = static_cast<std::uint64_t>(Role::trial);
            return {};
        }
        call.note = static_cast<std::uint64_t>(Role::refused);
        return ff::fail(ErrorCode::circuit_open, "circuit open: the engine could not be reached " +
                                                     std::to_string(threshold_) +
                                                     " times in a row");
    }

    void after(const LayerCall& call, std::chrono::nanoseconds, const Error* error) override {
        const bool fault = error != nullptr && is_transport(*error);
        const std::lock_guard lock(mutex_);
        switch (static_cast<Role>(call.note)) {
            case Role::refused: return;
            case Role::trial:
                on_trial_ = false;
                fault ? open() : close();
                return;
            case Role::usual: break;
        }
        if (open_) {
            return;  // only the trial decides
        }
        if (error == nullptr) {
            faults_ = 0;
        } else if (fault && ++faults_ >= threshold_) {
            open();
        }
    }

  private:
    enum class Role : std::uint8_t { usual, trial, refused };

    void open() {
        open_ = true;
        trial_at_ = clock_->now() + open_ms_;
    }
    void close() {
        open_ = false;
        faults_ = 0;
    }

    const std::uint32_t threshold_;
    const DurationMs open_ms_;
    const std::shared_ptr<Clock> clock_;
    std::mutex mutex_;
    // Guarded by mutex_.
    std::uint32_t faults_ = 0;  ///< in a row
    bool open_ = false;
    bool on_trial_ = false;
    TimestampMs trial_at_ = 0;
};

}  // namespace

std::shared_ptr<Layer> circuit_breaker(CircuitBreaker options) {
    return std::make_shared<Breaker>(std::move(options));
}

}  // namespace ff::layer
