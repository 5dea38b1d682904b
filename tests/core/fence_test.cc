// The fence: spec 01 section 5.2. Every call of a lease holder is put through the same cases.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::Records;
using testing::Scenario;

/// A fenced call reduced to its answer: `ok`, or the code of the error.
struct FencedCall {
    std::string name;
    std::function<std::string(Scenario&, const LeaseRef&, Source)> make;
    bool operator_may_omit = false;
};

template <class T>
std::string code_of(const expected<T>& result) {
    return result ? "ok" : std::string(to_string(result.error().code));
}

const std::vector<FencedCall> calls = {
    {"renew", [](Scenario& s, const LeaseRef& l, Source) { return code_of(s.run(Renew{l})); }},
    {"progress",
     [](Scenario& s, const LeaseRef& l, Source) { return code_of(s.run(Progress{l, 1, "m"})); }},
    {"release", [](Scenario& s, const LeaseRef& l, Source) { return code_of(s.run(Release{l})); }},
    {"complete",
     [](Scenario& s, const LeaseRef& l, Source source) {
         return code_of(s.run(Complete{l, "r", std::nullopt, source}));
     },
     true},
    {"fail",
     [](Scenario& s, const LeaseRef& l, Source source) {
         return code_of(s.run(Fail{l, "boom", "transient", source}));
     },
     true},
    {"delay",
     [](Scenario& s, const LeaseRef& l, Source source) {
         return code_of(s.run(Delay{l, s.now + 10, source}));
     },
     true},
    {"wait_children",
     [](Scenario& s, const LeaseRef& l, Source source) {
         return code_of(s.run(WaitChildren{l, source}));
     },
     true},
};

/// Cancel by the worker has checks of its own, and shares those on the triple.
const FencedCall cancel = {"cancel", [](Scenario& s, const LeaseRef& l, Source) {
                               return code_of(s.run(CancelExecution{l, "why", "lease_holder"}));
                           }};

/// A world with execution `a` under a lease of 1000 ms.
Scenario leased() {
    Scenario s;
    s.play("create a \n claim w1 ttl=1000 | a fresh initial #0 e1");
    return s;
}

void expect_for_all(const std::string& expected, const std::function<void(Scenario&)>& arrange,
                    const std::function<LeaseRef(const Scenario&)>& lease) {
    for (const FencedCall& call : calls) {
        Scenario s = leased();
        arrange(s);
        const Records before = s.records;
        EXPECT_EQ(call.make(s, lease(s), Source::lease_holder), expected) << call.name;
        if (expected != "ok" && expected != "lease_expired") {
            EXPECT_TRUE(s.records == before) << call.name << " wrote something";
        }
    }
}

LeaseRef held(const Scenario& s) { return s.handle("a"); }
void nothing(Scenario&) {}

TEST(Fence, the_present_triple_passes) { expect_for_all("ok", nothing, held); }

TEST(Fence, an_unknown_execution_is_not_found_before_anything_else) {
    expect_for_all("execution_not_found", nothing, [](const Scenario& s) {
        LeaseRef lease = held(s);
        lease.execution_id.uuid.bytes[3] ^= 1;
        lease.attempt_id.reset();
        return lease;
    });
}

TEST(Fence, any_single_component_that_differs_is_stale) {
    expect_for_all("stale_lease", nothing, [](const Scenario& s) {
        LeaseRef lease = held(s);
        lease.lease_id->uuid.bytes[15] ^= 1;
        return lease;
    });
    expect_for_all("stale_lease", nothing, [](const Scenario& s) {
        LeaseRef lease = held(s);
        *lease.lease_epoch += 1;
        return lease;
    });
    expect_for_all("stale_lease", nothing, [](const Scenario& s) {
        LeaseRef lease = held(s);
        lease.attempt_id->uuid.bytes[15] ^= 1;
        return lease;
    });
    expect_for_all("stale_lease", nothing, [](const Scenario& s) {
        LeaseRef lease = held(s);
        *lease.attempt_index += 1;
        return lease;
    });
}

