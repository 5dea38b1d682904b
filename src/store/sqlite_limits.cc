// Budgets and quotas of a SQLite store.
#include "store/sql_scans.h"
#include "store/sqlite_internal.h"

namespace ff::store {

using core::LimitTable;

expected<void> SqliteStore::load_limits(const core::LimitReads& reads, core::Snapshot& snapshot) {
    LimitTable& limits = snapshot.limits;
    for (const auto* ids : {&reads.budgets, &reads.budgets_looked}) {
        for (const BudgetId& id : *ids) {
            if (!limits.knows_budget(id)) {
                Statement& s = hot_->texts.get(sql::budget_by_id);
                put_value(s, Kind::bytes, id);
                FF_TRY(auto row, select_one<core::Budget>(s));
                limits.load_budget(id, std::move(row));
            }
        }
    }
    for (const core::LedgerKey& key : reads.ledgers) {
        if (!limits.knows_ledger(key)) {
            Statement& s = hot_->texts.get(sql::ledger_by_key);
            put_value(s, Kind::bytes, key.budget);
            put_value(s, Kind::bytes, key.execution);
            FF_TRY(auto row, select_one<core::LedgerRow>(s));
            limits.load_ledger(key, std::move(row));
        }
    }
    for (const core::DedupKey& key : reads.dedups) {
        if (!limits.knows_dedup(key)) {
            Statement& s = hot_->texts.get(sql::dedup_by_key);
            put_value(s, Kind::bytes, key.budget);
            s.text(key.key);
            FF_TRY(auto row, select_one<core::UsageDedup>(s));
            limits.load_dedup(key, std::move(row));
        }
    }
    FF_TRY_VOID(load_policies(reads, snapshot));
    return load_attachments(reads, snapshot);
}

expected<void> SqliteStore::load_policies(const core::LimitReads& reads, core::Snapshot& snapshot) {
    LimitTable& limits = snapshot.limits;
    std::vector<QuotaPolicyId> policies = reads.policies;
    policies.insert(policies.end(), reads.policies_looked.begin(), reads.policies_looked.end());
    for (const QuotaPolicyId& id : policies) {
        if (limits.knows_policy(id)) {
            continue;
        }
        Statement& s = hot_->texts.get(sql::policy_by_id);
        put_value(s, Kind::bytes, id);
        FF_TRY(auto row, select_one<core::QuotaPolicy>(s));
        if (row && row->in_window > 0) {
            const TimestampMs cutoff = limits.now - row->window_ms;
            Statement& aged = hot_->texts.get(sql::admissions_aged);
            put_value(aged, Kind::bytes, id);
            aged.integer(cutoff);
            aged.integer(static_cast<std::int64_t>(core::aged_page));
            FF_TRY(auto rows, select_all<core::Admission>(aged));
            Statement& oldest = hot_->texts.get(sql::oldest_start);
            put_value(oldest, Kind::bytes, id);
            oldest.integer(cutoff);
            std::optional<TimestampMs> at;
            FF_TRY(const bool found, oldest.step());
            if (found) {
                FF_TRY_VOID(take_checked(oldest, "admitted_at", at));
            }
            oldest.reset();
            limits.load_policy(id, std::move(row));
            limits.load_window(id, std::move(rows), at);
        } else {
            limits.load_policy(id, std::move(row));
        }
    }
    for (const core::AdmissionKey& key : reads.admissions) {
        if (!limits.knows_admission(key)) {
            Statement& s = hot_->texts.get(sql::admission_by_key);
            put_value(s, Kind::bytes, key.execution);
            put_value(s, Kind::bytes, key.policy);
            FF_TRY(auto row, select_one<core::Admission>(s));
            limits.load_admission(key, std::move(row));
        }
    }
    for (const ExecutionId& id : reads.admissions_of) {
        if (!limits.knows_admissions_of(id)) {
            Statement& s = hot_->texts.get(sql::admissions_of_execution);
            put_value(s, Kind::bytes, id);
            FF_TRY(auto rows, select_all<core::Admission>(s));
            limits.load_admissions_of(id, std::move(rows));
        }
    }
    return {};
}

expected<void> SqliteStore::load_attachments(const core::LimitReads& reads,
                                             core::Snapshot& snapshot) {
    LimitTable& limits = snapshot.limits;
    for (const core::TargetKey& key : reads.targets) {
        if (!limits.knows_target(key)) {
            Statement& s = hot_->texts.get(sql::attachments_of_target);
            put_value(s, Kind::integer, key.type);
            s.text(key.id);
            FF_TRY(auto rows, select_all<core::Attachment>(s));
            limits.load_target(key, std::move(rows));
        }
    }
    for (const core::LimitReads::PageOf& ask : reads.attached) {
        if (!limits.knows_attached(ask)) {
            FF_TRY(auto ids, attached_ids(hot_->texts, ask));
            limits.load_attached(ask, std::move(ids));
        }
    }
    for (const core::LimitReads::PageOf& ask : reads.keys) {
        if (!limits.knows_keys(ask)) {
            FF_TRY(const auto rows, keys_of_policy(hot_->texts, QuotaPolicyId{ask.limit.id.uuid},
                                                   ask.after.value_or(""), ask.count));
            limits.load_keys(ask, limit_keys_of(rows));
        }
    }
    if (reads.places && !limits.knows_places()) {
        if (!places_) {
            FF_TRY(places_,
                   select_all<core::Attachment>(hot_->texts.get(sql::attachments_by_place)));
        }
        limits.load_places(*places_);
    }
    return {};
}

expected<std::vector<core::LimitKey>> SqliteStore::scan_due_limits(TimestampMs now,
                                                                   std::size_t limit) {
    return due_limits(hot_->texts, now, limit);
}

expected<std::vector<core::LimitKey>> SqliteStore::scan_waiting_limits(const core::LimitKey& after,
                                                                       std::size_t limit) {
    return waiting_limits(hot_->texts, after, limit);
}

expected<void> SqliteStore::write_limits(const LimitTable& limits) {
    const auto write = [&](auto& writer, const auto& tracked) -> expected<void> {
        for (const auto& [key, row] : tracked) {
            if (row.dirty && row.current()) {
                FF_TRY_VOID(row.stored ? writer.update(*row.stored, *row.current())
                                       : writer.put(*row.current()));
                rows_written_ += 1;
            } else if (row.dirty && row.stored) {
                FF_TRY_VOID(writer.erase(*row.stored));
                rows_written_ += 1;
            }
        }
        return {};
    };
    FF_TRY_VOID(write(hot_->budgets, limits.budgets));
    FF_TRY_VOID(write(hot_->ledgers, limits.ledgers));
    FF_TRY_VOID(write(hot_->dedups, limits.dedups));
    FF_TRY_VOID(write(hot_->policies, limits.policies));
    FF_TRY_VOID(write(hot_->admissions, limits.admissions));
    for (const auto& [key, row] : limits.attachments) {
        if (!row.dirty) {
            continue;
        }
        // Changed without having been looked at: it may be there or not.
        FF_TRY_VOID(row.current() ? hot_->attachments.put(*row.current())
                                  : hot_->attachments.erase({key, false}));
        if (!row.current() || row.current()->by_place || (places_ && !places_->empty())) {
            places_.reset();  // it may have been one of these
        }
        rows_written_ += 1;
    }
    return {};
}

expected<void> SqliteStore::erase_attachments(LimitTarget type, const std::string& id) {
    Statement& s = hot_->texts.get(sql::attachments_delete);
    put_value(s, Kind::integer, type);
    s.text(id);
    return s.run();
}

}  // namespace ff::store
