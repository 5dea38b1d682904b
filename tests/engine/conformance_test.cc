// The suite's machinery (backends, fixture, dump) and the cases that belong to no single operation.
#include "engine/conformance.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <sstream>
#include <thread>

#include "support/postgres.h"

namespace ff::engine::test {

// ------------------------------------------------------------------------------------ backends

namespace {

/// A backend in this process, opened by name.
Backend embedded(std::string name, bool durable,
                 std::function<std::string(const std::string& folder)> location) {
    return {std::move(name), durable,
            [location = std::move(location)](const std::string& folder, EngineOptions options,
                                             std::shared_ptr<ManualClock> clock) -> expected<Rig> {
                options.clock = clock;
                FF_TRY(auto engine, Engine::open(location(folder), options));
                return Rig{std::move(engine), std::move(clock)};
            }};
}

}  // namespace

const std::vector<Backend>& engine_backends() {
    static const std::vector<Backend> backends = [] {
        std::vector<Backend> all{
            embedded("memory", false, [](const std::string&) { return "memory:"; }),
            embedded("sqlite_memory", false, [](const std::string&) { return ":memory:"; }),
            embedded("sqlite_file", true,
                     [](const std::string& folder) { return "sqlite:" + folder + "/store.db"; }),
        };
        if (!support::postgres_address().empty()) {
            all.push_back(embedded("postgres", true, support::postgres_store));
        }
        return all;
    }();
    return backends;
}

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

void Conformance::open() {
    auto rig = GetParam().open(folder_->path(), options_, rig_.clock);
    ASSERT_TRUE(rig) << rig.error().message();
    rig_ = std::move(*rig);
}

void Conformance::after(DurationMs ms) {
    clock().advance(ms);
    ok(RunScanner{"lease_expiry"});
}

void Conformance::settle() { ok(RunScanner{"grant_sweep"}); }

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
        return out_.str();
    }

  private:
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

// --------------------------------------------------------------------------- the engine as such

class EngineConformance : public Conformance {
  protected:
    /// One execution in each state that needs no flow: what a rejected operation must not touch.
    void fill();
    std::vector<ExecutionId> ids_;
    ClaimedTask running_;
};

FF_ON_EVERY_ENGINE(EngineConformance);

constexpr const char* retry_once =
    R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":5000}}})";

void EngineConformance::fill() {
    const auto keep = [this](const ExecutionId& id) { ids_.push_back(id); };
    ok(registration("pool-1", {"gpu"}));
    ClaimedTask task = start(with(job("done"), [](auto& op) {
        op.tags = {{"team", "red"}};
        op.idempotency_key = "k1";
    }));
    ok(Complete{task.handle, "result", "text", Source::lease_holder});
    keep(task.execution_id());
    task = start(job("failed"));
    ok(Fail{task.handle, "broke", "permanent", Source::lease_holder});
    keep(task.execution_id());
    task = start(job_with_policy(retry_once, "retry"));
    ok(Fail{task.handle, "broke", "transient", Source::lease_holder});
    keep(task.execution_id());
    task = start(job("revoked"));
    ok(RevokeLease{task.execution_id(), {}, {}, "enough"});
    keep(task.execution_id());
    task = start(job("released"));
    ok(Release{task.handle});
    keep(task.execution_id());
    keep(create(job("granted")));
    grant("w1", "granted");
    keep(create(job("blocked")));
    ok(BlockExecution{ids_.back(), "paused_by_operator", "hold"});
    keep(create(job_requiring({"gpu"}, "routed")));
    keep(create(job("cancelled")));
    ok(CancelExecution{LeaseRef(ids_.back()), "not wanted", "operator_override"});
    running_ = start(job("running"));
    keep(running_.execution_id());
}

