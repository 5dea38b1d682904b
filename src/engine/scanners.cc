#include "engine/scanners.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <ranges>

#include "core/admission.h"
#include "core/decide.h"
#include "core/invariants.h"
#include "core/transitions.h"
#include "engine/claim_desk.h"

namespace ff::engine {

namespace {

/// The periods a pass may be given.
constexpr DurationMs period_min_ms = 100;
constexpr DurationMs period_max_ms = 366 * 86'400'000LL;
/// Findings of a pass that are told one by one.
constexpr std::size_t findings_told = 5;
constexpr std::size_t sweep_max = 1'000;
constexpr std::size_t unblock_page_max = 100;
constexpr std::size_t unblock_pages_at_once = 10;
constexpr std::size_t reconcile_page = 100;
constexpr std::size_t events_per_pass = 10'000;
/// An expired grant is remembered this long, so that its holder hears that it expired.
constexpr DurationMs grant_memory_ms = 60'000;

constexpr core::Eid newest_eid = std::numeric_limits<core::Eid>::max();
constexpr std::int32_t highest_rank = std::numeric_limits<std::int32_t>::max();
constexpr core::RouteId lowest_route = std::numeric_limits<core::RouteId>::min();
constexpr std::size_t queues_per_pass = 100;

constexpr std::array blocked_buckets{core::Bucket::blocked_by_budget,
                                     core::Bucket::blocked_by_quota,
                                     core::Bucket::blocked_by_route};

}  // namespace

Scanners::Scanners(Batch& batch, const core::Settings& settings, const EngineOptions& options,
                   TimestampMs now, DueFn handle_due)
    : batch_(batch),
      settings_(settings),
      options_(options),
      handle_due_(std::move(handle_due)),
      unblock_at_(blocked_buckets.size()) {
    for (const Kind& kind : kinds()) {
        Scanner scanner{kind, std::nullopt, false};
        if (auto own = options.scanner_periods_ms.find(std::string(kind.name));
            own != options.scanner_periods_ms.end()) {
            scanner.period_ms = own->second;
        }
        if (scanner.period_ms > 0) {
            scanner.next_at = now + scanner.period_ms;
        }
        log_.add(scanner.name, scanner.period_ms);
        scanners_.push_back(scanner);
    }
}

const std::vector<Scanners::Kind>& Scanners::kinds() {
    static const std::vector<Kind> all{
        // Due times serve all of these: each name runs the same pass.
        {"lease_expiry", 1'500, &Scanners::due_pass},
        {"delayed_promoter", 750, &Scanners::due_pass},
        {"attempt_timeout", 2'000, &Scanners::due_pass},
        {"suspension_timeout", 2'000, &Scanners::due_pass},
        {"pending_wp_expiry", 5'000, &Scanners::due_pass},
        {"execution_deadline", 5'000, &Scanners::due_pass},
        {"retention_trimmer", 60'000, &Scanners::due_pass},
        {"cancel_reconciler", 15'000, &Scanners::due_pass},
        {"edge_cancel_dispatcher", 1'000, &Scanners::due_pass},
        {"edge_cancel_reconciler", 10'000, &Scanners::due_pass},
        {"dependency_reconciler", 15'000, &Scanners::dependency_reconciler},
        {"flow_projector", 15'000, &Scanners::flow_projector},
        {"index_reconciler", 45'000, &Scanners::index_reconciler},
        {"unblock", 5'000, &Scanners::unblock, unblock_page_max},
        {"worker_ttl_sweep", 30'000, &Scanners::worker_ttl_sweep},
        {"grant_sweep", 5'000, &Scanners::grant_sweep},
        {"idempotency_sweep", 60'000, &Scanners::idempotency_sweep},
        {"event_trimmer", 60'000, &Scanners::event_trimmer},
        {"stream_trimmer", 30'000, &Scanners::stream_trimmer},
        {"budget_reset", 15'000, &Scanners::due_pass},
        {"budget_reconciler", 30'000, &Scanners::budget_reconciler},
        {"quota_reconciler", 30'000, &Scanners::quota_reconciler},
    };
    return all;
}

std::string Scanners::known_names() {
    std::string known;
    for (const Kind& kind : kinds()) {
        known += (known.empty() ? "" : ", ") + std::string(kind.name);
    }
    return known;
}

expected<void> check_scanner_periods(const EngineOptions& options) {
    for (const auto& [name, period_ms] : options.scanner_periods_ms) {
        if (std::ranges::find(Scanners::kinds(), name, &Scanners::Kind::name) ==
            Scanners::kinds().end()) {
            return ff::fail(ErrorCode::invalid_config, "scanner_periods_ms: no pass named " + name +
                                                           "; there are " +
                                                           Scanners::known_names());
        }
        if (period_ms != 0 && (period_ms < period_min_ms || period_ms > period_max_ms)) {
            return ff::fail(ErrorCode::invalid_config,
                            "scanner_periods_ms: the period of " + name +
                                " must be 0, which turns it off, or between 100 ms and a year");
        }
    }
    return {};
}

void Scanners::run_due(TimestampMs now) {
    for (Scanner& scanner : scanners_) {
        if (!scanner.next_at || *scanner.next_at > now) {
            continue;
        }
        more_at_once_ = false;
        const auto result = noted(scanner, now, [&] { return run_in_background(scanner, now); });
        const bool full = result && (more_at_once_ || result->processed >= scanner.batch);
        scanner.next_at = full ? now : now + scanner.period_ms;
        report(scanner, result);
    }
}

expected<ScannerResult> Scanners::run_in_background(const Scanner& scanner, TimestampMs now) {
    if (scanner.pass != &Scanners::due_pass) {
        return (this->*scanner.pass)(now);
    }
    // The writer handles what is due beside its commands; here it only learns that there is some.
    FF_TRY_VOID(batch_.refresh_next_due());
    return ScannerResult{};
}

void Scanners::report(Scanner& scanner, const expected<ScannerResult>& result) {
    const std::string name(scanner.name);
    if (!result && !scanner.failing) {
        batch_.warn(name + ": " + result.error().message());
    }
    scanner.failing = !result;
    if (result) {
        for (const std::string& finding : std::views::take(result->findings, findings_told)) {
            batch_.warn(name + " found: " + finding);
        }
        if (result->findings.size() > findings_told) {
            batch_.warn(name + " found " + std::to_string(result->findings.size()) +
                        " such executions in this pass; ff doctor lists them all");
        }
    }
}

expected<ScannerResult> Scanners::run(const std::string& name, TimestampMs now) {
    auto it = std::ranges::find(scanners_, name, &Scanner::name);
    if (it == scanners_.end()) {
        return ff::fail(ErrorCode::invalid_input,
                        "scanner: no pass named " + name + "; there are " + known_names());
    }
    return noted(*it, now, [&] { return (this->*it->pass)(now); });
}

expected<ScannerResult> Scanners::noted(const Scanner& scanner, TimestampMs now,
                                        const std::function<expected<ScannerResult>()>& body) {
    const auto began = std::chrono::steady_clock::now();
    auto result = body();
    log_.note(static_cast<std::size_t>(&scanner - scanners_.data()), now,
              std::chrono::steady_clock::now() - began, result);
    return result;
}

std::optional<TimestampMs> Scanners::next_at() const {
    std::optional<TimestampMs> at;
    for (const Scanner& scanner : scanners_) {
        if (scanner.next_at) {
            at = at ? std::min(*at, *scanner.next_at) : *scanner.next_at;
        }
    }
    return at;
}

expected<ScannerResult> Scanners::due_pass(TimestampMs now) {
    FF_TRY_VOID(batch_.refresh_next_due());
    return handle_due_(now);
}

expected<ScannerResult> Scanners::sweep(const std::function<expected<std::uint64_t>()>& body) {
    store::Store& store = batch_.store();
    FF_TRY_VOID(store.begin());
    auto gone = body();
    if (!gone || *gone == 0) {
        store.rollback();
        if (!gone) {
            return std::unexpected(std::move(gone).error());
        }
        return ScannerResult{};
    }
    FF_TRY_VOID(store.commit_upkeep());
    batch_.note_commit();
    return ScannerResult{*gone, 0, {}};
}

expected<ScannerResult> Scanners::grant_sweep(TimestampMs now) {
    return sweep([&] { return batch_.store().sweep_grants(now - grant_memory_ms, sweep_max); });
}

expected<ScannerResult> Scanners::idempotency_sweep(TimestampMs now) {
    return sweep([&] { return batch_.store().sweep_idempotency(now, sweep_max); });
}

expected<ScannerResult> Scanners::event_trimmer(TimestampMs now) {
    // The two that share a table are trimmed together.
    ScannerResult result;
    for (std::size_t i = 1; i < enum_count<EventFamily>; ++i) {
        const auto family = static_cast<EventFamily>(i);
        FF_TRY_VOID(batch_.make_readable());
        FF_TRY(const auto through, event_trim_.through(batch_.store(), family,
                                                       {now - options_.event_retention_ms,
                                                        options_.event_rows_max, events_per_pass}));
        if (through) {
            FF_TRY(const ScannerResult one,
                   sweep([&] { return batch_.store().trim_events(family, *through); }));
            result.processed += one.processed;
        }
    }
    return result;
}

expected<ScannerResult> Scanners::stream_trimmer(TimestampMs now) {
    ScannerResult result;
    FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
        store::Store& store = batch_.store();
        FF_TRY(const auto streams, store.scan_streams(now, sweep_max));
        std::vector<core::Eid> eids;
        for (const core::StreamKey& stream : streams) {
            eids.push_back(stream.eid);
        }
        FF_TRY_VOID(batch_.load_readable(eids));
        std::uint64_t frames_left = core::frames_per_sweep;
        bool looked = false;
        for (const core::StreamKey& stream : streams) {
            // One that another process is at is left to it.
            const core::ExecutionCell* cell = batch_.snapshot().find_cell(stream.eid);
            if (cell == nullptr || frames_left == 0) {
                continue;
            }
            const auto decision =
                batch_.decide_one(core::SweepStream{cell->id, stream.attempt_index, frames_left});
            if (!decision) {
                FF_TRY_VOID(tell_of(decision.error(), "stream of " + cell->id.to_string(), result));
                continue;
            }
            frames_left -= decision->answer->frames;
            result.processed += decision->answer->swept ? 1 : 0;
            looked = true;
        }
        // Those that were looked at are due no more, or less of them is left.
        more_at_once_ = looked && (streams.size() == sweep_max || frames_left == 0);
        return {};
    }));
    return result;
}

expected<ScannerResult> Scanners::worker_ttl_sweep(TimestampMs now) {
    ScannerResult result;
    FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
        FF_TRY(const auto dead, batch_.store().scan_dead_workers(now, sweep_max));
        for (const core::WorkerKey& key : dead) {
            FF_TRY(const auto decision, batch_.decide_one(core::SweepWorker{key}));
            result.processed += *decision.answer ? 1 : 0;
        }
        return {};
    }));
    return result;
}

expected<bool> Scanners::is_served(const core::Route& route, Registry& registry, TimestampMs now) {
    if (route.required.empty()) {
        return true;
    }
    if (!std::exchange(registry.read, true)) {
        auto live = batch_.store().live_workers(now);
        if (!live && !is_of_the_row(live.error().code)) {
            return std::unexpected(std::move(live).error());
        }
        registry.live = live ? std::optional(std::move(*live)) : std::nullopt;
    }
    return !registry.live ||
           std::ranges::any_of(*registry.live, [&](const core::WorkerRow& worker) {
               return worker.key.ns == route.key.ns &&
                      std::ranges::find(worker.lanes, route.key.lane) != worker.lanes.end() &&
                      satisfies(worker.capabilities, route.required);
           });
}

expected<bool> Scanners::unblock_one(const core::Execution& e, core::Bucket bucket,
                                     Registry& registry, TimestampMs now) {
    if (bucket != core::Bucket::blocked_by_route) {
        auto decision = batch_.decide_one(core::UnblockIfAdmitted{e.id});
        if (!decision && is_of_the_row(decision.error().code)) {
            return false;  // a limit that cannot be read keeps whom it may limit
        }
        FF_TRY_VOID(decision);
        return *decision->answer;
    }
    FF_TRY(const bool served, is_served(batch_.snapshot().route(e.route), registry, now));
    if (!served) {
        return false;
    }
    const UnblockExecution command{e.id, std::string(to_string(e.state.blocking_reason))};
    FF_TRY(const auto decision, batch_.decide_one(command));
    return decision.answer.has_value();
}

expected<std::uint64_t> Scanners::unblock_page(core::Bucket bucket, core::Eid& at,
                                               Registry& registry, TimestampMs now) {
    store::Store& store = batch_.store();
    core::Snapshot& snapshot = batch_.snapshot();
    std::uint64_t lifted = 0;
    FF_TRY(const auto eids, store.scan_bucket(bucket, at, unblock_page_max));
    at = eids.size() < unblock_page_max ? 0 : eids.back();
    FF_TRY_VOID(batch_.load_readable(eids));
    OfferedBudgets offered;
    for (core::Eid eid : eids) {
        const core::ExecutionCell* cell = snapshot.find_cell(eid);
        if (cell == nullptr || !cell->execution.current()) {
            continue;
        }
        const core::Execution e = *cell->execution.current();
        if (e.gate) {
            const auto freed = core::waits_at_limit(e) ? let_go_at_limit(e, offered, now) : false;
            // What cannot be read keeps whom it may limit, and nobody else.
            if (!freed && !is_of_the_row(freed.error().code)) {
                return std::unexpected(freed.error());
            }
            lifted += freed && *freed ? 1 : 0;
            continue;
        }
        FF_TRY(const bool freed, unblock_one(e, bucket, registry, now));
        lifted += freed ? 1 : 0;
    }
    return lifted;
}

expected<bool> Scanners::is_clear(const BudgetId& id, const core::Execution& e,
                                  OfferedBudgets& offered) {
    if (!offered.contains(id)) {
        core::ReadSet set;
        set.limits.budgets_looked.push_back(id);
        const auto loaded = batch_.store().load(set, batch_.snapshot());
        if (!loaded && !is_of_the_row(loaded.error().code)) {
            return std::unexpected(loaded.error());
        }
        const core::Budget* budget = loaded ? batch_.snapshot().limits.budget(id) : nullptr;
        offered.emplace(id, budget != nullptr ? std::optional(*budget) : std::nullopt);
    }
    std::optional<core::Budget>& budget = offered.at(id);
    return budget && core::lets_go(*budget, e.reserve);
}

expected<bool> Scanners::let_go_at_limit(const core::Execution& e, OfferedBudgets& offered,
                                         TimestampMs now) {
    store::Store& store = batch_.store();
    core::ReadSet flow;
    if (e.flow_id) {
        flow.flows.push_back(*e.flow_id);
        FF_TRY_VOID(store.load(flow, batch_.snapshot()));
    }
    for (;;) {
        core::ReadSet attachments;
        core::need_applicable(batch_.snapshot(), e, attachments);
        if (attachments.empty()) {
            break;
        }
        FF_TRY_VOID(store.load(attachments, batch_.snapshot()));
    }
    const core::Applicable limits = core::applicable(batch_.snapshot(), e);
    if (core::holds_gate(limits, *e.gate)) {
        // A quota's gate looks at all who wait there; at a budget's, those who do not fit may stand
        // in front of one who does.
        const auto budget = std::ranges::find(limits.budgets, *e.gate,
                                              [](const BudgetId& id) { return core::gate_of(id); });
        if (budget == limits.budgets.end()) {
            return false;
        }
        FF_TRY(const bool clear, is_clear(*budget, e, offered));
        if (!clear) {
            return false;
        }
    }
    core::Changes changes;
    core::make_eligible(changes.put_executions.emplace_back(e), now);
    batch_.keep(std::move(changes));
    return true;
}

expected<void> Scanners::look_at_turns(TimestampMs now, ScannerResult& result) {
    // The queues of gates come first among the ready ones; one look finds the first of each.
    std::vector<core::RouteId> queues;
    store::Store& store = batch_.store();
    FF_TRY_VOID(batch_.make_readable());
    FF_TRY_VOID(store.read([&](store::Reader& reader) -> expected<void> {
        for (std::size_t looks = 0; looks < queues_per_pass; ++looks) {
            FF_TRY(const auto first, reader.ready_after({turns_at_, highest_rank, newest_eid}, 1));
            if (first.empty() || first[0].route >= 0) {
                turns_at_ = lowest_route;
                break;
            }
            turns_at_ = first[0].route;
            FF_TRY(const auto head, reader.newest(first[0].eid + 1, 1));
            FF_TRY(const auto held, reader.turns_after({turns_at_, 0}, 1));
            const bool of_turns = !head.empty() && core::waits_for_turn(head[0]);
            if (of_turns && (held.empty() || held[0].queue != turns_at_)) {
                queues.push_back(turns_at_);
            }
        }
        return {};
    }));
    for (const core::RouteId queue : queues) {
        FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
            FF_TRY(const bool called, batch_.turns().call_one(queue));
            result.processed += called ? 1 : 0;
            return {};
        }));
    }
    return {};
}

expected<ScannerResult> Scanners::unblock(TimestampMs now) {
    ScannerResult result;
    Registry registry;
    FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
        for (std::size_t i = 0; i < blocked_buckets.size(); ++i) {
            FF_TRY(const std::uint64_t lifted,
                   unblock_page(blocked_buckets[i], unblock_at_[i], registry, now));
            result.processed += lifted;
        }
        return {};
    }));
    FF_TRY_VOID(look_at_gates(now, result));
    FF_TRY_VOID(look_at_turns(now, result));
    return result;
}

void Scanners::unblock_routes(TimestampMs now) {
    core::Eid at = 0;
    Registry registry;
    for (std::size_t pages = 0; pages < unblock_pages_at_once; ++pages) {
        // A failure leaves the rest to the periodic pass.
        const auto done = batch_.run_internal(now, [&]() -> expected<void> {
            FF_TRY_VOID(unblock_page(core::Bucket::blocked_by_route, at, registry, now));
            return {};
        });
        if (!done || at == 0) {
            return;
        }
    }
}

expected<void> Scanners::examine_row(store::Reader& reader, const core::Execution& e,
                                     Examined& out) {
    const std::string id = e.id.to_string();
    const auto attempts = reader.attempts(e.eid);
    const auto route = reader.route(e.route);
    const auto lane = route ? reader.lane(route->key.lane) : std::optional<core::Lane>();
    if (!attempts || !route || !lane) {
        const Error& error = !attempts ? attempts.error() : !route ? route.error() : lane.error();
        if (!is_of_the_row(error.code)) {
            return std::unexpected(error);
        }
        out.findings.push_back(id + ": " + error.message());
        out.unreadable += 1;
        return {};
    }
    std::vector<std::string> wrong = core::check_invariants(e, *attempts);
    if (!*lane) {
        wrong.push_back("lane: " + route->key.lane + " is not registered");
    }
    if (wrong.empty()) {
        return {};
    }
    for (std::string& finding : wrong) {
        out.findings.push_back(id + ": " + std::move(finding));
    }
    core::RepairExecution repair{e.id, e.last_mutation_at, {}};
    for (const core::Attempt& attempt : *attempts) {
        repair.attempt_indexes.push_back(attempt.attempt_index);
    }
    std::ranges::sort(repair.attempt_indexes);
    out.repairs.push_back(std::move(repair));
    return {};
}

expected<Scanners::Examined> Scanners::examine(std::span<const core::Eid> eids) {
    Examined out;
    FF_TRY_VOID(batch_.store().read([&](store::Reader& reader) -> expected<void> {
        const auto look = [&](core::Eid first, core::Eid last) -> expected<void> {
            FF_TRY(const auto rows, reader.executions({first - 1, last + 1,
                                                       store::Order::oldest_first, eids.size()}));
            for (const core::Execution& e : rows) {
                FF_TRY_VOID(examine_row(reader, e, out));
            }
            return {};
        };
        const auto all = look(eids.front(), eids.back());
        if (all || !is_of_the_row(all.error().code)) {
            return all;
        }
        // One by one: the others are looked at all the same.
        for (const core::Eid eid : eids) {
            if (auto one = look(eid, eid); !one) {
                if (!is_of_the_row(one.error().code)) {
                    return one;
                }
                out.findings.push_back("execution " + std::to_string(eid) + ": " +
                                       one.error().message());
                out.unreadable += 1;
            }
        }
        return {};
    }));
    return out;
}

expected<ScannerResult> Scanners::index_reconciler(TimestampMs now) {
    ScannerResult result;
    std::vector<core::Eid> eids;
    FF_TRY_VOID(batch_.make_readable());
    FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
        FF_TRY(eids, batch_.store().scan_all(reconciler_at_, reconcile_page));
        return {};
    }));
    Examined examined;
    if (!eids.empty()) {
        FF_TRY(examined, examine(eids));
    }
    const bool round_ends = eids.size() < reconcile_page;
    reconciler_at_ = round_ends ? 0 : eids.back();
    for (const core::RepairExecution& repair : examined.repairs) {
        // Each for itself: one that fails keeps back nobody else.
        bool mended = false;
        const auto done = batch_.run_internal(now, [&]() -> expected<void> {
            FF_TRY(const auto decision, batch_.decide_one(repair));
            mended = *decision.answer;
            return {};
        });
        result.processed += done && mended ? 1 : 0;
        inconsistent_so_far_ += done && mended ? 0 : 1;
    }
    inconsistent_so_far_ += examined.unreadable;
    log_.note_inconsistent(std::max(inconsistent_so_far_, inconsistent_before_));
    if (round_ends) {
        inconsistent_before_ = std::exchange(inconsistent_so_far_, 0);
        log_.note_inconsistent(inconsistent_before_);
    }
    result.findings = std::move(examined.findings);
    result.errors = result.findings.size();
    return result;
}

}  // namespace ff::engine
