#include "cli/flow_follow.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include <ff/clock.h>

#include "cli/flow_tree.h"
#include "cli/inspect_json.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace ff::cli {

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds wait_step{20};
/// A large graph is looked at less often: no more than a fifth of the time goes into looking.
constexpr int cost_factor = 4;
constexpr std::chrono::seconds faults_waited_out{60};

/// Draws over what it drew before.
class LiveTree {
  public:
    void draw(const FlowGraph& graph) {
        const View view{Terminal::output(), SystemClock().now()};
        constexpr std::size_t other_rows = 3;  // the bar, and room for the line below
        const std::size_t rows =
            view.terminal.rows > other_rows + 1 ? view.terminal.rows - other_rows : 2;
        const std::string text = flow_bar(graph, view) + flow_tree(graph, view, rows);
        std::string out = lines_ > 0 ? fmt::format("\x1b[{}A\r", lines_) : "";
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            out += text.substr(at, end - at) + "\x1b[K\n";
            at = end + 1;
        }
        print_out(out + "\x1b[J");
        lines_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    }

  private:
    std::size_t lines_ = 0;
};

class Follower {
  public:
    explicit Follower(const Session& session) : session_(session) {}

    void show(const FlowGraph& graph) {
        if (session_.view.terminal.interactive && !for_programs(session_.output)) {
            tree_.draw(graph);
            return;
        }
        const TimestampMs now = SystemClock().now();
        std::string out;
        for (const GraphNode& node : graph.nodes) {
            const auto before = seen_.find(node.execution_id);
            const GraphNode* known = before != seen_.end() ? &before->second : nullptr;
            if (session_.output == Output::jsonl) {
                const bool news = known == nullptr || *known != node;
                out += news ? document(Output::jsonl, as_json(node)) : "";
            } else if (session_.output == Output::text) {
                out += node_news(node, known, now);
            }
            seen_.insert_or_assign(node.execution_id, node);
        }
        print_out(out);
    }

  private:
    const Session& session_;
    LiveTree tree_;
    std::map<ExecutionId, GraphNode> seen_;
};

bool is_over(const FlowGraph& graph) {
    return graph.flow.public_flow_state != FlowState::open && graph.flow.live_members == 0;
}

/// False when it was interrupted.
bool pause_for(std::chrono::milliseconds pause) {
    const auto until = Steady::now() + pause;
    while (!InterruptGuard::interrupted() && Steady::now() < until) {
        std::this_thread::sleep_for(wait_step);
    }
    return !InterruptGuard::interrupted();
}

}  // namespace

expected<FlowGraph> follow_flow(const Session& session, const FlowId& id,
                                std::chrono::milliseconds every) {
    Follower follower(session);
    std::optional<FlowGraph> last;
    auto well_at = Steady::now();
    for (;;) {
        const auto began = Steady::now();
        auto graph = session.ask(ReadFlowGraph{id});
        const auto ended = Steady::now();
        if (graph) {
            well_at = ended;
            follower.show(*graph);
            last = std::move(*graph);
            if (is_over(*last)) {
                return std::move(*last);
            }
        } else if (info(graph.error().code).kind != ErrorKind::transport ||
                   ended - well_at > faults_waited_out) {
            return std::unexpected(graph.error());
        }
        const auto cost = std::chrono::duration_cast<std::chrono::milliseconds>(ended - began);
        if (!pause_for(std::max(every, cost * cost_factor))) {
            return last ? expected<FlowGraph>(std::move(*last))
                        : ff::fail(ErrorCode::shutting_down, "interrupted");
        }
    }
}

}  // namespace ff::cli
