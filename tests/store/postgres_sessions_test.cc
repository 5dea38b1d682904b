// How a PostgreSQL store is opened beside others, what its sessions remember and whom it tells.
#include "store/postgres_fixture.h"

#include <algorithm>
#include <future>

#include "store/postgres_keeper.h"

namespace ff::store::test {
namespace {

class PostgresSessions : public Postgres {};

TEST_F(PostgresSessions, openers_of_a_role_with_its_own_isolation_migrate_once) {
    const std::string url = url_ + "%20-cdefault_transaction_isolation%3Dserializable";
    std::vector<std::future<expected<std::unique_ptr<PostgresStore>>>> openers;
    for (int i = 0; i < 4; ++i) {
        openers.push_back(std::async(std::launch::async, [url] { return open_at(url); }));
    }
    for (auto& opener : openers) {
        auto store = opener.get();
        EXPECT_TRUE(store) << store.error().message();
    }
}

TEST_F(PostgresSessions, a_migration_elsewhere_in_the_database_is_not_waited_for) {
    auto other = PgConnection::open(support::postgres_store(folder_.file("other")));
    ASSERT_TRUE(other) << other.error().message();
    ASSERT_TRUE((*other)->execute((*other)->begin_migration()));
    auto store = open_at(url_ + "%20-clock_timeout%3D2000");
    EXPECT_TRUE(store) << store.error().message();
}

TEST_F(PostgresSessions, names_that_another_program_uses_are_refused_and_nothing_is_made) {
    auto db = PgConnection::open(url_);
    ASSERT_TRUE(db) << db.error().message();
    const auto tables = [&] {
        return *(*db)->scalar(
            "SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'v')");
    };
    ASSERT_TRUE((*db)->execute("CREATE TABLE ff_flow (id int)"));
    const auto taken = open_at(url_);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::store_open_failed);
    EXPECT_NE(taken.error().detail.find("holds ff_flow of another"), std::string::npos)
        << taken.error().detail;
    EXPECT_EQ(tables(), "1");
    ASSERT_TRUE(
        (*db)->execute("DROP TABLE ff_flow; CREATE TABLE ff_schema_migration (id int, name text)"));
    const auto foreign = open_at(url_);
    ASSERT_FALSE(foreign);
    const auto read = known_schema_version(**db);
    ASSERT_FALSE(read);
    for (const Error& error : {foreign.error(), read.error()}) {
        EXPECT_NE(error.detail.find("migration of another"), std::string::npos) << error.detail;
    }
    EXPECT_EQ(tables(), "1");
    ASSERT_TRUE((*db)->execute("DROP TABLE ff_schema_migration; CREATE TABLE river_job (id int)"));
    EXPECT_NE(open(), nullptr);  // an application may keep its own beside
}

TEST_F(PostgresSessions, a_store_that_is_not_where_new_tables_go_is_refused) {
    open();
    const std::string schema = url_.substr(url_.rfind("%3D") + 3);
    support::run_on_postgres("CREATE SCHEMA before_" + schema);
    std::string url = url_;
    url.replace(url.rfind(schema), schema.size(), "before_" + schema + "," + schema);
    const auto refused = open_at(url);
    ASSERT_FALSE(refused);
    const Error error = refused.error();
    EXPECT_EQ(error.code, ErrorCode::store_open_failed);
    EXPECT_NE(error.detail.find("a store in the schema " + schema), std::string::npos)
        << error.detail;
    EXPECT_NE(error.detail.find("goes into before_" + schema), std::string::npos) << error.detail;
}

TEST_F(PostgresSessions, a_session_does_not_remember_every_text_there_ever_was) {
    auto connection = PgConnection::open(url_);
    ASSERT_TRUE(connection);
    std::size_t most = 0;
    for (int i = 0; i < 1'200; ++i) {
        (*connection)->queue("SELECT " + std::to_string(i));
        auto rows = (*connection)->run_queued();
        ASSERT_TRUE(rows) << rows.error().message();
        ASSERT_TRUE(rows->back().next());
        EXPECT_EQ(rows->back().integer(), i);
        most = std::max(most, (*connection)->prepared());
    }
    EXPECT_LT(most, 600U);
    EXPECT_LT(std::stoi(*(*connection)->scalar("SELECT count(*) FROM pg_prepared_statements")),
              600);
}

/// What is heard on a store's channel.
class Channel {
  public:
    explicit Channel(const std::string& url) : connection_(std::move(*PgConnection::open(url))) {
        EXPECT_TRUE(connection_->execute("LISTEN " + *PgKeeper::channel_of(*connection_)));
    }
    /// How many have said that they wrote something, once somebody has said `until`.
    int rows_until(const std::string& until) {
        for (int count = 0;;) {
            const auto word = connection_->next_notification(20'000, -1);
            EXPECT_TRUE(word && *word) << "nobody said it";
            if (!word || !*word || **word == until) {
                return count;
            }
            count += (*word)->ends_with(PgKeeper::rows_only) ? 1 : 0;
        }
    }
    void say(const std::string& word) {
        EXPECT_TRUE(connection_->execute(
            "SELECT pg_notify('" + *PgKeeper::channel_of(*connection_) + "', '" + word + "')"));
    }

  private:
    std::unique_ptr<PgConnection> connection_;
};

TEST_F(PostgresSessions, rows_are_told_of_after_the_last_commit_but_not_with_each) {
    for (const auto notify : {EngineOptions::Notify::automatic, EngineOptions::Notify::off}) {
        EngineOptions options;
        options.notify = notify;
        auto store = open(options);
        Channel channel(url_);
        constexpr int commits = 60;
        core::Route route;
        route.id = store->next_route_id();
        route.key = {std::to_string(static_cast<int>(notify)), "acme", "job", ""};
        put(*store, changes(route));
        const core::Execution ended_before =
            ended(store->next_eid(t0), route.id, TerminalOutcome::success, t0);
        channel.say("begin");
        channel.rows_until("begin");
        for (int i = 0; i < commits; ++i) {
            put(*store,
                changes(ended_before, event_of(ended_before, core::LeaseEventType::released)));
        }
        store.reset();
        channel.say("end");
        const int told = channel.rows_until("end");
        EXPECT_GE(told, 1);
        EXPECT_LT(told, commits);
    }
}

}  // namespace
}  // namespace ff::store::test
