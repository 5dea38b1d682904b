// The OpenAPI operation of a request, from the same description that reads and writes it.
#pragma once

#include <string>
#include <string_view>

#include <ff/json.h>

#include "core/resume_condition.h"
#include "wire/event_values.h"
#include "wire/requests.h"
#include "wire/values.h"

namespace ff::wire {

/// The visitor: collects parameters and the members of the body.
class RequestSchema {
  public:
    explicit RequestSchema(const Binding& at) : at_(at) {}

    /// `parameters` and `requestBody`.
    json take();
    /// The body alone: an object with its members.
    json take_body();

    void id(const ExecutionId& /*id*/) {
        parameter("path", "id", text("An execution id, `{fp:N}:<uuid>`"), true);
    }
    void flow_id(const FlowId& /*id*/) {
        parameter("path", "id", json{{"type", "string"}, {"format", "uuid"}}, true);
    }
    template <class T>
    void path_id(std::string_view name, const T& id) {
        parameter("path", name, schema_of(id), true);
    }
    void path(std::string_view name, const std::string& /*value*/) {
        parameter("path", name, text({}), true);
    }
    void path_for_people(std::string_view name, const std::string& value) { path(name, value); }
    void family(EventFamily family);
    void lease(const LeaseRef& lease);
    void attempt(const ExecutionId& execution, const std::optional<std::uint32_t>& index);

    template <class T>
    void query(std::string_view name, const T& value) {
        parameter("query", name, schema_of(value), true);
    }
    template <class T>
    void body_or_query(std::string_view name, const T& value) {
        parameter("query", name, schema_of(value), false);
        member(name, schema_of(value), false);
    }
    template <class T>
    void query_optional(std::string_view name, const std::optional<T>& /*value*/) {
        parameter("query", name, schema_of(T{}), false);
    }
    template <class T>
    void query_defaulted(std::string_view name, const T& value) {
        parameter("query", name, schema_of(value), false);
    }
    void query_count(std::string_view name, std::uint64_t value, std::uint64_t most) {
        json schema = integer(1, static_cast<std::int64_t>(most));
        schema.set("default", value);
        parameter("query", name, std::move(schema), false);
    }
    template <class T>
    void query_each(std::string_view name, const std::vector<T>& values) {
        parameter("query", name, schema_of(values), false);
    }
    void query_flag(std::string_view name, bool /*value*/) {
        parameter("query", name, schema_of(false), false);
    }
    void query_constant(std::string_view name, std::string_view value) {
        parameter("query", name, json{{"const", value}}, false);
    }
    void query_tags(const Tags& /*tags*/);
    void query_order(bool /*oldest_first*/);
    template <class Cursor>
    void query_cursor(const std::optional<Cursor>& /*cursor*/) {
        parameter("query", "after", text("`next_cursor` of the page before"), false);
    }
    void query_limit(std::uint32_t limit, std::uint32_t fallback, std::uint32_t most = 1000);
    void query_sequence(std::string_view name, std::uint64_t after) {
        parameter("query", name, schema_of(after), false);
    }

