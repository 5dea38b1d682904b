#include "store/postgres_upkeep.h"

#include <algorithm>
#include <utility>

namespace ff::store {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds round = seconds(1);
/// After a failure, or what had no effect.
constexpr milliseconds much_later = seconds(60);
/// What takes time gets at most this part of it.
constexpr int share = 10;
/// How long an end waits before it breaks off what is under way.
constexpr milliseconds patience{200};

/// Fewer dead rows than these slow nobody down.
constexpr std::uint64_t deleted_min = 2'000;

/// A session tells of the rows it wrote once a second while it is at work, and from version 15 on
/// ten seconds after its last transaction.
constexpr milliseconds counted_within = seconds(15);
constexpr milliseconds look_every = seconds(2);
/// For a queue that fills and empties all the time a table is not analyzed more often: each time
/// every session makes its plans anew.
constexpr milliseconds analyze_every = seconds(5);

/// The tables that hold ten times the rows the planner knows of, and that this role may analyze.
/// Few rows are found quickly, whatever the plan.
const std::string outgrown_tables =
    "SELECT CAST(CAST(c.oid AS regclass) AS text) FROM pg_class c"
    " WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'ff_meta'::regclass)"
    " AND c.relkind = 'r' AND starts_with(c.relname, 'ff_')"
    " AND pg_has_role(c.relowner, 'USAGE')"
    " AND pg_stat_get_live_tuples(c.oid) >= 500"
    " AND pg_stat_get_live_tuples(c.oid) >= 10 * c.reltuples ORDER BY c.oid";

}  // namespace

PgUpkeep::PgUpkeep(std::string url, WarnFn warn)
    : url_(std::move(url)), warn_(std::move(warn)), thread_([this] { run(); }) {}

PgUpkeep::~PgUpkeep() {
    {
        std::unique_lock lock(stop_mutex_);
        stop_ = true;
        stopped_.notify_all();
        // Again and again: what is to be broken off may only be about to begin.
        while (!stopped_.wait_for(lock, patience, [this] { return ended_; })) {
            if (connection_) {
                connection_->cancel();
            }
        }
    }
    thread_.join();
}

void PgUpkeep::note_commit(std::uint64_t deleted) {
    deleted_ += deleted;
    written_ = true;
}

bool PgUpkeep::rest(milliseconds time) {
    std::unique_lock lock(stop_mutex_);
    return stopped_.wait_for(lock, time, [this] { return stop_; });
}

bool PgUpkeep::connected() {
    if (connection_ && connection_->alive()) {
        return true;
    }
    auto fresh = PgConnection::open(url_);
    std::lock_guard lock(stop_mutex_);
    connection_ = fresh ? std::move(*fresh) : nullptr;
    return connection_ != nullptr;
}

void PgUpkeep::run() {
    work();
    std::lock_guard lock(stop_mutex_);
    ended_ = true;
    stopped_.notify_all();
}

void PgUpkeep::work() {
    while (!rest(round)) {
        const bool grown = growth_due();
        if ((!vacuum_due() && !grown) || !connected()) {
            continue;
        }
        if (vacuum_due()) {
            vacuum_queues();
        }
        if (grown) {
            analyze_grown();
        }
    }
}

bool PgUpkeep::did(const std::string& statement, std::string_view what) {
    const auto done = connection_->execute(statement);
    if (!done && connection_->alive() && !rest(milliseconds(0))) {
        warn_(std::string(what) + ": " + done.error().message());
    }
    return done.has_value();
}

bool PgUpkeep::vacuum_due() const { return deleted_ >= deleted_min && Clock::now() >= vacuum_at_; }

void PgUpkeep::vacuum_queues() {
    deleted_ = 0;
    const auto started = Clock::now();
    // From 14 on it passes over the indexes when few rows are dead; those few are the heads of
    // queues that every claim walks over.
    constexpr int passes_over = 140'000;
    const std::string indexes =
        connection_->server_version() >= passes_over ? ", INDEX_CLEANUP ON" : "";
    // Another process may be at it already; one is enough.
    const bool done = did("VACUUM (SKIP_LOCKED, TRUNCATE FALSE" + indexes +
                              ") ff_ready, ff_timer, ff_turn, ff_flow_work",
                          "VACUUM of the queue tables");
    const auto ended = Clock::now();
    vacuum_at_ = ended + (done ? (ended - started) * share : much_later);
}

bool PgUpkeep::growth_due() {
    const auto now = Clock::now();
    if (written_.exchange(false)) {
        look_until_ = now + counted_within;
    }
    return now >= look_at_ && now < look_until_;
}

expected<std::vector<std::string>> PgUpkeep::find_grown() {
    connection_->queue(outgrown_tables);
    FF_TRY(auto answers, connection_->run_queued());
    std::vector<std::string> tables;
    const auto now = Clock::now();
    for (PgRows& rows = answers.front(); rows.next();) {
        std::string table(rows.bytes());
        const auto again = again_at_.find(table);
        if (again == again_at_.end() || now >= again->second) {
            tables.push_back(std::move(table));
        }
    }
    return tables;
}

/// One by one: the queues are not left for long, and an end is not kept waiting.
void PgUpkeep::analyze_grown() {
    const auto started = Clock::now();
    look_at_ = started + look_every;
    const auto tables = find_grown();
    if (!tables) {
        return;  // there is another look
    }
    for (const std::string& table : *tables) {
        if (rest(milliseconds(0)) || !connection_->alive()) {
            break;
        }
        const bool done =
            did("ANALYZE (SKIP_LOCKED) " + table, "ANALYZE of " + table + ", which has grown");
        again_at_[table] = Clock::now() + (done ? analyze_every : much_later);
        if (vacuum_due() && connection_->alive()) {
            vacuum_queues();
        }
    }
    const auto ended = Clock::now();
    look_at_ = ended + std::max<Clock::duration>(look_every, (ended - started) * share);
}

}  // namespace ff::store
