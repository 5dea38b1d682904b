// The SQLite store's settings as its own connections have them, and what it says of a log that a
// reader keeps from being copied.
#include <sqlite3.h>

#include <filesystem>
#include <future>
#include <thread>

#include "store/contract.h"
#include "store/sqlite_store.h"

namespace ff::store::test {
namespace {

namespace fs = std::filesystem;

/// Every connection that is opened while it lives. SQLite calls the hook from inside of opening.
class Connections {
  public:
    Connections() {
        all().clear();
        sqlite3_auto_extension(entry());
    }
    ~Connections() { sqlite3_cancel_auto_extension(entry()); }
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;

    [[nodiscard]] std::vector<sqlite3*> writing() const { return with(0); }
    [[nodiscard]] std::vector<sqlite3*> reading() const { return with(1); }

  private:
    static std::vector<sqlite3*>& all() {
        static std::vector<sqlite3*> handles;
        return handles;
    }
    static int note(sqlite3* db, char** /*error*/, const void* /*api*/) {
        all().push_back(db);
        return SQLITE_OK;
    }
    static void (*entry())() { return reinterpret_cast<void (*)()>(&note); }
    static std::vector<sqlite3*> with(int read_only) {
        std::vector<sqlite3*> out;
        for (sqlite3* db : all()) {
            if (sqlite3_db_readonly(db, "main") == read_only) {
                out.push_back(db);
            }
        }
        return out;
    }
};

std::string pragma(sqlite3* db, const std::string& name) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db, ("PRAGMA " + name).c_str(), -1, &statement, nullptr),
              SQLITE_OK);
    std::string value;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        value = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    return value;
}

class SqliteSettings : public testing::Test {
  protected:
    [[nodiscard]] std::string path() const { return folder_.file("store.db"); }
    std::unique_ptr<Store> open(EngineOptions options = {}) {
        options.warn = [this](std::string_view text) { warnings_.emplace_back(text); };
        auto store = open_sqlite("sqlite:" + path(), options);
        EXPECT_TRUE(store) << store.error().message();
        return store ? std::move(*store) : nullptr;
    }
    static Eid put_one(Store& store) {
        core::Route route;
        route.id = store.next_route_id();
        route.key = {"default", "acme", "job", ""};
        const core::Execution row = waiting(store.next_eid(t0), route.id);
        put(store, changes(route, row, input_of(row.eid)));
        return row.eid;
    }
    /// Commits until the log is longer than it should ever be.
    static void grow_log(Store& store, Eid eid) {
        auto attempt = attempt_of(eid, 0);
        for (int i = 0; i < 9; ++i) {
            attempt.result = std::string(8U << 20, static_cast<char>('a' + i));
            put(store, changes(attempt));
            store.maintain();
        }
    }

    std::vector<std::string> warnings_;

  private:
    TempDir folder_;
};

TEST_F(SqliteSettings, one_connection_writes_and_checkpoints_and_all_others_only_read) {
    const Connections connections;
    EngineOptions options;
    options.pool_size = 4;
    const auto store = open(options);
    ASSERT_EQ(connections.writing().size(), 1U);
    ASSERT_EQ(connections.reading().size(), 4U) << "one of them is for the writer's passes";
    for (sqlite3* db : connections.reading()) {
        EXPECT_EQ(pragma(db, "query_only"), "1");
        EXPECT_EQ(pragma(db, "wal_autocheckpoint"), "0");
    }
    EXPECT_EQ(pragma(connections.writing()[0], "wal_autocheckpoint"), "0") << "maintain() does it";
}

TEST_F(SqliteSettings, there_is_at_least_one_reader_beside_that_of_the_writer) {
    const Connections connections;
    EngineOptions options;
    options.pool_size = 1;
    const auto store = open(options);
    EXPECT_EQ(connections.reading().size(), 2U);
}

