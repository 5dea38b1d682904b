// The house rules that a program can check. Each rule is a function from one file to its faults;
// the tests apply it to the whole tree, and a second set shows that each rule finds what it should.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t columns_max = 100;
constexpr std::size_t lines_max = 800;

// What a file of each room may include from src/. A new room needs a line here.
const std::map<std::string_view, std::set<std::string_view>> rooms_seen_from = {
    {"base", {"base"}},
    {"core", {"core", "base"}},
    {"store", {"store", "core", "base"}},
    {"engine", {"engine", "store", "core", "base"}},
    {"net", {"net", "base"}},
    {"wire", {"wire", "engine", "store", "core", "base"}},
    {"http", {"http", "wire", "net", "engine", "store", "core", "base"}},
    {"client", {"client", "wire", "net", "engine", "store", "core", "base"}},
    {"worker", {"worker", "engine", "store", "core", "base"}},
    {"cli", {"cli", "http", "client", "worker", "wire", "net", "engine", "store", "core", "base"}},
};

// System headers beside the standard library: only where the outside world is met, never in core
// or in the public headers.
const std::set<std::string_view> posix_headers = {
    "dirent.h", "errno.h",  "execinfo.h", "fcntl.h", "poll.h",   "pthread.h",
    "signal.h", "stdlib.h", "string.h",   "time.h",  "unistd.h",
};

// The one place in core that needs another library: what it computes is as pure as the rest.
constexpr std::string_view cryptographer = "src/core/keystore.cc";

// ------------------------------------------------------------------------------------- files

struct File {
    std::string path;  // from the source root, with forward slashes
    std::vector<std::string> lines;
};

struct Fault {
    std::string path;
    std::size_t line;
    std::string what;
};
using Faults = std::vector<Fault>;

File make_file(std::string path, std::string_view text) {
    File file{std::move(path), {}};
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        file.lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return file;
}

bool has_extension(const File& file, std::string_view extension) {
    return file.path.ends_with(extension);
}

bool is_source(const File& file) {
    const bool in_tree = file.path.starts_with("include/") || file.path.starts_with("src/") ||
                         file.path.starts_with("tests/") || file.path.starts_with("examples/");
    return in_tree &&
           (has_extension(file, ".h") || has_extension(file, ".hpp") || has_extension(file, ".cc"));
}

// `src/core/apply.cc` is in room `core`; nothing for files outside src/.
std::string_view room_of(std::string_view path) {
    constexpr std::string_view prefix = "src/";
    if (!path.starts_with(prefix)) {
        return {};
    }
    path.remove_prefix(prefix.size());
    const std::size_t slash = path.find('/');
    return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

// Every text file of the project: not what git, builds, editors and runs leave behind.
std::vector<File> load_tree() {
    static const std::set<std::string> skipped_names = {
        ".git", ".cache", ".idea", ".vscode", "build", "Testing", "compile_commands.json"};
    const fs::path root = FF_SOURCE_DIR;
    std::vector<File> files;
    for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
        if (skipped_names.contains(it->path().filename().string())) {
            it.disable_recursion_pending();
            continue;
        }
        if (!it->is_regular_file()) {
            continue;
        }
        std::ifstream in(it->path(), std::ios::binary);
        std::string text{std::istreambuf_iterator<char>(in), {}};
        if (text.find('\0') == std::string::npos) {
            files.push_back(make_file(fs::relative(it->path(), root).generic_string(), text));
        }
    }
    std::ranges::sort(files, {}, &File::path);
    return files;
}

const std::vector<File>& tree() {
    static const std::vector<File> files = load_tree();
    return files;
}

const File* find_in_tree(const std::string& path) {
    const auto at = std::ranges::lower_bound(tree(), path, {}, &File::path);
    return at != tree().end() && at->path == path ? &*at : nullptr;
}

// ---------------------------------------------------------------------------------- includes

struct Include {
    std::size_t line = 0;
    bool angled = false;
    std::string_view path;

    [[nodiscard]] std::string_view folder() const {
        const std::size_t slash = path.find('/');
        return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
    }
};

