// Random conditions, random signals: what the evaluator does one signal at a time, with nothing but
// counts and single rows, is what a model says that looks at all signals from the beginning.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/condition_rules.h"

namespace ff::core {
namespace {

using RC = ResumeCondition;
using Signals = std::vector<SignalFacts>;

// --------------------------------------------------------------------------------------- model

/// What is known at a leaf: its path, and whatever makes it one more (three texts, so that pairs
/// stay pairs).
using Fact = std::tuple<std::string, std::string, std::string, std::string>;
using Facts = std::set<Fact>;

bool named(const RC& c, const SignalFacts& signal) {
    return !c.signal_name || *c.signal_name == signal.name;
}

bool is_at(const std::vector<std::string>& keys, const SignalFacts& signal) {
    return std::ranges::count(keys, signal.waitpoint_key) > 0;
}

void add_set_facts(const RC& c, const std::string& path, const Signals& signals, Facts& facts) {
    std::vector<std::string> matchers = c.required_signal_names;
    if (matchers.empty()) {
        matchers.push_back("*");
    }
    std::vector<bool> filled(matchers.size());
    for (const SignalFacts& signal : signals) {
        for (std::size_t i = 0; signal.waitpoint_key == c.waitpoint_key && i < matchers.size();
             ++i) {
            const bool fits = matchers[i] == "*" || matchers[i] == signal.name;
            if (fits && !filled[i]) {
                filled[i] = true;
                facts.insert({path, "matcher", std::to_string(i), ""});
                break;
            }
        }
    }
}

/// Everything all these signals tell, from the beginning.
void add_facts(const RC& c, const std::string& path, const Signals& signals, Facts& facts) {
    if (c.kind == RC::Kind::all_of) {
        for (std::size_t i = 0; i < c.members.size(); ++i) {
            add_facts(c.members[i], path + "/" + std::to_string(i), signals, facts);
        }
    } else if (c.kind == RC::Kind::signal_set) {
        add_set_facts(c, path, signals, facts);
    }
    for (const SignalFacts& signal : signals) {
        if (c.kind == RC::Kind::single && signal.waitpoint_key == c.waitpoint_key &&
            named(c, signal)) {
            facts.insert({path, "single", "", ""});
        }
        if (c.kind != RC::Kind::count || !is_at(c.waitpoints, signal) || !named(c, signal)) {
            continue;
        }
        switch (c.count_kind) {
            case CountKind::distinct_waitpoints:
                facts.insert({path, "at", signal.waitpoint_key, ""});
                break;
            case CountKind::distinct_signals:
                facts.insert({path, "signal", signal.id.to_string(), ""});
                break;
            case CountKind::distinct_sources:
                facts.insert({path, "source", signal.source_type, signal.source_identity});
                break;
        }
    }
}

Facts facts_of(const RC& c, const Signals& signals) {
    Facts facts;
    add_facts(c, "", signals, facts);
    return facts;
}

bool holds(const RC& c, const std::string& path, const Facts& facts) {
    const auto here = static_cast<std::size_t>(
        std::ranges::count_if(facts, [&](const Fact& fact) { return std::get<0>(fact) == path; }));
    switch (c.kind) {
        case RC::Kind::single: return here > 0;
        case RC::Kind::count: return here >= c.n;
        case RC::Kind::signal_set:
            return c.signal_match_mode == SignalMatchMode::all
                       ? here == std::max<std::size_t>(c.required_signal_names.size(), 1)
                       : here >= c.minimum_signal_count;
        case RC::Kind::all_of:
            for (std::size_t i = 0; i < c.members.size(); ++i) {
                if (!holds(c.members[i], path + "/" + std::to_string(i), facts)) {
                    return false;
                }
            }
            return true;
        default: return false;
    }
}

bool listens(const RC& c, const SignalFacts& signal) {
    return std::ranges::any_of(c.members, [&](const RC& m) { return listens(m, signal); }) ||
           (c.kind == RC::Kind::count && is_at(c.waitpoints, signal)) ||
           ((c.kind == RC::Kind::single || c.kind == RC::Kind::signal_set) &&
            c.waitpoint_key == signal.waitpoint_key);
}

struct Verdict {
    std::string effect;
    bool matched = false;
    bool satisfied = false;
    std::multiset<std::string> gained_at;
    bool operator==(const Verdict&) const = default;
};

/// What the last of them did.
Verdict judge(const RC& c, const Signals& signals) {
    const Facts before = facts_of(c, Signals(signals.begin(), signals.end() - 1));
    const Facts after = facts_of(c, signals);
    Verdict verdict;
    for (const Fact& fact : after) {
        if (!before.contains(fact)) {
            verdict.gained_at.insert(std::get<0>(fact));
        }
    }
    const bool composite = c.kind == RC::Kind::all_of || c.kind == RC::Kind::count;
    const bool accepted = !facts_of(c, {signals.back()}).empty();
    verdict.satisfied = holds(c, "", after) && !holds(c, "", before);
    verdict.matched = !verdict.gained_at.empty() || (composite && accepted);
    verdict.effect = verdict.satisfied            ? "resume_condition_satisfied"
                     : !verdict.gained_at.empty() ? "appended_to_waitpoint"
                     : !composite                 ? "no_op"
                     : accepted                   ? "appended_to_waitpoint_duplicate"
                     : listens(c, signals.back()) ? "signal_ignored_matcher_failed"
                                                  : "signal_ignored_not_in_condition";
    return verdict;
}

// ---------------------------------------------------------------------------------- the subject

void add_paths(const RC& c, const std::string& path, std::vector<std::string>& paths) {
    paths.push_back(path);
    for (std::size_t i = 0; i < c.members.size(); ++i) {
        add_paths(c.members[i], path + "/" + std::to_string(i), paths);
    }
}

/// The evaluator as an engine runs it: rows are looked up beforehand, counts rest as text.
class Watched {
  public:
    explicit Watched(const RC& condition) : condition_(condition) {
        add_paths(condition, "", paths_);
    }

