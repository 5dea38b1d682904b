// Power cuts: of what was written since the last sync of a file, any part may be on the disk. The
// tests keep what each file held at its last sync, make files as a cut could have left them, and
// open a store on those.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "store/contract.h"
#include "store/sqlite_db.h"
#include "store/sync_watch.h"

namespace ff::store::test {
namespace {

constexpr std::size_t sector = 512;

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream out;
    out << file.rdbuf();
    return std::move(out).str();
}

std::string path_of(int fd) {
    std::array<char, 4096> name{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t size = readlink(link.c_str(), name.data(), name.size());
    return {name.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

class PowerCut : public testing::Test, private SyncWatch {
  protected:
    void SetUp() override {
        open();
        core::Route row;
        row.id = route_ = store_->next_route_id();
        row.key = {"default", "acme", "job", ""};
        put(*store_, changes(row));
        Execution first = waiting(store_->next_eid(t0), route_);
        attempt_ = attempt_of(first.eid, 0);
        put(*store_, changes(first, attempt_));
        for (const char* end : {"", "-wal"}) {
            on_disk_[live_ + end] = bytes_of(live_ + end);
        }
        committed_ = acknowledged_ = 1;
        sync_watch = this;
    }
    void TearDown() override { sync_watch = nullptr; }

    /// One execution, and its number beside it, in one transaction; large, so that the log fills.
    void commit_one() {
        Transaction transaction(*store_);
        attempt_.result = std::to_string(committed_ + 1) + " " + std::string(24U << 10, 'x');
        transaction.apply(changes(waiting(store_->next_eid(t0), route_), attempt_));
        ASSERT_TRUE(transaction.commit());
        committed_ += 1;
    }
    void acknowledge() {
        ASSERT_TRUE(store_->make_durable());
        acknowledged_ = committed_;
    }
    Store& store() { return *store_; }

    /// What is there after a cut at this moment.
    void cut() {
        cuts_ += 1;
        const std::string path = folder_.file("cut" + std::to_string(cuts_) + ".db");
        const bool mixed = random_() % 2 == 0;
        for (const char* end : {"", "-wal"}) {
            const std::string now = bytes_of(live_ + end);
            const std::string& then = on_disk_.at(live_ + end);
            std::ofstream(path + end, std::ios::binary) << (mixed                ? mix(then, now)
                                                            : random_() % 2 == 0 ? then
                                                                                 : now);
        }
        auto after = open_sqlite("sqlite:" + path);
        ASSERT_TRUE(after) << after.error().message();
        const std::size_t rows =
            look(**after, [](Reader& r) { return r.newest(9'999, 9'999); }).size();
        EXPECT_GE(rows, acknowledged_) << "cut " << cuts_;
        EXPECT_LE(rows, committed_) << "cut " << cuts_;
        const auto kept = look(**after, [&](Reader& r) { return r.attempt(attempt_.eid, 0); });
        ASSERT_TRUE(kept);
        if (rows > 1) {
            EXPECT_TRUE(kept->result.value_or("").starts_with(std::to_string(rows) + " "))
                << "cut " << cuts_ << ": half a transaction";
        }
        after->reset();
        {
            auto db = SqliteDb::open(path, OpenMode::read_only, 1'000);
            ASSERT_TRUE(db);
            EXPECT_EQ((*db)->scalar("PRAGMA quick_check").value_or("?"), "ok") << "cut " << cuts_;
        }
        std::filesystem::remove(path);
    }
    [[nodiscard]] int cuts() const { return cuts_; }
    [[nodiscard]] int cuts_within_a_checkpoint() const { return within_checkpoint_; }

  private:
    void open() {
        auto opened = open_sqlite("sqlite:" + live_);
        ASSERT_TRUE(opened) << opened.error().message();
        store_ = std::move(*opened);
    }
    void syncing(int fd) override {
        // Of the database it is the last step of a checkpoint: its pages are written, not synced.
        if (path_of(fd) == live_) {
            within_checkpoint_ += 1;
            for (int i = 0; i < 4; ++i) {
                cut();
            }
        }
    }
    void synced(int fd) override {
        if (const auto file = on_disk_.find(path_of(fd)); file != on_disk_.end()) {
            file->second = bytes_of(file->first);
        }
    }
    /// Each sector as it was or as it is.
    std::string mix(const std::string& then, const std::string& now) {
        std::string out = random_() % 2 == 0 ? then : now;
        const std::string& other = out.size() == then.size() && out == then ? now : then;
        for (std::size_t at = 0; at + sector <= std::min(out.size(), other.size()); at += sector) {
            if (random_() % 2 == 0) {
                out.replace(at, sector, other, at, sector);
            }
        }
        return out;
    }

    using Execution = core::Execution;
    TempDir folder_;
    std::string live_ = std::filesystem::canonical(folder_.path()).string() + "/live.db";
    std::unique_ptr<Store> store_;
    std::map<std::string, std::string> on_disk_;
    std::mt19937 random_{7};
    RouteId route_ = 0;
    core::Attempt attempt_;
    std::size_t committed_ = 0;
    std::size_t acknowledged_ = 0;
    int cuts_ = 0;
    int within_checkpoint_ = 0;
};

TEST_F(PowerCut, what_was_acknowledged_is_there_and_no_transaction_is_halved) {
    for (int i = 0; i < 360; ++i) {
        commit_one();
        if (i % 8 == 0) {
            cut();  // nobody has heard of the newest
        }
        acknowledge();
        if (i % 8 == 4) {
            cut();
        }
        store().maintain();
        if (HasFatalFailure()) {
            return;
        }
    }
    EXPECT_GE(cuts_within_a_checkpoint(), 2);
    EXPECT_GE(cuts(), 90);
}

}  // namespace
}  // namespace ff::store::test
