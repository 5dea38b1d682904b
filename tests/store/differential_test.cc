// Two stores, one history: whatever sequence of changes is applied to the memory store and to a
// SQLite file, or to PostgreSQL, every read gives the same.
//
// A case is a list of steps of small numbers that mean something in any state (an index is taken
// modulo what there is), so a failing list can be shortened by leaving steps out.
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <span>
#include <sstream>

#include "store/contract.h"
#include "store/memory_store.h"
#include "store/typed_rows.h"
#include "store/value_codec.h"
#include "support/postgres.h"

namespace ff::store::test {
namespace {

using core::Execution;

struct Step {
    std::uint8_t what = 0;
    std::uint8_t which = 0;
    std::uint64_t seed = 0;
};

void showValue(const Step& step, std::ostream& os) {  // NOLINT: rapidcheck looks for this name
    os << '{' << int{step.what} << ", " << int{step.which} << ", " << step.seed << '}';
}

// -------------------------------------------------------------------------------- random values

using Random = SeededIdSource;

template <class T>
void randomise(Random& random, T& value) {
    if constexpr (is_optional<T>) {
        if (random.uniform(1) == 0) {
            value.reset();
        } else {
            randomise(random, value.emplace());
        }
    } else if constexpr (std::is_same_v<T, bool>) {
        value = random.uniform(1) == 1;
    } else if constexpr (std::is_enum_v<T>) {
        value = static_cast<T>(random.uniform(enum_count<T> - 1));
    } else if constexpr (std::integral<T>) {
        value = static_cast<T>(random.uniform(50));
    } else if constexpr (is_uuid_id<T>) {
        value.uuid = uuid_of(random.uniform(3));
    } else if constexpr (std::is_same_v<T, ExecutionId>) {
        value = id_of(random.uniform(3));
    } else if constexpr (std::is_same_v<T, core::ExecutionExtra>) {
        const auto randomise_one = [&](const ColumnInfo&, auto& member) {
            randomise(random, member);
        };
        for_each_column<T>(randomise_one, value);
    } else if constexpr (std::is_same_v<T, Amounts>) {
        value.clear();
        for (std::uint64_t n = random.uniform(3); n > 0; --n) {
            value["k" + std::to_string(random.uniform(3))] = random.uniform(50);
        }
    } else if constexpr (std::is_same_v<T, Tags>) {
        value.clear();
        for (std::uint64_t n = random.uniform(3); n > 0; --n) {
            value["k" + std::to_string(random.uniform(3))] = std::to_string(random.uniform(2));
        }
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        value.assign(random.uniform(2), "word" + std::to_string(random.uniform(5)));
    } else {
        value = std::string(random.uniform(20), static_cast<char>('a' + random.uniform(20)));
    }
}

/// Gives some of a row's columns behind its first `keep` random values.
template <class Row>
void randomise_columns(Random& random, Row& row, std::size_t keep) {
    const std::uint64_t chance = random.uniform(8);
    std::size_t i = 0;
    const auto randomise_some = [&](const ColumnInfo&, auto& member) {
        if (i++ >= keep && random.uniform(8) <= chance) {
            randomise(random, member);
        }
    };
    for_each_column<Row>(randomise_some, row);
}

std::string word(const std::string& stem, std::uint64_t n) { return stem + std::to_string(n); }

// -------------------------------------------------------------------------------------- playing

/// Numbers of new rows. Those that several processes draw differ from run to run, so the test gives
/// its own to a store that has such.
struct Numbers {
    Eid eid = 0;
    RouteId route = 0;
};

/// One transaction's worth of steps on one store.
class Player {
  public:
    Player(Store& store, Numbers& numbers, TimestampMs now)
        : store_(store), numbers_(numbers), before_(numbers), now_(now), transaction_(store) {
        known_ = store.scan_all(0, 1'000'000).value();
    }

