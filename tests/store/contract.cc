#include "store/contract.h"

#include <unistd.h>

#include <filesystem>

#include "store/location.h"
#include "store/memory_store.h"
#include "store/postgres_store.h"
#include "store/sqlite_store.h"
#include "support/postgres.h"

namespace ff::store::test {

using core::Bucket;
using core::Execution;

// ------------------------------------------------------------------------------------ backends

expected<std::unique_ptr<Store>> open_sqlite(const std::string& location,
                                             const EngineOptions& options) {
    FF_TRY(const Location where, parse_location(location));
    FF_TRY(std::unique_ptr<Store> store, SqliteStore::open(where, options));
    return store;
}

expected<std::unique_ptr<Store>> open_postgres(const std::string& name) {
    FF_TRY(const Location location, parse_location(support::postgres_store(name)));
    return PostgresStore::open(location, {.flow_partitions = 1});
}

const std::vector<Backend>& contract_backends() {
    static const std::vector<Backend> backends = [] {
        std::vector<Backend> all{
            {"memory", false,
             [](const std::string&) -> expected<std::unique_ptr<Store>> {
                 return MemoryStore::make({});
             }},
            {"sqlite_memory", false, [](const std::string&) { return open_sqlite(":memory:"); }},
            {"sqlite_file", true,
             [](const std::string& folder) {
                 return open_sqlite("sqlite:" + folder + "/store.db");
             }},
        };
        if (!support::postgres_address().empty()) {
            all.push_back({"postgres", true, open_postgres});
        }
        return all;
    }();
    return backends;
}

// --------------------------------------------------------------------------------- transactions

Transaction::Transaction(Store& store) : snapshot(store.routes()), store_(store) {
    auto begun = store.begin();
    EXPECT_TRUE(begun) << begun.error().message();
}

Transaction::~Transaction() { store_.rollback(); }

void Transaction::apply(core::Changes changes) {
    core::ReadSet set;
    for (const auto& row : changes.put_executions) {
        auto& need = set.need(row.id, core::InputNeed::always);
        need.grant = true;
        need.attempt = true;
    }
    for (const auto& row : changes.put_lanes) {
        set.lanes.push_back(row.name);
    }
    for (const auto& row : changes.put_idempotency) {
        set.idempotency.push_back(row.key);
    }
    for (const auto& row : changes.put_workers) {
        set.workers.push_back(row.key);
    }
    for (const auto& row : changes.put_webhooks) {
        set.webhooks.push_back(row.id);
    }
    set.webhooks.insert(set.webhooks.end(), changes.delete_webhooks.begin(),
                        changes.delete_webhooks.end());
    for (const auto& row : changes.put_flows) {
        set.flows.push_back(row.id);
    }
    set.flows.insert(set.flows.end(), changes.delete_flows.begin(), changes.delete_flows.end());
    for (const auto& row : changes.put_edges) {
        set.edges.push_back(row.key);
    }
    for (const auto& row : changes.put_groups) {
        set.groups.emplace_back(row.flow, row.downstream);
    }
    for (const auto& row : changes.put_suspensions) {
        snapshot.waits.suspensions[row.key].load(
            look(store_, [&](Reader& r) { return r.suspension(row.key); }));
    }
    for (const auto& row : changes.put_waitpoints) {
        set.waits.waitpoints.push_back(row.id);
    }
    for (const auto& row : changes.put_signals) {
        set.waits.signals.emplace_back(row.key.eid, row.id);
    }
    for (const auto& row : changes.put_satisfiers) {
        set.waits.satisfiers.push_back(row.key);
    }
    for (const auto& row : changes.put_budgets) {
        set.limits.budgets.push_back(row.id);
    }
    for (const auto& row : changes.put_ledgers) {
        set.limits.ledgers.push_back(row.key);
    }
    for (const auto& row : changes.put_dedups) {
        set.limits.dedups.push_back(row.key);
    }
    for (const auto& row : changes.put_policies) {
        set.limits.policies.push_back(row.id);
    }
    for (const auto& row : changes.put_admissions) {
        set.limits.admissions.push_back(row.key);
    }
    for (const auto& row : changes.put_streams) {
        set.streams.metas.push_back(row.key);
    }
    for (const auto& row : changes.put_summaries) {
        set.streams.summaries.push_back(row.key);
    }
    set.waits.keys = !changes.put_hmac_keys.empty() || !changes.delete_hmac_keys.empty();
    auto loaded = store_.load(set, snapshot);
    EXPECT_TRUE(loaded) << loaded.error().message();

    std::vector<Eid> known;
    for (const auto& row : changes.put_inputs) {
        known.push_back(row.eid);
    }
    for (const auto& row : changes.put_attempts) {
        known.push_back(row.eid);
    }
    for (const auto& row : changes.put_grants) {
        known.push_back(row.eid);
    }
    known.insert(known.end(), changes.delete_grants.begin(), changes.delete_grants.end());
    loaded = store_.load(known, core::InputNeed::always, true, snapshot);
    EXPECT_TRUE(loaded) << loaded.error().message();
    // A retention delete knows no more than the number.
    loaded = store_.load(changes.delete_executions, core::InputNeed::none, false, snapshot);
    EXPECT_TRUE(loaded) << loaded.error().message();
    snapshot.apply(std::move(changes));
}

void load(Store& store, Transaction& transaction, const core::ReadSet& set) {
    auto loaded = store.load(set, transaction.snapshot);
    ASSERT_TRUE(loaded) << loaded.error().message();
}

expected<void> Transaction::commit(TimestampMs now) {
    return store_.commit(snapshot, now, retention);
}

std::string older_schema(Dialect dialect, int version) {
    std::string text = expand(
        "CREATE TABLE ff_schema_migration (version @int PRIMARY KEY, name @text NOT NULL,"
        " checksum @text NOT NULL) @table;\n",
        dialect);
    for (const Migration& migration : migrations()) {
        if (migration.version <= version) {
            text += expand(migration.text, dialect) +
                    "\nINSERT INTO ff_schema_migration (version, name, checksum) VALUES (" +
                    std::to_string(migration.version) + ", '" + std::string(migration.name) +
                    "', '" + checksum(migration) + "');\n";
        }
    }
    return text;
}

void put(Store& store, core::Changes changes, TimestampMs now) {
    Transaction transaction(store);
    transaction.apply(std::move(changes));
    auto done = transaction.commit(now);
    ASSERT_TRUE(done) << done.error().message();
    done = store.make_durable();
    ASSERT_TRUE(done) << done.error().message();
}

std::optional<Execution> find_execution(Store& store, Eid eid) {
    auto found = look(store, [&](Reader& r) { return r.newest(eid + 1, 1); });
    return found.empty() || found[0].eid != eid ? std::nullopt : std::optional(found[0]);
}

std::optional<core::GrantRow> find_grant(Store& store, const ExecutionId& id) {
    Transaction transaction(store);
    core::ReadSet set;
    set.need(id).grant = true;
    auto loaded = store.load(set, transaction.snapshot);
    EXPECT_TRUE(loaded) << loaded.error().message();
    return transaction.snapshot.cell(id).grant.current();
}

std::optional<core::IdempotencyEntry> find_idempotency(Store& store,
                                                       const core::IdempotencyKey& key) {
    Transaction transaction(store);
    core::ReadSet set;
    set.idempotency.push_back(key);
    auto loaded = store.load(set, transaction.snapshot);
    EXPECT_TRUE(loaded) << loaded.error().message();
    return transaction.snapshot.idempotency_entries[key].current();
}

std::optional<core::WorkerRow> find_worker(Store& store, const core::WorkerKey& key) {
    Transaction transaction(store);
    core::ReadSet set;
    set.workers.push_back(key);
    auto loaded = store.load(set, transaction.snapshot);
    EXPECT_TRUE(loaded) << loaded.error().message();
    return transaction.snapshot.workers[key].current();
}

namespace {

template <class Rows>
std::vector<Eid> collect_eids(const Rows& rows) {
    std::vector<Eid> out;
    for (const auto& row : rows) {
        out.push_back(row.eid);
    }
    return out;
}

}  // namespace

std::vector<Eid> eids(const std::vector<Execution>& executions) { return collect_eids(executions); }
std::vector<Eid> eids(const std::vector<core::ReadyKey>& keys) { return collect_eids(keys); }
std::vector<Eid> eids(const std::vector<core::TimerKey>& keys) { return collect_eids(keys); }

std::uint64_t upkeep(Store& store, const std::function<expected<std::uint64_t>(Store&)>& work) {
    EXPECT_TRUE(store.begin());
    auto gone = work(store);
    EXPECT_TRUE(gone) << gone.error().message();
    EXPECT_TRUE(store.commit_upkeep());
    EXPECT_TRUE(store.make_durable());
    return gone.value_or(0);
}

// ------------------------------------------------------------------------------------ the suite

void StoreContract::SetUp() {
    auto opened = GetParam().open(folder_.path());
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
}

void StoreContract::reopen() {
    ASSERT_TRUE(GetParam().survives_close);
    store_.reset();
    SetUp();
}

RouteId StoreContract::route(const std::string& lane, const std::string& ns,
                             const std::string& kind, const std::string& capabilities) {
    core::Route row;
    row.id = store_->next_route_id();
    row.key = {lane, ns, kind, capabilities};
    put(*store_, changes(row));
    return row.id;
}

}  // namespace ff::store::test
