#include "cli/bench_flows.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "cli/bench_engine.h"

namespace ff::cli {

namespace {

/// A graph under construction; nodes are numbered.
class Graph {
  public:
    Graph() {
        op_.flow_kind = "bench";
        op_.ns = "bench";
    }
    std::size_t node() {
        FlowNode node;
        node.name = name(op_.nodes.size());
        node.execution.ns = "bench";
        node.execution.lane_id = bench_lane;
        node.execution.execution_kind = "k0";
        node.execution.input_payload.assign(bench_payload_bytes, 'x');
        op_.nodes.push_back(std::move(node));
        return op_.nodes.size() - 1;
    }
    void edge(std::size_t from, std::size_t to) {
        FlowEdge edge;
        edge.from = name(from);
        edge.to = name(to);
        op_.edges.push_back(std::move(edge));
    }
    [[nodiscard]] const SubmitFlow& op() const { return op_; }

    static SubmitFlow chain(std::size_t length) {
        Graph graph;
        for (std::size_t i = 0; i < length; ++i) {
            graph.node();
            if (i > 0) {
                graph.edge(i - 1, i);
            }
        }
        return graph.op();
    }
    /// One node, many that wait for it, one that waits for these.
    static SubmitFlow fan(std::size_t width) {
        Graph graph;
        const std::size_t root = graph.node();
        std::vector<std::size_t> middle;
        for (std::size_t i = 0; i < width; ++i) {
            middle.push_back(graph.node());
            graph.edge(root, middle.back());
        }
        const std::size_t join = graph.node();
        for (const std::size_t node : middle) {
            graph.edge(node, join);
        }
        return graph.op();
    }
    /// Each node waits for the two before it.
    static SubmitFlow ladder(std::size_t nodes) {
        Graph graph;
        for (std::size_t i = 0; i < nodes; ++i) {
            graph.node();
            for (std::size_t back = 1; back <= 2 && back <= i; ++back) {
                graph.edge(i - back, i);
            }
        }
        return graph.op();
    }

  private:
    static std::string name(std::size_t number) { return "n" + std::to_string(number); }
    SubmitFlow op_;
};

class FlowBench {
  public:
    FlowBench(const BenchOptions& options, std::string folder, Figures& figures)
        : options_(options), folder_(std::move(folder)), figures_(figures) {}

    expected<void> run() {
        FF_TRY_VOID(run_through(Way::workers, ""));
        FF_TRY_VOID(run_through(Way::sets, "_batch"));
        FF_TRY_VOID(cancel());
        FF_TRY_VOID(submit_large());
        FF_TRY_VOID(skip_chain());
        figures_.print_table("flows");
        return {};
    }

  private:
    static constexpr std::size_t workers = 16;
    static constexpr std::size_t claim_size = 64;
    static constexpr std::size_t chain_length = 10;

    expected<std::unique_ptr<BenchEngine>> open(const std::string& name) {
        return BenchEngine::open(options_, folder_, name);
    }
    expected<void> add(BenchEngine& bench, const std::string& name, double value,
                       const std::string& unit, std::optional<double> against = {}) {
        return bench.tell(figures_, "flows." + name, value, unit, against);
    }

    /// Claims and completes in sets until so many have gone through.
    static expected<void> drain(BenchEngine& bench, std::size_t count) {
        std::size_t done = 0;
        while (done < count) {
            std::vector<Handle> handles;
            FF_TRY(const bool any, bench.claim(handles, claim_size, 0));
            if (!any) {
                return ff::fail(ErrorCode::internal, "nothing to claim though " +
                                                         std::to_string(count - done) +
                                                         " executions have not run");
            }
            FF_TRY_VOID(bench.complete_many(handles));
            done += handles.size();
        }
        return {};
    }
    static expected<void> submit(BenchEngine& bench, const std::vector<SubmitFlow>& flows) {
        for (std::size_t at = 0; at < flows.size(); at += 50) {
            std::vector<SubmitFlow> some(
                flows.begin() + static_cast<std::ptrdiff_t>(at),
                flows.begin() + static_cast<std::ptrdiff_t>(std::min(flows.size(), at + 50)));
            for (const auto& answer : bench.engine().run_all(std::move(some))) {
                FF_TRY_VOID(answer);
            }
        }
        return {};
    }

    /// How executions are taken through: by workers who take one at a time, as programs have them,
    /// or in sets as large as a command allows.
    enum class Way { workers, sets };

    /// Seconds from `begun` until so many have gone through.
    static expected<double> go_through(BenchEngine& bench, Way way, std::size_t count,
                                       SteadyClock::time_point begun) {
        if (way == Way::workers) {
            return bench.work_through(workers, count, begun);
        }
        FF_TRY_VOID(drain(bench, count));
        return seconds_since(begun);
    }

    /// Executions a second, from submission to the last end.
    expected<double> independent(Way way, std::size_t count) {
        FF_TRY(const auto bench, open("independent"));
        const auto begun = SteadyClock::now();
        FF_TRY_VOID(bench->fill_waiting(count));
        FF_TRY(const double seconds, go_through(*bench, way, count, begun));
        return static_cast<double>(count) / seconds;
    }
    expected<double> with_flows(Way way, const std::vector<SubmitFlow>& flows, std::size_t count) {
        FF_TRY(const auto bench, open("flows"));
        const auto begun = SteadyClock::now();
        FF_TRY_VOID(submit(*bench, flows));
        FF_TRY(const double seconds, go_through(*bench, way, count, begun));
        return static_cast<double>(count) / seconds;
    }

