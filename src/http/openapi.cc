// The interface described for programs, from the route table alone.
#include "http/routes.h"
#include "wire/errors.h"

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
                                    {"attempt_id", json{{"type", "string"}, {"format", "uuid"}}}}}};
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
    if (route.access == Access::open) {
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
                               {"Fence", fence_schema()},
                               {"Error", error_schema()}}},
              {"securitySchemes", json{{"token", json{{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace ff::http