TEST_P(EngineConformance, ItSaysWhatItIs) {
    const Capabilities capabilities = ok(ReadCapabilities{});
    EXPECT_FALSE(capabilities.family.empty());
    EXPECT_FALSE(capabilities.durability.empty());
    EXPECT_GE(capabilities.partitions.flow, 1);
    ASSERT_EQ(capabilities.supports.size(), 34U);
    EXPECT_EQ(capabilities.supports.front().first, "cancel_execution");
    EXPECT_EQ(capabilities.supports.back().first, "read_budget_usage_and_limits");
    for (const char* flag :
         {"cancel_execution", "change_priority", "replay_execution", "revoke_lease",
          "read_execution_state", "read_execution_info", "get_execution_result", "claim_for_worker",
          "issue_reclaim_grant", "register_worker", "heartbeat_worker", "mark_worker_dead",
          "list_expired_leases", "list_workers"}) {
        EXPECT_TRUE(
            std::ranges::find(capabilities.supports, std::pair<std::string, bool>(flag, true)) !=
            capabilities.supports.end())
            << flag;
    }
}

TEST_P(EngineConformance, TwoCommandsOnOneExecutionInOneCallSeeEachOther) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    std::vector<Request> requests;
    requests.emplace_back(Complete{task.handle, "done", {}, Source::lease_holder});
    requests.emplace_back(Fail{task.handle, "late", "transient", Source::lease_holder});
    requests.emplace_back(ReplayExecution{id});
    requests.emplace_back(CancelExecution{LeaseRef(id), "enough", "operator_override"});
    requests.emplace_back(CancelExecution{LeaseRef(id), "again", "operator_override"});
    const auto responses = engine().run_many(std::move(requests));
    ASSERT_EQ(responses.size(), 5U);
    EXPECT_EQ(code_of(responses[0]), "ok");
    EXPECT_EQ(code_of(responses[1]), "execution_not_active");
    EXPECT_EQ(code_of(responses[2]), "ok");
    EXPECT_EQ(code_of(responses[3]), "ok");
    EXPECT_EQ(code_of(responses[4]), "ok");
    EXPECT_EQ(public_of(id), PublicState::cancelled);
    EXPECT_EQ(snapshot(id).cancellation_reason, "enough");
}

TEST_P(EngineConformance, ACreateAndEverythingAfterItMayComeInOneCall) {
    // Each of these looks at rows of an execution that was not there when the call began.
    const ExecutionId id{0, new_uuid()};
    const auto created = with(job(), [&](auto& op) { op.execution_id = id; });
    ClaimExecution claim;
    claim.execution_id = id;
    claim.worker_id = "w1";
    claim.worker_instance_id = "w1-a";
    claim.lane_id = "default";
    ReclaimExecution reclaim;
    reclaim.execution_id = id;
    reclaim.worker_id = "w1";
    reclaim.worker_instance_id = "w1-a";
    reclaim.lane_id = "default";
    IssueClaimGrant grant;
    grant.execution_id = id;
    grant.lane_id = "default";
    grant.worker_id = "w1";
    grant.worker_instance_id = "w1-a";
    LeaseRef fence(id);
    fence.lease_id = LeaseId{new_uuid()};
    fence.lease_epoch = 1;
    fence.attempt_id = AttemptId{new_uuid()};
    std::vector<Request> requests{
        created,
        claim,
        reclaim,
        Fail{fence, "r", "transient", Source::lease_holder},
        SetExecutionTags{id, {{"a.b", "c"}}},
        grant,
        claim,
        Fail{LeaseRef(id), "r", "transient", Source::operator_override},
        ReplayExecution{id},
        created,
    };
    const auto responses = engine().run_many(std::move(requests));
    std::vector<std::string> codes;
    for (const Response& response : responses) {
        codes.push_back(code_of(response));
    }
    EXPECT_EQ(codes,
              (std::vector<std::string>{"ok", "invalid_claim_grant", "ok", "execution_not_active",
                                        "ok", "ok", "ok", "ok", "ok", "ok"}));
    EXPECT_EQ(std::get<ReclaimResult>(*responses[2]).status,
              ReclaimResult::Status::grant_not_found);
    EXPECT_FALSE(std::get<CreateResult>(*responses[9]).created);
    EXPECT_EQ(public_of(id), PublicState::waiting);
    EXPECT_EQ(snapshot(id).replay_count, 1U);
}

