#include "store/migrate.h"

#include <initializer_list>

#include "store/schema.h"
#include "store/views.h"

namespace ff::store {

expected<void> check_applied(SqlDb& db, int version) {
    for (const Migration& migration : migrations()) {
        if (migration.version > version) {
            break;
        }
        FF_TRY(const std::string stored,
               db.scalar("SELECT checksum FROM ff_schema_migration WHERE version = " +
                         std::to_string(migration.version)));
        if (stored != checksum(migration)) {
            return ff::fail(ErrorCode::store_corrupt,
                            "schema migration " + std::to_string(migration.version) +
                                " was applied in another form; this store comes from a program "
                                "that was altered");
        }
    }
    return {};
}

expected<int> check_schema(SqlDb& db) {
    FF_TRY(const int version, db.schema_version());
    if (version > migrations().back().version) {
        FF_TRY_VOID(check_known_version(version));
    }
    FF_TRY_VOID(check_applied(db, version));
    return version;
}

/// Runs the statements `texts` in one transaction, unless `done_already` then gives a row.
static expected<bool> run_once(SqlDb& db, const std::string& done_already,
                               std::initializer_list<std::string> texts) {
    FF_TRY_VOID(db.execute(db.begin_migration()));
    const auto attempt = [&]() -> expected<bool> {
        if (!done_already.empty()) {
            FF_TRY(const std::string done, db.scalar(done_already));
            if (!done.empty()) {
                return false;
            }
        }
        for (const std::string& text : texts) {
            FF_TRY_VOID(db.execute(text));
        }
        return true;
    };
    auto ran = attempt();
    auto ended = db.execute(ran ? "COMMIT" : "ROLLBACK");
    if (ran && !ended) {
        [[maybe_unused]] auto undone = db.execute("ROLLBACK");
        return std::unexpected(std::move(ended).error());
    }
    return ran;
}

/// Views follow the program, not the migrations: made anew when their text differs.
static expected<void> refresh_views(SqlDb& db) {
    const std::string text = view_statements(db.dialect());
    const std::string digest = log_digest(text);
    const std::string same =
        "SELECT 1 FROM ff_schema_migration WHERE version = 0 AND checksum = '" + digest + "'";
    FF_TRY(const std::string there, db.scalar(same));
    if (!there.empty()) {
        return {};
    }
    FF_TRY_VOID(run_once(db, same,
                         {text,
                          "INSERT INTO ff_schema_migration (version, name, checksum)"
                          " VALUES (0, 'views', '" +
                              digest +
                              "') ON CONFLICT (version) DO UPDATE"
                              " SET checksum = excluded.checksum"}));
    return {};
}

expected<std::string> migrate(SqlDb& db) {
    FF_TRY(const int version, check_schema(db));
    if (version == 0) {
        // It may be there: a program that was stopped here made it and nothing else.
        FF_TRY_VOID(run_once(db, "",
                             {expand("CREATE TABLE IF NOT EXISTS ff_schema_migration"
                                     " (version @int PRIMARY KEY, name @text NOT NULL,"
                                     " checksum @text NOT NULL) @table",
                                     db.dialect())}));
    }
    std::string done;
    for (const Migration& migration : migrations()) {
        if (migration.version <= version) {
            continue;
        }
        const std::string number = std::to_string(migration.version);
        FF_TRY(const bool ran,
               run_once(db, "SELECT 1 FROM ff_schema_migration WHERE version = " + number,
                        {expand(migration.text, db.dialect()),
                         "INSERT INTO ff_schema_migration (version, name, checksum) VALUES (" +
                             number + ", '" + std::string(migration.name) + "', '" +
                             checksum(migration) + "')"}));
        if (ran) {
            done += (done.empty() ? "" : ", ") + std::string(migration.name);
        }
    }
    FF_TRY_VOID(refresh_views(db));
    return done;
}

/// Of a store that is made without a word about it. A file has one writer and nothing to spread.
static constexpr std::uint16_t default_partitions(Dialect dialect) {
    return dialect == Dialect::postgres ? 256 : 1;
}

static const std::string stored_flow_partitions =
    "SELECT count FROM ff_partition_config WHERE family = 'flow'";

expected<void> check_partitions(SqlDb& db, const EngineOptions& options) {
    if (options.flow_partitions && *options.flow_partitions == 0) {
        return ff::fail(ErrorCode::invalid_config, "the partition count must be at least 1");
    }
    FF_TRY(const int version, db.schema_version());
    if (version == 0 || !options.flow_partitions) {
        return {};
    }
    FF_TRY(const std::string stored, db.scalar(stored_flow_partitions));
    if (!stored.empty() && std::to_string(*options.flow_partitions) != stored) {
        return ff::fail(ErrorCode::partition_mismatch,
                        "partition count mismatch: stored=" + stored +
                            " configured=" + std::to_string(*options.flow_partitions));
    }
    return {};
}

expected<PartitionCounts> settle_partitions(SqlDb& db, const EngineOptions& options) {
    FF_TRY(std::string stored, db.scalar(stored_flow_partitions));
    if (stored.empty()) {
        const std::uint16_t count =
            options.flow_partitions.value_or(default_partitions(db.dialect()));
        FF_TRY_VOID(run_once(db, stored_flow_partitions,
                             {"INSERT INTO ff_partition_config (family, count) VALUES ('flow', " +
                              std::to_string(count) + "), ('budget', 1), ('quota', 1)"}));
        FF_TRY(stored, db.scalar(stored_flow_partitions));
    }
    FF_TRY_VOID(check_partitions(db, options));
    PartitionCounts counts;
    FF_TRY(counts.flow, stored_partition_count(stored));
    return counts;
}

}  // namespace ff::store
