// create_execution: spec 02 section 2.
#include <gtest/gtest.h>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::Records;
using testing::Scenario;

CreateExecution with_id(const ExecutionId& id) {
    CreateExecution args = Scenario::create_args();
    args.execution_id = id;
    return args;
}

ExecutionId some_id(std::uint8_t last = 1, std::uint16_t partition = 0) {
    ExecutionId id;
    id.partition = partition;
    id.uuid.bytes[15] = last;
    return id;
}

Execution created(Scenario& s, CreateExecution args) {
    const auto answer = s.run(std::move(args));
    EXPECT_TRUE(answer && answer->created) << (answer ? "duplicate" : answer.error().message());
    return answer ? *s.find(answer->execution_id) : Execution{};
}

TEST(Create, makes_an_execution_that_waits_for_a_worker_and_has_no_attempt) {
    Scenario s;
    s.play(
        "create a | created | waiting runnable unowned eligible_now waiting_for_worker none "
        "pending_first_attempt epoch=0 attempts=0 retries=0 replays=0 reclaims=0 priority=0 "
        "delay=none expires=none deadline=none started=none timer=none");
    const Execution& e = s.row("a");
    EXPECT_EQ(e.created_at, s.now);
    EXPECT_EQ(e.last_transition_at, s.now);
    EXPECT_EQ(e.last_mutation_at, s.now);
    EXPECT_FALSE(e.current_attempt_index);
    EXPECT_FALSE(e.blocking_detail);
    EXPECT_TRUE(s.records.attempts.empty());
    EXPECT_TRUE(s.records.events.empty());
    EXPECT_TRUE(s.records.log_events.empty());
}

TEST(Create, keeps_what_the_caller_gave) {
    Scenario s;
    CreateExecution args = Scenario::create_args();
    args.input_payload = std::string("\0\xff\xfe not text", 12);
    args.payload_encoding = "raw";
    args.tags = {{"plain", "x"}, {"app.y", ""}};
    const Execution e = created(s, args);
    const ExecutionInput& input = s.records.inputs.at(e.eid);
    EXPECT_EQ(input.payload, args.input_payload) << "payloads are byte-exact";
    EXPECT_EQ(input.payload_encoding, "raw");
    EXPECT_EQ(input.tags, args.tags);
    EXPECT_EQ(input.creator_identity, "tester");
    EXPECT_EQ(s.route(e).key, (RouteKey{"main", "tenant", "job", ""}));
}

TEST(Create, empty_and_absent_optional_texts_are_the_same) {
    Scenario s;
    CreateExecution args = Scenario::create_args();
    args.payload_encoding = "";
    args.idempotency_key = "";
    const Execution e = created(s, args);
    EXPECT_FALSE(s.records.inputs.at(e.eid).payload_encoding);
    EXPECT_FALSE(s.records.inputs.at(e.eid).idempotency_key);
    EXPECT_FALSE(e.has_idempotency_key);
    EXPECT_TRUE(s.records.idempotency.empty());
}

// -------------------------------------------------------------------------- effective values

TEST(Create, a_future_delay_makes_it_delayed_and_the_detail_says_until_when) {
    Scenario s;
    s.play(
        "create a delay=1 | created | delayed runnable unowned not_eligible_until_time "
        "waiting_for_delay pending_first_attempt delay=+1 timer=+1");
    EXPECT_EQ(s.row("a").blocking_detail, "delayed until " + std::to_string(s.now + 1));
}

TEST(Create, a_delay_that_is_not_in_the_future_is_dropped) {
    Scenario s;
    s.play(R"(
        create now  delay=0  | created | waiting delay=none
        create past delay=-1 | created | waiting delay=none
    )");
}

TEST(Create, priority_is_clamped_and_never_rejected) {
    Scenario s;
    s.play(R"(
        create high priority=10000 | created | priority=9000
        create top  priority=9000  | created | priority=9000
        create low  priority=-5    | created | priority=0
    )");
}

TEST(Create, a_priority_of_zero_takes_that_of_the_policy_clamped) {
    Scenario s;
    s.policies["seven"] = R"({"priority":7})";
    s.policies["beyond"] = R"({"priority":70000})";
    s.play(R"(
        create a policy=seven            | created | priority=7
        create b policy=seven priority=3 | created | priority=3
        create c policy=beyond           | created | priority=9000
    )");
}

