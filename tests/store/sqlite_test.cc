// The SQLite store as a file: its rights, its lock, what it refuses to open, what it brings along.
#include "store/sqlite_store.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <thread>

#include "store/file_lock.h"
#include "store/sqlite_fixture.h"
#include "store/sqlite_reader.h"
#include "store/store_file.h"

namespace ff::store::test {
namespace {

namespace fs = std::filesystem;
using core::Execution;

/// Runs `body` in a process of its own; its text comes back when it ends.
std::string in_child(const std::function<std::string()>& body) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        const std::string text = body();
        const ssize_t written = write(ends[1], text.data(), text.size());
        _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 512> piece{};
    for (ssize_t n = 0; (n = read(ends[0], piece.data(), piece.size())) > 0;) {
        text.append(piece.data(), static_cast<std::size_t>(n));
    }
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return text;
}

/// A process that owns a store with one execution in it, until it is killed.
class Owner {
  public:
    explicit Owner(const std::string& path) {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe(ends.data()), 0);
        pid_ = fork();
        if (pid_ == 0) {
            auto store = open_sqlite(path);
            if (!store) {
                _exit(1);
            }
            put_one(**store);
            if (write(ends[1], "y", 1) != 1) {
                _exit(1);
            }
            for (;;) {
                pause();
            }
        }
        close(ends[1]);
        char ready = 0;
        EXPECT_EQ(read(ends[0], &ready, 1), 1) << "the child could not open the store";
        close(ends[0]);
    }
    ~Owner() { kill_now(); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    void kill_now() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
            pid_ = 0;
        }
    }
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = 0;
};

std::string host() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

// ------------------------------------------------------------------------------------- the files

TEST_F(SqliteFile, all_files_are_for_their_owner_only) {
    const mode_t before = umask(0);
    auto store = open();
    umask(before);
    put_one(*store);
    for (const std::string end : {"", "-wal", "-shm", "-lock"}) {
        struct stat status{};
        ASSERT_EQ(stat((path() + end).c_str(), &status), 0) << end;
        EXPECT_EQ(status.st_mode & 0777U, 0600U) << end;
    }
}

TEST_F(SqliteFile, says_what_it_is) {
    const auto store = open();
    EXPECT_EQ(store->info().family, "sqlite");
    EXPECT_EQ(store->info().backend, BackendTag::sqlite);
    EXPECT_EQ(store->info().version, sqlite3_libversion());
    EXPECT_EQ(store->info().durability, "full");
    EXPECT_EQ(store->info().location, path());
}

TEST_F(SqliteFile, closing_brings_everything_into_one_file) {
    auto store = open();
    const Execution row = put_one(*store);
    store.reset();
    EXPECT_FALSE(fs::exists(path() + "-wal"));
    EXPECT_EQ(ask(path(), "SELECT COUNT(*) FROM ff_exec_core"), "1");
    EXPECT_EQ(ask(path(), "PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteFile, opening_again_finds_rows_routes_and_numbers) {
    auto store = open();
    const Execution row = put_one(*store);
    put(*store, changes(event_of(row, core::LeaseEventType::acquired), full_worker(),
                        idempotency_of("acme", "key", row.id, t0)));
    store.reset();
    store = open();
    EXPECT_EQ(find_execution(*store, row.eid)->id, row.id);
    EXPECT_NE(store->routes().find(core::RouteKey{"default", "acme", "job", ""}), nullptr);
    EXPECT_EQ(find_worker(*store, full_worker().key), full_worker());
    EXPECT_TRUE(find_idempotency(*store, {"acme", "key"}));
    EXPECT_EQ(store->next_eid(t0), row.eid + 1);
    EXPECT_EQ(store->next_route_id(), row.route + 1);
    put(*store, changes(event_of(row, core::LeaseEventType::renewed)));
    const auto events = look(*store, [](Reader& r) { return r.events_after(0, 9); });
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1].event_id, 2);
}

