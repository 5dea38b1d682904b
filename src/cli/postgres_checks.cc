// Is a store on PostgreSQL sound? The server, the schema, the numbers; rows are in row_checks.cc.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "cli/postgres_look.h"
#include "cli/row_checks.h"
#include "cli/store_checks.h"
#include "cli/text.h"
#include "store/catalogue.h"
#include "store/migrate.h"
#include "store/postgres_clock.h"
#include "store/postgres_db.h"
#include "store/tables.h"
#include "store/transfer_sql.h"

namespace ff::cli {

using store::PgConnection;
using store::PgServer;

namespace {

constexpr int notification_ms = 1'000;
constexpr std::int64_t connections_warn_percent = 90;

void warn(Check& check, const std::string& what) {
    if (check.status == CheckStatus::ok) {
        check.status = CheckStatus::warn;
    }
    check.detail += (check.detail.empty() ? "" : "; ") + what;
}

/// A check whose questions the server may refuse to answer. That this role may not ask them says
/// nothing about the store.
template <class Body>
Check checked(const char* name, Body body) {
    constexpr std::string_view no_permission = "42501";
    Check check{name};
    if (expected<void> done = body(check); !done) {
        if (store::sqlstate_of(done.error()) == no_permission) {
            warn(check, "could not be checked: " + done.error().detail);
            return check;
        }
        check.detail += check.detail.empty() ? "could not be checked" : "";
        check.add(done.error().detail);
    }
    return check;
}

/// The first column of an answer, one text a row.
expected<std::vector<std::string>> column(PgConnection& db, const std::string& text) {
    db.queue(text);
    FF_TRY(auto answers, db.run_queued());
    std::vector<std::string> out;
    while (answers.back().next()) {
        out.emplace_back(answers.back().bytes());
    }
    return out;
}

expected<std::int64_t> number(PgConnection& db, const std::string& text) {
    FF_TRY(const std::string value, db.scalar(text));
    return value.empty() ? 0 : std::stoll(value);
}

// ------------------------------------------------------------------------------------ the server

Check check_library(const PgServer& server, const std::string& where) {
    Check check{"library"};
    check.detail = fmt::format("ff {}, libpq {}, PostgreSQL {}", FF_VERSION, store::libpq_version(),
                               server.version_text);
    if (auto good = store::check_server(server, where, store::PgUse::read); !good) {
        check.add(good.error().detail);
    }
    return check;
}

Check check_database(PgConnection& db, const PgServer& server) {
    return checked("database", [&](Check& check) -> expected<void> {
        FF_TRY(const auto bytes, number(db, "SELECT pg_database_size(current_database())"));
        check.detail = fmt::format("encoding {}, {}", server.encoding,
                                   bytes_text(static_cast<std::uint64_t>(bytes)));
        if (server.standby) {
            warn(check, "a standby: engines need the primary");
        }
        return {};
    });
}

Check check_connections(PgConnection& db) {
    return checked("connections", [&](Check& check) -> expected<void> {
        FF_TRY(const auto used, number(db, "SELECT SUM(numbackends) FROM pg_stat_database"));
        FF_TRY(const auto engines,
               number(db,
                      "SELECT COUNT(*) FROM pg_stat_activity WHERE datname ="
                      " current_database() AND application_name = 'flowfabric' AND"
                      " pid <> pg_backend_pid()"));
        FF_TRY(const auto most,
               number(db,
                      "SELECT CAST(current_setting('max_connections') AS integer) -"
                      " CAST(current_setting('superuser_reserved_connections') AS integer)"));
        check.detail =
            fmt::format("{} of {} in use, {} by other FlowFabric programs here{}", used, most,
                        engines, db.pooled() ? "; this one goes through a pooler" : "");
        if (used * 100 >= most * connections_warn_percent) {
            warn(check,
                 "nearly all: raise max_connections, or use fewer engines or a smaller "
                 "pool_size");
        }
        return {};
    });
}

Check check_clock(PgConnection& db) {
    return checked("clock", [&](Check& check) -> expected<void> {
        SystemClock clock;
        FF_TRY(const ClockSample sample, store::ask_time(db, clock));
        if (sample.allows(0)) {
            check.detail = fmt::format(
                "that of this machine agrees with the server's, by an answer that took {} ms",
                sample.round_trip());
        } else if (std::abs(sample.ahead()) <= store::clocks_apart_ms_max) {
            check.detail = store::clocks_apart(sample);
        } else {
            warn(check, store::clocks_apart(sample) +
                            "; engines go by the server's, but times that are given or shown here "
                            "are off");
        }
        return {};
    });
}

Check check_durability(PgConnection& db) {
    return checked("durability", [&](Check& check) -> expected<void> {
        FF_TRY(const std::string commits, db.scalar("SHOW synchronous_commit"));
        FF_TRY(const std::string fsync, db.scalar("SHOW fsync"));
        FF_TRY(const std::string pages, db.scalar("SHOW full_page_writes"));
        check.detail = fmt::format("synchronous_commit {}, fsync {}, full_page_writes {}", commits,
                                   fsync, pages);
        if (fsync != "on") {
            warn(check, "without fsync a power cut loses what was answered, or everything");
        }
        if (pages != "on") {
            warn(check, "without full_page_writes a power cut may damage the database");
        }
        if (commits == "off") {
            warn(check,
                 "engines set synchronous_commit to on, unless a pooler is in between or "
                 "they were opened with synchronous=normal");
        }
        return {};
    });
}

Check check_notify(PgConnection& db, const std::string& url) {
    return checked("notify", [&](Check& check) -> expected<void> {
        using Clock = std::chrono::steady_clock;
        FF_TRY(const auto listener, PgConnection::open(url));
        FF_TRY_VOID(listener->execute("LISTEN ff_doctor"));
        const auto began = Clock::now();
        FF_TRY_VOID(db.scalar("SELECT pg_notify('ff_doctor', '')"));
        FF_TRY(const auto heard, listener->next_notification(notification_ms, -1));
        if (heard) {
            const auto took =
                std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
            check.detail = fmt::format("a notification arrived after {} ms", took.count());
        } else {
            warn(check, fmt::format("no notification arrived{}: engines here ask several times a "
                                    "second instead; connect to the server itself",
                                    db.pooled() ? " through the pooler" : ""));
        }
        return {};
    });
}

// --------------------------------------------------------------------------------------- upkeep

/// What keeps dead rows from being cleared away.
Check check_upkeep(PgConnection& db) {
    return checked("upkeep", [&](Check& check) -> expected<void> {
        FF_TRY(const std::string vacuums, db.scalar("SELECT current_setting('autovacuum') || ' ' ||"
                                                    " current_setting('track_counts')"));
        if (vacuums != "on on") {
            warn(check,
                 "autovacuum does not run: tables grow and claims get slow; set autovacuum "
                 "and track_counts to on");
        }
        FF_TRY(const auto tables,
               column(db,
                      "SELECT CAST(relname AS text) FROM pg_class WHERE relname LIKE 'ff\\_%'"
                      " AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid ="
                      " to_regclass('ff_exec_core'))"
                      " AND 'autovacuum_enabled=false' = ANY(reloptions) ORDER BY relname"));
        for (const std::string& table : tables) {
            warn(check, "autovacuum is off for " + table);
        }
        FF_TRY(const auto old,
               column(db,
                      "SELECT 'process ' || pid || ' (' || application_name || ', ' || state ||"
                      " ') has a transaction open for ' ||"
                      " CAST(EXTRACT(EPOCH FROM now() - xact_start) AS bigint) || ' s'"
                      " FROM pg_stat_activity WHERE datname = current_database()"
                      " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
                      " AND xact_start < now() - interval '1 minute'"
                      " UNION ALL SELECT 'prepared transaction ' || gid || ' is open for ' ||"
                      " CAST(EXTRACT(EPOCH FROM now() - prepared) AS bigint) || ' s'"
                      " FROM pg_prepared_xacts WHERE database = current_database()"
                      " AND prepared < now() - interval '1 minute'"));
        for (const std::string& transaction : old) {
            warn(check, transaction + ", which keeps dead rows and makes claims slow");
        }
        if (check.status == CheckStatus::ok) {
            check.detail = "autovacuum runs, and no transaction is older than a minute";
        }
        return {};
    });
}

// --------------------------------------------------------------------------------------- schema

using Objects = std::map<std::pair<std::string, std::string>, std::string>;

/// Tables with their columns, indexes, views and sequences of a namespace, by kind and name.
expected<Objects> objects_of(PgConnection& db, const std::string& space) {
    db.queue(
        "WITH mine AS (SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = (" + space +
        ") AND relname LIKE 'ff\\_%')"
        " SELECT 'table', CAST(c.relname AS text), string_agg(a.attname || ' ' ||"
        " format_type(a.atttypid, a.atttypmod) ||"
        " CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END || COALESCE(' DEFAULT ' ||"
        " pg_get_expr(d.adbin, d.adrelid), '') || COALESCE(' ' || l.collname, ''), ', '"
        " ORDER BY a.attname) FROM mine c"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum"
        " LEFT JOIN pg_collation l ON l.oid = a.attcollation"
        " WHERE c.relkind IN ('r', 'p') GROUP BY c.oid, c.relname"
        " UNION ALL SELECT 'index', CAST(i.relname AS text), x.indisunique || substr("
        "pg_get_indexdef(i.oid), strpos(pg_get_indexdef(i.oid), ' USING '))"
        " FROM mine c JOIN pg_index x ON x.indrelid = c.oid JOIN pg_class i ON i.oid = x.indexrelid"
        " UNION ALL SELECT CASE relkind WHEN 'v' THEN 'view' ELSE 'sequence' END,"
        " CAST(relname AS text), '' FROM mine WHERE relkind IN ('v', 'S')");
    FF_TRY(auto answers, db.run_queued());
    Objects out;
    while (answers.back().next()) {
        std::string kind(answers.back().bytes());
        std::string name(answers.back().bytes());
        out[{std::move(kind), std::move(name)}] = std::string(answers.back().bytes());
    }
    return out;
}

/// What the migrations make, seen in temporary tables that nobody else sees and that go at once.
expected<Objects> model_objects(PgConnection& db) {
    FF_TRY_VOID(db.execute("BEGIN; SET LOCAL search_path = pg_temp"));
    const auto make = [&]() -> expected<Objects> {
        store::PgInside inside(db);
        FF_TRY_VOID(store::migrate(inside));
        return objects_of(db, "SELECT pg_my_temp_schema()");
    };
    auto made = make();
    FF_TRY_VOID(db.execute("ROLLBACK"));
    return made;
}

const std::string own_space =
    "SELECT relnamespace FROM pg_class WHERE oid = to_regclass('ff_schema_migration')";

void compare_objects(const Objects& expected, const Objects& actual, Check& check) {
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
            warn(check, what + ", which the next start mends");
        }
    }
    for (const auto& [key, text] : actual) {
        if (!expected.contains(key) && check.status == CheckStatus::ok) {
            warn(check, fmt::format("{} {} is not ours", key.first, key.second));
        }
    }
}

