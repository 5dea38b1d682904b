// The column lists: which columns differ, what texts come from them, and that the defaults of the
// schema are those of the records.
#include "store/tables.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "store/migrate.h"
#include "store/postgres_fixture.h"
#include "store/postgres_rows.h"
#include "store/sqlite_rows.h"
#include "store/sqlite_store.h"
#include "store/transfer.h"
#include "store/typed_rows.h"
#include "store/value_codec.h"

namespace ff::store::test {
namespace {

using core::Lane;

TEST(Tables, a_difference_names_the_columns_that_differ) {
    const Lane a{"default", LaneState::active, 1};
    EXPECT_EQ(difference(a, a), 0U);
    EXPECT_EQ(difference(a, Lane{"other", LaneState::active, 1}), 0b001U);
    EXPECT_EQ(difference(a, Lane{"default", LaneState::paused, 1}), 0b010U);
    EXPECT_EQ(difference(a, Lane{"default", LaneState::active, 2}), 0b100U);
    EXPECT_EQ(difference(a, Lane{}), 0b101U);
    EXPECT_EQ(table_info<Lane>.all_columns(), 0b111U);
    EXPECT_EQ(table_info<Lane>.key_mask(), 0b001U);
    EXPECT_EQ(table_info<core::Attempt>.key_mask(), 0b011U);
}

TEST(Tables, an_empty_value_differs_from_an_absent_one) {
    core::Attempt with;
    with.result = "";
    const ColumnMask mask = difference(with, core::Attempt{});
    EXPECT_EQ(std::popcount(mask), 1);
    EXPECT_EQ(insert_text(table_info<core::Attempt>, mask),
              "INSERT INTO ff_attempt (result) VALUES ($1)");
}

/// What an insert of a record that nothing was done to has to name.
ColumnMask unset_mask(const TableInfo& table) { return table.insert_mask(table.record.unset()); }

TEST(Tables, an_insert_always_names_the_key_and_what_has_no_default) {
    EXPECT_EQ(unset_mask(table_info<Lane>), 0b001U);
    const Lane lane{"x", LaneState::draining, 0};
    EXPECT_EQ(table_info<Lane>.insert_mask(&lane), 0b011U);
    EXPECT_EQ(insert_text(table_info<core::Execution>, unset_mask(table_info<core::Execution>)),
              "INSERT INTO ff_exec_core (eid, id) VALUES ($1, $2)");
    EXPECT_EQ(insert_text(table_info<core::IdempotencyEntry>,
                          unset_mask(table_info<core::IdempotencyEntry>)),
              "INSERT INTO ff_idempotency (namespace, idempotency_key, execution_id)"
              " VALUES ($1, $2, $3)");
}

TEST(Tables, texts_are_made_from_the_columns) {
    EXPECT_EQ(column_list<Lane>(), "lane_id, lane_state, registered_at");
    EXPECT_EQ(column_list<Lane>("l."), "l.lane_id, l.lane_state, l.registered_at");
    EXPECT_EQ(insert_text(table_info<Lane>, table_info<Lane>.all_columns()),
              "INSERT INTO ff_lane_registry (lane_id, lane_state, registered_at)"
              " VALUES ($1, $2, $3)");
    EXPECT_EQ(insert_text(table_info<Lane>, 0b11, "", 2),
              "INSERT INTO ff_lane_registry (lane_id, lane_state) VALUES ($1, $2), ($3, $4)");
    EXPECT_EQ(insert_text(table_info<Lane>, 0b101, " RETURNING lane_id"),
              "INSERT INTO ff_lane_registry (lane_id, registered_at) VALUES ($1, $2)"
              " RETURNING lane_id");
    EXPECT_EQ(insert_text(table_info<Lane>, table_info<Lane>.all_columns(),
                          conflict_clause(table_info<Lane>)),
              "INSERT INTO ff_lane_registry (lane_id, lane_state, registered_at)"
              " VALUES ($1, $2, $3) ON CONFLICT (lane_id) DO UPDATE SET"
              " lane_state = excluded.lane_state, registered_at = excluded.registered_at");
    EXPECT_EQ(update_text(table_info<Lane>, 0b110),
              "UPDATE ff_lane_registry SET lane_state = $1, registered_at = $2"
              " WHERE lane_id = $3");
    EXPECT_EQ(delete_text(table_info<core::Attempt>),
              "DELETE FROM ff_attempt WHERE eid = $1 AND attempt_index = $2");
    EXPECT_EQ(first_page_text(table_info<Lane>),
              "SELECT lane_id, lane_state, registered_at FROM ff_lane_registry"
              " ORDER BY lane_id LIMIT $1");
    EXPECT_EQ(next_page_text(table_info<Lane>),
              "SELECT lane_id, lane_state, registered_at FROM ff_lane_registry"
              " WHERE (lane_id) > ($1) ORDER BY lane_id LIMIT $2");
    EXPECT_TRUE(
        next_page_text(table_info<core::Attempt>)
            .ends_with(
                " FROM ff_attempt WHERE (eid, attempt_index) > ($1, $2) ORDER BY eid, attempt_index"
                " LIMIT $3"));
}

TEST(Tables, every_member_of_the_rare_part_can_be_json) {
    for (const ColumnInfo& column : columns_of<core::ExecutionExtra>) {
        EXPECT_NE(column.type->append_json, nullptr) << column.name;
        EXPECT_NE(column.type->take_json, nullptr) << column.name;
    }
}

// ------------------------------------------------------------------------- every table there is

/// A database with the schema of this program and nothing in it.
std::unique_ptr<SqliteDb> fresh_database() {
    auto db = SqliteDb::open(":memory:", OpenMode::write, 0);
    EXPECT_TRUE(db);
    EXPECT_TRUE(migrate_sqlite(**db));
    return std::move(*db);
}

/// Calls `look` with a list for the rows of each table. A new table is among them once it is
/// exported, which transfer_test.cc sees to.
void for_each_table(const std::function<void(RowList)>& look) {
    for (std::size_t table = 0; table < transfer_tables; ++table) {
        RowBatch rows = empty_batch(table);
        const RowList list = list_of(rows);
        SCOPED_TRACE(list.table().name);
        look(list);
    }
}

/// The names of the columns in a mask.
std::string names_of(const TableInfo& table, ColumnMask mask) {
    std::string names;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if ((mask >> i & 1U) != 0) {
            add_item(names, ", ", table.columns[i].name);
        }
    }
    return names;
}

using Insert = std::function<expected<void>(const TableInfo& table, const void* row)>;

/// Inserts an unset record, of which only the columns without a default are named, and expects that
/// it reads as it was.
void expect_defaults_of_record(SqlStatements& statements, RowList rows, const Insert& insert) {
    const TableInfo& table = rows.table();
    const void* unset = table.record.unset();
    ASSERT_EQ(names_of(table, unset_mask(table)), names_of(table, table.named_mask()));
    const auto done = insert(table, unset);
    ASSERT_TRUE(done) << done.error().message();
    const auto read =
        select_rows(statements.get("SELECT " + column_list(table) + " FROM " + table.name), rows);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(rows.view().size(), 1U);
    EXPECT_EQ(names_of(table, store::difference(table.columns, rows.view()[0], unset)), "");
}

TEST(Tables, defaults_of_the_schema_are_those_of_the_record) {
    auto db = fresh_database();
    StatementCache statements(*db);
    for_each_table([&](RowList rows) {
        expect_defaults_of_record(statements, rows, [&](const TableInfo& table, const void* row) {
            return TableWriter(*db, table).insert(row);
        });
    });
}

class PostgresTables : public Postgres {};

TEST_F(PostgresTables, defaults_of_the_schema_are_those_of_the_record) {
    auto db = PgConnection::open(url_);
    ASSERT_TRUE(db) << db.error().message();
    const auto made = migrate(**db);
    ASSERT_TRUE(made) << made.error().message();
    PgStatements statements(**db);
    const Insert insert = [&](const TableInfo& table, const void* row) -> expected<void> {
        PgTableSets set(table);
        set.insert(row);
        set.queue(**db, 0);
        FF_TRY_VOID((*db)->run_queued());
        return {};
    };
    for_each_table([&](RowList rows) { expect_defaults_of_record(statements, rows, insert); });
}

TEST(Tables, the_columns_are_those_of_the_schema_in_its_order) {
    auto db = fresh_database();
    for_each_table([&](RowList rows) {
        const auto names = db->scalar("SELECT group_concat(name, ', ') FROM pragma_table_info('" +
                                      std::string(rows.table().name) + "')");
        ASSERT_TRUE(names) << names.error().message();
        EXPECT_EQ(*names, column_list(rows.table()));
    });
}

/// All kinds of texts that are made from a table's columns.
std::vector<std::string> texts_of(const TableInfo& table) {
    const ColumnMask all = table.all_columns();
    const ColumnMask key = table.key_mask();
    std::vector<std::string> texts{
        insert_text(table, all), insert_text(table, all, conflict_clause(table)),
        delete_text(table),      first_page_text(table),
        next_page_text(table),   update_text(table, all & ~key)};
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const ColumnMask one = ColumnMask{1} << i;
        texts.push_back(insert_text(table, one | unset_mask(table)));
        if ((one & key) == 0) {
            texts.push_back(update_text(table, one));
        }
    }
    return texts;
}

