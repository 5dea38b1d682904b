// The tables of MemoryStore, and the reads over them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/store.h"

namespace ff::store {

template <class T>
inline constexpr T lowest = std::numeric_limits<T>::min();

struct MemoryRows {
    // Rows by their keys.
    std::map<Eid, core::Execution> executions;
    std::map<Eid, core::ExecutionInput> inputs;
    std::map<std::pair<Eid, std::uint32_t>, core::Attempt> attempts;
    std::map<Eid, core::GrantRow> grants;
    std::map<RouteId, core::Route> routes;
    std::map<std::string, core::Lane> lanes;
    std::map<core::IdempotencyKey, core::IdempotencyEntry> idempotency;
    std::map<core::WorkerKey, core::WorkerRow> workers;
    std::map<FlowId, core::Flow> flows;
    std::map<core::EdgeKey, core::Edge> edges;
    std::map<std::pair<FlowId, ExecutionId>, core::EdgeGroup> groups;
    std::map<core::FlowWorkKey, core::FlowWork> work;
    std::map<core::SuspensionKey, core::Suspension> suspensions;
    std::map<WaitpointId, core::Waitpoint> waitpoints;
    std::map<core::SignalKey, core::Signal> signals;
    std::map<core::SatisfierKey, core::Satisfier> satisfiers;
    std::map<core::StreamKey, core::StreamMeta> streams;
    std::map<core::FrameKey, core::FrameRow> frames;
    std::map<core::StreamKey, core::SummaryRow> summaries;
    std::map<std::string, core::HmacKey> hmac_keys;
    std::map<BudgetId, core::Budget> budgets;
    std::map<core::LedgerKey, core::LedgerRow> ledgers;
    std::map<core::DedupKey, core::UsageDedup> dedups;
    std::map<QuotaPolicyId, core::QuotaPolicy> policies;
    std::map<core::AdmissionKey, core::Admission> admissions;
    std::map<core::AttachmentKey, core::Attachment> attachments;
    std::map<WebhookId, core::Webhook> webhooks;
    std::map<EventFamily, core::EventTrim> event_trims;
    std::map<std::int64_t, core::ExecutionEvent> events;
    std::map<std::int64_t, core::LogEvent> log_events;

    // What follows from an execution's row (core/derive.h).
    std::set<core::ReadyKey> ready;
    std::set<core::TimerKey> timers;
    std::set<core::TurnKey> turns;
    std::set<std::pair<core::Bucket, Eid>> listed;

    // Other ways to find rows.
    std::map<ExecutionId, Eid> eid_of;
    std::map<core::RouteKey, RouteId> route_of;
    std::set<std::pair<RouteId, Eid>> by_route;
    std::set<std::tuple<std::string, std::string, Eid>> tags;
    std::set<std::pair<Eid, std::int64_t>> log_by_execution;
    std::set<std::pair<FlowId, ExecutionId>> members;
    std::set<std::pair<TimestampMs, FlowId>> flow_timers;
    std::set<FlowId> held_flows;
    std::set<std::pair<ExecutionId, core::EdgeKey>> outbound;
    std::set<std::pair<ExecutionId, core::EdgeKey>> inbound;
    std::set<std::pair<TimestampMs, core::EdgeKey>> staged;
    std::set<std::pair<TimestampMs, core::FlowWorkKey>> work_due;
    std::set<std::tuple<std::string, TimestampMs, ExecutionId, core::SuspensionKey>> suspended;
    std::set<std::pair<Eid, WaitpointId>> waitpoints_of;
    std::set<std::pair<std::pair<Eid, SignalId>, core::SignalKey>> signal_ids;
    std::set<std::pair<WaitpointId, core::SignalKey>> signals_at;
    std::set<std::pair<TimestampMs, core::StreamKey>> stream_sweeps;
    std::set<std::pair<TimestampMs, core::LimitKey>> limit_timers;
    std::set<std::pair<std::pair<QuotaPolicyId, std::string>, QuotaPolicyId>> quota_keys;
    std::set<core::LimitKey> limits_waiting;
    std::set<std::tuple<QuotaPolicyId, TimestampMs, ExecutionId>> starts;
    std::set<std::pair<core::TargetKey, core::AttachmentKey>> attached_to;
    std::set<core::AttachmentKey> places;

