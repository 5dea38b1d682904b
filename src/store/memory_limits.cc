// Budgets and quotas of a store in memory.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "store/memory_internal.h"

namespace ff::store {

using core::AttachmentKey;
using core::LimitKey;
using core::LimitTable;

namespace {

/// The rows of a map behind a key, up to a number.
template <class Map, class Belongs>
std::vector<typename Map::mapped_type> rows_after(
    const Map& map, const std::optional<typename Map::key_type>& after, std::size_t limit,
    Belongs belongs) {
    std::vector<typename Map::mapped_type> out;
    for (auto it = after ? map.upper_bound(*after) : map.begin();
         it != map.end() && out.size() < limit; ++it) {
        if (belongs(it->first)) {
            out.push_back(it->second);
        }
    }
    return out;
}

std::vector<std::string> attached_ids(const MemoryRows& rows, const core::LimitReads::PageOf& ask) {
    std::set<std::string> ids;
    const bool only_executions = ask.limit.kind == core::LimitKind::budget;
    for (auto it = rows.attachments.lower_bound({ask.limit.kind, ask.limit.id, {}});
         it != rows.attachments.end() && it->first.kind == ask.limit.kind &&
         it->first.limit == ask.limit.id;
         ++it) {
        const core::TargetKey& target = it->first.target;
        if ((!only_executions || target.type == LimitTarget::execution) &&
            (!ask.after || target.id > *ask.after)) {
            ids.insert(target.id);
        }
    }
    std::vector<std::string> out(ids.begin(), ids.end());
    out.resize(std::min(out.size(), ask.count));
    return out;
}

std::vector<std::pair<std::string, QuotaPolicyId>> keys_after(const MemoryRows& rows,
                                                              const QuotaPolicyId& parent,
                                                              const std::string& after,
                                                              std::size_t limit) {
    std::vector<std::pair<std::string, QuotaPolicyId>> out;
    for (auto it = rows.quota_keys.lower_bound({{parent, after}, {}});
         it != rows.quota_keys.end() && it->first.first == parent && out.size() < limit; ++it) {
        if (it->first.second != after) {
            out.emplace_back(it->first.second, it->second);
        }
    }
    return out;
}

}  // namespace

void MemoryStore::load_limits(const core::LimitReads& reads, core::Snapshot& snapshot) const {
    LimitTable& limits = snapshot.limits;
    for (const auto* ids : {&reads.budgets, &reads.budgets_looked}) {
        for (const BudgetId& id : *ids) {
            limits.load_budget(id, find_row(rows_->budgets, id));
        }
    }
    for (const core::LedgerKey& key : reads.ledgers) {
        limits.load_ledger(key, find_row(rows_->ledgers, key));
    }
    for (const core::DedupKey& key : reads.dedups) {
        limits.load_dedup(key, find_row(rows_->dedups, key, swept_->dedups));
    }
    std::vector<QuotaPolicyId> policies = reads.policies;
    policies.insert(policies.end(), reads.policies_looked.begin(), reads.policies_looked.end());
    for (const QuotaPolicyId& id : policies) {
        const auto row = find_row(rows_->policies, id);
        limits.load_policy(id, row);
        if (!row) {
            continue;
        }
        const TimestampMs cutoff = limits.now - row->window_ms;
        std::vector<core::Admission> aged;
        auto it = rows_->starts.lower_bound({id, lowest<TimestampMs>, ExecutionId{}});
        const auto is_of = [&] { return it != rows_->starts.end() && std::get<0>(*it) == id; };
        for (; is_of() && std::get<1>(*it) <= cutoff; ++it) {
            if (aged.size() < core::aged_page) {
                aged.push_back(rows_->admissions.at({std::get<2>(*it), id}));
            }
        }
        limits.load_window(id, std::move(aged),
                           is_of() ? std::optional(std::get<1>(*it)) : std::nullopt);
    }
    for (const core::AdmissionKey& key : reads.admissions) {
        limits.load_admission(key, find_row(rows_->admissions, key));
    }
    for (const ExecutionId& id : reads.admissions_of) {
        limits.load_admissions_of(
            id, rows_from(rows_->admissions, {id, QuotaPolicyId{}},
                          [&](const core::AdmissionKey& key) { return key.execution == id; }));
    }
    for (const core::TargetKey& key : reads.targets) {
        std::vector<core::Attachment> rows;
        for (const AttachmentKey& attachment : seconds_of(rows_->attached_to, key)) {
            rows.push_back(rows_->attachments.at(attachment));
        }
        limits.load_target(key, std::move(rows));
    }
    for (const core::LimitReads::PageOf& ask : reads.attached) {
        limits.load_attached(ask, attached_ids(*rows_, ask));
    }
    for (const core::LimitReads::PageOf& ask : reads.keys) {
        std::vector<std::string> keys;
        for (auto& [key, id] : keys_after(*rows_, QuotaPolicyId{ask.limit.id.uuid},
                                          ask.after.value_or(""), ask.count)) {
            keys.push_back(std::move(key));
        }
        limits.load_keys(ask, std::move(keys));
    }
    if (reads.places && !limits.knows_places()) {
        std::vector<core::Attachment> rows;
        for (const AttachmentKey& key : rows_->places) {
            rows.push_back(rows_->attachments.at(key));
        }
        limits.load_places(rows);
    }
}

void MemoryStore::write_limits(Journal& journal, const LimitTable& limits) {
    const auto write = [&](auto& map, const auto& tracked) {
        for (const auto& [key, row] : tracked) {
            if (row.dirty) {
                replace(journal, map, key, row.current());
                rows_written_ += 1;
            }
        }
    };
    write(rows_->budgets, limits.budgets);
    write(rows_->ledgers, limits.ledgers);
    write(rows_->dedups, limits.dedups);
    write(rows_->policies, limits.policies);
    write(rows_->admissions, limits.admissions);
    write(rows_->attachments, limits.attachments);
}

void MemoryStore::erase_attachments(Journal& journal, const core::TargetKey& target) {
    for (const AttachmentKey& key : seconds_of(rows_->attached_to, target)) {
        replace(journal, rows_->attachments, key, std::nullopt);
    }
}

expected<std::vector<LimitKey>> MemoryStore::scan_due_limits(TimestampMs now, std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<LimitKey> out;
    for (const auto& [at, key] : rows_->limit_timers) {
        if (at > now || out.size() >= 2 * limit) {
            break;
        }
        out.push_back(key);
    }
    std::ranges::stable_sort(out, {}, &LimitKey::kind);
    return out;
}

expected<std::vector<LimitKey>> MemoryStore::scan_waiting_limits(const LimitKey& after,
                                                                 std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<LimitKey> out;
    for (auto it = rows_->limits_waiting.upper_bound(after);
         it != rows_->limits_waiting.end() && out.size() < limit; ++it) {
        out.push_back(*it);
    }
    return out;
}

// ------------------------------------------------------------------------------------ reading

expected<std::optional<core::Budget>> MemoryReader::budget(const BudgetId& id) {
    return find_row(rows_.budgets, id);
}

expected<std::vector<core::Budget>> MemoryReader::budgets(const std::optional<BudgetId>& after,
                                                          std::size_t limit) {
    return rows_after(rows_.budgets, after, limit, [](const BudgetId&) { return true; });
}

expected<std::vector<BudgetId>> MemoryReader::budget_ids(const std::optional<BudgetId>& after,
                                                         std::size_t limit) {
    return keys_after(rows_.budgets, after, limit);
}

expected<std::vector<core::LedgerRow>> MemoryReader::ledgers(
    const BudgetId& budget, const std::optional<ExecutionId>& after, std::size_t limit) {
    const auto key = after ? std::optional(core::LedgerKey{budget, *after}) : std::nullopt;
    return rows_after(rows_.ledgers, key, limit,
                      [&](const core::LedgerKey& each) { return each.budget == budget; });
}

expected<std::optional<core::QuotaPolicy>> MemoryReader::policy(const QuotaPolicyId& id) {
    return find_row(rows_.policies, id);
}

expected<std::vector<core::QuotaPolicy>> MemoryReader::policies_listed(
    const std::optional<QuotaPolicyId>& after, std::size_t limit) {
    return rows_after(rows_.policies, after, limit,
                      [this](const QuotaPolicyId& id) { return !rows_.policies.at(id).parent; });
}

expected<std::vector<core::QuotaPolicy>> MemoryReader::policies_of_keys(const QuotaPolicyId& parent,
                                                                        const std::string& after,
                                                                        std::size_t limit) {
    std::vector<core::QuotaPolicy> out;
    for (const auto& [key, id] : keys_after(rows_, parent, after, limit)) {
        out.push_back(rows_.policies.at(id));
    }
    return out;
}

expected<std::vector<QuotaPolicyId>> MemoryReader::policy_ids(
    const std::optional<QuotaPolicyId>& after, std::size_t limit) {
    return keys_after(rows_.policies, after, limit);
}

expected<std::vector<core::Admission>> MemoryReader::slots(const QuotaPolicyId& policy,
                                                           const std::optional<ExecutionId>& after,
                                                           std::size_t limit) {
    std::vector<core::Admission> out;
    for (const auto& [key, row] : rows_.admissions) {
        if (key.policy == policy && row.slot_at && (!after || key.execution > *after) &&
            out.size() < limit) {
            out.push_back(row);
        }
    }
    return out;
}

expected<std::uint64_t> MemoryReader::starts(const QuotaPolicyId& policy, TimestampMs until) {
    std::uint64_t count = 0;
    for (auto it = rows_.starts.lower_bound({policy, lowest<TimestampMs>, ExecutionId{}});
         it != rows_.starts.end() && std::get<0>(*it) == policy && std::get<1>(*it) <= until;
         ++it) {
        ++count;
    }
    return count;
}

expected<std::uint64_t> MemoryReader::slot_count(const QuotaPolicyId& policy) {
    std::uint64_t count = 0;
    for (const auto& [key, row] : rows_.admissions) {
        count += key.policy == policy && row.slot_at ? 1 : 0;
    }
    return count;
}

}  // namespace ff::store
