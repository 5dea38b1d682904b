// A second writer: when it is opened, what it is given, and what happens when it cannot be had.
//
// The second store here is another one than the first, which no database would be: so a test sees
// who has run a command.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/group_commit.h"

namespace ff::engine::test {

namespace {

class SecondWriter : public GroupCommit {
  protected:
    /// The first writer has so much when the second is asked; and this often, when it is opened.
    static constexpr std::size_t enough = 32;
    static constexpr std::size_t often = 16;

    void SetUp() override {
        open_with([this] { return second_store(); });
    }
    void TearDown() override { engine_.reset(); }  // its opener uses what is below

    void open_with(Writers::OpenStore open_second) {
        engine_.reset();
        EngineOptions options;
        options.clock = clock_;
        options.warn = [warnings = warnings_](std::string_view text) { warnings->add(text); };
        auto store = std::make_unique<FaultStore>(store::MemoryStore::make(options));
        store_ = store.get();
        auto engine = EmbeddedEngine::start(std::move(store), options, std::move(open_second));
        ASSERT_TRUE(engine) << engine.error().message();
        engine_ = std::move(*engine);
    }
    expected<std::unique_ptr<store::Store>> second_store() {
        opened_ += 1;
        auto store = std::make_unique<FaultStore>(store::MemoryStore::make({}));
        second_ = store.get();
        return store;
    }
    /// Leaves the first writer in a commit, with nearly as much behind it as has the second opened.
    void fill_first() {
        block_writer(answers_, next_++);
        while (next_ < enough + often - 1) {
            engine_->call(job("filler"), answers_.at(next_++));
        }
    }
    /// Sends plain commands until the second store has one.
    void wait_for_second() {
        for (FaultStore* second = nullptr; second == nullptr || second->commits() == 0;
             second = second_) {
            ASSERT_LT(next_, answers_max) << "no command comes to the second writer";
            engine_->call(job("filler"), answers_.at(next_++));
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    void let_all_go() {
        store_->let_go();
        while (next_ < answers_max) {
            engine_->call(job("filler"), answers_.at(next_++));
        }
        for (const std::string& code : answers_.all()) {
            EXPECT_EQ(code, "ok");
        }
        for (const int calls : answers_.calls()) {
            EXPECT_EQ(calls, 1);
        }
    }

    static constexpr std::size_t answers_max = 10'000;
    Answers answers_{answers_max};
    std::size_t next_ = 0;
    std::atomic<int> opened_{0};
    std::atomic<FaultStore*> second_{nullptr};
};

}  // namespace

TEST_F(SecondWriter, IsNotWantedWhileATransactionHoldsAll) {
    fill_first();
    store_->let_go();
    for (std::size_t i = 0; i < next_; ++i) {
        while (answers_.now(i).empty()) {
            std::this_thread::yield();
        }
    }
    EXPECT_EQ(opened_, 0);
    EXPECT_EQ(engine_->stats().writers, 1U);
    // A claim of many is as much, but not often in a row.
    for (int i = 0; i < 100; ++i) {
        ok(with(claim_by("w1", "nothing"), [](auto& op) { op.max_tasks = 1'000; }));
        ok(job("filler"));
    }
    EXPECT_EQ(opened_, 0);
}

TEST_F(SecondWriter, TakesOverWhatComesOnTop) {
    fill_first();
    wait_for_second();
    EXPECT_EQ(opened_, 1);
    EXPECT_EQ(answers_.now(0), "") << "the first is at work still";
    EXPECT_EQ(engine_->stats().writers, 2U);
    let_all_go();
    EXPECT_EQ(opened_, 1);
    EXPECT_EQ(engine_->stats().commands, answers_max);
}

TEST_F(SecondWriter, ClaimsAndLeasesBesideTheFirst) {
    fill_first();
    wait_for_second();
    // Ids of leases and attempts come from one source: claims on both at the same time.
    std::vector<std::thread> crew;
    std::mutex mutex;
    std::set<std::string> leases;  // guarded by mutex
    std::size_t tasks = 0;         // guarded by mutex
    store_->let_go();
    for (int t = 0; t < 4; ++t) {
        crew.emplace_back([&, t] {
            const std::string lane = "lane" + std::to_string(t);
            for (int round = 0; round < 10; ++round) {
                std::vector<Request> requests(40, job(lane));
                requests.emplace_back(
                    with(claim_by("w", lane), [](auto& op) { op.max_tasks = 40; }));
                const auto responses = engine_->run_many(std::move(requests));
                ASSERT_EQ(code_of(responses.back()), "ok");
                const std::lock_guard lock(mutex);
                for (const ClaimedTask& task : ff::get<ClaimResult>(*responses.back()).tasks) {
                    leases.insert(task.handle.lease_id.to_string());
                    tasks += 1;
                }
            }
        });
    }
    for (std::thread& thread : crew) {
        thread.join();
    }
    EXPECT_EQ(leases.size(), tasks);
    EXPECT_GT(tasks, 0U);
    let_all_go();
}

TEST_F(SecondWriter, IsNotGivenClaimsThatWait) {
    fill_first();
    wait_for_second();
    std::promise<Response> claimed;
    engine_->call(with(claim_by("w1", "later"), [](auto& op) { op.max_wait_ms = 60'000; }),
                  [&](Response response) { claimed.set_value(std::move(response)); });
    let_all_go();
    const CreateResult made = ok(job("later"));
    const Response response = claimed.get_future().get();
    ASSERT_EQ(code_of(response), "ok");
    const auto& tasks = ff::get<ClaimResult>(*response).tasks;
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].execution_id(), made.execution_id);
}

TEST_F(SecondWriter, IsGivenCommandsThatCameTogetherTogether) {
    fill_first();
    wait_for_second();
    std::promise<std::vector<Response>> done;
    std::vector<Request> requests;
    for (int i = 0; i < 5; ++i) {
        requests.emplace_back(job("together"));
    }
    requests.emplace_back(with(claim_by("w1", "together"), [](auto& op) { op.max_tasks = 10; }));
    engine_->call_many(std::move(requests),
                       [&](std::vector<Response> responses) { done.set_value(responses); });
    const auto responses = done.get_future().get();  // the first is at work still
    ASSERT_EQ(code_of(responses.back()), "ok");
    EXPECT_EQ(ff::get<ClaimResult>(*responses.back()).tasks.size(), 5U);
    // One that only the first may run keeps all of them there.
    requests.clear();
    requests.emplace_back(job("kept"));
    requests.emplace_back(RegisterWorker{"default", "w2", "w2-1", {"kept"}, {}, 10'000});
    requests.emplace_back(claim_by("w2", "kept"));
    std::promise<std::vector<Response>> kept;
    auto answer = kept.get_future();
    engine_->call_many(std::move(requests),
                       [&](std::vector<Response> all) { kept.set_value(std::move(all)); });
    EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    let_all_go();
    const auto all = answer.get();
    ASSERT_EQ(code_of(all.back()), "ok");
    EXPECT_EQ(ff::get<ClaimResult>(*all.back()).tasks.size(), 1U);
}

TEST_F(SecondWriter, ThatCannotBeOpenedIsWarnedOfOnceAndNotNeeded) {
    open_with([this]() -> expected<std::unique_ptr<store::Store>> {
        opened_ += 1;
        return ff::fail(ErrorCode::store_open_failed, "too many connections");
    });
    fill_first();
    while (next_ < 4 * enough) {
        engine_->call(job("filler"), answers_.at(next_++));
    }
    let_all_go();
    engine_->stop();  // the opener has ended
    EXPECT_EQ(opened_, 1);
    const auto warned = warnings_->all();
    ASSERT_EQ(warned.size(), 1U);
    EXPECT_NE(warned[0].find("no second connection to write with"), std::string::npos) << warned[0];
    EXPECT_NE(warned[0].find("too many connections"), std::string::npos) << warned[0];
}

TEST_F(SecondWriter, ThatIsBeingOpenedIsWaitedForByStop) {
    std::promise<void> begun;
    std::promise<void> go;
    open_with([&, wait = go.get_future().share()] {
        begun.set_value();
        wait.wait();
        return second_store();
    });
    fill_first();
    for (std::size_t i = 0; i < often; ++i) {
        engine_->call(job("filler"), answers_.at(next_++));
    }
    begun.get_future().wait();
    store_->let_go();
    std::thread stopping([&] { engine_->stop(); });
    go.set_value();
    stopping.join();
    for (std::size_t i = 0; i < next_; ++i) {
        EXPECT_EQ(answers_.now(i), "ok") << i;
    }
}

}  // namespace ff::engine::test
