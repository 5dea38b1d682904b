// Commands for budgets and quotas.
#include "cli/grammar.h"
#include "cli/limits.h"

namespace ff::cli {

namespace {

constexpr const char* limit_group = "Limit";
constexpr const char* target_help =
    "What it applies to: lane:NAME, namespace:NAME, flow:ID or execution:ID";

using Budget = std::shared_ptr<BudgetArgs>;
using Quota = std::shared_ptr<QuotaArgs>;

CLI::App& add_budget_command(CLI::App& budget, const std::string& name, const std::string& help,
                             const std::string& examples, const Budget& args) {
    CLI::App& c = add_command(budget, name, help, examples);
    add_text(c, "budget", args->id, "BUDGET", "The budget's id").required();
    return c;
}

void add_amounts(CLI::App& app, const Budget& args, const std::string& help) {
    app.add_option("NAME=N", args->amounts, help)->required()->type_name("NAME=N");
}

void add_execution(CLI::App& app, const Budget& args) {
    add_text(app, "execution", args->execution, "ID",
             "The execution: its id, or the last 6 digits or more of it")
        .required();
}

void add_create_budget(CLI::App& budget, Action& action, const Common& common) {
    auto args = std::make_shared<BudgetArgs>();
    CLI::App& c = add_command(budget, "create", "Define a budget",
                              "  ff budget create --limit tokens=100000 --every 1d\n"
                              "  ff budget create --limit cents=500,400 --scope flow:ID "
                              "--on-hard-limit cancel");
    add_text(c, "--id", args->id, "BUDGET", "Its id (default: a new one)");
    add_texts(c, "--limit", args->amounts, "NAME=HARD[,SOFT]", "A dimension and its limits");
    add_text(c, "--scope", args->scope, "TYPE:ID",
             "What it is for; flow, execution, lane and namespace make it apply there");
    c.add_flag("--advisory", args->advisory, "Count and tell, refuse nothing");
    add_text(c, "--on-hard-limit", args->on_hard_limit, "WORD",
             "Beside the refusal: reject, fail or cancel (default reject)")
        .check(CLI::IsMember({"reject", "fail", "cancel"}));
    add_text(c, "--on-soft-limit", args->on_soft_limit, "WORD",
             "Past a soft limit: warn, none, or approve, which waits for ff budget approve "
             "(default warn)")
        .check(CLI::IsMember({"warn", "none", "approve"}));
    add_span(c, "--every", args->every_ms, "Begin a new period so often (default: never)");
    add_common(c, common);
    on_command(c, action, [common, args] { return create_budget(*common, *args); });
}

void add_budget_reads(CLI::App& budget, Action& action, const Common& common) {
    auto scope = std::make_shared<std::optional<std::string>>();
    CLI::App& list = add_command(budget, "list", "All budgets, or those of a scope",
                                 "  ff budget list\n"
                                 "  ff budget list --scope tenant:acme -o json");
    add_text(list, "--scope", *scope, "TYPE[:ID]", "Only of this scope");
    add_common(list, common);
    on_command(list, action, [common, scope] {
        return print_from(*common,
                          [&](const Session& session) { return show_budgets(session, *scope); });
    });
    auto args = std::make_shared<BudgetArgs>();
    CLI::App& show = add_budget_command(budget, "show", "Limits and usage of a budget",
                                        "  ff budget show ID", args);
    add_common(show, common);
    on_command(show, action, [common, args] {
        return print_from(*common,
                          [&](const Session& session) { return show_budget(session, args->id); });
    });
    CLI::App& ledger = add_budget_command(budget, "ledger", "What executions have spent of it",
                                          "  ff budget ledger ID", args);
    add_common(ledger, common);
    on_command(ledger, action, [common, args] {
        return print_from(*common,
                          [&](const Session& session) { return show_ledger(session, args->id); });
    });
}

void add_budget_changes(CLI::App& budget, Action& action, const Common& common) {
    auto args = std::make_shared<BudgetArgs>();
    CLI::App& limit = add_budget_command(budget, "limit", "Change limits; 0 removes one",
                                         "  ff budget limit ID tokens=200000\n"
                                         "  ff budget limit ID tokens=200000,150000 cents=0",
                                         args);
    add_amounts(limit, args, "Limits: NAME=HARD, or NAME=HARD,SOFT");
    add_common(limit, common);
    on_command(limit, action, [common, args] { return set_budget_limits(*common, *args); });

    CLI::App& report = add_budget_command(budget, "report", "Count what was consumed",
                                          "  ff budget report ID tokens=350 --key call-17", args);
    add_amounts(report, args, "What was consumed");
    add_text(report, "--key", args->key, "KEY", "Repeated with the same key it counts once");
    add_common(report, common);
    on_command(report, action, [common, args] { return report_usage(*common, *args); });

    CLI::App& spend =
        add_budget_command(budget, "spend", "Count it, and write it down for an execution",
                           "  ff budget spend ID 5f6071 cents=20 --key call-17", args);
    add_execution(spend, args);
    add_amounts(spend, args, "What was consumed");
    add_text(spend, "--key", args->key, "KEY", "Repeated with the same key it counts once");
    add_common(spend, common);
    on_command(spend, action, [common, args] { return record_spend(*common, *args); });

    CLI::App& release = add_budget_command(budget, "release", "Take back what an execution spent",
                                           "  ff budget release ID 5f6071", args);
    add_execution(release, args);
    add_common(release, common);
    on_command(release, action, [common, args] { return release_spend(*common, *args); });

    CLI::App& approve = add_budget_command(
        budget, "approve", "Let what it covers go past its soft limits until the next reset",
        "  ff budget approve ID --actor mia", args);
    add_text(approve, "--actor", args->actor, "NAME", "Who approves; stands in the event");
    add_common(approve, common);
    on_command(approve, action, [common, args] { return approve_budget(*common, *args); });

    CLI::App& reset =
        add_budget_command(budget, "reset", "Begin a new period", "  ff budget reset ID", args);
    add_common(reset, common);
    on_command(reset, action, [common, args] { return reset_budget(*common, *args); });

    CLI::App& attach = add_budget_command(budget, "attach", "Apply it to something",
                                          "  ff budget attach ID lane:gpu\n"
                                          "  ff budget attach ID execution:5f6071",
                                          args);
    add_text(attach, "target", args->target, "TARGET", target_help).required();
    add_common(attach, common);
    on_command(attach, action, [common, args] { return attach_budget(*common, *args); });

    CLI::App& detach = add_budget_command(budget, "detach", "Apply it no more",
                                          "  ff budget detach ID lane:gpu", args);
    add_text(detach, "target", args->target, "TARGET", target_help).required();
    add_common(detach, common);
    on_command(detach, action, [common, args] { return detach_budget(*common, *args); });
}

CLI::App& add_quota_command(CLI::App& quota, const std::string& name, const std::string& help,
                            const std::string& examples, const Quota& args) {
    CLI::App& c = add_command(quota, name, help, examples);
    add_text(c, "quota", args->id, "QUOTA", "The policy's id").required();
    return c;
}

void add_quota_limits(CLI::App& app, const Quota& args) {
    constexpr Range<std::uint64_t> any{0, amount_max};
    add_number(app, "--rate", args->rate, any, "Starts in a window; 0 is no limit", "");
    add_span(app, "--window", args->window_ms, "How long a start counts (default 60s)");
    add_number(app, "--concurrent", args->concurrent, any, "Running at once; 0 is no limit", "");
    add_span(app, "--jitter", args->jitter_ms, "Spread those who come back over so long");
}

void add_quota(CLI::App& app, Action& action, const Common& common) {
    CLI::App& quota = add_command(app, "quota", "How much may start and run at once",
                                  "  ff quota create --rate 100 --window 1m --concurrent 8\n"
                                  "  ff quota attach ID lane:gpu\n"
                                  "  ff quota list");
    quota.group(limit_group);
    quota.require_subcommand(1);
    auto args = std::make_shared<QuotaArgs>();
    CLI::App& create = add_command(quota, "create", "Define a policy",
                                   "  ff quota create --rate 100 --window 1m\n"
                                   "  ff quota create --concurrent 8\n"
                                   "  ff quota create --concurrent 2 --per-key");
    add_text(create, "--id", args->id, "QUOTA", "Its id (default: a new one)");
    create.add_flag("--per-key", args->per_key, "Each limit key has these limits for itself");
    add_quota_limits(create, args);
    add_common(create, common);
    on_command(create, action, [common, args] { return create_quota(*common, *args); });

    CLI::App& set = add_quota_command(quota, "set", "Change its limits; what is not named stays",
                                      "  ff quota set ID --concurrent 16", args);
    add_quota_limits(set, args);
    add_common(set, common);
    on_command(set, action, [common, args] { return set_quota(*common, *args); });

    CLI::App& list =
        add_command(quota, "list", "All policies and what they gave", "  ff quota list -o json");
    add_common(list, common);
    on_command(list, action, [common] { return print_from(*common, &show_quotas); });

    CLI::App& show =
        add_quota_command(quota, "show", "One policy and what it gave", "  ff quota show ID", args);
    add_common(show, common);
    on_command(show, action, [common, args] {
        return print_from(*common,
                          [&](const Session& session) { return show_quota(session, args->id); });
    });

    CLI::App& keys = add_quota_command(quota, "keys", "What one that counts by key gave to each",
                                       "  ff quota keys ID", args);
    add_common(keys, common);
    on_command(keys, action, [common, args] {
        return print_from(
            *common, [&](const Session& session) { return show_quota_keys(session, args->id); });
    });

    CLI::App& remove = add_quota_command(quota, "delete", "Delete it; who waits for it goes on",
                                         "  ff quota delete ID", args);
    add_common(remove, common);
    on_command(remove, action, [common, args] { return delete_quota(*common, *args); });

    CLI::App& attach = add_quota_command(quota, "attach", "Apply it to something",
                                         "  ff quota attach ID lane:gpu", args);
    add_text(attach, "target", args->target, "TARGET", target_help).required();
    add_common(attach, common);
    on_command(attach, action, [common, args] { return attach_quota(*common, *args); });

    CLI::App& detach = add_quota_command(quota, "detach", "Apply it no more",
                                         "  ff quota detach ID lane:gpu", args);
    add_text(detach, "target", args->target, "TARGET", target_help).required();
    add_common(detach, common);
    on_command(detach, action, [common, args] { return detach_quota(*common, *args); });
}

}  // namespace

void add_limit_commands(CLI::App& app, Action& action, const Common& common) {
    CLI::App& budget = add_command(app, "budget", "What may be consumed, and what was",
                                   "  ff budget create --limit tokens=100000 --every 1d\n"
                                   "  ff budget attach ID lane:gpu\n"
                                   "  ff budget list");
    budget.group(limit_group);
    budget.require_subcommand(1);
    add_create_budget(budget, action, common);
    add_budget_reads(budget, action, common);
    add_budget_changes(budget, action, common);
    add_quota(app, action, common);
}

}  // namespace ff::cli
