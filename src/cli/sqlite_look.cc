#include "cli/sqlite_look.h"

#include <optional>

#include "store/catalogue.h"
#include "store/sql_scans.h"
#include "store/transfer_sql.h"

namespace ff::cli {

using core::Eid;
using store::Statement;

namespace {

/// Adds what a read gave, if anything. A row that does not read is an answer, any other fault ends
/// it.
template <class T>
expected<void> add_found(RowSource::Found<T>& out, Eid eid, expected<std::optional<T>> row) {
    if (!row && row.error().code != ErrorCode::corruption) {
        return std::unexpected(std::move(row).error());
    }
    if (!row) {
        out.emplace(eid, std::unexpected(std::move(row).error()));
    } else if (*row) {
        out.emplace(eid, std::move(**row));
    }
    return {};
}

}  // namespace

SqliteLook::SqliteLook(store::StoreFile file)
    : file_(std::move(file)), reader_(*file_.db), statements_(*file_.db) {
    info_.family = "sqlite";
    info_.version = store::sqlite_version();
    info_.durability = "read only";
    info_.location = file_.path;
}

expected<std::unique_ptr<SqliteLook>> SqliteLook::open(store::StoreFile file) {
    FF_TRY_VOID(store::check_known_schema(file));
    std::unique_ptr<SqliteLook> opened(new SqliteLook(std::move(file)));
    FF_TRY(opened->info_.partitions, store::stored_partitions(opened->db()));
    return opened;
}

std::string SqliteLook::words_of(const Error& error) { return store::fault_text(error, db()); }

expected<std::vector<StateCount>> SqliteLook::counts() {
    FF_TRY(Statement statement, db().prepare(count_states_text));
    return take_counts(statement);
}

expected<void> SqliteLook::read(const std::function<expected<void>(store::Reader&)>& body) {
    FF_TRY_VOID(db().execute("BEGIN"));
    expected<void> outcome = body(reader_);
    // Nothing was written: how the view ends makes no difference.
    if (auto ended = db().execute("ROLLBACK"); !ended && outcome) {
        outcome = std::move(ended);
    }
    return outcome;
}

expected<store::StoreSize> SqliteLook::size() {
    return store::StoreSize{file_.bytes(), file_.log_bytes()};
}

// ---------------------------------------------------------------------------------------- rows

expected<std::uint64_t> SqliteLook::count_executions() {
    FF_TRY(const std::string total, db().scalar("SELECT COUNT(*) FROM ff_exec_core"));
    return std::stoull(total);
}

expected<std::vector<Eid>> SqliteLook::eids_after(Eid after, std::size_t limit) {
    Statement& s = statements_.get(store::sql::executions_after);
    s.integer(after);
    s.integer(static_cast<std::int64_t>(limit));
    return store::collect_eids(s);
}

expected<RowSource::Found<core::Execution>> SqliteLook::executions(std::span<const Eid> eids) {
    Found<core::Execution> out;
    for (const Eid eid : eids) {
        Statement& s = statements_.get(store::sql::execution_by_eid);
        s.integer(eid);
        FF_TRY_VOID(add_found(out, eid, store::select_one<core::Execution>(s)));
    }
    return out;
}

expected<RowSource::Found<std::vector<core::Attempt>>> SqliteLook::attempts(
    std::span<const Eid> eids) {
    Found<std::vector<core::Attempt>> out;
    for (const Eid eid : eids) {
        auto rows = reader_.attempts(eid);
        using Rows = std::optional<std::vector<core::Attempt>>;
        FF_TRY_VOID(add_found(
            out, eid, rows ? expected<Rows>(std::move(*rows)) : std::unexpected(rows.error())));
    }
    return out;
}

expected<RowSource::Found<core::ExecutionInput>> SqliteLook::inputs(std::span<const Eid> eids) {
    Found<core::ExecutionInput> out;
    for (const Eid eid : eids) {
        FF_TRY_VOID(add_found(out, eid, reader_.input(eid)));
    }
    return out;
}

expected<std::vector<std::size_t>> SqliteLook::missing(const SideTable& table,
                                                       std::span<const SideKey> keys) {
    std::string text = std::string("SELECT 1 FROM ") + table.name;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        text += (i == 0 ? " WHERE " : " AND ") + std::string(table.columns[i]) + " = $" +
                std::to_string(i + 1);
    }
    Statement& s = statements_.get(text);
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        for (const std::string& value : keys[i].texts) {
            s.text(value);
        }
        for (const std::int64_t value : keys[i].numbers) {
            s.integer(value);
        }
        FF_TRY(const bool found, s.step());
        s.reset();
        if (!found) {
            out.push_back(i);
        }
    }
    return out;
}

expected<std::vector<Eid>> SqliteLook::orphans(const std::string& table) {
    FF_TRY(Statement s, db().prepare(orphans_text(table)));
    return store::collect_eids(s);
}

expected<std::vector<FlowId>> SqliteLook::flow_ids_after(const std::optional<FlowId>& after,
                                                         std::size_t limit) {
    return store::flow_ids_after(statements_, after, limit);
}

expected<std::vector<FlowId>> SqliteLook::flow_orphans(const std::string& table) {
    FF_TRY(Statement s, db().prepare(flow_orphans_text(table)));
    return store::collect_ids<FlowId>(s, "flow_id");
}

}  // namespace ff::cli
