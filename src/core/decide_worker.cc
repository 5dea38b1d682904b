// The worker registry: who is there, what it can do, and what happens when it is declared dead.
#include <algorithm>

#include <ff/json.h>
#include "core/decide.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::core {

namespace {

js::Array to_json(const std::vector<std::string>& words) {
    return js::Array(words.begin(), words.end());
}

LogEvent worker_event(std::string type, const std::string& ns, js::Object payload,
                      TimestampMs now) {
    LogEvent event;
    event.family = LogFamily::workers;
    event.type = std::move(type);
    event.at = now;
    event.ns = ns;
    event.payload = js::dump(js::Value(std::move(payload)));
    return event;
}

}  // namespace

expected<void> validate(RegisterWorker& args) {
    FF_TRY_VOID(check_namespace("namespace", args.ns));
    FF_TRY_VOID(check_worker(args.worker_id, args.worker_instance_id));
    if (args.lanes.empty() || args.lanes.size() > 64) {
        return ff::fail(ErrorCode::invalid_input, "lanes: between 1 and 64 are required");
    }
    for (const auto& lane : args.lanes) {
        FF_TRY_VOID(check_lane("lane_id", lane));
    }
    std::ranges::sort(args.lanes);
    args.lanes.erase(std::unique(args.lanes.begin(), args.lanes.end()), args.lanes.end());
    if (args.liveness_ttl_ms < 1'000 || args.liveness_ttl_ms > 3'600'000) {
        return ff::fail(ErrorCode::invalid_input,
                        "liveness_ttl_ms must be in 1000..=3600000 (got " +
                            std::to_string(args.liveness_ttl_ms) + ")");
    }
    FF_TRY(args.capabilities,
           normalise_capabilities(std::move(args.capabilities), CapabilitySide::worker));
    return {};
}

void reads(const RegisterWorker& args, ReadSet& set) {
    set.workers.push_back({args.ns, args.worker_instance_id});
}

Decision<RegisterWorkerResult> decide(const Snapshot& view, const RegisterWorker& args,
                                      const Context& ctx) {
    const WorkerKey key{args.ns, args.worker_instance_id};
    const WorkerRow* found = view.worker(key);
    const bool live = found != nullptr && found->live(ctx.now);
    if (live && found->worker_id != args.worker_id) {
        return ff::fail(ErrorCode::invalid_input, "instance_id reassigned");
    }
    WorkerRow row;
    row.key = key;
    row.worker_id = args.worker_id;
    row.lanes = args.lanes;
    row.capabilities = args.capabilities;
    row.liveness_ttl_ms = args.liveness_ttl_ms;
    row.registered_at = live ? found->registered_at : ctx.now;
    row.last_heartbeat = ctx.now;
    Changes changes;
    changes.log_events.push_back(worker_event("registered", args.ns,
                                              {{"worker_id", args.worker_id},
                                               {"worker_instance_id", args.worker_instance_id},
                                               {"lanes", to_json(args.lanes)},
                                               {"capabilities", to_json(args.capabilities)},
                                               {"refreshed", live}},
                                              ctx.now));
    changes.put_workers.push_back(std::move(row));
    return {RegisterWorkerResult{live}, std::move(changes)};
}

expected<void> validate(HeartbeatWorker& args) {
    FF_TRY_VOID(check_namespace("namespace", args.ns));
    return check_worker_name("worker_instance_id", args.worker_instance_id);
}

void reads(const HeartbeatWorker& args, ReadSet& set) {
    set.workers.push_back({args.ns, args.worker_instance_id});
}

Decision<HeartbeatResult> decide(const Snapshot& view, const HeartbeatWorker& args,
                                 const Context& ctx) {
    const WorkerRow* found = view.worker({args.ns, args.worker_instance_id});
    if (found == nullptr || !found->live(ctx.now)) {
        return HeartbeatResult{};
    }
    WorkerRow row = *found;
    row.last_heartbeat = ctx.now;
    HeartbeatResult reply{true, row.expires_at()};
    Changes changes;
    changes.put_workers.push_back(std::move(row));
    return {reply, std::move(changes)};
}

expected<void> validate(MarkWorkerDead& args) {
    FF_TRY_VOID(check_namespace("namespace", args.ns));
    FF_TRY_VOID(check_worker_name("worker_instance_id", args.worker_instance_id));
    return check_label("reason", args.reason, 0, 256);
}

void reads(const MarkWorkerDead& args, ReadSet& set) {
    const WorkerKey key{args.ns, args.worker_instance_id};
    set.workers.push_back(key);
    if (args.revoke_leases) {
        set.leased_by.push_back(key);
    }
}

Decision<MarkWorkerDeadResult> decide(const Snapshot& view, const MarkWorkerDead& args,
                                      const Context& ctx) {
    const WorkerKey key{args.ns, args.worker_instance_id};
    const WorkerRow* found = view.worker(key);
    if (found == nullptr || !found->live(ctx.now)) {
        return MarkWorkerDeadResult{};
    }
    Changes changes;
    MarkWorkerDeadResult reply{true, 0};
    if (args.revoke_leases) {
        for (const ExecutionId& id : view.leased_by(key)) {
            const Execution* held = view.execution(id);
            if (held == nullptr || held->state.ownership != OwnershipState::leased ||
                held->worker_instance_id != args.worker_instance_id) {
                continue;
            }
            Execution e = *held;
            if (is_lease_past(e, ctx.now)) {
                mark_lease_expired(view, e, changes, ctx);  // there is nothing left to revoke
            } else {
                revoke(view, e, "worker_marked_dead", "operator", changes, ctx);
                reply.leases_revoked += 1;
            }
            changes.put_executions.push_back(std::move(e));
        }
    }
    changes.log_events.push_back(worker_event("marked_dead", args.ns,
                                              {{"worker_id", found->worker_id},
                                               {"worker_instance_id", args.worker_instance_id},
                                               {"reason", args.reason}},
                                              ctx.now));
    changes.delete_workers.push_back(key);
    return {reply, std::move(changes)};
}

void reads(const SweepWorker& args, ReadSet& set) { set.workers.push_back(args.key); }

Decision<bool> decide(const Snapshot& view, const SweepWorker& args, const Context& ctx) {
    const WorkerRow* found = view.worker(args.key);
    if (found == nullptr || found->live(ctx.now)) {
        return false;
    }
    Changes changes;
    changes.log_events.push_back(worker_event(
        "ttl_swept", args.key.ns,
        {{"worker_id", found->worker_id}, {"worker_instance_id", args.key.worker_instance_id}},
        ctx.now));
    changes.delete_workers.push_back(args.key);
    return {true, std::move(changes)};
}

}  // namespace ff::core
