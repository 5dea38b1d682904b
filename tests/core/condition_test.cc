// Resume conditions: which are refused and in what words (spec 04 section 5.2), what a signal does
// to one (section 5.3).
#include <gtest/gtest.h>

#include <set>

#include "core/condition_rules.h"

namespace ff::core {
namespace {

using RC = ResumeCondition;
constexpr auto distinct_waitpoints = CountKind::distinct_waitpoints;
constexpr auto distinct_signals = CountKind::distinct_signals;
constexpr auto distinct_sources = CountKind::distinct_sources;

WaitpointId waitpoint(std::uint8_t n) {
    WaitpointId id;
    id.uuid.bytes[15] = n;
    return id;
}

Suspend waiting_for(RC condition, std::vector<std::string> keys) {
    Suspend args;
    args.resume_condition = std::move(condition);
    args.waitpoints.clear();
    for (std::string& key : keys) {
        args.waitpoints.push_back(WaitpointBinding::fresh(std::move(key)));
    }
    std::uint8_t n = 0;
    complete_bindings(args, [&n] { return waitpoint(++n); });
    return args;
}

std::string verdict(const expected<void>& answer) {
    return answer ? "ok" : answer.error().message();
}
std::string verdict(const Suspend& args) { return verdict(check_condition(args)); }
std::string verdict(RC condition, std::vector<std::string> keys) {
    return verdict(waiting_for(std::move(condition), std::move(keys)));
}

std::string nested(std::size_t levels) {
    std::string path;
    for (std::size_t i = 0; i < levels; ++i) {
        path += (path.empty() ? "" : ".") + std::string("members[0]");
    }
    return path;
}

RC wrapped(RC condition, std::size_t levels) {
    for (std::size_t i = 0; i < levels; ++i) {
        condition = RC::all_of({std::move(condition)});
    }
    return condition;
}

// ------------------------------------------------------------------------------------ bindings

TEST(CheckCondition, good_ones_of_every_form) {
    EXPECT_EQ(verdict(RC::single("k", "go"), {"k"}), "ok");
    EXPECT_EQ(verdict(RC::single("k"), {"k"}), "ok");
    EXPECT_EQ(verdict(RC::operator_only(), {"k"}), "ok");
    EXPECT_EQ(verdict(RC::timeout_only(), {"k"}), "ok");
    EXPECT_EQ(verdict(RC::all_of({RC::single("a"), RC::single("b")}), {"a", "b"}), "ok");
    EXPECT_EQ(verdict(RC::count(2, distinct_waitpoints, {"a", "b"}), {"b", "a"}), "ok");
    EXPECT_EQ(verdict(RC::count(99, distinct_signals, {"a"}), {"a"}), "ok");
    EXPECT_EQ(verdict(RC::signal_set("k", {"x", "x"}, SignalMatchMode::all, 2), {"k"}), "ok");
    EXPECT_EQ(verdict(RC::signal_set("k", {}), {"k"}), "ok");
}

TEST(CheckCondition, there_is_a_binding) {
    EXPECT_EQ(verdict(any_signal(), {}), "invalid_input: waitpoints_empty");
}

TEST(CheckCondition, the_first_waitpoint_is_that_of_a_single) {
    EXPECT_EQ(verdict(RC::single("a"), {"b"}), "invalid_input: waitpoint_key_mismatch");
    EXPECT_EQ(verdict(RC::single("a"), {"b", "a"}), "invalid_input: waitpoint_key_mismatch");
}

TEST(CheckCondition, further_bindings_are_new_and_have_keys) {
    const RC both = RC::all_of({RC::single("a"), RC::single("b")});
    Suspend args = waiting_for(both, {"a", "b", "c"});
    args.waitpoints[2] = WaitpointBinding::pending(waitpoint(9));
    EXPECT_EQ(verdict(args),
              "invalid_input: additional_waitpoint_binding_must_be_fresh at waitpoints[2]");
    EXPECT_EQ(verdict(both, {"a", ""}),
              "invalid_input: additional_waitpoint_binding_empty_key at waitpoints[1]");
}

TEST(CheckCondition, a_waitpoint_made_before_is_the_only_one) {
    Suspend args = waiting_for(any_signal(), {"a"});
    args.waitpoints = {WaitpointBinding::pending(waitpoint(9))};
    EXPECT_EQ(verdict(args), "ok") << "its key is looked up later";
    args.waitpoints.front().waitpoint_id.reset();
    EXPECT_EQ(verdict(args), "invalid_input: waitpoints[0].waitpoint_id: missing");
    args = waiting_for(RC::single("b"), {"a", "b"});
    args.waitpoints[0] = WaitpointBinding::pending(waitpoint(9));
    EXPECT_EQ(verdict(args), "invalid_input: use_pending_must_be_the_only_binding");
}

TEST(CheckCondition, no_key_and_no_id_twice) {
    const RC any = RC::count(1, distinct_signals, {"a", "b"});
    EXPECT_EQ(verdict(any, {"a", "a"}), "invalid_input: duplicate_waitpoint_binding");
    Suspend args = waiting_for(any, {"a", "b"});
    args.waitpoints[1].waitpoint_id = args.waitpoints[0].waitpoint_id;
    EXPECT_EQ(verdict(args), "invalid_input: duplicate_waitpoint_binding");
}

TEST(CheckCondition, at_most_64_waitpoints) {
    std::vector<std::string> keys;
    for (int i = 0; i < 64; ++i) {
        keys.push_back("k" + std::to_string(i));
    }
    EXPECT_EQ(verdict(RC::count(1, distinct_signals, keys), keys), "ok");
    keys.push_back("k64");
    EXPECT_EQ(verdict(RC::count(1, distinct_signals, keys), keys),
              "invalid_input: too_many_waitpoints");
}

TEST(CheckCondition, keys_are_short_text) {
    const std::string longest(256, 'k');
    EXPECT_EQ(verdict(RC::single(longest), {longest}), "ok");
    const auto code = [](const std::string& key) {
        const auto answer = check_condition(waiting_for(RC::single(key), {key}));
        return answer ? "ok" : to_string(answer.error().code);
    };
    EXPECT_EQ(code(longest + "k"), "invalid_waitpoint_key");
    EXPECT_EQ(code("a\xff"), "invalid_waitpoint_key");
    EXPECT_EQ(code(std::string("a\0b", 3)), "invalid_waitpoint_key");
    EXPECT_EQ(verdict(check_waitpoint_key("waitpoint_key", "")),
              "invalid_waitpoint_key: waitpoint_key: must not be empty");
    EXPECT_EQ(verdict(RC::all_of({RC::single("a"), RC::single("")}), {"a", "b"}),
              "invalid_waitpoint_key: resume_condition.members[1]: must not be empty");
}

// ---------------------------------------------------------------------------------- references

TEST(CheckCondition, every_key_that_is_named_is_bound) {
    EXPECT_EQ(verdict(RC::all_of({RC::single("a"), RC::single("b")}), {"a"}),
              "invalid_input: referenced_waitpoint_key_missing_binding: b");
    EXPECT_EQ(verdict(RC::count(1, distinct_signals, {"a", "c"}), {"a"}),
              "invalid_input: referenced_waitpoint_key_missing_binding: c");
    EXPECT_EQ(verdict(RC::signal_set("x", {}), {"a"}),
              "invalid_input: referenced_waitpoint_key_missing_binding: x");
    EXPECT_EQ(verdict(check_references(RC::single("x"), {"a"})),
              "invalid_input: referenced_waitpoint_key_missing_binding: x");
}

TEST(CheckCondition, every_binding_is_named) {
    EXPECT_EQ(verdict(RC::single("a"), {"a", "b"}),
              "invalid_input: extra_binding_not_referenced_by_condition: b");
    EXPECT_EQ(verdict(RC::all_of({RC::single("b")}), {"a", "b"}),
              "invalid_input: extra_binding_not_referenced_by_condition: a");
    EXPECT_EQ(verdict(RC::operator_only(), {"a", "b"}),
              "invalid_input: extra_binding_not_referenced_by_condition: b");
    EXPECT_EQ(verdict(check_references(RC::operator_only(), {"a"})), "ok");
    EXPECT_EQ(verdict(check_references(RC::timeout_only(), {"a"})), "ok");
}

// ---------------------------------------------------------------------------------------- tree

TEST(CheckCondition, no_signal_name_is_empty) {
    const std::string text =
        "invalid_input: resume_condition: empty signal name (use Wildcard instead)";
    EXPECT_EQ(verdict(RC::single("k", ""), {"k"}), text);
    EXPECT_EQ(verdict(RC::all_of({RC::single("k"), RC::single("k", "")}), {"k"}), text);
    EXPECT_EQ(verdict(RC::count(1, distinct_signals, {"k"}, ""), {"k"}), text);
    EXPECT_EQ(verdict(RC::signal_set("k", {"a", ""}), {"k"}), text);
    EXPECT_EQ(verdict(RC::single("k", "\xff"), {"k"}),
              "invalid_input: resume_condition: a signal name is not valid UTF-8");
}

TEST(CheckCondition, every_signal_name_is_one_that_a_signal_can_have) {
    const std::string text =
        "invalid_input: resume_condition: no signal can have that name (1 to 1024 bytes, no NUL, "
        "not reserved)";
    for (const std::string& name :
         {std::string(1'025, 'x'), std::string("a\0b", 3), std::string("__operator_only__"),
          std::string("__timeout_only__")}) {
        EXPECT_EQ(verdict(RC::single("k", name), {"k"}), text);
        EXPECT_EQ(verdict(RC::signal_set("k", {"a", name}), {"k"}), text);
    }
    EXPECT_EQ(verdict(RC::single("k", std::string(1'024, 'x')), {"k"}), "ok");
}

TEST(CheckCondition, an_all_of_has_members) {
    EXPECT_EQ(verdict(RC::all_of({}), {"k"}), "invalid_input: allof_empty_members at path <root>");
    EXPECT_EQ(verdict(RC::all_of({RC::single("k"), RC::all_of({RC::all_of({})})}), {"k"}),
              "invalid_input: allof_empty_members at path members[1].members[0]");
}

TEST(CheckCondition, a_count_can_be_reached) {
    EXPECT_EQ(verdict(RC::count(0, distinct_signals, {"k"}), {"k"}),
              "invalid_input: count_n_zero at path <root>");
    EXPECT_EQ(verdict(RC::all_of({RC::count(0, distinct_signals, {"k"})}), {"k"}),
              "invalid_input: count_n_zero at path members[0]");
    EXPECT_EQ(verdict(RC::count(1, distinct_signals, {}), {"k"}),
              "invalid_input: count_waitpoints_empty at path <root>");
    EXPECT_EQ(verdict(RC::count(3, distinct_waitpoints, {"a", "b"}), {"a", "b"}),
              "invalid_input: count_exceeds_waitpoint_set: n=3 > waitpoints.len()=2 at path "
              "<root>");
    EXPECT_EQ(verdict(RC::all_of({RC::count(2, distinct_waitpoints, {"a", "a"})}), {"a"}),
              "invalid_input: count_exceeds_waitpoint_set: n=2 > waitpoints.len()=1 at path "
              "members[0]");
}

TEST(CheckCondition, composites_are_four_deep_at_most) {
    const RC leaf = RC::single("k");
    EXPECT_EQ(verdict(wrapped(leaf, 4), {"k"}), "ok") << "leaves do not count";
    EXPECT_EQ(verdict(wrapped(leaf, 5), {"k"}),
              "invalid_input: depth 5 exceeds cap 4 at path " + nested(4));
    const RC count = RC::count(1, distinct_signals, {"k"});
    EXPECT_EQ(verdict(wrapped(count, 3), {"k"}), "ok");
    EXPECT_EQ(verdict(wrapped(count, 4), {"k"}),
              "invalid_input: depth 5 exceeds cap 4 at path " + nested(4));
    EXPECT_EQ(verdict(wrapped(RC::signal_set("k", {}), 4), {"k"}), "ok");
}

TEST(CheckCondition, what_no_signal_satisfies_stands_alone) {
    const std::string text = "invalid_input: operator_or_timeout_leaf_in_composite";
    EXPECT_EQ(verdict(RC::all_of({RC::single("k"), RC::operator_only()}), {"k"}), text);
    EXPECT_EQ(verdict(wrapped(RC::timeout_only(), 2), {"k"}), text);
}

TEST(CheckCondition, at_most_256_nodes) {
    std::vector<RC> members(255, RC::single("k"));
    EXPECT_EQ(verdict(RC::all_of(members), {"k"}), "ok");
    members.push_back(RC::single("k"));
    EXPECT_EQ(verdict(RC::all_of(members), {"k"}), "invalid_input: condition_too_large");
    std::vector<std::string> names(256, "x");
    EXPECT_EQ(verdict(RC::signal_set("k", names), {"k"}), "ok");
    names.push_back("x");
    EXPECT_EQ(verdict(RC::signal_set("k", names), {"k"}), "invalid_input: condition_too_large");
}

TEST(CheckCondition, a_signal_set_can_be_filled) {
    const auto set = [](std::vector<std::string> names, std::uint32_t minimum) {
        return verdict(RC::signal_set("k", std::move(names), SignalMatchMode::count, minimum),
                       {"k"});
    };
    EXPECT_EQ(set({"a", "b"}, 2), "ok");
    EXPECT_EQ(set({"a", "b"}, 3), "invalid_input: minimum_exceeds_matchers");
    EXPECT_EQ(set({}, 1), "ok");
    EXPECT_EQ(set({}, 2), "invalid_input: minimum_exceeds_matchers");
    EXPECT_EQ(set({"a"}, 0), "invalid_input: minimum_signal_count_zero at path <root>");
}

// ----------------------------------------------------------------------------- what is left out

TEST(CompleteBindings, the_first_key_is_that_of_the_condition) {
    EXPECT_EQ(waiting_for(RC::single("a"), {""}).waitpoints[0].waitpoint_key, "a");
    EXPECT_EQ(waiting_for(RC::operator_only(), {""}).waitpoints[0].waitpoint_key,
              "wpk:" + waitpoint(1).to_string());
    const Suspend two = waiting_for(RC::all_of({RC::single("b"), RC::single("a")}), {"", "b"});
    EXPECT_EQ(two.waitpoints[0].waitpoint_key, "a") << "the other one is bound already";
    EXPECT_EQ(verdict(two), "ok");
}

TEST(CompleteBindings, a_condition_that_names_no_waitpoint_means_the_only_one) {
    const Suspend one = waiting_for(any_signal("go"), {""});
    EXPECT_EQ(one.resume_condition.waitpoint_key, "wpk:" + waitpoint(1).to_string());
    EXPECT_EQ(verdict(one), "ok");
    EXPECT_EQ(verdict(any_signal("go").from_distinct_sources(2), {"k"}), "ok");
    EXPECT_EQ(verdict(any_signal("go").times(2), {""}), "ok");
    const Suspend mixed = waiting_for(RC::all_of({any_signal("x"), RC::single("k", "y")}), {""});
    EXPECT_EQ(mixed.resume_condition, RC::all_of({RC::single("k", "x"), RC::single("k", "y")}));
    EXPECT_EQ(verdict(RC::all_of({any_signal(), RC::single("b")}), {"a", "b"}),
              "invalid_waitpoint_key: resume_condition.members[0]: must not be empty");
}

TEST(CompleteBindings, ids_that_are_given_stay) {
    Suspend args;
    args.waitpoints = {WaitpointBinding::fresh("a"), WaitpointBinding::fresh("b")};
    args.waitpoints[0].waitpoint_id = waitpoint(7);
    complete_bindings(args, [] { return waitpoint(8); });
    EXPECT_EQ(args.waitpoints[0].waitpoint_id, waitpoint(7));
    EXPECT_EQ(args.waitpoints[1].waitpoint_id, waitpoint(8));
}

TEST(CompleteBindings, a_waitpoint_made_before_is_named_when_its_key_is_known) {
    Suspend args;
    args.resume_condition = any_signal("go");
    args.waitpoints = {WaitpointBinding::pending(waitpoint(7))};
    complete_bindings(args, [] { return waitpoint(8); });
    EXPECT_EQ(args.resume_condition, any_signal("go"));
    name_only_waitpoint(args.resume_condition, "early");
    EXPECT_EQ(args.resume_condition, RC::single("early", "go"));
}

TEST(RequiredNames, in_the_order_of_the_tree_and_none_twice) {
    using Names = std::vector<std::string>;
    const RC tree = RC::all_of({RC::single("k", "b"), RC::single("other", "z"),
                                RC::count(1, distinct_signals, {"k", "l"}, "a"),
                                RC::signal_set("k", {"c", "b"})});
    EXPECT_EQ(required_names(tree, "k"), (Names{"b", "a", "c"}));
    EXPECT_EQ(required_names(tree, "l"), Names{"a"});
    EXPECT_EQ(required_names(RC::all_of({tree, RC::single("k")}), "k"), Names{});
    EXPECT_EQ(required_names(RC::signal_set("k", {}), "k"), Names{});
    EXPECT_EQ(required_names(RC::operator_only(), "k"), Names{"__operator_only__"});
    EXPECT_EQ(required_names(RC::timeout_only(), "k"), Names{"__timeout_only__"});
}

TEST(NodeCounts, as_text) {
    const RC tree = RC::all_of({RC::single("k"), RC::single("k"), RC::single("k")});
    EXPECT_EQ(counts_text({0, 1, 20, 3}), "0,1,20,3");
    EXPECT_EQ(counts_of(tree, "0,1,20,3"), (NodeCounts{0, 1, 20, 3}));
    EXPECT_EQ(counts_of(tree, ""), (NodeCounts{0, 0, 0, 0}));
    EXPECT_EQ(counts_of(tree, "0,1"), (NodeCounts{0, 1, 0, 0}));
    EXPECT_EQ(counts_of(tree, "0,1,2,3,4"), (NodeCounts{0, 1, 2, 3}));
}

// --------------------------------------------------------------------------------- evaluation

/// A condition with its satisfiers; signals come one by one.
class Wait {
  public:
    explicit Wait(RC condition)
        : condition_(std::move(condition)), counts_(counts_of(condition_, "")) {}

    Evaluation signal(std::string key, std::string name, std::string identity = "",
                      std::string type = "user") {
        SignalFacts facts{
            std::move(key), std::move(name), {}, std::move(type), std::move(identity)};
        facts.id.uuid.bytes[15] = ++signals_;
        Evaluation result =
            evaluate(condition_, counts_, facts, [this](std::uint32_t node, const auto& token) {
                return taken_.contains({node, token});
            });
        for (const Gain& gain : result.gains) {
            taken_.insert({gain.node, gain.token});
        }
        return result;
    }
    /// The effect, in short: `satisfied`, `appended`, ...; a star when it matched.
    std::string effect(std::string key, std::string name, std::string identity = "",
                       std::string type = "user") {
        const Evaluation result =
            signal(std::move(key), std::move(name), std::move(identity), std::move(type));
        EXPECT_EQ(result.satisfied, result.effect == SignalEffect::resume_condition_satisfied);
        return std::string(to_string(result.effect)) + (result.matched ? "*" : "");
    }

  private:
    RC condition_;
    NodeCounts counts_;
    std::set<std::pair<std::uint32_t, std::string>> taken_;
    std::uint8_t signals_ = 0;
};

const std::string met = "resume_condition_satisfied*";
const std::string appended = "appended_to_waitpoint*";
const std::string duplicate = "appended_to_waitpoint_duplicate*";
const std::string failed = "signal_ignored_matcher_failed";
const std::string elsewhere = "signal_ignored_not_in_condition";

TEST(Evaluate, a_single_takes_the_first_that_matches) {
    Wait named(RC::single("k", "go"));
    EXPECT_EQ(named.effect("k", "Go"), "no_op") << "names are bytes";
    EXPECT_EQ(named.effect("other", "go"), "no_op");
    EXPECT_EQ(named.effect("k", "go"), met);
    EXPECT_EQ(Wait(RC::single("k")).effect("k", "anything"), met);
}

TEST(Evaluate, no_signal_satisfies_what_waits_for_no_signal) {
    for (const RC& condition : {RC::operator_only(), RC::timeout_only()}) {
        EXPECT_EQ(Wait(condition).effect("k", "__operator_only__"), "no_op");
        EXPECT_EQ(Wait(condition).effect("k", "__timeout_only__"), "no_op");
    }
}

TEST(Evaluate, the_effects_of_a_composite) {
    Wait wait(RC::all_of({RC::single("a", "x"), RC::single("b", "y")}));
    EXPECT_EQ(wait.effect("a", "y"), failed);
    EXPECT_EQ(wait.effect("c", "x"), elsewhere);
    EXPECT_EQ(wait.effect("b", "y"), appended);
    EXPECT_EQ(wait.effect("b", "y"), duplicate);
    EXPECT_EQ(wait.effect("a", "x"), met);
}

TEST(Evaluate, one_signal_may_satisfy_several_members) {
    Wait wait(RC::all_of({RC::single("a", "x"), RC::single("a"), RC::signal_set("a", {"x"})}));
    EXPECT_EQ(wait.effect("a", "x"), met);
}

TEST(Evaluate, an_all_of_inside_an_all_of_holding_a_count_resumes) {
    Wait wait(RC::all_of(
        {RC::all_of({RC::count(2, distinct_signals, {"a"}), RC::single("b")}), RC::single("c")}));
    EXPECT_EQ(wait.effect("c", "x"), appended);
    EXPECT_EQ(wait.effect("a", "x"), appended);
    EXPECT_EQ(wait.effect("b", "x"), appended);
    EXPECT_EQ(wait.effect("a", "x"), met);
}

TEST(Evaluate, a_count_of_waitpoints) {
    Wait wait(RC::count(2, distinct_waitpoints, {"a", "b", "c"}, "x"));
    EXPECT_EQ(wait.effect("a", "x"), appended);
    EXPECT_EQ(wait.effect("a", "x"), duplicate);
    EXPECT_EQ(wait.effect("b", "y"), failed);
    EXPECT_EQ(wait.effect("d", "x"), elsewhere);
    EXPECT_EQ(wait.effect("c", "x"), met);
}

TEST(Evaluate, a_count_of_signals) {
    Wait wait(RC::count(3, distinct_signals, {"a", "b"}));
    EXPECT_EQ(wait.effect("a", "x"), appended);
    EXPECT_EQ(wait.effect("a", "x"), appended);
    EXPECT_EQ(wait.effect("b", "x"), met);
}

TEST(Evaluate, a_count_of_sources_tells_pairs_apart) {
    Wait wait(RC::count(5, distinct_sources, {"k"}));
    EXPECT_EQ(wait.effect("k", "x", "ann", "user"), appended);
    EXPECT_EQ(wait.effect("k", "x", "ann", "user"), duplicate);
    EXPECT_EQ(wait.effect("k", "x", "ann", "service"), appended);
    EXPECT_EQ(wait.effect("k", "x", "b:c", "a"), appended);
    EXPECT_EQ(wait.effect("k", "x", "c", "a:b"), appended) << "a pair, not a joined text";
    EXPECT_EQ(wait.effect("k", "x", "nn", "usera"), met);
    Wait nameless(RC::count(2, distinct_sources, {"k"}));
    EXPECT_EQ(nameless.effect("k", "approved", "", "operator"), appended);
    EXPECT_EQ(nameless.effect("k", "approved", "", "operator"), duplicate);
}

TEST(Evaluate, two_counts_do_not_count_for_each_other) {
    Wait wait(RC::all_of(
        {RC::count(2, distinct_sources, {"k"}, "x"), RC::count(2, distinct_sources, {"k"}, "y")}));
    EXPECT_EQ(wait.effect("k", "x", "ann"), appended);
    EXPECT_EQ(wait.effect("k", "y", "bob"), appended);
    EXPECT_EQ(wait.effect("k", "x", "bob"), appended);
    EXPECT_EQ(wait.effect("k", "y", "bob"), duplicate);
    EXPECT_EQ(wait.effect("k", "x", "cid"), appended) << "new, though the count is full";
    EXPECT_EQ(wait.effect("k", "y", "ann"), met);
}

TEST(Evaluate, a_signal_set_fills_the_first_free_matcher) {
    Wait wait(RC::signal_set("k", {"a", "b", "a"}, SignalMatchMode::all));
    EXPECT_EQ(wait.signal("k", "a").gains, (std::vector<Gain>{{0, "0"}}));
    EXPECT_EQ(wait.effect("other", "a"), "no_op");
    EXPECT_EQ(wait.effect("k", "c"), "no_op");
    EXPECT_EQ(wait.signal("k", "a").gains, (std::vector<Gain>{{0, "2"}}));
    EXPECT_EQ(wait.effect("k", "a"), "no_op") << "both are taken";
    EXPECT_EQ(wait.effect("k", "b"), met);
}

TEST(Evaluate, how_many_a_signal_set_needs) {
    EXPECT_EQ(Wait(RC::signal_set("k", {"a", "b"})).effect("k", "b"), met);
    EXPECT_EQ(Wait(RC::signal_set("k", {})).effect("k", "whatever"), met);
    for (const auto mode : {SignalMatchMode::any, SignalMatchMode::count}) {
        Wait two(RC::signal_set("k", {"a", "b", "c"}, mode, 2));
        EXPECT_EQ(two.effect("k", "c"), appended);
        EXPECT_EQ(two.effect("k", "c"), "no_op");
        EXPECT_EQ(two.effect("k", "a"), met);
    }
}

TEST(Evaluate, a_signal_set_in_a_composite_has_the_effects_of_a_composite) {
    Wait wait(RC::all_of({RC::signal_set("k", {"a"}), RC::single("l")}));
    EXPECT_EQ(wait.effect("k", "b"), failed);
    EXPECT_EQ(wait.effect("k", "a"), appended);
    EXPECT_EQ(wait.effect("k", "a"), duplicate);
    EXPECT_EQ(wait.effect("l", "a"), met);
}

TEST(Evaluate, what_is_met_is_not_met_again) {
    Wait wait(RC::count(1, distinct_signals, {"k"}));
    EXPECT_EQ(wait.effect("k", "a"), met);
    EXPECT_EQ(wait.effect("k", "a"), appended);
}

TEST(Candidates, name_the_rows_to_look_up) {
    const RC tree =
        RC::all_of({RC::single("k"), RC::count(1, distinct_waitpoints, {"k"}),
                    RC::all_of({RC::signal_set("k", {"a", "b", "a"})}), RC::single("l")});
    const auto found = candidates(tree, {"k", "a", {}, "user", "ann"});
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].node, 1U);
    EXPECT_EQ(found[0].tokens, std::vector<std::string>{""});
    EXPECT_EQ(found[1].node, 2U);
    EXPECT_EQ(found[1].tokens, std::vector<std::string>{"k"});
    EXPECT_EQ(found[2].node, 4U);
    EXPECT_EQ(found[2].tokens, (std::vector<std::string>{"0", "2"}));
}

}  // namespace
}  // namespace ff::core
