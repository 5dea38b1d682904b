#include "core/condition_rules.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/check.h"

namespace ff::core {

namespace {

using Kind = ResumeCondition::Kind;

bool is_composite(const ResumeCondition& c) {
    return c.kind == Kind::all_of || c.kind == Kind::count;
}
bool is_signalless(const ResumeCondition& c) {
    return c.kind == Kind::operator_only || c.kind == Kind::timeout_only;
}

/// Every node with its number, in the order of the tree.
template <class Condition, class Visit>
void each_node(Condition& condition, std::uint32_t& node, const Visit& visit) {
    visit(condition, node);
    node += 1;
    if (condition.kind == Kind::all_of) {
        for (auto& member : condition.members) {
            each_node(member, node, visit);
        }
    }
}

template <class Condition, class Visit>
void each_node(Condition& condition, const Visit& visit) {
    std::uint32_t node = 0;
    each_node(condition, node, visit);
}

/// The keys one node listens on, not those of its members.
template <class Condition, class Visit>
void each_key(Condition& c, const Visit& visit) {
    if (c.kind == Kind::single || c.kind == Kind::signal_set) {
        visit(c.waitpoint_key);
    } else if (c.kind == Kind::count) {
        std::ranges::for_each(c.waitpoints, visit);
    }
}

std::size_t node_count(const ResumeCondition& condition) {
    std::uint32_t nodes = 0;
    each_node(condition, nodes, [](const ResumeCondition&, std::uint32_t) {});
    return nodes;
}

bool listens_on(const ResumeCondition& c, std::string_view key) {
    bool found = false;
    each_key(c, [&](const std::string& own) { found = found || own == key; });
    return found;
}

std::size_t distinct(const std::vector<std::string>& words) {
    return std::set<std::string_view>(words.begin(), words.end()).size();
}

std::size_t matchers_of(const ResumeCondition& signal_set) {
    return std::max<std::size_t>(1, signal_set.required_signal_names.size());
}

std::unexpected<Error> invalid(std::string detail) {
    return ff::fail(ErrorCode::invalid_input, std::move(detail));
}

}  // namespace

}  // namespace ff::core

namespace ff {

std::vector<std::string> ResumeCondition::waitpoint_keys() const {
    std::vector<std::string> keys;
    std::set<std::string_view> seen;
    core::each_node(*this, [&](const ResumeCondition& c, std::uint32_t) {
        core::each_key(c, [&](const std::string& key) {
            if (seen.insert(key).second) {
                keys.push_back(key);
            }
        });
    });
    return keys;
}

}  // namespace ff

namespace ff::core {

// -------------------------------------------------------------------------------------- counts

std::string counts_text(const NodeCounts& counts) {
    std::string text;
    for (const std::uint32_t n : counts) {
        text += (text.empty() ? "" : ",") + std::to_string(n);
    }
    return text;
}

NodeCounts counts_of(const ResumeCondition& condition, std::string_view text) {
    NodeCounts counts(node_count(condition));
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::uint32_t& n : counts) {
        const auto [rest, fault] = std::from_chars(at, end, n);
        if (fault != std::errc() || rest == end) {
            break;
        }
        at = rest + 1;
    }
    return counts;
}

bool is_untouched(std::string_view counts_text) {
    return counts_text.find_first_not_of("0,") == std::string_view::npos;
}

// ------------------------------------------------------------------------------------ bindings

void name_only_waitpoint(ResumeCondition& condition, const std::string& key) {
    each_node(condition, [&](ResumeCondition& c, std::uint32_t) {
        each_key(c, [&](std::string& own) {
            if (own.empty()) {
                own = key;
            }
        });
    });
}

void complete_bindings(Suspend& args, const std::function<WaitpointId()>& mint) {
    if (args.waitpoints.empty()) {
        return;
    }
    for (WaitpointBinding& binding : args.waitpoints) {
        if (!binding.use_pending && !binding.waitpoint_id) {
            binding.waitpoint_id = mint();
        }
    }
    WaitpointBinding& first = args.waitpoints.front();
    if (first.use_pending) {
        return;
    }
    if (first.waitpoint_key.empty()) {
        const auto bound_elsewhere = [&](const std::string& key) {
            return std::ranges::find(args.waitpoints, key, &WaitpointBinding::waitpoint_key) !=
                   args.waitpoints.end();
        };
        first.waitpoint_key = "wpk:" + first.waitpoint_id->to_string();
        for (std::string& key : args.resume_condition.waitpoint_keys()) {
            if (!key.empty() && !bound_elsewhere(key)) {
                first.waitpoint_key = std::move(key);
                break;
            }
        }
    }
    if (args.waitpoints.size() == 1) {
        name_only_waitpoint(args.resume_condition, first.waitpoint_key);
    }
}

