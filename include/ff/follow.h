// Following: what an execution has to say while it runs, as it says it.
//
//   for (const ff::FollowedFrame& frame : client.follow(id)) {
//       std::cout << frame.text();
//   }
//
// Reads the stream of the first attempt, waits for more, goes on with the next attempt when one has
// ended and another begins, and ends when the execution has ended and its last stream is read. All
// by TailStream, so it is the same on every engine. One pass, one thread.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <ff/engine.h>
#include <ff/exception.h>
#include <ff/streams.h>

namespace ff {

/// A place in what an execution says: right behind a frame of one of its attempts. As text
/// `<attempt>:<ms>-<seq>`.
struct FollowCursor {
    std::uint32_t attempt_index = 0;
    FrameId after;

    auto operator<=>(const FollowCursor&) const = default;
    [[nodiscard]] std::string to_string() const;
    /// `invalid_input` with what is wrong.
    static expected<FollowCursor> parse(std::string_view text);
};

struct FollowedFrame : StreamFrame {
    std::uint32_t attempt_index = 0;

    /// Where to go on from, once it has been dealt with.
    [[nodiscard]] FollowCursor cursor() const { return {attempt_index, id}; }
};

struct FollowOptions {
    FollowCursor from;  ///< what stands before it is left out
    /// Only this attempt, to its end. Absent: from `from` to the end of the execution.
    std::optional<std::uint32_t> attempt_index = {};
    StreamVisibility visibility = StreamVisibility::all;
    std::vector<std::string> frame_types = {};  ///< only these; empty: all
    bool wait = true;                           ///< false: ends with what there is now
    /// How long an engine that cannot be reached is waited for.
    std::chrono::milliseconds patience{30'000};
    std::stop_token stop = {};  ///< ends it, also while it waits
};

class Following {
  public:
    Following(std::shared_ptr<Engine> engine, ExecutionId id, FollowOptions options);

    /// The next frame; waits for it. Nothing at the end. `execution_not_found` when there is no
    /// such execution. After an error it may be called again.
    expected<std::optional<FollowedFrame>> try_next();
    std::optional<FollowedFrame> next() { return value_or_throw(try_next()); }

    /// Behind the last frame that was given out.
    [[nodiscard]] const FollowCursor& cursor() const { return cursor_; }
    /// What was followed has ended, and all of it was given out.
    [[nodiscard]] bool ended() const { return ended_; }
    /// Why the last stream that was read to its end is closed.
    [[nodiscard]] std::optional<StreamClosedReason> closed_reason() const { return closed_; }

    class Iterator {
      public:
        using value_type = FollowedFrame;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        explicit Iterator(Following& following) : following_(&following) { ++*this; }
        const FollowedFrame& operator*() const { return *frame_; }
        const FollowedFrame* operator->() const { return &*frame_; }
        Iterator& operator++() {
            frame_ = following_->next();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return !frame_; }

      private:
        Following* following_;
        std::optional<FollowedFrame> frame_;
    };

    /// Both wait, and may throw.
    Iterator begin() { return Iterator(*this); }
    std::default_sentinel_t end() { return {}; }

  private:
    /// What a look at the stream or the execution says.
    enum class Next : std::uint8_t { frames, look_again, end };

    expected<Next> read();
    expected<Next> after_nothing(bool came_early);
    expected<Next> after_closure();
    expected<Next> look();
    /// Asks, again while the engine cannot be reached and there is patience.
    template <class Op>
    expected<typename Op::Result> ask(const Op& op);

    // Fixed after construction.
    std::shared_ptr<Engine> engine_;
    ExecutionId id_;
    FollowOptions options_;

    std::uint32_t attempt_;
    FrameId after_;
    bool known_ = false;  ///< there is such an execution
    bool begun_ = false;  ///< and such an attempt
    bool ended_ = false;
    std::optional<StreamClosedReason> closed_;
    FollowCursor cursor_;
    std::chrono::milliseconds idle_pause_{0};
    std::vector<StreamFrame> page_;
    std::size_t at_ = 0;
};

}  // namespace ff
