// rate_limit: token buckets, filled by the clock, drawn from by operations.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include <ff/layer.h>

#include "base/clock_wait.h"

namespace ff::layer {

namespace {

/// `rate` tokens a second, no more than `rate` at a time. Guarded by its owner.
class Bucket {
  public:
    Bucket(double rate, TimestampMs now)
        : rate_(std::max(1.0, rate)), tokens_(rate_), filled_at_(now) {}

    /// Takes a token, or tells after how many milliseconds there will be one.
    DurationMs take(TimestampMs now) {
        tokens_ =
            std::min(rate_, tokens_ + static_cast<double>(now - filled_at_) * rate_ / 1'000.0);
        filled_at_ = now;
        // What is missing by rounding only is there.
        if (tokens_ >= 1.0 - 1e-9) {
            tokens_ -= 1.0;
            return 0;
        }
        return std::max<DurationMs>(
            1, static_cast<DurationMs>(std::ceil((1.0 - tokens_) * 1'000.0 / rate_)));
    }

  private:
    double rate_;
    double tokens_;
    TimestampMs filled_at_;
};

class RateLimiter final : public Layer {
  public:
    explicit RateLimiter(RateLimit options)
        : key_(std::move(options.key)),
          waits_(options.wait),
          wait_(options.clock ? std::move(options.clock) : std::make_shared<SystemClock>()) {
        for (const auto& [key, rate] : options.buckets) {
            buckets_.emplace(key, Bucket(rate, wait_.now()));
        }
        if (options.default_bucket) {
            others_.emplace(*options.default_bucket, wait_.now());
        }
    }

    expected<void> before(LayerCall& call, const Request& request) override {
        const std::string key = key_ ? key_(request) : std::string(call.op);
        std::unique_lock lock(wait_.mutex());
        const auto found = buckets_.find(key);
        if (found == buckets_.end() && !others_) {
            return {};
        }
        Bucket& bucket = found != buckets_.end() ? found->second : *others_;
        while (const DurationMs missing = bucket.take(wait_.now())) {
            if (!waits_) {
                return ff::fail(ErrorCode::resource_exhausted,
                                "the rate limit for " + (key.empty() ? "all calls" : key) +
                                    " is reached; try again in " + std::to_string(missing) + " ms");
            }
            wait_.until(lock, wait_.now() + missing, [] { return false; });
        }
        return {};
    }
    void after(const LayerCall&, std::chrono::nanoseconds, const Error*) override {}

  private:
    const std::function<std::string(const Request&)> key_;
    const bool waits_;
    const ClockWait wait_;
    // Guarded by wait_.mutex().
    std::map<std::string, Bucket> buckets_;
    std::optional<Bucket> others_;
};

}  // namespace

RateLimit single_bucket(double per_second) {
    RateLimit options;
    options.key = [](const Request&) { return std::string(); };
    options.buckets[""] = per_second;
    return options;
}

std::shared_ptr<Layer> rate_limit(RateLimit options) {
    return std::make_shared<RateLimiter>(std::move(options));
}

}  // namespace ff::layer