std::optional<Include> parse_include(std::string_view line) {
    const auto skip = [&line](std::string_view word) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        const bool found = line.starts_with(word);
        if (found) {
            line.remove_prefix(word.size());
        }
        return found;
    };
    if (!skip("#") || !skip("include") || !skip("")) {
        return std::nullopt;
    }
    const bool angled = line.starts_with('<');
    if (!angled && !line.starts_with('"')) {
        return std::nullopt;
    }
    line.remove_prefix(1);
    const std::size_t end = line.find(angled ? '>' : '"');
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    return Include{0, angled, line.substr(0, end)};
}

std::vector<Include> includes_of(const File& file) {
    std::vector<Include> found;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        if (auto include = parse_include(file.lines[i])) {
            include->line = i + 1;
            found.push_back(*include);
        }
    }
    return found;
}

// C++ standard headers are the ones without an extension and without a folder.
bool is_standard(const Include& include) {
    return include.angled && include.path.find_first_of("./") == std::string_view::npos;
}

bool is_public(const Include& include) { return include.folder() == "ff"; }

bool is_posix(const Include& include) {
    return include.angled && (include.folder() == "sys" || posix_headers.contains(include.path));
}

// ------------------------------------------------------------------------------------- rules

// Arrows between rooms point downwards.
Faults check_arrows(const File& file) {
    Faults faults;
    const std::string_view room = room_of(file.path);
    if (room.empty()) {
        return faults;
    }
    const auto seen = rooms_seen_from.find(room);
    if (seen == rooms_seen_from.end()) {
        return {{file.path, 1, "unknown room: say in style_test.cc what it may include"}};
    }
    for (const Include& include : includes_of(file)) {
        const std::string_view folder = include.folder();
        const bool names_room = rooms_seen_from.contains(folder);
        const bool local = include.angled ? names_room : !folder.empty() && folder != "ff";
        if (local && !seen->second.contains(folder)) {
            faults.push_back(
                {file.path, include.line,
                 std::string(room) + " must not include " + std::string(include.path)});
        }
    }
    return faults;
}

// core and the public headers stand on the standard library alone; base may also call the system.
Faults check_third_party(const File& file) {
    Faults faults;
    const std::string_view room = room_of(file.path);
    const bool pure = room == "core" || file.path.starts_with("include/");
    if (!pure && room != "base") {
        return faults;
    }
    for (const Include& include : includes_of(file)) {
        const bool ours =
            !include.angled || is_public(include) || rooms_seen_from.contains(include.folder());
        const bool cryptography = file.path == cryptographer && include.folder() == "openssl";
        const bool allowed =
            ours || is_standard(include) || (!pure && is_posix(include)) || cryptography;
        if (!allowed) {
            faults.push_back({file.path, include.line,
                              "third-party header <" + std::string(include.path) + ">"});
        }
        if (file.path.starts_with("include/") && ours && !is_public(include)) {
            faults.push_back({file.path, include.line, "a public header includes a private one"});
        }
    }
    return faults;
}

// Characters, not bytes: continuation bytes of UTF-8 do not count.
Faults check_columns(const File& file) {
    Faults faults;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const auto columns = std::ranges::count_if(
            file.lines[i], [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
        if (static_cast<std::size_t>(columns) > columns_max) {
            faults.push_back({file.path, i + 1, std::to_string(columns) + " columns"});
        }
    }
    return faults;
}

Faults check_whitespace(const File& file) {
    Faults faults;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const std::string& line = file.lines[i];
        if (line.find('\t') != std::string::npos) {
            faults.push_back({file.path, i + 1, "tab"});
        }
        if (line.ends_with('\r')) {
            faults.push_back({file.path, i + 1, "carriage return"});
        }
        if (line.ends_with(' ')) {
            faults.push_back({file.path, i + 1, "space at the end of the line"});
        }
    }
    return faults;
}

bool contains_word(std::string_view line, std::string_view word) {
    const auto is_word = [&line](std::size_t i) {
        return i < line.size() &&
               (std::isalnum(static_cast<unsigned char>(line[i])) != 0 || line[i] == '_');
    };
    for (std::size_t at = line.find(word); at != std::string_view::npos;
         at = line.find(word, at + 1)) {
        if ((at == 0 || !is_word(at - 1)) && !is_word(at + word.size())) {
            return true;
        }
    }
    return false;
}

