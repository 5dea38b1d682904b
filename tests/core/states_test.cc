#include <ff/states.h>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace ff {
namespace {

// The table of legal combinations once more, in words rather than in code: each row lists the
// alternatives of every column. Enumerators are spelled as on the wire.
struct Row {
    std::string_view phase;
    std::vector<std::string_view> ownership;
    std::vector<std::string_view> eligibility;
    std::vector<std::string_view> blocking_reason;
    std::vector<std::string_view> outcome;
    std::vector<std::string_view> attempt_state;
};

const std::vector<std::string_view> pending_or_interrupted = {
    "pending_first_attempt", "pending_retry_attempt", "pending_replay_attempt",
    "attempt_interrupted"};

// clang-format off: one row of the table is one row here
const std::vector<Row> legal_rows = {
    {"runnable", {"unowned"}, {"eligible_now"}, {"waiting_for_worker"}, {"none"},
     pending_or_interrupted},
    {"runnable", {"unowned"}, {"not_eligible_until_time"},
     {"waiting_for_delay", "waiting_for_retry_backoff", "waiting_for_resume_delay"}, {"none"},
     pending_or_interrupted},
    {"runnable", {"unowned"}, {"blocked_by_dependencies"}, {"waiting_for_children"}, {"none"},
     pending_or_interrupted},
    {"runnable", {"unowned"}, {"blocked_by_budget"}, {"waiting_for_budget"}, {"none"},
     pending_or_interrupted},
    {"runnable", {"unowned"}, {"blocked_by_quota"}, {"waiting_for_quota"}, {"none"},
     pending_or_interrupted},
    {"runnable", {"unowned"}, {"blocked_by_route"},
     {"waiting_for_capable_worker", "waiting_for_locality_match"}, {"none"},
     pending_or_interrupted},
    {"runnable", {"unowned"}, {"blocked_by_lane_state"}, {"paused_by_policy"}, {"none"},
     pending_or_interrupted},
    {"runnable", {"unowned"}, {"blocked_by_operator"},
     {"paused_by_operator", "paused_by_flow_cancel"}, {"none"}, pending_or_interrupted},
    {"active", {"leased"}, {"not_applicable"}, {"none"}, {"none"}, {"running_attempt"}},
    {"active", {"lease_expired_reclaimable", "lease_revoked"}, {"not_applicable"},
     {"waiting_for_worker"}, {"none"}, {"attempt_interrupted"}},
    {"suspended", {"unowned"}, {"not_applicable"},
     {"waiting_for_signal", "waiting_for_approval", "waiting_for_callback",
      "waiting_for_tool_result", "waiting_for_budget", "paused_by_operator", "paused_by_policy"},
     {"none"}, {"attempt_interrupted"}},
    {"terminal", {"unowned"}, {"not_applicable"}, {"none"},
     {"success", "failed", "cancelled", "expired", "skipped"}, {"attempt_terminal"}},
    {"terminal", {"unowned"}, {"not_applicable"}, {"none"}, {"cancelled", "expired"},
     {"pending_first_attempt", "pending_retry_attempt", "pending_replay_attempt"}},
    {"terminal", {"unowned"}, {"not_applicable"}, {"none"}, {"skipped"}, {"none"}},
};
// clang-format on

using Words = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view,
                         std::string_view, std::string_view>;

std::set<Words> expand(const std::vector<Row>& rows) {
    std::set<Words> all;
    for (const Row& row : rows) {
        for (const auto ownership : row.ownership) {
            for (const auto eligibility : row.eligibility) {
                for (const auto reason : row.blocking_reason) {
                    for (const auto outcome : row.outcome) {
                        for (const auto attempt : row.attempt_state) {
                            all.emplace(row.phase, ownership, eligibility, reason, outcome,
                                        attempt);
                        }
                    }
                }
            }
        }
    }
    return all;
}

Words words_of(const StateVector& v) {
    return {to_string(v.phase),           to_string(v.ownership), to_string(v.eligibility),
            to_string(v.blocking_reason), to_string(v.outcome),   to_string(v.attempt_state)};
}

std::string text_of(const StateVector& v) {
    return std::apply([](auto... words) { return (... + (" " + std::string(words))); },
                      words_of(v));
}

template <class E, class Visit>
void for_each_value(Visit visit) {
    for (std::size_t i = 0; i < enum_count<E>; ++i) {
        visit(static_cast<E>(i));
    }
}

template <class Visit>
void for_each_vector(Visit visit) {
    for_each_value<LifecyclePhase>([&](auto phase) {
        for_each_value<OwnershipState>([&](auto ownership) {
            for_each_value<EligibilityState>([&](auto eligibility) {
                for_each_value<BlockingReason>([&](auto reason) {
                    for_each_value<TerminalOutcome>([&](auto outcome) {
                        for_each_value<AttemptState>([&](auto attempt) {
                            visit(StateVector{phase, ownership, eligibility, reason, outcome,
                                              attempt});
                        });
                    });
                });
            });
        });
    });
}

TEST(StateVector, is_legal_exactly_in_the_rows_of_the_table) {
    const std::set<Words> legal = expand(legal_rows);
    std::size_t seen = 0;
    std::size_t accepted = 0;
    for_each_vector([&](const StateVector& v) {
        ++seen;
        accepted += is_legal(v) ? 1 : 0;
        if (is_legal(v) != legal.contains(words_of(v))) {
            ADD_FAILURE() << "is_legal is " << is_legal(v) << " for" << text_of(v);
        }
    });
    EXPECT_EQ(seen, 5U * 4 * 9 * 17 * 6 * 7);
    EXPECT_EQ(accepted, legal.size());
}

TEST(StateVector, submitted_is_transient_and_never_legal_to_store) {
    for_each_vector([](const StateVector& v) {
        if (v.phase == LifecyclePhase::submitted && is_legal(v)) {
            ADD_FAILURE() << text_of(v);
        }
    });
    EXPECT_FALSE(is_legal(StateVector{}));
}

TEST(PublicState, follows_the_derivation_for_every_combination) {
    const std::map<std::string_view, std::string_view> of_outcome = {
        {"success", "completed"}, {"failed", "failed"},   {"cancelled", "cancelled"},
        {"expired", "expired"},   {"skipped", "skipped"}, {"none", "failed"}};
    const std::map<std::string_view, std::string_view> of_eligibility = {
        {"eligible_now", "waiting"},
        {"not_eligible_until_time", "delayed"},
        {"blocked_by_dependencies", "waiting_children"},
        {"blocked_by_budget", "rate_limited"},
        {"blocked_by_quota", "rate_limited"},
        {"blocked_by_route", "waiting"},
        {"blocked_by_lane_state", "waiting"},
        {"blocked_by_operator", "waiting"},
        {"not_applicable", "waiting"}};
    const std::map<std::string_view, std::string_view> of_phase = {
        {"submitted", "waiting"}, {"active", "active"}, {"suspended", "suspended"}};
    for_each_vector([&](const StateVector& v) {
        const std::string_view phase = to_string(v.phase);
        const std::string_view expected = phase == "terminal" ? of_outcome.at(to_string(v.outcome))
                                          : phase == "runnable"
                                              ? of_eligibility.at(to_string(v.eligibility))
                                              : of_phase.at(phase);
        if (to_string(public_state(v)) != expected) {
            ADD_FAILURE() << to_string(public_state(v)) << " for" << text_of(v);
        }
    });
}

TEST(PublicState, resumable_is_reserved_and_never_derived) {
    for_each_vector([](const StateVector& v) {
        if (public_state(v) == PublicState::resumable) {
            ADD_FAILURE() << text_of(v);
        }
    });
    EXPECT_EQ(parse_enum<PublicState>("resumable"), PublicState::resumable);
}

TEST(Reclaimable, is_active_with_a_lease_that_expired_or_was_revoked) {
    for_each_vector([](const StateVector& v) {
        const bool expected = v.phase == LifecyclePhase::active &&
                              (v.ownership == OwnershipState::lease_expired_reclaimable ||
                               v.ownership == OwnershipState::lease_revoked);
        if (is_reclaimable(v) != expected) {
            ADD_FAILURE() << text_of(v);
        }
        if (is_terminal(v) != (v.phase == LifecyclePhase::terminal)) {
            ADD_FAILURE() << text_of(v);
        }
    });
}

template <class E>
void expect_words(const std::vector<std::string_view>& words) {
    ASSERT_EQ(enum_count<E>, words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
        EXPECT_EQ(to_string(static_cast<E>(i)), words[i]);
        EXPECT_EQ(parse_enum<E>(words[i]), static_cast<E>(i));
    }
}

TEST(StateWords, are_those_of_the_specification_in_its_order) {
    expect_words<LifecyclePhase>({"submitted", "runnable", "active", "suspended", "terminal"});
    expect_words<OwnershipState>(
        {"unowned", "leased", "lease_expired_reclaimable", "lease_revoked"});
    expect_words<EligibilityState>({"eligible_now", "not_eligible_until_time",
                                    "blocked_by_dependencies", "blocked_by_budget",
                                    "blocked_by_quota", "blocked_by_route", "blocked_by_lane_state",
                                    "blocked_by_operator", "not_applicable"});
    expect_words<BlockingReason>(
        {"none", "waiting_for_worker", "waiting_for_retry_backoff", "waiting_for_resume_delay",
         "waiting_for_delay", "waiting_for_signal", "waiting_for_approval", "waiting_for_callback",
         "waiting_for_tool_result", "waiting_for_children", "waiting_for_budget",
         "waiting_for_quota", "waiting_for_capable_worker", "waiting_for_locality_match",
         "paused_by_operator", "paused_by_policy", "paused_by_flow_cancel"});
    expect_words<TerminalOutcome>({"none", "success", "failed", "cancelled", "expired", "skipped"});
    expect_words<AttemptState>({"none", "pending_first_attempt", "running_attempt",
                                "attempt_interrupted", "pending_retry_attempt",
                                "pending_replay_attempt", "attempt_terminal"});
    expect_words<PublicState>({"waiting", "delayed", "rate_limited", "waiting_children", "active",
                               "suspended", "resumable", "completed", "failed", "cancelled",
                               "expired", "skipped"});
    expect_words<AttemptLifecycle>({"created", "started", "suspended", "ended_success",
                                    "ended_failure", "ended_cancelled", "interrupted_reclaimed"});
    expect_words<AttemptType>({"initial", "retry", "reclaim", "replay", "fallback"});
    expect_words<LaneState>({"active", "paused", "draining", "disabled"});
    expect_words<GrantKind>({"claim", "resume", "reclaim"});
    expect_words<HandleKind>({"fresh", "resumed", "suspended", "reclaimed"});
}

TEST(StateWords, forbidden_spellings_are_unknown) {
    for (const char* word : {"cancelled", "pending", "blocked", "", "Active", "active "}) {
        EXPECT_FALSE(parse_enum<LifecyclePhase>(word)) << word;
    }
    EXPECT_FALSE(parse_enum<OwnershipState>("released"));
    EXPECT_FALSE(parse_enum<EligibilityState>("pending_claim"));
    EXPECT_FALSE(parse_enum<EligibilityState>("cancelled"));
    for (const char* word : {"pending", "running", "cancelled", "terminal_failed"}) {
        EXPECT_FALSE(parse_enum<AttemptState>(word)) << word;
    }
    EXPECT_FALSE(parse_enum<PublicState>("running"));
    EXPECT_FALSE(parse_enum<PublicState>("claimed"));
}

}  // namespace
}  // namespace ff
