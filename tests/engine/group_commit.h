// An engine on a store that fails as it is told, for tests of the writer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/conformance.h"
#include "engine/embedded_engine.h"
#include "engine/fault_store.h"
#include "store/memory_store.h"

namespace ff::engine::test {

/// Answers of calls made with callbacks, counted so that none comes twice.
class Answers {
  public:
    explicit Answers(std::size_t count) : codes_(count), calls_(count) {}

    Engine::DoneFn at(std::size_t index) {
        return [this, index](Response response) {
            const std::lock_guard lock(mutex_);
            codes_[index] = code_of(response);
            calls_[index] += 1;
            missing_.notify_all();
        };
    }
    /// Waits until each has been answered.
    std::vector<std::string> all() {
        std::unique_lock lock(mutex_);
        missing_.wait(
            lock, [&] { return std::ranges::all_of(calls_, [](int calls) { return calls > 0; }); });
        return codes_;
    }
    /// How often each was answered.
    std::vector<int> calls() {
        const std::lock_guard lock(mutex_);
        return calls_;
    }
    std::string now(std::size_t index) {
        const std::lock_guard lock(mutex_);
        return codes_[index];
    }

  private:
    std::mutex mutex_;
    std::condition_variable missing_;
    std::vector<std::string> codes_;  // guarded by mutex_
    std::vector<int> calls_;          // guarded by mutex_
};

class GroupCommit : public testing::Test {
  protected:
    void SetUp() override { open({}); }

    void open(EngineOptions options) {
        engine_.reset();
        options.clock = clock_;
        options.warn = [warnings = warnings_](std::string_view text) { warnings->add(text); };
        auto store = std::make_unique<FaultStore>(store::MemoryStore::make(options));
        store_ = store.get();
        auto engine = EmbeddedEngine::start(std::move(store), options);
        ASSERT_TRUE(engine) << engine.error().message();
        engine_ = std::move(*engine);
    }
    template <class Op>
    typename Op::Result ok(Op op) {
        auto result = engine_->run(std::move(op));
        EXPECT_TRUE(result) << Op::name << ": " << code_of(result);
        return result ? std::move(*result) : typename Op::Result{};
    }
    template <class Op>
    std::string refused(Op op) {
        return code_of(engine_->run(std::move(op)));
    }
    std::vector<ClaimedTask> claim_some(const std::string& worker, const std::string& lane) {
        return ok(claim_by(worker, lane)).tasks;
    }
    /// Leaves five callers committed and not synced, until let_syncs_go(): one, and four that came
    /// meanwhile. Answers with the number of commits by then.
    std::uint64_t leave_five_unsynced(Answers& answers) {
        block_writer(answers, 0);
        const std::uint64_t commits = store_->commits() + 2;
        for (std::size_t i = 1; i <= 4; ++i) {
            engine_->call(job(), answers.at(i));
        }
        store_->hold_syncs();
        store_->let_go();
        store_->wait_for_commits(commits);
        return commits;
    }
    /// Gets the writer into a commit that does not end before let_go().
    void block_writer(Answers& answers, std::size_t index) {
        store_->hold();
        engine_->call(job("blocker"), answers.at(index));
        store_->wait_for_commit();
    }

    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(t0);
    std::shared_ptr<Warnings> warnings_ = std::make_shared<Warnings>();
    std::shared_ptr<EmbeddedEngine> engine_;
    FaultStore* store_ = nullptr;
};

}  // namespace ff::engine::test
