// `ff doctor` finds what was broken on purpose, says what it is and ends with 1.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "cli/program.h"

namespace ff::test {
namespace {

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

/// A store with waiting, delayed, leased and finished executions, closed.
class Doctor : public ::testing::Test {
  protected:
    void SetUp() override {
        EngineOptions options;
        options.background = false;
        auto opened = Engine::open(path_, options);
        ASSERT_TRUE(opened.has_value()) << opened.error().message();
        Engine& engine = **opened;
        for (int i = 0; i < 20; ++i) {
            CreateExecution op;
            op.ns = "shop";
            op.lane_id = "email";
            op.execution_kind = "email.receipt";
            op.input_payload = "hello";
            op.creator_identity = "test";
            op.tags = {{"order.id", std::to_string(i)}};
            if (i >= 15) {
                op.delay_until = 4'000'000'000'000;
            }
            ASSERT_TRUE(engine.run(op).has_value());
        }
        Claim claim;
        claim.lanes = {"email"};
        claim.worker_id = "w";
        claim.worker_instance_id = "w-1";
        claim.max_tasks = 8;
        auto claimed = engine.run(claim);
        ASSERT_TRUE(claimed.has_value() && claimed->tasks.size() == 8);
        for (int i = 0; i < 5; ++i) {
            Complete complete;
            complete.lease = claimed->tasks[static_cast<std::size_t>(i)].handle;
            complete.result_payload = "done";
            ASSERT_TRUE(engine.run(complete).has_value());
        }
        engine.stop();
    }

    /// Expects one failed check of this name, with `words` in its first finding.
    void expect_fault(const std::string& check, std::string_view words) {
        const Ran ran = run_ff({"doctor", "--db", path_, "-o", "json"});
        EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
        const js::Value report = ran.json();
        EXPECT_EQ(member(report, "ok"), "false");
        bool found = false;
        for (const js::Value& entry : *report.find("checks")->if_array()) {
            if (member(entry, "name") == check) {
                found = true;
                EXPECT_EQ(member(entry, "status"), "fail") << ran.out;
                EXPECT_TRUE(contains(member(entry, "findings"), words)) << ran.out;
            }
        }
        EXPECT_TRUE(found) << "no check " << check;
        const Ran text = run_ff({"doctor", "--db", path_});
        EXPECT_EQ(text.code, 1);
        EXPECT_TRUE(contains(text.out, "FAIL")) << text.out;
        EXPECT_TRUE(contains(text.out, "NOT sound")) << text.out;
    }

