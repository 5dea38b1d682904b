#include "cli/store_checks.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

#include "cli/row_checks.h"
#include "cli/sqlite_look.h"
#include "cli/text.h"
#include "store/catalogue.h"
#include "store/file_lock.h"
#include "store/schema.h"
#include "store/sqlite_store.h"
#include "store/tables.h"

namespace ff::cli {

using store::SqliteDb;
using store::Statement;

void Check::add(std::string finding) {
    status = CheckStatus::fail;
    found += 1;
    if (findings.size() < findings_max) {
        findings.push_back(std::move(finding));
    }
}

bool all_sound(const std::vector<Check>& checks) {
    return std::ranges::none_of(checks,
                                [](const Check& c) { return c.status == CheckStatus::fail; });
}

namespace {

constexpr std::uint64_t log_bytes_warn = 256U << 20;

/// The log-reset fault of SQLite is mended in these releases and all later ones.
bool log_reset_is_mended(int version) {
    return version >= 3'051'003 || (version >= 3'050'007 && version < 3'051'000) ||
           (version >= 3'044'006 && version < 3'045'000);
}

Check check_library() {
    Check check{"library"};
    check.detail = fmt::format("ff {}, SQLite {}", FF_VERSION, store::sqlite_version());
    if (!log_reset_is_mended(store::sqlite_version_number())) {
        check.status = CheckStatus::warn;
        check.detail +=
            ": below 3.51.3 only one connection may write, which ff sees to; let no "
            "other program write to the file";
    }
    return check;
}

Check check_file(const StoreFile& file) {
    Check check{"file"};
    check.detail =
        fmt::format("{} and a log of {}", bytes_text(file.bytes()), bytes_text(file.log_bytes()));
    if (file.log_bytes() > log_bytes_warn) {
        check.status = CheckStatus::warn;
        check.detail += ": the log is large; a reader may be holding an old view";
    }
    return check;
}

Check check_owner(const StoreFile& file) {
    Check check{"owner"};
    const std::string owner = store::FileLock::owner_of(file.path);
    check.detail = owner.empty() ? "nobody has it open" : "open in " + owner;
    return check;
}

// ------------------------------------------------------------------------------------- schema

using Objects = std::map<std::pair<std::string, std::string>, std::string>;

/// Tables, indexes and views by type and name, with their text.
expected<Objects> objects_of(SqliteDb& db) {
    FF_TRY(Statement s,
           db.prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"));
    Objects out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            return out;
        }
        std::string type(s.bytes());
        std::string name(s.bytes());
        out[{std::move(type), std::move(name)}] = std::string(s.bytes());
    }
}

expected<void> compare_schema(SqliteDb& db, int version, Check& check) {
    FF_TRY(auto model, SqliteDb::open(":memory:", store::OpenMode::write, 0));
    FF_TRY_VOID(store::migrate_sqlite(*model));
    for (const store::Migration& migration : store::migrations()) {
        FF_TRY(const std::string stored,
               db.scalar(fmt::format("SELECT checksum FROM ff_schema_migration WHERE version = {}",
                                     migration.version)));
        if (migration.version <= version && stored != store::checksum(migration)) {
            check.add(fmt::format("migration {} was applied in another form", migration.version));
        }
    }
    FF_TRY(const Objects expected, objects_of(*model));
    FF_TRY(const Objects actual, objects_of(db));
    for (const auto& [key, text] : expected) {
        const auto it = actual.find(key);
        if (it != actual.end() && it->second == text) {
            continue;
        }
        const std::string what =
            fmt::format("{} {} is {}", key.first, key.second,
                        it == actual.end() ? "missing" : "not as it should be");
        if (key.first != "view" || key.second == store::Table<core::Edge>::view) {
            check.add(what);
        } else if (check.status == CheckStatus::ok) {
            // Views are made anew by the engine that opens the store next.
            check.status = CheckStatus::warn;
            check.detail += "; " + what + ", which the next start mends";
        }
    }
    for (const auto& [key, text] : actual) {
        if (!expected.contains(key) && check.status == CheckStatus::ok) {
            check.status = CheckStatus::warn;
            check.detail += fmt::format("; {} {} is not ours", key.first, key.second);
        }
    }
    return {};
}

Check check_schema(SqliteDb& db) {
    Check check{"schema"};
    const int known = store::migrations().back().version;
    const auto version = store::version_of_store(db);
    if (!version) {
        const bool foreign = version.error().code == ErrorCode::store_open_failed;
        check.detail = foreign ? "not a FlowFabric store" : "could not be read";
        check.add(fault_text(version.error(), db));
        return check;
    }
    check.detail = fmt::format("version {}", *version);
    if (*version != known) {
        check.add(fmt::format("this program knows version {}", known));
    } else if (auto done = compare_schema(db, *version, check); !done) {
        check.add(fault_text(done.error(), db));
    }
    return check;
}

// ---------------------------------------------------------------------------------- integrity

/// SQLite gives several findings in one row, a line each, under the name of the database.
void add_integrity_findings(std::string_view row, Check& check) {
    while (!row.empty()) {
        const std::size_t end = std::min(row.find('\n'), row.size());
        const std::string_view line = row.substr(0, end);
        row.remove_prefix(std::min(end + 1, row.size()));
        if (!line.empty() && line != "ok" && !line.starts_with("*** in database")) {
            check.add(std::string(line));
        }
    }
}

int show_progress(void* progress) {
    (*static_cast<const CheckProgress*>(progress))("integrity", 0, 0);
    return 0;
}

Check check_integrity(SqliteDb& db, const CheckOptions& options) {
    Check check{"integrity"};
    const char* pragma = options.quick ? "quick_check" : "integrity_check";
    constexpr int steps_between = 500'000;
    sqlite3_progress_handler(db.handle(), steps_between, &show_progress,
                             const_cast<CheckProgress*>(&options.progress));
    const auto run = [&]() -> expected<void> {
        FF_TRY(Statement s, db.prepare(fmt::format("PRAGMA {}(100)", pragma)));
        for (;;) {
            FF_TRY(const bool found, s.step());
            if (!found) {
                return {};
            }
            add_integrity_findings(s.bytes(), check);
        }
    };
    if (auto done = run(); !done) {
        check.add(fault_text(done.error(), db));
    }
    sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
    check.detail =
        check.found == 0
            ? fmt::format("PRAGMA {} found nothing", pragma)
            : fmt::format("the file is damaged or cut short: PRAGMA {} found faults", pragma);
    return check;
}

// -------------------------------------------------------------------------------- durability

Check check_durability(const StoreFile& file) {
    Check check{"durability"};
    const auto mode = file.db->scalar("PRAGMA journal_mode");
    if (!mode) {
        check.detail = "could not be read";
        check.add(fault_text(mode.error(), *file.db));
    } else if (*mode == "wal" || file.immutable) {
        check.detail =
            "write-ahead log; an engine answers after the log is on disk, unless it was "
            "opened with synchronous=normal";
    } else {
        check.status = CheckStatus::warn;
        check.detail = fmt::format("journal mode is {}; the next engine sets it to wal", *mode);
    }
    return check;
}

// ---------------------------------------------------------------------------- indexes in use

expected<std::vector<std::string>> plan_of(SqliteDb& db, const std::string& text) {
    FF_TRY(Statement s, db.prepare("EXPLAIN QUERY PLAN " + text));
    std::vector<std::string> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            return out;
        }
        s.skip();
        s.skip();
        s.skip();
        out.emplace_back(s.bytes());
    }
}

