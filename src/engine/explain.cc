// Saying why an execution is not running.
#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <ff/json.h>

#include "core/admission.h"
#include "core/turns.h"
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

/// `2026-03-01 12:34:56Z`.
std::string time_text(TimestampMs at) {
    const std::time_t seconds = at / 1'000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &parts)};
}

/// A detail with the time in it readable: it is kept with a number of milliseconds.
std::string with_time(std::string detail, const std::optional<TimestampMs>& at) {
    const std::string number = at ? std::to_string(*at) : "";
    const std::size_t place = at ? detail.find(number) : std::string::npos;
    return place == std::string::npos ? detail
                                      : detail.replace(place, number.size(), time_text(*at));
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

/// What engines do by themselves, when there is one.
constexpr std::string_view when_served = " as soon as an engine runs on this store";

std::string delay_summary(const core::Execution& e, TimestampMs now) {
    return *e.delay_until > now ? "delayed until " + time_text(*e.delay_until)
                                : "its delay ended at " + time_text(*e.delay_until) +
                                      "; it goes on" + std::string(when_served);
}

std::string summary(const core::Execution& e, const Explanation& why, const core::Route& route,
                    TimestampMs now) {
    const std::string detail = e.blocking_detail.value_or("");
    if (e.grant_expires_at) {
        return "a claim grant holds it until " + time_text(*e.grant_expires_at);
    }
    switch (e.state.phase) {
        case LifecyclePhase::terminal:
            return "it has ended: " + std::string(to_string(e.public_state));
        case LifecyclePhase::active:
            if (e.state.ownership == OwnershipState::leased &&
                e.lease_expires_at.value_or(now) <= now) {
                return "the lease of " + e.worker_instance_id.value_or("") + " ran out at " +
                       time_text(e.lease_expires_at.value_or(0)) +
                       "; another worker takes it over" + std::string(when_served);
            }
            if (e.state.ownership == OwnershipState::leased) {
                return "it is running on " + e.worker_instance_id.value_or("") + " until " +
                       time_text(e.lease_expires_at.value_or(0));
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
    if (e.state.blocking_reason == BlockingReason::waiting_for_delay && e.delay_until) {
        return reason + ": " + delay_summary(e, now);  // the detail has a number
    }
    std::string text = detail.empty() ? reason : reason + ": " + with_time(detail, e.delay_until);
    if (e.state.blocking_reason == BlockingReason::waiting_for_retry_backoff &&
        e.delay_until.value_or(now + 1) <= now) {
        text += "; its pause is over, and it goes on" + std::string(when_served);
    }
    return text;
}

/// What a suspended execution waits for, since when, and for how long.
expected<std::string> suspension_summary(store::Reader& reader, const core::Execution& e) {
    FF_TRY(const auto row, reader.suspension({e.eid, e.suspension_count}));
    if (!row) {
        return e.blocking_detail.value_or("suspended");
    }
    std::string text = row->reason_code + " at waitpoint ";
    text += e.current_waitpoint_id ? e.current_waitpoint_id->to_string() : "";
    text += " since " + time_text(row->created_at);
    FF_TRY(const auto facts, reader.satisfiers(row->key));
    if (!facts.empty()) {
        text += "; satisfied so far: " + std::to_string(facts.size());
    }
    if (row->timeout_at) {
        text += "; times out at " + time_text(*row->timeout_at) + " (" +
                std::string(to_string(row->timeout_behavior.value_or(TimeoutBehavior::fail))) + ")";
    } else if (row->escalated_at) {
        text += "; its time ran out at " + time_text(*row->escalated_at) + ", an operator must act";
    }
    if (e.last_hmac_validation_failed_at) {
        text += "; a wrong token came at " + time_text(*e.last_hmac_validation_failed_at);
    }
    return text;
}

/// Which limit keeps it, and what would let it go.
expected<std::string> limit_summary(store::Reader& reader, const core::Execution& e,
                                    Explanation& why) {
    std::string text =
        std::string(to_string(e.state.blocking_reason)) + ": " + e.blocking_detail.value_or("");
    if (const auto id = BudgetId::parse(e.gate->substr(e.gate->find(':') + 1));
        e.gate->starts_with("budget:") && id) {
        FF_TRY(const auto budget, reader.budget(*id));
        if (budget) {
            auto breach = core::blocking(*budget);
            if (!breach) {
                core::Budget tried = *budget;
                breach = core::reserve(tried, e.reserve).no_room;
            }
            if (breach) {
                text = std::string(to_string(e.state.blocking_reason)) + ": " +
                       core::refusal_text(*budget, *breach);
            }
            why.until = budget->next_reset_at;
        }
        return text +
               (why.until ? "; it resets at " + time_text(*why.until)
                          : "; it goes on when there is room, the limit is raised or the budget is "
                            "reset");
    }
    if (const auto id = QuotaPolicyId::parse(e.gate->substr(e.gate->find(':') + 1))) {
        FF_TRY(const auto policy, reader.policy(*id));
        const bool by_rate = policy && policy->limits.max_requests_per_window > 0;
        why.until = by_rate ? policy->wake_at : std::nullopt;
    }
    return text + (why.until ? "; the next may start at " + time_text(*why.until)
                             : "; it goes on when one of those that run ends");
}

/// How many of its key are before it: the one in line, and those who wait.
expected<std::string> turn_summary(store::Reader& reader, const core::Execution& e) {
    constexpr std::uint64_t counted_max = 10'000;
    const core::RouteId queue = core::gate_route(*e.gate);
    FF_TRY(const std::uint64_t ahead,
           reader.ready_before({&queue, 1}, *core::ready_key(e), counted_max));
    return "ready, waiting for its turn: " + std::to_string(ahead + 1) +
           (ahead >= counted_max ? " or more" : "") + " with the limit key " + *e.limit_key +
           " ahead of it";
}

/// Upstreams that are named one by one.
constexpr std::size_t upstreams_told = 5;

/// The name of its node, or its id.
expected<std::string> node_of(store::Reader& reader, const core::Execution& member) {
    FF_TRY(const auto input, reader.input(member.eid));
    return input && input->flow_node ? *input->flow_node : member.id.to_string();
}

/// Why an edge did not hold: how its upstream ended, or what its condition found.
expected<std::string> edge_fault(store::Reader& reader, const core::Edge& edge) {
    FF_TRY(const auto upstream, reader.execution(edge.upstream));
    if (!upstream) {
        return edge.upstream.to_string() + " ended " +
               std::string(to_string(edge.outcome.value_or(TerminalOutcome::none)));
    }
    FF_TRY(const std::string name, node_of(reader, *upstream));
    if (!edge.when || edge.dependency != DependencyState::not_taken) {
        return name + " ended " + std::string(to_string(*edge.outcome));
    }
    const auto attempt = upstream->current_attempt_index
                             ? reader.attempt(upstream->eid, *upstream->current_attempt_index)
                             : expected<std::optional<core::Attempt>>();
    FF_TRY_VOID(attempt);
    const bool is_json = *attempt && (*attempt)->result && js::parse(*(*attempt)->result);
    return "the result of " + name +
           (is_json ? " does not meet " + *edge.when : " is no JSON, as " + *edge.when + " needs");
}

/// Why a member of a flow was skipped.
expected<std::string> skip_summary(store::Reader& reader, const core::Execution& e) {
    std::string text = "it has ended: skipped";
    FF_TRY(const auto edges, reader.inbound(e.id));
    std::size_t told = 0;
    for (const core::Edge& edge : edges) {
        if (edge.dependency != DependencyState::impossible &&
            edge.dependency != DependencyState::not_taken) {
            continue;
        }
        if (told == upstreams_told) {
            text += ", …";
            break;
        }
        FF_TRY(const std::string fault, edge_fault(reader, edge));
        text += (told++ == 0 ? ", because " : ", ") + fault;
    }
    return text;
}

/// Whom a member of a flow waits for.
expected<std::string> dependency_summary(store::Reader& reader, const core::Execution& e) {
    FF_TRY(const auto group, reader.group(*e.flow_id, e.id));
    if (!group) {
        return e.blocking_detail.value_or("");
    }
    std::string text = "waits for " + std::to_string(group->staged - group->resolved()) + " of " +
                       std::to_string(group->staged) + " upstream executions (";
    text += to_string(group->policy);
    if (group->policy == GroupPolicyKind::quorum) {
        text += " of " + std::to_string(group->k);
    }
    text += ")";
    FF_TRY(const auto edges, reader.inbound(e.id));
    std::size_t told = 0;
    for (const core::Edge& edge : edges) {
        if (edge.dependency && *edge.dependency != DependencyState::unsatisfied) {
            continue;
        }
        if (told == upstreams_told) {
            text += ", …";
            break;
        }
        FF_TRY(const auto upstream, reader.execution(edge.upstream));
        if (!upstream) {
            continue;
        }
        FF_TRY(const std::string name, node_of(reader, *upstream));
        text += (told++ == 0 ? ": " : ", ") + name + " is " +
                std::string(to_string(upstream->public_state));
    }
    return text;
}

}  // namespace

expected<std::optional<std::string>> unserved(store::Reader& reader, const core::Execution& e,
                                              const core::Route& route, TimestampMs now) {
    if (e.state.eligibility != EligibilityState::eligible_now || route.required.empty()) {
        return std::nullopt;
    }
    Explanation why;
    FF_TRY_VOID(match_workers(reader, route, now, why));
    return why.capable_workers > 0
               ? std::nullopt
               : std::optional("no live worker has " + join(why.missing_capabilities));
}

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
        if (const auto key = core::ready_key(*e); key && !e->gate) {
            FF_TRY(const auto routes, reader.routes());
            std::vector<core::RouteId> same_lane;
            for (const core::Route& other : routes) {
                if (other.key.lane == route.key.lane && other.key.ns == route.key.ns &&
                    same_lane.size() < 256) {
                    same_lane.push_back(other.id);
                }
            }
            FF_TRY(why.ahead, reader.ready_before(same_lane, *key, 10'000));
        }
        why.summary = summary(*e, why, route, c.now);
        if (e->flow_id && e->state.eligibility == EligibilityState::blocked_by_dependencies) {
            FF_TRY(why.summary, dependency_summary(reader, *e));
        }
        if (e->flow_id && e->state.outcome == TerminalOutcome::skipped) {
            FF_TRY(why.summary, skip_summary(reader, *e));
        }
        if (core::waits_for_turn(*e)) {
            FF_TRY(why.summary, turn_summary(reader, *e));
        }
        if (core::waits_at_limit(*e)) {
            FF_TRY(why.summary, limit_summary(reader, *e, why));
        }
        if (e->state.phase == LifecyclePhase::suspended) {
            FF_TRY(why.summary, suspension_summary(reader, *e));
        }
        if (!is_terminal(e->state) && e->execution_deadline_at.value_or(c.now + 1) <= c.now) {
            why.summary += "; its deadline passed at " + time_text(*e->execution_deadline_at) +
                           ", and it expires" + std::string(when_served);
        }
        out = std::move(why);
        return {};
    }));
    return out;
}

}  // namespace ff::engine
