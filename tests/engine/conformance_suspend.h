// What the tests of suspension share: suspending, signalling, and looking at what came of it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/conformance.h"

namespace ff::engine::test {

class SuspendConformance : public Conformance {
  protected:
    static Suspend suspending(const ClaimedTask& task,
                              ResumeCondition condition = ResumeCondition::single("k")) {
        Suspend op;
        op.lease = task.handle;
        op.resume_condition = std::move(condition);
        return op;
    }
    /// Two waitpoints, keys `a` and `b`.
    static Suspend suspending_on_two(const ClaimedTask& task, ResumeCondition condition) {
        Suspend op = suspending(task, std::move(condition));
        op.waitpoints = {WaitpointBinding::fresh("a"), WaitpointBinding::fresh("b")};
        return op;
    }
    /// A started execution that waits for any signal.
    SuspendResult suspend(const ClaimedTask& task,
                          ResumeCondition condition = ResumeCondition::single("k")) {
        return ok(suspending(task, std::move(condition)));
    }
    static DeliverSignal signal(const ExecutionId& id, const WaitpointTicket& at,
                                std::string name = "go") {
        DeliverSignal op;
        op.execution_id = id;
        op.waitpoint_id = at.waitpoint_id;
        op.waitpoint_token = at.waitpoint_token;
        op.signal_name = std::move(name);
        return op;
    }
    static DeliverSignal signal_from(const ExecutionId& id, const WaitpointTicket& at,
                                     std::string who, std::string name = "go") {
        DeliverSignal op = signal(id, at, std::move(name));
        op.source_identity = std::move(who);
        return op;
    }
    std::string effect(DeliverSignal op) {
        return std::string(to_string(ok(std::move(op)).effect));
    }
    static std::string detail(const Error& error) { return error.detail; }
    std::vector<SuspensionInfo> episodes(const ExecutionId& id) { return ok(ListSuspensions{id}); }
    SuspensionInfo last_episode(const ExecutionId& id) {
        const auto all = episodes(id);
        EXPECT_FALSE(all.empty());
        return all.empty() ? SuspensionInfo{} : all.back();
    }
    std::vector<WaitpointInfo> open_waitpoints(const ExecutionId& id) {
        ListPendingWaitpoints op;
        op.execution_id = id;
        return ok(op).waitpoints;
    }
    std::vector<SignalInfo> ledger(const ExecutionId& id) {
        ListSignals op;
        op.execution_id = id;
        op.with_payload = true;
        return ok(op).signals;
    }
    /// Names of the signals that the resumed attempt sees.
    std::vector<std::string> observed(const ExecutionId& id) {
        std::vector<std::string> names;
        for (const SignalInfo& seen : ok(ObserveSignals{id, {}})) {
            names.push_back(seen.signal_name);
        }
        return names;
    }
    /// The state of any waitpoint.
    std::string waitpoint_state(const WaitpointId& id) {
        const auto found = ok(FindWaitpoint{id});
        return found ? std::string(to_string(found->state)) : "absent";
    }
    static Uuid new_uuid() {
        static SystemIdSource ids;
        return ids.uuid(t0);
    }
};

}  // namespace ff::engine::test
