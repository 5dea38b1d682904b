// Loading rows of a PostgreSQL store into a batch's snapshot.
#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>

#include "store/postgres_internal.h"
#include "store/prepare.h"
#include "store/sql_scans.h"

namespace ff::store {

using core::Execution;
using core::ExecutionCell;
using core::Snapshot;

namespace {

/// Numbers of routes are drawn before they are committed: a few may come after a higher one.
constexpr RouteId late_routes = 8;

}  // namespace

std::vector<std::size_t> places_in_order(const void* keys, std::size_t count, LessAt less) {
    std::vector<std::size_t> places(count);
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places,
                      [&](std::size_t one, std::size_t other) { return less(keys, one, other); });
    return places;
}

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
    std::vector<Execution> taken;
    while (rows.next()) {
        FF_TRY(auto row, take<Execution>(rows));
        note_transaction(rows);
        needed.push_back(row.route);
        taken.push_back(std::move(row));
    }
    FF_TRY_VOID(know_routes(needed));
    for (Execution& row : taken) {
        ExecutionCell& cell = snapshot.cell(row.id);
        cell.execution.load(std::move(row));
        found_cell(cell, snapshot);
    }
    return {};
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
        const auto& current = cell.execution.current();
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
            return cell.attempts[*cell.execution.current()->current_attempt_index];
        });
    OpenWaits open;
    ask_open_waits(questions, open, snapshot);
    return questions.settle();
}

/// Asks for the number of the transaction, which COMMIT may need; it gets one.
void PostgresStore::ask_transaction(Questions& questions) {
    if (!transaction_) {
        questions.ask(own_transaction, {}, [this](PgRows& rows) -> expected<void> {
            if (rows.next()) {
                note_transaction(rows);
            }
            return {};
        });
    }
}

void PostgresStore::ask_ready(Questions& questions, const std::vector<ReadyAsk>& asks,
                              Snapshot& snapshot) {
    for (const ReadyAsk& ask : asks) {
        questions.ask(lock_best_ready, ready_params(ask),
                      [this, &snapshot, ask](PgRows& rows) -> expected<void> {
                          FF_TRY(ReadyPage page, take_ready(rows, ask, snapshot));
                          ready_pages_.emplace_back(ask, std::move(page));
                          return {};
                      });
    }
}

void PostgresStore::ask_surroundings(Questions& questions, const std::vector<std::string>& lanes,
                                     Look look, Snapshot& snapshot) {
    auto names =
        not_known(lanes, [&](const std::string& name) { return snapshot.lanes[name].loaded; });
    PgParams params = arrays_of(names, std::identity());
    // Another process may have made a route a moment ago, and told its caller so.
    const bool stale = routes_stale_.exchange(false);  // who makes one from here on says so again
    asked_stale_ = asked_stale_ || stale;
    params.integer(newest_route_ - (stale ? route_slack : late_routes));
    params.integer(look.number && !transaction_ ? 1 : 0);
    questions.ask(surroundings, std::move(params),
                  [this, &snapshot, look, names = std::move(names)](PgRows& rows) {
                      return take_surroundings(rows, names, look, snapshot);
                  });
    if (look.for_claims && places_in_use_) {
        ask_places(questions, snapshot);
    }
}

expected<void> PostgresStore::take_surroundings(PgRows& rows, const std::vector<std::string>& lanes,
                                                Look look, Snapshot& snapshot) {
    asked_stale_ = false;
    for (bool first = true; rows.next(); first = false) {
        if (first) {
            note_transaction(rows);
            note_routes(rows);
            note_held(rows, look);
            note_places(rows, look, snapshot);
        } else {
            rows.skip(surroundings_columns);
        }
        if (!rows.is_null()) {
            FF_TRY(auto lane, take<core::Lane>(rows));
            const std::string name = lane.name;
            snapshot.load_lane(name, std::move(lane));
        }
    }
    for (const std::string& name : lanes) {
        snapshot.load_lane(name, std::nullopt);  // does nothing where there is one
    }
    return {};
}

/// Routes that are not known yet are read by learn_routes().
void PostgresStore::note_routes(PgRows& rows) {
    if (rows.is_null()) {
        rows.skip();
        return;
    }
    std::string_view numbers = rows.bytes();
    while (!numbers.empty()) {
        RouteId id = 0;
        const auto [end, fault] =
            std::from_chars(numbers.data(), numbers.data() + numbers.size(), id);
        if (fault == std::errc() && routes_.find(id) == nullptr) {
            new_routes_.push_back(id);
        }
        numbers.remove_prefix(static_cast<std::size_t>(end - numbers.data()));
        numbers.remove_prefix(numbers.empty() ? 0 : 1);
    }
}

expected<void> PostgresStore::learn_routes() { return know_routes(std::exchange(new_routes_, {})); }

