#include "core/limit_table.h"

#include <algorithm>

#include "base/check.h"
#include "core/changes.h"

namespace ff::core {

namespace {

template <class Map>
auto* limit_row(const Map& map, const typename Map::key_type& key) {
    const auto it = map.find(key);
    FF_CHECK(it != map.end() && it->second.loaded, "a row of a limit was not loaded");
    return it->second.get();
}

}  // namespace

const Budget* LimitTable::budget(const BudgetId& id) const { return limit_row(budgets, id); }

const LedgerRow* LimitTable::ledger(const LedgerKey& key) const { return limit_row(ledgers, key); }

const UsageDedup* LimitTable::dedup(const DedupKey& key) const { return limit_row(dedups, key); }

const QuotaPolicy* LimitTable::policy(const QuotaPolicyId& id) const {
    return limit_row(policies, id);
}

const QuotaWindow& LimitTable::window(const QuotaPolicyId& id) const {
    static const QuotaWindow none;
    const auto it = windows_.find(id);
    return it == windows_.end() ? none : it->second;
}

std::vector<Admission> LimitTable::aged(const QuotaPolicyId& id) const {
    std::vector<Admission> out;
    if (const auto it = aged_.find(id); it != aged_.end()) {
        const QuotaPolicy* row = policy(id);
        for (const AdmissionKey& key : it->second) {
            const Admission* admission = admissions.at(key).get();
            if (row != nullptr && admission != nullptr && is_aged(*row, *admission, now)) {
                out.push_back(*admission);
            }
        }
    }
    return out;
}

const Admission* LimitTable::admission(const AdmissionKey& key) const {
    const auto it = admissions.find(key);
    FF_CHECK(knows_admission(key), "an admission was not loaded");
    return it == admissions.end() ? nullptr : it->second.get();
}

std::vector<Admission> LimitTable::admissions_of(const ExecutionId& id) const {
    FF_CHECK(knows_admissions_of(id), "the admissions of an execution were not loaded");
    std::vector<Admission> out;
    for (auto it = admissions.lower_bound({id, QuotaPolicyId{}});
         it != admissions.end() && it->first.execution == id; ++it) {
        if (const Admission* row = it->second.get()) {
            out.push_back(*row);
        }
    }
    return out;
}

bool LimitTable::knows_admission(const AdmissionKey& key) const {
    return known(admissions, key) || all_admissions_.contains(key.execution);
}

bool LimitTable::knows_admissions_of(const ExecutionId& id) const {
    return all_admissions_.contains(id);
}

std::vector<Attachment> LimitTable::attached_to(const TargetKey& target) const {
    FF_CHECK(knows_target(target), "the attachments of a target were not loaded");
    std::vector<Attachment> out;
    for (const auto& [key, row] : attachments) {
        if (key.target == target && row.current()) {
            out.push_back(*row.current());
        }
    }
    return out;
}

const std::vector<std::string>& LimitTable::attached(const LimitReads::PageOf& ask) const {
    const auto it = attached_.find(ask);
    FF_CHECK(it != attached_.end(), "what a limit is attached to was not loaded");
    return it->second;
}

bool LimitTable::knows_attached(const LimitReads::PageOf& ask) const {
    return attached_.contains(ask);
}

const std::vector<std::string>& LimitTable::keys(const LimitReads::PageOf& ask) const {
    const auto it = keys_.find(ask);
    FF_CHECK(it != keys_.end(), "the keys of a policy were not loaded");
    return it->second;
}

bool LimitTable::any_places() const {
    FF_CHECK(places_.has_value(), "the attachments by place were not loaded");
    return !places_->empty();
}

const std::set<LimitKey>& LimitTable::placed_at(const TargetKey& target) const {
    static const std::set<LimitKey> none;
    FF_CHECK(places_.has_value(), "the attachments by place were not loaded");
    const auto it = places_->find(target);
    return it == places_->end() ? none : it->second;
}

void LimitTable::place(const AttachmentKey& key, bool there) {
    if (!places_) {
        return;
    }
    const LimitKey limit{key.kind, key.limit};
    if (there) {
        (*places_)[key.target].insert(limit);
    } else if (const auto it = places_->find(key.target); it != places_->end()) {
        it->second.erase(limit);
        if (it->second.empty()) {
            places_->erase(it);
        }
    }
}

void LimitTable::load_budget(const BudgetId& id, std::optional<Budget> row) {
    Tracked<Budget>& known = budgets[id];
    if (!known.dirty && looked_.erase(id) > 0) {
        known = {};  // now that nobody else changes it, it may differ
    }
    known.load(std::move(row));
}

void LimitTable::look_at_budget(const BudgetId& id, std::optional<Budget> row) {
    if (!knows_budget(id)) {
        budgets[id].load(std::move(row));
        looked_.insert(id);
    }
}

void LimitTable::load_ledger(const LedgerKey& key, std::optional<LedgerRow> row) {
    ledgers[key].load(std::move(row));
}

void LimitTable::load_dedup(const DedupKey& key, std::optional<UsageDedup> row) {
    dedups[key].load(std::move(row));
}

void LimitTable::load_policy(const QuotaPolicyId& id, std::optional<QuotaPolicy> row) {
    Tracked<QuotaPolicy>& known = policies[id];
    if (!known.dirty && looked_policies_.erase(id) > 0) {
        known = {};  // now that nobody else changes it, it may differ
    }
    known.load(std::move(row));
}

void LimitTable::look_at_policy(const QuotaPolicyId& id, std::optional<QuotaPolicy> row) {
    if (!knows_policy(id)) {
        policies[id].load(std::move(row));
        looked_policies_.insert(id);
    }
}

void LimitTable::load_window(const QuotaPolicyId& id, std::vector<Admission> aged,
                             std::optional<TimestampMs> oldest) {
    if (aged.size() >= aged_page) {
        oldest = aged.back().admitted_at;  // there may be more: whoever is refused asks again soon
    }
    if (!windows_.try_emplace(id, QuotaWindow{oldest}).second) {
        return;  // the batch's own view is newer
    }
    for (Admission& row : aged) {
        const AdmissionKey key = row.key;
        aged_[id].push_back(key);
        load_admission(key, std::move(row));
    }
}

void LimitTable::load_admission(const AdmissionKey& key, std::optional<Admission> row) {
    admissions[key].load(std::move(row));
}

void LimitTable::load_admissions_of(const ExecutionId& id, std::vector<Admission> rows) {
    for (Admission& row : rows) {
        const AdmissionKey key = row.key;
        load_admission(key, std::move(row));
    }
    all_admissions_.insert(id);
}

void LimitTable::note_by_key(const Attachment& row) {
    if (row.by_key) {
        by_key_.insert(row.key.limit);
    }
}

void LimitTable::load_target(const TargetKey& key, std::vector<Attachment> rows) {
    for (Attachment& row : rows) {
        note_by_key(row);
        const AttachmentKey attachment = row.key;
        attachments[attachment].load(std::move(row));
    }
    targets_.insert(key);
}

// NOLINTBEGIN(performance-unnecessary-value-param): they are moved from
void LimitTable::load_attached(const LimitReads::PageOf& ask, std::vector<std::string> ids) {
    attached_.try_emplace(ask, std::move(ids));
}

void LimitTable::load_keys(const LimitReads::PageOf& ask, std::vector<std::string> keys) {
    keys_.try_emplace(ask, std::move(keys));
}

// NOLINTEND(performance-unnecessary-value-param)

void LimitTable::load_places(const std::vector<Attachment>& rows) {
    if (places_) {
        return;
    }
    places_.emplace();
    for (const Attachment& row : rows) {
        note_by_key(row);
        place(row.key, true);
    }
    for (const auto& [key, row] : attachments) {
        if (row.dirty) {
            place(key, row.current() && row.current()->by_place);
        }
    }
}

void LimitTable::apply(Changes& changes) {
    const auto put = [](auto& map, auto& rows, auto key_of) {
        for (auto& row : rows) {
            const auto key = key_of(row);
            map[key].put(std::move(row));
        }
    };
    put(budgets, changes.put_budgets, [](const Budget& row) { return row.id; });
    put(ledgers, changes.put_ledgers, [](const LedgerRow& row) { return row.key; });
    put(dedups, changes.put_dedups, [](const UsageDedup& row) { return row.key; });
    put(policies, changes.put_policies, [](const QuotaPolicy& row) { return row.id; });
    for (const auto& [id, window] : changes.put_windows) {
        windows_[id] = window;
    }
    for (const AdmissionKey& key : changes.delete_admissions) {
        admissions[key].erase();
    }
    put(admissions, changes.put_admissions, [](const Admission& row) { return row.key; });
    for (const LedgerKey& key : changes.delete_ledgers) {
        ledgers[key].erase();
    }
    for (const QuotaPolicyId& id : changes.delete_policies) {
        policies[id].erase();
    }
    for (const AttachmentKey& key : changes.delete_attachments) {
        attachments[key].erase();
        place(key, false);
    }
    for (Attachment& row : changes.put_attachments) {
        note_by_key(row);
        const AttachmentKey key = row.key;
        place(key, row.by_place);
        attachments[key].put(std::move(row));
    }
}

void LimitTable::clear() {
    const TimestampMs time = now;
    *this = LimitTable();
    now = time;
}

bool LimitTable::empty() const {
    return budgets.empty() && ledgers.empty() && dedups.empty() && policies.empty() &&
           admissions.empty() && attachments.empty() && windows_.empty() && aged_.empty() &&
           all_admissions_.empty() && targets_.empty() && attached_.empty() && keys_.empty() &&
           !places_;
}

bool LimitTable::dirty() const {
    const auto any = [](const auto& map) {
        return std::ranges::any_of(map, [](const auto& entry) { return entry.second.dirty; });
    };
    return any(budgets) || any(ledgers) || any(dedups) || any(policies) || any(admissions) ||
           any(attachments);
}

}  // namespace ff::core
