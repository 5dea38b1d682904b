// A record as the JSON object of an export, and back. See transfer.h for the form.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <ff/json.h>
#include "store/value_codec.h"

namespace ff::store {

std::string encode_hex(std::string_view bytes);
/// Nothing unless the text is pairs of lower-case digits.
std::optional<std::string> decode_hex(std::string_view text);

/// A value as it is stored, good during the call that it is given to.
struct StoredValue {
    enum class Type : std::uint8_t { null, integer, text, bytes };
    Type type = Type::null;
    std::int64_t number = 0;
    std::string_view bytes;  ///< of texts too
};
using TakeValue = std::function<void(const ColumnInfo&, const StoredValue&)>;

/// Calls with each masked column, in column order.
void each_value(Columns columns, const void* row, ColumnMask mask, const TakeValue& take);

/// `{"column":value,…}`, without those that are null.
void append_row(std::string& out, const TableInfo& table, const void* row);

/// Takes every column. Answers `<column>: <what is wrong with it>`, or empty.
std::string take_row_text(const js::Value& object, const TableInfo& table, void* row);

}  // namespace ff::store
