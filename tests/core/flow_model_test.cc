// Every graph of up to four nodes, every policy, every order of ends: the state machine leaves its
// members as an independent model of a few lines says, and every invariant holds on the way.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/world.h"

namespace ff::testing {
namespace {

enum class Node : char {
    blocked = 'b',
    ready = 'r',
    done = 'd',
    failed = 'f',
    cancelled = 'c',
    skipped = 's'
};

bool is_live(Node node) { return node == Node::blocked || node == Node::ready; }

struct Shape {
    std::size_t nodes = 0;
    std::vector<std::pair<std::size_t, std::size_t>> edges;  ///< from < to
    std::vector<GroupPolicy> policies;
};

/// The whole of spec 03's cascade, on states instead of rows.
class Model {
  public:
    explicit Model(const Shape& shape) : shape_(&shape) {
        for (std::size_t i = 0; i < shape.nodes; ++i) {
            nodes_.push_back(inbound(i).empty() ? Node::ready : Node::blocked);
            fired_.push_back(inbound(i).empty());
        }
    }

    void end(std::size_t node, Node how) {
        nodes_[node] = how;
        std::deque<Step> steps{{Step::ended, node}};
        while (!steps.empty()) {
            const Step step = steps.front();
            steps.pop_front();
            if (step.kind == Step::ended) {
                spread(step.node, steps);
            } else if (step.kind == Step::siblings) {
                cancel_siblings(step.node, steps);
            } else if (is_live(nodes_[step.node])) {
                nodes_[step.node] = Node::cancelled;
                steps.push_back({Step::ended, step.node});
            }
        }
    }
    [[nodiscard]] Node at(std::size_t node) const { return nodes_[node]; }
    [[nodiscard]] std::string key() const {
        std::string out;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            out += static_cast<char>(nodes_[i]);
            out += fired_[i] ? '!' : '.';
        }
        return out;
    }

  private:
    struct Step {
        enum Kind { ended, siblings, cancel } kind;
        std::size_t node;
    };

    [[nodiscard]] std::vector<std::size_t> inbound(std::size_t node) const {
        std::vector<std::size_t> out;
        for (const auto& [from, to] : shape_->edges) {
            if (to == node) {
                out.push_back(from);
            }
        }
        return out;
    }
    void spread(std::size_t ended, std::deque<Step>& steps) {
        std::vector<Step> after;
        for (const auto& [from, to] : shape_->edges) {
            if (from != ended || fired_[to]) {
                continue;
            }
            const GroupPolicy& policy = shape_->policies[to];
            std::size_t good = 0;
            std::size_t bad = 0;
            const auto ups = inbound(to);
            for (const std::size_t up : ups) {
                good += nodes_[up] == Node::done ? 1 : 0;
                bad += !is_live(nodes_[up]) && nodes_[up] != Node::done && seen(up, ended) ? 1 : 0;
            }
            const std::size_t need = policy.kind == GroupPolicyKind::all_of   ? ups.size()
                                     : policy.kind == GroupPolicyKind::any_of ? 1
                                                                              : policy.k;
            const bool satisfied = good >= need;
            const bool impossible = bad > ups.size() - need;
            if (!satisfied && !impossible) {
                continue;
            }
            fired_[to] = true;
            if (satisfied && nodes_[to] == Node::blocked) {
                nodes_[to] = Node::ready;
            } else if (!satisfied && is_live(nodes_[to])) {
                nodes_[to] = Node::skipped;
                steps.push_back({Step::ended, to});
            }
            if (policy.on_satisfied == OnSatisfied::cancel_remaining) {
                after.push_back({Step::siblings, to});
            }
        }
        told_.insert(ended);
        steps.insert(steps.end(), after.begin(), after.end());
    }
    /// Has this end been passed on already, or is it being?
    [[nodiscard]] bool seen(std::size_t node, std::size_t now) const {
        return node == now || told_.contains(node);
    }
    void cancel_siblings(std::size_t child, std::deque<Step>& steps) {
        for (const std::size_t up : inbound(child)) {
            if (!is_live(nodes_[up])) {
                continue;
            }
            bool awaited = false;
            for (const auto& [from, to] : shape_->edges) {
                awaited = awaited || (from == up && to != child && !fired_[to]);
            }
            if (!awaited) {
                steps.push_back({Step::cancel, up});
            }
        }
    }

