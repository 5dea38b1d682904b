// Parts of PostgresStore that its source files share: texts that only PostgreSQL runs, because they
// lock or take many keys at once.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "store/catalogue.h"
#include "store/postgres_reader.h"
#include "store/postgres_rows.h"
#include "store/postgres_store.h"

namespace ff::store {

/// Numbers of routes are drawn before they are committed, so a lower one may appear after a higher.
inline constexpr RouteId route_slack = 1'000;

// Plans made once and kept: planning anew for every array costs more than running. Without the
// enable_* settings a plan made while a table was small scans it when it is long.
inline constexpr std::string_view plan_settings =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
    "SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;";

// In the order of ids, waiting: two transactions that want the same rows take them one after the
// other.
// Behind each row stands the number of the transaction.
inline const std::string lock_by_id = "SELECT " + column_list<core::Execution>("t.") +
                                      ", CAST(pg_current_xact_id() AS text) FROM ff_exec_core t"
                                      " WHERE id = ANY($1) ORDER BY id FOR UPDATE";
// Without waiting: order does not matter, and who is locked is being seen to by another.
inline const std::string lock_by_eid = "SELECT " + column_list<core::Execution>("t.") +
                                       ", CAST(pg_current_xact_id() AS text) FROM ff_exec_core t"
                                       " WHERE eid = ANY($1) FOR UPDATE SKIP LOCKED";
inline const std::string inputs_by_eid = sql::select_where<core::ExecutionInput>("eid = ANY($1)");
inline const std::string grants_by_eid = sql::select_where<core::GrantRow>("eid = ANY($1)");
inline const std::string attempts_by_key = select_keys<core::Attempt>({"eid", "attempt_index"});
// What creates and claims look at beside executions, in one statement: a row for each lane, or one
// without a lane, that begins with the number of the transaction (which gets one if $3 is 1), the
// numbers of the routes above $2, the ids of the flows that are held, and whether limits are
// attached to places. Nothing is locked: a create must not wait for every other on its lane.
inline const std::string surroundings =
    "SELECT CAST(CASE WHEN CAST($3 AS bigint) = 1 THEN pg_current_xact_id()"
    " ELSE pg_current_xact_id_if_assigned() END AS text),"
    " (SELECT string_agg(CAST(route AS text), ' ') FROM ff_route WHERE route > $2),"
    " (SELECT string_agg(flow_id, CAST('' AS bytea)) FROM ff_flow WHERE held = 1),"
    " CASE WHEN EXISTS (SELECT 1 FROM ff_limit_attachment WHERE by_place = 1) THEN 1 ELSE 0 END, " +
    column_list<core::Lane>("t.") +
    " FROM (SELECT 1) one LEFT JOIN ff_lane_registry t ON t.lane_id = ANY($1)";
inline constexpr int surroundings_columns = 4;  // before the lane's
inline const std::string lock_idempotency =
    select_keys<core::IdempotencyEntry>({"namespace", "idempotency_key"}) +
    " ORDER BY u.namespace COLLATE \"C\", u.idempotency_key COLLATE \"C\" FOR UPDATE OF t";
inline const std::string lock_workers =
    select_keys<core::WorkerRow>({"namespace", "worker_instance_id"}) +
    " ORDER BY u.namespace COLLATE \"C\", u.worker_instance_id COLLATE \"C\" FOR UPDATE OF t";
inline const std::string lock_webhooks =
    "SELECT " + column_list<core::Webhook>("t.") +
    " FROM ff_webhook t WHERE webhook_id = ANY($1) ORDER BY webhook_id FOR UPDATE";
inline const std::string routes_by_id = sql::select_where<core::Route>("route = ANY($1)");
inline const std::string select_routes_above = sql::select_where<core::Route>("route > $1");

// The first keys of every route, the best of them, and each one's execution unless another has it:
// then the key comes back alone, so that it is known how far was looked.
inline const std::string lock_best_ready =
    "SELECT c.route, c.rank, c.place, c.eid, " + column_list<core::Execution>("e.") + ", " +
    column_list<core::ExecutionInput>("i.") +
    " FROM (SELECT q.route, q.rank, q.place, q.eid FROM unnest($1) AS r(route) CROSS JOIN LATERAL"
    " (SELECT route, rank, place, eid FROM ff_ready"
    " WHERE route = r.route AND (rank, place) > ($2, $3) ORDER BY rank, place LIMIT $4) q"
    " ORDER BY q.rank, q.place LIMIT $4) c"
    " LEFT JOIN LATERAL (SELECT * FROM ff_exec_core x"
    " WHERE x.eid = CASE c.eid WHEN 0 THEN c.place ELSE c.eid END"
    " FOR UPDATE SKIP LOCKED) e ON TRUE"
    " LEFT JOIN ff_exec_input i ON i.eid = e.eid";

// There may be no row to lock: nobody has the turn. Many queues share a lock, since a server has
// room for some thousands of them; nobody waits for one, so their order is of no matter. The first
// number is the table's: a database may hold several stores.
inline const std::string lock_turn_queues =
    "SELECT u.queue FROM unnest($1) AS u(queue) WHERE NOT pg_try_advisory_xact_lock("
    "CAST(CAST(CAST('ff_turn' AS regclass) AS oid) AS integer), (u.queue & 1023)::int)";
inline const std::string turns_of_queues = "SELECT queue, eid FROM ff_turn WHERE queue = ANY($1)";

// A trim moves the floor of histories and leaves rows of executions that it sees; retention deletes
// an execution and its rows up to the floor that it sees. Each sees what the other has done, since
// only one of them is at it at a time; many may delete executions at once.
inline std::string floor_lock(const std::string& function) {
    return "SELECT " + function +
           "(70205847, CAST(CAST(CAST('ff_exec_core' AS regclass) AS oid) AS integer))";
}
inline const std::string delete_histories = sql::history_delete_text("= ANY($1)");

// A flow row is the lock of its graph. What belongs to it is asked for behind the lock: each
// statement sees what was committed when it starts.
inline const std::string lock_flows =
    sql::select_where<core::Flow>("flow_id = ANY($1) ORDER BY flow_id FOR UPDATE");
inline const std::string members_of_flows =
    "SELECT flow_id, id FROM ff_exec_core WHERE flow_id = ANY($1) ORDER BY flow_id, id";
inline const std::string edges_of_flows = sql::select_where<core::Edge>("flow_id = ANY($1)");
inline const std::string groups_of_flows = sql::select_where<core::EdgeGroup>("flow_id = ANY($1)");
inline const std::string edges_by_upstream = sql::select_where<core::Edge>("upstream_id = ANY($1)");
inline const std::string edges_by_downstream =
    sql::select_where<core::Edge>("downstream_id = ANY($1)");
inline const std::string edges_by_key = select_keys<core::Edge>({"flow_id", "edge_id"});
inline const std::string spell_out_edges = sql::spell_out_edges("= ANY($1)");
inline const std::string groups_by_key = select_keys<core::EdgeGroup>({"flow_id", "downstream_id"});
inline const std::string work_by_keys =
    select_keys<core::FlowWork>({"flow_id", "kind", "execution_id"});
// Work that another process is at is passed over.
inline const std::string lock_work_due = sql::select_where<core::FlowWork>(
    "due_at <= $1 ORDER BY due_at, flow_id, kind, execution_id LIMIT $2 FOR UPDATE SKIP LOCKED");

// Flows and executions that are due: their keys, and each itself unless another process has it.
// Executions come in the order of kinds of timers.
inline const std::string lock_flows_due =
    "SELECT c.flow_id, " + column_list<core::Flow>("t.") +
    " FROM (SELECT flow_id FROM ff_flow WHERE timer_at <= $1 ORDER BY timer_at, flow_id LIMIT $2) c"
    " LEFT JOIN LATERAL (SELECT * FROM ff_flow x WHERE x.flow_id = c.flow_id"
    " FOR UPDATE SKIP LOCKED) t ON TRUE";
inline const std::string lock_timers_due =
    "SELECT c.kind, c.due_at, c.eid, CAST(pg_current_xact_id_if_assigned() AS text), " +
    column_list<core::Execution>("t.") +
    " FROM (SELECT q.kind, q.due_at, q.eid FROM unnest(ARRAY[0, 1, 2]) AS k(kind) CROSS JOIN"
    " LATERAL (SELECT kind, due_at, eid FROM ff_timer WHERE kind = k.kind AND due_at <= $1"
    " ORDER BY due_at, eid LIMIT $2) q ORDER BY q.kind, q.due_at, q.eid LIMIT $2) c"
    " LEFT JOIN LATERAL (SELECT * FROM ff_exec_core x WHERE x.eid = c.eid"
    " FOR UPDATE SKIP LOCKED) t ON TRUE";

// What an execution waits for is asked for behind the lock of its row.
inline const std::string waitpoints_by_id =
    sql::select_where<core::Waitpoint>("waitpoint_id = ANY($1)");
inline const std::string open_waitpoints_of =
    sql::select_where<core::Waitpoint>("eid = ANY($1) AND waitpoint_state < 2");
inline const std::string suspensions_by_key = select_keys<core::Suspension>({"eid", "episode"});
inline const std::string suspensions_by_idempotency_key =
    "SELECT " + column_list<core::Suspension>("q.") +
    " FROM unnest($1, $2) AS u(eid, idempotency_key) CROSS JOIN LATERAL"
    " (SELECT * FROM ff_suspension t WHERE t.eid = u.eid"
    " AND t.idempotency_key = u.idempotency_key ORDER BY t.episode DESC LIMIT 1) q";
inline const std::string signals_by_id = select_keys<core::Signal>({"eid", "signal_id"});
inline const std::string signals_by_idempotency_key =
    "SELECT " + column_list<core::Signal>("q.") +
    " FROM unnest($1, $2) AS u(waitpoint_id, idempotency_key) CROSS JOIN LATERAL"
    " (SELECT * FROM ff_signal t WHERE t.waitpoint_id = u.waitpoint_id"
    " AND t.idempotency_key = u.idempotency_key ORDER BY t.seq DESC LIMIT 1) q";
inline const std::string signals_buffered_at = sql::select_where<core::Signal>(
    "waitpoint_id = ANY($1) AND observed_effect = 6 ORDER BY waitpoint_id, seq");
inline const std::string satisfiers_by_key =
    select_keys<core::Satisfier>({"eid", "episode", "node", "token"});

// So are the streams of its attempts.
inline const std::string stream_metas_by_key =
    select_keys<core::StreamMeta>({"eid", "attempt_index"});
inline const std::string summaries_by_key = select_keys<core::SummaryRow>({"eid", "attempt_index"});

inline const std::string own_transaction = "SELECT CAST(pg_current_xact_id() AS text)";

/// A cell and what it still lacks.
struct PostgresStore::Loading {
    core::ExecutionCell* cell;
    core::InputNeed input = core::InputNeed::none;
    bool grant = false;
    bool attempt = false;
};

// -------------------------------------------------------------------------------------- asking

template <class Row>
expected<Row> take(PgRows& rows) {
    Row row;
    take_columns(rows, row);
    FF_TRY_VOID(rows.check());
    return row;
}

/// Parallel arrays of what each of `parts` gives of the keys.
template <class Keys, class... Parts>
PgParams arrays_of(const Keys& keys, Parts... parts) {
    PgParams params;
    const auto add = [&](auto part) {
        using Value = std::remove_cvref_t<decltype(std::invoke(part, *keys.begin()))>;
        constexpr Kind kind = std::is_enum_v<Value> || std::integral<Value> ? Kind::integer
                              : std::is_same_v<Value, std::string>          ? Kind::text
                                                                            : Kind::bytes;
        PgArray values(array_type(kind));
        for (const auto& key : keys) {
            put_value(values, kind, std::invoke(part, key));
        }
        params.array(values);
    };
    (add(parts), ...);
    return params;
}

/// The places of `count` keys in their order; `less` compares two of them by their places.
using LessAt = bool (*)(const void* keys, std::size_t one, std::size_t other);
std::vector<std::size_t> places_in_order(const void* keys, std::size_t count, LessAt less);

/// The keys in order, each once. Sorting is compiled once, not for each type of key.
template <class Key>
std::vector<Key> sorted_once(std::vector<Key> keys) {
    const LessAt less = [](const void* in, std::size_t one, std::size_t other) -> bool {
        const auto& all = *static_cast<const std::vector<Key>*>(in);
        return all[one] < all[other];
    };
    std::vector<Key> out(keys.size());
    std::size_t used = 0;
    for (const std::size_t place : places_in_order(&keys, keys.size(), less)) {
        if (used == 0 || !(out[used - 1] == keys[place])) {
            out[used++] = std::move(keys[place]);
        }
    }
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(used), out.end());
    return out;
}

