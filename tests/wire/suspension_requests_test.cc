// Requests of suspension: what clients send, what servers make of it, and what they say to the
// rest.
#include <ff/callback.h>

#include "core/resume_condition.h"
#include "wire/callback.h"
#include "wire/flow_support.h"
#include "wire/request_schema.h"

namespace ff::wire::test {

namespace {

constexpr std::string_view waitpoint_text = "00000000-0000-0000-0000-000000000006";
constexpr std::string_view fence_text =
    R"("fence":{"lease_id":"00000000-0000-0000-0000-000000000004","lease_epoch":1,)"
    R"("attempt_id":"00000000-0000-0000-0000-000000000005"})";

std::string at(std::string_view rest) {
    return "/v1/executions/%7Bfp%3A7%7D%3A00000000-0000-0000-0000-000000000002" + std::string(rest);
}

WaitpointId waitpoint() { return {uuid(6)}; }

DeliverSignal signal() {
    DeliverSignal op;
    op.execution_id = execution(2);
    op.waitpoint_id = waitpoint();
    op.signal_name = "done";
    op.waitpoint_token = "k1:abc";
    return op;
}

const std::string signal_body =
    R"({"waitpoint_id":"00000000-0000-0000-0000-000000000006","signal_name":"done",)"
    R"("waitpoint_token":"t")";

const std::string suspend_body = R"({"resume_condition":"OperatorOnly")";

}  // namespace

// ------------------------------------------------------------------------- there and back again

TEST(SuspensionRequests, OfALeaseHolder) {
    expect_request(CreateWaitpoint{lease(), "k", 5000},
                   "POST " + at("/attempts/0/waitpoints") + " {" + std::string(fence_text) +
                       R"(,"waitpoint_key":"k","expires_in_ms":5000})");
    expect_request(CloseWaitpoint{lease(), waitpoint(), "changed my mind"},
                   "POST " + at("/attempts/0/waitpoints/") + std::string(waitpoint_text) +
                       "/close {" + std::string(fence_text) + R"(,"reason":"changed my mind"})");
    expect_request(ObserveSignals{execution(2), 3}, "GET " + at("/attempts/3/resume-signals"));
    expect_request(ObserveSignals{execution(2), {}},
                   "GET " + at("/attempts/current/resume-signals"));
}

TEST(SuspensionRequests, OfASuspension) {
    Suspend op;
    op.lease = lease();
    op.waitpoints = {WaitpointBinding::fresh("a"), WaitpointBinding::pending(waitpoint())};
    op.resume_condition = ResumeCondition::single("a", "done");
    expect_request(op, "POST " + at("/attempts/0/suspend") + " {" + std::string(fence_text) +
                           R"(,"waitpoints":[{"Fresh":{"waitpoint_key":"a"}},)"
                           R"({"UsePending":{"waitpoint_id":")" +
                           std::string(waitpoint_text) + R"("}}],"resume_condition":)" +
                           op.resume_condition.to_json() + R"(,"resume_policy":)" +
                           core::to_json(op.resume_policy) +
                           R"(,"reason_code":"WaitingForSignal","requested_by":"Worker",)"
                           R"("timeout_behavior":"Fail","idempotency_key":""})");
    op.suspension_id = SuspensionId{uuid(7)};
    op.resume_policy.resume_delay_ms = 9;
    op.reason_code = SuspensionReason::waiting_for_approval;
    op.requested_by = SuspensionRequester::operator_;
    op.timeout_at = 77;
    op.timeout_behavior = TimeoutBehavior::auto_resume_with_timeout_signal;
    op.continuation_metadata_pointer = "p";
    op.idempotency_key = "once";
    const auto read =
        read_request<Suspend>(at("/attempts/0/suspend"), write_request(Request(op)).body);
    ASSERT_FALSE(read.fault) << read.fault->error;
    EXPECT_EQ(read.op.suspension_id, op.suspension_id);
    EXPECT_EQ(read.op.waitpoints, op.waitpoints);
    EXPECT_EQ(read.op.resume_condition, op.resume_condition);
    EXPECT_EQ(read.op.resume_policy, op.resume_policy);
    EXPECT_EQ(read.op.reason_code, op.reason_code);
    EXPECT_EQ(read.op.requested_by, op.requested_by);
    EXPECT_EQ(read.op.timeout_at, op.timeout_at);
    EXPECT_EQ(read.op.timeout_behavior, op.timeout_behavior);
    EXPECT_EQ(read.op.continuation_metadata_pointer, op.continuation_metadata_pointer);
    EXPECT_EQ(read.op.idempotency_key, "once");
}

TEST(SuspensionRequests, AHandleOfASuspensionIsKnownAsOne) {
    Suspend op;
    op.lease = lease();
    op.lease.suspended = true;
    const auto read =
        read_request<Suspend>(at("/attempts/0/suspend"), write_request(Request(op)).body);
    ASSERT_FALSE(read.fault) << read.fault->error;
    EXPECT_TRUE(read.op.lease.suspended);
}

