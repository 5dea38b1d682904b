// A record as the JSON object of an export, and back. See transfer.h for the form.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

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

/// Sink that passes values on: what is done with them is compiled once, not for each table.
class StoredValues {
  public:
    explicit StoredValues(const TakeValue& take) : take_(take) {}

    void column(const ColumnInfo& column) { column_ = &column; }
    void null() { take_(*column_, {}); }
    void integer(std::int64_t value) { take_(*column_, {StoredValue::Type::integer, value, {}}); }
    void text(std::string_view value) { take_(*column_, {StoredValue::Type::text, 0, value}); }
    void bytes(std::string_view value) { take_(*column_, {StoredValue::Type::bytes, 0, value}); }
    void text_copy(const std::string& value) { text(value); }
    void bytes_copy(const std::string& value) { bytes(value); }

  private:
    const TakeValue& take_;
    const ColumnInfo* column_ = nullptr;
};

/// Calls with each masked column, in column order.
template <class Row>
void each_value(const Row& row, ColumnMask mask, const TakeValue& take) {
    StoredValues sink(take);
    std::size_t i = 0;
    const auto put = [&](const ColumnInfo& column, const auto& value) {
        if ((mask >> i++ & 1U) != 0) {
            sink.column(column);
            put_value(sink, column.kind, value);
        }
    };
    for_each_column<Row>(put, row);
}

/// Binds values to a statement, which keeps copies of them.
template <class Statement>
TakeValue binder(Statement& statement) {
    return [&](const ColumnInfo&, const StoredValue& value) {
        switch (value.type) {
            case StoredValue::Type::null: statement.null(); break;
            case StoredValue::Type::integer: statement.integer(value.number); break;
            case StoredValue::Type::text: statement.text_copy(std::string(value.bytes)); break;
            case StoredValue::Type::bytes: statement.bytes_copy(std::string(value.bytes)); break;
        }
    };
}

/// Writes `"column":value` into an object; nothing for a null.
TakeValue member_writer(std::string& out);

/// `{"column":value,…}`.
template <class Row>
void append_row(std::string& out, const Row& row) {
    out += '{';
    each_value(row, insert_mask(row), member_writer(out));
    out += '}';
}

/// Source of one column.
class ColumnValue {
  public:
    ColumnValue(const js::Value& value, Kind kind) : value_(value), kind_(kind) {}

    [[nodiscard]] bool is_null() const { return value_.is_null(); }
    void skip() {}
    std::int64_t integer();
    std::string_view bytes();
    void corrupt(const char* name, const std::string& value);
    /// What is wrong, or empty.
    [[nodiscard]] const std::string& fault() const { return fault_; }

  private:
    void fail(std::string what);

    const js::Value& value_;
    Kind kind_;
    std::string bytes_;
    std::string fault_;
};

/// The first member of an execution's `extra` that nobody knows; empty when there is none.
std::string unknown_extra(std::string_view text);

/// The first member that is no column; empty when there is none.
std::string unknown_column(std::span<const ColumnInfo> columns, const js::Object& object);

/// The member of a column, unless it is absent or there was a fault before. One that is absent and
/// required is a fault.
const js::Value* member_of(const js::Value& object, const ColumnInfo& column, bool required,
                           std::string& fault);
/// Notes what the source of a column says is wrong with it.
void note_fault(const ColumnInfo& column, const std::string& what, std::string& fault);

template <class Value>
void take_member(const js::Value& object, const ColumnInfo& column, bool named, Value& value,
                 std::string& fault) {
    const js::Value* member = member_of(object, column, named && !is_optional<Value>::value, fault);
    if (member == nullptr) {
        return;
    }
    ColumnValue source(*member, column.kind);
    take_value(source, column.name, value);
    note_fault(column, source.fault(), fault);
    if constexpr (std::is_same_v<Value, core::ExecutionExtra>) {
        if (fault.empty() && member->if_string() != nullptr) {
            note_fault(column, unknown_extra(*member->if_string()), fault);
        }
    }
}

/// Takes every column. Answers `<column>: <what is wrong with it>`, or empty.
template <class Row>
std::string take_row_text(const js::Value& object, Row& row) {
    if (auto unknown = unknown_column(column_infos<Row>, *object.if_object()); !unknown.empty()) {
        return unknown + ": there is no such column";
    }
    std::string fault;
    std::size_t i = 0;
    const auto take = [&](const ColumnInfo& column, auto& value) {
        take_member(object, column, i++ < Table<Row>::named_columns, value, fault);
    };
    for_each_column<Row>(take, row);
    return fault;
}

}  // namespace ff::store