    Verdict signal(const SignalFacts& facts) {
        std::map<std::pair<std::uint32_t, std::string>, bool> loaded;
        for (const Candidate& candidate : candidates(condition_, facts)) {
            for (const std::string& token : candidate.tokens) {
                const std::pair row(candidate.node, token);
                loaded[row] = rows_.contains(row);
            }
        }
        NodeCounts counts = counts_of(condition_, counts_);
        const bool was_met = is_met(condition_, counts);
        const Evaluation result = evaluate(
            condition_, counts, facts,
            [&](std::uint32_t node, const std::string& token) { return loaded.at({node, token}); });
        counts_ = counts_text(counts);
        EXPECT_EQ(is_met(condition_, counts), was_met || result.satisfied);
        Verdict verdict{
            std::string(to_string(result.effect)), result.matched, result.satisfied, {}};
        for (const Gain& gain : result.gains) {
            EXPECT_TRUE(rows_.insert({gain.node, gain.token}).second) << "a row twice";
            verdict.gained_at.insert(paths_.at(gain.node));
        }
        return verdict;
    }
    [[nodiscard]] bool met() const { return is_met(condition_, counts_of(condition_, counts_)); }

  private:
    const RC& condition_;
    std::vector<std::string> paths_;  ///< by the numbers of nodes
    std::string counts_;
    std::set<std::pair<std::uint32_t, std::string>> rows_;
};

// --------------------------------------------------------------------------------------- chance

class Chance {
  public:
    explicit Chance(std::uint64_t seed) : source_(seed) {}

    std::uint32_t below(std::uint32_t n) {
        return static_cast<std::uint32_t>(source_.uniform(n - 1));
    }
    bool one_in(std::uint32_t n) { return below(n) == 0; }
    std::string of(const std::vector<std::string>& words) {
        return words[below(static_cast<std::uint32_t>(words.size()))];
    }

    RC condition() {
        // A leaf as the root now and then; composites up to four deep otherwise.
        return one_in(6) ? leaf() : composite(1);
    }

    SignalFacts signal(std::uint32_t number) {
        SignalFacts facts{key(), name(), {}, of({"a", "a:", "user"}), of({"", ":b", "b", "ann"})};
        facts.id.uuid.bytes[15] = static_cast<std::uint8_t>(number);
        return facts;
    }

  private:
    std::string key() { return of({"k", "l", "m", "nobody's"}); }
    std::string name() { return of({"x", "y", "z"}); }
    std::optional<std::string> matcher() {
        return one_in(2) ? std::nullopt : std::optional(name());
    }

