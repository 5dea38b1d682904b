// What is refused before any row is looked at: spec 01 sections 1.4, 7 and 10. Each row is one
// malformed call with the exact answer it gets; none of them writes anything.
#include <gtest/gtest.h>

#include <limits>

#include <functional>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::answer_of;
using testing::Records;
using testing::Scenario;

std::string bytes(std::size_t count) { return std::string(count, 'x'); }
std::vector<std::string> words(std::size_t count) {
    return std::vector<std::string>(count, "main");
}

/// Calls `Op` after `change` was made to arguments that are fine otherwise; the answer as text.
template <class Op>
class Calls {
  public:
    explicit Calls(Op sound) : sound_(std::move(sound)) {
        world_.play("create a \n create b \n claim w1 | a fresh initial #0 e1");
    }
    std::string with(const std::function<void(Op&)>& change) {
        Op op = sound_;
        change(op);
        const Records before = world_.records;
        const auto answer = world_.run(std::move(op));
        if (!answer) {
            EXPECT_TRUE(world_.records == before) << "a refused call wrote something";
        }
        return answer_of(answer);
    }

  private:
    Scenario world_;
    Op sound_;
};

#define EXPECT_ANSWER(calls, change, expected)                                                     \
    EXPECT_EQ((calls).with([](auto& op) { change; }), expected)

// ------------------------------------------------------------------------------------- create

TEST(ValidateCreate, names_are_checked_by_length_and_content) {
    Calls calls(Scenario::create_args());
    EXPECT_ANSWER(calls, op.ns = "", "invalid_input: namespace: must not be empty");
    EXPECT_ANSWER(calls, op.ns = bytes(257),
                  "invalid_input: namespace: exceeds 256 bytes (got 257)");
    EXPECT_ANSWER(calls, op.ns = "a\nb",
                  "invalid_input: namespace: must not contain control characters");
    EXPECT_ANSWER(calls, op.ns = "\xff", "invalid_input: namespace: not valid UTF-8");
    EXPECT_ANSWER(calls, op.lane_id = "", "invalid_input: lane_id: must not be empty");
    EXPECT_ANSWER(calls, op.lane_id = bytes(65),
                  "invalid_input: lane_id: exceeds 64 bytes (got 65)");
    EXPECT_ANSWER(calls, op.lane_id = "ab\x7f",
                  "invalid_input: lane_id: non-printable byte at index 2");
    EXPECT_ANSWER(calls, op.execution_kind = "",
                  "invalid_input: execution_kind: must not be empty");
    EXPECT_ANSWER(calls, op.execution_kind = bytes(257),
                  "invalid_input: execution_kind: exceeds 256 bytes (got 257)");
    EXPECT_ANSWER(calls, op.execution_kind = "\x01",
                  "invalid_input: execution_kind: must not contain control characters");
    EXPECT_ANSWER(calls, op.creator_identity = bytes(257),
                  "invalid_input: creator_identity: exceeds 256 bytes (got 257)");
    EXPECT_ANSWER(calls, op.payload_encoding = bytes(257),
                  "invalid_input: payload_encoding: exceeds 256 bytes (got 257)");
}

TEST(ValidateCreate, bounds_are_inclusive) {
    Calls calls(Scenario::create_args());
    EXPECT_ANSWER(calls, op.ns = bytes(256), "ok");
    EXPECT_ANSWER(calls, op.lane_id = bytes(64), "ok");
    EXPECT_ANSWER(calls, op.execution_kind = bytes(256), "ok");
    EXPECT_ANSWER(calls, op.creator_identity = "", "ok");
    EXPECT_ANSWER(calls, op.creator_identity = bytes(256), "ok");
    EXPECT_ANSWER(calls, op.input_payload = bytes(1U << 20), "ok");
    EXPECT_ANSWER(calls, op.idempotency_key = bytes(512), "ok");
    EXPECT_ANSWER(calls, op.tags[bytes(128)] = bytes(4096), "ok");
    EXPECT_ANSWER(calls, op.delay_until = 0, "ok");
}