Check check_indexes(SqliteDb& db) {
    const auto queries = hot_queries();
    Check check{"indexes"};
    check.detail = fmt::format("{} hot queries search by key, none scans or sorts", queries.size());
    for (const HotQuery& query : queries) {
        const auto plan = plan_of(db, query.text);
        if (!plan) {
            check.add(fmt::format("{}: {}", query.name, fault_text(plan.error(), db)));
            continue;
        }
        for (const std::string& step : *plan) {
            if (step.starts_with("SCAN") || step.find("TEMP B-TREE") != std::string::npos) {
                check.add(fmt::format("{}: {}", query.name, step));
            }
        }
    }
    if (check.found > 0) {
        check.detail = "a hot query does not use its index";
    }
    return check;
}

}  // namespace

std::span<const HotQuery> hot_queries() {
    namespace sql = store::sql;
    static const std::array queries{
        HotQuery{"head of a claim", sql::ready_head},
        HotQuery{"due scan", sql::timers_due},
        HotQuery{"next due time", sql::next_due},
        HotQuery{"execution by id", sql::execution_by_id},
        HotQuery{"execution by number", sql::execution_by_eid},
        HotQuery{"input of an execution", sql::input_by_eid},
        HotQuery{"attempts of an execution", sql::attempts_of},
        HotQuery{"grant of an execution", sql::grant_by_eid},
        HotQuery{"idempotency key", sql::idempotency_by_key},
        HotQuery{"list by condition", sql::executions_in_bucket.newest_first},
        HotQuery{"list by route", sql::executions_of_route.newest_first},
        HotQuery{"list by tag", sql::executions_with_tag.newest_first},
        HotQuery{"flow by id", sql::flow_by_id},
        HotQuery{"members of a flow", sql::members_after},
        HotQuery{"edges of a flow", sql::edges_of_flow},
        HotQuery{"edges that leave an execution", sql::edges_out},
        HotQuery{"edges that lead to an execution", sql::edges_in},
        HotQuery{"edge group", sql::group_by_key},
        HotQuery{"due flows", sql::flows_due},
        HotQuery{"due work of flows", sql::work_due},
        HotQuery{"history event", sql::event_by_id},
        HotQuery{"events after a cursor", sql::events_after},
    };
    return queries;
}

std::vector<Check> check_damaged(const Damage& damage) {
    StoreFile file;
    file.path = damage.path;
    Check integrity{"integrity"};
    integrity.detail = damage.what;
    integrity.add("SQLite: " + damage.sqlite);
    return {check_library(), check_file(file), check_owner(file), std::move(integrity)};
}

std::vector<Check> check_store(StoreFile file, const CheckOptions& options) {
    std::vector<Check> checks;
    checks.push_back(check_library());
    checks.push_back(check_file(file));
    checks.push_back(check_owner(file));
    checks.push_back(check_schema(*file.db));
    const bool known = checks.back().status != CheckStatus::fail;
    checks.push_back(check_integrity(*file.db, options));
    checks.push_back(check_durability(file));
    if (!known) {
        return checks;
    }
    checks.push_back(check_indexes(*file.db));
    auto opened = SqliteLook::open(std::move(file));
    if (!opened) {
        Check check{"readable"};
        check.detail = "the rows could not be read";
        check.add(opened.error().message());
        checks.push_back(std::move(check));
        return checks;
    }
    std::ranges::move(check_rows(**opened, options.progress), std::back_inserter(checks));
    return checks;
}

}  // namespace ff::cli