expected<void> check_waitpoint_key(std::string_view place, std::string_view key) {
    const auto bad = [&](std::string_view what) {
        return ff::fail(ErrorCode::invalid_waitpoint_key,
                        std::string(place) + ": " + std::string(what));
    };
    if (key.empty()) {
        return bad("must not be empty");
    }
    if (key.size() > waitpoint_key_max) {
        return bad("exceeds " + std::to_string(waitpoint_key_max) + " bytes (got " +
                   std::to_string(key.size()) + ")");
    }
    if (!is_valid_utf8(key) || key.find('\0') != std::string_view::npos) {
        return bad("not valid UTF-8 without NUL characters");
    }
    return {};
}

namespace {

std::string binding_place(std::size_t i) { return "waitpoints[" + std::to_string(i) + "]"; }

expected<void> check_additional(const std::vector<WaitpointBinding>& bindings) {
    for (std::size_t i = 1; i < bindings.size(); ++i) {
        if (bindings[i].use_pending) {
            return invalid("additional_waitpoint_binding_must_be_fresh at " + binding_place(i));
        }
        if (bindings[i].waitpoint_key.empty()) {
            return invalid("additional_waitpoint_binding_empty_key at " + binding_place(i));
        }
    }
    if (bindings.size() > 1 && bindings.front().use_pending) {
        return invalid("use_pending_must_be_the_only_binding");
    }
    return {};
}

expected<void> check_distinct(const std::vector<WaitpointBinding>& bindings) {
    std::set<std::string_view> keys;
    std::set<WaitpointId> ids;
    for (std::size_t i = 0; i < bindings.size(); ++i) {
        const WaitpointBinding& binding = bindings[i];
        if (!binding.waitpoint_id) {
            return invalid(binding_place(i) + ".waitpoint_id: missing");
        }
        if (!binding.use_pending) {
            FF_TRY_VOID(
                check_waitpoint_key(binding_place(i) + ".waitpoint_key", binding.waitpoint_key));
        }
        if (!ids.insert(*binding.waitpoint_id).second ||
            !keys.insert(binding.waitpoint_key).second) {
            return invalid("duplicate_waitpoint_binding");
        }
    }
    return {};
}

expected<void> check_bindings(const Suspend& args) {
    const std::vector<WaitpointBinding>& bindings = args.waitpoints;
    const ResumeCondition& condition = args.resume_condition;
    if (bindings.empty()) {
        return invalid("waitpoints_empty");
    }
    if (bindings.size() > waitpoints_max) {
        return invalid("too_many_waitpoints");
    }
    const WaitpointBinding& first = bindings.front();
    if (!first.use_pending && condition.kind == Kind::single &&
        first.waitpoint_key != condition.waitpoint_key) {
        return invalid("waitpoint_key_mismatch");
    }
    FF_TRY_VOID(check_additional(bindings));
    return check_distinct(bindings);
}

// ---------------------------------------------------------------------------------------- tree

expected<void> check_size(const ResumeCondition& condition) {
    // All together: one signal may have to look at every name and every key there is.
    std::size_t words = 0;
    each_node(condition, [&](const ResumeCondition& c, std::uint32_t) {
        words += c.required_signal_names.size() + c.waitpoints.size();
    });
    if (node_count(condition) > condition_nodes_max || words > condition_words_max) {
        return invalid("condition_too_large");
    }
    return {};
}

expected<void> check_names(const ResumeCondition& condition) {
    bool is_empty = false;
    bool is_text = true;
    bool can_come = true;
    const auto look_at = [&](const std::string& name) {
        is_empty = is_empty || name.empty();
        is_text = is_text && is_valid_utf8(name);
        can_come = can_come && name.size() <= signal_name_bytes_max && !name.contains('\0') &&
                   !is_reserved_signal(name);
    };
    each_node(condition, [&](const ResumeCondition& c, std::uint32_t) {
        if (c.signal_name) {
            look_at(*c.signal_name);
        }
        std::ranges::for_each(c.required_signal_names, look_at);
    });
    if (is_empty) {
        return invalid("resume_condition: empty signal name (use Wildcard instead)");
    }
    if (!is_text) {
        return invalid("resume_condition: a signal name is not valid UTF-8");
    }
    // Nobody can send it, so nobody could satisfy the condition.
    return can_come ? expected<void>()
                    : invalid(
                          "resume_condition: no signal can have that name (1 to 1024 bytes, no "
                          "NUL, not reserved)");
}

/// A key that is empty is one of the only waitpoint's, whose key nobody knows yet.
enum class EmptyKeys : bool { refused, allowed };

class TreeCheck {
  public:
    explicit TreeCheck(EmptyKeys empty_keys) : empty_keys_(empty_keys) {}

