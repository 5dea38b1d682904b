// The heart: a set of commands becomes one transaction.
//
//   begin -> load what the commands need -> decide each in order -> what follows for flows ->
//   serve claims -> commit
//
// A rejected command writes nothing and does not disturb the others. If the transaction fails,
// nothing happened; run() gives the commands back and the caller runs them one by one.
// Writer thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/admission.h"
#include "core/cascade.h"
#include "core/context.h"
#include "core/decide.h"
#include "core/snapshot.h"
#include "engine/claim_desk.h"
#include "engine/command.h"
#include "engine/ready_index.h"
#include "engine/set_aside.h"
#include "engine/tally.h"
#include "engine/turn_desk.h"
#include "store/store.h"

namespace ff::engine {

class Batch {
  public:
    using WarnFn = std::function<void(std::string_view)>;

    Batch(store::Store& store, const core::Settings& settings, IdSource& ids, Tally& tally,
          std::size_t waiting_claims_max, WarnFn warn);

    struct Run {
        std::vector<Outcome> outcomes;  ///< answered, or to be run again when `failure` is set
        std::vector<Outcome> refused;   ///< claims that have `failure` for an answer
        std::optional<Error> failure;   ///< the transaction failed and nothing happened
        bool store_failed = false;      ///< it did not even begin: no use in running anything again
        bool wrote = false;
        std::size_t due_taken = 0;    ///< how much due work this transaction took
        std::size_t due_handled = 0;  ///< and those that had something to do
    };
    /// One transaction for all of them, with up to `due_max` due timers of each kind. With one it
    /// takes a single piece of due work, so that a failure has one to blame.
    Run run(std::vector<Pending> commands, TimestampMs now, std::size_t due_max,
            Waiting waiting = Waiting::served);

    /// One transaction for a job of the engine's own. The body decides through decide_one().
    expected<void> run_internal(TimestampMs now, const std::function<expected<void>()>& body);
    /// Inside run_internal: loads what the command reads, decides it, keeps its changes.
    template <class C>
    auto decide_one(const C& command)
        -> expected<decltype(core::decide(std::declval<const core::Snapshot&>(), command,
                                          std::declval<const core::Context&>()))>;

    /// Inside run_internal: what time does to a limit; answers how much.
    expected<std::uint64_t> handle_limit(const core::LimitKey& key, bool offers_lapse);

    /// Inside run_internal: loads the rows of these executions, without those that cannot be read;
    /// the index reconciler tells of them.
    expected<void> load_readable(std::span<const core::Eid> eids);

    /// Inside run_internal: keeps changes that were decided elsewhere.
    void keep(core::Changes&& changes) { apply(std::move(changes)); }

    /// The earliest moment at which a timer is due, as far as known.
    [[nodiscard]] std::optional<TimestampMs> next_due() const { return next_due_; }
    /// How much due work the last batch took.
    [[nodiscard]] std::size_t due_taken() const { return due_.size(); }
    /// Asks the store again (after open, and now and then as a safety net).
    expected<void> refresh_next_due();

    /// Has anything been committed since the last call that nobody waits for yet?
    bool take_unsynced() { return std::exchange(unsynced_, false); }
    /// To be called before this thread reads. Readers see only what is on disk, and wait for it;
    /// nobody else would bring there now what this thread has just committed.
    expected<void> make_readable();
    /// What was changed since the last time.
    Changed take_changed() { return std::exchange(changed_, {}); }
    /// A commit was made on the store directly.
    void note_commit() { unsynced_ = true; }

    void warn(const std::string& text) const { warn_(text); }
    Tally& tally() { return tally_; }
    ClaimDesk& claims() { return desk_; }
    TurnDesk& turns() { return turns_; }
    store::Store& store() { return store_; }
    core::Snapshot& snapshot() { return snapshot_; }