TEST(ValidateCreate, sizes_and_tags_are_limited) {
    Calls calls(Scenario::create_args());
    EXPECT_ANSWER(calls, op.input_payload = bytes((1U << 20) + 1),
                  "payload_too_large: input_payload: exceeds 1048576 bytes (got 1048577)");
    EXPECT_ANSWER(calls, op.idempotency_key = bytes(513),
                  "invalid_input: idempotency_key: exceeds 512 bytes (got 513)");
    EXPECT_ANSWER(calls, op.idempotency_key = "\xc0",
                  "invalid_input: idempotency_key: not valid UTF-8");
    EXPECT_ANSWER(calls, for (int i = 0; i < 65; ++i) op.tags[std::to_string(i)] = "",
                  "invalid_input: tags: at most 64 (got 65)");
    EXPECT_ANSWER(calls, op.tags[""] = "", "invalid_input: tag key: must not be empty");
    EXPECT_ANSWER(calls, op.tags[bytes(129)] = "",
                  "invalid_input: tag key: exceeds 128 bytes (got 129)");
    EXPECT_ANSWER(calls, op.tags["a\tb"] = "",
                  "invalid_input: tag key: must not contain control characters");
    EXPECT_ANSWER(calls, op.tags["k"] = bytes(4097),
                  "invalid_input: tag value of k: exceeds 4096 bytes (got 4097)");
}

TEST(ValidateCreate, times_must_not_be_negative) {
    Calls calls(Scenario::create_args());
    EXPECT_ANSWER(calls, op.delay_until = -1, "invalid_input: delay_until: must not be negative");
    EXPECT_ANSWER(calls, op.execution_deadline_at = -1,
                  "invalid_input: execution_deadline_at: must not be negative");
}

TEST(ValidateCreate, the_partition_must_exist_and_agree_with_the_id) {
    Calls calls(Scenario::create_args());
    EXPECT_ANSWER(calls, (op.execution_id = ExecutionId{1, {}}),
                  "invalid_input: partition index out of range");
    EXPECT_ANSWER(calls, op.partition_id = 3,
                  "invalid_input: partition_id 3 differs from the execution id's index 0");
    EXPECT_ANSWER(calls, op.partition_id = 0, "ok");
}

TEST(ValidateCreate, policies_are_refused_with_member_and_reason) {
    Calls calls(Scenario::create_args());
    const std::vector<std::pair<std::string, std::string>> faults = {
        {"", "invalid_policy_json: malformed"},
        {"[]", "invalid_policy_json: malformed"},
        {R"({"priority":-1})", "invalid_policy_json: priority:negative"},
        {R"({"priority":"high"})", "invalid_policy_json: priority:not_integer"},
        {R"({"delay_until":9007199254740993})", "invalid_policy_json: delay_until:too_large"},
        {R"({"retry_policy":[]})", "invalid_policy_json: retry_policy:not_object"},
        {R"({"retry_policy":{"max_retries":10001}})",
         "invalid_policy_json: retry_policy.max_retries:out_of_range"},
        {R"({"retry_policy":{"backoff":{"type":"exponential","multiplier":0.5}}})",
         "invalid_policy_json: retry_policy.backoff.multiplier:out_of_range"},
        {R"({"timeout_policy":1})", "invalid_policy_json: timeout_policy:not_object"},
        {R"({"routing_requirements":7})", "invalid_policy_json: routing_requirements:not_object"},
        {R"({"routing_requirements":{"required_capabilities":"gpu"}})",
         "invalid_capabilities: required:not_array"},
        {R"({"routing_requirements":{"required_capabilities":[1]}})",
         "invalid_capabilities: required:non_string_token"},
        {R"({"routing_requirements":{"required_capabilities":[""]}})",
         "invalid_capabilities: required:empty_token"},
        {R"({"routing_requirements":{"required_capabilities":["a,b"]}})",
         "invalid_capabilities: required:comma_in_token"},
        {R"({"routing_requirements":{"required_capabilities":["a b"]}})",
         "invalid_capabilities: required:control_or_whitespace"},
    };
    for (const auto& [policy, answer] : faults) {
        const std::string& json = policy;
        EXPECT_EQ(calls.with([&json](CreateExecution& op) { op.policy = json; }), answer);
    }
}

