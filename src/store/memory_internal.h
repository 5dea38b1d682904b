// Parts of MemoryStore that its source files share.
#pragma once

#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/memory_rows.h"
#include "store/memory_store.h"

namespace ff::store {

/// Makes changes and remembers how to undo them. Rows of maps are put and erased, members of sets
/// added and removed; insert() refuses a key that is there.
class MemoryStore::Journal {
  public:
    template <class Map>
    void put(Map& map, typename Map::key_type key, typename Map::mapped_type row) {
        const auto it = map.find(key);
        remember<RowWas<Map>>(
            map, key, it == map.end() ? std::nullopt : std::optional(std::move(it->second)));
        map.insert_or_assign(std::move(key), std::move(row));
    }
    template <class Map>
    expected<void> insert(Map& map, typename Map::key_type key, typename Map::mapped_type row,
                          const char* what) {
        if (map.contains(key)) {
            return ff::fail(ErrorCode::internal, std::string(what) + " is there already");
        }
        put(map, std::move(key), std::move(row));
        return {};
    }
    template <class Map>
    void erase(Map& map, const typename Map::key_type& key) {
        const auto it = map.find(key);
        if (it != map.end()) {
            remember<RowWas<Map>>(map, it->first, std::optional(std::move(it->second)));
            map.erase(it);
        }
    }
    template <class Set>
    void add(Set& set, typename Set::key_type member) {
        if (set.insert(member).second) {
            remember<MemberWas<Set>>(set, std::move(member), false);
        }
    }
    template <class Set>
    void remove(Set& set, const typename Set::key_type& member) {
        const auto it = set.find(member);
        if (it != set.end()) {
            remember<MemberWas<Set>>(set, *it, true);
            set.erase(it);
        }
    }
    void undo_all() {
        for (const auto& change : std::views::reverse(changes_)) {
            change->undo();
        }
        changes_.clear();
    }

  private:
    struct Change {
        virtual ~Change() = default;
        virtual void undo() = 0;
    };
    /// What stood under a key, if anything.
    template <class Map>
    struct RowWas final : Change {
        RowWas(Map& in, typename Map::key_type at, std::optional<typename Map::mapped_type> was)
            : map(in), key(std::move(at)), row(std::move(was)) {}
        void undo() override {
            if (row) {
                map.insert_or_assign(std::move(key), std::move(*row));
            } else {
                map.erase(key);
            }
        }
        Map& map;
        typename Map::key_type key;
        std::optional<typename Map::mapped_type> row;
    };
    template <class Set>
    struct MemberWas final : Change {
        MemberWas(Set& in, typename Set::key_type who, bool was_there)
            : set(in), member(std::move(who)), there(was_there) {}
        void undo() override {
            if (there) {
                set.insert(member);
            } else {
                set.erase(member);
            }
        }
        Set& set;
        typename Set::key_type member;
        bool there;
    };
    template <class Was, class... Parts>
    void remember(Parts&&... parts) {
        changes_.push_back(std::unique_ptr<Change>(new Was(std::forward<Parts>(parts)...)));
    }