Check check_schema_of(PgConnection& db, const PgServer& server) {
    return checked("schema", [&](Check& check) -> expected<void> {
        FF_TRY(const int version, db.schema_version());
        if (version == 0) {
            check.detail = "not a FlowFabric store";
            check.add("the database has no schema table");
            return {};
        }
        check.detail = fmt::format("version {}", version);
        if (const int known = store::migrations().back().version; version != known) {
            check.add(fmt::format("this program knows version {}", known));
            return {};
        }
        if (auto applied = store::check_applied(db, version); !applied) {
            check.add(applied.error().detail);
        }
        FF_TRY(const auto invalid,
               column(db,
                      "SELECT CAST(i.relname AS text) FROM pg_index x"
                      " JOIN pg_class i ON i.oid = x.indexrelid"
                      " WHERE i.relnamespace = (" +
                          own_space + ") AND NOT (x.indisvalid AND x.indisready)"));
        for (const std::string& index : invalid) {
            check.add(fmt::format("index {} is not valid; REINDEX INDEX {}", index, index));
        }
        FF_TRY(const Objects actual, objects_of(db, own_space));
        if (server.standby) {
            warn(check, "a standby cannot be compared with what the migrations make");
            return {};
        }
        FF_TRY(const Objects expected, model_objects(db));
        compare_objects(expected, actual, check);
        return {};
    });
}

