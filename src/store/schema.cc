#include "store/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <ff/ids.h>

#include "base/check.h"

namespace ff::store {

namespace {

constexpr std::string_view foundations = R"sql(
CREATE TABLE ff_meta (name @text NOT NULL, value @int NOT NULL, PRIMARY KEY (name)) @keyed;
CREATE TABLE ff_partition_config (
    family @text NOT NULL, count @int NOT NULL, PRIMARY KEY (family)) @keyed;

CREATE TABLE ff_lane_registry (
    lane_id @text NOT NULL,
    lane_state @int NOT NULL DEFAULT 0,
    registered_at @int NOT NULL DEFAULT 0,
    PRIMARY KEY (lane_id)) @keyed;

CREATE TABLE ff_route (
    route @int PRIMARY KEY,
    lane_id @text NOT NULL,
    namespace @text NOT NULL,
    execution_kind @text NOT NULL,
    required_capabilities @text NOT NULL DEFAULT '',
    UNIQUE (lane_id, namespace, execution_kind, required_capabilities)) @table;

CREATE TABLE ff_exec_core (
    eid @int PRIMARY KEY,
    id @bytes NOT NULL UNIQUE,
    route @int NOT NULL DEFAULT 0,
    priority @int NOT NULL DEFAULT 0,
    lifecycle_phase @int NOT NULL DEFAULT 0,
    ownership_state @int NOT NULL DEFAULT 0,
    eligibility_state @int NOT NULL DEFAULT 8,
    blocking_reason @int NOT NULL DEFAULT 0,
    terminal_outcome @int NOT NULL DEFAULT 0,
    attempt_state @int NOT NULL DEFAULT 0,
    public_state @int NOT NULL DEFAULT 0,
    created_at @int NOT NULL DEFAULT 0,
    last_transition_at @int NOT NULL DEFAULT 0,
    last_mutation_at @int NOT NULL DEFAULT 0,
    timer_at @int,
    last_event_id @int,
    has_tags @int NOT NULL DEFAULT 0,
    has_policy @int NOT NULL DEFAULT 0,
    has_idempotency_key @int NOT NULL DEFAULT 0,
    started_at @int,
    completed_at @int,
    total_attempt_count @int NOT NULL DEFAULT 0,
    current_attempt_index @int,
    current_attempt_id @bytes,
    attempt_type @int NOT NULL DEFAULT 0,
    attempt_started_at @int,
    lease_epoch @int NOT NULL DEFAULT 0,
    lease_id @bytes,
    worker_id @text,
    worker_instance_id @text,
    lease_acquired_at @int,
    lease_expires_at @int,
    lease_renewed_at @int,
    grant_expires_at @int,
    delay_until @int,
    execution_deadline_at @int,
    attempt_deadline_at @int,
    retry_count @int NOT NULL DEFAULT 0,
    flow_id @bytes,
    extra @text) @table;
CREATE INDEX ff_exec_core_by_route ON ff_exec_core (route, eid);

CREATE TABLE ff_exec_input (
    eid @int PRIMARY KEY,
    creator_identity @text,
    payload @bytes,
    payload_encoding @text,
    policy @text,
    tags @text,
    idempotency_key @text) @table;

CREATE TABLE ff_attempt (
    eid @int NOT NULL,
    attempt_index @int NOT NULL,
    attempt_id @bytes NOT NULL,
    attempt_type @int NOT NULL DEFAULT 0,
    attempt_state @int NOT NULL DEFAULT 1,
    started_at @int NOT NULL DEFAULT 0,
    resumed_at @int,
    suspended_at @int,
    ended_at @int,
    suspension_id @text,
    lease_id @bytes,
    lease_epoch @int NOT NULL DEFAULT 0,
    worker_id @text,
    worker_instance_id @text,
    failure_reason @text,
    failure_category @text,
    reason @text,
    requested_by @text,
    previous_attempt_index @int,
    retry_at @int,
    result @bytes,
    result_encoding @text,
    PRIMARY KEY (eid, attempt_index)) @keyed;

CREATE TABLE ff_claim_grant (
    eid @int PRIMARY KEY,
    grant_id @bytes NOT NULL,
    kind @int NOT NULL DEFAULT 0,
    worker_id @text NOT NULL,
    worker_instance_id @text NOT NULL,
    lane_id @text NOT NULL,
    worker_capabilities @text NOT NULL DEFAULT '',
    capability_hash @text,
    route_snapshot_json @text,
    admission_summary @text,
    grant_ttl_ms @int NOT NULL DEFAULT 0,
    issued_at @int NOT NULL DEFAULT 0,
    expires_at @int NOT NULL DEFAULT 0) @table;
CREATE INDEX ff_claim_grant_by_expiry ON ff_claim_grant (expires_at);

CREATE TABLE ff_ready (
    route @int NOT NULL, rank @int NOT NULL, eid @int NOT NULL,
    PRIMARY KEY (route, rank, eid)) @keyed;
CREATE TABLE ff_timer (
    kind @int NOT NULL, due_at @int NOT NULL, eid @int NOT NULL,
    PRIMARY KEY (kind, due_at, eid)) @keyed;
CREATE TABLE ff_listed (
    bucket @int NOT NULL, eid @int NOT NULL, PRIMARY KEY (bucket, eid)) @keyed;
CREATE TABLE ff_exec_tag (
    tag_key @text NOT NULL, tag_value @text NOT NULL, eid @int NOT NULL,
    PRIMARY KEY (tag_key, tag_value, eid)) @keyed;

CREATE TABLE ff_idempotency (
    namespace @text NOT NULL,
    idempotency_key @text NOT NULL,
    execution_id @bytes NOT NULL,
    expires_at @int NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, idempotency_key)) @keyed;
CREATE INDEX ff_idempotency_by_expiry ON ff_idempotency (expires_at);

CREATE TABLE ff_worker_registry (
    namespace @text NOT NULL,
    worker_instance_id @text NOT NULL,
    worker_id @text NOT NULL,
    lanes @text NOT NULL DEFAULT '[]',
    capabilities @text NOT NULL DEFAULT '[]',
    liveness_ttl_ms @int NOT NULL DEFAULT 0,
    registered_at @int NOT NULL DEFAULT 0,
    last_heartbeat @int NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, worker_instance_id)) @keyed;

