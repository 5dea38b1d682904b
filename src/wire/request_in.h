// Reading a request on the server: path, query and body into an operation.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>

#include "core/resume_condition.h"
#include "wire/cursors.h"
#include "wire/event_values.h"
#include "wire/flow_requests.h"
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
    ErrorCode code = ErrorCode::invalid_input;
    std::string member;  ///< of the body, when one of them is at fault
    std::string about;   ///< what is wrong with it
};

// Values of a query; an empty fault is success.
Fault parse_text(std::string_view text, std::string& out);
Fault parse_text(std::string_view text, ExecutionId& out);
Fault parse_unsigned_text(std::string_view text, std::uint64_t high, std::uint64_t& out);
Fault parse_text(std::string_view text, std::int64_t& out);
Fault parse_text(std::string_view text, Uuid& out);
Fault parse_text(std::string_view text, FrameCursor& out);
template <class Tag>
Fault parse_text(std::string_view text, UuidId<Tag>& out) {
    return parse_text(text, out.uuid);
}
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
    /// Where the execution and the attempt are named: in the path, or, of one item among many,
    /// beside everything else.
    enum class Named : std::uint8_t { in_path, in_body };

    explicit RequestIn(const Routed& routed, Named named = Named::in_path)
        : routed_(routed), named_(named) {}

    /// The fault, if there was one.
    [[nodiscard]] std::optional<RequestFault> fault() const;
    /// Of the path or the query, which are judged before the body is looked at.
    [[nodiscard]] std::optional<RequestFault> early_fault() const;

    // ----------------------------------------------------------------------------- path and query

    void id(ExecutionId& id);
    void flow_id(FlowId& id);
    /// An id in the path under a name of its own.
    template <class T>
    void path_id(std::string_view name, T& id) {
        if (const Fault fault = parse_text(routed_.parameter(name), id); !fault.empty()) {
            keep_id(name, fault.substr(2));
        }
    }
    void path(std::string_view name, std::string& value) { value = routed_.parameter(name); }
    /// What may stand in the body or, as it does in our own calls, in the query.
    template <class T>
    void body_or_query(std::string_view name, T& value) {
        if (const json* member = member_of(name)) {
            keep(name, read(*member, value));
        } else if (body_fault_.empty()) {
            query(name, value);
        }
    }
    /// A family of events; words are joined by dashes.
    void family(EventFamily& family);
    void path_for_people(std::string_view /*name*/, const std::string& /*value*/) {}
    void lease(LeaseRef& lease);
    /// An execution and one of its attempts, without a fence.
    void attempt(ExecutionId& id, std::optional<std::uint32_t>& index);

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
    /// One whose absence is the default; what is there must be right.
    template <class T>
    void query_defaulted(std::string_view name, T& value) {
        if (const std::string* text = routed_.query_value(name)) {
            keep_query(name, parse_text(*text, value));
        }
    }
    /// How many: at least 1.
    void query_count(std::string_view name, std::uint64_t& value, std::uint64_t most);
    template <class T>
    void query_each(std::string_view name, std::vector<T>& values) {
        for (const auto& [key, text] : routed_.query) {
            if (key == name) {
                keep_query(name, parse_text(text, values.emplace_back()));
            }
        }
    }
    /// `true` and `1`, `false` and `0`.
    void query_flag(std::string_view name, bool& value);
    void query_constant(std::string_view /*name*/, std::string_view /*value*/) {}
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
    /// A number to go on behind; `cursor` is the same.
    void query_sequence(std::string_view name, std::uint64_t& after);

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
    template <class T>
    void sparse(std::string_view name, T& value) {
        defaulted(name, value);
    }
    /// One whose absence is the default, said by leaving it out or by null.
    template <class T>
    void or_null(std::string_view name, T& value) {
        if (const json* member = member_of(name); member != nullptr && !member->is_null()) {
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
    template <class T, class Low, class High>
    void required_ranged(std::string_view name, T& value, Low low, High high) {
        if (wanted(name) != nullptr) {
            ranged(name, value, low, high);
        }
    }
    template <class T, class Low, class High>
    void optional_ranged(std::string_view name, std::optional<T>& value, Low low, High high) {
        if (const json* member = member_of(name); member != nullptr && !member->is_null()) {
            ranged(name, value.emplace(), low, high);
        }
    }
    void lane(std::string_view name, std::string& value);
    void lanes(std::string_view name, std::vector<std::string>& values);
    void bytes(std::string_view name, std::string& value);
    void optional_bytes(std::string_view name, std::optional<std::string>& value);
    void sparse_bytes(std::string_view name, std::string& value);
    void optional_text(std::string_view name, std::optional<std::string>& value,
                       std::size_t bytes_max);
    void document(std::string_view name, std::optional<std::string>& value);
    void source(Source& source);
    void backend(std::optional<BackendTag>& backend);
    void constant(std::string_view /*name*/, std::string_view /*value*/) {}

    // ---------------------------------------------------------------------------------- of flows

    /// A word whose absence is the default, and which is refused with a code of its own.
    template <WordEnum E>
    void word(std::string_view name, E& value, ErrorCode unknown) {
        const json* member = member_of(name);
        if (member == nullptr) {
            return;
        }
        Fault fault = read(*member, value);
        if (!fault.empty() && member->if_string() != nullptr) {
            refuse(name, unknown, fault.substr(2));
        } else {
            keep(name, std::move(fault));
        }
    }
    void cancellation_policy(std::string_view name, CancellationPolicy& value);
    void grace(std::string_view name, DurationMs& value);
    void unused_grace(std::string_view name, DurationMs& value) { grace(name, value); }
    /// A text, or an object that is kept as its text.
    void reference_text(std::string_view name, std::string& value);
    void required_policy(std::string_view name, GroupPolicy& policy);
    void sparse_policy(std::string_view name, GroupPolicy& policy);
    void nodes(std::string_view name, std::vector<FlowNode>& nodes);
    void edges(std::string_view name, std::vector<FlowEdge>& edges, Ends ends);

    // ----------------------------------------------------------------------------- of suspension

    /// A word in CamelCase or as it is stored. One that is neither is `invalid_input`.
    template <WordEnum E>
    void either_word(std::string_view name, E& value) {
        const json* member = member_of(name);
        if (member == nullptr || member->is_null()) {
            return;
        }
        const std::string* text = member->if_string();
        const auto known = text != nullptr ? core::parse_either<E>(*text) : std::nullopt;
        if (known) {
            value = *known;
        } else if (text != nullptr) {
            refuse(name, ErrorCode::invalid_input,
                   std::string(name) + unknown_word(*member, enum_text(E{})));
        } else {
            keep(name, ": expected a string");
        }
    }
    /// `payload` as bytes in any form, or `payload_base64`.
    void payload(std::optional<std::string>& value);
    void waitpoints(std::string_view name, std::vector<WaitpointBinding>& bindings);
    void condition(std::string_view name, ResumeCondition& condition);
    void resume_policy(std::string_view name, ResumePolicy& policy);

    // -------------------------------------------------------------------------------- of streams

    void frames(std::string_view name, std::vector<Frame>& frames);

    // --------------------------------------------------------------------------------- of limits

    void budget_id(BudgetId& id) { named_id("budget_id", id); }
    void quota_id(QuotaPolicyId& id) { named_id("quota_policy_id", id); }
    /// An id that a text in the body is; another text is told like one in the path.
    template <class Tag>
    void required_id(std::string_view name, UuidId<Tag>& id) {
        const json* member = wanted(name);
        if (member == nullptr) {
            return;
        }
        Fault fault = read(*member, id);
        if (!fault.empty() && member->if_string() != nullptr) {
            keep_id(name, fault.substr(2));
        } else {
            keep(name, std::move(fault));
        }
    }
    /// One that older clients must send; nobody looks at it.
    void ignored(std::string_view /*name*/) {}
    void given_limits(std::optional<QuotaLimits>& limits);

  private:
    template <class Id>
    void named_id(std::string_view name, Id& id) {
        if (const Fault fault = parse_text(routed_.parameter("id"), id); !fault.empty()) {
            keep_id(name, fault.substr(2));
        }
    }
    [[nodiscard]] const json* member_of(std::string_view name) const;
    const json* wanted(std::string_view name);
    void keep(std::string_view name, Fault fault);
    void keep_query(std::string_view name, Fault fault);
    void read_index(std::optional<std::uint32_t>& index);
    void keep_id(std::string_view name, std::string why);
    /// What can be read but is refused with a code of its own.
    void refuse(std::string_view name, ErrorCode code, std::string why);
    void keep_policy(std::string_view name, const json& member, GroupPolicy& policy);
    template <class T, class Describe>
    void items(std::string_view name, std::vector<T>& out, Describe describe);
    void read_fence(const json& fence, LeaseRef& lease);
    void read_handle(const json& handle, LeaseRef& lease);

    const Routed& routed_;
    const Named named_;
    Fault path_fault_;
    Fault query_fault_;
    Fault body_fault_;
    std::string bad_member_;  ///< the one that body_fault_ is about
    Fault id_fault_;
    std::string bad_id_;  ///< the one that id_fault_ is about
    Fault mismatch_;
    std::optional<std::string> bad_cursor_;
    std::optional<std::string> corrupt_handle_;
    std::optional<RequestFault> refusal_;
};

}  // namespace ff::wire
