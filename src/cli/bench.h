// `ff bench`: figures, and their ratio to a ceiling measured in the same run (spec 10).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ff/states.h>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace ff::cli {

FF_WORD_ENUM(BenchSuite, all, ceiling, lifecycle, http, growth, flows, suspend, limits, streams)
FF_WORD_ENUM(BenchStore, sqlite, memory, postgres)

struct BenchOptions {
    BenchSuite suite = BenchSuite::all;
    BenchStore store = BenchStore::sqlite;
    std::optional<std::string> folder;     ///< where the files go; a temporary folder when absent
    std::optional<std::string> url;        ///< of the PostgreSQL server; from the environment
    std::optional<std::string> connect;    ///< a server to drive; one is started when absent
    std::vector<int> workers{16, 64};      ///< of claim_complete_<n>
    std::optional<std::uint32_t> backlog;  ///< of the lifecycle phases
    bool quick = false;                    ///< small sizes: shows that it works, not how fast
    std::optional<std::string> svg;        ///< folder for the plots of growth
    Output output = Output::text;
};

/// `failed` as soon as any operation fails: a run with errors gives no more figures. `usage` when
/// there is no PostgreSQL server to measure, or one that is not asked for.
ExitCode run_bench(BenchOptions options);

}  // namespace ff::cli