    /// `depth` is that of the composites around it.
    expected<void> check(const ResumeCondition& c, const std::string& path, std::uint32_t depth) {
        const std::string at = " at path " + (path.empty() ? "<root>" : path);
        if (is_signalless(c) && depth > 0) {
            return invalid("operator_or_timeout_leaf_in_composite");
        }
        if (is_composite(c)) {
            depth += 1;
            if (depth > condition_depth_max) {
                return invalid("depth " + std::to_string(depth) + " exceeds cap " +
                               std::to_string(condition_depth_max) + at);
            }
        }
        switch (c.kind) {
            case Kind::all_of: FF_TRY_VOID(check_members(c, path, at, depth)); break;
            case Kind::count: FF_TRY_VOID(check_count(c, at)); break;
            case Kind::signal_set: FF_TRY_VOID(check_signal_set(c, at)); break;
            default: break;
        }
        return check_keys(c, path);
    }

  private:
    expected<void> check_members(const ResumeCondition& c, const std::string& path,
                                 const std::string& at, std::uint32_t depth) {
        if (c.members.empty()) {
            return invalid("allof_empty_members" + at);
        }
        for (std::size_t i = 0; i < c.members.size(); ++i) {
            FF_TRY_VOID(check(
                c.members[i],
                (path.empty() ? "" : path + ".") + "members[" + std::to_string(i) + "]", depth));
        }
        return {};
    }

    static expected<void> check_count(const ResumeCondition& c, const std::string& at) {
        if (c.n == 0) {
            return invalid("count_n_zero" + at);
        }
        if (c.waitpoints.empty()) {
            return invalid("count_waitpoints_empty" + at);
        }
        const std::size_t keys = distinct(c.waitpoints);
        if (c.count_kind == CountKind::distinct_waitpoints && c.n > keys) {
            return invalid("count_exceeds_waitpoint_set: n=" + std::to_string(c.n) +
                           " > waitpoints.len()=" + std::to_string(keys) + at);
        }
        return {};
    }

    static expected<void> check_signal_set(const ResumeCondition& c, const std::string& at) {
        if (c.minimum_signal_count == 0) {
            return invalid("minimum_signal_count_zero" + at);
        }
        if (c.minimum_signal_count > matchers_of(c)) {
            return invalid("minimum_exceeds_matchers");
        }
        return {};
    }

    expected<void> check_keys(const ResumeCondition& c, const std::string& path) const {
        expected<void> verdict;
        const std::string place = "resume_condition" + (path.empty() ? "" : "." + path);
        each_key(c, [&](const std::string& key) {
            if (verdict && (!key.empty() || empty_keys_ == EmptyKeys::refused)) {
                verdict = check_waitpoint_key(place, key);
            }
        });
        return verdict;
    }

    EmptyKeys empty_keys_;
};

}  // namespace

expected<void> check_condition(const Suspend& args) {
    FF_TRY_VOID(check_bindings(args));
    const ResumeCondition& condition = args.resume_condition;
    FF_TRY_VOID(check_size(condition));
    FF_TRY_VOID(check_names(condition));
    const bool made_before = args.waitpoints.front().use_pending;
    TreeCheck tree(made_before ? EmptyKeys::allowed : EmptyKeys::refused);
    FF_TRY_VOID(tree.check(condition, "", 0));
    if (made_before) {
        return {};
    }
    std::vector<std::string> keys;
    for (const WaitpointBinding& binding : args.waitpoints) {
        keys.push_back(binding.waitpoint_key);
    }
    return check_references(condition, keys);
}

expected<void> check_references(const ResumeCondition& condition,
                                const std::vector<std::string>& bound_keys) {
    const std::vector<std::string> named = condition.waitpoint_keys();
    for (const std::string& key : named) {
        if (std::ranges::find(bound_keys, key) == bound_keys.end()) {
            return invalid("referenced_waitpoint_key_missing_binding: " + key);
        }
    }
    for (std::size_t i = is_signalless(condition) ? 1 : 0; i < bound_keys.size(); ++i) {
        if (std::ranges::find(named, bound_keys[i]) == named.end()) {
            return invalid("extra_binding_not_referenced_by_condition: " + bound_keys[i]);
        }
    }
    return {};
}

std::vector<std::string> required_names(const ResumeCondition& condition, std::string_view key) {
    if (condition.kind == Kind::operator_only) {
        return {std::string(operator_only_name)};
    }
    if (condition.kind == Kind::timeout_only) {
        return {std::string(timeout_only_name)};
    }
    std::vector<std::string> names;
    bool any = false;
    const auto add = [&](const std::string& name) {
        if (std::ranges::find(names, name) == names.end()) {
            names.push_back(name);
        }
    };
    each_node(condition, [&](const ResumeCondition& c, std::uint32_t) {
        if (!listens_on(c, key)) {
            return;
        }
        if (c.kind == Kind::signal_set) {
            any = any || c.required_signal_names.empty();
            std::ranges::for_each(c.required_signal_names, add);
        } else if (c.signal_name) {
            add(*c.signal_name);
        } else {
            any = true;
        }
    });
    return any ? std::vector<std::string>{} : names;
}

