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
    CancelFlow cancel;
    cancel.flow_id = flow.flow_id;
    cancel.reason = "unwanted";
    cancel.cancellation_policy = CancellationPolicy::cancel_all;
    ok(cancel);
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
          "webhook_created", "webhook_paused", "webhook_deleted", "lease_revoked", "replayed"}) {
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