/// Those of `keys` that `known` does not hold of, in order, each once.
template <class Key, class Known>
std::vector<Key> not_known(std::vector<Key> keys, Known known) {
    std::erase_if(keys, known);
    return sorted_once(std::move(keys));
}

/// Statements that go together, each with what is to be done with its answer.
class PostgresStore::Questions {
  public:
    explicit Questions(PostgresStore& store) : store_(store) {}

    void ask(const std::string& text, PgParams params,
             std::move_only_function<expected<void>(PgRows&)> take_answer) {
        store_.db_->queue(text, std::move(params));
        takers_.push_back(std::move(take_answer));
    }
    /// Asks for rows by key, unless there are no keys; `parts` are the columns of a key. What is
    /// found is loaded, and of the rest that it is not there.
    template <class Row, class Key, class KeyOf, class Load, class... Parts>
    void ask_rows(const std::string& text, std::vector<Key> keys, KeyOf key_of, const Load& load,
                  Parts... parts) {
        if (keys.empty()) {
            return;
        }
        PgParams params = arrays_of(keys, parts...);
        ask(text, std::move(params),
            [keys = std::move(keys), key_of, load](PgRows& rows) -> expected<void> {
                while (rows.next()) {
                    std::optional<Row> row(std::in_place);
                    take_columns(rows, *row);
                    FF_TRY_VOID(rows.check());
                    const Key key = key_of(*row);
                    load(key, std::move(row));
                }
                for (const Key& key : keys) {
                    load(key, std::optional<Row>());  // does nothing where there is one
                }
                return {};
            });
    }
    [[nodiscard]] bool empty() const { return takers_.empty(); }

