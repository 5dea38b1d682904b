#include "store/postgres_transfer.h"

#include <limits>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "store/catalogue.h"
#include "store/migrate.h"
#include "store/postgres_keeper.h"
#include "store/postgres_rows.h"
#include "store/row_text.h"
#include "store/transfer_sql.h"

namespace ff::store {

namespace {

/// Pages are read through the keys, whatever the planner has heard of the tables; nobody knows how
/// long the other end takes. Only for this transaction: a pooler may give the session to others.
constexpr const char* transfer_settings =
    "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off;"
    "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; SET LOCAL jit = off;"
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;";

/// An eid is a time and more (postgres_store.cc): with these there would soon be none left.
constexpr core::Eid eid_high_max =
    std::numeric_limits<core::Eid>::max() - std::numeric_limits<core::Eid>::max() / 8;

constexpr int lock_attempts = 5;

// -------------------------------------------------------------------------------------- export

class PostgresExport final : public ExportSource {
  public:
    explicit PostgresExport(std::unique_ptr<PgConnection> connection)
        : db_(std::move(connection)), statements_(*db_) {}

    expected<void> start() {
        FF_TRY(const PgServer server, server_of(*db_));
        FF_TRY_VOID(check_server(server, db_->where(), PgUse::read));
        FF_TRY_VOID(db_->execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"));
        FF_TRY_VOID(db_->execute(transfer_settings));
        FF_TRY(const int schema, known_schema_version(*db_));  // the first read fixes the view
        FF_TRY(facts_, facts_of(*db_, schema));
        return {};
    }
    [[nodiscard]] const StoreFacts& facts() const override { return facts_; }
    expected<void> next_page(RowBatch& rows, std::size_t limit) override {
        return next_page_on(statements_, rows, limit);
    }
    expected<void> finish() override { return db_->execute("COMMIT"); }

  private:
    std::unique_ptr<PgConnection> db_;
    PgStatements statements_;
    StoreFacts facts_;
};

// -------------------------------------------------------------------------------------- import

PgSideTables side_tables(const SideRows& rows) {
    PgSideTables sides;
    const auto add_all = [&](const auto& keys) {
        for (const auto& key : keys) {
            [[maybe_unused]] auto kept = sides.add(key);  // only kept until they are sent
        }
    };
    add_all(rows.ready);
    add_all(rows.timers);
    add_all(rows.turns);
    add_all(rows.listed);
    add_all(rows.tags);
    return sides;
}

/// Is it the rows that the server does not like? Constraints, values, keys too long for an index.
bool is_refusal(const Error& error) {
    const std::string_view state = sqlstate_of(error);
    return state.starts_with("23") || state.starts_with("22") || state.starts_with("54");
}

/// Text that PostgreSQL cannot hold?
bool is_bad_text(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = decode_utf8(text, at);
        if (c.bytes == 0 || c.value == 0) {
            return true;
        }
        at += c.bytes;
    }
    return false;
}

/// Looks for a text that PostgreSQL cannot hold and says so, naming its column.
TakeValue text_check(std::string& fault) {
    return [&](const ColumnInfo& column, const StoredValue& value) {
        if (value.type == StoredValue::Type::text && fault.empty() && is_bad_text(value.bytes)) {
            fault = std::string(column.name) +
                    ": holds a NUL byte or is not UTF-8, which PostgreSQL cannot keep as text";
        }
    };
}

/// Why a row was refused, in words that name the column where that can be told.
std::string why_refused(const TableInfo& table, const void* row, const Error& error) {
    std::string fault;
    each_value(table.columns, row, table.all_columns(), text_check(fault));
    return fault.empty() ? error.detail : fault;
}

class PostgresImport final : public ImportTarget {
  public:
    explicit PostgresImport(std::unique_ptr<PgConnection> connection)
        : db_(std::move(connection)), statements_(*db_) {}

    expected<void> begin(const StoreFacts& facts) override;
    expected<void> write(const RowBatch& batch) override;
    expected<void> commit(const StoreFacts& facts) override;
    expected<void> next_page(RowBatch& rows, std::size_t limit) override {
        return next_page_on(statements_, rows, limit);
    }

  private:
    expected<void> lock();
    expected<void> lock_once();
    expected<void> try_write(RowsView rows);

