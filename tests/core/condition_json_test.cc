// Resume conditions and policies as text (spec 04 sections 5.1 and 7.1), and the short ways to
// write a condition.
#include <gtest/gtest.h>

#include "core/resume_condition.h"

namespace ff::core {
namespace {

using RC = ResumeCondition;

struct Form {
    std::string text;
    RC condition;
};

const std::vector<Form>& forms() {
    static const std::vector<Form> all = {
        {R"({"Single":{"waitpoint_key":"k","matcher":{"ByName":"x"}}})", RC::single("k", "x")},
        {R"({"Single":{"waitpoint_key":"k","matcher":"Wildcard"}})", RC::single("k")},
        {R"({"Single":{"matcher":{"ByName":"x"}}})", any_signal("x")},
        {R"("OperatorOnly")", RC::operator_only()},
        {R"("TimeoutOnly")", RC::timeout_only()},
        {R"({"Composite":{"kind":"AllOf","members":["OperatorOnly",)"
         R"({"Composite":{"kind":"AllOf","members":[]}}]}})",
         RC::all_of({RC::operator_only(), RC::all_of({})})},
        {R"({"Composite":{"kind":"Count","n":2,"count_kind":"DistinctSources",)"
         R"("matcher":{"ByName":"x"},"waitpoints":["k","l"]}})",
         RC::count(2, CountKind::distinct_sources, {"k", "l"}, "x")},
        {R"({"Composite":{"kind":"Count","n":1,"count_kind":"DistinctWaitpoints",)"
         R"("waitpoints":[]}})",
         RC::count(1, CountKind::distinct_waitpoints, {})},
        {R"({"Composite":{"kind":"Count","n":3,"count_kind":"DistinctSignals"}})",
         any_signal().times(3)},
        {R"({"SignalSet":{"waitpoint_key":"k","required_signal_names":["a","b"],)"
         R"("signal_match_mode":"all","minimum_signal_count":2}})",
         RC::signal_set("k", {"a", "b"}, SignalMatchMode::all, 2)},
    };
    return all;
}

std::string fault(std::string_view text) {
    const auto condition = RC::parse(text);
    return condition ? "read: " + condition->to_json() : condition.error().message();
}

TEST(ConditionJson, every_form_is_written_and_read) {
    for (const Form& form : forms()) {
        EXPECT_EQ(form.condition.to_json(), form.text);
        const auto read = RC::parse(form.text);
        ASSERT_TRUE(read) << form.text << ": " << read.error().message();
        EXPECT_EQ(*read, form.condition) << form.text;
    }
}

TEST(ConditionJson, words_are_read_in_either_form) {
    EXPECT_EQ(*RC::parse(R"("operator_only")"), RC::operator_only());
    EXPECT_EQ(*RC::parse(R"({"single":{"waitpoint_key":"k","matcher":{"by_name":"x"}}})"),
              RC::single("k", "x"));
    EXPECT_EQ(*RC::parse(R"({"single":{"waitpoint_key":"k","matcher":"wildcard"}})"),
              RC::single("k"));
    EXPECT_EQ(*RC::parse(R"({"composite":{"kind":"all_of","members":["timeout_only"]}})"),
              RC::all_of({RC::timeout_only()}));
    EXPECT_EQ(*RC::parse(R"({"composite":{"kind":"count","n":1,
                             "count_kind":"distinct_waitpoints","waitpoints":["k"]}})"),
              RC::count(1, CountKind::distinct_waitpoints, {"k"}));
    EXPECT_EQ(*RC::parse(R"({"signal_set":{"waitpoint_key":"k","signal_match_mode":"Count",
                             "required_signal_names":[]}})"),
              RC::signal_set("k", {}, SignalMatchMode::count));
}

TEST(ConditionJson, what_may_be_left_out) {
    EXPECT_EQ(*RC::parse(R"({"Single":{"waitpoint_key":null,"matcher":null}})"), any_signal());
    EXPECT_EQ(*RC::parse(R"({"SignalSet":{"required_signal_names":[]}})"), RC::signal_set("", {}));
    EXPECT_EQ(*RC::parse(R"({"OperatorOnly":null})"), RC::operator_only());
}

