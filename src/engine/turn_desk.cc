#include "engine/turn_desk.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/claim_desk.h"

namespace ff::engine {

namespace {

/// Those who wait are read so many at a time: a claim of many may take some of one key.
constexpr std::size_t read_ahead = 8;

}  // namespace

void TurnDesk::begin() {
    work_ = {};
    queues_.clear();
    owed_next_.clear();
    for (const core::RouteId queue : owed_) {
        look_at(queue);
    }
}

void TurnDesk::look_at(core::RouteId queue) { work_.left.push_back({queue, 0, 0}); }

expected<bool> TurnDesk::call_one(core::RouteId queue) {
    look_at(queue);
    FF_TRY_VOID(give_turns());
    return !queues_[queue].holders.empty();
}

void TurnDesk::note(const core::Execution* before, core::Execution& after) {
    if (!after.limit_key) {
        return;
    }
    core::add_turn_work(before, after, work_);
    const auto had = before != nullptr ? core::turn_key(*before) : std::nullopt;
    const auto has = core::turn_key(after);
    if (const auto it = had ? queues_.find(had->queue) : queues_.end(); it != queues_.end()) {
        it->second.holders.erase(had->eid);
    }
    if (const auto it = has ? queues_.find(has->queue) : queues_.end(); it != queues_.end()) {
        it->second.holders.insert(has->eid);
    }
}

bool TurnDesk::comes_first(const core::Execution* candidate) const {
    if (candidate == nullptr) {
        return !idle();
    }
    // In the candidate's line whoever follows stands behind it.
    return std::ranges::any_of(work_.left, [&](const core::TurnWork::Left& left) {
        return left.route != 0 &&
               (left.rank < -candidate->priority ||
                snapshot_.route(left.route).key.lane != snapshot_.route(candidate->route).key.lane);
    });
}

expected<void> TurnDesk::give_turns() {
    while (!work_.empty()) {
        const core::TurnWork work = std::exchange(work_, {});
        FF_TRY_VOID(learn(work));
        // Those who wait come before those who have just come.
        std::vector<core::RouteId> left;
        left.reserve(work.left.size());
        for (const core::TurnWork::Left& one : work.left) {
            left.push_back(one.queue);
        }
        FF_TRY_VOID(read_on(left));
        for (const core::RouteId number : left) {
            FF_TRY_VOID(call(number, queues_[number]));
        }
        for (const core::TurnWork::Stand& one : work.standing) {
            const core::Execution* e = snapshot_.execution(one.execution);
            if (e == nullptr || !core::still_stands(*e, one)) {
                continue;
            }
            const Queue& queue = queues_[one.queue];
            core::Changes changes;
            core::Execution& row = changes.put_executions.emplace_back(*e);
            if (queue.busy) {
                owed_next_.insert(one.queue);
            }
            if (queue.busy || !queue.holders.empty()) {
                core::wait_for_turn(row, one.created, ctx_);
            } else {
                core::take_turn(row, one.created, ctx_);
            }
            apply_(std::move(changes));
        }
    }
    return {};
}

expected<void> TurnDesk::learn(const core::TurnWork& work) {
    std::vector<core::RouteId> unknown;
    const auto ask = [&](core::RouteId number) {
        if (queues_.try_emplace(number).second) {
            unknown.push_back(number);
        }
    };
    std::ranges::for_each(work.left, ask, &core::TurnWork::Left::queue);
    std::ranges::for_each(work.standing, ask, &core::TurnWork::Stand::queue);
    if (unknown.empty()) {
        return {};
    }
    FF_TRY(const store::TurnPage page, store_.lock_turns(unknown));
    for (const core::RouteId number : page.busy) {
        queues_[number].busy = true;
    }
    for (const core::TurnKey& turn : page.holders) {
        // What this transaction knows of it is newer.
        const core::ExecutionCell* cell = snapshot_.find_cell(turn.eid);
        const core::Execution* e = cell != nullptr ? cell->execution.get() : nullptr;
        if (e == nullptr || core::turn_key(*e) == turn) {
            queues_[turn.queue].holders.insert(turn.eid);
        }
    }
    return {};
}

expected<void> TurnDesk::call(core::RouteId number, Queue& queue) {
    if (queue.busy) {
        owed_next_.insert(number);
        return {};
    }
    while (queue.holders.empty()) {
        if (queue.next.empty()) {
            FF_TRY_VOID(read_on({number}));
        }
        if (queue.next.empty()) {
            break;
        }
        const core::ReadyKey key = queue.next.front();
        queue.next.pop_front();
        FF_TRY(const core::Execution* e, waiting(number, key));
        if (e != nullptr) {
            core::Changes changes;
            core::take_turn(changes.put_executions.emplace_back(*e), false, ctx_);
            apply_(std::move(changes));
        }
    }
    return {};
}

expected<void> TurnDesk::read_on(const std::vector<core::RouteId>& queues) {
    std::vector<core::RouteId> open;
    for (const core::RouteId number : queues) {
        Queue& queue = queues_[number];
        if (queue.busy || !queue.holders.empty() || !queue.next.empty()) {
            continue;
        }
        if (queue.complete) {
            add_page(number, queue, {}, true);  // what this transaction has added since
        } else if (store_.shared()) {
            open.push_back(number);
        } else {
            FF_TRY(auto keys, store_.scan_ready(number, queue.read_to, read_ahead));
            const bool complete = keys.size() < read_ahead;
            add_page(number, queue, std::move(keys), complete);
        }
    }
    if (open.empty()) {
        return {};
    }
    std::vector<store::ReadyAsk> asks;
    asks.reserve(open.size());
    for (const core::RouteId number : open) {
        asks.push_back({{number}, queues_[number].read_to, read_ahead});
    }
    FF_TRY(auto pages, store_.lock_ready(asks, {}, snapshot_));
    for (std::size_t i = 0; i < open.size(); ++i) {
        Queue& queue = queues_[open[i]];
        if (pages[i].skipped) {
            owed_next_.insert(open[i]);  // should nobody else be left
        }
        const auto looked_to = pages[i].looked_to;
        add_page(open[i], queue, std::move(pages[i].keys), !looked_to);
        if (looked_to) {
            queue.read_to = looked_to;
        }
    }
    return {};
}

void TurnDesk::add_page(core::RouteId number, Queue& queue, std::vector<core::ReadyKey> stored,
                        bool complete) {
    const auto read_to = stored.empty() ? queue.read_to : std::optional(stored.back());
    for (const core::ReadyKey& key :
         ready_.as_left(number, queue.read_to, std::move(stored), complete)) {
        queue.next.push_back(key);
    }
    queue.complete = complete;
    queue.read_to = read_to;
    if (complete && !queue.next.empty()) {
        queue.read_to = std::max(queue.read_to.value_or(queue.next.back()), queue.next.back());
    }
}

expected<const core::Execution*> TurnDesk::waiting(core::RouteId number,
                                                   const core::ReadyKey& key) {
    auto loaded = store_.load({&key.eid, 1}, core::InputNeed::none, false, snapshot_);
    if (!loaded && is_of_the_row(loaded.error().code)) {
        warn_("the turn passes over execution " + std::to_string(key.eid) + ": " +
              loaded.error().message());
        return nullptr;
    }
    FF_TRY_VOID(loaded);
    const core::ExecutionCell* cell = snapshot_.find_cell(key.eid);
    const core::Execution* e = cell != nullptr ? cell->execution.get() : nullptr;
    const bool there =
        e != nullptr && core::waits_for_turn(*e) && core::gate_route(*e->gate) == number;
    return there ? e : nullptr;
}

}  // namespace ff::engine
