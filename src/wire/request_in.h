// Reading a request on the server: path, query and body into an operation.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>

#include "wire/cursors.h"
#include "wire/url.h"
#include "wire/values.h"

namespace ff::wire {

/// A request that found its route: parameters decoded, the body parsed (null when there is none).
struct Routed {
    std::vector<std::pair<std::string_view, std::string>> path;  ///< by the name in the template
    std::vector<QueryPair> query;
    json body;

    [[nodiscard]] std::string_view parameter(std::string_view name) const;
    [[nodiscard]] const std::string* query_value(std::string_view name) const;
};

/// Why a request is not an operation.
struct RequestFault {
    int status = 400;
    std::string error;  ///< the whole text for the caller
};

// Values of a query; an empty fault is success.
Fault parse_text(std::string_view text, std::string& out);
Fault parse_text(std::string_view text, ExecutionId& out);
Fault parse_unsigned_text(std::string_view text, std::uint64_t high, std::uint64_t& out);
Fault parse_text(std::string_view text, std::int64_t& out);
template <WordEnum E>
Fault parse_text(std::string_view text, E& out) {
    return read(json(text), out);
}
template <Integer T>
    requires std::is_unsigned_v<T>
Fault parse_text(std::string_view text, T& out) {
    std::uint64_t wide = 0;
    Fault fault = parse_unsigned_text(text, std::numeric_limits<T>::max(), wide);
    out = fault.empty() ? static_cast<T>(wide) : out;
    return fault;
}

/// The visitor. The order in which faults are told is that of spec 07 section 1.2.
class RequestIn {
  public:
    explicit RequestIn(const Routed& routed) : routed_(routed) {}

    /// The fault, if there was one.
    [[nodiscard]] std::optional<RequestFault> fault() const;

    // ----------------------------------------------------------------------------- path and query

    void id(ExecutionId& id);
    void path(std::string_view name, std::string& value) { value = routed_.parameter(name); }
    void path_for_people(std::string_view /*name*/, const std::string& /*value*/) {}
    void lease(LeaseRef& lease);

    template <class T>
    void query(std::string_view name, T& value) {
        if (const std::string* text = routed_.query_value(name)) {
            keep_query(name, parse_text(*text, value));
        } else {
            keep_query(name, ": missing");
        }
    }
    template <class T>
    void query_optional(std::string_view name, std::optional<T>& value) {
        const std::string* text = routed_.query_value(name);
        if (text == nullptr || text->empty()) {
            return;
        }
        T parsed{};
        Fault fault = parse_text(*text, parsed);
        if (fault.empty()) {
            value = std::move(parsed);
        }
        keep_query(name, std::move(fault));
    }
    template <class T>
    void query_each(std::string_view name, std::vector<T>& values) {
        for (const auto& [key, text] : routed_.query) {
            if (key == name) {
                keep_query(name, parse_text(text, values.emplace_back()));
            }
        }
    }
    void query_tags(Tags& tags);
    void query_order(bool& oldest_first);
    template <class Cursor>
    void query_cursor(std::optional<Cursor>& cursor) {
        const std::string* text = routed_.query_value("after");
        text = text != nullptr ? text : routed_.query_value("cursor");
        if (text != nullptr && !text->empty() && !parse_cursor(*text, cursor.emplace())) {
            keep_query("cursor", "");
            bad_cursor_ = *text;
        }
    }
    void query_limit(std::uint32_t& limit, std::uint32_t fallback, std::uint32_t most = 1000);

    // --------------------------------------------------------------------------------- the body

    template <class T>
    void required(std::string_view name, T& value) {
        if (const json* member = wanted(name)) {
            keep(name, read(*member, value));
        }
    }
    template <class T>
    void optional(std::string_view name, std::optional<T>& value) {
        if (const json* member = member_of(name)) {
            keep(name, read(*member, value));
        }
    }
    template <class T>
    void defaulted(std::string_view name, T& value) {
        if (const json* member = member_of(name)) {
            keep(name, read(*member, value));
        }
    }
    template <class T, class N>
    void ranged(std::string_view name, T& value, N low, N high) {
        if (const json* member = member_of(name)) {
            std::int64_t number = 0;
            Fault fault = read_signed(*member, static_cast<std::int64_t>(low),
                                      static_cast<std::int64_t>(high), number);
            value = fault.empty() ? static_cast<T>(number) : value;
            keep(name, std::move(fault));
        }
    }
    template <class T, class Low, class High>
    void ranged(std::string_view name, T& value, Low low, High high) {
        ranged(name, value, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
    }
    void lane(std::string_view name, std::string& value);
    void lanes(std::string_view name, std::vector<std::string>& values);
    void bytes(std::string_view name, std::string& value);
    void optional_bytes(std::string_view name, std::optional<std::string>& value);
    void optional_text(std::string_view name, std::optional<std::string>& value,
                       std::size_t bytes_max);
    void document(std::string_view name, std::optional<std::string>& value);
    void source(Source& source);
    void backend(std::optional<BackendTag>& backend);
    void constant(std::string_view /*name*/, std::string_view /*value*/) {}

  private:
    [[nodiscard]] const json* member_of(std::string_view name) const;
    const json* wanted(std::string_view name);
    void keep(std::string_view name, Fault fault);
    void keep_query(std::string_view name, Fault fault);
    void read_fence(const json& fence, LeaseRef& lease);
    void read_handle(const json& handle, LeaseRef& lease);

    const Routed& routed_;
    Fault path_fault_;
    Fault query_fault_;
    Fault body_fault_;
    Fault id_fault_;
    Fault mismatch_;
    std::optional<std::string> bad_cursor_;
    std::optional<std::string> corrupt_handle_;
};

}  // namespace ff::wire
