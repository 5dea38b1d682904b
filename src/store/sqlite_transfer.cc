#include "store/sqlite_transfer.h"

#include <sqlite3.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "store/catalogue.h"
#include "store/placed_file.h"
#include "store/ready_row.h"
#include "store/sqlite_internal.h"
#include "store/sqlite_rows.h"
#include "store/store_file.h"
#include "store/transfer_sql.h"
#include "store/value_codec.h"

namespace ff::store {

namespace {

constexpr int import_busy_timeout_ms = 5'000;

// -------------------------------------------------------------------------------------- export

class SqliteExport final : public ExportSource {
  public:
    explicit SqliteExport(StoreFile file) : file_(std::move(file)), statements_(*file_.db) {}

    expected<void> start() {
        FF_TRY_VOID(check_known_schema(file_));
        FF_TRY_VOID(file_.db->execute("BEGIN"));
        FF_TRY(const int schema, version_of_store(*file_.db));  // the first read fixes the view
        FF_TRY(facts_, facts_of(*file_.db, schema));
        return {};
    }
    [[nodiscard]] const StoreFacts& facts() const override { return facts_; }
    expected<void> next_page(RowBatch& rows, std::size_t limit) override {
        return next_page_on(statements_, rows, limit);
    }
    expected<void> finish() override {
        FF_TRY_VOID(file_.db->execute("ROLLBACK"));
        return file_.check_unchanged();
    }

  private:
    StoreFile file_;
    StatementCache statements_;
    StoreFacts facts_;
};

// -------------------------------------------------------------------------------------- import

class SqliteImport final : public ImportTarget {
  public:
    explicit SqliteImport(OwnedFile file) : file_(std::move(file)), statements_(*file_.db) {}
    ~SqliteImport() override;

    expected<void> begin(const StoreFacts& facts) override;
    expected<void> write(const RowBatch& rows) override;
    expected<void> commit(const StoreFacts& facts) override;
    expected<void> next_page(RowBatch& rows, std::size_t limit) override {
        return next_page_on(statements_, rows, limit);
    }

  private:
    [[nodiscard]] SqliteDb& db() const { return *file_.db; }
    expected<void> run_insert(Statement& insert, std::size_t index);
    expected<void> write_side_rows(const SideRows& rows);

    OwnedFile file_;
    StatementCache statements_;
    bool committed_ = false;
};

SqliteImport::~SqliteImport() {
    if (committed_) {
        return;
    }
    if (sqlite3_get_autocommit(db().handle()) == 0) {
        [[maybe_unused]] auto undone = db().execute("ROLLBACK");
    }
    file_.lock->leave_no_file();
    if (file_.created) {
        // Still locked by us, so nobody else has it.
        for (const char* part : {"", "-journal", "-wal", "-shm"}) {
            unlink((file_.path + part).c_str());
        }
    }
}

expected<void> SqliteImport::begin(const StoreFacts& facts) {
    FF_TRY(const std::string made,
           db().scalar("SELECT 1 FROM sqlite_master WHERE name = 'ff_exec_core'"));
    if (!made.empty()) {
        FF_TRY(const int version, version_of_store(db()));
        FF_TRY_VOID(check_empty(db(), version, file_.path));
    }
    FF_TRY_VOID(
        db().execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                     "PRAGMA cache_size = -65536"));
    FF_TRY_VOID(migrate_sqlite(db()));
    FF_TRY_VOID(db().execute("BEGIN IMMEDIATE"));
    FF_TRY_VOID(import_partitions(db(), facts.partitions));
    return db().execute("DELETE FROM ff_lane_registry");
}

expected<void> SqliteImport::write(const RowBatch& rows) {
    const RowsView list = view_of(rows);
    const TableInfo& table = list.table();
    std::optional<ColumnMask> columns;
    Statement* insert = nullptr;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (const ColumnMask mask = table.insert_mask(list[i]); mask != columns) {
            insert = &statements_.get(insert_text(table, mask));
            columns = mask;
        }
        put_columns(*insert, table.columns, list[i], *columns);
        FF_TRY_VOID(run_insert(*insert, i));
    }
    return write_side_rows(side_rows(list));
}

/// Runs the insert of the row at this place in its batch.
expected<void> SqliteImport::run_insert(Statement& insert, std::size_t index) {
    auto done = insert.run();
    if (!done && (sqlite3_errcode(db().handle()) & 0xff) == SQLITE_CONSTRAINT) {
        return std::unexpected(refused_row(index, fault_text(done.error(), db())));
    }
    return done;
}

expected<void> SqliteImport::write_side_rows(const SideRows& rows) {
    const auto insert = [](Statement& s, auto... numbers) {
        (s.integer(static_cast<std::int64_t>(numbers)), ...);
        return s.run();
    };
    for (const core::ReadyKey& key : rows.ready) {
        FF_TRY_VOID(insert(statements_.get(sql::ready_insert), key.route, key.rank, key.place,
                           stored_eid(key)));
    }
    for (const core::TimerKey& key : rows.timers) {
        FF_TRY_VOID(insert(statements_.get(sql::timer_insert), key.kind, key.due_at, key.eid));
    }
    for (const core::TurnKey& key : rows.turns) {
        FF_TRY_VOID(insert(statements_.get(sql::turn_insert), key.queue, key.eid));
    }
    for (const auto& [bucket, eid] : rows.listed) {
        FF_TRY_VOID(insert(statements_.get(sql::listed_insert), bucket, eid));
    }
    for (const TagRow& tag : rows.tags) {
        Statement& s = statements_.get(sql::tag_insert);
        s.text(tag.key);
        s.text(tag.value);
        s.integer(tag.eid);
        FF_TRY_VOID(s.run());
    }
    return {};
}

expected<void> SqliteImport::commit(const StoreFacts& facts) {
    FF_TRY_VOID(note_numbers(statements_, facts));
    FF_TRY_VOID(db().execute("COMMIT"));
    committed_ = true;
    // As an engine would leave it. One that cannot says so when it opens the store.
    [[maybe_unused]] auto logged = db().execute("PRAGMA journal_mode = WAL");
    return sync_folder_of(file_.path);
}

}  // namespace

expected<std::unique_ptr<ExportSource>> open_sqlite_export(const Location& location) {
    FF_TRY(StoreFile file, open_store_path(location.target));
    auto source = std::make_unique<SqliteExport>(std::move(file));
    FF_TRY_VOID(source->start());
    return source;
}

expected<std::unique_ptr<ImportTarget>> open_sqlite_import(const Location& location) {
    FF_TRY(OwnedFile file, OwnedFile::open(location, OpenMode::write, import_busy_timeout_ms));
    return std::make_unique<SqliteImport>(std::move(file));
}

}  // namespace ff::store
