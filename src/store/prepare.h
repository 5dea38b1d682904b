// What every store does to a batch's snapshot on the way to writing it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/derive.h"
#include "core/snapshot.h"

namespace ff::store {

/// Numbers the events of the batch, and links each into the history of its execution: the event
/// names the one before it, the execution names its newest. Renewals stay out: they would drown it.
/// With `step` -1 the numbers go down from `next_event`: places for numbers that come later.
void number_events(core::Snapshot& snapshot, std::int64_t& next_event, std::int64_t step = 1);

/// For a cell whose execution was deleted, once its rows are gone: what the batch created under the
/// same id afterwards is all that is left in it, and is new.
void forget_deleted(core::ExecutionCell& cell);

/// Loads work that was found due. Answers with the keys of what is still to be done: the batch may
/// have done some of it already.
std::vector<core::FlowWorkKey> load_due_work(std::vector<core::FlowWork> rows,
                                             core::Snapshot& snapshot);

/// Loads each by `load`; answers with those that can be read. One that cannot is the reconciler's
/// to tell of, and keeps nothing from the others.
template <class Load>
expected<std::vector<ExecutionId>> load_readable(const std::vector<ExecutionId>& ids,
                                                 const Load& load) {
    std::vector<ExecutionId> readable;
    for (const ExecutionId& id : ids) {
        const expected<void> loaded = load(id);
        if (loaded) {
            readable.push_back(id);
        } else if (loaded.error().code != ErrorCode::corruption &&
                   loaded.error().code != ErrorCode::store_corrupt) {
            return std::unexpected(loaded.error());
        }
    }
    return readable;
}

/// Is the flow known to be none of the store's? Then it has no edges, groups and work there.
bool is_new_flow(const core::Snapshot& snapshot, const FlowId& id);

/// Does an execution that was just found have open waits that are not loaded?
bool lacks_open_waits(const core::ExecutionCell& cell, const core::WaitTable& waits);
/// The suspension that is open as the store has it, if there is one.
std::optional<core::SuspensionKey> open_suspension(const core::Execution& stored);
/// Loads them. A suspension that should be there and is not is known to be absent.
void load_open_waits(const core::Execution& stored, std::optional<core::Suspension> suspension,
                     std::vector<core::Waitpoint> waitpoints, core::WaitTable& waits);
/// Before any row is written: marks the executions that get their first waitpoint (who never had
/// one costs nothing when it is deleted) and drops what the batch did to the waits of those that it
/// deletes.
void settle_waits(core::Snapshot& snapshot);
/// May rows of waits be there that go with this execution?
bool had_waits(const core::Execution& execution);
/// The keys that change, in an order in which no two are current at a time.
std::vector<const core::Tracked<core::HmacKey>*> key_changes(const core::WaitTable& waits);

/// A statement of a trim: takes the id through which events go, and a second number: the floor of
/// the table of histories, or which log family.
struct TrimStep {
    const std::string* text;
    std::int64_t second;
};
/// The marks first, the deletion last.
std::vector<TrimStep> trim_steps(EventFamily family, std::int64_t floor);

/// Keys of ff_listed and ff_exec_tag; those of the other side tables are in core/derive.h.
using ListedKey = std::pair<core::Bucket, core::Eid>;
struct TagRow {
    std::string_view key;
    std::string_view value;
    core::Eid eid = 0;
};

/// What becomes of the side tables when a row of an execution becomes another: `sink.erase(key)`
/// for every key that goes, `sink.add(key)` for every one that comes.
template <class Sink>
expected<void> change_side_tables(const std::optional<core::Execution>& before,
                                  const std::optional<core::Execution>& after, Sink&& sink) {
    const auto change = [&](auto key_of) -> expected<void> {
        const auto from = before ? key_of(*before) : std::nullopt;
        const auto to = after ? key_of(*after) : std::nullopt;
        if (from == to) {
            return {};
        }
        if (from) {
            FF_TRY_VOID(sink.erase(*from));
        }
        return to ? sink.add(*to) : expected<void>();
    };
    FF_TRY_VOID(change(core::ready_key));
    FF_TRY_VOID(change(core::timer_key));
    FF_TRY_VOID(change(core::turn_key));
    return change([](const core::Execution& e) -> std::optional<ListedKey> {
        const core::Bucket bucket = core::bucket(e);
        return bucket == core::Bucket::none ? std::nullopt
                                            : std::optional<ListedKey>({bucket, e.eid});
    });
}

/// The same for the tags of an execution.
template <class Sink>
expected<void> change_tags(core::Eid eid, const Tags& before, const Tags& after, Sink&& sink) {
    const auto kept = [](const Tags& tags, const auto& tag) {
        const auto it = tags.find(tag.first);
        return it != tags.end() && it->second == tag.second;
    };
    for (const auto& tag : before) {
        if (!kept(after, tag)) {
            FF_TRY_VOID(sink.erase(TagRow{tag.first, tag.second, eid}));
        }
    }
    for (const auto& tag : after) {
        if (!kept(before, tag)) {
            FF_TRY_VOID(sink.add(TagRow{tag.first, tag.second, eid}));
        }
    }
    return {};
}

}  // namespace ff::store
