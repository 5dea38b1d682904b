#include "engine/tally.h"

#include <algorithm>
#include <variant>

#include "core/admission.h"
#include "core/flow_rules.h"

namespace ff::engine {

namespace {

/// Of `budget <id>: <dimension> <used>/<limit>` and what may follow.
std::string dimension_of(const std::string& why) {
    const std::size_t from = why.find(": ") + 2;
    for (std::size_t space = why.find(' ', from); space != std::string::npos;
         space = why.find(' ', space + 1)) {
        const std::size_t digits_end = why.find_first_not_of("0123456789", space + 1);
        if (digits_end != std::string::npos && digits_end > space + 1 && why[digits_end] == '/') {
            return why.substr(from, space - from);
        }
    }
    return "other";
}

/// Did this attempt end in this transaction?
bool ended_now(const core::Tracked<core::Attempt>& attempt) {
    return attempt.dirty && attempt.current() && attempt.current()->ended_at &&
           (!attempt.stored || !attempt.stored->ended_at);
}

}  // namespace

LaneStats& Tally::lane_of(const core::Snapshot& snapshot, core::RouteId route) {
    if (auto known = of_route_.find(route); known != of_route_.end()) {
        return *known->second;
    }
    const std::string& lane = snapshot.route(route).key.lane;
    LaneStats* stats = &other_;
    if (auto own = lanes_.find(lane); own != lanes_.end()) {
        stats = &own->second;
    } else if (lanes_.size() < lanes_max) {
        stats = &lanes_.emplace(lane, LaneStats{.lane = lane}).first->second;
    }
    of_route_.emplace(route, stats);  // as many as there are routes, which are few
    return *stats;
}

void Tally::count_attempts(const core::Snapshot& snapshot, const core::ExecutionCell& cell) {
    for (const auto& [index, attempt] : cell.attempts) {
        if (!ended_now(attempt) || !cell.execution.current()) {
            continue;
        }
        const core::Execution& e = *cell.execution.current();
        const core::Attempt& row = *attempt.current();
        LaneStats& lane = lane_of(snapshot, e.route);
        switch (row.state) {
            case AttemptLifecycle::ended_success: lane.ok += 1; break;
            case AttemptLifecycle::ended_cancelled: lane.cancelled += 1; break;
            case AttemptLifecycle::ended_failure:
                if (row.retry_at) {
                    lane.retry += 1;
                } else if (e.state.outcome == TerminalOutcome::expired ||
                           row.failure_category == "timeout") {
                    lane.timeout += 1;
                } else {
                    lane.error += 1;
                }
                break;
            case AttemptLifecycle::interrupted_reclaimed:
                // Taken over, which is no end; unless nobody may take it over any more.
                lane.error += is_terminal(e.state) && e.current_attempt_index == index ? 1 : 0;
                break;
            case AttemptLifecycle::created:
            case AttemptLifecycle::started:
            case AttemptLifecycle::suspended: break;
        }
    }
}

void Tally::count_refusal(const core::ExecutionCell& cell) {
    const auto& now = cell.execution.current();
    const auto& before = cell.execution.stored;
    if (!cell.execution.dirty || !now || !core::waits_at_limit(*now) ||
        (before && before->gate == now->gate)) {
        return;
    }
    const std::string why = now->blocking_detail.value_or("");
    if (now->gate->starts_with("quota:")) {
        (why.ends_with(" window") ? rate_hits_ : concurrency_hits_) += 1;
        return;
    }
    std::string dimension = dimension_of(why);
    if (!budget_hits_.contains(dimension) && budget_hits_.size() >= dimensions_counted_max) {
        dimension = "other";
    }
    budget_hits_[dimension] += 1;
}

void Tally::count_sibling(const core::ExecutionCell& cell) {
    const auto& now = cell.execution.current();
    const auto& before = cell.execution.stored;
    if (cell.execution.dirty && now && is_terminal(now->state) && before &&
        !is_terminal(before->state) &&
        (now->cancellation_reason == core::sibling_satisfied ||
         now->cancellation_reason == core::sibling_impossible)) {
        flows_.siblings_cancelled += 1;
    }
}

void Tally::count_joins(const core::FlowTally& tally) {
    for (std::size_t i = 0; i < tally.policies_set.size(); ++i) {
        flows_.policies_set[i] += tally.policies_set[i];
    }
    flows_.joins_satisfied += tally.joins_satisfied;
    flows_.joins_impossible += tally.joins_impossible;
    flows_.siblings_ended += tally.siblings_ended;
    flows_.siblings_missing += tally.siblings_missing;
    flows_.siblings_spared += tally.siblings_spared;
}

void Tally::resumed_joins(std::uint64_t count) {
    if (count > 0) {
        const std::lock_guard lock(mutex_);
        flows_.joins_resumed += count;
    }
}

void Tally::cancel_backlog(std::uint64_t flows) {
    const std::lock_guard lock(mutex_);
    flows_.cancel_backlog = flows;
}

void Tally::committed(const core::Snapshot& snapshot, std::chrono::nanoseconds took) {
    transactions_.observe(took);
    const std::lock_guard lock(mutex_);
    for (const core::ExecutionEvent& event : snapshot.events) {
        if (event.type == core::LeaseEventType::acquired ||
            event.type == core::LeaseEventType::reclaimed) {
            lane_of(snapshot, event.route).claims += 1;
        }
    }
    for (const core::ExecutionCell& cell : snapshot.cells) {
        count_attempts(snapshot, cell);
        count_refusal(cell);
        count_sibling(cell);
    }
    count_joins(snapshot.flow_tally);
    for (const core::FrameRow& frame : snapshot.streams.frames) {
        frames_[static_cast<std::size_t>(frame.mode)] += 1;
    }
    for (const core::LogEvent& event : snapshot.log_events) {
        if (event.family == core::LogFamily::budgets) {
            soft_breaches_ += event.type == "budget_soft_breach" ? 1 : 0;
            hard_breaches_ += event.type == "budget_hard_breach" ? 1 : 0;
        }
    }
}

void Tally::run_again(ErrorCode reason) {
    (reason == ErrorCode::store_busy ? retries_busy_ : retries_io_) += 1;
}

void Tally::answered(const std::vector<Outcome>& outcomes) {
    for (const Outcome& outcome : outcomes) {
        if (ff::holds_alternative<Renew>(outcome.pending.command)) {
            (outcome.response ? renewals_ok_ : renewals_refused_) += 1;
        } else if (!outcome.response &&
                   ff::holds_alternative<DeliverSignal>(outcome.pending.command)) {
            const auto code = std::ranges::find(token_codes, outcome.response.error().code);
            if (code != token_codes.end()) {
                token_refusals_[static_cast<std::size_t>(code - token_codes.begin())] += 1;
            }
        }
    }
}

void Tally::fill(EngineStats& stats) const {
    stats.transactions = transactions_.read();
    stats.syncs = syncs_.read();
    stats.retries_busy = retries_busy_;
    stats.retries_io = retries_io_;
    stats.renewals_ok = renewals_ok_;
    stats.renewals_refused = renewals_refused_;
    for (std::size_t i = 0; i < token_codes.size(); ++i) {
        stats.token_refusals.emplace_back(to_string(token_codes[i]), token_refusals_[i]);
    }
    const std::lock_guard lock(mutex_);
    stats.budget_hits.assign(budget_hits_.begin(), budget_hits_.end());
    stats.rate_hits = rate_hits_;
    stats.concurrency_hits = concurrency_hits_;
    stats.soft_breaches = soft_breaches_;
    stats.hard_breaches = hard_breaches_;
    stats.frames = frames_;
    stats.flows = flows_;
    for (const auto& [name, lane] : lanes_) {
        stats.lanes.push_back(lane);
    }
    if (other_ != LaneStats{.lane = "other"}) {
        stats.lanes.push_back(other_);
    }
}

}  // namespace ff::engine
