// The views spell out what the tables keep as numbers and bytes.
#include "store/views.h"

#include <map>

#include "store/contract.h"
#include "store/sqlite_db.h"

namespace ff::store::test {
namespace {

using core::Execution;

class Views : public testing::Test {
  protected:
    void SetUp() override {
        auto opened = open_sqlite("sqlite:" + folder_.file("store.db"));
        ASSERT_TRUE(opened) << opened.error().message();
        store_ = std::move(*opened);
        core::Route row;
        row.id = store_->next_route_id();
        row.key = {"gpu", "acme", "render", "cuda"};
        put(*store_, changes(row));
    }
    Store& store() { return *store_; }
    /// `SELECT expression FROM rest`, which must give one value.
    std::string ask(const std::string& expression, const std::string& rest) {
        auto db = SqliteDb::open(folder_.file("store.db"), OpenMode::read_only, 1'000);
        EXPECT_TRUE(db) << db.error().message();
        auto value = (*db)->scalar("SELECT " + expression + " FROM " + rest);
        EXPECT_TRUE(value) << value.error().message();
        return value.value_or("");
    }

  private:
    TempDir folder_;
    std::unique_ptr<Store> store_;
};

TEST_F(Views, ids_are_spelled_as_the_product_spells_them) {
    for (const std::uint16_t partition :
         std::vector<std::uint16_t>{0, 1, 9, 10, 255, 256, 4'660, 65'535}) {
        Execution row = waiting(store().next_eid(t0), 1);
        row.id = {partition, *Uuid::parse("0f8fad5b-d9cb-469f-a165-70867728950e")};
        auto attempt = attempt_of(row.eid, 0);
        attempt.attempt_id.uuid = uuid_of(0xfedcba9876543210);
        put(store(), changes(row, input_of(row.eid), attempt));
        const std::string of = " WHERE eid = " + std::to_string(row.eid);
        EXPECT_EQ(ask("execution_id", "ff_executions" + of), row.id.to_string());
        EXPECT_EQ(
            ask("attempt_id", "ff_attempts WHERE execution_id = '" + row.id.to_string() + "'"),
            attempt.attempt_id.to_string());
    }
}

TEST_F(Views, every_state_is_a_word) {
    const auto check = [&]<class E>(const std::string& column, E StateVector::* member) {
        for (std::size_t i = 0; i < enum_count<E>; ++i) {
            Execution row = waiting(store().next_eid(t0), 1);
            row.state.*member = static_cast<E>(i);
            put(store(), changes(row, input_of(row.eid)));
            EXPECT_EQ(ask(column, "ff_executions WHERE eid = " + std::to_string(row.eid)),
                      enum_names<E>[i]);
        }
    };
    check("lifecycle_phase", &StateVector::phase);
    check("ownership_state", &StateVector::ownership);
    check("eligibility_state", &StateVector::eligibility);
    check("blocking_reason", &StateVector::blocking_reason);
    check("terminal_outcome", &StateVector::outcome);
    check("attempt_state", &StateVector::attempt_state);
    Execution row = waiting(store().next_eid(t0), 1);
    row.public_state = PublicState::rate_limited;
    put(store(), changes(row, input_of(row.eid)));
    EXPECT_EQ(ask("public_state", "ff_executions WHERE eid = " + std::to_string(row.eid)),
              "rate_limited");
}

TEST_F(Views, an_execution_shows_its_route_its_input_and_its_rare_members) {
    Execution row = full_execution(store().next_eid(t0), 1);
    put(store(), changes(row, full_input(row.eid)));
    const std::map<std::string, std::string> expected{
        {"namespace", "acme"},
        {"lane_id", "gpu"},
        {"execution_kind", "render"},
        {"priority", "8999"},
        {"worker_id", "worker"},
        {"policy", R"({"priority":3})"},
        {"json_extract(tags, '$.city')", "東京"},
        {"blocking_detail", *row.blocking_detail},
        {"replay_count", "7"},
        {"lease_reclaim_count", "8"},
        {"progress_percent", "20"},
        {"progress_message", *row.progress_message},
        {"failure_reason", "failed"},
        {"failure_category", "category"},
        {"cancellation_reason", "cancelled"},
        {"cancelled_by", "operator"},
        {"created_at", std::to_string(row.created_at)},
        {"flow_id", row.flow_id->to_string()},
        {"flow_node", "node"},
    };
    for (const auto& [column, value] : expected) {
        EXPECT_EQ(ask(column, "ff_executions"), value) << column;
    }
}

TEST_F(Views, attempts_are_words) {
    const Execution row = waiting(store().next_eid(t0), 1);
    put(store(), changes(row, full_attempt(row.eid, 3)));
    EXPECT_EQ(ask("attempt_type", "ff_attempts WHERE attempt_index = 3"), "reclaim");
    EXPECT_EQ(ask("attempt_state", "ff_attempts WHERE attempt_index = 3"), "interrupted_reclaimed");
}

TEST_F(Views, events_stand_in_the_views_of_their_families) {
    const Execution row = waiting(store().next_eid(t0), 1);
    auto completion = event_of(row, core::LeaseEventType::none);
    completion.outcome = TerminalOutcome::cancelled;
    put(store(), changes(row, event_of(row, core::LeaseEventType::reclaimed), completion,
                         full_event(row.eid, 1)));
    EXPECT_EQ(ask("group_concat(event_id)", "ff_lease_event"), "1,3");
    EXPECT_EQ(ask("group_concat(event_id)", "ff_completion_event"), "2,3");
    EXPECT_EQ(ask("event", "ff_lease_event"), "reclaimed");
    EXPECT_EQ(ask("outcome", "ff_completion_event"), "cancelled");
    EXPECT_EQ(ask("execution_id", "ff_lease_event"), row.id.to_string());
    EXPECT_EQ(ask("lane_id", "ff_completion_event"), "gpu");

    core::LogEvent worker;
    worker.family = core::LogFamily::workers;
    worker.type = "registered";
    put(store(), changes(log_event_of(row, core::LogFamily::signal_delivery),
                         log_event_of(row, core::LogFamily::operator_), worker));
    EXPECT_EQ(ask("COUNT(*) || execution_id", "ff_signal_event"), "1" + row.id.to_string());
    EXPECT_EQ(ask("COUNT(*) || type", "ff_operator_event"), "1noted");
    EXPECT_EQ(ask("COUNT(*) || type", "ff_worker_registry_event"), "1registered");
    EXPECT_EQ(ask("execution_id IS NULL", "ff_worker_registry_event"), "1");

    core::LogEvent sealed;
    sealed.family = core::LogFamily::flows;
    sealed.type = "sealed";
    sealed.flow_id = flow_id_of(3);
    put(store(), changes(sealed));
    EXPECT_EQ(ask("COUNT(*) || flow_id", "ff_flow_event"), "1" + flow_id_of(3).to_string());
}

TEST_F(Views, flows_edges_and_groups_are_words) {
    put(store(), changes(full_flow(1), full_edge(1, 7, 1, 2), full_group(1, 2), flow_of(2),
                         edge_of(2, 8, 3, 4)));
    const std::string flow = flow_id_of(1).to_string();
    const std::string of = " WHERE flow_id = '" + flow + "'";
    EXPECT_EQ(ask("public_flow_state || on_member_failure || cancellation_policy", "ff_flows" + of),
              "cancelledcancel_restcancel_pending");
    EXPECT_EQ(ask("live_members || flow_kind || cancel_reason", "ff_flows" + of),
              "6pipelineno longer wanted");
    EXPECT_EQ(ask("on_member_failure", "ff_flows WHERE public_flow_state = 'open'"), "continue");
    EXPECT_EQ(ask("cancellation_policy IS NULL", "ff_flows WHERE public_flow_state = 'open'"), "1");
    EXPECT_EQ(ask("edge_id", "ff_edges" + of), uuid_of(7).to_string());
    EXPECT_EQ(ask("upstream_execution_id || downstream_execution_id", "ff_edges" + of),
              id_of(1).to_string() + id_of(2).to_string());
    EXPECT_EQ(ask("dependency_kind || edge_state || dependency_state || resolved_outcome",
                  "ff_edges" + of),
              "alwaysappliedimpossiblefailed");
    EXPECT_EQ(ask("edge_state || (dependency_state IS NULL)", "ff_edges WHERE condition IS NULL"),
              "pending1");
    EXPECT_EQ(ask("policy || k || on_satisfied || group_state", "ff_edge_groups" + of),
              "quorum2cancel_remainingsatisfied");
    EXPECT_EQ(ask("downstream_execution_id", "ff_edge_groups" + of), id_of(2).to_string());
}

TEST_F(Views, waits_are_words_and_keep_their_secrets) {
    put(store(), changes(waiting(1, 1), input_of(1), full_suspension(1, 1), full_waitpoint(1, 7),
                         full_signal(1, 3, 7), full_key("k1")));
    EXPECT_EQ(ask("execution_id || suspension_id", "ff_suspensions"),
              id_of(1).to_string() + full_suspension(1, 1).id.to_string());
    EXPECT_EQ(ask("requested_by || timeout_behavior || resume_trigger", "ff_suspensions"),
              "system_timeout_policyfailsignal");
    EXPECT_EQ(ask("closer_signal_id", "ff_suspensions"), uuid_of(9).to_string());
    EXPECT_EQ(ask("waitpoint_id || execution_id || waitpoint_state", "ff_waitpoints"),
              uuid_of(7).to_string() + id_of(1).to_string() + "active");
    EXPECT_EQ(ask("signal_id || waitpoint_id || execution_id", "ff_signals"),
              uuid_of(3).to_string() + uuid_of(7).to_string() + id_of(1).to_string());
    EXPECT_EQ(ask("target_scope || observed_effect", "ff_signals"),
              "waitpointbuffered_for_pending_waitpoint");
    EXPECT_EQ(ask("kid || is_current", "ff_waitpoint_hmac"), "k11");
    const std::string views = view_statements(Dialect::sqlite);
    EXPECT_EQ(views.find("secret"), std::string::npos);
    EXPECT_EQ(views.find("token,"), std::string::npos);
}

TEST_F(Views, streams_and_frames_are_words) {
    const core::StreamKey key{1, 2};
    put(store(), changes(waiting(1, 1), input_of(1), full_stream(key), full_stream({1, 0}),
                         full_frame(key, 7), full_summary(key)));
    const std::string of = " WHERE attempt_index = 2";
    EXPECT_EQ(ask("execution_id", "ff_streams" + of), id_of(1).to_string());
    EXPECT_EQ(ask("last_frame_id", "ff_streams" + of), full_stream(key).last.to_string());
    EXPECT_EQ(ask("summary_version || summary", "ff_streams" + of), R"(3{"a":1})");
    EXPECT_EQ(ask("COUNT(*) || (summary IS NULL)", "ff_streams WHERE attempt_index = 0"), "11");
    EXPECT_EQ(ask("execution_id || frame_id", "ff_stream_frames"),
              id_of(1).to_string() + full_frame(key, 7).key.id.to_string());
    EXPECT_EQ(ask("mode || frame_type || correlation_id || ttl_ms", "ff_stream_frames"),
              "best_effortlogc5000");
}

TEST_F(Views, the_other_dialect_has_the_same_views) {
    const auto names = [](const std::string& text) {
        std::vector<std::string> out;
        for (std::size_t at = text.find("CREATE VIEW "); at != std::string::npos;
             at = text.find("CREATE VIEW ", at + 1)) {
            out.push_back(text.substr(at, text.find(" AS ", at) - at));
        }
        return out;
    };
    const auto sqlite = names(view_statements(Dialect::sqlite));
    EXPECT_EQ(sqlite.size(), 18U);
    EXPECT_EQ(names(view_statements(Dialect::postgres)), sqlite);
}

}  // namespace
}  // namespace ff::store::test