// A forbidden word in two halves, so that this file passes its own checks.
std::string word(std::string_view first, std::string_view second) {
    return std::string(first) + std::string(second);
}

Faults check_leftovers(const File& file) {
    static const std::vector<std::string> marks = {word("TO", "DO"), word("FIX", "ME"),
                                                   word("X", "XX"), word("HA", "CK")};
    Faults faults;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        for (const std::string& mark : marks) {
            if (contains_word(file.lines[i], mark)) {
                faults.push_back({file.path, i + 1, "leftover mark " + mark});
            }
        }
    }
    return faults;
}

// A header opens with what it is, and is included once.
Faults check_header_opening(const File& file) {
    Faults faults;
    if (file.lines.empty() || !file.lines[0].starts_with("// ")) {
        faults.push_back({file.path, 1, "a header starts with a // comment saying what it is"});
    }
    if (std::ranges::find(file.lines, "#pragma once") == file.lines.end()) {
        faults.push_back({file.path, 1, "no #pragma once"});
    }
    return faults;
}

// The headers that may be a unit's own: beside it, or the public one of the same name.
std::vector<std::string> own_headers(const File& file) {
    const std::string stem = fs::path(file.path).stem().string();
    std::vector<std::string> own;
    const std::string beside = std::string(room_of(file.path)) + "/" + stem + ".h";
    if (find_in_tree("src/" + beside) != nullptr) {
        own.push_back(beside);
    }
    if (find_in_tree("include/ff/" + stem + ".h") != nullptr) {
        own.push_back("ff/" + stem + ".h");
    }
    return own;
}

Faults check_own_header_first(const File& file, const std::vector<std::string>& own) {
    const auto includes = includes_of(file);
    if (own.empty() ||
        (!includes.empty() && std::ranges::find(own, includes[0].path) != own.end())) {
        return {};
    }
    return {{file.path, includes.empty() ? 1 : includes[0].line, "first include is not " + own[0]}};
}

Faults check_length(const File& file) {
    if (file.lines.size() <= lines_max) {
        return {};
    }
    return {{file.path, lines_max + 1, std::to_string(file.lines.size()) + " lines"}};
}

// Paths of one person's machine. A path that merely continues (docs/work/) is not one.
Faults check_machine_paths(const File& file) {
    static const std::vector<std::string> starts = {word("/wo", "rk/"), word("/ro", "ot/"),
                                                    word("/ho", "me/"), word("/Us", "ers/")};
    Faults faults;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const std::string_view line = file.lines[i];
        for (const std::string& start : starts) {
            const std::size_t at = line.find(start);
            if (at == std::string_view::npos) {
                continue;
            }
            const char before = at == 0 ? ' ' : line[at - 1];
            if (std::isalnum(static_cast<unsigned char>(before)) == 0 &&
                std::string_view("_-.})*").find(before) == std::string_view::npos) {
                faults.push_back({file.path, i + 1, "path of one machine: " + start});
            }
        }
    }
    return faults;
}

// g++ 12 destroys an aggregate or capturing lambda built inside a co_await expression twice.
Faults check_coroutine_arguments(const File& file) {
    constexpr std::string_view keyword = "co_await";
    Faults faults;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const std::size_t at = file.lines[i].find(keyword);
        const std::size_t comment = file.lines[i].find("//");
        if (at == std::string::npos || comment < at || file.lines[i].find('"') < at) {
            continue;
        }
        std::string statement = file.lines[i].substr(at);
        for (std::size_t k = i + 1; k < file.lines.size() && !statement.contains(';'); ++k) {
            statement += file.lines[k];
        }
        if (statement.substr(0, statement.find(';')).find_first_of("{[") != std::string::npos) {
            faults.push_back(
                {file.path, i + 1, "brace or [ in a co_await statement: name it first"});
        }
    }
    return faults;
}