Check check_partition_counts(PgConnection& db) {
    return checked("partitions", [&](Check& check) -> expected<void> {
        FF_TRY(const auto families, number(db, "SELECT COUNT(*) FROM ff_partition_config"));
        FF_TRY(const PartitionCounts counts, store::stored_partitions(db));
        check.detail =
            fmt::format("{} flow, {} budget, {} quota", counts.flow, counts.budget, counts.quota);
        if (families == 0) {
            warn(check, "not settled yet: the first engine does that");
        }
        FF_TRY(const auto beyond,
               number(db, fmt::format("SELECT COUNT(*) FROM (SELECT 1 FROM ff_exec_core WHERE"
                                      " get_byte(id, 0) * 256 + get_byte(id, 1) >= {} LIMIT 1) x",
                                      counts.flow)));
        if (beyond > 0) {
            check.add("an execution lies beyond the flow partitions");
        }
        return {};
    });
}

/// Numbers that the database gives out are above those in use.
Check check_numbers(PgConnection& db) {
    return checked("numbers", [&](Check& check) -> expected<void> {
        FF_TRY(const std::string counter,
               db.scalar("SELECT value FROM ff_meta WHERE name = 'event_high'"));
        FF_TRY(const auto highest, number(db, store::sql::highest_event));
        FF_TRY(const auto route, number(db, "SELECT COALESCE(MAX(route), 0) FROM ff_route"));
        FF_TRY(const auto drawn, number(db, "SELECT last_value FROM ff_route_number"));
        check.detail = fmt::format("events up to {}, routes up to {}", highest, route);
        if (counter.empty()) {
            check.add("the counter of events is missing from ff_meta: no event can be written");
        } else if (std::stoll(counter) < highest) {
            check.add(fmt::format("the counter of events is at {}, and there is event {}", counter,
                                  highest));
        }
        if (drawn < route) {
            check.add(fmt::format("ff_route_number is at {}, and there is route {}", drawn, route));
        }
        return {};
    });
}