    [[nodiscard]] std::optional<core::Execution> execution(const ExecutionId& id) const;
    [[nodiscard]] std::vector<core::Attempt> attempts_of(Eid eid) const;
    [[nodiscard]] std::set<core::TimerKey>::const_iterator first_timer(core::TimerKind kind) const;
    // In key order.
    // Edges and groups with what others imply of them (store/implied.h).
    [[nodiscard]] std::optional<core::Edge> edge(const core::EdgeKey& key) const;
    [[nodiscard]] std::optional<core::EdgeGroup> group(const FlowId& flow,
                                                       const ExecutionId& downstream) const;
    [[nodiscard]] std::vector<core::Edge> edges_of(const FlowId& flow) const;
    [[nodiscard]] std::vector<core::Edge> edges_out(const ExecutionId& upstream) const;
    [[nodiscard]] std::vector<core::Edge> edges_in(const ExecutionId& downstream) const;
    /// Only those that are kept.
    [[nodiscard]] std::vector<core::EdgeGroup> groups_of(const FlowId& flow) const;
    [[nodiscard]] std::vector<core::FlowWork> work_of(const FlowId& flow) const;
    [[nodiscard]] std::vector<ExecutionId> members_of(const FlowId& flow) const;
    [[nodiscard]] std::vector<core::Suspension> suspensions_of(Eid eid) const;
    [[nodiscard]] std::vector<core::Waitpoint> open_waitpoints_of(Eid eid) const;
    [[nodiscard]] std::vector<core::Signal> signals_to(const WaitpointId& id) const;
    [[nodiscard]] std::int64_t trimmed_through(EventFamily family) const;
    [[nodiscard]] std::int64_t event_floor(EventFamily family) const;
    /// Executions under a lease: those whose timer is a lease's. Ascending.
    [[nodiscard]] std::set<Eid> leased() const;
};

/// The row of a key, unless it was swept.
template <class Map, class Swept = std::set<typename Map::key_type>>
std::optional<typename Map::mapped_type> find_row(const Map& map, const typename Map::key_type& key,
                                                  const Swept& swept = {}) {
    auto it = map.find(key);
    if (it == map.end() || swept.contains(key)) {
        return std::nullopt;
    }
    return it->second;
}

/// The keys of a map behind one, up to a number.
template <class Map>
std::vector<typename Map::key_type> keys_after(const Map& map,
                                               const std::optional<typename Map::key_type>& after,
                                               std::size_t limit) {
    std::vector<typename Map::key_type> out;
    for (auto it = after ? map.upper_bound(*after) : map.begin();
         it != map.end() && out.size() < limit; ++it) {
        out.push_back(it->first);
    }
    return out;
}

class MemoryReader final : public Reader {
  public:
    explicit MemoryReader(const MemoryRows& rows) : rows_(rows) {}