TEST(SuspensionRequests, OfSignals) {
    DeliverSignal op = signal();
    expect_request(op, "POST " + at("/signal?detail=true") +
                           R"( {"waitpoint_id":"00000000-0000-0000-0000-000000000006",)"
                           R"("signal_name":"done","signal_category":"default",)"
                           R"("source_type":"external","source_identity":"",)"
                           R"("target_scope":"Execution","waitpoint_token":"k1:abc",)"
                           R"("payload_encoding":"json","correlation_id":"","idempotency_key":"",)"
                           R"("dedup_ttl_ms":86400000,"signal_maxlen":1000})");
    op.signal_id = SignalId{uuid(8)};
    op.payload = std::string("\x00\xff", 2);
    op.created_at = 5;
    op.resume_delay_ms = 6;
    op.max_signals_per_execution = 7;
    op.target_scope = SignalScope::waitpoint;
    const auto read = read_request<DeliverSignal>(at("/signal"), write_request(Request(op)).body);
    ASSERT_FALSE(read.fault) << read.fault->error;
    EXPECT_EQ(written(read.op), written(op));
    EXPECT_EQ(read.op.payload, op.payload);

    DeliverApprovalSignal approval;
    approval.execution_id = execution(2);
    approval.lane_id = "l";
    approval.waitpoint_id = waitpoint();
    approval.signal_name = "approved";
    approval.idempotency_suffix = "s";
    expect_request(approval,
                   "POST " + at("/approval-signal?detail=true") +
                       R"( {"lane_id":"l","waitpoint_id":"00000000-0000-0000-0000-000000000006",)"
                       R"("signal_name":"approved","idempotency_suffix":"s",)"
                       R"("signal_dedup_ttl_ms":86400000,"actor":""})");
    expect_request(ResumeExecution{execution(2), ResumeTrigger::operator_, 5, "ada", "why not"},
                   "POST " + at("/resume") +
                       R"( {"trigger_type":"Operator","resume_delay_ms":5,"actor":"ada",)"
                       R"("reason":"why not"})");
    expect_request(ExpireSuspension{execution(2)}, "POST " + at("/expire-suspension") + " {}");
}

TEST(SuspensionRequests, OfKeys) {
    expect_request(SeedWaitpointKey{"k1", "ab"},
                   R"(POST /v1/admin/seed-waitpoint-secret {"kid":"k1","secret_hex":"ab"})");
    expect_request(RotateWaitpointKey{"k2", "cd", 5},
                   "POST /v1/admin/rotate-waitpoint-secret?detail=true "
                   R"({"new_kid":"k2","new_secret_hex":"cd","grace_ms":5})");
    expect_request(ListWaitpointKeys{}, "GET /v1/admin/waitpoint-kids");
}

TEST(SuspensionRequests, OfReads) {
    expect_request(ListPendingWaitpoints{execution(2), waitpoint(), 5},
                   "GET " + at("/pending-waitpoints?detail=true&after=") +
                       std::string(waitpoint_text) + "&limit=5");
    expect_request(ReadWaitpointToken{execution(2), waitpoint()},
                   "GET " + at("/waitpoints/") + std::string(waitpoint_text) + "/token");
    expect_request(FindWaitpoint{waitpoint()}, "GET /v1/waitpoints/" + std::string(waitpoint_text));
    expect_request(ListSuspensions{execution(2)}, "GET " + at("/suspensions"));
    ListSuspended list;
    expect_request(list, "GET /v1/suspended?limit=100");
    list = {3, "l", "acme", "99|x", 7};
    expect_request(list,
                   "GET /v1/suspended?partition=3&lane=l&namespace=acme&cursor=99%7Cx&limit=7");
    expect_request(ListSignals{execution(2), 0, 100, false}, "GET " + at("/signals?limit=100"));
    expect_request(ListSignals{execution(2), 4, 2, true},
                   "GET " + at("/signals?after_seq=4&limit=2&with_payload=true"));
}

// --------------------------------------------------------------------------- what servers accept

