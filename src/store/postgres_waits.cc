// Waits of a PostgreSQL store: suspensions, waitpoints, signals and keys. The row of their
// execution is their lock: they are asked for behind it and not locked themselves.
#include <functional>
#include <utility>

#include "store/postgres_internal.h"

namespace ff::store {

using core::ExecutionCell;
using core::SatisfierKey;
using core::Snapshot;
using core::SuspensionKey;
using core::WaitTable;

// ------------------------------------------------------------------------------------ loading

void PostgresStore::found_cell(ExecutionCell& cell, Snapshot& snapshot) {
    snapshot.index_by_eid(cell);
    if (lacks_open_waits(cell, snapshot.waits)) {
        waiting_.push_back(&cell);
    }
}

void PostgresStore::ask_open_waits(Questions& questions, OpenWaits& found, Snapshot& snapshot) {
    for (const ExecutionCell* cell : std::exchange(waiting_, {})) {
        if (lacks_open_waits(*cell, snapshot.waits)) {
            found.of.emplace(cell->execution.stored->eid, OpenWaits::Of{&*cell->execution.stored});
        }
    }
    if (found.of.empty()) {
        return;
    }
    std::vector<SuspensionKey> keys;
    for (const auto& [eid, waits] : found.of) {
        if (const auto key = open_suspension(*waits.execution)) {
            keys.push_back(*key);
        }
    }
    if (!keys.empty()) {
        questions.ask(suspensions_by_key,
                      arrays_of(keys, &SuspensionKey::eid, &SuspensionKey::episode),
                      [&found](PgRows& rows) -> expected<void> {
                          while (rows.next()) {
                              FF_TRY(auto row, take<core::Suspension>(rows));
                              found.of.at(row.key.eid).suspension = std::move(row);
                          }
                          return {};
                      });
    }
    questions.ask(open_waitpoints_of, arrays_of(found.of, &OpenWaits::Map::value_type::first),
                  [&found, &waits = snapshot.waits](PgRows& rows) -> expected<void> {
                      while (rows.next()) {
                          FF_TRY(auto row, take<core::Waitpoint>(rows));
                          found.of.at(row.eid).waitpoints.push_back(std::move(row));
                      }
                      for (auto& [eid, own] : found.of) {
                          load_open_waits(*own.execution, std::move(own.suspension),
                                          std::move(own.waitpoints), waits);
                      }
                      return {};
                  });
}

void PostgresStore::ask_waits(Questions& questions, const core::WaitReads& reads,
                              WaitTable& waits) {
    questions.ask_rows<core::Waitpoint>(
        waitpoints_by_id,
        not_known(reads.waitpoints, [&](const auto& id) { return waits.knows_waitpoint(id); }),
        [](const core::Waitpoint& row) { return row.id; },
        [&waits](const WaitpointId& id, std::optional<core::Waitpoint> row) {
            waits.load_waitpoint(id, std::move(row));
        },
        std::identity());
    ask_signals(questions, reads, waits);
    using SuspendKey = std::pair<std::int64_t, std::string>;
    questions.ask_rows<core::Suspension>(
        suspensions_by_idempotency_key,
        not_known(reads.suspend_keys,
                  [&](const auto& key) { return waits.knows_suspend_key(key.first, key.second); }),
        [](const core::Suspension& row) { return SuspendKey(row.key.eid, *row.idempotency_key); },
        [&waits](const SuspendKey& key, std::optional<core::Suspension> row) {
            waits.load_suspend_key(key.first, key.second, std::move(row));
        },
        &SuspendKey::first, &SuspendKey::second);
    questions.ask_rows<core::Satisfier>(
        satisfiers_by_key,
        not_known(reads.satisfiers, [&](const auto& key) { return waits.knows_satisfier(key); }),
        [](const core::Satisfier& row) { return row.key; },
        [&waits](const SatisfierKey& key, std::optional<core::Satisfier> row) {
            waits.load_satisfier(key, std::move(row));
        },
        [](const SatisfierKey& key) { return key.suspension.eid; },
        [](const SatisfierKey& key) { return key.suspension.episode; }, &SatisfierKey::node,
        &SatisfierKey::token);
    if (reads.keys && !waits.knows_keys()) {
        questions.ask(sql::all_hmac_keys, {}, [&waits](PgRows& rows) -> expected<void> {
            std::vector<core::HmacKey> keys;
            while (rows.next()) {
                FF_TRY(auto row, take<core::HmacKey>(rows));
                keys.push_back(std::move(row));
            }
            waits.load_keys(std::move(keys));
            return {};
        });
    }
}

void PostgresStore::ask_signals(Questions& questions, const core::WaitReads& reads,
                                WaitTable& waits) {
    using InLedger = std::pair<std::int64_t, SignalId>;
    questions.ask_rows<core::Signal>(
        signals_by_id,
        not_known(reads.signals,
                  [&](const auto& key) { return waits.knows_signal(key.first, key.second); }),
        [](const core::Signal& row) { return InLedger(row.key.eid, row.id); },
        [&waits](const InLedger& key, std::optional<core::Signal> row) {
            waits.load_signal(key.first, key.second, std::move(row));
        },
        &InLedger::first, &InLedger::second);
    using AtWaitpoint = std::pair<WaitpointId, std::string>;
    questions.ask_rows<core::Signal>(
        signals_by_idempotency_key,
        not_known(reads.signal_keys,
                  [&](const auto& key) { return waits.knows_signal_key(key.first, key.second); }),
        [](const core::Signal& row) { return AtWaitpoint(row.waitpoint_id, *row.idempotency_key); },
        [&waits](const AtWaitpoint& key, std::optional<core::Signal> row) {
            waits.load_signal_key(key.first, key.second, std::move(row));
        },
        &AtWaitpoint::first, &AtWaitpoint::second);
    auto buffered =
        not_known(reads.signals_at, [&](const auto& id) { return waits.knows_signals_at(id); });
    if (!buffered.empty()) {
        PgParams params = arrays_of(buffered, std::identity());
        questions.ask(signals_buffered_at, std::move(params),
                      [&waits, buffered = std::move(buffered)](PgRows& rows) -> expected<void> {
                          std::map<WaitpointId, std::vector<core::Signal>> found;
                          while (rows.next()) {
                              FF_TRY(auto row, take<core::Signal>(rows));
                              found[row.waitpoint_id].push_back(std::move(row));
                          }
                          for (const WaitpointId& id : buffered) {
                              waits.load_signals_at(id, std::move(found[id]));
                          }
                          return {};
                      });
    }
}

// ------------------------------------------------------------------------------------ writing

void PostgresStore::collect_waits(const WaitTable& waits, Writes& writes) {
    const auto collect = [](auto& rows, const auto& tracked) {
        for (const auto& [key, row] : tracked) {
            if (row.dirty && row.current()) {
                rows.change(row.stored, *row.current());
            }
        }
    };
    collect(writes.suspensions, waits.suspensions);
    collect(writes.waitpoints, waits.waitpoints);
    collect(writes.signals, waits.signals);
    collect(writes.satisfiers, waits.satisfiers);
    for (const core::Tracked<core::HmacKey>* key : key_changes(waits)) {
        if (key->current()) {
            (key->current()->is_current ? writes.current_keys : writes.retired_keys)
                .change(key->stored, *key->current());
        } else if (key->stored) {
            writes.retired_keys.erase(*key->stored);
        }
    }
}

}  // namespace ff::store