    expected<std::optional<core::Execution>> execution(const ExecutionId& id) override;
    expected<std::optional<core::ExecutionInput>> input(Eid eid) override;
    expected<std::vector<core::Attempt>> attempts(Eid eid) override;
    expected<std::optional<core::Attempt>> attempt(Eid eid, std::uint32_t index) override;
    expected<core::Route> route(RouteId id) override;
    expected<std::vector<core::Route>> routes() override;
    expected<std::vector<ExecutionId>> ids_of_partition(std::uint16_t partition,
                                                        std::optional<ExecutionId> after,
                                                        std::size_t limit) override;
    expected<Executions> executions(const Window& window) override;
    expected<Executions> of_route(RouteId route, const Window& window) override;
    expected<Executions> with_tag(const std::string& key, const std::string& value,
                                  const Window& window) override;
    expected<Executions> in_bucket(core::Bucket bucket, const Window& window) override;
    expected<Executions> leased(const Window& window) override;
    expected<std::vector<Eid>> tagged_too(const Tag& tag, const Tag& other,
                                          const Window& window) override;
    expected<std::vector<core::Execution>> leased_due(const LeaseKey& after, TimestampMs as_of,
                                                      std::size_t limit) override;
    expected<std::vector<core::Lane>> lanes(const std::string& after, std::size_t limit) override;
    expected<std::optional<core::Lane>> lane(const std::string& name) override;
    expected<std::vector<core::WorkerRow>> workers(const std::optional<std::string>& ns,
                                                   const core::WorkerKey& after,
                                                   std::size_t limit) override;
    expected<std::optional<core::Flow>> flow(const FlowId& id) override;
    expected<std::vector<core::Flow>> flows(std::optional<std::uint16_t> partition,
                                            const std::optional<FlowId>& after,
                                            std::size_t limit) override;
    expected<std::vector<FlowId>> flow_ids(const std::optional<FlowId>& after,
                                           std::size_t limit) override;
    expected<Executions> members(const FlowId& flow, const std::optional<ExecutionId>& after,
                                 std::size_t limit) override;
    expected<std::vector<core::Edge>> edges_of_flow(const FlowId& flow) override;
    expected<std::vector<core::Edge>> outbound(const ExecutionId& upstream) override;
    expected<std::vector<core::Edge>> inbound(const ExecutionId& downstream) override;
    expected<std::optional<core::Edge>> edge(const core::EdgeKey& key) override;
    expected<std::optional<core::EdgeGroup>> group(const FlowId& flow,
                                                   const ExecutionId& downstream) override;
    expected<std::vector<core::EdgeGroup>> groups_of_flow(const FlowId& flow) override;
    expected<std::vector<core::FlowWork>> flow_work(const std::optional<FlowId>& flow,
                                                    std::size_t limit) override;
    expected<std::optional<core::Waitpoint>> waitpoint(const WaitpointId& id) override;
    expected<std::vector<core::Waitpoint>> open_waitpoints(Eid eid,
                                                           const std::optional<WaitpointId>& after,
                                                           std::size_t limit) override;
    expected<std::uint64_t> waitpoints_outliving(const std::string& kid,
                                                 TimestampMs until) override;
    expected<std::vector<core::Suspension>> suspensions(Eid eid) override;
    expected<std::optional<core::Suspension>> suspension(const core::SuspensionKey& key) override;
    expected<std::vector<core::Suspension>> suspended(const std::string& lane,
                                                      const std::optional<SuspendedKey>& after,
                                                      std::size_t limit) override;
    expected<std::vector<core::Signal>> signals(Eid eid, std::uint64_t after, std::size_t limit,
                                                Payloads payloads) override;
    expected<std::vector<core::Signal>> signals(Eid eid, std::span<const std::uint64_t> seqs,
                                                Payloads payloads) override;
    expected<std::optional<core::Signal>> signal(Eid eid, const SignalId& id) override;
    expected<std::vector<core::Satisfier>> satisfiers(const core::SuspensionKey& key) override;
    expected<std::optional<core::StreamMeta>> stream_meta(const core::StreamKey& key) override;
    expected<std::vector<core::StreamMeta>> streams_of(Eid eid) override;
    expected<std::optional<core::SummaryRow>> summary(const core::StreamKey& key) override;
    expected<std::vector<core::FrameRow>> frames(const core::StreamKey& key, const FrameId& from,
                                                 const FrameId& to, Order order,
                                                 std::size_t limit) override;
    expected<std::optional<core::Budget>> budget(const BudgetId& id) override;
    expected<std::vector<core::Budget>> budgets(const std::optional<BudgetId>& after,
                                                std::size_t limit) override;
    expected<std::vector<BudgetId>> budget_ids(const std::optional<BudgetId>& after,
                                               std::size_t limit) override;
    expected<std::vector<core::LedgerRow>> ledgers(const BudgetId& budget,
                                                   const std::optional<ExecutionId>& after,
                                                   std::size_t limit) override;
    expected<std::optional<core::QuotaPolicy>> policy(const QuotaPolicyId& id) override;
    expected<std::vector<core::QuotaPolicy>> policies_listed(
        const std::optional<QuotaPolicyId>& after, std::size_t limit) override;
    expected<std::vector<core::QuotaPolicy>> policies_of_keys(const QuotaPolicyId& parent,
                                                              const std::string& after,
                                                              std::size_t limit) override;
    expected<std::vector<QuotaPolicyId>> policy_ids(const std::optional<QuotaPolicyId>& after,
                                                    std::size_t limit) override;
    expected<std::vector<core::Admission>> slots(const QuotaPolicyId& policy,
                                                 const std::optional<ExecutionId>& after,
                                                 std::size_t limit) override;
    expected<std::uint64_t> starts(const QuotaPolicyId& policy, TimestampMs until) override;
    expected<std::uint64_t> slot_count(const QuotaPolicyId& policy) override;
    expected<std::vector<core::HmacKey>> hmac_keys() override;
    expected<std::uint64_t> ready_before(std::span<const RouteId> routes, const core::ReadyKey& key,
                                         std::uint64_t limit) override;
    expected<std::vector<core::ExecutionEvent>> history(const core::Execution& execution,
                                                        std::size_t limit,
                                                        std::int64_t after) override;
    expected<std::vector<core::LogEvent>> log_events_of(Eid eid, std::size_t limit,
                                                        std::int64_t after) override;
    expected<std::vector<core::ExecutionEvent>> events_after(std::int64_t event_id,
                                                             std::size_t limit) override;
    expected<std::vector<core::LogEvent>> family_events_after(core::LogFamily family,
                                                              std::int64_t event_id,
                                                              std::size_t limit) override;
    expected<std::int64_t> highest_event() override;
    expected<std::int64_t> trimmed_through(EventFamily family) override;
    expected<std::int64_t> event_floor(EventFamily family) override;
    expected<std::optional<std::int64_t>> oldest_events(EventFamily family, TimestampMs before,
                                                        std::size_t limit) override;
    expected<std::optional<std::int64_t>> nth_event(EventFamily family, std::int64_t after,
                                                    std::uint64_t passing) override;
    expected<std::uint64_t> count_events(EventFamily family, std::int64_t after,
                                         std::int64_t through) override;
    expected<std::optional<core::Webhook>> webhook(const WebhookId& id) override;
    expected<std::vector<core::Webhook>> webhooks(const std::optional<WebhookId>& after,
                                                  std::size_t limit) override;
    expected<std::vector<core::LogEvent>> log_events_after(std::int64_t event_id,
                                                           std::size_t limit) override;
    expected<std::vector<core::ReadyKey>> ready_after(const core::ReadyKey& key,
                                                      std::size_t limit) override;
    expected<std::vector<core::TimerKey>> timers_after(const core::TimerKey& key,
                                                       std::size_t limit) override;
    expected<std::vector<core::TurnKey>> turns_after(const core::TurnKey& key,
                                                     std::size_t limit) override;
    expected<std::vector<std::pair<core::Bucket, Eid>>> listed_after(core::Bucket bucket, Eid eid,
                                                                     std::size_t limit) override;

  private:
    /// Ids and times of the table that a family is kept in.
    [[nodiscard]] std::vector<std::pair<std::int64_t, TimestampMs>> events_of(
        EventFamily family, std::int64_t after) const;

    const MemoryRows& rows_;
};

}  // namespace ff::store
