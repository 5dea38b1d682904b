#include "store/sql_scans.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "store/prepare.h"
#include "store/ready_row.h"

namespace ff::store {

expected<std::optional<std::int64_t>> number_of(SqlStatement& s) {
    std::optional<std::int64_t> out;
    FF_TRY(const bool found, s.step());
    if (found && !s.is_null()) {
        out = s.integer();
    }
    s.reset();
    return out;
}

expected<std::vector<core::ReadyKey>> ready_of_route(SqlStatement& s, core::RouteId route,
                                                     const std::optional<core::ReadyKey>& after,
                                                     std::size_t limit) {
    s.integer(route);
    s.integer(after ? after->rank : std::numeric_limits<std::int32_t>::min());
    s.integer(after ? after->place : 0);
    s.integer(static_cast<std::int64_t>(limit));
    std::vector<core::ReadyKey> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        out.push_back(take_ready_key(s, route));
    }
    s.reset();
    return out;
}

std::vector<std::string> limit_keys_of(const std::vector<core::QuotaPolicy>& rows) {
    std::vector<std::string> keys;
    for (const core::QuotaPolicy& row : rows) {
        keys.push_back(row.limit_key.value_or(""));
    }
    return keys;
}

expected<std::vector<core::QuotaPolicy>> keys_of_policy(SqlStatements& texts,
                                                        const QuotaPolicyId& parent,
                                                        const std::string& after,
                                                        std::size_t limit) {
    SqlStatement& s = texts.get(sql::policies_of_keys);
    put_value(s, Kind::bytes, parent);
    s.text(after);
    s.integer(static_cast<std::int64_t>(limit));
    return select_all<core::QuotaPolicy>(s);
}

expected<std::vector<core::TimerKey>> due_timers(SqlStatements& texts, TimestampMs now,
                                                 std::size_t limit) {
    std::vector<core::TimerKey> out;
    for (core::TimerKind kind : timer_kinds) {
        if (out.size() >= limit) {
            break;
        }
        SqlStatement& s = texts.get(sql::timers_due);
        s.integer(static_cast<std::int64_t>(kind));
        s.integer(now);
        s.integer(static_cast<std::int64_t>(limit - out.size()));
        for (;;) {
            FF_TRY(const bool found, s.step());
            if (!found) {
                break;
            }
            core::TimerKey& key = out.emplace_back();
            key.kind = kind;
            key.due_at = s.integer();
            key.eid = s.integer();
        }
        s.reset();
    }
    return out;
}

expected<std::optional<TimestampMs>> earliest_due(SqlStatements& texts, TimestampMs after) {
    static_assert(timer_kinds.size() == enum_count<core::TimerKind>, "sql::next_due names each");
    SqlStatement& s = texts.get(sql::next_due);
    s.integer(after);
    std::optional<TimestampMs> earliest;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        std::optional<TimestampMs> due;
        FF_TRY_VOID(take_checked(s, "due_at", due));
        if (due && (!earliest || *due < *earliest)) {
            earliest = due;
        }
    }
    s.reset();
    return earliest;
}

expected<std::vector<core::Eid>> collect_eids(SqlStatement& s) {
    std::vector<core::Eid> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        out.push_back(s.integer());
    }
    s.reset();
    return out;
}

expected<std::vector<core::Eid>> eids_in_bucket(SqlStatements& texts, core::Bucket bucket,
                                                core::Eid after, std::size_t limit) {
    SqlStatement& s = texts.get(sql::bucket_after);
    s.integer(static_cast<std::int64_t>(bucket));
    s.integer(after);
    s.integer(static_cast<std::int64_t>(limit));
    return collect_eids(s);
}

expected<std::vector<core::Eid>> eids_after(SqlStatements& texts, core::Eid after,
                                            std::size_t limit) {
    SqlStatement& s = texts.get(sql::executions_after);
    s.integer(after);
    s.integer(static_cast<std::int64_t>(limit));
    return collect_eids(s);
}

// -------------------------------------------------------------------------------------- flows

expected<std::vector<FlowId>> due_flows(SqlStatements& texts, TimestampMs now, std::size_t limit) {
    SqlStatement& s = texts.get(sql::flows_due);
    s.integer(now);
    s.integer(static_cast<std::int64_t>(limit));
    return collect_ids<FlowId>(s, "flow_id");
}

expected<std::vector<FlowId>> flows_held(SqlStatements& texts) {
    return collect_ids<FlowId>(texts.get(sql::flows_held), "flow_id");
}

expected<std::vector<core::StreamKey>> streams_to_sweep(SqlStatements& texts, TimestampMs now,
                                                        std::size_t limit) {
    SqlStatement& s = texts.get(sql::streams_to_sweep);
    s.integer(now);
    s.integer(static_cast<std::int64_t>(limit));
    std::vector<core::StreamKey> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        core::StreamKey& key = out.emplace_back();
        key.eid = s.integer();
        key.attempt_index = static_cast<std::uint32_t>(s.integer());
    }
    s.reset();
    return out;
}

// ------------------------------------------------------------------------------------- limits

expected<std::vector<std::string>> attached_ids(SqlStatements& texts,
                                                const core::LimitReads::PageOf& ask) {
    SqlStatement& s = texts.get(ask.limit.kind == core::LimitKind::budget ? sql::attached_executions
                                                                          : sql::attached_targets);
    put_value(s, Kind::integer, ask.limit.kind);
    put_value(s, Kind::bytes, ask.limit.id);
    s.text(ask.after ? std::string_view(*ask.after) : std::string_view());
    s.integer(static_cast<std::int64_t>(ask.count));
    std::vector<std::string> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        FF_TRY_VOID(take_checked(s, "target_id", out.emplace_back()));
    }
    s.reset();
    return out;
}

