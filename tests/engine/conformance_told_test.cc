// What events say: the words of spec 05 section 8, whoever caused them.
#include <array>
#include <set>

#include <ff/json.h>

#include "engine/conformance_flow.h"

namespace ff::engine::test {

class ToldConformance : public FlowConformance {
  protected:
    std::vector<Event> events(EventFamily family, std::string_view type = {}) {
        ReadEvents op;
        op.family = family;
        op.cursor = EventCursor::earliest();
        op.limit = 1'000;
        std::vector<Event> out = ok(op).events;
        std::erase_if(out, [&](const Event& event) { return !type.empty() && event.type != type; });
        return out;
    }
    static std::string word(const Event& event, std::string_view name) {
        const auto payload = js::parse(event.payload);
        const js::Value* found = payload ? payload->find(name) : nullptr;
        return found == nullptr                ? ""
               : found->if_string() != nullptr ? *found->if_string()
                                               : js::dump(*found);
    }
    /// A budget that the task passes the soft limit of.
    void breach_budget(const ClaimedTask& task) {
        CreateBudget budget;
        budget.budget_id = {Uuid{{7, 1, 2, 3}}};
        budget.scope_type = "tenant";
        budget.scope_id = "acme";
        budget.dimensions = {"x"};
        budget.hard_limits = {10};
        budget.soft_limits = {5};
        ok(budget);
        ReportUsage usage;
        usage.lease = task.handle;
        usage.budget_id = budget.budget_id;
        usage.dimensions = {{"x", 6}};
        ok(usage);
    }
    CancelFlow cancelling(const FlowId& flow) {
        CancelFlow op;
        op.flow_id = flow;
        op.reason = "unwanted";
        op.cancellation_policy = CancellationPolicy::cancel_all;
        return op;
    }
    /// Who ended the lease of an execution, and why.
    std::string ended_by(const ExecutionId& id) {
        std::string out;
        for (const Event& event : events(EventFamily::lease_history, "revoked")) {
            if (event.execution_id == id) {
                out += word(event, "revoked_by") + " " + word(event, "reason");
            }
        }
        return out;
    }
};

TEST_P(ToldConformance, NoPayloadUsesTheNameOfACommonMember) {
    // As many kinds of events as can be had without moving the clock.
    ok(registration("w1-a"));
    ok(MarkWorkerDead{"acme", "w1-a", "gone"});
    auto op = graph({"a", "b", "j"}, {{"a", "j"}, {"b", "j"}});
    op.nodes[0].execution.tags["team.name"] = "blue";
    const auto flow = ok(op);
    ok(SetFlowTags{flow.flow_id, {{"team.name", "red"}}});
    ok(RemoveFlowTag{flow.flow_id, "team.name"});
    ok(ChangePriority{flow.nodes.at("b"), 7});
    const ClaimedTask task = take(flow.nodes.at("a"));
    ok(Renew{task.handle, 10'000});
    ok(Complete{task.handle, {}, {}, holder});
    ok(cancelling(flow.flow_id));
    const FlowId staged = make_flow();
    const ExecutionId down = member(staged);
    ok(SetEdgeGroupPolicy{staged, down, GroupPolicy::quorum(2, OnSatisfied::let_run)});
    CreateWebhook hook;
    hook.url = "https://example.com/hook";
    const WebhookId id = ok(hook).webhook_id;
    ok(PauseWebhook{id, true});
    ok(PauseWebhook{id, false});
    ok(DeleteWebhook{id});
    RevokeLease revoke;
    revoke.execution_id = start(job("other")).execution_id();
    ok(revoke);
    const ClaimedTask solo = start(job("third"));
    breach_budget(solo);
    ok(Complete{solo.handle, {}, {}, holder});
    ok(ReplayExecution{solo.execution_id()});

    static constexpr std::array<std::string_view, 8> common{
        "cursor", "family", "type", "execution_id", "flow_id", "namespace", "at", "tags"};
    std::set<std::string> seen;
    for (std::size_t i = 0; i < enum_count<EventFamily>; ++i) {
        for (const Event& event : events(static_cast<EventFamily>(i))) {
            seen.insert(event.type);
            const auto payload = js::parse(event.payload);
            ASSERT_TRUE(payload && payload->if_object() != nullptr) << event.payload;
            std::set<std::string> names;
            for (const js::Member& member : *payload->if_object()) {
                EXPECT_TRUE(std::ranges::find(common, member.first) == common.end())
                    << event.type << ": " << event.payload;
                EXPECT_TRUE(names.insert(member.first).second) << event.payload;
            }
        }
    }
    for (const char* type :
         {"attached", "cleared", "acquired", "renewed", "revoked", "completed", "registered",
          "marked_dead", "priority_changed", "flow_cancel_requested", "edge_group_policy_set",
          "webhook_created", "webhook_paused", "webhook_deleted", "lease_revoked", "replayed",
          "budget_soft_breach"}) {
        EXPECT_TRUE(seen.contains(type)) << type;
    }
}

TEST_P(ToldConformance, WebhookEventsSayWhichFamilyTheyAreFor) {
    CreateWebhook op;
    op.url = "https://example.com/hook";
    op.family = EventFamily::workers;
    ok(op);
    const auto found = events(EventFamily::operator_, "webhook_created");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].family, EventFamily::operator_);
    EXPECT_EQ(word(found[0], "events_of"), "workers");
}

TEST_P(ToldConformance, TagsOfMembersAreToldWithTheirFlow) {
    auto op = graph({"a"}, {});
    op.nodes[0].execution.tags["team.name"] = "blue";
    const auto flow = ok(op);
    const auto found = events(EventFamily::instance_tags, "attached");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].execution_id, flow.nodes.at("a"));
    EXPECT_EQ(found[0].flow_id, flow.flow_id);
}