TEST_P(EngineConformance, AnswersOfManyComeInTheOrderOfTheQuestions) {
    std::vector<CreateExecution> ops;
    for (int i = 0; i < 50; ++i) {
        ops.push_back(with(job(), [&](auto& op) { op.input_payload = std::to_string(i); }));
    }
    ops[7].ns = "";
    const auto results = engine().run_all(ops);
    ASSERT_EQ(results.size(), 50U);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (i == 7) {
            EXPECT_EQ(code_of(results[i]), "invalid_input");
        } else {
            ASSERT_TRUE(results[i]);
            EXPECT_EQ(ok(ReadExecutionContext{results[i]->execution_id}).input_payload,
                      std::to_string(i));
        }
    }
    EXPECT_TRUE(engine().run_many({}).empty());
}

TEST_P(EngineConformance, ACallbackIsCalledOnceForReadsAndWrites) {
    const ExecutionId id = create();
    std::promise<expected<PublicState>> read;
    engine().async(ReadExecutionState{id},
                   [&](expected<PublicState> result) { read.set_value(std::move(result)); });
    const auto state = read.get_future().get();
    ASSERT_TRUE(state);
    EXPECT_EQ(*state, PublicState::waiting);
    std::promise<expected<StateResult>> write;
    engine().async(ChangePriority{id, 7},
                   [&](expected<StateResult> result) { write.set_value(std::move(result)); });
    EXPECT_TRUE(write.get_future().get());
    std::promise<expected<StateResult>> wrong;
    engine().async(ChangePriority{ExecutionId{0, new_uuid()}, 7},
                   [&](expected<StateResult> result) { wrong.set_value(std::move(result)); });
    EXPECT_EQ(code_of(wrong.get_future().get()), "execution_not_found");
}

TEST_P(EngineConformance, ARejectedOperationChangesNothing) {
    fill();
    const std::string before = dump();
    const LeaseRef nobody =
        with(LeaseRef(running_.handle), [](auto& lease) { lease.lease_id = LeaseId{new_uuid()}; });
    const LeaseRef partial =
        with(LeaseRef(running_.handle), [](auto& lease) { lease.attempt_id.reset(); });
    for (const ExecutionId& id : ids_) {
        const LeaseRef stale = with(nobody, [&](auto& lease) { lease.execution_id = id; });
        const LeaseRef some = with(partial, [&](auto& lease) { lease.execution_id = id; });
        for (const LeaseRef& lease : {stale, some}) {
            EXPECT_NE(refused(Renew{lease, 1000}), "ok");
            EXPECT_NE(refused(Progress{lease, 50, "half"}), "ok");
            EXPECT_NE(refused(Complete{lease, "x", {}, Source::lease_holder}), "ok");
            EXPECT_NE(refused(Fail{lease, "x", "transient", Source::lease_holder}), "ok");
            EXPECT_NE(refused(Delay{lease, now() + 10, Source::lease_holder}), "ok");
            EXPECT_NE(refused(WaitChildren{lease, Source::lease_holder}), "ok");
            EXPECT_NE(refused(Release{lease}), "ok");
        }
        EXPECT_NE(refused(BlockExecution{id, "because", {}}), "ok");
        EXPECT_NE(refused(UnblockExecution{id, "waiting_for_budget"}), "ok");
        EXPECT_NE(refused(SetExecutionTags{id, {{"Bad Key", "x"}}}), "ok");
        EXPECT_NE(refused(SetExecutionTags{id, {}}), "ok");
        EXPECT_NE(refused(RemoveExecutionTag{id, "bad"}), "ok");
    }
    EXPECT_NE(refused(RevokeLease{running_.execution_id(), LeaseId{new_uuid()}, {}, "x"}), "ok");
    EXPECT_NE(refused(ReplayExecution{running_.execution_id()}), "ok");
    EXPECT_NE(refused(ChangePriority{running_.execution_id(), 3}), "ok");
    EXPECT_NE(refused(CancelExecution{nobody, "x", "lease_holder"}), "ok");
    EXPECT_NE(refused(IssueGrantAndClaim{running_.execution_id(), "running", 1000}), "ok");
    EXPECT_NE(refused(with(job(), [](auto& op) { op.policy = "[]"; })), "ok");
    EXPECT_NE(refused(with(job(), [](auto& op) { op.lane_id = ""; })), "ok");
    EXPECT_NE(
        refused(with(job(), [](auto& op) { op.execution_id = ExecutionId{65535, new_uuid()}; })),
        "ok");
    EXPECT_NE(refused(with(registration("pool-1"), [](auto& op) { op.worker_id = "other"; })),
              "ok");
    EXPECT_NE(refused(with(registration("x"), [](auto& op) { op.liveness_ttl_ms = 1; })), "ok");
    EXPECT_NE(refused(SetLaneState{"", LaneState::paused}), "ok");
    EXPECT_NE(refused(with(claim_by("w"), [](auto& op) { op.max_tasks = 0; })), "ok");
    EXPECT_NE(refused(RunScanner{"no_such_pass"}), "ok");
    EXPECT_EQ(dump(), before);
}

