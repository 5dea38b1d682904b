// Several operations in one transaction: each must see what those before it decided, and all of
// them must amount to the same as one after the other. (The engine loads for a whole batch first.)
#include "support/batch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/moves.h"
#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::Move;
using testing::Records;
using testing::run_batch;
using testing::run_one;
using testing::Scenario;
using testing::Subject;
using testing::World;

CreateExecution create(const ExecutionId& id) {
    CreateExecution args = Scenario::create_args();
    args.execution_id = id;
    return args;
}

template <class Op>
Op by_worker(const ExecutionId& id) {
    Op op;
    op.execution_id = id;
    op.worker_id = "w1";
    op.worker_instance_id = "w1-1";
    op.lane_id = "main";
    return op;
}

std::string words(const std::vector<std::optional<Error>>& answers) {
    std::string text;
    for (const auto& answer : answers) {
        text += (text.empty() ? "" : " ") +
                (answer ? std::string(to_string(answer->code)) : std::string("ok"));
    }
    return text;
}

TEST(Batch, a_whole_life_fits_into_one) {
    Scenario s;
    const ExecutionId id = testing::subject(1).id;
    s.ids["a"] = id;
    const auto answers = run_batch(
        s, {create(id), by_worker<IssueClaimGrant>(id), by_worker<ClaimExecution>(id),
            Complete{LeaseRef(id), "x"}, ReplayExecution{id}, CancelExecution{LeaseRef(id), "no"}});
    EXPECT_EQ(words(answers), "ok ok ok ok ok ok");
    s.play("tick | 0 | a: cancelled attempt_terminal attempts=1 epoch=1 replays=1");
    EXPECT_EQ(s.attempt_row("a", 0).result, "x");
}

TEST(Batch, what_is_made_in_it_has_no_grant_yet) {
    Scenario s;
    const ExecutionId id = testing::subject(1).id;
    EXPECT_EQ(words(run_batch(
                  s, {create(id), by_worker<ClaimExecution>(id),
                      by_worker<ClaimResumedExecution>(id), by_worker<ReclaimExecution>(id)})),
              "ok invalid_claim_grant not_a_resumed_execution ok");
}

TEST(Batch, the_second_of_two_equal_creates_is_a_duplicate) {
    Scenario s;
    const ExecutionId id = testing::subject(1).id;
    CreateExecution keyed = Scenario::create_args();
    keyed.idempotency_key = "k";
    EXPECT_EQ(words(run_batch(s, {create(id), create(id), keyed, keyed})), "ok ok ok ok");
    EXPECT_EQ(s.records.executions.size(), 2U);
}

TEST(Batch, what_is_deleted_and_made_anew_in_it_is_the_new_one) {
    Scenario s(testing::small_settings());
    const ExecutionId id = testing::subject(1).id;
    s.ids["a"] = id;
    ASSERT_TRUE(s.run(create(id)));
    s.play("claim w1 | a fresh initial #0 e1 \n complete a | completed");
    const Eid old = s.row("a").eid;
    s.now += s.settings().retention_ms;
    CreateExecution again = create(id);
    again.priority = 5;
    EXPECT_EQ(words(run_batch(s, {again, by_worker<ClaimExecution>(id)})),
              "ok invalid_claim_grant");
    s.play("tick | 0 | a: waiting priority=5 attempts=0 epoch=0");
    EXPECT_NE(s.row("a").eid, old);
    EXPECT_EQ(s.records.inputs.size(), 1U);
    EXPECT_TRUE(s.records.attempts.empty());
}

TEST(Batch, what_is_due_is_done_first) {
    Scenario s;
    s.play("create a \n claim w1 ttl=1000 | a fresh initial #0 e1 \n pass 1000");
    EXPECT_EQ(words(run_batch(s, {Renew{s.handle("a")}, by_worker<IssueReclaimGrant>(s.id("a")),
                                  by_worker<ReclaimExecution>(s.id("a"))})),
              "lease_expired ok ok");
    s.play("tick | 0 | a: active leased epoch=2 reclaims=1");
}

/// The same records but for timers: a batch arms one from what it ends with.
Records without_timers(Records records) {
    for (auto& [id, e] : records.executions) {
        e.timer_at.reset();
    }
    return records;
}

TEST(Batch, of_any_commands_amounts_to_the_same_as_one_after_the_other) {
    static const std::vector<Subject> subjects = {
        testing::subject(1), testing::subject(2, R"({"retry_policy":{"max_retries":1,
            "backoff":{"type":"fixed","delay_ms":0}},"timeout_policy":{"attempt_timeout_ms":300},
            "max_reclaim_count":1,"max_replay_count":3})")};
    static const std::vector<Move> moves = testing::all_moves(subjects);
    EXPECT_TRUE(rc::check([] {
        const auto any = rc::gen::container<std::vector<std::size_t>>(
            rc::gen::inRange<std::size_t>(0, moves.size()));
        const auto batches =
            *rc::gen::container<std::vector<std::vector<std::size_t>>>(rc::gen::resize(12, any))
                 .as("batches");
        World together(testing::small_settings());
        for (const auto& batch : batches) {
            std::vector<Request> requests;
            for (const std::size_t index : batch) {
                const Move& move = moves[index];
                if (!move.request || move.operation.starts_with("claim_for_") ||
                    move.operation == Claim::name) {
                    move.play(together);  // time, and claims, which a batch serves last
                } else {
                    requests.push_back(move.request(together));
                }
            }
            World apart = together;
            apart.tick();
            std::vector<std::optional<Error>> answers;
            for (const Request& request : requests) {
                answers.push_back(run_one(apart, request));
            }
            RC_ASSERT(run_batch(together, requests) == answers);
            if (!together.violations.empty()) {
                RC_FAIL(together.violations[0]);
            }
            RC_ASSERT(without_timers(together.records) == without_timers(apart.records));
        }
    }));
}

}  // namespace
}  // namespace ff::core
