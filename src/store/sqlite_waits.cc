// Waits of a SQLite store: suspensions, waitpoints, signals and keys.
#include "store/prepare.h"
#include "store/sqlite_internal.h"

namespace ff::store {

using core::ExecutionCell;
using core::Snapshot;
using core::WaitTable;

// ------------------------------------------------------------------------------------ loading

expected<void> SqliteStore::found_cell(ExecutionCell& cell, Snapshot& snapshot) {
    snapshot.index_by_eid(cell);
    if (!lacks_open_waits(cell, snapshot.waits)) {
        return {};
    }
    const core::Execution& execution = *cell.execution.stored;
    if (auto known = warm_.take_waits(execution.eid)) {
        load_open_waits(execution, std::move(known->suspension), std::move(known->waitpoints),
                        snapshot.waits);
        return {};
    }
    std::optional<core::Suspension> suspension;
    if (const auto key = open_suspension(execution)) {
        Statement& s = hot_->texts.get(sql::suspension_by_key);
        s.integer(key->eid);
        s.integer(key->episode);
        FF_TRY(suspension, select_one<core::Suspension>(s));
    }
    Statement& s = hot_->texts.get(newest_open_waitpoints);
    s.integer(execution.eid);
    s.integer(execution.open_waitpoints);
    FF_TRY(auto waitpoints, select_all<core::Waitpoint>(s));
    load_open_waits(execution, std::move(suspension), std::move(waitpoints), snapshot.waits);
    return {};
}

expected<void> SqliteStore::load_waits(const core::WaitReads& reads, WaitTable& waits) {
    for (const WaitpointId& id : reads.waitpoints) {
        if (!waits.knows_waitpoint(id)) {
            Statement& s = hot_->texts.get(sql::waitpoint_by_id);
            put_value(s, Kind::bytes, id);
            FF_TRY(auto row, select_one<core::Waitpoint>(s));
            waits.load_waitpoint(id, std::move(row));
        }
    }
    FF_TRY_VOID(load_signals(reads, waits));
    for (const auto& [eid, key] : reads.suspend_keys) {
        if (!waits.knows_suspend_key(eid, key)) {
            Statement& s = hot_->texts.get(suspension_by_idempotency_index);
            s.integer(eid);
            s.text(key);
            FF_TRY(auto row, select_one<core::Suspension>(s));
            waits.load_suspend_key(eid, key, std::move(row));
        }
    }
    for (const core::SatisfierKey& key : reads.satisfiers) {
        if (!waits.knows_satisfier(key)) {
            Statement& s = hot_->texts.get(sql::satisfier_by_key);
            s.integer(key.suspension.eid);
            s.integer(key.suspension.episode);
            s.integer(key.node);
            s.text(key.token);
            FF_TRY(auto row, select_one<core::Satisfier>(s));
            waits.load_satisfier(key, std::move(row));
        }
    }
    if (reads.keys && !waits.knows_keys()) {
        std::optional<std::vector<core::HmacKey>> rows = warm_.hmac_keys();
        if (!rows) {
            FF_TRY(rows, select_all<core::HmacKey>(hot_->texts.get(sql::all_hmac_keys)));
        }
        waits.load_keys(std::move(*rows));
    }
    return {};
}

expected<void> SqliteStore::load_signals(const core::WaitReads& reads, WaitTable& waits) {
    for (const auto& [eid, id] : reads.signals) {
        if (!waits.knows_signal(eid, id)) {
            Statement& s = hot_->texts.get(sql::signal_by_id);
            s.integer(eid);
            put_value(s, Kind::bytes, id);
            FF_TRY(auto row, select_one<core::Signal>(s));
            waits.load_signal(eid, id, std::move(row));
        }
    }
    for (const auto& [waitpoint, key] : reads.signal_keys) {
        if (!waits.knows_signal_key(waitpoint, key)) {
            Statement& s = hot_->texts.get(sql::signal_by_idempotency_key);
            put_value(s, Kind::bytes, waitpoint);
            s.text(key);
            FF_TRY(auto row, select_one<core::Signal>(s));
            waits.load_signal_key(waitpoint, key, std::move(row));
        }
    }
    for (const WaitpointId& id : reads.signals_at) {
        if (!waits.knows_signals_at(id)) {
            Statement& s = hot_->texts.get(sql::signals_buffered);
            put_value(s, Kind::bytes, id);
            FF_TRY(auto rows, select_all<core::Signal>(s));
            waits.load_signals_at(id, std::move(rows));
        }
    }
    return {};
}

// ------------------------------------------------------------------------------------ writing

expected<void> SqliteStore::write_waits(const WaitTable& waits) {
    const auto write = [&](auto& writer, const auto& tracked) -> expected<void> {
        for (const auto& [key, row] : tracked) {
            if (row.dirty && row.current()) {
                FF_TRY_VOID(row.stored ? writer.update(*row.stored, *row.current())
                                       : writer.insert(*row.current()));
                rows_written_ += 1;
            }
        }
        return {};
    };
    FF_TRY_VOID(write(hot_->suspensions, waits.suspensions));
    FF_TRY_VOID(write(hot_->waitpoints, waits.waitpoints));
    FF_TRY_VOID(write(hot_->signals, waits.signals));
    FF_TRY_VOID(write(hot_->satisfiers, waits.satisfiers));
    for (const core::Tracked<core::HmacKey>* key : key_changes(waits)) {
        if (key->current()) {
            FF_TRY_VOID(key->stored ? hot_->hmac_keys.update(*key->stored, *key->current())
                                    : hot_->hmac_keys.insert(*key->current()));
        } else if (key->stored) {
            FF_TRY_VOID(hot_->hmac_keys.erase(*key->stored));
        }
    }
    return {};
}

expected<void> SqliteStore::erase_waits(Eid eid) {
    for (const std::string* text : {&sql::suspensions_delete, &sql::waitpoints_delete,
                                    &sql::signals_delete, &sql::satisfiers_delete}) {
        Statement& s = hot_->texts.get(*text);
        s.integer(eid);
        FF_TRY_VOID(s.run());
    }
    return {};
}

}  // namespace ff::store
