#include "core/stream_table.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "core/changes.h"

namespace ff::core {

namespace {

template <class Map>
auto* row_of(const Map& map, const StreamKey& key) {
    const auto it = map.find(key);
    FF_CHECK(it != map.end() && it->second.loaded, "a row of a stream was not loaded");
    return it->second.get();
}

}  // namespace

const StreamMeta* StreamTable::meta(const StreamKey& key) const { return row_of(metas, key); }

const SummaryRow* StreamTable::summary(const StreamKey& key) const {
    return row_of(summaries, key);
}

void StreamTable::load_meta(const StreamKey& key, std::optional<StreamMeta> row) {
    metas[key].load(std::move(row));
}

void StreamTable::load_summary(const StreamKey& key, std::optional<SummaryRow> row) {
    summaries[key].load(std::move(row));
}

void StreamTable::apply(Changes& changes) {
    for (StreamMeta& row : changes.put_streams) {
        const StreamKey key = row.key;
        metas[key].put(std::move(row));
    }
    for (SummaryRow& row : changes.put_summaries) {
        const StreamKey key = row.key;
        summaries[key].put(std::move(row));
    }
    for (const StreamKey& key : changes.delete_streams) {
        metas[key].erase();
        summaries[key].erase();
    }
    std::ranges::move(changes.put_frames, std::back_inserter(frames));
    for (const FrameTrim& trim : changes.trim_frames) {
        trims[{trim.key, trim.mode}] += trim.count;
    }
}

void StreamTable::clear() {
    metas.clear();
    summaries.clear();
    frames.clear();
    trims.clear();
}

}  // namespace ff::core