TEST(ConditionJson, what_is_misspelt_does_not_become_any_signal) {
    EXPECT_EQ(fault(R"({"Single":{"macher":{"ByName":"approved"}}})"),
              "invalid_input: resume_condition: unknown member \"macher\", expected matcher, "
              "waitpoint_key");
    EXPECT_EQ(fault(R"({"Single":{}})"), "invalid_input: resume_condition.matcher: missing");
    EXPECT_EQ(fault(R"({"SignalSet":{}})"),
              "invalid_input: resume_condition.required_signal_names: missing");
    EXPECT_EQ(fault(R"({"SignalSet":{"required_signal_names":["a"],"mode":"all"}})"),
              "invalid_input: resume_condition: unknown member \"mode\", expected "
              "required_signal_names, waitpoint_key, signal_match_mode, minimum_signal_count");
    EXPECT_EQ(fault(R"({"Composite":{"kind":"Count","n":2,"names":["a"]}})"),
              "invalid_input: resume_condition: unknown member \"names\", expected kind, n, "
              "count_kind, matcher, waitpoints");
}

TEST(ConditionJson, what_cannot_be_read_is_named) {
    const std::string forms_text =
        "expected Single, OperatorOnly, TimeoutOnly, Composite or SignalSet";
    EXPECT_EQ(fault("7"), "invalid_input: resume_condition: " + forms_text);
    EXPECT_EQ(fault(R"("Single?")"), "invalid_input: resume_condition: " + forms_text);
    EXPECT_EQ(fault("{}"), "invalid_input: resume_condition: " + forms_text);
    EXPECT_EQ(fault(R"({"Single":{},"SignalSet":{}})"),
              "invalid_input: resume_condition: " + forms_text);
    EXPECT_EQ(fault(R"("Single")"), "invalid_input: resume_condition: Single: expected an object");
    EXPECT_EQ(fault(R"({"SignalSet":[]})"),
              "invalid_input: resume_condition: SignalSet: expected an object");
    EXPECT_TRUE(fault("{").starts_with("invalid_input: resume_condition: ")) << fault("{");
    EXPECT_TRUE(fault("").starts_with("invalid_input: resume_condition: ")) << fault("");
}

TEST(ConditionJson, faults_of_members_name_their_place) {
    EXPECT_EQ(fault(R"({"Composite":{"kind":"AllOf","members":["OperatorOnly",5]}})"),
              "invalid_input: resume_condition.members[1]: expected Single, OperatorOnly, "
              "TimeoutOnly, Composite or SignalSet");
    EXPECT_EQ(fault(R"({"Composite":{"kind":"AllOf","members":[
                        {"Composite":{"kind":"AllOf","members":[
                            {"Single":{"waitpoint_key":5,"matcher":null}}]}}]}})"),
              "invalid_input: resume_condition.members[0].members[0].waitpoint_key: expected a "
              "string");
    EXPECT_EQ(fault(R"({"Composite":{"kind":"AllOf","members":{}}})"),
              "invalid_input: resume_condition.members: expected an array");
    EXPECT_EQ(fault(R"({"Composite":{"kind":"AnyOf"}})"),
              "invalid_input: resume_condition.kind: expected AllOf or Count");
    EXPECT_EQ(fault(R"({"Composite":{}})"), "invalid_input: resume_condition.kind: missing");
    EXPECT_EQ(fault(R"({"Single":{"matcher":"Anything"}})"),
              "invalid_input: resume_condition.matcher: expected ByName or Wildcard");
    EXPECT_EQ(fault(R"({"Single":{"matcher":{"ByName":1}}})"),
              "invalid_input: resume_condition.matcher: ByName: expected a string");
    EXPECT_EQ(fault(R"({"Single":{"matcher":"ByName"}})"),
              "invalid_input: resume_condition.matcher: ByName: expected a string");
}

