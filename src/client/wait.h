// Waiting for an end.
#pragma once

#include <chrono>

#include <ff/engine.h>

namespace ff::client {

/// Is this the end of an execution?
bool has_ended(PublicState state);

/// The final state; `timeout` when there is none by then. Blocks the calling thread, which waits
/// for the event of the end. Where events are refused it asks for the state again and again: every
/// 5 ms at first, every 250 ms at last.
expected<PublicState> await_end(Engine& engine, const ExecutionId& id,
                                std::chrono::milliseconds timeout);

/// The same for a flow; `flow_not_found` when there is none.
expected<FlowSnapshot> await_flow_end(Engine& engine, const FlowId& id,
                                      std::chrono::milliseconds timeout);

/// Until a cancellation has reached every member its policy is for. A flow that is gone counts as
/// done.
expected<void> await_cancel(Engine& engine, const FlowId& id, CancellationPolicy policy,
                            std::chrono::milliseconds timeout);

}  // namespace ff::client
