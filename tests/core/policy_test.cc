#include <ff/policy.h>

#include <ff/contracts.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace ff {
namespace {

using Tokens = std::vector<std::string>;

constexpr std::string_view uuid_text = "11111111-2222-3333-4444-555555555555";
constexpr DurationMs days_30 = 2'592'000'000;

Policy parsed(std::string_view json) {
    auto policy = Policy::parse(json);
    EXPECT_TRUE(policy) << json << ": " << policy.error().detail;
    return policy ? *policy : Policy{};
}

std::string fault_of(std::string_view json, ErrorCode code = ErrorCode::invalid_policy_json) {
    const auto policy = Policy::parse(json);
    if (policy) {
        return "accepted";
    }
    EXPECT_EQ(policy.error().code, code) << json;
    return policy.error().detail;
}

/// `{"a":{"b":value}}` for the path "a.b".
std::string document(std::string_view path, std::string_view value) {
    const std::size_t dot = path.find('.');
    const std::string name(path.substr(0, dot));
    const std::string inner =
        dot == std::string_view::npos ? std::string(value) : document(path.substr(dot + 1), value);
    return "{\"" + name + "\":" + inner + "}";
}

std::string exponential(std::string_view members) {
    return R"({"retry_policy":{"backoff":{"type":"exponential",)" + std::string(members) + "}}}";
}

// ------------------------------------------------------------------------------ the whole thing

TEST(Policy, text_that_is_no_json_object_is_malformed) {
    for (const char* json : {"", "{", "null", "[]", "1", "\"{}\"", "{} {}", "{\"a\":}", "\xff"}) {
        EXPECT_EQ(fault_of(json), "malformed") << json;
    }
}

TEST(Policy, members_that_it_does_not_have_are_dropped_or_refused) {
    const std::pair<const char*, const char*> slips[] = {
        {R"({"retry_polcy":{}})", "retry_polcy:unknown"},
        {R"({"x":null})", "x:unknown"},
        {R"({"retry_policy":{"max_retry":3}})", "retry_policy.max_retry:unknown"},
        {R"({"retry_policy":{"backoff":{"type":"fixed","delay":3}}})",
         "retry_policy.backoff.delay:unknown"},
        {R"({"retry_policy":{"backoff":{"type":"linear"}}})",
         "retry_policy.backoff.type:invalid_value"},
        {R"({"timeout_policy":{"attempt_timeout":3}})", "timeout_policy.attempt_timeout:unknown"},
        {R"({"fallback_policy":{"tiers":[{"provider":"p","model":"m","cost":1}]}})",
         "fallback_policy.tiers.0.cost:unknown"},
    };
    for (const auto& [json, fault] : slips) {
        EXPECT_EQ(fault_of(json), "accepted") << json;
        const auto refused = Policy::parse(json, UnknownMembers::refused);
        ASSERT_FALSE(refused) << json;
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_policy_json);
        EXPECT_EQ(refused.error().detail, fault);
    }
    EXPECT_TRUE(Policy::parse(R"({"budget_reserve":{"tokens":1},"priority":null})",
                              UnknownMembers::refused));
}

TEST(Policy, of_an_empty_object_has_every_default) {
    const Policy policy = parsed("{}");
    EXPECT_EQ(policy, Policy{});
    EXPECT_EQ(policy.priority, 0);
    EXPECT_FALSE(policy.retry_policy);
    EXPECT_EQ(policy.reclaim_cap(), 100U);
    EXPECT_EQ(policy.replay_cap(), 10U);
    EXPECT_EQ(policy.to_json(), "{}");
}

TEST(Policy, null_equals_absent_and_unknown_members_are_dropped) {
    EXPECT_EQ(parsed(R"({"priority":null,"delay_until":null,"retry_policy":null,
        "timeout_policy":null,"max_reclaim_count":null,"suspension_policy":null,
        "fallback_policy":null,"max_replay_count":null,"budget_ids":null,"quota_policy_id":null,
        "routing_requirements":null,"dedup_window_ms":null,"stream_policy":null,
        "max_signals_per_execution":null,"something":{"else":[1]}})"),
              Policy{});
    EXPECT_EQ(parsed(R"({"retry_policy":{"max_retries":null,"backoff":null,
        "retryable_categories":null,"x":1}})")
                  .retry_policy,
              RetryPolicy{});
    EXPECT_EQ(parsed(R"({"timeout_policy":{"attempt_timeout_ms":null}})").timeout_policy,
              TimeoutPolicy{});
    EXPECT_EQ(parsed(R"({"suspension_policy":{"timeout_behavior":null}})").suspension_policy,
              SuspensionPolicy{});
    EXPECT_EQ(parsed(R"({"stream_policy":{"durability_mode":null}})").stream_policy,
              StreamPolicy{});
    EXPECT_EQ(
        parsed(R"({"routing_requirements":{"required_capabilities":null}})").routing_requirements,
        RoutingRequirements{});
    EXPECT_TRUE(parsed(R"({"fallback_policy":{"tiers":null}})").fallback_tiers.empty());
}

