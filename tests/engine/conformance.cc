// The machinery of the suite: operations, fixture, dump.
#include "engine/conformance.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <sstream>
#include <thread>

namespace ff::engine::test {

std::string backend_name(const testing::TestParamInfo<Backend>& info) { return info.param.name; }

// ---------------------------------------------------------------------------------- operations

CreateExecution job(const std::string& lane) {
    CreateExecution op;
    op.ns = "acme";
    op.lane_id = lane;
    op.execution_kind = "render";
    op.input_payload = "input";
    return op;
}

CreateExecution job_with_policy(const std::string& policy, const std::string& lane) {
    return with(job(lane), [&](auto& op) { op.policy = policy; });
}

CreateExecution job_requiring(const std::vector<std::string>& tokens, const std::string& lane) {
    std::string list;
    for (const std::string& token : tokens) {
        list += (list.empty() ? "\"" : ",\"") + token + "\"";
    }
    return job_with_policy(R"({"routing_requirements":{"required_capabilities":[)" + list + "]}}",
                           lane);
}

CreateExecution job_with_priority(std::int32_t priority, const std::string& lane) {
    return with(job(lane), [&](auto& op) { op.priority = priority; });
}

std::string instance_of(const std::string& worker) { return worker + "-a"; }

Claim claim_by(const std::string& worker, const std::string& lane) {
    Claim op;
    op.lanes = {lane};
    op.worker_id = worker;
    op.worker_instance_id = instance_of(worker);
    return op;
}

ClaimForWorker grant_for(const std::string& worker, const std::string& lane) {
    ClaimForWorker op;
    op.worker_id = worker;
    op.worker_instance_id = instance_of(worker);
    op.lane_id = lane;
    return op;
}

RegisterWorker registration(const std::string& instance,
                            const std::vector<std::string>& capabilities, const std::string& lane,
                            const std::string& ns) {
    RegisterWorker op;
    op.ns = ns;
    op.worker_id = "pool";
    op.worker_instance_id = instance;
    op.lanes = {lane};
    op.capabilities = capabilities;
    return op;
}

std::string all_bytes() {
    std::string bytes;
    for (int i = 0; i < 256; ++i) {
        bytes.push_back(static_cast<char>(i));
    }
    return bytes;
}

std::string words(const StateVector& state) {
    std::ostringstream out;
    out << to_string(state.phase) << ' ' << to_string(state.ownership) << ' '
        << to_string(state.eligibility) << ' ' << to_string(state.blocking_reason) << ' '
        << to_string(state.outcome) << ' ' << to_string(state.attempt_state);
    return out.str();
}

// --------------------------------------------------------------------------------- the fixture

SentClaim::SentClaim(Engine& engine, Claim op) {
    auto promise = std::make_shared<std::promise<expected<ClaimResult>>>();
    answer_ = promise->get_future();
    engine.async(std::move(op), [promise](expected<ClaimResult> result) {
        promise->set_value(std::move(result));
    });
}

bool SentClaim::answered() const {
    return answer_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

expected<ClaimResult> SentClaim::get() {
    // Only a claim that is never answered waits this long.
    if (answer_.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
        ADD_FAILURE() << "the claim was not answered";
        return ClaimResult{};
    }
    return answer_.get();
}

std::vector<ClaimedTask> SentClaim::tasks() {
    auto result = get();
    EXPECT_TRUE(result) << code_of(result);
    return result ? std::move(result->tasks) : std::vector<ClaimedTask>{};
}

void Conformance::SetUp() { open_with({}); }

void Conformance::open_with(EngineOptions options) {
    rig_ = {};
    folder_ = std::make_unique<TempDir>();
    warnings_ = std::make_shared<Warnings>();
    options_ = std::move(options);
    options_.warn = [warnings = warnings_](std::string_view text) { warnings->add(text); };
    rig_.clock = std::make_shared<ManualClock>(t0);
    open();
}

void Conformance::reopen() {
    rig_.engine.reset();
    open();
}

void Conformance::reopen_with(const std::function<void(EngineOptions&)>& change) {
    change(options_);
    reopen();
}

void Conformance::open() {
    auto rig = GetParam().open(folder_->path(), options_, rig_.clock);
    ASSERT_TRUE(rig) << rig.error().message();
    rig_ = std::move(*rig);
}

void Conformance::after(DurationMs ms) {
    clock().advance(ms);
    ok(RunScanner{"lease_expiry"});
}

void Conformance::settle() {
    if (rig_.sent) {
        rig_.sent();
    }
    ok(RunScanner{"grant_sweep"});
    if (rig_.sent) {
        // What was answered before is on its way; the client reads it before this answer.
        ok(ReadCapabilities{});
    }
}

ExecutionId Conformance::create(CreateExecution op) {
    const CreateResult result = ok(std::move(op));
    EXPECT_TRUE(result.created);
    return result.execution_id;
}

ClaimedTask Conformance::claim(const std::string& worker, const std::string& lane) {
    return claim(claim_by(worker, lane));
}

ClaimedTask Conformance::claim(Claim op) {
    auto tasks = claim_some(std::move(op));
    EXPECT_EQ(tasks.size(), 1U);
    return tasks.empty() ? ClaimedTask{} : std::move(tasks[0]);
}

ClaimedTask Conformance::start(CreateExecution op, const std::string& worker) {
    const std::string lane = op.lane_id;
    const ExecutionId id = create(std::move(op));
    ClaimedTask task = claim(worker, lane);
    EXPECT_EQ(task.execution_id(), id);
    return task;
}

bool Conformance::has_work(const std::string& worker, const std::string& lane) {
    return !claim_some(claim_by(worker, lane)).empty();
}

std::vector<ExecutionId> Conformance::drain(const Claim& op) {
    std::vector<ExecutionId> out;
    for (;;) {
        const auto tasks = claim_some(op);
        if (tasks.empty()) {
            return out;
        }
        for (const ClaimedTask& task : tasks) {
            out.push_back(task.execution_id());
        }
    }
}

Grant Conformance::grant(const std::string& worker, const std::string& lane) {
    auto result = ok(grant_for(worker, lane));
    EXPECT_TRUE(result.grant);
    return result.grant.value_or(Grant{});
}

ExecutionSnapshot Conformance::snapshot(const ExecutionId& id) {
    auto found = ok(DescribeExecution{id});
    EXPECT_TRUE(found) << id.to_string() << " is not there";
    return found.value_or(ExecutionSnapshot{});
}

AttemptInfo Conformance::attempt(const ExecutionId& id, std::size_t index) {
    const auto rows = attempts(id);
    EXPECT_LT(index, rows.size());
    return index < rows.size() ? rows[index] : AttemptInfo{};
}

std::vector<std::string> Conformance::history(const ExecutionId& id) {
    std::vector<std::string> out;
    for (const HistoryEntry& entry : ok(ReadLeaseHistory{id})) {
        std::string& text = out.emplace_back(entry.event);
        if (entry.reason) {
            text += ":" + *entry.reason;
        }
        if (entry.outcome) {
            text += "=" + *entry.outcome;
        }
    }
    return out;
}

std::string Conformance::dump() { return dump_of(engine()); }

// ---------------------------------------------------------------------------------------- dump

namespace {

class Dump {
  public:
    explicit Dump(Engine& engine) : engine_(engine) {}

    std::string all() {
        for (const LaneInfo& lane : read(ListLanes{}).lanes) {
            out_ << "lane " << lane.lane_id << ' ' << to_string(lane.state) << '\n';
        }
        for (const WorkerInfo& worker : read(ListWorkers{}).workers) {
            write(worker);
        }
        SearchExecutions search;
        search.limit = 1000;
        do {
            const SearchPage page = read(search);
            for (const ExecutionInfo& info : page.items) {
                write(info);
                execution(info.execution_id);
            }
            search.cursor = page.next_cursor;
        } while (search.cursor);
        ListExpiredLeases leases;
        leases.as_of = std::numeric_limits<TimestampMs>::max() - 1;
        for (const ExpiredLease& lease : read(leases).leases) {
            out_ << "lease " << lease.execution_id.to_string() << ' ' << lease.lease_id.to_string()
                 << ' ' << lease.lease_epoch << ' ' << lease.worker_instance_id << ' '
                 << lease.expires_at_ms << ' ' << lease.attempt_index << '\n';
        }
        flows();
        return out_.str();
    }

  private:
    void flows() {
        ListFlows list;
        list.limit = 1000;
        for (const FlowListItem& item : read(list).flows) {
            const FlowGraph graph = read(ReadFlowGraph{item.flow_id});
            const FlowSnapshot& flow = graph.flow;
            out_ << "flow " << flow.flow_id.to_string() << ' ' << flow.flow_kind << ' ' << flow.ns
                 << ' ' << to_string(flow.public_flow_state) << ' ' << item.status << ' '
                 << flow.graph_revision << ' ' << flow.node_count << ' ' << flow.edge_count << ' '
                 << flow.live_members << ' ' << flow.last_mutation_at << ' ' << flow.sealed
                 << flow.paused << ' ' << flow.finished_at.value_or(0) << ' '
                 << flow.cancel_reason.value_or("") << ' '
                 << read(ReadFlowSummary{flow.flow_id}).public_flow_state << '\n';
            for (const auto& [key, value] : flow.tags) {
                out_ << "  tag " << key << '=' << value << '\n';
            }
            for (const EdgeGroupSnapshot& group : flow.edge_groups) {
                out_ << "  group " << group.downstream_execution_id.to_string() << ' '
                     << to_string(group.policy.kind) << group.policy.k << ' ' << group.total_deps
                     << ' ' << group.satisfied_count << ' ' << group.failed_count << ' '
                     << group.skipped_count << ' ' << group.not_taken_count << ' '
                     << to_string(group.group_state) << ' ' << group.satisfied_at.value_or(0)
                     << group.cancel_siblings_pending << '\n';
            }
            for (const GraphNode& node : graph.nodes) {
                out_ << "  node " << node.execution_id.to_string() << ' ' << node.node << ' '
                     << to_string(node.public_state) << '\n';
            }
            for (const EdgeSnapshot& edge : graph.edges) {
                out_ << "  edge " << edge.edge_id.to_string() << ' '
                     << edge.upstream_execution_id.to_string() << ' '
                     << edge.downstream_execution_id.to_string() << ' '
                     << to_string(edge.dependency_kind) << ' ' << to_string(edge.edge_state) << ' '
                     << (edge.dependency_state ? to_string(*edge.dependency_state) : "-") << ' '
                     << edge.resolved_at.value_or(0) << ' ' << edge.when.value_or("") << ' '
                     << edge.data_passing_ref.value_or("") << '\n';
            }
        }
    }

    template <class Op>
    typename Op::Result read(Op op) {
        auto result = engine_.run(std::move(op));
        EXPECT_TRUE(result) << Op::name << ": " << code_of(result);
        return result ? std::move(*result) : typename Op::Result{};
    }

    // A field and its value; nothing for an absent one.
    template <class T>
    void field(const char* name, const T& value) {
        out_ << ' ' << name << '=' << value;
    }
    template <class T>
    void field(const char* name, const std::optional<T>& value) {
        if (value) {
            field(name, *value);
        }
    }
    template <class Tag>
    void field(const char* name, const UuidId<Tag>& value) {
        field(name, value.to_string());
    }
    void field(const char* name, const std::vector<std::string>& values) {
        for (const std::string& value : values) {
            field(name, value);
        }
    }
    void field(const char* name, const Tags& tags) {
        for (const auto& [key, value] : tags) {
            field(name, key + ":" + value);
        }
    }

    void write(const WorkerInfo& worker) {
        out_ << "worker " << worker.ns << ' ' << worker.worker_instance_id;
        field("worker_id", worker.worker_id);
        field("lane", worker.lanes);
        field("capability", worker.capabilities);
        field("ttl", worker.liveness_ttl_ms);
        field("registered", worker.registered_at_ms);
        field("heartbeat", worker.last_heartbeat_ms);
        out_ << '\n';
    }

    void write(const ExecutionInfo& info) {
        out_ << "execution " << info.execution_id.to_string() << ' ' << words(info.state);
        field("public", to_string(info.public_state));
        field("ns", info.ns);
        field("lane", info.lane_id);
        field("kind", info.execution_kind);
        field("priority", info.priority);
        field("detail", info.blocking_detail);
        field("created", info.created_at);
        field("started", info.started_at);
        field("completed", info.completed_at);
        field("attempt", info.current_attempt_index);
        out_ << '\n';
    }

    void execution(const ExecutionId& id) {
        const auto s = read(DescribeExecution{id}).value_or(ExecutionSnapshot{});
        write(s.info);
        field("attempt_id", s.current_attempt_id);
        if (s.current_lease) {
            field("lease", s.current_lease->lease_id);
            field("epoch", s.current_lease->lease_epoch);
            field("index", s.current_lease->attempt_index);
            field("worker", s.current_lease->worker_id);
            field("instance", s.current_lease->worker_instance_id);
            field("expires", s.current_lease->expires_at);
            field("renewal", s.current_lease->renewal_deadline);
            field("heartbeat", s.current_lease->last_heartbeat_at);
        }
        field("attempts", s.total_attempt_count);
        field("retries", s.retry_count);
        field("replays", s.replay_count);
        field("reclaims", s.lease_reclaim_count);
        field("last_epoch", s.lease_epoch);
        field("delay_until", s.delay_until);
        field("deadline", s.execution_deadline_at);
        field("attempt_deadline", s.attempt_deadline_at);
        field("failure", s.failure_reason);
        field("category", s.failure_category);
        field("cancellation", s.cancellation_reason);
        field("cancelled_by", s.cancelled_by);
        field("percent", s.progress_percent);
        field("message", s.progress_message);
        field("progress_at", s.progress_updated_at);
        field("transition", s.last_transition_at);
        field("mutation", s.last_mutation_at);
        field("creator", s.creator_identity);
        field("key", s.idempotency_key);
        field("policy", s.policy);
        field("requires", s.required_capabilities);
        field("tag", s.tags);
        out_ << '\n';
        for (const AttemptInfo& row : read(ListAttempts{id})) {
            write(row);
        }
        for (const HistoryEntry& entry : read(ReadLeaseHistory{id})) {
            write(entry);
        }
        const ExecutionContext context = read(ReadExecutionContext{id});
        out_ << "  context " << context.input_payload << ' ' << context.execution_kind;
        field("encoding", context.payload_encoding);
        field("tag", context.tags);
        const auto result = read(GetExecutionResult{id});
        field("result", result ? std::optional(result->payload) : std::nullopt);
        field("result_encoding", result ? result->encoding : std::nullopt);
        field("why", read(ExplainExecution{id}).summary);
        out_ << '\n';
    }

    void write(const AttemptInfo& row) {
        out_ << "  attempt " << row.attempt_index << ' ' << to_string(row.type) << ' '
             << to_string(row.state);
        field("id", row.attempt_id);
        field("lease", row.lease_id);
        field("epoch", row.lease_epoch);
        field("worker", row.worker_id);
        field("instance", row.worker_instance_id);
        field("started", row.started_at);
        field("resumed", row.resumed_at);
        field("suspended", row.suspended_at);
        field("ended", row.ended_at);
        field("suspension", row.suspension_id);
        field("failure", row.failure_reason);
        field("category", row.failure_category);
        field("reason", row.reason);
        field("by", row.requested_by);
        field("previous", row.previous_attempt_index);
        out_ << '\n';
    }

    void write(const HistoryEntry& entry) {
        out_ << "  event " << entry.event_id << ' ' << entry.event << ' ' << entry.at;
        field("lease", entry.lease_id);
        field("epoch", entry.lease_epoch);
        field("index", entry.attempt_index);
        field("attempt", entry.attempt_id);
        field("worker", entry.worker_id);
        field("instance", entry.worker_instance_id);
        field("reason", entry.reason);
        field("by", entry.revoked_by);
        field("outcome", entry.outcome);
        out_ << '\n';
    }

    Engine& engine_;
    std::ostringstream out_;
};

}  // namespace

std::string dump_of(Engine& engine) { return Dump(engine).all(); }

}  // namespace ff::engine::test
