// How single values are spelled in JSON: one write() and one read() for each type.
//
// read() is strict about types and ranges and says in plain words what was wrong; it never changes
// its target when it fails. Ids are accepted in every form of spec 07 section 1.1 and written in
// one.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>

namespace ff::wire {

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept WordEnum = std::is_enum_v<T> && requires { enum_text(T{}); };

// ------------------------------------------------------------------------------------- writing

void write(std::string& out, std::string_view text);
inline void write(std::string& out, const std::string& text) { write(out, std::string_view(text)); }
// Of the type itself: a number would turn into either unseen.
void write(std::string& out, std::same_as<bool> auto value) { out += value ? "true" : "false"; }
void write_number(std::string& out, std::int64_t value);
void write_number(std::string& out, std::uint64_t value);
void write(std::string& out, const Uuid& id);
void write(std::string& out, const ExecutionId& id);
void write(std::string& out, const Tags& tags);
void write(std::string& out, const std::same_as<json> auto& value) { out += js::dump(value); }
/// `{"kind":"all_of"}`, `{"kind":"quorum","k":2,"on_satisfied":"let_run"}`, ….
void write(std::string& out, const GroupPolicy& policy);
/// In the form of spec 04 section 5.1.
void write(std::string& out, const ResumeCondition& condition);
void write(std::string& out, const ResumePolicy& policy);
/// `{"hard":100,"soft":80}`.
void write(std::string& out, const BudgetLimit& limit);
/// Its text.
void write(std::string& out, const EventCursor& cursor);
/// `{"namespace":…,"tag":"key=value",…}`: what is not asked for is left out.
void write(std::string& out, const EventFilter& filter);
/// `{"base64":"…"}`.
void write_bytes(std::string& out, std::string_view bytes);

template <Integer T>
void write(std::string& out, T value) {
    if constexpr (std::is_signed_v<T>) {
        write_number(out, static_cast<std::int64_t>(value));
    } else {
        write_number(out, static_cast<std::uint64_t>(value));
    }
}
template <class Tag>
void write(std::string& out, const UuidId<Tag>& id) {
    write(out, id.uuid);
}
template <WordEnum E>
void write(std::string& out, E word) {
    write(out, to_string(word));
}
template <class T>
void write(std::string& out, const std::optional<T>& value) {
    if (value) {
        write(out, *value);
    } else {
        out += "null";
    }
}
template <class T>
void write(std::string& out, const std::vector<T>& values) {
    out.push_back('[');
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) {
            out.push_back(',');
        }
        write(out, values[i]);
    }
    out.push_back(']');
}

template <class T>
void write(std::string& out, const std::map<std::string, T>& values) {
    out.push_back('{');
    bool first = true;
    for (const auto& [key, value] : values) {
        if (!std::exchange(first, false)) {
            out.push_back(',');
        }
        write(out, key);
        out.push_back(':');
        write(out, value);
    }
    out.push_back('}');
}

// ------------------------------------------------------------------------------------- reading

/// What was wrong with a value, and in which member below it; empty: nothing.
using Fault = std::string;

Fault read(const json& value, std::string& out);
Fault read(const json& value, bool& out);
Fault read(const json& value, Uuid& out);
Fault read(const json& value, ExecutionId& out);
Fault read(const json& value, Tags& out);
/// Of answers; requests read it with read_policy() of flow_values.h.
Fault read(const json& value, GroupPolicy& out);
Fault read(const json& value, ResumeCondition& out);
Fault read(const json& value, ResumePolicy& out);
Fault read(const json& value, BudgetLimit& out);
Fault read(const json& value, EventCursor& out);
Fault read(const json& value, EventFilter& out);
/// `lease_history`, or `lease-history` as in addresses.
Fault read(const json& value, EventFamily& out);
Fault read_bytes(const json& value, std::string& out);
Fault read_signed(const json& value, std::int64_t low, std::int64_t high, std::int64_t& out);
Fault read_unsigned(const json& value, std::uint64_t high, std::uint64_t& out);
/// What is wrong with a value that is none of the words that `known` lists.
Fault unknown_word(const json& value, std::string_view known);
/// The words of enum_text(), as they are spelled.
std::vector<std::string_view> words_of(std::string_view names);
Fault unknown_word(const json& value, const std::vector<std::string_view>& words);

/// Hyphenated, 32 digits, in braces or with `urn:uuid:`, of any case.
std::optional<Uuid> parse_any_uuid(std::string_view text);

template <Integer T>
Fault read(const json& value, T& out) {
    using Limits = std::numeric_limits<T>;
    Fault fault;
    if constexpr (std::is_signed_v<T>) {
        std::int64_t wide = 0;
        fault = read_signed(value, Limits::min(), Limits::max(), wide);
        out = fault.empty() ? static_cast<T>(wide) : out;
    } else {
        std::uint64_t wide = 0;
        fault = read_unsigned(value, Limits::max(), wide);
        out = fault.empty() ? static_cast<T>(wide) : out;
    }
    return fault;
}
template <class Tag>
Fault read(const json& value, UuidId<Tag>& out) {
    return read(value, out.uuid);
}
template <WordEnum E>
Fault read(const json& value, E& out) {
    const std::string* text = value.if_string();
    const auto word = text != nullptr ? parse_enum<E>(*text) : std::nullopt;
    if (!word) {
        return unknown_word(value, words_of(enum_text(E{})));
    }
    out = *word;
    return {};
}
template <class T>
Fault read(const json& value, std::optional<T>& out) {
    if (value.is_null()) {
        out.reset();
        return {};
    }
    T inner{};
    Fault fault = read(value, inner);
    if (fault.empty()) {
        out = std::move(inner);
    }
    return fault;
}
template <class T>
Fault read(const json& value, std::vector<T>& out) {
    const js::Array* items = value.if_array();
    if (items == nullptr) {
        return ": expected an array";
    }
    std::vector<T> read_items;  // grows: the first item may be the last that can be read
    for (const json& item : *items) {
        if (Fault fault = read(item, read_items.emplace_back()); !fault.empty()) {
            return "[" + std::to_string(read_items.size() - 1) + "]" + fault;
        }
    }
    out = std::move(read_items);
    return {};
}
template <class T>
Fault read(const json& value, std::map<std::string, T>& out) {
    const js::Object* members = value.if_object();
    if (members == nullptr) {
        return ": expected an object";
    }
    std::map<std::string, T> read_members;
    for (const auto& [key, member] : *members) {
        if (Fault fault = read(member, read_members[key]); !fault.empty()) {
            return "." + key + fault;
        }
    }
    out = std::move(read_members);
    return {};
}

}  // namespace ff::wire