// ---------------------------------------------------------------------------------- evaluation

namespace {

/// Different pairs give different tokens, whatever is in them.
std::string source_token(const SignalFacts& signal) {
    return std::to_string(signal.source_type.size()) + ":" + signal.source_type +
           signal.source_identity;
}

std::string count_token(CountKind kind, const SignalFacts& signal) {
    switch (kind) {
        case CountKind::distinct_waitpoints: return signal.waitpoint_key;
        case CountKind::distinct_signals: return signal.id.to_string();
        case CountKind::distinct_sources: return source_token(signal);
    }
    return {};
}

/// A signal set is satisfied matcher by matcher: their tokens are their places in the list.
std::vector<std::string> matcher_tokens(const ResumeCondition& c, const SignalFacts& signal) {
    if (c.required_signal_names.empty()) {
        return {"0"};
    }
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i < c.required_signal_names.size(); ++i) {
        if (c.required_signal_names[i] == signal.name) {
            tokens.push_back(std::to_string(i));
        }
    }
    return tokens;
}

std::vector<std::string> tokens_at(const ResumeCondition& c, const SignalFacts& signal) {
    if (!listens_on(c, signal.waitpoint_key)) {
        return {};
    }
    if (c.kind == Kind::signal_set) {
        return matcher_tokens(c, signal);
    }
    if (c.signal_name && *c.signal_name != signal.name) {
        return {};
    }
    return {c.kind == Kind::count ? count_token(c.count_kind, signal) : std::string()};
}

std::uint32_t needed(const ResumeCondition& signal_set) {
    return signal_set.signal_match_mode == SignalMatchMode::all
               ? static_cast<std::uint32_t>(matchers_of(signal_set))
               : signal_set.minimum_signal_count;
}

/// `node` is this one's number, and afterwards that of the node behind its last member.
bool is_met_at(const ResumeCondition& c, const NodeCounts& counts, std::uint32_t& node) {
    const std::uint32_t count = counts[node];
    node += 1;
    switch (c.kind) {
        case Kind::single: return count >= 1;
        case Kind::count: return count >= c.n;
        case Kind::signal_set: return count >= needed(c);
        case Kind::operator_only:
        case Kind::timeout_only: return false;
        case Kind::all_of: break;
    }
    bool met = true;
    for (const ResumeCondition& member : c.members) {
        met = is_met_at(member, counts, node) && met;
    }
    return met;
}

SignalEffect unmatched(const ResumeCondition& condition, const SignalFacts& signal) {
    if (!is_composite(condition)) {
        return SignalEffect::no_op;
    }
    bool listens = false;
    each_node(condition, [&](const ResumeCondition& c, std::uint32_t) {
        listens = listens || listens_on(c, signal.waitpoint_key);
    });
    return listens ? SignalEffect::signal_ignored_matcher_failed
                   : SignalEffect::signal_ignored_not_in_condition;
}

}  // namespace

std::vector<Candidate> candidates(const ResumeCondition& condition, const SignalFacts& signal) {
    std::vector<Candidate> found;
    each_node(condition, [&](const ResumeCondition& c, std::uint32_t node) {
        if (auto tokens = tokens_at(c, signal); !tokens.empty()) {
            found.push_back({node, std::move(tokens)});
        }
    });
    return found;
}

bool is_met(const ResumeCondition& condition, const NodeCounts& counts) {
    FF_CHECK(counts.size() == node_count(condition), "counts of another condition");
    std::uint32_t node = 0;
    return is_met_at(condition, counts, node);
}

Evaluation evaluate(const ResumeCondition& condition, NodeCounts& counts, const SignalFacts& signal,
                    const IsTaken& is_taken) {
    Evaluation result;
    const bool was_met = is_met(condition, counts);
    const std::vector<Candidate> accepted = candidates(condition, signal);
    for (const Candidate& candidate : accepted) {
        for (const std::string& token : candidate.tokens) {
            if (!is_taken(candidate.node, token)) {
                counts[candidate.node] += 1;
                result.gains.push_back({candidate.node, token});
                break;
            }
        }
    }
    if (!result.gains.empty()) {
        result.matched = true;
        result.satisfied = !was_met && is_met(condition, counts);
        result.effect = result.satisfied ? SignalEffect::resume_condition_satisfied
                                         : SignalEffect::appended_to_waitpoint;
    } else if (is_composite(condition) && !accepted.empty()) {
        result.matched = true;
        result.effect = SignalEffect::appended_to_waitpoint_duplicate;
    } else {
        result.effect = unmatched(condition, signal);
    }
    return result;
}

}  // namespace ff::core