expected<std::vector<core::LimitKey>> due_limits(SqlStatements& texts, TimestampMs now,
                                                 std::size_t limit, std::string_view locking) {
    std::vector<core::LimitKey> out;
    for (const auto kind : {core::LimitKind::budget, core::LimitKind::quota}) {
        SqlStatement& s =
            texts.get((kind == core::LimitKind::budget ? sql::budgets_due : sql::policies_due) +
                      std::string(locking));
        s.integer(now);
        s.integer(static_cast<std::int64_t>(limit));
        FF_TRY(const auto ids, collect_ids<core::LimitId>(s, "id"));
        for (const core::LimitId& id : ids) {
            out.push_back({kind, id});
        }
    }
    return out;
}

expected<std::vector<core::LimitKey>> waiting_limits(SqlStatements& texts,
                                                     const core::LimitKey& after,
                                                     std::size_t limit) {
    std::vector<core::LimitKey> out;
    for (const auto kind : {core::LimitKind::budget, core::LimitKind::quota}) {
        if (kind < after.kind || out.size() >= limit) {
            continue;
        }
        SqlStatement& s = texts.get(kind == core::LimitKind::budget ? sql::budgets_waiting
                                                                    : sql::policies_waiting);
        s.bytes_copy(kind == after.kind ? after.id.uuid.raw() : "");
        s.integer(static_cast<std::int64_t>(limit - out.size()));
        FF_TRY(const auto ids, collect_ids<core::LimitId>(s, "id"));
        for (const core::LimitId& id : ids) {
            out.push_back({kind, id});
        }
    }
    return out;
}

expected<std::vector<FlowId>> flow_ids_after(SqlStatements& texts,
                                             const std::optional<FlowId>& after,
                                             std::size_t limit) {
    return ids_after(texts.get(sql::flow_ids_after), after, limit, "flow_id");
}

expected<std::vector<core::EdgeKey>> staged_edges(SqlStatements& texts, TimestampMs before,
                                                  std::size_t limit) {
    SqlStatement& s = texts.get(sql::edges_staged);
    s.integer(before);
    s.integer(static_cast<std::int64_t>(limit));
    std::vector<core::EdgeKey> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        core::EdgeKey& key = out.emplace_back();
        FF_TRY_VOID(take_checked(s, "flow_id", key.flow));
        FF_TRY_VOID(take_checked(s, "edge_id", key.id));
    }
    s.reset();
    return out;
}

expected<std::vector<core::FlowWorkKey>> due_work(SqlStatement& s, TimestampMs now,
                                                  std::size_t limit, core::Snapshot& snapshot) {
    s.integer(now);
    s.integer(static_cast<std::int64_t>(limit));
    FF_TRY(auto rows, select_all<core::FlowWork>(s));
    return load_due_work(std::move(rows), snapshot);
}

// ------------------------------------------------------------------------------------- events

expected<std::int64_t> floor_of_events(SqlStatements& texts, EventFamily family) {
    const bool shared = core::is_history(family);
    SqlStatement& s = texts.get(shared ? sql::history_floor : sql::event_trim_of);
    if (!shared) {
        s.integer(static_cast<std::int64_t>(family));
        FF_TRY(const auto row, select_one<core::EventTrim>(s));
        return row ? row->through : 0;
    }
    FF_TRY(const auto floor, number_of(s));
    return floor.value_or(0);
}

expected<std::optional<std::int64_t>> ask_of_events(SqlStatements& texts, EventFamily family,
                                                    std::string sql::EventTexts::* text,
                                                    std::initializer_list<std::int64_t> numbers) {
    const bool shared = core::is_history(family);
    SqlStatement& s = texts.get((shared ? sql::exec_event_texts : sql::log_event_texts).*text);
    if (!shared) {
        s.integer(static_cast<std::int64_t>(core::log_family(family)));
    }
    for (const std::int64_t number : numbers) {
        s.integer(number);
    }
    return number_of(s);
}

expected<std::uint64_t> trim_through(SqlStatements& texts, EventFamily family,
                                     std::int64_t through) {
    FF_TRY(const std::int64_t floor, floor_of_events(texts, family));
    FF_TRY(const auto passed,
           ask_of_events(texts, family, &sql::EventTexts::count_between, {floor, through}));
    if (passed.value_or(0) == 0) {
        return 0;
    }
    for (const TrimStep& step : trim_steps(family, floor)) {
        SqlStatement& s = texts.get(*step.text);
        s.integer(through);
        s.integer(step.second);
        FF_TRY_VOID(s.run());
    }
    return static_cast<std::uint64_t>(*passed);
}

// ------------------------------------------------------------------------------------ workers

expected<std::vector<core::WorkerKey>> dead_workers(SqlStatements& texts, TimestampMs now,
                                                    std::size_t limit) {
    FF_TRY(auto rows, select_readable<core::WorkerRow>(texts.get(sql::workers_all)));
    std::vector<core::WorkerKey> out;
    for (auto& row : rows) {
        if (!row.live(now) && out.size() < limit) {
            out.push_back(std::move(row.key));
        }
    }
    return out;
}

expected<std::vector<core::WorkerRow>> live_workers_in(SqlStatements& texts, TimestampMs now) {
    FF_TRY(auto rows, select_readable<core::WorkerRow>(texts.get(sql::workers_all)));
    std::erase_if(rows, [&](const core::WorkerRow& row) { return !row.live(now); });
    return rows;
}

}  // namespace ff::store
