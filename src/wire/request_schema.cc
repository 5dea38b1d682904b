#include "wire/request_schema.h"

#include "core/resume_condition.h"

namespace ff::wire {

namespace {

json lane_schema() { return json{{"type", "string"}, {"minLength", 1}, {"maxLength", 64}}; }

json group_policy() {
    return json{
        {"type", "object"},
        {"required", js::Array{"kind"}},
        {"properties", json{{"kind", schemas::of(GroupPolicyKind{})},
                            {"k", schemas::integer(1, 2'147'483'647)},
                            {"on_satisfied", schemas::of(OnSatisfied{})},
                            {"force_cancel_shared", schemas::of(false)}}},
    };
}

}  // namespace

void RequestSchema::parameter(std::string_view in, std::string_view name, json schema,
                              bool required) {
    parameters_.push_back(
        json{{"name", name}, {"in", in}, {"required", required}, {"schema", std::move(schema)}});
}

void RequestSchema::member(std::string_view name, json schema, bool required) {
    members_.emplace_back(std::string(name), std::move(schema));
    if (required) {
        required_.emplace_back(name);
    }
}

void RequestSchema::id(ExecutionId& /*id*/) {
    parameter("path", "id", schemas::text("An execution id, `{fp:N}:<uuid>`"), true);
}
void RequestSchema::flow_id(FlowId& /*id*/) { parameter("path", "id", schemas::uuid(), true); }
void RequestSchema::budget_id(BudgetId& /*id*/) { parameter("path", "id", schemas::uuid(), true); }
void RequestSchema::quota_id(QuotaPolicyId& /*id*/) {
    parameter("path", "id", schemas::uuid(), true);
}
void RequestSchema::path_id(std::string_view name, InPath id) {
    parameter("path", name, id.schema(), true);
}
void RequestSchema::path(std::string_view name, std::string& /*value*/) {
    parameter("path", name, schemas::text({}), true);
}
void RequestSchema::path_for_people(std::string_view name, std::string& value) {
    path(name, value);
}

void RequestSchema::query(std::string_view name, InQuery value) {
    parameter("query", name, value.schema(), true);
}
void RequestSchema::body_or_query(std::string_view name, InBodyOrQuery value) {
    parameter("query", name, value.schema(), false);
    member(name, value.schema(), false);
}
void RequestSchema::query_optional(std::string_view name, InQuery value) {
    parameter("query", name, value.schema(), false);
}
void RequestSchema::query_defaulted(std::string_view name, InQuery value) {
    parameter("query", name, value.schema(), false);
}
void RequestSchema::query_count(std::string_view name, std::uint64_t& value, std::uint64_t most) {
    json schema = schemas::integer(1, static_cast<std::int64_t>(most));
    schema.set("default", value);
    parameter("query", name, std::move(schema), false);
}
void RequestSchema::query_each(std::string_view name, ListInQuery values) {
    parameter("query", name, values.schema(), false);
}
void RequestSchema::query_flag(std::string_view name, bool& /*value*/) {
    parameter("query", name, schemas::boolean(), false);
}
void RequestSchema::query_constant(std::string_view name, std::string_view value) {
    parameter("query", name, json{{"const", value}}, false);
}
void RequestSchema::query_cursor(CursorInQuery /*cursor*/) {
    parameter("query", "after", schemas::text("`next_cursor` of the page before"), false);
}
void RequestSchema::query_sequence(std::string_view name, std::uint64_t& after) {
    parameter("query", name, schemas::of(after), false);
}

void RequestSchema::required(std::string_view name, InBody value) {
    member(name, value.schema(), true);
}
void RequestSchema::optional(std::string_view name, OptionalInBody value) {
    member(name, schemas::nullable(value.schema()), false);
}
void RequestSchema::defaulted(std::string_view name, InBody value) {
    member(name, value.schema(), false);
}
void RequestSchema::sparse(std::string_view name, SparseInBody value) { defaulted(name, value); }
void RequestSchema::or_null(std::string_view name, InBody value) {
    member(name, schemas::nullable(value.schema()), false);
}
void RequestSchema::ranged(std::string_view name, NumberInBody value, std::int64_t low,
                           std::int64_t high) {
    std::string usual;
    value.write(usual);
    json schema = schemas::integer(low, high);
    schema.set("default", *js::parse(usual));
    member(name, std::move(schema), false);
}
void RequestSchema::required_ranged(std::string_view name, NumberInBody /*value*/, std::int64_t low,
                                    std::int64_t high) {
    member(name, schemas::integer(low, high), true);
}
void RequestSchema::optional_ranged(std::string_view name, OptionalNumberInBody /*value*/,
                                    std::int64_t low, std::int64_t high) {
    member(name, schemas::nullable(schemas::integer(low, high)), false);
}
void RequestSchema::required_id(std::string_view name, InBody id) { required(name, id); }
void RequestSchema::lane(std::string_view name, std::string& /*value*/) {
    member(name, lane_schema(), true);
}
void RequestSchema::bytes(std::string_view name, std::string& /*value*/) {
    member(name, schemas::reference("Bytes"), true);
}
void RequestSchema::optional_bytes(std::string_view name, std::optional<std::string>& /*value*/) {
    member(name, schemas::reference("Bytes"), false);
}
void RequestSchema::sparse_bytes(std::string_view name, std::string& /*value*/) {
    member(name, schemas::reference("Bytes"), false);
}
void RequestSchema::document(std::string_view name, std::optional<std::string>& /*value*/) {
    member(name,
           schemas::nullable(name == "policy" ? schemas::reference("Policy")
                                              : json{{"type", "object"}}),
           false);
}
void RequestSchema::backend(std::optional<BackendTag>& /*backend*/) {
    member("backend", schemas::nullable(schemas::words("sqlite, postgres")), false);
}
void RequestSchema::constant(std::string_view name, std::string_view value) {
    member(name, json{{"const", value}}, false);
}
void RequestSchema::ignored(std::string_view name) {
    member(name, schemas::of(std::int64_t{}), false);
}
void RequestSchema::word(std::string_view name, WordInBody value, ErrorCode /*unknown*/) {
    defaulted(name, value);
}
void RequestSchema::grace(std::string_view name, DurationMs& value) {
    ranged(name, value, 0, grace_ms_max);
}
void RequestSchema::unused_grace(std::string_view name, DurationMs& value) { grace(name, value); }
void RequestSchema::required_policy(std::string_view name, GroupPolicy& /*policy*/) {
    member(name, group_policy(), true);
}
void RequestSchema::sparse_policy(std::string_view name, GroupPolicy& /*policy*/) {
    member(name, group_policy(), false);
}
void RequestSchema::either_word(std::string_view name, WordInBody value) {
    json schema = schemas::camel_words(value.words());
    schema.set("default", core::camel_case(value.texts().front()));
    member(name, std::move(schema), false);
}

void RequestSchema::attempt(ExecutionId& execution, std::optional<std::uint32_t>& /*index*/) {
    id(execution);
    parameter("path", "idx", schemas::text("The index of the attempt, or `current`"), true);
}

void RequestSchema::lease(LeaseRef& lease) {
    attempt(lease.execution_id, lease.attempt_index);
    member("fence", schemas::reference("Fence"), false);
    member("handle", schemas::text("Instead of `fence`: the handle of the claim"), false);
}

void RequestSchema::cancellation_policy(std::string_view name, CancellationPolicy& /*value*/) {
    member(name, schemas::words("cancel_all, cancel_pending, flow_only, cancel_flow_only"), true);
}

void RequestSchema::reference_text(std::string_view name, std::string& /*value*/) {
    json named{
        {"type", "object"},
        {"required", js::Array{"as"}},
        {"properties", json{{"as", schemas::text("The name of the input")},
                            {"path", schemas::text("What of the result, such as `$.text`")}}}};
    member(name,
           json{{"oneOf", js::Array{schemas::text("The result replaces the downstream's payload"),
                                    std::move(named)}}},
           false);
}

void RequestSchema::nodes(std::string_view name, std::vector<FlowNode>& /*nodes*/) {
    RequestSchema item(no_route);
    FlowNode node;
    describe_node(item, node);
    member(name, json{{"type", "array"}, {"items", item.take_body()}}, true);
}

void RequestSchema::edges(std::string_view name, std::vector<FlowEdge>& /*edges*/, Ends ends) {
    RequestSchema item(no_route);
    FlowEdge edge;
    describe_edge(item, edge, ends);
    member(name, json{{"type", "array"}, {"items", item.take_body()}}, false);
}

void RequestSchema::query_tags(Tags& /*tags*/) {
    parameters_.push_back(json{{"name", "tags"},
                               {"in", "query"},
                               {"required", false},
                               {"description", "Spelled `tag.<key>=<value>`, once for each tag"},
                               {"style", "form"},
                               {"explode", true},
                               {"schema", schemas::of(Tags{})}});
}

void RequestSchema::query_order(bool& /*oldest_first*/) {
    parameter("query", "order", schemas::words("created_desc, created_asc"), false);
}

void RequestSchema::query_limit(std::uint32_t& /*limit*/, std::uint32_t fallback,
                                std::uint32_t most) {
    json schema = schemas::integer(0, most);
    schema.set("default", fallback);
    parameter("query", "limit", std::move(schema), false);
}

void RequestSchema::lanes(std::string_view name, std::vector<std::string>& /*values*/) {
    member(name,
           json{{"type", "array"}, {"minItems", 1}, {"maxItems", 64}, {"items", lane_schema()}},
           true);
}

void RequestSchema::optional_text(std::string_view name, std::optional<std::string>& /*value*/,
                                  std::size_t bytes_max) {
    // Characters, as far as JSON schemas go; who sends others than ASCII has room for fewer.
    json schema = schemas::text("At most " + std::to_string(bytes_max) + " bytes");
    schema.set("maxLength", static_cast<std::uint64_t>(bytes_max));
    member(name, std::move(schema), false);
}

void RequestSchema::source(Source& /*source*/) {
    member("source", schemas::words("lease_holder, operator_override"), false);
}

json RequestSchema::take_body() {
    json schema{{"type", "object"}, {"properties", std::move(members_)}};
    if (!required_.empty()) {
        schema.set("required", std::move(required_));
    }
    return schema;
}

json RequestSchema::take() {
    json operation{{"parameters", std::move(parameters_)}};
    if (at_.method == Method::post || at_.method == Method::put || !members_.empty()) {
        const bool needed = !required_.empty();
        operation.set("requestBody", json_body(take_body(), needed));
    }
    return operation;
}

json json_body(json schema, bool required) {
    return json{{"required", required},
                {"content", json{{"application/json", json{{"schema", std::move(schema)}}}}}};
}

}  // namespace ff::wire
