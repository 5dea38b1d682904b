// SqlReader about streams, budgets and quotas.
#include "store/sql_reader.h"

#include <string>
#include <utility>

#include "store/catalogue.h"
#include "store/sql_rows.h"
#include "store/sql_scans.h"

namespace ff::store {

// ------------------------------------------------------------------------------------ streams

expected<std::optional<core::StreamMeta>> SqlReader::stream_meta(const core::StreamKey& key) {
    SqlStatement& s = statements_->get(sql::stream_meta_by_key);
    s.integer(key.eid);
    s.integer(key.attempt_index);
    return select_one<core::StreamMeta>(s);
}

expected<std::vector<core::StreamMeta>> SqlReader::streams_of(Eid eid) {
    SqlStatement& s = statements_->get(sql::stream_metas_of);
    s.integer(eid);
    return select_all<core::StreamMeta>(s);
}

expected<std::optional<core::SummaryRow>> SqlReader::summary(const core::StreamKey& key) {
    SqlStatement& s = statements_->get(sql::summary_by_key);
    s.integer(key.eid);
    s.integer(key.attempt_index);
    return select_one<core::SummaryRow>(s);
}

expected<std::vector<core::FrameRow>> SqlReader::frames(const core::StreamKey& key,
                                                        const FrameId& from, const FrameId& to,
                                                        Order order, std::size_t limit) {
    SqlStatement& s = statements_->get(sql::frames_between.text(order));
    s.integer(key.eid);
    s.integer(key.attempt_index);
    s.integer(from.ms);
    s.integer(from.seq);
    s.integer(to.ms);
    s.integer(to.seq);
    s.integer(static_cast<std::int64_t>(limit));
    return select_all<core::FrameRow>(s);
}

// ------------------------------------------------------------------------------------- limits

expected<std::optional<core::Budget>> SqlReader::budget(const BudgetId& id) {
    SqlStatement& s = statements_->get(sql::budget_by_id);
    put_value(s, Kind::bytes, id);
    return select_one<core::Budget>(s);
}

expected<std::vector<core::Budget>> SqlReader::budgets(const std::optional<BudgetId>& after,
                                                       std::size_t limit) {
    SqlStatement& s = statements_->get(sql::budgets_after);
    s.bytes_copy(after ? after->uuid.raw() : "");
    s.integer(static_cast<std::int64_t>(limit));
    return select_all<core::Budget>(s);
}

expected<std::vector<BudgetId>> SqlReader::budget_ids(const std::optional<BudgetId>& after,
                                                      std::size_t limit) {
    return ids_after(statements_->get(sql::budget_ids_after), after, limit, "budget_id");
}

expected<std::vector<core::LedgerRow>> SqlReader::ledgers(const BudgetId& budget,
                                                          const std::optional<ExecutionId>& after,
                                                          std::size_t limit) {
    SqlStatement& s = statements_->get(sql::ledgers_after);
    put_value(s, Kind::bytes, budget);
    s.bytes_copy(after ? after->raw() : "");
    s.integer(static_cast<std::int64_t>(limit));
    return select_all<core::LedgerRow>(s);
}

expected<std::optional<core::QuotaPolicy>> SqlReader::policy(const QuotaPolicyId& id) {
    SqlStatement& s = statements_->get(sql::policy_by_id);
    put_value(s, Kind::bytes, id);
    return select_one<core::QuotaPolicy>(s);
}

expected<std::vector<core::QuotaPolicy>> SqlReader::policies_listed(
    const std::optional<QuotaPolicyId>& after, std::size_t limit) {
    SqlStatement& s = statements_->get(sql::policies_listed);
    const QuotaPolicyId first = after.value_or(QuotaPolicyId{});
    put_value(s, Kind::bytes, first);
    s.integer(as_limit(limit));
    return select_all<core::QuotaPolicy>(s);
}

expected<std::vector<core::QuotaPolicy>> SqlReader::policies_of_keys(const QuotaPolicyId& parent,
                                                                     const std::string& after,
                                                                     std::size_t limit) {
    return keys_of_policy(*statements_, parent, after, limit);
}

expected<std::vector<QuotaPolicyId>> SqlReader::policy_ids(
    const std::optional<QuotaPolicyId>& after, std::size_t limit) {
    return ids_after(statements_->get(sql::policy_ids_after), after, limit, "quota_policy_id");
}

expected<std::vector<core::Admission>> SqlReader::slots(const QuotaPolicyId& policy,
                                                        const std::optional<ExecutionId>& after,
                                                        std::size_t limit) {
    SqlStatement& s = statements_->get(sql::slots_of_policy);
    put_value(s, Kind::bytes, policy);
    s.bytes_copy(after ? after->raw() : "");
    s.integer(static_cast<std::int64_t>(limit));
    return select_all<core::Admission>(s);
}

/// The one number of a statement whose parameters are bound.
static expected<std::uint64_t> count_of(SqlStatement& s) {
    std::uint64_t count = 0;
    FF_TRY(const bool found, s.step());
    if (found) {
        count = static_cast<std::uint64_t>(s.integer());
    }
    s.reset();
    return count;
}

expected<std::uint64_t> SqlReader::starts(const QuotaPolicyId& policy, TimestampMs until) {
    SqlStatement& s = statements_->get(sql::starts_of_policy);
    put_value(s, Kind::bytes, policy);
    s.integer(until);
    return count_of(s);
}

expected<std::uint64_t> SqlReader::slot_count(const QuotaPolicyId& policy) {
    SqlStatement& s = statements_->get(sql::slot_count_of_policy);
    put_value(s, Kind::bytes, policy);
    return count_of(s);
}

}  // namespace ff::store
