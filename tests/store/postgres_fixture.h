// A PostgreSQL store of its own for each test, and hands that reach into its database beside it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/contract.h"
#include "store/location.h"
#include "store/postgres_db.h"
#include "store/postgres_store.h"
#include "support/postgres.h"

namespace ff::store::test {

class Postgres : public testing::Test {
  protected:
    void SetUp() override {
        if (support::postgres_address().empty()) {
            GTEST_SKIP() << "there is no PostgreSQL server; see scripts/postgres.sh";
        }
        url_ = support::postgres_store(folder_.file("store"));
    }
    static expected<std::unique_ptr<PostgresStore>> open_at(const std::string& url,
                                                            const EngineOptions& options = {}) {
        FF_TRY(const Location location, parse_location(url));
        return PostgresStore::open(location, options);
    }
    std::unique_ptr<PostgresStore> open(const EngineOptions& options = {}) {
        auto store = open_at(url_, options);
        EXPECT_TRUE(store) << store.error().message();
        return std::move(*store);
    }
    /// Statements in the store's own schema, as somebody beside it.
    void tamper(const std::string& text) {
        auto connection = PgConnection::open(url_);
        ASSERT_TRUE(connection) << connection.error().message();
        auto done = (*connection)->execute(text);
        ASSERT_TRUE(done) << done.error().message();
    }
    std::string ask(const std::string& text) {
        auto connection = PgConnection::open(url_);
        EXPECT_TRUE(connection) << connection.error().message();
        auto value = (*connection)->scalar(text);
        EXPECT_TRUE(value) << value.error().message();
        return value ? *value : "";
    }
    /// Ends every connection that is in a transaction on the store, as a restart of it does.
    void cut_connections() {
        ask("SELECT count(pg_terminate_backend(pid)) FROM pg_locks"
            " WHERE pid <> pg_backend_pid() AND relation IN (SELECT oid FROM pg_class"
            " WHERE relnamespace = (SELECT oid FROM pg_namespace"
            " WHERE nspname = current_schema()))");
    }
    RouteId make_route(Store& store, const std::string& lane = "default") {
        core::Route row;
        row.id = store.next_route_id();
        row.key = {lane, "acme", "job", ""};
        put(store, changes(row));
        return row.id;
    }

    TempDir folder_;
    std::string url_;
};

}  // namespace ff::store::test
