#include "cli/bench_ceiling.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include "cli/bench_postgres.h"

namespace ff::cli {

namespace {

constexpr const char* schema = R"sql(
CREATE TABLE job (
    eid INTEGER PRIMARY KEY, id BLOB NOT NULL, route INTEGER NOT NULL, priority INTEGER NOT NULL,
    phase INTEGER NOT NULL, ownership INTEGER NOT NULL, eligibility INTEGER NOT NULL,
    reason INTEGER NOT NULL, outcome INTEGER NOT NULL, attempt_state INTEGER NOT NULL,
    public_state INTEGER NOT NULL, created_at INTEGER NOT NULL, transition_at INTEGER NOT NULL,
    mutation_at INTEGER NOT NULL, timer_at INTEGER, last_event INTEGER, started_at INTEGER,
    attempts INTEGER NOT NULL, attempt_index INTEGER, attempt_id BLOB, epoch INTEGER NOT NULL,
    lease_id BLOB, worker TEXT, lease_expires_at INTEGER, payload BLOB NOT NULL) STRICT;
CREATE UNIQUE INDEX job_by_id ON job (id);
CREATE INDEX job_by_claim ON job (route, public_state, priority, eid);
CREATE TABLE attempt (
    eid INTEGER NOT NULL, number INTEGER NOT NULL, attempt_id BLOB NOT NULL, lease_id BLOB,
    epoch INTEGER NOT NULL, worker TEXT, started_at INTEGER NOT NULL,
    PRIMARY KEY (eid, number)) STRICT, WITHOUT ROWID;
CREATE TABLE event (
    event_id INTEGER PRIMARY KEY, previous INTEGER, eid INTEGER NOT NULL, id BLOB NOT NULL,
    at INTEGER NOT NULL, type INTEGER NOT NULL, lease_id BLOB, epoch INTEGER NOT NULL,
    worker TEXT) STRICT;
)sql";

constexpr std::string_view worker_name = "worker-17";
constexpr std::int64_t start_ms = 1'700'000'000'000;

}  // namespace

expected<double> fsyncs_per_second(const std::string& folder, double seconds) {
    const std::string path = folder + "/fsync.bin";
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const std::array<char, 4'096> block{};
    std::uint64_t count = 0;
    bool sound = fd >= 0;
    const auto begun = SteadyClock::now();
    while (sound && seconds_since(begun) < seconds) {
        sound = write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()) &&
                fdatasync(fd) == 0;
        count += 1;
    }
    const double took = seconds_since(begun);
    const int fault = errno;
    if (fd >= 0) {
        close(fd);
        unlink(path.c_str());
    }
    if (!sound) {
        return ff::fail(ErrorCode::store_io,
                        fmt::format("writing {}: {}", path, std::strerror(fault)));
    }
    return static_cast<double>(count) / took;
}

std::string SqliteCeiling::id_of(std::int64_t eid) const {
    std::string id(16, '\0');
    std::memcpy(id.data(), &eid, sizeof(eid));
    // Ascending like version 7 UUIDs: big-endian.
    std::ranges::reverse(std::span(id).first(sizeof(eid)));
    return id;
}