    void act(const Step& step) {
        Random random(step.seed);
        switch (step.what % 22) {
            case 0:
            case 1: return create(random, step.which);
            case 2:
            case 3: return mutate(random, step.which);
            case 4: return retag(random, step.which);
            case 5: return attempt(random, step.which);
            case 6: return grant(random, step.which);
            case 7: return erase(step.which);
            case 8: return lane(random);
            case 9: return worker(random);
            case 10: return idempotency(random);
            case 11: return event(random, step.which);
            case 12: return log_event(random, step.which);
            case 13:
            case 14: return flow(random);
            case 15:
            case 16: return edge(random, step.which);
            case 17: return group(random);
            case 18: return work(random);
            case 19: return erase_flow(random);
            case 20: return look_at_flow(random, step.which);
            default: return upkeep(random);
        }
    }

    /// How the transaction ends: most commit, some are given up, some cannot be committed.
    std::string end(const Step& last) {
        if (last.seed % 8 == 0) {
            numbers_ = before_;
            return "rolled back";
        }
        if (const Execution* victim = last.seed % 8 == 1 ? pick(last.which) : nullptr) {
            Execution twin = waiting(victim->eid, victim->route);  // the same number twice
            twin.id = id_of(999'999);
            transaction_.apply_blind(changes(twin));
        }
        auto done = transaction_.commit(now_);
        EXPECT_TRUE(store_.make_durable());
        if (!done) {
            numbers_ = before_;
        }
        if (done) {
            return "committed";
        }
        // Where others write too, a key that is there already is worth another try.
        const ErrorCode code = done.error().code;
        return std::string(to_string(code == ErrorCode::store_busy ? ErrorCode::internal : code));
    }

  private:
    const Execution* pick(std::uint8_t which) {
        if (known_.empty()) {
            return nullptr;
        }
        const std::vector<Eid> eid{known_[which % known_.size()]};
        EXPECT_TRUE(store_.load(eid, core::InputNeed::always, true, transaction_.snapshot));
        core::ExecutionCell* cell = transaction_.snapshot.find_cell(eid[0]);
        const bool there = cell != nullptr && cell->execution.current() &&
                           cell->execution.current()->eid == eid[0];
        return there ? &*cell->execution.current() : nullptr;
    }

    std::optional<ExecutionId> pick_id(std::uint8_t which) {
        const Execution* found = pick(which);
        return found != nullptr ? std::optional(found->id) : std::nullopt;
    }

    RouteId any_route(Random& random) {
        const core::RouteKey key{word("lane", random.uniform(1)), word("ns", random.uniform(1)),
                                 "job", random.uniform(1) == 0 ? "" : "cuda,gpu"};
        if (const core::Route* known = transaction_.snapshot.route(key)) {
            return known->id;
        }
        core::Route fresh;
        fresh.id = store_.shared() ? ++numbers_.route : store_.next_route_id();
        fresh.key = key;
        transaction_.apply(changes(fresh));
        return fresh.id;
    }

    void create(Random& random, std::uint8_t which) {
        Execution row;
        row.eid = store_.shared() ? ++numbers_.eid : store_.next_eid(now_);
        row.route = any_route(random);
        row.id = id_of(static_cast<std::uint64_t>(row.eid), which % 4);
        if (!erased_.empty() && which % 2 == 0) {
            row.id = erased_.back();  // as a create that meets the deletion of its predecessor
            erased_.pop_back();
        }
        core::ExecutionInput input;
        input.eid = row.eid;
        randomise_columns(random, row, 3);
        randomise_columns(random, input, 1);
        settle(row, input);
        row.last_event_id.reset();
        if (input.idempotency_key) {
            input.idempotency_key = word("key", random.uniform(5));
            const std::string ns = transaction_.snapshot.route(row.route).key.ns;
            transaction_.apply(
                changes(idempotency_of(ns, *input.idempotency_key, row.id,
                                       now_ + static_cast<TimestampMs>(random.uniform(99)))));
        }
        transaction_.apply(changes(row, input));
        known_.push_back(row.eid);
    }

    void mutate(Random& random, std::uint8_t which) {
        const Execution* current = pick(which);
        if (current == nullptr) {
            return;
        }
        Execution row = *current;
        randomise_columns(random, row, 3);
        row.last_event_id = current->last_event_id;
        settle(row, *transaction_.snapshot.input(*current));
        transaction_.apply(changes(row));
    }

    void retag(Random& random, std::uint8_t which) {
        const Execution* current = pick(which);
        if (current == nullptr) {
            return;
        }
        Execution row = *current;
        core::ExecutionInput input = *transaction_.snapshot.input(*current);
        randomise(random, input.tags);
        randomise(random, input.payload);
        settle(row, input);
        transaction_.apply(changes(row, input));
    }

    /// What core keeps in step between the two rows.
    static void settle(Execution& row, const core::ExecutionInput& input) {
        row.has_tags = !input.tags.empty();
        row.has_policy = input.policy.has_value();
        row.has_idempotency_key = input.idempotency_key.has_value();
    }

    void attempt(Random& random, std::uint8_t which) {
        if (const Execution* current = pick(which)) {
            core::Attempt row =
                attempt_of(current->eid, static_cast<std::uint32_t>(random.uniform(2)));
            randomise_columns(random, row, 2);
            transaction_.apply(changes(row));
        }
    }

    void grant(Random& random, std::uint8_t which) {
        const Execution* current = pick(which);
        if (current == nullptr) {
            return;
        }
        core::Changes wanted;
        if (random.uniform(2) == 0) {
            wanted.delete_grants.push_back(current->eid);
        } else {
            core::GrantRow row = grant_of(current->eid, 0);
            randomise_columns(random, row, 1);
            row.expires_at = now_ + static_cast<TimestampMs>(random.uniform(99));
            wanted.put_grants.push_back(row);
        }
        transaction_.apply(std::move(wanted));
    }

    void erase(std::uint8_t which) {
        if (const Execution* current = pick(which)) {
            erased_.push_back(current->id);
            core::Changes wanted;
            wanted.delete_executions.push_back(current->eid);
            transaction_.apply(std::move(wanted));
        }
    }

    void lane(Random& random) {
        core::Lane row{word("lane", random.uniform(3)), {}, now_};
        randomise(random, row.state);
        transaction_.apply(changes(row));
    }

    void worker(Random& random) {
        core::WorkerRow row =
            worker_of(word("ns", random.uniform(1)), word("i", random.uniform(2)));
        core::Changes wanted;
        if (random.uniform(2) == 0) {
            wanted.delete_workers.push_back(row.key);
        } else {
            randomise_columns(random, row, 2);
            wanted.put_workers.push_back(row);
        }
        transaction_.apply(std::move(wanted));
    }

    void idempotency(Random& random) {
        core::IdempotencyEntry row;
        row.key = {word("ns", random.uniform(1)), word("key", random.uniform(5))};
        core::Changes wanted;
        if (random.uniform(2) == 0) {
            wanted.delete_idempotency.push_back(row.key);
        } else {
            randomise_columns(random, row, 2);
            row.expires_at = now_ + static_cast<TimestampMs>(random.uniform(99));
            wanted.put_idempotency.push_back(row);
        }
        transaction_.apply(std::move(wanted));
    }

    void event(Random& random, std::uint8_t which) {
        if (const Execution* current = pick(which)) {
            core::ExecutionEvent row;
            randomise_columns(random, row, 2);
            row.eid = current->eid;
            row.at = now_;
            transaction_.apply(changes(row));
        }
    }

    void log_event(Random& random, std::uint8_t which) {
        core::LogEvent row;
        randomise_columns(random, row, 1);
        const Execution* current = pick(which);
        row.eid = current != nullptr ? std::optional(current->eid) : std::nullopt;
        row.at = now_;
        transaction_.apply(changes(row));
    }

    /// The flow as the batch has it, or nothing. One that was deleted does not come back in this
    /// batch: `gone` then.
    const core::Flow* find_flow(const FlowId& id, bool& gone) {
        core::ReadSet set;
        set.flows.push_back(id);
        EXPECT_TRUE(store_.load(set, transaction_.snapshot));
        gone = transaction_.snapshot.flow_cell(id).deleted;
        return transaction_.snapshot.flow(id);
    }

    void flow(Random& random) {
        const FlowId id = flow_id_of(random.uniform(3));
        bool gone = false;
        const core::Flow* current = find_flow(id, gone);
        if (!gone) {
            core::Flow row = current != nullptr ? *current : flow_of(0);
            row.id = id;
            randomise_columns(random, row, 1);
            transaction_.apply(changes(row));
        }
    }

    /// Edges join executions that are there, as core sees to: a store may count on it that a new
    /// execution has none.
    void edge(Random& random, std::uint8_t which) {
        const std::uint64_t flow = random.uniform(3);
        bool gone = false;
        if (find_flow(flow_id_of(flow), gone) == nullptr) {
            return;
        }
        const std::optional<ExecutionId> from = pick_id(which);
        const std::optional<ExecutionId> to = pick_id(static_cast<std::uint8_t>(random.uniform(9)));
        if (!from || !to) {
            return;
        }
        core::Edge row = edge_of(flow, 10 * flow + random.uniform(4), 0, 0);
        core::ReadSet set;
        set.edges.push_back(row.key);
        EXPECT_TRUE(store_.load(set, transaction_.snapshot));
        if (const core::Edge* current = transaction_.snapshot.edge(row.key)) {
            row = *current;
        } else {
            row.upstream = *from;
            row.downstream = *to;
        }
        const ExecutionId downstream = row.downstream;
        randomise_columns(random, row, 3);
        row.downstream = downstream;
        transaction_.apply(changes(row));
    }

    void group(Random& random) {
        const std::uint64_t flow = random.uniform(3);
        bool gone = false;
        if (find_flow(flow_id_of(flow), gone) != nullptr) {
            // Each execution has one flow.
            core::EdgeGroup row = group_of(flow, static_cast<Eid>(flow));
            randomise_columns(random, row, 2);
            transaction_.apply(changes(row));
        }
    }

    void work(Random& random) {
        core::FlowWork row;
        randomise_columns(random, row, 0);
        row.key.flow = flow_id_of(random.uniform(3));
        core::Changes wanted;
        if (random.uniform(2) == 0) {
            wanted.delete_work.push_back(row.key);
        } else {
            wanted.put_work.push_back(row);
        }
        transaction_.apply(std::move(wanted));
    }

    void erase_flow(Random& random) {
        const FlowId id = flow_id_of(random.uniform(3));
        bool gone = false;
        if (random.uniform(1) == 0 && find_flow(id, gone) != nullptr) {
            core::Changes wanted;
            wanted.delete_flows.push_back(id);
            transaction_.apply(std::move(wanted));
        }
    }

    /// All that belongs to a flow, with what the batch did to it.
    void look_at_flow(Random& random, std::uint8_t which) {
        const FlowId flow = flow_id_of(random.uniform(3));
        const ExecutionId end = pick_id(which).value_or(id_of(0));
        core::ReadSet set;
        set.flows.push_back(flow);
        set.members.emplace_back(flow, core::ReadSet::ExecutionNeed{});
        set.edges_of_flows.push_back(flow);
        set.outbound.push_back(end);
        set.inbound.push_back(end);
        EXPECT_TRUE(store_.load(set, transaction_.snapshot));
        for (const ExecutionId& id : transaction_.snapshot.members(flow)) {
            seen_ += " " + id.to_string();
        }
        for (const auto& edges :
             {transaction_.snapshot.edges_of(flow), transaction_.snapshot.outbound(end),
              transaction_.snapshot.inbound(end)}) {
            for (const core::Edge* edge : edges) {
                seen_ += " " + edge->key.id.to_string() + std::string(to_string(edge->state));
            }
            seen_ += ";";
        }
    }

    void upkeep(Random& random) {
        const std::size_t limit = 1 + random.uniform(3);
        gone_ += store_.sweep_grants(now_, limit).value();
        gone_ += store_.sweep_idempotency(now_, limit).value();
        const auto family = static_cast<EventFamily>(random.uniform(enum_count<EventFamily>));
        gone_ += store_.trim_events(family, static_cast<std::int64_t>(random.uniform(200))).value();
    }

    Store& store_;
    Numbers& numbers_;
    const Numbers before_;
    TimestampMs now_;
    Transaction transaction_;
    std::vector<Eid> known_;
    std::vector<ExecutionId> erased_;

  public:
    std::uint64_t gone_ = 0;  // NOLINT: compared between the stores
    std::string seen_;        // NOLINT: the same
};

// ----------------------------------------------------------------------------- all that is there

/// Everything a store can be asked, as text by the name of the question.
class Picture {
  public:
    explicit Picture(Store& store) {
        auto done = store.read([&](Reader& reader) { return read(reader); });
        EXPECT_TRUE(done) << done.error().message();
        load(store);
    }

