// Which store a string names: every row of the table in spec 09 section 1, and its traps.
#include "store/location.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/contract.h"

namespace ff::store::test {
namespace {

using Form = Location::Form;

Location parsed(const std::string& text) {
    auto location = parse_location(text);
    EXPECT_TRUE(location) << text << ": " << location.error().message();
    return location.value_or(Location{});
}

/// Runs in a folder of its own, so that relative paths mean something known.
class LocationTest : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::current_path(folder_.path()); }
    void TearDown() override { std::filesystem::current_path(before_); }
    [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

    void expect_file(const std::string& text, const std::string& path) {
        const Location location = parsed(text);
        EXPECT_EQ(location.form, Form::sqlite_file) << text;
        EXPECT_EQ(location.target, path) << text;
        const std::string absolute = path.starts_with('/') ? path : file(path);
        EXPECT_EQ(location.identity, "file:" + absolute) << text;
    }
    static void expect_private_memory(const std::string& text) {
        const Location location = parsed(text);
        EXPECT_EQ(location.form, Form::sqlite_private_memory) << text;
        EXPECT_EQ(location.identity, "") << text;
    }
    static void expect_named_memory(const std::string& text, const std::string& name) {
        const Location location = parsed(text);
        EXPECT_EQ(location.form, Form::sqlite_named_memory) << text;
        EXPECT_EQ(location.target, name) << text;
        EXPECT_EQ(location.identity, "memory:" + name) << text;
    }
    static void expect_refused(const std::string& text) {
        const auto location = parse_location(text);
        ASSERT_FALSE(location) << text;
        EXPECT_EQ(location.error().code, ErrorCode::invalid_config) << text;
        EXPECT_NE(location.error().detail.find("write sqlite:PATH"), std::string::npos);
        EXPECT_EQ(location.error().detail.find('\n'), std::string::npos);
    }

  private:
    TempDir folder_;
    std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(LocationTest, a_file_is_named_by_a_path_with_or_without_a_scheme) {
    expect_file("sqlite:app.db", "app.db");
    expect_file("app.db", "app.db");
    expect_file("file:app.db", "app.db");
    expect_file("sqlite:file:app.db", "app.db");
    expect_file("sqlite:/var/lib/app.db", "/var/lib/app.db");
    expect_file("/var/lib/app.db", "/var/lib/app.db");
    expect_file("file:/var/lib/app.db", "/var/lib/app.db");
    expect_file("file:///var/lib/app.db", "/var/lib/app.db");
    expect_file("file://localhost/var/lib/app.db", "/var/lib/app.db");
    expect_file("name with spaces", "name with spaces");
}

TEST_F(LocationTest, a_private_memory_store_has_four_spellings) {
    expect_private_memory(":memory:");
    expect_private_memory("sqlite::memory:");
    expect_private_memory("file::memory:");
    expect_private_memory("file::memory:?cache=shared");
}

TEST_F(LocationTest, a_named_memory_store_has_its_parameters_in_any_order) {
    expect_named_memory("file:t?mode=memory&cache=shared", "t");
    expect_named_memory("file:t?cache=shared&mode=memory", "t");
    expect_named_memory("file:t?mode=memory", "t");
    expect_named_memory("file:t?mode=memory#part", "t");
    expect_named_memory("file:t?a=b&mode=memory&c=d", "t");
    expect_named_memory("sqlite:file:t?mode=memory&cache=shared", "t");
}

TEST_F(LocationTest, memory_is_an_exact_parameter_and_never_a_part_of_a_name) {
    expect_file("file:my_mode=memory_db.sqlite", "my_mode=memory_db.sqlite");
    expect_file("file:x?mode=memory_extra", "x");
    expect_file("file:x?cache=shared", "x");
    expect_file("file:x?amode=memory", "x");
    expect_file("file:x?mode=memory_extra&cache=shared", "x");
    expect_file("file:x?mode=Memory", "x");
    expect_file("file:x?mode=", "x");
    expect_file("file:x?a=b?mode=memory", "x");
    expect_file("file:x#?mode=memory", "x");
    expect_file("file:x#y&mode=memory", "x");
    expect_file("file:mode=memory", "mode=memory");
    // Without `file:` there are no parameters.
    expect_file("x?mode=memory", "x?mode=memory");
    expect_file("memory", "memory");
    expect_file("sqlite:memory:", "memory:");
}

// Whoever writes it means an option, and must not get a file of that name.
TEST_F(LocationTest, a_sqlite_address_has_no_options) {
    for (const char* text : {"sqlite:x?mode=memory", "sqlite:app.db?scanners=off", "sqlite:x?"}) {
        const auto location = parse_location(text);
        ASSERT_FALSE(location) << text;
        EXPECT_EQ(location.error().code, ErrorCode::invalid_config);
        EXPECT_NE(location.error().detail.find("no option"), std::string::npos);
    }
}

TEST_F(LocationTest, the_memory_store_without_sql_is_private) {
    const Location location = parsed("memory:");
    EXPECT_EQ(location.form, Form::memory);
    EXPECT_EQ(location.identity, "");
}

TEST_F(LocationTest, postgres_has_two_schemes) {
    for (const std::string text :
         {"postgres://user@host/db", "postgresql://host/db?sslmode=require"}) {
        const Location location = parsed(text);
        EXPECT_EQ(location.form, Form::postgres);
        EXPECT_EQ(location.target, text);
        EXPECT_EQ(location.identity, text);
    }
}

TEST_F(LocationTest, what_names_no_store_is_refused_with_what_to_write) {
    for (const std::string text :
         {"", "sqlite:", "file:", "sqlite:file:", "file:?cache=shared", "file:#x", "file://",
          "file://host", "http://host:9090", "https://host"}) {
        expect_refused(text);
    }
}

TEST_F(LocationTest, one_file_has_one_identity_however_it_is_spelled) {
    const std::string identity = parsed("app.db").identity;
    for (const std::string text :
         {"sqlite:app.db", "./app.db", "file:app.db?cache=shared", "sub/../app.db"}) {
        EXPECT_EQ(parsed(text).identity, identity) << text;
    }
    EXPECT_EQ(parsed(file("app.db")).identity, identity);
    EXPECT_NE(parsed("other.db").identity, identity);
    EXPECT_NE(parsed("app.db2").identity, identity);
}

TEST_F(LocationTest, a_file_keeps_its_identity_when_it_comes_to_exist) {
    const std::string before = parsed("app.db").identity;
    EXPECT_EQ(before, "file:" + file("app.db"));
    std::ofstream(file("app.db")) << "x";
    EXPECT_EQ(parsed("app.db").identity, before);
}

TEST_F(LocationTest, a_link_has_the_identity_of_what_it_leads_to) {
    std::ofstream(file("app.db")) << "x";
    std::filesystem::create_symlink("app.db", file("link.db"));
    std::filesystem::create_directory(file("sub"));
    std::filesystem::create_directory_symlink("sub", file("linked"));
    EXPECT_EQ(parsed("link.db").identity, parsed("app.db").identity);
    EXPECT_EQ(parsed("linked/new.db").identity, parsed("sub/new.db").identity);
}

TEST_F(LocationTest, AWordAndAColonIsNotAFile) {
    for (const char* text : {"postgres:x", "foo:bar", "mysql://host/db", "redis:6379",
                             "127.0.0.1:9090", "[::1]:9090", "my.host:80"}) {
        const auto location = parse_location(text);
        ASSERT_FALSE(location) << text;
        EXPECT_EQ(location.error().code, ErrorCode::invalid_config) << text;
    }
    expect_file("sqlite:foo:bar", "foo:bar");
    expect_file("file:2024", "2024");
    EXPECT_EQ(parsed("./foo:bar").form, Form::sqlite_file);
    EXPECT_EQ(parsed("dir/a:b").form, Form::sqlite_file);
    EXPECT_EQ(parsed("./127.0.0.1:9090").form, Form::sqlite_file);
    EXPECT_EQ(parsed("a.b:c").form, Form::sqlite_file);
}

}  // namespace
}  // namespace ff::store::test
