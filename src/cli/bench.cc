#include "cli/bench.h"

#include <fmt/core.h>
#include <sys/vfs.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "cli/bench_ceiling.h"
#include "cli/bench_figures.h"
#include "cli/bench_flows.h"
#include "cli/bench_growth.h"
#include "cli/bench_http.h"
#include "cli/bench_lifecycle.h"
#include "cli/bench_limits.h"
#include "cli/bench_postgres.h"
#include "cli/bench_streams.h"
#include "cli/bench_suspend.h"
#include "cli/temp_folder.h"
#include "cli/terminal.h"

namespace ff::cli {

namespace {

/// A folder that lives in memory: what is made durable there is not.
bool is_in_memory(const std::string& folder) {
    constexpr long tmpfs = 0x01021994;
    struct statfs info{};
    return statfs(folder.c_str(), &info) == 0 && static_cast<long>(info.f_type) == tmpfs;
}

void warn_when_in_memory(const std::string& folder, std::string_view remedy) {
    if (is_in_memory(folder)) {
        complain(fmt::format("warning: {} is in memory, so syncing costs nothing there; {}", folder,
                             remedy));
    }
}

/// Settles which server is measured; the fault of the command line, or nothing.
std::string settle_url(BenchOptions& options) {
    if (options.store != BenchStore::postgres) {
        return options.url ? "--url is for --store postgres" : "";
    }
    for (const char* name : {"FF_BENCH_POSTGRES", "FF_TEST_POSTGRES"}) {
        const std::string_view value = std::getenv(name) == nullptr ? "" : std::getenv(name);
        if (!options.url && !value.empty()) {
            options.url = value;
        }
    }
    if (!options.url) {
        return "--store postgres needs a server: give its address with --url, or try "
               "scripts/postgres.sh run build/release/ff bench --store postgres";
    }
    return with_database(*options.url, "") ? ""
                                           : "the server's address must look like "
                                             "postgresql://USER@HOST:PORT/DATABASE";
}

expected<void> run(const BenchOptions& options) {
    std::error_code failed;
    if (options.folder && !std::filesystem::is_directory(*options.folder, failed)) {
        return std::unexpected(Error{ErrorCode::store_open_failed,
                                     *options.folder + " is not a folder; create it first",
                                     {}});
    }
    // In a folder of its own: nothing that was there is touched, nothing is left behind.
    FF_TRY(const TempFolder folder, TempFolder::make("ff-bench-", options.folder.value_or("")));
    if (options.store == BenchStore::postgres) {
        warn_when_in_memory(data_folder(*options.url),
                            "a server's data belongs on a disk (TMPDIR)");
    } else {
        warn_when_in_memory(folder.path(), "name a folder on a disk with --db");
    }
    Figures figures(options.output);
    const auto wanted = [&](BenchSuite suite) {
        return options.suite == suite || options.suite == BenchSuite::all;
    };
    if (wanted(BenchSuite::ceiling)) {
        FF_TRY_VOID(bench_ceilings(options, folder.path(), figures));
    }
    if (wanted(BenchSuite::lifecycle)) {
        FF_TRY_VOID(bench_lifecycle(options, folder.path(), figures));
    }
    if (options.suite == BenchSuite::http ||
        (wanted(BenchSuite::http) && options.store == BenchStore::sqlite)) {
        FF_TRY_VOID(bench_http(options, folder.path(), figures));
    }
    if (wanted(BenchSuite::flows)) {
        FF_TRY_VOID(bench_flows(options, folder.path(), figures));
    }
    if (wanted(BenchSuite::suspend)) {
        FF_TRY_VOID(bench_suspend(options, folder.path(), figures));
    }
    if (wanted(BenchSuite::limits)) {
        FF_TRY_VOID(bench_limits(options, folder.path(), figures));
    }
    if (wanted(BenchSuite::streams)) {
        FF_TRY_VOID(bench_streams(options, folder.path(), figures));
    }
    if (wanted(BenchSuite::growth)) {
        FF_TRY_VOID(bench_growth(options, folder.path(), figures));
    }
    return {};
}

}  // namespace

ExitCode run_bench(BenchOptions options) {
    if (const std::string fault = settle_url(options); !fault.empty()) {
        complain(fault);
        return ExitCode::usage;
    }
    const auto outcome = run(options);
    if (!outcome) {
        if (output_fault() == 0) {  // else main says what is to be said
            complain(outcome.error());
        }
        return ExitCode::failed;
    }
    return ExitCode::ok;
}

}  // namespace ff::cli