    /// Empty when both are the same.
    [[nodiscard]] std::string difference_from(const Picture& other) const {
        std::string out;
        if (!next_numbers_.empty() && !other.next_numbers_.empty() &&
            next_numbers_ != other.next_numbers_) {
            out += "next numbers: " + next_numbers_ + " but " + other.next_numbers_ + "\n";
        }
        for (const auto& [name, text] : texts_) {
            const auto it = other.texts_.find(name);
            const std::string theirs = it == other.texts_.end() ? "(not asked)" : it->second;
            if (text != theirs) {
                out += name + ":\n" + text + "but:\n" + theirs;
            }
        }
        return out.empty() && texts_.size() != other.texts_.size() ? "other questions" : out;
    }

  private:
    static constexpr std::size_t all = 1'000'000;

    struct Text final : ValueSink {
        std::string out;
        void null() override { out += "-|"; }
        void integer(std::int64_t n) override { out += std::to_string(n) + "|"; }
        void text(std::string_view t) override { out += "'" + std::string(t) + "'|"; }
        void bytes(std::string_view b) override { text(b); }
        void text_copy(const std::string& t) override { text(t); }
        void bytes_copy(const std::string& b) override { text(b); }
    };

    template <class Row>
    void note(const std::string& name, const std::vector<Row>& rows) {
        std::string& text = texts_[name];
        for (const Row& row : rows) {
            std::ostringstream os;
            if constexpr (requires { Table<Row>::name; }) {
                Text sink;
                put_columns(sink, columns_of<Row>, &row, all_columns<Row>());
                os << sink.out;
            } else if constexpr (std::is_same_v<Row, core::ReadyKey>) {
                os << row.route << '|' << row.rank << '|' << row.place << '|' << row.eid;
            } else if constexpr (std::is_same_v<Row, core::TimerKey>) {
                os << to_string(row.kind) << '|' << row.due_at << '|' << row.eid;
            } else if constexpr (requires { row.to_string(); }) {
                os << row.to_string();
            } else if constexpr (std::is_same_v<Row, core::EdgeKey>) {
                os << row.flow.to_string() << '|' << row.id.to_string();
            } else if constexpr (std::is_same_v<Row, core::FlowWorkKey>) {
                os << row.flow.to_string() << '|' << to_string(row.kind) << '|'
                   << row.execution.to_string();
            } else {
                os << to_string(row.first) << '|' << row.second;
            }
            text += os.str() + "\n";
        }
    }
    template <class Row>
    void note(const std::string& name, const std::optional<Row>& row) {
        note(name, row ? std::vector{*row} : std::vector<Row>());
    }

