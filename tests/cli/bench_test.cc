// The benchmarks run and print every figure they promise. How fast they are is not asked here.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "cli/program.h"

namespace ff::test {
namespace {

/// Figures by name; each is checked for its shape.
std::map<std::string, js::Value> figures_of(const Ran& ran) {
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    std::map<std::string, js::Value> figures;
    for (const js::Value& line : ran.json_lines()) {
        const std::string name = member(line, "name");
        const js::Object* object = line.if_object();
        if (object == nullptr) {
            ADD_FAILURE() << "not an object: " << js::dump(line);
            continue;
        }
        std::vector<std::string> keys;
        for (const auto& [key, value] : *object) {
            keys.push_back(key);
        }
        EXPECT_EQ(keys, (std::vector<std::string>{"name", "store", "value", "unit", "ceiling",
                                                  "ratio", "durability"}))
            << name;
        EXPECT_GT(line.find("value")->as_double().value_or(-1), 0) << js::dump(line);
        EXPECT_EQ(line.find("ceiling")->is_null(), line.find("ratio")->is_null()) << name;
        if (!line.find("ratio")->is_null()) {
            EXPECT_GT(line.find("ratio")->as_double().value_or(-1), 0) << js::dump(line);
        }
        EXPECT_FALSE(member(line, "durability").empty()) << name;
        EXPECT_TRUE(figures.emplace(name, line).second) << "twice: " << name;
    }
    return figures;
}

void expect_names(const std::map<std::string, js::Value>& figures,
                  const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        EXPECT_TRUE(figures.contains(name)) << name;
    }
}

const std::vector<std::string> lifecycle_names{
    "lifecycle.create_16",         "lifecycle.create_bulk",
    "lifecycle.claim_complete_16", "lifecycle.claim_complete_16_threads",
    "lifecycle.claim_complete_64", "lifecycle.claim_complete_batch",
    "lifecycle.pickup_p50",        "lifecycle.pickup_p99",
    "lifecycle.claim_16",          "lifecycle.renew_16",
    "lifecycle.complete_16",       "lifecycle.alone_create_p50",
};

TEST(Bench, CeilingsHaveTheirNames) {
    const Folder folder;
    const auto figures =
        figures_of(run_ff({"bench", "ceiling", "--quick", "--db", folder.path(), "-o", "json"}));
    expect_names(figures,
                 {"ceiling.fsync", "ceiling.sqlite_1", "ceiling.sqlite_64", "ceiling.sqlite_512"});
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left behind";
}

TEST(Bench, LifecycleOnSqliteIsComparedWithTheCeiling) {
    const auto figures = figures_of(run_ff({"bench", "lifecycle", "--quick", "-o", "json"}));
    expect_names(figures, lifecycle_names);
    for (const auto& [name, figure] : figures) {
        EXPECT_EQ(member(figure, "store"), "sqlite") << name;
        EXPECT_EQ(member(figure, "durability"), "full") << name;
        EXPECT_FALSE(figure.find("ratio")->is_null()) << name;
    }
}

TEST(Bench, LifecycleInMemoryHasNoCeiling) {
    const auto figures = figures_of(run_ff(
        {"bench", "lifecycle", "--quick", "--store", "memory", "--workers", "3", "-o", "json"}));
    expect_names(figures, {"lifecycle.create_16", "lifecycle.claim_complete_3"});
    EXPECT_FALSE(figures.contains("lifecycle.claim_complete_16"));
    for (const auto& [name, figure] : figures) {
        EXPECT_EQ(member(figure, "store"), "memory") << name;
        EXPECT_TRUE(figure.find("ratio")->is_null()) << name;
    }
}

TEST(Bench, FlowsAreComparedWithIndependentExecutions) {
    const auto figures = figures_of(run_ff({"bench", "flows", "--quick", "-o", "json"}));
    expect_names(figures, {"flows.chain10", "flows.fan100", "flows.chain10_batch",
                           "flows.fan100_batch", "flows.cancel100", "flows.submit1k"});
    for (const char* name : {"flows.chain10", "flows.fan100", "flows.cancel100"}) {
        EXPECT_FALSE(figures.at(name).find("ratio")->is_null()) << name;
    }
}

TEST(Bench, SuspensionsAreComparedWithACommit) {
    const auto figures = figures_of(run_ff({"bench", "suspend", "--quick", "-o", "json"}));
    expect_names(figures, {"suspend.commit_p50", "suspend.renew_p50", "suspend.roundtrip",
                           "suspend.roundtrip_waiting", "suspend.roundtrips_16"});
    EXPECT_FALSE(figures.at("suspend.roundtrip").find("ratio")->is_null());
}

TEST(Bench, GrowthPrintsTablesAndPlots) {
    const Folder folder;
    const std::string plots = folder.file("plots");
    const Ran ran = run_ff({"bench", "growth", "--quick", "--svg", plots});
    EXPECT_EQ(ran.code, 0) << ran.err;
    for (const char* name : {"growth.claim.backlog", "growth.claim.finished",
                             "growth.renew.finished", "growth.complete.finished",
                             "growth.claim.routes", "growth.claim.churn", "executions waiting"}) {
        EXPECT_NE(ran.out.find(name), std::string::npos) << name << "\n" << ran.out;
    }
    for (const char* name : {"growth-backlog.svg", "growth-finished.svg", "growth-routes.svg"}) {
        EXPECT_TRUE(std::filesystem::exists(plots + "/" + name)) << name;
    }
}

TEST(Bench, AFolderThatIsNotThereIsSaid) {
    const Ran ran = run_ff({"bench", "ceiling", "--db", "/nowhere/at/all"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("is not a folder"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace ff::test
