// Attempt streams: what a worker writes while it runs, and who reads along.
//
// A stream belongs to one attempt of one execution. Frames have ids that only grow; readers page
// through them or wait for the next. A stream is closed by what ends its attempt: no frame follows
// then. What may be kept of a stream is decided frame by frame (FrameMode).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <ff/executions.h>

namespace ff {

/// `<ms>-<seq>`: the store's clock at append, and a count within the millisecond.
struct FrameId {
    std::int64_t ms = 0;
    std::int64_t seq = 0;

    auto operator<=>(const FrameId&) const = default;
    [[nodiscard]] std::string to_string() const;
};

/// A place in a stream as callers write it: `start`, `end`, `<ms>` or `<ms>-<seq>`.
struct FrameCursor {
    enum class At : std::uint8_t { start, end, millisecond, frame };
    At at = At::start;
    FrameId id;  ///< with `millisecond` only its `ms`

    FrameCursor() = default;
    FrameCursor(FrameId frame) : at(At::frame), id(frame) {}  // NOLINT: a frame's id is a place
    static FrameCursor start() { return {}; }
    static FrameCursor end() {
        FrameCursor out;
        out.at = At::end;
        return out;
    }

    bool operator==(const FrameCursor&) const = default;
    [[nodiscard]] std::string to_string() const;
    /// `invalid_input` with what is wrong.
    static expected<FrameCursor> parse(std::string_view text);
    /// The lowest id at or behind the place; nothing behind `end`.
    [[nodiscard]] std::optional<FrameId> lower() const;
    /// The highest id at or before the place; nothing before `start`.
    [[nodiscard]] std::optional<FrameId> upper() const;
};

/// How long a frame is kept: the newest of a policy's number; 64 and merged into the document of
/// the attempt; as many as a reader who is there can use.
FF_WORD_ENUM(FrameMode, durable, summary, best_effort)
FF_WORD_ENUM(FrameKind, stdout_, stderr_, event, blob)

/// How many best-effort frames are kept: about two lifetimes of them at the rate they come.
struct BestEffort {
    std::uint32_t ttl_ms = 10'000;
    std::int64_t maxlen_floor = 64;
    std::int64_t maxlen_ceiling = 16'384;
    double ema_alpha = 0.2;

    bool operator==(const BestEffort&) const = default;
};

inline constexpr std::size_t frame_bytes_max = 65'536;
inline constexpr std::size_t frames_per_append_max = 256;
inline constexpr std::size_t frames_per_read_max = 10'000;
inline constexpr DurationMs stream_block_ms_max = 30'000;
inline constexpr std::string_view json_merge_patch = "json-merge-patch";

struct Frame {
    std::string frame_type;  ///< 1..128 bytes; empty: the word of its kind
    std::string payload;     ///< any bytes, at most 65,536; of a summary frame a JSON object
    FrameKind kind = FrameKind::event;
    std::optional<std::string> correlation_id;  ///< at most 256 bytes
    FrameMode mode = FrameMode::durable;
    std::string patch_kind = std::string(json_merge_patch);  ///< of a summary frame
    BestEffort best_effort;                                  ///< of a best-effort frame
    std::uint64_t retention_maxlen = 0;  ///< of a durable frame; 0: the policy's, or 10,000
    /// Numbers that only grow, given by the writer: a frame whose number is not above the highest
    /// that was taken is not written again.
    std::optional<std::uint64_t> client_seq;

    bool operator==(const Frame&) const = default;
};

struct AppendedFrame {
    FrameId id;                     ///< of a duplicate: of the newest frame
    std::uint64_t frame_count = 0;  ///< ever appended to the stream
    std::optional<std::uint64_t> summary_version;
    bool duplicate = false;

    bool operator==(const AppendedFrame&) const = default;
};
struct AppendResult {
    std::vector<AppendedFrame> appended;  ///< in the order of the frames

    bool operator==(const AppendResult&) const = default;
};

/// Appends all of the frames, or none. Does not renew the lease.
struct AppendFrames {
    using Result = AppendResult;
    static constexpr std::string_view name = "append_frames";

    LeaseRef lease;
    std::vector<Frame> frames;                            ///< 1..256
    std::optional<std::uint32_t> max_payload_bytes = {};  ///< lowers the limit of a frame
};

// ------------------------------------------------------------------------------------ reading

/// A frame as it was kept.
struct StreamFrame {
    FrameId id;
    std::string frame_type;
    std::string payload;
    FrameMode mode = FrameMode::durable;
    TimestampMs ts = 0;
    std::string source = "worker";
    std::optional<std::string> correlation_id;
    std::optional<std::uint64_t> summary_version;
    std::optional<std::uint32_t> ttl_ms;

    bool operator==(const StreamFrame&) const = default;
    [[nodiscard]] const std::string& text() const { return payload; }
};

/// Why a stream is closed. `attempt_interrupted` is a word of other writers; readers must know it.
FF_WORD_ENUM(StreamClosedReason, attempt_success, attempt_failure, attempt_cancelled, expired,
             suspension_timeout, dependency_impossible, lease_expired, reclaimed,
             attempt_interrupted)

struct StreamPage {
    std::vector<StreamFrame> frames;
    /// When set, no frame will ever follow the last of the stream.
    std::optional<TimestampMs> closed_at;
    std::optional<StreamClosedReason> closed_reason;

    bool operator==(const StreamPage&) const = default;
};

FF_WORD_ENUM(StreamVisibility, all, exclude_best_effort)
FF_WORD_ENUM(StreamOrder, asc, desc)

/// Frames between two places, both included.
struct ReadStream {
    using Result = StreamPage;
    static constexpr std::string_view name = "read_stream";

    ExecutionId execution_id;
    std::uint32_t attempt_index = 0;
    FrameCursor from = FrameCursor::start();
    FrameCursor to = FrameCursor::end();
    std::uint64_t limit = 100;  ///< 1..10,000
    StreamVisibility visibility = StreamVisibility::all;
    std::vector<std::string> frame_types;  ///< only these; empty: all
    StreamOrder order = StreamOrder::asc;
};

/// Frames behind a place; with `block_ms` waits for the first, or for the stream to close.
struct TailStream {
    using Result = StreamPage;
    static constexpr std::string_view name = "tail_stream";

    ExecutionId execution_id;
    std::uint32_t attempt_index = 0;
    FrameCursor after = FrameId{};  ///< exclusive; not `start` or `end`
    DurationMs block_ms = 0;        ///< 0..30,000
    std::uint64_t limit = 50;       ///< 1..10,000
    StreamVisibility visibility = StreamVisibility::all;
    std::vector<std::string> frame_types;  ///< only these; empty: all
    /// Whoever waits has gone: answered at once with what there is.
    std::stop_token abandoned;
};

/// The document that the summary frames of an attempt have made.
struct StreamSummary {
    std::string document;       ///< JSON
    std::uint64_t version = 0;  ///< how many patches it has taken
    std::string patch_kind = std::string(json_merge_patch);
    TimestampMs last_updated_ms = 0;
    TimestampMs first_applied_ms = 0;

    bool operator==(const StreamSummary&) const = default;
};

/// Nothing when no summary frame was ever applied.
struct ReadStreamSummary {
    using Result = std::optional<StreamSummary>;
    static constexpr std::string_view name = "read_summary";

    ExecutionId execution_id;
    std::uint32_t attempt_index = 0;
};

}  // namespace ff
