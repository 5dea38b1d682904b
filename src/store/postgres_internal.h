// Parts of PostgresStore that its source files share: texts that only PostgreSQL runs, because they
// lock or take many keys at once.
#pragma once

#include <string>

#include "store/catalogue.h"
#include "store/postgres_reader.h"
#include "store/postgres_rows.h"
#include "store/postgres_store.h"

namespace ff::store {

// In the order of ids, waiting: two transactions that want the same rows take them one after the
// other.
inline const std::string lock_by_id =
    sql::select_where<core::Execution>("id = ANY($1) ORDER BY id FOR UPDATE");
// Without waiting: order does not matter, and who is locked is being seen to by another.
inline const std::string lock_by_eid =
    sql::select_where<core::Execution>("eid = ANY($1) FOR UPDATE SKIP LOCKED");
inline const std::string inputs_by_eid = sql::select_where<core::ExecutionInput>("eid = ANY($1)");
inline const std::string grants_by_eid = sql::select_where<core::GrantRow>("eid = ANY($1)");
inline const std::string attempts_by_key =
    "SELECT " + column_list<core::Attempt>("t.") +
    " FROM unnest($1, $2) AS u(eid, attempt_index) JOIN ff_attempt t"
    " ON t.eid = u.eid AND t.attempt_index = u.attempt_index";
// Not locked: a create must not wait for every other create on its lane.
inline const std::string lanes_by_name = sql::select_where<core::Lane>("lane_id = ANY($1)");
inline const std::string lock_idempotency =
    "SELECT " + column_list<core::IdempotencyEntry>("t.") +
    " FROM unnest($1, $2) AS u(namespace, idempotency_key) JOIN ff_idempotency t"
    " ON t.namespace = u.namespace AND t.idempotency_key = u.idempotency_key"
    " ORDER BY t.namespace, t.idempotency_key FOR UPDATE OF t";
inline const std::string lock_workers =
    "SELECT " + column_list<core::WorkerRow>("t.") +
    " FROM unnest($1, $2) AS u(namespace, worker_instance_id) JOIN ff_worker_registry t"
    " ON t.namespace = u.namespace AND t.worker_instance_id = u.worker_instance_id"
    " ORDER BY t.namespace, t.worker_instance_id FOR UPDATE OF t";
inline const std::string routes_by_id = sql::select_where<core::Route>("route = ANY($1)");
inline const std::string select_routes_above = sql::select_where<core::Route>("route > $1");

// The first keys of every route, the best of them, and each one's execution unless another has it:
// then the key comes back alone, so that it is known how far was looked.
inline const std::string lock_best_ready =
    "SELECT c.route, c.rank, c.eid, " + column_list<core::Execution>("e.") + ", " +
    column_list<core::ExecutionInput>("i.") +
    " FROM (SELECT q.route, q.rank, q.eid FROM unnest($1) AS r(route) CROSS JOIN LATERAL"
    " (SELECT route, rank, eid FROM ff_ready WHERE route = r.route AND (rank, eid) > ($2, $3)"
    " ORDER BY rank, eid LIMIT $4) q"
    " ORDER BY q.rank, q.eid LIMIT $4) c"
    " LEFT JOIN LATERAL (SELECT * FROM ff_exec_core x WHERE x.eid = c.eid"
    " FOR UPDATE SKIP LOCKED) e ON TRUE"
    " LEFT JOIN ff_exec_input i ON i.eid = e.eid";

inline const std::string own_transaction = "SELECT CAST(pg_current_xact_id() AS text)";
inline const std::string own_transaction_if_any =
    "SELECT CAST(pg_current_xact_id_if_assigned() AS text)";
inline const std::string draw_events =
    "UPDATE ff_meta SET value = value + $1 WHERE name = 'event_high'";

/// A cell and what it still lacks.
struct PostgresStore::Loading {
    core::ExecutionCell* cell;
    core::InputNeed input = core::InputNeed::none;
    bool grant = false;
    bool attempt = false;
};

struct PostgresStore::ReadConnection {
    explicit ReadConnection(std::unique_ptr<PgConnection> connection)
        : db(std::move(connection)), reader(*db) {}
    std::unique_ptr<PgConnection> db;
    PostgresReader reader;
    bool usable = true;
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
    PgRowSet<core::ExecutionEvent> events;
    PgRowSet<core::LogEvent> log_events;
    PgSideTables sides;
    PgKeySet own_keys{"ff_idempotency",
                      {"namespace", "idempotency_key", "execution_id"},
                      {Type::texts, Type::texts, Type::bytes}};
    PgKeySet all_attempts{"ff_attempt", {"eid"}, {Type::integers}};
    PgRowSet<core::Execution> erased;
};

}  // namespace ff::store