CREATE TABLE ff_exec_event (
    event_id @int PRIMARY KEY,
    previous_event_id @int,
    eid @int NOT NULL DEFAULT 0,
    execution_id @bytes NOT NULL,
    route @int NOT NULL DEFAULT 0,
    occurred_at @int NOT NULL DEFAULT 0,
    lease_event @int NOT NULL DEFAULT 0,
    outcome @int,
    lease_id @bytes,
    lease_epoch @int NOT NULL DEFAULT 0,
    attempt_index @int,
    attempt_id @bytes,
    worker_id @text,
    worker_instance_id @text,
    expires_at @int,
    old_lease_id @bytes,
    reason @text,
    revoked_by @text,
    flow_id @bytes,
    tags @text) @table;

CREATE TABLE ff_log_event (
    event_id @int PRIMARY KEY,
    family @int NOT NULL DEFAULT 2,
    type @text NOT NULL,
    occurred_at @int NOT NULL DEFAULT 0,
    eid @int,
    execution_id @bytes,
    flow_id @bytes,
    namespace @text,
    tags @text,
    payload @text NOT NULL DEFAULT '') @table;
CREATE INDEX ff_log_event_by_family ON ff_log_event (family, event_id);
CREATE INDEX ff_log_event_by_execution ON ff_log_event (eid) WHERE eid IS NOT NULL;
)sql";

// What many processes on one database need: numbers no two of them draw, and room on a page for
// the next version of a row, so that an update touches no index.
constexpr std::string_view many_processes = R"sql(
@postgres CREATE SEQUENCE ff_route_number;
@postgres CREATE SEQUENCE ff_process_slot MINVALUE 0 MAXVALUE 1023 CYCLE;
@postgres INSERT INTO ff_meta (name, value) VALUES ('event_high', 0);
@postgres ALTER TABLE ff_meta SET (fillfactor = 10);
@postgres ALTER TABLE ff_exec_core SET (fillfactor = 50);
@postgres ALTER TABLE ff_attempt SET (fillfactor = 85);
)sql";

