// What is told to anybody is on disk: syncs, their failures, and commits that fail.
//
// fdatasync is replaced in this program by one that counts and fails on request; SQLite's own
// writes fail through its table of system calls.
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <thread>

#include "store/contract.h"
#include "store/sync_watch.h"

namespace {

std::atomic<int> syncs = 0;
std::atomic<bool> fail_next_sync = false;
std::atomic<int> write_fault = 0;  // an errno, or 0

}  // namespace

extern "C" int fdatasync(int fd) {
    syncs += 1;
    if (fail_next_sync.exchange(false)) {
        errno = EIO;
        return -1;
    }
    ff::store::test::SyncWatch* const watch = ff::store::test::sync_watch;
    if (watch != nullptr) {
        watch->syncing(fd);
    }
    const auto done = static_cast<int>(syscall(SYS_fdatasync, fd));
    if (watch != nullptr && done == 0) {
        watch->synced(fd);
    }
    return done;
}

namespace ff::store::test {

std::atomic<SyncWatch*> sync_watch = nullptr;

namespace {

using core::Execution;

ssize_t faulty_write(int fd, const void* data, size_t size) {
    if (write_fault != 0) {
        errno = write_fault;
        return -1;
    }
    return write(fd, data, size);
}

ssize_t faulty_pwrite(int fd, const void* data, size_t size, off_t at) {
    if (write_fault != 0) {
        errno = write_fault;
        return -1;
    }
    return pwrite(fd, data, size, at);
}

/// While this lives, SQLite's writes pass through the two functions above.
class FaultyDisk {
  public:
    FaultyDisk() {
        set("write", reinterpret_cast<sqlite3_syscall_ptr>(&faulty_write));
        set("pwrite", reinterpret_cast<sqlite3_syscall_ptr>(&faulty_pwrite));
        set("pwrite64", reinterpret_cast<sqlite3_syscall_ptr>(&faulty_pwrite));
    }
    ~FaultyDisk() {
        write_fault = 0;
        for (const char* name : {"write", "pwrite", "pwrite64"}) {
            set(name, nullptr);
        }
    }
    FaultyDisk(const FaultyDisk&) = delete;
    FaultyDisk& operator=(const FaultyDisk&) = delete;

  private:
    static void set(const char* name, sqlite3_syscall_ptr call) {
        sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
        vfs->xSetSystemCall(vfs, name, call);
    }
};

class SqliteDurability : public testing::Test {
  protected:
    void SetUp() override {
        open();
        core::Route row;
        row.id = route_ = store_->next_route_id();
        row.key = {"default", "acme", "job", ""};
        put(*store_, changes(row));
    }
    void TearDown() override {
        write_fault = 0;
        fail_next_sync = false;
    }
    void open(EngineOptions options = {}) {
        store_.reset();
        auto opened = open_sqlite("sqlite:" + folder_.file("store.db"), options);
        ASSERT_TRUE(opened) << opened.error().message();
        store_ = std::move(*opened);
    }
    void close() { store_.reset(); }
    Store& store() { return *store_; }

    /// Commits an execution and syncs nothing.
    Execution commit_one() {
        Transaction transaction(*store_);
        const Execution row = waiting(store_->next_eid(t0), route_);
        transaction.apply(changes(row));
        EXPECT_TRUE(transaction.commit());
        return row;
    }
    std::size_t count() {
        return look(*store_, [](Reader& r) { return r.newest(99, 99); }).size();
    }

