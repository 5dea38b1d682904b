// What servers make of requests that are wrong in ways no client of ours would think of.
#include "wire/flow_support.h"
#include "wire/request_schema.h"

namespace ff::wire::test {

namespace {

/// Such as `{"nodes":[0,0,0,…]}`.
std::string list_of_zeros(const std::string& name) {
    std::string body = "{\"flow_kind\":\"k\",\"namespace\":\"n\",\"" + name + "\":[0";
    for (int i = 0; i < 1'000; ++i) {
        body += ",0";
    }
    return body + "]}";
}

}  // namespace

TEST(RequestIn, OfAListNoMoreIsMadeThanUpToItsFirstFault) {
    const auto nodes = read_request<SubmitFlow>("/v1/flows/submit", list_of_zeros("nodes"));
    ASSERT_TRUE(nodes.fault);
    EXPECT_EQ(nodes.fault->member, "nodes[0]");
    EXPECT_LE(nodes.op.nodes.size(), 1U);
    const auto waitpoints = read_request<Suspend>(
        "/v1/executions/%7Bfp%3A7%7D%3A00000000-0000-0000-0000-000000000002/attempts/0/suspend",
        list_of_zeros("waitpoints"));
    ASSERT_TRUE(waitpoints.fault);
    EXPECT_EQ(waitpoints.fault->member, "waitpoints[0]");
    EXPECT_LE(waitpoints.op.waitpoints.size(), 1U);
}

TEST(RequestIn, OfManyFaultsInAListTheFirstIsTold) {
    const auto read = read_request<SubmitFlow>(
        "/v1/flows/submit", R"({"flow_kind":"k","namespace":"n","nodes":[{"name":1},0]})");
    ASSERT_TRUE(read.fault);
    EXPECT_TRUE(read.fault->error.contains("nodes[0].name: expected a string"))
        << read.fault->error;
}

TEST(RequestIn, ACursorThatHasToBeThereIsMissedLikeAnythingElse) {
    const Routed nothing;
    RequestIn in(nothing);
    std::string cursor;
    in.query("cursor", cursor);
    ASSERT_TRUE(in.fault());
    EXPECT_EQ(in.fault()->error, "invalid query: cursor: missing");
}

TEST(RequestIn, ACursorThatIsWrongIsTold) {
    Routed request;
    request.query.emplace_back("cursor", "x");
    RequestIn in(request);
    FrameCursor cursor;
    in.query("cursor", cursor);
    ASSERT_TRUE(in.fault());
    EXPECT_EQ(in.fault()->error, "invalid cursor: x");
}

TEST(RequestSchema, SaysWhatIsCountedInBytes) {
    const json body = body_schema<Progress>();
    const json* message = body.find("properties")->find("message");
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(*message->find("description")->if_string(), "At most 4096 bytes");
}

TEST(RequestSchema, DescribesTheStoreThatACancelMayName) {
    const json body = body_schema<CancelExecution>();
    EXPECT_NE(body.find("properties")->find("backend"), nullptr);
}

}  // namespace ff::wire::test
