// What tests of the wire stand on: ids that are easy to read, and a request taken from the client's
// hand into the server's without a network between them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "wire/answers.h"
#include "wire/errors.h"
#include "wire/request_in.h"
#include "wire/request_out.h"

namespace ff::wire::test {

inline Uuid uuid(std::uint8_t number) {
    Uuid out;
    out.bytes[15] = number;
    return out;
}
inline ExecutionId execution(std::uint8_t number) { return {7, uuid(number)}; }
inline FlowId flow(std::uint8_t number = 1) { return {uuid(number)}; }
inline EdgeId edge_id(std::uint8_t number) { return {uuid(number)}; }

inline constexpr std::string_view flow_text = "00000000-0000-0000-0000-000000000001";
inline constexpr std::string_view edge_text = "00000000-0000-0000-0000-000000000009";

/// The parameters of a path, by the names in the template.
inline void read_path(std::string_view pattern, std::string_view path, Routed& routed) {
    const auto names = segments_of(pattern);
    const auto texts = segments_of(path);
    ASSERT_EQ(names.size(), texts.size()) << pattern << " and " << path;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].starts_with('{')) {
            routed.path.emplace_back(names[i].substr(1, names[i].size() - 2), *decoded(texts[i]));
        } else {
            ASSERT_EQ(names[i], texts[i]);
        }
    }
}

/// A request as the router hands it on. `target` is a path with or without a query.
template <class Op>
Routed routed(std::string_view target, std::string_view body) {
    Routed out;
    const std::size_t mark = target.find('?');
    read_path(binding<Op>.path, target.substr(0, mark), out);
    if (mark != std::string_view::npos) {
        out.query = *query_of(target.substr(mark + 1));
    }
    auto parsed = js::parse(body.empty() ? "{}" : body);
    EXPECT_TRUE(parsed) << body;
    out.body = parsed ? *parsed : json(js::Object{});
    return out;
}

template <class Op>
struct Read {
    Op op;
    std::optional<RequestFault> fault;
};

template <class Op>
Read<Op> read_request(std::string_view target, std::string_view body = {}) {
    const Routed request = routed<Op>(target, body);
    RequestIn in(request);
    Read<Op> out;
    describe_request(in, out.op);
    out.fault = in.fault();
    return out;
}

/// `400 text` of what was wrong with a request, `none` when nothing was.
template <class Op>
std::string fault_of(std::string_view target, std::string_view body = {}) {
    const auto read = read_request<Op>(target, body);
    return read.fault ? std::to_string(read.fault->status) + " " + read.fault->error : "none";
}

/// `POST /path {"body"}`.
inline std::string text_of(const Call& call) {
    return std::string(to_string(call.method)) + " " + call.target +
           (call.body.empty() ? "" : " " + call.body);
}

template <class Op>
std::string written(const Op& op) {
    return text_of(write_request(Request(std::in_place_type<Op>, op)));
}

/// Written by a client, read by a server, and written again: nothing may be lost on the way.
template <class Op>
void expect_request(const Op& op, std::string_view text) {
    const Call call = write_request(Request(std::in_place_type<Op>, op));
    EXPECT_EQ(text_of(call), text);
    const auto read = read_request<Op>(call.target, call.body);
    ASSERT_FALSE(read.fault) << text << "\n" << read.fault->error;
    EXPECT_EQ(written(read.op), text);
}

/// `201 {"body"}`.
inline std::string text_of(const Answer& answer) {
    return std::to_string(answer.status) + " " + answer.body;
}

/// Written by a server and read by a client.
template <class Op>
expected<typename Op::Result> received(const Answer& answer, const Op& op = {}) {
    const Response response = read_answer(Request(std::in_place_type<Op>, op),
                                          Received{answer.status, answer.body, std::nullopt});
    if (!response) {
        return std::unexpected(response.error());
    }
    return ff::get<typename Op::Result>(*response);
}

/// The same where it must be a result.
template <class Op>
typename Op::Result taken(const Answer& answer) {
    auto result = received<Op>(answer);
    EXPECT_TRUE(result) << result.error().message();
    return result ? std::move(*result) : typename Op::Result{};
}

template <class Op>
void expect_answer(const typename Op::Result& result, std::string_view text) {
    const Answer answer = write_answer<Op>(result);
    EXPECT_EQ(text_of(answer), text);
    EXPECT_TRUE(taken<Op>(answer) == result) << text;
}

/// A row of a table of errors, and what is told of it.
struct ErrorRow {
    ErrorCode code;
    std::string_view detail;
    int status;
    std::string_view kind;   ///< empty: none is told
    std::string_view retry;  ///< empty: none is told
    std::string_view error;
};

inline std::string member_text(const json& body, std::string_view name) {
    const json* member = body.find(name);
    if (member == nullptr) {
        return "";
    }
    return member->if_string() != nullptr ? *member->if_string() : js::dump(*member);
}

inline void expect_row(const ErrorRow& row, std::string_view operation = "") {
    const Error error{row.code, std::string(row.detail), {}};
    const Answer answer = write_error(error, operation);
    const auto body = js::parse(answer.body);
    ASSERT_TRUE(body) << answer.body;
    EXPECT_EQ(answer.status, row.status) << answer.body;
    EXPECT_EQ(member_text(*body, "error"), row.error) << answer.body;
    EXPECT_EQ(member_text(*body, "kind"), row.kind) << answer.body;
    EXPECT_EQ(member_text(*body, "retryable"), row.retry) << answer.body;
    EXPECT_EQ(member_text(*body, "code"), to_string(row.code)) << answer.body;
    EXPECT_EQ(read_error(answer.status, answer.body), error) << answer.body;
}

inline LeaseRef lease() {
    LeaseRef out(execution(2));
    out.attempt_index = 0;
    out.lease_id = LeaseId{uuid(4)};
    out.lease_epoch = 1;
    out.attempt_id = AttemptId{uuid(5)};
    return out;
}

}  // namespace ff::wire::test