TEST_P(ToldConformance, PoliciesOfEdgeGroupsAreTold) {
    const FlowId flow = make_flow();
    const ExecutionId down = member(flow);
    const SetEdgeGroupPolicy op{flow, down, GroupPolicy::quorum(2, OnSatisfied::let_run)};
    ok(op);
    ok(op);
    EXPECT_EQ(refused(SetEdgeGroupPolicy{flow, missing_, op.policy}), "execution_not_in_flow");
    const auto found = events(EventFamily::operator_, "edge_group_policy_set");
    ASSERT_EQ(found.size(), 1U) << "neither the same again nor what was refused";
    EXPECT_EQ(found[0].flow_id, flow);
    EXPECT_EQ(found[0].ns, "acme");
    EXPECT_EQ(word(found[0], "downstream_execution_id"), down.to_string());
    EXPECT_EQ(word(found[0], "policy"), "quorum");
    EXPECT_EQ(word(found[0], "k"), "2");
}

TEST_P(ToldConformance, TheLosersOfARaceWereEndedByTheReconciler) {
    auto op = graph({"a", "b", "j"}, {{"a", "j"}, {"b", "j"}});
    node(op, "j").policy = GroupPolicy::any_of(OnSatisfied::cancel_remaining);
    const auto flow = ok(op);
    const ClaimedTask loser = take(flow.nodes.at("b"));
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(ended_by(flow.nodes.at("a")), "backend completed");
    EXPECT_EQ(ended_by(loser.execution_id()), "reconciler cancelled");
}

TEST_P(ToldConformance, MembersOfACancelledFlowWereEndedByTheReconciler) {
    const auto flow = ok(graph({"a"}, {}));
    const ClaimedTask task = take(flow.nodes.at("a"));
    ok(cancelling(flow.flow_id));
    EXPECT_EQ(ended_by(task.execution_id()), "reconciler cancelled");
    const ClaimedTask solo = start(job("other"));
    CancelExecution cancel;
    cancel.lease = LeaseRef(solo.execution_id());
    cancel.reason = "unwanted";
    cancel.source = "operator_override";
    ok(cancel);
    EXPECT_EQ(ended_by(solo.execution_id()), "operator cancelled");
}

