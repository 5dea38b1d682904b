#include "client/wait.h"

#include <algorithm>
#include <thread>

#include "core/cancel_left.h"

namespace ff::client {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds pause_first{5};
constexpr milliseconds pause_max{250};

/// Asks until `done(answer)`; errors that may pass are waited out. When the time is over, the last
/// error, or `timeout` with what `late(answer)` says.
template <class Op, class Done, class Late>
expected<typename Op::Result> ask_until(Engine& engine, const Op& op, milliseconds timeout,
                                        Done done, Late late) {
    // A century instead of a sum that overflows.
    const auto until =
        steady_clock::now() + std::min(timeout, milliseconds(std::chrono::years(100)));
    milliseconds pause = pause_first;
    for (;;) {
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
        std::this_thread::sleep_for(std::min<steady_clock::duration>(pause, left));
        pause = std::min(pause * 2, pause_max);
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
    return ask_until(engine, ReadExecutionState{id}, timeout, has_ended, [&](PublicState state) {
        return id.to_string() + " is " + std::string(to_string(state));
    });
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
