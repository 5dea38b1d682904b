// Searches: every filter and both orders, against going through all executions by hand.
#include "engine/conformance.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace ff::engine::test {

namespace {

/// An execution as a search should see it.
struct Made {
    ExecutionInfo info;
    Tags tags;
    bool resumable = false;
};

bool is_in(const Made& made, PublicState state) {
    return state == PublicState::resumable ? made.resumable : made.info.public_state == state;
}

bool matches(const SearchExecutions& op, const Made& made) {
    const ExecutionInfo& info = made.info;
    const auto has_tag = [&](const auto& tag) {
        const auto own = made.tags.find(tag.first);
        return own != made.tags.end() && own->second == tag.second;
    };
    return (!op.ns || info.ns == *op.ns) && (!op.lane_id || info.lane_id == *op.lane_id) &&
           (!op.kind || info.execution_kind == *op.kind) &&
           (op.states.empty() ||
            std::ranges::any_of(op.states, [&](PublicState s) { return is_in(made, s); })) &&
           std::ranges::all_of(op.tags, has_tag) &&
           (!op.created_after || info.created_at >= *op.created_after) &&
           (!op.created_before || info.created_at < *op.created_before);
}

std::string describe(const SearchExecutions& op) {
    std::string text = op.oldest_first ? "oldest first" : "newest first";
    text += op.ns ? " ns=" + *op.ns : "";
    text += op.lane_id ? " lane=" + *op.lane_id : "";
    text += op.kind ? " kind=" + *op.kind : "";
    for (const PublicState state : op.states) {
        text += " state=" + std::string(to_string(state));
    }
    for (const auto& [key, value] : op.tags) {
        text += " " + key + "=" + value;
    }
    text += op.created_after ? " after=" + std::to_string(*op.created_after - t0) : "";
    text += op.created_before ? " before=" + std::to_string(*op.created_before - t0) : "";
    return text + " limit=" + std::to_string(op.limit);
}

}  // namespace

class SearchConformance : public Conformance {
  protected:
    static constexpr Source holder = Source::lease_holder;

