// Tasks in flows: what upstreams hand over, and children that a running task adds.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "worker/rig.h"

namespace ff::worker::test {

class WorkerFlows : public WorkerTest {
  protected:
    FlowSnapshot wait_flow(const FlowId& id) {
        auto ended = client->try_wait_flow(id, 30s);
        EXPECT_TRUE(ended) << ended.error().message() << "\n" << lines->all();
        return ended ? *ended : FlowSnapshot{};
    }
};

TEST_F(WorkerFlows, UpstreamsHandOverWhatTheyMade) {
    Worker worker(engine, options());
    worker.on("number", [](Task& task) { return std::stoi(task.input()); });
    worker.on("sum", [](Task& task) {
        const Inputs inputs = task.inputs();
        EXPECT_EQ(inputs.size(), 2U);
        EXPECT_EQ(inputs.as<int>("left"), 40);
        EXPECT_EQ(inputs.as<std::string>("right"), "2");
        EXPECT_EQ(inputs.find("middle"), nullptr);
        EXPECT_FALSE(inputs.try_as<int>("middle"));
        int sum = 0;
        for (const int part : inputs.all_as<int>()) {
            sum += part;
        }
        return sum;
    });
    start(worker);
    FlowBuilder flow("sum");
    flow.node("a", Submit("number", "40"));
    flow.node("b", Submit("number", "2"));
    flow.node("sum", Submit("sum")).input("left", "a").input("right", "b");
    const auto made = client->submit(flow);
    EXPECT_EQ(wait_flow(made.id()).public_flow_state, FlowState::completed);
    EXPECT_EQ(wait(made.node("sum")).as<int>(), 42);
}

TEST_F(WorkerFlows, ATaskMapsAListAndGoesOnWithTheResults) {
    Worker worker(engine, options());
    worker.on("square", [](Task& task) {
        const int number = std::stoi(task.input());
        return number * number;
    });
    std::atomic<int> calls{0};
    worker.on("squares", [&](Task& task) -> Result {
        ++calls;
        if (!task.resumed()) {
            const std::vector<int> numbers{1, 2, 3};
            const auto ids = task.map("square", numbers, [](int number) {
                return Submit("square", std::to_string(number));
            });
            EXPECT_EQ(ids.size(), 3U);
            return task.wait_children();
        }
        const Inputs inputs = task.inputs();
        EXPECT_EQ(inputs.as<int>("square[1]"), 4);
        int sum = 0;
        for (const int part : inputs.all_as<int>()) {
            sum += part;
        }
        return task.complete(sum);
    });
    start(worker);
    FlowBuilder flow("map");
    flow.node("all", Submit("squares"));
    const auto made = client->submit(flow);
    EXPECT_EQ(wait_flow(made.id()).public_flow_state, FlowState::completed);
    EXPECT_EQ(wait(made.node("all")).as<int>(), 14);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(client->inspect_flow(made.id())->node_count, 4U);
}

TEST_F(WorkerFlows, ATaskSpawnsAGraph) {
    Worker worker(engine, options());
    worker.on("child", [](Task& task) { return task.input() + "!"; });
    worker.on("parent", [](Task& task) -> Result {
        if (task.resumed()) {
            return task.complete(task.inputs().as<std::string>("second"));
        }
        FlowBuilder graph;
        graph.node("first", Submit("child", "a"));
        graph.node("second", Submit("child", "b")).needs("first").payload_from("first").joins();
        const SpawnResult made = task.spawn(graph);
        EXPECT_EQ(made.nodes.size(), 2U);
        return task.wait_children();
    });
    start(worker);
    FlowBuilder flow("spawn");
    flow.node("parent", Submit("parent"));
    const auto made = client->submit(flow);
    EXPECT_EQ(wait_flow(made.id()).public_flow_state, FlowState::completed);
    EXPECT_EQ(wait(made.node("parent")).as<std::string>(), "a!!");
}

TEST_F(WorkerFlows, ASecondAttemptFindsTheChildrenOfTheFirst) {
    Worker worker(engine, options());
    worker.on("child", [] { return 1; });
    std::atomic<int> attempts{0};
    worker.on("parent", [&](Task& task) -> Result {
        if (task.resumed()) {
            return task.complete();
        }
        task.map("child", std::vector<int>{1, 2}, [](int) { return Submit("child"); });
        if (attempts++ == 0) {
            throw TaskFailure("transient", "lost my way after spawning");
        }
        return task.wait_children();
    });
    start(worker);
    FlowBuilder flow("spawn");
    Backoff at_once;
    at_once.type = Backoff::Type::fixed;
    at_once.delay_ms = 0;
    flow.node("parent", Submit("parent").retries(2).backoff(at_once));
    const auto made = client->submit(flow);
    EXPECT_EQ(wait_flow(made.id()).public_flow_state, FlowState::completed);
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(client->inspect_flow(made.id())->node_count, 3U) << "no child was made twice";
}

TEST_F(WorkerFlows, ATaskSubmitsAChildThatItDoesNotWaitFor) {
    Worker worker(engine, options());
    std::vector<ExecutionId> children;
    worker.on("parent", [&](Task& task) {
        children.push_back(task.submit_child("mail", Submit("child").lane("later")));
        children.push_back(task.submit_child("mail", Submit("child").lane("later")));
        return 1;
    });
    start(worker);
    FlowBuilder flow;
    flow.node("parent", Submit("parent"));
    const auto submitted = client->submit(flow);
    EXPECT_EQ(wait(submitted.node("parent")).as<int>(), 1);
    ASSERT_EQ(children.size(), 2U);
    EXPECT_EQ(children[0], children[1]) << "submitted again, it is found there";
    const auto child = client->inspect(children[0]);
    ASSERT_TRUE(child);
    EXPECT_EQ(child->info.flow_id, submitted.id());
    EXPECT_EQ(child->info.public_state, PublicState::waiting);
}

TEST_F(WorkerFlows, OnlyMembersOfAFlowCanSpawn) {
    Worker worker(engine, options());
    std::atomic<bool> asked{false};
    worker.on("k", [&](Task& task) {
        FlowBuilder graph;
        graph.node("a", Submit("k"));
        const auto refused = task.try_spawn(graph);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::execution_not_in_flow);
        const auto none = task.try_map("x", std::vector<int>{}, [](int) { return Submit("k"); });
        ASSERT_TRUE(none);
        EXPECT_TRUE(none->empty());
        graph.node("a", Submit("k"));
        EXPECT_EQ(task.try_spawn(graph).error().code, ErrorCode::invalid_input);
        asked = true;
    });
    start(worker);
    (void)wait(submit(Submit("k")));
    EXPECT_TRUE(asked);
}

}  // namespace ff::worker::test