// ------------------------------------------------------------------------------ claims, grants

TEST(ValidateClaim, every_argument_has_its_limits) {
    Calls calls(Scenario::claim_args("w1"));
    EXPECT_ANSWER(calls, op.lanes.clear(), "invalid_input: lanes: between 1 and 64 are required");
    EXPECT_ANSWER(calls, op.lanes = words(65),
                  "invalid_input: lanes: between 1 and 64 are required");
    EXPECT_ANSWER(calls, op.lanes.push_back(""), "invalid_input: lane_id: must not be empty");
    EXPECT_ANSWER(calls, op.worker_id = "", "invalid_input: worker_id: must not be empty");
    EXPECT_ANSWER(calls, op.worker_id = bytes(257),
                  "invalid_input: worker_id: exceeds 256 bytes (got 257)");
    EXPECT_ANSWER(
        calls, op.worker_instance_id = "a b",
        "invalid_input: worker_instance_id: must not contain whitespace or control characters");
    EXPECT_ANSWER(calls, op.lease_ttl_ms = 99,
                  "invalid_input: lease_ttl_ms must be in 100..=3600000 (got 99)");
    EXPECT_ANSWER(calls, op.lease_ttl_ms = 3'600'001,
                  "invalid_input: lease_ttl_ms must be in 100..=3600000 (got 3600001)");
    EXPECT_ANSWER(calls, op.max_tasks = 0, "invalid_input: max_tasks must be in 1..=1000 (got 0)");
    EXPECT_ANSWER(calls, op.max_tasks = 1001,
                  "invalid_input: max_tasks must be in 1..=1000 (got 1001)");
    EXPECT_ANSWER(calls, op.max_wait_ms = -1,
                  "invalid_input: max_wait_ms must be in 0..=86400000 (got -1)");
    EXPECT_ANSWER(calls, op.max_wait_ms = std::numeric_limits<DurationMs>::max(),
                  "invalid_input: max_wait_ms must be in 0..=86400000 (got 9223372036854775807)");
    EXPECT_ANSWER(calls, op.kinds = words(257), "invalid_input: kinds: at most 256 (got 257)");
    EXPECT_ANSWER(calls, op.ns = "", "invalid_input: namespace: must not be empty");
    EXPECT_ANSWER(calls, op.kinds = {""}, "invalid_input: kinds: must not be empty");
    EXPECT_ANSWER(calls, op.lanes = words(64), "ok");
    EXPECT_ANSWER(calls, (op.lease_ttl_ms = 100, op.max_tasks = 1000), "ok");
    EXPECT_ANSWER(calls, op.lease_ttl_ms = 3'600'000, "ok");
}

TEST(ValidateClaim, capabilities_of_a_worker_are_checked_under_its_own_prefix) {
    Calls calls(Scenario::claim_args("w1"));
    EXPECT_ANSWER(calls, op.capabilities = {""}, "invalid_capabilities: worker:empty_token");
    EXPECT_ANSWER(calls, op.capabilities = {"a,b"}, "invalid_capabilities: worker:comma_in_token");
    EXPECT_ANSWER(calls, op.capabilities = {"a\xC2\xA0"},
                  "invalid_capabilities: worker:control_or_whitespace");
    EXPECT_ANSWER(calls, op.capabilities = {bytes(4097)},
                  "invalid_capabilities: worker:too_many_bytes");
    EXPECT_ANSWER(calls, for (int i = 0; i < 257; ++i) op.capabilities.push_back(std::to_string(i)),
                  "invalid_capabilities: worker:too_many_tokens");
}