void PostgresStore::note_held(PgRows& rows, Look look) {
    constexpr std::size_t id_size = 16;
    std::string_view held = rows.is_null() ? std::string_view() : rows.bytes();
    if (held.empty()) {
        rows.skip();
    }
    if (!look.for_claims) {
        return;
    }
    held_flows_.emplace();
    for (; held.size() >= id_size; held.remove_prefix(id_size)) {
        if (const auto uuid = Uuid::from_raw(held.substr(0, id_size))) {
            held_flows_->push_back({*uuid});
        }
    }
}

/// Where no limit is attached to a place nothing more need be asked. Where one is, the next who
/// claims asks for them at once.
void PostgresStore::note_places(PgRows& rows, Look look, Snapshot& snapshot) {
    places_in_use_ = rows.integer() == 1;
    if (look.for_claims && !places_in_use_ && !snapshot.limits.knows_places()) {
        snapshot.limits.load_places({});
    }
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
    if (!impatient_) {
        db_->queue("SET LOCAL lock_timeout = 100");
        impatient_ = true;
    }
}

expected<void> PostgresStore::load(const core::ReadSet& set, Snapshot& snapshot) {
    if (due_ && !due_->flows.empty() && !set.flows.empty()) {
        core::ReadSet rest = load_due_flows(set, snapshot);
        if (rest.flows.size() < set.flows.size()) {
            return load(rest, snapshot);
        }
    }
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
    const bool wants_keys =
        !set.idempotency.empty() || !set.workers.empty() || !set.webhooks.empty();
    // Executions, keys, flows and limits are locked in this order. Who holds one of them and wants
    // what comes before may be wanted by whoever has that and wants ours; so with executions that
    // are asked for one after another. The server would notice after a second; giving way sooner
    // costs less.
    const bool out_of_order = (locked_flows_ || locked_limits_ || locked_keys_) &&
                              (!missing.empty() || wants_keys || wants_flows || wants_limits);
    if (out_of_order || (transaction_ && !missing.empty())) {
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
    const bool claims = !expected_asks_.empty();
    ask_ready(questions, std::exchange(expected_asks_, {}), snapshot);
    // Behind the ready executions: who sees one of a flow sees whether that is held.
    const bool looks = std::ranges::any_of(
        lanes, [&](const std::string& name) { return !snapshot.lanes[name].loaded; });
    if (looks || !expected_lanes_.empty()) {
        ask_surroundings(questions, lanes,
                         {.for_claims = claims, .number = locks || !set.lanes.empty()}, snapshot);
    } else if (locks && missing.empty()) {
        ask_transaction(questions);  // the rows of executions come with it
    }
    expected_lanes_.clear();
    if (auto settled = questions.settle(); !settled) {
        if (impatient_ && settled.error().code == ErrorCode::timeout) {
            settled.error().code = ErrorCode::store_busy;  // as after a deadlock
        }
        return settled;
    }
    locked_keys_ = locked_keys_ || wants_keys;
    locked_flows_ = locked_flows_ || wants_flows;
    locked_limits_ = locked_limits_ || wants_limits;
    for (const ExecutionId& id : missing) {
        snapshot.cell(id).execution.load(std::nullopt);
    }
    FF_TRY_VOID(load_rest(wanted, snapshot));
    FF_TRY_VOID(learn_routes());
    FF_TRY_VOID(settle_members(set, snapshot, members));
    for (std::size_t i = 0; i < held.size(); ++i) {
        const auto load_held = [&](std::span<const ExecutionId> ids) {
            core::ReadSet leased;
            for (const ExecutionId& id : ids) {
                leased.need(id, core::InputNeed::if_tagged);
            }
            return load(leased, snapshot);
        };
        if (!load_held(held[i])) {
            FF_TRY(held[i], load_readable(held[i], [&](const ExecutionId& id) {
                       return load_held({&id, 1});
                   }));
        }
        snapshot.load_leased_by(set.leased_by[i], std::move(held[i]));
    }
    return {};
}

expected<void> PostgresStore::load(std::span<const Eid> eids, core::InputNeed input, bool attempt,
                                   Snapshot& snapshot) {
    PgArray missing(PgArray::Type::integers);
    bool any = false;
    for (Eid eid : eids) {
        if (snapshot.find_cell(eid) != nullptr) {
            continue;
        }
        FF_TRY(const bool seen, load_due_execution(eid, snapshot));
        if (!seen) {
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
    const bool all_lanes = std::ranges::all_of(
        lanes, [&](const std::string& name) { return snapshot.lanes[name].loaded; });
    if (!open.empty() || !all_lanes || !held_flows_) {
        Questions questions(*this);
        ask_ready(questions, open, snapshot);
        ask_surroundings(questions, lanes, {.for_claims = true, .number = false}, snapshot);
        FF_TRY_VOID(questions.settle());
        FF_TRY_VOID(load_rest({}, snapshot));
        FF_TRY_VOID(learn_routes());
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
