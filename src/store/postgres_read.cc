// The reading side of a PostgreSQL store: connections beside the writer's.
#include <functional>
#include <utility>

#include "store/postgres_internal.h"

namespace ff::store {

std::unique_ptr<PostgresStore::ReadConnection> PostgresStore::take_reader() {
    std::unique_lock lock(readers_mutex_);
    reader_free_.wait(lock, [&] { return !readers_.empty() || readers_made_ < readers_max_; });
    if (readers_.empty()) {
        readers_made_ += 1;
        return nullptr;  // may be made
    }
    auto reader = std::move(readers_.back());
    readers_.pop_back();
    return reader;
}

void PostgresStore::give_reader(std::unique_ptr<ReadConnection> reader) {
    {
        std::lock_guard lock(readers_mutex_);
        if (reader && reader->usable && reader->db->alive()) {
            readers_.push_back(std::move(reader));
        } else {
            readers_made_ -= 1;
        }
    }
    reader_free_.notify_one();
}

expected<void> PostgresStore::read_on(ReadConnection& reader,
                                      const std::function<expected<void>(Reader&)>& body) {
    reader.db->queue("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");  // with the first read
    auto done = body(reader.reader);
    if (reader.db->anything_queued()) {
        reader.db->forget_queued();  // it has read nothing
        return done;
    }
    if (reader.db->alive()) {
        reader.db->queue(done ? "COMMIT" : "ROLLBACK");
        // If that fails what was read is true all the same.
        reader.usable = reader.db->run_queued().has_value();
    }
    return done;
}

expected<void> PostgresStore::with_reader(
    const std::function<expected<void>(ReadConnection&)>& body) {
    for (bool again = true;; again = false) {
        auto reader = take_reader();
        if (!reader) {
            auto connection = connect(true);
            if (!connection) {
                give_reader(nullptr);
                return ff::fail(ErrorCode::store_io, connection.error().detail);
            }
            reader = std::make_unique<ReadConnection>(std::move(*connection));
        }
        const std::uint64_t trips = reader->db->round_trips();
        auto done = body(*reader);
        // A body that has read something may have taken notes of it, and must not run again.
        const bool lost_at_once =
            !done && !reader->db->alive() && reader->db->round_trips() == trips;
        give_reader(std::move(reader));
        if (!lost_at_once || !again) {
            return done;
        }
        // The others are lost too, most likely: a restart of the server ends all.
        std::lock_guard lock(readers_mutex_);
        readers_made_ -= static_cast<int>(readers_.size());
        readers_.clear();
    }
}

expected<void> PostgresStore::read(const std::function<expected<void>(Reader&)>& body) {
    return with_reader([&](ReadConnection& reader) { return read_on(reader, body); });
}

expected<StoreSize> size_of_tables(PgConnection& connection) {
    // With their indexes and what is kept out of line. Others may use the same database.
    FF_TRY(
        const std::string bytes,
        connection.scalar("SELECT CAST(COALESCE(SUM(pg_total_relation_size(c.oid)), 0) AS BIGINT)"
                          " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                          " WHERE n.nspname = current_schema() AND c.relkind = 'r'"
                          " AND starts_with(c.relname, 'ff_')"));
    return StoreSize{std::stoull(bytes), 0};
}

expected<StoreSize> PostgresStore::size() {
    StoreSize size;
    FF_TRY_VOID(with_reader([&](ReadConnection& reader) -> expected<void> {
        FF_TRY(size, size_of_tables(*reader.db));
        return {};
    }));
    return size;
}

}  // namespace ff::store
