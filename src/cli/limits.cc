#include "cli/limits.h"

#include <charconv>

#include <fmt/format.h>

#include "cli/execution_ids.h"
#include "cli/table.h"
#include "cli/text.h"
#include "wire/limit_answers.h"

namespace ff::cli {

namespace {

constexpr std::uint32_t limits_page = 1'000;

Error malformed(const std::string& what) { return {ErrorCode::invalid_input, what, {}}; }

expected<std::uint64_t> parse_amount(std::string_view text, const std::string& word) {
    std::uint64_t value = 0;
    const auto [at, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || fault != std::errc{} || at != text.data() + text.size()) {
        return std::unexpected(malformed(word + ": expected NAME=NUMBER, such as tokens=100"));
    }
    return value;
}

/// Name and rest of `name=rest`.
expected<std::pair<std::string, std::string>> split_word(const std::string& word) {
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0) {
        return std::unexpected(malformed(word + ": expected NAME=NUMBER, such as tokens=100"));
    }
    return std::pair{word.substr(0, equals), word.substr(equals + 1)};
}

template <class Id>
expected<Id> parse_limit_id(const std::string& text, std::string_view what) {
    const auto id = Id::parse(text);
    if (!id) {
        return std::unexpected(malformed(text + " is not the id of a " + std::string(what)));
    }
    return *id;
}

template <class T>
js::Value value_of(const T& record) {
    std::string text;
    wire::write_record(text, record);
    return js::parse(text).value_or(js::Value());
}

/// What a change says: as the server would, and in a line.
struct Changed {
    js::Value document;
    std::string line;
    ExitCode code = ExitCode::ok;
};

/// Runs a change and prints what it says.
ExitCode change(const CommonOptions& options,
                const std::function<expected<Changed>(const Session&)>& body) {
    return with_session(options, Access::change, [&](const Session& session) -> ExitCode {
        const auto done = body(session);
        if (!done) {
            return complain(done.error());
        }
        print_out(for_programs(session.output) ? document(session.output, done->document)
                                               : done->line + "\n");
        return done->code;
    });
}

/// A definition that was handed in, and may have been there before.
Changed defined(std::string_view id_member, const std::string& id, bool created, bool matches) {
    const std::string there = id + " is there already";
    return {
        js::Object{
            {std::string(id_member), id}, {"created", created}, {"definition_matches", matches}},
        created   ? id
        : matches ? there
                  : there + ", defined otherwise; nothing was changed",
        created || matches ? ExitCode::ok : ExitCode::conflict};
}

std::string usage_line(const UsageResult& result) {
    const std::string place =
        fmt::format("{} {}/{}", printable(result.dimension), with_commas(result.current_usage),
                    with_commas(result.limit));
    switch (result.outcome) {
        case UsageOutcome::ok: return "counted";
        case UsageOutcome::already_applied: return "counted before, under this key";
        case UsageOutcome::soft_breach: return "counted; past the soft limit: " + place;
        case UsageOutcome::hard_breach: return "refused, nothing counts: " + place;
    }
    return "";
}

Changed counted(const UsageResult& result) {
    const bool refused = result.outcome == UsageOutcome::hard_breach;
    return {value_of(result), usage_line(result), refused ? ExitCode::conflict : ExitCode::ok};
}

/// `tokens 85/100, cents 3`.
std::string usage_text(const BudgetStatus& status) {
    std::vector<std::string> parts;
    Amounts all = status.usage;
    for (const auto& [dimension, limit] : status.hard_limits) {
        all.try_emplace(dimension, 0);
    }
    for (const auto& [dimension, used] : all) {
        const auto limit = status.hard_limits.find(dimension);
        const bool limited = limit != status.hard_limits.end() && limit->second > 0;
        parts.push_back(dimension + " " + with_commas(used) +
                        (limited ? "/" + with_commas(limit->second) : ""));
    }
    return parts.empty() ? "-" : joined(parts);
}

std::string amounts_text(const Amounts& amounts) {
    std::vector<std::string> parts;
    for (const auto& [dimension, amount] : amounts) {
        parts.push_back(dimension + " " + with_commas(amount));
    }
    return parts.empty() ? "-" : joined(parts);
}

std::string rate_text(const QuotaLimits& limits) {
    if (limits.max_requests_per_window == 0) {
        return "-";
    }
    const std::uint64_t seconds = limits.window_seconds > 0 ? limits.window_seconds : 60;
    return with_commas(limits.max_requests_per_window) + " in " +
           span_text(static_cast<DurationMs>(seconds) * 1'000);
}

/// What is not named stays as it is in `out`.
expected<QuotaLimits> limits_of(const QuotaArgs& args, QuotaLimits out = {60, 0, 0, 0}) {
    out.max_requests_per_window = args.rate.value_or(out.max_requests_per_window);
    out.max_concurrent = args.concurrent.value_or(out.max_concurrent);
    if (args.window_ms) {
        if (*args.window_ms % 1'000 != 0 || *args.window_ms <= 0) {
            return std::unexpected(malformed("--window: whole seconds, 1s at least"));
        }
        out.window_seconds = static_cast<std::uint64_t>(*args.window_ms / 1'000);
    }
    if (args.jitter_ms) {
        out.jitter_ms = static_cast<std::uint64_t>(*args.jitter_ms);
    }
    out.per_key = out.per_key || args.per_key;
    return out;
}

std::string policy_line(const QuotaLimits& limits) {
    return fmt::format("starts: {}; at once: {}{}", rate_text(limits),
                       limits.max_concurrent > 0 ? with_commas(limits.max_concurrent) : "-",
                       limits.per_key ? "; for each limit key" : "");
}

template <class Op>
ExitCode change_attachment(const CommonOptions& options, Op op, const std::string& target,
                           const std::string& done, const std::string& already) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        FF_TRY(const TargetWord where, parse_target(target));
        op.target_type = where.type;
        op.target_id = where.id;
        if (where.type == LimitTarget::execution) {
            FF_TRY(const ExecutionId id, find_id(session, where.id));
            op.target_id = id.to_string();
        }
        FF_TRY(const AttachmentResult result, session.ask(op));
        return Changed{js::Object{{"changed", result.changed}},
                       (result.changed ? done : already) + " " + target};
    });
}

}  // namespace

