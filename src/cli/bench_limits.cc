#include "cli/bench_limits.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cli/bench_engine.h"

namespace ff::cli {

namespace {

class LimitBench {
  public:
    LimitBench(const BenchOptions& options, std::string folder, Figures& figures)
        : options_(options), folder_(std::move(folder)), figures_(figures) {}

    expected<void> run() {
        FF_TRY_VOID(with_and_without());
        FF_TRY_VOID(many_that_are_blocked());
        FF_TRY_VOID(keys_in_turn());
        FF_TRY_VOID(many_keys());
        figures_.print_table("limits");
        return {};
    }

  private:
    expected<void> add(BenchEngine& bench, const std::string& name, double value,
                       std::optional<double> against = {}) {
        return bench.tell(figures_, "limits." + name, value, "per_second", against);
    }

    /// Claims a backlog in bulks, and then completes it; both a second.
    struct Speeds {
        std::vector<double> claims;
        std::vector<double> completes;
    };
    static expected<void> measure(BenchEngine& bench, std::size_t count, Speeds& out) {
        FF_TRY_VOID(bench.create_many(count));
        std::vector<Handle> handles;
        auto begun = SteadyClock::now();
        while (handles.size() < count) {
            FF_TRY(const bool any, bench.claim(handles, claim_size, 0));
            if (!any) {
                return ff::fail(ErrorCode::internal, "not everything was claimed");
            }
        }
        out.claims.push_back(static_cast<double>(count) * 1'000 / ms_since(begun));
        begun = SteadyClock::now();
        FF_TRY_VOID(bench.complete_many(handles));
        out.completes.push_back(static_cast<double>(count) * 1'000 / ms_since(begun));
        return {};
    }

    /// Claims and completes a backlog one execution at a time; cycles a second.
    static expected<double> cycles(BenchEngine& bench, std::size_t count) {
        FF_TRY_VOID(bench.create_many(count));
        const auto begun = SteadyClock::now();
        FF_TRY(const std::uint64_t done, bench.drain_by_callbacks(16));
        if (done != count) {
            return ff::fail(ErrorCode::internal, "not everything was claimed");
        }
        return static_cast<double>(count) * 1'000 / ms_since(begun);
    }

    static expected<BudgetId> make_budget(BenchEngine& bench, std::uint64_t limit) {
        CreateBudget op;
        op.budget_id = BudgetId{new_uuid()};
        op.dimensions = {"tokens"};
        op.hard_limits = {limit};
        op.soft_limits = {0};
        FF_TRY_VOID(bench.engine().run(op));
        return op.budget_id;
    }

    /// The same work in turns, with and without a budget and a quota on its lane.
    expected<void> with_and_without() {
        figures_.progress("claims with and without a budget and a quota");
        const std::size_t count = options_.quick ? 500 : 5'000;
        const int rounds = options_.quick ? 2 : 6;
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "limits_cost"));
        FF_TRY_VOID(bench->create_many(1));  // the lane must be there
        FF_TRY(const BudgetId budget, make_budget(*bench, 1'000'000));
        CreateQuotaPolicy quota;
        quota.quota_policy_id = QuotaPolicyId{new_uuid()};
        quota.limits = {60, 100'000'000, 1'000'000, 0};
        FF_TRY_VOID(bench->engine().run(quota));
        FF_TRY(const std::uint64_t one, bench->drain_by_callbacks(1));
        if (one != 1) {
            return ff::fail(ErrorCode::internal, "nothing to claim");
        }
        Speeds without;
        Speeds with;
        std::vector<double> cycles_without;
        std::vector<double> cycles_with;
        for (int round = 0; round < rounds; ++round) {
            FF_TRY_VOID(measure(*bench, count, without));
            FF_TRY(cycles_without.emplace_back(), cycles(*bench, count));
            const LimitTarget lane = LimitTarget::lane;
            FF_TRY_VOID(bench->engine().run(AttachBudget{budget, lane, bench_lane}));
            FF_TRY_VOID(bench->engine().run(AttachQuota{quota.quota_policy_id, lane, bench_lane}));
            FF_TRY_VOID(measure(*bench, count, with));
            FF_TRY(cycles_with.emplace_back(), cycles(*bench, count));
            FF_TRY_VOID(bench->engine().run(DetachBudget{budget, lane, bench_lane}));
            FF_TRY_VOID(bench->engine().run(DetachQuota{quota.quota_policy_id, lane, bench_lane}));
        }
        const auto middle = [](std::vector<double>& values) { return quantile(values, 0.5); };
        const double free_claims = middle(without.claims);
        const double free_completes = middle(without.completes);
        const double free_cycles = middle(cycles_without);
        FF_TRY_VOID(add(*bench, "claim_free", free_claims));
        FF_TRY_VOID(add(*bench, "claim", middle(with.claims), free_claims));
        FF_TRY_VOID(add(*bench, "complete_free", free_completes));
        FF_TRY_VOID(add(*bench, "complete", middle(with.completes), free_completes));
        FF_TRY_VOID(add(*bench, "cycles_16_free", free_cycles));
        return add(*bench, "cycles_16_budget_quota", middle(cycles_with), free_cycles);
    }

