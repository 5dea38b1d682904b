// The description of the interface: whole, consistent, and true of the routes there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include <ff/policy.h>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

class OpenApi : public testing::Test {
  protected:
    OpenApi() : server_(options()), document_(server_.get("/v1/openapi.json").document()) {}

    static TestOptions options() {
        TestOptions options;
        options.service.metrics_text = [] { return ""; };
        options.service.config = [] { return json(js::Object{}); };
        options.service.gate.allow_insecure = true;
        return options;
    }

    /// What a path of names leads to; null when it leads nowhere.
    [[nodiscard]] static const json* at(const json& from,
                                        std::initializer_list<std::string> names) {
        const json* found = &from;
        for (const std::string& name : names) {
            found = found != nullptr ? found->find(name) : nullptr;
        }
        return found;
    }
    /// The body's schema of an operation.
    [[nodiscard]] const json* body(const std::string& path, const std::string& method) const {
        return at(document_,
                  {"paths", path, method, "requestBody", "content", "application/json", "schema"});
    }
    [[nodiscard]] static std::set<std::string> names_of(const json* object) {
        std::set<std::string> names;
        if (object != nullptr && object->if_object() != nullptr) {
            for (const auto& [name, value] : *object->if_object()) {
                names.insert(name);
            }
        }
        return names;
    }
    [[nodiscard]] static std::set<std::string> words_of(const json* list) {
        std::set<std::string> words;
        if (list != nullptr && list->if_array() != nullptr) {
            for (const json& word : *list->if_array()) {
                words.insert(*word.if_string());
            }
        }
        return words;
    }

    TestServer server_;
    json document_;
};

TEST_F(OpenApi, IsADocumentOfVersion31) {
    EXPECT_EQ(text_of(document_, "openapi"), "3.1.0");
    const json* info = document_.find("info");
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(text_of(*info, "title"), "FlowFabric");
    EXPECT_EQ(text_of(*info, "version"), FF_VERSION);
}

TEST_F(OpenApi, HasEveryRouteAndNoOther) {
    std::size_t described = 0;
    for (const auto& [path, methods] : *document_.find("paths")->if_object()) {
        described += methods.if_object()->size();
    }
    const auto& routes = server_.server().service().router().routes();
    EXPECT_EQ(described, routes.size());
    for (const auto& route : routes) {
        std::string method(to_string(route->method));
        std::ranges::transform(method, method.begin(),
                               [](unsigned char c) { return std::tolower(c); });
        const json* operation = at(document_, {"paths", route->path, method});
        ASSERT_NE(operation, nullptr) << method << " " << route->path;
        EXPECT_NE(text_of(*operation, "summary"), "") << route->path;
        EXPECT_NE(operation->find("responses"), nullptr) << route->path;
        EXPECT_EQ(operation->find("security") != nullptr, route->access != Access::open)
            << route->path;
        const bool takes_json = route->body == Body::json;
        EXPECT_EQ(body(route->path, method) != nullptr, takes_json) << method << route->path;
    }
}

/// Places in a schema that are not what JSON Schema says they are.
void find_faults(const json& value, const std::string& place, std::vector<std::string>& out) {
    if (const auto* array = value.if_array()) {
        for (std::size_t i = 0; i < array->size(); ++i) {
            find_faults((*array)[i], place + "/" + std::to_string(i), out);
        }
        return;
    }
    if (value.if_object() == nullptr) {
        return;
    }
    for (const auto& [name, member] : *value.if_object()) {
        const std::string here = place + "/" + name;
        const bool list = name == "required" || name == "oneOf" || name == "enum";
        const bool object = name == "properties" || name == "items";
        if ((list && member.if_array() == nullptr && member.if_bool() == nullptr) ||
            (object && member.if_object() == nullptr)) {
            out.push_back(here);
        }
        find_faults(member, here, out);
    }
}

TEST_F(OpenApi, SchemasAreSchemas) {
    std::vector<std::string> faults;
    find_faults(document_, "", faults);
    EXPECT_EQ(faults, std::vector<std::string>{});
}

TEST_F(OpenApi, OperationIdsAreUnique) {
    std::set<std::string> seen;
    for (const auto& [path, methods] : *document_.find("paths")->if_object()) {
        for (const auto& [method, operation] : *methods.if_object()) {
            const std::string id = text_of(operation, "operationId");
            EXPECT_TRUE(std::regex_match(id, std::regex("[a-z][a-z0-9_]*"))) << path << " " << id;
            EXPECT_TRUE(seen.insert(id).second) << id;
        }
    }
}

TEST_F(OpenApi, EveryParameterOfAPathIsDeclaredAndNoneThatIsNotThere) {
    const std::regex parameter(R"(\{(\w+)\})");
    for (const auto& [path, methods] : *document_.find("paths")->if_object()) {
        std::set<std::string> in_path;
        for (std::sregex_iterator it(path.begin(), path.end(), parameter), end; it != end; ++it) {
            in_path.insert((*it)[1]);
        }
        for (const auto& [method, operation] : *methods.if_object()) {
            std::set<std::string> declared;
            std::set<std::string> all;
            const json* list = operation.find("parameters");
            ASSERT_TRUE(list != nullptr || in_path.empty()) << method << " " << path;
            for (const json& p : list != nullptr ? *list->if_array() : js::Array{}) {
                EXPECT_TRUE(all.insert(text_of(p, "in") + text_of(p, "name")).second)
                    << path << " declares " << text_of(p, "name") << " twice";
                EXPECT_NE(p.find("schema"), nullptr);
                if (text_of(p, "in") == "path") {
                    EXPECT_EQ(text_of(p, "required"), "true");
                    declared.insert(text_of(p, "name"));
                }
            }
            EXPECT_EQ(declared, in_path) << method << " " << path;
        }
    }
}

