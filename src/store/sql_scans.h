// The scans of the writing side, for every database that speaks SQL.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/derive.h"
#include "store/catalogue.h"
#include "store/sql_rows.h"

namespace ff::store {

inline constexpr std::array timer_kinds{core::TimerKind::lease, core::TimerKind::wake,
                                        core::TimerKind::retention};

inline std::int64_t as_limit(std::size_t limit) { return static_cast<std::int64_t>(limit); }

/// The one number a statement gives; nothing when it is null or there is no row.
expected<std::optional<std::int64_t>> number_of(SqlStatement& s);

/// `s` is ready_head.
expected<std::vector<core::ReadyKey>> ready_of_route(SqlStatement& s, core::RouteId route,
                                                     const std::optional<core::ReadyKey>& after,
                                                     std::size_t limit);

std::vector<std::string> limit_keys_of(const std::vector<core::QuotaPolicy>& rows);

expected<std::vector<core::QuotaPolicy>> keys_of_policy(SqlStatements& texts,
                                                        const QuotaPolicyId& parent,
                                                        const std::string& after,
                                                        std::size_t limit);

expected<std::vector<core::TimerKey>> due_timers(SqlStatements& texts, TimestampMs now,
                                                 std::size_t limit);

expected<std::optional<TimestampMs>> earliest_due(SqlStatements& texts, TimestampMs after);

/// The rows of a bound SELECT of one id.
template <class Id>
expected<std::vector<Id>> collect_ids(SqlStatement& s, const char* column) {
    std::vector<Id> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        FF_TRY_VOID(take_checked(s, column, out.emplace_back()));
    }
    s.reset();
    return out;
}

expected<std::vector<core::Eid>> collect_eids(SqlStatement& s);

expected<std::vector<core::Eid>> eids_in_bucket(SqlStatements& texts, core::Bucket bucket,
                                                core::Eid after, std::size_t limit);

expected<std::vector<core::Eid>> eids_after(SqlStatements& texts, core::Eid after,
                                            std::size_t limit);

// -------------------------------------------------------------------------------------- flows

expected<std::vector<FlowId>> due_flows(SqlStatements& texts, TimestampMs now, std::size_t limit);

expected<std::vector<FlowId>> flows_held(SqlStatements& texts);

expected<std::vector<core::StreamKey>> streams_to_sweep(SqlStatements& texts, TimestampMs now,
                                                        std::size_t limit);

// ------------------------------------------------------------------------------------- limits

/// Of a budget only executions; of a policy anything.
expected<std::vector<std::string>> attached_ids(SqlStatements& texts,
                                                const core::LimitReads::PageOf& ask);

expected<std::vector<core::LimitKey>> due_limits(SqlStatements& texts, TimestampMs now,
                                                 std::size_t limit, std::string_view locking = "");

expected<std::vector<core::LimitKey>> waiting_limits(SqlStatements& texts,
                                                     const core::LimitKey& after,
                                                     std::size_t limit);

/// A page of ids; `column` names them should one not be an id.
template <class Id>
expected<std::vector<Id>> ids_after(SqlStatement& s, const std::optional<Id>& after,
                                    std::size_t limit, const char* column) {
    s.bytes_copy(after ? after->uuid.raw() : "");
    s.integer(static_cast<std::int64_t>(limit));
    return collect_ids<Id>(s, column);
}

expected<std::vector<FlowId>> flow_ids_after(SqlStatements& texts,
                                             const std::optional<FlowId>& after, std::size_t limit);

expected<std::vector<core::EdgeKey>> staged_edges(SqlStatements& texts, TimestampMs before,
                                                  std::size_t limit);

/// Loads what is due; `s` is work_due, or the same with a lock.
expected<std::vector<core::FlowWorkKey>> due_work(SqlStatement& s, TimestampMs now,
                                                  std::size_t limit, core::Snapshot& snapshot);

// ------------------------------------------------------------------------------------- events

expected<std::int64_t> floor_of_events(SqlStatements& texts, EventFamily family);

/// One of the questions about the ids of a family's table.
expected<std::optional<std::int64_t>> ask_of_events(SqlStatements& texts, EventFamily family,
                                                    std::string sql::EventTexts::* text,
                                                    std::initializer_list<std::int64_t> numbers);

/// Store::trim_events: only what stands between the old floor and the new one is looked at.
expected<std::uint64_t> trim_through(SqlStatements& texts, EventFamily family,
                                     std::int64_t through);

// ------------------------------------------------------------------------------------ workers

// The registry is as long as there are workers; no index is worth a write per heartbeat. A row that
// cannot be read neither keeps the dead from being swept nor work from those who can do it.

expected<std::vector<core::WorkerKey>> dead_workers(SqlStatements& texts, TimestampMs now,
                                                    std::size_t limit);

expected<std::vector<core::WorkerRow>> live_workers_in(SqlStatements& texts, TimestampMs now);

}  // namespace ff::store
