// Waits of a store in memory: suspensions, waitpoints, signals and keys.
#include <algorithm>
#include <ranges>

#include "store/memory_internal.h"
#include "store/prepare.h"

namespace ff::store {

using core::ExecutionCell;
using core::SignalKey;
using core::Snapshot;
using core::SuspensionKey;
using core::WaitTable;

// --------------------------------------------------------------------------------------- rows

std::vector<core::Suspension> MemoryRows::suspensions_of(Eid eid) const {
    return rows_from(suspensions, {eid, 0}, [&](const auto& key) { return key.eid == eid; });
}

std::vector<core::Waitpoint> MemoryRows::open_waitpoints_of(Eid eid) const {
    std::vector<core::Waitpoint> out;
    for (const WaitpointId& id : seconds_of(waitpoints_of, eid)) {
        if (const core::Waitpoint& row = waitpoints.at(id); row.open()) {
            out.push_back(row);
        }
    }
    return out;
}

std::vector<core::Signal> MemoryRows::signals_to(const WaitpointId& id) const {
    std::vector<core::Signal> out;
    for (const SignalKey& key : seconds_of(signals_at, id)) {
        out.push_back(signals.at(key));
    }
    return out;
}

// ------------------------------------------------------------------------------------ loading

void MemoryStore::found_cell(ExecutionCell& cell, Snapshot& snapshot) const {
    snapshot.index_by_eid(cell);
    if (!lacks_open_waits(cell, snapshot.waits)) {
        return;
    }
    const core::Execution& execution = *cell.execution.stored;
    const auto key = open_suspension(execution);
    load_open_waits(execution, key ? find_row(rows_->suspensions, *key) : std::nullopt,
                    rows_->open_waitpoints_of(execution.eid), snapshot.waits);
}

namespace {

/// The last of the rows that `holds` is true of.
template <class Row, class Holds>
std::optional<Row> newest(const std::vector<Row>& rows, Holds holds) {
    const auto it = std::find_if(rows.rbegin(), rows.rend(), holds);
    return it == rows.rend() ? std::nullopt : std::optional(*it);
}

}  // namespace

void MemoryStore::load_waits(const core::WaitReads& reads, WaitTable& waits) const {
    for (const WaitpointId& id : reads.waitpoints) {
        waits.load_waitpoint(id, find_row(rows_->waitpoints, id));
    }
    for (const auto& [eid, id] : reads.signals) {
        const auto keys = seconds_of(rows_->signal_ids, std::pair(eid, id));
        waits.load_signal(eid, id,
                          keys.empty() ? std::nullopt : find_row(rows_->signals, keys.front()));
    }
    for (const auto& [waitpoint, key] : reads.signal_keys) {
        waits.load_signal_key(waitpoint, key,
                              newest(rows_->signals_to(waitpoint), [&](const core::Signal& row) {
                                  return row.idempotency_key == key;
                              }));
    }
    for (const WaitpointId& id : reads.signals_at) {
        auto rows = rows_->signals_to(id);
        std::erase_if(rows, [](const core::Signal& row) {
            return row.effect != SignalEffect::buffered_for_pending_waitpoint;
        });
        waits.load_signals_at(id, std::move(rows));
    }
    for (const auto& [eid, key] : reads.suspend_keys) {
        waits.load_suspend_key(eid, key,
                               newest(rows_->suspensions_of(eid), [&](const core::Suspension& row) {
                                   return row.idempotency_key == key;
                               }));
    }
    for (const core::SatisfierKey& key : reads.satisfiers) {
        waits.load_satisfier(key, find_row(rows_->satisfiers, key));
    }
    if (reads.keys) {
        const auto rows = rows_->hmac_keys | std::views::values;
        waits.load_keys({rows.begin(), rows.end()});
    }
}

// ------------------------------------------------------------------------------------ writing

expected<void> MemoryStore::write_waits(Journal& journal, const WaitTable& waits) {
    const auto write = [&](auto& map, const auto& tracked, const char* what) -> expected<void> {
        for (const auto& [key, row] : tracked) {
            if (!row.dirty || !row.current()) {
                continue;
            }
            if (!row.stored && map.contains(key)) {
                return ff::fail(ErrorCode::internal, std::string(what) + " is there already");
            }
            replace(journal, map, key, row.current());
            rows_written_ += 1;
        }
        return {};
    };
    FF_TRY_VOID(write(rows_->suspensions, waits.suspensions, "the suspension"));
    FF_TRY_VOID(write(rows_->waitpoints, waits.waitpoints, "the waitpoint"));
    FF_TRY_VOID(write(rows_->signals, waits.signals, "the signal"));
    FF_TRY_VOID(write(rows_->satisfiers, waits.satisfiers, "the satisfier"));
    const auto keys = key_changes(waits);
    for (const core::Tracked<core::HmacKey>* key : keys) {
        if (key->current() && key->stored) {
            journal.put(rows_->hmac_keys, key->current()->kid, *key->current());
        } else if (key->current()) {
            FF_TRY_VOID(
                journal.insert(rows_->hmac_keys, key->current()->kid, *key->current(), "the key"));
        } else if (key->stored) {
            journal.erase(rows_->hmac_keys, key->stored->kid);
        }
    }
    const auto is_current = [](const auto& entry) { return entry.second.is_current; };
    if (!keys.empty() && std::ranges::count_if(rows_->hmac_keys, is_current) > 1) {
        return ff::fail(ErrorCode::internal, "two keys are current");
    }
    return {};
}

void MemoryStore::erase_waits(Journal& journal, Eid eid) {
    for (const core::Suspension& row : rows_->suspensions_of(eid)) {
        replace(journal, rows_->suspensions, row.key, std::nullopt);
    }
    for (const WaitpointId& id : seconds_of(rows_->waitpoints_of, eid)) {
        replace(journal, rows_->waitpoints, id, std::nullopt);
    }
    for (const core::Signal& row : rows_from(rows_->signals, SignalKey{eid, 0},
                                             [&](const auto& key) { return key.eid == eid; })) {
        replace(journal, rows_->signals, row.key, std::nullopt);
    }
    for (const core::Satisfier& row :
         rows_from(rows_->satisfiers, core::SatisfierKey{SuspensionKey{eid, 0}, 0, {}},
                   [&](const auto& key) { return key.suspension.eid == eid; })) {
        replace(journal, rows_->satisfiers, row.key, std::nullopt);
    }
}

// ------------------------------------------------------------------------------------ reading

expected<std::optional<core::Waitpoint>> MemoryReader::waitpoint(const WaitpointId& id) {
    return find_row(rows_.waitpoints, id);
}

expected<std::vector<core::Waitpoint>> MemoryReader::open_waitpoints(
    Eid eid, const std::optional<WaitpointId>& after, std::size_t limit) {
    std::vector<core::Waitpoint> out;
    for (core::Waitpoint& row : rows_.open_waitpoints_of(eid)) {
        if ((!after || row.id > *after) && out.size() < limit) {
            out.push_back(std::move(row));
        }
    }
    return out;
}

expected<std::uint64_t> MemoryReader::waitpoints_outliving(const std::string& kid,
                                                           TimestampMs until) {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        rows_.waitpoints | std::views::values, [&](const core::Waitpoint& row) {
            return row.open() && row.token_kid == kid &&
                   (!row.expires_at || *row.expires_at > until);
        }));
}