    expected<void> read(Reader& r) {
        FF_TRY(const auto executions, r.newest(all, all));
        note("executions", executions);
        for (const Execution& e : executions) {
            const std::string of = " of " + std::to_string(e.eid);
            FF_TRY(const auto input, r.input(e.eid));
            note("input" + of, input);
            FF_TRY(const auto attempts, r.attempts(e.eid));
            note("attempts" + of, attempts);
            FF_TRY(const auto history, r.history(e, all));
            note("history" + of, history);
            FF_TRY(const auto logged, r.log_events_of(e.eid, all));
            note("log" + of, logged);
            FF_TRY(const auto out, r.outbound(e.id));
            note("edges out" + of, out);
            FF_TRY(const auto in, r.inbound(e.id));
            note("edges in" + of, in);
            ids_.push_back(e.id);
        }
        FF_TRY(const auto routes, r.routes());
        note("routes", routes);
        for (const auto& route : routes) {
            FF_TRY(const auto found, r.newest_of_route(route.id, all, all));
            note(word("route ", static_cast<std::uint64_t>(route.id)), found);
        }
        FF_TRY(const auto lanes, r.lanes("", all));
        note("lanes", lanes);
        FF_TRY(const auto workers, r.workers({}, {}, all));
        note("workers", workers);
        FF_TRY(const auto events, r.events_after(0, all));
        note("events", events);
        FF_TRY(const auto logged, r.log_events_after(0, all));
        note("log events", logged);
        FF_TRY(const auto ready, r.ready_after({0, 0, 0}, all));
        note("ready", ready);
        FF_TRY(const auto timers, r.timers_after({core::TimerKind::lease, -1, 0}, all));
        note("timers", timers);
        FF_TRY(const auto listed, r.listed_after(core::Bucket::none, 0, all));
        note("listed", listed);
        FF_TRY_VOID(read_flows(r));
        return read_lists(r);
    }

