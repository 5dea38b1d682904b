// The rows of budgets and quotas a batch has loaded, and what they have become: part of a Snapshot,
// with the same rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/limit_records.h"
#include "core/quota_rules.h"
#include "core/tracked.h"

namespace ff::core {

struct Changes;

/// What a command must see of limits, beside the executions.
struct LimitReads {
    std::vector<BudgetId> budgets;         ///< to change them
    std::vector<BudgetId> budgets_looked;  ///< only to look: others may look too
    std::vector<LedgerKey> ledgers;
    std::vector<DedupKey> dedups;
    std::vector<QuotaPolicyId> policies;  ///< with the starts that have aged, and the oldest other
    std::vector<QuotaPolicyId> policies_looked;  ///< only to look: others may look too
    std::vector<AdmissionKey> admissions;
    std::vector<ExecutionId> admissions_of;  ///< all of an execution
    std::vector<TargetKey> targets;          ///< all attachments to it
    /// What there is of a limit behind a place in its order.
    struct PageOf {
        LimitKey limit;
        std::optional<std::string> after;
        std::size_t count = 0;

        auto operator<=>(const PageOf&) const = default;
    };
    std::vector<PageOf> attached;  ///< targets: of a budget only executions
    std::vector<PageOf> keys;      ///< the keys that a policy counts, from one on
    bool places = false;           ///< all attachments by place

    [[nodiscard]] bool empty() const {
        return budgets.empty() && budgets_looked.empty() && ledgers.empty() && dedups.empty() &&
               policies.empty() && admissions.empty() && admissions_of.empty() && targets.empty() &&
               attached.empty() && keys.empty() && policies_looked.empty() && !places;
    }
};

/// Starts that age are dropped so many at a time; then there is room for as many.
inline constexpr std::size_t aged_page = 256;

class LimitTable {
  public:
    // ---- for decisions. Null means absent.
    [[nodiscard]] const Budget* budget(const BudgetId& id) const;
    [[nodiscard]] const LedgerRow* ledger(const LedgerKey& key) const;
    [[nodiscard]] const UsageDedup* dedup(const DedupKey& key) const;
    [[nodiscard]] const QuotaPolicy* policy(const QuotaPolicyId& id) const;
    [[nodiscard]] const QuotaWindow& window(const QuotaPolicyId& id) const;
    /// Starts that had aged when the policy was loaded and are there still.
    [[nodiscard]] std::vector<Admission> aged(const QuotaPolicyId& id) const;
    [[nodiscard]] const Admission* admission(const AdmissionKey& key) const;
    [[nodiscard]] std::vector<Admission> admissions_of(const ExecutionId& id) const;
    /// Of a target, in the order of keys.
    [[nodiscard]] std::vector<Attachment> attached_to(const TargetKey& target) const;
    [[nodiscard]] const std::vector<std::string>& attached(const LimitReads::PageOf& ask) const;
    [[nodiscard]] const std::vector<std::string>& keys(const LimitReads::PageOf& ask) const;
    /// Of a target, by place.
    [[nodiscard]] const std::set<LimitKey>& placed_at(const TargetKey& target) const;
    [[nodiscard]] bool any_places() const;
    /// Is the policy of an attachment that is loaded one that counts by key?
    [[nodiscard]] bool counts_by_key(const LimitId& policy) const {
        return by_key_.contains(policy);
    }
    /// Was it loaded only to look at it? Others may be changing it: only what says that somebody
    /// waits may be written then.
    [[nodiscard]] bool only_looked_at(const BudgetId& id) const { return looked_.contains(id); }
    [[nodiscard]] bool only_looked_at(const QuotaPolicyId& id) const {
        return looked_policies_.contains(id);
    }

