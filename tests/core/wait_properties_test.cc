// Random lives of executions that wait: suspends of every form, signals with right and wrong
// tokens, timeouts, operators, ends of every kind. World checks the invariants of executions and of
// suspensions after every command; the rest is checked here.
#include <gtest/gtest.h>

#include <random>

#include "support/world.h"

namespace ff::core {
namespace {

using testing::World;

constexpr DurationMs step = 100;

class WaitingLife {
  public:
    explicit WaitingLife(std::uint64_t seed) : random_(seed), world_({}, seed) {}

    void run(int steps) {
        for (int i = 0; i < steps && world_.violations.empty(); ++i) {
            play();
            for (std::string& fault : world_.violations) {
                fault += " after step " + std::to_string(i) + ": " + last_;
            }
            check_tickets();
        }
    }

    [[nodiscard]] const World& world() const { return world_; }
    [[nodiscard]] int resumed() const { return resumed_; }
    [[nodiscard]] int early() const { return early_; }

  private:
    std::uint64_t pick(std::uint64_t n) { return random_() % n; }
    bool chance(int of) { return pick(static_cast<std::uint64_t>(of)) == 0; }

    /// What somebody outside may have been given.
    struct Ticket {
        ExecutionId execution;
        WaitpointTicket at;
    };

    void play() {
        switch (pick(12)) {
            case 0: return create();
            case 1:
            case 2: return claim();
            case 3: return create_waitpoint();
            case 4:
            case 5: return suspend();
            case 6:
            case 7:
            case 8: return signal();
            case 9: return act();
            case 10: return operate();
            default: return pass();
        }
    }

    void create() {
        if (world_.records.executions.size() >= 3) {
            return;
        }
        CreateExecution op;
        op.ns = "tenant";
        op.lane_id = "main";
        op.execution_kind = "job";
        if (chance(2)) {
            op.policy = R"({"retry_policy":{"max_retries":2,"backoff":{"type":"fixed",)"
                        R"("delay_ms":50}},"timeout_policy":{"attempt_timeout_ms":900},)"
                        R"("max_signals_per_execution":6,"suspension_policy":)"
                        R"({"default_timeout_ms":700,"timeout_behavior":"escalate"}})";
        }
        if (chance(4)) {
            op.execution_deadline_at = world_.now + 20 * step;
        }
        last_ = "create";
        (void)world_.run(op);
    }

    void claim() {
        Claim op;
        op.lanes = {"main"};
        op.worker_id = "w";
        op.worker_instance_id = "w-1";
        op.lease_ttl_ms = 3 * step;
        last_ = "claim";
        if (const auto claimed = world_.run(op)) {
            for (const ClaimedTask& task : claimed->tasks) {
                held_[task.execution_id()] = task.handle;
                resumed_ += task.resumed() ? 1 : 0;
            }
        }
    }

    std::optional<Handle> held() {
        if (held_.empty()) {
            return std::nullopt;
        }
        return std::next(held_.begin(), static_cast<std::ptrdiff_t>(pick(held_.size())))->second;
    }

    void create_waitpoint() {
        if (const auto handle = held()) {
            last_ = "create_waitpoint";
            const auto made = world_.run(
                CreateWaitpoint{*handle, "k", static_cast<DurationMs>(step * (1 + pick(6)))});
            if (made) {
                tickets_.push_back({handle->execution_id, *made});
                pending_[handle->execution_id] = made->waitpoint_id;
            }
        }
    }

    ResumeCondition condition() {
        switch (pick(6)) {
            case 0: return any_signal("go").on("k");
            case 1: return any_signal("go").from_distinct_sources(2).on("k");
            case 2: return ResumeCondition::operator_only();
            case 3: return ResumeCondition::signal_set("k", {"go", "stop"}, SignalMatchMode::all);
            case 4:
                return ResumeCondition::all_of(
                    {any_signal("go").on("k"), any_signal("stop").on("k")});
            default: return any_signal().on("k").times(2);
        }
    }

    void suspend() {
        const auto handle = held();
        if (!handle) {
            return;
        }
        Suspend op;
        op.lease = *handle;
        op.resume_condition = condition();
        const auto made = pending_.find(handle->execution_id);
        if (made != pending_.end() && chance(2)) {
            op.waitpoints = {WaitpointBinding::pending(made->second)};
        } else if (op.resume_condition.kind == ResumeCondition::Kind::operator_only) {
            op.waitpoints = {WaitpointBinding::fresh("k")};
        }
        if (chance(2)) {
            op.timeout_at = world_.now + static_cast<DurationMs>(step * pick(8));
            op.timeout_behavior = static_cast<TimeoutBehavior>(pick(6));
        }
        if (chance(3)) {
            op.idempotency_key = "once";
        }
        if (chance(4)) {
            op.resume_policy.resume_delay_ms = step;
        }
        last_ = "suspend";
        const auto result = world_.run(op);
        if (!result) {
            return;
        }
        early_ += result->suspended ? 0 : 1;
        tickets_.push_back({handle->execution_id, result->details.waitpoint});
    }

