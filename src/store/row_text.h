// A record as the JSON object of an export, and back. See transfer.h for the form.
#pragma once

#include <cstdint>
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

/// Sink of one row's columns: name the column, then put its value. A null is left out.
class RowText {
  public:
    explicit RowText(std::string& out) : out_(out) {}

    void column(const char* name) { name_ = name; }
    void null() {}
    void integer(std::int64_t value);
    void text(std::string_view value);
    void bytes(std::string_view value);
    void text_copy(const std::string& value) { text(value); }
    void bytes_copy(const std::string& value) { bytes(value); }

  private:
    void begin();

    std::string& out_;
    const char* name_ = nullptr;
    bool first_ = true;
};

/// `{"column":value,…}`.
template <class Row>
void append_row(std::string& out, const Row& row) {
    const ColumnMask mask = insert_mask(row);
    out += '{';
    RowText sink(out);
    std::size_t i = 0;
    const auto put = [&](const ColumnInfo& column, const auto& value) {
        if ((mask >> i++ & 1U) != 0) {
            sink.column(column.name);
            put_value(sink, column.kind, value);
        }
    };
    for_each_column<Row>(put, row);
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

/// Takes one column from its member of the object, unless there was a fault before.
template <class Value>
void take_member(const js::Value& object, const ColumnInfo& column, bool named, Value& value,
                 std::string& fault) {
    const js::Value* member = object.find(column.name);
    const bool absent = member == nullptr || member->is_null();
    const bool required = named && !is_optional<Value>::value;
    if (!fault.empty() || (absent && !required)) {
        return;
    }
    if (absent) {
        fault = std::string(column.name) + ": is missing";
        return;
    }
    ColumnValue source(*member, column.kind);
    take_value(source, column.name, value);
    std::string what = source.fault();
    if constexpr (std::is_same_v<Value, core::ExecutionExtra>) {
        if (what.empty() && member->if_string() != nullptr) {
            what = unknown_extra(*member->if_string());
        }
    }
    fault = what.empty() ? "" : std::string(column.name) + ": " + what;
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
