// The VFS that writes a commit's frames at once: SQLite must not be able to tell.
#include "store/log_vfs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "store/contract.h"
#include "store/sqlite_db.h"

namespace ff::store {
namespace {

namespace fs = std::filesystem;

class LogVfs : public ::testing::Test {
  protected:
    void SetUp() override {
        db_ = open(path_, OpenMode::write_at_once);
        ASSERT_NE(db_, nullptr);
        run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;"
            "CREATE TABLE t (n INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    }

    static std::unique_ptr<SqliteDb> open(const std::string& path, OpenMode mode) {
        auto db = SqliteDb::open(path, mode, 1'000);
        EXPECT_TRUE(db) << db.error().message();
        return db ? std::move(*db) : nullptr;
    }
    void run(const std::string& text) {
        const auto done = db_->execute(text);
        ASSERT_TRUE(done) << done.error().message();
    }
    /// So many rows of about a page each.
    void add(int rows) {
        run("WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < " +
            std::to_string(rows) + ") INSERT INTO t (body) SELECT hex(randomblob(1900)) FROM k");
    }
    static std::string digest(SqliteDb& db) {
        auto value = db.scalar(
            "SELECT count(*) || ' ' || total(n) || ' ' || "
            "total(unicode(substr(body, 1 + n % 3000))) FROM t");
        EXPECT_TRUE(value) << value.error().message();
        return value.value_or("");
    }
    /// What the files alone hold: as found after the process was killed here.
    std::string digest_of_files() {
        const std::string copy = folder_.path() + "/copy.db";
        fs::copy_file(path_, copy, fs::copy_options::overwrite_existing);
        fs::copy_file(path_ + "-wal", copy + "-wal", fs::copy_options::overwrite_existing);
        auto db = open(copy, OpenMode::write);
        EXPECT_EQ(db->scalar("PRAGMA integrity_check").value_or(""), "ok");
        return digest(*db);
    }
    void expect_in_files() {
        const std::string own = digest(*db_);
        EXPECT_EQ(digest(*open(path_, OpenMode::read_only)), own);
        EXPECT_EQ(digest_of_files(), own);
    }
    /// System calls that wrote, made by this thread; nothing where the kernel does not count them.
    static std::optional<long> writes() {
        std::ifstream in("/proc/thread-self/io");
        for (std::string word; in >> word;) {
            if (long count = 0; word == "syscw:" && in >> count) {
                return count;
            }
        }
        return std::nullopt;
    }

    test::TempDir folder_;
    const std::string path_ = folder_.path() + "/t.db";
    std::unique_ptr<SqliteDb> db_;
};

TEST_F(LogVfs, a_commit_is_in_the_file_when_it_returns) {
    for (int rows : {1, 2, 15, 16, 31, 32, 33, 100}) {  // 16 pages are one write, 32 make 128 KiB
        SCOPED_TRACE(rows);
        add(rows);
        expect_in_files();
    }
}

TEST_F(LogVfs, a_commit_larger_than_is_held_back) {
    add(1'000);
    expect_in_files();
    run("UPDATE t SET body = hex(randomblob(1900)) WHERE n % 2 = 0");
    expect_in_files();
}

TEST_F(LogVfs, a_transaction_that_spills_reads_its_own_pages) {
    run("PRAGMA cache_size = 10; BEGIN");
    add(200);
    const std::string inside = digest(*db_);
    run("UPDATE t SET body = lower(body) WHERE n % 3 = 0");
    run("COMMIT");
    EXPECT_NE(inside, "0 0.0 0.0");
    expect_in_files();
}

TEST_F(LogVfs, what_is_rolled_back_after_a_spill_is_gone) {
    add(5);
    const std::string before = digest(*db_);
    run("PRAGMA cache_size = 10; BEGIN");
    add(200);
    run("ROLLBACK");
    EXPECT_EQ(digest(*db_), before);
    add(1);
    expect_in_files();
}

TEST_F(LogVfs, savepoints_that_rewrite_spilled_pages) {
    run("PRAGMA cache_size = 10; BEGIN");
    add(100);
    run("SAVEPOINT a");
    add(100);
    run("ROLLBACK TO a");
    add(50);
    run("UPDATE t SET body = lower(body)");
    run("COMMIT");
    expect_in_files();
}

TEST_F(LogVfs, the_log_begins_anew_after_a_checkpoint) {
    for (int round = 0; round < 5; ++round) {
        add(20);
        run("PRAGMA wal_checkpoint(PASSIVE)");
        add(1);
        expect_in_files();
    }
    run("PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_EQ(fs::file_size(path_ + "-wal"), 0U);
    add(3);
    expect_in_files();
}

TEST_F(LogVfs, a_commit_of_many_pages_is_one_write) {
    add(1);
    const auto before = writes();
    if (!before) {
        GTEST_SKIP() << "this kernel does not count system calls";
    }
    add(12);
    EXPECT_LE(*writes() - *before, 4);  // 12 rows on 13 pages or so: more than 20 without it
}

}  // namespace
}  // namespace ff::store
