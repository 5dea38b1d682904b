// A file of settings as a tree that knows where everything stands, so that a fault can be shown at
// its place. TOML or JSON: the same tree. Pure functions of the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>
#include <ff/json.h>

namespace ff::cli {

/// Counted from 1, columns in characters.
struct Place {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
};

struct DocMember;

struct Doc {
    enum class Kind : std::uint8_t { leaf, list, table };

    Kind kind = Kind::leaf;
    Place at;
    js::Value leaf;                  ///< a text, a number, a truth value or null
    std::vector<Doc> items;          ///< of a list
    std::vector<DocMember> members;  ///< of a table, in the order of the file

    [[nodiscard]] const std::string* if_text() const { return leaf.if_string(); }
    [[nodiscard]] const DocMember* find(std::string_view name) const;
    /// `a text`, `a number`, `a table`, …; for messages.
    [[nodiscard]] std::string what() const;
};

struct DocMember {
    std::string name;
    Place at;  ///< of the name
    Doc value;
};

/// `FILE:LINE:COLUMN: what`, an `invalid_config`.
std::unexpected<Error> fault_at(const std::string& file, const Place& place,
                                const std::string& what);

/// JSON when the name of the file ends in `.json`, otherwise TOML. The root is a table. A fault is
/// one of fault_at(); a name that is given twice in a table is one.
expected<Doc> parse_doc(const std::string& text, const std::string& file);

}  // namespace ff::cli