// A flow, its edges, the groups of edges that lead to one execution, and work that waits. Indexes
// that give an order name every column of it: thousands of rows may share a time.
constexpr std::string_view flows = R"sql(
CREATE TABLE ff_flow (
    flow_id @bytes NOT NULL PRIMARY KEY,
    partition @int NOT NULL,
    flow_kind @text NOT NULL,
    namespace @text NOT NULL,
    flow_state @int NOT NULL DEFAULT 0,
    sealed @int NOT NULL DEFAULT 0,
    paused @int NOT NULL DEFAULT 0,
    graph_revision @int NOT NULL DEFAULT 0,
    node_count @int NOT NULL DEFAULT 0,
    edge_count @int NOT NULL DEFAULT 0,
    live_members @int NOT NULL DEFAULT 0,
    bad_members @int NOT NULL DEFAULT 0,
    trimmed_members @int NOT NULL DEFAULT 0,
    slots @int NOT NULL DEFAULT 0,
    deadline_at @int,
    on_member_failure @int NOT NULL DEFAULT 0,
    max_active_members @int NOT NULL DEFAULT 0,
    created_at @int NOT NULL DEFAULT 0,
    last_mutation_at @int NOT NULL DEFAULT 0,
    cancelled_at @int,
    cancel_reason @text,
    cancellation_policy @int,
    finished_at @int,
    tags @text,
    timer_at @int,
    held @int NOT NULL DEFAULT 0) @keyed;
CREATE INDEX ff_flow_by_partition ON ff_flow (partition, flow_id);
CREATE INDEX ff_flow_by_timer ON ff_flow (timer_at, flow_id) WHERE timer_at IS NOT NULL;
CREATE INDEX ff_flow_held ON ff_flow (flow_id) WHERE held = 1;

CREATE TABLE ff_edge (
    upstream_id @bytes NOT NULL,
    edge_id @bytes NOT NULL,
    flow_id @bytes NOT NULL,
    downstream_id @bytes NOT NULL,
    dependency_kind @int NOT NULL DEFAULT 0,
    edge_state @int NOT NULL DEFAULT 0,
    dependency_state @int,
    outcome @int,
    data_passing_ref @text,
    condition @text,
    created_at @int NOT NULL DEFAULT 0,
    applied_at @int,
    resolved_at @int,
    fence_replays @int,
    PRIMARY KEY (upstream_id, edge_id)) @keyed;
CREATE UNIQUE INDEX ff_edge_by_flow ON ff_edge (flow_id, edge_id);
CREATE INDEX ff_edge_by_downstream ON ff_edge (downstream_id, edge_id);
CREATE INDEX ff_edge_staged ON ff_edge (created_at, flow_id, edge_id) WHERE edge_state = 0;

CREATE TABLE ff_edge_group (
    flow_id @bytes NOT NULL,
    downstream_id @bytes NOT NULL,
    policy @int NOT NULL DEFAULT 0,
    k @int NOT NULL DEFAULT 1,
    on_satisfied @int NOT NULL DEFAULT 0,
    force_cancel_shared @int NOT NULL DEFAULT 0,
    staged @int NOT NULL DEFAULT 0,
    applied @int NOT NULL DEFAULT 0,
    succeeded @int NOT NULL DEFAULT 0,
    failed @int NOT NULL DEFAULT 0,
    skipped @int NOT NULL DEFAULT 0,
    not_taken @int NOT NULL DEFAULT 0,
    group_state @int NOT NULL DEFAULT 0,
    satisfied_at @int,
    siblings_pending @int NOT NULL DEFAULT 0,
    siblings_reason @text,
    created_at @int NOT NULL DEFAULT 0,
    PRIMARY KEY (flow_id, downstream_id)) @keyed;

CREATE TABLE ff_flow_work (
    flow_id @bytes NOT NULL,
    kind @int NOT NULL,
    execution_id @bytes NOT NULL,
    reason @text,
    due_at @int NOT NULL DEFAULT 0,
    PRIMARY KEY (flow_id, kind, execution_id)) @keyed;
CREATE INDEX ff_flow_work_by_due ON ff_flow_work (due_at, flow_id, kind, execution_id);

CREATE INDEX ff_exec_core_by_flow ON ff_exec_core (flow_id, id) WHERE flow_id IS NOT NULL;
ALTER TABLE ff_exec_input ADD COLUMN flow_node @text;
ALTER TABLE ff_exec_input ADD COLUMN original_payload @bytes;
ALTER TABLE ff_exec_input ADD COLUMN original_encoding @text;
@postgres ALTER TABLE ff_flow SET (fillfactor = 50);
@postgres ALTER TABLE ff_edge SET (fillfactor = 80);
@postgres ALTER TABLE ff_edge_group SET (fillfactor = 70);
)sql";