TEST(Fence, the_attempt_index_may_be_left_out) {
    expect_for_all("ok", nothing, [](const Scenario& s) {
        LeaseRef lease = held(s);
        lease.attempt_index.reset();
        return lease;
    });
}

TEST(Fence, part_of_a_triple_is_refused_whichever_part) {
    for (int given = 1; given < 7; ++given) {
        expect_for_all("partial_fence_triple", nothing, [given](const Scenario& s) {
            LeaseRef lease = held(s);
            if ((given & 1) == 0) {
                lease.lease_id.reset();
            }
            if ((given & 2) == 0) {
                lease.lease_epoch.reset();
            }
            if ((given & 4) == 0) {
                lease.attempt_id.reset();
            }
            return lease;
        });
    }
}

TEST(Fence, none_at_all_is_refused_to_a_lease_holder) {
    expect_for_all("fence_required", nothing,
                   [](const Scenario& s) { return LeaseRef(s.id("a")); });
}

TEST(Fence, an_operator_may_leave_it_out_of_calls_that_end_or_pause_only) {
    for (const FencedCall& call : calls) {
        Scenario s = leased();
        EXPECT_EQ(call.make(s, LeaseRef(s.id("a")), Source::operator_override),
                  call.operator_may_omit ? "ok" : "fence_required")
            << call.name;
        EXPECT_EQ(call.make(s, LeaseRef(s.id("a")), Source::internal), "fence_required")
            << call.name;
    }
}

TEST(Fence, an_operator_without_one_still_meets_phase_revocation_and_expiry) {
    for (const FencedCall& call : calls) {
        if (!call.operator_may_omit) {
            continue;
        }
        Scenario s = leased();
        const LeaseRef lease(s.id("a"));
        Scenario revoked = s;
        revoked.play("revoke_lease a | revoked e1");
        EXPECT_EQ(call.make(revoked, lease, Source::operator_override), "lease_revoked");
        Scenario expired = s;
        expired.play("pass 1000");
        EXPECT_EQ(call.make(expired, lease, Source::operator_override), "lease_expired");
        s.play("release a | waiting");
        EXPECT_EQ(call.make(s, lease, Source::operator_override), "execution_not_active");
    }
}

TEST(Fence, a_handle_of_another_kind_of_store_is_named_as_such) {
    Scenario s = leased();
    Handle foreign = s.handle("a");
    foreign.backend = BackendTag::postgres;
    const auto answer = s.run(Renew{foreign});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().detail, "expected=sqlite actual=postgres");
    expect_for_all("handle_from_other_backend", nothing,
                   [&](const Scenario&) { return LeaseRef(foreign); });
}

// ---------------------------------------------------------------------- phase and lost leases

TEST(Fence, an_execution_that_is_not_active_says_what_it_is) {
    Scenario s = leased();
    const auto details = [&s] {
        const auto answer = s.run(Renew{s.handle("a")});
        EXPECT_EQ(answer.error().code, ErrorCode::execution_not_active);
        return answer.error().fields;
    };
    using Fields = std::vector<std::pair<std::string, std::string>>;
    const std::string attempt = s.handle("a").attempt_id.to_string();
    s.play("release a");
    EXPECT_EQ(details(), (Fields{{"terminal_outcome", "none"},
                                 {"lease_epoch", "1"},
                                 {"lifecycle_phase", "runnable"},
                                 {"attempt_id", attempt}}));
    s.play("cancel a as=nobody | cancelled");
    EXPECT_EQ(details(), (Fields{{"terminal_outcome", "cancelled"},
                                 {"lease_epoch", "1"},
                                 {"lifecycle_phase", "terminal"},
                                 {"attempt_id", attempt}}));
}

TEST(Fence, after_a_scheduled_retry_the_epoch_is_kept_and_the_attempt_is_empty) {
    Scenario s;
    s.policies["retry"] = R"({"retry_policy":{}})";
    s.play("create a policy=retry \n claim w1 \n fail a transient | retry +1000 #1");
    const auto answer = s.run(Complete{s.handle("a")});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().field("lease_epoch"), "1");
    EXPECT_EQ(answer.error().field("lifecycle_phase"), "runnable");
    EXPECT_EQ(answer.error().field("attempt_id"), "");
    EXPECT_EQ(answer.error().field("terminal_outcome"), "none");
}

