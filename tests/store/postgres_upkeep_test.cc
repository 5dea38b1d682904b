// A store whose tables PostgreSQL believes to be empty, and sessions that made their plans then.
// Autovacuum is off for them: what is put right is put right by the store.
#include "store/postgres_upkeep.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/catalogue.h"
#include "store/postgres_fixture.h"
#include "store/postgres_internal.h"
#include "support/eventually.h"

namespace ff::store::test {
namespace {

class PostgresUpkeep : public Postgres {
  protected:
    void SetUp() override {
        Postgres::SetUp();
        if (IsSkipped()) {
            return;
        }
        store_ = open();
        route_ = make_route(*store_);
        for (const char* table : {"ff_exec_core", "ff_exec_tag", "ff_waitpoint"}) {
            tamper(std::string("ALTER TABLE ") + table + " SET (autovacuum_enabled = false)");
            tamper(std::string("VACUUM ") + table);
        }
        auto session = PgConnection::open(url_);
        ASSERT_TRUE(session) << session.error().message();
        session_ = std::move(*session);
        ASSERT_TRUE(session_->execute(std::string(plan_settings)));
    }

    /// Executions behind those there are, in transactions of a hundred.
    void make_executions(int count, const Tags& tags = {{"city", "Bergen"}, {"team", "blue"}}) {
        const Eid last = made_ + count;
        while (made_ < last) {
            core::Changes batch;
            for (int i = 0; i < 100 && made_ < last; ++i) {
                ++made_;
                add(batch, waiting(made_, route_));
                add(batch, input_of(made_, tags));
            }
            put(*store_, std::move(batch));
        }
    }
    std::string planner_knows(const std::string& table) {
        return ask("SELECT CAST(reltuples AS bigint) FROM pg_class WHERE oid = '" + table +
                   "'::regclass");
    }
    std::string times_analyzed(const std::string& table) {
        return ask("SELECT analyze_count FROM pg_stat_user_tables WHERE relid = '" + table +
                   "'::regclass");
    }
    void prepare(const std::string& name, const std::string& text) {
        const auto done = session_->execute("PREPARE " + name + " AS " + text);
        ASSERT_TRUE(done) << done.error().message();
    }
    std::string plan(const std::string& name, const std::string& values) {
        auto text = session_->scalar("EXPLAIN (COSTS OFF, FORMAT JSON) EXECUTE " + name + values);
        EXPECT_TRUE(text) << text.error().message();
        return text ? *text : "";
    }

    std::unique_ptr<PostgresStore> store_;
    RouteId route_ = 0;
    Eid made_ = 0;  ///< the last
    std::unique_ptr<PgConnection> session_;
};

TEST_F(PostgresUpkeep, a_table_that_has_outgrown_what_the_planner_knows_is_analyzed) {
    ASSERT_EQ(planner_knows("ff_exec_core"), "0");
    make_executions(1'000);
    // It may come by while rows are still being made.
    EXPECT_TRUE(support::eventually([&] { return planner_knows("ff_exec_core") != "0"; }));
    EXPECT_TRUE(support::eventually([&] { return planner_knows("ff_exec_tag") != "0"; }));
    EXPECT_EQ(times_analyzed("ff_waitpoint"), "0");
}

// Whenever ff_ready is vacuumed while it is empty, the planner takes it for empty again.
TEST_F(PostgresUpkeep, a_queue_that_fills_and_empties_keeps_no_other_table_waiting) {
    make_executions(1'000, {});
    const auto outgrow = [&] {
        if (planner_knows("ff_ready") != "0") {
            tamper("UPDATE pg_class SET reltuples = 0 WHERE oid = 'ff_ready'::regclass");
        }
        make_executions(1, {});  // what is written makes it look
    };
    for (int turn = 0; turn < 3; ++turn) {
        const std::string before = times_analyzed("ff_ready");
        EXPECT_TRUE(support::eventually([&] {
            outgrow();
            return times_analyzed("ff_ready") != before;
        }));
    }
    ASSERT_EQ(planner_knows("ff_exec_tag"), "0");
    make_executions(1'000);
    EXPECT_TRUE(support::eventually([&] {
        outgrow();
        return planner_knows("ff_exec_tag") != "0";
    }));
}

TEST_F(PostgresUpkeep, plans_of_the_time_when_a_table_was_empty_are_made_anew) {
    const std::string values = "('', '', 0, 9, 9, '', '')";
    prepare("list", sql::tagged_too.newest_first);
    const std::string before = plan("list", values);
    if (!before.contains("Join Filter")) {
        GTEST_SKIP() << "this server's plan for empty tables is good for full ones: " << before;
    }
    make_executions(1'000);
    EXPECT_TRUE(support::eventually([&] {
        const std::string now = plan("list", values);
        return now.contains("(eid = ") && !now.contains("Join Filter");
    })) << "at first\n"
        << before << "\nnow\n"
        << plan("list", values);
}

}  // namespace
}  // namespace ff::store::test
