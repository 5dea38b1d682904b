// Waiting for an execution to end. One function, so that another way of hearing of it has one place
// to go to.
#pragma once

#include <chrono>

#include <ff/engine.h>

namespace ff::client {

/// The final state; `timeout` when there is none by then. Blocks the calling thread, which asks for
/// the state again and again: every 5 ms at first, every 250 ms at last.
expected<PublicState> await_end(Engine& engine, const ExecutionId& id,
                                std::chrono::milliseconds timeout);

}  // namespace ff::client
