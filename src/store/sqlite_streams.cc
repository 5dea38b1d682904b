// Streams of a SQLite store.
#include "store/sql_scans.h"
#include "store/sqlite_internal.h"

namespace ff::store {

using core::StreamKey;
using core::StreamTable;

expected<void> SqliteStore::load_streams(const core::StreamReads& reads, core::Snapshot& snapshot) {
    StreamTable& streams = snapshot.streams;
    const auto bound = [&](const std::string& text, const StreamKey& key) -> Statement& {
        Statement& s = hot_->texts.get(text);
        s.integer(key.eid);
        s.integer(key.attempt_index);
        return s;
    };
    for (const StreamKey& key : reads.metas) {
        if (!streams.knows_meta(key)) {
            FF_TRY(auto row, select_one<core::StreamMeta>(bound(sql::stream_meta_by_key, key)));
            streams.load_meta(key, std::move(row));
        }
    }
    for (const StreamKey& key : reads.summaries) {
        if (!streams.knows_summary(key)) {
            FF_TRY(auto row, select_one<core::SummaryRow>(bound(sql::summary_by_key, key)));
            streams.load_summary(key, std::move(row));
        }
    }
    for (const StreamKey& key : reads.attempts) {
        core::ExecutionCell* cell = snapshot.find_cell(key.eid);
        if (cell != nullptr && !cell->attempts[key.attempt_index].loaded) {
            FF_TRY(auto row, select_one<core::Attempt>(bound(sql::attempt_by_key, key)));
            cell->attempts[key.attempt_index].load(std::move(row));
        }
    }
    return {};
}

expected<std::vector<StreamKey>> SqliteStore::scan_streams(TimestampMs now, std::size_t limit) {
    return streams_to_sweep(hot_->texts, now, limit);
}

expected<void> SqliteStore::write_streams(const StreamTable& streams) {
    for (const core::FrameRow& row : streams.frames) {
        FF_TRY_VOID(hot_->frames.insert(row));
        rows_written_ += 1;
    }
    const auto write = [&](auto& writer, const auto& tracked) -> expected<void> {
        for (const auto& [key, row] : tracked) {
            if (row.dirty && row.current()) {
                FF_TRY_VOID(row.stored ? writer.update(*row.stored, *row.current())
                                       : writer.insert(*row.current()));
                rows_written_ += 1;
            } else if (row.dirty && row.stored) {
                FF_TRY_VOID(writer.erase(*row.stored));
            }
        }
        return {};
    };
    FF_TRY_VOID(write(hot_->stream_metas, streams.metas));
    FF_TRY_VOID(write(hot_->summaries, streams.summaries));
    for (const auto& [key, count] : streams.trims) {
        Statement& s = hot_->texts.get(sql::frames_trim(key.second));
        s.integer(key.first.eid);
        s.integer(key.first.attempt_index);
        s.integer(static_cast<std::int64_t>(count - 1));
        FF_TRY_VOID(s.run());
        rows_written_ += count;
    }
    return {};
}

expected<void> SqliteStore::erase_streams(Eid eid) {
    for (const std::string* text :
         {&sql::frames_delete, &sql::stream_metas_delete, &sql::summaries_delete}) {
        Statement& s = hot_->texts.get(*text);
        s.integer(eid);
        FF_TRY_VOID(s.run());
    }
    return {};
}

}  // namespace ff::store
