#include "cli/postgres_look.h"

#include "store/catalogue.h"
#include "store/postgres_clock.h"
#include "store/postgres_store.h"
#include "store/sql_scans.h"
#include "store/transfer_sql.h"

namespace ff::cli {

using core::Eid;
using store::PgArray;
using store::PgParams;
using store::PgRows;
using store::PgStatement;

namespace {

constexpr const char* begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
/// Everything that is read in pages has a key; what the planner has heard of the tables may be old.
constexpr const char* by_key =
    "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off;"
    "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off";
constexpr const char* by_table =
    "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on;"
    "SET LOCAL enable_mergejoin = on";

template <class Range>
PgArray integers(const Range& values) {
    PgArray out(PgArray::Type::integers);
    for (const auto value : values) {
        out.integer(static_cast<std::int64_t>(value));
    }
    return out;
}

}  // namespace

PostgresLook::PostgresLook(std::unique_ptr<store::PgConnection> connection)
    : db_(std::move(connection)), reader_(*db_), statements_(*db_) {
    info_.backend = BackendTag::postgres;
    info_.family = "postgres";
    info_.durability = "read only";
    info_.location = db_->where();
}

expected<std::unique_ptr<PostgresLook>> PostgresLook::open(const std::string& url) {
    FF_TRY(auto connection, store::PgConnection::open(url));
    FF_TRY(const store::PgServer server, store::server_of(*connection));
    FF_TRY_VOID(store::check_server(server, connection->where(), store::PgUse::read));
    if (!connection->pooled()) {  // through a pooler it would end up with somebody else
        FF_TRY_VOID(connection->execute("SET default_transaction_read_only = on"));
    }
    FF_TRY_VOID(store::known_schema_version(*connection));
    std::unique_ptr<PostgresLook> opened(new PostgresLook(std::move(connection)));
    opened->info_.version = server.version_text;
    FF_TRY(opened->info_.partitions, store::stored_partitions(*opened->db_));
    FF_TRY(const ClockSample sample, store::ask_time(*opened->db_, opened->clock_->local()));
    opened->clock_->learn(sample);
    return opened;
}

expected<std::vector<StateCount>> PostgresLook::counts() {
    return take_counts(statements_.get(count_states_text));
}

expected<void> PostgresLook::read(const std::function<expected<void>(store::Reader&)>& body) {
    if (in_view_) {
        return body(reader_);
    }
    FF_TRY_VOID(begin_view());
    expected<void> outcome = body(reader_);
    if (auto ended = end_view(); !ended && outcome) {
        outcome = std::move(ended);
    }
    return outcome;
}

expected<store::StoreSize> PostgresLook::size() { return store::size_of_tables(*db_); }

expected<void> PostgresLook::begin_view() {
    FF_TRY_VOID(db_->execute(begin_reading));
    in_view_ = true;
    return db_->execute(by_key);
}

expected<void> PostgresLook::end_view() {
    in_view_ = false;
    return db_->execute("ROLLBACK");
}

// ---------------------------------------------------------------------------------------- rows

expected<std::uint64_t> PostgresLook::count_executions() {
    FF_TRY(const std::string total, db_->scalar("SELECT COUNT(*) FROM ff_exec_core"));
    return std::stoull(total);
}

expected<std::vector<Eid>> PostgresLook::eids_after(Eid after, std::size_t limit) {
    PgStatement& s = statements_.get(store::sql::executions_after);
    s.integer(after);
    s.integer(static_cast<std::int64_t>(limit));
    return store::collect_eids(s);
}

template <class Row, class Take>
expected<void> PostgresLook::rows_of(std::span<const Eid> eids, Take take) {
    PgParams params;
    params.array(integers(eids));
    db_->queue(store::sql::select_where<Row>("eid = ANY($1) ORDER BY " +
                                             store::key_list(store::table_info<Row>)),
               std::move(params));
    FF_TRY(auto answers, db_->run_queued());
    PgRows& rows = answers.back();
    while (rows.next()) {
        Row row;
        store::take_columns(rows, row);
        const Eid eid = row.eid;
        if (auto reads = rows.check()) {
            take(eid, expected<Row>(std::move(row)));
        } else {
            take(eid, expected<Row>(std::unexpected(std::move(reads).error())));
        }
    }
    return {};
}

expected<RowSource::Found<core::Execution>> PostgresLook::executions(std::span<const Eid> eids) {
    Found<core::Execution> out;
    FF_TRY_VOID(rows_of<core::Execution>(
        eids, [&](Eid eid, expected<core::Execution> row) { out.emplace(eid, std::move(row)); }));
    return out;
}

expected<RowSource::Found<std::vector<core::Attempt>>> PostgresLook::attempts(
    std::span<const Eid> eids) {
    Found<std::vector<core::Attempt>> out;
    FF_TRY_VOID(rows_of<core::Attempt>(eids, [&](Eid eid, expected<core::Attempt> row) {
        auto& all = out.try_emplace(eid).first->second;
        if (!row) {
            all = std::unexpected(std::move(row).error());
        } else if (all) {
            all->push_back(std::move(*row));
        }
    }));
    return out;
}

expected<RowSource::Found<core::ExecutionInput>> PostgresLook::inputs(std::span<const Eid> eids) {
    Found<core::ExecutionInput> out;
    FF_TRY_VOID(rows_of<core::ExecutionInput>(
        eids,
        [&](Eid eid, expected<core::ExecutionInput> row) { out.emplace(eid, std::move(row)); }));
    return out;
}

expected<std::vector<std::size_t>> PostgresLook::missing(const SideTable& table,
                                                         std::span<const SideKey> keys) {
    std::string arrays;
    std::string names;
    std::string matches;
    PgParams params;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const std::string name = table.columns[i];
        arrays += "$" + std::to_string(i + 1) + ", ";
        names += name + ", ";
        matches += i == 0 ? "t." : " AND t.";
        matches += name + " = u." + name;
        const bool text = i < table.texts;
        PgArray values(text ? PgArray::Type::texts : PgArray::Type::integers);
        for (const SideKey& key : keys) {
            if (text) {
                values.text(key.texts[i]);
            } else {
                values.integer(key.numbers[i - table.texts]);
            }
        }
        params.array(values);
    }
    PgArray places(PgArray::Type::integers);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        places.integer(static_cast<std::int64_t>(i));
    }
    params.array(places);
    db_->queue("SELECT u.nth FROM unnest(" + arrays + "$" +
                   std::to_string(table.columns.size() + 1) + ") AS u(" + names +
                   "nth) WHERE NOT EXISTS (SELECT 1 FROM " + table.name + " t WHERE " + matches +
                   ") ORDER BY u.nth",
               std::move(params));
    FF_TRY(auto answers, db_->run_queued());
    std::vector<std::size_t> out;
    while (answers.back().next()) {
        out.push_back(static_cast<std::size_t>(answers.back().integer()));
    }
    return out;
}

expected<std::vector<Eid>> PostgresLook::orphans(const std::string& table) {
    FF_TRY_VOID(db_->execute(by_table));
    auto found = store::collect_eids(statements_.get(orphans_text(table)));
    FF_TRY_VOID(db_->execute(by_key));
    return found;
}

expected<std::vector<FlowId>> PostgresLook::flow_ids_after(const std::optional<FlowId>& after,
                                                           std::size_t limit) {
    return store::flow_ids_after(statements_, after, limit);
}

expected<std::vector<FlowId>> PostgresLook::flow_orphans(const std::string& table) {
    FF_TRY_VOID(db_->execute(by_table));
    auto found = store::collect_ids<FlowId>(statements_.get(flow_orphans_text(table)), "flow_id");
    FF_TRY_VOID(db_->execute(by_key));
    return found;
}

}  // namespace ff::cli