    std::vector<std::unique_ptr<Change>> changes_;
};

/// Deletions are made at commit: until then readers see the rows, and the writer looks here.
struct MemoryStore::Swept {
    std::set<Eid> grants;
    std::set<core::IdempotencyKey> idempotency;
    std::set<core::DedupKey> dedups;
    std::set<std::int64_t> events;
    std::set<std::int64_t> log_events;
};

/// The rows of a map from `first` on while `belongs` holds of their key.
template <class Map, class Belongs>
std::vector<typename Map::mapped_type> rows_from(const Map& map,
                                                 const typename Map::key_type& first,
                                                 Belongs belongs) {
    std::vector<typename Map::mapped_type> out;
    for (auto it = map.lower_bound(first); it != map.end() && belongs(it->first); ++it) {
        out.push_back(it->second);
    }
    return out;
}

/// What stands second in the pairs of a set whose first is this.
template <class First, class Second>
std::vector<Second> seconds_of(const std::set<std::pair<First, Second>>& set, const First& first) {
    std::vector<Second> out;
    for (auto it = set.lower_bound({first, Second{}}); it != set.end() && it->first == first;
         ++it) {
        out.push_back(it->second);
    }
    return out;
}

// ------------------------------------------------------------------------------------- places

// Calls `fn` with every set a row stands in, and its place there.

template <class Fn>
void for_each_place(MemoryRows& rows, const core::Flow& flow, Fn fn) {
    if (flow.timer_at) {
        fn(rows.flow_timers, std::pair(*flow.timer_at, flow.id));
    }
    if (flow.held) {
        fn(rows.held_flows, flow.id);
    }
}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::Edge& edge, Fn fn) {
    fn(rows.outbound, std::pair(edge.upstream, edge.key));
    fn(rows.inbound, std::pair(edge.downstream, edge.key));
    if (edge.state == EdgeState::pending) {
        fn(rows.staged, std::pair(edge.created_at, edge.key));
    }
}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::FlowWork& work, Fn fn) {
    fn(rows.work_due, std::pair(work.due_at, work.key));
}

template <class Fn>
void for_each_place(MemoryRows&, const core::EdgeGroup&, Fn) {}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::Suspension& row, Fn fn) {
    if (row.waits_until) {
        fn(rows.suspended, std::tuple(row.lane, *row.waits_until, row.execution_id, row.key));
    }
}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::Waitpoint& row, Fn fn) {
    fn(rows.waitpoints_of, std::pair(row.eid, row.id));
}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::Signal& row, Fn fn) {
    fn(rows.signal_ids, std::pair(std::pair(row.key.eid, row.id), row.key));
    fn(rows.signals_at, std::pair(row.waitpoint_id, row.key));
}

template <class Fn>
void for_each_place(MemoryRows&, const core::Satisfier&, Fn) {}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::StreamMeta& row, Fn fn) {
    if (row.sweep_at) {
        fn(rows.stream_sweeps, std::pair(*row.sweep_at, row.key));
    }
}

template <class Fn>
void for_each_place(MemoryRows&, const core::SummaryRow&, Fn) {}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::Budget& row, Fn fn) {
    const core::LimitKey key{core::LimitKind::budget, {row.id.uuid}};
    if (row.timer_at) {
        fn(rows.limit_timers, std::pair(*row.timer_at, key));
    }
    if (row.waiting) {
        fn(rows.limits_waiting, key);
    }
}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::QuotaPolicy& row, Fn fn) {
    const core::LimitKey key{core::LimitKind::quota, {row.id.uuid}};
    if (row.parent) {
        fn(rows.quota_keys, std::pair(std::pair(*row.parent, *row.limit_key), row.id));
    }
    if (row.wake_at) {
        fn(rows.limit_timers, std::pair(*row.wake_at, key));
    }
    if (row.waiting) {
        fn(rows.limits_waiting, key);
    }
}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::Admission& row, Fn fn) {
    if (row.admitted_at) {
        fn(rows.starts, std::tuple(row.key.policy, *row.admitted_at, row.key.execution));
    }
}

template <class Fn>
void for_each_place(MemoryRows& rows, const core::Attachment& row, Fn fn) {
    fn(rows.attached_to, std::pair(row.key.target, row.key));
    if (row.by_place) {
        fn(rows.places, row.key);
    }
}

template <class Fn>
void for_each_place(MemoryRows&, const core::LedgerRow&, Fn) {}

template <class Fn>
void for_each_place(MemoryRows&, const core::UsageDedup&, Fn) {}

template <class Map>
void MemoryStore::replace(Journal& journal, Map& map, const typename Map::key_type& key,
                          const std::optional<typename Map::mapped_type>& row) {
    if (const auto it = map.find(key); it != map.end()) {
        for_each_place(*rows_, it->second,
                       [&](auto& set, const auto& place) { journal.remove(set, place); });
    }
    if (!row) {
        journal.erase(map, key);
        return;
    }
    journal.put(map, key, *row);
    for_each_place(*rows_, *row, [&](auto& set, const auto& place) { journal.add(set, place); });
}

}  // namespace ff::store
