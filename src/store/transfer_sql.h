// The parts of a transfer that are the same in every database that speaks SQL: pages of rows, what
// a store is beside its rows, whether it is empty. `Db` has execute() and scalar(); `Statements`
// gives prepared statements by their text.
#pragma once

#include <string>

#include "store/catalogue.h"
#include "store/placed_file.h"
#include "store/row_text.h"
#include "store/schema.h"
#include "store/sql_rows.h"
#include "store/transfer.h"

namespace ff::store {

/// See RowPages::next_page().
template <class Statements>
expected<void> next_page_on(Statements& statements, RowBatch& batch, std::size_t limit) {
    return std::visit(
        [&]<class Row>(std::vector<Row>& rows) -> expected<void> {
            auto& s = statements.get(rows.empty() ? first_page_text(table_info<Row>)
                                                  : next_page_text(table_info<Row>));
            if (!rows.empty()) {
                each_value(rows.back(), key_mask<Row>(), binder(s));
            }
            s.integer(static_cast<std::int64_t>(limit));
            FF_TRY(rows, select_all<Row>(s));
            return {};
        },
        batch);
}

/// As stored; 1 where nothing is.
template <class Db>
expected<PartitionCounts> stored_partitions(Db& db) {
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

/// Facts of a store whose schema this program knows; `schema` is its version.
template <class Db>
expected<StoreFacts> facts_of(Db& db, int schema) {
    StoreFacts facts;
    facts.schema = schema;
    FF_TRY(facts.partitions, stored_partitions(db));
    FF_TRY(const std::string eid, db.scalar(sql::highest_eid));
    FF_TRY(const std::string event, db.scalar(sql::highest_event));
    FF_TRY(facts.eid_high, stored_row_number(eid));
    FF_TRY(facts.event_high, stored_row_number(event));
    return facts;
}

/// Refuses a store that holds anything but lanes, which an engine registers when it makes one.
/// `schema` is its version: tables that came later are not there.
template <class Db>
expected<void> check_empty(Db& db, int schema, const std::string& where) {
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

/// In the transaction of an import: what a store that was opened before has must be the same.
template <class Db>
expected<void> import_partitions(Db& db, const PartitionCounts& counts) {
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

/// Notes the highest numbers ever given out.
template <class Statements>
expected<void> note_numbers(Statements& statements, const StoreFacts& facts) {
    for (const auto& [name, value] :
         {std::pair{"eid_high", facts.eid_high}, {"event_high", facts.event_high}}) {
        auto& s = statements.get(sql::meta_put);
        s.text(name);
        s.integer(value);
        FF_TRY_VOID(s.run());
    }
    return {};
}

}  // namespace ff::store
