// An execution that waits on a server of the test.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <ff/suspension.h>

#include "http/test_server.h"

namespace ff::http::test {

struct SuspendedExecution {
    std::string id;
    WaitpointTicket ticket;

    [[nodiscard]] std::string token_path() const {
        return "/v1/executions/" + encoded(id) + "/waitpoints/" + ticket.waitpoint_id.to_string() +
               "/token";
    }
};

/// Creates, takes and suspends one. `more` are members of the suspension beside its fence.
inline SuspendedExecution suspend_one(
    const TestServer& server,
    const std::string& more = R"("resume_condition":{"Single":{"matcher":"Wildcard"}})",
    const std::string& create = create_body()) {
    SuspendedExecution out;
    const json made = server.post("/v1/executions", create).document();
    out.id = text_of(*made.find("Created"), "execution_id");
    const json task = server.claim();
    const RawAnswer answer =
        server.post("/v1/executions/" + encoded(out.id) + "/attempts/0/suspend",
                    "{\"fence\":" + fence_of(task) + "," + more + "}");
    EXPECT_EQ(answer.status, 200) << answer.body;
    const json whole = answer.document();
    if (const json* details = whole.find("Suspended")) {
        out.ticket.waitpoint_id = {*Uuid::parse(text_of(*details, "waitpoint_id"))};
        out.ticket.waitpoint_key = text_of(*details, "waitpoint_key");
        out.ticket.waitpoint_token = text_of(*details, "waitpoint_token");
    } else {
        ADD_FAILURE() << answer.body;
    }
    return out;
}

}  // namespace ff::http::test