expected<std::unique_ptr<SqliteCeiling>> SqliteCeiling::make(const std::string& folder,
                                                             std::int64_t rows) {
    std::unique_ptr<SqliteCeiling> ceiling(new SqliteCeiling);
    ceiling->path_ = folder + "/ceiling.db";
    ceiling->rows_ = rows;
    FF_TRY(ceiling->db_, store::SqliteDb::open(ceiling->path_, store::OpenMode::write, 1'000));
    FF_TRY_VOID(
        ceiling->db_->execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                              "PRAGMA secure_delete = OFF; PRAGMA cache_size = -8192"));
    FF_TRY_VOID(ceiling->db_->execute(schema));
    FF_TRY_VOID(ceiling->prepare());
    FF_TRY_VOID(ceiling->fill());
    return ceiling;
}

SqliteCeiling::~SqliteCeiling() {
    for (store::Statement* statement : {&begin_, &commit_, &select_, &insert_attempt_,
                                        &update_lease_, &update_progress_, &insert_event_}) {
        *statement = {};
    }
    db_.reset();
    std::error_code ignored;
    for (const char* tail : {"", "-wal", "-shm"}) {
        std::filesystem::remove(path_ + tail, ignored);
    }
}

expected<void> SqliteCeiling::prepare() {
    FF_TRY(begin_, db_->prepare("BEGIN IMMEDIATE"));
    FF_TRY(commit_, db_->prepare("COMMIT"));
    FF_TRY(select_, db_->prepare("SELECT eid, route, priority, phase, ownership, public_state,"
                                 " attempts, epoch, last_event, lease_expires_at FROM job"
                                 " WHERE id = $1"));
    FF_TRY(insert_attempt_,
           db_->prepare("INSERT INTO attempt (eid, number, attempt_id, lease_id, epoch, worker,"
                        " started_at) VALUES ($1, $2, $3, $4, $5, $6, $7)"));
    FF_TRY(update_lease_,
           db_->prepare("UPDATE job SET phase = $1, public_state = $2, attempts = $3,"
                        " attempt_id = $4, epoch = $5, lease_id = $6, worker = $7,"
                        " lease_expires_at = $8, transition_at = $9 WHERE eid = $10"));
    FF_TRY(update_progress_,
           db_->prepare("UPDATE job SET mutation_at = $1, timer_at = $2, last_event = $3"
                        " WHERE eid = $4"));
    FF_TRY(insert_event_,
           db_->prepare("INSERT INTO event (event_id, previous, eid, id, at, type, lease_id, epoch,"
                        " worker) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"));
    return {};
}

expected<void> SqliteCeiling::fill() {
    FF_TRY(store::Statement insert,
           db_->prepare("INSERT INTO job (eid, id, route, priority, phase, ownership, eligibility,"
                        " reason, outcome, attempt_state, public_state, created_at, transition_at,"
                        " mutation_at, attempts, epoch, payload) VALUES ($1, $2, $3, $4, 1, 0, 0,"
                        " 1, 0, 1, 0, $5, $6, $7, 0, 0, $8)"));
    const std::string payload(100, 'x');
    FF_TRY_VOID(begin_.run());
    for (std::int64_t eid = 0; eid < rows_; ++eid) {
        const std::string id = id_of(eid);
        insert.integer(eid);
        insert.bytes(id);
        insert.integer(1);
        insert.integer(eid % 3);
        insert.integer(start_ms + eid);
        insert.integer(start_ms + eid);
        insert.integer(start_ms + eid);
        insert.bytes(payload);
        FF_TRY_VOID(insert.run());
    }
    FF_TRY_VOID(commit_.run());
    return db_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

expected<void> SqliteCeiling::operation() {
    const std::int64_t number = next_++;
    // In the order they were created, as a queue is worked off: neighbours share pages.
    const std::string id = id_of(number % rows_);
    select_.bytes(id);
    FF_TRY(const bool found, select_.step());
    if (!found) {
        return ff::fail(ErrorCode::internal, "the ceiling's job is missing");
    }
    const std::int64_t eid = select_.integer();
    select_.skip();
    select_.skip();
    select_.skip();
    select_.skip();
    const bool running = select_.integer() != 0;
    const std::int64_t attempts = select_.integer() + 1;
    const std::int64_t epoch = select_.integer() + 1;
    const std::int64_t previous = select_.integer();
    select_.reset();
    const std::int64_t now = start_ms + number;

    insert_attempt_.integer(eid);
    insert_attempt_.integer(attempts);
    insert_attempt_.bytes(id);
    insert_attempt_.bytes(id);
    insert_attempt_.integer(epoch);
    insert_attempt_.text(worker_name);
    insert_attempt_.integer(now);
    FF_TRY_VOID(insert_attempt_.run());

    update_lease_.integer(running ? 1 : 2);
    update_lease_.integer(running ? 0 : 4);
    update_lease_.integer(attempts);
    update_lease_.bytes(id);
    update_lease_.integer(epoch);
    update_lease_.bytes(id);
    update_lease_.text(worker_name);
    update_lease_.integer(now + 30'000);
    update_lease_.integer(now);
    update_lease_.integer(eid);
    FF_TRY_VOID(update_lease_.run());

    update_progress_.integer(now);
    update_progress_.integer(now + 30'000);
    update_progress_.integer(number);
    update_progress_.integer(eid);
    FF_TRY_VOID(update_progress_.run());

    insert_event_.integer(number);
    insert_event_.integer(previous);
    insert_event_.integer(eid);
    insert_event_.bytes(id);
    insert_event_.integer(now);
    insert_event_.integer(1);
    insert_event_.bytes(id);
    insert_event_.integer(epoch);
    insert_event_.text(worker_name);
    return insert_event_.run();
}

expected<double> SqliteCeiling::operations_per_second(int per_transaction, double seconds) {
    std::uint64_t count = 0;
    const auto begun = SteadyClock::now();
    do {
        FF_TRY_VOID(begin_.run());
        for (int i = 0; i < per_transaction; ++i) {
            FF_TRY_VOID(operation());
        }
        FF_TRY_VOID(commit_.run());
        count += static_cast<std::uint64_t>(per_transaction);
    } while (seconds_since(begun) < seconds);
    return static_cast<double>(count) / seconds_since(begun);
}

std::int64_t ceiling_rows(const BenchOptions& options) { return options.quick ? 10'000 : 100'000; }

expected<void> bench_ceilings(const BenchOptions& options, const std::string& folder,
                              Figures& figures) {
    if (options.store == BenchStore::postgres) {
        return bench_postgres_ceilings(options, figures);
    }
    const double seconds = options.quick ? 0.1 : 2.0;
    figures.progress("ceiling.fsync");
    FF_TRY(const double fsyncs, fsyncs_per_second(folder, seconds));
    FF_TRY_VOID(figures.add({"ceiling.fsync", "file", fsyncs, "/s", {}, {}, "fdatasync"}));
    figures.progress("the ceiling's table");
    FF_TRY(const auto ceiling, SqliteCeiling::make(folder, ceiling_rows(options)));
    for (const int per_transaction : {1, 64, 512}) {
        const std::string name = fmt::format("ceiling.sqlite_{}", per_transaction);
        figures.progress(name);
        FF_TRY(const double rate, ceiling->operations_per_second(per_transaction, seconds));
        FF_TRY_VOID(figures.add({name, "sqlite", rate, "/s", {}, {}, "full"}));
    }
    figures.print_table("ceilings");
    return {};
}

}  // namespace ff::cli