    /// Cycles of work that is free, before and while many others on the same lane are held back.
    template <class HoldBack>
    expected<void> cycles_beside(BenchEngine& bench, const std::string& name, std::size_t many,
                                 const HoldBack& hold_back) {
        const std::size_t count = options_.quick ? 500 : 5'000;
        const auto measured = [&]() -> expected<double> {
            std::vector<double> speeds;
            for (int round = 0; round < (options_.quick ? 1 : 3); ++round) {
                FF_TRY(speeds.emplace_back(), cycles(bench, count));
            }
            return quantile(speeds, 0.5);
        };
        figures_.progress("claims beside none " + name);
        FF_TRY_VOID(cycles(bench, count));  // warm
        FF_TRY(const double free, measured());
        FF_TRY_VOID(hold_back());
        figures_.progress("claims beside many " + name);
        FF_TRY(const double beside, measured());
        FF_TRY_VOID(add(bench, "cycles_16_none_" + name, free));
        return add(bench, "cycles_16_" + std::to_string(many) + "_" + name, beside, free);
    }

    /// Many on the same lane wait for one budget.
    expected<void> many_that_are_blocked() {
        const std::size_t blocked = options_.quick ? 500 : 10'000;
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "limits_blocked"));
        return cycles_beside(*bench, "blocked", blocked, [&]() -> expected<void> {
            FF_TRY(const BudgetId budget, make_budget(*bench, 1));
            FF_TRY_VOID(bench->engine().run(ReportUsageAdmin{budget, {{"tokens", 1}}, ""}));
            FF_TRY_VOID(create_with(*bench, bench_lane, blocked, [&](std::size_t) {
                return R"({"budget_ids":[")" + budget.to_string() + R"("]})";
            }));
            std::vector<Handle> none;
            FF_TRY(const bool any, bench->claim(none, 1, 0));
            return any ? ff::fail(ErrorCode::internal, "a budget that is used up let one start")
                       : expected<void>();
        });
    }

    /// As many with policies of their own.
    template <class PolicyOf>
    static expected<void> create_with(BenchEngine& bench, const std::string& lane,
                                      std::size_t count, const PolicyOf& policy_of) {
        for (std::size_t made = 0; made < count;) {
            std::vector<CreateExecution> ops(std::min(bench_bulk, count - made));
            for (CreateExecution& op : ops) {
                op.ns = "bench";
                op.lane_id = lane;
                op.execution_kind = "limited";
                op.input_payload = std::string(bench_payload_bytes, 'x');
                op.policy = policy_of(made++);
            }
            for (const auto& made_one : bench.engine().run_all(std::move(ops))) {
                if (!made_one) {
                    return std::unexpected(made_one.error());
                }
            }
        }
        return {};
    }

