// `ff inspect` beside an engine: this process has the store open while the program looks at it.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/program.h"
#include "cli/rig.h"
#include "support/postgres.h"

namespace ff::test {
namespace {

/// The columns prio and att of a list.
std::string columns_of_row(const std::string& priority, const std::string& attempts) {
    return priority + "    " + attempts + "  ";
}

/// A store with one execution in each of several states, and an open engine on it.
class Inspect : public ::testing::Test {
  protected:
    void SetUp() override {
        EngineOptions options;
        options.background = false;
        auto opened = Engine::open(path_, options);
        ASSERT_TRUE(opened.has_value()) << opened.error().message();
        engine_ = *opened;
        waiting_ = create("email", "email.receipt", 5);
        completed_ = create("email", "email.receipt", 9);
        const ClaimedTask done = claim("email", 60'000);
        Complete complete;
        complete.lease = done.handle;
        complete.result_payload = std::string("a\0b\n", 4);
        ASSERT_TRUE(engine_->run(complete).has_value());
        ASSERT_EQ(done.execution_id(), completed_);
        failed_ = create("reports", "report.export", 0);
        const ClaimedTask bad = claim("reports", 60'000);
        Fail fail;
        fail.lease = bad.handle;
        fail.failure_reason = "no space\x1b[31m";
        fail.failure_category = "permanent";
        ASSERT_TRUE(engine_->run(fail).has_value());
        active_ = create("reports", "report.nightly", 0);
        claim("reports", 100);
        RegisterWorker worker;
        worker.ns = "shop";
        worker.worker_id = "w";
        worker.worker_instance_id = "w-1";
        worker.lanes = {"email"};
        worker.capabilities = {"gpu"};
        ASSERT_TRUE(engine_->run(worker).has_value());
    }
    void TearDown() override {
        if (engine_) {
            engine_->stop();
        }
    }

    ExecutionId create(const std::string& lane, const std::string& kind, std::int32_t priority) {
        CreateExecution op;
        op.ns = "shop";
        op.lane_id = lane;
        op.execution_kind = kind;
        op.input_payload = "input of " + kind;
        op.priority = priority;
        op.creator_identity = "test";
        op.tags = {{"order.id", std::to_string(++created_)}};
        auto created = engine_->run(op);
        EXPECT_TRUE(created.has_value());
        return created ? created->execution_id : ExecutionId{};
    }

    ClaimedTask claim(const std::string& lane, DurationMs ttl_ms) {
        Claim op;
        op.lanes = {lane};
        op.worker_id = "w";
        op.worker_instance_id = "w-1";
        op.lease_ttl_ms = ttl_ms;
        auto claimed = engine_->run(op);
        EXPECT_TRUE(claimed.has_value() && claimed->tasks.size() == 1);
        return claimed && !claimed->tasks.empty() ? claimed->tasks[0] : ClaimedTask{};
    }

    Ran inspect(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"inspect", "--db", path_});
        return run_ff(arguments);
    }

    /// The items of a list in JSON.
    js::Array items(std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), {"-o", "json"});
        const Ran ran = inspect(arguments);
        EXPECT_EQ(ran.code, 0) << ran.err;
        const js::Value value = ran.json();
        const js::Value* list = value.find("items");
        return list != nullptr && list->if_array() != nullptr ? *list->if_array() : js::Array();
    }

    Folder folder_;
    std::string path_ = folder_.file("store.db");
    std::shared_ptr<Engine> engine_;
    int created_ = 0;
    ExecutionId waiting_;
    ExecutionId completed_;
    ExecutionId failed_;
    ExecutionId active_;
};

/// The same on a file and on PostgreSQL.
class InspectStores : public Inspect, public ::testing::WithParamInterface<std::string> {
  protected:
    void SetUp() override {
        if (GetParam() == "postgres") {
            if (support::postgres_address().empty()) {
                GTEST_SKIP() << "no PostgreSQL server: see scripts/postgres.sh";
            }
            path_ = support::postgres_store(folder_.path());
        }
        Inspect::SetUp();
    }
};

INSTANTIATE_TEST_SUITE_P(Stores, InspectStores, ::testing::Values("sqlite", "postgres"),
                         [](const auto& param) { return param.param; });

