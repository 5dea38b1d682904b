// Objects of JSON from a description: describe(visitor, record) names the members once, ObjectOut
// writes them and ObjectIn reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wire/values.h"

namespace ff::wire {

template <class T>
void write_object(std::string& out, const T& record);
template <class T>
Fault read_object(const json& value, T& record);
template <class T>
void write_objects(std::string& out, const std::vector<T>& records);
template <class T>
Fault read_objects(const json& value, std::vector<T>& records);

/// Writes `{"name":value,…}`; the brace is closed by close().
class ObjectOut {
  public:
    explicit ObjectOut(std::string& out) : out_(out) { out_.push_back('{'); }
    void close() { out_.push_back('}'); }

    template <class T>
    void field(std::string_view name, const T& value) {
        key(name);
        write(out_, value);
    }
    /// Left out when there is none.
    template <class T>
    void field_if(std::string_view name, const std::optional<T>& value) {
        if (value) {
            field(name, *value);
        }
    }
    void bytes(std::string_view name, std::string_view value) {
        key(name);
        write_bytes(out_, value);
    }
    /// Left out when there are none.
    void bytes_if(std::string_view name, const std::optional<std::string>& value) {
        if (value) {
            bytes(name, *value);
        }
    }
    /// A text that is JSON already; null when absent.
    void document(std::string_view name, const std::optional<std::string>& value) {
        key(name);
        out_ += value ? std::string_view(*value) : "null";
    }
    /// An object of its own; null when absent.
    template <class T>
    void object(std::string_view name, const T& value) {
        key(name);
        write_object(out_, value);
    }
    template <class T>
    void object(std::string_view name, const std::optional<T>& value) {
        key(name);
        if (value) {
            write_object(out_, *value);
        } else {
            out_ += "null";
        }
    }
    template <class T>
    void objects(std::string_view name, const std::vector<T>& values) {
        key(name);
        write_objects(out_, values);
    }
    void key(std::string_view name) {
        if (!std::exchange(first_, false)) {
            out_.push_back(',');
        }
        out_.push_back('"');
        out_ += name;  // names of members are ours: nothing to escape
        out_ += "\":";
    }
    [[nodiscard]] std::string& out() { return out_; }

    static constexpr bool reads = false;

  private:
    std::string& out_;
    bool first_ = true;
};

/// Reads the members of an object. The first fault is kept; what follows it is not looked at.
class ObjectIn {
  public:
    explicit ObjectIn(const json& value) : value_(value) {
        if (value.if_object() == nullptr) {
            fault_ = ": expected an object";
        }
    }

    template <class T>
    void field(std::string_view name, T& value) {
        if (const json* member = wanted(name)) {
            keep(name, read(*member, value));
        }
    }
    template <class T>
    void field(std::string_view name, std::optional<T>& value) {
        const json* member = present(name);
        keep(name, member != nullptr ? read(*member, value) : Fault());
    }
    template <class T>
    void field_if(std::string_view name, std::optional<T>& value) {
        field(name, value);
    }
    void bytes(std::string_view name, std::string& value) {
        if (const json* member = wanted(name)) {
            keep(name, read_bytes(*member, value));
        }
    }
    void bytes_if(std::string_view name, std::optional<std::string>& value) {
        const json* member = present(name);
        if (member != nullptr && !member->is_null()) {
            keep(name, read_bytes(*member, value.emplace()));
        }
    }
    void document(std::string_view name, std::optional<std::string>& value) const {
        const json* member = present(name);
        if (member != nullptr && !member->is_null()) {
            value = js::dump(*member);
        }
    }
    template <class T>
    void object(std::string_view name, T& value) {
        if (const json* member = wanted(name)) {
            keep(name, read_object(*member, value));
        }
    }
    template <class T>
    void object(std::string_view name, std::optional<T>& value) {
        const json* member = present(name);
        if (member != nullptr && !member->is_null()) {
            keep(name, read_object(*member, value.emplace()));
        }
    }
    template <class T>
    void objects(std::string_view name, std::vector<T>& values) {
        if (const json* member = wanted(name)) {
            keep(name, read_objects(*member, values));
        }
    }

    [[nodiscard]] const json* present(std::string_view name) const {
        return fault_.empty() ? value_.find(name) : nullptr;
    }
    const json* wanted(std::string_view name) {
        const json* member = present(name);
        if (member == nullptr && fault_.empty()) {
            fault_ = "." + std::string(name) + ": missing";
        }
        return member;
    }
    void keep(std::string_view name, Fault fault) {
        if (!fault.empty() && fault_.empty()) {
            fault_ = "." + std::string(name) + std::move(fault);
        }
    }
    [[nodiscard]] Fault take_fault() { return std::move(fault_); }

    static constexpr bool reads = true;

  private:
    const json& value_;
    Fault fault_;
};

/// A record with a describe() of its own, found by its arguments.
template <class T>
void write_object(std::string& out, const T& record) {
    ObjectOut object(out);
    describe(object, const_cast<T&>(record));  // NOLINT: a writer changes nothing
    object.close();
}

template <class T>
Fault read_object(const json& value, T& record) {
    ObjectIn object(value);
    describe(object, record);
    return object.take_fault();
}

template <class T>
void write_objects(std::string& out, const std::vector<T>& records) {
    out.push_back('[');
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (i > 0) {
            out.push_back(',');
        }
        write_object(out, records[i]);
    }
    out.push_back(']');
}

template <class T>
Fault read_objects(const json& value, std::vector<T>& records) {
    const js::Array* items = value.if_array();
    if (items == nullptr) {
        return ": expected an array";
    }
    records.clear();
    for (const json& item : *items) {
        if (Fault fault = read_object(item, records.emplace_back()); !fault.empty()) {
            return "[" + std::to_string(records.size() - 1) + "]" + fault;
        }
    }
    return {};
}

}  // namespace ff::wire
