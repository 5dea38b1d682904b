// What holds of a statement after reset() and after an error, whichever database it is of.
#include "store/sql_statement.h"

#include <gtest/gtest.h>

#include "store/postgres_fixture.h"
#include "store/sqlite_db.h"

namespace ff::store::test {
namespace {

const std::string one_number = "SELECT CAST($1 AS bigint)";
const std::string one_row = "INSERT INTO numbers (n) VALUES ($1)";

/// Expects that the statement, one_number, can be used.
void expect_usable(SqlStatement& s) {
    s.integer(7);
    const auto row = s.step();
    ASSERT_TRUE(row) << row.error().message();
    ASSERT_TRUE(*row);
    EXPECT_EQ(s.integer(), 7);
    EXPECT_TRUE(s.check());
    s.reset();
}

void expect_reset_forgets(SqlStatement& s) {
    s.integer(1);
    s.integer(2);  // one too many
    s.reset();
    expect_usable(s);
    s.integer(7);
    ASSERT_TRUE(s.step());
    s.corrupt("n", "7");
    ASSERT_FALSE(s.check());
    s.reset();
    EXPECT_TRUE(s.check());
    expect_usable(s);
}

/// The statement is one_row.
void expect_error_resets(SqlStatement& s) {
    s.integer(1);
    ASSERT_TRUE(s.run());
    s.integer(1);
    EXPECT_FALSE(s.step());
    s.integer(2);
    const auto second = s.run();
    EXPECT_TRUE(second) << second.error().message();
    s.integer(2);
    EXPECT_FALSE(s.run());
    s.integer(3);
    const auto third = s.run();
    EXPECT_TRUE(third) << third.error().message();
    EXPECT_FALSE(s.run()) << "what is not bound is none of an earlier use";
    s.integer(4);
    const auto fourth = s.run();
    EXPECT_TRUE(fourth) << fourth.error().message();
}

std::unique_ptr<SqliteDb> empty_sqlite() {
    auto db = SqliteDb::open(":memory:", OpenMode::write, 0);
    EXPECT_TRUE(db);
    EXPECT_TRUE((*db)->execute("CREATE TABLE numbers (n bigint PRIMARY KEY)"));
    return std::move(*db);
}

TEST(SqliteStatement, reset_forgets_what_was_bound_and_what_was_wrong) {
    auto db = empty_sqlite();
    auto s = db->prepare(one_number);
    ASSERT_TRUE(s);
    expect_reset_forgets(*s);
}

TEST(SqliteStatement, after_an_error_it_is_as_after_reset) {
    auto db = empty_sqlite();
    auto s = db->prepare(one_row);
    ASSERT_TRUE(s);
    expect_error_resets(*s);
}

TEST(SqliteStatement, a_value_too_many_is_the_next_steps_error_and_no_others) {
    auto db = empty_sqlite();
    auto s = db->prepare(one_number);
    ASSERT_TRUE(s);
    s->integer(1);
    s->integer(2);
    EXPECT_FALSE(s->step());
    expect_usable(*s);
    s->integer(1);
    s->integer(2);
    auto other = db->prepare(one_number);
    ASSERT_TRUE(other);
    *s = std::move(*other);
    expect_usable(*s);
}

class PostgresStatement : public Postgres {};

TEST_F(PostgresStatement, reset_forgets_what_was_bound_and_what_was_wrong) {
    auto db = PgConnection::open(url_);
    ASSERT_TRUE(db) << db.error().message();
    PgStatement s(**db, one_number);
    expect_reset_forgets(s);
}

TEST_F(PostgresStatement, after_an_error_it_is_as_after_reset) {
    tamper("CREATE TABLE numbers (n bigint PRIMARY KEY)");
    auto db = PgConnection::open(url_);
    ASSERT_TRUE(db) << db.error().message();
    PgStatement s(**db, one_row);
    expect_error_resets(s);
}

}  // namespace
}  // namespace ff::store::test
