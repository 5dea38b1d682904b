#include "store/row_text.h"

#include <algorithm>
#include <utility>

#include <ff/ids.h>

#include "base/hex.h"

namespace ff::store {

namespace {

constexpr std::string_view hex_member = "hex";

void append_hex(std::string& out, std::string_view bytes) { out += '"' + to_hex(bytes) + '"'; }

/// The text of `{"hex":"…"}`, or null.
const std::string* hex_of(const js::Value& value) {
    const js::Object* object = value.if_object();
    return object != nullptr && object->size() == 1 && object->front().first == hex_member
               ? object->front().second.if_string()
               : nullptr;
}

void append_member(std::string& out, const ColumnInfo& column, const StoredValue& value) {
    using Type = StoredValue::Type;
    if (value.type == Type::null) {
        return;
    }
    out += out.ends_with('{') ? "\"" : ",\"";
    out += column.name;  // our own names need no escapes
    out += "\":";
    if (value.type == Type::integer) {
        out += std::to_string(value.number);
    } else if (value.type == Type::bytes) {
        append_hex(out, value.bytes);
    } else if (is_valid_utf8(value.bytes)) {
        js::append_quoted(out, value.bytes);
    } else {
        out += "{\"hex\":";
        append_hex(out, value.bytes);
        out += '}';
    }
}

}  // namespace

std::string encode_hex(std::string_view bytes) { return to_hex(bytes); }

std::optional<std::string> decode_hex(std::string_view text) {
    if (text.size() % 2 != 0) {
        return std::nullopt;
    }
    std::string out;
    out.reserve(text.size() / 2);
    const auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = digit(text[i]);
        const int low = digit(text[i + 1]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        out.push_back(static_cast<char>(high * 16 + low));
    }
    return out;
}

std::string unknown_column(std::span<const ColumnInfo> columns, const js::Object& object) {
    for (const auto& [name, value] : object) {
        const auto is_it = [&](const ColumnInfo& column) { return name == column.name; };
        if (std::ranges::none_of(columns, is_it)) {
            return name;
        }
    }
    return "";
}

TakeValue member_writer(std::string& out) {
    return [&](const ColumnInfo& column, const StoredValue& value) {
        append_member(out, column, value);
    };
}

const js::Value* member_of(const js::Value& object, const ColumnInfo& column, bool required,
                           std::string& fault) {
    if (!fault.empty()) {
        return nullptr;
    }
    const js::Value* member = object.find(column.name);
    if (member != nullptr && !member->is_null()) {
        return member;
    }
    if (required) {
        note_fault(column, "is missing", fault);
    }
    return nullptr;
}

void note_fault(const ColumnInfo& column, const std::string& what, std::string& fault) {
    if (!what.empty()) {
        fault = std::string(column.name) + ": " + what;
    }
}

void ColumnValue::fail(std::string what) {
    if (fault_.empty()) {
        fault_ = std::move(what);
    }
}

std::int64_t ColumnValue::integer() {
    const auto number = value_.as_int64();
    if (!number) {
        fail("must be an integer");
    }
    return number.value_or(0);
}

std::string_view ColumnValue::bytes() {
    const std::string* text = value_.if_string();
    if (kind_ == Kind::text && text != nullptr) {
        return *text;
    }
    const std::string* hex = kind_ == Kind::bytes ? text : hex_of(value_);
    auto decoded = hex == nullptr ? std::nullopt : decode_hex(*hex);
    if (!decoded) {
        fail(kind_ == Kind::text ? "must be a string" : "must be a string of lower-case hex");
        return {};
    }
    bytes_ = std::move(*decoded);
    return bytes_;
}

void ColumnValue::corrupt(const char*, const std::string& value) {
    fail(kind_ == Kind::integer ? value + " is not one of its values" : value);
}

std::string unknown_extra(std::string_view text) {
    const auto value = js::parse(text);
    if (!value || value->if_object() == nullptr) {
        return "";
    }
    const std::string name =
        unknown_column(column_infos<core::ExecutionExtra>, *value->if_object());
    return name.empty() ? "" : "there is no such member: " + name;
}

}  // namespace ff::store
