#include "cli/bench_postgres.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cli/child.h"
#include "cli/exit_code.h"

namespace ff::cli {

namespace {

/// What a query prints, without the line end.
expected<std::string> run_sql(const std::string& url, const std::string& sql) {
    FF_TRY(const std::string psql, find_postgres_program("psql"));
    FF_TRY(std::string printed,
           run_child({psql, "--no-psqlrc", "--no-password", "--quiet", "--tuples-only",
                      "--no-align", "--set=ON_ERROR_STOP=1", "--command=" + sql, url}));
    printed.erase(printed.find_last_not_of('\n') + 1);
    return printed;
}

/// The query part of an address, `?` included, without its `dbname`.
std::string query_without_database(std::string_view query) {
    std::string kept;
    while (!query.empty()) {
        query.remove_prefix(1);  // ? or &
        const std::size_t end = std::min(query.find('&'), query.size());
        const std::string_view parameter = query.substr(0, end);
        if (!parameter.starts_with("dbname=")) {
            kept += kept.empty() ? "?" : "&";
            kept += parameter;
        }
        query.remove_prefix(end);
    }
    return kept;
}

}  // namespace

std::optional<std::string> with_database(std::string_view url, std::string_view database) {
    const bool known = url.starts_with("postgresql://") || url.starts_with("postgres://");
    if (!known) {
        return std::nullopt;
    }
    const std::size_t host = url.find("://") + 3;
    const std::size_t query = std::min(url.find('?', host), url.size());
    const std::size_t path = std::min(url.find('/', host), query);
    return fmt::format("{}/{}{}", url.substr(0, path), database,
                       query_without_database(url.substr(query)));
}

expected<double> pgbench_rate(std::string_view printed) {
    // Before version 14 there were two lines; the second leaves out the time to connect.
    constexpr std::string_view mark = "tps = ";
    const std::size_t at = printed.rfind(mark);
    double rate = 0;
    if (at != std::string_view::npos) {
        const std::string_view number = printed.substr(at + mark.size());
        std::from_chars(number.data(), number.data() + number.size(), rate);
    }
    if (rate <= 0) {
        return ff::fail(ErrorCode::internal, "pgbench did not say how fast it was");
    }
    return rate;
}

std::string data_folder(const std::string& url) {
    return run_sql(url, "SHOW data_directory").value_or("");
}

expected<std::unique_ptr<ScratchDatabase>> ScratchDatabase::make(const std::string& server_url,
                                                                 std::string_view name) {
    std::unique_ptr<ScratchDatabase> database(new ScratchDatabase);
    std::string database_name = fmt::format("ff_bench_{}_{}", getpid(), name);
    std::ranges::replace(database_name, '-', '_');
    const auto url = with_database(server_url, database_name);
    FF_CHECK(url.has_value(), "the address was looked at before");
    database->server_url_ = server_url;
    database->url_ = *url;
    FF_TRY_VOID(run_sql(server_url, "CREATE DATABASE " + database_name));
    database->name_ = std::move(database_name);
    return database;
}

ScratchDatabase::~ScratchDatabase() {
    if (name_.empty()) {
        return;
    }
    const auto dropped = run_sql(server_url_, fmt::format("DROP DATABASE {} WITH (FORCE)", name_));
    if (!dropped) {
        complain(fmt::format("warning: the database {} is left behind: {}", name_,
                             dropped.error().detail));
    }
}

expected<std::unique_ptr<PgbenchCeiling>> PgbenchCeiling::make(const BenchOptions& options) {
    std::unique_ptr<PgbenchCeiling> ceiling(new PgbenchCeiling);
    FF_TRY(ceiling->program_, find_postgres_program("pgbench"));
    FF_TRY(ceiling->database_, ScratchDatabase::make(*options.url, "ceiling"));
    const std::string& url = ceiling->database_->url();
    FF_TRY(ceiling->durability_,
           run_sql(url,
                   "SELECT CASE current_setting('fsync') WHEN 'on' THEN 'synchronous_commit '"
                   " || current_setting('synchronous_commit') ELSE 'none (fsync off)' END"));
    const std::string scale = options.quick ? "1" : "20";
    FF_TRY_VOID(run_child({ceiling->program_, "--initialize", "--quiet", "--scale=" + scale, url}));
    return ceiling;
}

expected<double> PgbenchCeiling::transactions_per_second(Protocol protocol, int seconds) {
    FF_TRY(const std::string printed,
           run_child({program_, "--skip-some-updates", "--client=16", "--jobs=2",
                      fmt::format("--time={}", seconds),
                      protocol == Protocol::simple ? "--protocol=simple" : "--protocol=prepared",
                      database_->url()}));
    return pgbench_rate(printed);
}

expected<void> bench_postgres_ceilings(const BenchOptions& options, Figures& figures) {
    using enum PgbenchCeiling::Protocol;
    const int seconds = options.quick ? 1 : 10;
    figures.progress("the ceiling's table");
    FF_TRY(const auto ceiling, PgbenchCeiling::make(options));
    const std::vector<std::pair<std::string, PgbenchCeiling::Protocol>> runs{
        {"ceiling.pgbench_16", simple}, {"ceiling.pgbench_16_prepared", prepared}};
    for (const auto& [name, protocol] : runs) {
        figures.progress(name);
        FF_TRY(const double rate, ceiling->transactions_per_second(protocol, seconds));
        FF_TRY_VOID(figures.add({name, "postgres", rate, "/s", {}, {}, ceiling->durability()}));
    }
    figures.print_table("ceilings");
    return {};
}

}  // namespace ff::cli
