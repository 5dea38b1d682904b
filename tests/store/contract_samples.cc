// The sample rows of the contract suite.
#include "store/contract.h"

namespace ff::store::test {

using core::Bucket;
using core::Execution;

Uuid uuid_of(std::uint64_t n) {
    Uuid id;
    for (std::size_t i = 0; i < 8; ++i) {
        id.bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
    }
    return id;
}

ExecutionId id_of(std::uint64_t n, std::uint16_t partition) { return {partition, uuid_of(n)}; }

FlowId flow_id_of(std::uint64_t n) { return {uuid_of(n)}; }

std::string all_bytes() {
    std::string bytes;
    for (int i = 0; i < 256; ++i) {
        bytes.push_back(static_cast<char>(i));
    }
    return bytes;
}

Execution waiting(Eid eid, RouteId route, std::int32_t priority) {
    Execution e;
    e.eid = eid;
    e.id = id_of(static_cast<std::uint64_t>(eid));
    e.route = route;
    e.priority = priority;
    e.state.phase = LifecyclePhase::runnable;
    e.state.eligibility = EligibilityState::eligible_now;
    e.state.blocking_reason = BlockingReason::waiting_for_worker;
    e.state.attempt_state = AttemptState::pending_first_attempt;
    e.created_at = e.last_transition_at = e.last_mutation_at = t0;
    return e;
}

Execution leased(Eid eid, RouteId route, const std::string& instance, TimestampMs expires_at) {
    Execution e = waiting(eid, route);
    e.state = {.phase = LifecyclePhase::active,
               .ownership = OwnershipState::leased,
               .attempt_state = AttemptState::running_attempt};
    e.public_state = PublicState::active;
    e.current_attempt_index = 0;
    e.current_attempt_id = AttemptId{uuid_of(static_cast<std::uint64_t>(eid) + 1'000'000)};
    e.lease_id = LeaseId{uuid_of(static_cast<std::uint64_t>(eid) + 2'000'000)};
    e.lease_epoch = 1;
    e.total_attempt_count = 1;
    e.worker_id = "pool";
    e.worker_instance_id = instance;
    e.lease_acquired_at = t0;
    e.lease_expires_at = expires_at;
    return e;
}

Execution delayed(Eid eid, RouteId route, TimestampMs until) {
    Execution e = waiting(eid, route);
    e.state.eligibility = EligibilityState::not_eligible_until_time;
    e.state.blocking_reason = BlockingReason::waiting_for_delay;
    e.public_state = PublicState::delayed;
    e.delay_until = until;
    return e;
}

Execution ended(Eid eid, RouteId route, TerminalOutcome outcome, TimestampMs completed_at) {
    Execution e = waiting(eid, route);
    e.state = {.phase = LifecyclePhase::terminal,
               .outcome = outcome,
               .attempt_state = AttemptState::attempt_terminal};
    e.public_state = public_state(e.state);
    e.completed_at = completed_at;
    return e;
}

Execution in_bucket(Eid eid, RouteId route, Bucket bucket) {
    Execution e = waiting(eid, route);
    const auto blocked = [&](EligibilityState why) {
        e.state.eligibility = why;
        return e;
    };
    switch (bucket) {
        case Bucket::none: return e;
        case Bucket::delayed: return delayed(eid, route, t0 + 1'000);
        case Bucket::waiting_children: return blocked(EligibilityState::blocked_by_dependencies);
        case Bucket::blocked_by_budget: return blocked(EligibilityState::blocked_by_budget);
        case Bucket::blocked_by_quota: return blocked(EligibilityState::blocked_by_quota);
        case Bucket::blocked_by_route: return blocked(EligibilityState::blocked_by_route);
        case Bucket::blocked_by_lane_state: return blocked(EligibilityState::blocked_by_lane_state);
        case Bucket::blocked_by_operator: return blocked(EligibilityState::blocked_by_operator);
        case Bucket::reclaimable:
            e = leased(eid, route, "gone", t0);
            e.state.ownership = OwnershipState::lease_expired_reclaimable;
            return e;
        case Bucket::suspended: e.state.phase = LifecyclePhase::suspended; return e;
        case Bucket::failed: return ended(eid, route, TerminalOutcome::failed, t0);
        case Bucket::cancelled: return ended(eid, route, TerminalOutcome::cancelled, t0);
        case Bucket::expired: return ended(eid, route, TerminalOutcome::expired, t0);
        case Bucket::skipped: return ended(eid, route, TerminalOutcome::skipped, t0);
    }
    return e;
}

core::ExecutionInput input_of(Eid eid, Tags tags) {
    core::ExecutionInput input;
    input.eid = eid;
    input.tags = std::move(tags);
    return input;
}

core::ExecutionEvent event_of(const Execution& execution, core::LeaseEventType type,
                              TimestampMs at) {
    core::ExecutionEvent event;
    event.eid = execution.eid;
    event.execution_id = execution.id;
    event.route = execution.route;
    event.type = type;
    event.at = at;
    return event;
}

core::LogEvent log_event_of(const Execution& execution, core::LogFamily family, TimestampMs at) {
    core::LogEvent event;
    event.family = family;
    event.type = "noted";
    event.at = at;
    event.eid = execution.eid;
    event.execution_id = execution.id;
    event.payload = "{}";
    return event;
}

core::GrantRow grant_of(Eid eid, TimestampMs expires_at) {
    core::GrantRow grant;
    grant.eid = eid;
    grant.grant_id.uuid = uuid_of(static_cast<std::uint64_t>(eid) + 3'000'000);
    grant.worker_id = "pool";
    grant.worker_instance_id = "one";
    grant.lane = "default";
    grant.expires_at = expires_at;
    return grant;
}

core::Attempt attempt_of(Eid eid, std::uint32_t index) {
    core::Attempt attempt;
    attempt.eid = eid;
    attempt.attempt_index = index;
    attempt.attempt_id.uuid = uuid_of(static_cast<std::uint64_t>(eid) * 100 + index);
    return attempt;
}

core::WorkerRow worker_of(const std::string& ns, const std::string& instance,
                          std::vector<std::string> lanes) {
    core::WorkerRow worker;
    worker.key = {ns, instance};
    worker.worker_id = "pool";
    worker.lanes = std::move(lanes);
    worker.liveness_ttl_ms = 1'000;
    worker.registered_at = worker.last_heartbeat = t0;
    return worker;
}

core::IdempotencyEntry idempotency_of(const std::string& ns, const std::string& key,
                                      const ExecutionId& id, TimestampMs expires_at) {
    return {{ns, key}, id, expires_at};
}

Execution full_execution(Eid eid, RouteId route) {
    Execution e;
    e.eid = eid;
    e.id = id_of(static_cast<std::uint64_t>(eid), 513);
    e.route = route;
    e.flow_id = FlowId{uuid_of(11)};
    e.priority = 8'999;
    e.state = {LifecyclePhase::active,         OwnershipState::leased,
               EligibilityState::eligible_now, BlockingReason::paused_by_flow_cancel,
               TerminalOutcome::skipped,       AttemptState::attempt_terminal};
    e.public_state = PublicState::skipped;
    e.blocking_detail = "waiting for \"x\"\n\t, and for y";
    e.current_attempt_index = 4'000'000'000U;
    e.current_attempt_id = AttemptId{uuid_of(12)};
    e.attempt_type = AttemptType::fallback;
    e.attempt_started_at = t0 + 1;
    e.attempt_resumed_at = t0 + 2;
    e.attempt_leased_ms = 3;
    e.lineage_reason = "lineage";
    e.lineage_requested_by = "someone";
    e.lineage_previous_index = 4;
    e.total_attempt_count = 5;
    e.retry_count = 6;
    e.replay_count = 7;
    e.lease_reclaim_count = 8;
    e.lease_id = LeaseId{uuid_of(13)};
    e.lease_epoch = 0xffff'ffff'ffff'fffeULL;
    e.worker_id = "worker";
    e.worker_instance_id = "instance";
    e.lease_acquired_at = t0 + 9;
    e.lease_expires_at = t0 + 10'000;
    e.lease_renewed_at = t0 + 11;
    e.lease_expired_at = t0 + 12;
    e.lease_revoked_at = t0 + 13;
    e.lease_revoke_reason = "revoked";
    e.reclaim_not_before = t0 + 30'014;
    e.grant_expires_at = t0 + 30'015;
    e.delay_until = t0 + 30'016;
    e.execution_deadline_at = t0 + 30'017;
    e.attempt_deadline_at = t0 + 30'018;
    e.retention_ms = 19;
    e.progress_percent = 20;
    e.progress_message = "東京 ✓";
    e.progress_updated_at = t0 + 21;
    e.failure_reason = "failed";
    e.failure_category = "category";
    e.cancellation_reason = "cancelled";
    e.cancelled_by = "operator";
    e.last_capability_mismatch_at = t0 + 22;
    e.blocked_at = t0 + 23;
    e.holds_flow_slot = true;
    e.retain_until = t0 + 29;
    e.gate = "gate";
    e.current_suspension_id = SuspensionId{uuid_of(14)};
    e.current_waitpoint_id = WaitpointId{uuid_of(15)};
    e.suspension_timeout_at = t0 + 30'019;
    e.waitpoint_due_at = t0 + 30'020;
    e.suspension_count = 30;
    e.open_waitpoints = 31;
    e.signal_count = 32;
    e.timeout_signals = 34;
    e.last_hmac_validation_failed_at = t0 + 33;
    e.has_waits = true;
    e.has_streams = true;
    fill_limits(e);
    e.has_tags = true;
    e.has_policy = true;
    e.has_idempotency_key = true;
    e.created_at = t0 + 24;
    e.started_at = t0 + 25;
    e.completed_at = t0 + 26;
    e.last_transition_at = t0 + 27;
    e.last_mutation_at = t0 + 28;
    // What the store keeps itself: the lease ends first of all that is due.
    e.timer_at = e.lease_expires_at;
    return e;
}

core::ExecutionInput full_input(Eid eid) {
    return {eid,
            "creator",
            all_bytes(),
            "encoding",
            R"({"priority":3})",
            {{"app.name", "value \"quoted\" \\ and\nmore"}, {"empty", ""}, {"city", "東京"}},
            "key",
            "node",
            all_bytes(),
            "other encoding"};
}

core::Attempt full_attempt(Eid eid, std::uint32_t index) {
    core::Attempt a = attempt_of(eid, index);
    a.type = AttemptType::reclaim;
    a.state = AttemptLifecycle::interrupted_reclaimed;
    a.started_at = t0 + 1;
    a.resumed_at = t0 + 2;
    a.suspended_at = t0 + 3;
    a.ended_at = t0 + 4;
    a.suspension_id = "suspension";
    a.lease_id = LeaseId{uuid_of(5)};
    a.lease_epoch = 6;
    a.worker_id = "worker";
    a.worker_instance_id = "instance";
    a.failure_reason = "failure";
    a.failure_category = "category";
    a.reason = "reason";
    a.requested_by = "requester";
    a.previous_attempt_index = 7;
    a.retry_at = t0 + 8;
    a.result = all_bytes();
    a.result_encoding = "encoding";
    a.closed_as = StreamClosedReason::expired;
    return a;
}

core::GrantRow full_grant(Eid eid) {
    core::GrantRow g = grant_of(eid, t0 + 1);
    g.kind = GrantKind::reclaim;
    g.worker_capabilities = "cuda,gpu";
    g.capability_hash = "hash";
    g.route_snapshot_json = R"({"a":1})";
    g.admission_summary = "summary";
    g.grant_ttl_ms = 2;
    g.issued_at = t0 + 3;
    return g;
}

core::WorkerRow full_worker() {
    core::WorkerRow worker = worker_of("acme", "one", {"a lane", "b,\"lane\""});
    worker.capabilities = {"cuda", "東京-gpu"};
    worker.registered_at = t0 - 5;
    return worker;
}

core::ExecutionEvent full_event(Eid eid, RouteId route) {
    core::ExecutionEvent event = event_of(waiting(eid, route), core::LeaseEventType::reclaimed);
    event.flow_id = FlowId{uuid_of(1)};
    event.outcome = TerminalOutcome::cancelled;
    event.lease_id = LeaseId{uuid_of(2)};
    event.lease_epoch = 3;
    event.attempt_index = 4;
    event.attempt_id = AttemptId{uuid_of(5)};
    event.worker_id = "worker";
    event.worker_instance_id = "instance";
    event.expires_at = t0 + 6;
    event.old_lease_id = LeaseId{uuid_of(7)};
    event.reason = "reason";
    event.revoked_by = "operator";
    event.tags = R"({"a":"b"})";
    return event;
}

core::LogEvent full_log_event(Eid eid) {
    core::LogEvent event = log_event_of(waiting(eid, 1), core::LogFamily::workers);
    event.flow_id = FlowId{uuid_of(1)};
    event.ns = "acme";
    event.tags = R"({"a":"b"})";
    event.payload = R"({"text":"東京"})";
    return event;
}

core::Flow flow_of(std::uint64_t n) {
    core::Flow flow;
    flow.id = flow_id_of(n);
    flow.kind = "pipeline";
    flow.ns = "acme";
    flow.graph_revision = flow.node_count = flow.live = 1;
    flow.created_at = flow.last_mutation_at = t0;
    return flow;
}

Execution member_of(Eid eid, RouteId route, std::uint64_t flow) {
    Execution e = waiting(eid, route);
    e.flow_id = flow_id_of(flow);
    return e;
}

core::Edge edge_of(std::uint64_t flow, std::uint64_t n, Eid upstream, Eid downstream) {
    core::Edge edge;
    edge.upstream = id_of(static_cast<std::uint64_t>(upstream));
    edge.downstream = id_of(static_cast<std::uint64_t>(downstream));
    edge.key = {flow_id_of(flow), EdgeId{uuid_of(n)}};
    edge.created_at = t0;
    return edge;
}

core::EdgeGroup group_of(std::uint64_t flow, Eid downstream) {
    core::EdgeGroup group;
    group.flow = flow_id_of(flow);
    group.downstream = id_of(static_cast<std::uint64_t>(downstream));
    return group;
}

core::FlowWork work_of(std::uint64_t flow, core::FlowWorkKind kind, Eid execution,
                       TimestampMs due_at) {
    return {{flow_id_of(flow), kind, id_of(static_cast<std::uint64_t>(execution))}, {}, due_at};
}

core::Flow full_flow(std::uint64_t n) {
    core::Flow f = flow_of(n);
    f.partition = 3;
    f.state = FlowState::cancelled;
    f.sealed = true;
    f.paused = true;
    f.graph_revision = 9;
    f.node_count = 4;
    f.edge_count = 5;
    f.live = 6;
    f.bad = 7;
    f.trimmed = 8;
    f.slots = 10;
    f.deadline_at = t0 + 11;
    f.on_member_failure = OnMemberFailure::cancel_rest;
    f.max_active_members = 12;
    f.created_at = t0 + 13;
    f.last_mutation_at = t0 + 14;
    f.cancelled_at = t0 + 15;
    f.cancel_reason = "no longer wanted";
    f.cancellation_policy = CancellationPolicy::cancel_pending;
    f.finished_at = t0 + 16;
    f.tags = {{"app.name", "value \"quoted\""}, {"city.name", "東京"}};
    f.held = true;  // what the store keeps itself: it is paused
    f.limited = true;
    return f;
}

core::Edge full_edge(std::uint64_t flow, std::uint64_t n, Eid upstream, Eid downstream) {
    core::Edge e = edge_of(flow, n, upstream, downstream);
    e.kind = DependencyKind::always;
    e.state = EdgeState::applied;
    e.dependency = DependencyState::impossible;
    e.outcome = TerminalOutcome::failed;
    e.data_passing_ref = R"({"as":"東京"})";
    e.when = "$.ok";
    e.created_at = t0 + 1;
    e.applied_at = t0 + 2;
    e.resolved_at = t0 + 3;
    e.fence_replays = 4;
    return e;
}

core::EdgeGroup full_group(std::uint64_t flow, Eid downstream) {
    core::EdgeGroup g = group_of(flow, downstream);
    g.policy = GroupPolicyKind::quorum;
    g.k = 2;
    g.on_satisfied = OnSatisfied::cancel_remaining;
    g.force_cancel_shared = true;
    g.staged = 3;
    g.applied = 4;
    g.succeeded = 5;
    g.failed = 6;
    g.skipped = 7;
    g.not_taken = 8;
    g.state = GroupState::satisfied;
    g.satisfied_at = t0 + 9;
    g.siblings_pending = true;
    g.siblings_reason = "quorum reached";
    g.created_at = t0 + 10;
    return g;
}

core::FlowWork full_work(std::uint64_t flow, Eid execution) {
    core::FlowWork work = work_of(flow, core::FlowWorkKind::cancel_member, execution, t0 + 1);
    work.reason = "no longer wanted";
    return work;
}

core::Suspension suspension_of(Eid eid, std::uint32_t episode) {
    core::Suspension row;
    row.key = {eid, episode};
    row.id = SuspensionId{uuid_of(static_cast<std::uint64_t>(eid) * 1'000 + episode)};
    row.execution_id = id_of(static_cast<std::uint64_t>(eid));
    row.lane = "default";
    row.created_at = t0;
    row.waits_until = core::no_deadline;
    return row;
}

core::Waitpoint waitpoint_of(Eid eid, std::uint64_t n) {
    core::Waitpoint row;
    row.id = WaitpointId{uuid_of(n)};
    row.eid = eid;
    row.execution_id = id_of(static_cast<std::uint64_t>(eid));
    row.token = "k1:" + std::string(64, 'a');
    row.token_kid = "k1";
    row.created_at = t0;
    return row;
}

core::Signal signal_of(Eid eid, std::uint64_t seq, std::uint64_t waitpoint) {
    core::Signal row;
    row.key = {eid, seq};
    row.id = SignalId{uuid_of(seq)};
    row.waitpoint_id = WaitpointId{uuid_of(waitpoint)};
    row.name = "go";
    row.created_at = row.accepted_at = t0;
    return row;
}

core::Suspension full_suspension(Eid eid, std::uint32_t episode) {
    core::Suspension s = suspension_of(eid, episode);
    s.attempt_index = 1;
    s.waitpoints = R"([["id","東京"]])";
    s.reason_code = "a foreign one";
    s.requested_by = SuspensionRequester::system_timeout_policy;
    s.created_at = t0 + 2;
    s.timeout_at = t0 + 3;
    s.timeout_behavior = TimeoutBehavior::fail;
    s.condition = R"({"Single":{}})";
    s.resume_policy = "{}";
    s.satisfied_counts = "1,0";
    s.continuation = "s3://somewhere";
    s.idempotency_key = "key";
    s.dedup_expires_at = t0 + 4;
    s.lease_id = LeaseId{uuid_of(5)};
    s.entered = false;
    s.last_signal_at = t0 + 6;
    s.satisfied_at = t0 + 7;
    s.closed_at = t0 + 8;
    s.close_reason = "resumed";
    s.resume_trigger = ResumeTrigger::signal;
    s.resumed_by = "operator";
    s.closer_signal_id = SignalId{uuid_of(9)};
    s.escalated_at = t0 + 10;
    s.remaining_attempt_timeout_ms = 11;
    s.waits_until = t0 + 12;
    return s;
}

core::Waitpoint full_waitpoint(Eid eid, std::uint64_t n) {
    core::Waitpoint w = waitpoint_of(eid, n);
    w.attempt_index = 1;
    w.episode = 2;
    w.key = "a key, \"東京\"";
    w.state = WaitpointState::active;
    w.required_signal_names = {"a", "b,\"c\""};
    w.created_at = t0 + 3;
    w.activated_at = t0 + 4;
    w.satisfied_at = t0 + 5;
    w.expires_at = t0 + 6;
    w.closed_at = t0 + 7;
    w.close_reason = "resumed";
    w.signal_count = 8;
    w.matched_signal_count = 9;
    w.last_signal_at = t0 + 10;
    return w;
}

core::Signal full_signal(Eid eid, std::uint64_t seq, std::uint64_t waitpoint) {
    core::Signal s = signal_of(eid, seq, waitpoint);
    s.scope = SignalScope::waitpoint;
    s.category = "category";
    s.source_type = "human";
    s.source_identity = "東京";
    s.correlation_id = "correlation";
    s.idempotency_key = "key";
    s.dedup_expires_at = t0 + 1;
    s.created_at = t0 + 2;
    s.accepted_at = t0 + 3;
    s.payload = all_bytes();
    s.payload_encoding = "json";
    s.effect = SignalEffect::buffered_for_pending_waitpoint;
    s.matched = true;
    return s;
}

core::HmacKey full_key(const std::string& kid) {
    return {kid, all_bytes(), true, t0 + 1, true, t0 + 2};
}

core::Changes deletion(Eid eid) {
    core::Changes gone;
    gone.delete_executions.push_back(eid);
    return gone;
}

}  // namespace ff::store::test