    Folder folder_;
    std::string path_ = folder_.file("store.db");
};

TEST_F(Doctor, FindsNothingWrongWithASoundStore) {
    const Ran ran = run_ff({"doctor", "--db", path_, "-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    const js::Value report = ran.json();
    EXPECT_EQ(member(report, "ok"), "true");
    const js::Array& checks = *report.find("checks")->if_array();
    EXPECT_EQ(checks.size(), 18U);
    for (const js::Value& check : checks) {
        EXPECT_NE(member(check, "status"), "fail") << member(check, "name");
        EXPECT_FALSE(member(check, "detail").empty()) << member(check, "name");
    }
    EXPECT_EQ(run_ff({"doctor", "--db", path_, "--quick"}).code, 0);
}

TEST_F(Doctor, FindsAWrongPublicState) {
    tamper(path_, "UPDATE ff_exec_core SET public_state = 7 WHERE eid = 10");
    expect_fault("invariants", "public_state");
}

TEST_F(Doctor, FindsAnIllegalVector) {
    tamper(path_, "UPDATE ff_exec_core SET ownership_state = 1 WHERE eid = 10");
    expect_fault("invariants", "vector");
}

TEST_F(Doctor, FindsAValueThatIsNoState) {
    tamper(path_, "UPDATE ff_exec_core SET lifecycle_phase = 77 WHERE eid = 10");
    expect_fault("readable", "execution number 10");
}

TEST_F(Doctor, FindsAMissingReadyRow) {
    tamper(path_, "DELETE FROM ff_ready WHERE place = 10");
    expect_fault("ready", "no ready row says so");
}

TEST_F(Doctor, FindsAReadyRowThatShouldNotBe) {
    tamper(path_, "INSERT INTO ff_ready (route, rank, place) VALUES (1, 0, 3)");
    expect_fault("ready", "a ready row that it should not have");
}

TEST_F(Doctor, FindsAReadyRowOfNothing) {
    tamper(path_, "INSERT INTO ff_ready (route, rank, place) VALUES (1, 0, 4711)");
    expect_fault("ready", "4711");
}

TEST_F(Doctor, FindsAMissingTimer) {
    tamper(path_, "DELETE FROM ff_timer WHERE eid = 18");
    expect_fault("timers", "timer at 2096-10-02 07:06:40.000Z is missing");
}

TEST_F(Doctor, FindsATimerThatWillNeverFire) {
    tamper(path_,
           "DELETE FROM ff_timer WHERE eid = 18;"
           "UPDATE ff_exec_core SET timer_at = NULL WHERE eid = 18");
    expect_fault("timers", "no timer is armed");
}

TEST_F(Doctor, FindsAnExecutionThatIsNotListed) {
    tamper(path_, "DELETE FROM ff_listed WHERE eid = 18");
    expect_fault("listed", "not in the list of delayed");
}

TEST_F(Doctor, FindsAMissingInput) {
    tamper(path_, "DELETE FROM ff_exec_input WHERE eid = 9");
    expect_fault("references", "its input is missing");
}

TEST_F(Doctor, FindsAMissingRouteAndLane) {
    tamper(path_, "DELETE FROM ff_lane_registry");
    expect_fault("references", "its lane is not registered");
    tamper(path_, "DELETE FROM ff_route");
    expect_fault("references", "its route 1 is missing");
}

TEST_F(Doctor, FindsATagThatIsNotIndexed) {
    tamper(path_, "DELETE FROM ff_exec_tag WHERE eid = 9");
    expect_fault("tags", "order.id=8");
}

TEST_F(Doctor, FindsRowsOfAnExecutionThatIsGone) {
    tamper(path_, "DELETE FROM ff_exec_core WHERE eid = 1");
    expect_fault("orphans", "ff_attempt has rows of execution number 1");
}

TEST_F(Doctor, FindsAFlowThatCountsWrongly) {
    tamper(path_,
           "INSERT INTO ff_flow (flow_id, partition, flow_kind, namespace, graph_revision,"
           " node_count, edge_count, live_members) VALUES (zeroblob(16), 0, 'a', 'b', 4, 1, 3, 1);"
           "INSERT INTO ff_edge (upstream_id, edge_id, flow_id, downstream_id)"
           " VALUES (X'000000000000000000000000000000000001', zeroblob(16), zeroblob(16),"
           " zeroblob(18)), (X'000000000000000000000000000000000002',"
           " X'00000000000000000000000000000001', zeroblob(16), zeroblob(18));"
           "UPDATE ff_exec_core SET flow_id = zeroblob(16) WHERE eid = 10");
    expect_fault("flows", "edge_count is 3, counted 2");
    expect_fault("flows", "no edge group of {fp:0}:00000000");
    tamper(path_,
           "INSERT INTO ff_edge_group (flow_id, downstream_id, staged)"
           " VALUES (zeroblob(16), zeroblob(18), 7)");
    expect_fault("flows", "staged of the edge group of");
    tamper(path_, "UPDATE ff_flow SET live_members = 2");
    expect_fault("flows", "live members is 2, counted 1");
}

TEST_F(Doctor, FindsAFlowThatNobodyWillLookAt) {
    tamper(path_,
           "INSERT INTO ff_flow (flow_id, partition, flow_kind, namespace)"
           " VALUES (zeroblob(16), 0, 'a', 'b')");
    expect_fault("flows", "its timer is not armed as it should be");
    tamper(path_, "UPDATE ff_flow SET flow_state = 77");
    expect_fault("flows", "its row: flow_state: 77");
}

TEST_F(Doctor, FindsRowsOfAFlowThatIsGone) {
    tamper(path_,
           "UPDATE ff_exec_core SET flow_id = zeroblob(16) WHERE eid = 10;"
           "INSERT INTO ff_flow_work (flow_id, kind, execution_id)"
           " VALUES (zeroblob(16), 0, zeroblob(18))");
    expect_fault("flows", "ff_exec_core has rows of flow 00000000-0000-0000-0000-000000000000");
    expect_fault("flows", "ff_flow_work has rows of flow");
}

TEST_F(Doctor, FindsAnEndThatHasNotCome) {
    tamper(path_, "UPDATE ff_exec_core SET edges_told = 1 WHERE eid = 10");
    expect_fault("invariants", "who has not ended has told its edges no end");
}

TEST_F(Doctor, FindsThatEdgesCannotBeRead) {
    tamper(path_,
           "DROP VIEW ff_edges; DROP VIEW ff_edge_groups; DROP VIEW ff_edge_now;"
           "UPDATE ff_exec_core SET edges_told = 0");
    expect_fault("schema", "view ff_edge_now is missing");
}

TEST_F(Doctor, FindsAMissingIndex) {
    tamper(path_, "DELETE FROM ff_ready WHERE place = 10; DROP INDEX ff_exec_core_by_route");
    expect_fault("schema", "index ff_exec_core_by_route is missing");
}

TEST_F(Doctor, FindsADamagedPage) {
    {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(3 * 4'096 + 8);
        file << std::string(2'000, '\x5a');
    }
    const Ran ran = run_ff({"doctor", "--db", path_});
    EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
    EXPECT_FALSE(contains(ran.out, "\\n")) << "one finding a line\n" << ran.out;
    EXPECT_FALSE(contains(ran.out, "***")) << ran.out;
}

TEST_F(Doctor, ReportsAFileThatWasCutShort) {
    const auto whole = std::filesystem::file_size(path_);
    for (const std::uintmax_t bytes : {whole / 2, std::uintmax_t{1'000}}) {
        std::filesystem::resize_file(path_, bytes);
        const Ran text = run_ff({"doctor", "--db", path_});
        EXPECT_EQ(text.code, 1) << text.out << text.err;
        EXPECT_EQ(text.err, "");
        EXPECT_TRUE(
            contains(text.out, "integrity  FAIL   the file is damaged or cut short: it has "))
            << text.out;
        EXPECT_FALSE(contains(text.out, "SELECT")) << text.out;
        expect_fault("integrity", "malformed");
        const Ran look = run_ff({"inspect", "--db", path_, "stats"});
        EXPECT_EQ(look.code, 1);
        EXPECT_TRUE(contains(look.err, "is damaged or cut short: it has ")) << look.err;
        EXPECT_FALSE(contains(look.err, "SELECT")) << look.err;
        EXPECT_EQ(std::count(look.err.begin(), look.err.end(), '\n'), 1) << look.err;
    }
}

TEST_F(Doctor, LeavesTheLogOfAnEmptyFileAlone) {
    const std::string empty = folder_.file("empty.db");
    const std::string log(5'000, 'x');
    std::ofstream(empty).flush();
    std::ofstream(empty + "-wal") << log;
    const Ran ran = run_ff({"doctor", "--db", empty});
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_TRUE(contains(ran.out, "it is empty, with a log of 5000 bytes beside it")) << ran.out;
    EXPECT_EQ(run_ff({"inspect", "--db", empty, "ls"}).code, 1);
    EXPECT_EQ(std::filesystem::file_size(empty + "-wal"), log.size());
}

/// As root every file can be read, so the program is run as nobody.
TEST_F(Doctor, SaysThatItMayNotRead) {
    const std::string as_nobody = geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : "";
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    const auto expect_refusal_of = [&](const std::string& file) {
        for (const char* command : {"doctor --db \"$1\"", "inspect --db \"$1\" stats"}) {
            const Ran ran = run_shell(as_nobody + "\"$0\" " + command, {path_});
            EXPECT_EQ(ran.code, 1) << ran.out;
            EXPECT_EQ(ran.err, "ff: cannot read " + file + ": permission denied\n");
        }
    };
    std::filesystem::permissions(path_, std::filesystem::perms::none);
    expect_refusal_of(path_);
    std::filesystem::permissions(path_, std::filesystem::perms(0644));
    std::ofstream(path_ + "-wal") << "x";
    std::filesystem::permissions(path_ + "-wal", std::filesystem::perms::none);
    expect_refusal_of(path_ + "-wal");
}

TEST_F(Doctor, RefusesWhatIsNotAStore) {
    const std::string other = folder_.file("other");
    std::ofstream(other) << std::string(5'000, 'x');
    const Ran text = run_ff({"doctor", "--db", other});
    EXPECT_EQ(text.code, 1);
    EXPECT_EQ(text.err, "ff: " + other + " is not a SQLite database\n");
    const Ran as_json = run_ff({"doctor", "--db", other, "-o", "json"});
    EXPECT_EQ(as_json.code, 1);
    EXPECT_EQ(member(as_json.json(), "ok"), "false");
    EXPECT_TRUE(contains(as_json.out, "the file is not a SQLite database")) << as_json.out;
    EXPECT_EQ(run_ff({"inspect", "--db", other, "ls"}).err, text.err);
    const std::string foreign = folder_.file("foreign.db");
    {
        std::ofstream make(foreign);
    }
    const Ran empty = run_ff({"doctor", "--db", foreign});
    EXPECT_EQ(empty.code, 1) << empty.out;
    EXPECT_TRUE(contains(empty.out, "not a FlowFabric store")) << empty.out;
    EXPECT_EQ(run_ff({"inspect", "--db", foreign, "ls"}).code, 1);
    EXPECT_EQ(run_ff({"doctor", "--db", folder_.path()}).code, 1);
}

TEST_F(Doctor, RefusesANewerSchemaInOneLine) {
    tamper(path_,
           "INSERT INTO ff_schema_migration (version, name, checksum) VALUES (99, 'x', 'y')");
    expect_fault("schema", "this program knows version 11");
    const Ran look = run_ff({"inspect", "--db", path_, "ls"});
    EXPECT_EQ(look.code, 1);
    EXPECT_TRUE(contains(look.err, "use a newer ff")) << look.err;
}

}  // namespace
}  // namespace ff::test