    expected<void> run_through(Way way, const std::string& tail) {
        const std::size_t chains = options_.quick ? 20 : 1'000;
        const std::size_t width = options_.quick ? 98 : 998;
        const std::size_t fans = options_.quick ? 2 : 10;
        const std::size_t count = chains * chain_length;
        const std::size_t fan_count = fans * (width + 2);
        std::vector<double> alone;
        std::vector<double> chained;
        std::vector<double> fanned;
        // Alternating, so that a slower moment of the machine hits all of them.
        for (int round = 0; round < 3; ++round) {
            figures_.progress("flows" + tail + ": independent, chains, fans, round " +
                              std::to_string(round + 1) + " of 3");
            FF_TRY(alone.emplace_back(), independent(way, count));
            FF_TRY(chained.emplace_back(),
                   with_flows(way, {chains, Graph::chain(chain_length)}, count));
            FF_TRY(fanned.emplace_back(), with_flows(way, {fans, Graph::fan(width)}, fan_count));
        }
        FF_TRY(const auto bench, open("tells"));
        const double rate = quantile(alone, 0.5);
        const double chain_rate = quantile(chained, 0.5);
        FF_TRY_VOID(add(*bench, "independent" + tail, rate, "executions/s"));
        FF_TRY_VOID(add(*bench, "chain10" + tail, chain_rate, "nodes/s", rate));
        FF_TRY_VOID(add(*bench, "chain10_flows" + tail,
                        chain_rate / static_cast<double>(chain_length), "flows/s"));
        return add(*bench, "fan" + std::to_string(width + 2) + tail, quantile(fanned, 0.5),
                   "nodes/s", rate);
    }

    expected<void> cancel() {
        const std::size_t members = options_.quick ? 100 : 1'000;
        figures_.progress("flows: cancelling one and " + std::to_string(members));
        FF_TRY(const auto bench, open("cancel"));
        std::vector<double> one;
        std::vector<double> all;
        for (int round = 0; round < 5; ++round) {
            CreateExecution op = Graph::chain(1).nodes[0].execution;
            FF_TRY(const auto made, bench->engine().run(std::move(op)));
            auto begun = SteadyClock::now();
            FF_TRY_VOID(bench->engine().run(
                CancelExecution{LeaseRef(made.execution_id), "bench", "operator_override"}));
            one.push_back(seconds_since(begun));
            FF_TRY(const auto flow, bench->engine().run(Graph::fan(members - 2)));
            begun = SteadyClock::now();
            FF_TRY_VOID(bench->engine().run(CancelFlow{flow.flow_id, "bench"}));
            all.push_back(seconds_since(begun));
        }
        FF_TRY_VOID(add(*bench, "cancel_one", quantile(one, 0.5) * 1e3, "ms"));
        return add(*bench, "cancel" + std::to_string(members), quantile(all, 0.5) * 1e3, "ms",
                   quantile(one, 0.5) * 1e3);
    }

    expected<void> submit_large() {
        const std::size_t nodes = options_.quick ? 1'000 : 10'000;
        figures_.progress("flows: one graph of " + std::to_string(nodes) + " nodes");
        FF_TRY(const auto bench, open("submit"));
        std::vector<double> plain;
        std::vector<double> graph;
        const SubmitFlow op = Graph::ladder(nodes);
        for (int round = 0; round < 3; ++round) {
            auto begun = SteadyClock::now();
            FF_TRY_VOID(bench->create_many(1'000));
            plain.push_back(seconds_since(begun));
            SubmitFlow copy = op;
            begun = SteadyClock::now();
            FF_TRY_VOID(bench->engine().run(std::move(copy)));
            graph.push_back(seconds_since(begun));
        }
        FF_TRY_VOID(add(*bench, "create_1000", quantile(plain, 0.5) * 1e3, "ms"));
        return add(*bench, "submit" + std::to_string(nodes / 1'000) + "k",
                   quantile(graph, 0.5) * 1e3, "ms", quantile(plain, 0.5) * 1e3);
    }

    /// The first node of a long chain is cancelled: everything behind it is skipped.
    expected<void> skip_chain() {
        const auto seconds_per_node = [&](std::size_t length) -> expected<double> {
            FF_TRY(const auto bench, open("skips"));
            FF_TRY(const auto flow, bench->engine().run(Graph::chain(length)));
            const auto begun = SteadyClock::now();
            FF_TRY_VOID(bench->engine().run(
                CancelExecution{LeaseRef(flow.nodes.at("n0")), "bench", "operator_override"}));
            for (;;) {
                FF_TRY(const auto seen, bench->engine().run(DescribeFlow{flow.flow_id}));
                if (seen && seen->finished_at) {
                    return seconds_since(begun) / static_cast<double>(length);
                }
            }
        };
        const std::size_t longest = options_.quick ? 1'000 : 10'000;
        figures_.progress("flows: a chain of " + std::to_string(longest) + " skips");
        FF_TRY(const double small, seconds_per_node(longest / 10));
        FF_TRY(const double large, seconds_per_node(longest));
        FF_TRY(const auto bench, open("tells"));
        FF_TRY_VOID(add(*bench, "skip_" + std::to_string(longest / 10), small * 1e6, "us/node"));
        return add(*bench, "skip_" + std::to_string(longest), large * 1e6, "us/node", small * 1e6);
    }

    const BenchOptions& options_;
    const std::string folder_;
    Figures& figures_;
};

}  // namespace

expected<void> bench_flows(const BenchOptions& options, const std::string& folder,
                           Figures& figures) {
    return FlowBench(options, folder, figures).run();
}

}  // namespace ff::cli