    RC leaf() {
        switch (below(3)) {
            case 0: {
                std::vector<std::string> names;
                for (std::uint32_t i = below(4); i > 0; --i) {
                    names.push_back(name());
                }
                const auto matchers =
                    std::max<std::uint32_t>(1, static_cast<std::uint32_t>(names.size()));
                const auto mode = static_cast<SignalMatchMode>(below(3));
                const std::uint32_t minimum = 1 + below(matchers);
                return RC::signal_set(of({"k", "l"}), names, mode, minimum);
            }
            default: return RC::single(of({"k", "l", "m"}), matcher());
        }
    }
    RC count() {
        std::vector<std::string> keys{of({"k", "l"})};
        for (std::uint32_t i = below(3); i > 0; --i) {
            keys.push_back(of({"k", "l", "m"}));
        }
        const auto kind = static_cast<CountKind>(below(3));
        const auto distinct =
            static_cast<std::uint32_t>(std::set<std::string>(keys.begin(), keys.end()).size());
        const std::uint32_t n = 1 + below(kind == CountKind::distinct_waitpoints ? distinct : 3);
        return RC::count(n, kind, keys, matcher());
    }
    RC composite(std::uint32_t depth) {
        if (one_in(3)) {
            return count();
        }
        std::vector<RC> members;
        for (std::uint32_t i = 1 + below(3); i > 0; --i) {
            members.push_back(depth < condition_depth_max && one_in(2) ? composite(depth + 1)
                                                                       : leaf());
        }
        return RC::all_of(std::move(members));
    }

    SeededIdSource source_;
};

std::string told(const RC& condition, const Signals& signals) {
    std::string out = condition.to_json();
    for (const SignalFacts& s : signals) {
        out += "\n  " + s.name + " at " + s.waitpoint_key + " from (" + s.source_type + ", " +
               s.source_identity + ")";
    }
    return out;
}

constexpr std::uint64_t seeds = 6'000;
constexpr std::uint32_t signals_each = 14;

TEST(ConditionModel, one_signal_at_a_time_is_all_signals_from_the_beginning) {
    std::map<std::string, std::size_t> effects;
    std::size_t met = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Chance chance(seed);
        const RC condition = chance.condition();
        Watched subject(condition);
        Signals signals;
        for (std::uint32_t i = 1; i <= signals_each; ++i) {
            signals.push_back(chance.signal(i));
            const Verdict expected = judge(condition, signals);
            const Verdict actual = subject.signal(signals.back());
            ASSERT_EQ(actual.effect, expected.effect)
                << "seed " << seed << ": " << told(condition, signals);
            ASSERT_EQ(actual, expected) << "seed " << seed << ": " << told(condition, signals);
            effects[actual.effect] += 1;
        }
        met += subject.met() ? 1U : 0U;
    }
    EXPECT_EQ(effects.size(), 6U) << "every effect of an evaluation occurred";
    for (const auto& [effect, times] : effects) {
        EXPECT_GT(times, 500U) << effect;
    }
    EXPECT_GT(met, seeds / 4);
    EXPECT_LT(met, seeds);
}

TEST(ConditionModel, the_order_of_signals_does_not_decide_whether_they_suffice) {
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
        Chance chance(seed);
        const RC condition = chance.condition();
        Signals signals;
        for (std::uint32_t i = 1; i <= 8; ++i) {
            signals.push_back(chance.signal(i));
        }
        Watched forwards(condition);
        for (const SignalFacts& signal : signals) {
            forwards.signal(signal);
        }
        for (int shuffle = 0; shuffle < 3; ++shuffle) {
            Signals other = signals;
            for (std::uint32_t i = 8; i > 1; --i) {
                std::swap(other[i - 1], other[chance.below(i)]);
            }
            Watched subject(condition);
            for (const SignalFacts& signal : other) {
                subject.signal(signal);
            }
            ASSERT_EQ(subject.met(), forwards.met())
                << "seed " << seed << ": " << told(condition, other);
        }
    }
}

TEST(ConditionModel, what_was_made_by_chance_is_well_formed_and_survives_as_text) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Chance chance(seed);
        const RC condition = chance.condition();
        const auto read = RC::parse(condition.to_json());
        ASSERT_TRUE(read) << read.error().message();
        ASSERT_EQ(*read, condition) << condition.to_json();
        // Bound to exactly the keys it names it is accepted; the first of a single is its own.
        Suspend args;
        args.resume_condition = condition;
        args.waitpoints.clear();
        std::vector<std::string> paths;
        add_paths(condition, "", paths);
        for (const std::string key : {"k", "l", "m"}) {
            const SignalFacts there{key, "", {}, "", ""};
            if (listens(condition, there)) {
                args.waitpoints.push_back(WaitpointBinding::fresh(key));
            }
        }
        SeededIdSource ids(seed);
        complete_bindings(args, [&ids] { return WaitpointId{ids.uuid(1)}; });
        const auto verdict = check_condition(args);
        ASSERT_TRUE(verdict) << verdict.error().message() << ": " << condition.to_json();
        ASSERT_EQ(args.resume_condition, condition);
        ASSERT_EQ(counts_of(condition, "").size(), paths.size());
    }
}

}  // namespace
}  // namespace ff::core
