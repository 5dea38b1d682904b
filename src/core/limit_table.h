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
    std::vector<AdmissionKey> admissions;
    std::vector<ExecutionId> admissions_of;  ///< all of an execution
    std::vector<TargetKey> targets;          ///< all attachments to it
    /// Executions attached to a budget, from one on.
    struct Attached {
        LimitKey limit;
        std::optional<std::string> after;
        std::size_t count = 0;

        auto operator<=>(const Attached&) const = default;
    };
    std::vector<Attached> attached;
    bool places = false;  ///< all attachments by place

    [[nodiscard]] bool empty() const {
        return budgets.empty() && budgets_looked.empty() && ledgers.empty() && dedups.empty() &&
               policies.empty() && admissions.empty() && admissions_of.empty() && targets.empty() &&
               attached.empty() && !places;
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
    [[nodiscard]] const std::vector<std::string>& attached(const LimitReads::Attached& ask) const;
    /// By place, in the order of keys.
    [[nodiscard]] std::vector<AttachmentKey> places() const;
    [[nodiscard]] bool any_places() const { return places_ && !places_->empty(); }

    // ---- for reads that depend on what was read: is it known yet?
    [[nodiscard]] bool knows_budget(const BudgetId& id) const { return known(budgets, id); }
    [[nodiscard]] bool knows_ledger(const LedgerKey& key) const { return known(ledgers, key); }
    [[nodiscard]] bool knows_dedup(const DedupKey& key) const { return known(dedups, key); }
    [[nodiscard]] bool knows_policy(const QuotaPolicyId& id) const { return known(policies, id); }
    [[nodiscard]] bool knows_admission(const AdmissionKey& key) const;
    [[nodiscard]] bool knows_admissions_of(const ExecutionId& id) const;
    [[nodiscard]] bool knows_target(const TargetKey& key) const { return targets_.contains(key); }
    [[nodiscard]] bool knows_attached(const LimitReads::Attached& ask) const;
    [[nodiscard]] bool knows_places() const { return places_.has_value(); }

    // ---- for the store: filling.
    void load_budget(const BudgetId& id, std::optional<Budget> row);
    void load_ledger(const LedgerKey& key, std::optional<LedgerRow> row);
    void load_dedup(const DedupKey& key, std::optional<UsageDedup> row);
    void load_policy(const QuotaPolicyId& id, std::optional<QuotaPolicy> row);
    /// Once the policy is loaded: some starts that have aged, and the oldest that has not.
    void load_window(const QuotaPolicyId& id, std::vector<Admission> aged,
                     std::optional<TimestampMs> oldest);
    void load_admission(const AdmissionKey& key, std::optional<Admission> row);
    void load_admissions_of(const ExecutionId& id, std::vector<Admission> rows);
    void load_target(const TargetKey& key, std::vector<Attachment> rows);
    void load_attached(const LimitReads::Attached& ask, std::vector<std::string> ids);
    void load_places(std::vector<Attachment> rows);

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
    template <class Map>
    static bool known(const Map& map, const typename Map::key_type& key) {
        const auto it = map.find(key);
        return it != map.end() && it->second.loaded;
    }

    std::map<QuotaPolicyId, QuotaWindow> windows_;
    std::map<QuotaPolicyId, std::vector<AdmissionKey>> aged_;
    std::set<ExecutionId> all_admissions_;
    std::set<TargetKey> targets_;
    std::map<LimitReads::Attached, std::vector<std::string>> attached_;
    std::optional<std::set<AttachmentKey>> places_;
};

}  // namespace ff::core