expected<Amounts> parse_amounts(const std::vector<std::string>& words) {
    Amounts out;
    for (const std::string& word : words) {
        FF_TRY(const auto parts, split_word(word));
        FF_TRY(out[parts.first], parse_amount(parts.second, word));
    }
    return out;
}

expected<BudgetLimits> parse_limits(const std::vector<std::string>& words,
                                    const BudgetLimits& now) {
    BudgetLimits out;
    for (const std::string& word : words) {
        FF_TRY(const auto parts, split_word(word));
        const auto known = now.find(parts.first);
        const auto [at, fresh] =
            out.try_emplace(parts.first, known != now.end() ? known->second : BudgetLimit{});
        if (!fresh) {
            return std::unexpected(malformed(fmt::format(
                "{0} is given two limits; write one word, such as {0}=100,80", parts.first)));
        }
        BudgetLimit& limit = at->second;
        const std::size_t comma = parts.second.find(',');
        if (const std::string hard = parts.second.substr(0, comma);
            !hard.empty() || comma == std::string::npos) {
            FF_TRY(limit.hard, parse_amount(hard, word));
        }
        if (comma != std::string::npos) {
            FF_TRY(limit.soft, parse_amount(parts.second.substr(comma + 1), word));
        }
    }
    return out;
}

expected<TargetWord> parse_target(const std::string& word) {
    const std::size_t colon = word.find(':');
    const auto type =
        colon == std::string::npos ? std::nullopt : parse_enum<LimitTarget>(word.substr(0, colon));
    if (!type || colon + 1 == word.size()) {
        return std::unexpected(
            malformed(word + ": expected lane:NAME, namespace:NAME, flow:ID or execution:ID"));
    }
    return TargetWord{*type, word.substr(colon + 1)};
}