void collect_references(const json& value, std::set<std::string>& found) {
    if (const js::Object* object = value.if_object()) {
        for (const auto& [name, member] : *object) {
            if (name == "$ref") {
                found.insert(*member.if_string());
            }
            collect_references(member, found);
        }
    } else if (const js::Array* array = value.if_array()) {
        for (const json& element : *array) {
            collect_references(element, found);
        }
    }
}

TEST_F(OpenApi, EveryReferenceLeadsSomewhere) {
    std::set<std::string> references;
    collect_references(document_, references);
    EXPECT_FALSE(references.empty());
    for (const std::string& reference : references) {
        ASSERT_TRUE(reference.starts_with("#/components/schemas/")) << reference;
        EXPECT_NE(at(document_, {"components", "schemas", reference.substr(21)}), nullptr)
            << reference;
    }
}

TEST_F(OpenApi, EveryRequiredMemberIsOneThatIsDescribed) {
    std::size_t bodies = 0;
    for (const auto& [path, methods] : *document_.find("paths")->if_object()) {
        for (const auto& [method, operation] : *methods.if_object()) {
            const json* schema = body(path, method);
            if (schema == nullptr) {
                continue;
            }
            ++bodies;
            const std::set<std::string> members = names_of(schema->find("properties"));
            for (const std::string& name : words_of(schema->find("required"))) {
                EXPECT_TRUE(members.contains(name)) << path << " " << name;
            }
        }
    }
    EXPECT_GT(bodies, 15U);
}

TEST_F(OpenApi, ThePolicyOfAnExecutionIsDescribed) {
    const json* policy = at(document_, {"components", "schemas", "Policy", "properties"});
    ASSERT_NE(policy, nullptr);
    const json* retries = at(*policy, {"retry_policy", "properties", "max_retries"});
    ASSERT_NE(retries, nullptr);
    EXPECT_EQ(text_of(*retries, "default"), std::to_string(RetryPolicy{}.max_retries));
    const json* reclaims = policy->find("max_reclaim_count");
    ASSERT_NE(reclaims, nullptr);
    EXPECT_EQ(text_of(*reclaims, "default"), std::to_string(Policy{}.reclaim_cap()));
    const json* replays = policy->find("max_replay_count");
    ASSERT_NE(replays, nullptr);
    EXPECT_EQ(text_of(*replays, "default"), std::to_string(Policy{}.replay_cap()));
}

TEST_F(OpenApi, BodiesOfManyItemsSayWhatAnItemIs) {
    const json* create = body("/v1/executions/batch", "post");
    ASSERT_NE(create, nullptr);
    const json* items = at(*create, {"properties", "executions", "items"});
    ASSERT_NE(items, nullptr);
    EXPECT_EQ(*items, *body("/v1/executions", "post")) << "each is a create";
    const json* outcome =
        at(*body("/v1/attempts/complete-batch", "post"), {"properties", "items", "items", "oneOf"});
    ASSERT_NE(outcome, nullptr);
    ASSERT_EQ(outcome->if_array()->size(), 2U);
    for (const json& form : *outcome->if_array()) {
        const std::set<std::string> members = names_of(form.find("properties"));
        for (const std::string name : {"execution_id", "attempt_index", "fence", "handle"}) {
            EXPECT_TRUE(members.contains(name)) << name;
        }
    }
    const json& failed = outcome->if_array()->at(1);
    EXPECT_EQ(words_of(at(failed, {"properties", "fail", "required"})),
              (std::set<std::string>{"failure_category", "failure_reason"}));
}

TEST_F(OpenApi, HeartbeatsAndCancelsSayWhatTheyTake) {
    const json* beat = body("/v1/workers/{worker_id}/heartbeat", "post");
    ASSERT_NE(beat, nullptr);
    const json* leases = at(*beat, {"properties", "leases", "oneOf"});
    ASSERT_NE(leases, nullptr);
    const std::set<std::string> lease =
        names_of(at(leases->if_array()->at(0), {"items", "properties"}));
    EXPECT_TRUE(lease.contains("execution_id") && lease.contains("attempt_index") &&
                lease.contains("fence") && lease.contains("lease_ttl_ms"));
    const json* cancel = body("/v1/executions/{id}/attempts/{idx}/cancel", "post");
    ASSERT_NE(cancel, nullptr);
    EXPECT_EQ(words_of(cancel->find("required")), std::set<std::string>{"reason"});
    EXPECT_EQ(words_of(body("/v1/executions/{id}/tags/{key}", "put")->find("required")),
              std::set<std::string>{"value"});
}

/// What a schema says must be there is what the server misses first.
TEST_F(OpenApi, WhatIsRequiredIsMissedByTheServer) {
    for (const auto& route : server_.server().service().router().routes()) {
        if (route->body != Body::json) {
            continue;
        }
        std::string method(to_string(route->method));
        std::string lower = method == "PUT" ? "put" : method == "DELETE" ? "delete" : "post";
        const std::set<std::string> required = words_of(body(route->path, lower)->find("required"));
        std::string target = std::regex_replace(route->path, std::regex(R"(\{id\})"),
                                                "{fp:0}:018f0000-0000-7000-8000-000000000001");
        target = std::regex_replace(target, std::regex(R"(\{idx\})"), "0");
        target = std::regex_replace(target, std::regex(R"(\{\w+\}$|\{[a-z_]+\}(?=/))"), "x");
        const RawAnswer answer = server_.ask(json_request(method, target, "{}"));
        EXPECT_EQ(answer.status == 422, !required.empty()) << method << " " << target << "\n"
                                                           << answer.body;
    }
}

}  // namespace
}  // namespace ff::http::test
