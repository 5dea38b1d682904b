// What follows from the end of a member, or from an order that concerns many of them. Each piece is
// decided like a command, in the transaction that caused it.
#pragma once

#include "core/changes.h"
#include "core/context.h"
#include "core/snapshot.h"

namespace ff::core {

/// Asks for what is not known yet; called again until it asks for nothing.
void reads_more(const Snapshot& view, const FlowWork& work, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const FlowWork& work, const Context& ctx);

/// May it wait in the store when a transaction has grown too large? What concerns the flow row only
/// is done at once.
bool may_wait(FlowWorkKind kind);

/// A flow's timer fired: its deadline has come, or it is empty and old.
struct HandleFlowDue {
    FlowId flow_id;
};
void reads(const HandleFlowDue& args, ReadSet& set);
Decision<bool> decide(const Snapshot& view, const HandleFlowDue& args, const Context& ctx);

// ------------------------------------------------------------------------------------ admission

/// May a member of a held flow be handed out now? If not, what to do with it instead: it waits at
/// the flow's gate, or goes with a flow that is being cancelled. The flow must be loaded.
std::optional<Changes> hold_back(const Snapshot& view, const Execution& member, const Context& ctx);
/// The same for a member that is claimed by name: `execution_not_eligible` says why not.
expected<void> check_admitted(const Snapshot& view, const Execution& member);
/// Loads the flow of an execution, if it has one, and with it what both of these ask.
void read_flow_of(const Snapshot& view, const ExecutionId& id, ReadSet& set);
/// Counts a member that has just been leased against its flow's limit, if there is one.
void take_slot(const Snapshot& view, Execution& member, Changes& changes);

}  // namespace ff::core
