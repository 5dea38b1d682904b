// FrameWriter: the stream of a task's attempt, written frame by frame and sent in batches.
//
//   auto out = task.frames();
//   for (const std::string& token : model.answer(question)) {
//       out.write("delta", token);
//   }
//   out.write_summary({{"tokens", count}});
//
// Frames are gathered and sent together: when there are 64 of them, when they make 64 KiB, or 50 ms
// after the first. While a batch is on its way the next one gathers, so that a fast writer fills
// larger batches and does not wait for the disk. All writers of a task are one: what is written
// through any of them, or by Task::append, stays in the order it was written in.
//
// A write waits when 1,024 frames or 1 MiB have not been taken yet. An answer that was lost is
// asked for again without writing anything twice, and an engine that cannot be reached is waited
// for as long as the lease lasts. Before the task is finished, in whatever way, the rest is sent.
//
// What the engine refused is told by the next call of a writer, which does nothing else then.
// Frames behind a refused one are written all the same; only when the lease is lost
// (`stale_owner_cannot_append`) or the stream closed (`stream_closed`) nothing can be written any
// more. What is refused after the last call is logged: call flush() where it matters.
//
// A handle, as good as the task it came from. Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ff/codec.h>
#include <ff/exception.h>
#include <ff/streams.h>
#include <ff/submit.h>

namespace ff {

namespace worker {
class HeldTask;
}

/// What else may be said of a frame.
struct FrameOptions {
    std::optional<std::string> correlation;  ///< at most 256 bytes
    FrameKind kind = FrameKind::event;
    std::uint64_t retention_maxlen = 0;  ///< 0: the policy's, or 10,000
};

/// How long best-effort frames are worth keeping when nobody says.
inline constexpr std::chrono::milliseconds live_ttl{10'000};

/// The payload of a frame: bytes as they stand, anything else as JSON.
template <class T>
expected<std::string> frame_payload(const T& value) {
    if constexpr (Bytes<T>) {
        return std::string(std::string_view(value));
    } else {
        static_assert(Jsonable<T>,
                      "a frame holds bytes or a type with a Codec: say "
                      "FF_JSON(Type, members…) after the type");
        return encode_json(value);
    }
}

class FrameWriter {
  public:
    explicit FrameWriter(worker::HeldTask& held) : held_(&held) {}

    /// A durable frame.
    template <class T>
    void write(std::string type, const T& value, FrameOptions options = {}) {
        value_or_throw(try_write(std::move(type), value, std::move(options)));
    }
    template <class T>
    expected<void> try_write(std::string type, const T& value, FrameOptions options = {}) {
        FF_TRY(std::string payload, frame_payload(value));
        return try_write_bytes(std::move(type), std::move(payload), std::move(options));
    }
    /// A patch of the attempt's document; see Task::append_summary.
    void write_summary(const json& patch) { value_or_throw(try_write_summary(patch)); }
    expected<void> try_write_summary(const json& patch);
    /// A best-effort frame: kept for about two lifetimes, for those who read along.
    template <class T>
    void write_live(std::string type, const T& value, std::chrono::milliseconds ttl = live_ttl) {
        value_or_throw(try_write_live(std::move(type), value, ttl));
    }
    template <class T>
    expected<void> try_write_live(std::string type, const T& value,
                                  std::chrono::milliseconds ttl = live_ttl) {
        FF_TRY(std::string payload, frame_payload(value));
        return try_write_live_bytes(std::move(type), std::move(payload), ttl);
    }
    /// A line as a program prints it; without a line break at its end.
    void line(std::string_view text) { value_or_throw(try_line(text)); }
    expected<void> try_line(std::string_view text) {
        return try_write_bytes({}, std::string(text), {std::nullopt, FrameKind::stdout_, 0});
    }
    void error_line(std::string_view text) { value_or_throw(try_error_line(text)); }
    expected<void> try_error_line(std::string_view text) {
        return try_write_bytes({}, std::string(text), {std::nullopt, FrameKind::stderr_, 0});
    }

    /// Waits until everything written so far is on disk.
    void flush() { value_or_throw(try_flush()); }
    expected<void> try_flush();

  private:
    expected<void> try_write_bytes(std::string type, std::string payload, FrameOptions options);
    expected<void> try_write_live_bytes(std::string type, std::string payload,
                                        std::chrono::milliseconds ttl);

    worker::HeldTask* held_;
};

}  // namespace ff
