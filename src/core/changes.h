// What a decision wants done: rows to put or delete and events to append. Plain data.
//
// A put carries the whole row as it should be; the store finds out which columns differ from what
// it loaded. Order matters only between a delete and a put of the same row (the later one wins).
#pragma once

#include <utility>
#include <vector>

#include <ff/error.h>

#include "core/limit_records.h"
#include "core/quota_rules.h"
#include "core/records.h"
#include "core/stream_records.h"
#include "core/suspension_records.h"
#include "core/webhook_records.h"

namespace ff::core {

struct Changes {
    std::vector<Execution> put_executions;
    std::vector<ExecutionInput> put_inputs;
    std::vector<Attempt> put_attempts;
    std::vector<GrantRow> put_grants;
    std::vector<Eid> delete_grants;
    /// Everything that belongs to the execution goes with it.
    std::vector<Eid> delete_executions;
    std::vector<Route> put_routes;
    std::vector<Lane> put_lanes;
    std::vector<IdempotencyEntry> put_idempotency;
    std::vector<IdempotencyKey> delete_idempotency;
    std::vector<WorkerRow> put_workers;
    std::vector<WorkerKey> delete_workers;
    std::vector<Flow> put_flows;
    /// Its edges, groups and work go with it.
    std::vector<FlowId> delete_flows;
    std::vector<Edge> put_edges;
    std::vector<EdgeGroup> put_groups;
    std::vector<FlowWork> put_work;  ///< to be kept; work to be done now is `follow_ups`
    std::vector<FlowWorkKey> delete_work;
    std::vector<Suspension> put_suspensions;
    std::vector<Waitpoint> put_waitpoints;
    std::vector<Signal> put_signals;
    std::vector<Satisfier> put_satisfiers;
    std::vector<HmacKey> put_hmac_keys;
    std::vector<std::string> delete_hmac_keys;
    std::vector<StreamMeta> put_streams;
    std::vector<StreamKey> delete_streams;  ///< with the summary; frames are trimmed
    std::vector<SummaryRow> put_summaries;
    std::vector<FrameRow> put_frames;
    std::vector<FrameTrim> trim_frames;
    std::vector<Budget> put_budgets;
    std::vector<LedgerRow> put_ledgers;
    std::vector<LedgerKey> delete_ledgers;
    std::vector<UsageDedup> put_dedups;
    std::vector<QuotaPolicy> put_policies;
    std::vector<QuotaPolicyId> delete_policies;
    /// Not written: what the batch knows of a policy's window by now.
    std::vector<std::pair<QuotaPolicyId, QuotaWindow>> put_windows;
    std::vector<Admission> put_admissions;
    std::vector<AdmissionKey> delete_admissions;
    std::vector<Attachment> put_attachments;
    std::vector<AttachmentKey> delete_attachments;
    std::vector<Webhook> put_webhooks;
    std::vector<WebhookId> delete_webhooks;
    std::vector<ExecutionEvent> events;
    std::vector<LogEvent> log_events;
    /// Not written: what must be decided next, in the same transaction.
    std::vector<FlowWork> follow_ups;
    /// Not written: what metrics count.
    FlowTally flow_tally;

    [[nodiscard]] bool empty() const {
        return put_executions.empty() && put_inputs.empty() && put_attempts.empty() &&
               put_grants.empty() && delete_grants.empty() && delete_executions.empty() &&
               put_routes.empty() && put_lanes.empty() && put_idempotency.empty() &&
               delete_idempotency.empty() && put_workers.empty() && delete_workers.empty() &&
               put_flows.empty() && delete_flows.empty() && put_edges.empty() &&
               put_groups.empty() && put_work.empty() && delete_work.empty() &&
               put_suspensions.empty() && put_waitpoints.empty() && put_signals.empty() &&
               put_satisfiers.empty() && put_hmac_keys.empty() && delete_hmac_keys.empty() &&
               put_streams.empty() && delete_streams.empty() && put_summaries.empty() &&
               put_frames.empty() && trim_frames.empty() && put_budgets.empty() &&
               put_ledgers.empty() && delete_ledgers.empty() && put_dedups.empty() &&
               put_policies.empty() && delete_policies.empty() && put_windows.empty() &&
               put_admissions.empty() && delete_admissions.empty() && put_attachments.empty() &&
               delete_attachments.empty() && put_webhooks.empty() && delete_webhooks.empty() &&
               events.empty() && log_events.empty() && follow_ups.empty();
    }
};

/// The outcome of one command: what to tell the caller and what to write. A rejection writes
/// nothing, with one exception: a fenced call that finds the lease past due marks it expired.
template <class R>
struct Decision {
    expected<R> answer;
    Changes changes;

    Decision(Error error) : answer(std::unexpected(std::move(error))) {}  // NOLINT: rejection
    Decision(std::unexpected<Error> error) : answer(std::move(error)) {}  // NOLINT: rejection
    Decision(R reply) : answer(std::move(reply)) {}  // NOLINT: nothing to write
    // Changes are handed on by reference: they have many parts, and moving them shows.
    Decision(R reply, Changes&& c) : answer(std::move(reply)), changes(std::move(c)) {}
    Decision(expected<R> a, Changes&& c) : answer(std::move(a)), changes(std::move(c)) {}
};

}  // namespace ff::core