// ------------------------------------------------------------------------- the rules, applied

using Rule = std::function<Faults(const File&)>;
using Filter = std::function<bool(const File&)>;

void expect_no_faults(const Rule& rule, const Filter& filter) {
    std::size_t files = 0;
    for (const File& file : tree()) {
        if (!filter(file)) {
            continue;
        }
        ++files;
        for (const Fault& fault : rule(file)) {
            ADD_FAILURE() << fault.path << ":" << fault.line << ": " << fault.what;
        }
    }
    EXPECT_GT(files, 0U) << "the rule looked at no file: is FF_SOURCE_DIR right?";
}

bool is_header(const File& file) {
    return is_source(file) && (has_extension(file, ".h") || has_extension(file, ".hpp"));
}
bool any_file(const File&) { return true; }

TEST(Style, IncludesFollowTheArrowsBetweenRooms) { expect_no_faults(check_arrows, is_source); }
TEST(Style, BaseCoreAndPublicHeadersUseNoThirdParty) {
    expect_no_faults(check_third_party, is_source);
}
TEST(Style, LinesHaveAtMost100Columns) { expect_no_faults(check_columns, is_source); }
TEST(Style, NoTabsAndNoTrailingSpace) { expect_no_faults(check_whitespace, is_source); }
TEST(Style, NoLeftoverMarks) { expect_no_faults(check_leftovers, is_source); }
TEST(Style, HeadersOpenWithACommentAndAPragma) {
    expect_no_faults(check_header_opening, is_header);
}
TEST(Style, UnitsIncludeTheirOwnHeaderFirst) {
    expect_no_faults(
        [](const File& file) { return check_own_header_first(file, own_headers(file)); },
        [](const File& file) { return is_source(file) && !is_header(file); });
}
TEST(Style, FilesAreAtMost800Lines) { expect_no_faults(check_length, is_source); }
TEST(Style, NoPathsOfOneMachine) { expect_no_faults(check_machine_paths, any_file); }
TEST(Style, NothingIsBuiltInsideCoAwait) { expect_no_faults(check_coroutine_arguments, is_source); }

// --------------------------------------------------------------- the rules find what they should

std::size_t count(const Rule& rule, std::string path, std::string_view text) {
    return rule(make_file(std::move(path), text)).size();
}

TEST(StyleRules, ArrowsPointDownwards) {
    EXPECT_EQ(count(check_arrows, "src/core/a.cc", "#include \"core/a.h\"\n#include <ff/ids.h>"),
              0U);
    EXPECT_EQ(count(check_arrows, "src/core/a.cc", "#include \"base/json.h\"\n#include <map>"), 0U);
    EXPECT_EQ(count(check_arrows, "src/core/a.cc", "#include \"store/store.h\""), 1U);
    EXPECT_EQ(count(check_arrows, "src/core/a.cc", "  #  include <store/store.h>"), 1U);
    EXPECT_EQ(count(check_arrows, "src/base/a.h", "#include \"../core/a.h\""), 1U);
    EXPECT_EQ(count(check_arrows, "src/store/a.h", "#include \"engine/a.h\""), 1U);
    EXPECT_EQ(count(check_arrows, "src/engine/a.h", "#include \"cli/a.h\""), 1U);
    EXPECT_EQ(count(check_arrows, "src/cli/a.cc", "#include \"engine/a.h\""), 0U);
    EXPECT_EQ(count(check_arrows, "src/attic/a.cc", ""), 1U);
}