// -------------------------------------------------------------------------------------- indexes

/// `NULL, NULL` for the highest `$n` of a text.
std::string nulls_for(const std::string& text) {
    int highest = 0;
    for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 1)) {
        highest = std::max(highest, std::stoi(text.substr(at + 1)));
    }
    std::string out;
    for (int i = 0; i < highest; ++i) {
        out += i == 0 ? "NULL" : ", NULL";
    }
    return out.empty() ? "" : "(" + out + ")";
}

/// A scan of a whole table is what the planner does only when no index serves.
expected<void> explain_hot_queries(PgConnection& db, Check& check) {
    FF_TRY_VOID(
        db.execute("SET LOCAL plan_cache_mode = force_generic_plan;"
                   "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off;"
                   "SET LOCAL enable_mergejoin = off; SET LOCAL jit = off"));
    for (const HotQuery& query : hot_queries()) {
        FF_TRY_VOID(db.execute("PREPARE ff_doctor_query AS " + query.text));
        FF_TRY(const std::string plan,
               db.scalar("EXPLAIN (COSTS OFF, FORMAT JSON) EXECUTE ff_doctor_query" +
                         nulls_for(query.text)));
        FF_TRY_VOID(db.execute("DEALLOCATE ff_doctor_query"));
        if (plan.find("\"Seq Scan\"") != std::string::npos) {
            check.add(fmt::format("{}: scans a whole table", query.name));
        }
    }
    return {};
}

Check check_indexes(PgConnection& db) {
    return checked("indexes", [&](Check& check) -> expected<void> {
        FF_TRY_VOID(db.execute("BEGIN"));
        auto explained = explain_hot_queries(db, check);
        FF_TRY_VOID(db.execute("ROLLBACK"));
        FF_TRY_VOID(std::move(explained));
        check.detail = check.found > 0 ? "a hot query does not use its index"
                                       : fmt::format("{} hot queries search by key, none scans",
                                                     hot_queries().size());
        return {};
    });
}

// ------------------------------------------------------------------------------------------ rows

expected<std::vector<Check>> check_all_rows(const std::string& url, const CheckProgress& progress) {
    FF_TRY(const auto look, PostgresLook::open(url));
    FF_TRY_VOID(look->begin_view());
    auto checks = check_rows(*look, progress);
    FF_TRY_VOID(look->end_view());
    return checks;
}

}  // namespace

expected<std::vector<Check>> check_postgres(const std::string& url, const CheckOptions& options) {
    FF_TRY(const auto db, PgConnection::open(url));
    FF_TRY(const PgServer server, store::server_of(*db));
    std::vector<Check> checks;
    checks.push_back(check_library(server, db->where()));
    if (checks.back().status == CheckStatus::fail) {
        return checks;
    }
    checks.push_back(check_database(*db, server));
    checks.push_back(check_connections(*db));
    checks.push_back(check_clock(*db));
    checks.push_back(check_schema_of(*db, server));
    const bool known = checks.back().status != CheckStatus::fail;
    checks.push_back(check_durability(*db));
    checks.push_back(check_upkeep(*db));
    if (!server.standby) {
        checks.push_back(check_notify(*db, url));
    }
    if (!known) {
        return checks;
    }
    checks.push_back(check_partition_counts(*db));
    checks.push_back(check_numbers(*db));
    checks.push_back(check_indexes(*db));
    auto rows = check_all_rows(url, options.progress);
    if (!rows) {
        Check check{"readable"};
        check.detail = "the rows could not be read";
        check.add(rows.error().detail);
        checks.push_back(std::move(check));
        return checks;
    }
    std::ranges::move(*rows, std::back_inserter(checks));
    return checks;
}

}  // namespace ff::cli