    expected<void> settle() {
        if (takers_.empty()) {
            return {};
        }
        FF_TRY(auto answers, store_.run());
        auto answer = answers.end() - static_cast<std::ptrdiff_t>(takers_.size());
        for (auto& take_answer : takers_) {
            FF_TRY_VOID(take_answer(*answer++));
        }
        return {};
    }

  private:
    PostgresStore& store_;
    std::vector<std::move_only_function<expected<void>(PgRows&)>> takers_;
};

/// Members of flows as a load finds them: before their flow is locked, and then.
struct PostgresStore::Members {
    using Ids = std::map<FlowId, std::vector<ExecutionId>>;
    Ids seen;    ///< not locked, of flows whose members were not known
    Ids locked;  ///< asked for again behind the lock of the flow, where that was taken

    /// Those known by now.
    [[nodiscard]] const std::vector<ExecutionId>& of(const FlowId& flow,
                                                     const core::Snapshot& snapshot) const {
        const auto it = seen.find(flow);
        return it == seen.end() ? snapshot.members(flow) : it->second;
    }
};

/// What executions that were just found wait for, while it is asked for.
struct PostgresStore::OpenWaits {
    struct Of {
        const core::Execution* execution;
        std::optional<core::Suspension> suspension;
        std::vector<core::Waitpoint> waitpoints;
    };
    using Map = std::map<Eid, Of>;
    Map of;
};

