// The arithmetic of flows, and looking into results (spec 03 sections 6 and 21).
#include <gtest/gtest.h>

#include "core/cascade.h"
#include "core/flow_rules.h"
#include "core/json_path.h"
#include "support/world.h"

namespace ff::core {
namespace {

EdgeGroup group_of(GroupPolicy policy, std::uint64_t m, std::uint64_t s, std::uint64_t f,
                   std::uint64_t k = 0, std::uint64_t t = 0) {
    EdgeGroup group;
    group.policy = policy.kind;
    group.k = policy.k;
    group.staged = m;
    group.applied = m;
    group.succeeded = s;
    group.failed = f;
    group.skipped = k;
    group.not_taken = t;
    return group;
}

GroupState judge(const EdgeGroup& group, bool sealed = false) {
    return evaluate_group(group, sealed);
}

constexpr auto pending = GroupState::pending;
constexpr auto satisfied = GroupState::satisfied;
constexpr auto impossible = GroupState::impossible;

TEST(EvaluateGroup, AllOf) {
    const auto all = GroupPolicy::all_of();
    EXPECT_EQ(judge(group_of(all, 0, 0, 0)), pending);
    EXPECT_EQ(judge(group_of(all, 2, 1, 0)), pending);
    EXPECT_EQ(judge(group_of(all, 2, 2, 0)), satisfied);
    EXPECT_EQ(judge(group_of(all, 3, 1, 1)), impossible);
    EXPECT_EQ(judge(group_of(all, 3, 2, 0, 1)), impossible);
    EXPECT_EQ(judge(group_of(all, 3, 2, 0, 0, 1)), satisfied) << "one not taken is ignored";
    EXPECT_EQ(judge(group_of(all, 2, 0, 0, 0, 2)), impossible) << "none was taken";
    EXPECT_EQ(judge(group_of(all, 2, 0, 0, 0, 1)), pending);
}

TEST(EvaluateGroup, AnyOf) {
    const auto any = GroupPolicy::any_of();
    EXPECT_EQ(judge(group_of(any, 3, 0, 2)), pending);
    EXPECT_EQ(judge(group_of(any, 3, 1, 2)), satisfied) << "satisfied is tested first";
    EXPECT_EQ(judge(group_of(any, 3, 0, 2, 1)), impossible);
    EXPECT_EQ(judge(group_of(any, 0, 0, 0)), pending);
}

TEST(EvaluateGroup, Quorum) {
    const auto three = GroupPolicy::quorum(3);
    EXPECT_EQ(judge(group_of(three, 5, 2, 0)), pending);
    EXPECT_EQ(judge(group_of(three, 5, 3, 0)), satisfied);
    EXPECT_EQ(judge(group_of(three, 5, 0, 2)), pending);
    EXPECT_EQ(judge(group_of(three, 5, 0, 3)), impossible);
    EXPECT_EQ(judge(group_of(three, 3, 0, 1)), impossible);
    EXPECT_EQ(judge(group_of(three, 2, 0, 2)), pending) << "another edge may come";
    EXPECT_EQ(judge(group_of(three, 2, 2, 0), true), impossible) << "a sealed flow gets none";
}

TEST(ResolveEdge, EachKindLooksAtTheEnd) {
    const auto how = [](DependencyKind kind, TerminalOutcome outcome) {
        Edge edge;
        edge.kind = kind;
        return resolve_edge(edge, outcome, std::nullopt);
    };
    using K = DependencyKind;
    using O = TerminalOutcome;
    using D = DependencyState;
    EXPECT_EQ(how(K::success_only, O::success), D::satisfied);
    for (const O bad : {O::failed, O::cancelled, O::expired, O::skipped}) {
        EXPECT_EQ(how(K::success_only, bad), D::impossible);
        EXPECT_EQ(how(K::always, bad), D::satisfied);
    }
    for (const O bad : {O::failed, O::cancelled, O::expired}) {
        EXPECT_EQ(how(K::on_failure, bad), D::satisfied);
        EXPECT_EQ(how(K::on_skip, bad), D::not_taken);
    }
    EXPECT_EQ(how(K::on_failure, O::success), D::not_taken);
    EXPECT_EQ(how(K::on_failure, O::skipped), D::not_taken);
    EXPECT_EQ(how(K::on_skip, O::skipped), D::satisfied);
    EXPECT_EQ(how(K::always, O::success), D::satisfied);
}

TEST(ResolveEdge, AConditionDecidesASuccess) {
    Edge edge;
    edge.when = "$.n > 3";
    const auto how = [&](std::optional<std::string> result) {
        return resolve_edge(edge, TerminalOutcome::success, result);
    };
    EXPECT_EQ(how(R"({"n":4})"), DependencyState::satisfied);
    EXPECT_EQ(how(R"({"n":3})"), DependencyState::not_taken);
    EXPECT_EQ(how("not json"), DependencyState::not_taken);
    EXPECT_EQ(how(std::nullopt), DependencyState::not_taken);
    EXPECT_EQ(resolve_edge(edge, TerminalOutcome::failed, std::nullopt),
              DependencyState::impossible);
}

bool holds(std::string_view condition, std::string_view document) {
    const auto parsed = Condition::parse("when", condition);
    EXPECT_TRUE(parsed) << parsed.error().message();
    const auto root = js::parse(document);
    EXPECT_TRUE(root);
    return parsed && root && parsed->holds(&*root);
}

TEST(Condition, ComparesWhatAPathFinds) {
    constexpr auto document = R"({"a":{"b":[1,"x",true]},"c d":2,"e":null,"z":""})";
    EXPECT_TRUE(holds("$.a.b[0] == 1", document));
    EXPECT_TRUE(holds("$.a.b[0]==1.0", document));
    EXPECT_TRUE(holds("$.a.b[1] == \"x\"", document));
    EXPECT_TRUE(holds("$.a.b[1] < \"y\"", document));
    EXPECT_TRUE(holds("$.a.b[2]", document));
    EXPECT_TRUE(holds("!$.a.b[3]", document));
    EXPECT_TRUE(holds("$[\"c d\"] >= 2", document));
    EXPECT_TRUE(holds("$.e == null", document));
    EXPECT_TRUE(holds("!$.e", document));
    EXPECT_TRUE(holds("!$.z", document));
    EXPECT_FALSE(holds("$.missing == 1", document));
    EXPECT_TRUE(holds("$.missing != 1", document));
    EXPECT_FALSE(holds("$.a.b[1] < 5", document)) << "a text and a number have no order";
    EXPECT_TRUE(holds("$.a == {\"b\":[1,\"x\",true]}", document));
}

TEST(Condition, SaysWhereItIsWrong) {
    const auto fault = [](std::string_view text) {
        const auto parsed = Condition::parse("when", text);
        return parsed ? std::string("fine") : parsed.error().message();
    };
    EXPECT_EQ(fault("score > 1"),
              "invalid_input: when: a path begins with $ at column 1 of `score > 1`");
    EXPECT_NE(fault("$.a =! 1").find("column 5"), std::string::npos);
    EXPECT_NE(fault("$.a == ").find("a JSON value is expected"), std::string::npos);
    EXPECT_NE(fault("$.a[").find("an index or a quoted name is missing"), std::string::npos);
    EXPECT_NE(fault("$.").find("a member's name is missing"), std::string::npos);
    EXPECT_NE(fault("$[\"a").find("no end"), std::string::npos);
    EXPECT_NE(fault("!$.a == 1").find("is expected"), std::string::npos);
    EXPECT_NE(fault("").find("begins with $"), std::string::npos);
    EXPECT_NE(fault("$[99999999999]").find("missing"), std::string::npos);
}

TEST(DataPassing, IsNothingThePayloadOrAName) {
    EXPECT_FALSE(DataPassing::parse("")->replaces_payload);
    EXPECT_TRUE(DataPassing::parse("artifact://hash-abc")->replaces_payload);
    const auto named = DataPassing::parse(R"({"as":"text","path":"$.a"})");
    ASSERT_TRUE(named);
    EXPECT_EQ(named->as, "text");
    EXPECT_TRUE(named->path);
    EXPECT_FALSE(DataPassing::parse(R"({"path":"$.a"})"));
    EXPECT_FALSE(DataPassing::parse(R"({"as":"x","other":"y"})"));
    EXPECT_FALSE(DataPassing::parse(R"({"as":"x","path":"a"})"));
    EXPECT_FALSE(DataPassing::parse("{"));
}

TEST(SummaryState, FollowsTheMembers) {
    using P = PublicState;
    EXPECT_EQ(summary_state(FlowState::open, {}, 0), "open");
    EXPECT_EQ(summary_state(FlowState::open, {{P::waiting, 1}}, 0), "open");
    EXPECT_EQ(summary_state(FlowState::open, {{P::waiting, 1}, {P::active, 1}}, 0), "running");
    EXPECT_EQ(summary_state(FlowState::open, {{P::suspended, 1}, {P::completed, 1}}, 0), "blocked");
    EXPECT_EQ(summary_state(FlowState::open, {{P::completed, 1}, {P::skipped, 1}}, 0), "completed");
    EXPECT_EQ(summary_state(FlowState::open, {{P::completed, 1}, {P::expired, 1}}, 0), "failed");
    EXPECT_EQ(summary_state(FlowState::open, {{P::completed, 1}, {P::cancelled, 1}}, 1),
              "completed")
        << "a race that was won";
    EXPECT_EQ(summary_state(FlowState::cancelled, {{P::cancelled, 1}}, 0), "cancelled");
}

TEST(Unpark, IsDoneAgainWhenAnotherProcessWasAtAMember) {
    testing::World world;
    core::Snapshot view = world.empty_view();
    Flow flow;
    flow.id = FlowId{new_uuid()};
    view.load_flow(flow.id, flow);
    view.load_parked(gate_of(flow.id), {});
    const FlowWork work{{flow.id, FlowWorkKind::unpark, ExecutionId{}}, {}, world.now};
    EXPECT_TRUE(decide(view, work, world.context()).changes.put_work.empty());
    view.load_parked_partly(gate_of(flow.id));
    const auto kept = decide(view, work, world.context()).changes.put_work;
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept[0].key, work.key);
    EXPECT_GT(kept[0].due_at, world.now);
}

}  // namespace
}  // namespace ff::core