TEST_P(InspectStores, ListsAndFilters) {
    const Ran all = inspect({"ls"});
    EXPECT_EQ(all.code, 0) << all.err;
    for (const ExecutionId& id : {waiting_, completed_, failed_, active_}) {
        EXPECT_TRUE(contains(all.out, id.to_string())) << all.out;
    }
    EXPECT_EQ(items({"ls"}).size(), 4U);
    const auto of_lane = items({"ls", "--lane", "email"});
    ASSERT_EQ(of_lane.size(), 2U);
    EXPECT_EQ(member(of_lane[0], "execution_id"), completed_.to_string()) << "newest first";
    const auto of_state = items({"ls", "--state", "failed", "--ns", "shop"});
    ASSERT_EQ(of_state.size(), 1U);
    EXPECT_EQ(member(of_state[0], "execution_id"), failed_.to_string());
    EXPECT_EQ(items({"ls", "--kind", "report.nightly"}).size(), 1U);
    const auto of_tag = items({"ls", "--tag", "order.id=1"});
    ASSERT_EQ(of_tag.size(), 1U);
    EXPECT_EQ(member(of_tag[0], "execution_id"), waiting_.to_string());
    EXPECT_EQ(items({"ls", "--ns", "nobody"}).size(), 0U);
}

TEST_P(InspectStores, PagesByCursor) {
    const Ran first = inspect({"ls", "--limit", "3", "-o", "json"});
    const std::string cursor = member(first.json(), "next_cursor");
    ASSERT_FALSE(cursor.empty());
    EXPECT_EQ(items({"ls", "--limit", "3", "--cursor", cursor}).size(), 1U);
    EXPECT_TRUE(contains(inspect({"ls", "--limit", "3"}).out, "--cursor " + cursor));
}

TEST_P(InspectStores, ShowsOneExecution) {
    const Ran text = inspect({"get", failed_.to_string()});
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_TRUE(contains(text.out, "permanent")) << text.out;
    EXPECT_TRUE(contains(text.out, "no space\\x1b[31m")) << text.out;
    EXPECT_TRUE(contains(text.out, "order.id=3")) << text.out;
    const js::Value value = inspect({"get", failed_.to_string(), "-o", "json"}).json();
    EXPECT_EQ(member(value, "public_state"), "failed");
    EXPECT_EQ(member(value, "failure_reason"), "no space\x1b[31m");
    EXPECT_EQ(member(value, "execution_kind"), "report.export");
    const Ran by_uuid = inspect({"get", failed_.uuid.to_string(), "-o", "json"});
    EXPECT_EQ(by_uuid.json(), value);
}

TEST_P(InspectStores, SaysWhy) {
    const Ran text = inspect({"why", waiting_.to_string()});
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_TRUE(contains(text.out, "waiting for a worker on lane email")) << text.out;
    const js::Value value = inspect({"why", waiting_.to_string(), "-o", "json"}).json();
    EXPECT_EQ(member(value, "capable_workers"), "1");
    EXPECT_EQ(member(value, "ahead"), "0");
}

TEST_P(InspectStores, SaysWhyAFailedOneFailed) {
    const Ran text = inspect({"why", failed_.to_string()});
    EXPECT_TRUE(contains(text.out, "no space\\x1b[31m")) << text.out;
    EXPECT_TRUE(contains(text.out, "permanent")) << text.out;
    const js::Value value = inspect({"why", failed_.to_string(), "-o", "json"}).json();
    EXPECT_EQ(member(value, "failure_reason"), "no space\x1b[31m");
    EXPECT_EQ(member(value, "failure_category"), "permanent");
}

TEST_P(InspectStores, ListsHowOftenEachWasTried) {
    for (const auto& [state, attempts] : {std::pair{"waiting", "0"}, std::pair{"completed", "1"}}) {
        const auto found = items({"ls", "--state", state});
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(member(found[0], "total_attempt_count"), attempts);
        const Ran text = inspect({"ls", "--state", state});
        const std::string row = text.out.substr(text.out.find('\n') + 1);
        const std::string prio = state == std::string("waiting") ? "5" : "9";
        EXPECT_TRUE(contains(row, columns_of_row(prio, attempts))) << text.out;
    }
}

