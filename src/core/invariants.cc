#include "core/invariants.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/turns.h"

namespace ff::core {

namespace {

/// Collects sentences.
class Findings {
  public:
    void add(std::string_view number, std::string_view sentence) {
        found_.push_back(std::string(number) + ": " + std::string(sentence));
    }
    void require(bool holds, std::string_view number, std::string_view sentence) {
        if (!holds) {
            add(number, sentence);
        }
    }
    std::vector<std::string> take() { return std::move(found_); }

  private:
    std::vector<std::string> found_;
};

using AttemptsByIndex = std::map<std::uint32_t, const Attempt*>;

bool has_ended(AttemptLifecycle state) {
    switch (state) {
        case AttemptLifecycle::created:
        case AttemptLifecycle::started:
        case AttemptLifecycle::suspended: return false;
        case AttemptLifecycle::ended_success:
        case AttemptLifecycle::ended_failure:
        case AttemptLifecycle::ended_cancelled:
        case AttemptLifecycle::interrupted_reclaimed: return true;
    }
    return false;
}

bool is_active(const Execution& e) { return e.state.phase == LifecyclePhase::active; }

/// The row of the current attempt, or null.
const Attempt* current_row(const Execution& e, const AttemptsByIndex& rows) {
    if (!e.current_attempt_index) {
        return nullptr;
    }
    auto it = rows.find(*e.current_attempt_index);
    return it == rows.end() ? nullptr : it->second;
}

void check_vector(const Execution& e, Findings& findings) {
    findings.require(is_legal(e.state), "vector",
                     "the combination of the six dimensions is not in the table");
    if (e.public_state != public_state(e.state)) {
        findings.add("public_state", "stored " + std::string(to_string(e.public_state)) +
                                         ", derived " +
                                         std::string(to_string(public_state(e.state))));
    }
}

void check_lease_fields(const Execution& e, Findings& findings) {
    const bool all = e.lease_id && e.worker_id && e.worker_instance_id && e.lease_expires_at;
    const bool any = e.lease_id || e.worker_id || e.worker_instance_id || e.lease_expires_at ||
                     e.lease_acquired_at || e.lease_renewed_at || e.attempt_deadline_at;
    const bool reclaimable = is_reclaimable(e.state);
    switch (e.state.ownership) {
        case OwnershipState::leased:
            findings.require(all, "I1", "leased without lease, owner or expiry");
            break;
        case OwnershipState::unowned:
            findings.require(!any, "I1", "unowned but a field of the lease is set");
            break;
        case OwnershipState::lease_expired_reclaimable:
        case OwnershipState::lease_revoked:
            findings.require(all, "I2", "the lost lease is forgotten before it was taken over");
            break;
    }
    findings.require(e.lease_expired_at.has_value() ==
                         (e.state.ownership == OwnershipState::lease_expired_reclaimable),
                     "I2", "lease_expired_at does not say what the ownership says");
    findings.require(
        e.lease_revoked_at.has_value() == (e.state.ownership == OwnershipState::lease_revoked),
        "I2", "lease_revoked_at does not say what the ownership says");
    findings.require(reclaimable || !e.reclaim_not_before, "I2",
                     "a reclaim grace without a lost lease");
}

/// I3 and I7: where the attempts stand.
void check_attempt_states(const Execution& e, const AttemptsByIndex& rows, Findings& findings) {
    const Attempt* current = current_row(e, rows);
    for (const auto& [index, row] : rows) {
        // The running attempt has no row that says so: rows are written at a pause or an end.
        findings.require(
            row->state != AttemptLifecycle::started && row->state != AttemptLifecycle::created,
            "I3", "an attempt row claims to be running");
        findings.require(row == current || has_ended(row->state), "I3",
                         "an attempt was left without an end");
        findings.require(has_ended(row->state) == row->ended_at.has_value(), "I3",
                         "ended_at of an attempt does not say what its state says");
    }
    if (is_active(e)) {
        findings.require(e.current_attempt_index && e.current_attempt_id, "I3",
                         "active without an attempt");
        findings.require(current == nullptr || current->state == AttemptLifecycle::suspended, "I3",
                         "active, but the row of the running attempt has ended");
    } else if (e.state.attempt_state == AttemptState::attempt_interrupted) {
        findings.require(current != nullptr && current->state == AttemptLifecycle::suspended, "I7",
                         "interrupted, but the current attempt is not suspended");
    } else {
        findings.require(current == nullptr || has_ended(current->state), "I7",
                         "nothing is interrupted, yet the current attempt is still suspended");
    }
}

void check_attempt_numbers(const Execution& e, const AttemptsByIndex& rows, Findings& findings) {
    const bool live_without_row = is_active(e) && current_row(e, rows) == nullptr;
    const std::size_t attempts = rows.size() + (live_without_row ? 1 : 0);
    if (e.total_attempt_count != attempts) {
        findings.add("I4", "total_attempt_count is " + std::to_string(e.total_attempt_count) +
                               ", there are " + std::to_string(attempts) + " attempts");
    }
    findings.require(rows.empty() || rows.rbegin()->first < e.total_attempt_count, "I4",
                     "an attempt row lies beyond total_attempt_count");
    findings.require(e.current_attempt_index.has_value() == (e.total_attempt_count > 0), "I4",
                     "current_attempt_index is set exactly when there was an attempt");
    findings.require(
        !e.current_attempt_index || *e.current_attempt_index + 1 == e.total_attempt_count, "I4",
        "current_attempt_index is not the last attempt");
    const Attempt* current = current_row(e, rows);
    findings.require(
        current == nullptr || !e.current_attempt_id || current->attempt_id == *e.current_attempt_id,
        "I4", "current_attempt_id is not that of the current attempt");
}

void check_epochs(const Execution& e, const AttemptsByIndex& rows, Findings& findings) {
    std::uint64_t highest = 0;
    for (const auto& [index, row] : rows) {
        findings.require(row->lease_epoch > highest, "I5",
                         "epochs do not grow from attempt to attempt");
        highest = std::max(highest, row->lease_epoch);
    }
    if (is_active(e)) {
        findings.require(e.lease_epoch > highest, "I5",
                         "the present lease has no epoch of its own");
    } else if (e.lease_epoch != highest) {
        findings.add("I5", "the epoch is " + std::to_string(e.lease_epoch) +
                               ", the highest on an attempt " + std::to_string(highest));
    }
}

void check_times(const Execution& e, Findings& findings) {
    findings.require(e.completed_at.has_value() == is_terminal(e.state), "I8",
                     "completed_at is set exactly when terminal");
    findings.require(!e.edges_told || is_terminal(e.state), "I8",
                     "who has not ended has told its edges no end");
    findings.require(e.delay_until.has_value() ==
                         (e.state.eligibility == EligibilityState::not_eligible_until_time),
                     "I8", "delay_until is set exactly when waiting for a time");
}

void check_results(const Execution& e, const AttemptsByIndex& rows, Findings& findings) {
    std::uint32_t successes = 0;
    for (const auto& [index, row] : rows) {
        const bool succeeded = row->state == AttemptLifecycle::ended_success;
        successes += succeeded ? 1 : 0;
        findings.require(succeeded || !row->result, "I10",
                         "an attempt has a result without success");
    }
    const bool success = e.state.outcome == TerminalOutcome::success;
    findings.require(successes == 0 || success || e.replay_count > 0, "I10",
                     "an attempt succeeded, but the execution neither ended so nor was replayed");
    findings.require(successes <= e.replay_count + 1, "I10",
                     "more successes than one for each replay");
    const Attempt* current = current_row(e, rows);
    findings.require(
        !success || (current != nullptr && current->state == AttemptLifecycle::ended_success),
        "I10", "the execution succeeded, its last attempt did not");
}

}  // namespace

std::vector<std::string> check_invariants(const Execution& e,
                                          std::span<const Attempt> attempt_rows) {
    Findings findings;
    AttemptsByIndex rows;
    for (const Attempt& row : attempt_rows) {
        findings.require(row.eid == e.eid, "I4", "a row of another execution");
        findings.require(rows.emplace(row.attempt_index, &row).second, "I4",
                         "two rows of one attempt");
    }
    check_vector(e, findings);
    check_lease_fields(e, findings);
    check_attempt_states(e, rows, findings);
    check_attempt_numbers(e, rows, findings);
    check_epochs(e, rows, findings);
    findings.require(
        e.state.attempt_state != AttemptState::pending_first_attempt || e.total_attempt_count == 0,
        "I6", "waiting for the first attempt after there was one");
    findings.require(!e.grant_expires_at ||
                         (e.state.ownership != OwnershipState::leased && !is_terminal(e.state)),
                     "grant", "a grant outlived the state it was issued in");
    if (std::string fault = turn_fault(e); !fault.empty()) {
        findings.require(false, "turn", fault);
    }
    check_times(e, findings);
    check_results(e, rows, findings);
    return findings.take();
}

std::vector<std::string> check_step(const Execution& before, const Execution& after) {
    Findings findings;
    findings.require(before.eid == after.eid && before.id == after.id &&
                         before.route == after.route && before.created_at == after.created_at,
                     "step", "identity, route or creation time changed");
    findings.require(after.lease_epoch >= before.lease_epoch, "I5", "the epoch fell");
    findings.require(after.lease_epoch <= before.lease_epoch + 1, "I5",
                     "more than one lease in one step");
    findings.require(after.total_attempt_count >= before.total_attempt_count, "step",
                     "the number of attempts fell");
    findings.require(after.total_attempt_count <= before.total_attempt_count + 1, "step",
                     "more than one attempt in one step");
    findings.require(after.total_attempt_count == before.total_attempt_count ||
                         after.lease_epoch > before.lease_epoch,
                     "step", "an attempt began without a lease");
    findings.require(after.replay_count >= before.replay_count, "step",
                     "the number of replays fell");
    findings.require(!is_terminal(before.state) || is_terminal(after.state) ||
                         after.replay_count == before.replay_count + 1,
                     "I9", "terminal was left other than by replay");
    findings.require(
        !is_terminal(before.state) || !is_terminal(after.state) || before.state == after.state,
        "I9", "one end became another");
    findings.require(!before.started_at || after.started_at == before.started_at, "step",
                     "started_at changed");
    findings.require(after.last_mutation_at >= before.last_mutation_at &&
                         after.last_transition_at >= before.last_transition_at,
                     "step", "the times of change went back");
    findings.require(
        before.state == after.state || after.last_transition_at == after.last_mutation_at, "step",
        "the state changed and the time of change was not stamped");
    return findings.take();
}

}  // namespace ff::core