    /// All ids a search gives, page by page.
    std::vector<ExecutionId> search(SearchExecutions op) {
        std::vector<ExecutionId> out;
        for (int pages = 0; pages < 1'000; ++pages) {
            const SearchPage page = ok(op);
            EXPECT_LE(page.items.size(), op.limit);
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

    std::size_t pick(std::size_t bound) { return random_() % bound; }
    bool chance(std::size_t one_in) { return pick(one_in) == 0; }

    Tags some_tags() {
        Tags tags;
        for (const char* key : {"app.color", "app.size", "app.owner"}) {
            if (!chance(3)) {
                tags[key] = "v" + std::to_string(pick(3));
            }
        }
        return tags;
    }

    /// Moves an execution on, so that all states are there.
    void move_on(const ExecutionId& id, const std::string& lane) {
        const auto take = [&] { return ok(IssueGrantAndClaim{id, lane, 3'600'000}).handle; };
        switch (pick(9)) {
            case 0: ok(CancelExecution{LeaseRef(id), "x", "operator_override"}); break;
            case 1: take(); break;
            case 2: ok(Complete{take(), {}, {}, holder}); break;
            case 3: ok(Fail{take(), "r", "x", holder}); break;
            case 4: ok(Release{take()}); break;
            case 5: ok(Delay{take(), t0 * 2, holder}); break;
            case 6: ok(BlockExecution{id, "waiting_for_budget", {}}); break;
            case 7: ok(BlockExecution{id, "waiting_for_quota", {}}); break;
            default: break;
        }
    }

    /// In the order of creation.
    std::vector<Made> make_executions(std::size_t count) {
        std::vector<ExecutionId> ids;
        std::vector<Tags> tags;
        for (std::size_t i = 0; i < count; ++i) {
            if (chance(4)) {
                clock().advance(static_cast<DurationMs>(pick(40'000)));
            }
            tags.push_back(some_tags());
            const std::string lane = "l" + std::to_string(pick(3));
            ids.push_back(create(with(job(lane), [&](auto& op) {
                op.ns = "n" + std::to_string(pick(2));
                op.execution_kind = "k" + std::to_string(pick(2));
                op.tags = tags.back();
            })));
            move_on(ids.back(), lane);
        }
        std::vector<Made> all;
        for (std::size_t i = 0; i < count; ++i) {
            Made& made = all.emplace_back();
            made.info = snapshot(ids[i]).info;
            made.tags = tags[i];
            made.resumable = made.info.state.phase == LifecyclePhase::runnable &&
                             made.info.state.attempt_state == AttemptState::attempt_interrupted;
        }
        return all;
    }

    SearchExecutions some_search(const std::vector<Made>& all) {
        SearchExecutions op;
        const auto moment = [&] {
            return all[pick(all.size())].info.created_at + static_cast<DurationMs>(pick(3)) - 1;
        };
        if (chance(4)) {
            op.ns = "n" + std::to_string(pick(3));
        }
        if (chance(3)) {
            op.lane_id = "l" + std::to_string(pick(3));
        }
        if (chance(5)) {
            op.kind = "k" + std::to_string(pick(2));
        }
        while (chance(2)) {
            op.states.push_back(static_cast<PublicState>(pick(enum_count<PublicState>)));
        }
        if (chance(2)) {
            op.tags = some_tags();
        }
        if (chance(3)) {
            op.created_after = moment();
        }
        if (chance(3)) {
            op.created_before = moment();
        }
        op.oldest_first = chance(2);
        op.limit = std::vector<std::uint32_t>{1, 2, 7, 50, 1'000}[pick(5)];
        return op;
    }

    std::mt19937 random_{20261116};
};
FF_ON_EVERY_ENGINE(SearchConformance);

TEST_P(SearchConformance, AnySearchGivesWhatGoingThroughAllGives) {
    FF_NEEDS_CLOCK();
    const std::vector<Made> all = make_executions(150);
    std::size_t found_some = 0;
    for (int round = 0; round < 300; ++round) {
        const SearchExecutions op = some_search(all);
        std::vector<ExecutionId> expected;
        for (const Made& made : all) {
            if (matches(op, made)) {
                expected.push_back(made.info.execution_id);
            }
        }
        if (!op.oldest_first) {
            std::ranges::reverse(expected);
        }
        found_some += expected.empty() ? 0 : 1;
        ASSERT_EQ(search(op), expected) << describe(op);
    }
    EXPECT_GT(found_some, 100U) << "the searches must not all be of nothing";
}

TEST_P(SearchConformance, ACursorIsGoodForItsOrderOnly) {
    for (int i = 0; i < 4; ++i) {
        create();
    }
    for (const bool oldest_first : {false, true}) {
        SearchExecutions op;
        op.limit = 2;
        op.oldest_first = oldest_first;
        op.cursor = ok(op).next_cursor;
        ASSERT_TRUE(op.cursor);
        EXPECT_EQ(ok(op).items.size(), 2U);
        op.oldest_first = !oldest_first;
        const Error refusal = error(op);
        EXPECT_EQ(refusal.code, ErrorCode::invalid_input);
        EXPECT_TRUE(refusal.detail.contains("other order")) << refusal.detail;
    }
}

TEST_P(SearchConformance, NewExecutionsAppearAtTheEndOfASearchFromTheOldest) {
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 5; ++i) {
        ids.push_back(create());
    }
    SearchExecutions op;
    op.limit = 2;
    op.oldest_first = true;
    std::vector<ExecutionId> seen;
    for (int pages = 0; pages < 10; ++pages) {
        const SearchPage page = ok(op);
        for (const ExecutionInfo& item : page.items) {
            seen.push_back(item.execution_id);
        }
        if (pages == 0) {
            ids.push_back(create());
        }
        if (!page.next_cursor) {
            break;
        }
        op.cursor = page.next_cursor;
    }
    EXPECT_EQ(seen, ids);
}

TEST_P(SearchConformance, TheFirstPageOfARangeOfTimeHoldsItHoweverMuchLiesAround) {
    FF_NEEDS_CLOCK();
    // More lies on either side than a page looks at.
    const auto fill = [&](std::size_t count) {
        for (std::size_t left = count; left > 0;) {
            const std::size_t some = std::min<std::size_t>(left, 1'000);
            engine().run_all(std::vector<CreateExecution>(some, job()));
            left -= some;
        }
        clock().advance(60'000);
    };
    fill(11'000);
    const TimestampMs from = now();
    std::vector<ExecutionId> wanted;
    for (int i = 0; i < 20; ++i) {
        wanted.push_back(create());
        clock().advance(100);
    }
    const TimestampMs to = now();
    clock().advance(60'000);
    fill(11'000);
    SearchExecutions op;
    op.created_after = from;
    op.created_before = to;
    for (const std::vector<PublicState>& states :
         {std::vector<PublicState>{}, std::vector<PublicState>{PublicState::waiting}}) {
        op.states = states;
        for (const bool oldest_first : {true, false}) {
            op.oldest_first = oldest_first;
            const SearchPage page = ok(op);
            std::vector<ExecutionId> ids;
            for (const ExecutionInfo& item : page.items) {
                ids.push_back(item.execution_id);
            }
            if (!oldest_first) {
                std::ranges::reverse(ids);
            }
            EXPECT_EQ(ids, wanted);
            EXPECT_FALSE(page.next_cursor) << "it knows that nothing more can come";
        }
    }
}

TEST_P(SearchConformance, LimitsOfARangeAreExact) {
    FF_NEEDS_CLOCK();
    const ExecutionId first = create();
    clock().advance(1);
    const TimestampMs middle = now();
    const ExecutionId second = create();
    const auto between = [&](std::optional<TimestampMs> after, std::optional<TimestampMs> before) {
        SearchExecutions op;
        op.created_after = after;
        op.created_before = before;
        op.oldest_first = true;
        return search(op);
    };
    using Ids = std::vector<ExecutionId>;
    EXPECT_EQ(between(middle, {}), (Ids{second}));
    EXPECT_EQ(between({}, middle), (Ids{first}));
    EXPECT_EQ(between(middle - 1, middle + 1), (Ids{first, second}));
    EXPECT_EQ(between(middle, middle), Ids{});
    EXPECT_EQ(between(middle + 1, {}), Ids{});
    EXPECT_EQ(between({}, middle - 1), Ids{});
    EXPECT_EQ(between(0, std::int64_t{1} << 60U), (Ids{first, second}));
}

TEST_P(SearchConformance, SeveralTagsMustAllBeThereAsTheyAreNow) {
    const auto tagged = [&](Tags tags) {
        return create(with(job(), [&](auto& op) { op.tags = std::move(tags); }));
    };
    const ExecutionId both = tagged({{"app.a", "1"}, {"app.b", "1"}});
    tagged({{"app.a", "1"}});
    tagged({{"app.b", "1"}});
    const ExecutionId later = tagged({{"app.a", "1"}, {"app.b", "2"}});
    SearchExecutions op;
    op.tags = {{"app.a", "1"}, {"app.b", "1"}};
    using Ids = std::vector<ExecutionId>;
    EXPECT_EQ(search(op), (Ids{both}));
    ok(SetExecutionTags{later, {{"app.b", "1"}}});
    EXPECT_EQ(search(op), (Ids{later, both}));
    ok(RemoveExecutionTag{both, "app.a"});
    EXPECT_EQ(search(op), (Ids{later}));
    op.tags["app.c"] = "";
    EXPECT_EQ(search(op), Ids{});
}

TEST_P(SearchConformance, ASearchNamesAtMostSixteenTags) {
    SearchExecutions op;
    for (int i = 0; i < 16; ++i) {
        op.tags["app.k" + std::to_string(i)] = "v";
    }
    EXPECT_TRUE(ok(op).items.empty());
    op.tags["app.more"] = "v";
    const Error refusal = error(op);
    EXPECT_EQ(refusal.code, ErrorCode::invalid_input);
    EXPECT_TRUE(refusal.detail.contains("at most 16")) << refusal.detail;
}

TEST_P(SearchConformance, ASparseSetOfTagsEndsAndLosesNothing) {
    // Long lists with little in common: pages may be short, and all is found.
    std::vector<CreateExecution> ops;
    std::vector<ExecutionId> wanted;
    for (int i = 0; i < 11'000; ++i) {
        ops.push_back(job());
        ops.back().tags = {{"app.a", "x"}};
        if (i % 5'000 == 17) {
            ops.back().tags["app.b"] = "y";
            ops.back().execution_id = ExecutionId{0, new_uuid()};
            wanted.push_back(*ops.back().execution_id);
        }
        if (ops.size() == 1'000) {
            engine().run_all(std::exchange(ops, {}));
        }
    }
    SearchExecutions op;
    op.tags = {{"app.a", "x"}, {"app.b", "y"}};
    op.oldest_first = true;
    EXPECT_EQ(search(op), wanted);
}

}  // namespace ff::engine::test