// Waiting for signals. All of it but the keys belongs to one execution and is found by its number;
// a waitpoint and what came to it are found by the waitpoint's id too, since that is all a signal
// has. Partial indexes hold what is looked for and no more: every signal pays for each of them.
constexpr std::string_view suspension = R"sql(
CREATE TABLE ff_suspension (
    eid @int NOT NULL,
    episode @int NOT NULL,
    suspension_id @bytes NOT NULL,
    execution_id @bytes NOT NULL,
    lane_id @text NOT NULL,
    attempt_index @int NOT NULL DEFAULT 0,
    waitpoints @text NOT NULL DEFAULT '',
    reason_code @text NOT NULL DEFAULT '',
    requested_by @int NOT NULL DEFAULT 0,
    created_at @int NOT NULL DEFAULT 0,
    timeout_at @int,
    timeout_behavior @int,
    condition @text NOT NULL DEFAULT '',
    resume_policy @text NOT NULL DEFAULT '',
    satisfied_counts @text NOT NULL DEFAULT '',
    continuation @text,
    idempotency_key @text,
    dedup_expires_at @int,
    lease_id @bytes,
    entered @int NOT NULL DEFAULT 1,
    last_signal_at @int,
    satisfied_at @int,
    closed_at @int,
    close_reason @text,
    resume_trigger @int,
    resumed_by @text,
    closer_signal_id @bytes,
    escalated_at @int,
    remaining_attempt_timeout_ms @int,
    waits_until @int,
    PRIMARY KEY (eid, episode)) @keyed;
CREATE INDEX ff_suspension_open ON ff_suspension (lane_id, waits_until, execution_id)
    WHERE waits_until IS NOT NULL;
CREATE INDEX ff_suspension_by_key ON ff_suspension (eid, idempotency_key, episode)
    WHERE idempotency_key IS NOT NULL;

CREATE TABLE ff_waitpoint (
    eid @int NOT NULL,
    waitpoint_id @bytes NOT NULL,
    execution_id @bytes NOT NULL,
    attempt_index @int NOT NULL DEFAULT 0,
    episode @int,
    waitpoint_key @text NOT NULL DEFAULT '',
    token @text NOT NULL DEFAULT '',
    token_kid @text NOT NULL DEFAULT '',
    waitpoint_state @int NOT NULL DEFAULT 0,
    required_signal_names @text NOT NULL DEFAULT '[]',
    created_at @int NOT NULL DEFAULT 0,
    activated_at @int,
    satisfied_at @int,
    expires_at @int,
    closed_at @int,
    close_reason @text,
    signal_count @int NOT NULL DEFAULT 0,
    matched_signal_count @int NOT NULL DEFAULT 0,
    last_signal_at @int,
    PRIMARY KEY (eid, waitpoint_id)) @keyed;
CREATE UNIQUE INDEX ff_waitpoint_by_id ON ff_waitpoint (waitpoint_id);
CREATE INDEX ff_waitpoint_open ON ff_waitpoint (eid, waitpoint_id) WHERE waitpoint_state < 2;

CREATE TABLE ff_signal (
    eid @int NOT NULL,
    seq @int NOT NULL,
    signal_id @bytes NOT NULL,
    waitpoint_id @bytes NOT NULL,
    target_scope @int NOT NULL DEFAULT 1,
    signal_name @text NOT NULL DEFAULT '',
    signal_category @text NOT NULL DEFAULT '',
    source_type @text NOT NULL DEFAULT '',
    source_identity @text NOT NULL DEFAULT '',
    correlation_id @text NOT NULL DEFAULT '',
    idempotency_key @text,
    dedup_expires_at @int,
    created_at @int NOT NULL DEFAULT 0,
    accepted_at @int NOT NULL DEFAULT 0,
    payload @bytes,
    payload_encoding @text NOT NULL DEFAULT '',
    observed_effect @int NOT NULL DEFAULT 5,
    matched @int NOT NULL DEFAULT 0,
    PRIMARY KEY (eid, seq)) @keyed;
