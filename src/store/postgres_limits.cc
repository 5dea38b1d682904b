// Budgets and quotas of a PostgreSQL store. Their rows are locked behind executions and flows, in
// the order of ids, budgets before policies; who holds one and wants more does not wait for long.
// Claims only look at budgets, without a lock: they wait for no report and no report for them. One
// that is refused says that somebody waits, and has the budget looked at again.
#include <functional>

#include "store/postgres_internal.h"
#include "store/sql_scans.h"

namespace ff::store {

using core::LimitTable;

namespace {

const std::string lock_budgets =
    sql::select_where<core::Budget>("budget_id = ANY($1) ORDER BY budget_id FOR UPDATE");
const std::string look_at_budgets = sql::select_where<core::Budget>("budget_id = ANY($1)");
const std::string mark_waiting =
    "UPDATE ff_budget SET waiting = 1, wake_at = LEAST(wake_at, $2), timer_at = LEAST(timer_at, $2)"
    " WHERE budget_id = ANY($1)";
const std::string ledgers_by_key = select_keys<core::LedgerRow>({"budget_id", "execution_id"});
const std::string dedups_by_key = select_keys<core::UsageDedup>({"budget_id", "dedup_key"});
const std::string lock_policies = sql::select_where<core::QuotaPolicy>(
    "quota_policy_id = ANY($1) ORDER BY quota_policy_id FOR UPDATE");
const std::string look_at_policies =
    sql::select_where<core::QuotaPolicy>("quota_policy_id = ANY($1)");
// Behind the lock: the window of a policy follows from its row.
const std::string aged_of_policies =
    "SELECT " + column_list<core::Admission>("a.") +
    " FROM unnest($1) AS u(id) JOIN ff_quota_policy p ON p.quota_policy_id = u.id"
    " CROSS JOIN LATERAL (SELECT * FROM ff_quota_admission t WHERE t.quota_policy_id = u.id"
    " AND t.admitted_at <= $2 - p.window_ms ORDER BY t.admitted_at, t.execution_id LIMIT $3) a";
const std::string oldest_of_policies =
    "SELECT p.quota_policy_id, (SELECT MIN(t.admitted_at) FROM ff_quota_admission t"
    " WHERE t.quota_policy_id = p.quota_policy_id AND t.admitted_at > $2 - p.window_ms)"
    " FROM unnest($1) AS u(id) JOIN ff_quota_policy p ON p.quota_policy_id = u.id";
const std::string admissions_by_key =
    select_keys<core::Admission>({"execution_id", "quota_policy_id"});
// Behind the lock of the policies: others may be changing what an execution has of them.
const std::string lock_policies_of_executions =
    "SELECT quota_policy_id FROM ff_quota_policy WHERE quota_policy_id IN (SELECT quota_policy_id"
    " FROM ff_quota_admission WHERE execution_id = ANY($1)) ORDER BY quota_policy_id FOR UPDATE";
const std::string admissions_of_executions =
    sql::select_where<core::Admission>("execution_id = ANY($1)");
const std::string attachments_of_targets =
    select_keys<core::Attachment>({"target_type", "target_id"});

}  // namespace

void PostgresStore::ask_places(Questions& questions, core::Snapshot& snapshot) {
    if (snapshot.limits.knows_places()) {
        return;
    }
    questions.ask(sql::attachments_by_place, {}, [&snapshot](PgRows& rows) -> expected<void> {
        std::vector<core::Attachment> found;
        while (rows.next()) {
            FF_TRY(auto row, take<core::Attachment>(rows));
            found.push_back(std::move(row));
        }
        snapshot.limits.load_places(found);
        return {};
    });
}

void PostgresStore::ask_limits(Questions& questions, const core::LimitReads& reads,
                               core::Snapshot& snapshot) {
    if (reads.empty()) {
        return;
    }
    LimitTable& limits = snapshot.limits;
    const auto id_of = [](const core::Budget& row) { return row.id; };
    questions.ask_rows<core::Budget>(
        lock_budgets,
        not_known(reads.budgets, [&](const BudgetId& id) { return limits.holds_budget(id); }),
        id_of,
        [&limits](const BudgetId& id, std::optional<core::Budget> row) {
            limits.load_budget(id, std::move(row));
        },
        std::identity());
    questions.ask_rows<core::Budget>(
        look_at_budgets,
        not_known(reads.budgets_looked,
                  [&](const BudgetId& id) { return limits.knows_budget(id); }),
        id_of,
        [&limits](const BudgetId& id, std::optional<core::Budget> row) {
            limits.look_at_budget(id, std::move(row));
        },
        std::identity());
    questions.ask_rows<core::LedgerRow>(
        ledgers_by_key,
        not_known(reads.ledgers, [&](const auto& key) { return limits.knows_ledger(key); }),
        [](const core::LedgerRow& row) { return row.key; },
        [&limits](const core::LedgerKey& key, std::optional<core::LedgerRow> row) {
            limits.load_ledger(key, std::move(row));
        },
        &core::LedgerKey::budget, &core::LedgerKey::execution);
    questions.ask_rows<core::UsageDedup>(
        dedups_by_key,
        not_known(reads.dedups, [&](const auto& key) { return limits.knows_dedup(key); }),
        [](const core::UsageDedup& row) { return row.key; },
        [&limits](const core::DedupKey& key, std::optional<core::UsageDedup> row) {
            limits.load_dedup(key, std::move(row));
        },
        &core::DedupKey::budget, &core::DedupKey::key);
    ask_policies(questions, reads, snapshot);
    ask_attachments(questions, reads, snapshot);
}

void PostgresStore::ask_policies(Questions& questions, const core::LimitReads& reads,
                                 core::Snapshot& snapshot) {
    LimitTable& limits = snapshot.limits;
    const auto id_of = [](const core::QuotaPolicy& row) { return row.id; };
    questions.ask_rows<core::QuotaPolicy>(
        look_at_policies,
        not_known(reads.policies_looked, [&](const auto& id) { return limits.knows_policy(id); }),
        id_of,
        [&limits](const QuotaPolicyId& id, std::optional<core::QuotaPolicy> row) {
            limits.look_at_policy(id, std::move(row));
        },
        std::identity());
    const auto policies =
        not_known(reads.policies, [&](const auto& id) { return limits.holds_policy(id); });
    questions.ask_rows<core::QuotaPolicy>(
        lock_policies, policies, id_of,
        [&limits](const QuotaPolicyId& id, std::optional<core::QuotaPolicy> row) {
            limits.load_policy(id, std::move(row));
        },
        std::identity());
    if (!policies.empty()) {
        using Aged = std::map<QuotaPolicyId, std::vector<core::Admission>>;
        auto aged = std::make_shared<Aged>();
        PgParams params = arrays_of(policies, std::identity());
        params.integer(limits.now);
        params.integer(static_cast<std::int64_t>(core::aged_page));
        questions.ask(aged_of_policies, std::move(params), [aged](PgRows& rows) -> expected<void> {
            while (rows.next()) {
                FF_TRY(auto row, take<core::Admission>(rows));
                (*aged)[row.key.policy].push_back(row);
            }
            return {};
        });
        PgParams oldest = arrays_of(policies, std::identity());
        oldest.integer(limits.now);
        questions.ask(oldest_of_policies, std::move(oldest),
                      [aged, &limits](PgRows& rows) -> expected<void> {
                          while (rows.next()) {
                              QuotaPolicyId id;
                              std::optional<TimestampMs> at;
                              take_value(rows, "quota_policy_id", id);
                              take_value(rows, "admitted_at", at);
                              FF_TRY_VOID(rows.check());
                              limits.load_window(id, std::move((*aged)[id]), at);
                          }
                          return {};
                      });
    }
    questions.ask_rows<core::Admission>(
        admissions_by_key,
        not_known(reads.admissions, [&](const auto& key) { return limits.knows_admission(key); }),
        [](const core::Admission& row) { return row.key; },
        [&limits](const core::AdmissionKey& key, std::optional<core::Admission> row) {
            limits.load_admission(key, std::move(row));
        },
        &core::AdmissionKey::execution, &core::AdmissionKey::policy);
    auto executions = not_known(
        reads.admissions_of, [&](const ExecutionId& id) { return limits.knows_admissions_of(id); });
    if (!executions.empty()) {
        PgParams params = arrays_of(executions, std::identity());
        questions.ask(lock_policies_of_executions, arrays_of(executions, std::identity()),
                      [](PgRows&) { return expected<void>(); });
        questions.ask(
            admissions_of_executions, std::move(params),
            [executions = std::move(executions), &limits](PgRows& rows) -> expected<void> {
                std::map<ExecutionId, std::vector<core::Admission>> found;
                while (rows.next()) {
                    FF_TRY(auto row, take<core::Admission>(rows));
                    found[row.key.execution].push_back(row);
                }
                for (const ExecutionId& id : executions) {
                    limits.load_admissions_of(id, std::move(found[id]));
                }
                return {};
            });
    }
}

void PostgresStore::ask_attachments(Questions& questions, const core::LimitReads& reads,
                                    core::Snapshot& snapshot) {
    LimitTable& limits = snapshot.limits;
    auto targets =
        not_known(reads.targets, [&](const auto& key) { return limits.knows_target(key); });
    if (!targets.empty()) {
        PgParams params = arrays_of(targets, &core::TargetKey::type, &core::TargetKey::id);
        questions.ask(attachments_of_targets, std::move(params),
                      [targets = std::move(targets), &limits](PgRows& rows) -> expected<void> {
                          std::map<core::TargetKey, std::vector<core::Attachment>> found;
                          while (rows.next()) {
                              FF_TRY(auto row, take<core::Attachment>(rows));
                              found[row.key.target].push_back(row);
                          }
                          for (const core::TargetKey& key : targets) {
                              limits.load_target(key, std::move(found[key]));
                          }
                          return {};
                      });
    }
    for (const core::LimitReads::PageOf& ask : reads.attached) {
        if (limits.knows_attached(ask)) {
            continue;
        }
        PgParams params;
        params.integer(static_cast<std::int64_t>(ask.limit.kind));
        params.bytes(ask.limit.id.uuid.raw());
        params.text(ask.after.value_or(""));
        params.integer(static_cast<std::int64_t>(ask.count));
        questions.ask(ask.limit.kind == core::LimitKind::budget ? sql::attached_executions
                                                                : sql::attached_targets,
                      std::move(params), [ask, &limits](PgRows& rows) -> expected<void> {
                          std::vector<std::string> ids;
                          while (rows.next()) {
                              take_value(rows, "target_id", ids.emplace_back());
                              FF_TRY_VOID(rows.check());
                          }
                          limits.load_attached(ask, std::move(ids));
                          return {};
                      });
    }
    for (const core::LimitReads::PageOf& ask : reads.keys) {
        if (limits.knows_keys(ask)) {
            continue;
        }
        PgParams params;
        params.bytes(ask.limit.id.uuid.raw());
        params.text(ask.after.value_or(""));
        params.integer(static_cast<std::int64_t>(ask.count));
        questions.ask(sql::policies_of_keys, std::move(params),
                      [ask, &limits](PgRows& rows) -> expected<void> {
                          std::vector<core::QuotaPolicy> found;
                          while (rows.next()) {
                              FF_TRY(auto row, take<core::QuotaPolicy>(rows));
                              found.push_back(std::move(row));
                          }
                          limits.load_keys(ask, limit_keys_of(found));
                          return {};
                      });
    }
    if (reads.places) {
        ask_places(questions, snapshot);
    }
}

expected<std::vector<core::LimitKey>> PostgresStore::scan_waiting_limits(
    const core::LimitKey& after, std::size_t limit) {
    begun_ = true;
    return waiting_limits(*texts_, after, limit);
}

void PostgresStore::collect_limits(const LimitTable& limits, Writes& writes) {
    const auto collect = [](auto& rows, const auto& tracked) {
        for (const auto& [key, row] : tracked) {
            if (row.dirty && row.current() && row.stored) {
                rows.change(row.stored, *row.current());
            } else if (row.dirty && row.current()) {
                rows.put(*row.current());
            } else if (row.dirty && row.stored) {
                rows.erase(*row.stored);
            }
        }
    };
    collect(writes.ledgers, limits.ledgers);
    collect(writes.dedups, limits.dedups);
    collect(writes.admissions, limits.admissions);
    // What is not there yet cannot be locked: who comes second must run again.
    const auto collect_new = [](auto& rows, const auto& tracked) {
        for (const auto& [key, row] : tracked) {
            if (row.dirty && row.current()) {
                rows.change(row.stored, *row.current());
            } else if (row.dirty && row.stored) {
                rows.erase(*row.stored);
            }
        }
    };
    for (const auto& [id, row] : limits.budgets) {
        if (row.dirty && limits.only_looked_at(id)) {
            writes.waited_for[*row.current()->wake_at].push_back(id);
        } else if (row.dirty && row.current()) {
            writes.budgets.change(row.stored, *row.current());
        }
    }
    collect_new(writes.policies, limits.policies);
    for (const auto& [key, row] : limits.attachments) {
        if (row.dirty && row.current()) {
            writes.attachments.put(*row.current());
        } else if (row.dirty) {
            writes.attachments.erase({key, false});
        }
    }
}

void PostgresStore::queue_waited_for(const Writes& writes) {
    if (!writes.waited_for.empty()) {
        be_impatient();  // these were only looked at: who holds one may want what we hold
    }
    for (const auto& [wake_at, budgets] : writes.waited_for) {
        PgParams params = arrays_of(budgets, std::identity());
        params.integer(wake_at);
        db_->queue(mark_waiting, std::move(params));
    }
}

void PostgresStore::erase_attachments(Writes& writes, LimitTarget type, const std::string& id) {
    writes.all_attachments.erase([&](auto& to) {
        to[0].integer(static_cast<std::int64_t>(type));
        to[1].text(id);
    });
}

}  // namespace ff::store
