// Random flows with random ends on the memory store, a SQLite file and PostgreSQL: the same
// answers, the same rows, and after every step the invariants of spec 03 section 20, as the repair
// pass checks them. The durable stores are closed and opened again in between.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "engine/conformance.h"
#include "support/postgres.h"

namespace ff::engine::test {
namespace {

struct Player {
    std::string name;
    std::string store;
    std::shared_ptr<ManualClock> clock;
    std::shared_ptr<IdSource> ids;
    std::shared_ptr<Engine> engine;
    std::vector<ClaimedTask> tasks;
    std::vector<FlowId> flows;
    std::vector<ExecutionId> members;

    void open() {
        EngineOptions options;
        options.clock = clock;
        options.ids = ids;
        options.flow_partitions = 1;  // ids are compared
        options.background = false;   // what is due is done when the game says so
        auto opened = Engine::open(store, options);
        ASSERT_TRUE(opened) << opened.error().message();
        engine = *opened;
    }
};

class FlowGame {
  public:
    FlowGame(std::uint64_t seed, const TempDir& folder) : random_(seed) {
        add("memory", "memory:", seed);
        add("sqlite", "sqlite:" + folder.file("store.db"), seed);
        if (!support::postgres_address().empty()) {
            add("postgres", support::postgres_store(folder.file("store")), seed);
        }
    }

    std::string move() {
        const std::uint64_t what = random_.uniform(23);
        const std::uint64_t which = random_.uniform(1'000'000);
        const std::uint64_t more = random_.uniform(1'000'000);
        std::vector<std::string> answers;
        for (Player& player : players_) {
            answers.push_back(act(player, what, which, more));
        }
        return compare(answers, "answer to move " + std::to_string(what));
    }
    std::string compare_rows() {
        std::vector<std::string> dumps;
        for (Player& player : players_) {
            dumps.push_back(dump_of(*player.engine));
        }
        return compare(dumps, "rows");
    }
    /// What the repair passes find wrong, which is nothing.
    std::string findings() {
        std::string out;
        for (Player& player : players_) {
            const auto result = player.engine->run(RunScanner{"flow_projector"});
            if (!result) {
                return result.error().message();
            }
            for (const std::string& finding : result->findings) {
                out += player.name + ": " + finding + "\n";
            }
        }
        return out;
    }
    void reopen() {
        for (Player& player : players_) {
            if (player.name != "memory") {
                player.engine.reset();
                player.open();
            }
        }
    }

  private:
    void add(const std::string& name, const std::string& store, std::uint64_t seed) {
        Player player;
        player.name = name;
        player.store = store;
        player.clock = std::make_shared<ManualClock>(t0);
        player.ids = std::make_shared<SeededIdSource>(seed);
        player.open();
        players_.push_back(std::move(player));
    }
    std::string compare(const std::vector<std::string>& texts, const std::string& what) {
        for (std::size_t i = 1; i < texts.size(); ++i) {
            if (texts[i] != texts[0]) {
                return what + "\n" + players_[0].name + ":\n" + texts[0] + "\n" + players_[i].name +
                       ":\n" + texts[i];
            }
        }
        return "";
    }
    template <class Op>
    static std::string code(Player& player, Op op) {
        return std::string(Op::name) + " " + code_of(player.engine->run(std::move(op)));
    }

    static FlowNode make_node(const std::string& name, std::uint64_t dice) {
        FlowNode node;
        node.name = name;
        node.execution = job("default");
        if (dice % 5 == 0) {
            node.execution.policy =
                R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":300}}})";
        }
        if (dice % 7 == 0) {
            node.execution.tags = {{"app.n", name}};
        }
        switch (dice % 6) {
            case 0: node.policy = GroupPolicy::any_of(); break;
            case 1: node.policy = GroupPolicy::any_of(OnSatisfied::cancel_remaining); break;
            default: break;
        }
        return node;
    }