TEST_F(SqliteFile, the_log_stays_bounded) {
    auto store = open();
    const Execution row = put_one(*store);
    auto attempt = attempt_of(row.eid, 0);
    for (int i = 0; i < 300; ++i) {
        attempt.result = std::string(64 << 10, static_cast<char>(i));
        put(*store, changes(attempt));
        store->maintain();
    }
    EXPECT_LT(fs::file_size(path() + "-wal"), 8U << 20);
    EXPECT_EQ(look(*store, [&](Reader& r) { return r.attempt(row.eid, 0); }), attempt);
}

TEST_F(SqliteFile, the_writers_thread_reads_though_all_threads_of_reads_are_busy) {
    EngineOptions options;
    options.pool_size = 2;  // one thread of reads
    const auto store = open(options);
    put_one(*store);
    std::promise<void> reads;
    std::promise<void> end;
    std::thread long_read([&] {
        EXPECT_TRUE(store->read([&](Reader&) -> expected<void> {
            reads.set_value();
            end.get_future().wait();
            return {};
        }));
    });
    reads.get_future().wait();
    EXPECT_EQ(look(*store, [](Reader& r) { return r.newest(99, 9); }).size(), 1U);
    end.set_value();
    long_read.join();
}

TEST_F(SqliteFile, a_log_that_a_long_read_made_grow_is_given_back) {
    const auto store = open();
    auto attempt = attempt_of(put_one(*store).eid, 0);
    ASSERT_TRUE(store->read([&](Reader&) -> expected<void> {
        for (int i = 0; i < 10; ++i) {
            attempt.result = std::string(8U << 20, static_cast<char>('a' + i));
            put(*store, changes(attempt));
        }
        return {};
    }));
    EXPECT_GT(fs::file_size(path() + "-wal"), 70U << 20);
    store->maintain();
    attempt.result = "small";
    put(*store, changes(attempt));
    EXPECT_LE(fs::file_size(path() + "-wal"), 64U << 20);
}

TEST_F(SqliteFile, opening_copies_what_a_predecessor_left_in_the_log) {
    Owner owner(path());
    owner.kill_now();
    ASSERT_GT(fs::file_size(path() + "-wal"), 0U);
    const auto store = open();
    const std::string alone = folder() + "/alone.db";
    fs::copy_file(path(), alone);
    EXPECT_EQ(ask(alone, "SELECT COUNT(*) FROM ff_exec_core"), "1");
}

TEST_F(SqliteFile, a_log_that_somebody_reads_is_not_copied_after_every_batch) {
    const auto store = open();
    auto attempt = attempt_of(put_one(*store).eid, 0);
    attempt.result = std::string(8U << 20, 'x');
    put(*store, changes(attempt));
    // Two readers, each in its turn, so that there is one all the time.
    std::array<std::promise<void>, 2> reads;
    std::array<std::promise<void>, 2> ends;
    std::array<std::thread, 2> readers;
    const auto read = [&](std::size_t i) {
        readers[i] = std::thread([&, i] {
            EXPECT_TRUE(store->read([&](Reader&) -> expected<void> {
                reads[i].set_value();
                ends[i].get_future().wait();
                return {};
            }));
        });
        reads[i].get_future().wait();
    };
    read(0);
    store->maintain();  // copies all of it
    const auto before = fs::last_write_time(path());
    attempt.result = "y";
    put(*store, changes(attempt));
    read(1);
    ends[0].set_value();
    readers[0].join();
    store->maintain();
    EXPECT_TRUE(fs::last_write_time(path()) == before);
    ends[1].set_value();
    readers[1].join();
}

// -------------------------------------------------------------------------------------- the lock

TEST_F(SqliteFile, a_second_process_is_told_who_has_the_store) {
    Owner owner(path());
    expect_refused(ErrorCode::store_in_use,
                   {path(), "process " + std::to_string(owner.pid()) + " on " + host()});
    EXPECT_EQ(FileLock::owner_of(path()),
              "process " + std::to_string(owner.pid()) + " on " + host());
}