TEST_P(EngineConformance, EverythingIsThereAfterReopening) {
    if (!GetParam().durable) {
        GTEST_SKIP() << GetParam().name << " keeps nothing";
    }
    fill();
    const std::string before = dump();
    reopen();
    EXPECT_EQ(dump(), before);
    // And it goes on where it stopped: the lease is live, the idempotency key known.
    EXPECT_EQ(refused(Renew{running_.handle, 1000}), "ok");
    EXPECT_FALSE(ok(with(job("done"), [](auto& op) { op.idempotency_key = "k1"; })).created);
    EXPECT_FALSE(has_work("w2", "granted"));
    after(5'000);
    EXPECT_EQ(claim("w2", "retry").attempt_type, AttemptType::retry);
    EXPECT_EQ(claim("w2", "revoked").handle.lease_epoch, 2U);
    EXPECT_EQ(claim("w2", "released").handle.kind, HandleKind::resumed);
    EXPECT_EQ(claim("w2", "granted").handle.lease_epoch, 1U);
}

TEST_P(EngineConformance, WhatBecameDueWhileClosedHappensAfterReopening) {
    if (!GetParam().durable) {
        GTEST_SKIP() << GetParam().name << " keeps nothing";
    }
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const ExecutionId delayed =
        create(with(job("later"), [&](auto& op) { op.delay_until = now() + 1'000; }));
    close();
    clock().advance(60'000);
    reopen();
    settle();
    EXPECT_EQ(public_of(delayed), PublicState::waiting);
    EXPECT_EQ(snapshot(task.execution_id()).info.state.ownership,
              OwnershipState::lease_expired_reclaimable);
}

TEST_P(EngineConformance, MoreDueThanOneBatchTakesIsDoneInOneGo) {
    FF_NEEDS_CLOCK();
    std::vector<CreateExecution> ops;
    for (int i = 0; i < 700; ++i) {
        ops.push_back(with(job(), [&](auto& op) { op.delay_until = t0 + 1'000 + i % 3; }));
    }
    engine().run_all(ops);
    // Late enough for every periodic pass to come in the same moment.
    after(61'000);
    auto claim_many = with(claim_by("w1"), [](auto& op) { op.max_tasks = 1000; });
    EXPECT_EQ(claim_some(claim_many).size(), 700U);
    EXPECT_EQ(warnings(), std::vector<std::string>());
}

TEST_P(EngineConformance, APeriodicPassFindsNothingInAHealthyStore) {
    fill();
    for (const char* name :
         {"lease_expiry", "delayed_promoter", "attempt_timeout", "execution_deadline",
          "retention_trimmer", "index_reconciler", "worker_ttl_sweep", "grant_sweep",
          "idempotency_sweep", "event_trimmer"}) {
        const ScannerResult result = ok(RunScanner{name});
        EXPECT_EQ(result.processed, 0U) << name;
        EXPECT_EQ(result.errors, 0U) << name;
        EXPECT_TRUE(result.findings.empty()) << name << ": " << result.findings.front();
    }
    EXPECT_EQ(refused(RunScanner{"nonsense"}), "invalid_input");
}

}  // namespace ff::engine::test