    static std::string submit(Player& player, std::uint64_t which, std::uint64_t more) {
        SeededIdSource dice(which);
        SubmitFlow op;
        op.flow_kind = "dag";
        op.ns = "acme";
        op.seal = more % 3 != 0;
        op.settings.max_active_members = static_cast<std::uint32_t>(more % 5 == 0 ? 2 : 0);
        if (more % 4 == 0) {
            op.settings.on_member_failure = OnMemberFailure::cancel_rest;
        }
        if (more % 7 == 0) {
            op.settings.deadline_at = player.clock->now() + 5'000;
        }
        const std::uint64_t nodes = 1 + dice.uniform(7);
        for (std::uint64_t i = 0; i < nodes; ++i) {
            op.nodes.push_back(make_node("n" + std::to_string(i), dice.uniform(1'000)));
            for (std::uint64_t from = 0; from < i; ++from) {
                if (dice.uniform(2) != 0) {
                    continue;
                }
                FlowEdge edge;
                edge.from = "n" + std::to_string(from);
                edge.to = "n" + std::to_string(i);
                const std::uint64_t kind = dice.uniform(9);
                if (kind == 0) {
                    edge.dependency_kind = DependencyKind::on_failure;
                } else if (kind == 1) {
                    edge.dependency_kind = DependencyKind::always;
                } else if (kind == 2) {
                    edge.when = "$.ok";
                } else if (kind == 3) {
                    edge.data_passing_ref = "result";
                }
                op.edges.push_back(std::move(edge));
            }
        }
        const auto done = player.engine->run(std::move(op));
        if (!done) {
            return code_of(done);
        }
        player.flows.push_back(done->flow_id);
        std::string out = done->flow_id.to_string();
        for (const auto& [name, id] : done->nodes) {
            player.members.push_back(id);
            out += " " + id.to_string();
        }
        return out;
    }

    static std::string claim(Player& player, std::uint64_t more) {
        Claim op = claim_by("w1");
        op.max_tasks = static_cast<std::uint32_t>(1 + more % 3);
        op.lease_ttl_ms = 1'000 + static_cast<DurationMs>(more % 4'000);
        auto done = player.engine->run(std::move(op));
        if (!done) {
            return code_of(done);
        }
        std::string out;
        for (ClaimedTask& task : done->tasks) {
            out += task.execution_id().to_string() + " " + task.input_payload + "\n";
            player.tasks.push_back(std::move(task));
        }
        return out;
    }

    static std::string spawn(Player& player, const Handle& handle, std::uint64_t more) {
        SpawnChildren op;
        op.lease = handle;
        const std::string name = "s" + std::to_string(more);
        op.nodes.push_back(make_node(name, more));
        FlowEdge back;
        back.from = name;
        op.edges.push_back(back);
        const auto done = player.engine->run(std::move(op));
        if (!done) {
            return code_of(done);
        }
        player.members.push_back(done->nodes.at(name));
        return done->nodes.at(name).to_string() + " " + std::to_string(done->new_graph_revision);
    }

    static std::string act(Player& player, std::uint64_t what, std::uint64_t which,
                           std::uint64_t more) {
        if (what <= 1 || player.flows.empty()) {
            return submit(player, which, more);
        }
        if (what <= 6 || player.tasks.empty()) {
            return claim(player, more);
        }
        // The newest mostly: what is over is refused everywhere alike.
        const auto pick = [&](const auto& list) {
            const std::size_t back = which % std::min<std::size_t>(list.size(), 8);
            return list[list.size() - 1 - back];
        };
        const Handle handle = pick(player.tasks).handle;
        const FlowId flow = pick(player.flows);
        const ExecutionId id = pick(player.members);
        switch (what) {
            case 7:
            case 8:
            case 9:
            case 10: {
                const char* result = more % 2 == 0 ? R"({"ok":true})" : R"({"ok":false})";
                return code(player, Complete{handle, result, {}, Source::lease_holder});
            }
            case 11:
            case 12: {
                const char* category = more % 2 == 0 ? "transient" : "permanent";
                return code(player, Fail{handle, "broke", category, Source::lease_holder});
            }
            case 13: return code(player, CancelExecution{LeaseRef(id), "enough", {}});
            case 14: return code(player, ReplayExecution{id});
            case 15: return code(player, RetryFlow{flow, {}, more % 2 == 0});
            case 16:
                return more % 4 != 0 ? code(player, Release{handle})
                                     : code(player, CancelFlow{flow, "stop"});
            case 17: return code(player, PauseFlow{flow});
            case 18: return code(player, ResumeFlow{flow});
            case 19: return code(player, SealFlow{flow});
            case 20: return spawn(player, handle, more);
            case 21: return code(player, WaitChildren{handle, Source::lease_holder});
            case 22: return code(player, SetFlowTags{flow, {{"app.n", std::to_string(more % 5)}}});
            default:
                player.clock->advance(static_cast<DurationMs>(more % 1'500));
                return code(player, RunScanner{"lease_expiry"});
        }
    }

    SeededIdSource random_;
    std::vector<Player> players_;
};

TEST(FlowDifferential, EveryStoreGivesTheSameAnswersAndRowsAndKeepsTheInvariants) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const TempDir folder;
        FlowGame game(seed, folder);
        for (int i = 0; i < 300; ++i) {
            ASSERT_EQ(game.move(), "") << "move " << i;
            if (i % 10 == 9) {
                ASSERT_EQ(game.findings(), "") << "after move " << i;
            }
            if (i % 60 == 59) {
                ASSERT_EQ(game.compare_rows(), "") << "after move " << i;
                game.reopen();
            }
        }
    }
}

}  // namespace
}  // namespace ff::engine::test
