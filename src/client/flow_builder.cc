#include <ff/flow_builder.h>

#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <utility>

#include <ff/json.h>

namespace ff {

namespace {

// The limits of spec 03 section 3.19.
constexpr std::size_t members_max = 10'000;
constexpr std::size_t edges_max = 50'000;
constexpr std::size_t inbound_max = 1'024;

std::string quoted(const std::string& name) { return "`" + name + "`"; }

std::unexpected<Error> at_node(const std::string& name, Error error) {
    error.detail = "node " + quoted(name) + ": " + error.detail;
    return std::unexpected(std::move(error));
}

std::unexpected<Error> at_node(const std::string& name, ErrorCode code, std::string detail) {
    return at_node(name, Error{code, std::move(detail), {}});
}

/// Looks for a way round. Depth first, without recursion: graphs may be long chains.
class CycleSearch {
  public:
    explicit CycleSearch(std::vector<std::vector<std::size_t>> upstreams)
        : upstreams_(std::move(upstreams)), marks_(upstreams_.size(), Mark::unseen) {}

    /// The nodes of a cycle in the order of its edges; none when there is none.
    std::vector<std::size_t> find() {
        for (std::size_t i = 0; i < upstreams_.size(); ++i) {
            if (marks_[i] == Mark::unseen && walk(i)) {
                return cycle_;
            }
        }
        return {};
    }

  private:
    enum class Mark : std::uint8_t { unseen, on_path, done };

    bool walk(std::size_t start) {
        path_ = {{start, 0}};
        marks_[start] = Mark::on_path;
        while (!path_.empty()) {
            auto& [node, next] = path_.back();
            if (next == upstreams_[node].size()) {
                marks_[node] = Mark::done;
                path_.pop_back();
                continue;
            }
            const std::size_t upstream = upstreams_[node][next++];
            if (marks_[upstream] == Mark::on_path) {
                keep_cycle(upstream);
                return true;
            }
            if (marks_[upstream] == Mark::unseen) {
                marks_[upstream] = Mark::on_path;
                path_.emplace_back(upstream, 0);
            }
        }
        return false;
    }

    /// The path leads from a node to what it needs; edges lead the other way.
    void keep_cycle(std::size_t from) {
        cycle_ = {from};
        for (const auto& step : std::views::reverse(path_)) {
            cycle_.push_back(step.first);
            if (step.first == from) {
                break;
            }
        }
    }

