#include "store/transfer_sql.h"

#include <utility>

#include "store/catalogue.h"
#include "store/placed_file.h"
#include "store/row_text.h"
#include "store/schema.h"
#include "store/sql_rows.h"

namespace ff::store {

namespace {

/// Binds copies: the row that a page begins behind goes before the page is read.
TakeValue key_binder(ValueSink& statement) {
    return [&](const ColumnInfo&, const StoredValue& value) {
        switch (value.type) {
            case StoredValue::Type::null: statement.null(); break;
            case StoredValue::Type::integer: statement.integer(value.number); break;
            case StoredValue::Type::text: statement.text_copy(std::string(value.bytes)); break;
            case StoredValue::Type::bytes: statement.bytes_copy(std::string(value.bytes)); break;
        }
    };
}

}  // namespace

expected<void> next_page_on(SqlStatements& statements, RowBatch& batch, std::size_t limit) {
    RowList list = list_of(batch);
    const RowsView rows = list.view();
    const TableInfo& table = list.table();
    SqlStatement& s = statements.get(rows.empty() ? first_page_text(table) : next_page_text(table));
    if (!rows.empty()) {
        each_value(table.columns, rows[rows.size() - 1], table.key_mask(), key_binder(s));
    }
    s.integer(static_cast<std::int64_t>(limit));
    list.clear();
    return select_rows(s, list);
}

expected<PartitionCounts> stored_partitions(SqlDb& db) {
    PartitionCounts counts;
    for (auto [family, count] :
         {std::pair{"flow", &counts.flow}, {"budget", &counts.budget}, {"quota", &counts.quota}}) {
        FF_TRY(const std::string stored,
               db.scalar("SELECT count FROM ff_partition_config WHERE family = '" +
                         std::string(family) + "'"));
        if (!stored.empty()) {
            FF_TRY(*count, stored_partition_count(stored));
        }
    }
    return counts;
}

expected<StoreFacts> facts_of(SqlDb& db, int schema) {
    StoreFacts facts;
    facts.schema = schema;
    FF_TRY(facts.partitions, stored_partitions(db));
    FF_TRY(const std::string eid, db.scalar(sql::highest_eid));
    FF_TRY(const std::string event, db.scalar(sql::highest_event));
    FF_TRY(facts.eid_high, stored_row_number(eid));
    FF_TRY(facts.event_high, stored_row_number(event));
    return facts;
}

expected<void> check_empty(SqlDb& db, int schema, const std::string& where) {
    for (std::size_t table = 0; table < transfer_tables; ++table) {
        const RowBatch batch = empty_batch(table);
        if (std::holds_alternative<std::vector<core::Lane>>(batch) || schema_of(batch) > schema) {
            continue;
        }
        const std::string name(table_name(batch));
        FF_TRY(const std::string found, db.scalar("SELECT 1 FROM " + name + " LIMIT 1"));
        if (!found.empty()) {
            std::string why = where;
            why += " is not empty: there are rows in " + name + "; import into a new store";
            return std::unexpected(in_the_way(where, why));
        }
    }
    return {};
}

expected<void> import_partitions(SqlDb& db, const PartitionCounts& counts) {
    FF_TRY(const std::string stored, db.scalar("SELECT COUNT(*) FROM ff_partition_config"));
    if (stored != "0") {
        FF_TRY(const PartitionCounts own, stored_partitions(db));
        return check_partitions(own, counts);
    }
    return db.execute("INSERT INTO ff_partition_config (family, count) VALUES ('flow', " +
                      std::to_string(counts.flow) + "), ('budget', " +
                      std::to_string(counts.budget) + "), ('quota', " +
                      std::to_string(counts.quota) + ")");
}

expected<void> note_numbers(SqlStatements& statements, const StoreFacts& facts) {
    for (const auto& [name, value] :
         {std::pair{"eid_high", facts.eid_high}, {"event_high", facts.event_high}}) {
        SqlStatement& s = statements.get(sql::meta_put);
        s.text(name);
        s.integer(value);
        FF_TRY_VOID(s.run());
    }
    return {};
}

}  // namespace ff::store
