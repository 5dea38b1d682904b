// Answers of suspension: the forms of the specification, and that a client reads what a server
// writes.
#include "wire/flow_support.h"

namespace ff::wire::test {

namespace {

WaitpointInfo waitpoint_info() {
    WaitpointInfo out;
    out.waitpoint_id = {uuid(6)};
    out.waitpoint_key = "k";
    out.state = WaitpointState::active;
    out.required_signal_names = {"a", "b"};
    out.created_at = 10;
    out.activated_at = 11;
    out.execution_id = execution(2);
    out.token_kid = "k1";
    out.token_fingerprint = "0123456789abcdef";
    out.signal_count = 3;
    out.matched_signal_count = 2;
    return out;
}

SuspensionDetails details() {
    return {{uuid(7)}, {{uuid(6)}, "k", "k1:aa"}, {{{uuid(8)}, "k2", "k1:bb"}}};
}

constexpr std::string_view details_text =
    R"("suspension_id":"00000000-0000-0000-0000-000000000007",)"
    R"("waitpoint_id":"00000000-0000-0000-0000-000000000006","waitpoint_key":"k",)"
    R"("waitpoint_token":"k1:aa","additional_waitpoints":[)"
    R"({"waitpoint_id":"00000000-0000-0000-0000-000000000008","waitpoint_key":"k2",)"
    R"("waitpoint_token":"k1:bb"}])";

SignalInfo signal_info() {
    SignalInfo out;
    out.seq = 4;
    out.signal_id = {uuid(9)};
    out.execution_id = execution(2);
    out.waitpoint_id = {uuid(6)};
    out.target_scope = SignalScope::waitpoint;
    out.signal_name = "done";
    out.signal_category = "default";
    out.source_type = "external";
    out.source_identity = "me";
    out.created_at = 5;
    out.accepted_at = 6;
    out.payload_encoding = "json";
    out.observed_effect = SignalEffect::resume_condition_satisfied;
    out.matched = true;
    return out;
}

constexpr std::string_view signal_text =
    R"({"seq":4,"signal_id":"00000000-0000-0000-0000-000000000009",)"
    R"("execution_id":"{fp:7}:00000000-0000-0000-0000-000000000002",)"
    R"("waitpoint_id":"00000000-0000-0000-0000-000000000006","target_scope":"waitpoint",)"
    R"("signal_name":"done","signal_category":"default","source_type":"external",)"
    R"("source_identity":"me","correlation_id":"","idempotency_key":"","created_at":5,)"
    R"("accepted_at":6,"payload_encoding":"json",)"
    R"("observed_effect":"resume_condition_satisfied","matched":true})";

}  // namespace

TEST(SuspensionAnswers, OfALeaseHolder) {
    expect_answer<CreateWaitpoint>(
        {{uuid(6)}, "k", "k1:aa"},
        R"(201 {"Created":{"waitpoint_id":"00000000-0000-0000-0000-000000000006",)"
        R"("waitpoint_key":"k","waitpoint_token":"k1:aa"}})");
    expect_answer<CloseWaitpoint>(Done{}, R"(200 "Closed")");
    expect_answer<Suspend>({false, details(), {}},
                           R"(200 {"AlreadySatisfied":{)" + std::string(details_text) + "}}");
    expect_answer<Suspend>({true, details(), {}},
                           R"(200 {"Suspended":{)" + std::string(details_text) + "}}");
}

TEST(SuspensionAnswers, ASuspensionBringsItsHandle) {
    SuspendResult result{true, details(), Handle{}};
    result.handle->kind = HandleKind::suspended;
    result.handle->execution_id = execution(2);
    const Answer answer = write_answer<Suspend>(result);
    EXPECT_TRUE(answer.body.contains(R"("handle":"ff1.)")) << answer.body;
    const SuspendResult read = taken<Suspend>(answer);
    ASSERT_TRUE(read.handle);
    EXPECT_EQ(read.handle->to_text(), result.handle->to_text());
}

TEST(SuspensionAnswers, OfSignals) {
    expect_answer<DeliverSignal>(
        {false, {uuid(9)}, SignalEffect::appended_to_waitpoint},
        R"(200 {"Accepted":{"signal_id":"00000000-0000-0000-0000-000000000009",)"
        R"("effect":"appended_to_waitpoint"}})");
    expect_answer<DeliverApprovalSignal>(
        {true, {uuid(9)}, SignalEffect::no_op},
        R"(200 {"Duplicate":{"existing_signal_id":"00000000-0000-0000-0000-000000000009"}})");
    const SignalResult again{true, {uuid(9)}, SignalEffect::resume_condition_satisfied};
    EXPECT_EQ(taken<DeliverSignal>(write_signal(again, Form::whole)), again);
    const Answer resumed = write_answer<ResumeExecution>({execution(2), PublicState::delayed});
    EXPECT_EQ(text_of(resumed), R"(200 {"Resumed":{"public_state":"delayed"}})");
    const auto read = received(resumed, ResumeExecution{execution(2)});
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, (StateResult{execution(2), PublicState::delayed}));
    expect_answer<ExpireSuspension>({TimeoutBehavior::escalate, ""},
                                    R"(200 {"Expired":{"behavior_applied":"escalate"}})");
    expect_answer<ExpireSuspension>({std::nullopt, "not_yet_due"},
                                    R"(200 {"AlreadySatisfied":{"reason":"not_yet_due"}})");
}

TEST(SuspensionAnswers, OfKeys) {
    expect_answer<SeedWaitpointKey>({true, false, "k1"}, R"(200 {"Seeded":{"kid":"k1"}})");
    expect_answer<SeedWaitpointKey>({false, true, "k1"},
                                    R"(200 {"AlreadySeeded":{"kid":"k1","same_secret":true}})");
    const RotateKeyResult rotated{true, "k1", "k2", 3, 4};
    EXPECT_EQ(text_of(write_answer<RotateWaitpointKey>(rotated)),
              R"(200 {"rotated":1,"failed":[],"new_kid":"k2"})");
    EXPECT_EQ(taken<RotateWaitpointKey>(write_rotated(rotated, Form::whole)), rotated);
    const RotateKeyResult noop{false, {}, "k2", 0, 0};
    EXPECT_EQ(text_of(write_answer<RotateWaitpointKey>(noop)),
              R"(200 {"rotated":1,"failed":[],"new_kid":"k2"})");
    EXPECT_EQ(taken<RotateWaitpointKey>(write_rotated(noop, Form::whole)), noop);
    expect_answer<ListWaitpointKeys>({}, R"(200 {"current_kid":null,"verifying":[]})");
    expect_answer<ListWaitpointKeys>(
        {"k2", {{"k1", 9}}},
        R"(200 {"current_kid":"k2","verifying":[{"kid":"k1","expires_at_ms":9}]})");
}

TEST(SuspensionAnswers, OpenWaitpointsAreAnArrayAndTheCursorIsInTheHead) {
    const WaitpointPage page{{waitpoint_info()}, WaitpointId{uuid(6)}};
    const Answer answer = write_answer<ListPendingWaitpoints>(page);
    EXPECT_EQ(text_of(answer),
              R"(200 [{"waitpoint_id":"00000000-0000-0000-0000-000000000006","waitpoint_key":"k",)"
              R"("state":"active","required_signal_names":["a","b"],"created_at":10,)"
              R"("activated_at":11,"execution_id":"{fp:7}:00000000-0000-0000-0000-000000000002",)"
              R"("token_kid":"k1","token_fingerprint":"0123456789abcdef"}])");
    ASSERT_EQ(answer.headers.size(), 1U);
    EXPECT_EQ(answer.headers[0],
              (Header{"FF-Next-Cursor", "00000000-0000-0000-0000-000000000006"}));
    const Answer whole = write_waitpoints(page, Form::whole);
    const Response read = read_answer(Request(ListPendingWaitpoints{}),
                                      {whole.status, whole.body, {}, whole.headers[0].second});
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(ff::get<WaitpointPage>(*read).waitpoints, page.waitpoints);
    EXPECT_EQ(ff::get<WaitpointPage>(*read).next_cursor, page.next_cursor);
    const Response strange = read_answer(Request(ListPendingWaitpoints{}), {200, "[]", {}, "x"});
    EXPECT_FALSE(strange);
    EXPECT_TRUE(write_answer<ListPendingWaitpoints>({}).headers.empty());
}

TEST(SuspensionAnswers, ATokenIsKeptByNobodyOnTheWay) {
    const auto no_store = std::vector<Header>{{"Cache-Control", "no-store"}};
    const Answer token = write_answer<ReadWaitpointToken>("k1:aa");
    EXPECT_EQ(text_of(token), R"(200 {"token":"k1:aa"})");
    EXPECT_EQ(token.headers, no_store);
    EXPECT_EQ(taken<ReadWaitpointToken>(token), "k1:aa");
    const Answer none = write_answer<ReadWaitpointToken>(std::nullopt);
    EXPECT_EQ(text_of(none),
              R"x(404 {"error":"waitpoint token not found (consumed, expired, or unknown id)"})x");
    EXPECT_EQ(none.headers, no_store);
    EXPECT_EQ(taken<ReadWaitpointToken>(none), std::nullopt);
}

TEST(SuspensionAnswers, AWaitpointMayBeMissing) {
    EXPECT_EQ(taken<FindWaitpoint>(write_answer<FindWaitpoint>(waitpoint_info())),
              waitpoint_info());
    EXPECT_EQ(taken<FindWaitpoint>(write_error({ErrorCode::waitpoint_not_found, {}, {}})),
              std::nullopt);
}

TEST(SuspensionAnswers, OfSuspensions) {
    SuspensionInfo plain;
    plain.suspension_id = {uuid(7)};
    plain.execution_id = execution(2);
    plain.waitpoint_id = {uuid(6)};
    plain.waitpoint_key = "k";
    plain.reason_code = "of an older version";
    plain.resume_condition = ResumeCondition::single("k", "done");
    SuspensionInfo full = plain;
    full.attempt_index = 2;
    full.additional_waitpoints = {{{uuid(8)}, "k2"}};
    full.requested_by = SuspensionRequester::operator_;
    full.created_at = 1;
    full.timeout_at = 2;
    full.timeout_behavior = TimeoutBehavior::auto_resume;
    full.resume_condition = ResumeCondition::all_of(
        {ResumeCondition::single("k"),
         ResumeCondition::count(2, CountKind::distinct_sources, {"k", "k2"}, "yes")});
    full.resume_policy.resume_delay_ms = 4;
    full.continuation_metadata_pointer = "p";
    full.last_signal_at = 5;
    full.satisfied_at = 6;
    full.closed_at = 7;
    full.close_reason = "resumed";
    full.resume_trigger = ResumeTrigger::operator_;
    full.resumed_by = "ada";
    full.closer_signal_id = SignalId{uuid(9)};
    full.all_satisfier_signals = {SignalId{uuid(9)}, SignalId{uuid(10)}};
    full.escalated_at = 8;
    full.remaining_attempt_timeout_ms = 9;
    const std::vector<SuspensionInfo> both{plain, full};
    const Answer answer = write_answer<ListSuspensions>(both);
    EXPECT_EQ(taken<ListSuspensions>(answer), both);
    EXPECT_TRUE(answer.body.contains(R"("requested_by":"operator")")) << answer.body;
    EXPECT_TRUE(answer.body.contains(R"("resume_condition":{"Single":{)")) << answer.body;
}

TEST(SuspensionAnswers, OfLists) {
    SuspendedEntry entry;
    entry.execution_id = execution(2);
    entry.suspended_at_ms = 9'999'999'999'999;
    entry.suspended_since_ms = 5;
    entry.reason = "waiting_for_approval";
    entry.lane_id = "l";
    entry.ns = "acme";
    entry.execution_kind = "k";
    entry.waitpoint_id = {uuid(6)};
    const Answer suspended = write_answer<ListSuspended>({{entry}, "5|x"});
    EXPECT_EQ(text_of(suspended),
              R"(200 {"items":[{"execution_id":"{fp:7}:00000000-0000-0000-0000-000000000002",)"
              R"("suspended_at_ms":9999999999999,"suspended_since_ms":5,)"
              R"("reason":"waiting_for_approval","lane_id":"l","namespace":"acme",)"
              R"("execution_kind":"k","waitpoint_id":"00000000-0000-0000-0000-000000000006"}],)"
              R"("next_cursor":"5|x"})");
    const SuspendedPage read = taken<ListSuspended>(suspended);
    EXPECT_EQ(read.entries, std::vector{entry});
    EXPECT_EQ(read.next_cursor, "5|x");

    SignalInfo with_payload = signal_info();
    with_payload.payload = std::string("\0\xff", 2);
    const Answer ledger = write_answer<ListSignals>({{signal_info(), with_payload}, 4});
    EXPECT_TRUE(ledger.body.starts_with(
        R"({"items":[{"seq":4,"signal_id":"00000000-0000-0000-0000-000000000009",)"
        R"("target_execution_id":"{fp:7}:00000000-0000-0000-0000-000000000002",)"
        R"("target_waitpoint_id":"00000000-0000-0000-0000-000000000006",)"
        R"("target_scope":"waitpoint",)"))
        << ledger.body;
    EXPECT_TRUE(ledger.body.ends_with(R"("next_cursor":"4"})")) << ledger.body;
    const SignalPage page = taken<ListSignals>(ledger);
    EXPECT_EQ(page.signals, (std::vector{signal_info(), with_payload}));
    EXPECT_EQ(page.next_after_seq, 4U);
    EXPECT_EQ(text_of(write_answer<ObserveSignals>({signal_info()})),
              "200 {\"signals\":[" + std::string(signal_text) + "]}");
    EXPECT_EQ(taken<ObserveSignals>(write_answer<ObserveSignals>({with_payload})),
              std::vector{with_payload});
}

}  // namespace ff::wire::test