/// What is due, as one look has found it. Each answer is given once.
struct PostgresStore::Due {
    TimestampMs now = 0;
    std::size_t limit = 0;
    std::vector<FlowId> order;
    /// Locked, or nothing where another process has it; until the first who asks.
    std::map<FlowId, std::optional<core::Flow>> flows;
    std::optional<std::vector<core::FlowWork>> work;
    std::array<std::vector<core::LimitKey>, 2> limits;  ///< by kind
    bool limits_open = false;
    std::optional<std::vector<core::TimerKey>> timers;
    /// Those of the timers: locked, or nothing where another process has it or it is not there.
    std::map<Eid, std::optional<core::Execution>> executions;
    std::optional<std::optional<TimestampMs>> next;

    [[nodiscard]] bool answers(TimestampMs at, std::size_t count, std::size_t asked) const;
};

struct PostgresStore::ReadConnection {
    explicit ReadConnection(std::unique_ptr<PgConnection> connection)
        : db(std::move(connection)), reader(*db) {}
    std::unique_ptr<PgConnection> db;
    PostgresReader reader;
    bool usable = true;
    std::chrono::steady_clock::time_point made = std::chrono::steady_clock::now();
};

struct PostgresStore::Writes {
    using Type = PgArray::Type;
    PgRowSet<core::Execution> executions;
    PgRowSet<core::ExecutionInput> inputs;
    PgRowSet<core::Attempt> attempts;
    PgRowSet<core::GrantRow> grants;
    PgRowSet<core::Lane> lanes;
    PgRowSet<core::Route> routes;
    PgRowSet<core::IdempotencyEntry> idempotency;
    PgRowSet<core::WorkerRow> workers;
    PgRowSet<core::Webhook> webhooks;
    PgRowSet<core::Flow> flows;
    PgRowSet<core::Edge> edges;
    PgRowSet<core::EdgeGroup> groups;
    PgRowSet<core::FlowWork> work;
    PgRowSet<core::Suspension> suspensions;
    PgRowSet<core::Waitpoint> waitpoints;
    PgRowSet<core::Signal> signals;
    PgRowSet<core::Satisfier> satisfiers;
    PgRowSet<core::StreamMeta> stream_metas;
    PgRowSet<core::FrameRow> frames;
    PgRowSet<core::SummaryRow> summaries;
    PgRowSet<core::HmacKey> retired_keys;  ///< before the current one: there is one at most
    PgRowSet<core::HmacKey> current_keys;
    PgRowSet<core::Budget> budgets;
    std::map<TimestampMs, std::vector<BudgetId>> waited_for;  ///< by when they are looked at again
    PgRowSet<core::LedgerRow> ledgers;
    PgRowSet<core::UsageDedup> dedups;
    PgRowSet<core::QuotaPolicy> policies;
    PgRowSet<core::Admission> admissions;
    PgRowSet<core::Attachment> attachments;
    PgKeySet all_attachments{
        "ff_limit_attachment", {"target_type", "target_id"}, {Type::integers, Type::texts}};
    PgRowSet<core::ExecutionEvent> events;
    PgRowSet<core::LogEvent> log_events;
    PgSideTables sides;
    PgKeySet own_keys{"ff_idempotency",
                      {"namespace", "idempotency_key", "execution_id"},
                      {Type::texts, Type::texts, Type::bytes}};
    PgKeySet all_attempts{"ff_attempt", {"eid"}, {Type::integers}};
    PgKeySet all_suspensions{"ff_suspension", {"eid"}, {Type::integers}};
    PgKeySet all_waitpoints{"ff_waitpoint", {"eid"}, {Type::integers}};
    PgKeySet all_signals{"ff_signal", {"eid"}, {Type::integers}};
    PgKeySet all_satisfiers{"ff_satisfier", {"eid"}, {Type::integers}};
    PgKeySet all_metas{"ff_stream_meta", {"eid"}, {Type::integers}};
    PgKeySet all_frames{"ff_stream_frame", {"eid"}, {Type::integers}};
    PgKeySet all_summaries{"ff_stream_summary", {"eid"}, {Type::integers}};
    PgRowSet<core::Execution> erased;
    std::vector<std::int64_t> histories;  ///< newest events of those
    // Of flows that go.
    PgRowSet<core::Flow> erased_flows;
    PgKeySet all_edges{"ff_edge", {"flow_id"}, {Type::bytes}};
    PgKeySet all_groups{"ff_edge_group", {"flow_id"}, {Type::bytes}};
    PgKeySet all_work{"ff_flow_work", {"flow_id"}, {Type::bytes}};
};

}  // namespace ff::store
