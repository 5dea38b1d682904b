#include "core/stream_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace ff::core {

namespace {

/// No stream is longer, and a double is exact up to here.
constexpr std::int64_t maxlen_max = std::int64_t{1} << 53U;

StreamClosedReason reason_of(const Attempt& row) {
    if (row.closed_as) {
        return *row.closed_as;
    }
    switch (row.state) {
        case AttemptLifecycle::ended_success: return StreamClosedReason::attempt_success;
        case AttemptLifecycle::ended_cancelled: return StreamClosedReason::attempt_cancelled;
        case AttemptLifecycle::interrupted_reclaimed: return StreamClosedReason::reclaimed;
        case AttemptLifecycle::created:
        case AttemptLifecycle::started:
        case AttemptLifecycle::suspended:
        case AttemptLifecycle::ended_failure: break;
    }
    return StreamClosedReason::attempt_failure;
}

std::string text_of(double value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

double rate_of(const std::string& text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

std::optional<StreamClosure> closure_of(const Execution& execution, std::uint32_t attempt_index,
                                        const Attempt* row) {
    if (row != nullptr && row->ended_at) {
        return StreamClosure{*row->ended_at, reason_of(*row)};
    }
    if (execution.current_attempt_index != attempt_index) {
        return std::nullopt;
    }
    if (execution.lease_expired_at) {
        return StreamClosure{*execution.lease_expired_at, StreamClosedReason::lease_expired};
    }
    if (execution.lease_revoked_at) {
        return StreamClosure{*execution.lease_revoked_at, StreamClosedReason::lease_expired};
    }
    return std::nullopt;
}

std::optional<TimestampMs> next_sweep(const StreamMeta& meta,
                                      const std::optional<StreamClosure>& closure,
                                      TimestampMs now) {
    std::optional<TimestampMs> at;
    if (meta.retained_best_effort > 0) {
        at = meta.expires_at;
    }
    if (meta.retention_ttl_ms) {
        // While it is open nobody knows when it will close: not before now.
        const TimestampMs closed = closure ? closure->at : now;
        at =
            std::min(at.value_or(closed + *meta.retention_ttl_ms), closed + *meta.retention_ttl_ms);
    }
    return at;
}

std::uint64_t drop_frames(StreamMeta& meta, FrameMode mode, std::uint64_t most, Changes& changes) {
    std::uint64_t& kept = meta.retained(mode);
    const std::uint64_t gone = std::min(kept, most);
    if (gone > 0) {
        changes.trim_frames.push_back({meta.key, mode, gone});
        kept -= gone;
    }
    return gone;
}

std::uint64_t drop_frames(StreamMeta& meta, std::uint64_t most, Changes& changes) {
    std::uint64_t gone = 0;
    for (const FrameMode mode : {FrameMode::durable, FrameMode::summary, FrameMode::best_effort}) {
        gone += drop_frames(meta, mode, most - gone, changes);
    }
    return gone;
}

FrameId next_frame_id(const FrameId& last, TimestampMs now) {
    return now > last.ms ? FrameId{now, 0} : FrameId{last.ms, last.seq + 1};
}

std::int64_t best_effort_maxlen(const BestEffort& config, StreamMeta& meta, TimestampMs now) {
    const std::int64_t floor =
        config.maxlen_floor > 0 ? std::min(config.maxlen_floor, maxlen_max) : 64;
    const std::int64_t ceiling = std::max(
        floor, config.maxlen_ceiling > 0 ? std::min(config.maxlen_ceiling, maxlen_max) : 16'384);
    const bool usable = config.ema_alpha > 0 && config.ema_alpha <= 1;  // neither is a NaN
    const double alpha = usable ? config.ema_alpha : 0.2;
    const double ttl_s = std::max<std::uint32_t>(config.ttl_ms, 1) / 1'000.0;
    double rate = static_cast<double>(floor) / (2 * ttl_s);
    if (meta.ema_rate_hz && meta.last_append_ts_ms) {
        const auto gap =
            static_cast<double>(std::max<TimestampMs>(now - *meta.last_append_ts_ms, 1));
        rate = alpha * (1'000 / gap) + (1 - alpha) * rate_of(*meta.ema_rate_hz);
    }
    const double wanted = std::min(std::ceil(rate * ttl_s * 2), static_cast<double>(ceiling));
    const std::int64_t keep = std::clamp(static_cast<std::int64_t>(wanted), floor, ceiling);
    meta.ema_rate_hz = text_of(rate);
    meta.last_append_ts_ms = now;
    meta.maxlen_applied_last = keep;
    return keep;
}

}  // namespace ff::core