// ------------------------------------------------------------------------------------ budgets

ExitCode create_budget(const CommonOptions& options, const BudgetArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        CreateBudget op;
        op.budget_id = BudgetId{new_uuid()};
        if (!args.id.empty()) {
            FF_TRY(op.budget_id, parse_limit_id<BudgetId>(args.id, "budget"));
        }
        if (args.scope) {
            const std::size_t colon = args.scope->find(':');
            if (colon == std::string::npos) {
                return std::unexpected(
                    malformed("--scope: expected TYPE:ID, such as flow:ID or tenant:acme"));
            }
            op.scope_type = args.scope->substr(0, colon);
            op.scope_id = args.scope->substr(colon + 1);
        }
        op.enforcement_mode = args.advisory ? "advisory" : "strict";
        op.on_hard_limit = args.on_hard_limit;
        op.on_soft_limit = args.on_soft_limit;
        op.reset_interval_ms = args.every_ms.value_or(0);
        FF_TRY(const BudgetLimits limits, parse_limits(args.amounts));
        for (const auto& [dimension, limit] : limits) {
            op.dimensions.push_back(dimension);
            op.hard_limits.push_back(limit.hard);
            op.soft_limits.push_back(limit.soft);
        }
        FF_TRY(const CreateBudgetResult made, session.ask(op));
        return defined("budget_id", made.budget_id.to_string(), made.created,
                       made.definition_matches);
    });
}

ExitCode set_budget_limits(const CommonOptions& options, const BudgetArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        UpdateBudgetLimits op;
        FF_TRY(op.budget_id, parse_limit_id<BudgetId>(args.id, "budget"));
        FF_TRY(const BudgetStatus status, session.ask(GetBudgetStatus{op.budget_id}));
        BudgetLimits now;
        for (const auto& [dimension, hard] : status.hard_limits) {
            now[dimension].hard = hard;
        }
        for (const auto& [dimension, soft] : status.soft_limits) {
            now[dimension].soft = soft;
        }
        FF_TRY(op.limits, parse_limits(args.amounts, now));
        FF_TRY_VOID(session.ask(op));
        return Changed{js::Object{{"updated", true}}, "set"};
    });
}

ExitCode report_usage(const CommonOptions& options, const BudgetArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        ReportUsageAdmin op;
        FF_TRY(op.budget_id, parse_limit_id<BudgetId>(args.id, "budget"));
        FF_TRY(op.dimensions, parse_amounts(args.amounts));
        op.dedup_key = args.key.value_or("");
        FF_TRY(const UsageResult result, session.ask(op));
        return counted(result);
    });
}

ExitCode record_spend(const CommonOptions& options, const BudgetArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        RecordSpend op;
        FF_TRY(op.budget_id, parse_limit_id<BudgetId>(args.id, "budget"));
        FF_TRY(op.execution_id, find_id(session, args.execution));
        FF_TRY(op.deltas, parse_amounts(args.amounts));
        op.idempotency_key = args.key.value_or("");
        FF_TRY(const UsageResult result, session.ask(op));
        return counted(result);
    });
}

ExitCode release_spend(const CommonOptions& options, const BudgetArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        ReleaseBudget op;
        FF_TRY(op.budget_id, parse_limit_id<BudgetId>(args.id, "budget"));
        FF_TRY(op.execution_id, find_id(session, args.execution));
        FF_TRY(const ReleaseBudgetResult result, session.ask(op));
        return Changed{js::Object{{"released", result.released}},
                       result.released ? "released" : "nothing was written down for it"};
    });
}

