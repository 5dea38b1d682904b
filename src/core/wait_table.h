// The rows of suspension a batch has loaded, and what they have become: part of a Snapshot, with
// the same rules (asking for what nobody loaded aborts; what the batch changed is newer than a
// second load).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/suspension_records.h"
#include "core/tracked.h"

namespace ff::core {

struct Changes;

/// What a command must see of suspensions, beside the executions. With an execution that has open
/// waitpoints (Execution::open_waitpoints) the store loads those and its open suspension unasked.
struct WaitReads {
    std::vector<WaitpointId> waitpoints;                             ///< whatever their state
    std::vector<std::pair<std::int64_t, SignalId>> signals;          ///< in an execution's ledger
    std::vector<std::pair<WaitpointId, std::string>> signal_keys;    ///< the newest with that key
    std::vector<WaitpointId> signals_at;                             ///< buffered, while it pends
    std::vector<std::pair<std::int64_t, std::string>> suspend_keys;  ///< the newest with that key
    std::vector<SatisfierKey> satisfiers;
    bool keys = false;  ///< all keys there are

    [[nodiscard]] bool empty() const {
        return waitpoints.empty() && signals.empty() && signal_keys.empty() && signals_at.empty() &&
               suspend_keys.empty() && satisfiers.empty() && !keys;
    }
};

class WaitTable {
  public:
    // ---- for decisions. Null means absent.
    [[nodiscard]] const Waitpoint* waitpoint(const WaitpointId& id) const;
    [[nodiscard]] const Suspension* suspension(const SuspensionKey& key) const;
    /// Those of an execution that are open, by id.
    [[nodiscard]] std::vector<const Waitpoint*> open_waitpoints(std::int64_t eid) const;
    [[nodiscard]] const Signal* signal(std::int64_t eid, const SignalId& id) const;
    [[nodiscard]] const Signal* signal_with_key(const WaitpointId& at,
                                                const std::string& idempotency_key) const;
    /// Those that were buffered for it, in the order they came. What came to it once it was active
    /// is among them only when it was loaded or put otherwise: nobody replays that.
    [[nodiscard]] std::vector<const Signal*> signals_at(const WaitpointId& id) const;
    [[nodiscard]] const Suspension* suspension_with_key(std::int64_t eid,
                                                        const std::string& idempotency_key) const;
    [[nodiscard]] bool is_satisfied(const SatisfierKey& key) const;
    /// By kid.
    [[nodiscard]] std::vector<const HmacKey*> keys() const;

    // ---- for reads that depend on what was read: is it known yet?
    [[nodiscard]] bool knows_waitpoint(const WaitpointId& id) const;
    [[nodiscard]] bool knows_signal(std::int64_t eid, const SignalId& id) const;
    [[nodiscard]] bool knows_signal_key(const WaitpointId& at, const std::string& key) const;
    [[nodiscard]] bool knows_signals_at(const WaitpointId& id) const;
    [[nodiscard]] bool knows_suspend_key(std::int64_t eid, const std::string& key) const;
    [[nodiscard]] bool knows_satisfier(const SatisfierKey& key) const;
    [[nodiscard]] bool knows_keys() const { return knows_keys_; }
    [[nodiscard]] bool knows_open(std::int64_t eid) const { return knows_open_.contains(eid); }

    // ---- for the store: filling.
    void load_waitpoint(const WaitpointId& id, std::optional<Waitpoint> row);
    /// The open suspension, if there is one, and all open waitpoints of an execution.
    void load_open(std::int64_t eid, std::optional<Suspension> suspension,
                   std::vector<Waitpoint> open);
    void load_signal(std::int64_t eid, const SignalId& id, std::optional<Signal> row);
    void load_signal_key(const WaitpointId& at, const std::string& key, std::optional<Signal> row);
    void load_signals_at(const WaitpointId& id, std::vector<Signal> rows);
    void load_suspend_key(std::int64_t eid, const std::string& key, std::optional<Suspension> row);
    void load_satisfier(const SatisfierKey& key, std::optional<Satisfier> row);
    void load_keys(std::vector<HmacKey> rows);

    // ---- for the batch.
    void apply(Changes& changes);
    void clear();
    [[nodiscard]] bool empty() const;

    // ---- for the store: what to write.
    std::map<SuspensionKey, Tracked<Suspension>> suspensions;
    std::map<WaitpointId, Tracked<Waitpoint>> waitpoints;
    std::map<SignalKey, Tracked<Signal>> signals;
    std::map<SatisfierKey, Tracked<Satisfier>> satisfiers;
    std::map<std::string, Tracked<HmacKey>> hmac_keys;

  private:
    void index(const Signal& signal);
    void index(const std::optional<Waitpoint>& waitpoint);

    std::set<std::int64_t> knows_open_;
    std::map<std::int64_t, std::set<WaitpointId>> waitpoints_of_;  ///< of an execution, loaded ones
    bool knows_keys_ = false;
    /// Which signal, which suspension: absent ones are known to be.
    std::map<std::pair<std::int64_t, SignalId>, std::optional<SignalKey>> signal_by_id_;
    std::map<std::pair<WaitpointId, std::string>, std::optional<SignalKey>> signal_by_key_;
    std::map<std::pair<std::int64_t, std::string>, std::optional<SuspensionKey>> suspend_by_key_;
    std::set<WaitpointId> knows_signals_at_;
    std::map<WaitpointId, std::set<SignalKey>> signals_at_;
};

}  // namespace ff::core
