#include "core/turns.h"

#include "base/hex.h"
#include "core/admission.h"
#include "core/keystore.h"

namespace ff::core {

namespace {

constexpr std::string_view gate_prefix = "turn:";
/// Of the digest that stands for a line and a key. A key is its caller's: nobody shall find one
/// that shares the queue of another.
constexpr std::size_t gate_bytes = 12;

/// One that somebody can take over, or that goes on with its attempt, takes no turns.
bool takes_turns(const Execution& e) {
    return is_claimable(e) && !is_reclaimable(e.state) &&
           e.state.attempt_state != AttemptState::attempt_interrupted;
}

bool is_in_line(const Execution& e) { return !e.gate && takes_turns(e); }

RouteId queue_of(const Execution& e) { return gate_route(turn_gate(e)); }

}  // namespace

std::string turn_gate(const Execution& e) {
    const std::string line =
        std::to_string(e.route) + ":" + std::to_string(e.priority) + ":" + *e.limit_key;
    return std::string(gate_prefix) + to_hex(sha256(line).substr(0, gate_bytes));
}

bool waits_for_turn(const Execution& e) { return e.gate && e.gate->starts_with(gate_prefix); }

std::optional<TurnKey> turn_key(const Execution& e) {
    return e.has_turn && e.limit_key ? std::optional(TurnKey{queue_of(e), e.eid}) : std::nullopt;
}

void add_turn_work(const Execution* before, Execution& after, TurnWork& out) {
    if (!after.limit_key) {
        return;
    }
    if (waits_for_turn(after) && !(takes_turns(after) && *after.gate == turn_gate(after))) {
        after.gate.reset();  // it has other things to wait for, or another priority: another line
    }
    const auto had = before != nullptr ? turn_key(*before) : std::nullopt;
    const bool same_line = !had || had->queue == queue_of(after);
    if (after.has_turn && !(same_line && (is_in_line(after) || waits_at_limit(after)))) {
        after.has_turn = false;
    }
    if (!after.has_turn && !waits_for_turn(after)) {
        after.place.reset();
    }
    if (had && !after.has_turn) {
        out.left.push_back({had->queue, before->route, -before->priority});
    }
    if (!after.has_turn && is_in_line(after)) {
        out.standing.push_back({after.id, queue_of(after), before == nullptr});
    }
}

bool still_stands(const Execution& e, const TurnWork::Stand& work) {
    return is_in_line(e) && !e.has_turn && queue_of(e) == work.queue;
}

void take_turn(Execution& e, bool created, const Context& ctx) {
    e.gate.reset();
    e.has_turn = true;
    if (!created) {
        e.place = ctx.numbers.next_eid(ctx.now);
    }
}

void wait_for_turn(Execution& e, bool created, const Context& ctx) {
    e.gate = turn_gate(e);
    if (!created) {
        e.place = ctx.numbers.next_eid(ctx.now);
    }
}

std::string turn_fault(const Execution& e) {
    if (!e.limit_key) {
        return e.has_turn || e.place || waits_for_turn(e) ? "a turn without a limit key" : "";
    }
    if (e.has_turn && !is_in_line(e) && !waits_at_limit(e)) {
        return "has the turn of its key, and is not in line";
    }
    if (!e.has_turn && is_in_line(e)) {
        return "in line, and has not the turn of its key";
    }
    if (waits_for_turn(e) && !(takes_turns(e) && *e.gate == turn_gate(e))) {
        return "waits for a turn that it cannot have";
    }
    return e.place && !e.has_turn && !waits_for_turn(e) ? "a place, and no turn" : "";
}

}  // namespace ff::core