TEST(StyleRules, ThirdPartyHeadersAreKeptOut) {
    EXPECT_EQ(count(check_third_party, "src/core/a.cc", "#include <sqlite3.h>"), 1U);
    EXPECT_EQ(count(check_third_party, "src/core/a.cc", "#include <boost/json.hpp>"), 1U);
    EXPECT_EQ(count(check_third_party, "src/core/a.h", "#include <fmt/core.h>"), 1U);
    EXPECT_EQ(count(check_third_party, "src/core/a.h", "#include <unistd.h>"), 1U);
    EXPECT_EQ(count(check_third_party, "src/core/a.cc", "#include <openssl/evp.h>"), 1U);
    EXPECT_EQ(count(check_third_party, "src/core/keystore.cc", "#include <openssl/evp.h>"), 0U);
    EXPECT_EQ(count(check_third_party, "src/core/keystore.cc", "#include <sqlite3.h>"), 1U);
    EXPECT_EQ(count(check_third_party, "src/base/a.cc", "#include <sys/random.h>"), 0U);
    EXPECT_EQ(count(check_third_party, "src/base/a.cc", "#include <sqlite3.h>"), 1U);
    EXPECT_EQ(count(check_third_party, "src/store/a.cc", "#include <sqlite3.h>"), 0U);
    EXPECT_EQ(count(check_third_party, "include/ff/a.h", "#include <vector>"), 0U);
    EXPECT_EQ(count(check_third_party, "include/ff/a.h", "#include \"base/json.h\""), 1U);
}

TEST(StyleRules, LinesAreMeasuredInCharacters) {
    EXPECT_EQ(count(check_columns, "src/a.h", std::string(100, 'x')), 0U);
    EXPECT_EQ(count(check_columns, "src/a.h", std::string(101, 'x')), 1U);
    EXPECT_EQ(count(check_columns, "src/a.h", std::string(99, 'x') + "…"), 0U);
    EXPECT_EQ(count(check_whitespace, "src/a.h", "a\tb\nc \nd\r\n"), 3U);
}

TEST(StyleRules, LeftoverMarksAreWholeWords) {
    const std::string text = "// " + word("TO", "DO: later\n// (HA") + "CK)";
    EXPECT_EQ(count(check_leftovers, "src/a.h", text), 2U);
    EXPECT_EQ(count(check_leftovers, "src/a.h", "auto name = \"ff-XXXXXX\"; // SHACKLE"), 0U);
}

TEST(StyleRules, HeadersSayWhatTheyAre) {
    EXPECT_EQ(count(check_header_opening, "src/a.h", "// A thing.\n#pragma once\n"), 0U);
    EXPECT_EQ(count(check_header_opening, "src/a.h", "#pragma once\n"), 1U);
    EXPECT_EQ(count(check_header_opening, "src/a.h", "// A thing.\n"), 1U);
}

TEST(StyleRules, OwnHeaderComesFirst) {
    const File good = make_file("src/base/a.cc", "#include \"base/a.h\"\n#include <map>\n");
    const File bad = make_file("src/base/a.cc", "#include <map>\n#include \"base/a.h\"\n");
    EXPECT_TRUE(check_own_header_first(good, {"base/a.h"}).empty());
    EXPECT_TRUE(check_own_header_first(good, {}).empty());
    EXPECT_EQ(check_own_header_first(bad, {"base/a.h"}).size(), 1U);
    EXPECT_EQ(check_own_header_first(make_file("src/base/a.cc", ""), {"base/a.h"}).size(), 1U);
}

TEST(StyleRules, LongFilesAreFound) {
    const auto text = [](std::size_t lines) { return std::string(lines, '\n'); };
    EXPECT_EQ(count(check_length, "src/base/a.cc", text(lines_max)), 0U);
    EXPECT_EQ(count(check_length, "src/base/a.cc", text(lines_max + 1)), 1U);
}

TEST(StyleRules, MachinePathsAreFound) {
    const std::string path = word("/wo", "rk/main");
    EXPECT_EQ(count(check_machine_paths, "a.md", path + "\nsee \"" + path + "\"\n"), 2U);
    EXPECT_EQ(count(check_machine_paths, "a.md", "docs" + path + "\n${DIR}" + path + "\n"), 0U);
}

TEST(StyleRules, CoAwaitTakesNamedArguments) {
    EXPECT_EQ(count(check_coroutine_arguments, "src/a.cc", "co_await f(std::move(a));"), 0U);
    EXPECT_EQ(count(check_coroutine_arguments, "src/a.cc", "co_await f(Args{1});"), 1U);
    EXPECT_EQ(count(check_coroutine_arguments, "src/a.cc", "co_await f(\n    [a] { g(a); });"), 1U);
}

}  // namespace
