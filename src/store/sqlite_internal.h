// Parts of SqliteStore that its source files share.
#pragma once

#include <string>

#include "store/catalogue.h"
#include "store/sqlite_reader.h"
#include "store/sqlite_store.h"

namespace ff::store {

// Texts that only SQLite runs.
// Ids that the engine makes grow with time: from the newest back until as many are found as are
// open. That is at once for an execution that has waited thousands of times, unless it keeps an old
// waitpoint open all the while.
inline const std::string newest_open_waitpoints =
    "SELECT " + column_list<core::Waitpoint>() +
    " FROM ff_waitpoint WHERE eid = $1 AND waitpoint_state < 2"
    " ORDER BY waitpoint_id DESC LIMIT $2";
// The newest: a key may be used again once its time is over. SQLite has no statistics and takes the
// primary key for as good as this index, which it is not for such an execution.
inline const std::string suspension_by_idempotency_index =
    "SELECT " + column_list<core::Suspension>() +
    " FROM ff_suspension INDEXED BY ff_suspension_by_key"
    " WHERE eid = $1 AND idempotency_key = $2 ORDER BY episode DESC LIMIT 1";

/// A store's file that this process owns and may write to.
struct OwnedFile {
    std::string path;  ///< canonical
    bool created = false;
    std::unique_ptr<FileLock> lock;
    std::unique_ptr<SqliteDb> db;

    /// Makes the file if it is missing. Changes nothing in one that is there, and refuses one that
    /// is no store or is of a newer schema.
    static expected<OwnedFile> open(const Location& location, OpenMode mode, int busy_timeout_ms);
};

/// The writer's prepared statements. Made once; each is used by one step of one batch at a time.
struct SqliteStore::Hot {
    explicit Hot(SqliteDb& db)
        : texts(db),
          executions(db),
          inputs(db),
          attempts(db),
          grants(db),
          lanes(db),
          route_rows(db),
          idempotency(db),
          workers(db),
          flows(db),
          edges(db),
          groups(db),
          work(db),
          suspensions(db),
          waitpoints(db),
          signals(db),
          satisfiers(db),
          stream_metas(db),
          frames(db),
          summaries(db),
          hmac_keys(db),
          budgets(db),
          ledgers(db),
          dedups(db),
          policies(db),
          admissions(db),
          attachments(db),
          webhooks(db),
          events(db),
          log_events(db),
          begin(texts.get("BEGIN IMMEDIATE")),
          commit(texts.get("COMMIT")),
          execution_by_id(texts.get(sql::execution_by_id)),
          execution_by_eid(texts.get(sql::execution_by_eid)),
          input_by_eid(texts.get(sql::input_by_eid)),
          ready_head(texts.get(sql::ready_head)),
          ready_insert(texts.get(sql::ready_insert)),
          ready_delete(texts.get(sql::ready_delete)),
          timer_insert(texts.get(sql::timer_insert)),
          timer_delete(texts.get(sql::timer_delete)),
          listed_insert(texts.get(sql::listed_insert)),
          listed_delete(texts.get(sql::listed_delete)) {}

    StatementCache texts;
    RowWriter<core::Execution> executions;
    RowWriter<core::ExecutionInput> inputs;
    RowWriter<core::Attempt> attempts;
    RowWriter<core::GrantRow> grants;
    RowWriter<core::Lane> lanes;
    RowWriter<core::Route> route_rows;
    RowWriter<core::IdempotencyEntry> idempotency;
    RowWriter<core::WorkerRow> workers;
    RowWriter<core::Flow> flows;
    RowWriter<core::Edge> edges;
    RowWriter<core::EdgeGroup> groups;
    RowWriter<core::FlowWork> work;
    RowWriter<core::Suspension> suspensions;
    RowWriter<core::Waitpoint> waitpoints;
    RowWriter<core::Signal> signals;
    RowWriter<core::Satisfier> satisfiers;
    RowWriter<core::StreamMeta> stream_metas;
    RowWriter<core::FrameRow> frames;
    RowWriter<core::SummaryRow> summaries;
    RowWriter<core::HmacKey> hmac_keys;
    RowWriter<core::Budget> budgets;
    RowWriter<core::LedgerRow> ledgers;
    RowWriter<core::UsageDedup> dedups;
    RowWriter<core::QuotaPolicy> policies;
    RowWriter<core::Admission> admissions;
    RowWriter<core::Attachment> attachments;
    RowWriter<core::Webhook> webhooks;
    RowWriter<core::ExecutionEvent> events;
    RowWriter<core::LogEvent> log_events;
    // Looked up once: the texts are long and these run for every command.
    Statement& begin;
    Statement& commit;
    Statement& execution_by_id;
    Statement& execution_by_eid;
    Statement& input_by_eid;
    Statement& ready_head;
    Statement& ready_insert;
    Statement& ready_delete;
    Statement& timer_insert;
    Statement& timer_delete;
    Statement& listed_insert;
    Statement& listed_delete;
};

struct SqliteStore::ReadConnection {
    explicit ReadConnection(std::unique_ptr<SqliteDb> connection)
        : owned(std::move(connection)), db(*owned), reader(db) {}
    /// On a connection that somebody else owns.
    explicit ReadConnection(SqliteDb& connection) : db(connection), reader(db) {}

    std::unique_ptr<SqliteDb> owned;
    SqliteDb& db;
    SqliteReader reader;
};

}  // namespace ff::store
