// How PostgreSQL finds the rows of a store that was empty when its plans were made, and stays so for
// the planner until it is vacuumed again: nothing may be walked that can be looked up.
#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "store/catalogue.h"
#include "store/postgres_fixture.h"
#include "store/postgres_internal.h"
#include "store/transfer.h"
#include "support/emptied_postgres.h"

namespace ff::store::test {
namespace {

/// An empty store after a vacuum, and a session on it as the store's own.
class PostgresPlans : public Postgres {
  protected:
    void SetUp() override {
        Postgres::SetUp();
        if (IsSkipped()) {
            return;
        }
        ASSERT_TRUE(open());
        auto connection = PgConnection::open(url_);
        ASSERT_TRUE(connection) << connection.error().message();
        db_ = std::move(*connection);
        ASSERT_TRUE(db_->execute(std::string(plan_settings)));
        const auto schema = db_->scalar("SELECT current_schema()");
        ASSERT_TRUE(schema);
        support::vacuum_postgres_store(*schema);
    }

    /// The plan of a statement whose parameters are not known yet. `types` are those that cannot be
    /// seen from the text.
    std::string plan(const std::string& text, const std::string& types = "") {
        const auto prepared = db_->execute("PREPARE asked" + types + " AS " + text);
        EXPECT_TRUE(prepared) << text << ": " << prepared.error().message();
        if (!prepared) {
            return "";
        }
        const auto nulls = db_->scalar(
            "SELECT array_to_string(array_fill(CAST('NULL' AS text),"
            " ARRAY[cardinality(parameter_types)]), ', ')"
            " FROM pg_prepared_statements WHERE name = 'asked'");
        EXPECT_TRUE(nulls) << text;
        db_->queue("EXPLAIN (COSTS FALSE) EXECUTE asked" +
                   (nulls && !nulls->empty() ? "(" + *nulls + ")" : ""));
        auto answers = db_->run_queued();
        EXPECT_TRUE(answers) << text << ": " << answers.error().message();
        std::string lines;
        while (answers && answers->back().next()) {
            lines += std::string(answers->back().bytes()) + "\n";
        }
        EXPECT_TRUE(db_->execute("DEALLOCATE asked"));
        return lines;
    }

    /// A join in which every row of one side is held against every row of the other.
    void expect_look_ups(const std::string& text, const std::string& types = "") {
        const std::string steps = plan(text, types);
        EXPECT_FALSE(steps.empty()) << text;
        EXPECT_EQ(steps.find("Join Filter"), std::string::npos) << text << "\n" << steps;
    }

    std::unique_ptr<PgConnection> db_;
};

const char* array_of(Kind kind) {
    switch (kind) {
        case Kind::integer: return "bigint[]";
        case Kind::text: return "text[]";
        case Kind::bytes: return "bytea[]";
    }
    return "";
}

/// `(bigint[], text[])`: the arrays that hold these columns.
std::string types_of(const TableInfo& table, ColumnMask mask) {
    std::string out;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if ((mask >> i & 1U) != 0) {
            out += (out.empty() ? "(" : ", ") + std::string(array_of(table.columns[i].kind));
        }
    }
    return out + ")";
}

std::string types_of(const TableInfo& table, const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) {
        const auto column = std::ranges::find(table.columns, name, &ColumnInfo::name);
        EXPECT_NE(column, table.columns.end()) << name;
        out += (out.empty() ? "(" : ", ") + std::string(array_of(column->kind));
    }
    return out + ")";
}

TEST_F(PostgresPlans, sets_of_changes_look_their_rows_up) {
    for (std::size_t i = 0; i < transfer_tables; ++i) {
        const RowBatch batch = empty_batch(i);
        const TableInfo& table = view_of(batch).table();
        expect_look_ups(delete_set_text(table, 1), types_of(table, table.key_mask()));
        if (table.key_columns < table.columns.size()) {
            // Numbers of events are worked out with one parameter more.
            std::string types = types_of(table, table.all_columns());
            const std::string text =
                update_set_text(table, table.all_columns(), 1, EventBase::counter);
            if (text.contains("event_high")) {
                types.insert(types.size() - 1, ", bigint");
            }
            expect_look_ups(text, types);
        }
    }
}

TEST_F(PostgresPlans, sets_of_keys_are_looked_up) {
    const auto by = [&]<class Row>(std::type_identity<Row>, const std::vector<std::string>& key,
                                   const std::string& tail = "") {
        expect_look_ups(select_keys<Row>(key) + tail, types_of(table_info<Row>, key));
    };
    for (std::size_t i = 0; i < transfer_tables; ++i) {
        const RowBatch batch = empty_batch(i);
        const TableInfo& table = view_of(batch).table();
        std::vector<std::string> key;
        for (std::size_t column = 0; column < table.key_columns; ++column) {
            key.emplace_back(table.columns[column].name);
        }
        expect_look_ups(select_keys(table, key), types_of(table, key));
    }
    // Not by the whole key, or with a lock.
    by(std::type_identity<core::Edge>(), {"flow_id", "edge_id"});
    by(std::type_identity<core::Signal>(), {"eid", "signal_id"});
    by(std::type_identity<core::Attachment>(), {"target_type", "target_id"});
    expect_look_ups(lock_idempotency, "(text[], text[])");
    expect_look_ups(lock_workers, "(text[], text[])");
    expect_look_ups(delete_histories, "(bigint[])");
    expect_look_ups(lock_best_ready, "(bigint[])");
}

TEST_F(PostgresPlans, lists_look_up_what_their_rows_name) {
    for (const std::string& text : sql::all_texts()) {
        expect_look_ups(text);
    }
}

}  // namespace
}  // namespace ff::store::test