constexpr std::string_view full_json =
    R"({"priority":7,"delay_until":1700000000000,)"
    R"("retry_policy":{"max_retries":5,"backoff":{"type":"exponential","initial_delay_ms":10,)"
    R"("max_delay_ms":500,"multiplier":1.5,"jitter":true},"retryable_categories":["transient"]},)"
    R"("timeout_policy":{"attempt_timeout_ms":1,"execution_deadline_ms":2,"max_reclaim_count":3},)"
    R"("max_reclaim_count":4,)"
    R"("suspension_policy":{"default_timeout_ms":9,"timeout_behavior":"escalate"},)"
    R"("fallback_policy":{"tiers":[{"provider":"p","model":"m","timeout_ms":6},)"
    R"({"provider":"q","model":"n"}]},)"
    R"("max_replay_count":8,"budget_ids":["11111111-2222-3333-4444-555555555555"],)"
    R"("quota_policy_id":"11111111-2222-3333-4444-555555555555",)"
    R"("routing_requirements":{"required_capabilities":["cuda","gpu"],)"
    R"("preferred_locality":"eu","isolation_level":"vm"},)"
    R"("dedup_window_ms":0,)"
    R"("stream_policy":{"durability_mode":"durable","retention_maxlen":11,"retention_ttl_ms":12},)"
    R"("max_signals_per_execution":13})";

TEST(Policy, every_member_is_read) {
    const Policy policy = parsed(full_json);
    EXPECT_EQ(policy.priority, 7);
    EXPECT_EQ(policy.delay_until, 1'700'000'000'000);
    ASSERT_TRUE(policy.retry_policy);
    EXPECT_EQ(policy.retry_policy->max_retries, 5U);
    EXPECT_EQ(policy.retry_policy->backoff, (Backoff{.type = Backoff::Type::exponential,
                                                     .delay_ms = 1000,
                                                     .initial_delay_ms = 10,
                                                     .max_delay_ms = 500,
                                                     .multiplier = 1.5,
                                                     .jitter = true}));
    EXPECT_EQ(policy.retry_policy->retryable_categories, Tokens{"transient"});
    EXPECT_EQ(policy.timeout_policy, (TimeoutPolicy{1, 2, 3U}));
    EXPECT_EQ(policy.max_reclaim_count, 4U);
    EXPECT_EQ(policy.suspension_policy, (SuspensionPolicy{9, "escalate"}));
    EXPECT_EQ(policy.fallback_tiers,
              (std::vector<FallbackTier>{{"p", "m", 6}, {"q", "n", std::nullopt}}));
    EXPECT_EQ(policy.max_replay_count, 8U);
    EXPECT_EQ(policy.replay_cap(), 8U);
    EXPECT_EQ(policy.budget_ids, std::vector{BudgetId::parse(uuid_text).value()});
    EXPECT_EQ(policy.quota_policy_id, QuotaPolicyId::parse(uuid_text));
    EXPECT_EQ(policy.routing_requirements, (RoutingRequirements{{"cuda", "gpu"}, "eu", "vm"}));
    EXPECT_EQ(policy.dedup_window_ms, 0);
    EXPECT_EQ(policy.stream_policy, (StreamPolicy{"durable", 11, 12}));
    EXPECT_EQ(policy.max_signals_per_execution, 13U);
}

TEST(Policy, normalised_json_keeps_every_member_and_the_order_of_the_specification) {
    EXPECT_EQ(parsed(full_json).to_json(), full_json);
}

TEST(Policy, members_that_are_empty_or_default_at_the_top_are_omitted) {
    EXPECT_EQ(parsed(R"({"priority":0,"budget_ids":[],"fallback_policy":{}})").to_json(), "{}");
    EXPECT_EQ(parsed(R"({"timeout_policy":{}})").to_json(), R"({"timeout_policy":{}})");
}

TEST(Policy, nested_defaults_are_spelled_out_for_readers_of_a_snapshot) {
    EXPECT_EQ(parsed(R"({"retry_policy":{}})").to_json(),
              R"({"retry_policy":{"max_retries":3,"backoff":{"type":"exponential",)"
              R"("initial_delay_ms":1000,"max_delay_ms":60000,"multiplier":2,"jitter":false},)"
              R"("retryable_categories":[]}})");
    EXPECT_EQ(parsed(R"({"stream_policy":{},"suspension_policy":{}})").to_json(),
              R"({"suspension_policy":{"timeout_behavior":"fail"},)"
              R"("stream_policy":{"durability_mode":"buffered","retention_maxlen":10000}})");
}