CREATE UNIQUE INDEX ff_signal_by_id ON ff_signal (eid, signal_id);
CREATE INDEX ff_signal_by_key ON ff_signal (waitpoint_id, idempotency_key, seq)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX ff_signal_buffered ON ff_signal (waitpoint_id, seq) WHERE observed_effect = 6;

CREATE TABLE ff_satisfier (
    eid @int NOT NULL,
    episode @int NOT NULL,
    node @int NOT NULL,
    token @text NOT NULL,
    seq @int NOT NULL DEFAULT 0,
    PRIMARY KEY (eid, episode, node, token)) @keyed;

CREATE TABLE ff_hmac_key (
    kid @text NOT NULL,
    secret @bytes NOT NULL,
    sealed @int NOT NULL DEFAULT 0,
    installed_at @int NOT NULL DEFAULT 0,
    is_current @int NOT NULL DEFAULT 0,
    expires_at @int,
    PRIMARY KEY (kid)) @keyed;
CREATE UNIQUE INDEX ff_hmac_key_current ON ff_hmac_key (is_current) WHERE is_current = 1;
@postgres ALTER TABLE ff_suspension SET (fillfactor = 60);
@postgres ALTER TABLE ff_waitpoint SET (fillfactor = 70);
)sql";

// Streams of attempts. Frames are kept and trimmed in the order of their ids; most are durable and
// pay for no index but their key. `sweep_at` changes rarely, unlike the expiry behind it.
constexpr std::string_view streams = R"sql(
ALTER TABLE ff_attempt ADD COLUMN closed_as @int;

CREATE TABLE ff_stream_meta (
    eid @int NOT NULL,
    attempt_index @int NOT NULL,
    created_at @int NOT NULL DEFAULT 0,
    last_ms @int NOT NULL DEFAULT 0,
    last_seq @int NOT NULL DEFAULT 0,
    frame_count @int NOT NULL DEFAULT 0,
    total_bytes @int NOT NULL DEFAULT 0,
    last_frame_at @int NOT NULL DEFAULT 0,
    has_durable_frame @int NOT NULL DEFAULT 0,
    retained_durable @int NOT NULL DEFAULT 0,
    retained_summary @int NOT NULL DEFAULT 0,
    retained_best_effort @int NOT NULL DEFAULT 0,
    ema_rate_hz @text,
    last_append_ts_ms @int,
    maxlen_applied_last @int,
    expires_at @int,
    last_client_seq @int,
    retention_ttl_ms @int,
    sweep_at @int,
    PRIMARY KEY (eid, attempt_index)) @keyed;
CREATE INDEX ff_stream_meta_by_sweep ON ff_stream_meta (sweep_at, eid, attempt_index)
    WHERE sweep_at IS NOT NULL;

CREATE TABLE ff_stream_frame (
    eid @int NOT NULL,
    attempt_index @int NOT NULL,
    ms @int NOT NULL,
    seq @int NOT NULL,
    frame_type @text NOT NULL,
    mode @int NOT NULL DEFAULT 0,
    ts @int NOT NULL DEFAULT 0,
    payload @bytes NOT NULL DEFAULT @nobytes,
    correlation_id @text,
    summary_version @int,
    ttl_ms @int,
    PRIMARY KEY (eid, attempt_index, ms, seq)) @keyed;
CREATE INDEX ff_stream_frame_by_mode ON ff_stream_frame (eid, attempt_index, mode, ms, seq)
    WHERE mode <> 0;

CREATE TABLE ff_stream_summary (
    eid @int NOT NULL,
    attempt_index @int NOT NULL,
    document @text NOT NULL,
    version @int NOT NULL DEFAULT 0,
    last_updated_ms @int NOT NULL DEFAULT 0,
    first_applied_ms @int NOT NULL DEFAULT 0,
    PRIMARY KEY (eid, attempt_index)) @keyed;
@postgres ALTER TABLE ff_stream_meta SET (fillfactor = 50);
@postgres ALTER TABLE ff_stream_summary SET (fillfactor = 50);
)sql";

// How far the events of each family have been deleted, so that who comes late can be told; and who
// is told of events.
constexpr std::string_view events = R"sql(
CREATE TABLE ff_event_trim (
    family @int PRIMARY KEY,
    through @int NOT NULL DEFAULT 0) @table;