TEST(SuspensionRequests, APayloadComesInAnyForm) {
    const auto payload = [](std::string_view member) {
        const auto read = read_request<DeliverSignal>(
            at("/signal"), signal_body + "," + std::string(member) + "}");
        return read.fault ? read.fault->error : read.op.payload.value_or("none");
    };
    EXPECT_EQ(payload(R"("payload":[104,105])"), "hi");
    EXPECT_EQ(payload(R"("payload":{"base64":"aGk="})"), "hi");
    EXPECT_EQ(payload(R"("payload":{"json":{"a":1}})"), R"({"a":1})");
    EXPECT_EQ(payload(R"("payload_base64":"aGk=")"), "hi");
    EXPECT_EQ(payload(R"("payload":null,"payload_base64":null)"), "none");
    EXPECT_EQ(payload(R"("payload_base64":"aGk")"),
              "invalid JSON: Unprocessable Entity: payload_base64: expected base64 with padding");
    EXPECT_EQ(payload(R"("payload":[256])"),
              "invalid JSON: Unprocessable Entity: payload[0]: expected an integer between 0 and "
              "255");
    EXPECT_EQ(payload(R"("payload":[1],"payload_base64":"aGk=")"),
              "invalid JSON: Unprocessable Entity: payload_base64: there is a payload as well");
}

TEST(SuspensionRequests, WhatIsOptionalMayBeNull) {
    const auto read = read_request<DeliverSignal>(
        at("/signal"),
        signal_body + R"(,"now":1,"signal_id":null,"payload_encoding":null,"correlation_id":null,)"
                      R"("idempotency_key":null,"created_at":null,"dedup_ttl_ms":null,)"
                      R"("resume_delay_ms":null,"signal_maxlen":null,)"
                      R"("max_signals_per_execution":null})");
    ASSERT_FALSE(read.fault) << read.fault->error;
    EXPECT_EQ(read.op.payload_encoding, "json");
    EXPECT_EQ(read.op.dedup_ttl_ms, 86'400'000);
    EXPECT_EQ(fault_of<DeliverSignal>(at("/signal"), signal_body + R"(,"source_type":null})"),
              "422 invalid JSON: Unprocessable Entity: source_type: expected a string");
}

TEST(SuspensionRequests, WordsMayBeSpelledInTwoWays) {
    for (const std::string_view body :
         {R"(,"reason_code":"PausedByBudget","timeout_behavior":"Escalate",)"
          R"("requested_by":"Policy"})",
          R"(,"reason_code":"paused_by_budget","timeout_behavior":"escalate",)"
          R"("requested_by":"policy"})"}) {
        const auto read =
            read_request<Suspend>(at("/attempts/0/suspend"), suspend_body + std::string(body));
        ASSERT_FALSE(read.fault) << read.fault->error;
        EXPECT_EQ(read.op.reason_code, SuspensionReason::paused_by_budget);
        EXPECT_EQ(read.op.timeout_behavior, TimeoutBehavior::escalate);
        EXPECT_EQ(read.op.requested_by, SuspensionRequester::policy);
    }
}

TEST(SuspensionRequests, ASuspensionHasOneFreshWaitpointUnlessItSaysOtherwise) {
    const auto read = read_request<Suspend>(at("/attempts/0/suspend"), suspend_body + "}");
    ASSERT_FALSE(read.fault) << read.fault->error;
    EXPECT_EQ(read.op.waitpoints, std::vector{WaitpointBinding{}});
    const auto none =
        read_request<Suspend>(at("/attempts/0/suspend"), suspend_body + R"(,"waitpoints":[]})");
    ASSERT_FALSE(none.fault) << "the engine says what it thinks of none";
    EXPECT_TRUE(none.op.waitpoints.empty());
}

TEST(SuspensionRequests, SignalsAreReadBehindACursorToo) {
    EXPECT_EQ(read_request<ListSignals>(at("/signals?cursor=12")).op.after_seq, 12U);
    EXPECT_EQ(fault_of<ListSignals>(at("/signals?after_seq=x")),
              "400 invalid query: after_seq: expected an integer between 0 and "
              "18446744073709551615");
    EXPECT_EQ(fault_of<ListSignals>(at("/signals?cursor=x")), "400 invalid cursor: x");
}

// ------------------------------------------------------------------------------ what they refuse

TEST(SuspensionRequests, AreRefusedInTheirOrder) {
    EXPECT_EQ(fault_of<DeliverSignal>("/v1/executions/abc/signal", "{}"),
              "422 invalid JSON: Unprocessable Entity: waitpoint_id: missing");
    EXPECT_TRUE(fault_of<DeliverSignal>("/v1/executions/abc/signal", signal_body + "}")
                    .starts_with("400 invalid execution_id: "));
    EXPECT_EQ(
        fault_of<DeliverSignal>(
            at("/signal"),
            signal_body + R"(,"execution_id":"{fp:7}:00000000-0000-0000-0000-000000000003"})"),
        "400 path execution_id does not match body execution_id");
    EXPECT_EQ(fault_of<DeliverSignal>(at("/signal"), signal_body + R"(,"target_scope":"flow"})"),
              "400 invalid_input: target_scope: unknown word \"flow\", expected one of waitpoint, "
              "execution");
    EXPECT_EQ(fault_of<DeliverSignal>(at("/signal"), signal_body + R"(,"target_scope":5})"),
              "422 invalid JSON: Unprocessable Entity: target_scope: expected a string");
    EXPECT_EQ(fault_of<ReadWaitpointToken>(at("/waitpoints/abc/token")),
              "400 waitpoint_id: expected a UUID");
    EXPECT_EQ(fault_of<FindWaitpoint>("/v1/waitpoints/abc"), "400 waitpoint_id: expected a UUID");
    EXPECT_EQ(fault_of<ListPendingWaitpoints>(at("/pending-waitpoints?after=abc")),
              "400 invalid query: after: expected a UUID");
}