TEST_P(InspectStores, ShowsAttemptsAndHistory) {
    EXPECT_TRUE(contains(inspect({"attempts", failed_.to_string()}).out, "ended_failure"));
    const auto attempts = items({"attempts", completed_.to_string()});
    ASSERT_EQ(attempts.size(), 1U);
    EXPECT_EQ(member(attempts[0], "attempt_state"), "ended_success");
    EXPECT_EQ(member(attempts[0], "worker_instance_id"), "w-1");
    EXPECT_TRUE(contains(inspect({"history", completed_.to_string()}).out, "acquired"));
    const auto history = items({"history", completed_.to_string()});
    ASSERT_EQ(history.size(), 2U);
    EXPECT_EQ(member(history[0], "event"), "acquired");
    EXPECT_EQ(member(history[1], "outcome"), "success");
}

TEST_P(InspectStores, GivesInputAndResultAsTheyAre) {
    const Ran result = inspect({"result", completed_.to_string()});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, std::string("a\0b\n", 4));
    EXPECT_EQ(inspect({"input", waiting_.to_string()}).out, "input of email.receipt");
    const Ran none = inspect({"result", waiting_.to_string()});
    EXPECT_EQ(none.code, 3);
    EXPECT_TRUE(contains(none.err, "has no result: it is waiting")) << none.err;
}

TEST_P(InspectStores, ShowsLanesWorkersLeasesAndStats) {
    EXPECT_EQ(items({"lanes"}).size(), 2U);
    EXPECT_TRUE(contains(inspect({"lanes"}).out, "reports"));
    const auto workers = items({"workers"});
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_EQ(member(workers[0], "capabilities"), "[\"gpu\"]");
    EXPECT_TRUE(contains(inspect({"workers"}).out, "w-1"));
    // The lease of the active one was for a tenth of a second.
    const auto leases = items({"leases", "--all"});
    ASSERT_EQ(leases.size(), 1U);
    EXPECT_EQ(member(leases[0], "execution_id"), active_.to_string());
    js::Array expired;
    for (int i = 0; i < 50 && expired.empty(); ++i) {
        expired = items({"leases"});
    }
    ASSERT_EQ(expired.size(), 1U);
    EXPECT_EQ(member(expired[0], "worker_instance_id"), "w-1");
    const Ran stats = inspect({"stats"});
    EXPECT_TRUE(contains(stats.out, "all lanes")) << stats.out;
    EXPECT_EQ(member(inspect({"stats", "-o", "json"}).json(), "total"), "4");
}

TEST_P(InspectStores, BadIdsAreUsageAndUnknownOnesNotFound) {
    for (const char* command : {"get", "why", "attempts", "history", "input", "result"}) {
        const Ran bad = inspect({command, "seventeen"});
        EXPECT_EQ(bad.code, 2) << command << bad.err;
        EXPECT_TRUE(contains(bad.err, "not an execution id")) << bad.err;
        EXPECT_TRUE(bad.out.empty());
        for (const char* unknown : {"{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071",
                                    "0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071"}) {
            const Ran missing = inspect({command, unknown});
            EXPECT_EQ(missing.code, 3) << command << missing.err;
            EXPECT_EQ(std::count(missing.err.begin(), missing.err.end(), '\n'), 1) << missing.err;
        }
    }
    EXPECT_EQ(inspect({"ls", "--tag", "order"}).code, 2);
    EXPECT_EQ(inspect({"ls", "--cursor", "zebra"}).code, 2);
}

TEST_F(Inspect, DoctorNamesTheOwner) {
    const Ran doctor = run_ff({"doctor", "--db", path_});
    EXPECT_EQ(doctor.code, 0) << doctor.out << doctor.err;
    EXPECT_TRUE(contains(doctor.out, "open in process ")) << doctor.out;
}

TEST_F(Inspect, NeedsNoOwnerAndLeavesNothingBeside) {
    engine_->stop();
    engine_.reset();
    const std::string before = run_shell("ls \"$1\"", {folder_.path()}).out;
    ASSERT_FALSE(contains(before, "-wal")) << before;
    EXPECT_EQ(items({"ls"}).size(), 4U);
    EXPECT_TRUE(contains(run_ff({"doctor", "--db", path_}).out, "nobody has it open"));
    EXPECT_EQ(run_shell("ls \"$1\"", {folder_.path()}).out, before);
    auto again = Engine::open(path_, {});
    EXPECT_TRUE(again.has_value()) << "looking leaves the store as it was";
}

}  // namespace
}  // namespace ff::test
