// FrameBuffer: the frames of one task on their way into its stream.
//
// One batch is under way at a time, so frames arrive in the order they were written in, and a batch
// whose answer was lost can be sent again: each frame has a number, and the engine takes none whose
// number is not above the last it took. The numbers begin with the lease's epoch, so that an
// attempt that goes on under another lease, perhaps in another worker, goes on above them.
//
// No thread of its own: batches are sent by whoever fills them, by the engine's answer to the one
// before, or by the FrameTimer. Any thread. Owned through a shared pointer, as answers may come
// late.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ff/streams.h>

#include "base/clock_wait.h"
#include "worker/pauses.h"
#include "worker/setup.h"

namespace ff::worker {

/// A batch is sent when so many frames or bytes have gathered, or so long after the first.
inline constexpr std::size_t flush_frames = 64;
inline constexpr std::size_t flush_bytes = 65'536;
inline constexpr DurationMs flush_after_ms = 50;
/// The most in one batch. A byte may become six in a request, which may have 1 MiB.
inline constexpr std::size_t batch_bytes_max = 131'072;
/// The most that waits to be sent; a writer waits for room.
inline constexpr std::size_t waiting_frames_max = 1'024;
inline constexpr std::size_t waiting_bytes_max = 1'048'576;

class FrameBuffer : public std::enable_shared_from_this<FrameBuffer> {
  public:
    FrameBuffer(std::shared_ptr<const Setup> setup, const Handle& handle);

    /// Takes a frame, when there is room. Instead of that, tells what was refused before.
    expected<void> write(Frame frame);
    /// Sends all that waits and the frame behind it; its answer.
    expected<AppendedFrame> append(Frame frame);
    /// Waits until all that was written has been answered; tells what was refused.
    expected<void> flush();
    /// Waits for the same and tells nothing.
    void sync();
    /// The same before the task ends: nobody is there to be told, so what was refused is logged.
    void drain();
    /// Nothing more can be sent: whoever waits hears of it now, whoever writes later then.
    void abandon(const Error& why);

    /// For the timer.
    void on_time();

  private:
    using Lock = std::unique_lock<std::mutex>;
    enum class State : std::uint8_t { idle, sending, pausing };
    /// Somebody who waits for the answer to one frame.
    struct Waiter {
        std::uint64_t number = 0;
        std::optional<expected<AppendedFrame>> answer;
    };

    static std::size_t weight(const Frame& frame);
    static expected<Frame> checked(Frame frame);

    // All of these hold wait_.mutex() when they are called.
    void push(Frame frame);
    [[nodiscard]] bool has_room(const Frame& frame) const;
    [[nodiscard]] bool is_due() const;
    void set_timer();
    void take_batch();
    void settle(const AppendResult& result);
    void pause(const Error& error);
    void refuse_batch(const Error& error);
    void break_off(const Error& error);
    [[nodiscard]] Waiter* waiter_of(const Frame& frame);
    expected<void> told();

    /// Sends the next batch if it is time, and gives up the lock.
    void send_due(Lock& lock);
    void send(Lock& lock);
    void answered(const expected<AppendResult>& answer);
    void wait_settled(Lock& lock);

    // Fixed after construction.
    const std::shared_ptr<const Setup> setup_;
    const Handle handle_;
    const ClockWait wait_;

    // Guarded by wait_.mutex().
    std::uint64_t last_number_;
    std::deque<Frame> waiting_;
    std::size_t waiting_bytes_ = 0;
    std::vector<Frame> batch_;        ///< under way, or to be sent again
    std::size_t alone_ = 0;           ///< so many are sent one by one: one of them is refused
    std::uint64_t urgent_up_to_ = 0;  ///< somebody waits for frames up to this number
    State state_ = State::idle;
    TimestampMs send_at_ = 0;  ///< of what waits; while pausing, of the batch
    std::optional<TimestampMs> timer_at_;
    Pauses pauses_;
    bool told_pause_ = false;
    std::vector<Waiter*> waiters_;
    std::optional<Error> refused_;  ///< the first that nobody has been told of
    std::size_t refused_count_ = 0;
    std::optional<Error> broken_;  ///< nothing can be written any more
    std::size_t lost_count_ = 0;   ///< dropped when it broke
};

}  // namespace ff::worker