    template <class T>
    void required(std::string_view name, const T& value) {
        member(name, schema_of(value), true);
    }
    template <class T>
    void optional(std::string_view name, const std::optional<T>& /*value*/) {
        member(name, nullable(schema_of(T{})), false);
    }
    template <class T>
    void defaulted(std::string_view name, const T& value) {
        member(name, schema_of(value), false);
    }
    template <class T>
    void sparse(std::string_view name, const T& value) {
        defaulted(name, value);
    }
    template <class T>
    void or_null(std::string_view name, const T& value) {
        member(name, nullable(schema_of(value)), false);
    }
    template <class T, class Low, class High>
    void ranged(std::string_view name, const T& value, Low low, High high) {
        json schema = integer(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
        schema.set("default", static_cast<std::int64_t>(value));
        member(name, std::move(schema), false);
    }
    template <class T, class Low, class High>
    void required_ranged(std::string_view name, const T& /*value*/, Low low, High high) {
        member(name, integer(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)),
               true);
    }
    template <class T, class Low, class High>
    void optional_ranged(std::string_view name, const std::optional<T>& /*value*/, Low low,
                         High high) {
        member(name,
               nullable(integer(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high))),
               false);
    }
    void lane(std::string_view name, const std::string& /*value*/) {
        member(name, lane_schema(), true);
    }
    void lanes(std::string_view name, const std::vector<std::string>& /*values*/);
    void bytes(std::string_view name, const std::string& /*value*/) {
        member(name, reference("Bytes"), true);
    }
    void optional_bytes(std::string_view name, const std::optional<std::string>& /*value*/) {
        member(name, reference("Bytes"), false);
    }
    void optional_text(std::string_view name, const std::optional<std::string>& /*value*/,
                       std::size_t bytes_max);
    void document(std::string_view name, const std::optional<std::string>& /*value*/) {
        member(name, nullable(name == "policy" ? reference("Policy") : json{{"type", "object"}}),
               false);
    }
    void source(Source /*source*/);
    void backend(const std::optional<BackendTag>& /*backend*/) {}
    void constant(std::string_view name, std::string_view value) {
        member(name, json{{"const", value}}, false);
    }
    void sparse_bytes(std::string_view name, const std::string& /*value*/) {
        member(name, reference("Bytes"), false);
    }
    template <WordEnum E>
    void word(std::string_view name, E value, ErrorCode /*unknown*/) {
        member(name, schema_of(value), false);
    }
    void cancellation_policy(std::string_view name, CancellationPolicy value);
    void grace(std::string_view name, DurationMs value) {
        ranged(name, value, std::int64_t{0}, grace_ms_max);
    }
    void unused_grace(std::string_view name, DurationMs value) { grace(name, value); }
    void reference_text(std::string_view name, const std::string& value);
    void required_policy(std::string_view name, const GroupPolicy& /*policy*/) {
        member(name, group_policy(), true);
    }
    void sparse_policy(std::string_view name, const GroupPolicy& /*policy*/) {
        member(name, group_policy(), false);
    }
    void nodes(std::string_view name, const std::vector<FlowNode>& nodes);
    void edges(std::string_view name, const std::vector<FlowEdge>& edges, Ends ends);
    template <WordEnum E>
    void either_word(std::string_view name, E value) {
        json schema = camel_words(enum_text(E{}));
        schema.set("default", core::camel_case(to_string(value)));
        member(name, std::move(schema), false);
    }
    void payload(const std::optional<std::string>& value);
    void waitpoints(std::string_view name, const std::vector<WaitpointBinding>& bindings);
    void condition(std::string_view name, const ResumeCondition& condition);
    void resume_policy(std::string_view name, const ResumePolicy& policy);

    void frames(std::string_view name, const std::vector<Frame>& frames);

    void budget_id(const BudgetId& id) { path_id("id", id); }
    void quota_id(const QuotaPolicyId& id) { path_id("id", id); }
    template <class Tag>
    void required_id(std::string_view name, const UuidId<Tag>& id) {
        member(name, schema_of(id), true);
    }
    void ignored(std::string_view name) { member(name, schema_of(std::int64_t{}), false); }
    void given_limits(const std::optional<QuotaLimits>& limits);

    // What single values look like.
    static json text(std::string_view description);
    static json integer(std::int64_t low, std::int64_t high);
    static json reference(std::string_view name);
    static json nullable(json schema);
    static json lane_schema();
    static json words(std::string_view names);
    static json camel_words(std::string_view names);
    static json group_policy();
    static json schema_of(const std::string&) { return text({}); }
    static json schema_of(bool) { return json{{"type", "boolean"}}; }
    static json schema_of(const EventCursor&) {
        return text("A place among events: empty for now, `earliest`, or a cursor that was given");
    }
    static json schema_of(const EventTag&) { return text("key=value"); }
    static json schema_of(const EventFilter&);
    static json schema_of(const FrameCursor&) {
        return text("`start`, `end`, `<ms>` or `<ms>-<seq>`");
    }
    static json schema_of(const ExecutionId&) { return text("An execution id"); }
    static json schema_of(const Tags&);
    template <class Tag>
    static json schema_of(const UuidId<Tag>&) {
        return json{{"type", "string"}, {"format", "uuid"}};
    }
    template <Integer T>
    static json schema_of(T) {
        using Limits = std::numeric_limits<T>;
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        return integer(static_cast<std::int64_t>(Limits::min()),
                       std::cmp_greater(Limits::max(), most)
                           ? most
                           : static_cast<std::int64_t>(Limits::max()));
    }
    template <WordEnum E>
    static json schema_of(E) {
        return words(enum_text(E{}));
    }
    static json schema_of(const BudgetLimit&);
    template <class T>
    static json schema_of(const std::map<std::string, T>&) {
        return json{{"type", "object"}, {"additionalProperties", schema_of(T{})}};
    }
    template <class T>
    static json schema_of(const std::vector<T>&) {
        return json{{"type", "array"}, {"items", schema_of(T{})}};
    }

  private:
    void parameter(std::string_view in, std::string_view name, json schema, bool required);
    void member(std::string_view name, json schema, bool required);

    const Binding& at_;
    js::Array parameters_;
    js::Object members_;
    js::Array required_;
};

template <class Op>
json request_schema() {
    RequestSchema schema(binding<Op>);
    Op op;
    describe_request(schema, op);
    return schema.take();
}

template <class Op>
json body_schema() {
    RequestSchema schema(binding<Op>);
    Op op;
    describe_request(schema, op);
    return schema.take_body();
}

/// A `requestBody` of JSON.
json json_body(json schema, bool required = true);

}  // namespace ff::wire