CREATE TABLE ff_webhook (
    webhook_id @bytes NOT NULL PRIMARY KEY,
    url @text NOT NULL,
    family @int NOT NULL DEFAULT 0,
    filter @text NOT NULL DEFAULT '',
    secret @bytes NOT NULL DEFAULT @nobytes,
    sealed @int NOT NULL DEFAULT 0,
    paused @int NOT NULL DEFAULT 0,
    position @int NOT NULL DEFAULT 0,
    delivered @int NOT NULL DEFAULT 0,
    failures @int NOT NULL DEFAULT 0,
    missed_gaps @int NOT NULL DEFAULT 0,
    next_try_at @int,
    last_success_at @int,
    last_failure_at @int,
    last_error @text,
    created_at @int NOT NULL DEFAULT 0,
    holder @text,
    held_until @int) @keyed;
@postgres ALTER TABLE ff_webhook SET (fillfactor = 50);
)sql";

// Budgets and quotas. A budget is one row, so that a claim sees it with one look; starts and slots
// are a row for each execution that has one.
constexpr std::string_view limits = R"sql(
ALTER TABLE ff_flow ADD COLUMN limited @int NOT NULL DEFAULT 0;

CREATE TABLE ff_budget (
    budget_id @bytes NOT NULL,
    scope_type @text NOT NULL DEFAULT '',
    scope_id @text NOT NULL DEFAULT '',
    enforcement_mode @int NOT NULL DEFAULT 0,
    on_hard_limit @int NOT NULL DEFAULT 0,
    on_soft_limit @int NOT NULL DEFAULT 0,
    reset_interval_ms @int NOT NULL DEFAULT 0,
    next_reset_at @int,
    last_reset_at @int,
    reset_count @int NOT NULL DEFAULT 0,
    breach_count @int NOT NULL DEFAULT 0,
    soft_breach_count @int NOT NULL DEFAULT 0,
    last_breach_at @int,
    last_breach_dim @text,
    created_at @int NOT NULL DEFAULT 0,
    updated_at @int NOT NULL DEFAULT 0,
    limits @text,
    usage @text,
    waiting @int NOT NULL DEFAULT 0,
    wake_at @int,
    cancel_dim @text,
    cancel_from @bytes,
    timer_at @int,
    PRIMARY KEY (budget_id)) @keyed;
CREATE INDEX ff_budget_by_timer ON ff_budget (timer_at, budget_id) WHERE timer_at IS NOT NULL;
CREATE INDEX ff_budget_waiting ON ff_budget (budget_id) WHERE waiting = 1;

CREATE TABLE ff_budget_ledger (
    budget_id @bytes NOT NULL,
    execution_id @bytes NOT NULL,
    reset_epoch @int NOT NULL DEFAULT 0,
    spent @text,
    updated_at @int NOT NULL DEFAULT 0,
    PRIMARY KEY (budget_id, execution_id)) @keyed;

CREATE TABLE ff_usage_dedup (
    budget_id @bytes NOT NULL,
    dedup_key @text NOT NULL,
    applied_at @int NOT NULL DEFAULT 0,
    expires_at @int NOT NULL DEFAULT 0,
    PRIMARY KEY (budget_id, dedup_key)) @keyed;
CREATE INDEX ff_usage_dedup_by_expiry ON ff_usage_dedup (expires_at);

CREATE TABLE ff_quota_policy (
    quota_policy_id @bytes NOT NULL,
    requests_per_window_seconds @int NOT NULL DEFAULT 0,
    max_requests_per_window @int NOT NULL DEFAULT 0,
    active_concurrency_cap @int NOT NULL DEFAULT 0,
    jitter_ms @int NOT NULL DEFAULT 0,
    window_ms @int NOT NULL DEFAULT 0,
    created_at @int NOT NULL DEFAULT 0,
    updated_at @int NOT NULL DEFAULT 0,
    running @int NOT NULL DEFAULT 0,
    in_window @int NOT NULL DEFAULT 0,
    offered @int NOT NULL DEFAULT 0,
    waiting @int NOT NULL DEFAULT 0,
    wake_at @int,
    unnamed @int NOT NULL DEFAULT 0,
    deleted @int NOT NULL DEFAULT 0,
    PRIMARY KEY (quota_policy_id)) @keyed;
CREATE INDEX ff_quota_policy_by_timer ON ff_quota_policy (wake_at, quota_policy_id)
    WHERE wake_at IS NOT NULL;