TEST(Create, delay_and_deadline_of_the_request_win_over_those_of_the_policy) {
    Scenario s;
    s.policies["later"] = R"({"delay_until":)" + std::to_string(s.now + 500) +
                          R"(,"timeout_policy":{"execution_deadline_ms":9000}})";
    s.play(R"(
        create a policy=later                         | created | delayed
                                                      |         | delay=+500 deadline=+9000
        create b policy=later delay=100 deadline=2000 | created | delayed
                                                      |         | delay=+100 deadline=+2000
    )");
}

TEST(Create, a_policy_deadline_below_ten_to_the_twelfth_is_a_duration_else_a_time) {
    Scenario s;
    s.policies["duration"] = R"({"timeout_policy":{"execution_deadline_ms":999999999999}})";
    s.policies["time"] = R"({"timeout_policy":{"execution_deadline_ms":1000000000000}})";
    s.play(R"(
        create a policy=duration | created | deadline=+999999999999
        create b policy=time     | created | deadline=-700000000000
    )");
}

TEST(Create, a_deadline_already_past_is_accepted_and_expires_at_once) {
    Scenario s;
    s.play(R"(
        create a deadline=-1 | created | waiting deadline=-1
        tick                 | 1       | expired pending_first_attempt reason=execution_deadline
    )");
}

TEST(Create, the_policy_is_stored_normalised) {
    Scenario s;
    s.policies["p"] = R"( { "unknown" : 1, "retry_policy" : null, "max_replay_count" : 2 } )";
    s.play("create a policy=p | created");
    EXPECT_TRUE(s.row("a").has_policy);
    EXPECT_EQ(s.records.inputs.at(s.row("a").eid).policy, R"({"max_replay_count":2})");
}

TEST(Create, retention_of_the_stream_policy_is_kept_in_the_row) {
    Scenario s;
    s.policies["p"] = R"({"stream_policy":{"retention_ttl_ms":5000}})";
    s.play("create a policy=p | created \n create b | created");
    EXPECT_EQ(s.row("a").retention_ms, 5000);
    EXPECT_FALSE(s.row("b").retention_ms);
}

// --------------------------------------------------------------------------------- duplicates

TEST(Create, the_same_id_again_is_a_duplicate_and_touches_nothing) {
    Scenario s;
    created(s, with_id(some_id()));
    const Records before = s.records;
    CreateExecution other = with_id(some_id());
    other.lane_id = "elsewhere";
    other.priority = 9;
    s.now += 10;
    const auto answer = s.run(other);
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->created);
    EXPECT_EQ(answer->execution_id, some_id());
    EXPECT_TRUE(s.records == before);
}

TEST(Create, the_same_key_is_a_duplicate_of_the_stored_id_whatever_id_is_given) {
    Scenario s;
    s.play(R"(
        create a key=k     | created
        create b key=k     | duplicate a
        create c key=other | created
    )");
    CreateExecution args = with_id(some_id());
    args.idempotency_key = "k";
    const Records before = s.records;
    const auto answer = s.run(args);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->execution_id, s.id("a"));
    EXPECT_TRUE(s.records == before);
}

TEST(Create, keys_are_unique_in_a_namespace_over_all_lanes_and_partitions) {
    Settings settings;
    settings.partitions.flow = 256;
    Scenario s(settings);
    s.play(R"(
        create a key=k            | created
        create b key=k lane=gpu   | duplicate a
        create c key=k ns=another | created
    )");
    EXPECT_NE(s.id("a").partition, ExecutionId::solo("gpu", settings.partitions, {}).partition);
}

TEST(Create, a_key_lives_for_a_day_unless_the_policy_says_otherwise) {
    Scenario s;
    s.policies["short"] = R"({"dedup_window_ms":100})";
    s.policies["none"] = R"({"dedup_window_ms":0})";
    s.play(R"(
        create a key=day                | created
        create b key=short policy=short | created
        create c key=none policy=none   | created
        create d key=none policy=none   | created
        pass 99                         |
        create e key=short              | duplicate b
        pass 1                          |
        create f key=short              | created
        pass 86399899                   |
        create g key=day                | duplicate a
        pass 1                          |
        create h key=day                | created
    )");
}

// ------------------------------------------------------------------------------ lanes, routes

