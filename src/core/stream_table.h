// The rows of streams a batch has loaded, and what they have become: part of a Snapshot, with the
// same rules.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/stream_records.h"
#include "core/tracked.h"

namespace ff::core {

struct Changes;

/// What a command must see of streams, beside the executions.
struct StreamReads {
    std::vector<StreamKey> metas;
    std::vector<StreamKey> summaries;
    std::vector<StreamKey> attempts;  ///< the rows of these attempts, current or not

    [[nodiscard]] bool empty() const {
        return metas.empty() && summaries.empty() && attempts.empty();
    }
};

class StreamTable {
  public:
    // ---- for decisions. Null means absent.
    [[nodiscard]] const StreamMeta* meta(const StreamKey& key) const;
    [[nodiscard]] const SummaryRow* summary(const StreamKey& key) const;

    // ---- for reads that depend on what was read: is it known yet?
    [[nodiscard]] bool knows_meta(const StreamKey& key) const { return metas.contains(key); }
    [[nodiscard]] bool knows_summary(const StreamKey& key) const { return summaries.contains(key); }

    // ---- for the store: filling.
    void load_meta(const StreamKey& key, std::optional<StreamMeta> row);
    void load_summary(const StreamKey& key, std::optional<SummaryRow> row);

    // ---- for the batch.
    void apply(Changes& changes);
    void clear();
    [[nodiscard]] bool empty() const {
        return metas.empty() && summaries.empty() && frames.empty() && trims.empty();
    }

    // ---- for the store: what to write. Frames first, then trims: both are in order of age, so it
    // does not matter which frames of a stream came between.
    std::map<StreamKey, Tracked<StreamMeta>> metas;
    std::map<StreamKey, Tracked<SummaryRow>> summaries;
    std::vector<FrameRow> frames;
    std::map<std::pair<StreamKey, FrameMode>, std::uint64_t> trims;
};

}  // namespace ff::core
