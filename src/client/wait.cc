#include "client/wait.h"

#include <algorithm>
#include <thread>

namespace ff::client {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds pause_first{5};
constexpr milliseconds pause_max{250};

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

}  // namespace

expected<PublicState> await_end(Engine& engine, const ExecutionId& id, milliseconds timeout) {
    // A century instead of a sum that overflows.
    const auto until =
        steady_clock::now() + std::min(timeout, milliseconds(std::chrono::years(100)));
    milliseconds pause = pause_first;
    for (;;) {
        auto state = engine.run(ReadExecutionState{id});
        const bool may_pass = !state && info(state.error().code).retryable;
        if ((state && has_ended(*state)) || (!state && !may_pass)) {
            return state;
        }
        const auto left = until - steady_clock::now();
        if (left <= steady_clock::duration::zero()) {
            if (!state) {
                return state;
            }
            return ff::fail(ErrorCode::timeout, id.to_string() + " is " +
                                                    std::string(to_string(*state)) + " after " +
                                                    std::to_string(timeout.count()) + " ms");
        }
        std::this_thread::sleep_for(std::min<steady_clock::duration>(pause, left));
        pause = std::min(pause * 2, pause_max);
    }
}

}  // namespace ff::client
