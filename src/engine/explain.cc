// Saying why an execution is not running.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "engine/reads.h"

namespace ff::engine {

namespace {

std::string join(const std::vector<std::string>& words) {
    std::string out;
    for (const auto& word : words) {
        out += (out.empty() ? "" : ", ") + word;
    }
    return out;
}

/// How the live workers of a namespace and lane relate to what an execution requires.
expected<void> match_workers(store::Reader& reader, const core::Route& route, TimestampMs now,
                             Explanation& out) {
    core::WorkerKey after;
    std::optional<std::vector<std::string>> best;
    for (;;) {
        FF_TRY(const auto rows, reader.workers(route.key.ns, after, 1'000));
        for (const core::WorkerRow& row : rows) {
            if (!row.live(now) || std::ranges::find(row.lanes, route.key.lane) == row.lanes.end()) {
                continue;
            }
            std::vector<std::string> lacking;
            std::ranges::set_difference(route.required, row.capabilities,
                                        std::back_inserter(lacking));
            out.capable_workers += lacking.empty() ? 1 : 0;
            if (!best || lacking.size() < best->size()) {
                best = std::move(lacking);
            }
        }
        if (rows.size() < 1'000) {
            break;
        }
        after = rows.back().key;
    }
    out.missing_capabilities = best.value_or(route.required);
    return {};
}

std::string eligible_summary(const Explanation& why, const core::Route& route) {
    if (why.lane_state == LaneState::paused || why.lane_state == LaneState::disabled) {
        return "lane " + route.key.lane + " is " + std::string(to_string(why.lane_state)) +
               ": it hands out no work";
    }
    std::string text = "ready, waiting for a worker on lane " + route.key.lane;
    if (why.ahead && *why.ahead > 0) {
        text += "; " + std::to_string(*why.ahead) + (*why.ahead >= 10'000 ? " or more" : "") +
                " ahead of it";
    }
    if (why.capable_workers == 0) {
        text += why.missing_capabilities.empty()
                    ? "; no live worker of namespace " + route.key.ns + " is registered for it"
                    : "; no live worker has " + join(why.missing_capabilities);
    }
    return text;
}

std::string summary(const core::Execution& e, const Explanation& why, const core::Route& route) {
    const std::string detail = e.blocking_detail.value_or("");
    if (e.grant_expires_at) {
        return "a claim grant holds it until " + std::to_string(*e.grant_expires_at);
    }
    switch (e.state.phase) {
        case LifecyclePhase::terminal:
            return "it has ended: " + std::string(to_string(e.public_state));
        case LifecyclePhase::active:
            if (e.state.ownership == OwnershipState::leased) {
                return "it is running on " + e.worker_instance_id.value_or("") + " until " +
                       std::to_string(e.lease_expires_at.value_or(0));
            }
            return detail + ": the next capable worker takes it over";
        case LifecyclePhase::suspended: return detail.empty() ? "suspended" : detail;
        case LifecyclePhase::submitted:
        case LifecyclePhase::runnable: break;
    }
    if (e.state.eligibility == EligibilityState::eligible_now) {
        return eligible_summary(why, route);
    }
    const std::string reason(to_string(e.state.blocking_reason));
    return detail.empty() ? reason : reason + ": " + detail;
}

}  // namespace

expected<Explanation> answer(const ExplainExecution& op, const ReadContext& c) {
    expected<Explanation> out = ff::fail(ErrorCode::execution_not_found,
                                         "execution not found: " + op.execution_id.to_string());
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto e, reader.execution(op.execution_id));
        if (!e) {
            return {};
        }
        FF_TRY(const core::Route route, reader.route(e->route));
        FF_TRY(const auto lane, reader.lane(route.key.lane));
        Explanation why;
        why.public_state = e->public_state;
        why.blocking_reason = e->state.blocking_reason;
        why.lane_state = lane ? lane->state : LaneState::active;
        why.required_capabilities = route.required;
        why.until = e->delay_until;
        if (e->grant_expires_at) {
            why.until = e->grant_expires_at;
        }
        if (!is_terminal(e->state)) {
            FF_TRY_VOID(match_workers(reader, route, c.now, why));
        }
        if (const auto key = core::ready_key(*e)) {
            FF_TRY(const auto routes, reader.routes());
            std::vector<core::RouteId> same_lane;
            for (const core::Route& other : routes) {
                if (other.key.lane == route.key.lane && same_lane.size() < 256) {
                    same_lane.push_back(other.id);
                }
            }
            FF_TRY(why.ahead, reader.ready_before(same_lane, *key, 10'000));
        }
        why.summary = summary(*e, why, route);
        out = std::move(why);
        return {};
    }));
    return out;
}

}  // namespace ff::engine
