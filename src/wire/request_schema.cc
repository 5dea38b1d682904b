#include "wire/request_schema.h"

namespace ff::wire {

json RequestSchema::text(std::string_view description) {
    json schema{{"type", "string"}};
    if (!description.empty()) {
        schema.set("description", description);
    }
    return schema;
}

json RequestSchema::integer(std::int64_t low, std::int64_t high) {
    return json{{"type", "integer"}, {"minimum", low}, {"maximum", high}};
}

json RequestSchema::reference(std::string_view name) {
    return json{{"$ref", "#/components/schemas/" + std::string(name)}};
}

json RequestSchema::nullable(json schema) {
    return json{{"oneOf", js::Array{std::move(schema), json{{"type", "null"}}}}};
}

json RequestSchema::lane_schema() {
    return json{{"type", "string"}, {"minLength", 1}, {"maxLength", 64}};
}

json RequestSchema::words(std::string_view names) {
    js::Array list;
    while (!names.empty()) {
        const std::size_t end = std::min(names.find(','), names.size());
        std::string_view word = names.substr(0, end);
        names.remove_prefix(std::min(end + 1, names.size()));
        while (word.starts_with(' ')) {
            word.remove_prefix(1);
        }
        if (word.ends_with('_')) {
            word.remove_suffix(1);
        }
        list.emplace_back(word);
    }
    return json{{"type", "string"}, {"enum", std::move(list)}};
}

json RequestSchema::schema_of(const Tags&) {
    return json{{"type", "object"}, {"additionalProperties", json{{"type", "string"}}}};
}

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

void RequestSchema::attempt(const ExecutionId& execution,
                            const std::optional<std::uint32_t>& /*index*/) {
    id(execution);
    parameter("path", "idx", text("The index of the attempt, or `current`"), true);
}

void RequestSchema::lease(const LeaseRef& lease) {
    attempt(lease.execution_id, lease.attempt_index);
    member("fence", reference("Fence"), false);
    member("handle", text("Instead of `fence`: the handle of the claim"), false);
}

json RequestSchema::group_policy() {
    return json{
        {"type", "object"},
        {"required", js::Array{"kind"}},
        {"properties", json{{"kind", schema_of(GroupPolicyKind{})},
                            {"k", integer(1, 2'147'483'647)},
                            {"on_satisfied", schema_of(OnSatisfied{})},
                            {"force_cancel_shared", schema_of(false)}}},
    };
}

void RequestSchema::cancellation_policy(std::string_view name, CancellationPolicy /*value*/) {
    member(name, words("cancel_all, cancel_pending, flow_only, cancel_flow_only"), true);
}

void RequestSchema::reference_text(std::string_view name, const std::string& /*value*/) {
    json named{{"type", "object"},
               {"required", js::Array{"as"}},
               {"properties", json{{"as", text("The name of the input")},
                                   {"path", text("What of the result, such as `$.text`")}}}};
    member(name,
           json{{"oneOf", js::Array{text("The result replaces the downstream's payload"),
                                    std::move(named)}}},
           false);
}

void RequestSchema::nodes(std::string_view name, const std::vector<FlowNode>& /*nodes*/) {
    RequestSchema item(no_route);
    FlowNode node;
    describe_node(item, node);
    member(name, json{{"type", "array"}, {"items", item.take_body()}}, true);
}

void RequestSchema::edges(std::string_view name, const std::vector<FlowEdge>& /*edges*/,
                          Ends ends) {
    RequestSchema item(no_route);
    FlowEdge edge;
    describe_edge(item, edge, ends);
    member(name, json{{"type", "array"}, {"items", item.take_body()}}, false);
}

void RequestSchema::query_tags(const Tags& /*tags*/) {
    parameters_.push_back(json{{"name", "tags"},
                               {"in", "query"},
                               {"required", false},
                               {"description", "Spelled `tag.<key>=<value>`, once for each tag"},
                               {"style", "form"},
                               {"explode", true},
                               {"schema", schema_of(Tags{})}});
}

void RequestSchema::query_order(bool /*oldest_first*/) {
    parameter("query", "order", words("created_desc, created_asc"), false);
}

void RequestSchema::query_limit(std::uint32_t /*limit*/, std::uint32_t fallback,
                                std::uint32_t most) {
    json schema = integer(0, most);
    schema.set("default", fallback);
    parameter("query", "limit", std::move(schema), false);
}

void RequestSchema::lanes(std::string_view name, const std::vector<std::string>& /*values*/) {
    member(name,
           json{{"type", "array"}, {"minItems", 1}, {"maxItems", 64}, {"items", lane_schema()}},
           true);
}

void RequestSchema::optional_text(std::string_view name,
                                  const std::optional<std::string>& /*value*/,
                                  std::size_t bytes_max) {
    json schema = text({});
    schema.set("maxLength", static_cast<std::uint64_t>(bytes_max));
    member(name, std::move(schema), false);
}

void RequestSchema::source(Source /*source*/) {
    member("source", words("lease_holder, operator_override"), false);
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
