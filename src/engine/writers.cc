#include "engine/writers.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "engine/engine_thread.h"

namespace ff::engine {

namespace {

/// The first writer has this much before the second is asked: two transactions' worth.
constexpr std::size_t enough = 32;
/// So many more commands have found it so than not before the second is opened.
constexpr int crowded_often = 16;

std::size_t weight(const Command& command) {
    if (const auto* claim = ff::get_if<Claim>(&command)) {
        return claim->max_tasks;
    }
    if (const auto* submit = ff::get_if<core::PreparedSubmit>(&command)) {
        return std::max<std::size_t>(submit->graph.nodes.size(), 1);
    }
    return 1;
}

/// What comes in thousands, and is the same whoever runs it. Claims that wait are not: whoever
/// makes work ready looks for them among its own.
bool runs_anywhere(const Command& command) {
    if (const auto* claim = ff::get_if<Claim>(&command)) {
        return claim->max_wait_ms == 0;
    }
    return ff::holds_alternative<core::PreparedCreate>(command) ||
           ff::holds_alternative<Complete>(command) || ff::holds_alternative<Fail>(command) ||
           ff::holds_alternative<Renew>(command);
}

}  // namespace

Writers::Writers(store::Store& store, const core::Settings& settings, const EngineOptions& options,
                 Clock& clock, IdSource& ids, Writer::Notices notices, OpenStore open_second)
    : settings_(settings),
      options_(options),
      clock_(clock),
      ids_(ids),
      durable_(notices.durable),
      open_store_(std::move(open_second)),
      first_store_(store),
      first_(
          store, settings, options, clock, ids, tally_, Writer::Passes::own,
          {[this](const Changed& changed) { first_wrote(changed); }, std::move(notices.others)}) {}

// Before any caller hears of it: a claim that follows may go to the other one.

void Writers::first_wrote(const Changed& changed) {
    if (store::Store* store = changed.routes ? second_place_.load() : nullptr) {
        store->routes_were_made();
    }
    if (durable_) {
        durable_(changed);
    }
}

void Writers::second_wrote(const Changed& changed) {
    if (changed.routes) {
        first_store_.routes_were_made();
    }
    first_.look_for_work();
    if (durable_) {
        durable_(changed);
    }
}

Writers::~Writers() { stop(); }

void Writers::open_second() {
    std::lock_guard lock(mutex_);
    if (asked_ || stopped_) {
        return;
    }
    asked_ = true;
    opener_ = std::thread([this] {
        enter_engine_thread("ff-opener");
        auto store = open_store_();
        if (!store) {
            options_.warn("no second connection to write with: " + store.error().message());
            return;
        }
        second_store_ = std::move(*store);
        second_place_ = second_store_.get();
        second_store_->routes_were_made();  // between its opening and this line, perhaps
        second_owner_ = std::make_unique<Writer>(
            *second_store_, settings_, options_, clock_, ids_, tally_, Writer::Passes::others,
            Writer::Notices{[this](const Changed& changed) { second_wrote(changed); }, {}});
        second_ = second_owner_.get();
    });
}

Writer& Writers::less_loaded() {
    if (first_.load() < enough) {
        crowded_ = std::max(crowded_ - 1, 0);  // another thread's count may be lost: no matter
        return first_;
    }
    Writer* second = second_;
    if (second != nullptr) {
        return second->load() < first_.load() ? *second : first_;
    }
    if (open_store_ && ++crowded_ >= crowded_often) {
        open_second();
    }
    return first_;
}

void Writers::wake() {
    first_.wake();
    if (Writer* second = second_) {
        second->wake();
    }
}

void Writers::submit(Pending pending) {
    pending.weight = weight(pending.command);
    Writer& writer = runs_anywhere(pending.command) ? less_loaded() : first_;
    writer.submit(std::move(pending));
}

void Writers::submit(std::vector<Pending> pendings) {
    bool anywhere = true;
    for (Pending& pending : pendings) {
        pending.weight = weight(pending.command);
        anywhere = anywhere && runs_anywhere(pending.command);
    }
    Writer& writer = anywhere ? less_loaded() : first_;
    writer.submit(std::move(pendings));
}

void Writers::stop() {
    std::thread opener;
    {
        std::lock_guard lock(mutex_);
        stopped_ = true;
        std::swap(opener, opener_);
    }
    if (opener.joinable()) {
        opener.join();
    }
    if (Writer* second = second_) {
        second->stop();
    }
    first_.stop();
}

EngineStats Writers::stats() const {
    EngineStats stats = first_.stats();
    if (const Writer* second = second_) {
        const EngineStats more = second->stats();
        stats.commands += more.commands;
        stats.batches += more.batches;
        stats.rows_written += more.rows_written;
        stats.queue_depth += more.queue_depth;
        stats.due_handled += more.due_handled;
        stats.writers = 2;
    }
    tally_.fill(stats);
    return stats;
}

}  // namespace ff::engine
