#include "core/wait_table.h"

#include "base/check.h"
#include "core/changes.h"

namespace ff::core {

namespace {

template <class Map, class Key>
const auto& known(const Map& map, const Key& key) {
    const auto it = map.find(key);
    FF_CHECK(it != map.end(), "a row of a suspension was not loaded");
    return it->second;
}

template <class Map, class Key>
auto* row_of(const Map& map, const Key& key) {
    const auto& tracked = known(map, key);
    FF_CHECK(tracked.loaded, "a row of a suspension was not loaded");
    return tracked.get();
}

}  // namespace

// ------------------------------------------------------------------------------------ decisions

const Waitpoint* WaitTable::waitpoint(const WaitpointId& id) const {
    return row_of(waitpoints, id);
}

const Suspension* WaitTable::suspension(const SuspensionKey& key) const {
    return row_of(suspensions, key);
}

std::vector<const Waitpoint*> WaitTable::open_waitpoints(std::int64_t eid) const {
    std::vector<const Waitpoint*> open;
    const auto found = waitpoints_of_.find(eid);
    if (found != waitpoints_of_.end()) {
        for (const WaitpointId& id : found->second) {
            const Waitpoint* row = row_of(waitpoints, id);
            if (row != nullptr && row->open()) {
                open.push_back(row);
            }
        }
    }
    return open;
}

const Signal* WaitTable::signal(std::int64_t eid, const SignalId& id) const {
    const auto& key = known(signal_by_id_, std::pair(eid, id));
    return key ? row_of(signals, *key) : nullptr;
}

const Signal* WaitTable::signal_with_key(const WaitpointId& at,
                                         const std::string& idempotency_key) const {
    const auto& key = known(signal_by_key_, std::pair(at, idempotency_key));
    return key ? row_of(signals, *key) : nullptr;
}

std::vector<const Signal*> WaitTable::signals_at(const WaitpointId& id) const {
    FF_CHECK(knows_signals_at(id), "the signals of a waitpoint were not loaded");
    std::vector<const Signal*> rows;
    if (const auto it = signals_at_.find(id); it != signals_at_.end()) {
        for (const SignalKey& key : it->second) {
            rows.push_back(row_of(signals, key));
        }
    }
    return rows;
}

const Suspension* WaitTable::suspension_with_key(std::int64_t eid,
                                                 const std::string& idempotency_key) const {
    const auto& key = known(suspend_by_key_, std::pair(eid, idempotency_key));
    return key ? row_of(suspensions, *key) : nullptr;
}

bool WaitTable::is_satisfied(const SatisfierKey& key) const {
    return row_of(satisfiers, key) != nullptr;
}

std::vector<const HmacKey*> WaitTable::keys() const {
    FF_CHECK(knows_keys_, "the keys were not loaded");
    std::vector<const HmacKey*> rows;
    for (const auto& [kid, tracked] : hmac_keys) {
        if (const HmacKey* row = tracked.get()) {
            rows.push_back(row);
        }
    }
    return rows;
}

// ----------------------------------------------------------------------------------- known yet?

bool WaitTable::knows_waitpoint(const WaitpointId& id) const {
    const auto it = waitpoints.find(id);
    return it != waitpoints.end() && it->second.loaded;
}

bool WaitTable::knows_signal(std::int64_t eid, const SignalId& id) const {
    return signal_by_id_.contains({eid, id});
}

bool WaitTable::knows_signal_key(const WaitpointId& at, const std::string& key) const {
    return signal_by_key_.contains({at, key});
}

bool WaitTable::knows_signals_at(const WaitpointId& id) const {
    return knows_signals_at_.contains(id);
}

bool WaitTable::knows_suspend_key(std::int64_t eid, const std::string& key) const {
    return suspend_by_key_.contains({eid, key});
}

bool WaitTable::knows_satisfier(const SatisfierKey& key) const {
    const auto it = satisfiers.find(key);
    return it != satisfiers.end() && it->second.loaded;
}

// -------------------------------------------------------------------------------------- filling

void WaitTable::index(const std::optional<Waitpoint>& waitpoint) {
    if (waitpoint) {
        waitpoints_of_[waitpoint->eid].insert(waitpoint->id);
    }
}

void WaitTable::load_waitpoint(const WaitpointId& id, std::optional<Waitpoint> row) {
    index(row);
    waitpoints[id].load(std::move(row));
}

void WaitTable::load_open(std::int64_t eid, std::optional<Suspension> suspension,
                          std::vector<Waitpoint> open) {
    knows_open_.insert(eid);
    if (suspension) {
        const SuspensionKey key = suspension->key;
        suspensions[key].load(std::move(suspension));
    }
    for (Waitpoint& row : open) {
        const WaitpointId id = row.id;
        Tracked<Waitpoint>& known = waitpoints[id];
        if (!known.dirty) {
            known = {};  // what was read before the execution was locked may be old
        }
        load_waitpoint(id, std::move(row));
    }
}

void WaitTable::index(const Signal& signal) {
    signal_by_id_[{signal.key.eid, signal.id}] = signal.key;
    signals_at_[signal.waitpoint_id].insert(signal.key);
    if (signal.idempotency_key) {
        auto& newest = signal_by_key_[{signal.waitpoint_id, *signal.idempotency_key}];
        if (!newest || *newest < signal.key) {
            newest = signal.key;
        }
    }
}

void WaitTable::load_signal(std::int64_t eid, const SignalId& id, std::optional<Signal> row) {
    auto& key = signal_by_id_[{eid, id}];
    if (row && !key) {
        key = row->key;
        signals[row->key].load(std::move(row));
    }
}

void WaitTable::load_signal_key(const WaitpointId& at, const std::string& key,
                                std::optional<Signal> row) {
    auto& newest = signal_by_key_[{at, key}];
    if (row && !newest) {
        newest = row->key;
        signals[row->key].load(std::move(row));
    }
}

void WaitTable::load_signals_at(const WaitpointId& id, std::vector<Signal> rows) {
    knows_signals_at_.insert(id);
    for (Signal& row : rows) {
        const SignalKey key = row.key;
        signals_at_[id].insert(key);
        signals[key].load(std::move(row));
    }
}

void WaitTable::load_suspend_key(std::int64_t eid, const std::string& key,
                                 std::optional<Suspension> row) {
    auto& newest = suspend_by_key_[{eid, key}];
    if (row && !newest) {
        newest = row->key;
        suspensions[row->key].load(std::move(row));
    }
}

void WaitTable::load_satisfier(const SatisfierKey& key, std::optional<Satisfier> row) {
    satisfiers[key].load(std::move(row));
}

void WaitTable::load_keys(std::vector<HmacKey> rows) {
    if (std::exchange(knows_keys_, true)) {
        return;
    }
    for (HmacKey& row : rows) {
        const std::string kid = row.kid;
        hmac_keys[kid].load(std::move(row));
    }
}

// ------------------------------------------------------------------------------------ the batch

void WaitTable::apply(Changes& changes) {
    for (Suspension& row : changes.put_suspensions) {
        const SuspensionKey key = row.key;
        if (row.idempotency_key) {
            suspend_by_key_[{key.eid, *row.idempotency_key}] = key;
        }
        suspensions[key].put(std::move(row));
    }
    for (Waitpoint& row : changes.put_waitpoints) {
        const WaitpointId id = row.id;
        waitpoints_of_[row.eid].insert(id);
        waitpoints[id].put(std::move(row));
    }
    for (Signal& row : changes.put_signals) {
        const SignalKey key = row.key;
        index(row);
        signals[key].put(std::move(row));
    }
    for (Satisfier& row : changes.put_satisfiers) {
        const SatisfierKey key = row.key;
        satisfiers[key].put(std::move(row));
    }
    for (const std::string& kid : changes.delete_hmac_keys) {
        hmac_keys[kid].erase();
    }
    for (HmacKey& row : changes.put_hmac_keys) {
        const std::string kid = row.kid;
        hmac_keys[kid].put(std::move(row));
    }
}

void WaitTable::clear() { *this = {}; }

bool WaitTable::empty() const {
    return suspensions.empty() && waitpoints.empty() && signals.empty() && satisfiers.empty() &&
           hmac_keys.empty() && knows_open_.empty() && !knows_keys_ && signal_by_id_.empty() &&
           signal_by_key_.empty() && suspend_by_key_.empty() && knows_signals_at_.empty();
}

}  // namespace ff::core
