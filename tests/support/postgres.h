// Stores on the PostgreSQL server that scripts/postgres.sh runs beside the tests.
//
// Each has a schema of its own in the one database. Nothing is cleaned up: the server is ours and
// goes away with the tests. For tests that link the store room.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "store/postgres_db.h"

namespace ff::support {

/// An address from the environment; empty when the tests run without a server.
inline std::string postgres_address(const char* variable = "FF_TEST_POSTGRES") {
    const char* text = std::getenv(variable);
    return text != nullptr ? text : "";
}

/// Runs statements as the owner of the database.
inline void run_on_postgres(const std::string& text) {
    auto connection = store::PgConnection::open(postgres_address());
    ASSERT_TRUE(connection) << connection.error().message();
    auto done = (*connection)->execute(text);
    ASSERT_TRUE(done) << done.error().message();
}

/// The single value of a query, asked by the owner of the database; empty when it is null.
inline std::string ask_postgres(const std::string& text) {
    auto connection = store::PgConnection::open(postgres_address());
    EXPECT_TRUE(connection) << connection.error().message();
    auto value = connection ? (*connection)->scalar(text) : expected<std::string>("");
    EXPECT_TRUE(value) << value.error().message();
    return value.value_or("");
}

/// The address of a store whose schema belongs to `name`: the same for the same name.
inline std::string postgres_store(const std::string& name) {
    const std::string schema = "t" + std::to_string(std::hash<std::string>()(name));
    run_on_postgres("CREATE SCHEMA IF NOT EXISTS " + schema);
    return postgres_address() + "&options=-csearch_path%3D" + schema;
}

}  // namespace ff::support
