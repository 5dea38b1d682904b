// How single values become columns and come back. One definition for every database.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>

#include "store/sql_statement.h"
#include "store/tables.h"

namespace ff::store {

/// Text forms of the container types that are columns; nothing when a text is not one.
std::string encode_words(const std::vector<std::string>& words);
std::optional<std::vector<std::string>> decode_words(std::string_view text);
std::string encode_tags(const Tags& tags);
std::optional<Tags> decode_tags(std::string_view text);

std::string encode_amounts(const Amounts& amounts);
std::optional<Amounts> decode_amounts(std::string_view text);
/// `{"tokens":[100,80]}`: hard, then soft.
std::string encode_limits(const BudgetLimits& limits);
std::optional<BudgetLimits> decode_limits(std::string_view text);

/// A route's required tokens from its joined text.
void split_capabilities(core::Route& route);

/// The members that are set, as a JSON object; empty when none is.
std::string encode_extra(const core::ExecutionExtra& extra);
std::optional<core::ExecutionExtra> decode_extra(std::string_view text);

template <class T>
inline constexpr bool is_uuid_id = false;
template <class Tag>
inline constexpr bool is_uuid_id<UuidId<Tag>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
void put_value(ValueSink& sink, Kind kind, const T& value) {
    if constexpr (is_optional<T>) {
        if (value) {
            put_value(sink, kind, *value);
        } else {
            sink.null();
        }
    } else if constexpr (std::is_enum_v<T> || std::integral<T>) {
        sink.integer(static_cast<std::int64_t>(value));
    } else if constexpr (is_uuid_id<T>) {
        sink.bytes({reinterpret_cast<const char*>(value.uuid.bytes.data()), 16});
    } else if constexpr (std::is_same_v<T, ExecutionId>) {
        sink.bytes_copy(value.raw());
    } else if constexpr (std::is_same_v<T, Tags>) {
        if (value.empty()) {
            sink.null();
        } else {
            sink.text_copy(encode_tags(value));
        }
    } else if constexpr (std::is_same_v<T, Amounts>) {
        if (value.empty()) {
            sink.null();
        } else {
            sink.text_copy(encode_amounts(value));
        }
    } else if constexpr (std::is_same_v<T, BudgetLimits>) {
        if (value.empty()) {
            sink.null();
        } else {
            sink.text_copy(encode_limits(value));
        }
    } else if constexpr (std::is_same_v<T, core::ExecutionExtra>) {
        if (const std::string text = encode_extra(value); text.empty()) {
            sink.null();
        } else {
            sink.text_copy(text);
        }
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        sink.text_copy(encode_words(value));
    } else if (kind == Kind::bytes) {
        sink.bytes(value);
    } else {
        sink.text(value);
    }
}

/// Takes a column that holds a container as text.
template <class T>
void take_decoded(ValueSource& source, const char* name,
                  std::optional<T> (*decode)(std::string_view text), T& value) {
    const std::string_view text = source.bytes();
    if (auto decoded = decode(text)) {
        value = std::move(*decoded);
    } else {
        source.corrupt(name, "not the JSON it should hold");
    }
}

/// Reads the next column into `value`. No fault of it is an exception: a value that cannot be what
/// it should be marks the source as corrupt with the column's name.
template <class T>
void take_value(ValueSource& source, const char* name, T& value) {
    if constexpr (is_optional<T>) {
        if (source.is_null()) {
            value.reset();
            source.skip();
        } else {
            take_value(source, name, value.emplace());
        }
    } else if constexpr (std::is_enum_v<T>) {
        const std::int64_t n = source.integer();
        if (n < 0 || static_cast<std::size_t>(n) >= enum_count<T>) {
            source.corrupt(name, std::to_string(n));
        } else {
            value = static_cast<T>(n);
        }
    } else if constexpr (std::is_same_v<T, bool>) {
        value = source.integer() != 0;
    } else if constexpr (std::integral<T>) {
        // Epochs use all 64 bits and are kept as they are; anything narrower must fit.
        const std::int64_t n = source.integer();
        if (sizeof(T) < sizeof(n) && !std::in_range<T>(n)) {
            source.corrupt(name, std::to_string(n));
        } else {
            value = static_cast<T>(n);
        }
    } else if constexpr (is_uuid_id<T>) {
        if (auto uuid = Uuid::from_raw(source.bytes())) {
            value.uuid = *uuid;
        } else {
            source.corrupt(name, "not 16 bytes");
        }
    } else if constexpr (std::is_same_v<T, ExecutionId>) {
        if (auto id = ExecutionId::from_raw(source.bytes())) {
            value = *id;
        } else {
            source.corrupt(name, "not 18 bytes");
        }
    } else if constexpr (std::is_same_v<T, Tags>) {
        take_decoded(source, name, decode_tags, value);
    } else if constexpr (std::is_same_v<T, Amounts>) {
        take_decoded(source, name, decode_amounts, value);
    } else if constexpr (std::is_same_v<T, BudgetLimits>) {
        take_decoded(source, name, decode_limits, value);
    } else if constexpr (std::is_same_v<T, core::ExecutionExtra>) {
        if (source.is_null()) {
            source.skip();
        } else {
            take_decoded(source, name, decode_extra, value);
        }
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        take_decoded(source, name, decode_words, value);
    } else {
        value = std::string(source.bytes());
    }
}

/// What is done with members of a type, by their address.
struct MemberType {
    bool optional;
    void (*put)(ValueSink& sink, Kind kind, const void* member);
    void (*take)(ValueSource& source, const char* column, void* member);
    bool (*equal)(const void* a, const void* b);
    // Of the types that ExecutionExtra has. What is appended is set; taking answers whether the
    // value is one of the type.
    void (*append_json)(std::string& out, const void* member);
    bool (*take_json)(const js::Value& from, void* member);
};

/// Puts the masked columns of a row, in column order.
void put_columns(ValueSink& sink, Columns columns, const void* row, ColumnMask mask);

/// Takes all columns of a row, in column order.
void take_columns(ValueSource& source, Columns columns, void* row);
template <class Row>
void take_columns(ValueSource& source, Row& row) {
    take_columns(source, columns_of<Row>, &row);
}

}  // namespace ff::store