ExitCode approve_budget(const CommonOptions& options, const BudgetArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        FF_TRY(const auto id, parse_limit_id<BudgetId>(args.id, "budget"));
        FF_TRY(const ApproveBudgetResult result, session.ask(ApproveBudget{id, args.actor}));
        return Changed{js::Object{{"approved", true}, {"changed", result.changed}},
                       result.changed ? "approved until the next reset" : "approved already"};
    });
}

ExitCode reset_budget(const CommonOptions& options, const BudgetArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        FF_TRY(const auto id, parse_limit_id<BudgetId>(args.id, "budget"));
        FF_TRY(const ResetBudgetResult result, session.ask(ResetBudget{id}));
        return Changed{js::Object{{"next_reset_at", result.next_reset_at}},
                       result.next_reset_at > 0
                           ? "reset; the next is at " + time_text(result.next_reset_at)
                           : "reset"};
    });
}

ExitCode attach_budget(const CommonOptions& options, const BudgetArgs& args) {
    const auto id = parse_limit_id<BudgetId>(args.id, "budget");
    return id ? change_attachment(options, AttachBudget{*id, {}, {}}, args.target, "applies to",
                                  "applies already to")
              : complain(id.error());
}

ExitCode detach_budget(const CommonOptions& options, const BudgetArgs& args) {
    const auto id = parse_limit_id<BudgetId>(args.id, "budget");
    return id ? change_attachment(options, DetachBudget{*id, {}, {}}, args.target,
                                  "applies no more to", "did not apply to")
              : complain(id.error());
}

expected<std::string> show_budget(const Session& session, const std::string& id) {
    FF_TRY(const auto budget, parse_limit_id<BudgetId>(id, "budget"));
    FF_TRY(const BudgetStatus status, session.ask(GetBudgetStatus{budget}));
    if (for_programs(session.output)) {
        return document(session.output, value_of(status));
    }
    std::string out = fmt::format("budget {}  {}\n", id, to_string(status.enforcement_mode));
    if (!status.scope_type.empty()) {
        out +=
            fmt::format("scope: {} {}\n", printable(status.scope_type), printable(status.scope_id));
    }
    Table table({{"dimension"},
                 {"used", Align::right},
                 {"reserved", Align::right},
                 {"hard limit", Align::right},
                 {"soft limit", Align::right}});
    Amounts all = status.usage;
    for (const auto& [dimension, limit] : status.hard_limits) {
        all.try_emplace(dimension, 0);
    }
    const auto limit_text = [](const Amounts& limits, const std::string& dimension) {
        const auto it = limits.find(dimension);
        return it == limits.end() || it->second == 0 ? std::string("-") : with_commas(it->second);
    };
    for (const auto& [dimension, used] : all) {
        table.add({dimension, with_commas(used), limit_text(status.reserved, dimension),
                   limit_text(status.hard_limits, dimension),
                   limit_text(status.soft_limits, dimension)});
    }
    out += table.render(session.view.terminal);
    out += fmt::format("breaches: {} hard, {} soft\n", with_commas(status.breach_count),
                       with_commas(status.soft_breach_count));
    if (status.on_soft_limit == OnSoftLimit::approve) {
        out += status.approved ? "approved until the next reset\n"
                               : "past a soft limit it waits for an approval: ff budget approve\n";
    }
    if (status.next_reset_at) {
        out += "resets " + when(*status.next_reset_at, session.view.now) + "\n";
    }
    return out;
}

