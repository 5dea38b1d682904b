#include "http/server_metrics.h"

#include <algorithm>

namespace ff::http {

namespace {

constexpr std::array<std::string_view, 7> known_methods{"GET",    "HEAD",    "POST", "PUT",
                                                        "DELETE", "OPTIONS", "PATCH"};

void write_lanes(Exposition& out, const EngineStats& stats) {
    out.family("ff_claims_total", MetricType::counter, "Leases given out, by lane.");
    for (const LaneStats& lane : stats.lanes) {
        out.sample({{"lane", lane.lane}}, lane.claims);
    }
    out.family("ff_attempt_outcome_total", MetricType::counter, "How attempts ended, by lane.");
    for (const LaneStats& lane : stats.lanes) {
        const auto add = [&](std::string_view outcome, std::uint64_t value) {
            out.sample({{"lane", lane.lane}, {"outcome", outcome}}, value);
        };
        add("ok", lane.ok);
        add("error", lane.error);
        add("timeout", lane.timeout);
        add("cancelled", lane.cancelled);
        add("retry", lane.retry);
    }
}

void write_limits(Exposition& out, const EngineStats& stats) {
    out.family("ff_budget_hit_total", MetricType::counter,
               "Starts that a budget refused, by dimension.");
    for (const auto& [dimension, count] : stats.budget_hits) {
        out.sample({{"dimension", dimension}}, count);
    }
    out.family("ff_budget_breach_total", MetricType::counter,
               "Reports that passed a limit of a budget, by kind of limit.");
    out.sample({{"kind", "soft"}}, stats.soft_breaches);
    out.sample({{"kind", "hard"}}, stats.hard_breaches);
    out.family("ff_quota_hit_total", MetricType::counter,
               "Starts that a quota refused, by what was full.");
    out.sample({{"reason", "rate"}}, stats.rate_hits);
    out.sample({{"reason", "concurrency"}}, stats.concurrency_hits);
}

void write_store(Exposition& out, const EngineStats& stats) {
    out.family("ff_store_tx_duration_seconds", MetricType::histogram,
               "Transactions that wrote (transaction) and syncs of the log (sync).");
    out.sample({{"op", "transaction"}}, stats.transactions);
    out.sample({{"op", "sync"}}, stats.syncs);
    out.family("ff_store_retries_total", MetricType::counter,
               "Transactions that were run again, by what was in the way.");
    out.sample({{"reason", "busy"}}, stats.retries_busy);
    out.sample({{"reason", "io"}}, stats.retries_io);
}

void write_scanners(Exposition& out, const EngineStats& stats) {
    out.family("ff_scanner_cycle_total", MetricType::counter, "Passes of background jobs.");
    for (const ScannerStats& scanner : stats.scanners) {
        out.sample({{"scanner", scanner.scanner}}, scanner.cycles.count());
    }
    out.family("ff_scanner_cycle_duration_seconds", MetricType::histogram,
               "How long passes of background jobs took.");
    for (const ScannerStats& scanner : stats.scanners) {
        out.sample({{"scanner", scanner.scanner}}, scanner.cycles);
    }
}

template <class E>
void write_each(Exposition& out, std::string_view label,
                const std::array<std::uint64_t, enum_count<E>>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        out.sample({{label, to_string(static_cast<E>(i))}}, values[i]);
    }
}

void write_events(Exposition& out, const EngineStats& stats) {
    out.family("ff_event_lag", MetricType::gauge,
               "Events that the webhook furthest behind has still to be given, counted to 10000.");
    write_each<EventFamily>(out, "family", stats.event_lag);
    out.family("ff_event_subscribers", MetricType::gauge,
               "Readers, subscriptions and webhooks that wait for events now.");
    write_each<EventFamily>(out, "family", stats.event_readers);
    out.family("ff_stream_frames_total", MetricType::counter, "Frames appended to streams.");
    write_each<FrameMode>(out, "mode", stats.frames);
}

void write_flows(Exposition& out, const FlowStats& flows) {
    out.family("ff_edge_group_policy_total", MetricType::counter,
               "Policies of joins that were set, by kind.");
    write_each<GroupPolicyKind>(out, "policy", flows.policies_set);
    out.family("ff_sibling_cancel_dispatched_total", MetricType::counter,
               "Joins that cancelled those who were no longer needed, by why.");
    out.sample({{"reason", "sibling_quorum_satisfied"}}, flows.joins_satisfied);
    out.sample({{"reason", "sibling_quorum_impossible"}}, flows.joins_impossible);
    out.family("ff_sibling_cancel_disposition_total", MetricType::counter,
               "What became of those who were no longer needed.");
    out.sample({{"disposition", "cancelled"}}, flows.siblings_cancelled);
    out.sample({{"disposition", "already_terminal"}}, flows.siblings_ended);
    out.sample({{"disposition", "not_found"}}, flows.siblings_missing);
    out.sample({{"disposition", "spared"}}, flows.siblings_spared);
    // A cancel that is put off is a row which the next transaction takes: nothing grows stale.
    out.family("ff_sibling_cancel_reconcile_total", MetricType::counter,
               "Joins whose cancelling was put off, by what was found later.");
    out.sample({{"action", "completed_drain"}}, flows.joins_resumed);
    out.sample({{"action", "sremmed_stale"}}, std::uint64_t{0});
    out.sample({{"action", "no_op"}}, std::uint64_t{0});
    out.family("ff_cancel_backlog_depth", MetricType::gauge,
               "Flows with members that are still to be cancelled, counted to 10000.");
    out.sample({}, flows.cancel_backlog);
}

void write_engine(Exposition& out, const EngineStats& stats) {
    write_lanes(out, stats);
    write_limits(out, stats);
    out.family("ff_lease_renewal_total", MetricType::counter, "Renewals of leases.");
    out.sample({{"outcome", "ok"}}, stats.renewals_ok);
    out.sample({{"outcome", "err"}}, stats.renewals_refused);
    out.family("ff_waitpoint_token_refused_total", MetricType::counter,
               "Signals whose token proved nothing, by why.");
    for (const auto& [code, count] : stats.token_refusals) {
        out.sample({{"code", code}}, count);
    }
    write_store(out, stats);
    write_scanners(out, stats);
    out.family("ff_inconsistent_executions", MetricType::gauge,
               "Executions that contradict themselves or cannot be read, and were not mended.");
    out.sample({}, stats.inconsistent_executions);
    write_events(out, stats);
    write_flows(out, stats.flows);
    out.family("ff_poll_waiting", MetricType::gauge, "Claims that wait for work now.");
    out.sample({}, stats.waiting_claims);
}

}  // namespace

