#include <ff/error.h>

#include "base/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

namespace ff {
namespace {

constexpr ErrorCode all_codes[] = {
#define FF_X(code, kind, cls, http, retry) ErrorCode::code,
    FF_ERROR_CODES(FF_X)
#undef FF_X
};

Error make(ErrorCode code, std::string detail = {}) { return {code, std::move(detail), {}}; }

TEST(ErrorTable, every_code_has_its_own_name) {
    std::set<std::string_view> names;
    for (const ErrorCode code : all_codes) {
        EXPECT_FALSE(to_string(code).empty());
        EXPECT_TRUE(names.insert(to_string(code)).second) << to_string(code);
    }
}

TEST(ErrorTable, status_follows_from_the_kind) {
    for (const ErrorCode code : all_codes) {
        const ErrorInfo& row = info(code);
        switch (row.kind) {
            case ErrorKind::not_found: EXPECT_EQ(row.http_status, 404) << row.name; break;
            case ErrorKind::validation: EXPECT_EQ(row.http_status, 400) << row.name; break;
            case ErrorKind::conflict:
            case ErrorKind::state: EXPECT_EQ(row.http_status, 409) << row.name; break;
            default: EXPECT_GE(row.http_status, 404) << row.name; break;
        }
    }
}

TEST(ErrorTable, terminal_faults_never_advise_a_retry) {
    for (const ErrorCode code : all_codes) {
        if (info(code).error_class == ErrorClass::terminal) {
            EXPECT_FALSE(info(code).retryable) << info(code).name;
        }
    }
}

TEST(ErrorTable, conflicts_and_state_faults_are_never_retryable) {
    for (const ErrorCode code : all_codes) {
        if (info(code).kind == ErrorKind::conflict || info(code).kind == ErrorKind::state) {
            EXPECT_FALSE(info(code).retryable) << info(code).name;
        }
    }
}

/// Codes that the specification (chapter 01, section 8) gives the same row. Words of it that no
/// answer of ours has are not among them.
struct SameRow {
    ErrorKind kind;
    ErrorClass error_class;
    int http_status;
    bool retryable;
    const char* codes;
};

TEST(ErrorTable, rows_stand_as_the_specification_gives_them) {
    using enum ErrorKind;
    using Class = ErrorClass;
    const SameRow rows[] = {
        {not_found, Class::terminal, 404, false,
         "execution_not_found flow_not_found attempt_not_found budget_not_found "
         "quota_policy_not_found edge_not_found worker_not_found"},
        {not_found, Class::expected_empty, 404, false, "stream_not_found"},
        {validation, Class::terminal, 400, false,
         "invalid_input invalid_capabilities invalid_policy_json payload_too_large "
         "signal_limit_exceeded invalid_waitpoint_key invalid_token waitpoint_not_token_bound "
         "retention_limit_exceeded invalid_lease_for_suspend invalid_dependency "
         "invalid_waitpoint_for_execution invalid_blocking_reason unauthorized "
         "invalid_budget_scope budget_override_not_allowed invalid_quota_spec invalid_kid "
         "invalid_secret_hex invalid_grace_ms invalid_tag_key corruption "
         "handle_from_other_backend fence_required partial_fence_triple"},
        {validation, Class::soft, 400, false, "invalid_frame_type"},
        {contention, Class::retryable, 409, true,
         "use_claim_resumed_execution not_a_resumed_execution execution_not_leaseable "
         "lease_conflict invalid_claim_grant claim_grant_expired no_eligible_execution "
         "stale_graph_revision"},
        {contention, Class::terminal, 409, false, "execution_not_active"},
        {contention, Class::informational, 409, true,
         "execution_not_eligible execution_not_in_eligible_set"},
        {contention, Class::informational, 409, false, "execution_not_reclaimable no_active_lease"},
        {contention, Class::retryable, 429, true, "rate_limit_exceeded concurrency_limit_exceeded"},
        {contention, Class::retryable, 500, false, "retry_exhausted"},
        {conflict, Class::terminal, 409, false,
         "dependency_already_exists cycle_detected self_referencing_edge "
         "execution_already_in_flow budget_attach_conflict quota_attach_conflict "
         "rotation_conflict"},
        {conflict, Class::informational, 409, false, "waitpoint_already_exists"},
        {conflict, Class::bug, 409, false, "active_attempt_exists"},
        {state, Class::terminal, 409, false,
         "stale_lease target_not_signalable stream_closed stale_owner_cannot_append "
         "execution_not_in_flow lane_not_accepting "
         "execution_not_terminal max_replays_exhausted replay_not_allowed not_runnable terminal "
         "flow_already_terminal lease_expired lease_revoked"},
        {state, Class::informational, 409, false,
         "already_satisfied execution_not_suspended already_suspended waitpoint_closed "
         "waitpoint_not_pending pending_waitpoint_expired grant_already_exists "
         "deps_not_satisfied not_blocked_by_deps budget_soft_exceeded"},
        {state, Class::cooperative, 409, false, "budget_exceeded"},
        {resource_exhausted, Class::retryable, 429, true, "resource_exhausted"},
    };
    for (const SameRow& row : rows) {
        std::istringstream names(row.codes);
        for (std::string name; names >> name;) {
            const auto* code = std::ranges::find(
                all_codes, name, [](ErrorCode c) { return std::string(info(c).name); });
            ASSERT_NE(code, std::end(all_codes)) << name << " is not in the table";
            EXPECT_EQ(to_string(info(*code).kind), to_string(row.kind)) << name;
            EXPECT_EQ(info(*code).error_class, row.error_class) << name;
            EXPECT_EQ(info(*code).http_status, row.http_status) << name;
            EXPECT_EQ(info(*code).retryable, row.retryable) << name;
        }
    }
    EXPECT_EQ(info(ErrorCode::capability_mismatch).error_class, ErrorClass::retryable);
    EXPECT_EQ(info(ErrorCode::waitpoint_not_found).http_status, 404);
}

TEST(ErrorTable, every_kind_has_a_word) {
    EXPECT_EQ(to_string(ErrorKind::not_found), "not_found");
    EXPECT_EQ(to_string(ErrorKind::validation), "validation");
    EXPECT_EQ(to_string(ErrorKind::contention), "contention");
    EXPECT_EQ(to_string(ErrorKind::conflict), "conflict");
    EXPECT_EQ(to_string(ErrorKind::state), "state");
    EXPECT_EQ(to_string(ErrorKind::bug), "bug");
    EXPECT_EQ(to_string(ErrorKind::transport), "transport");
    EXPECT_EQ(to_string(ErrorKind::unavailable), "unavailable");
    EXPECT_EQ(to_string(ErrorKind::resource_exhausted), "resource_exhausted");
    EXPECT_EQ(to_string(ErrorKind::timeout), "timeout");
    EXPECT_EQ(to_string(ErrorKind::config), "config");
}

TEST(ErrorMessage, is_the_code_and_the_detail_when_there_is_one) {
    EXPECT_EQ(make(ErrorCode::stale_lease).message(), "stale_lease");
    EXPECT_EQ(make(ErrorCode::invalid_input, "missing tag").message(),
              "invalid_input: missing tag");
    EXPECT_EQ(make(ErrorCode::capability_mismatch, "cuda,gpu").message(),
              "capability_mismatch: cuda,gpu");
}

TEST(ErrorMessage, of_fence_faults_is_a_detail_of_invalid_input) {
    EXPECT_EQ(make(ErrorCode::fence_required).message(), "invalid_input: fence_required");
    EXPECT_EQ(make(ErrorCode::partial_fence_triple).message(),
              "invalid_input: partial_fence_triple");
}

TEST(ErrorMessage, of_a_missing_thing_names_the_entity_unless_a_detail_says_more) {
    EXPECT_EQ(make(ErrorCode::execution_not_found).message(), "not found: execution");
    EXPECT_EQ(make(ErrorCode::quota_policy_not_found).message(), "not found: quota_policy");
    EXPECT_EQ(make(ErrorCode::execution_not_found, "execution not found: x").message(),
              "execution not found: x");
}

TEST(ErrorMessage, of_waitpoint_not_found_is_that_of_a_contention) {
    EXPECT_EQ(make(ErrorCode::waitpoint_not_found).message(), "waitpoint_not_found");
}

TEST(ErrorMessage, every_not_found_code_yields_an_entity) {
    for (const ErrorCode code : all_codes) {
        if (info(code).kind == ErrorKind::not_found) {
            ASSERT_TRUE(info(code).name.ends_with("_not_found")) << info(code).name;
            EXPECT_EQ(make(code).message() + "_not_found",
                      "not found: " + std::string(info(code).name));
        }
    }
}

TEST(ErrorFields, a_field_is_found_by_name_and_absent_ones_are_empty) {
    const Error error{ErrorCode::execution_not_active,
                      "",
                      {{"terminal_outcome", "success"}, {"lease_epoch", "7"}, {"attempt_id", ""}}};
    EXPECT_EQ(error.field("terminal_outcome"), "success");
    EXPECT_EQ(error.field("lease_epoch"), "7");
    EXPECT_EQ(error.field("attempt_id"), "");
    EXPECT_EQ(error.field("lifecycle_phase"), "");
}

expected<int> half(int n) {
    if (n % 2 != 0) {
        return fail(ErrorCode::invalid_input, "odd");
    }
    return n / 2;
}

expected<int> quarter(int n) {
    FF_TRY(const int halved, half(n));
    return half(halved);
}

TEST(Try, gives_the_value_or_returns_the_error) {
    EXPECT_EQ(quarter(8).value(), 2);
    EXPECT_EQ(quarter(6).error().detail, "odd");
    EXPECT_EQ(quarter(3).error().code, ErrorCode::invalid_input);
}

TEST(Check, a_true_expression_costs_nothing_and_evaluates_no_message) {
    bool evaluated = false;
    const auto message = [&] {
        evaluated = true;
        return "unused";
    };
    FF_CHECK(1 + 1 == 2, message());
    EXPECT_FALSE(evaluated);
}

TEST(CheckDeathTest, a_false_expression_is_named_with_its_place_and_aborts) {
    EXPECT_DEATH(FF_CHECK(1 + 1 == 3, "arithmetic holds"),
                 "check failed: arithmetic holds \\(1 \\+ 1 == 3\\) at .*error_test.cc:[0-9]+");
}

}  // namespace
}  // namespace ff
