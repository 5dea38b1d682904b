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
        FF_TRY_VOID(add(*bench, "claims_free", free_claims));
        FF_TRY_VOID(add(*bench, "claims_budget_quota", middle(with.claims), free_claims));
        FF_TRY_VOID(add(*bench, "completes_free", free_completes));
        FF_TRY_VOID(add(*bench, "completes_budget_quota", middle(with.completes), free_completes));
        FF_TRY_VOID(add(*bench, "cycles_16_free", free_cycles));
        return add(*bench, "cycles_16_budget_quota", middle(cycles_with), free_cycles);
    }

    /// Many on the same lane wait for one budget.
    expected<void> many_that_are_blocked() {
        const std::size_t blocked = options_.quick ? 500 : 10'000;
        const std::size_t count = options_.quick ? 500 : 5'000;
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "limits_blocked"));
        figures_.progress("claims with nobody blocked");
        FF_TRY_VOID(cycles(*bench, count));  // warm
        std::vector<double> before;
        std::vector<double> after;
        const int rounds = options_.quick ? 1 : 3;
        for (int round = 0; round < rounds; ++round) {
            FF_TRY(before.emplace_back(), cycles(*bench, count));
        }
        FF_TRY(const BudgetId budget, make_budget(*bench, 1));
        FF_TRY_VOID(bench->engine().run(ReportUsageAdmin{budget, {{"tokens", 1}}, ""}));
        for (std::size_t made = 0; made < blocked; made += bench_bulk) {
            std::vector<CreateExecution> ops(std::min(bench_bulk, blocked - made));
            for (CreateExecution& op : ops) {
                op.ns = "bench";
                op.lane_id = bench_lane;
                op.execution_kind = "blocked";
                op.input_payload = std::string(bench_payload_bytes, 'x');
                op.policy = R"({"budget_ids":[")" + budget.to_string() + R"("]})";
            }
            for (const auto& made_one : bench->engine().run_all(std::move(ops))) {
                if (!made_one) {
                    return std::unexpected(made_one.error());
                }
            }
        }
        std::vector<Handle> none;
        FF_TRY(const bool any, bench->claim(none, 1, 0));
        if (any) {
            return ff::fail(ErrorCode::internal, "a budget that is used up let one start");
        }
        figures_.progress("claims while many are blocked");
        for (int round = 0; round < rounds; ++round) {
            FF_TRY(after.emplace_back(), cycles(*bench, count));
        }
        const double free = quantile(before, 0.5);
        FF_TRY_VOID(add(*bench, "cycles_16_none_blocked", free));
        return add(*bench, "cycles_16_" + std::to_string(blocked) + "_blocked",
                   quantile(after, 0.5), free);
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
