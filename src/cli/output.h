// Whether a command prints for people or for programs, and the JSON forms of the latter.
#pragma once

#include <optional>
#include <string>

#include <ff/json.h>
#include <ff/states.h>

namespace ff::cli {

/// `json` is one document, `jsonl` one object a line.
FF_WORD_ENUM(Output, text, json, jsonl)

constexpr bool for_programs(Output output) { return output != Output::text; }

/// One JSON document with a line break at its end: with indents, or for `jsonl` on one line.
std::string document(Output output, const js::Value& value);

/// A list that is printed while it is read, so that it may be of any length: as `json`
/// `{"items":[…],"next_cursor":…}`, as `jsonl` the items alone. Each call gives the next part of
/// the text.
class ListWriter {
  public:
    explicit ListWriter(Output output) : output_(output) {}

    std::string add(const js::Value& item);
    std::string finish(const std::optional<std::string>& next_cursor);

  private:
    std::string open();

    Output output_;
    bool empty_ = true;
};

/// The same for a list that is there already.
std::string list_document(Output output, const js::Array& items,
                          const std::optional<std::string>& next_cursor);

}  // namespace ff::cli