TEST_F(SqliteFile, the_lock_dies_with_its_process_and_the_rows_stay) {
    Owner owner(path());
    owner.kill_now();
    EXPECT_EQ(FileLock::owner_of(path()), "");
    auto store = open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(look(*store, [](Reader& r) { return r.newest(99, 9); }).size(), 1U);
    EXPECT_EQ(FileLock::owner_of(path()), "process " + std::to_string(getpid()) + " on " + host());
    store.reset();
    EXPECT_EQ(FileLock::owner_of(path()), "");
    EXPECT_EQ(FileLock::owner_of(folder() + "/none.db"), "");
}

TEST_F(SqliteFile, a_read_only_connection_works_beside_the_owner) {
    Owner owner(path());
    auto db = SqliteDb::open(path(), OpenMode::read_only, 1'000);
    ASSERT_TRUE(db) << db.error().message();
    SqliteReader reader(**db);
    const auto rows = reader.newest(99, 9);
    ASSERT_TRUE(rows) << rows.error().message();
    EXPECT_EQ(rows->size(), 1U);
    EXPECT_FALSE((*db)->execute("DELETE FROM ff_exec_core"));
}

TEST_F(SqliteFile, a_read_only_connection_works_without_an_owner) {
    auto store = open();
    put_one(*store);
    store.reset();
    EXPECT_EQ(ask(path(), "SELECT COUNT(*) FROM ff_executions"), "1");
}

// A process loses all its locks on a file when it closes any descriptor of it.
TEST_F(SqliteFile, a_refused_second_opening_does_not_cost_the_first_its_locks) {
    auto store = open();
    put_one(*store);
    expect_refused(ErrorCode::store_in_use, {"process " + std::to_string(getpid())});
    const std::string held = in_child([&] {
        const int fd = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
        struct flock lock{};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? "held" : "lost";
    });
    EXPECT_EQ(held, "held");
    put(*store, changes(core::Lane{"x", LaneState::active, t0}));
}

// The lock file stays behind when its owner stops, so people take it for rubbish.
TEST_F(SqliteFile, a_removed_lock_file_lets_nobody_in) {
    Owner owner(path());
    fs::remove(path() + "-lock");
    expect_refused(ErrorCode::store_in_use, {path(), "-lock was removed"});
    expect_refused(ErrorCode::store_in_use, {path()});
    owner.kill_now();
    auto store = open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(look(*store, [](Reader& r) { return r.newest(99, 9); }).size(), 1U);
}

// SQLite finds its log by the name of the database: two names would have two logs.
TEST_F(SqliteFile, a_store_with_several_names_is_refused) {
    open().reset();
    const std::string other = folder() + "/other.db";
    fs::create_hard_link(path(), other);
    expect_refused(ErrorCode::store_open_failed, {path(), "hard links"});
    expect_refused(open_sqlite("sqlite:" + other), ErrorCode::store_open_failed, {"hard links"});
    fs::remove(other);
    EXPECT_NE(open(), nullptr);
}

TEST_F(SqliteFile, a_link_to_a_store_is_that_store) {
    const std::string link = folder() + "/link.db";
    fs::create_symlink("store.db", link);  // leads nowhere yet
    auto store = open_sqlite("sqlite:" + link);
    ASSERT_TRUE(store) << store.error().message();
    const Execution row = put_one(**store);
    expect_refused(ErrorCode::store_in_use, {});
    store->reset();
    store = open();
    expect_refused(open_sqlite("sqlite:" + link), ErrorCode::store_in_use, {});
    EXPECT_TRUE(find_execution(**store, row.eid));
    store->reset();
    store = open_sqlite("sqlite:" + link);
    ASSERT_TRUE(store);
    EXPECT_TRUE(find_execution(**store, row.eid));
}

// ---------------------------------------------------------------------------- what it refuses

TEST_F(SqliteFile, a_missing_folder_is_refused) {
    expect_refused(open_sqlite("sqlite:" + folder() + "/none/store.db"),
                   ErrorCode::store_open_failed,
                   {"the folder " + folder() + "/none does not exist", "create it"});
}

TEST_F(SqliteFile, a_pipe_is_refused_and_not_waited_for) {
    const std::string pipe = folder() + "/pipe.db";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    expect_refused(open_sqlite("sqlite:" + pipe), ErrorCode::store_open_failed,
                   {pipe + " is not an ordinary file"});
    const auto looked = open_store_path(pipe);
    ASSERT_FALSE(looked);
    EXPECT_EQ(looked.error().detail, pipe + " is not an ordinary file; name another one");
}

TEST_F(SqliteFile, a_folder_is_refused) {
    expect_refused(open_sqlite("sqlite:" + folder()), ErrorCode::store_open_failed,
                   {folder() + " is a folder", "name a file"});
    expect_refused(open_sqlite("sqlite:" + folder() + "/"), ErrorCode::store_open_failed,
                   {"is a folder"});
}

TEST_F(SqliteFile, a_file_that_is_no_database_is_refused_and_left_alone) {
    const std::string garbage(10'000, 'x');
    write_bytes(path(), garbage);
    expect_refused(ErrorCode::store_open_failed, {path(), "not a SQLite database", "another file"});
    EXPECT_EQ(bytes_of(path()), garbage);
    write_bytes(path(), "short");
    expect_refused(ErrorCode::store_open_failed, {path(), "not a SQLite database"});
}

TEST_F(SqliteFile, a_database_of_another_program_is_refused_and_left_alone) {
    sql(path(), "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
    const std::string before = bytes_of(path());
    expect_refused(ErrorCode::store_open_failed, {path(), "another program", "another file"});
    const auto looked = open_store_path(path());
    ASSERT_TRUE(looked);
    const auto version = version_of_store(*looked->db);
    ASSERT_FALSE(version);
    EXPECT_EQ(version.error().code, ErrorCode::store_open_failed);
    EXPECT_EQ(version.error().detail,
              path() +
                  " is not a FlowFabric store: it holds tables of another program; name"
                  " another file");
    EXPECT_EQ(bytes_of(path()), before);
    EXPECT_FALSE(fs::exists(path() + "-wal"));
}

// A store of a newer program has its lock's file already, unless it was copied here without it.
TEST_F(SqliteFile, nothing_is_left_beside_a_file_that_is_refused) {
    const auto expect_alone = [&](const char* what) {
        ASSERT_FALSE(open_sqlite("sqlite:" + path())) << what;
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder())) {
            names.push_back(entry.path().filename().string());
        }
        EXPECT_EQ(names, std::vector<std::string>{"store.db"}) << what;
        fs::remove(path());
    };
    write_bytes(path(), std::string(10'000, 'x'));
    expect_alone("no database");
    sql(path(), "CREATE TABLE theirs (x)");
    expect_alone("another program's");
    sql(path(), "PRAGMA journal_mode = WAL; CREATE TABLE theirs (x)");
    expect_alone("another program's, with a log");
    open().reset();
    sql(path(), "INSERT INTO ff_schema_migration VALUES (99, 'future', 'x')");
    fs::remove(path() + "-lock");
    expect_alone("a newer schema");
    write_bytes(path(), "short");
    write_bytes(path() + "-lock", "");
    ASSERT_FALSE(open_sqlite("sqlite:" + path()));
    EXPECT_TRUE(fs::exists(path() + "-lock")) << "it was there before";
}

// Closing the last connection would copy their log into their database and remove it.
TEST_F(SqliteFile, the_log_of_another_program_is_left_to_it) {
    {
        auto db = SqliteDb::open(path(), OpenMode::write, 0);
        ASSERT_TRUE(db);
        ASSERT_TRUE((*db)->execute("PRAGMA journal_mode = WAL; CREATE TABLE theirs (x)"));
        sqlite3_db_config((*db)->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    }
    const std::string file = bytes_of(path());
    const std::string log = bytes_of(path() + "-wal");
    ASSERT_FALSE(log.empty());
    expect_refused(ErrorCode::store_open_failed, {path(), "another program"});
    EXPECT_EQ(bytes_of(path()), file);
    EXPECT_EQ(bytes_of(path() + "-wal"), log);
    EXPECT_TRUE(fs::exists(path() + "-shm"));
    EXPECT_FALSE(fs::exists(path() + "-lock"));
}

TEST_F(SqliteFile, a_lock_whose_file_goes_has_one_owner_all_the_same) {
    write_bytes(path(), "x");
    std::atomic<int> owners{0};
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int turn = 0; turn < 300; ++turn) {
                auto lock = FileLock::take(path());
                if (!lock) {
                    EXPECT_EQ(lock.error().code, ErrorCode::store_in_use) << lock.error().detail;
                    continue;
                }
                EXPECT_EQ(++owners, 1);
                taken += 1;
                (*lock)->leave_no_file();
                owners -= 1;
                lock->reset();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_GT(taken, 0);
}

TEST_F(SqliteFile, a_full_disk_is_told_with_the_file) {
    auto db = SqliteDb::open(path(), OpenMode::write, 0);
    ASSERT_TRUE(db);
    ASSERT_TRUE((*db)->execute("CREATE TABLE big (x); PRAGMA max_page_count = 2"));
    const auto written = (*db)->execute("INSERT INTO big VALUES (zeroblob(100000))");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::store_full);
    EXPECT_TRUE(written.error().detail.ends_with("(" + path() + "); make room on its disk"))
        << written.error().detail;
}

TEST_F(SqliteFile, a_newer_schema_is_refused) {
    open().reset();
    sql(path(), "INSERT INTO ff_schema_migration VALUES (99, 'future', 'x')");
    const std::string known = std::to_string(migrations().back().version);
    expect_refused(ErrorCode::schema_too_new, {path(), "version 99", "up to " + known, "newer"});
}

TEST_F(SqliteFile, an_altered_migration_is_refused) {
    open().reset();
    sql(path(), "UPDATE ff_schema_migration SET checksum = 'x' WHERE version = 1");
    expect_refused(ErrorCode::store_corrupt, {path(), "migration 1", "another form"});
}

TEST_F(SqliteFile, a_damaged_file_is_refused) {
    open().reset();
    std::string bytes = bytes_of(path());
    ASSERT_GT(bytes.size(), 4'096U);
    std::fill(bytes.begin() + 100, bytes.begin() + 4'000, '\xff');
    write_bytes(path(), bytes);
    expect_refused(ErrorCode::store_corrupt, {path(), "damaged", "backup"});
}

TEST_F(SqliteFile, other_partition_counts_are_refused) {
    EngineOptions options;
    options.flow_partitions = 4;
    EXPECT_EQ(open(options)->info().partitions.flow, 4);
    EXPECT_EQ(open(options)->info().partitions.flow, 4);
    EXPECT_EQ(open()->info().partitions.flow, 4);
    options.flow_partitions = 5;
    expect_refused(ErrorCode::partition_mismatch,
                   {"partition count mismatch: stored=4 configured=5"}, options);
    options.flow_partitions = 0;
    expect_refused(ErrorCode::invalid_config, {"at least 1"}, options);
}

// As nobody when the tests run as root: root may open everything.
TEST_F(SqliteFile, a_file_without_rights_is_refused) {
    constexpr uid_t nobody = 65'534;
    open().reset();
    fs::permissions(folder(), fs::perms{0755});
    const auto refusal = [&](mode_t file_mode, mode_t folder_mode, const std::string& file) {
        chmod(path().c_str(), file_mode);
        chmod(folder().c_str(), folder_mode);
        const std::string message = in_child([&]() -> std::string {
            if (geteuid() == 0 &&
                (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0)) {
                return "cannot become nobody";
            }
            if (access(folder().c_str(), X_OK) != 0) {
                return "cannot reach the folder";
            }
            const auto store = open_sqlite("sqlite:" + file);
            return store ? "opened" : store.error().message();
        });
        chmod(folder().c_str(), 0755);
        return message;
    };
    const std::string unreadable = refusal(0000, 0755, path());
    if (unreadable.starts_with("cannot become") || unreadable.starts_with("cannot reach")) {
        GTEST_SKIP() << unreadable;
    }
    EXPECT_EQ(unreadable, "store_open_failed: cannot open " + path() +
                              ": Permission denied; check the rights of the file and its folder");
    EXPECT_EQ(refusal(0444, 0755, path()), unreadable);
    const std::string fresh = folder() + "/new.db";
    EXPECT_EQ(refusal(0600, 0555, fresh),
              "store_open_failed: cannot open " + fresh +
                  ": Permission denied; check the rights of the file and its folder");
}

// ------------------------------------------------------------------------------------- bad rows

TEST_F(SqliteFile, a_row_that_cannot_be_is_corruption_and_the_others_can_be_read) {
    auto store = open();
    const Execution good = put_one(*store);
    std::map<std::string, std::string> faults{
        {"UPDATE ff_exec_core SET public_state = 99 WHERE eid = ", "public_state: 99"},
        {"UPDATE ff_exec_core SET priority = 4294967296 WHERE eid = ", "priority: 4294967296"},
        {"UPDATE ff_exec_core SET lease_id = x'00' WHERE eid = ", "lease_id: not 16 bytes"},
        {"UPDATE ff_exec_core SET extra = '[1]' WHERE eid = ", "extra: "},
        {"UPDATE ff_exec_core SET extra = '{\"replay_count\":-1}' WHERE eid = ", "extra: "},
    };
    std::map<ExecutionId, std::string> damaged;
    std::string damage;
    for (const auto& [update, detail] : faults) {
        const Execution row = waiting(store->next_eid(t0), good.route);
        put(*store, changes(row, input_of(row.eid)));
        damaged[row.id] = detail;
        damage += update + std::to_string(row.eid) + ";";
    }
    damage += "UPDATE ff_exec_input SET tags = '{\"a\":1}' WHERE eid = 2;";
    store.reset();
    sql(path(), damage);
    EngineOptions one_reader;
    one_reader.pool_size = 2;
    store = open(one_reader);
    for (const auto& [id, detail] : damaged) {
        const auto read = store->read([&](Reader& r) -> expected<void> {
            FF_TRY_VOID(r.execution(id));
            return {};
        });
        ASSERT_FALSE(read) << detail;
        EXPECT_EQ(read.error().code, ErrorCode::corruption);
        EXPECT_TRUE(read.error().detail.starts_with(detail)) << read.error().detail;
        EXPECT_TRUE(look(*store, [&](Reader& r) { return r.execution(good.id); }));
    }
    const auto read = store->read([&](Reader& r) -> expected<void> {
        FF_TRY_VOID(r.input(2));
        return {};
    });
    ASSERT_FALSE(read);
    EXPECT_TRUE(read.error().detail.starts_with("tags: ")) << read.error().detail;
    EXPECT_TRUE(look(*store, [&](Reader& r) { return r.input(good.eid); }));
    // The writing side says the same, and its transaction can be given up.
    {
        Transaction transaction(*store);
        core::ReadSet set;
        set.need(damaged.begin()->first);
        EXPECT_FALSE(store->load(set, transaction.snapshot));
    }
    put(*store, changes(core::Lane{"x", LaneState::active, t0}));
}

}  // namespace
}  // namespace ff::store::test
