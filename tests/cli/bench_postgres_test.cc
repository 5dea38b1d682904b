// What `ff bench --store postgres` does with addresses and with what pgbench says; with a server
// (FF_TEST_POSTGRES), that it measures and leaves no database behind.
#include "cli/bench_postgres.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "cli/child.h"
#include "cli/program.h"

namespace ff::test {
namespace {

TEST(BenchAddress, GetsAnotherDatabase) {
    const auto changed = [](const char* url) { return cli::with_database(url, "b").value_or(""); };
    EXPECT_EQ(changed("postgresql://ff:secret@127.0.0.1:5432/a"),
              "postgresql://ff:secret@127.0.0.1:5432/b");
    EXPECT_EQ(changed("postgres://host"), "postgres://host/b");
    EXPECT_EQ(changed("postgresql:///a?host=/tmp/x&port=1&user=ff"),
              "postgresql:///b?host=/tmp/x&port=1&user=ff");
    EXPECT_EQ(changed("postgresql://?host=/tmp/x"), "postgresql:///b?host=/tmp/x");
    EXPECT_EQ(changed("postgresql://h1:1,h2:2/a?sslmode=require"),
              "postgresql://h1:1,h2:2/b?sslmode=require");
}

TEST(BenchAddress, ADatabaseNamedAsAParameterIsReplacedToo) {
    EXPECT_EQ(cli::with_database("postgresql://h/?dbname=a&port=1", "b"),
              "postgresql://h/b?port=1");
    EXPECT_EQ(cli::with_database("postgresql://h?port=1&dbname=a", "b"), "postgresql://h/b?port=1");
    EXPECT_EQ(cli::with_database("postgresql://h/a?dbname=a", "b"), "postgresql://h/b");
}

TEST(BenchAddress, OnlyPostgresHasOne) {
    EXPECT_FALSE(cli::with_database("sqlite:app.db", "b"));
    EXPECT_FALSE(cli::with_database("host=localhost dbname=a", "b"));
    EXPECT_FALSE(cli::with_database("", "b"));
}

TEST(PgbenchOutput, TheRateIsRead) {
    EXPECT_EQ(cli::pgbench_rate("number of failed transactions: 0 (0.000%)\n"
                                "latency average = 2.183 ms\n"
                                "initial connection time = 21.503 ms\n"
                                "tps = 7330.254100 (without initial connection time)\n"),
              7330.2541);
}

TEST(PgbenchOutput, OfTwoRatesTheOneWithoutConnectingIsTaken) {
    EXPECT_EQ(cli::pgbench_rate("tps = 85.184871 (including connections establishing)\n"
                                "tps = 85.296346 (excluding connections establishing)\n"),
              85.296346);
}

TEST(PgbenchOutput, NoRateIsAnError) {
    for (const char* printed : {"", "tps = ", "tps = none\n", "tps = 0.0\n", "pgbench (15.7)\n"}) {
        EXPECT_FALSE(cli::pgbench_rate(printed)) << printed;
    }
}

TEST(Child, TheTellingLineIsTheErrorOrTheLast) {
    EXPECT_EQ(cli::telling_line("creating tables...\npgbench: error: no\n\thint\n"),
              "pgbench: error: no");
    EXPECT_EQ(cli::telling_line("one\ntwo\n\n"), "two");
    EXPECT_EQ(cli::telling_line(""), "");
}

TEST(Child, GivesWhatItPrintedOrWhyItFailed) {
    EXPECT_EQ(cli::run_child({"/bin/sh", "-c", "echo out; echo err >&2"}), "out\nerr\n");
    const auto failed = cli::run_child({"/bin/sh", "-c", "echo why; exit 3"});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().detail, "why");
    EXPECT_FALSE(cli::run_child({"/bin/sh", "-c", "kill -9 $$"}));
    EXPECT_FALSE(cli::run_child({"/no/such/program"}));
}

/// One line on standard error, besides those that say what is measured.
void expect_one_line(const Ran& ran, const std::string& part) {
    std::string rest = ran.err;
    while (rest.starts_with("measuring ")) {
        rest.erase(0, rest.find('\n') + 1);
    }
    EXPECT_EQ(rest.find('\n'), rest.size() - 1) << ran.err;
    EXPECT_NE(rest.find(part), std::string::npos) << ran.err;
}

TEST(BenchPostgres, WithoutAServerTheUsageSaysHowToGetOne) {
    const Ran ran =
        run_shell("unset FF_BENCH_POSTGRES; FF_TEST_POSTGRES= exec \"$0\" bench --store postgres");
    EXPECT_EQ(ran.code, 2);
    expect_one_line(ran, "scripts/postgres.sh run build/release/ff bench --store postgres");
}

TEST(BenchPostgres, AnAddressMustBeOneOfPostgres) {
    const Ran ran = run_ff({"bench", "--store", "postgres", "--url", "sqlite:app.db"});
    EXPECT_EQ(ran.code, 2);
    expect_one_line(ran, "postgresql://USER@HOST:PORT/DATABASE");
}

TEST(BenchPostgres, AnAddressIsOfNoUseToOtherStores) {
    const Ran ran = run_ff({"bench", "ceiling", "--quick", "--url", "postgresql:///x"});
    EXPECT_EQ(ran.code, 2);
    expect_one_line(ran, "--url is for --store postgres");
}

TEST(BenchPostgres, AServerThatIsNotThereIsSaid) {
    const Ran ran =
        run_ff({"bench", "--quick", "--store", "postgres", "--url", "postgresql://127.0.0.1:1/x"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(ran.out, "");
    expect_one_line(ran, "");
}

TEST(BenchPostgres, CeilingsHaveTheirNamesAndNoDatabaseIsLeft) {
    const char* url = std::getenv("FF_TEST_POSTGRES");
    if (url == nullptr) {
        GTEST_SKIP() << "no server: see scripts/postgres.sh";
    }
    const Ran ran = run_ff({"bench", "ceiling", "--quick", "--store", "postgres", "-o", "json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    std::set<std::string> names;
    for (const js::Value& line : ran.json_lines()) {
        names.insert(member(line, "name"));
        EXPECT_EQ(member(line, "store"), "postgres");
        EXPECT_EQ(member(line, "durability"), "synchronous_commit on");
        EXPECT_GT(line.find("value")->as_double().value_or(-1), 0) << js::dump(line);
    }
    EXPECT_EQ(names, (std::set<std::string>{"ceiling.pgbench_16", "ceiling.pgbench_16_prepared"}));
    const auto left = cli::run_child(
        {*cli::find_postgres_program("psql"), "-X", "-t", "-A", "-c",
         "SELECT count(*) FROM pg_database WHERE datname LIKE 'ff\\_bench%ceiling'", url});
    EXPECT_EQ(left, "0\n");
}

}  // namespace
}  // namespace ff::test
