// Lists: executions by partition and by filter, lanes, expired leases (spec 02 sections 8 and 10).
#include "engine/conformance.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace ff::engine::test {

class ListConformance : public Conformance {
  protected:
    static constexpr Source holder = Source::lease_holder;

    /// All ids a search gives, over pages of `limit`. No page is longer than asked for.
    std::vector<ExecutionId> search(SearchExecutions op, std::uint32_t limit = 50) {
        std::vector<ExecutionId> out;
        op.limit = limit;
        for (int pages = 0; pages < 1'000; ++pages) {
            const SearchPage page = ok(op);
            EXPECT_LE(page.items.size(), limit);
            for (const ExecutionInfo& item : page.items) {
                out.push_back(item.execution_id);
            }
            if (!page.next_cursor) {
                return out;
            }
            op.cursor = page.next_cursor;
        }
        ADD_FAILURE() << "the search does not end";
        return out;
    }
    std::vector<ExecutionId> in_state(PublicState state) {
        SearchExecutions op;
        op.states = {state};
        return search(op);
    }
};
FF_ON_EVERY_ENGINE(ListConformance);

// ------------------------------------------------------------------------------- by partition

TEST_P(ListConformance, APartitionIsListedByIdInPages) {
    EngineOptions options;
    options.flow_partitions = 4;
    open_with(options);
    std::map<std::uint16_t, std::set<ExecutionId>> expected;
    for (std::uint16_t i = 0; i < 40; ++i) {
        const ExecutionId id{static_cast<std::uint16_t>(i % 3), new_uuid()};
        expected[id.partition].insert(id);
        create(with(job(), [&](auto& op) { op.execution_id = id; }));
    }
    for (std::uint16_t partition = 0; partition < 4; ++partition) {
        for (const std::uint32_t limit : {1U, 7U, 14U, 50U}) {
            std::vector<ExecutionId> seen;
            ListExecutions op{partition, {}, limit};
            do {
                const ExecutionPage page = ok(op);
                seen.insert(seen.end(), page.executions.begin(), page.executions.end());
                EXPECT_TRUE(!page.next_cursor || page.executions.size() == limit);
                EXPECT_TRUE(!page.next_cursor || page.next_cursor == page.executions.back());
                op.cursor = page.next_cursor;
            } while (op.cursor);
            EXPECT_EQ(seen, std::vector<ExecutionId>(expected[partition].begin(),
                                                     expected[partition].end()));
        }
    }
    // A cursor is there iff more follows.
    EXPECT_FALSE(ok(ListExecutions{1, {}, 13}).next_cursor);
    EXPECT_TRUE(ok(ListExecutions{1, {}, 12}).next_cursor);
    EXPECT_TRUE(ok(ListExecutions{0, {}, 0}).executions.empty());
    EXPECT_TRUE(ok(ListExecutions{9, {}, 10}).executions.empty());
    // The cursor need not exist, and may lie in another partition.
    EXPECT_EQ(ok(ListExecutions{1, ExecutionId{1, Uuid{}}, 50}).executions.size(), 13U);
    EXPECT_EQ(ok(ListExecutions{1, ExecutionId{0, new_uuid()}, 50}).executions.size(), 13U);
    EXPECT_TRUE(ok(ListExecutions{1, ExecutionId{2, Uuid{}}, 50}).executions.empty());
}