    /// Claims and completes what a lane has, in bulks; both together, a second.
    static expected<double> drain(BenchEngine& bench, const std::string& lane, std::size_t count) {
        const auto begun = SteadyClock::now();
        for (std::size_t done = 0; done < count;) {
            Claim claim;
            claim.lanes = {lane};
            claim.worker_id = "bench";
            claim.worker_instance_id = "bench-1";
            claim.max_tasks = claim_size;
            claim.lease_ttl_ms = 60'000;
            FF_TRY(const ClaimResult given, bench.engine().run(claim));
            if (given.tasks.empty()) {
                return ff::fail(ErrorCode::internal, "not everything was claimed");
            }
            std::vector<Handle> handles;
            for (const ClaimedTask& task : given.tasks) {
                handles.push_back(task.handle);
            }
            done += handles.size();
            FF_TRY_VOID(bench.complete_many(handles));
        }
        return static_cast<double>(count) * 1'000 / ms_since(begun);
    }

    static std::string policy_of_key(std::size_t n) {
        return R"({"limit_key":"k)" + std::to_string(n) + R"("})";
    }

    /// What turns cost those who take them.
    expected<void> keys_in_turn() {
        const std::size_t count = options_.quick ? 500 : 5'000;
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "limits_turns"));
        figures_.progress("work with and without keys");
        std::vector<double> plain;
        std::vector<double> one_key;
        std::vector<double> ten_keys;
        const auto measured = [&](std::vector<double>& out,
                                  const auto& policy_of) -> expected<void> {
            FF_TRY_VOID(create_with(*bench, bench_lane, count, policy_of));
            FF_TRY(out.emplace_back(), drain(*bench, bench_lane, count));
            return {};
        };
        for (int round = 0; round < (options_.quick ? 1 : 3); ++round) {
            FF_TRY_VOID(measured(plain, [](std::size_t) { return "{}"; }));
            FF_TRY_VOID(measured(one_key, [](std::size_t) { return policy_of_key(0); }));
            FF_TRY_VOID(measured(ten_keys, [](std::size_t n) { return policy_of_key(n % 10); }));
        }
        const double unkeyed = quantile(plain, 0.5);
        FF_TRY_VOID(add(*bench, "drained_without_keys", unkeyed));
        FF_TRY_VOID(add(*bench, "drained_one_key", quantile(one_key, 0.5), unkeyed));
        return add(*bench, "drained_ten_keys", quantile(ten_keys, 0.5), unkeyed);
    }

    /// Many keys wait beside work without any, behind a quota that counts by key.
    expected<void> many_keys() {
        const std::size_t keys = options_.quick ? 500 : 10'000;
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "limits_keys"));
        return cycles_beside(*bench, "keys_wait", keys, [&]() -> expected<void> {
            CreateQuotaPolicy quota;
            quota.quota_policy_id = QuotaPolicyId{new_uuid()};
            quota.limits.max_concurrent = 1;
            quota.limits.per_key = true;
            FF_TRY_VOID(bench->engine().run(quota));
            FF_TRY_VOID(bench->engine().run(
                AttachQuota{quota.quota_policy_id, LimitTarget::lane, bench_lane}));
            // Of each key one runs, one waits for the quota, and one for its turn.
            FF_TRY_VOID(create_with(*bench, bench_lane, 3 * keys,
                                    [&](std::size_t n) { return policy_of_key(n % keys); }));
            std::vector<Handle> running;
            for (bool any = true; any;) {
                FF_TRY(any, bench->claim(running, claim_size, 0));
            }
            return running.size() == keys
                       ? expected<void>()
                       : ff::fail(ErrorCode::internal, "a key runs more than it may, or less");
        });
    }

    static constexpr std::uint32_t claim_size = 64;
    const BenchOptions& options_;
    std::string folder_;
    Figures& figures_;
};

}  // namespace

expected<void> bench_limits(const BenchOptions& options, const std::string& folder,
                            Figures& figures) {
    return LimitBench(options, folder, figures).run();
}

}  // namespace ff::cli
