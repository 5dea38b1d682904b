// The answers of budgets and quotas, written and read.
#include "wire/limit_answers.h"

#include <functional>

#include "wire/answer_in.h"
#include "wire/answer_out.h"
#include "wire/errors.h"

namespace ff::wire {

namespace {

std::optional<std::string> ms_text(const std::optional<TimestampMs>& at) {
    return at ? std::optional(std::to_string(*at)) : std::nullopt;
}

/// A time that is spelled as text, or null.
expected<std::optional<TimestampMs>> ms_of(const json& body, std::string_view name) {
    FF_TRY(const auto text, field_of<std::optional<std::string>>(&body, name));
    if (!text) {
        return std::optional<TimestampMs>();
    }
    const auto value = js::parse(*text);
    const auto ms = value ? value->as_int64() : std::nullopt;
    if (!ms) {
        return std::unexpected(strange(": " + std::string(name)));
    }
    return ms;
}

template <class T>
std::string record_text(const T& record) {
    std::string out;
    write_record(out, record);
    return out;
}

template <class T>
Answer record_page(const std::vector<T>& rows, const std::optional<std::string>& next_cursor) {
    std::string list = "[";
    for (const T& row : rows) {
        list += &row == rows.data() ? "" : ",";
        write_record(list, row);
    }
    return ok(items_page(list + "]", next_cursor, "items"));
}

template <class Id>
std::optional<std::string> cursor_of_id(const std::optional<Id>& id) {
    return id ? std::optional(id->to_string()) : std::nullopt;
}

template <class Id>
Answer defined(std::string_view name, const Id& id, bool created, bool matches) {
    std::string out;
    ObjectOut object(out);
    object.key(created ? "Created" : "AlreadySatisfied");
    ObjectOut inner(out);
    inner.field(name, id);
    if (!created) {
        inner.field("definition_matches", matches);
    }
    inner.close();
    object.close();
    Answer answer = ok(std::move(out));
    answer.status = created ? 201 : 200;
    return answer;
}

}  // namespace

// ------------------------------------------------------------------------------------ writing

void write_record(std::string& out, const BudgetStatus& status) {
    ObjectOut object(out);
    object.field("budget_id", status.budget_id);
    object.field("scope_type", status.scope_type);
    object.field("scope_id", status.scope_id);
    object.field("enforcement_mode", status.enforcement_mode);
    object.field("usage", status.usage);
    object.field("hard_limits", status.hard_limits);
    object.field("soft_limits", status.soft_limits);
    object.field("reserved", status.reserved);
    object.field("on_soft_limit", status.on_soft_limit);
    object.field("approved", status.approved);
    object.field("breach_count", status.breach_count);
    object.field("soft_breach_count", status.soft_breach_count);
    object.field("last_breach_at", ms_text(status.last_breach_at));
    object.field("last_breach_dim", status.last_breach_dim);
    object.field("next_reset_at", ms_text(status.next_reset_at));
    object.field("created_at", std::to_string(status.created_at));
    object.close();
}

void write_record(std::string& out, const QuotaPolicyInfo& policy) {
    ObjectOut object(out);
    object.field("quota_policy_id", policy.quota_policy_id);
    object.field("max_requests_per_window", policy.limits.max_requests_per_window);
    object.field("requests_per_window_seconds", policy.limits.window_seconds);
    object.field("active_concurrency_cap", policy.limits.max_concurrent);
    object.field("jitter_ms", policy.limits.jitter_ms);
    object.field("per_key", policy.limits.per_key);
    object.field("running", policy.running);
    object.field("in_window", policy.in_window);
    object.field("blocks", policy.blocks);
    object.field("created_at", policy.created_at);
    object.field("updated_at", policy.updated_at);
    object.close();
}

void write_record(std::string& out, const QuotaKeyInfo& key) {
    ObjectOut object(out);
    object.field("limit_key", key.limit_key);
    object.field("running", key.running);
    object.field("in_window", key.in_window);
    object.field("blocks", key.blocks);
    object.close();
}

void write_record(std::string& out, const UsageResult& result) {
    const bool hard = result.outcome == UsageOutcome::hard_breach;
    if (!hard && result.outcome != UsageOutcome::soft_breach) {
        out += result.outcome == UsageOutcome::ok ? "\"Ok\"" : "\"AlreadyApplied\"";
        return;
    }
    ObjectOut object(out);
    object.key(hard ? "HardBreach" : "SoftBreach");
    ObjectOut inner(out);
    inner.field("dimension", result.dimension);
    inner.field("current_usage", result.current_usage);
    inner.field(hard ? "hard_limit" : "soft_limit", result.limit);
    if (hard && result.on_hard_limit != OnHardLimit::reject) {
        inner.field("on_hard_limit", result.on_hard_limit);
    }
    if (result.needs_approval) {
        inner.field("needs_approval", true);
    }
    inner.close();
    object.close();
}

void write_record(std::string& out, const AdmissionResult& result) {
    switch (result.outcome) {
        case AdmissionOutcome::admitted: out += "\"Admitted\""; return;
        case AdmissionOutcome::already_admitted: out += "\"AlreadyAdmitted\""; return;
        case AdmissionOutcome::concurrency_exceeded: out += "\"ConcurrencyExceeded\""; return;
        case AdmissionOutcome::rate_exceeded: break;
    }
    out += "{\"RateExceeded\":{\"retry_after_ms\":";
    write_number(out, result.retry_after_ms);
    out += "}}";
}

template <>
Answer write_answer<CreateBudget>(const CreateBudgetResult& result) {
    return defined("budget_id", result.budget_id, result.created, result.definition_matches);
}

template <>
Answer write_answer<CreateQuotaPolicy>(const CreateQuotaResult& result) {
    return defined("quota_policy_id", result.quota_policy_id, result.created,
                   result.definition_matches);
}

template <>
Answer write_answer<ReportUsage>(const UsageResult& result) {
    return ok(record_text(result));
}

template <>
Answer write_answer<ReportUsageAdmin>(const UsageResult& result) {
    return ok(record_text(result));
}

template <>
Answer write_answer<RecordSpend>(const UsageResult& result) {
    return ok(record_text(result));
}

template <>
Answer write_answer<ReleaseBudget>(const ReleaseBudgetResult& result) {
    return ok(result.released ? R"({"released":true})" : R"({"released":false})");
}

template <>
Answer write_answer<ResetBudget>(const ResetBudgetResult& result) {
    return tagged_field("Reset", "next_reset_at", result.next_reset_at);
}

template <>
Answer write_answer<ApproveBudget>(const ApproveBudgetResult& result) {
    return ok(result.changed ? R"({"approved":true,"changed":true})"
                             : R"({"approved":true,"changed":false})");
}

template <>
Answer write_answer<GetBudgetStatus>(const BudgetStatus& status) {
    return ok(record_text(status));
}

template <>
Answer write_answer<ListBudgets>(const BudgetPage& page) {
    return record_page(page.budgets, cursor_of_id(page.next_cursor));
}

template <>
Answer write_answer<ListSpend>(const SpendPage& page) {
    std::string list = "[";
    for (const SpendEntry& entry : page.entries) {
        list += &entry == page.entries.data() ? "" : ",";
        ObjectOut object(list);
        object.field("execution_id", entry.execution_id);
        object.field("reset_epoch", entry.reset_epoch);
        object.field("spent", entry.spent);
        object.field("updated_at", entry.updated_at);
        object.close();
    }
    std::string out;
    ObjectOut object(out);
    object.field("reset_epoch", page.reset_epoch);
    object.document("items", std::optional(list + "]"));
    object.field("next_cursor", cursor_of_id(page.next_cursor));
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<AttachBudget>(const AttachmentResult& result) {
    return ok(result.changed ? "\"Attached\"" : "\"AlreadySatisfied\"");
}

template <>
Answer write_answer<AttachQuota>(const AttachmentResult& result) {
    return ok(result.changed ? "\"Attached\"" : "\"AlreadySatisfied\"");
}

template <>
Answer write_answer<DetachBudget>(const AttachmentResult& result) {
    return ok(result.changed ? "\"Detached\"" : "\"AlreadySatisfied\"");
}

template <>
Answer write_answer<DetachQuota>(const AttachmentResult& result) {
    return ok(result.changed ? "\"Detached\"" : "\"AlreadySatisfied\"");
}

template <>
Answer write_answer<ReadQuotaPolicy>(const std::optional<QuotaPolicyInfo>& policy) {
    if (!policy) {
        return write_error({ErrorCode::quota_policy_not_found, {}, {}});
    }
    return ok(record_text(*policy));
}

template <>
Answer write_answer<ListQuotaPolicies>(const QuotaPage& page) {
    return record_page(page.policies, cursor_of_id(page.next_cursor));
}

template <>
Answer write_answer<ListQuotaKeys>(const QuotaKeyPage& page) {
    return record_page(page.keys, page.next_cursor);
}

template <>
Answer write_answer<CheckAdmission>(const AdmissionResult& result) {
    return ok(record_text(result));
}

template <>
Answer write_answer<UpdateBudgetLimits>(const Done&) {
    return ok("\"Updated\"");
}

template <>
Answer write_answer<UpdateQuotaPolicy>(const Done&) {
    return ok("\"Updated\"");
}

template <>
Answer write_answer<DeleteQuotaPolicy>(const Done&) {
    return ok("\"Deleted\"");
}

template <>
Answer write_answer<ReleaseAdmission>(const Done&) {
    return ok("\"Released\"");
}

// ------------------------------------------------------------------------------------ reading

namespace {

template <class T, class Id>
expected<T> defined_of(const json& body, std::string_view name, Id T::* id) {
    T out;
    const json* made = body.find("Created");
    const json* inner = made != nullptr ? made : body.find("AlreadySatisfied");
    out.created = made != nullptr;
    FF_TRY(out.*id, field_of<Id>(inner, name));
    if (inner->find("definition_matches") != nullptr) {
        FF_TRY(out.definition_matches, field_of<bool>(inner, "definition_matches"));
    }
    return out;
}

expected<UsageResult> usage_of(const json& body) {
    UsageResult out;
    if (is_word(body, "Ok")) {
        return out;
    }
    if (is_word(body, "AlreadyApplied")) {
        out.outcome = UsageOutcome::already_applied;
        return out;
    }
    const json* hard = body.find("HardBreach");
    const json* inner = hard != nullptr ? hard : body.find("SoftBreach");
    out.outcome = hard != nullptr ? UsageOutcome::hard_breach : UsageOutcome::soft_breach;
    FF_TRY(out.dimension, field_of<std::string>(inner, "dimension"));
    FF_TRY(out.current_usage, field_of<std::uint64_t>(inner, "current_usage"));
    FF_TRY(out.limit,
           field_of<std::uint64_t>(inner, hard != nullptr ? "hard_limit" : "soft_limit"));
    if (inner->find("on_hard_limit") != nullptr) {
        FF_TRY(out.on_hard_limit, field_of<OnHardLimit>(inner, "on_hard_limit"));
    }
    if (inner->find("needs_approval") != nullptr) {
        FF_TRY(out.needs_approval, field_of<bool>(inner, "needs_approval"));
    }
    return out;
}

expected<BudgetStatus> status_of(const json& body) {
    BudgetStatus out;
    FF_TRY(out.budget_id, field_of<BudgetId>(&body, "budget_id"));
    FF_TRY(out.scope_type, field_of<std::string>(&body, "scope_type"));
    FF_TRY(out.scope_id, field_of<std::string>(&body, "scope_id"));
    FF_TRY(out.enforcement_mode, field_of<EnforcementMode>(&body, "enforcement_mode"));
    FF_TRY(out.usage, field_of<Amounts>(&body, "usage"));
    FF_TRY(out.hard_limits, field_of<Amounts>(&body, "hard_limits"));
    FF_TRY(out.soft_limits, field_of<Amounts>(&body, "soft_limits"));
    // Of a server that has these.
    if (body.find("reserved") != nullptr) {
        FF_TRY(out.reserved, field_of<Amounts>(&body, "reserved"));
        FF_TRY(out.on_soft_limit, field_of<OnSoftLimit>(&body, "on_soft_limit"));
        FF_TRY(out.approved, field_of<bool>(&body, "approved"));
    }
    FF_TRY(out.breach_count, field_of<std::uint64_t>(&body, "breach_count"));
    FF_TRY(out.soft_breach_count, field_of<std::uint64_t>(&body, "soft_breach_count"));
    FF_TRY(out.last_breach_at, ms_of(body, "last_breach_at"));
    FF_TRY(out.last_breach_dim, field_of<std::optional<std::string>>(&body, "last_breach_dim"));
    FF_TRY(out.next_reset_at, ms_of(body, "next_reset_at"));
    FF_TRY(const auto created_at, ms_of(body, "created_at"));
    out.created_at = created_at.value_or(0);
    return out;
}

expected<QuotaPolicyInfo> policy_of(const json& body) {
    QuotaPolicyInfo out;
    QuotaLimits& limits = out.limits;
    FF_TRY(out.quota_policy_id, field_of<QuotaPolicyId>(&body, "quota_policy_id"));
    FF_TRY(limits.max_requests_per_window,
           field_of<std::uint64_t>(&body, "max_requests_per_window"));
    FF_TRY(limits.window_seconds, field_of<std::uint64_t>(&body, "requests_per_window_seconds"));
    FF_TRY(limits.max_concurrent, field_of<std::uint64_t>(&body, "active_concurrency_cap"));
    FF_TRY(limits.jitter_ms, field_of<std::uint64_t>(&body, "jitter_ms"));
    FF_TRY(limits.per_key, field_of<bool>(&body, "per_key"));
    FF_TRY(out.running, field_of<std::uint64_t>(&body, "running"));
    FF_TRY(out.in_window, field_of<std::uint64_t>(&body, "in_window"));
    FF_TRY(out.blocks, field_of<bool>(&body, "blocks"));
    FF_TRY(out.created_at, field_of<TimestampMs>(&body, "created_at"));
    FF_TRY(out.updated_at, field_of<TimestampMs>(&body, "updated_at"));
    return out;
}

/// A page of records, each read by a function of its own.
template <class T, class Id>
expected<void> read_page(const json& body, expected<T> (*read_one)(const json&),
                         std::vector<T>& rows, std::optional<Id>& cursor) {
    const json* items = body.find("items");
    if (items == nullptr || items->if_array() == nullptr) {
        return std::unexpected(strange(": no list"));
    }
    for (const json& item : *items->if_array()) {
        FF_TRY(T row, read_one(item));
        rows.push_back(std::move(row));
    }
    FF_TRY(cursor, field_of<std::optional<Id>>(&body, "next_cursor"));
    return {};
}

expected<SpendEntry> entry_of(const json& body) {
    SpendEntry out;
    FF_TRY(out.execution_id, field_of<ExecutionId>(&body, "execution_id"));
    FF_TRY(out.reset_epoch, field_of<std::uint64_t>(&body, "reset_epoch"));
    FF_TRY(out.spent, field_of<Amounts>(&body, "spent"));
    FF_TRY(out.updated_at, field_of<TimestampMs>(&body, "updated_at"));
    return out;
}

expected<QuotaKeyInfo> key_of(const json& body) {
    QuotaKeyInfo out;
    FF_TRY(out.limit_key, field_of<std::string>(&body, "limit_key"));
    FF_TRY(out.running, field_of<std::uint64_t>(&body, "running"));
    FF_TRY(out.in_window, field_of<std::uint64_t>(&body, "in_window"));
    FF_TRY(out.blocks, field_of<bool>(&body, "blocks"));
    return out;
}

expected<AttachmentResult> attachment_of(const json& body) {
    if (body.if_string() == nullptr) {
        return std::unexpected(strange(""));
    }
    return AttachmentResult{!is_word(body, "AlreadySatisfied")};
}

}  // namespace

expected<CreateBudgetResult> result_of(const CreateBudget&, const json& body) {
    return defined_of(body, "budget_id", &CreateBudgetResult::budget_id);
}
expected<CreateQuotaResult> result_of(const CreateQuotaPolicy&, const json& body) {
    return defined_of(body, "quota_policy_id", &CreateQuotaResult::quota_policy_id);
}
expected<UsageResult> result_of(const ReportUsage&, const json& body) { return usage_of(body); }
expected<UsageResult> result_of(const ReportUsageAdmin&, const json& body) {
    return usage_of(body);
}
expected<UsageResult> result_of(const RecordSpend&, const json& body) { return usage_of(body); }
expected<ReleaseBudgetResult> result_of(const ReleaseBudget&, const json& body) {
    FF_TRY(const bool released, field_of<bool>(&body, "released"));
    return ReleaseBudgetResult{released};
}
expected<ResetBudgetResult> result_of(const ResetBudget&, const json& body) {
    FF_TRY(const auto at, field_of<TimestampMs>(body.find("Reset"), "next_reset_at"));
    return ResetBudgetResult{at};
}
expected<ApproveBudgetResult> result_of(const ApproveBudget&, const json& body) {
    FF_TRY(const bool changed, field_of<bool>(&body, "changed"));
    return ApproveBudgetResult{changed};
}
expected<BudgetStatus> result_of(const GetBudgetStatus&, const json& body) {
    return status_of(body);
}
expected<BudgetPage> result_of(const ListBudgets&, const json& body) {
    BudgetPage out;
    FF_TRY_VOID(read_page(body, &status_of, out.budgets, out.next_cursor));
    return out;
}
expected<SpendPage> result_of(const ListSpend&, const json& body) {
    SpendPage out;
    FF_TRY(out.reset_epoch, field_of<std::uint64_t>(&body, "reset_epoch"));
    FF_TRY_VOID(read_page(body, &entry_of, out.entries, out.next_cursor));
    return out;
}
expected<AttachmentResult> result_of(const AttachBudget&, const json& body) {
    return attachment_of(body);
}
expected<AttachmentResult> result_of(const DetachBudget&, const json& body) {
    return attachment_of(body);
}
expected<AttachmentResult> result_of(const AttachQuota&, const json& body) {
    return attachment_of(body);
}
expected<AttachmentResult> result_of(const DetachQuota&, const json& body) {
    return attachment_of(body);
}
expected<std::optional<QuotaPolicyInfo>> result_of(const ReadQuotaPolicy&, const json& body) {
    FF_TRY(auto policy, policy_of(body));
    return std::optional(std::move(policy));
}
expected<QuotaPage> result_of(const ListQuotaPolicies&, const json& body) {
    QuotaPage out;
    FF_TRY_VOID(read_page(body, &policy_of, out.policies, out.next_cursor));
    return out;
}
expected<QuotaKeyPage> result_of(const ListQuotaKeys&, const json& body) {
    QuotaKeyPage out;
    FF_TRY_VOID(read_page(body, &key_of, out.keys, out.next_cursor));
    return out;
}
expected<AdmissionResult> result_of(const CheckAdmission&, const json& body) {
    for (const auto& [word, outcome] :
         {std::pair{"Admitted", AdmissionOutcome::admitted},
          {"AlreadyAdmitted", AdmissionOutcome::already_admitted},
          {"ConcurrencyExceeded", AdmissionOutcome::concurrency_exceeded}}) {
        if (is_word(body, word)) {
            return AdmissionResult{outcome, 0};
        }
    }
    FF_TRY(const auto wait, field_of<DurationMs>(body.find("RateExceeded"), "retry_after_ms"));
    return AdmissionResult{AdmissionOutcome::rate_exceeded, wait};
}
expected<Done> result_of(const UpdateBudgetLimits&, const json&) { return Done{}; }
expected<Done> result_of(const UpdateQuotaPolicy&, const json&) { return Done{}; }
expected<Done> result_of(const DeleteQuotaPolicy&, const json&) { return Done{}; }
expected<Done> result_of(const ReleaseAdmission&, const json&) { return Done{}; }

}  // namespace ff::wire
