// What the tests of the SQLite store as a file share: a path in a folder of its own, bytes and SQL
// beside the store, and refusals.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "store/contract.h"
#include "store/sqlite_store.h"

namespace ff::store::test {

inline std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

/// Runs statements on a database that no store has open.
inline void sql(const std::string& path, const std::string& text) {
    auto db = SqliteDb::open(path, OpenMode::write, 0);
    ASSERT_TRUE(db) << db.error().message();
    const auto done = (*db)->execute(text);
    ASSERT_TRUE(done) << done.error().message();
}

/// The single value of a query, over a connection of its own.
inline std::string ask(const std::string& path, const std::string& text) {
    auto db = SqliteDb::open(path, OpenMode::read_only, 1'000);
    EXPECT_TRUE(db) << db.error().message();
    auto value = (*db)->scalar(text);
    EXPECT_TRUE(value) << value.error().message();
    return value.value_or("");
}

/// A store with one execution in it.
inline core::Execution put_one(Store& store) {
    core::Route route;
    route.id = store.next_route_id();
    route.key = {"default", "acme", "job", ""};
    const core::Execution row = waiting(store.next_eid(t0), route.id);
    put(store, changes(route, row, input_of(row.eid)));
    return row;
}

class SqliteFile : public testing::Test {
  protected:
    [[nodiscard]] std::string path() const { return folder_.file("store.db"); }
    [[nodiscard]] const std::string& folder() const { return folder_.path(); }
    std::unique_ptr<Store> open(const EngineOptions& options = {}) {
        auto store = open_sqlite("sqlite:" + path(), options);
        EXPECT_TRUE(store) << store.error().message();
        return store ? std::move(*store) : nullptr;
    }
    /// One line with the code and all of the words.
    static void expect_refused(const expected<std::unique_ptr<Store>>& store, ErrorCode code,
                               const std::vector<std::string>& words) {
        ASSERT_FALSE(store);
        const std::string message = store.error().message();
        EXPECT_EQ(to_string(store.error().code), to_string(code)) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        for (const std::string& word : words) {
            EXPECT_NE(message.find(word), std::string::npos) << message << " lacks " << word;
        }
    }
    void expect_refused(ErrorCode code, const std::vector<std::string>& words,
                        const EngineOptions& options = {}) {
        expect_refused(open_sqlite("sqlite:" + path(), options), code, words);
    }

  private:
    TempDir folder_;
};

}  // namespace ff::store::test
