#include "wire/schemas.h"

#include "core/resume_condition.h"

namespace ff::wire::schemas {

json text(std::string_view description) {
    json schema{{"type", "string"}};
    if (!description.empty()) {
        schema.set("description", description);
    }
    return schema;
}

json integer(std::int64_t low, std::int64_t high) {
    return json{{"type", "integer"}, {"minimum", low}, {"maximum", high}};
}

json reference(std::string_view name) {
    return json{{"$ref", "#/components/schemas/" + std::string(name)}};
}

json nullable(json schema) {
    return json{{"oneOf", js::Array{std::move(schema), json{{"type", "null"}}}}};
}

json words(std::string_view names) {
    js::Array list;
    for (const std::string_view word : words_of(names)) {
        list.emplace_back(word);
    }
    return json{{"type", "string"}, {"enum", std::move(list)}};
}

json camel_words(std::string_view names) {
    js::Array list;
    for (const std::string_view word : words_of(names)) {
        list.emplace_back(core::camel_case(word));
    }
    return json{{"type", "string"}, {"enum", std::move(list)}};
}

json boolean() { return json{{"type", "boolean"}}; }
json uuid() { return json{{"type", "string"}, {"format", "uuid"}}; }

json object_of(json values) {
    return json{{"type", "object"}, {"additionalProperties", std::move(values)}};
}

json list_of(json items) { return json{{"type", "array"}, {"items", std::move(items)}}; }

json of(const std::string& /*value*/) { return text({}); }
json of(const EventCursor& /*cursor*/) {
    return text("A place among events: empty for now, `earliest`, or a cursor that was given");
}
json of(const EventTag& /*tag*/) { return text("key=value"); }
json of(const FrameCursor& /*cursor*/) { return text("`start`, `end`, `<ms>` or `<ms>-<seq>`"); }
json of(const ExecutionId& /*id*/) { return text("An execution id"); }
json of(const Uuid& /*id*/) { return uuid(); }
json of(const Tags& /*tags*/) { return object_of(text({})); }
json of(const BudgetLimit& /*limit*/) {
    return json{{"type", "object"},
                {"minProperties", 1},
                {"properties", json{{"hard", of(std::uint64_t{})}, {"soft", of(std::uint64_t{})}}}};
}
json of(const EventFilter& /*filter*/) {
    return json{{"type", "object"},
                {"properties", json{{"namespace", text({})},
                                    {"tag", of(EventTag{})},
                                    {"execution_id", of(ExecutionId{})},
                                    {"flow_id", of(FlowId{})}}}};
}

}  // namespace ff::wire::schemas
