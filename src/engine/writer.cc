#include "engine/writer.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <utility>

#include "engine/engine_thread.h"

namespace ff::engine {

namespace {

/// Due timers taken into one batch: enough to share a sync, few enough not to hold up callers.
constexpr std::size_t due_per_batch = 256;
/// Batches of due work in a row without any effect (leases that were renewed) before a pass ends.
constexpr int fruitless_max = 64;
/// How long the writer rests after a batch that failed without being anybody's.
constexpr DurationMs stumble_ms = 100;
/// How often a transaction is run when others are in its way, and the pause before it runs again,
/// which doubles.
constexpr int tries_max = 6;
constexpr std::uint32_t try_again_ms = 4;
/// A transaction costs as much as several commands in it, and so does its sync. So many commands
/// are worth both; fewer are gathered while waiting for more costs nothing.
constexpr std::size_t worthwhile = 16;
/// How long callers who have just been answered are waited for.
constexpr std::chrono::microseconds gather_max{60};

/// Where the commands end that are run in one transaction: at least one of them. Graphs of
/// thousands of nodes together would keep others waiting, and leave the processor's caches.
std::vector<Pending>::iterator first_batch(std::vector<Pending>& commands, std::size_t most) {
    std::size_t weight = 0;
    return std::ranges::find_if(commands, [&](const Pending& pending) {
        const bool first = weight == 0;
        weight += std::max<std::size_t>(pending.weight, 1);
        return !first && weight > most;
    });
}

std::size_t weight_of(const std::vector<Pending>& commands) {
    std::size_t weight = 0;
    for (const Pending& pending : commands) {
        weight += pending.weight;
    }
    return weight;
}

}  // namespace

Writer::Writer(store::Store& store, const core::Settings& settings, const EngineOptions& options,
               Clock& clock, IdSource& ids, Tally& tally, Passes passes, Notices notices)
    : store_(store),
      options_(options),
      clock_(clock),
      warn_(options.warn),
      tally_(tally),
      passes_(passes),
      finisher_(store, tally_, std::move(notices.durable), [this] { stop_gathering(); }),
      batch_(store, settings, ids, tally_, options.waiting_claims_max, warn_),
      scanners_(batch_, settings, options, clock.now(),
                [this](TimestampMs now) { return handle_due(now); }),
      thread_([this] { run(); }) {
    store_.watch([this, others = std::move(notices.others)](store::Store::Heard what) {
        if (what == store::Store::Heard::work) {
            look_for_work();
        } else if (others) {
            others();
        }
    });
}

Writer::~Writer() { stop(); }

std::optional<Error> Writer::refuse(std::size_t commands, std::size_t bytes) const {
    if (stopping_) {
        return Error{ErrorCode::shutting_down, "the engine is stopping", {}};
    }
    if (inbox_.size() + commands > options_.queue_commands_max ||
        inbox_bytes_ + bytes > options_.queue_bytes_max) {
        return Error{
            ErrorCode::overloaded, "too many commands are waiting; try again in a moment", {}};
    }
    return std::nullopt;
}

bool Writer::must_wake() { return std::exchange(sleeping_, false) || (gathering_ && is_enough()); }

void Writer::submit(Pending pending) {
    std::unique_lock lock(mutex_);
    if (auto error = refuse(1, pending.bytes)) {
        lock.unlock();
        pending.done(std::unexpected(std::move(*error)));
        return;
    }
    inbox_bytes_ += pending.bytes;
    load_ += pending.weight;
    inbox_.push_back(std::move(pending));
    const bool wake_writer = must_wake();
    lock.unlock();
    if (wake_writer) {
        arrived_.notify_one();
    }
}

void Writer::submit(std::vector<Pending> pendings) {
    std::size_t bytes = 0;
    for (const Pending& pending : pendings) {
        bytes += pending.bytes;
    }
    std::unique_lock lock(mutex_);
    if (auto error = refuse(pendings.size(), bytes)) {
        lock.unlock();
        for (Pending& pending : pendings) {
            pending.done(std::unexpected(*error));
        }
        return;
    }
    inbox_bytes_ += bytes;
    load_ += weight_of(pendings);
    std::ranges::move(pendings, std::back_inserter(inbox_));
    const bool wake_writer = must_wake();
    lock.unlock();
    if (wake_writer) {
        arrived_.notify_one();
    }
}

void Writer::stop_gathering() {
    bool gathering = false;
    {
        std::lock_guard lock(mutex_);
        gathering = gathering_;
    }
    if (gathering) {
        arrived_.notify_one();
    }
}

void Writer::wake() {
    {
        std::lock_guard lock(mutex_);
        poked_ = true;
        sleeping_ = false;
    }
    arrived_.notify_one();
}

void Writer::look_for_work() {
    others_wrote_ = true;
    wake();
}

void Writer::abandon(std::uint64_t claim) {
    {
        std::lock_guard lock(mutex_);
        abandoned_.push_back(claim);
    }
    wake();
}

void Writer::answer_abandoned() {
    std::vector<std::uint64_t> claims;
    {
        std::lock_guard lock(mutex_);
        std::swap(claims, abandoned_);
    }
    std::vector<Outcome> outcomes;
    batch_.claims().abandon(claims, outcomes);
    if (!outcomes.empty()) {
        hand_over(std::move(outcomes), false);
    }
}

void Writer::stop() {
    std::call_once(stopped_, [this] {
        store_.watch({});
        {
            std::lock_guard lock(mutex_);
            stopping_ = true;
            sleeping_ = false;
        }
        arrived_.notify_one();
        thread_.join();
        finisher_.drain();
    });
}

EngineStats Writer::stats() const {
    EngineStats stats;
    stats.commands = commands_;
    stats.batches = batches_;
    stats.due_handled = due_handled_;
    stats.waiting_claims = waiting_;
    stats.rows_written = store_.rows_written();
    scanners_.log().fill(stats);
    std::lock_guard lock(mutex_);
    stats.queue_depth = inbox_.size();
    return stats;
}

DurationMs Writer::idle_ms(TimestampMs now) {
    std::optional<TimestampMs> at = batch_.claims().next_deadline();
    const auto earlier = [&at](const std::optional<TimestampMs>& other) {
        if (other && (!at || *other < *at)) {
            at = other;
        }
    };
    if (options_.background) {
        earlier(batch_.next_due());
    }
    if (options_.background && passes_ == Passes::own) {
        earlier(scanners_.next_at());
    }
    if (batch_.claims().must_serve()) {
        return 0;
    }
    if (!at) {
        return 60'000;
    }
    return *at <= now ? 0 : clock_.sleep_hint(*at);
}

bool Writer::is_enough() const {
    // No more than fit into the queue and into a batch are waited for.
    const std::size_t wanted =
        std::min({finisher_.unsynced_callers(), worthwhile, options_.batch_commands_max,
                  std::max<std::size_t>(options_.queue_commands_max / 2, 1)});
    return inbox_.size() >= wanted || inbox_bytes_ >= options_.queue_bytes_max / 2;
}

void Writer::gather(std::unique_lock<std::mutex>& lock, DurationMs idle) {
    if (!is_enough()) {
        // The disk is at work on a larger batch, and this one has to wait for that in any case.
        gathering_ = true;
        arrived_.wait_for(lock, std::chrono::milliseconds(idle),
                          [this] { return is_enough() || stopping_ || poked_; });
        gathering_ = false;
        return;
    }
    // Those whom this thread has just answered are about to come back: until nobody more has come
    // in a turn of everybody else.
    std::size_t seen = inbox_.size() < answered_ ? 0 : inbox_.size();
    while (seen < inbox_.size() && !stopping_ &&
           std::chrono::steady_clock::now() < expected_until_) {
        seen = inbox_.size();
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
    }
}

std::vector<Pending> Writer::take(bool& stopping) {
    const DurationMs idle = std::max(idle_ms(clock_.now()), stumbled_ ? stumble_ms : 0);
    std::unique_lock lock(mutex_);
    if (inbox_.empty() && idle > 0 && !stopping_ && !poked_) {
        sleeping_ = true;
        arrived_.wait_for(lock, std::chrono::milliseconds(idle),
                          [&] { return !inbox_.empty() || stopping_ || poked_; });
        sleeping_ = false;
    }
    if (!inbox_.empty() && idle > 0) {
        gather(lock, idle);
    }
    poked_ = false;
    stopping = stopping_ && inbox_.empty();
    std::vector<Pending> out;
    const auto cut = first_batch(inbox_, options_.batch_commands_max);
    if (cut == inbox_.end()) {
        std::swap(out, inbox_);
        inbox_bytes_ = 0;
        return out;
    }
    out.assign(std::make_move_iterator(inbox_.begin()), std::make_move_iterator(cut));
    inbox_.erase(inbox_.begin(), cut);
    for (const Pending& pending : out) {
        inbox_bytes_ -= pending.bytes;
    }
    return out;
}

void Writer::run() {
    enter_engine_thread("ff-writer");
    if (auto ok = batch_.refresh_next_due(); !ok) {
        warn_("reading due times: " + ok.error().message());
    }
    for (;;) {
        bool stopping = false;
        std::vector<Pending> commands = take(stopping);
        const TimestampMs now = clock_.now();
        if (stopping) {
            break;
        }
        if (others_wrote_.exchange(false)) {
            batch_.claims().recheck_all();
        }
        weight_ = weight_of(commands);
        process(std::move(commands), now);
        load_ -= std::exchange(weight_, 0);
        answer_abandoned();
        if (options_.background && passes_ == Passes::own) {
            scanners_.run_due(now);
        }
        if (batch_.take_unsynced()) {
            hand_over({}, true);  // nobody waits for it, but readers may see it only then
        }
        store_.maintain();
        waiting_ = batch_.claims().waiting();
    }
    std::vector<Outcome> released;
    batch_.claims().release_all(released);
    hand_over(std::move(released), false);
}

void Writer::process(std::vector<Pending> commands, TimestampMs now) {
    const auto others = std::ranges::stable_partition(commands, [](const Pending& pending) {
        return !ff::holds_alternative<RunScanner>(pending.command);
    });
    std::vector<Pending> scanner_runs(std::move_iterator(others.begin()),
                                      std::move_iterator(others.end()));
    commands.erase(others.begin(), others.end());
    const bool due = options_.background && batch_.next_due() && *batch_.next_due() <= now;
    const auto deadline = batch_.claims().next_deadline();
    stumbled_ = false;
    if (!commands.empty() || due || batch_.claims().must_serve() ||
        (deadline && *deadline <= now)) {
        run_batch(std::move(commands), now, options_.background ? due_per_batch : 0);
    }
    for (Pending& pending : scanner_runs) {
        run_scanner(std::move(pending), now);
    }
}

Batch::Run Writer::transact(std::vector<Pending> commands, TimestampMs now, std::size_t due_max,
                            Waiting waiting) {
    Batch::Run run = batch_.run(std::move(commands), now, due_max, waiting);
    for (int tries = 1; store_.shared() && run.failure && !run.store_failed &&
                        may_run_again(run.failure->code) && tries < tries_max;
         ++tries) {
        const auto pause = 1 + jitter_() % (try_again_ms << static_cast<unsigned>(tries));
        std::this_thread::sleep_for(std::chrono::milliseconds(pause));
        std::vector<Pending> again;
        for (std::vector<Outcome>* outcomes : {&run.outcomes, &run.refused}) {
            for (Outcome& outcome : *outcomes) {
                again.push_back(std::move(outcome.pending));
            }
        }
        tally_.run_again(run.failure->code);
        now = clock_.now();  // leases count from here
        run = batch_.run(std::move(again), now, due_max, waiting);
    }
    if (run.failure && run.failure->code == ErrorCode::store_busy) {
        run.failure->code =
            ErrorCode::retry_exhausted;  // callers hear of races only when all ended so
    }
    return run;
}

void Writer::hand_over(std::vector<Outcome> outcomes, bool wrote, Finisher::Next next) {
    {
        std::lock_guard lock(mutex_);
        next = inbox_.empty() ? next : Finisher::Next::waits;
    }
    load_ -= std::exchange(weight_, 0);  // before callers hear of it and come back
    const std::size_t callers = outcomes.size();
    const bool finished = finisher_.finish(std::move(outcomes), wrote,
                                           wrote ? batch_.take_changed() : Changed(), next);
    answered_ = finished ? callers : 0;
    expected_until_ = std::chrono::steady_clock::now() + gather_max;
}

ScannerResult Writer::run_batch(std::vector<Pending> commands, TimestampMs now,
                                std::size_t due_max) {
    commands_ += commands.size();
    batches_ += 1;
    const bool registers = std::ranges::any_of(commands, [](const Pending& pending) {
        return ff::holds_alternative<RegisterWorker>(pending.command);
    });
    const std::uint64_t ticket = ++tickets_;
    const bool alone = commands.size() == 1;
    if (alone) {
        commands[0].ticket = ticket;
    }
    Batch::Run run = transact(std::move(commands), now, due_max, Waiting::served);
    waiting_ = batch_.claims().waiting();  // before anybody hears of this batch
    if (run.failure) {
        const ScannerResult failed{0, 1, {}};
        answer_refused(run);
        if (run.outcomes.empty() && run.due_taken == 0) {
            return failed;
        }
        const bool own = alone && run.due_taken == 0 && run.outcomes.size() == 1 &&
                         run.outcomes[0].pending.ticket == ticket;
        if (own) {
            run.outcomes[0].response = std::unexpected(*run.failure);
            hand_over(std::move(run.outcomes), false);
        } else {
            run_apart(std::move(run), now);
        }
        return failed;
    }
    due_handled_ += run.due_handled;
    if (registers) {
        scanners_.unblock_routes(now);
    }
    const bool wrote = batch_.take_unsynced() || run.wrote;
    if (!run.outcomes.empty() || wrote) {
        const bool more = (options_.background && batch_.next_due() && *batch_.next_due() <= now) ||
                          batch_.claims().must_serve();
        hand_over(std::move(run.outcomes), wrote,
                  more ? Finisher::Next::waits : Finisher::Next::none);
    }
    return {run.due_handled, 0, {}};
}

/// Answers those whose answer a failure is: the claims it came of, and everybody when the store
/// could not be used at all. With nobody to tell, the writer warns and rests a moment.
void Writer::answer_refused(Batch::Run& run) {
    // What may have happened after all must not be done twice.
    const bool in_doubt = run.failure->code == ErrorCode::commit_in_doubt;
    if (run.store_failed || in_doubt) {
        std::ranges::move(run.outcomes, std::back_inserter(run.refused));
        run.outcomes.clear();
        run.due_taken = 0;
    }
    stumbled_ = run.refused.empty() && run.outcomes.empty();
    if (stumbled_) {
        warn_("a batch failed: " + run.failure->message());
    }
    for (Outcome& outcome : run.refused) {
        outcome.response = std::unexpected(*run.failure);
    }
    if (!run.refused.empty()) {
        hand_over(std::exchange(run.refused, {}), false);
    }
}

ScannerResult Writer::handle_due(TimestampMs now) {
    ScannerResult result;
    int fruitless = 0;
    while (batch_.next_due() && *batch_.next_due() <= now && fruitless < fruitless_max) {
        const ScannerResult batch = run_batch({}, now, due_per_batch);
        result.processed += batch.processed;
        result.errors += batch.errors;
        if (batch.processed == 0 && batch_.due_taken() < due_per_batch) {
            break;  // it saw everything that is due, and nothing came of it
        }
        fruitless = batch.processed == 0 ? fruitless + 1 : 0;
    }
    return result;
}

void Writer::run_apart(Batch::Run failed, TimestampMs now) {
    run_alone(std::move(failed.outcomes), now);
    for (std::size_t left = failed.due_taken; left > 0; --left) {
        Batch::Run run = transact({}, now, 1, Waiting::left);
        if (run.failure) {
            const bool only_it = is_of_the_row(run.failure->code);
            answer_refused(run);
            run_alone(std::move(run.outcomes), now);
            if (!only_it) {
                return;
            }
            continue;  // it is left alone for a while, the others are not
        }
        due_handled_ += run.due_handled;
        hand_over(std::move(run.outcomes), batch_.take_unsynced(),
                  left > 1 ? Finisher::Next::waits : Finisher::Next::none);
    }
}

void Writer::run_alone(std::vector<Outcome> outcomes, TimestampMs now) {
    std::deque<Pending> queue;
    for (Outcome& outcome : outcomes) {
        queue.push_back(std::move(outcome.pending));
    }
    while (!queue.empty()) {
        std::vector<Pending> one;
        one.push_back(std::move(queue.front()));
        queue.pop_front();
        const std::uint64_t ticket = one[0].ticket = ++tickets_;
        Batch::Run run = transact(std::move(one), now, 0, Waiting::left);
        if (!run.failure) {
            hand_over(std::move(run.outcomes), batch_.take_unsynced(),
                      queue.empty() ? Finisher::Next::none : Finisher::Next::waits);
            continue;
        }
        if (run.store_failed) {
            for (Pending& pending : std::exchange(queue, {})) {
                run.outcomes.push_back({std::move(pending), Response(Done{})});
            }
        }
        answer_refused(run);
        const auto is_own = [ticket](const Outcome& outcome) {
            return outcome.pending.ticket == ticket;
        };
        const bool own = std::ranges::any_of(run.outcomes, is_own);
        std::vector<Outcome> guilty;
        for (Outcome& outcome : run.outcomes) {
            if (own && !is_own(outcome)) {
                queue.push_back(std::move(outcome.pending));  // a claim that was served along
            } else {
                outcome.response = std::unexpected(*run.failure);
                guilty.push_back(std::move(outcome));
            }
        }
        hand_over(std::move(guilty), false);
    }
}

void Writer::run_scanner(Pending pending, TimestampMs now) {
    auto result = scanners_.run(ff::get<RunScanner>(pending.command).scanner, now);
    Response response = result ? Response(Reply(std::move(*result)))
                               : Response(std::unexpected(std::move(result).error()));
    std::vector<Outcome> one;
    one.push_back({std::move(pending), std::move(response)});
    hand_over(std::move(one), batch_.take_unsynced());
}

}  // namespace ff::engine