expected<std::vector<core::Suspension>> MemoryReader::suspensions(Eid eid) {
    return rows_.suspensions_of(eid);
}

expected<std::optional<core::Suspension>> MemoryReader::suspension(const SuspensionKey& key) {
    return find_row(rows_.suspensions, key);
}

expected<std::vector<core::Suspension>> MemoryReader::suspended(
    const std::string& lane, const std::optional<SuspendedKey>& after, std::size_t limit) {
    auto it = rows_.suspended.lower_bound({lane, lowest<TimestampMs>, {}, {}});
    std::vector<core::Suspension> out;
    for (; it != rows_.suspended.end() && std::get<0>(*it) == lane && out.size() < limit; ++it) {
        if (!after || SuspendedKey(std::get<1>(*it), std::get<2>(*it)) > *after) {
            out.push_back(rows_.suspensions.at(std::get<3>(*it)));
        }
    }
    return out;
}

namespace {

void leave_out(std::vector<core::Signal>& rows, Payloads payloads) {
    if (payloads == Payloads::left_out) {
        for (core::Signal& row : rows) {
            row.payload.reset();
        }
    }
}

}  // namespace

expected<std::vector<core::Signal>> MemoryReader::signals(Eid eid, std::uint64_t after,
                                                          std::size_t limit, Payloads payloads) {
    std::vector<core::Signal> out;
    for (auto it = rows_.signals.upper_bound({eid, after});
         it != rows_.signals.end() && it->first.eid == eid && out.size() < limit; ++it) {
        out.push_back(it->second);
    }
    leave_out(out, payloads);
    return out;
}

expected<std::vector<core::Signal>> MemoryReader::signals(Eid eid,
                                                          std::span<const std::uint64_t> seqs,
                                                          Payloads payloads) {
    std::vector<core::Signal> out;
    for (const std::uint64_t seq : seqs) {
        if (auto row = find_row(rows_.signals, {eid, seq})) {
            out.push_back(std::move(*row));
        }
    }
    leave_out(out, payloads);
    return out;
}

expected<std::optional<core::Signal>> MemoryReader::signal(Eid eid, const SignalId& id) {
    const auto keys = seconds_of(rows_.signal_ids, std::pair(eid, id));
    return keys.empty() ? std::nullopt : find_row(rows_.signals, keys.front());
}

expected<std::vector<core::Satisfier>> MemoryReader::satisfiers(const SuspensionKey& key) {
    return rows_from(rows_.satisfiers, {key, 0, {}},
                     [&](const auto& place) { return place.suspension == key; });
}

expected<std::vector<core::HmacKey>> MemoryReader::hmac_keys() {
    const auto rows = rows_.hmac_keys | std::views::values;
    return std::vector<core::HmacKey>(rows.begin(), rows.end());
}

}  // namespace ff::store
