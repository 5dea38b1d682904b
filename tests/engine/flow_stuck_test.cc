// Random flows with random ends, retried again and again: no flow has members of which none can
// ever run. Whatever is worked on comes to an end.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "engine/conformance.h"

namespace ff::engine::test {
namespace {

class RestlessFlows {
  public:
    explicit RestlessFlows(std::uint64_t seed)
        : dice_(seed), clock_(std::make_shared<ManualClock>(t0)) {
        EngineOptions options;
        options.clock = clock_;
        options.ids = std::make_shared<SeededIdSource>(seed);
        options.background = false;
        engine_ = *Engine::open("memory:", options);
    }

    void submit() {
        SubmitFlow op;
        op.flow_kind = "dag";
        op.ns = "acme";
        op.settings.max_active_members = static_cast<std::uint32_t>(roll(3));
        if (roll(5) == 0) {
            op.settings.on_member_failure = OnMemberFailure::cancel_rest;
        }
        const std::uint64_t nodes = 2 + roll(7);
        for (std::uint64_t i = 0; i < nodes; ++i) {
            FlowNode node;
            node.name = "n" + std::to_string(i);
            node.execution = job();
            for (std::uint64_t from = 0; from < i; ++from) {
                if (roll(2) == 0) {
                    op.edges.push_back(edge(from, i));
                }
            }
            node.policy = policy(
                static_cast<std::uint32_t>(std::ranges::count(op.edges, node.name, &FlowEdge::to)));
            op.nodes.push_back(std::move(node));
        }
        auto made = engine_->run(std::move(op));
        ASSERT_TRUE(made) << made.error().message();
        flows_.push_back(std::move(*made));
    }
    /// Ends what can be claimed, one way or another, until nothing can.
    void work() {
        for (;;) {
            Claim op = claim_by("w1");
            op.max_tasks = 4;
            const auto claimed = engine_->run(std::move(op));
            ASSERT_TRUE(claimed) << code_of(claimed);
            if (claimed->tasks.empty()) {
                return;
            }
            for (const ClaimedTask& task : claimed->tasks) {
                end(task);
            }
            cancel_some();
        }
    }
    void retry() {
        for (const SubmitFlowResult& flow : flows_) {
            RetryFlow op{flow.flow_id};
            op.include_skipped = roll(4) != 0;
            if (roll(3) == 0) {
                op.from = any_of(flow);
            }
            const auto done = engine_->run(op);
            ASSERT_TRUE(done || done.error().code == ErrorCode::invalid_input ||
                        done.error().code == ErrorCode::max_replays_exhausted)
                << done.error().message();
        }
    }
    /// Flows that have not ended, with their members.
    std::string stuck() {
        std::string out;
        for (const SubmitFlowResult& flow : flows_) {
            const auto seen = engine_->run(DescribeFlow{flow.flow_id});
            if (!seen || !*seen || (*seen)->live_members == 0) {
                continue;
            }
            out += "flow " + flow.flow_id.to_string() + ":";
            for (const auto& [name, id] : flow.nodes) {
                out += " " + name + " is " +
                       std::string(to_string(*engine_->run(ReadExecutionState{id})));
            }
            out += "\n";
        }
        const auto checked = engine_->run(RunScanner{"flow_projector"});
        for (const std::string& finding : checked->findings) {
            out += finding + "\n";
        }
        return out;
    }

  private:
    /// One of so many sides, from 0.
    std::uint64_t roll(std::uint64_t sides) { return dice_.uniform(sides - 1); }
    FlowEdge edge(std::uint64_t from, std::uint64_t to) {
        FlowEdge out;
        out.from = "n" + std::to_string(from);
        out.to = "n" + std::to_string(to);
        switch (roll(8)) {
            case 0: out.dependency_kind = DependencyKind::on_failure; break;
            case 1: out.dependency_kind = DependencyKind::always; break;
            case 2: out.dependency_kind = DependencyKind::on_skip; break;
            case 3: out.when = "$.ok"; break;
            case 4: out.when = "!$.ok"; break;
            default: break;
        }
        return out;
    }
    GroupPolicy policy(std::uint32_t inbound) {
        const auto then = roll(2) == 0 ? OnSatisfied::let_run : OnSatisfied::cancel_remaining;
        switch (inbound < 2 ? 9 : roll(4)) {
            case 0: return GroupPolicy::any_of(then);
            case 1: return GroupPolicy::quorum(1 + static_cast<std::uint32_t>(roll(inbound)), then);
            default: return {};
        }
    }
    const ExecutionId& any_of(const SubmitFlowResult& flow) {
        auto it = flow.nodes.begin();
        std::advance(it, static_cast<std::ptrdiff_t>(roll(flow.nodes.size())));
        return it->second;
    }
    void end(const ClaimedTask& task) {
        if (roll(3) == 0) {
            (void)engine_->run(Fail{task.handle, "broke", "permanent", Source::lease_holder});
        } else {
            const char* result = roll(2) == 0 ? R"({"ok":true})" : R"({"ok":false})";
            (void)engine_->run(Complete{task.handle, result, {}, Source::lease_holder});
        }
    }
    void cancel_some() {
        if (roll(6) == 0) {
            const auto& flow = flows_[roll(flows_.size())];
            (void)engine_->run(CancelExecution{LeaseRef(any_of(flow)), "no", "operator_override"});
        }
    }

    SeededIdSource dice_;
    std::shared_ptr<ManualClock> clock_;
    std::shared_ptr<Engine> engine_;
    std::vector<SubmitFlowResult> flows_;
};

TEST(FlowProperties, NoFlowIsStuck) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RestlessFlows flows(seed);
        for (int i = 0; i < 5; ++i) {
            flows.submit();
        }
        for (int round = 0; round < 6; ++round) {
            flows.work();
            ASSERT_EQ(flows.stuck(), "") << "round " << round;
            flows.retry();
        }
    }
}

}  // namespace
}  // namespace ff::engine::test
