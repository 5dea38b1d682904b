// The column lists: which columns differ, what texts come from them, and that the defaults of the
// schema are those of the records.
#include "store/tables.h"

#include <gtest/gtest.h>

#include <bit>

#include "store/contract.h"
#include "store/sqlite_rows.h"
#include "store/sqlite_store.h"
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
    EXPECT_EQ(all_columns<Lane>(), 0b111U);
    EXPECT_EQ(key_mask<Lane>(), 0b001U);
    EXPECT_EQ(key_mask<core::Attempt>(), 0b011U);
}

TEST(Tables, an_empty_value_differs_from_an_absent_one) {
    core::Attempt with;
    with.result = "";
    const ColumnMask mask = difference(with, core::Attempt{});
    EXPECT_EQ(std::popcount(mask), 1);
    EXPECT_EQ(insert_text(table_info<core::Attempt>, mask),
              "INSERT INTO ff_attempt (result) VALUES ($1)");
}

TEST(Tables, an_insert_always_names_the_key_and_what_has_no_default) {
    EXPECT_EQ(insert_mask(Lane{}), 0b001U);
    EXPECT_EQ(insert_mask(Lane{"x", LaneState::draining, 0}), 0b011U);
    EXPECT_EQ(insert_text(table_info<core::Execution>, insert_mask(core::Execution{})),
              "INSERT INTO ff_exec_core (eid, id) VALUES ($1, $2)");
    EXPECT_EQ(
        insert_text(table_info<core::IdempotencyEntry>, insert_mask(core::IdempotencyEntry{})),
        "INSERT INTO ff_idempotency (namespace, idempotency_key, execution_id)"
        " VALUES ($1, $2, $3)");
}

TEST(Tables, texts_are_made_from_the_columns) {
    EXPECT_EQ(column_list<Lane>(), "lane_id, lane_state, registered_at");
    EXPECT_EQ(column_list<Lane>("l."), "l.lane_id, l.lane_state, l.registered_at");
    EXPECT_EQ(insert_text(table_info<Lane>, all_columns<Lane>()),
              "INSERT INTO ff_lane_registry (lane_id, lane_state, registered_at)"
              " VALUES ($1, $2, $3)");
    EXPECT_EQ(insert_text(table_info<Lane>, 0b11, "", 2),
              "INSERT INTO ff_lane_registry (lane_id, lane_state) VALUES ($1, $2), ($3, $4)");
    EXPECT_EQ(insert_text(table_info<Lane>, 0b101, " RETURNING lane_id"),
              "INSERT INTO ff_lane_registry (lane_id, registered_at) VALUES ($1, $2)"
              " RETURNING lane_id");
    EXPECT_EQ(insert_text(table_info<Lane>, all_columns<Lane>(), conflict_clause(table_info<Lane>)),
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

/// A database with the schema of this program and nothing in it.
std::unique_ptr<SqliteDb> fresh_database() {
    auto db = SqliteDb::open(":memory:", OpenMode::write, 0);
    EXPECT_TRUE(db);
    EXPECT_TRUE(migrate_sqlite(**db));
    return std::move(*db);
}

template <class Row>
class TableOf : public testing::Test {};

using RowTypes =
    testing::Types<core::Execution, core::ExecutionInput, core::Attempt, core::GrantRow, core::Lane,
                   core::Route, core::IdempotencyEntry, core::WorkerRow, core::Flow, core::Edge,
                   core::EdgeGroup, core::FlowWork, core::Suspension, core::Waitpoint, core::Signal,
                   core::Satisfier, core::HmacKey, core::ExecutionEvent, core::LogEvent>;
TYPED_TEST_SUITE(TableOf, RowTypes);

TYPED_TEST(TableOf, defaults_of_the_schema_are_those_of_the_record) {
    auto db = fresh_database();
    const TypeParam row;
    // Nothing beyond what every insert names.
    ASSERT_EQ(insert_mask(row), (ColumnMask{1} << Table<TypeParam>::named_columns) - 1);
    RowWriter<TypeParam> writer(*db);
    const auto done = writer.insert(row);
    ASSERT_TRUE(done) << done.error().message();
    auto statement =
        db->prepare("SELECT " + column_list<TypeParam>() + " FROM " + Table<TypeParam>::name);
    ASSERT_TRUE(statement);
    const auto read = select_one<TypeParam>(*statement);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_TRUE(read->has_value());
    EXPECT_EQ(**read, row);
}

TYPED_TEST(TableOf, the_columns_are_those_of_the_schema_in_its_order) {
    auto db = fresh_database();
    auto names = db->scalar("SELECT group_concat(name, ', ') FROM pragma_table_info('" +
                            std::string(Table<TypeParam>::name) + "')");
    ASSERT_TRUE(names);
    EXPECT_EQ(*names, column_list<TypeParam>());
}

TYPED_TEST(TableOf, every_text_made_from_the_columns_prepares) {
    auto db = fresh_database();
    const auto prepares = [&](const std::string& text) {
        const auto statement = db->prepare(text);
        EXPECT_TRUE(statement) << text << ": " << statement.error().message();
    };
    prepares(insert_text(table_info<TypeParam>, all_columns<TypeParam>(),
                         conflict_clause(table_info<TypeParam>)));
    prepares(delete_text(table_info<TypeParam>));
    prepares(first_page_text(table_info<TypeParam>));
    prepares(next_page_text(table_info<TypeParam>));
    prepares(insert_text(table_info<TypeParam>, all_columns<TypeParam>()));
    prepares(update_text(table_info<TypeParam>, all_columns<TypeParam>() & ~key_mask<TypeParam>()));
    for (std::size_t i = 0; i < column_count<TypeParam>; ++i) {
        const ColumnMask one = ColumnMask{1} << i;
        prepares(insert_text(table_info<TypeParam>, one | insert_mask(TypeParam{})));
        if ((one & key_mask<TypeParam>()) == 0) {
            prepares(update_text(table_info<TypeParam>, one));
        }
    }
}

}  // namespace
}  // namespace ff::store::test
