// Where claims are served: those that came with this batch, and those that have been waiting.
//
// A claim that finds nothing and may wait is kept here until a batch makes something ready for it
// or its time is over; it is matched in the very transaction that makes the work ready. Claims that
// ask for the same are served in the order they came. Writer thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/admission.h"
#include "core/context.h"
#include "engine/command.h"
#include "engine/ready_index.h"

namespace ff::engine {

/// Whether a batch serves claims that have been waiting, or only those it brings.
enum class Waiting : std::uint8_t { served, left };

/// The row itself is unreadable: no matter of the store at large.
constexpr bool is_of_the_row(ErrorCode code) {
    return code == ErrorCode::corruption || code == ErrorCode::store_corrupt;
}

/// Nothing happened, and doing it all again may work.
constexpr bool may_run_again(ErrorCode code) {
    return code == ErrorCode::store_busy || code == ErrorCode::store_io;
}

class ClaimDesk {
  public:
    /// What the batch does for the desk.
    struct Hooks {
        /// Takes the changes of a decision.
        std::function<void(core::Changes&&)> apply;
        /// Where work was taken, others may follow it. Makes them ready if they may come before the
        /// candidate (null: there is none). False: they do not, or there are none.
        std::function<expected<bool>(const core::Execution* candidate)> call_followers;
    };
    using WarnFn = std::function<void(std::string_view)>;

    ClaimDesk(store::Store& store, ReadyIndex& ready, std::size_t waiting_max, WarnFn warn)
        : store_(store), ready_(ready), waiting_max_(waiting_max), warn_(std::move(warn)) {}

    /// Serves `claims` and every waiting claim for which something became ready (when these are
    /// left, in the next serve()). Those that got an answer go to `outcomes`, others wait on. An
    /// error is the store's: the batch must fail, and the claims it came of go to `refused`.
    expected<void> serve(std::vector<Pending> claims, Waiting waiting, core::Snapshot& snapshot,
                         const core::Context& ctx, const Hooks& batch,
                         std::vector<Outcome>& outcomes, std::vector<Outcome>& refused);

    /// On a shared store: these commands will be served in this transaction, with whom else is
    /// already known to be.
    void expect(const std::vector<Pending>& commands);

    /// Look at every waiting claim in the next serve(), whatever became ready.
    void recheck_all() { recheck_all_ = true; }
    /// Is there a waiting claim that the next serve() must look at?
    [[nodiscard]] bool must_serve() const { return recheck_all_ && !desks_.empty(); }

    /// Gives waiting claims whose time is over their answer: nothing.
    void expire(TimestampMs now, std::vector<Outcome>& outcomes);
    /// The same for those of these numbers that still wait.
    void abandon(const std::vector<std::uint64_t>& claims, std::vector<Outcome>& outcomes);
    /// The same for all (shutdown).
    void release_all(std::vector<Outcome>& outcomes);
    /// Gives all waiting claims this error.
    void refuse_all(const Error& error, std::vector<Outcome>& refused);
    /// When the next waiting claim's time is over.
    [[nodiscard]] std::optional<TimestampMs> next_deadline() const;
    [[nodiscard]] std::size_t waiting() const { return deadlines_.size(); }

  private:
    struct Parked;
    /// Waiting claims of one group in order of arrival.
    struct Desk {
        std::shared_ptr<ReadyIndex::Group> group;
        std::list<Parked> queue;
    };
    struct Place {
        Desk* desk;
        std::list<Parked>::iterator claim;
    };
    using Deadlines = std::multimap<TimestampMs, Place>;
    struct Parked {
        Pending pending;
        Deadlines::iterator deadline;
        std::uint64_t arrival;
    };

    expected<void> serve_desk(Desk& desk, core::Snapshot& snapshot, const core::Context& ctx,
                              const Hooks& batch, std::vector<Outcome>& outcomes);
    /// The answer, or nothing when there is no work for it.
    expected<std::optional<Response>> serve_one(ReadyIndex::Group& group, const Pending& claim,
                                                std::size_t demand, core::Snapshot& snapshot,
                                                const core::Context& ctx, const Hooks& batch);
    /// The next candidate over the group's active lanes, loaded with its input.
    expected<const core::Execution*> next_candidate(ReadyIndex::Group& group,
                                                    core::Snapshot& snapshot, std::size_t demand);
    /// What to do with a member of a flow instead of handing it out, if it may not be.
    expected<std::optional<core::Changes>> hold_back(const core::Execution& member,
                                                     core::Snapshot& snapshot,
                                                     const core::Context& ctx);
    /// What budgets and quotas say; nothing when none applies.
    expected<std::optional<core::Verdict>> admit(const core::Execution& candidate,
                                                 core::Snapshot& snapshot,
                                                 const core::Context& ctx);
    /// On a shared store: loads the limits of all that may be handed out, together and in order.
    expected<void> load_limits(core::Snapshot& snapshot);
    /// Has this serve() done as much as one transaction should?
    [[nodiscard]] bool spent() const;
    /// How many executions its claims want.
    static std::size_t demand_of(const Desk& desk);
    /// The desks of `turn_`, those first whose first claim has waited longest.
    std::vector<Desk*> desks_in_turn();
    void refuse(Desk& desk, const Error& error, std::vector<Outcome>& refused);
    void enqueue(Pending claim, TimestampMs now);
    /// Takes a claim out of its queue with its answer.
    void answer(Desk& desk, std::list<Parked>::iterator claim, Response response,
                std::vector<Outcome>& outcomes);

    store::Store& store_;
    ReadyIndex& ready_;
    const std::size_t waiting_max_;
    WarnFn warn_;
    std::unordered_map<ReadyIndex::Group*, Desk> desks_;  ///< with at least one waiting claim
    Deadlines deadlines_;
    std::unordered_map<std::uint64_t, Place> abandonable_;  ///< by number
    std::vector<ReadyIndex::Group*> turn_;                  ///< whom this serve() looks at
    std::uint64_t arrivals_ = 0;
    std::size_t bytes_served_ = 0;  ///< of payloads, by this serve()
    std::size_t blocked_ = 0;       ///< candidates that a limit refused, by this serve()
    std::uint64_t rotation_ = 0;
    bool recheck_all_ = false;
    std::optional<std::set<FlowId>> held_;  ///< flows to look at; asked for once a serve()
};

}  // namespace ff::engine