expected<std::string> show_budgets(const Session& session,
                                   const std::optional<std::string>& scope) {
    ListBudgets op;
    op.limit = limits_page;
    if (scope) {
        const std::size_t colon = scope->find(':');
        op.scope_type = scope->substr(0, colon);
        if (colon != std::string::npos) {
            op.scope_id = scope->substr(colon + 1);
        }
    }
    ListWriter list(session.output);
    Table table({{"budget"},
                 {"scope", Align::left, Give::shrink},
                 {"used", Align::left, Give::shrink},
                 {"refused", Align::right},
                 {"resets"}});
    std::string out;
    do {
        FF_TRY(const BudgetPage page, session.ask(op));
        for (const BudgetStatus& status : page.budgets) {
            if (for_programs(session.output)) {
                out += list.add(value_of(status));
                continue;
            }
            table.add({status.budget_id.to_string(),
                       status.scope_type.empty() ? "-" : status.scope_type + ":" + status.scope_id,
                       usage_text(status), with_commas(status.breach_count),
                       status.next_reset_at ? when(*status.next_reset_at, session.view.now) : "-"});
        }
        op.cursor = page.next_cursor;
    } while (op.cursor);
    if (for_programs(session.output)) {
        return out + list.finish(std::nullopt);
    }
    return table.empty() ? std::string("no budgets\n") : table.render(session.view.terminal);
}

expected<std::string> show_ledger(const Session& session, const std::string& id) {
    ListSpend op;
    op.limit = limits_page;
    FF_TRY(op.budget_id, parse_limit_id<BudgetId>(id, "budget"));
    ListWriter list(session.output);
    Table table({{"execution"}, {"spent"}, {"period"}, {"at"}});
    std::string out;
    do {
        FF_TRY(const SpendPage page, session.ask(op));
        for (const SpendEntry& entry : page.entries) {
            if (for_programs(session.output)) {
                js::Object spent;
                for (const auto& [dimension, amount] : entry.spent) {
                    spent.emplace_back(dimension, amount);
                }
                out += list.add(js::Object{{"execution_id", entry.execution_id.to_string()},
                                           {"reset_epoch", entry.reset_epoch},
                                           {"spent", std::move(spent)},
                                           {"updated_at", entry.updated_at}});
                continue;
            }
            table.add({entry.execution_id.to_string(), amounts_text(entry.spent),
                       entry.reset_epoch == page.reset_epoch ? "this one" : "over",
                       when(entry.updated_at, session.view.now)});
        }
        op.cursor = page.next_cursor;
    } while (op.cursor);
    if (for_programs(session.output)) {
        return out + list.finish(std::nullopt);
    }
    return table.empty() ? std::string("nothing was written down\n")
                         : table.render(session.view.terminal);
}

// ------------------------------------------------------------------------------------- quotas

ExitCode create_quota(const CommonOptions& options, const QuotaArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        CreateQuotaPolicy op;
        op.quota_policy_id = QuotaPolicyId{new_uuid()};
        if (!args.id.empty()) {
            FF_TRY(op.quota_policy_id, parse_limit_id<QuotaPolicyId>(args.id, "quota policy"));
        }
        FF_TRY(op.limits, limits_of(args));
        FF_TRY(const CreateQuotaResult made, session.ask(op));
        return defined("quota_policy_id", made.quota_policy_id.to_string(), made.created,
                       made.definition_matches);
    });
}

ExitCode set_quota(const CommonOptions& options, const QuotaArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        UpdateQuotaPolicy op;
        FF_TRY(op.quota_policy_id, parse_limit_id<QuotaPolicyId>(args.id, "quota policy"));
        FF_TRY(const auto now, session.ask(ReadQuotaPolicy{op.quota_policy_id}));
        FF_TRY(op.limits, limits_of(args, now ? now->limits : QuotaLimits{60, 0, 0, 0}));
        FF_TRY_VOID(session.ask(op));
        return Changed{js::Object{{"updated", true}}, policy_line(op.limits)};
    });
}

ExitCode delete_quota(const CommonOptions& options, const QuotaArgs& args) {
    return change(options, [&](const Session& session) -> expected<Changed> {
        FF_TRY(const auto id, parse_limit_id<QuotaPolicyId>(args.id, "quota policy"));
        FF_TRY_VOID(session.ask(DeleteQuotaPolicy{id}));
        return Changed{js::Object{{"deleted", true}}, "deleted"};
    });
}

ExitCode attach_quota(const CommonOptions& options, const QuotaArgs& args) {
    const auto id = parse_limit_id<QuotaPolicyId>(args.id, "quota policy");
    return id ? change_attachment(options, AttachQuota{*id, {}, {}}, args.target, "applies to",
                                  "applies already to")
              : complain(id.error());
}

