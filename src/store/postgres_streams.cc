// Streams of a PostgreSQL store. The row of their execution is their lock: they are asked for
// behind it and not locked themselves.
#include <array>
#include <utility>

#include "store/postgres_internal.h"
#include "store/sql_scans.h"

namespace ff::store {

using core::StreamKey;
using core::StreamTable;

void PostgresStore::ask_streams(Questions& questions, const core::StreamReads& reads,
                                core::Snapshot& snapshot) {
    StreamTable& streams = snapshot.streams;
    const auto knows_attempt = [&](const StreamKey& key) {
        core::ExecutionCell* cell = snapshot.find_cell(key.eid);
        return cell == nullptr || cell->attempts[key.attempt_index].loaded;
    };
    questions.ask_rows<core::Attempt>(
        attempts_by_key, not_known(reads.attempts, knows_attempt),
        [](const core::Attempt& row) { return StreamKey{row.eid, row.attempt_index}; },
        [&snapshot](const StreamKey& key, std::optional<core::Attempt> row) {
            snapshot.find_cell(key.eid)->attempts[key.attempt_index].load(std::move(row));
        },
        &StreamKey::eid, &StreamKey::attempt_index);
    questions.ask_rows<core::StreamMeta>(
        stream_metas_by_key,
        not_known(reads.metas, [&](const auto& key) { return streams.knows_meta(key); }),
        [](const core::StreamMeta& row) { return row.key; },
        [&streams](const StreamKey& key, std::optional<core::StreamMeta> row) {
            streams.load_meta(key, std::move(row));
        },
        &StreamKey::eid, &StreamKey::attempt_index);
    questions.ask_rows<core::SummaryRow>(
        summaries_by_key,
        not_known(reads.summaries, [&](const auto& key) { return streams.knows_summary(key); }),
        [](const core::SummaryRow& row) { return row.key; },
        [&streams](const StreamKey& key, std::optional<core::SummaryRow> row) {
            streams.load_summary(key, std::move(row));
        },
        &StreamKey::eid, &StreamKey::attempt_index);
}

expected<std::vector<StreamKey>> PostgresStore::scan_streams(TimestampMs now, std::size_t limit) {
    begun_ = true;
    return streams_to_sweep(*texts_, now, limit);
}

void PostgresStore::collect_streams(const StreamTable& streams, Writes& writes) {
    for (const core::FrameRow& row : streams.frames) {
        writes.frames.insert(row);
    }
    const auto collect = [](auto& rows, const auto& tracked) {
        for (const auto& [key, row] : tracked) {
            if (row.dirty && row.current()) {
                rows.change(row.stored, *row.current());
            } else if (row.dirty && row.stored) {
                rows.erase(*row.stored);
            }
        }
    };
    collect(writes.stream_metas, streams.metas);
    collect(writes.summaries, streams.summaries);
}

namespace {

/// Deletes the oldest frames of a mode: $3 of them in each stream of $1, $2. The mode is a literal,
/// so that the index of the rarer ones is used. The last that goes is looked for once for each
/// stream: within the join the planner may do it for each frame, which takes minutes for many.
std::string trim_text(FrameMode mode) {
    const std::string number = std::to_string(static_cast<int>(mode));
    return "WITH last AS MATERIALIZED (SELECT u.eid, u.attempt_index, t.ms, t.seq"
           " FROM unnest($1, $2, $3) AS u(eid, attempt_index, n),"
           " LATERAL (SELECT s.ms, s.seq FROM ff_stream_frame s WHERE s.eid = u.eid"
           " AND s.attempt_index = u.attempt_index AND s.mode = " +
           number +
           " ORDER BY s.ms, s.seq LIMIT 1 OFFSET u.n - 1) t)"
           " DELETE FROM ff_stream_frame f USING last WHERE f.eid = last.eid"
           " AND f.attempt_index = last.attempt_index AND f.mode = " +
           number + " AND (f.ms, f.seq) <= (last.ms, last.seq)";
}

}  // namespace

void PostgresStore::queue_trims(const StreamTable& streams) {
    static const std::array texts{trim_text(FrameMode::durable), trim_text(FrameMode::summary),
                                  trim_text(FrameMode::best_effort)};
    for (std::size_t mode = 0; mode < texts.size(); ++mode) {
        using Trim = std::pair<StreamKey, std::uint64_t>;
        std::vector<Trim> trims;
        for (const auto& [key, count] : streams.trims) {
            if (static_cast<std::size_t>(key.second) == mode) {
                trims.emplace_back(key.first, count);
            }
        }
        if (!trims.empty()) {
            db_->queue(texts[mode], arrays_of(
                                        trims, [](const Trim& trim) { return trim.first.eid; },
                                        [](const Trim& trim) { return trim.first.attempt_index; },
                                        &Trim::second));
        }
    }
}

}  // namespace ff::store