    // ---- for reads that depend on what was read: is it known yet?
    [[nodiscard]] bool knows_budget(const BudgetId& id) const { return known(budgets, id); }
    [[nodiscard]] bool holds_budget(const BudgetId& id) const {
        return knows_budget(id) && !only_looked_at(id);
    }
    [[nodiscard]] bool knows_ledger(const LedgerKey& key) const { return known(ledgers, key); }
    [[nodiscard]] bool knows_dedup(const DedupKey& key) const { return known(dedups, key); }
    [[nodiscard]] bool knows_policy(const QuotaPolicyId& id) const { return known(policies, id); }
    [[nodiscard]] bool holds_policy(const QuotaPolicyId& id) const {
        return knows_policy(id) && !only_looked_at(id);
    }
    [[nodiscard]] bool knows_admission(const AdmissionKey& key) const;
    [[nodiscard]] bool knows_admissions_of(const ExecutionId& id) const;
    [[nodiscard]] bool knows_target(const TargetKey& key) const { return targets_.contains(key); }
    [[nodiscard]] bool knows_attached(const LimitReads::PageOf& ask) const;
    [[nodiscard]] bool knows_keys(const LimitReads::PageOf& ask) const {
        return keys_.contains(ask);
    }
    [[nodiscard]] bool knows_places() const { return places_.has_value(); }

    // ---- for the store: filling.
    void load_budget(const BudgetId& id, std::optional<Budget> row);
    /// Without a lock.
    void look_at_budget(const BudgetId& id, std::optional<Budget> row);
    void load_ledger(const LedgerKey& key, std::optional<LedgerRow> row);
    void load_dedup(const DedupKey& key, std::optional<UsageDedup> row);
    void load_policy(const QuotaPolicyId& id, std::optional<QuotaPolicy> row);
    /// Without a lock, and without its window.
    void look_at_policy(const QuotaPolicyId& id, std::optional<QuotaPolicy> row);
    /// Once the policy is loaded: some starts that have aged, and the oldest that has not.
    void load_window(const QuotaPolicyId& id, std::vector<Admission> aged,
                     std::optional<TimestampMs> oldest);
    void load_admission(const AdmissionKey& key, std::optional<Admission> row);
    void load_admissions_of(const ExecutionId& id, std::vector<Admission> rows);
    void load_target(const TargetKey& key, std::vector<Attachment> rows);
    void load_attached(const LimitReads::PageOf& ask, std::vector<std::string> ids);
    void load_keys(const LimitReads::PageOf& ask, std::vector<std::string> keys);
    void load_places(const std::vector<Attachment>& rows);

    // ---- for the batch.
    void apply(Changes& changes);
    void clear();
    [[nodiscard]] bool empty() const;
    [[nodiscard]] bool dirty() const;
    TimestampMs now = 0;  ///< of the transaction: what has aged depends on it

    // ---- for the store: what to write.
    std::map<BudgetId, Tracked<Budget>> budgets;
    std::map<LedgerKey, Tracked<LedgerRow>> ledgers;
    std::map<DedupKey, Tracked<UsageDedup>> dedups;
    std::map<QuotaPolicyId, Tracked<QuotaPolicy>> policies;
    std::map<AdmissionKey, Tracked<Admission>> admissions;
    std::map<AttachmentKey, Tracked<Attachment>> attachments;

  private:
    void place(const AttachmentKey& key, bool there);
    void note_by_key(const Attachment& row);

    template <class Map>
    static bool known(const Map& map, const typename Map::key_type& key) {
        const auto it = map.find(key);
        return it != map.end() && it->second.loaded;
    }

    std::map<QuotaPolicyId, QuotaWindow> windows_;
    std::map<QuotaPolicyId, std::vector<AdmissionKey>> aged_;
    std::set<ExecutionId> all_admissions_;
    std::set<TargetKey> targets_;
    std::map<LimitReads::PageOf, std::vector<std::string>> attached_;
    std::optional<std::map<TargetKey, std::set<LimitKey>>> places_;
    std::map<LimitReads::PageOf, std::vector<std::string>> keys_;
    std::set<LimitId> by_key_;
    std::set<BudgetId> looked_;
    std::set<QuotaPolicyId> looked_policies_;
};

}  // namespace ff::core