    void signal() {
        if (tickets_.empty()) {
            return;
        }
        const Ticket& ticket = tickets_[pick(tickets_.size())];
        DeliverSignal op;
        op.execution_id = ticket.execution;
        op.waitpoint_id = ticket.at.waitpoint_id;
        op.waitpoint_token = ticket.at.waitpoint_token;
        op.signal_name = chance(2) ? "go" : chance(2) ? "stop" : "noise";
        op.source_identity = chance(2) ? "ann" : "bob";
        if (chance(4)) {
            op.idempotency_key = "k" + std::to_string(pick(3));
        }
        if (chance(6)) {
            op.waitpoint_token.back() = op.waitpoint_token.back() == '0' ? '1' : '0';
            last_ = "signal (forged)";
            const auto before = world_.records.signals.size();
            EXPECT_FALSE(world_.run(op));
            EXPECT_EQ(world_.records.signals.size(), before);
            return;
        }
        last_ = "signal";
        (void)world_.run(op);
    }

    void act() {
        const auto handle = held();
        if (!handle) {
            return;
        }
        switch (pick(5)) {
            case 0:
                last_ = "complete";
                (void)world_.run(Complete{*handle, "r"});
                break;
            case 1:
                last_ = "fail";
                (void)world_.run(Fail{*handle, "x", "transient"});
                break;
            case 2:
                last_ = "release";
                (void)world_.run(Release{*handle});
                break;
            case 3:
                last_ = "renew";
                (void)world_.run(Renew{*handle, 3 * step});
                break;
            default:
                last_ = "delay";
                (void)world_.run(Delay{*handle, world_.now + step});
                break;
        }
    }

    void operate() {
        if (world_.records.executions.empty()) {
            return;
        }
        const auto& all = world_.records.executions;
        const ExecutionId id =
            std::next(all.begin(), static_cast<std::ptrdiff_t>(pick(all.size())))->first;
        switch (pick(6)) {
            case 0:
            case 1: {
                ResumeExecution op;
                op.execution_id = id;
                op.trigger_type = ResumeTrigger::operator_;
                op.resume_delay_ms = chance(2) ? step : 0;
                last_ = "resume";
                (void)world_.run(op);
                break;
            }
            case 2:
                last_ = "expire";
                (void)world_.run(ExpireSuspension{id});
                break;
            case 3:
                last_ = "cancel";
                (void)world_.run(CancelExecution{LeaseRef(id), "enough"});
                break;
            case 4:
                last_ = "revoke";
                (void)world_.run(RevokeLease{.execution_id = id});
                break;
            default:
                last_ = "replay";
                (void)world_.run(ReplayExecution{id});
                break;
        }
    }

    void pass() {
        last_ = "time";
        if (chance(3)) {
            world_.now += step;
        } else {
            world_.advance(static_cast<DurationMs>(step * (1 + pick(4))));
        }
    }

    /// A token opens what it was made for as long as that is open, and nothing is open that nobody
    /// was told of. The ledger only grows, in order.
    void check_tickets() {
        std::map<Eid, std::uint64_t> last;
        for (const auto& [key, signal] : world_.records.signals) {
            EXPECT_EQ(key.seq, last[key.eid] + 1) << "the ledger has a hole";
            last[key.eid] = key.seq;
        }
        for (const auto& [id, e] : world_.records.executions) {
            EXPECT_EQ(e.signal_count, last[e.eid]) << "signal_count is not the ledger's";
        }
        for (const auto& [key, row] : world_.records.satisfiers) {
            EXPECT_TRUE(world_.records.signals.contains({key.suspension.eid, row.seq}));
        }
    }

    std::mt19937_64 random_;
    World world_;
    std::map<ExecutionId, Handle> held_;
    std::map<ExecutionId, WaitpointId> pending_;
    std::vector<Ticket> tickets_;
    std::string last_;
    int resumed_ = 0;
    int early_ = 0;
};

TEST(WaitProperties, TheInvariantsOfSuspensionHoldInEveryLife) {
    int resumed = 0;
    int early = 0;
    std::size_t signals = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        WaitingLife life(seed);
        life.run(150);
        ASSERT_TRUE(life.world().violations.empty())
            << "seed " << seed << ": " << life.world().violations.front();
        resumed += life.resumed();
        early += life.early();
        signals += life.world().records.signals.size();
        if (::testing::Test::HasFailure()) {
            FAIL() << "seed " << seed;
        }
    }
    // The lives were lively enough to mean something.
    EXPECT_GT(resumed, 500);
    EXPECT_GT(early, 5);
    EXPECT_GT(signals, 1'000U);
}

}  // namespace
}  // namespace ff::core
