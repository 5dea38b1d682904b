// Rows as they were committed, kept because one of the next transactions will want them: nobody
// else writes a SQLite database of ours, so they need not be read again.
//
// A row is taken out when it is loaded and kept again once its transaction has committed. One that
// fails leaves it out, which costs a read and nothing more. Writer thread only.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/snapshot.h"

namespace ff::store {

/// The rows kept last, between `limit` and twice as many of them. Those that nobody asks for are
/// dropped a generation at a time.
template <class Key, class Row>
class Recent {
  public:
    explicit Recent(std::size_t limit) : limit_(limit) {
        // Thousands of rows are more than the caches hold: every key that is passed on the way
        // counts.
        young_.max_load_factor(load_max);
        old_.max_load_factor(load_max);
    }

    std::optional<Row> take(const Key& key) {
        for (Rows* rows : {&young_, &old_}) {
            if (auto found = rows->extract(key)) {
                return std::move(found.mapped());
            }
        }
        return std::nullopt;
    }
    void keep(const Key& key, Row row) {
        old_.erase(key);
        young_.insert_or_assign(key, std::move(row));
        if (young_.size() > limit_) {
            grow_old();
        }
    }
    /// The row itself, to be looked at or changed; null when it is not there.
    Row* find(const Key& key) {
        for (Rows* rows : {&young_, &old_}) {
            if (auto found = rows->find(key); found != rows->end()) {
                return &found->second;
            }
        }
        return nullptr;
    }
    /// The same; an empty one is kept when none is. It counts as kept just now.
    Row& at(const Key& key) {
        auto young = young_.find(key);
        if (young == young_.end()) {
            if (auto aged = old_.extract(key)) {
                young = young_.insert(std::move(aged)).position;
            } else {
                young = young_.try_emplace(key).first;
            }
        }
        Row& row = young->second;  // stays where it is
        if (young_.size() > limit_) {
            grow_old();
        }
        return row;
    }
    void drop(const Key& key) {
        if (young_.erase(key) == 0) {
            old_.erase(key);
        }
    }
    template <class Fn>
    void each(Fn fn) {
        for (Rows* rows : {&young_, &old_}) {
            for (auto& [key, row] : *rows) {
                fn(row);
            }
        }
    }

  private:
    using Rows = std::unordered_map<Key, Row>;
    static constexpr float load_max = 0.5F;

    void grow_old() {
        std::swap(old_, young_);
        young_.clear();
    }

    const std::size_t limit_;
    Rows young_;
    Rows old_;
};

/// All that an execution waits for.
struct OpenWaits {
    std::optional<core::Suspension> suspension;
    std::vector<core::Waitpoint> waitpoints;
};

/// A group, and the edge that implies it if it has no row.
struct WarmGroup {
    core::EdgeGroup group;
    std::optional<core::EdgeKey> only_edge;
};

/// What is kept of an execution: one look finds all of it.
struct WarmExecution {
    std::optional<core::Execution> row;
    std::optional<WarmGroup> group;
    std::optional<std::vector<core::Edge>> outbound;  ///< all edges that leave it

    [[nodiscard]] bool empty() const { return !row && !group && !outbound; }
};

class WarmRows {
  public:
    std::optional<core::Execution> take(const ExecutionId& id) {
        return take_part(id, &WarmExecution::row);
    }
    std::optional<core::Execution> take(core::Eid eid);
    std::optional<core::Flow> take(const FlowId& id) { return flows_.take(id); }
    std::optional<WarmGroup> take_group(const ExecutionId& downstream) {
        return take_part(downstream, &WarmExecution::group);
    }
    /// All edges that leave an execution.
    std::optional<std::vector<core::Edge>> take_outbound(const ExecutionId& upstream) {
        return take_part(upstream, &WarmExecution::outbound);
    }

    std::optional<OpenWaits> take_waits(core::Eid eid) { return waits_.take(eid); }
    /// All keys of tokens, once they were read: few, and asked for by every signal.
    [[nodiscard]] const std::optional<std::vector<core::HmacKey>>& hmac_keys() const {
        return hmac_keys_;
    }

    /// The snapshot has been committed as it is.
    void committed(const core::Snapshot& snapshot);

  private:
    template <class Part>
    Part take_part(const ExecutionId& id, Part WarmExecution::* part) {
        WarmExecution* found = executions_.find(id);
        return found != nullptr ? std::exchange(found->*part, std::nullopt) : std::nullopt;
    }
    void drop_outbound(const ExecutionId& upstream);
    void committed(const core::ExecutionCell& cell);
    void committed_edges(const core::Snapshot& snapshot);
    void committed_waits(const core::ExecutionCell& cell, const core::WaitTable& waits);
    void committed_keys(const core::WaitTable& waits);

    static constexpr std::size_t limit = 8'192;        ///< about 10 MiB of executions
    static constexpr std::size_t waits_limit = 2'048;  ///< about 4 MiB

    Recent<ExecutionId, WarmExecution> executions_{limit};
    Recent<core::Eid, ExecutionId> members_{limit};  ///< those that may be claimed
    Recent<FlowId, core::Flow> flows_{limit};
    Recent<core::Eid, OpenWaits> waits_{waits_limit};
    std::optional<std::vector<core::HmacKey>> hmac_keys_;
};

}  // namespace ff::store