    expected<void> read_flows(Reader& r) {
        FF_TRY(const auto flows, r.flows({}, {}, all));
        note("flows", flows);
        FF_TRY(const auto work, r.flow_work({}, all));
        note("work", work);
        for (std::uint64_t n = 0; n < 4; ++n) {
            const std::string of = " " + std::to_string(n);
            const FlowId id = flow_id_of(n);
            FF_TRY(const auto flow, r.flow(id));
            note("flow" + of, flow);
            FF_TRY(const auto partition, r.flows(static_cast<std::uint16_t>(n), {}, all));
            note("flows of partition" + of, partition);
            FF_TRY(const auto members, r.members(id, {}, all));
            note("members of" + of, members);
            FF_TRY(const auto edges, r.edges_of_flow(id));
            note("edges of" + of, edges);
            FF_TRY(const auto groups, r.groups_of_flow(id));
            note("groups of" + of, groups);
            FF_TRY(const auto own, r.flow_work(id, all));
            note("work of" + of, own);
        }
        return {};
    }

    expected<void> read_lists(Reader& r) {
        FF_TRY(const auto leased, r.newest_leased(all, all));
        note("leased", leased);
        FF_TRY(const auto due, r.leased_due({}, t0 + 1'000, all));
        note("leases due", due);
        for (std::size_t i = 0; i < enum_count<core::Bucket>; ++i) {
            FF_TRY(const auto found, r.newest_in_bucket(static_cast<core::Bucket>(i), all, all));
            note(word("bucket ", i), found);
        }
        for (std::uint16_t partition = 0; partition < 4; ++partition) {
            FF_TRY(const auto ids, r.ids_of_partition(partition, {}, all));
            note(word("partition ", partition), ids);
        }
        for (const std::string key : {"k0", "k1", "k2", "k3"}) {
            for (const std::string value : {"0", "1", "2"}) {
                FF_TRY(const auto found, r.newest_with_tag(key, value, all, all));
                note("tag " + key + "=" + value, found);
            }
        }
        return {};
    }

    /// What only the writing side can see.
    void load(Store& store) {
        Transaction transaction(store);
        core::ReadSet set;
        for (const ExecutionId& id : ids_) {
            set.need(id).grant = true;
        }
        for (std::uint64_t i = 0; i < 12; ++i) {
            set.idempotency.push_back({word("ns", i % 2), word("key", i / 2)});
        }
        EXPECT_TRUE(store.load(set, transaction.snapshot));
        for (const ExecutionId& id : ids_) {
            note("grant of " + id.to_string(), transaction.snapshot.cell(id).grant.current());
        }
        for (const auto& [key, entry] : transaction.snapshot.idempotency_entries) {
            note("key " + key.ns + " " + key.key, entry.current());
        }
        next_numbers_ = store.shared() ? ""
                                       : std::to_string(store.next_eid(t0)) + " " +
                                             std::to_string(store.next_route_id());
        note("due", store.scan_due(t0 + 1'000, all).value());
        note("due flows", store.scan_due_flows(t0 + 1'000, all).value());
        note("due work", store.scan_work(t0 + 1'000, all, transaction.snapshot).value());
        note("staged edges", store.scan_staged(t0 + 1'000, all).value());
        auto held = store.held_flows().value();
        std::ranges::sort(held);
        note("held flows", held);
        texts_["next due"] = std::to_string(store.next_due(-1).value().value_or(-1));
    }

    std::vector<ExecutionId> ids_;
    std::map<std::string, std::string> texts_;
    std::string next_numbers_;  ///< empty when they depend on more than the history
};

// ------------------------------------------------------------------------------------ the test

/// Plays the steps on both stores, some per transaction, and compares after each.
std::string play(std::span<const Step> steps, Store& one, Store& two) {
    TimestampMs now = t0;
    std::map<Store*, Numbers> numbers;
    while (!steps.empty()) {
        const std::size_t size = std::min<std::size_t>(steps.size(), 1 + steps[0].which % 6);
        const auto batch = steps.first(size);
        steps = steps.subspan(size);
        now += 100;
        std::vector<std::string> outcomes;
        for (Store* store : {&one, &two}) {
            Player player(*store, numbers[store], now);
            for (const Step& step : batch) {
                player.act(step);
            }
            outcomes.push_back(player.end(batch.back()) + word(", swept ", player.gone_) +
                               ", seen" + player.seen_);
        }
        if (outcomes[0] != outcomes[1]) {
            return outcomes[0] + " but " + outcomes[1];
        }
        const std::string difference = Picture(one).difference_from(Picture(two));
        if (!difference.empty()) {
            return difference;
        }
    }
    return {};
}

TEST(Differential, the_memory_store_and_a_sqlite_file_give_the_same_reads) {
    const auto step = rc::gen::construct<Step>(rc::gen::arbitrary<std::uint8_t>(),
                                               rc::gen::arbitrary<std::uint8_t>(),
                                               rc::gen::inRange<std::uint64_t>(0, 1U << 30));
    const bool same = rc::check("the same reads", [&] {
        const auto steps = *rc::gen::container<std::vector<Step>>(step);
        const TempDir folder;
        auto memory = MemoryStore::make({});
        EngineOptions options;
        options.synchronous = EngineOptions::Synchronous::normal;
        auto file = open_sqlite("sqlite:" + folder.file("store.db"), options);
        RC_ASSERT(file.has_value());
        const std::string difference = play(steps, *memory, **file);
        // The rows are in the file, not only in the process.
        file->reset();
        auto again = open_sqlite("sqlite:" + folder.file("store.db"), options);
        RC_ASSERT(again.has_value());
        if (!difference.empty()) {
            RC_FAIL(difference);
        }
    });
    EXPECT_TRUE(same);
}

TEST(Differential, the_memory_store_and_postgres_give_the_same_reads) {
    if (support::postgres_address().empty()) {
        GTEST_SKIP() << "there is no PostgreSQL server";
    }
    // Seeds instead of shrinking: each case has a schema of its own on a real server.
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(seed);
        std::vector<Step> steps(20 + random.uniform(60));
        for (Step& step : steps) {
            step = {static_cast<std::uint8_t>(random.uniform(255)),
                    static_cast<std::uint8_t>(random.uniform(255)), random.uniform(1U << 30)};
        }
        const TempDir folder;
        auto memory = MemoryStore::make({});
        auto postgres = open_postgres(folder.file("store"));
        ASSERT_TRUE(postgres) << postgres.error().message();
        EXPECT_EQ(play(steps, *memory, **postgres), "");
    }
}

}  // namespace
}  // namespace ff::store::test
