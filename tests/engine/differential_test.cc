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
        const std::uint64_t what = random_.uniform(31);
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
            dumps.push_back(dump_of(*player.engine) + limits_of(player) + streams_of(player));
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
        options.flow_partitions = 1;  // ids are compared
        options.background = false;   // what is due is done when the game says so
        options.lanes = {"a", "b"};
        options.warn = [](std::string_view) {};  // budgets that are past a soft limit, often
        auto engine = Engine::open(store, options);
        EXPECT_TRUE(engine) << engine.error().message();
        player.engine = *engine;
        define_limits(player);
        players_.push_back(std::move(player));
    }

    static BudgetId budget(std::uint64_t n) { return {Uuid{{static_cast<std::uint8_t>(n % 2)}}}; }
    static QuotaPolicyId quota(std::uint64_t n) {
        return {Uuid{{static_cast<std::uint8_t>(8 + n % 3)}}};
    }
    static void define_limits(Player& player) {
        for (const std::uint64_t n : {0U, 1U}) {
            CreateBudget define;
            define.budget_id = budget(n);
            define.on_soft_limit = n == 0 ? "approve" : "warn";
            define.reset_interval_ms = n == 0 ? 0 : 9'000;
            define.dimensions = {"tokens"};
            define.hard_limits = {60};
            define.soft_limits = {30};
            EXPECT_TRUE(player.engine->run(define));
            EXPECT_TRUE(
                player.engine->run(CreateQuotaPolicy{quota(n), {7, n == 0 ? 0U : 5U, 2, 0}}));
        }
        EXPECT_TRUE(player.engine->run(CreateQuotaPolicy{quota(2), {7, 3, 1, 0, true}}));
    }
    /// Some jobs are limited, by one or two.
    static std::string limited(std::uint64_t which, std::uint64_t more) {
        std::string out = R"("budget_ids":[")" + budget(which).to_string() + R"("])";
        if (which % 2 == 0) {
            out += R"(,"budget_reserve":{"tokens":)" + std::to_string(more % 40) + "}";
        }
        if (which % 5 < 3) {
            out += R"(,"limit_key":"k)" + std::to_string(more / 2 % 3) + R"(")";
        }
        return which % 3 == 0
                   ? out
                   : out + R"(,"quota_policy_id":")" + quota(more / 4).to_string() + R"(")";
    }

    static std::string limits_of(Player& player) {
        std::ostringstream out;
        const auto write = [&](const char* name, const Amounts& amounts) {
            out << ' ' << name;
            for (const auto& [dimension, amount] : amounts) {
                out << ' ' << dimension << '=' << amount;
            }
        };
        const auto budgets = player.engine->run(ListBudgets{});
        for (const BudgetStatus& row : budgets->budgets) {
            out << "budget " << row.budget_id.to_string();
            write("used", row.usage);
            write("reserved", row.reserved);
            out << " breaches " << row.breach_count << ' ' << row.soft_breach_count << ' '
                << row.approved << ' ' << row.next_reset_at.value_or(0) << '\n';
            const auto ledger = player.engine->run(ListSpend{row.budget_id, {}, 1'000});
            for (const SpendEntry& spend : ledger->entries) {
                out << "  " << spend.execution_id.to_string() << ' ' << spend.reset_epoch;
                write("spent", spend.spent);
                out << '\n';
            }
        }
        const auto policies = player.engine->run(ListQuotaPolicies{});
        for (const QuotaPolicyInfo& row : policies->policies) {
            out << "quota " << row.quota_policy_id.to_string() << ' ' << row.running << ' '
                << row.in_window << ' ' << row.blocks << '\n';
            const auto keys = player.engine->run(ListQuotaKeys{row.quota_policy_id, {}, 1'000});
            for (const QuotaKeyInfo& key : keys->keys) {
                out << "  " << key.limit_key << ' ' << key.running << ' ' << key.in_window << ' '
                    << key.blocks << '\n';
            }
        }
        return out.str();
    }

    static std::string streams_of(Player& player) {
        std::ostringstream out;
        for (const ExecutionId& id : player.ids) {
            const auto page = player.engine->run(ReadStream{id});
            if (!page) {
                out << code_of(page) << '\n';
                continue;
            }
            for (const StreamFrame& frame : page->frames) {
                out << frame.id.to_string() << ' ' << frame.frame_type << ' ' << frame.payload
                    << '\n';
            }
            out << page->closed_at.value_or(0) << '\n';
        }
        return out.str();
    }

    static std::string append(Player& player, const Handle& handle, std::uint64_t more) {
        AppendFrames op;
        op.lease = handle;
        for (std::uint64_t i = 0; i <= more % 3; ++i) {
            Frame frame;
            frame.frame_type = "t" + std::to_string(more % 2);
            frame.payload = std::to_string(more + i);
            frame.mode = more % 5 == 0 ? FrameMode::best_effort : FrameMode::durable;
            if (more % 4 == 0) {
                frame.client_seq = more % 50 + i;
            }
            op.frames.push_back(std::move(frame));
        }
        const auto done = player.engine->run(std::move(op));
        std::string out = code_of(done);
        for (const AppendedFrame& frame : done ? done->appended : std::vector<AppendedFrame>()) {
            out += " " + frame.id.to_string() + (frame.duplicate ? "d" : "");
        }
        return out;
    }

    /// Moves of limits, and of streams.
    static std::string act_on_limits(Player& player, std::uint64_t what, const Handle& handle,
                                     const ExecutionId& id, std::uint64_t more) {
        const auto told = [&](auto op) {
            const auto done = player.engine->run(std::move(op));
            return code_of(done) + " " + (done ? std::string(to_string(done->outcome)) : "");
        };
        const Amounts amounts{{"tokens", more % 20}};
        switch (what) {
            case 20:
            case 21: {
                ReportUsage op;
                op.lease = handle;
                op.budget_id = budget(more);
                op.dimensions = amounts;
                op.settle = more % 3 == 0;
                op.dedup_key = more % 5 == 0 ? "k" + std::to_string(more % 7) : "";
                return told(std::move(op));
            }
            case 22: return told(ReportUsageAdmin{budget(more), amounts, ""});
            case 23: return told(RecordSpend{budget(more), id, amounts, ""});
            case 24: return code(player, ReleaseBudget{budget(more), id});
            case 25: return code(player, ResetBudget{budget(more)});
            case 26: return code(player, ApproveBudget{budget(more), "me"});
            case 27: return told(CheckAdmission{quota(more), id, {}});
            case 28: return code(player, ReleaseAdmission{quota(more), id});
            case 29:
                return code(player, UpdateQuotaPolicy{quota(more), {7, more % 6, more % 4, 0}});
            case 30:
                return more % 2 == 0
                           ? code(player, AttachQuota{quota(more / 2), LimitTarget::lane, "b"})
                           : code(player, DetachQuota{quota(more / 2), LimitTarget::lane, "b"});
            default: return append(player, handle, more);
        }
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
        } else if (more % 2 == 0) {
            op.policy = "{" + limited(which, more) + "}";
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
            case 19:
                return code(player, SetExecutionTags{id, {{"app.n", std::to_string(more % 5)}}});
            default: return act_on_limits(player, what, handle, id, more);
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
        for (int i = 0; i < 400; ++i) {
            ASSERT_EQ(game.move(), "") << "move " << i;
            if (i % 50 == 49) {
                ASSERT_EQ(game.compare_rows(), "") << "after move " << i;
            }
        }
    }
}

}  // namespace
}  // namespace ff::engine::test