    const Shape* shape_;
    std::vector<Node> nodes_;
    std::vector<bool> fired_;
    std::set<std::size_t> told_;
};

/// The same graph in the state machine.
class Machine {
  public:
    explicit Machine(const Shape& shape) {
        SubmitFlow op;
        op.flow_kind = "dag";
        op.ns = "acme";
        for (std::size_t i = 0; i < shape.nodes; ++i) {
            FlowNode node;
            node.name = std::string(1, static_cast<char>('a' + i));
            node.execution.lane_id = "default";
            node.execution.execution_kind = "k";
            node.policy = shape.policies[i];
            op.nodes.push_back(std::move(node));
        }
        for (const auto& [from, to] : shape.edges) {
            FlowEdge edge;
            edge.from = std::string(1, static_cast<char>('a' + from));
            edge.to = std::string(1, static_cast<char>('a' + to));
            op.edges.push_back(std::move(edge));
        }
        const auto made = world_.run(std::move(op));
        EXPECT_TRUE(made) << made.error().message();
        for (const auto& [name, id] : made->nodes) {
            ids_.push_back(id);
        }
    }
    void end(std::size_t node, Node how) {
        const ExecutionId& id = ids_[node];
        if (how == Node::cancelled) {
            ASSERT_TRUE(world_.run(CancelExecution{LeaseRef(id), "no", "operator_override"}));
            return;
        }
        IssueGrantAndClaim claim;
        claim.execution_id = id;
        claim.lane_id = "default";
        claim.lease_duration_ms = 30'000;
        const auto lease = world_.run(claim);
        ASSERT_TRUE(lease) << lease.error().message();
        if (how == Node::done) {
            ASSERT_TRUE(world_.run(Complete{lease->handle, "r", {}, Source::lease_holder}));
        } else {
            ASSERT_TRUE(world_.run(Fail{lease->handle, "x", "permanent", Source::lease_holder}));
        }
    }
    [[nodiscard]] Node at(std::size_t node) const {
        const core::Execution& e = *world_.find(ids_[node]);
        switch (e.state.outcome) {
            case TerminalOutcome::success: return Node::done;
            case TerminalOutcome::failed: return Node::failed;
            case TerminalOutcome::cancelled: return Node::cancelled;
            case TerminalOutcome::skipped: return Node::skipped;
            default: break;
        }
        return e.state.eligibility == EligibilityState::blocked_by_dependencies ? Node::blocked
                                                                                : Node::ready;
    }
    [[nodiscard]] const std::vector<std::string>& violations() const { return world_.violations; }

    /// False when it is refused.
    bool retry(std::optional<std::size_t> from) {
        RetryFlow op{world_.records.flows.begin()->first};
        if (from) {
            op.from = ids_[*from];
        }
        return world_.run(op).has_value();
    }
    /// Ends whatever can run, until nothing can. Answers how many are left that have not ended.
    std::size_t end_all(Node how) {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t i = 0; i < ids_.size(); ++i) {
                if (at(i) == Node::ready) {
                    end(i, how);
                    moved = true;
                }
            }
        }
        std::size_t live = 0;
        for (std::size_t i = 0; i < ids_.size(); ++i) {
            live += is_live(at(i)) ? 1 : 0;
        }
        return live;
    }

  private:
    World world_;
    std::vector<ExecutionId> ids_;
};

std::string describe(const Shape& shape) {
    std::string out;
    for (const auto& [from, to] : shape.edges) {
        out += std::to_string(from) + "->" + std::to_string(to) + " ";
    }
    for (const GroupPolicy& policy : shape.policies) {
        out += std::string(to_string(policy.kind)) + std::to_string(policy.k) +
               (policy.on_satisfied == OnSatisfied::cancel_remaining ? "!" : "") + " ";
    }
    return out;
}

/// Walks all orders of ends. Two ways to the same state of the model go on as one.
struct Search {
    std::size_t states = 0;
    std::size_t moves = 0;
    std::size_t retries = 0;

    void run(const Shape& shape) {
        std::set<std::string> seen;
        walk(shape, Model(shape), Machine(shape), seen);
    }

