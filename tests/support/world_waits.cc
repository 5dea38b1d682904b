// The part of a World that knows suspensions.
#include <algorithm>
#include <iterator>
#include <ranges>

#include "core/condition_rules.h"
#include "core/wait_invariants.h"
#include "support/world.h"

namespace ff::testing {

namespace {

/// The last row that fits, as a copy.
template <class Rows, class Fits>
auto last_of(const Rows& rows, Fits fits) {
    using Row = typename Rows::mapped_type;
    std::optional<Row> found;
    for (const auto& [key, row] : rows) {
        if (fits(row)) {
            found = row;
        }
    }
    return found;
}

template <class Rows, class Fits>
auto all_of(const Rows& rows, Fits fits) {
    std::vector<typename Rows::mapped_type> found;
    std::ranges::copy_if(rows | std::views::values, std::back_inserter(found), fits);
    return found;
}

}  // namespace

expected<SuspendResult> World::run(Suspend op) {
    if (!op.suspension_id) {
        op.suspension_id = SuspensionId{ids_.uuid(now)};
    }
    core::complete_bindings(op, [this] { return WaitpointId{ids_.uuid(now)}; });
    FF_TRY_VOID(core::validate(op));
    return decide_and_commit(op);
}

expected<SignalResult> World::run(DeliverSignal op) {
    if (!op.signal_id) {
        op.signal_id = SignalId{ids_.uuid(now)};
    }
    FF_TRY_VOID(core::validate(op));
    return decide_and_commit(op);
}

expected<SignalResult> World::run(DeliverApprovalSignal op) {
    if (!op.signal_id) {
        op.signal_id = SignalId{ids_.uuid(now)};
    }
    FF_TRY_VOID(core::validate(op));
    return decide_and_commit(op);
}

void World::load_open_waits(const core::Execution& e, core::Snapshot& view) const {
    if ((e.open_waitpoints == 0 && !e.current_suspension_id) || view.waits.knows_open(e.eid)) {
        return;
    }
    std::optional<core::Suspension> open;
    if (e.current_suspension_id) {
        open = records.suspensions.at({e.eid, e.suspension_count});
    }
    view.waits.load_open(e.eid, std::move(open),
                         all_of(records.waitpoints, [&](const core::Waitpoint& row) {
                             return row.eid == e.eid && row.open();
                         }));
}

void World::load_waits(const core::ReadSet& set, core::Snapshot& view) const {
    const core::WaitReads& wanted = set.waits;
    for (const WaitpointId& id : wanted.waitpoints) {
        const auto it = records.waitpoints.find(id);
        view.waits.load_waitpoint(
            id, it == records.waitpoints.end() ? std::nullopt : std::optional(it->second));
    }
    for (const auto& [eid, id] : wanted.signals) {
        view.waits.load_signal(eid, id, last_of(records.signals, [&](const core::Signal& row) {
                                   return row.key.eid == eid && row.id == id;
                               }));
    }
    for (const auto& [at, key] : wanted.signal_keys) {
        view.waits.load_signal_key(at, key, last_of(records.signals, [&](const core::Signal& row) {
                                       return row.waitpoint_id == at && row.idempotency_key == key;
                                   }));
    }
    for (const WaitpointId& id : wanted.signals_at) {
        view.waits.load_signals_at(id, all_of(records.signals, [&](const core::Signal& row) {
                                       return row.waitpoint_id == id;
                                   }));
    }
    for (const auto& [eid, key] : wanted.suspend_keys) {
        view.waits.load_suspend_key(eid, key,
                                    last_of(records.suspensions, [&](const core::Suspension& row) {
                                        return row.key.eid == eid && row.idempotency_key == key;
                                    }));
    }
    for (const core::SatisfierKey& key : wanted.satisfiers) {
        const auto it = records.satisfiers.find(key);
        view.waits.load_satisfier(
            key, it == records.satisfiers.end() ? std::nullopt : std::optional(it->second));
    }
    if (wanted.keys) {
        view.waits.load_keys(all_of(records.hmac_keys, [](const core::HmacKey&) { return true; }));
    }
}

void World::keep_waits(core::Snapshot& view) {
    const auto keep = [](auto& kept, const auto& rows) {
        for (const auto& [key, row] : rows) {
            if (row.dirty && row.current()) {
                kept.insert_or_assign(key, *row.current());
            } else if (row.dirty) {
                kept.erase(key);
            }
        }
    };
    keep(records.suspensions, view.waits.suspensions);
    keep(records.waitpoints, view.waits.waitpoints);
    keep(records.signals, view.waits.signals);
    keep(records.satisfiers, view.waits.satisfiers);
    keep(records.hmac_keys, view.waits.hmac_keys);
}

void World::erase_waits(core::Eid eid) {
    const auto is_its = [eid](const auto& entry) { return entry.second.eid == eid; };
    const auto has_key = [eid](const auto& entry) { return entry.first.eid == eid; };
    std::erase_if(records.waitpoints, is_its);
    std::erase_if(records.suspensions, has_key);
    std::erase_if(records.signals, has_key);
    std::erase_if(records.satisfiers,
                  [eid](const auto& entry) { return entry.first.suspension.eid == eid; });
}

void World::check_waits(const core::Execution& e) {
    const auto suspensions = all_of(
        records.suspensions, [&](const core::Suspension& row) { return row.key.eid == e.eid; });
    const auto waitpoints =
        all_of(records.waitpoints, [&](const core::Waitpoint& row) { return row.eid == e.eid; });
    std::ranges::move(core::check_waits(e, suspensions, waitpoints),
                      std::back_inserter(violations));
}

}  // namespace ff::testing
