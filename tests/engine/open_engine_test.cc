// Opening an engine by name: one engine for one store, whatever the spelling (spec 09 section 1).
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <latch>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "engine/conformance.h"

namespace ff::engine::test {

namespace {

std::shared_ptr<Engine> open(const std::string& name, const EngineOptions& options = {}) {
    auto engine = Engine::open(name, options);
    EXPECT_TRUE(engine) << name << ": " << engine.error().message();
    return engine ? *engine : nullptr;
}

std::string failure(const std::string& name, const EngineOptions& options = {}) {
    return code_of(Engine::open(name, options));
}

std::size_t count(Engine& engine) {
    return engine.run(ListExecutions{0, {}, 1'000})->executions.size();
}

/// Enters a folder and comes back.
class InFolder {
  public:
    explicit InFolder(const std::string& folder) : back_(std::filesystem::current_path()) {
        std::filesystem::current_path(folder);
    }
    ~InFolder() { std::filesystem::current_path(back_); }
    InFolder(const InFolder&) = delete;
    InFolder& operator=(const InFolder&) = delete;

  private:
    std::filesystem::path back_;
};

}  // namespace

TEST(OpenEngine, TheSameStoreGivesTheSameEngine) {
    const TempDir folder;
    const auto first = open(folder.file("a.db"));
    EXPECT_EQ(open(folder.file("a.db")), first);
    EXPECT_NE(open(folder.file("b.db")), first);
}

TEST(OpenEngine, EverySpellingOfAPathIsTheSameStore) {
    const TempDir folder;
    std::filesystem::create_directory(folder.file("sub"));
    std::filesystem::create_symlink(folder.path(), folder.file("link"));
    std::filesystem::create_symlink(folder.file("a.db"), folder.file("alias.db"));
    const InFolder here(folder.path());
    // The first opening makes the file: it is known by its absolute path before it exists.
    const auto first = open("sub/../a.db");
    for (const std::string& name : {
             std::string("a.db"),
             std::string("./a.db"),
             std::string("sqlite:a.db"),
             std::string("file:a.db"),
             std::string("file:a.db?cache=shared"),
             folder.file("a.db"),
             "sqlite:" + folder.file("a.db"),
             "file:" + folder.file("a.db"),
             "file://" + folder.file("a.db"),
             folder.file("sub/../a.db"),
             folder.path() + "//a.db",
             folder.file("link/a.db"),
             folder.file("alias.db"),
         }) {
        EXPECT_EQ(open(name), first) << name;
    }
}

TEST(OpenEngine, OtherOptionsAreIgnoredWithAWarning) {
    const TempDir folder;
    const std::string name = folder.file("a.db");
    auto warnings = std::make_shared<Warnings>();
    EngineOptions options;
    options.warn = [warnings](std::string_view text) { warnings->add(text); };
    const auto first = open(name, options);
    EXPECT_EQ(open(name, options), first);
    EXPECT_EQ(warnings->all().size(), 0U) << "nothing differs";
    const std::vector<std::function<void(EngineOptions&)>> changes{
        [](auto& o) { o.pool_size = 9; },
        [](auto& o) { o.synchronous = EngineOptions::Synchronous::normal; },
        [](auto& o) { o.busy_timeout_ms = 1; },
        [](auto& o) { o.cache_mib = 99; },
        [](auto& o) { o.queue_commands_max = 9; },
        [](auto& o) { o.waiting_claims_max = 9; },
        [](auto& o) { o.batch_commands_max = 9; },
        [](auto& o) { o.retention_ms = 9; },
        [](auto& o) { o.reclaim_grace_ms = 9; },
        [](auto& o) { o.event_retention_ms = 9; },
        [](auto& o) { o.scanner_periods_ms = {{"unblock", 0}}; },
        [](auto& o) { o.lanes = {"x"}; },
        [](auto& o) { o.background = false; },
        [](auto& o) { o.clock = std::make_shared<ManualClock>(); },
    };
    std::size_t expected = 0;
    for (const auto& change : changes) {
        EXPECT_EQ(open(name, with(options, change)), first);
        const auto told = warnings->all();
        ASSERT_EQ(told.size(), ++expected);
        EXPECT_NE(told.back().find(name), std::string::npos) << told.back();
    }
}

TEST(OpenEngine, WhoHearsAWarningMayOpenAnotherStore) {
    const TempDir folder;
    const auto first = open(folder.file("a.db"));
    EngineOptions options;
    options.cache_mib = 16;
    std::shared_ptr<Engine> other;
    options.warn = [&](std::string_view) { other = open(folder.file("b.db")); };
    EXPECT_EQ(open(folder.file("a.db"), options), first);
    EXPECT_NE(other, nullptr);
}

TEST(OpenEngine, AStoreThatCouldNotBeOpenedCanBeOpenedLater) {
    const TempDir folder;
    EXPECT_EQ(failure(folder.file("no/a.db")), "store_open_failed");
    std::filesystem::create_directory(folder.file("no"));
    EXPECT_NE(open(folder.file("no/a.db")), nullptr);
}

TEST(OpenEngine, OptionsThatCannotBeAreRefused) {
    const std::vector<std::function<void(EngineOptions&)>> wrong{
        [](auto& o) { o.pool_size = 0; },
        [](auto& o) { o.busy_timeout_ms = -1; },
        [](auto& o) { o.cache_mib = 0; },
        [](auto& o) { o.queue_commands_max = 0; },
        [](auto& o) { o.queue_bytes_max = 0; },
        [](auto& o) { o.batch_commands_max = 0; },
        [](auto& o) { o.retention_ms = -5; },
        [](auto& o) { o.retention_ms = std::numeric_limits<DurationMs>::max(); },
        [](auto& o) { o.reclaim_grace_ms = -1; },
        [](auto& o) { o.event_retention_ms = -1; },
        [](auto& o) { o.flow_partitions = 0; },
    };
    for (std::size_t i = 0; i < wrong.size(); ++i) {
        EXPECT_EQ(failure("memory:", with(EngineOptions{}, wrong[i])), "invalid_config") << i;
    }
}

TEST(OpenEngine, WhatIsKeptForEverIsNotDeleted) {
    EngineOptions options;
    options.clock = std::make_shared<ManualClock>();
    options.retention_ms = std::int64_t{1} << 53;
    const auto engine = open("memory:", options);
    const auto made = engine->run(job());
    ASSERT_TRUE(made);
    ASSERT_TRUE(engine->run(CancelExecution{LeaseRef(made->execution_id), "no"}));
    ASSERT_TRUE(engine->run(RunScanner{"retention_trimmer"}));
    EXPECT_TRUE(engine->run(ReadExecutionState{made->execution_id}));
}

TEST(OpenEngine, ACallbackMayHoldTheLastReference) {
    for (const bool reads : {false, true}) {
        std::promise<void> closed;
        EngineOptions options;
        options.warn = [witness = std::shared_ptr<void>(
                            nullptr, [&](void*) { closed.set_value(); })](std::string_view) {};
        auto engine = open("memory:", options);
        options = {};
        std::latch let_go(1);
        const auto send = [&](auto op) {
            engine->async(std::move(op), [held = engine, &let_go](const auto&) { let_go.wait(); });
        };
        reads ? send(ListLanes{}) : send(job());
        engine.reset();
        let_go.count_down();
        EXPECT_EQ(closed.get_future().wait_for(std::chrono::seconds(30)),
                  std::future_status::ready);
    }
}

TEST(OpenEngine, APeriodThatCannotBeIsRefused) {
    const auto refused = [](const std::string& pass, DurationMs period_ms) {
        EngineOptions options;
        options.scanner_periods_ms[pass] = period_ms;
        return failure("memory:", options);
    };
    EXPECT_EQ(refused("lease_expiry", 0), "ok");
    EXPECT_EQ(refused("lease_expiry", 100), "ok");
    EXPECT_EQ(refused("lease_expiry", 99), "invalid_config");
    EXPECT_EQ(refused("lease_expiry", -1), "invalid_config");
    EXPECT_EQ(refused("nobody", 1'000), "invalid_config");
}

TEST(OpenEngine, APassRunsAtItsPeriodOrNotAtAll) {
    // How many workers a pass asked for by hand still finds, an hour after one has gone silent.
    const auto left_after_an_hour = [](std::map<std::string, DurationMs> periods) {
        const auto clock = std::make_shared<ManualClock>(1'000'000);
        EngineOptions options;
        options.clock = clock;
        options.scanner_periods_ms = std::move(periods);
        const auto engine = open("memory:", options);
        RegisterWorker silent;
        silent.ns = "acme";
        silent.worker_id = "w";
        silent.worker_instance_id = "w-1";
        silent.lanes = {"default"};
        silent.liveness_ttl_ms = 1'000;
        EXPECT_TRUE(engine->run(silent));
        clock->advance(3'600'000);
        // The writer has been through its passes when it has answered two commands more.
        EXPECT_TRUE(engine->run(job()));
        EXPECT_TRUE(engine->run(job()));
        return engine->run(RunScanner{"worker_ttl_sweep"})->processed;
    };
    EXPECT_EQ(left_after_an_hour({}), 0U);
    EXPECT_EQ(left_after_an_hour({{"worker_ttl_sweep", 3'599'000}}), 0U);
    EXPECT_EQ(left_after_an_hour({{"worker_ttl_sweep", 3'601'000}}), 1U);
    EXPECT_EQ(left_after_an_hour({{"worker_ttl_sweep", 0}}), 1U);
}

TEST(OpenEngine, AStoreIsThereAgainAfterTheLastEngineIsGone) {
    const TempDir folder;
    const std::string name = folder.file("a.db");
    {
        const auto first = open(name);
        const auto second = open(name);
        ASSERT_TRUE(first->run(job()));
    }
    const auto again = open(name);
    EXPECT_EQ(count(*again), 1U);
}

TEST(OpenEngine, ClosingAndOpeningAtTheSameMomentNeverFails) {
    const TempDir folder;
    const std::string name = folder.file("a.db");
    EngineOptions options;
    options.synchronous = EngineOptions::Synchronous::normal;
    std::atomic<std::size_t> created{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 25; ++i) {
                auto engine = Engine::open(name, options);
                ASSERT_TRUE(engine) << engine.error().message();
                ASSERT_TRUE((*engine)->run(job()));
                ++created;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(count(*open(name, options)), created);
}

TEST(OpenEngine, NamedMemoryIsSharedWhileOpenAndGoneAfterwards) {
    const std::string name = "file:shared-by-name?mode=memory&cache=shared";
    {
        const auto first = open(name);
        const auto second = open("file:shared-by-name?cache=shared&mode=memory");
        EXPECT_EQ(first, second);
        EXPECT_NE(open("file:another-name?mode=memory&cache=shared"), first);
        ASSERT_TRUE(first->run(job()));
        EXPECT_EQ(count(*second), 1U);
    }
    EXPECT_EQ(count(*open(name)), 0U);
}

TEST(OpenEngine, PrivateMemoryIsNeverShared) {
    for (const char* name : {":memory:", "sqlite::memory:", "file::memory:",
                             "file::memory:?cache=shared", "memory:"}) {
        const auto first = open(name);
        const auto second = open(name);
        EXPECT_NE(first, second) << name;
        ASSERT_TRUE(first->run(job()));
        EXPECT_EQ(count(*second), 0U) << name;
    }
}

TEST(OpenEngine, WhatMerelyLooksLikeMemoryIsAFile) {
    const TempDir folder;
    const InFolder here(folder.path());
    open("file:my_mode=memory_db.sqlite");
    open("file:x?mode=memory_extra");
    open("file:y?cache=shared");
    EXPECT_TRUE(std::filesystem::exists(folder.file("my_mode=memory_db.sqlite")));
    EXPECT_TRUE(std::filesystem::exists(folder.file("x")));
    EXPECT_TRUE(std::filesystem::exists(folder.file("y")));
}

TEST(OpenEngine, WhatCannotBeOpenedIsSaidInOneLine) {
    const TempDir folder;
    EXPECT_EQ(failure(folder.file("no/such/folder/a.db")), "store_open_failed");
    EXPECT_EQ(failure(folder.path()), "store_open_failed");
    std::ofstream(folder.file("text.db")) << "This is not a database, but a text of some length.";
    EXPECT_EQ(failure(folder.file("text.db")), "store_open_failed");
    EXPECT_EQ(failure("sqlite:"), "invalid_config");
    EXPECT_EQ(failure("http://localhost:9090"), "invalid_config");
    EngineOptions options;
    options.pool_size = 0;
    EXPECT_EQ(failure(folder.file("a.db"), options), "invalid_config");
    const auto error = Engine::open(folder.file("no/such/folder/a.db"));
    EXPECT_EQ(error.error().message().find('\n'), std::string::npos);
}

TEST(OpenEngine, PartitionCountsAreFixedWhenAStoreIsMade) {
    const TempDir folder;
    EngineOptions options;
    options.flow_partitions = 8;
    open(folder.file("a.db"), options);
    EXPECT_EQ(open(folder.file("a.db"))->run(ReadCapabilities{})->partitions.flow, 8);
    options.flow_partitions = 9;
    EXPECT_EQ(failure(folder.file("a.db"), options), "partition_mismatch");
}

TEST(OpenEngine, OnePoolConnectionIsEnough) {
    const TempDir folder;
    EngineOptions options;
    options.pool_size = 1;
    const auto engine = open(folder.file("a.db"), options);
    const auto made = engine->run(job());
    ASSERT_TRUE(made);
    EXPECT_EQ(*engine->run(ReadExecutionState{made->execution_id}), PublicState::waiting);
}

TEST(OpenEngine, AnIdSourceOfItsOwnIsSharedSafely) {
    // Ids of creates are minted on the callers' threads, those of leases on the writer's.
    EngineOptions options;
    options.ids = std::make_shared<SeededIdSource>(7);
    const auto engine = open("memory:", options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                const auto made = engine->run(job());
                ASSERT_TRUE(made);
                EXPECT_TRUE(made->created) << "an id came twice";
                EXPECT_EQ(engine->run(claim_by("w" + std::to_string(t)))->tasks.size(), 1U);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace ff::engine::test