  private:
    /// However a flow has ended and wherever a retry begins: what it runs again ends again.
    void check_retries(const Shape& shape, const Model& model, const Machine& machine) {
        for (std::size_t i = 0; i < shape.nodes; ++i) {
            if (is_live(model.at(i))) {
                return;
            }
        }
        for (std::size_t from = 0; from <= shape.nodes; ++from) {
            Machine again = machine;
            if (!again.retry(from == shape.nodes ? std::nullopt : std::optional(from))) {
                continue;
            }
            for (const Node how : {Node::done, Node::failed}) {
                Machine acted = again;
                ++retries;
                ASSERT_EQ(acted.end_all(how), 0U)
                    << describe(shape) << "from " << model.key() << ": a retry from " << from
                    << ", then all end " << static_cast<char>(how);
                ASSERT_TRUE(acted.violations().empty())
                    << describe(shape) << "from " << model.key() << ": retried from " << from
                    << ": " << acted.violations().front();
            }
        }
    }
    void walk(const Shape& shape, const Model& model, const Machine& machine,
              std::set<std::string>& seen) {
        if (!seen.insert(model.key()).second || ::testing::Test::HasFatalFailure()) {
            return;
        }
        ++states;
        check_retries(shape, model, machine);
        for (std::size_t i = 0; i < shape.nodes; ++i) {
            std::vector<Node> ends;
            if (model.at(i) == Node::ready) {
                ends = {Node::done, Node::failed};
            }
            if (is_live(model.at(i))) {
                ends.push_back(Node::cancelled);
            }
            for (const Node how : ends) {
                ++moves;
                Model next = model;
                Machine acted = machine;
                next.end(i, how);
                acted.end(i, how);
                for (std::size_t n = 0; n < shape.nodes; ++n) {
                    ASSERT_EQ(static_cast<char>(acted.at(n)), static_cast<char>(next.at(n)))
                        << describe(shape) << "from " << model.key() << ": node " << i << " ends "
                        << static_cast<char>(how) << ", node " << n;
                }
                ASSERT_TRUE(acted.violations().empty()) << describe(shape) << "from " << model.key()
                                                        << ": " << acted.violations().front();
                walk(shape, next, acted, seen);
            }
        }
    }
};

/// The policies worth telling apart for a node with so many upstreams.
std::vector<GroupPolicy> policies_for(std::size_t inbound) {
    std::vector<GroupPolicy> out{GroupPolicy::all_of()};
    if (inbound >= 2) {
        for (const OnSatisfied then : {OnSatisfied::let_run, OnSatisfied::cancel_remaining}) {
            out.push_back(GroupPolicy::any_of(then));
            out.push_back(GroupPolicy::quorum(2, then));
        }
    }
    return out;
}

void choose_policies(Shape& shape, std::size_t node, Search& search) {
    if (::testing::Test::HasFatalFailure()) {
        return;
    }
    if (node == shape.nodes) {
        search.run(shape);
        return;
    }
    std::size_t inbound = 0;
    for (const auto& [from, to] : shape.edges) {
        inbound += to == node ? 1 : 0;
    }
    for (const GroupPolicy& policy : policies_for(inbound)) {
        shape.policies.push_back(policy);
        choose_policies(shape, node + 1, search);
        shape.policies.pop_back();
    }
}

TEST(FlowModel, EveryGraphOfUpToFourNodesEndsAsTheModelSays) {
    Search search;
    std::size_t graphs = 0;
    for (std::size_t nodes = 1; nodes <= 4; ++nodes) {
        std::vector<std::pair<std::size_t, std::size_t>> pairs;
        for (std::size_t from = 0; from < nodes; ++from) {
            for (std::size_t to = from + 1; to < nodes; ++to) {
                pairs.emplace_back(from, to);
            }
        }
        for (std::size_t mask = 0; mask < (std::size_t{1} << pairs.size()); ++mask) {
            Shape shape;
            shape.nodes = nodes;
            std::set<std::size_t> joined;
            for (std::size_t i = 0; i < pairs.size(); ++i) {
                if ((mask >> i & 1U) != 0) {
                    shape.edges.push_back(pairs[i]);
                    joined.insert({pairs[i].first, pairs[i].second});
                }
            }
            if (nodes > 1 && joined.size() < nodes) {
                continue;  // a node by itself is a smaller graph
            }
            ++graphs;
            choose_policies(shape, 0, search);
            if (HasFatalFailure()) {
                return;
            }
        }
    }
    RecordProperty("graphs", static_cast<int>(graphs));
    RecordProperty("moves", static_cast<int>(search.moves));
    EXPECT_GT(graphs, 40U);
    EXPECT_GT(search.states, 5'000U);
    EXPECT_GT(search.retries, 5'000U);
}

}  // namespace
}  // namespace ff::testing