// --------------------------------------------------------------------------------------- routes

RouteMetrics::RouteMetrics(Family<Counter>& requests, Family<AtomicHistogram>& durations,
                           std::string_view method, std::string_view path)
    : requests_(requests), durations_(durations), method_(method), path_(path) {}

RouteMetrics::Cells& RouteMetrics::cells_of(int status) {
    std::atomic<Cells*>& slot = by_status_[static_cast<std::size_t>(status - status_min)];
    if (Cells* known = slot.load(std::memory_order_acquire)) {
        return *known;
    }
    const std::lock_guard lock(mutex_);
    if (Cells* known = slot.load(std::memory_order_relaxed)) {
        return *known;
    }
    const std::string word = std::to_string(status);
    Cells& cells = made_.emplace_back(
        Cells{&requests_.with({method_, path_, word}), &durations_.with({method_, path_, word})});
    slot.store(&cells, std::memory_order_release);
    return cells;
}

void RouteMetrics::answered(int status, std::chrono::nanoseconds took) {
    const bool known = status >= status_min && status <= status_max;
    Cells& cells = cells_of(known ? status : 500);
    cells.requests->add();
    cells.durations->observe(took);
}

// --------------------------------------------------------------------------------------- server

ServerMetrics::ServerMetrics(std::string_view version, std::string_view store)
    : requests_(registry_.counters("ff_http_requests_total", "Requests answered.",
                                   {{"method"}, {"path"}, {"status"}})),
      durations_(registry_.histograms("ff_http_request_duration_seconds",
                                      "How long requests took, long polls among them.",
                                      {{"method"}, {"path"}, {"status"}})),
      claims_from_grant_(registry_.histograms("ff_claim_from_grant_duration_seconds",
                                              "How long it took to turn a grant into a lease.",
                                              {{"lane", distinct_lanes_max}})),
      shutdown_timeouts_(&registry_
                              .counters("ff_shutdown_timeout_total",
                                        "Steps of a shutdown that took longer than their grace.")
                              .with({})) {
    registry_.gauges("ff_build_info", "1, with what is running.", {{"version"}, {"store"}})
        .with({version, store})
        .set(1);
}

RouteMetrics& ServerMetrics::route(std::string_view method, std::string_view path) {
    const bool known = std::ranges::find(known_methods, method) != known_methods.end();
    std::pair key(std::string(known ? method : "OTHER"),
                  std::string(path.empty() ? "unknown" : path));
    const std::lock_guard lock(mutex_);
    std::unique_ptr<RouteMetrics>& route = routes_[key];
    if (!route) {
        route = std::make_unique<RouteMetrics>(requests_, durations_, key.first, key.second);
    }
    return *route;
}

AtomicHistogram& ServerMetrics::claim_from_grant(std::string_view lane) {
    return claims_from_grant_.with({lane});
}

void ServerMetrics::watch(const Engine& engine) {
    watch([&engine] { return engine.stats(); });
}

void ServerMetrics::watch(std::function<EngineStats()> stats) {
    registry_.add_source(
        [stats = std::move(stats)](Exposition& out) { write_engine(out, stats()); });
}

}  // namespace ff::http