ExitCode detach_quota(const CommonOptions& options, const QuotaArgs& args) {
    const auto id = parse_limit_id<QuotaPolicyId>(args.id, "quota policy");
    return id ? change_attachment(options, DetachQuota{*id, {}, {}}, args.target,
                                  "applies no more to", "did not apply to")
              : complain(id.error());
}

expected<std::string> show_quota(const Session& session, const std::string& id) {
    FF_TRY(const auto policy_id, parse_limit_id<QuotaPolicyId>(id, "quota policy"));
    FF_TRY(const auto policy, session.ask(ReadQuotaPolicy{policy_id}));
    if (!policy) {
        return std::unexpected(
            Error{ErrorCode::quota_policy_not_found, "no quota policy " + id, {}});
    }
    if (for_programs(session.output)) {
        return document(session.output, value_of(*policy));
    }
    if (policy->limits.per_key) {
        return fmt::format("quota {}\n{}\nff quota keys {} says what each has of it\n", id,
                           policy_line(policy->limits), id);
    }
    return fmt::format("quota {}\n{}\nrunning: {}; starts that count: {}{}\n", id,
                       policy_line(policy->limits), with_commas(policy->running),
                       with_commas(policy->in_window),
                       policy->blocks ? "; executions wait for it" : "");
}

expected<std::string> show_quota_keys(const Session& session, const std::string& id) {
    ListQuotaKeys op;
    FF_TRY(op.quota_policy_id, parse_limit_id<QuotaPolicyId>(id, "quota policy"));
    op.limit = limits_page;
    ListWriter list(session.output);
    Table table({{"limit key"}, {"counted", Align::right}, {"running", Align::right}, {"blocks"}});
    std::string out;
    do {
        FF_TRY(const QuotaKeyPage page, session.ask(op));
        for (const QuotaKeyInfo& key : page.keys) {
            if (for_programs(session.output)) {
                out += list.add(value_of(key));
                continue;
            }
            table.add({key.limit_key, with_commas(key.in_window), with_commas(key.running),
                       key.blocks ? "yes" : "-"});
        }
        op.cursor = page.next_cursor;
    } while (op.cursor);
    if (for_programs(session.output)) {
        return out + list.finish(std::nullopt);
    }
    if (!table.empty()) {
        return table.render(session.view.terminal);
    }
    FF_TRY(const auto policy, session.ask(ReadQuotaPolicy{op.quota_policy_id}));
    return std::string(policy && policy->limits.per_key ? "no key uses anything of it\n"
                                                        : "it does not count by key\n");
}

expected<std::string> show_quotas(const Session& session) {
    ListQuotaPolicies op;
    op.limit = limits_page;
    ListWriter list(session.output);
    Table table({{"quota"},
                 {"starts"},
                 {"counted", Align::right},
                 {"at once", Align::right},
                 {"running", Align::right},
                 {"blocks"}});
    std::string out;
    do {
        FF_TRY(const QuotaPage page, session.ask(op));
        for (const QuotaPolicyInfo& policy : page.policies) {
            if (for_programs(session.output)) {
                out += list.add(value_of(policy));
                continue;
            }
            const std::uint64_t cap = policy.limits.max_concurrent;
            table.add({policy.quota_policy_id.to_string(),
                       rate_text(policy.limits) + (policy.limits.per_key ? " a key" : ""),
                       with_commas(policy.in_window), cap > 0 ? with_commas(cap) : "-",
                       with_commas(policy.running), policy.blocks ? "yes" : "-"});
        }
        op.cursor = page.next_cursor;
    } while (op.cursor);
    if (for_programs(session.output)) {
        return out + list.finish(std::nullopt);
    }
    return table.empty() ? std::string("no quotas\n") : table.render(session.view.terminal);
}

}  // namespace ff::cli
