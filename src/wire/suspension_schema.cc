// What requests of suspension look like to those who read the description of the interface.
#include "wire/request_schema.h"

namespace ff::wire {

namespace {

json object_with(js::Array required, json properties) {
    json schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) {
        schema.set("required", std::move(required));
    }
    return schema;
}

json one_of(js::Array schemas) { return json{{"oneOf", std::move(schemas)}}; }

/// `{"Tag":{…}}`.
json tagged(std::string_view tag, json inner) {
    js::Object properties;
    properties.emplace_back(tag, std::move(inner));
    return object_with({tag}, std::move(properties));
}

json uuid() { return json{{"type", "string"}, {"format", "uuid"}}; }

json texts() { return json{{"type", "array"}, {"items", RequestSchema::text({})}}; }

json matcher() {
    return one_of({json{{"const", "Wildcard"}},
                   object_with({"ByName"}, json{{"ByName", RequestSchema::text({})}})});
}

/// Composites hold conditions; how deep is told in words, as the document has no name for one.
json condition_schema() {
    json single = object_with(
        {"matcher"}, json{{"waitpoint_key", RequestSchema::text({})}, {"matcher", matcher()}});
    json members{{"type", "array"}, {"items", json{{"description", "A condition"}}}};
    json all = object_with({"kind", "members"}, json{{"kind", json{{"const", "AllOf"}}},
                                                     {"members", std::move(members)}});
    json count =
        object_with({"kind", "n", "count_kind", "waitpoints"},
                    json{{"kind", json{{"const", "Count"}}},
                         {"n", RequestSchema::integer(1, 4'294'967'295)},
                         {"count_kind", RequestSchema::camel_words(enum_text(CountKind{}))},
                         {"matcher", matcher()},
                         {"waitpoints", texts()}});
    json set =
        object_with({"required_signal_names"},
                    json{{"waitpoint_key", RequestSchema::text({})},
                         {"required_signal_names", texts()},
                         {"signal_match_mode", RequestSchema::words(enum_text(SignalMatchMode{}))},
                         {"minimum_signal_count", RequestSchema::integer(1, 4'294'967'295)}});
    json schema = one_of({tagged("Single", std::move(single)), json{{"const", "OperatorOnly"}},
                          json{{"const", "TimeoutOnly"}},
                          tagged("Composite", one_of({std::move(all), std::move(count)})),
                          tagged("SignalSet", std::move(set))});
    schema.set("description", "When the signals suffice; at most 4 composites deep");
    return schema;
}

}  // namespace

json RequestSchema::camel_words(std::string_view names) {
    json schema = words(names);
    js::Array list;
    for (const json& word : *schema.find("enum")->if_array()) {
        list.emplace_back(core::camel_case(*word.if_string()));
    }
    schema.set("enum", std::move(list));
    return schema;
}

void RequestSchema::payload(const std::optional<std::string>& value) {
    optional_bytes("payload", value);
    member("payload_base64", text("Instead of `payload`"), false);
}

void RequestSchema::waitpoints(std::string_view name,
                               const std::vector<WaitpointBinding>& /*bindings*/) {
    json fresh = tagged(
        "Fresh", object_with({}, json{{"waitpoint_id", uuid()}, {"waitpoint_key", text({})}}));
    json pending =
        tagged("UsePending", object_with({"waitpoint_id"}, json{{"waitpoint_id", uuid()}}));
    json list{{"type", "array"},
              {"items", one_of({std::move(fresh), std::move(pending)})},
              {"description", "The first is the primary one; one fresh when left out"}};
    member(name, std::move(list), false);
}

void RequestSchema::condition(std::string_view name, const ResumeCondition& /*condition*/) {
    member(name, condition_schema(), true);
}

void RequestSchema::resume_policy(std::string_view name, const ResumePolicy& /*policy*/) {
    member(name,
           object_with({}, json{{"resume_target", json{{"const", "Runnable"}}},
                                {"consume_matched_signals", schema_of(true)},
                                {"retain_signal_buffer_until_closed", schema_of(false)},
                                {"resume_delay_ms", nullable(schema_of(std::uint64_t{}))},
                                {"close_waitpoint_on_resume", schema_of(true)}}),
           false);
}

}  // namespace ff::wire
