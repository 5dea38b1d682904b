// Loading rows of a PostgreSQL store into a batch's snapshot.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "store/postgres_internal.h"
#include "store/sql_scans.h"

namespace ff::store {

using core::Execution;
using core::ExecutionCell;
using core::Snapshot;

namespace {

/// Numbers of routes are drawn before they are committed: a few may come after a higher one.
constexpr RouteId late_routes = 8;

}  // namespace

void PostgresStore::know_route(core::Route row) {
    if (routes_.find(row.id) == nullptr) {
        newest_route_ = std::max(newest_route_, row.id);
        split_capabilities(row);
        routes_.add(std::move(row));
    }
}

expected<void> PostgresStore::know_routes(const std::vector<RouteId>& needed) {
    PgArray missing(PgArray::Type::integers);
    bool any = false;
    for (RouteId id : needed) {
        if (routes_.find(id) == nullptr) {
            missing.integer(id);
            any = true;
        }
    }
    if (!any) {
        return {};
    }
    PgStatement& s = texts_->get(routes_by_id);
    s.array(missing);
    FF_TRY(auto rows, select_all<core::Route>(s));
    for (core::Route& row : rows) {
        know_route(std::move(row));
    }
    for (RouteId id : needed) {
        if (routes_.find(id) == nullptr) {
            return ff::fail(ErrorCode::store_corrupt,
                            "route " + std::to_string(id) + " is missing; see ff doctor");
        }
    }
    return {};
}

expected<void> PostgresStore::take_executions(PgRows& rows, Snapshot& snapshot) {
    std::vector<RouteId> needed;
    while (rows.next()) {
        FF_TRY(auto row, take<Execution>(rows));
        needed.push_back(row.route);
        ExecutionCell& cell = snapshot.cell(row.id);
        cell.execution.load(std::move(row));
        found_cell(cell, snapshot);
    }
    return know_routes(needed);
}

namespace {

PgParams ready_params(const ReadyAsk& ask) {
    PgArray routes(PgArray::Type::integers);
    for (RouteId route : ask.routes) {
        routes.integer(route);
    }
    PgParams params;
    params.array(routes);
    params.integer(ask.after ? ask.after->rank : std::numeric_limits<std::int32_t>::min());
    params.integer(ask.after ? ask.after->place : 0);
    params.integer(static_cast<std::int64_t>(ask.limit));
    return params;
}

}  // namespace

expected<void> PostgresStore::load_rest(const std::vector<Loading>& wanted, Snapshot& snapshot) {
    PgArray input_eids(PgArray::Type::integers);
    PgArray grant_eids(PgArray::Type::integers);
    PgArray attempt_eids(PgArray::Type::integers);
    PgArray attempt_indexes(PgArray::Type::integers);
    std::vector<ExecutionCell*> inputs;
    std::vector<ExecutionCell*> grants;
    std::vector<ExecutionCell*> attempts;
    for (const Loading& want : wanted) {
        ExecutionCell& cell = *want.cell;
        const auto& current = cell.execution.current;
        if (!current) {
            if (want.grant) {
                cell.grant.load(std::nullopt);  // should the batch create it, there is none
            }
            continue;
        }
        if (!cell.input.loaded && needs_input(want.input, *current)) {
            input_eids.integer(current->eid);
            inputs.push_back(&cell);
        }
        if (want.grant && !cell.grant.loaded) {
            grant_eids.integer(current->eid);
            grants.push_back(&cell);
        }
        if (want.attempt && needs_attempt(*current) &&
            !cell.attempts[*current->current_attempt_index].loaded) {
            attempt_eids.integer(current->eid);
            attempt_indexes.integer(*current->current_attempt_index);
            attempts.push_back(&cell);
        }
    }
    Questions questions(*this);
    // Rows that are there, then nothing for the cells that had none.
    const auto ask = [&]<class Row>(std::type_identity<Row>, const std::string& text,
                                    std::initializer_list<const PgArray*> keys,
                                    const std::vector<ExecutionCell*>& cells, auto place_of) {
        if (cells.empty()) {
            return;
        }
        PgParams params;
        for (const PgArray* key : keys) {
            params.array(*key);
        }
        questions.ask(text, std::move(params), [&, place_of](PgRows& rows) -> expected<void> {
            while (rows.next()) {
                FF_TRY(auto row, take<Row>(rows));
                place_of(*snapshot.find_cell(row.eid)).load(std::move(row));
            }
            for (ExecutionCell* cell : cells) {
                place_of(*cell).load(std::nullopt);
            }
            return {};
        });
    };
    ask(std::type_identity<core::ExecutionInput>(), inputs_by_eid, {&input_eids}, inputs,
        [](ExecutionCell& cell) -> auto& { return cell.input; });
    ask(std::type_identity<core::GrantRow>(), grants_by_eid, {&grant_eids}, grants,
        [](ExecutionCell& cell) -> auto& { return cell.grant; });
    ask(std::type_identity<core::Attempt>(), attempts_by_key, {&attempt_eids, &attempt_indexes},
        attempts, [](ExecutionCell& cell) -> auto& {
            return cell.attempts[*cell.execution.current->current_attempt_index];
        });
    OpenWaits open;
    ask_open_waits(questions, open, snapshot);
    return questions.settle();
}

/// Asks for the number of the transaction, which COMMIT may need. `force` gives it one.
void PostgresStore::ask_transaction(Questions& questions, bool force) {
    if (!transaction_) {
        questions.ask(force ? own_transaction : own_transaction_if_any, {},
                      [this](PgRows& rows) -> expected<void> {
                          note_transaction(rows);
                          return {};
                      });
    }
}

void PostgresStore::ask_ready(Questions& questions, const std::vector<ReadyAsk>& asks,
                              const std::vector<std::string>& lanes, Snapshot& snapshot) {
    questions.ask_rows<core::Lane>(
        lanes_by_name,
        not_known(lanes, [&](const std::string& name) { return snapshot.lanes[name].loaded; }),
        [](const core::Lane& row) { return row.name; },
        [&snapshot](const std::string& name, std::optional<core::Lane> row) {
            snapshot.load_lane(name, std::move(row));
        },
        std::identity());
    for (const ReadyAsk& ask : asks) {
        questions.ask(lock_best_ready, ready_params(ask),
                      [this, &snapshot, ask](PgRows& rows) -> expected<void> {
                          FF_TRY(ReadyPage page, take_ready(rows, ask, snapshot));
                          ready_pages_.emplace_back(ask, std::move(page));
                          return {};
                      });
    }
    if (!asks.empty()) {
        ask_held(questions);
        ask_places(questions, snapshot);
    }
}

/// For claims: another process may have made a route a moment ago, and told its caller so.
void PostgresStore::ask_routes(Questions& questions) {
    if (std::exchange(routes_asked_, true)) {
        return;
    }
    PgParams params;
    params.integer(newest_route_ - late_routes);
    questions.ask(select_routes_above, std::move(params), [this](PgRows& rows) -> expected<void> {
        while (rows.next()) {
            FF_TRY(auto row, take<core::Route>(rows));
            know_route(std::move(row));
        }
        return {};
    });
}

void PostgresStore::ask_keys(Questions& questions, const core::ReadSet& set, Snapshot& snapshot) {
    using core::IdempotencyKey;
    using core::WorkerKey;
    questions.ask_rows<core::IdempotencyEntry>(
        lock_idempotency,
        not_known(set.idempotency,
                  [&](const auto& key) { return snapshot.idempotency_entries[key].loaded; }),
        [](const core::IdempotencyEntry& row) { return row.key; },
        [&snapshot](const IdempotencyKey& key, std::optional<core::IdempotencyEntry> row) {
            snapshot.load_idempotency(key, std::move(row));
        },
        &IdempotencyKey::ns, &IdempotencyKey::key);
    questions.ask_rows<core::WorkerRow>(
        lock_workers,
        not_known(set.workers, [&](const auto& key) { return snapshot.workers[key].loaded; }),
        [](const core::WorkerRow& row) { return row.key; },
        [&snapshot](const WorkerKey& key, std::optional<core::WorkerRow> row) {
            snapshot.load_worker(key, std::move(row));
        },
        &WorkerKey::ns, &WorkerKey::worker_instance_id);
    questions.ask_rows<core::Webhook>(
        lock_webhooks,
        not_known(set.webhooks, [&](const auto& id) { return snapshot.webhooks[id].loaded; }),
        [](const core::Webhook& row) { return row.id; },
        [&snapshot](const WebhookId& id, std::optional<core::Webhook> row) {
            snapshot.webhooks[id].load(std::move(row));
        },
        [](const WebhookId& id) { return id; });
}

void PostgresStore::be_impatient() {
    // Who has a flow and wants one of its members may be wanted by whoever has that member and
    // wants the flow; so with limits that are asked for one after another. The server would notice
    // after a second; giving way sooner costs less.
    if ((locked_flows_ || locked_limits_) && !impatient_) {
        db_->queue("SET LOCAL lock_timeout = 100");
        impatient_ = true;
    }
}

expected<void> PostgresStore::load(const core::ReadSet& set, Snapshot& snapshot) {
    std::vector<Loading> wanted;
    std::set<ExecutionId> missing;
    const auto want = [&](const ExecutionId& id, const core::ReadSet::ExecutionNeed& need) {
        ExecutionCell& cell = snapshot.cell(id);
        wanted.push_back({&cell, need.input, need.grant, need.attempt});
        if (!cell.execution.loaded) {
            missing.insert(id);
        }
    };
    for (const auto& need : set.executions) {
        if (need.fresh) {
            snapshot.cell(need.id).execution.load(std::nullopt);
        } else {
            want(need.id, need);
        }
    }
    Members members;
    FF_TRY_VOID(find_members(set, snapshot, members));
    for (const auto& [flow, need] : set.members) {
        for (const ExecutionId& id : members.of(flow, snapshot)) {
            want(id, need);
        }
    }
    Questions questions(*this);
    const bool wants_flows =
        std::ranges::any_of(set.flows, [&](const FlowId& id) { return !snapshot.knows_flow(id); });
    const bool wants_limits = !set.limits.budgets.empty() || !set.limits.policies.empty() ||
                              !set.limits.admissions_of.empty();
    if (!missing.empty() || wants_flows || wants_limits) {
        be_impatient();
    }
    if (!missing.empty()) {
        questions.ask(lock_by_id, arrays_of(missing, std::identity()),
                      [&](PgRows& rows) { return take_executions(rows, snapshot); });
    }
    ask_keys(questions, set, snapshot);
    std::vector<std::vector<ExecutionId>> held(set.leased_by.size());
    for (std::size_t i = 0; i < held.size(); ++i) {
        PgParams params;
        params.text(set.leased_by[i].worker_instance_id);
        params.text(set.leased_by[i].ns);
        questions.ask(sql::leased_by_instance, std::move(params),
                      [&, i](PgRows& rows) -> expected<void> {
                          while (rows.next()) {
                              take_value(rows, "id", held[i].emplace_back());
                              FF_TRY_VOID(rows.check());
                          }
                          return {};
                      });
    }
    ask_flows(questions, set, snapshot, members);
    ask_waits(questions, set.waits, snapshot.waits);
    ask_streams(questions, set.streams, snapshot);
    ask_limits(questions, set.limits, snapshot);
    // Behind what may wait for others: who waits holds nothing.
    std::vector<std::string> lanes = set.lanes;
    lanes.insert(lanes.end(), expected_lanes_.begin(), expected_lanes_.end());
    const bool locks = !questions.empty();
    if (!expected_lanes_.empty()) {
        ask_routes(questions);
    }
    ask_ready(questions, std::exchange(expected_asks_, {}), lanes, snapshot);
    expected_lanes_.clear();
    if (!questions.empty()) {
        ask_transaction(questions, locks || !set.lanes.empty());
    }
    if (auto settled = questions.settle(); !settled) {
        if (impatient_ && settled.error().code == ErrorCode::timeout) {
            settled.error().code = ErrorCode::store_busy;  // as after a deadlock
        }
        return settled;
    }
    locked_flows_ = locked_flows_ || wants_flows;
    locked_limits_ = locked_limits_ || wants_limits;
    for (const ExecutionId& id : missing) {
        snapshot.cell(id).execution.load(std::nullopt);
    }
    FF_TRY_VOID(load_rest(wanted, snapshot));
    FF_TRY_VOID(settle_members(set, snapshot, members));
    for (std::size_t i = 0; i < held.size(); ++i) {
        core::ReadSet leased;
        for (const ExecutionId& id : held[i]) {
            leased.need(id, core::InputNeed::if_tagged);
        }
        FF_TRY_VOID(load(leased, snapshot));
        snapshot.load_leased_by(set.leased_by[i], std::move(held[i]));
    }
    return {};
}

expected<void> PostgresStore::load(std::span<const Eid> eids, core::InputNeed input, bool attempt,
                                   Snapshot& snapshot) {
    PgArray missing(PgArray::Type::integers);
    bool any = false;
    for (Eid eid : eids) {
        if (snapshot.find_cell(eid) == nullptr) {
            missing.integer(eid);
            any = true;
        }
    }
    if (any) {
        PgParams params;
        params.array(missing);
        Questions questions(*this);
        questions.ask(lock_by_eid, std::move(params),
                      [&](PgRows& rows) { return take_executions(rows, snapshot); });
        ask_transaction(questions, false);
        FF_TRY_VOID(questions.settle());
    }
    std::vector<Loading> wanted;
    for (Eid eid : eids) {
        if (ExecutionCell* cell = snapshot.find_cell(eid)) {
            wanted.push_back({cell, input, false, attempt});
        }
    }
    return load_rest(wanted, snapshot);
}

// -------------------------------------------------------------------------------------- claims

void PostgresStore::expect_ready(std::vector<ReadyAsk> asks, std::vector<std::string> lanes) {
    expected_asks_ = std::move(asks);
    expected_lanes_ = std::move(lanes);
}

expected<ReadyPage> PostgresStore::take_ready(PgRows& rows, const ReadyAsk& ask,
                                              Snapshot& snapshot) {
    ReadyPage page;
    const bool full = rows.size() >= ask.limit;
    const auto place = [](const core::ReadyKey& key) { return std::pair(key.rank, key.place); };
    while (rows.next()) {
        const core::RouteId route = rows.integer();
        const core::ReadyKey key = take_ready_key(rows, route);
        if (full && (!page.looked_to || place(*page.looked_to) < place(key))) {
            page.looked_to = key;
        }
        if (rows.is_null()) {
            page.skipped = true;
            continue;  // another process has it
        }
        auto row = take<Execution>(rows);
        if (!row) {
            warn_("claim passes over execution " + std::to_string(key.eid) + ": " +
                  row.error().message());
            continue;
        }
        if (core::ready_key(*row) != key) {
            page.skipped = true;
            continue;  // taken between the look and the lock
        }
        std::optional<core::ExecutionInput> input;
        if (!rows.is_null()) {
            auto taken = take<core::ExecutionInput>(rows);
            if (!taken) {
                warn_("claim passes over " + row->id.to_string() + ": " + taken.error().message());
                continue;
            }
            input = std::move(*taken);
        }
        ExecutionCell& cell = snapshot.cell(row->id);
        cell.execution.load(std::move(*row));
        found_cell(cell, snapshot);
        if (input) {
            cell.input.load(std::move(input));
        }
        page.keys.push_back(key);
    }
    return page;
}

expected<std::vector<ReadyPage>> PostgresStore::lock_ready(std::span<const ReadyAsk> asks,
                                                           const std::vector<std::string>& lanes,
                                                           Snapshot& snapshot) {
    // A page says itself how far it goes, so one that was asked for with another limit will do.
    const auto answered = [this](const ReadyAsk& ask) {
        return std::ranges::find_if(ready_pages_, [&](const auto& entry) {
            return entry.first.routes == ask.routes && entry.first.after == ask.after;
        });
    };
    expected_asks_.clear();
    expected_lanes_.clear();
    std::vector<ReadyAsk> open;
    for (const ReadyAsk& ask : asks) {
        if (answered(ask) == ready_pages_.end()) {
            open.push_back(ask);
        }
    }
    Questions questions(*this);
    ask_routes(questions);
    ask_ready(questions, open, lanes, snapshot);
    if (!questions.empty()) {
        ask_transaction(questions, false);
        FF_TRY_VOID(questions.settle());
        FF_TRY_VOID(load_rest({}, snapshot));
    }
    std::vector<ReadyPage> pages;
    for (const ReadyAsk& ask : asks) {
        pages.push_back(answered(ask)->second);  // two may ask the same
    }
    ready_pages_.clear();
    return pages;
}

// -------------------------------------------------------------------------------------- scans

expected<std::vector<core::ReadyKey>> PostgresStore::scan_ready(
    RouteId route, const std::optional<core::ReadyKey>& after, std::size_t limit) {
    begun_ = true;
    return ready_of_route(texts_->get(sql::ready_head), route, after, limit);
}

expected<TurnPage> PostgresStore::lock_turns(std::span<const RouteId> queues) {
    begun_ = true;
    const std::vector<RouteId> asked(queues.begin(), queues.end());
    TurnPage out;
    Questions questions(*this);
    questions.ask(lock_turn_queues, arrays_of(asked, std::identity()),
                  [&out](PgRows& rows) -> expected<void> {
                      while (rows.next()) {
                          out.busy.push_back(rows.integer());
                      }
                      return {};
                  });
    // Behind the locks, so that it sees what who held them before has committed.
    questions.ask(turns_of_queues, arrays_of(asked, std::identity()),
                  [&out](PgRows& rows) -> expected<void> {
                      while (rows.next()) {
                          const RouteId queue = rows.integer();
                          out.holders.push_back({queue, rows.integer()});
                      }
                      return {};
                  });
    FF_TRY_VOID(questions.settle());
    return out;
}

expected<std::vector<core::TimerKey>> PostgresStore::scan_due(TimestampMs now, std::size_t limit) {
    begun_ = true;
    return due_timers(*texts_, now, limit);
}

expected<std::optional<TimestampMs>> PostgresStore::next_due(TimestampMs after) {
    begun_ = true;
    return earliest_due(*texts_, after);
}

expected<std::vector<Eid>> PostgresStore::scan_bucket(core::Bucket bucket, Eid after,
                                                      std::size_t limit) {
    begun_ = true;
    return eids_in_bucket(*texts_, bucket, after, limit);
}

expected<std::vector<Eid>> PostgresStore::scan_all(Eid after, std::size_t limit) {
    begun_ = true;
    return eids_after(*texts_, after, limit);
}

expected<std::vector<core::WorkerKey>> PostgresStore::scan_dead_workers(TimestampMs now,
                                                                        std::size_t limit) {
    begun_ = true;
    return dead_workers(*texts_, now, limit);
}

expected<std::vector<core::WorkerRow>> PostgresStore::live_workers(TimestampMs now) {
    begun_ = true;
    return live_workers_in(*texts_, now);
}

}  // namespace ff::store