TEST_F(SqliteSettings, the_writer_has_a_log_foreign_keys_and_leaves_deleted_bytes) {
    const Connections connections;
    EngineOptions options;
    options.cache_mib = 7;
    const auto store = open(options);
    ASSERT_EQ(connections.writing().size(), 1U);
    sqlite3* db = connections.writing()[0];
    EXPECT_EQ(pragma(db, "journal_mode"), "wal");
    EXPECT_EQ(pragma(db, "foreign_keys"), "1");
    EXPECT_EQ(pragma(db, "secure_delete"), "0");
    EXPECT_EQ(pragma(db, "cache_size"), "-7168");
    // Not FULL: that would sync inside of the commit, where the next batch could not be decided
    // meanwhile. The store syncs the log itself before anybody is answered: sqlite_durability_test.
    EXPECT_EQ(pragma(db, "synchronous"), "1");
    EXPECT_EQ(store->info().durability, "full");
}

TEST_F(SqliteSettings, all_tables_are_strict) {
    const auto store = open();
    auto db = SqliteDb::open(path(), OpenMode::read_only, 1'000);
    ASSERT_TRUE(db);
    const std::string tables =
        "SELECT COUNT(*) FROM pragma_table_list WHERE schema = 'main' AND"
        " type = 'table' AND name NOT LIKE 'sqlite_%'";
    EXPECT_GT(std::stoi((*db)->scalar(tables).value_or("0")), 20);
    EXPECT_EQ((*db)->scalar(tables + " AND strict = 0").value_or("?"), "0");
}

TEST_F(SqliteSettings, memory_stores_have_no_log) {
    const Connections connections;
    auto store = open_sqlite(":memory:", {});
    ASSERT_TRUE(store);
    ASSERT_EQ(connections.writing().size(), 1U);
    EXPECT_EQ(pragma(connections.writing()[0], "journal_mode"), "memory");
    EXPECT_EQ(pragma(connections.writing()[0], "foreign_keys"), "1");
}

TEST_F(SqliteSettings, a_read_of_this_process_that_keeps_the_log_long_is_named_in_a_warning) {
    const auto store = open();
    const Eid eid = put_one(*store);
    std::promise<void> begun;
    std::promise<void> end;
    std::thread reader([&] {
        EXPECT_TRUE(store->read([&](Reader& r) -> expected<void> {
            EXPECT_TRUE(r.lanes("", 1));
            begun.set_value();
            end.get_future().wait();
            return {};
        }));
    });
    begun.get_future().wait();
    grow_log(*store, eid);
    end.set_value();
    reader.join();
    ASSERT_FALSE(warnings_.empty());
    EXPECT_NE(warnings_[0].find(path() + "-wal has grown to"), std::string::npos) << warnings_[0];
    EXPECT_NE(warnings_[0].find("a read of this process"), std::string::npos) << warnings_[0];
    EXPECT_LE(warnings_.size(), 2U) << "again only when the log is twice as long";
}

TEST_F(SqliteSettings, another_program_that_keeps_the_log_long_is_named_in_a_warning) {
    const auto store = open();
    const Eid eid = put_one(*store);
    auto other = SqliteDb::open(path(), OpenMode::read_only, 1'000);
    ASSERT_TRUE(other);
    ASSERT_TRUE((*other)->execute("BEGIN"));
    ASSERT_TRUE((*other)->scalar("SELECT COUNT(*) FROM ff_exec_core"));
    grow_log(*store, eid);
    ASSERT_FALSE(warnings_.empty());
    EXPECT_NE(warnings_[0].find("another program"), std::string::npos) << warnings_[0];
    const auto long_one = fs::file_size(path() + "-wal");
    EXPECT_GT(long_one, 64U << 20);
    ASSERT_TRUE((*other)->execute("COMMIT"));
    const std::size_t before = warnings_.size();
    grow_log(*store, eid);
    EXPECT_EQ(warnings_.size(), before) << "nobody holds it any more";
}

}  // namespace
}  // namespace ff::store::test
