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

template <std::size_t... I>
void collect(std::multimap<std::string, std::string_view>& out, std::index_sequence<I...>) {
    (out.emplace(std::string(to_string(binding<std::variant_alternative_t<I, Request>>.method)) +
                     " " + std::string(binding<std::variant_alternative_t<I, Request>>.path),
                 std::variant_alternative_t<I, Request>::name),
     ...);
}

std::multimap<std::string, std::string_view> bindings() {
    std::multimap<std::string, std::string_view> out;
    collect(out, std::make_index_sequence<std::variant_size_v<Request>>());
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