TEST(SuspensionRequests, BadBindingsAndConditionsNameTheirPlace) {
    const auto fault = [](std::string_view body) {
        return fault_of<Suspend>(at("/attempts/0/suspend"), body);
    };
    EXPECT_EQ(fault("{}"), "422 invalid JSON: Unprocessable Entity: resume_condition: missing");
    EXPECT_EQ(fault(suspend_body + R"(,"waitpoints":5})"),
              "422 invalid JSON: Unprocessable Entity: waitpoints: expected an array");
    EXPECT_EQ(fault(suspend_body + R"(,"waitpoints":[{"Fresh":{}},{"Stale":{}}]})"),
              "422 invalid JSON: Unprocessable Entity: waitpoints[1]: expected {\"Fresh\":…} or "
              "{\"UsePending\":…}");
    EXPECT_EQ(fault(suspend_body + R"(,"waitpoints":[{"UsePending":{}}]})"),
              "422 invalid JSON: Unprocessable Entity: waitpoints[0].UsePending.waitpoint_id: "
              "missing");
    EXPECT_EQ(fault(suspend_body + R"(,"waitpoints":[{"Fresh":{"waitpoint_id":"x"}}]})"),
              "422 invalid JSON: Unprocessable Entity: waitpoints[0].Fresh.waitpoint_id: expected "
              "a UUID");
    EXPECT_TRUE(fault(R"({"resume_condition":"Never"})")
                    .starts_with("400 invalid_input: resume_condition"));
    EXPECT_TRUE(
        fault(R"({"resume_condition":{"Composite":{"kind":"AllOf","members":["OperatorOnly",5]}}})")
            .starts_with("400 invalid_input: resume_condition.members[1]"));
    EXPECT_TRUE(fault(suspend_body + R"(,"resume_policy":{"resume_target":"Grave"}})")
                    .starts_with("400 invalid_input: resume_policy"));
    EXPECT_TRUE(fault(suspend_body + R"(,"reason_code":"Bored"})")
                    .starts_with("400 invalid_input: reason_code: unknown word \"Bored\""));
}

TEST(SuspensionRequests, AGraceIsANumberThatJsonCanHold) {
    const std::string body = R"({"new_kid":"k","new_secret_hex":"ab","grace_ms":)";
    EXPECT_EQ(fault_of<RotateWaitpointKey>("/v1/admin/rotate-waitpoint-secret",
                                           body + "9007199254740991}"),
              "none");
    for (const std::string_view wrong : {"-1}", "9007199254740992}", "\"x\"}"}) {
        EXPECT_TRUE(fault_of<RotateWaitpointKey>("/v1/admin/rotate-waitpoint-secret",
                                                 body + std::string(wrong))
                        .starts_with("400 invalid_grace_ms: "));
    }
}

// -------------------------------------------------------------------------------------- callbacks

TEST(CallbackPath, IsReadBackWhateverTheKid) {
    const std::string digest(64, 'a');
    for (const std::string kid : {"k1", "2026.05", "a b/c%?"}) {
        const std::string path = callback_path({waitpoint(), "key", kid + ":" + digest});
        ASSERT_TRUE(path.starts_with(callback_prefix));
        const std::string last = path.substr(callback_prefix.size());
        EXPECT_EQ(last.find_first_of("/? "), std::string::npos) << last;
        const auto target = parse_callback(*decoded(last));
        ASSERT_TRUE(target) << path;
        EXPECT_EQ(target->waitpoint_id, waitpoint());
        EXPECT_EQ(target->token, kid + ":" + digest);
    }
    EXPECT_EQ(callback_path({waitpoint(), "key", "k1:" + digest}),
              "/v1/callbacks/00000000-0000-0000-0000-000000000006.k1." + digest);
}

TEST(CallbackPath, OfAnotherFormIsNone) {
    const std::string digest(64, 'a');
    const std::string id(waitpoint_text);
    for (const std::string& text :
         {std::string(), id, id + "." + digest, id + ".." + digest, id + ".k1:" + digest,
          "x" + id + ".k1." + digest, id + ".k1." + digest.substr(1),
          "zz000000-0000-0000-0000-000000000006.k1." + digest}) {
        EXPECT_FALSE(parse_callback(text)) << text;
    }
}

}  // namespace ff::wire::test