    const std::vector<std::vector<std::size_t>> upstreams_;
    std::vector<Mark> marks_;
    std::vector<std::pair<std::size_t, std::size_t>> path_;  ///< node, next of its upstreams
    std::vector<std::size_t> cycle_;
};

}  // namespace

// ----------------------------------------------------------------------------------------- nodes

FlowEdge& FlowBuilder::Node::edge_from(const std::string& upstream) {
    const auto known = std::ranges::find(edges_, upstream, &FlowEdge::from);
    if (known != edges_.end()) {
        return *known;
    }
    return edges_.emplace_back(FlowEdge{upstream, name_, DependencyKind::success_only, {}, {}});
}

FlowEdge& FlowBuilder::Node::unused_edge_from(const std::string& upstream) {
    FlowEdge& known = edge_from(upstream);
    if (known.data_passing_ref.empty()) {
        return known;
    }
    FlowEdge another = known;
    another.data_passing_ref.clear();
    return edges_.emplace_back(std::move(another));
}

FlowBuilder::Node& FlowBuilder::Node::needs(const std::string& upstream) {
    edge_from(upstream);
    return *this;
}

FlowBuilder::Node& FlowBuilder::Node::needs(std::initializer_list<std::string> upstreams) {
    return needs(std::vector<std::string>(upstreams));
}

FlowBuilder::Node& FlowBuilder::Node::needs(const std::vector<std::string>& upstreams) {
    for (const std::string& upstream : upstreams) {
        edge_from(upstream);
    }
    return *this;
}

FlowBuilder::Node& FlowBuilder::Node::needs_if(const std::string& upstream, std::string when) {
    edge_from(upstream).when = std::move(when);
    return *this;
}

FlowBuilder::Node& FlowBuilder::Node::on_failure_of(const std::string& upstream) {
    edge_from(upstream).dependency_kind = DependencyKind::on_failure;
    return *this;
}

FlowBuilder::Node& FlowBuilder::Node::on_skip_of(const std::string& upstream) {
    edge_from(upstream).dependency_kind = DependencyKind::on_skip;
    return *this;
}

FlowBuilder::Node& FlowBuilder::Node::after(const std::string& upstream) {
    edge_from(upstream).dependency_kind = DependencyKind::always;
    return *this;
}

FlowBuilder::Node& FlowBuilder::Node::input(const std::string& name, const std::string& upstream,
                                            const std::string& path) {
    json reference{{"as", name}};
    if (!path.empty()) {
        reference.set("path", path);
    }
    unused_edge_from(upstream).data_passing_ref = js::dump(reference);
    return *this;
}

FlowBuilder::Node& FlowBuilder::Node::payload_from(const std::string& upstream) {
    unused_edge_from(upstream).data_passing_ref = "result";
    return *this;
}

FlowBuilder::Node& FlowBuilder::Node::any_of(OnSatisfied then) {
    return policy(GroupPolicy::any_of(then));
}

FlowBuilder::Node& FlowBuilder::Node::quorum(std::uint32_t k, OnSatisfied then) {
    return policy(GroupPolicy::quorum(k, then));
}

FlowBuilder::Node& FlowBuilder::Node::policy(GroupPolicy policy) {
    policy_ = policy;
    return *this;
}

FlowBuilder::Node& FlowBuilder::Node::joins() {
    joins_ = true;
    return *this;
}

// --------------------------------------------------------------------------------------- the flow

FlowBuilder::Node& FlowBuilder::node(std::string name, Submit submit) {
    return nodes_.emplace_back(std::move(name), std::move(submit));
}

FlowBuilder& FlowBuilder::id(const FlowId& id) {
    id_ = id;
    return *this;
}

FlowBuilder& FlowBuilder::tag(std::string key, std::string value) {
    tags_.insert_or_assign(std::move(key), std::move(value));
    return *this;
}

FlowBuilder& FlowBuilder::deadline_at(TimestampMs at) {
    settings_.deadline_at = at;
    deadline_.reset();
    return *this;
}

FlowBuilder& FlowBuilder::deadline(std::chrono::milliseconds after) {
    deadline_ = after;
    settings_.deadline_at.reset();
    return *this;
}

FlowBuilder& FlowBuilder::fail_fast() {
    settings_.on_member_failure = OnMemberFailure::cancel_rest;
    return *this;
}

FlowBuilder& FlowBuilder::max_active(std::uint32_t members) {
    settings_.max_active_members = members;
    return *this;
}

FlowBuilder& FlowBuilder::keep_open() {
    seal_ = false;
    return *this;
}

// ---------------------------------------------------------------------------------------- building

expected<void> FlowBuilder::check_node(const Node& node) const {
    if (node.edges_.size() > inbound_max) {
        return at_node(node.name_, ErrorCode::flow_limit_exceeded,
                       "at most " + std::to_string(inbound_max) + " edges may lead to one");
    }
    for (const FlowEdge& edge : node.edges_) {
        if (edge.from == node.name_) {
            return at_node(node.name_, ErrorCode::self_referencing_edge, "it needs itself");
        }
    }
    const GroupPolicy& policy = node.policy_;
    if (policy.kind == GroupPolicyKind::all_of) {
        return {};
    }
    const std::uint64_t wanted = policy.kind == GroupPolicyKind::quorum ? policy.k : 1;
    if (wanted < 1) {
        return at_node(node.name_, ErrorCode::invalid_input, "quorum k must be >= 1");
    }
    if (wanted > node.edges_.size()) {
        return at_node(node.name_, ErrorCode::invalid_input,
                       std::string(to_string(policy.kind)) + " wants " + std::to_string(wanted) +
                           " edge(s), it has " + std::to_string(node.edges_.size()));
    }
    return {};
}

expected<void> FlowBuilder::check() const {
    if (nodes_.empty()) {
        return ff::fail(ErrorCode::invalid_input, "nodes: at least one is required");
    }
    std::unordered_map<std::string, std::size_t> places;
    std::size_t edge_count = 0;
    for (const Node& node : nodes_) {
        if (node.name_.empty()) {
            return ff::fail(ErrorCode::invalid_input, "a node has no name");
        }
        if (!places.emplace(node.name_, places.size()).second) {
            return at_node(node.name_, ErrorCode::invalid_input, "the name is used twice");
        }
        edge_count += node.edges_.size();
    }
    if (nodes_.size() > members_max || edge_count > edges_max) {
        return ff::fail(ErrorCode::flow_limit_exceeded,
                        "a flow has at most " + std::to_string(members_max) + " members and " +
                            std::to_string(edges_max) + " edges (got " +
                            std::to_string(nodes_.size()) + " and " + std::to_string(edge_count) +
                            ")");
    }
    std::vector<std::vector<std::size_t>> upstreams;
    for (const Node& node : nodes_) {
        FF_TRY_VOID(check_node(node));
        auto& list = upstreams.emplace_back();
        for (const FlowEdge& edge : node.edges_) {
            const auto place = places.find(edge.from);
            if (place == places.end()) {
                return at_node(node.name_, ErrorCode::invalid_input,
                               "it needs " + quoted(edge.from) + ", and there is no such node");
            }
            list.push_back(place->second);
        }
    }
    const auto cycle = CycleSearch(std::move(upstreams)).find();
    if (!cycle.empty()) {
        std::string names;
        for (const std::size_t place : cycle) {
            names += (names.empty() ? "" : " -> ") + nodes_[place].name_;
        }
        return ff::fail(ErrorCode::cycle_detected, names);
    }
    return {};
}

expected<std::vector<FlowNode>> FlowBuilder::nodes(Clock& clock, const std::string& ns) const {
    FF_TRY_VOID(check());
    std::vector<FlowNode> out;
    out.reserve(nodes_.size());
    for (const Node& node : nodes_) {
        auto execution = node.submit_.build(clock);
        if (!execution) {
            return at_node(node.name_, std::move(execution).error());
        }
        if (node.submit_.uuid()) {
            return at_node(node.name_, ErrorCode::invalid_input,
                           "deterministic: give the flow an id instead (FlowBuilder::id)");
        }
        execution->ns = ns;
        out.push_back({node.name_, std::move(*execution), node.policy_});
    }
    return out;
}

std::vector<FlowEdge> FlowBuilder::edges() const {
    std::vector<FlowEdge> out;
    for (const Node& node : nodes_) {
        out.insert(out.end(), node.edges_.begin(), node.edges_.end());
        if (node.joins_) {
            out.push_back({node.name_, {}, DependencyKind::success_only, {}, {}});
        }
    }
    return out;
}

expected<SubmitFlow> FlowBuilder::build(Clock& clock, std::string ns) const {
    SubmitFlow op;
    FF_TRY(op.nodes, nodes(clock, ns));
    const auto joining = std::ranges::find_if(nodes_, &Node::joins_);
    if (joining != nodes_.end()) {
        return at_node(joining->name_, ErrorCode::invalid_input,
                       "joins: only what a task spawns has a task to join");
    }
    op.flow_id = id_;
    op.flow_kind = kind_;
    op.ns = std::move(ns);
    op.settings = settings_;
    if (deadline_) {
        op.settings.deadline_at = later(clock.now(), *deadline_);
    }
    op.tags = tags_;
    op.edges = edges();
    op.seal = seal_;
    return op;
}

expected<SpawnChildren> FlowBuilder::children(Clock& clock, const std::string& ns) const {
    SpawnChildren op;
    FF_TRY(op.nodes, nodes(clock, ns));
    op.edges = edges();
    return op;
}

}  // namespace ff
