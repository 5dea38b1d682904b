// Where turns are given (core/turns.h): who stands in line for its key, and who follows those that
// have left it.
//
// Of the queues that a transaction looks at the desk knows who has the turn and who is next. On a
// store that other processes write to, a queue that one of them is at is left alone: who would
// stand waits, and the desk owes the queue a look in the next transaction. Writer thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/changes.h"
#include "core/context.h"
#include "core/snapshot.h"
#include "core/turns.h"
#include "engine/ready_index.h"

namespace ff::engine {

class TurnDesk {
  public:
    using WarnFn = std::function<void(std::string_view)>;
    using ApplyFn = std::function<void(core::Changes&&)>;

    /// `apply` must lead to note().
    TurnDesk(store::Store& store, ReadyIndex& ready, core::Snapshot& snapshot,
             const core::Context& ctx, ApplyFn apply, WarnFn warn)
        : store_(store),
          ready_(ready),
          snapshot_(snapshot),
          ctx_(ctx),
          apply_(std::move(apply)),
          warn_(std::move(warn)) {}

    /// A transaction has begun.
    void begin();
    /// A row becomes another: notes what follows, and sets the new one right.
    void note(const core::Execution* before, core::Execution& after);
    /// Should a queue have been forgotten: calls the first of those who wait in it, if nobody has
    /// the turn. Was there one?
    expected<bool> call_one(core::RouteId queue);

    [[nodiscard]] bool idle() const { return work_.empty(); }
    /// May somebody follow who would come before the candidate? `candidate` null: there is none.
    [[nodiscard]] bool comes_first(const core::Execution* candidate) const;
    /// Gives turns until there is nothing more to be done.
    expected<void> give_turns();

    /// What the transaction did is there.
    void committed() { owed_ = std::exchange(owed_next_, {}); }
    /// Is there a queue to look at in the next transaction?
    [[nodiscard]] bool owes() const { return !owed_.empty(); }

  private:
    struct Queue {
        std::set<core::Eid> holders;
        std::deque<core::ReadyKey> next;  ///< of those who wait, read ahead
        std::optional<core::ReadyKey> read_to;
        bool complete = false;  ///< nothing behind `read_to`, but for what this transaction adds
        bool busy = false;      ///< another process is at it, or at one who waits
    };

    void look_at(core::RouteId queue);
    expected<void> learn(const core::TurnWork& work);
    /// Whoever is first of those who wait stands in line, unless somebody does.
    expected<void> call(core::RouteId number, Queue& queue);
    /// Reads on in queues that have left somebody and whose next one is not known.
    expected<void> read_on(const std::vector<core::RouteId>& queues);
    void add_page(core::RouteId number, Queue& queue, std::vector<core::ReadyKey> stored,
                  bool complete);
    /// The one who waits, if it can be had.
    expected<const core::Execution*> waiting(core::RouteId number, const core::ReadyKey& key);

    store::Store& store_;
    ReadyIndex& ready_;
    core::Snapshot& snapshot_;
    const core::Context& ctx_;
    ApplyFn apply_;
    WarnFn warn_;
    core::TurnWork work_;
    std::map<core::RouteId, Queue> queues_;  ///< that this transaction has looked at
    std::set<core::RouteId> owed_;           ///< from transactions before
    std::set<core::RouteId> owed_next_;      ///< by this one
};

}  // namespace ff::engine
