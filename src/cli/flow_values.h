// Values of a flow file as what they are to be: texts with their variables put in, numbers, spans.
// What is not right is a fault at its place in the file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>
#include <ff/json.h>

#include "cli/flow_file.h"

namespace ff::cli {

/// As variables of a shell are named.
bool is_variable_name(std::string_view text);

/// What becomes of a variable that nobody gave a value.
enum class Unset : std::uint8_t { refused, left };

/// Remembers which variables were used. The terms must outlive it.
class FlowValues {
  public:
    using Names = std::initializer_list<std::string_view>;

    explicit FlowValues(const FlowTerms& terms) : terms_(terms) {}

    [[nodiscard]] std::unexpected<Error> fault(const Place& at, const std::string& what) const;
    /// What a check of the engine says of a value, as a fault.
    expected<void> checked(const Place& at, std::string_view name,
                           const expected<void>& check) const;
    /// No other settings than these.
    expected<void> check_names(const Doc& table, const std::string& where, Names known) const;

    /// The defaults of the file, and what goes before them.
    expected<void> read_variables(const Doc& root);
    /// A variable of the command line that was not used is misspelt.
    [[nodiscard]] expected<Variables> used_variables() const;

    expected<void> want_table(const DocMember& member) const;
    /// As it stands.
    expected<std::string> plain_text(const DocMember& member) const;
    expected<std::string> text(const DocMember& member, Unset unset = Unset::refused);
    expected<std::vector<std::string>> texts(const DocMember& member);
    expected<bool> truth(const DocMember& member) const;
    expected<std::int64_t> whole(const DocMember& member, std::int64_t low,
                                 std::int64_t high) const;
    expected<DurationMs> span(const DocMember& member);
    /// A span in which something can be done.
    expected<DurationMs> some_span(const DocMember& member);
    expected<std::string> one_of(const DocMember& member, Names words);
    /// Variables are put into every text of it.
    expected<js::Value> json(const Doc& doc);

  private:
    expected<std::string> put_in(const std::string& text, const Place& at, Unset unset);

    const FlowTerms& terms_;
    Variables values_;
    std::set<std::string> used_;
};

}  // namespace ff::cli