CREATE INDEX ff_quota_policy_waiting ON ff_quota_policy (quota_policy_id) WHERE waiting = 1;

CREATE TABLE ff_quota_admission (
    execution_id @bytes NOT NULL,
    quota_policy_id @bytes NOT NULL,
    admitted_at @int,
    slot_at @int,
    PRIMARY KEY (execution_id, quota_policy_id)) @keyed;
CREATE INDEX ff_quota_admission_by_time
    ON ff_quota_admission (quota_policy_id, admitted_at, execution_id);

CREATE TABLE ff_limit_attachment (
    limit_kind @int NOT NULL,
    limit_id @bytes NOT NULL,
    target_type @int NOT NULL,
    target_id @text NOT NULL,
    by_place @int NOT NULL DEFAULT 0,
    PRIMARY KEY (limit_kind, limit_id, target_type, target_id)) @keyed;
CREATE INDEX ff_limit_attachment_by_target
    ON ff_limit_attachment (target_type, target_id, limit_kind, limit_id);
CREATE INDEX ff_limit_attachment_by_place
    ON ff_limit_attachment (limit_kind, limit_id) WHERE by_place = 1;
@postgres ALTER TABLE ff_budget SET (fillfactor = 50);
@postgres ALTER TABLE ff_quota_policy SET (fillfactor = 50);
)sql";

// What a claim reserves of a budget, and the approval to go past a soft limit.
constexpr std::string_view reservations = R"sql(
ALTER TABLE ff_budget ADD COLUMN reserved @text;
ALTER TABLE ff_budget ADD COLUMN approved_period @int;
ALTER TABLE ff_budget_ledger ADD COLUMN reserved @text;
)sql";

// Turns between keys, and limits that count for each key by itself. A place in line is mostly the
// number of the execution: then eid is 0.
constexpr std::string_view limit_keys = R"sql(
ALTER TABLE ff_ready RENAME COLUMN eid TO place;
ALTER TABLE ff_ready ADD COLUMN eid @int NOT NULL DEFAULT 0;
CREATE INDEX ff_ready_placed ON ff_ready (place) WHERE eid <> 0;
CREATE TABLE ff_turn (
    queue @int NOT NULL, eid @int NOT NULL, PRIMARY KEY (queue, eid)) @keyed;
ALTER TABLE ff_quota_policy ADD COLUMN per_key @int NOT NULL DEFAULT 0;
ALTER TABLE ff_quota_policy ADD COLUMN parent @bytes;
ALTER TABLE ff_quota_policy ADD COLUMN limit_key @text;
ALTER TABLE ff_quota_policy ADD COLUMN keys_task @int NOT NULL DEFAULT 0;
ALTER TABLE ff_quota_policy ADD COLUMN keys_from @text;
ALTER TABLE ff_limit_attachment ADD COLUMN by_key @int NOT NULL DEFAULT 0;
CREATE INDEX ff_quota_policy_by_key ON ff_quota_policy (parent, limit_key)
    WHERE parent IS NOT NULL;
CREATE INDEX ff_quota_policy_listed ON ff_quota_policy (quota_policy_id) WHERE parent IS NULL;
)sql";

// An execution knows how many of its waitpoints are open, and these are among its newest: a file is
// read backwards until they are found. Every suspension and every signal paid for this index.
constexpr std::string_view open_waitpoints = R"sql(
@sqlite DROP INDEX ff_waitpoint_open;
)sql";

// Edges as they are, with what the ends of their upstreams imply and nobody wrote into them
// (store/implied.h). In numbers: phase 4 is terminal, outcome 1 success, dependency 1 satisfied and
// 2 impossible.
constexpr std::string_view implied_edges = R"sql(
ALTER TABLE ff_exec_core ADD COLUMN edges_told @int NOT NULL DEFAULT 0;
CREATE VIEW ff_edge_now AS SELECT
    e.upstream_id, e.edge_id, e.flow_id, e.downstream_id, e.dependency_kind, e.edge_state,
    CASE WHEN u.eid IS NULL THEN e.dependency_state WHEN u.terminal_outcome = 1 THEN 1 ELSE 2 END
        AS dependency_state,
    CASE WHEN u.eid IS NULL THEN e.outcome ELSE u.terminal_outcome END AS outcome,
    e.data_passing_ref, e.condition, e.created_at, e.applied_at,
    CASE WHEN u.eid IS NULL THEN e.resolved_at ELSE u.completed_at END AS resolved_at,
    e.fence_replays
