#include "http/schemas.h"

#include <algorithm>

#include "wire/request_schema.h"
#include "wire/requests.h"

namespace ff::http {

json with_query(json operation, std::initializer_list<std::pair<std::string_view, json>> more) {
    const json* known = operation.find("parameters");
    js::Array parameters = known != nullptr ? *known->if_array() : js::Array{};
    for (const auto& [name, schema] : more) {
        parameters.push_back(
            json{{"name", name}, {"in", "query"}, {"required", false}, {"schema", schema}});
    }
    operation.set("parameters", std::move(parameters));
    return operation;
}

namespace {

json list_of(json items, std::size_t most) {
    return json{{"type", "array"},
                {"minItems", 1},
                {"maxItems", static_cast<std::uint64_t>(most)},
                {"items", std::move(items)}};
}

json object_of(json properties, js::Array required) {
    return json{{"type", "object"},
                {"properties", std::move(properties)},
                {"required", std::move(required)}};
}

/// Adds a member to the schema of an object.
void add_member(json& schema, std::string_view name, json member, bool required) {
    json properties = *schema.find("properties");
    properties.set(std::string(name), std::move(member));
    schema.set("properties", std::move(properties));
    if (required) {
        const json* known = schema.find("required");
        js::Array names = known != nullptr ? *known->if_array() : js::Array{};
        names.emplace_back(name);
        schema.set("required", std::move(names));
    }
}

/// What stands in the path of the single call stands beside the rest in an item.
json as_item(json body) {
    add_member(body, "execution_id", wire::schemas::text("An execution id"), true);
    json index{
        {"oneOf", js::Array{wire::schemas::integer(0, 4'294'967'295), json{{"const", "current"}}}}};
    add_member(body, "attempt_index", std::move(index), true);
    return body;
}

json only_body(json schema) {
    return json{{"parameters", js::Array{}}, {"requestBody", wire::json_body(std::move(schema))}};
}

}  // namespace

json describe_list() {
    json operation = wire::request_schema<ListExecutions>();
    js::Array parameters = *operation.find("parameters")->if_array();
    for (json& parameter : parameters) {
        if (*parameter.find("name") == json("partition")) {
            parameter.set("required", false);
            parameter.set("description", "Needed unless there is a filter");
        }
    }
    const json search = wire::request_schema<SearchExecutions>();
    for (const json& filter : *search.find("parameters")->if_array()) {
        const bool known = std::ranges::any_of(parameters, [&](const json& parameter) {
            return *parameter.find("name") == *filter.find("name");
        });
        if (!known) {
            parameters.push_back(filter);
        }
    }
    operation.set("parameters", std::move(parameters));
    return operation;
}

json describe_create_batch() {
    return only_body(object_of(json{{"executions", list_of(wire::body_schema<CreateExecution>(),
                                                           wire::batch_creates_max)}},
                               {"executions"}));
}

json describe_outcome_batch() {
    json completed = as_item(wire::body_schema<Complete>());
    json fail = object_of(json{{"failure_reason", wire::schemas::text({})},
                               {"failure_category", wire::schemas::text({})}},
                          {"failure_reason", "failure_category"});
    json failed = as_item(wire::body_schema<Release>());
    add_member(failed, "fail", std::move(fail), true);
    add_member(failed, "source", wire::schemas::words("lease_holder, operator_override"), false);
    json item{{"oneOf", js::Array{std::move(completed), std::move(failed)}}};
    return only_body(
        object_of(json{{"items", list_of(std::move(item), wire::batch_outcomes_max)}}, {"items"}));
}

json describe_cancel_attempt() {
    json operation = wire::request_schema<Release>();
    json body = wire::body_schema<Release>();
    add_member(body, "reason", wire::schemas::text({}), true);
    operation.set("requestBody", wire::json_body(std::move(body)));
    return operation;
}

json describe_set_tag() {
    json operation = wire::request_schema<RemoveExecutionTag>();
    operation.set("requestBody",
                  wire::json_body(object_of(json{{"value", wire::schemas::text({})}}, {"value"})));
    return operation;
}

json describe_heartbeat() {
    json operation = wire::request_schema<HeartbeatWorker>();
    json body = wire::body_schema<HeartbeatWorker>();
    json leases{{"type", "array"}, {"items", as_item(wire::body_schema<Renew>())}};
    add_member(body, "leases", wire::schemas::nullable(std::move(leases)), false);
    operation.set("requestBody", wire::json_body(std::move(body)));
    return operation;
}

json describe_echo() {
    return json{
        {"parameters", js::Array{}},
        {"requestBody",
         json{{"required", false}, {"content", json{{"application/octet-stream", js::Object{}}}}}}};
}

}  // namespace ff::http
