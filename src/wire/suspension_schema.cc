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

json texts() { return schemas::list_of(schemas::text({})); }

json matcher() {
    return one_of({json{{"const", "Wildcard"}},
                   object_with({"ByName"}, json{{"ByName", schemas::text({})}})});
}

/// Composites hold conditions; how deep is told in words, as the document has no name for one.
json condition_schema() {
    json single = object_with({"matcher"},
                              json{{"waitpoint_key", schemas::text({})}, {"matcher", matcher()}});
    json members{{"type", "array"}, {"items", json{{"description", "A condition"}}}};
    json all = object_with({"kind", "members"}, json{{"kind", json{{"const", "AllOf"}}},
                                                     {"members", std::move(members)}});
    json count = object_with({"kind", "n", "count_kind", "waitpoints"},
                             json{{"kind", json{{"const", "Count"}}},
                                  {"n", schemas::integer(1, 4'294'967'295)},
                                  {"count_kind", schemas::camel_words(enum_text(CountKind{}))},
                                  {"matcher", matcher()},
                                  {"waitpoints", texts()}});
    json set = object_with({"required_signal_names"},
                           json{{"waitpoint_key", schemas::text({})},
                                {"required_signal_names", texts()},
                                {"signal_match_mode", schemas::of(SignalMatchMode{})},
                                {"minimum_signal_count", schemas::integer(1, 4'294'967'295)}});
    json schema = one_of({tagged("Single", std::move(single)), json{{"const", "OperatorOnly"}},
                          json{{"const", "TimeoutOnly"}},
                          tagged("Composite", one_of({std::move(all), std::move(count)})),
                          tagged("SignalSet", std::move(set))});
    schema.set("description", "When the signals suffice; at most 4 composites deep");
    return schema;
}

}  // namespace

void RequestSchema::payload(std::optional<std::string>& value) {
    optional_bytes("payload", value);
    member("payload_base64", schemas::text("Instead of `payload`"), false);
}

void RequestSchema::waitpoints(std::string_view name, std::vector<WaitpointBinding>& /*bindings*/) {
    json fresh = tagged("Fresh", object_with({}, json{{"waitpoint_id", schemas::uuid()},
                                                      {"waitpoint_key", schemas::text({})}}));
    json pending = tagged("UsePending",
                          object_with({"waitpoint_id"}, json{{"waitpoint_id", schemas::uuid()}}));
    json list{{"type", "array"},
              {"items", one_of({std::move(fresh), std::move(pending)})},
              {"description", "The first is the primary one; one fresh when left out"}};
    member(name, std::move(list), false);
}

void RequestSchema::condition(std::string_view name, ResumeCondition& /*condition*/) {
    member(name, condition_schema(), true);
}

void RequestSchema::resume_policy(std::string_view name, ResumePolicy& /*policy*/) {
    member(
        name,
        object_with({}, json{{"resume_target", json{{"const", "Runnable"}}},
                             {"consume_matched_signals", schemas::of(true)},
                             {"retain_signal_buffer_until_closed", schemas::of(false)},
                             {"resume_delay_ms", schemas::nullable(schemas::of(std::uint64_t{}))},
                             {"close_waitpoint_on_resume", schemas::of(true)}}),
        false);
}

}  // namespace ff::wire