/// The checks all calls about grants and leases of a worker share.
template <class Op>
void expect_worker_and_lane_checks(const Op& sound) {
    Calls<Op> calls(sound);
    EXPECT_ANSWER(calls, op.worker_id = "", "invalid_input: worker_id: must not be empty");
    EXPECT_ANSWER(calls, op.worker_instance_id = "",
                  "invalid_input: worker_instance_id: must not be empty");
    EXPECT_ANSWER(calls, op.worker_id = "a\tb",
                  "invalid_input: worker_id: must not contain whitespace or control characters");
    EXPECT_ANSWER(calls, op.lane_id = bytes(65),
                  "invalid_input: lane_id: exceeds 64 bytes (got 65)");
}

template <class Op>
Op by_worker() {
    Op op;
    op.worker_id = "w1";
    op.worker_instance_id = "w1-1";
    op.lane_id = "main";
    return op;
}

TEST(ValidateGrants, workers_and_lanes_are_checked_by_every_call) {
    expect_worker_and_lane_checks(by_worker<ClaimForWorker>());
    expect_worker_and_lane_checks(by_worker<IssueClaimGrant>());
    expect_worker_and_lane_checks(by_worker<ClaimExecution>());
    expect_worker_and_lane_checks(by_worker<ClaimResumedExecution>());
    expect_worker_and_lane_checks(by_worker<IssueReclaimGrant>());
    expect_worker_and_lane_checks(by_worker<ReclaimExecution>());
}

template <class Op>
void expect_grant_ttl_checks() {
    Calls<Op> calls(by_worker<Op>());
    EXPECT_ANSWER(calls, op.grant_ttl_ms = 0, "invalid_input: grant_ttl_ms must be in 1..=60000");
    EXPECT_ANSWER(calls, op.grant_ttl_ms = 60'001,
                  "invalid_input: grant_ttl_ms must be in 1..=60000");
}

