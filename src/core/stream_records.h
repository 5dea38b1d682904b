// The rows of attempt streams as plain values.
//
// A stream has one row of counts, made by its first frame; frames behind it are never changed, only
// dropped, oldest first. Whether a stream is closed is not kept: it follows from its attempt
// (core/stream_rules.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ff/streams.h>

namespace ff::core {

struct StreamKey {
    std::int64_t eid = 0;
    std::uint32_t attempt_index = 0;

    auto operator<=>(const StreamKey&) const = default;
};

struct StreamMeta {
    StreamKey key;
    TimestampMs created_at = 0;
    FrameId last;                   ///< ever appended, trimmed or not
    std::uint64_t frame_count = 0;  ///< ever appended
    std::uint64_t total_bytes = 0;  ///< of all payloads ever appended
    TimestampMs last_frame_at = 0;
    bool has_durable_frame = false;  ///< or a summary frame, once
    // What is kept, so that nothing must be counted.
    std::uint64_t retained_durable = 0;
    std::uint64_t retained_summary = 0;
    std::uint64_t retained_best_effort = 0;
    // How fast best-effort frames come.
    std::optional<std::string> ema_rate_hz;  ///< a double, in digits that give it back exactly
    std::optional<TimestampMs> last_append_ts_ms;
    std::optional<std::int64_t> maxlen_applied_last;
    std::optional<TimestampMs> expires_at;  ///< of a stream of best-effort frames only
    std::optional<std::uint64_t> last_client_seq;
    std::optional<DurationMs> retention_ttl_ms;  ///< from the policy: it goes so long after closure
    std::optional<TimestampMs> sweep_at;  ///< when to look whether it may go, or a part of it

    bool operator==(const StreamMeta&) const = default;
    [[nodiscard]] bool expired(TimestampMs now) const { return expires_at && *expires_at <= now; }
    [[nodiscard]] std::uint64_t retained() const {
        return retained_durable + retained_summary + retained_best_effort;
    }
    [[nodiscard]] std::uint64_t& retained(FrameMode mode) {
        switch (mode) {
            case FrameMode::durable: return retained_durable;
            case FrameMode::summary: return retained_summary;
            case FrameMode::best_effort: return retained_best_effort;
        }
        return retained_durable;
    }
};

struct FrameKey {
    StreamKey stream;
    FrameId id;

    auto operator<=>(const FrameKey&) const = default;
};

struct FrameRow {
    FrameKey key;
    FrameMode mode = FrameMode::durable;
    std::string frame_type;
    TimestampMs ts = 0;
    std::string payload;
    std::optional<std::string> correlation_id;
    std::optional<std::uint64_t> summary_version;
    std::optional<std::uint32_t> ttl_ms;

    bool operator==(const FrameRow&) const = default;
};

struct SummaryRow {
    StreamKey key;
    std::string document;
    std::uint64_t version = 0;
    TimestampMs last_updated_ms = 0;
    TimestampMs first_applied_ms = 0;

    bool operator==(const SummaryRow&) const = default;
};

/// As many frames go in one transaction that removes old ones; the rest goes in the next.
inline constexpr std::uint64_t frames_per_sweep = 10'000;

/// The oldest frames of one mode that go.
struct FrameTrim {
    StreamKey key;
    FrameMode mode = FrameMode::durable;
    std::uint64_t count = 0;

    bool operator==(const FrameTrim&) const = default;
};

}  // namespace ff::core