TEST(Create, the_first_execution_of_a_lane_registers_it) {
    Scenario s;
    s.play("create a lane=new | created");
    EXPECT_EQ(s.records.lanes.at("new"), (Lane{"new", LaneState::active, s.now}));
}

TEST(Create, draining_and_disabled_lanes_refuse_and_paused_ones_accept) {
    Scenario s;
    s.play(R"(
        lane main draining | ok
        create a           | lane_not_accepting
        lane main disabled | ok
        create a           | lane_not_accepting
        lane main paused   | ok
        create a           | created | waiting
    )");
}

TEST(Create, executions_of_one_lane_namespace_kind_and_requirement_share_a_route) {
    Scenario s;
    s.policies["gpu"] = R"({"routing_requirements":{"required_capabilities":["gpu","cuda"]}})";
    s.policies["same"] =
        R"({"routing_requirements":{"required_capabilities":["cuda","gpu","gpu"]}})";
    s.play(R"(
        create a             | created
        create b             | created
        create c kind=other  | created
        create d ns=other    | created
        create e lane=other  | created
        create f policy=gpu  | created
        create g policy=same | created
    )");
    EXPECT_EQ(s.row("a").route, s.row("b").route);
    EXPECT_EQ(s.row("f").route, s.row("g").route);
    EXPECT_EQ(s.route(s.row("f")).required, (std::vector<std::string>{"cuda", "gpu"}));
    std::set<RouteId> routes;
    for (const char* name : {"a", "c", "d", "e", "f"}) {
        routes.insert(s.row(name).route);
    }
    EXPECT_EQ(routes.size(), 5U);
}

TEST(Create, a_minted_id_carries_the_partition_of_its_lane) {
    Settings settings;
    settings.partitions.flow = 256;
    Scenario s(settings);
    CreateExecution args = Scenario::create_args();
    args.lane_id = "gpu";
    EXPECT_EQ(created(s, args).id.partition, 144);
}

// --------------------------------------------------------------------------------- tag events

TEST(Create, each_tag_is_told_once_with_the_whole_set) {
    Scenario s;
    CreateExecution args = Scenario::create_args();
    args.tags = {{"b", "2"}, {"a", "1"}};
    const Execution e = created(s, args);
    EXPECT_TRUE(e.has_tags);
    ASSERT_EQ(s.records.log_events.size(), 2U);
    const LogEvent& first = s.records.log_events[0];
    EXPECT_EQ(first.family, LogFamily::instance_tags);
    EXPECT_EQ(first.type, "attached");
    EXPECT_EQ(first.payload, R"({"tag":"a","value":"1","previous":null})");
    EXPECT_EQ(first.tags, R"({"a":"1","b":"2"})");
    EXPECT_EQ(first.ns, "tenant");
    EXPECT_EQ(first.execution_id, e.id);
    EXPECT_EQ(s.records.log_events[1].payload, R"({"tag":"b","value":"2","previous":null})");
}

// ------------------------------------------------------------------------------- check order

// Each row has one fault more than the next; the first check that fails is the answer.
TEST(Create, checks_shape_then_lane_then_key_then_id_then_policy) {
    Scenario s;
    s.play("create a key=k | created");
    CreateExecution args = with_id(s.id("a"));
    args.idempotency_key = "k";
    args.policy = "not json";
    args.execution_kind = "";
    s.play("lane main draining");
    const Records before = s.records;
    EXPECT_EQ(testing::answer_of(s.run(args)), "invalid_input: execution_kind: must not be empty");
    args.execution_kind = "job";
    EXPECT_EQ(testing::answer_of(s.run(args)), "lane_not_accepting: lane main is draining");
    EXPECT_TRUE(s.records == before) << "a refused create writes nothing";
    s.play("lane main active");
    ASSERT_TRUE(s.run(args)) << "a duplicate is told before its policy is looked at";
    args.idempotency_key.reset();
    ASSERT_TRUE(s.run(args)) << "by id as well";
    args.execution_id.reset();
    args.lane_id = "fresh";
    EXPECT_EQ(testing::answer_of(s.run(args)), "invalid_policy_json: malformed");
    EXPECT_EQ(s.records.executions.size(), 1U);
    EXPECT_FALSE(s.records.lanes.contains("fresh")) << "not even the lane is registered";
}

}  // namespace
}  // namespace ff::core
