// FlowBuilder: a graph of executions put together node by node, and handed in whole.
//
//   ff::FlowBuilder flow("report");
//   flow.node("fetch", ff::Submit("fetch", Job{"https://x"}).lane("web"));
//   flow.node("parse", ff::Submit("parse")).needs("fetch");
//   flow.node("alarm", ff::Submit("alarm")).on_failure_of("parse");
//   const auto made = client.submit(flow);
//   client.wait_flow(made.id(), 5min);
//
// A plain value; nothing happens before Client::submit or Task::spawn, which also report what was
// wrong with it. The engine would find the same: here it is found without asking.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <ff/clock.h>
#include <ff/flows.h>
#include <ff/submit.h>

namespace ff {

class FlowBuilder {
  public:
    /// One execution of the graph and the edges that lead to it. Several calls about the same
    /// upstream speak of one edge, except that each named input has an edge of its own.
    class Node {
      public:
        Node(std::string name, Submit submit)
            : name_(std::move(name)), submit_(std::move(submit)) {}

        /// Runs when that one has succeeded.
        Node& needs(const std::string& upstream);
        Node& needs(std::initializer_list<std::string> upstreams);
        Node& needs(const std::vector<std::string>& upstreams);
        /// Runs when that one has succeeded and `when` is true of its result, such as
        /// `$.score >= 0.8`; when it is false the edge is not taken.
        Node& needs_if(const std::string& upstream, std::string when);
        /// Runs when that one has failed, was cancelled or ran out of time.
        Node& on_failure_of(const std::string& upstream);
        Node& on_skip_of(const std::string& upstream);
        /// Runs when that one has ended, in whatever way.
        Node& after(const std::string& upstream);

        /// Needs that one, and gets its result as the input `name`; with a path only what it
        /// selects of it, such as `$.text`.
        Node& input(const std::string& name, const std::string& upstream,
                    const std::string& path = {});
        /// Needs that one, and gets its result as its payload.
        Node& payload_from(const std::string& upstream);

        /// Goes on as soon as one edge is satisfied, or `k` of them; all of them when neither is
        /// called. What still runs then is let run, or cancelled.
        Node& any_of(OnSatisfied then = OnSatisfied::let_run);
        Node& quorum(std::uint32_t k, OnSatisfied then = OnSatisfied::let_run);
        Node& policy(GroupPolicy policy);

        /// Of a graph that a task spawns: the task waits for it (see Task::wait_children).
        Node& joins();

        [[nodiscard]] const std::string& name() const { return name_; }

      private:
        friend class FlowBuilder;
        /// The edge from that one, made when there is none.
        FlowEdge& edge_from(const std::string& upstream);
        FlowEdge& unused_edge_from(const std::string& upstream);

        std::string name_;
        Submit submit_;
        GroupPolicy policy_;
        std::vector<FlowEdge> edges_;  ///< that lead here
        bool joins_ = false;
    };

    /// `kind` is a label, such as `pipeline`.
    explicit FlowBuilder(std::string kind = "flow") : kind_(std::move(kind)) {}

    /// Adds an execution under a name. The reference is good as long as the builder is.
    Node& node(std::string name, Submit submit);

    /// Its id, so that a producer can hand in the same flow again and get the first one.
    FlowBuilder& id(const FlowId& id);
    FlowBuilder& tag(std::string key, std::string value);
    /// What has not ended at this time of the store's clock is cancelled; or so long from now.
    FlowBuilder& deadline_at(TimestampMs at);
    FlowBuilder& deadline(std::chrono::milliseconds after);
    /// The first member that fails ends the flow: what has not ended is cancelled.
    FlowBuilder& fail_fast();
    /// How many members may run at once.
    FlowBuilder& max_active(std::uint32_t members);
    /// Members and edges may be added later; the flow does not end before it is sealed.
    FlowBuilder& keep_open();

    /// The operation this comes to. `invalid_input` of a name that is empty, used twice or not
    /// there, and of what Submit refuses; `self_referencing_edge`; `cycle_detected` with the names
    /// on the cycle; `flow_limit_exceeded`.
    [[nodiscard]] expected<SubmitFlow> build(Clock& clock, std::string ns) const;
    /// The same for a task that spawns it, whose lease is still to be filled in.
    [[nodiscard]] expected<SpawnChildren> children(Clock& clock, const std::string& ns) const;

  private:
    [[nodiscard]] expected<std::vector<FlowNode>> nodes(Clock& clock, const std::string& ns) const;
    [[nodiscard]] std::vector<FlowEdge> edges() const;
    [[nodiscard]] expected<void> check() const;
    [[nodiscard]] expected<void> check_node(const Node& node) const;

    std::string kind_;
    std::optional<FlowId> id_;
    FlowSettings settings_;
    std::optional<std::chrono::milliseconds> deadline_;
    Tags tags_;
    bool seal_ = true;
    std::deque<Node> nodes_;  ///< whose references stay good
};

}  // namespace ff