TEST(ValidateGrants, last_between_a_millisecond_and_a_minute) {
    expect_grant_ttl_checks<ClaimForWorker>();
    expect_grant_ttl_checks<IssueClaimGrant>();
    expect_grant_ttl_checks<IssueReclaimGrant>();
    Calls calls(by_worker<ClaimForWorker>());
    EXPECT_ANSWER(calls, op.grant_ttl_ms = 60'000, "ok");
    EXPECT_ANSWER(calls, op.grant_ttl_ms = 1, "ok");
}

template <class Op>
void expect_lease_ttl_checks() {
    Calls<Op> calls(by_worker<Op>());
    EXPECT_ANSWER(calls, op.lease_ttl_ms = 99,
                  "invalid_input: lease_ttl_ms must be in 100..=3600000 (got 99)");
    EXPECT_ANSWER(calls, op.lease_ttl_ms = 3'600'001,
                  "invalid_input: lease_ttl_ms must be in 100..=3600000 (got 3600001)");
}

TEST(ValidateGrants, leases_last_between_100_ms_and_an_hour) {
    expect_lease_ttl_checks<ClaimExecution>();
    expect_lease_ttl_checks<ClaimResumedExecution>();
    expect_lease_ttl_checks<ReclaimExecution>();
    Calls calls(IssueGrantAndClaim{.lane_id = "main"});
    EXPECT_ANSWER(calls, op.lease_duration_ms = 99,
                  "invalid_input: lease_ttl_ms must be in 100..=3600000 (got 99)");
    EXPECT_ANSWER(calls, op.lane_id = "", "invalid_input: lane_id: must not be empty");
}

TEST(ValidateGrants, claim_for_worker_checks_names_then_lane_then_ttl_then_capabilities) {
    ClaimForWorker wrong = by_worker<ClaimForWorker>();
    wrong.worker_id = "";
    wrong.lane_id = "";
    wrong.grant_ttl_ms = 0;
    wrong.capabilities = {""};
    Scenario s;
    EXPECT_EQ(answer_of(s.run(wrong)), "invalid_input: worker_id: must not be empty");
    wrong.worker_id = "w1";
    EXPECT_EQ(answer_of(s.run(wrong)), "invalid_input: lane_id: must not be empty");
    wrong.lane_id = "main";
    EXPECT_EQ(answer_of(s.run(wrong)), "invalid_input: grant_ttl_ms must be in 1..=60000");
    wrong.grant_ttl_ms = 1;
    EXPECT_EQ(answer_of(s.run(wrong)), "invalid_capabilities: worker:empty_token");
}

// -------------------------------------------------------------------------------- under a lease

TEST(ValidateLeaseCalls, each_argument_has_its_limits) {
    Calls renew(Renew{});
    EXPECT_ANSWER(renew, op.lease_ttl_ms = 99,
                  "invalid_input: lease_ttl_ms must be in 100..=3600000 (got 99)");
    Calls progress(Progress{});
    EXPECT_ANSWER(progress, op.percent = -1,
                  "invalid_input: progress_pct must be in 0..=100 (got -1)");
    EXPECT_ANSWER(progress, op.percent = 101,
                  "invalid_input: progress_pct must be in 0..=100 (got 101)");
    EXPECT_ANSWER(progress, op.message = "\xff",
                  "invalid_input: progress_message: not valid UTF-8");
    Calls complete(Complete{});
    EXPECT_ANSWER(complete, op.result_payload = bytes((1U << 20) + 1),
                  "payload_too_large: result_payload: exceeds 1048576 bytes (got 1048577)");
    EXPECT_ANSWER(complete, op.result_encoding = bytes(257),
                  "invalid_input: result_encoding: exceeds 256 bytes (got 257)");
    Calls fail(Fail{});
    EXPECT_ANSWER(fail, op.failure_category = bytes(257),
                  "invalid_input: failure_category: exceeds 256 bytes (got 257)");
    EXPECT_ANSWER(fail, op.failure_category = "a\nb",
                  "invalid_input: failure_category: must not contain control characters");
    Calls delay(Delay{});
    EXPECT_ANSWER(delay, op.delay_until = -1, "invalid_input: delay_until: must not be negative");
    Calls cancel(CancelExecution{});
    EXPECT_ANSWER(cancel, op.reason = bytes(1025),
                  "invalid_input: reason: exceeds 1024 bytes (got 1025)");
    EXPECT_ANSWER(cancel, op.reason = std::string(1, '\0'),
                  "invalid_input: reason: must not contain NUL characters");
    EXPECT_ANSWER(cancel, op.source = "", "invalid_input: source: must not be empty");
}

TEST(ValidateLeaseCalls, shape_is_judged_before_existence) {
    Scenario s;
    EXPECT_EQ(s.run(Renew{{}, 1}).error().code, ErrorCode::invalid_input);
    EXPECT_EQ(s.run(Renew{}).error().code, ErrorCode::execution_not_found);
    EXPECT_EQ(s.run(Progress{{}, 101}).error().code, ErrorCode::invalid_input);
    EXPECT_EQ(s.run(Progress{{}, 100}).error().code, ErrorCode::execution_not_found);
}

// ---------------------------------------------------------------------------------- operators

TEST(ValidateOperators, each_argument_has_its_limits) {
    Calls revoke(RevokeLease{});
    EXPECT_ANSWER(revoke, op.reason = bytes(1025),
                  "invalid_input: reason: exceeds 1024 bytes (got 1025)");
    Calls block(BlockExecution{.reason = "waiting_for_quota"});
    EXPECT_ANSWER(block, op.detail = bytes(1025),
                  "invalid_input: detail: exceeds 1024 bytes (got 1025)");
    Calls lane(SetLaneState{.lane_id = "main"});
    EXPECT_ANSWER(lane, op.lane_id = "\n", "invalid_input: lane_id: non-printable byte at index 0");
}

TEST(ValidateOperators, tags_are_written_in_the_namespaced_form_only) {
    Calls set(SetExecutionTags{});
    EXPECT_ANSWER(set, op.tags.clear(), "invalid_input: tags: at least one is required");
    for (const std::string key :
         {"", "Cairn.x", "1c.x", "cairn", "cairn.", "cairn..x", ".cairn", "ca-irn.x", "cairn.Foo",
          "cairn.foo-bar", "a. b", "a.\"b", "a.\\b"}) {
        const std::string expected = key.empty() ? "invalid_tag_key" : "invalid_tag_key: " + key;
        EXPECT_EQ(set.with([&](SetExecutionTags& op) { op.tags[key] = "v"; }), expected);
        Calls remove(RemoveExecutionTag{});
        EXPECT_EQ(remove.with([&](RemoveExecutionTag& op) { op.key = key; }), expected);
    }
    for (const std::string key : {"a.b", "a1_2.x", "app.sub.field", "cairn.session_id"}) {
        EXPECT_EQ(set.with([&](SetExecutionTags& op) { op.tags[key] = "v"; }),
                  "not found: execution");
    }
    EXPECT_ANSWER(set, op.tags["a." + bytes(127)] = "",
                  "invalid_input: tag key: exceeds 128 bytes (got 129)");
    EXPECT_ANSWER(set, op.tags["a.b"] = bytes(4097),
                  "invalid_input: tag value of a.b: exceeds 4096 bytes (got 4097)");
}

// ------------------------------------------------------------------------------------- workers

TEST(ValidateWorkers, each_argument_has_its_limits) {
    RegisterWorker sound;
    sound.ns = "tenant";
    sound.worker_id = "w1";
    sound.worker_instance_id = "w1-1";
    sound.lanes = {"main"};
    Calls calls(sound);
    EXPECT_ANSWER(calls, op.ns = "", "invalid_input: namespace: must not be empty");
    EXPECT_ANSWER(calls, op.worker_id = "", "invalid_input: worker_id: must not be empty");
    EXPECT_ANSWER(calls, op.worker_instance_id = bytes(257),
                  "invalid_input: worker_instance_id: exceeds 256 bytes (got 257)");
    EXPECT_ANSWER(calls, op.lanes.clear(), "invalid_input: lanes: between 1 and 64 are required");
    EXPECT_ANSWER(calls, op.lanes = words(65),
                  "invalid_input: lanes: between 1 and 64 are required");
    EXPECT_ANSWER(calls, op.lanes = {""}, "invalid_input: lane_id: must not be empty");
    EXPECT_ANSWER(calls, op.liveness_ttl_ms = 999,
                  "invalid_input: liveness_ttl_ms must be in 1000..=3600000 (got 999)");
    EXPECT_ANSWER(calls, op.liveness_ttl_ms = 3'600'001,
                  "invalid_input: liveness_ttl_ms must be in 1000..=3600000 (got 3600001)");
    EXPECT_ANSWER(calls, op.capabilities = {"a b"},
                  "invalid_capabilities: worker:control_or_whitespace");
    EXPECT_ANSWER(calls, op.liveness_ttl_ms = 1'000, "ok");
    EXPECT_ANSWER(calls, op.liveness_ttl_ms = 3'600'000, "ok");
    EXPECT_ANSWER(calls, op.lanes = words(64), "ok");

    Calls heartbeat(HeartbeatWorker{"tenant", "w1-1"});
    EXPECT_ANSWER(heartbeat, op.ns = "", "invalid_input: namespace: must not be empty");
    EXPECT_ANSWER(heartbeat, op.worker_instance_id = "",
                  "invalid_input: worker_instance_id: must not be empty");
    Calls dead(MarkWorkerDead{"tenant", "w1-1", ""});
    EXPECT_ANSWER(dead, op.reason = bytes(257),
                  "invalid_input: reason: exceeds 256 bytes (got 257)");
    EXPECT_ANSWER(dead, op.reason = "a\nb",
                  "invalid_input: reason: must not contain control characters");
    EXPECT_ANSWER(dead, op.reason = bytes(256), "ok");
}

}  // namespace
}  // namespace ff::core
