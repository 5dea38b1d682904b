// Budgets and quotas on the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace ff::cli {

/// `tokens=100` and so on. `invalid_input` that says what it should look like.
expected<Amounts> parse_amounts(const std::vector<std::string>& words);
/// `tokens=100` for a hard limit, `tokens=100,80` for a soft one too, `tokens=,80` for that alone.
/// What a word does not name stays as it is in `now`.
expected<BudgetLimits> parse_limits(const std::vector<std::string>& words,
                                    const BudgetLimits& now = {});
/// `lane:gpu`, `namespace:acme`, `flow:ID`, `execution:ID`.
struct TargetWord {
    LimitTarget type = LimitTarget::lane;
    std::string id;
};
expected<TargetWord> parse_target(const std::string& word);

struct BudgetArgs {
    std::string id;  ///< a new one when it is empty and a budget is made
    std::vector<std::string> amounts;
    std::optional<std::string> scope;  ///< `flow:ID`, `tenant:acme`
    bool advisory = false;
    std::string on_hard_limit = "reject";
    std::string on_soft_limit = "warn";
    std::string actor;
    std::optional<DurationMs> every_ms;
    std::optional<std::string> key;
    std::string execution;
    std::string target;
};
ExitCode create_budget(const CommonOptions& options, const BudgetArgs& args);
ExitCode set_budget_limits(const CommonOptions& options, const BudgetArgs& args);
ExitCode report_usage(const CommonOptions& options, const BudgetArgs& args);
ExitCode record_spend(const CommonOptions& options, const BudgetArgs& args);
ExitCode release_spend(const CommonOptions& options, const BudgetArgs& args);
ExitCode approve_budget(const CommonOptions& options, const BudgetArgs& args);
ExitCode reset_budget(const CommonOptions& options, const BudgetArgs& args);
ExitCode attach_budget(const CommonOptions& options, const BudgetArgs& args);
ExitCode detach_budget(const CommonOptions& options, const BudgetArgs& args);
expected<std::string> show_budget(const Session& session, const std::string& id);
expected<std::string> show_budgets(const Session& session, const std::optional<std::string>& scope);
expected<std::string> show_ledger(const Session& session, const std::string& id);

struct QuotaArgs {
    std::string id;  ///< a new one when it is empty and a policy is made
    std::optional<std::uint64_t> rate;
    std::optional<std::uint64_t> concurrent;
    std::optional<DurationMs> window_ms;
    std::optional<DurationMs> jitter_ms;
    bool per_key = false;
    std::string target;
};
ExitCode create_quota(const CommonOptions& options, const QuotaArgs& args);
ExitCode set_quota(const CommonOptions& options, const QuotaArgs& args);
ExitCode delete_quota(const CommonOptions& options, const QuotaArgs& args);
ExitCode attach_quota(const CommonOptions& options, const QuotaArgs& args);
ExitCode detach_quota(const CommonOptions& options, const QuotaArgs& args);
expected<std::string> show_quota(const Session& session, const std::string& id);
expected<std::string> show_quotas(const Session& session);
expected<std::string> show_quota_keys(const Session& session, const std::string& id);

}  // namespace ff::cli
