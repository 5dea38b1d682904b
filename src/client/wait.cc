#include "client/wait.h"

#include <algorithm>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>

#include "core/cancel_left.h"

namespace ff::client {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds pause_first{5};
constexpr milliseconds pause_max{250};

/// Sleeps a little longer each time.
class Pause {
  public:
    void listen() {}
    void pass(steady_clock::duration left, bool /*answered*/) {
        std::this_thread::sleep_for(std::min<steady_clock::duration>(pause_, left));
        pause_ = std::min(pause_ * 2, pause_max);
    }

  private:
    milliseconds pause_ = pause_first;
};

/// Waits for the event of an execution's end, and sleeps once events are refused.
class EndBell {
  public:
    EndBell(Engine& engine, const ExecutionId& id) : engine_(engine) {
        read_.family = EventFamily::completion;
        read_.filter.execution_id = id;
        read_.limit = 1;
    }

    /// Finds the place to wait behind. What ends after this is heard, so the state is looked at
    /// next and no end falls in between.
    void listen() {
        if (!heard_ || !read_.cursor.empty()) {
            return;
        }
        if (auto page = engine_.run(read_)) {
            read_.cursor = page->next_cursor;
        }
        heard_ = !read_.cursor.empty();
    }

    /// A question that was not answered is asked again soon: there may be no event to come.
    void pass(steady_clock::duration left, bool answered) {
        if (heard_ && answered) {
            heard_ = wait(std::min<steady_clock::duration>(left, look_again));
        } else {
            pause_.pass(left, answered);
        }
    }

  private:
    /// Now and then the state is looked at all the same: an event may have been trimmed.
    static constexpr std::chrono::seconds look_again{10};

    /// False when it may not wait there. Measured by this thread's clock: the engine's may be
    /// another.
    bool wait(steady_clock::duration most) {
        std::stop_source stop;
        ReadEvents op = read_;
        op.block_ms = std::chrono::ceil<milliseconds>(most).count();
        op.abandoned = stop.get_token();
        const auto answered = std::make_shared<std::promise<expected<EventPage>>>();
        auto answer = answered->get_future();
        engine_.async(std::move(op), [answered](expected<EventPage> page) {
            answered->set_value(std::move(page));
        });
        if (answer.wait_for(most) != std::future_status::ready) {
            stop.request_stop();
        }
        const auto page = answer.get();
        if (!page) {
            return false;
        }
        read_.cursor = page->next_cursor;
        return true;
    }

    Engine& engine_;
    ReadEvents read_;
    bool heard_ = true;
    Pause pause_;
};

/// Asks until `done(answer)`; errors that may pass are waited out. When the time is over, the last
/// error, or `timeout` with what `late(answer)` says. `between` passes the time between two
/// questions.
template <class Op, class Done, class Late, class Between = Pause>
expected<typename Op::Result> ask_until(Engine& engine, const Op& op, milliseconds timeout,
                                        Done done, Late late, Between between = {}) {
    // A century instead of a sum that overflows.
    const auto until =
        steady_clock::now() + std::min(timeout, milliseconds(std::chrono::years(100)));
    for (;;) {
        between.listen();
        auto answer = engine.run(op);
        const bool may_pass = !answer && info(answer.error().code).retryable;
        if ((answer && done(*answer)) || (!answer && !may_pass)) {
            return answer;
        }
        const auto left = until - steady_clock::now();
        if (left <= steady_clock::duration::zero()) {
            if (!answer) {
                return answer;
            }
            return ff::fail(ErrorCode::timeout,
                            late(*answer) + " after " + std::to_string(timeout.count()) + " ms");
        }
        between.pass(left, answer.has_value());
    }
}

}  // namespace

bool has_ended(PublicState state) {
    switch (state) {
        case PublicState::completed:
        case PublicState::failed:
        case PublicState::cancelled:
        case PublicState::expired:
        case PublicState::skipped: return true;
        default: return false;
    }
}

expected<PublicState> await_end(Engine& engine, const ExecutionId& id, milliseconds timeout) {
    return ask_until(
        engine, ReadExecutionState{id}, timeout, has_ended,
        [&](PublicState state) { return id.to_string() + " is " + std::string(to_string(state)); },
        EndBell(engine, id));
}

expected<FlowSnapshot> await_flow_end(Engine& engine, const FlowId& id, milliseconds timeout) {
    FF_TRY(auto found, ask_until(
                           engine, DescribeFlow{id}, timeout,
                           [](const std::optional<FlowSnapshot>& flow) {
                               return !flow || flow->public_flow_state != FlowState::open;
                           },
                           [&](const std::optional<FlowSnapshot>& flow) {
                               return "flow " + id.to_string() + " is open" +
                                      (flow->sealed ? "" : " and not sealed") + " with " +
                                      std::to_string(flow->live_members) + " live member(s)";
                           }));
    if (!found) {
        return ff::fail(ErrorCode::flow_not_found, "flow not found: " + id.to_string());
    }
    return std::move(*found);
}

expected<void> await_cancel(Engine& engine, const FlowId& id, CancellationPolicy policy,
                            milliseconds timeout) {
    auto summary = ask_until(
        engine, ReadFlowSummary{id}, timeout,
        [policy](const FlowSummary& found) { return core::cancel_left(policy, found) == 0; },
        [&](const FlowSummary& found) {
            return "cancel_flow: " + std::to_string(core::cancel_left(policy, found)) +
                   " member(s) of flow " + id.to_string() + " are still to be cancelled";
        });
    if (!summary && summary.error().code != ErrorCode::flow_not_found) {
        return std::unexpected(std::move(summary).error());
    }
    return {};
}

}  // namespace ff::client