  private:
    TempDir folder_;
    std::unique_ptr<Store> store_;
    RouteId route_ = 0;
};

TEST_F(SqliteDurability, a_commit_syncs_nothing_and_make_durable_syncs_once) {
    int before = syncs;
    commit_one();
    EXPECT_EQ(syncs, before);
    ASSERT_TRUE(store().make_durable());
    EXPECT_EQ(syncs, before + 1);

    EngineOptions normal;
    normal.synchronous = EngineOptions::Synchronous::normal;
    open(normal);
    EXPECT_EQ(store().info().durability, "normal");
    commit_one();  // SQLite syncs the head of a new log itself
    before = syncs;
    commit_one();
    ASSERT_TRUE(store().make_durable());
    EXPECT_EQ(syncs, before);
    EXPECT_EQ(count(), 3U);
}

TEST_F(SqliteDurability, opening_syncs_what_a_predecessor_may_have_left_unsynced) {
    close();
    const int before = syncs;
    open();
    EXPECT_GT(syncs, before);
}

TEST_F(SqliteDurability, a_read_that_saw_a_commit_ends_when_that_is_durable) {
    commit_one();
    std::promise<std::size_t> seen;
    std::atomic<bool> synced = false;
    auto reader = std::async(std::launch::async, [&] {
        const auto outcome = store().read([&](Reader& r) -> expected<void> {
            FF_TRY(const auto rows, r.newest(99, 99));
            seen.set_value(rows.size());
            return {};
        });
        EXPECT_TRUE(outcome);
        EXPECT_TRUE(synced) << "the read ended before the sync";
    });
    EXPECT_EQ(seen.get_future().get(), 1U);
    // A read that does not wait would be through by now.
    EXPECT_EQ(reader.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    synced = true;
    ASSERT_TRUE(store().make_durable());
    reader.get();
}

TEST_F(SqliteDurability, a_read_of_what_is_durable_does_not_wait_for_anything) {
    commit_one();
    ASSERT_TRUE(store().make_durable());
    EXPECT_EQ(count(), 1U);
    EXPECT_EQ(count(), 1U);
}

TEST_F(SqliteDurability, a_reader_does_not_block_the_writer_and_keeps_its_view) {
    commit_one();
    ASSERT_TRUE(store().make_durable());
    std::promise<void> started;
    std::promise<void> may_end;
    auto reader = std::async(std::launch::async, [&] {
        return store().read([&](Reader& r) -> expected<void> {
            FF_TRY(const auto first, r.newest(99, 99));
            started.set_value();
            may_end.get_future().wait();
            FF_TRY(const auto second, r.newest(99, 99));
            EXPECT_EQ(first.size(), 1U);
            EXPECT_EQ(second.size(), 1U);
            return {};
        });
    });
    started.get_future().wait();
    for (int i = 0; i < 20; ++i) {
        commit_one();
        ASSERT_TRUE(store().make_durable());
        store().maintain();
    }
    EXPECT_EQ(count(), 21U);
    may_end.set_value();
    EXPECT_TRUE(reader.get());
}

TEST_F(SqliteDurability, a_failed_sync_is_final) {
    const Execution row = commit_one();
    fail_next_sync = true;
    const auto failed = store().make_durable();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::store_io);
    EXPECT_NE(failed.error().detail.find("restart the engine"), std::string::npos);
    // The system reports a lost write once; the next sync would succeed without it.
    EXPECT_EQ(store().make_durable(), failed);
    EXPECT_EQ(store().begin(), failed);
    const auto read = store().read([&](Reader& r) -> expected<void> {
        FF_TRY_VOID(r.execution(row.id));
        return {};
    });
    EXPECT_EQ(read, failed);
}

TEST_F(SqliteDurability, readers_that_wait_hear_of_a_failed_sync) {
    commit_one();
    std::promise<void> seen;
    auto reader = std::async(std::launch::async, [&] {
        return store().read([&](Reader& r) -> expected<void> {
            FF_TRY_VOID(r.newest(99, 99));
            seen.set_value();
            return {};
        });
    });
    seen.get_future().wait();
    fail_next_sync = true;
    ASSERT_FALSE(store().make_durable());
    EXPECT_FALSE(reader.get());
}

TEST_F(SqliteDurability, a_commit_that_cannot_be_written_leaves_nothing_and_the_store_works_on) {
    const FaultyDisk disk;
    commit_one();
    ASSERT_TRUE(store().make_durable());
    for (const auto& [fault, code] : std::vector<std::pair<int, ErrorCode>>{
             {ENOSPC, ErrorCode::store_full}, {EIO, ErrorCode::store_io}}) {
        Eid eid = 0;
        {
            Transaction transaction(store());
            eid = store().next_eid(t0);
            transaction.apply(changes(waiting(eid, 1)));
            write_fault = fault;
            const auto done = transaction.commit();
            write_fault = 0;
            ASSERT_FALSE(done);
            EXPECT_EQ(done.error().code, code) << done.error().message();
        }
        // A reader must not wait for the commit that never was.
        EXPECT_EQ(count(), 1U);
        EXPECT_EQ(store().next_eid(t0), eid);
    }
    commit_one();
    ASSERT_TRUE(store().make_durable());
    EXPECT_EQ(count(), 2U);
}

TEST_F(SqliteDurability, upkeep_that_cannot_be_written_leaves_everything) {
    put(store(), changes(idempotency_of("acme", "key", id_of(1), t0)));
    const FaultyDisk disk;
    ASSERT_TRUE(store().begin());
    EXPECT_EQ(store().sweep_idempotency(t0, 9), 1U);
    write_fault = ENOSPC;
    EXPECT_FALSE(store().commit_upkeep());
    write_fault = 0;
    EXPECT_TRUE(find_idempotency(store(), {"acme", "key"}));
}

TEST_F(SqliteDurability, a_checkpoint_that_keeps_failing_is_told_again_when_the_log_has_doubled) {
    std::vector<std::string> warnings;
    EngineOptions options;
    options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
    open(options);
    const FaultyDisk disk;
    auto attempt = attempt_of(commit_one().eid, 0);
    const auto fail_after_five_mib = [&] {
        attempt.result = std::string(5U << 20, 'x');
        put(store(), changes(attempt));
        write_fault = EIO;
        store().maintain();
        write_fault = 0;
        return warnings.size();
    };
    EXPECT_EQ(fail_after_five_mib(), 1U);
    EXPECT_EQ(fail_after_five_mib(), 1U);
    EXPECT_EQ(fail_after_five_mib(), 2U);
    EXPECT_NE(warnings.back().find("copying the log"), std::string::npos) << warnings.back();
    store().maintain();
    EXPECT_EQ(warnings.size(), 2U);
}

// Readers that wait for a commit that fails, while an earlier one is not durable yet.
TEST_F(SqliteDurability, readers_behind_a_failed_commit_wait_for_the_last_good_one) {
    const FaultyDisk disk;
    commit_one();
    {
        Transaction transaction(store());
        transaction.apply(changes(waiting(store().next_eid(t0), 1)));
        write_fault = ENOSPC;
        EXPECT_FALSE(transaction.commit());
        write_fault = 0;
    }
    std::promise<void> seen;
    auto reader = std::async(std::launch::async, [&] {
        return store().read([&](Reader& r) -> expected<void> {
            FF_TRY_VOID(r.newest(99, 99));
            seen.set_value();
            return {};
        });
    });
    seen.get_future().wait();
    EXPECT_EQ(reader.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    ASSERT_TRUE(store().make_durable());
    EXPECT_TRUE(reader.get());
}

TEST_F(SqliteDurability, many_threads_may_make_durable_and_read) {
    std::atomic<bool> done = false;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            while (!done) {
                EXPECT_TRUE(store().make_durable());
            }
        });
        threads.emplace_back([&] {
            std::size_t most = 0;
            while (!done) {
                const std::size_t now = count();
                EXPECT_GE(now, most);
                most = now;
            }
        });
    }
    for (int i = 0; i < 50; ++i) {
        commit_one();
        store().maintain();
    }
    ASSERT_TRUE(store().make_durable());
    EXPECT_EQ(count(), 50U);
    done = true;
}

}  // namespace
}  // namespace ff::store::test
