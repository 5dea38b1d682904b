// Writing a request on the client: an operation as method, target and body. Nothing that the server
// would take for granted is sent.
#pragma once

#include <string>
#include <string_view>

#include "core/resume_condition.h"
#include "wire/cursors.h"
#include "wire/event_values.h"
#include "wire/flow_values.h"
#include "wire/message.h"
#include "wire/object.h"
#include "wire/requests.h"
#include "wire/url.h"

namespace ff::wire {

/// The visitor.
class RequestOut {
  public:
    explicit RequestOut(const Binding& at) : at_(at), body_(text_) {}

    /// The finished call; the visitor is used up.
    Call take();

    void id(const ExecutionId& id) { fill("id", id.to_string()); }
    void flow_id(const FlowId& id) { fill("id", id.to_string()); }
    template <class T>
    void path_id(std::string_view name, const T& id) {
        fill(name, text_of(id));
    }
    void path(std::string_view name, const std::string& value) { fill(name, value); }
    void family(EventFamily family) { fill("family", event_family_path(family)); }
    void path_for_people(std::string_view name, const std::string& value) { fill(name, value); }
    void lease(const LeaseRef& lease);
    void attempt(const ExecutionId& execution, const std::optional<std::uint32_t>& index);

    template <class T>
    void query(std::string_view name, const T& value) {
        add_query(name, text_of(value));
    }
    template <class T>
    void body_or_query(std::string_view name, const T& value) {
        query(name, value);
    }
    template <class T>
    void query_optional(std::string_view name, const std::optional<T>& value) {
        if (value) {
            query(name, *value);
        }
    }
    template <class T>
    void query_defaulted(std::string_view name, const T& value) {
        query(name, value);
    }
    void query_count(std::string_view name, std::uint64_t value, std::uint64_t /*most*/) {
        query(name, value);
    }
    template <class T>
    void query_each(std::string_view name, const std::vector<T>& values) {
        for (const T& value : values) {
            query(name, value);
        }
    }
    void query_flag(std::string_view name, bool value) {
        if (value) {
            add_query(name, "true");
        }
    }
    void query_constant(std::string_view name, std::string_view value) { add_query(name, value); }
    void query_tags(const Tags& tags);
    void query_order(bool oldest_first);
    template <class Cursor>
    void query_cursor(const std::optional<Cursor>& cursor) {
        if (cursor) {
            add_query("after", cursor_text(*cursor));
        }
    }
    void query_limit(std::uint32_t limit, std::uint32_t /*fallback*/, std::uint32_t /*most*/ = 0) {
        query("limit", limit);
    }
    void query_sequence(std::string_view name, std::uint64_t after) {
        if (after > 0) {
            query(name, after);
        }
    }