TEST_P(ListConformance, APageHasAtMostAThousand) {
    engine().run_all(std::vector<CreateExecution>(1'005, job()));
    const ExecutionPage page = ok(ListExecutions{0, {}, 5'000});
    EXPECT_EQ(page.executions.size(), 1'000U);
    EXPECT_TRUE(page.next_cursor);
    SearchExecutions op;
    op.limit = 5'000;
    EXPECT_EQ(ok(op).items.size(), 1'000U);
    EXPECT_EQ(search({}, 300).size(), 1'005U);
}

// --------------------------------------------------------------------------------------- search

TEST_P(ListConformance, ASearchGivesTheNewestFirst) {
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 25; ++i) {
        ids.push_back(create(job("lane" + std::to_string(i % 3))));
    }
    std::ranges::reverse(ids);
    for (const std::uint32_t limit : {1U, 2U, 5U, 24U, 25U, 26U, 1'000U}) {
        EXPECT_EQ(search({}, limit), ids) << "pages of " << limit;
    }
    SearchExecutions none;
    none.limit = 0;
    EXPECT_TRUE(ok(none).items.empty());
    EXPECT_FALSE(ok(none).next_cursor);
}

TEST_P(ListConformance, NewExecutionsDoNotDisturbASearchUnderWay) {
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 9; ++i) {
        ids.push_back(create());
    }
    std::ranges::reverse(ids);
    SearchExecutions op;
    op.limit = 4;
    std::vector<ExecutionId> seen;
    do {
        const SearchPage page = ok(op);
        for (const ExecutionInfo& item : page.items) {
            seen.push_back(item.execution_id);
        }
        create();
        op.cursor = page.next_cursor;
    } while (op.cursor);
    EXPECT_EQ(seen, ids);
}

TEST_P(ListConformance, EveryPublicStateIsFound) {
    FF_NEEDS_CLOCK();
    std::map<PublicState, std::set<ExecutionId>> expected;
    const auto note = [&](PublicState state, const ExecutionId& id) { expected[state].insert(id); };
    for (int i = 0; i < 3; ++i) {
        note(PublicState::waiting, create(job("w")));
        note(PublicState::delayed,
             create(with(job("d"), [](auto& op) { op.delay_until = t0 * 2; })));
        note(PublicState::active, start(job("a")).execution_id());
        const ClaimedTask lost = start(job("l" + std::to_string(i)));
        ok(RevokeLease{lost.execution_id(), {}, {}, "x"});
        note(PublicState::active, lost.execution_id());
        for (const char* reason : {"waiting_for_budget", "waiting_for_quota"}) {
            const ExecutionId id = create(job("b"));
            ok(BlockExecution{id, reason, {}});
            note(PublicState::rate_limited, id);
        }
        for (const char* reason :
             {"waiting_for_capable_worker", "paused_by_operator", "paused_by_policy"}) {
            const ExecutionId id = create(job_requiring({"gpu"}, "b"));
            ok(BlockExecution{id, reason, {}});
            note(PublicState::waiting, id);
        }
        const ClaimedTask done = start(job("c"));
        ok(Complete{done.handle, {}, {}, holder});
        note(PublicState::completed, done.execution_id());
        const ClaimedTask failed = start(job("f"));
        ok(Fail{failed.handle, "r", "x", holder});
        note(PublicState::failed, failed.execution_id());
        const ExecutionId cancelled = create(job("x"));
        ok(CancelExecution{LeaseRef(cancelled), "r", "operator_override"});
        note(PublicState::cancelled, cancelled);
        const ExecutionId expired =
            create(with(job("e"), [&](auto& op) { op.execution_deadline_at = now() - 1; }));
        note(PublicState::expired, expired);
    }
    after(1);
    for (std::size_t i = 0; i < enum_count<PublicState>; ++i) {
        const auto wanted = static_cast<PublicState>(i);
        SearchExecutions op;
        op.states = {wanted};
        for (const std::uint32_t limit : {1U, 2U, 50U}) {
            const auto found = search(op, limit);
            EXPECT_EQ(std::set(found.begin(), found.end()), expected[wanted])
                << to_string(wanted) << " in pages of " << limit;
            EXPECT_EQ(found.size(), expected[wanted].size()) << "repeated: " << to_string(wanted);
        }
    }
}

TEST_P(ListConformance, InterruptedWorkIsFoundAsResumable) {
    const ClaimedTask released = start(job("a"));
    ok(Release{released.handle});
    const ClaimedTask delayed = start(job("b"));
    ok(Delay{delayed.handle, t0 * 2, holder});
    start(job("c"));
    create(job("d"));
    EXPECT_EQ(in_state(PublicState::resumable),
              (std::vector<ExecutionId>{delayed.execution_id(), released.execution_id()}));
}

TEST_P(ListConformance, FiltersCombine) {
    struct Made {
        ExecutionId id;
        std::string lane;
        std::string ns;
        std::string kind;
        std::string tag;
        PublicState state;
    };
    std::vector<Made> all;
    for (int i = 0; i < 48; ++i) {
        Made made;
        made.lane = i % 2 == 0 ? "l0" : "l1";
        made.ns = i % 3 == 0 ? "n0" : "n1";
        made.kind = i % 4 < 2 ? "k0" : "k1";
        made.tag = i % 5 < 3 ? "red" : "blue";
        made.state = i % 6 == 0   ? PublicState::delayed
                     : i % 6 == 1 ? PublicState::cancelled
                                  : PublicState::waiting;
        made.id = create(with(job(made.lane), [&](auto& op) {
            op.ns = made.ns;
            op.execution_kind = made.kind;
            op.tags = {{"team", made.tag}};
            if (made.state == PublicState::delayed) {
                op.delay_until = t0 * 2;
            }
        }));
        if (made.state == PublicState::cancelled) {
            ok(CancelExecution{LeaseRef(made.id), "x", "operator_override"});
        }
        all.push_back(made);
    }
    // Every combination of the five filters, against going through them by hand.
    for (unsigned mask = 0; mask < 32; ++mask) {
        for (const PublicState state : {PublicState::waiting, PublicState::delayed}) {
            SearchExecutions op;
            std::vector<ExecutionId> expected;
            if ((mask & 1U) != 0) {
                op.lane_id = "l1";
            }
            if ((mask & 2U) != 0) {
                op.ns = "n1";
            }
            if ((mask & 4U) != 0) {
                op.kind = "k1";
            }
            if ((mask & 8U) != 0) {
                op.tags = {{"team", "red"}};
            }
            if ((mask & 16U) != 0) {
                op.states = {state};
            }
            for (const Made& made : all) {
                if ((!op.lane_id || made.lane == *op.lane_id) && (!op.ns || made.ns == *op.ns) &&
                    (!op.kind || made.kind == *op.kind) &&
                    (op.tags.empty() || made.tag == op.tags.at("team")) &&
                    (op.states.empty() || made.state == op.states[0])) {
                    expected.insert(expected.begin(), made.id);
                }
            }
            EXPECT_EQ(search(op, 3), expected) << "filters " << mask;
        }
    }
    for (auto& change : std::vector<std::function<void(SearchExecutions&)>>{
             [](auto& op) { op.lane_id = "nowhere"; }, [](auto& op) { op.ns = "nobody"; },
             [](auto& op) { op.kind = "nothing"; }, [](auto& op) { op.tags = {{"team", "green"}}; },
             [](auto& op) { op.tags = {{"red", "team"}}; }}) {
        EXPECT_TRUE(search(with(SearchExecutions{}, change)).empty());
    }
}

TEST_P(ListConformance, TagsAreFoundAsTheyAreNow) {
    const ExecutionId id = create(with(job(), [](auto& op) { op.tags = {{"app.a", "1"}}; }));
    const auto tagged = [&](const std::string& key, const std::string& value) {
        SearchExecutions op;
        op.tags = {{key, value}};
        return !search(op).empty();
    };
    EXPECT_TRUE(tagged("app.a", "1"));
    ok(SetExecutionTags{id, {{"app.a", "2"}, {"app.b", "x"}}});
    EXPECT_FALSE(tagged("app.a", "1"));
    EXPECT_TRUE(tagged("app.a", "2"));
    EXPECT_TRUE(tagged("app.b", "x"));
    ok(RemoveExecutionTag{id, "app.b"});
    EXPECT_FALSE(tagged("app.b", "x"));
}

TEST_P(ListConformance, ASparseFilterEndsAndLosesNothing) {
    // More rows than a page examines; the wanted ones are far apart.
    std::set<ExecutionId> wanted;
    std::vector<CreateExecution> ops;
    for (int i = 0; i < 12'000; ++i) {
        ops.push_back(job());
        if (i % 4'000 == 100) {
            ops.back().execution_id = ExecutionId{0, new_uuid()};
            ops.back().delay_until = std::nullopt;
            wanted.insert(*ops.back().execution_id);
        }
        if (ops.size() == 2'000) {
            engine().run_all(std::exchange(ops, {}));
        }
    }
    for (const ExecutionId& id : wanted) {
        ok(IssueGrantAndClaim{id, "default", 3'600'000});
        ok(Complete{LeaseRef(id), {}, {}, Source::operator_override});
    }
    SearchExecutions op;
    op.states = {PublicState::completed};  // not kept in a list of its own: found by walking
    const auto found = search(op, 10);
    EXPECT_EQ(std::set(found.begin(), found.end()), wanted);
}

TEST_P(ListConformance, AMalformedCursorIsRefused) {
    create();
    for (const char* cursor : {"zz", "12 ", "-1", "1g", "ffffffffffffffff", "0x10", " 1"}) {
        SearchExecutions op;
        op.cursor = cursor;
        const Error refusal = error(op);
        EXPECT_EQ(refusal.code, ErrorCode::invalid_input) << cursor;
        EXPECT_TRUE(refusal.detail.starts_with("invalid cursor")) << refusal.detail;
    }
    SearchExecutions empty;
    empty.cursor = "";
    EXPECT_EQ(ok(empty).items.size(), 1U);
}

// A SQLite store would find nothing, PostgreSQL would call it an error of its own.
TEST_P(ListConformance, WhatIsNoTextIsRefusedByReadsAlike) {
    create();
    for (const std::string& text : {std::string("\xff"), std::string("a\0b", 3)}) {
        SearchExecutions by_key;
        by_key.tags = {{text, "x"}};
        EXPECT_EQ(error(by_key).code, ErrorCode::invalid_input);
        SearchExecutions by_value;
        by_value.tags = {{"key", text}};
        EXPECT_EQ(error(by_value).code, ErrorCode::invalid_input);
        EXPECT_EQ(error(ListLanes{text, 10}).code, ErrorCode::invalid_input);
        EXPECT_EQ(error(ListWorkers{.ns = text}).code, ErrorCode::invalid_input);
        EXPECT_EQ(error(ListWorkers{.after = WorkerCursor{text, "w"}}).code,
                  ErrorCode::invalid_input);
        EXPECT_EQ(error(ListWorkers{.after = WorkerCursor{"n", text}}).code,
                  ErrorCode::invalid_input);
        EXPECT_EQ(error(ListSuspended{.lane_id = text}).code, ErrorCode::invalid_input);
    }
}

// ---------------------------------------------------------------------------------------- lanes

TEST_P(ListConformance, LanesAreListedInPages) {
    std::vector<std::string> expected;
    for (const char* lane : {"!", "A", "a", "a b", "ab", "b", "~"}) {
        ok(SetLaneState{lane, LaneState::active});
        expected.emplace_back(lane);
    }
    for (std::uint32_t limit = 1; limit <= 8; ++limit) {
        std::vector<std::string> seen;
        ListLanes op{{}, limit};
        do {
            const LanePage page = ok(op);
            for (const LaneInfo& lane : page.lanes) {
                seen.push_back(lane.lane_id);
            }
            op.cursor = page.next_cursor;
        } while (op.cursor);
        EXPECT_EQ(seen, expected) << "pages of " << limit;
    }
    EXPECT_FALSE(ok(ListLanes{{}, 7}).next_cursor);
    EXPECT_TRUE(ok(ListLanes{{}, 6}).next_cursor);
    EXPECT_TRUE(ok(ListLanes{{}, 0}).lanes.empty());
    EXPECT_EQ(ok(ListLanes{"a a", 1}).lanes, (std::vector<LaneInfo>{{"a b", LaneState::active}}));
}

// ------------------------------------------------------------------------------- expired leases

TEST_P(ListConformance, ExpiredLeasesAreListedExactly) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.background = false;  // so that marked and unmarked ones stand side by side
    open_with(options);
    std::vector<std::pair<TimestampMs, std::string>> expected;
    std::map<std::string, ClaimedTask> tasks;
    for (int i = 0; i < 12; ++i) {
        // Three leases to a millisecond.
        const DurationMs ttl = 1'000 + i / 3;
        const ExecutionId id =
            create(with(job(), [&](auto& op) { op.ns = i % 2 == 0 ? "even" : "odd"; }));
        ClaimedTask task = claim(with(claim_by("w1"), [&](auto& op) { op.lease_ttl_ms = ttl; }));
        expected.emplace_back(now() + ttl, id.to_string());
        tasks.emplace(id.to_string(), std::move(task));
    }
    std::ranges::sort(expected);
    clock().advance(2'000);
    // Every second one is marked.
    for (std::size_t i = 0; i < expected.size(); i += 2) {
        ok(MarkLeaseExpiredIfDue{*ExecutionId::parse(expected[i].second)});
    }
    for (const std::uint32_t limit : {1U, 2U, 5U, 12U, 100U}) {
        std::vector<std::pair<TimestampMs, std::string>> seen;
        ListExpiredLeases op;
        op.as_of = now();
        op.limit = limit;
        do {
            const ExpiredLeasePage page = ok(op);
            EXPECT_EQ(page.next_cursor.has_value(), page.leases.size() == limit);
            for (const ExpiredLease& lease : page.leases) {
                seen.emplace_back(lease.expires_at_ms, lease.execution_id.to_string());
                const ClaimedTask& task = tasks.at(lease.execution_id.to_string());
                EXPECT_EQ(lease.lease_id, task.handle.lease_id);
                EXPECT_EQ(lease.lease_epoch, 1U);
                EXPECT_EQ(lease.worker_instance_id, "w1-a");
                EXPECT_EQ(lease.attempt_index, 0U);
            }
            op.after = page.next_cursor;
        } while (op.after);
        EXPECT_EQ(seen, expected) << "pages of " << limit;
    }
    ListExpiredLeases even;
    even.as_of = now();
    even.ns = "even";
    EXPECT_EQ(ok(even).leases.size(), 6U);
    ListExpiredLeases earlier;
    earlier.as_of = t0 + 1'001;
    EXPECT_EQ(ok(earlier).leases.size(), 6U) << "its very millisecond counts";
    earlier.as_of = t0 + 999;
    EXPECT_TRUE(ok(earlier).leases.empty());
    ListExpiredLeases none;
    none.as_of = now();
    none.limit = 0;
    EXPECT_TRUE(ok(none).leases.empty());
}

TEST_P(ListConformance, OnlyLeasesThatRanOutAreListed) {
    FF_NEEDS_CLOCK();
    ListExpiredLeases op;
    op.as_of = std::numeric_limits<TimestampMs>::max() - 1;
    create(job("waiting"));
    const ClaimedTask done = start(job("done"));
    ok(Complete{done.handle, {}, {}, holder});
    const ClaimedTask revoked = start(job("revoked"));
    ok(RevokeLease{revoked.execution_id(), {}, {}, "x"});
    EXPECT_TRUE(ok(op).leases.empty());
    const ClaimedTask renewed = start(job("renewed"));
    ok(Renew{renewed.handle, 60'000});
    op.as_of = now() + 59'999;
    EXPECT_TRUE(ok(op).leases.empty());
    op.as_of = now() + 60'000;
    ASSERT_EQ(ok(op).leases.size(), 1U);
    EXPECT_EQ(ok(op).leases[0].execution_id, renewed.execution_id());
    EXPECT_EQ(refused(Renew{renewed.handle, 60'000}), "ok") << "reading marks nothing";
    after(60'000);
    EXPECT_EQ(ok(op).leases.size(), 1U);
    claim("w2", "renewed");
    EXPECT_TRUE(ok(op).leases.empty()) << "it has a new lease";
}

TEST_P(ListConformance, ALeaseThatWasRenewedStandsWhereItEndsNow) {
    FF_NEEDS_CLOCK();
    // Timers are not moved by a renewal: the order of timers is not that of the list.
    std::vector<std::pair<TimestampMs, std::string>> expected;
    for (int i = 0; i < 6; ++i) {
        create();
        const ClaimedTask task =
            claim(with(claim_by("w1"), [&](auto& op) { op.lease_ttl_ms = 10'000 + i; }));
        const DurationMs ttl = i % 2 == 0 ? 3'600'000 - i : 10'000 + i;
        if (i % 2 == 0) {
            ok(Renew{task.handle, ttl});
        }
        expected.emplace_back(now() + ttl, task.execution_id().to_string());
    }
    std::ranges::sort(expected);
    ListExpiredLeases op;
    op.as_of = std::numeric_limits<TimestampMs>::max();
    for (const std::uint32_t limit : {1U, 2U, 4U, 100U}) {
        std::vector<std::pair<TimestampMs, std::string>> seen;
        op.limit = limit;
        op.after.reset();
        do {
            const ExpiredLeasePage page = ok(op);
            for (const ExpiredLease& lease : page.leases) {
                seen.emplace_back(lease.expires_at_ms, lease.execution_id.to_string());
            }
            op.after = page.next_cursor;
        } while (op.after);
        EXPECT_EQ(seen, expected) << "pages of " << limit;
    }
}

}  // namespace ff::engine::test
