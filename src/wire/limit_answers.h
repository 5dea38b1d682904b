// Reading the answers of budgets and quotas.
#pragma once

#include <ff/limits.h>

#include "wire/values.h"

namespace ff::wire {

expected<CreateBudgetResult> result_of(const CreateBudget& op, const json& body);
expected<UsageResult> result_of(const ReportUsage& op, const json& body);
expected<UsageResult> result_of(const ReportUsageAdmin& op, const json& body);
expected<UsageResult> result_of(const RecordSpend& op, const json& body);
expected<ReleaseBudgetResult> result_of(const ReleaseBudget& op, const json& body);
expected<ResetBudgetResult> result_of(const ResetBudget& op, const json& body);
expected<ApproveBudgetResult> result_of(const ApproveBudget& op, const json& body);
expected<BudgetStatus> result_of(const GetBudgetStatus& op, const json& body);
expected<BudgetPage> result_of(const ListBudgets& op, const json& body);
expected<SpendPage> result_of(const ListSpend& op, const json& body);
expected<AttachmentResult> result_of(const AttachBudget& op, const json& body);
expected<AttachmentResult> result_of(const DetachBudget& op, const json& body);
expected<AttachmentResult> result_of(const AttachQuota& op, const json& body);
expected<AttachmentResult> result_of(const DetachQuota& op, const json& body);
expected<CreateQuotaResult> result_of(const CreateQuotaPolicy& op, const json& body);
expected<std::optional<QuotaPolicyInfo>> result_of(const ReadQuotaPolicy& op, const json& body);
expected<QuotaPage> result_of(const ListQuotaPolicies& op, const json& body);
expected<QuotaKeyPage> result_of(const ListQuotaKeys& op, const json& body);
expected<AdmissionResult> result_of(const CheckAdmission& op, const json& body);
expected<Done> result_of(const UpdateBudgetLimits& op, const json& body);
expected<Done> result_of(const UpdateQuotaPolicy& op, const json& body);
expected<Done> result_of(const DeleteQuotaPolicy& op, const json& body);
expected<Done> result_of(const ReleaseAdmission& op, const json& body);

/// A budget and a policy as programs see them.
void write_record(std::string& out, const BudgetStatus& status);
void write_record(std::string& out, const QuotaPolicyInfo& policy);
void write_record(std::string& out, const QuotaKeyInfo& key);
/// `"Ok"`, `{"HardBreach":{…}}` and so on.
void write_record(std::string& out, const UsageResult& result);
void write_record(std::string& out, const AdmissionResult& result);

}  // namespace ff::wire
