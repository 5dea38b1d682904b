// Streams of a store in memory.
#include "store/memory_internal.h"

namespace ff::store {

using core::FrameKey;
using core::StreamKey;
using core::StreamTable;

void MemoryStore::load_streams(const core::StreamReads& reads, core::Snapshot& snapshot) const {
    StreamTable& streams = snapshot.streams;
    for (const StreamKey& key : reads.metas) {
        streams.load_meta(key, find_row(rows_->streams, key));
    }
    for (const StreamKey& key : reads.summaries) {
        streams.load_summary(key, find_row(rows_->summaries, key));
    }
    for (const StreamKey& key : reads.attempts) {
        if (core::ExecutionCell* cell = snapshot.find_cell(key.eid)) {
            cell->attempts[key.attempt_index].load(
                find_row(rows_->attempts, {key.eid, key.attempt_index}));
        }
    }
}

expected<void> MemoryStore::write_streams(Journal& journal, const StreamTable& streams) {
    for (const core::FrameRow& row : streams.frames) {
        FF_TRY_VOID(journal.insert(rows_->frames, row.key, row, "the frame"));
        rows_written_ += 1;
    }
    const auto write = [&](auto& map, const auto& tracked) {
        for (const auto& [key, row] : tracked) {
            if (row.dirty) {
                replace(journal, map, key, row.current());
                rows_written_ += 1;
            }
        }
    };
    write(rows_->streams, streams.metas);
    write(rows_->summaries, streams.summaries);
    for (const auto& [of, count] : streams.trims) {
        std::uint64_t left = count;
        auto it = rows_->frames.lower_bound({of.first, {}});
        while (left > 0 && it != rows_->frames.end() && it->first.stream == of.first) {
            const auto frame = it++;
            if (frame->second.mode == of.second) {
                journal.erase(rows_->frames, FrameKey(frame->first));
                left -= 1;
            }
        }
        rows_written_ += count;
    }
    return {};
}

void MemoryStore::erase_streams(Journal& journal, Eid eid) {
    const auto belongs = [&](const StreamKey& key) { return key.eid == eid; };
    for (const core::FrameRow& row :
         rows_from(rows_->frames, {{eid, 0}, {}},
                   [&](const FrameKey& key) { return belongs(key.stream); })) {
        journal.erase(rows_->frames, row.key);
    }
    for (const core::StreamMeta& row : rows_from(rows_->streams, {eid, 0}, belongs)) {
        replace(journal, rows_->streams, row.key, std::nullopt);
    }
    for (const core::SummaryRow& row : rows_from(rows_->summaries, {eid, 0}, belongs)) {
        replace(journal, rows_->summaries, row.key, std::nullopt);
    }
}

expected<std::vector<StreamKey>> MemoryStore::scan_streams(TimestampMs now, std::size_t limit) {
    std::vector<StreamKey> out;
    for (const auto& [at, key] : rows_->stream_sweeps) {
        if (at > now || out.size() == limit) {
            break;
        }
        out.push_back(key);
    }
    return out;
}

// ------------------------------------------------------------------------------------ reading

expected<std::optional<core::StreamMeta>> MemoryReader::stream_meta(const StreamKey& key) {
    return find_row(rows_.streams, key);
}

expected<std::vector<core::StreamMeta>> MemoryReader::streams_of(Eid eid) {
    std::vector<core::StreamMeta> out;
    for (auto it = rows_.streams.lower_bound({eid, 0});
         it != rows_.streams.end() && it->first.eid == eid; ++it) {
        out.push_back(it->second);
    }
    return out;
}

expected<std::optional<core::SummaryRow>> MemoryReader::summary(const StreamKey& key) {
    return find_row(rows_.summaries, key);
}

expected<std::vector<core::FrameRow>> MemoryReader::frames(const StreamKey& key,
                                                           const FrameId& from, const FrameId& to,
                                                           Order order, std::size_t limit) {
    std::vector<core::FrameRow> out;
    if (order == Order::oldest_first) {
        for (auto it = rows_.frames.lower_bound({key, from});
             it != rows_.frames.end() && it->first <= FrameKey{key, to} && out.size() < limit;
             ++it) {
            out.push_back(it->second);
        }
        return out;
    }
    for (auto it = rows_.frames.upper_bound({key, to});
         it != rows_.frames.begin() && out.size() < limit;) {
        --it;
        if (it->first < FrameKey{key, from}) {
            break;
        }
        out.push_back(it->second);
    }
    return out;
}

}  // namespace ff::store