  private:
    /// The store's load, with the queues of gates.
    expected<void> load(const core::ReadSet& set);
    expected<void> load_all(const std::vector<Pending>& commands);
    expected<void> decide_all(std::vector<Pending>& commands, Run& run);
    /// Tells who cancelled a flow whether members of it are left for later transactions.
    void note_scheduled(Run& run) const;
    expected<void> handle_due(Run& run, std::size_t due_max);
    /// Frames that these changes remove, with their executions or without.
    [[nodiscard]] std::uint64_t frames_gone(const core::Changes& changes) const;
    /// Flows whose time has come. False: there may be more.
    expected<bool> handle_due_flows(Run& run, std::size_t limit);
    /// Work that waits in the store. The same.
    expected<bool> take_waiting_work(Run& run, std::size_t limit);
    /// Executions whose time has come. The same.
    expected<bool> handle_due_executions(Run& run, std::size_t limit);
    /// Removes at most `frames_left` frames with it, and counts them.
    expected<void> handle_due_execution(core::Eid eid, std::uint64_t& frames_left, Run& run);
    expected<void> load_more_of_due();
    /// Loads those of `keys` that can be read and leaves out the others, with a warning.
    template <class Key>
    expected<void> load_due(std::vector<Key>& keys, SetAside<Key>& failing,
                            const std::function<expected<void>(std::span<const Key>)>& load);
    /// Budgets and policies whose time has come. False: there may be more.
    expected<bool> handle_due_limits(Run& run, std::size_t limit);
    /// Loads what a command or a piece of work asks for because of what is loaded.
    template <class C>
    expected<void> load_more(const C& command);
    /// Does what follows from the changes so far, until nothing does; past the bound of a
    /// transaction the rest is kept for the next.
    expected<void> follow_up();
    /// Lets those go on whom a limit holds back and need not, by what this transaction did: they
    /// come before who has not been asked yet.
    expected<void> open_gates(Run& run);
    /// What is due of a limit; one that cannot be read is left alone for a while.
    expected<void> handle_due_limit(const core::LimitKey& key, Run& run);
    /// Gives back what executions have let go of. Makes no more work.
    expected<void> give_back();
    void apply(core::Changes&& changes);
    /// Keeps a decision's changes; its answer as a response.
    template <class R>
    Response settle(core::Decision<R>&& decision) {
        apply(std::move(decision.changes));
        if (!decision.answer) {
            return std::unexpected(std::move(decision.answer).error());
        }
        return Reply(std::in_place_type<R>, std::move(*decision.answer));
    }
    expected<void> commit(Run& run);
    void after_commit();
    void note_changed();
    /// Whose fault a failure may be: of work that is due, or of anything else in the batch.
    enum class Suspect : std::uint8_t { due, others };
    void fail(Run& run, Error error, Suspect suspect);
    /// Begins a transaction of the store.
    expected<void> begin(TimestampMs now);
    /// Due work failed and no row is to blame: leave all of it for a while.
    void pause_due();
    /// The due work that the running transaction took.
    struct Due {
        std::vector<core::Eid> executions;
        std::vector<FlowId> flows;
        std::vector<core::FlowWorkKey> work;
        std::vector<core::LimitKey> limits;
        [[nodiscard]] std::size_t size() const {
            return executions.size() + flows.size() + work.size() + limits.size();
        }
    };
    /// Calls `visit` with each kind of due work and those of it that are left alone.
    template <class Visit>
    void each_kind_of_due(Visit visit) {
        visit(due_.executions, failing_);
        visit(due_.flows, failing_flows_);
        visit(due_.work, failing_work_);
        visit(due_.limits, failing_limits_);
    }
    [[nodiscard]] bool anything_to_write() const;

    store::Store& store_;
    const core::Settings& settings_;
    Tally& tally_;
    WarnFn warn_;
    core::PolicyCache policies_;
    core::Keystore keystore_;
    core::Snapshot snapshot_;
    core::Context ctx_;
    ReadyIndex ready_;
    TurnDesk turns_;
    ClaimDesk desk_;
    std::optional<TimestampMs> next_due_;
    std::chrono::steady_clock::time_point began_;  ///< the running transaction
    bool unsynced_ = false;
    Changed changed_;
    Due due_;
    bool only_due_ = false;                    ///< the running transaction has no commands
    std::vector<core::FlowWork> work_;         ///< what follows from changes of this transaction
    std::vector<core::LimitWork> limit_work_;  ///< slots that are given back by it
    std::size_t rows_changed_ = 0;             ///< by it
    std::size_t due_had_ = 0;                  ///< executions that were due, and not another's
    std::uint64_t joins_resumed_ = 0;          ///< cancels of siblings that it goes on with
    SetAside<core::Eid> failing_;
    SetAside<FlowId> failing_flows_;
    SetAside<core::FlowWorkKey> failing_work_;
    SetAside<core::LimitKey> failing_limits_;
};

template <class C>
expected<void> Batch::load_more(const C& command) {
    using core::reads_more;
    for (;;) {
        core::ReadSet set;
        reads_more(snapshot_, command, set);
        if (set.empty()) {
            return {};
        }
        FF_TRY_VOID(load(set));
    }
}

template <class C>
auto Batch::decide_one(const C& command)
    -> expected<decltype(core::decide(std::declval<const core::Snapshot&>(), command,
                                      std::declval<const core::Context&>()))> {
    core::ReadSet set;
    core::reads(command, set);
    FF_TRY_VOID(store_.load(set, snapshot_));
    FF_TRY_VOID(load_more(command));
    auto decision = core::decide(snapshot_, command, ctx_);
    apply(std::move(decision.changes));
    decision.changes = {};
    return decision;
}

}  // namespace ff::engine
