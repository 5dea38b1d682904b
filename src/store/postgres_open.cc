// Opening a PostgreSQL store, and connecting again.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "store/catalogue.h"
#include "store/migrate.h"
#include "store/postgres_clock.h"
#include "store/postgres_internal.h"
#include "store/sql_rows.h"

namespace ff::store {

namespace {

/// How long a writer tries to reach its database before everybody is told.
constexpr auto reconnect_for = std::chrono::seconds(10);
constexpr auto reconnect_pause = std::chrono::milliseconds(50);
constexpr auto reconnect_pause_max = std::chrono::milliseconds(1'000);

std::string random_word() {
    SystemIdSource ids;
    return ids.uuid(0).to_string();
}

}  // namespace

expected<std::unique_ptr<PostgresStore>> PostgresStore::open(const Location& location,
                                                             const EngineOptions& options,
                                                             std::shared_ptr<ServerClock> clock) {
    std::unique_ptr<PostgresStore> store(new PostgresStore);
    if (!options.clock) {
        store->clock_ = clock ? std::move(clock) : std::make_shared<ServerClock>();
    }
    FF_TRY_VOID(store->start(location, options));
    return store;
}

expected<void> PostgresStore::start(const Location& location, const EngineOptions& options) {
    url_ = location.target;
    self_ = random_word();
    warn_ = options.warn ? options.warn : [](std::string_view) {};
    readers_max_ = std::max(1, options.pool_size - 1);
    session_settings_ = std::string(plan_settings) +
                        "SET idle_in_transaction_session_timeout = 60000; SET lock_timeout = 2000;"
                        "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;"
                        "SET tcp_keepalives_count = 3; SET statement_timeout = " +
                        std::to_string(options.statement_timeout_ms) + ";";
    if (options.synchronous == EngineOptions::Synchronous::normal) {
        session_settings_ += "SET synchronous_commit = off;";
    }
    FF_TRY(info_.location, printable_url(url_));
    FF_TRY(auto connection, PgConnection::open(url_));
    FF_TRY_VOID(check_server(*connection));
    FF_TRY_VOID(check_search_path(*connection));
    FF_TRY_VOID(check_names(*connection));
    FF_TRY_VOID(check_partitions(*connection, options));  // who is refused changes nothing
    FF_TRY(info_.migration, migrate(*connection));
    FF_TRY(info_.partitions, settle_partitions(*connection, options));
    FF_TRY(connection, connect(false));
    FF_TRY(const std::string durability, connection->scalar("SHOW synchronous_commit"));
    FF_TRY(const std::string fsync, connection->scalar("SHOW fsync"));
    info_.backend = BackendTag::postgres;
    info_.family = "postgres";
    FF_TRY(info_.version, connection->scalar("SHOW server_version"));
    info_.durability = durability == "off" ? "normal (synchronous_commit = off)"
                       : fsync == "off"    ? "none (the server has fsync = off)"
                                           : "full (synchronous_commit = " + durability + ")";
    FF_TRY_VOID(set_clock(*connection));
    upkeep_ = std::make_unique<PgUpkeep>(url_, warn_);
    FF_TRY(keeper_, PgKeeper::start(url_, *connection, self_, options.notify, clock_, warn_));
    info_.wake_ups = keeper_->hears() ? "notify"
                     : options.notify == EngineOptions::Notify::off
                         ? "polling (notify is off)"
                         : "polling (notifications do not arrive)";
    FF_TRY_VOID(use(std::move(connection)));
    FF_TRY_VOID(draw_slot());
    return begin_above_old_numbers();
}

expected<void> PostgresStore::check_server(PgConnection& connection) const {
    FF_TRY(const PgServer server, server_of(connection));
    return store::check_server(server, info_.location, PgUse::write);
}

expected<void> PostgresStore::set_clock(PgConnection& connection) {
    if (!clock_) {
        return {};
    }
    FF_TRY(const ClockSample sample, ask_time(connection, clock_->local()));
    clock_->learn(sample);
    if (!sample.allows(0) && std::abs(sample.ahead()) > clocks_apart_ms_max) {
        warn_(clocks_apart(sample) + "; the server's decides");
    }
    return {};
}

expected<std::unique_ptr<PgConnection>> PostgresStore::connect(bool read_only) {
    FF_TRY(auto connection, PgConnection::open(url_));
    // Through a pooler settings would end up with somebody else.
    if (!connection->pooled()) {
        FF_TRY_VOID(connection->execute(
            session_settings_ + (read_only ? "SET default_transaction_read_only = on" : "")));
        FF_TRY(const std::string durability, connection->scalar("SHOW synchronous_commit"));
        if (durability == "off" && !session_settings_.contains("synchronous_commit")) {
            FF_TRY_VOID(connection->execute("SET synchronous_commit = on"));
        }
    }
    return connection;
}

expected<void> PostgresStore::use(std::unique_ptr<PgConnection> connection) {
    FF_TRY(timeline_,
           connection->scalar("SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)"));
    FF_TRY(started_, connection->scalar("SELECT extract(epoch FROM pg_postmaster_start_time())"));
    texts_.reset();
    db_ = std::move(connection);
    texts_.emplace(*db_);
    return refresh_routes();
}

expected<void> PostgresStore::draw_slot() {
    FF_TRY(const std::string slot, db_->scalar("SELECT nextval('ff_process_slot')"));
    FF_TRY(slot_, stored_row_number(slot));
    return {};
}

/// Numbers follow the clock. Those of a process, or of a store this one was imported from, whose
/// clock was ahead are passed over.
expected<void> PostgresStore::begin_above_old_numbers() {
    FF_TRY(const std::string highest, db_->scalar(sql::highest_eid));
    FF_TRY(const std::int64_t eid, stored_row_number(highest));
    note_eid(eid);
    return {};
}

expected<void> PostgresStore::stay_connected() {
    using Clock = std::chrono::steady_clock;
    if (db_ && db_->alive()) {
        return {};
    }
    const auto deadline = Clock::now() + reconnect_for;
    auto pause = reconnect_pause;
    for (;;) {
        const auto attempt = [this]() -> expected<void> {
            FF_TRY(auto connection, connect(false));
            FF_TRY_VOID(check_server(*connection));
            return use(std::move(connection));
        };
        auto connected = attempt();
        if (connected) {
            return {};
        }
        if (Clock::now() >= deadline) {
            return ff::fail(ErrorCode::store_io, connected.error().detail);
        }
        std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::milliseconds>(pause * 2, reconnect_pause_max);
    }
}

expected<void> PostgresStore::refresh_routes() {
    PgStatement& s = texts_->get(select_routes_above);
    s.integer(std::max<RouteId>(0, newest_route_ - route_slack));
    routes_stale_ = false;  // who makes one from here on says so again
    auto rows = select_all<core::Route>(s);
    if (!rows) {
        routes_stale_ = true;
        return std::unexpected(std::move(rows).error());
    }
    for (core::Route& row : *rows) {
        know_route(std::move(row));
    }
    return {};
}

void PostgresStore::watch(std::function<void(Heard)> heard) {
    if (!heard) {
        keeper_->watch({});
        return;
    }
    keeper_->watch([this, heard = std::move(heard)](Heard what) {
        if (what == Heard::work) {
            routes_stale_ = true;
        }
        heard(what);
    });
}

PostgresStore::PostgresStore() = default;
PostgresStore::~PostgresStore() { keeper_.reset(); }

}  // namespace ff::store