TEST(Fence, a_revoked_lease_says_so) {
    expect_for_all(
        "lease_revoked", [](Scenario& s) { s.play("revoke_lease a | revoked e1"); }, held);
}

TEST(Fence, a_lease_expires_at_the_very_millisecond) {
    expect_for_all("ok", [](Scenario& s) { s.play("pass 999"); }, held);
    expect_for_all("lease_expired", [](Scenario& s) { s.play("pass 1000"); }, held);
}

TEST(Fence, a_lease_found_past_due_is_marked_by_every_call_but_progress) {
    std::vector<FencedCall> all = calls;
    all.push_back(cancel);
    for (const FencedCall& call : all) {
        Scenario s = leased();
        s.play("pass 1000");
        EXPECT_EQ(call.make(s, held(s), Source::lease_holder), "lease_expired") << call.name;
        if (call.name == "progress") {
            s.play("mark_lease_expired a | marked");
            continue;
        }
        s.play("tick | 0 | a: active lease_expired_reclaimable attempt_interrupted");
        EXPECT_EQ(s.row("a").lease_expired_at, s.now) << call.name;
        EXPECT_EQ(s.history("a"), (std::vector<std::string>{"acquired", "expired"})) << call.name;
        // Marked or not, the answer is the same, and there is no second mark.
        const Records before = s.records;
        EXPECT_EQ(call.make(s, held(s), Source::lease_holder), "lease_expired") << call.name;
        EXPECT_TRUE(s.records == before) << call.name;
    }
}

TEST(Fence, progress_answers_an_expired_lease_without_writing) {
    Scenario s = leased();
    s.play("pass 1000");
    const Records before = s.records;
    EXPECT_EQ(s.run(Progress{held(s), 5, "x"}).error().code, ErrorCode::lease_expired);
    EXPECT_TRUE(s.records == before);
}

TEST(Fence, the_old_owner_hears_stale_once_the_lease_is_anothers) {
    expect_for_all(
        "stale_lease",
        [](Scenario& s) { s.play("after 1000 \n claim w2 | a reclaimed reclaim #1 e2"); },
        [](const Scenario& s) { return LeaseRef(s.handle("a", "w1")); });
}

TEST(Fence, the_old_lease_of_a_resumed_attempt_is_stale_though_the_attempt_is_the_same) {
    expect_for_all(
        "stale_lease",
        [](Scenario& s) { s.play("release a \n claim w2 | a resumed initial #0 e2"); },
        [](const Scenario& s) { return LeaseRef(s.handle("a", "w1")); });
}

// Two faults at once: the earlier check is the answer.
TEST(Fence, checks_shape_then_phase_then_revocation_then_expiry_then_the_triple) {
    const auto stale = [](const Scenario& s) {
        LeaseRef lease = held(s);
        *lease.lease_epoch += 7;
        return lease;
    };
    const auto partial = [](const Scenario& s) {
        LeaseRef lease = held(s);
        lease.lease_id.reset();
        return lease;
    };
    const auto ended = [](Scenario& s) { s.play("cancel a as=nobody | cancelled"); };
    const auto revoked_late = [](Scenario& s) { s.play("revoke_lease a \n pass 1000"); };
    expect_for_all("partial_fence_triple", ended, partial);
    expect_for_all("execution_not_active", ended, stale);
    expect_for_all("lease_revoked", revoked_late, stale);
    expect_for_all("lease_expired", [](Scenario& s) { s.play("pass 1000"); }, stale);
    expect_for_all("stale_lease", nothing, stale);
}

TEST(Fence, a_stale_call_marks_an_overdue_lease_all_the_same) {
    Scenario s = leased();
    s.play("pass 1000");
    LeaseRef stale = held(s);
    *stale.lease_epoch += 7;
    EXPECT_EQ(s.run(Renew{stale}).error().code, ErrorCode::lease_expired);
    s.play("tick | 0 | a: lease_expired_reclaimable");
}

}  // namespace
}  // namespace ff::core