TEST(ConditionJson, faults_of_counts_and_sets) {
    const auto count = [](const std::string& members) {
        return fault(R"({"Composite":{"kind":"Count",)" + members + "}}");
    };
    const std::string number = "expected an integer in 0..=4294967295";
    EXPECT_EQ(count(R"("waitpoints":["k"])"), "invalid_input: resume_condition.n: missing");
    for (const std::string n : {"-1", "1.5", "4294967296", "\"2\"", "1e3", "true"}) {
        EXPECT_EQ(count("\"n\":" + n), "invalid_input: resume_condition.n: " + number);
    }
    EXPECT_EQ(count(R"("n":1,"count_kind":"Distinct")"),
              "invalid_input: resume_condition.count_kind: expected DistinctWaitpoints, "
              "DistinctSignals or DistinctSources");
    EXPECT_EQ(count(R"("n":1,"waitpoints":"k")"),
              "invalid_input: resume_condition.waitpoints: expected an array");
    EXPECT_EQ(count(R"("n":1,"waitpoints":["k",1])"),
              "invalid_input: resume_condition.waitpoints[1]: expected a string");
    EXPECT_EQ(fault(R"({"SignalSet":{"required_signal_names":[1]}})"),
              "invalid_input: resume_condition.required_signal_names[0]: expected a string");
    EXPECT_EQ(fault(R"({"SignalSet":{"required_signal_names":[],"signal_match_mode":"some"}})"),
              "invalid_input: resume_condition.signal_match_mode: expected Any, All or Count");
    EXPECT_EQ(fault(R"({"SignalSet":{"required_signal_names":[],"minimum_signal_count":-1}})"),
              "invalid_input: resume_condition.minimum_signal_count: " + number);
}

TEST(ConditionJson, a_place_of_its_own) {
    const auto read = condition_of(js::Value("Never"), "args.resume_condition");
    ASSERT_FALSE(read);
    EXPECT_TRUE(read.error().detail.starts_with("args.resume_condition: expected "));
}

// ------------------------------------------------------------------------------------ builders

TEST(ConditionBuilders, say_how_many_and_where) {
    EXPECT_EQ(any_signal("ok").on("k"), RC::single("k", "ok"));
    EXPECT_EQ(any_signal("ok").from_distinct_sources(2).on("k"),
              RC::count(2, CountKind::distinct_sources, {"k"}, "ok"));
    EXPECT_EQ(RC::single("k", "ok").from_distinct_sources(2),
              RC::count(2, CountKind::distinct_sources, {"k"}, "ok"));
    EXPECT_EQ(RC::single("k").times(3), RC::count(3, CountKind::distinct_signals, {"k"}));
    EXPECT_EQ(RC::single("k").times(3).from_distinct_sources(2),
              RC::count(2, CountKind::distinct_sources, {"k"}));
    EXPECT_EQ(RC::signal_set("k", {"a", "b"}).times(2),
              RC::signal_set("k", {"a", "b"}, SignalMatchMode::count, 2));
    EXPECT_EQ(
        RC::all_of({any_signal("a"), RC::signal_set("", {"b"}), any_signal().times(2)}).on("k"),
        RC::all_of({RC::single("k", "a"), RC::signal_set("k", {"b"}),
                    RC::count(2, CountKind::distinct_signals, {"k"})}));
    EXPECT_EQ(RC::operator_only().times(2).on("k").from_distinct_sources(3), RC::operator_only());
}

// -------------------------------------------------------------------------------------- policy

TEST(ResumePolicyJson, is_written_and_read) {
    ResumePolicy policy;
    EXPECT_EQ(to_json(policy),
              R"({"resume_target":"Runnable","consume_matched_signals":true,)"
              R"("retain_signal_buffer_until_closed":false,"close_waitpoint_on_resume":true})");
    EXPECT_EQ(*parse_resume_policy(to_json(policy)), policy);
    EXPECT_EQ(*parse_resume_policy("{}"), policy);
    policy = {false, true, 1'500, false};
    EXPECT_EQ(*parse_resume_policy(to_json(policy)), policy);
    EXPECT_EQ(*parse_resume_policy(R"({"resume_target":"runnable","resume_delay_ms":null,"x":1})"),
              ResumePolicy{});
}

TEST(ResumePolicyJson, what_cannot_be_read_is_named) {
    const auto fault_of = [](std::string_view text) {
        const auto policy = parse_resume_policy(text);
        return policy ? "read: " + to_json(*policy) : policy.error().message();
    };
    EXPECT_EQ(fault_of("[]"), "invalid_input: resume_policy: expected an object");
    EXPECT_TRUE(fault_of("{").starts_with("invalid_input: resume_policy: "));
    EXPECT_EQ(fault_of(R"({"resume_target":"Later"})"),
              "invalid_input: resume_policy.resume_target: expected Runnable");
    EXPECT_EQ(fault_of(R"({"consume_matched_signals":1})"),
              "invalid_input: resume_policy.consume_matched_signals: expected true or false");
    EXPECT_EQ(fault_of(R"({"resume_delay_ms":-1})"),
              "invalid_input: resume_policy.resume_delay_ms: expected an integer in "
              "0..=9007199254740992");
}

}  // namespace
}  // namespace ff::core