TEST_P(ToldConformance, WhatOperatorsDoToFlowsIsTold) {
    auto op = graph({"a", "b", "c"}, {{"a", "c"}});
    op.tags["team.name"] = "blue";
    const auto flow = ok(op);
    succeed(flow.nodes.at("a"));
    ok(cancelling(flow.flow_id));
    ok(AckCancelMember{flow.flow_id, flow.nodes.at("b")});
    EXPECT_EQ(refused(cancelling(FlowId{missing_.uuid})), "flow_not_found");
    const auto found = events(EventFamily::operator_, "flow_cancel_requested");
    ASSERT_EQ(found.size(), 1U) << "neither the acknowledgement nor what was refused";
    EXPECT_EQ(found[0].flow_id, flow.flow_id);
    EXPECT_FALSE(found[0].execution_id);
    EXPECT_EQ(found[0].ns, "acme");
    EXPECT_EQ(word(found[0], "cancellation_policy"), "cancel_all");
    EXPECT_EQ(word(found[0], "reason"), "unwanted");
    EXPECT_EQ(word(found[0], "member_count"), "2");
    ReadEvents by_tag;
    by_tag.family = EventFamily::operator_;
    by_tag.cursor = EventCursor::earliest();
    by_tag.filter.tag = {"team.name", "blue"};
    const auto tagged = ok(by_tag).events;
    ASSERT_EQ(tagged.size(), 1U) << "with the tags of the flow";
    EXPECT_EQ(tagged[0].cursor, found[0].cursor);

    const auto failed = ok(graph({"a", "b"}, {{"a", "b"}}));
    fail(failed.nodes.at("a"));
    ok(ReplayExecution{failed.nodes.at("b")});
    const auto replayed = events(EventFamily::operator_, "replayed");
    ASSERT_EQ(replayed.size(), 1U);
    EXPECT_EQ(replayed[0].flow_id, failed.flow_id);
    EXPECT_EQ(word(replayed[0], "branch"), "skipped_flow_member");
    EXPECT_EQ(word(replayed[0], "groups_reset"), "1");
}

TEST_P(ToldConformance, TagsThatAFlowBeginsWithAreTold) {
    auto op = graph({"a"}, {});
    op.tags["team.name"] = "blue";
    const auto flow = ok(op);
    ok(op.flow_id ? op : with(op, [&](auto& again) { again.flow_id = flow.flow_id; }));
    const auto found = events(EventFamily::instance_tags, "attached");
    ASSERT_EQ(found.size(), 1U) << "the same flow again is no news";
    EXPECT_EQ(found[0].flow_id, flow.flow_id);
    EXPECT_FALSE(found[0].execution_id);
    EXPECT_EQ(found[0].ns, "acme");
    EXPECT_EQ(word(found[0], "tag"), "team.name");
    EXPECT_EQ(word(found[0], "value"), "blue");
    EXPECT_EQ(word(found[0], "previous"), "null");
}

TEST_P(ToldConformance, EventsOfBudgetsAreFoundByTheExecutionTheyCameOf) {
    auto op = graph({"a"}, {});
    op.nodes[0].execution.tags["team.name"] = "blue";
    const auto flow = ok(op);
    const ClaimedTask task = take(flow.nodes.at("a"));
    breach_budget(task);
    const auto by = [&](EventFilter filter) {
        ReadEvents read;
        read.family = EventFamily::budgets;
        read.cursor = EventCursor::earliest();
        read.filter = std::move(filter);
        return ok(read).events.size();
    };
    EXPECT_EQ(by({.ns = "acme"}), 1U);
    EXPECT_EQ(by({.ns = "other"}), 0U);
    EXPECT_EQ(by({.tag = std::pair<std::string, std::string>("team.name", "blue")}), 1U);
    EXPECT_EQ(by({.execution_id = task.execution_id()}), 1U);
    EXPECT_EQ(by({.flow_id = flow.flow_id}), 1U);
}

TEST_P(ToldConformance, ACursorBehindTheNewestEventIsRefused) {
    ReadEvents op;
    const EventCursor now = ok(op).next_cursor;
    op.cursor = now;
    EXPECT_TRUE(ok(op).at_end);
    op.cursor = EventCursor::at(now.store(), now.event_id() + 1);
    EXPECT_EQ(refused(op), "invalid_input");
    CreateWebhook hook;
    hook.url = "https://example.com/hook";
    hook.cursor = op.cursor;
    EXPECT_EQ(refused(hook), "invalid_input");
}

FF_ON_EVERY_ENGINE(ToldConformance);

}  // namespace ff::engine::test
