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

/// Fewer dead rows than these slow nobody down.
constexpr std::uint64_t deleted_min = 2'000;

/// A session tells of the rows it wrote once a second while it is at work, and ten seconds after
/// its last transaction.
constexpr milliseconds counted_within = seconds(15);
constexpr milliseconds look_every = seconds(2);

/// The tables that hold ten times the rows the planner knows of, by name. Few rows are found
/// quickly, whatever the plan.
const std::string outgrown_tables =
    "SELECT COALESCE(string_agg(CAST(CAST(c.oid AS regclass) AS text), ', ' ORDER BY c.oid), '')"
    " FROM pg_class c"
    " WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'ff_meta'::regclass)"
    " AND c.relkind = 'r' AND starts_with(c.relname, 'ff_')"
    " AND pg_stat_get_live_tuples(c.oid) >= 500"
    " AND pg_stat_get_live_tuples(c.oid) >= 10 * c.reltuples";

}  // namespace

PgUpkeep::PgUpkeep(std::string url, WarnFn warn)
    : url_(std::move(url)), warn_(std::move(warn)), thread_([this] { run(); }) {}

PgUpkeep::~PgUpkeep() {
    {
        std::lock_guard lock(stop_mutex_);
        stop_ = true;
    }
    stopped_.notify_all();
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
    if (!connection_ || !connection_->alive()) {
        auto fresh = PgConnection::open(url_);
        connection_ = fresh ? std::move(*fresh) : nullptr;
    }
    return connection_ != nullptr;
}

void PgUpkeep::run() {
    while (!rest(round)) {
        const bool dead = deleted_ >= deleted_min && Clock::now() >= vacuum_at_;
        const bool grown = growth_due();
        if ((!dead && !grown) || !connected()) {
            continue;
        }
        if (grown) {
            analyze_grown();
        }
        if (dead) {
            vacuum_queues();
        }
    }
}

void PgUpkeep::vacuum_queues() {
    deleted_ = 0;
    const auto started = Clock::now();
    // From 14 on it passes over the indexes when few rows are dead; those few are the heads of
    // queues that every claim walks over.
    constexpr int passes_over = 140'000;
    const std::string indexes =
        connection_->server_version() >= passes_over ? ", INDEX_CLEANUP ON" : "";
    // Another process may be at it already; one is enough.
    const auto done = connection_->execute("VACUUM (SKIP_LOCKED, TRUNCATE FALSE" + indexes +
                                           ") ff_ready, ff_timer, ff_turn, ff_flow_work");
    const auto ended = Clock::now();
    vacuum_at_ = ended + (ended - started) * share;
    if (!done && connection_->alive()) {
        warn_("VACUUM of the queue tables: " + done.error().message());
        vacuum_at_ = ended + much_later;
    }
}

bool PgUpkeep::growth_due() {
    const auto now = Clock::now();
    if (written_.exchange(false)) {
        look_until_ = now + counted_within;
    }
    return now >= look_at_ && now < look_until_;
}

void PgUpkeep::analyze_grown() {
    const auto started = Clock::now();
    look_at_ = started + look_every;
    const auto tables = connection_->scalar(outgrown_tables);
    if (!tables || tables->empty()) {
        analyzed_.clear();
        return;  // without an answer there is another look
    }
    const auto done = connection_->execute("ANALYZE (SKIP_LOCKED) " + *tables);
    const auto ended = Clock::now();
    look_at_ = ended + std::max<Clock::duration>(look_every, (ended - started) * share);
    if (!done && connection_->alive()) {
        warn_("ANALYZE of the tables that have grown: " + done.error().message());
        look_at_ = ended + much_later;
    } else if (std::exchange(analyzed_, *tables) == *tables) {
        look_at_ = ended + much_later;  // they are another role's, who must see to them
    }
}

}  // namespace ff::store
