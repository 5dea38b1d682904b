// The interface described for programs, from the route table alone.
#include "http/routes.h"
#include "wire/errors.h"
#include "wire/schemas.h"

namespace ff::http {

namespace {

json bytes_schema() {
    return json{
        {"description", "Any bytes, in one of four spellings"},
        {"oneOf",
         js::Array{json{{"type", "array"},
                        {"items", json{{"type", "integer"}, {"minimum", 0}, {"maximum", 255}}}},
                   json{{"type", "object"},
                        {"required", js::Array{"base64"}},
                        {"properties", json{{"base64", json{{"type", "string"}}}}}},
                   json{{"type", "object"},
                        {"required", js::Array{"text"}},
                        {"properties", json{{"text", json{{"type", "string"}}}}}},
                   json{{"type", "object"},
                        {"required", js::Array{"json"}},
                        {"properties", json{{"json", js::Object{}}}}}}}};
}

json fence_schema() {
    return json{{"type", "object"},
                {"required", js::Array{"lease_id", "lease_epoch", "attempt_id"}},
                {"properties", json{{"lease_id", json{{"type", "string"}, {"format", "uuid"}}},
                                    {"lease_epoch", json{{"type", "integer"}, {"minimum", 0}}},
                                    {"attempt_id", json{{"type", "string"}, {"format", "uuid"}}},
                                    {"backend", wire::schemas::words("sqlite, postgres")},
                                    {"suspended", wire::schemas::boolean()}}}};
}

json object_with(json properties) {
    return json{{"type", "object"}, {"properties", std::move(properties)}};
}

json whole_number(std::int64_t most, json usual) {
    json schema{{"type", "integer"}, {"minimum", 0}, {"maximum", most}};
    if (!usual.is_null()) {
        schema.set("default", std::move(usual));
    }
    return schema;
}

json list_of_texts(std::string_view description) {
    return json{{"type", "array"},
                {"items", json{{"type", "string"}}},
                {"description", std::string(description)}};
}

json backoff_schema() {
    constexpr std::int64_t month_ms = 2'592'000'000;
    json fixed = object_with(
        json{{"type", json{{"const", "fixed"}}}, {"delay_ms", whole_number(month_ms, 1'000)}});
    fixed.set("required", js::Array{"type"});
    json growing =
        object_with(json{{"type", json{{"const", "exponential"}}},
                         {"initial_delay_ms", whole_number(month_ms, 1'000)},
                         {"max_delay_ms", whole_number(month_ms, 60'000)},
                         {"multiplier", json{{"type", "number"}, {"minimum", 1}, {"default", 2}}},
                         {"jitter", json{{"type", "boolean"}, {"default", false}}}});
    growing.set("required", js::Array{"type"});
    return json{{"oneOf", js::Array{std::move(fixed), std::move(growing)}}};
}

/// What a submitter may ask for beyond the defaults (spec 01 section 7), as far as it takes effect.
json policy_schema() {
    constexpr std::int64_t any = std::int64_t{1} << 53;
    constexpr std::int64_t count_max = 4'294'967'295;
    json retry = object_with(
        json{{"max_retries", whole_number(10'000, 3)},
             {"backoff", backoff_schema()},
             {"retryable_categories", list_of_texts("Only these are tried again; empty: all that "
                                                    "can be")}});
    retry.set("description", "Absent: no retries");
    json timeout = object_with(json{{"attempt_timeout_ms", whole_number(any, json())},
                                    {"execution_deadline_ms", whole_number(any, json())},
                                    {"max_reclaim_count", whole_number(count_max, json())}});
    json routing = object_with(
        json{{"required_capabilities", list_of_texts("What the worker must be able to do")}});
    json policy = object_with(json{{"priority", whole_number(2'147'483'647, 0)},
                                   {"delay_until", whole_number(any, json())},
                                   {"retry_policy", std::move(retry)},
                                   {"timeout_policy", std::move(timeout)},
                                   {"max_reclaim_count", whole_number(count_max, 100)},
                                   {"max_replay_count", whole_number(count_max, 10)},
                                   {"routing_requirements", std::move(routing)}});
    policy.set("description", "Members that are not listed are ignored");
    return policy;
}

json error_schema() {
    return json{{"type", "object"},
                {"required", js::Array{"error"}},
                {"properties", json{{"error", json{{"type", "string"}}},
                                    {"kind", json{{"type", "string"}}},
                                    {"retryable", json{{"type", "boolean"}}},
                                    {"code", json{{"type", "string"}}},
                                    {"detail", json{{"type", "object"}}}}}};
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        c = static_cast<char>(c | 0x20);
    }
    return out;
}

json responses_of(const Route& route) {
    json refused{
        {"description", "Refused; `code` says why"},
        {"content", json{{"application/json",
                          json{{"schema", json{{"$ref", "#/components/schemas/Error"}}}}}}}};
    json done{{"description", "Done"}};
    if (route.access == Access::open && !route.path.starts_with("/v1/")) {
        return json{{"200", std::move(done)}};
    }
    return json{{"2XX", std::move(done)}, {"4XX", refused}, {"5XX", std::move(refused)}};
}

json operation_of(const Route& route) {
    json operation = route.describe ? route.describe() : json(js::Object{});
    operation.set("operationId", route.operation);
    operation.set("summary", route.summary);
    operation.set("responses", responses_of(route));
    if (route.access != Access::open) {
        operation.set("security", js::Array{json{{"token", js::Array{}}}});
    }
    return operation;
}

}  // namespace

json openapi_document(const Router& router) {
    json paths{js::Object{}};
    for (const auto& route : router.routes()) {
        const json* known = paths.find(route->path);
        json item = known != nullptr ? *known : json(js::Object{});
        item.set(lower(to_string(route->method)), operation_of(*route));
        paths.set(route->path, std::move(item));
    }
    return json{
        {"openapi", "3.1.0"},
        {"info", json{{"title", "FlowFabric"},
                      {"version", FF_VERSION},
                      {"summary", "Durable execution over HTTP"}}},
        {"paths", std::move(paths)},
        {"components",
         json{{"schemas", json{{"Bytes", bytes_schema()},
                               {"Policy", policy_schema()},
                               {"Fence", fence_schema()},
                               {"Error", error_schema()}}},
              {"securitySchemes", json{{"token", json{{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace ff::http
