// Where operations live: each has a route, and no two share one by accident.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "wire/requests.h"

namespace ff::wire::test {

namespace {

std::multimap<std::string, std::string_view> bindings() {
    std::multimap<std::string, std::string_view> out;
    Request::for_each_type([&]<class Op>(std::type_identity<Op>) {
        if constexpr (!is_local<Op>) {  // those stay in their process
            out.emplace(
                std::string(to_string(binding<Op>.method)) + " " + std::string(binding<Op>.path),
                Op::name);
        }
    });
    return out;
}

}  // namespace

TEST(Bindings, EveryOperationHasOne) {
    for (const auto& [route, name] : bindings()) {
        EXPECT_TRUE(route.contains(" /v1/")) << name << " has no route";
    }
}

TEST(Bindings, AreSharedOnlyByClaims) {
    const auto all = bindings();
    for (const auto& [route, name] : all) {
        if (all.count(route) > 1) {
            EXPECT_EQ(route, "POST /v1/executions/{id}/claim") << name;
        }
    }
}

}  // namespace ff::wire::test
