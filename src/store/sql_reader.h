// Reads over one connection of a database that speaks SQL. The texts are those of the catalogue,
// the same for every database.
#pragma once

#include <memory>
#include <utility>

#include "store/sql_statement.h"
#include "store/store.h"

namespace ff::store {

class SqlReader : public Reader {
  public:
    explicit SqlReader(std::unique_ptr<SqlStatements> statements)
        : statements_(std::move(statements)) {}

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
    std::unique_ptr<SqlStatements> statements_;
};

}  // namespace ff::store
