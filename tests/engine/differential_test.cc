// One history of commands, several engines: on the memory store, a SQLite file and PostgreSQL the
// same random commands get the same answers and leave the same rows and events.
//
// Ids and time are the same everywhere (seeded, moved by hand), so everything can be compared as
// text; only the handle's mark of its store differs.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "engine/conformance.h"
#include "support/postgres.h"

namespace ff::engine::test {
namespace {

/// One of the engines, with the tasks it has handed out.
struct Player {
    std::string name;
    std::shared_ptr<ManualClock> clock;
    std::shared_ptr<Engine> engine;
    std::vector<ClaimedTask> tasks;
    std::vector<ExecutionId> ids;
};

class Game {
  public:
    Game(std::uint64_t seed, const TempDir& folder) : random_(seed) {
        add("memory", "memory:", seed);
        add("sqlite", "sqlite:" + folder.file("store.db"), seed);
        if (!support::postgres_address().empty()) {
            add("postgres", support::postgres_store(folder.file("store")), seed);
        }
    }

    /// One command on all engines; what they answered differently, if anything.
    std::string move() {
        const std::uint64_t what = random_.uniform(19);
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

  private:
    void add(const std::string& name, const std::string& store, std::uint64_t seed) {
        Player player;
        player.name = name;
        player.clock = std::make_shared<ManualClock>(t0);
        EngineOptions options;
        options.clock = player.clock;
        options.ids = std::make_shared<SeededIdSource>(seed);
        options.background = false;  // what is due is done when the game says so
        options.lanes = {"a", "b"};
        auto engine = Engine::open(store, options);
        EXPECT_TRUE(engine) << engine.error().message();
        player.engine = *engine;
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

    static std::string create(Player& player, std::uint64_t which, std::uint64_t more) {
        CreateExecution op = job(which % 3 == 0 ? "a" : "b");
        op.execution_kind = which % 2 == 0 ? "x" : "y";
        op.priority = static_cast<std::int32_t>(more % 4) * 10;
        if (which % 5 == 0) {
            op.idempotency_key = "key" + std::to_string(more % 4);
        }
        if (which % 7 == 0) {
            op.delay_until = player.clock->now() + static_cast<TimestampMs>(more % 5'000);
        }
        if (which % 11 == 0) {
            op.execution_deadline_at = player.clock->now() + static_cast<TimestampMs>(more % 9'000);
        }
        if (which % 4 == 0) {
            op.tags = {{"app.team", std::to_string(more % 3)}};
        }
        if (more % 3 == 0) {
            op.policy =
                R"({"retry_policy":{"max_retries":2,"backoff":{"type":"fixed","delay_ms":700}}})";
        } else if (more % 7 == 0) {
            op.policy = R"({"routing_requirements":{"required_capabilities":["gpu"]}})";
        }
        auto done = player.engine->run(std::move(op));
        if (!done) {
            return code_of(done);
        }
        player.ids.push_back(done->execution_id);
        return done->execution_id.to_string() + (done->created ? " new " : " known ") +
               std::string(to_string(done->public_state));
    }

    static std::string claim(Player& player, std::uint64_t which, std::uint64_t more) {
        Claim op = claim_by("w" + std::to_string(which % 3), which % 2 == 0 ? "a" : "b");
        op.max_tasks = static_cast<std::uint32_t>(1 + more % 3);
        op.lease_ttl_ms = 1'000 + static_cast<DurationMs>(more % 4'000);
        if (which % 3 == 0) {
            op.capabilities = {"gpu"};
        }
        if (which % 5 == 0) {
            op.lanes = {"a", "b"};
        }
        auto done = player.engine->run(std::move(op));
        if (!done) {
            return code_of(done);
        }
        std::ostringstream out;
        for (ClaimedTask& task : done->tasks) {
            out << task.execution_id().to_string() << ' ' << task.handle.lease_epoch << ' '
                << task.handle.attempt_index << ' ' << task.lease_expires_at << ' '
                << to_string(task.attempt_type) << ' ' << task.priority << '\n';
            player.tasks.push_back(std::move(task));
        }
        return out.str();
    }

    static std::string act(Player& player, std::uint64_t what, std::uint64_t which,
                           std::uint64_t more) {
        if (what <= 4) {
            return create(player, which, more);
        }
        if (what <= 8) {
            return claim(player, which, more);
        }
        if (what == 9) {
            player.clock->advance(static_cast<DurationMs>(more % 2'500));
            return code(player, RunScanner{"lease_expiry"});
        }
        if (player.ids.empty() || player.tasks.empty()) {
            return "nothing to act on";
        }
        // Old tasks too: their fences must be refused everywhere alike.
        const Handle handle = player.tasks[which % player.tasks.size()].handle;
        const ExecutionId id = player.ids[which % player.ids.size()];
        switch (what) {
            case 10:
            case 11: return code(player, Complete{handle, "r", {}, Source::lease_holder});
            case 12: {
                const char* category = more % 2 == 0 ? "transient" : "permanent";
                return code(player, Fail{handle, "broke", category, Source::lease_holder});
            }
            case 13: return code(player, Renew{handle, 2'000});
            case 14: return code(player, CancelExecution{LeaseRef(id), "enough", {}});
            case 15: return code(player, Release{handle});
            case 16: return code(player, ChangePriority{id, static_cast<std::int32_t>(more % 99)});
            case 17: return code(player, ReplayExecution{id});
            case 18: return code(player, RevokeLease{id, {}, {}, "taken"});
            default:
                return code(player, SetExecutionTags{id, {{"app.n", std::to_string(more % 5)}}});
        }
    }

    SeededIdSource random_;
    std::vector<Player> players_;
};

TEST(EngineDifferential, EveryStoreGivesTheSameAnswersRowsAndEvents) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const TempDir folder;
        Game game(seed, folder);
        for (int i = 0; i < 250; ++i) {
            ASSERT_EQ(game.move(), "") << "move " << i;
            if (i % 50 == 49) {
                ASSERT_EQ(game.compare_rows(), "") << "after move " << i;
            }
        }
    }
}

}  // namespace
}  // namespace ff::engine::test