    template <class T>
    void required(std::string_view name, const T& value) {
        body_.field(name, value);
    }
    template <class T>
    void optional(std::string_view name, const std::optional<T>& value) {
        body_.field_if(name, value);
    }
    template <class T>
    void defaulted(std::string_view name, const T& value) {
        body_.field(name, value);
    }
    template <class T>
    void or_null(std::string_view name, const T& value) {
        body_.field(name, value);
    }
    /// Only when there is something in it.
    template <class T>
    void sparse(std::string_view name, const T& value) {
        if (value != T{}) {
            body_.field(name, value);
        }
    }
    template <class T, class Low, class High>
    void ranged(std::string_view name, const T& value, Low /*low*/, High /*high*/) {
        body_.field(name, value);
    }
    template <class T, class Low, class High>
    void required_ranged(std::string_view name, const T& value, Low /*low*/, High /*high*/) {
        body_.field(name, value);
    }
    template <class T, class Low, class High>
    void optional_ranged(std::string_view name, const std::optional<T>& value, Low /*low*/,
                         High /*high*/) {
        body_.field_if(name, value);
    }
    void lane(std::string_view name, const std::string& value) { body_.field(name, value); }
    void lanes(std::string_view name, const std::vector<std::string>& values) {
        body_.field(name, values);
    }
    void bytes(std::string_view name, const std::string& value) { body_.bytes(name, value); }
    void optional_bytes(std::string_view name, const std::optional<std::string>& value) {
        if (value) {
            body_.bytes(name, std::string_view(*value));
        }
    }
    void optional_text(std::string_view name, const std::optional<std::string>& value,
                       std::size_t /*bytes_max*/) {
        optional(name, value);
    }
    void document(std::string_view name, const std::optional<std::string>& value) {
        if (value && js::parse(*value)) {
            body_.document(name, value);
        } else if (value) {
            body_.field(name, *value);  // as text: the engine says what is wrong with it
        }
    }
    void source(Source source) {
        if (source == Source::operator_override) {
            body_.field("source", std::string_view("operator_override"));
        }
    }
    void backend(const std::optional<BackendTag>& backend) {
        if (backend) {
            body_.field("backend", backend_word(*backend));
        }
    }
    void constant(std::string_view name, std::string_view value) { body_.field(name, value); }
    void sparse_bytes(std::string_view name, const std::string& value) {
        if (!value.empty()) {
            body_.bytes(name, value);
        }
    }
    template <WordEnum E>
    void word(std::string_view name, E value, ErrorCode /*unknown*/) {
        sparse(name, value);
    }
    void cancellation_policy(std::string_view name, CancellationPolicy value) {
        body_.field(name, value);
    }
    void grace(std::string_view name, DurationMs value) { body_.field(name, value); }
    void unused_grace(std::string_view /*name*/, DurationMs /*value*/) {}
    void reference_text(std::string_view name, const std::string& value) { sparse(name, value); }
    void required_policy(std::string_view name, const GroupPolicy& policy) {
        body_.field(name, policy);
    }
    void sparse_policy(std::string_view name, const GroupPolicy& policy) { sparse(name, policy); }
    void nodes(std::string_view name, std::vector<FlowNode>& nodes);
    void edges(std::string_view name, std::vector<FlowEdge>& edges, Ends ends);

    template <WordEnum E>
    void either_word(std::string_view name, E value) {
        body_.field(name, core::camel_case(to_string(value)));
    }
    void payload(const std::optional<std::string>& value) { optional_bytes("payload", value); }
    void waitpoints(std::string_view name, const std::vector<WaitpointBinding>& bindings);
    void condition(std::string_view name, const ResumeCondition& condition) {
        body_.field(name, condition);
    }
    void resume_policy(std::string_view name, const ResumePolicy& policy) {
        body_.field(name, policy);
    }

    void frames(std::string_view name, std::vector<Frame>& frames);

    void budget_id(const BudgetId& id) { fill("id", id.to_string()); }
    void quota_id(const QuotaPolicyId& id) { fill("id", id.to_string()); }
    template <class Tag>
    void required_id(std::string_view name, const UuidId<Tag>& id) {
        body_.field(name, id);
    }
    void ignored(std::string_view /*name*/) {}
    void given_limits(const std::optional<QuotaLimits>& limits);

  private:
    static std::string_view backend_word(BackendTag backend) {
        switch (backend) {
            case BackendTag::reserved: return "reserved";
            case BackendTag::postgres: return "postgres";
            case BackendTag::sqlite: return "sqlite";
        }
        return "";
    }
    static std::string text_of(const std::string& value) { return value; }
    static std::string text_of(const FrameCursor& cursor) { return cursor.to_string(); }
    static std::string text_of(const EventCursor& cursor) { return cursor.hex(); }
    static std::string text_of(const EventTag& tag) { return event_tag_text(tag); }
    static std::string text_of(const ExecutionId& id) { return id.to_string(); }
    template <class Tag>
    static std::string text_of(const UuidId<Tag>& id) {
        return id.to_string();
    }
    template <Integer T>
    static std::string text_of(T value) {
        return std::to_string(value);
    }
    template <WordEnum E>
    static std::string text_of(E word) {
        return std::string(to_string(word));
    }
    void fill(std::string_view name, std::string_view value);
    void add_query(std::string_view name, std::string_view value);

    const Binding& at_;
    std::string target_;       ///< as far as it is known: parameters are filled in the path's order
    std::size_t written_ = 0;  ///< of the template
    std::string query_;
    std::string text_;
    ObjectOut body_;
};

/// The call of any operation.
Call write_request(const Request& request);

}  // namespace ff::wire