FROM ff_edge e LEFT JOIN ff_exec_core u ON u.id = e.upstream_id AND u.edges_told = 1
    AND u.lifecycle_phase = 4 AND e.edge_state = 1 AND e.dependency_state = 0
    AND e.dependency_kind = 0 AND e.condition IS NULL AND e.fence_replays IS NULL;
)sql";

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> sqlite_tokens{{
    {"@nobytes", "x''"},
    {"@int", "INTEGER"},
    {"@text", "TEXT"},
    {"@bytes", "BLOB"},
    {"@table", "STRICT"},
    {"@postgres", "--"},
    {"@sqlite", ""},
    {"@keyed", "STRICT, WITHOUT ROWID"},
}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> postgres_tokens{{
    {"@nobytes", "''"},
    {"@int", "BIGINT"},
    {"@text", "TEXT COLLATE \"C\""},
    {"@bytes", "BYTEA"},
    {"@table", ""},
    {"@postgres", ""},
    {"@sqlite", "--"},
    {"@keyed", ""},
}};

}  // namespace

const std::vector<Migration>& migrations() {
    static const std::vector<Migration> all{{1, "foundations", foundations},
                                            {2, "many_processes", many_processes},
                                            {3, "flows", flows},
                                            {4, "suspension", suspension},
                                            {5, "streams", streams},
                                            {6, "events", events},
                                            {7, "limits", limits},
                                            {8, "reservations", reservations},
                                            {9, "limit_keys", limit_keys},
                                            {10, "open_waitpoints", open_waitpoints},
                                            {11, "implied_edges", implied_edges}};
    return all;
}

std::string expand(std::string_view text, Dialect dialect) {
    const auto& tokens = dialect == Dialect::sqlite ? sqlite_tokens : postgres_tokens;
    std::string out;
    while (!text.empty()) {
        const std::size_t at = text.find('@');
        out += text.substr(0, at);
        if (at == std::string_view::npos) {
            break;
        }
        text.remove_prefix(at);
        const auto found = std::ranges::find_if(
            tokens, [&](const auto& entry) { return text.starts_with(entry.first); });
        FF_CHECK(found != tokens.end(), "a migration has a token nobody knows");
        out += found->second;
        text.remove_prefix(found->first.size());
    }
    return out;
}

expected<void> check_known_version(int version) {
    const int known = migrations().back().version;
    const std::string has = "the store has schema version " + std::to_string(version);
    if (version > known) {
        return ff::fail(ErrorCode::schema_too_new, has + ", this program knows up to " +
                                                       std::to_string(known) + "; use a newer ff");
    }
    if (version < known) {
        return ff::fail(ErrorCode::store_open_failed,
                        has + ", this program reads " + std::to_string(known) +
                            "; let an engine of this version open it once");
    }
    return {};
}

expected<std::int64_t> stored_number(const std::string& text, const char* what, std::int64_t low,
                                     std::int64_t high) {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || number < low || number > high) {
        return ff::fail(ErrorCode::store_corrupt,
                        std::string(what) + " is '" + text + "', not a number from " +
                            std::to_string(low) + " to " + std::to_string(high) +
                            "; restore the store from a backup");
    }
    return number;
}

expected<std::int64_t> stored_row_number(const std::string& text) {
    // Room for those to come: more than can be made.
    constexpr std::int64_t most =
        std::numeric_limits<std::int64_t>::max() - (std::int64_t{1} << 48);
    return stored_number(text, "the highest row number", 0, most);
}

expected<int> stored_version(const std::string& text) {
    FF_TRY(const std::int64_t version,
           stored_number(text, "the schema version", 0, std::numeric_limits<int>::max()));
    return static_cast<int>(version);
}

expected<std::uint16_t> stored_partition_count(const std::string& text) {
    FF_TRY(const std::int64_t count, stored_number(text, "the stored partition count", 1,
                                                   std::numeric_limits<std::uint16_t>::max()));
    return static_cast<std::uint16_t>(count);
}

std::string checksum(const Migration& migration) {
    return log_digest(migration.text) + log_digest(std::string(migration.name));
}

}  // namespace ff::store
