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

/// Passes values on, with their columns.
class StoredValues final : public ValueSink {
  public:
    explicit StoredValues(const TakeValue& take) : take_(take) {}

    void column(const ColumnInfo& column) { column_ = &column; }
    void null() override { take_(*column_, {}); }
    void integer(std::int64_t value) override {
        take_(*column_, {StoredValue::Type::integer, value, {}});
    }
    void text(std::string_view value) override {
        take_(*column_, {StoredValue::Type::text, 0, value});
    }
    void bytes(std::string_view value) override {
        take_(*column_, {StoredValue::Type::bytes, 0, value});
    }
    void text_copy(const std::string& value) override { text(value); }
    void bytes_copy(const std::string& value) override { bytes(value); }

  private:
    const TakeValue& take_;
    const ColumnInfo* column_ = nullptr;
};

/// Writes `"column":value` into an object; nothing for a null.
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

/// The first member that is no column; empty when there is none.
std::string unknown_column(Columns columns, const js::Object& object) {
    for (const auto& [name, value] : object) {
        const auto is_it = [&](const ColumnInfo& column) { return name == column.name; };
        if (std::ranges::none_of(columns, is_it)) {
            return name;
        }
    }
    return "";
}

/// The first member of an execution's `extra` that nobody knows; empty when there is none.
std::string unknown_extra(std::string_view text) {
    const auto value = js::parse(text);
    if (!value || value->if_object() == nullptr) {
        return "";
    }
    const std::string name = unknown_column(columns_of<core::ExecutionExtra>, *value->if_object());
    return name.empty() ? "" : "there is no such member: " + name;
}

/// The value of one column.
class ColumnValue final : public ValueSource {
  public:
    ColumnValue(const js::Value& value, Kind kind) : value_(value), kind_(kind) {}

    [[nodiscard]] bool is_null() const override { return value_.is_null(); }
    void skip() override {}
    std::int64_t integer() override;
    std::string_view bytes() override;
    void corrupt(const char* name, const std::string& value) override;
    /// What is wrong, or empty.
    [[nodiscard]] const std::string& fault() const { return fault_; }

  private:
    void fail(std::string what);

    const js::Value& value_;
    Kind kind_;
    std::string bytes_;
    std::string fault_;
};

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

/// Takes the member of a column, unless it is absent. One that is absent and required is a fault.
std::string take_member(const js::Value& object, const ColumnInfo& column, bool required,
                        void* row) {
    const js::Value* member = object.find(column.name);
    if (member == nullptr || member->is_null()) {
        return required ? "is missing" : "";
    }
    ColumnValue source(*member, column.kind);
    column.type->take(source, column.name, column.in(row));
    if (source.fault().empty() && column.type == &MemberOf<core::ExecutionExtra>::type &&
        member->if_string() != nullptr) {
        return unknown_extra(*member->if_string());
    }
    return source.fault();
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

void each_value(Columns columns, const void* row, ColumnMask mask, const TakeValue& take) {
    StoredValues sink(take);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if ((mask >> i & 1U) != 0) {
            sink.column(columns[i]);
            columns[i].type->put(sink, columns[i].kind, columns[i].in(row));
        }
    }
}

void append_row(std::string& out, const TableInfo& table, const void* row) {
    out += '{';
    each_value(table.columns, row, table.insert_mask(row),
               [&](const ColumnInfo& column, const StoredValue& value) {
                   append_member(out, column, value);
               });
    out += '}';
}

std::string take_row_text(const js::Value& object, const TableInfo& table, void* row) {
    if (auto unknown = unknown_column(table.columns, *object.if_object()); !unknown.empty()) {
        return unknown + ": there is no such column";
    }
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const ColumnInfo& column = table.columns[i];
        const bool required = i < table.named_columns && !column.type->optional;
        if (const std::string what = take_member(object, column, required, row); !what.empty()) {
            return std::string(column.name) + ": " + what;
        }
    }
    return "";
}

}  // namespace ff::store
