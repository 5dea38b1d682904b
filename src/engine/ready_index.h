// Who may take what next: the heads of the ready queues, by route, kept in memory.
//
// The store's ff_ready table is the truth as of the last commit. For each route this holds an exact
// prefix of its queue (some next keys), kept exact because every change passes through insert() and
// erase(); when a prefix is used up it is read on from the store, corrected by what the running
// batch has changed and not yet written. A *group* is one way of asking (lanes, capabilities,
// namespace, kinds); it keeps the heads of the routes it may take from in order, so the next
// candidate is found without looking at routes it cannot serve.
//
// On a store that other processes write to, nothing is known from one transaction to the next:
// begin() forgets, and read() asks for the best of many routes at once.
//
// Writer thread only. Call begin() at the start of a transaction, committed() after each commit,
// forget_all() after a failed one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ff/contracts.h>

#include "core/derive.h"
#include "core/snapshot.h"
#include "store/store.h"

namespace ff::engine {

/// What a claimer can take. Equal demands share a group.
struct Demand {
    std::vector<std::string> lanes;
    std::vector<std::string> capabilities;  ///< sorted
    std::optional<std::string> ns;
    std::vector<std::string> kinds;

    /// Equal exactly for equal demands.
    [[nodiscard]] std::string signature() const;
    [[nodiscard]] bool matches(const core::Route& route) const;
};

class ReadyIndex {
  public:
    class Group;

    explicit ReadyIndex(store::Store& store) : store_(store) {}

    /// The group of a demand; made when new. Stays while somebody holds it.
    std::shared_ptr<Group> group(Demand demand);
    /// A route the index has not seen yet: from the store's table, or made by the running batch.
    void add_route(const core::Route& route);

    /// A transaction has begun.
    void begin();
    /// On a shared store: reads what front() of these groups will need, in one round trip. The best
    /// `expected` of each; executions and lanes are loaded into the snapshot.
    struct Want {
        Group* group;
        std::size_t expected;
    };
    expected<void> read(const std::vector<Want>& wants, core::Snapshot& snapshot);
    /// Tells the store what read() will ask it.
    void expect(const std::vector<Want>& wants);

    void insert(const core::ReadyKey& key);
    void erase(const core::ReadyKey& key);
    /// The store has what insert() and erase() told.
    void committed();
    /// It has not: the next question reads anew. Routes the store does not have are dropped; their
    /// numbers will be given to others.
    void forget_all();

    /// The best candidate on one lane of a group, not yet taken out; nothing when there is none.
    /// `expected` is how many the caller will want: it sets how far ahead is read.
    expected<std::optional<core::ReadyKey>> front(Group& group, std::size_t lane_index,
                                                  std::size_t expected, core::Snapshot& snapshot);

    /// What a store has of any queue behind a key, as the running batch has left it. `complete`: up
    /// to its end.
    [[nodiscard]] std::vector<core::ReadyKey> as_left(core::RouteId route,
                                                      const std::optional<core::ReadyKey>& after,
                                                      std::vector<core::ReadyKey> stored,
                                                      bool complete) const;

    /// Groups in which a key appeared since the last call.
    std::vector<Group*> take_touched();

  private:
    struct Queue;
    struct Head {
        std::int32_t rank;
        core::Eid place;
        Queue* queue;
        bool operator<(const Head& other) const {
            return rank != other.rank ? rank < other.rank : place < other.place;
        }
    };
    /// The routes of a group on one of its lanes.
    struct LaneHeads {
        std::set<Head> heads;
        std::unordered_set<Queue*> unread;  ///< routes whose head is not known
    };
    struct Member {
        Group* group;
        std::size_t lane_index;
    };
    /// A route's known prefix.
    struct Queue {
        core::Route route;
        std::vector<core::ReadyKey> keys;       ///< sorted, best last (so that taking is a pop)
        std::optional<core::ReadyKey> read_to;  ///< all keys up to here are among `keys`
        bool complete = false;                  ///< and none lies behind
        bool known = false;                     ///< the head is known, or there is none
        std::vector<Member> members;

        [[nodiscard]] const core::ReadyKey* head() const {
            return keys.empty() ? nullptr : &keys.back();
        }
    };

    void join(Group& group, Queue& queue);
    void touch(Group& group);
    void hide_head(Queue& queue);
    void show_head(Queue& queue);
    void mark_unread(Queue& queue);
    void insert_known(Queue& queue, const core::ReadyKey& key);
    expected<void> read_on(Queue& queue, std::size_t expected);
    /// Unknown queues of a lane that may hold something better than its best known head.
    static std::vector<Queue*> to_read(const LaneHeads& lane);
    [[nodiscard]] store::ReadyAsk ask_for(const std::vector<Queue*>& queues,
                                          std::size_t expected) const;
    void see_routes();
    struct Asked {
        std::vector<std::vector<Queue*>> queues;  ///< of each ask
        std::vector<store::ReadyAsk> asks;
        std::vector<std::string> lanes;
    };
    [[nodiscard]] Asked asked_by(const std::vector<Want>& wants) const;
    void learn(const std::vector<Queue*>& queues, const store::ReadyPage& page);
    expected<void> read_unread(const LaneHeads& lane, std::size_t expected,
                               core::Snapshot& snapshot);
    expected<void> read_heads(LaneHeads& lane, std::size_t expected);
    /// Keys of the route behind `after` among those the batch has inserted or erased.
    static auto pending_of(const std::set<core::ReadyKey>& keys, core::RouteId route,
                           const std::optional<core::ReadyKey>& after);
    void drop_idle_groups();

    /// A prefix is cut when it grows beyond this.
    static constexpr std::size_t prefix_max = 256;
    /// Groups nobody waits in are kept up to this many: the same workers ask again and again.
    static constexpr std::size_t groups_max = 4096;

    store::Store& store_;
    std::unordered_map<core::RouteId, std::unique_ptr<Queue>> queues_;
    std::unordered_map<std::string, std::shared_ptr<Group>> groups_;
    std::vector<Group*> touched_;
    std::set<core::ReadyKey> inserted_;  ///< by the running batch, not in the store yet
    std::set<core::ReadyKey> erased_;    ///< by the running batch, still in the store
    std::uint64_t uses_ = 0;
    // Of shared stores only.
    std::vector<Queue*> learned_;  ///< known in this transaction
    std::size_t routes_seen_ = 0;  ///< of the store's table

  public:
    /// Made by group() only.
    class Group {
      public:
        explicit Group(Demand d) : demand(std::move(d)), lanes(demand.lanes.size()) {}
        const Demand demand;
        std::vector<LaneHeads> lanes;  ///< parallel to demand.lanes
        std::uint64_t last_use = 0;
        bool touched = false;
    };
};

}  // namespace ff::engine