TEST(Policy, any_policy_reads_back_as_itself) {
    EXPECT_TRUE(rc::check([] {
        const auto number = [] { return *rc::gen::inRange<std::int64_t>(0, 2'000'000'000); };
        const auto small = [&] { return static_cast<std::uint32_t>(number()); };
        const auto coin = [] { return *rc::gen::arbitrary<bool>(); };
        const auto text = [] {
            return *rc::gen::element<std::string>("x", "a\"b", "東京", "with space", "\n");
        };
        Policy policy;
        policy.priority = static_cast<std::int32_t>(number());
        if (coin())
            policy.delay_until = number();
        if (coin()) {
            RetryPolicy retry;
            retry.max_retries = static_cast<std::uint32_t>(number() % 10'001);
            if (coin()) {
                retry.backoff.max_delay_ms = number();
                retry.backoff.initial_delay_ms = number() % (retry.backoff.max_delay_ms + 1);
                retry.backoff.multiplier = 1.0 + static_cast<double>(number()) / 7.0;
                retry.backoff.jitter = coin();
            } else {
                retry.backoff.type = Backoff::Type::fixed;
                retry.backoff.delay_ms = number();
            }
            retry.retryable_categories.assign(small() % 3, text());
            policy.retry_policy = retry;
        }
        if (coin())
            policy.timeout_policy = TimeoutPolicy{number(), std::nullopt, small()};
        if (coin())
            policy.max_reclaim_count = small();
        if (coin())
            policy.suspension_policy = SuspensionPolicy{number(), "auto_resume"};
        policy.fallback_tiers.assign(small() % 17, FallbackTier{text(), text(), number()});
        if (coin())
            policy.max_replay_count = small();
        SeededIdSource ids(small());
        for (int i = 0; i < 3; ++i) {
            policy.budget_ids.push_back({ids.uuid(1)});
        }
        if (coin())
            policy.quota_policy_id = QuotaPolicyId{ids.uuid(1)};
        if (coin())
            policy.routing_requirements = RoutingRequirements{{"a", "b"}, text(), {}};
        if (coin())
            policy.dedup_window_ms = number();
        if (coin())
            policy.stream_policy = StreamPolicy{"durable", small(), number()};
        if (coin())
            policy.max_signals_per_execution = small();
        RC_ASSERT(Policy::parse(policy.to_json()).value() == policy);
        RC_ASSERT(Policy::parse(policy.to_json(), UnknownMembers::refused).value() == policy);
    }));
}

TEST(Policy, reclaim_cap_is_the_top_levels_then_the_timeout_policys_then_100) {
    EXPECT_EQ(
        parsed(R"({"max_reclaim_count":5,"timeout_policy":{"max_reclaim_count":6}})").reclaim_cap(),
        5U);
    EXPECT_EQ(parsed(R"({"timeout_policy":{"max_reclaim_count":6}})").reclaim_cap(), 6U);
    EXPECT_EQ(parsed(R"({"timeout_policy":{}})").reclaim_cap(), 100U);
    EXPECT_EQ(parsed(R"({"max_reclaim_count":0})").reclaim_cap(), 0U);
}

// ------------------------------------------------------------------------------------- integers

struct IntegerMember {
    std::string_view path;
    std::int64_t value_max;
};

constexpr std::int64_t max_53 = std::int64_t{1} << 53;
constexpr std::int64_t max_u32 = std::numeric_limits<std::uint32_t>::max();

constexpr IntegerMember integer_members[] = {
    {"priority", std::numeric_limits<std::int32_t>::max()},
    {"delay_until", max_53},
    {"retry_policy.max_retries", 10'000},
    {"timeout_policy.attempt_timeout_ms", max_53},
    {"timeout_policy.execution_deadline_ms", max_53},
    {"timeout_policy.max_reclaim_count", max_u32},
    {"max_reclaim_count", max_u32},
    {"suspension_policy.default_timeout_ms", max_53},
    {"max_replay_count", max_u32},
    {"dedup_window_ms", max_53},
    {"stream_policy.retention_maxlen", max_53},
    {"stream_policy.retention_ttl_ms", max_53},
    {"max_signals_per_execution", max_u32},
};

TEST(PolicyIntegers, zero_and_the_maximum_are_accepted) {
    for (const auto& [path, value_max] : integer_members) {
        EXPECT_EQ(fault_of(document(path, "0")), "accepted") << path;
        EXPECT_EQ(fault_of(document(path, std::to_string(value_max))), "accepted") << path;
    }
}

TEST(PolicyIntegers, one_above_the_maximum_is_out_of_range_and_above_2_53_too_large) {
    for (const auto& [path, value_max] : integer_members) {
        const std::string reason = value_max == max_53 ? ":too_large" : ":out_of_range";
        EXPECT_EQ(fault_of(document(path, std::to_string(value_max + 1))),
                  std::string(path) + reason);
        EXPECT_EQ(fault_of(document(path, "9007199254740993")), std::string(path) + ":too_large");
        EXPECT_EQ(fault_of(document(path, "99999999999999999999")),
                  std::string(path) + ":too_large");
    }
}

TEST(PolicyIntegers, negative_numbers_are_refused) {
    for (const auto& [path, value_max] : integer_members) {
        EXPECT_EQ(fault_of(document(path, "-1")), std::string(path) + ":negative");
        EXPECT_EQ(fault_of(document(path, "-99999999999999999999")),
                  std::string(path) + ":negative");
    }
}

TEST(PolicyIntegers, anything_that_is_no_integer_is_refused) {
    for (const auto& [path, value_max] : integer_members) {
        for (const char* value : {"1.0", "1e2", "\"1\"", "true", "[]", "{}"}) {
            EXPECT_EQ(fault_of(document(path, value)), std::string(path) + ":not_integer");
        }
    }
}

// -------------------------------------------------------------------------------------- objects

TEST(PolicyObjects, anything_but_an_object_is_refused) {
    for (const std::string path :
         {"retry_policy", "timeout_policy", "suspension_policy", "fallback_policy",
          "routing_requirements", "stream_policy", "retry_policy.backoff"}) {
        for (const char* value : {"1", "\"x\"", "[]", "true"}) {
            EXPECT_EQ(fault_of(document(path, value)), path + ":not_object");
        }
    }
}

// ---------------------------------------------------------------------------------------- retry

TEST(PolicyRetry, categories_are_an_array_of_strings) {
    EXPECT_EQ(fault_of(document("retry_policy.retryable_categories", "{}")),
              "retry_policy.retryable_categories:not_array");
    EXPECT_EQ(fault_of(document("retry_policy.retryable_categories", R"(["a",1])")),
              "retry_policy.retryable_categories.1:not_string");
}

TEST(PolicyBackoff, fixed_takes_its_delay_up_to_30_days_and_1000_when_missing) {
    const auto fixed = [](std::string_view json) { return parsed(json).retry_policy->backoff; };
    EXPECT_EQ(fixed(R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":250}}})").delay_ms,
              250);
    EXPECT_EQ(fixed(R"({"retry_policy":{"backoff":{"type":"fixed"}}})").delay_ms, 1000);
    const auto with_delay = [](const std::string& delay) {
        return R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":)" + delay + "}}}";
    };
    EXPECT_EQ(fault_of(with_delay(std::to_string(days_30))), "accepted");
    EXPECT_EQ(fault_of(with_delay(std::to_string(days_30 + 1))),
              "retry_policy.backoff.delay_ms:out_of_range");
    EXPECT_EQ(fault_of(with_delay("-1")), "retry_policy.backoff.delay_ms:negative");
    EXPECT_EQ(fault_of(with_delay("\"1\"")), "retry_policy.backoff.delay_ms:not_integer");
}

TEST(PolicyBackoff, a_missing_or_unknown_type_becomes_a_fixed_second) {
    for (const char* backoff : {"{}", R"({"type":null})", R"({"type":"linear","delay_ms":5})",
                                R"({"delay_ms":7})", R"({"type":"","multiplier":"x"})"}) {
        const Policy policy = parsed(document("retry_policy.backoff", backoff));
        const Backoff& read = policy.retry_policy->backoff;
        EXPECT_EQ(read.type, Backoff::Type::fixed) << backoff;
        EXPECT_EQ(read.delay_ms, 1000) << backoff;
    }
    Policy policy;
    policy.retry_policy = RetryPolicy{};
    policy.retry_policy->backoff.type = Backoff::Type::unknown;
    EXPECT_NE(policy.to_json().find(R"("backoff":{"type":"fixed","delay_ms":1000})"),
              std::string::npos);
}

TEST(PolicyBackoff, a_type_that_is_no_string_is_refused) {
    EXPECT_EQ(fault_of(document("retry_policy.backoff", R"({"type":1})")),
              "retry_policy.backoff.type:not_string");
}

TEST(PolicyBackoff, delays_of_the_exponential_kind_are_ordered_and_bounded) {
    const std::string day_30 = std::to_string(days_30);
    EXPECT_EQ(fault_of(exponential(R"("initial_delay_ms":5,"max_delay_ms":5)")), "accepted");
    EXPECT_EQ(fault_of(exponential(R"("initial_delay_ms":6,"max_delay_ms":5)")),
              "retry_policy.backoff.initial_delay_ms:out_of_range");
    EXPECT_EQ(fault_of(exponential(R"("initial_delay_ms":60001)")),
              "retry_policy.backoff.initial_delay_ms:out_of_range");
    EXPECT_EQ(fault_of(exponential(R"("max_delay_ms":999)")),
              "retry_policy.backoff.initial_delay_ms:out_of_range");
    EXPECT_EQ(fault_of(exponential(R"("max_delay_ms":)" + day_30)), "accepted");
    EXPECT_EQ(fault_of(exponential(R"("max_delay_ms":)" + std::to_string(days_30 + 1))),
              "retry_policy.backoff.max_delay_ms:out_of_range");
    EXPECT_EQ(fault_of(exponential(R"("initial_delay_ms":-1)")),
              "retry_policy.backoff.initial_delay_ms:negative");
    EXPECT_EQ(fault_of(exponential(R"("initial_delay_ms":1.5)")),
              "retry_policy.backoff.initial_delay_ms:not_integer");
    EXPECT_EQ(fault_of(exponential(R"("max_delay_ms":"x")")),
              "retry_policy.backoff.max_delay_ms:not_integer");
}

TEST(PolicyBackoff, multiplier_is_a_finite_number_of_at_least_one) {
    const auto fault = [](const std::string& multiplier) {
        return fault_of(exponential("\"multiplier\":" + multiplier));
    };
    const std::string path = "retry_policy.backoff.multiplier:";
    for (const char* good : {"1", "1.0", "1.5", "2e0", "9007199254740992", "null"}) {
        EXPECT_EQ(fault(good), "accepted") << good;
    }
    EXPECT_EQ(fault("0.999"), path + "out_of_range");
    EXPECT_EQ(fault("0"), path + "out_of_range");
    EXPECT_EQ(fault("1e-999"), path + "out_of_range");
    EXPECT_EQ(fault("-1"), path + "negative");
    EXPECT_EQ(fault("1e999"), path + "not_finite");
    EXPECT_EQ(fault("1e17"), path + "too_large");
    EXPECT_EQ(fault("\"2\""), path + "invalid_value");
    EXPECT_EQ(fault("true"), path + "invalid_value");
}

TEST(PolicyBackoff, a_multiplier_that_is_no_number_is_written_so_that_it_is_refused) {
    Policy policy;
    policy.retry_policy.emplace();
    for (const double multiplier : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
        policy.retry_policy->backoff = {.type = Backoff::Type::exponential,
                                        .multiplier = multiplier};
        EXPECT_EQ(fault_of(policy.to_json()), "retry_policy.backoff.multiplier:not_finite");
    }
}

TEST(PolicyBackoff, jitter_is_a_bool) {
    EXPECT_TRUE(parsed(exponential(R"("jitter":true)")).retry_policy->backoff.jitter);
    EXPECT_EQ(fault_of(exponential(R"("jitter":1)")), "retry_policy.backoff.jitter:not_bool");
}

// ------------------------------------------------------------------------------- words and ids

TEST(PolicySuspension, timeout_behavior_is_one_of_the_words) {
    for (const char* word : {"fail", "cancel", "expire", "auto_resume",
                             "auto_resume_with_timeout_signal", "escalate"}) {
        EXPECT_EQ(
            parsed(document("suspension_policy.timeout_behavior", "\"" + std::string(word) + "\""))
                .suspension_policy->timeout_behavior,
            word);
    }
    for (const char* value : {"\"\"", "\"Fail\"", "\"resume\""}) {
        EXPECT_EQ(fault_of(document("suspension_policy.timeout_behavior", value)),
                  "suspension_policy.timeout_behavior:invalid_value");
    }
    EXPECT_EQ(fault_of(document("suspension_policy.timeout_behavior", "1")),
              "suspension_policy.timeout_behavior:not_string");
}

TEST(PolicyStream, durability_mode_is_one_of_the_words) {
    EXPECT_EQ(fault_of(document("stream_policy.durability_mode", "\"durable\"")), "accepted");
    EXPECT_EQ(fault_of(document("stream_policy.durability_mode", "\"buffered\"")), "accepted");
    EXPECT_EQ(fault_of(document("stream_policy.durability_mode", "\"eager\"")),
              "stream_policy.durability_mode:invalid_value");
    EXPECT_EQ(fault_of(document("stream_policy.durability_mode", "false")),
              "stream_policy.durability_mode:not_string");
}

std::string repeated(std::string_view item, std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) {
        text += (i == 0 ? "" : ",") + std::string(item);
    }
    return text + "]";
}

TEST(PolicyBudgets, are_at_most_16_uuids_each_kept_once_in_order) {
    const std::string id = "\"" + std::string(uuid_text) + "\"";
    EXPECT_EQ(parsed(document("budget_ids", repeated(id, 16))).budget_ids.size(), 1U);
    EXPECT_EQ(fault_of(document("budget_ids", repeated(id, 17))), "budget_ids:too_many");
    EXPECT_EQ(fault_of(document("budget_ids", "\"x\"")), "budget_ids:not_array");
    EXPECT_EQ(fault_of(document("budget_ids", "[" + id + ",1]")), "budget_ids.1:not_string");
    EXPECT_EQ(fault_of(document("budget_ids", R"(["x"])")), "budget_ids.0:invalid_uuid");
    const std::string other = R"("00000000-0000-0000-0000-000000000000")";
    const Policy policy = parsed(document("budget_ids", "[" + id + "," + other + "," + id + "]"));
    EXPECT_EQ(policy.budget_ids, (std::vector{BudgetId::parse(uuid_text).value(), BudgetId{}}));
}

TEST(PolicyQuota, policy_id_is_a_uuid) {
    EXPECT_EQ(fault_of(document("quota_policy_id", "1")), "quota_policy_id:not_string");
    EXPECT_EQ(fault_of(document("quota_policy_id", "\"x\"")), "quota_policy_id:invalid_uuid");
}

TEST(PolicyFallback, tiers_are_at_most_16_objects_with_provider_and_model) {
    const std::string tier = R"({"provider":"p","model":"m"})";
    const auto fault = [](const std::string& tiers) {
        return fault_of(document("fallback_policy.tiers", tiers));
    };
    EXPECT_EQ(parsed(document("fallback_policy.tiers", repeated(tier, 16))).fallback_tiers.size(),
              16U);
    EXPECT_EQ(fault(repeated(tier, 17)), "fallback_policy.tiers:too_many");
    EXPECT_EQ(fault("{}"), "fallback_policy.tiers:not_array");
    EXPECT_EQ(fault("[" + tier + ",1]"), "fallback_policy.tiers.1:not_object");
    EXPECT_EQ(fault(R"([{"model":"m"}])"), "fallback_policy.tiers.0.provider:not_string");
    EXPECT_EQ(fault(R"([{"provider":"p"}])"), "fallback_policy.tiers.0.model:not_string");
    EXPECT_EQ(fault(R"([{"provider":"p","model":null}])"),
              "fallback_policy.tiers.0.model:not_string");
    EXPECT_EQ(fault(R"([{"provider":"p","model":1}])"), "fallback_policy.tiers.0.model:not_string");
    EXPECT_EQ(fault(R"([{"provider":"p","model":"m","timeout_ms":-1}])"),
              "fallback_policy.tiers.0.timeout_ms:negative");
}

TEST(PolicyRouting, locality_and_isolation_are_strings_and_empty_ones_are_absent) {
    EXPECT_EQ(fault_of(document("routing_requirements.preferred_locality", "1")),
              "routing_requirements.preferred_locality:not_string");
    EXPECT_EQ(fault_of(document("routing_requirements.isolation_level", "[]")),
              "routing_requirements.isolation_level:not_string");
    const Policy policy =
        parsed(R"({"routing_requirements":{"preferred_locality":"","isolation_level":""}})");
    EXPECT_EQ(policy.routing_requirements, RoutingRequirements{});
}

// -------------------------------------------------------------------------------- capabilities

std::string capability_fault(const std::string& value) {
    return fault_of(document("routing_requirements.required_capabilities", value),
                    ErrorCode::invalid_capabilities);
}

TEST(PolicyCapabilities, are_stored_sorted_and_without_duplicates) {
    const Policy policy = parsed(document("routing_requirements.required_capabilities",
                                          R"(["gpu","cuda","gpu","Gpu","东京-gpu"])"));
    EXPECT_EQ(policy.routing_requirements->required_capabilities,
              (Tokens{"Gpu", "cuda", "gpu", "东京-gpu"}));
}

TEST(PolicyCapabilities, faults_are_invalid_capabilities_each_with_its_detail) {
    EXPECT_EQ(capability_fault("\"gpu\""), "required:not_array");
    EXPECT_EQ(capability_fault("{}"), "required:not_array");
    EXPECT_EQ(capability_fault(R"(["gpu",1])"), "required:non_string_token");
    EXPECT_EQ(capability_fault(R"([null])"), "required:non_string_token");
    EXPECT_EQ(capability_fault(R"([""])"), "required:empty_token");
    EXPECT_EQ(capability_fault(R"(["a,b"])"), "required:comma_in_token");
    EXPECT_EQ(capability_fault(R"(["a b"])"), "required:control_or_whitespace");
    EXPECT_EQ(capability_fault(R"(["a\u0000"])"), "required:control_or_whitespace");
    EXPECT_EQ(capability_fault(R"(["a\u007f"])"), "required:control_or_whitespace");
}

TEST(PolicyCapabilities, the_first_fault_in_the_order_of_the_specification_is_told) {
    EXPECT_EQ(capability_fault(R"(["a b","a,b","",1])"), "required:non_string_token");
    EXPECT_EQ(capability_fault(R"(["a b","a,b",""])"), "required:empty_token");
    EXPECT_EQ(capability_fault(R"(["a b","a,b"])"), "required:comma_in_token");
}

TEST(PolicyCapabilities, an_empty_list_is_any_worker) {
    EXPECT_TRUE(parsed(document("routing_requirements.required_capabilities", "[]"))
                    .routing_requirements->required_capabilities.empty());
}

std::string normalise_fault(Tokens tokens, CapabilitySide side) {
    const auto result = normalise_capabilities(std::move(tokens), side);
    if (result) {
        return "accepted";
    }
    EXPECT_EQ(result.error().code, ErrorCode::invalid_capabilities);
    return result.error().detail;
}

Tokens numbered(std::size_t count) {
    Tokens tokens;
    for (std::size_t i = 0; i < count; ++i) {
        tokens.push_back("t" + std::to_string(i));
    }
    return tokens;
}

TEST(Capabilities, workers_hear_the_same_faults_under_their_own_prefix) {
    const auto side = CapabilitySide::worker;
    EXPECT_EQ(normalise_fault({"gpu", ""}, side), "worker:empty_token");
    EXPECT_EQ(normalise_fault({"a,b"}, side), "worker:comma_in_token");
    EXPECT_EQ(normalise_fault({"a\tb"}, side), "worker:control_or_whitespace");
    EXPECT_EQ(normalise_fault(numbered(257), side), "worker:too_many_tokens");
    EXPECT_EQ(normalise_fault({std::string(4097, 'x')}, side), "worker:too_many_bytes");
}

TEST(Capabilities, unicode_blanks_and_controls_are_refused_on_the_worker_side_only) {
    for (const char* token : {"a\u00A0b", "a\u3000", "\u2028", "a\u0085", "\u0090x"}) {
        EXPECT_EQ(normalise_fault({token}, CapabilitySide::worker), "worker:control_or_whitespace");
        EXPECT_EQ(normalise_fault({token}, CapabilitySide::required), "accepted");
    }
    EXPECT_EQ(normalise_fault({"东京-gpu"}, CapabilitySide::worker), "accepted");
}

TEST(Capabilities, bytes_that_are_no_text_are_refused_on_both_sides) {
    EXPECT_EQ(normalise_fault({"\xff"}, CapabilitySide::required),
              "required:control_or_whitespace");
    EXPECT_EQ(normalise_fault({"\xC0\x80"}, CapabilitySide::worker),
              "worker:control_or_whitespace");
}

TEST(Capabilities, every_byte_up_to_blank_and_delete_is_refused) {
    for (int byte = 0; byte < 0x80; ++byte) {
        const std::string token = {'x', static_cast<char>(byte)};
        std::string expected = "accepted";
        if (byte == ',') {
            expected = "required:comma_in_token";
        } else if (byte <= 0x20 || byte == 0x7F) {
            expected = "required:control_or_whitespace";
        }
        EXPECT_EQ(normalise_fault({token}, CapabilitySide::required), expected) << byte;
    }
}

TEST(Capabilities, bounds_are_inclusive_and_count_what_is_stored) {
    EXPECT_EQ(normalise_fault(numbered(256), CapabilitySide::required), "accepted");
    EXPECT_EQ(normalise_fault(numbered(257), CapabilitySide::required), "required:too_many_tokens");
    EXPECT_EQ(normalise_fault(Tokens(1000, "gpu"), CapabilitySide::required), "accepted");
    EXPECT_EQ(normalise_fault({std::string(4096, 'x')}, CapabilitySide::required), "accepted");
    EXPECT_EQ(normalise_fault({std::string(4097, 'x')}, CapabilitySide::required),
              "required:too_many_bytes");
    EXPECT_EQ(
        normalise_fault({std::string(2048, 'x'), std::string(2047, 'y')}, CapabilitySide::required),
        "accepted");
    EXPECT_EQ(
        normalise_fault({std::string(2048, 'x'), std::string(2048, 'y')}, CapabilitySide::required),
        "required:too_many_bytes");
}

TEST(Capabilities, a_worker_qualifies_when_its_set_is_a_superset) {
    EXPECT_TRUE(satisfies({}, {}));
    EXPECT_TRUE(satisfies({"gpu"}, {}));
    EXPECT_TRUE(satisfies({"cuda", "gpu", "zeta"}, {"cuda", "gpu"}));
    EXPECT_FALSE(satisfies({"cuda"}, {"cuda", "gpu"}));
    EXPECT_FALSE(satisfies({}, {"gpu"}));
    EXPECT_FALSE(satisfies({"GPU"}, {"gpu"}));
    EXPECT_FALSE(satisfies({"gpu2"}, {"gpu"}));
}

TEST(Capabilities, what_is_missing_is_sorted_and_comma_joined) {
    EXPECT_EQ(missing_capabilities({"b"}, {"a", "b", "c"}), "a,c");
    EXPECT_EQ(missing_capabilities({"a", "b", "c"}, {"b"}), "");
    EXPECT_EQ(missing_capabilities({}, {"gpu"}), "gpu");
}

TEST(Capabilities, nothing_is_missing_exactly_when_satisfied) {
    EXPECT_TRUE(rc::check([] {
        const auto tokens = [] {
            auto list =
                *rc::gen::container<Tokens>(rc::gen::element<std::string>("a", "b", "c", "d", "e"));
            return normalise_capabilities(std::move(list), CapabilitySide::worker).value();
        };
        const Tokens offered = tokens();
        const Tokens required = tokens();
        RC_ASSERT(satisfies(offered, required) == missing_capabilities(offered, required).empty());
    }));
}

// --------------------------------------------------------------------------------------- backoff

TEST(Backoff, defaults_double_from_a_second_to_a_minute) {
    const Backoff backoff;
    const DurationMs expected[] = {1000, 2000, 4000, 8000, 16'000, 32'000, 60'000, 60'000};
    for (std::uint32_t n = 0; n < std::size(expected); ++n) {
        EXPECT_EQ(backoff_delay(backoff, n), expected[n]) << n;
    }
}

TEST(Backoff, fixed_is_the_same_each_time_and_unknown_is_a_second) {
    Backoff backoff;
    backoff.type = Backoff::Type::fixed;
    backoff.delay_ms = 250;
    EXPECT_EQ(backoff_delay(backoff, 0), 250);
    EXPECT_EQ(backoff_delay(backoff, 4'000'000'000), 250);
    backoff.type = Backoff::Type::unknown;
    EXPECT_EQ(backoff_delay(backoff, 3), 1000);
}

TEST(Backoff, fractions_are_floored) {
    Backoff backoff;
    backoff.initial_delay_ms = 3;
    backoff.multiplier = 1.5;
    EXPECT_EQ(backoff_delay(backoff, 1), 4);
    EXPECT_EQ(backoff_delay(backoff, 2), 6);
}

TEST(Backoff, overflow_is_the_maximum) {
    Backoff backoff;
    for (const std::uint32_t n : {63U, 64U, 1024U, 10'000U, 4'294'967'295U}) {
        EXPECT_EQ(backoff_delay(backoff, n), 60'000) << n;
    }
    backoff.multiplier = static_cast<double>(std::int64_t{1} << 53);
    EXPECT_EQ(backoff_delay(backoff, 4'294'967'295U), 60'000);
}

TEST(Backoff, nothing_grows_from_nothing_and_a_factor_of_one_stands_still) {
    Backoff backoff;
    backoff.initial_delay_ms = 0;
    EXPECT_EQ(backoff_delay(backoff, 0), 0);
    EXPECT_EQ(backoff_delay(backoff, 4'000'000'000), 0);
    backoff.initial_delay_ms = 700;
    backoff.multiplier = 1.0;
    EXPECT_EQ(backoff_delay(backoff, 4'000'000'000), 700);
}

TEST(Backoff, never_shrinks_and_never_passes_the_maximum) {
    EXPECT_TRUE(rc::check([] {
        Backoff backoff;
        backoff.max_delay_ms = *rc::gen::inRange<DurationMs>(0, days_30 + 1);
        backoff.initial_delay_ms = *rc::gen::inRange<DurationMs>(0, backoff.max_delay_ms + 1);
        backoff.multiplier = 1.0 + *rc::gen::inRange(0, 1000) / 100.0;
        DurationMs last = 0;
        for (std::uint32_t n = 0; n < 200; ++n) {
            const DurationMs delay = backoff_delay(backoff, n);
            RC_ASSERT(delay >= last);
            RC_ASSERT(delay <= backoff.max_delay_ms);
            last = delay;
        }
        RC_ASSERT(backoff_delay(backoff, 0) == backoff.initial_delay_ms);
    }));
}

// ------------------------------------------------------------------------------------ contracts

TEST(Operations, each_has_its_own_name) {
    std::multiset<std::string_view> names;
    Request::for_each_type([&]<class Op>(std::type_identity<Op>) {
        names.insert(operation_name(Request(std::in_place_type<Op>)));
    });
    for (const std::string_view name : names) {
        EXPECT_EQ(names.count(name), 1U) << name;
    }
    EXPECT_EQ(operation_name(CreateExecution{}), "create_execution");
    EXPECT_EQ(operation_name(ReadCapabilities{}), "capabilities");
}

TEST(Grant, partition_key_is_the_tag_of_the_execution) {
    Grant grant;
    grant.execution_id.partition = 181;
    EXPECT_EQ(grant.partition_key(), "{fp:181}");
}

}  // namespace
}  // namespace ff