TEST(Tables, every_text_made_from_the_columns_prepares) {
    auto db = fresh_database();
    for_each_table([&](RowList rows) {
        for (const std::string& text : texts_of(rows.table())) {
            const auto statement = db->prepare(text);
            EXPECT_TRUE(statement) << text << ": " << statement.error().message();
        }
    });
}

// ------------------------------------------------------------------------------- many at a time

/// Lanes of which so many after one another need the same columns, then so many others, and so on.
std::vector<Lane> lanes_in_runs(const std::vector<int>& runs) {
    std::vector<Lane> lanes;
    bool registered = false;
    for (const int run : runs) {
        for (int i = 0; i < run; ++i) {
            const std::string number = std::to_string(100 + lanes.size());
            lanes.push_back({"lane" + number, LaneState::active, registered ? i + 1 : 0});
        }
        registered = !registered;
    }
    return lanes;
}

// Sixteen at a time go with one statement.
TEST(Tables, rows_inserted_together_are_there_whichever_columns_they_need) {
    for (const std::vector<int>& runs : std::vector<std::vector<int>>{
             {}, {1}, {15}, {16}, {17}, {32}, {33, 1, 2}, {1, 16, 15, 17}, {16, 16, 1}}) {
        auto db = fresh_database();
        const std::vector<Lane> lanes = lanes_in_runs(runs);
        std::vector<const Lane*> addresses;
        for (const Lane& lane : lanes) {
            addresses.push_back(&lane);
        }
        const auto done = RowWriter<Lane>(*db).insert_all(addresses);
        ASSERT_TRUE(done) << done.error().message();
        StatementCache statements(*db);
        SqlStatement& page = statements.get(first_page_text(table_info<Lane>));
        page.integer(1'000);
        const auto read = select_all<Lane>(page);
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_EQ(*read, lanes) << testing::PrintToString(runs);
    }
}

}  // namespace
}  // namespace ff::store::test
