#include "cli/inspect_json.h"

#include <utility>

namespace ff::cli {

namespace {

using js::Array;
using js::Object;
using js::Value;

Value word(auto value) { return to_string(value); }

template <class Id>
    requires requires(const Id& id) { id.to_string(); }
Value id_text(const Id& id) {
    return id.to_string();
}

Value maybe(const std::optional<std::string>& text) { return text ? Value(*text) : Value(); }
Value maybe(const std::optional<std::int64_t>& number) { return number ? Value(*number) : Value(); }
Value maybe(const std::optional<std::int32_t>& number) { return number ? Value(*number) : Value(); }
Value maybe(const std::optional<std::uint32_t>& number) {
    return number ? Value(*number) : Value();
}
template <class Id>
    requires requires(const Id& id) { id.to_string(); }
Value maybe(const std::optional<Id>& id) {
    return id ? Value(id->to_string()) : Value();
}

Value words(const std::vector<std::string>& list) {
    Array out;
    for (const std::string& text : list) {
        out.emplace_back(text);
    }
    return out;
}

Object info_members(const ExecutionInfo& info) {
    return {
        {"execution_id", id_text(info.execution_id)},
        {"namespace", info.ns},
        {"lane_id", info.lane_id},
        {"execution_kind", info.execution_kind},
        {"priority", info.priority},
        {"public_state", word(info.public_state)},
        {"state_vector", Object{{"lifecycle_phase", word(info.state.phase)},
                                {"ownership_state", word(info.state.ownership)},
                                {"eligibility_state", word(info.state.eligibility)},
                                {"blocking_reason", word(info.state.blocking_reason)},
                                {"terminal_outcome", word(info.state.outcome)},
                                {"attempt_state", word(info.state.attempt_state)}}},
        {"blocking_detail", info.blocking_detail},
        {"created_at", info.created_at},
        {"started_at", maybe(info.started_at)},
        {"completed_at", maybe(info.completed_at)},
        {"current_attempt_index", info.current_attempt_index},
        {"flow_id", maybe(info.flow_id)},
    };
}

Value lease_json(const std::optional<LeaseInfo>& lease) {
    if (!lease) {
        return {};
    }
    return Object{{"lease_id", id_text(lease->lease_id)},
                  {"lease_epoch", lease->lease_epoch},
                  {"attempt_index", lease->attempt_index},
                  {"worker_id", lease->worker_id},
                  {"worker_instance_id", lease->worker_instance_id},
                  {"expires_at", lease->expires_at},
                  {"renewal_deadline", lease->renewal_deadline},
                  {"last_heartbeat_at", lease->last_heartbeat_at}};
}

/// A policy is stored as JSON; one that does not parse is shown as it is.
Value policy_json(const std::optional<std::string>& policy) {
    if (!policy) {
        return {};
    }
    auto parsed = js::parse(*policy);
    return parsed ? std::move(*parsed) : Value(*policy);
}

}  // namespace

Value as_json(const ExecutionInfo& info) {
    Object out = info_members(info);
    out.emplace_back("total_attempt_count", info.total_attempt_count);
    return out;
}

Value as_json(const ExecutionSnapshot& s) {
    Object out = info_members(s.info);
    Object tags;
    for (const auto& [key, value] : s.tags) {
        tags.emplace_back(key, value);
    }
    const Object rest{
        {"current_attempt_id", maybe(s.current_attempt_id)},
        {"current_lease", lease_json(s.current_lease)},
        {"total_attempt_count", s.total_attempt_count},
        {"retry_count", s.retry_count},
        {"replay_count", s.replay_count},
        {"lease_reclaim_count", s.lease_reclaim_count},
        {"lease_epoch", s.lease_epoch},
        {"delay_until", maybe(s.delay_until)},
        {"execution_deadline_at", maybe(s.execution_deadline_at)},
        {"attempt_deadline_at", maybe(s.attempt_deadline_at)},
        {"failure_reason", maybe(s.failure_reason)},
        {"failure_category", maybe(s.failure_category)},
        {"cancellation_reason", maybe(s.cancellation_reason)},
        {"cancelled_by", maybe(s.cancelled_by)},
        {"progress",
         Object{{"percent", maybe(s.progress_percent)}, {"message", maybe(s.progress_message)}}},
        {"last_transition_at", s.last_transition_at},
        {"last_mutation_at", s.last_mutation_at},
        {"creator_identity", s.creator_identity},
        {"idempotency_key", maybe(s.idempotency_key)},
        {"policy", policy_json(s.policy)},
        {"required_capabilities", words(s.required_capabilities)},
        {"tags", Value(std::move(tags))},
    };
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
}

Value as_json(const AttemptInfo& a) {
    return Object{{"attempt_index", a.attempt_index},
                  {"attempt_id", id_text(a.attempt_id)},
                  {"attempt_type", word(a.type)},
                  {"attempt_state", word(a.state)},
                  {"lease_id", id_text(a.lease_id)},
                  {"lease_epoch", a.lease_epoch},
                  {"worker_id", a.worker_id},
                  {"worker_instance_id", a.worker_instance_id},
                  {"started_at", a.started_at},
                  {"resumed_at", maybe(a.resumed_at)},
                  {"suspended_at", maybe(a.suspended_at)},
                  {"ended_at", maybe(a.ended_at)},
                  {"suspension_id", maybe(a.suspension_id)},
                  {"failure_reason", maybe(a.failure_reason)},
                  {"failure_category", maybe(a.failure_category)},
                  {"reason", maybe(a.reason)},
                  {"requested_by", maybe(a.requested_by)},
                  {"previous_attempt_index", maybe(a.previous_attempt_index)}};
}

Value as_json(const HistoryEntry& h) {
    return Object{{"event_id", h.event_id},
                  {"at", h.at},
                  {"event", h.event},
                  {"lease_id", maybe(h.lease_id)},
                  {"lease_epoch", h.lease_epoch},
                  {"attempt_index", maybe(h.attempt_index)},
                  {"attempt_id", maybe(h.attempt_id)},
                  {"worker_id", maybe(h.worker_id)},
                  {"worker_instance_id", maybe(h.worker_instance_id)},
                  {"reason", maybe(h.reason)},
                  {"revoked_by", maybe(h.revoked_by)},
                  {"outcome", maybe(h.outcome)}};
}

Value as_json(const Explanation& why, const ExecutionSnapshot& snapshot) {
    return Object{{"public_state", word(why.public_state)},
                  {"blocking_reason", word(why.blocking_reason)},
                  {"summary", why.summary},
                  {"failure_reason", maybe(snapshot.failure_reason)},
                  {"failure_category", maybe(snapshot.failure_category)},
                  {"until", maybe(why.until)},
                  {"lane_state", word(why.lane_state)},
                  {"required_capabilities", words(why.required_capabilities)},
                  {"missing_capabilities", words(why.missing_capabilities)},
                  {"capable_workers", why.capable_workers},
                  {"ahead", why.ahead ? Value(*why.ahead) : Value()}};
}

Value as_json(const LaneInfo& lane) {
    return Object{{"lane_id", lane.lane_id}, {"lane_state", word(lane.state)}};
}

Value as_json(const WorkerInfo& w) {
    return Object{{"worker_id", w.worker_id},
                  {"worker_instance_id", w.worker_instance_id},
                  {"namespace", w.ns},
                  {"lanes", words(w.lanes)},
                  {"capabilities", words(w.capabilities)},
                  {"last_heartbeat_ms", w.last_heartbeat_ms},
                  {"liveness_ttl_ms", w.liveness_ttl_ms},
                  {"registered_at_ms", w.registered_at_ms}};
}

Value as_json(const ExpiredLease& lease) {
    return Object{{"execution_id", id_text(lease.execution_id)},
                  {"lease_id", id_text(lease.lease_id)},
                  {"lease_epoch", lease.lease_epoch},
                  {"worker_instance_id", lease.worker_instance_id},
                  {"expires_at_ms", lease.expires_at_ms},
                  {"attempt_index", lease.attempt_index}};
}

}  // namespace ff::cli