    // Closing the connection undoes what was not committed.
    std::unique_ptr<PgConnection> db_;
    PgStatements statements_;
};

/// The schema version from which there is ff_turn.
constexpr int turns_since = 9;

/// Nobody migrates and, where there are tables already, nobody writes from here on.
expected<void> PostgresImport::lock_once() {
    FF_TRY_VOID(db_->execute(db_->begin_migration()));
    FF_TRY_VOID(db_->execute(transfer_settings));
    FF_TRY(const int version, db_->schema_version());
    if (version == 0) {
        return {};
    }
    std::string tables = "ff_meta, ff_partition_config, ff_ready, ff_timer, ff_listed, ff_exec_tag";
    if (version >= turns_since) {
        tables += ", ff_turn";
    }
    for (std::size_t table = 0; table < transfer_tables; ++table) {
        if (const RowBatch batch = empty_batch(table); schema_of(batch) <= version) {
            tables += ", " + std::string(table_name(batch));
        }
    }
    return db_->execute("LOCK TABLE " + tables + " IN EXCLUSIVE MODE");
}

expected<void> PostgresImport::lock() {
    // An engine that takes the tables in another order may get us into a deadlock, once or twice.
    for (int attempt = 1;; ++attempt) {
        auto locked = lock_once();
        if (locked || locked.error().code != ErrorCode::store_busy || attempt == lock_attempts) {
            return locked;
        }
        FF_TRY_VOID(db_->execute("ROLLBACK"));
    }
}

expected<void> PostgresImport::begin(const StoreFacts& facts) {
    if (facts.eid_high > eid_high_max) {
        return ff::fail(ErrorCode::corruption,
                        "line 1: the header: eid_high: leaves no room for new numbers");
    }
    FF_TRY(const PgServer server, server_of(*db_));
    FF_TRY_VOID(check_server(server, db_->where(), PgUse::write));
    FF_TRY_VOID(check_search_path(*db_));
    FF_TRY_VOID(check_names(*db_));
    FF_TRY_VOID(lock());
    PgInside inside(*db_);
    FF_TRY(const int version, check_schema(inside));
    if (version > 0) {
        FF_TRY_VOID(check_empty(*db_, version, db_->where()));
    }
    FF_TRY_VOID(migrate(inside));
    FF_TRY_VOID(import_partitions(*db_, facts.partitions));
    FF_TRY_VOID(db_->execute("DELETE FROM ff_lane_registry"));
    FF_TRY_VOID(
        db_->scalar("SELECT set_config('synchronous_commit', 'on', true)"
                    " WHERE current_setting('synchronous_commit') = 'off'"));
    return {};
}

expected<void> PostgresImport::try_write(RowsView rows) {
    PgSideTables sides = side_tables(side_rows(rows));
    db_->queue("SAVEPOINT ff_rows");
    PgTableSets set(rows.table());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        set.insert(rows[i]);
    }
    set.queue(*db_, 0);  // events keep their numbers
    sides.queue(*db_);
    db_->queue("RELEASE SAVEPOINT ff_rows");
    if (auto done = db_->run_queued(); !done) {
        return std::unexpected(std::move(done).error());
    }
    return {};
}

expected<void> PostgresImport::write(const RowBatch& batch) {
    const RowsView rows = view_of(batch);
    auto written = try_write(rows);
    if (written || !is_refusal(written.error())) {
        return written;
    }
    // The server does not say which row it was.
    FF_TRY_VOID(db_->execute("ROLLBACK TO SAVEPOINT ff_rows"));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        auto done = try_write(rows.only(i));
        if (!done && is_refusal(done.error())) {
            return std::unexpected(
                refused_row(i, why_refused(rows.table(), rows[i], done.error())));
        }
        FF_TRY_VOID(std::move(done));
    }
    return {};
}

expected<void> PostgresImport::commit(const StoreFacts& facts) {
    FF_TRY_VOID(note_numbers(statements_, facts));
    // Not undone by a rollback, which leaves a gap at worst.
    FF_TRY_VOID(
        db_->scalar("SELECT setval('ff_route_number', highest) FROM"
                    " (SELECT GREATEST((SELECT last_value FROM ff_route_number), MAX(route))"
                    " AS highest FROM ff_route HAVING COUNT(*) > 0) routes"));
    FF_TRY(const std::string channel, PgKeeper::channel_of(*db_));
    // Engines that are open look at what is there now.
    FF_TRY_VOID(db_->scalar("SELECT pg_notify('" + channel + "', 'import')"));
    if (auto done = db_->execute("COMMIT"); !done) {
        if (db_->alive()) {
            return done;
        }
        return ff::fail(ErrorCode::store_io,
                        "the connection was lost at the very end, and whether the import was "
                        "committed is not known; see ff inspect stats (" +
                            done.error().detail + ")");
    }
    // The planner should know what came in. Autovacuum would see to it, some time.
    [[maybe_unused]] auto analyzed = db_->execute(
        "ANALYZE ff_exec_core, ff_exec_input, ff_attempt,"
        " ff_ready, ff_timer, ff_exec_event, ff_flow, ff_edge, ff_edge_group, ff_suspension,"
        " ff_waitpoint, ff_signal, ff_satisfier");
    return {};
}

}  // namespace

expected<std::unique_ptr<ExportSource>> open_postgres_export(const Location& location) {
    FF_TRY(auto connection, PgConnection::open(location.target));
    auto source = std::make_unique<PostgresExport>(std::move(connection));
    FF_TRY_VOID(source->start());
    return source;
}

expected<std::unique_ptr<ImportTarget>> open_postgres_import(const Location& location) {
    FF_TRY(auto connection, PgConnection::open(location.target));
    return std::make_unique<PostgresImport>(std::move(connection));
}

}  // namespace ff::store
