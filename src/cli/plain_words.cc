#include "cli/plain_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace ff::cli {

namespace {

/// A word for programs and what it says.
struct Meaning {
    std::string_view word;
    std::string_view sentence;
};

/// Behind `required:` or `worker:`.
constexpr Meaning capability_faults[] = {
    {"not_array", "they are not a list; write them as [\"gpu\", \"eu\"]"},
    {"non_string_token", "one is not a text; put each in quotes"},
    {"empty_token", "one is empty; leave it out, or give it a name"},
    {"comma_in_token", "one has a comma in it; give each by itself"},
    {"control_or_whitespace",
     "one has a space or a control character in it; use letters, digits, and - or . between words"},
    {"too_many_tokens", "there are more than 256; name fewer"},
    {"too_many_bytes",
     "they are longer than 4,096 bytes together; name fewer, or give them shorter names"},
};

/// Behind a member of a policy and a colon.
constexpr Meaning policy_faults[] = {
    {"not_object", "must be an object; write it in braces"},
    {"not_array", "must be a list; write it in brackets"},
    {"not_string", "must be a text; write it in quotes"},
    {"not_integer", "must be a whole number; write it without a point and without quotes"},
    {"not_bool", "must be true or false; write it without quotes"},
    {"not_finite", "must be a finite number; make it smaller"},
    {"negative", "must not be negative; make it 0 or more"},
    {"too_large", "is too large; the most is 9,007,199,254,740,992"},
    {"out_of_range", "is not in its range; make it smaller"},
    {"invalid_value", "has a value that it cannot have; see the policy in the documentation"},
    {"invalid_uuid", "is not an id; write one like 0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071"},
    {"invalid_dimension", "has a dimension with no name or one of more than 128 bytes; rename it"},
    {"too_many", "has too many entries; name fewer"},
    {"empty", "is empty; leave it out, or give it a value"},
    {"too_long", "is longer than 256 bytes; make it shorter"},
    {"control_character", "has a control character in it; take it out"},
    {"unknown", "is not a member that a policy has there; docs/http.md lists them"},
};

/// The same for members that have a limit or words of their own.
constexpr Meaning member_faults[] = {
    {"priority:out_of_range", "is too large; the most is 9,000"},
    {"max_retries:out_of_range", "is too large; the most is 10,000"},
    {"delay_ms:out_of_range", "is too long; the most is 30 days, 2,592,000,000"},
    {"max_delay_ms:out_of_range", "is too long; the most is 30 days, 2,592,000,000"},
    {"initial_delay_ms:out_of_range", "is longer than max_delay_ms; make it shorter"},
    {"multiplier:out_of_range", "is too small; make it 1 or more"},
    {"multiplier:invalid_value", "must be a number; write it without quotes"},
    {"type:invalid_value", "must be fixed or exponential"},
    {"timeout_behavior:invalid_value",
     "must be fail, cancel, expire, auto_resume, auto_resume_with_timeout_signal or escalate"},
    {"durability_mode:invalid_value", "must be buffered or durable"},
    {"tiers:too_many", "has too many entries; the most is 16"},
    {"budget_ids:too_many", "has too many entries; the most is 16"},
    {"budget_reserve:too_many", "has too many entries; the most is 64"},
};

/// Of codes that come without a detail.
constexpr Meaning bare_codes[] = {
    {"execution_not_suspended", "it is not suspended, so there is nothing to resume or to answer"},
    {"flow_already_terminal", "the flow has ended already; ff flow retry runs it again"},
    {"hmac_secret_not_initialized",
     "the store has no key for the tokens of waitpoints; make one with ff admin rotate-secret"},
    {"invalid_token", "the token is not that of this waitpoint; give the one that came with it"},
    {"invalid_waitpoint_for_execution",
     "the waitpoint is of another execution; ff waitpoints ID lists those of one"},
    {"lane_not_accepting",
     "its lane takes no new work; ff lanes shows its state, ff lanes resume opens it"},
    {"max_replays_exhausted",
     "it was replayed as often as its policy allows; submit it as a new execution"},
    {"missing_token", "this waitpoint wants its token; give it with --token"},
    {"no_active_lease", "no worker holds it"},
    {"pending_waitpoint_expired", "the time of the waitpoint ran out before it was waited for"},
    {"replay_not_allowed", "it cannot be replayed; submit it as a new execution"},
    {"target_not_signalable", "it waits for no signal; ff why ID says what it waits for"},
    {"token_expired", "the key that signed the token is out of use; ask for a new token"},
    {"waitpoint_closed", "the waitpoint is closed: it was answered, or its time ran out"},
    {"waitpoint_not_found", "there is no such waitpoint; ff waitpoints ID lists those of one"},
    {"waitpoint_not_token_bound", "this waitpoint has no token; ff resume lets it go on"},
};

std::string_view sentence_in(std::span<const Meaning> table, std::string_view word) {
    const auto found = std::ranges::find(table, word, &Meaning::word);
    return found == table.end() ? std::string_view() : found->sentence;
}

/// `retry_policy.max_retries:out_of_range`.
std::string of_policy(std::string_view word) {
    if (word == "malformed") {
        return "it is not a JSON object; write one like {\"max_replay_count\": 3}";
    }
    const std::size_t colon = word.rfind(':');
    if (colon == std::string_view::npos) {
        return "";
    }
    const std::string_view member = word.substr(0, colon);
    const std::size_t dot = member.rfind('.');
    std::string_view sentence =
        sentence_in(member_faults, dot == std::string_view::npos ? word : word.substr(dot + 1));
    if (sentence.empty()) {
        sentence = sentence_in(policy_faults, word.substr(colon + 1));
    }
    return sentence.empty() ? "" : fmt::format("{} {}", member, sentence);
}

/// `required:empty_token`; `before` is what stands in front of it.
std::string of_capabilities(std::string_view before, std::string_view word) {
    const bool of_worker = word.starts_with("worker:");
    if (!of_worker && !word.starts_with("required:")) {
        return "";
    }
    const std::string_view fault = word.substr(word.find(':') + 1);
    const std::string_view sentence = sentence_in(capability_faults, fault);
    if (sentence.empty() || before.ends_with("capabilities: ")) {
        return std::string(sentence);
    }
    return fmt::format("capabilities that {}: {}",
                       of_worker ? "a worker has" : "an execution requires", sentence);
}

}  // namespace

std::string plain_words(const Error& error) {
    if (error.detail.empty()) {
        const std::string_view code = to_string(error.code);
        const std::string_view sentence = sentence_in(bare_codes, code);
        return sentence.empty() ? "" : fmt::format("{} ({})", sentence, code);
    }
    // A word may have something in front of it: `node build: required:empty_token`.
    const std::string_view detail = error.detail;
    const std::size_t begin = detail.rfind(' ') + 1;  // 0 when there is no space
    const std::string_view before = detail.substr(0, begin);
    const std::string_view word = detail.substr(begin);
    std::string sentence = of_capabilities(before, word);
    if (sentence.empty() && error.code == ErrorCode::invalid_policy_json) {
        sentence = of_policy(word);
    }
    return sentence.empty() ? "" : fmt::format("{}{} ({})", before, sentence, word);
}

}  // namespace ff::cli
