// Kills and limits: worker threads of a child process run what one budget and one quota policy
// cover, and tell what was acknowledged, until the process is killed without warning. Whatever the
// moment: no usage is lost or counted twice, none passes the hard limit, what is reserved is what
// executions hold, slots are those that run; and in the end nobody is kept who could run.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/budget_rules.h"
#include "engine/conformance.h"
#include "engine/crash_child.h"
#include "store/location.h"
#include "store/postgres_store.h"
#include "store/sqlite_store.h"
#include "support/postgres.h"

namespace ff::engine::test {

namespace {

constexpr BudgetId shared_budget{Uuid{{7}}};
constexpr QuotaPolicyId shared_quota{Uuid{{8}}};
constexpr std::uint64_t slots_max = 4;
constexpr int limited_threads = 5;
/// Of one thread: the rest of a round is spent on what there is.
constexpr int limited_jobs_max = 15;
constexpr DurationMs limited_lease_ms = 250;
constexpr const char* limited_child = "limits";

CreateExecution limited_job(std::uint64_t reserve) {
    return job_with_policy(
        R"({"retry_policy":{"max_retries":2,"backoff":{"type":"fixed","delay_ms":5}},)"
        R"("budget_ids":[")" +
        shared_budget.to_string() + R"("],"budget_reserve":{"tokens":)" + std::to_string(reserve) +
        R"(},"quota_policy_id":")" + shared_quota.to_string() + R"("})");
}

std::uint64_t tokens_of(const Amounts& amounts) {
    const auto it = amounts.find("tokens");
    return it == amounts.end() ? 0 : it->second;
}

// ------------------------------------------------------------------------------------- the child

class LimitedWorker {
  public:
    LimitedWorker(Engine& engine, const Ledger& ledger, const std::string& name, std::uint64_t seed)
        : engine_(engine), ledger_(ledger), name_(name), random_(seed) {}

    [[noreturn]] void run() {
        for (;;) {
            create();
            const auto claimed = engine_.run(with(claim_by(name_), [&](Claim& op) {
                op.max_tasks = 1 + static_cast<std::uint32_t>(random_() % 3);
                op.lease_ttl_ms = limited_lease_ms;
                op.max_wait_ms = 10;
            }));
            if (!ledger_.accepts(claimed)) {
                continue;
            }
            if (claimed->tasks.empty()) {
                ledger_.write("idle");  // limits keep everybody: the parent still hears of it
            }
            for (const ClaimedTask& task : claimed->tasks) {
                ledger_.write("lease", task.execution_id().to_string());
                act(task);
            }
        }
    }

  private:
    void create() {
        if (made_ < limited_jobs_max) {
            ++made_;
            const auto created = engine_.run(limited_job(1 + random_() % 6));
            if (ledger_.accepts(created)) {
                ledger_.write("create", created->execution_id.to_string());
            }
        }
    }

    void act(const ClaimedTask& task) {
        for (std::uint64_t n = random_() % 4; n > 0; --n) {
            report(task, n == 1 && random_() % 3 == 0);
        }
        const Source source = Source::lease_holder;
        const TimestampMs soon = task.lease_expires_at - limited_lease_ms + 20;
        switch (random_() % 12) {
            case 0: return;  // forgets it: the lease runs out, and another takes over
            case 1: ledger_.accepts(engine_.run(Release{task.handle})); return;
            case 2: ledger_.accepts(engine_.run(Delay{task.handle, soon, source})); return;
            case 3: suspend(task, soon); return;
            case 4:
                ledger_.accepts(engine_.run(Fail{task.handle, "broken", "permanent", source}));
                return;
            case 5:
            case 6:
                ledger_.accepts(engine_.run(Fail{task.handle, "again", "transient", source}));
                return;
            case 7:
                ledger_.accepts(engine_.run(CancelExecution{LeaseRef(task.execution_id()),
                                                            "not wanted", "operator_override"}));
                return;
            default: ledger_.accepts(engine_.run(Complete{task.handle, "", {}, source}));
        }
    }

    void suspend(const ClaimedTask& task, TimestampMs until) {
        Suspend op;
        op.lease = task.handle;
        op.resume_condition = any_signal("go");
        op.timeout_at = until;
        op.timeout_behavior = TimeoutBehavior::auto_resume_with_timeout_signal;
        ledger_.accepts(engine_.run(op));
    }

    /// Told before it is sent and after the answer: what is in flight at a kill is known.
    void report(const ClaimedTask& task, bool settle) {
        ReportUsage op;
        op.lease = task.handle;
        op.budget_id = shared_budget;
        op.dimensions = {{"tokens", 1 + random_() % 4}};
        op.dedup_key = name_ + "-" + std::to_string(++reports_);
        op.settle = settle;
        for (int times = random_() % 4 == 0 ? 2 : 1; times > 0; --times) {
            ledger_.write("send", op.dedup_key, tokens_of(op.dimensions));
            const auto told = engine_.run(op);
            if (ledger_.accepts(told)) {
                ledger_.write("told", op.dedup_key, to_string(told->outcome));
            }
        }
    }

    Engine& engine_;
    const Ledger& ledger_;
    const std::string name_;
    std::mt19937_64 random_;
    int made_ = 0;
    int reports_ = 0;
};

[[noreturn]] void run_limited_child(const std::string& store, const Ledger& ledger,
                                    std::uint64_t seed) {
    EngineOptions options;
    options.warn = [](std::string_view) {};  // soft breaches
    auto engine = Engine::open(store, options);
    if (!engine) {
        ledger.write("error", engine.error().message());
        _exit(3);
    }
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < limited_threads; ++t) {
        threads.emplace_back([&, t] {
            LimitedWorker(**engine, ledger, "l" + std::to_string(seed) + "." + std::to_string(t),
                          seed + t)
                .run();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    _exit(3);
}

[[maybe_unused]] const bool limited_child_added = add_crash_child(limited_child, run_limited_child);

// ------------------------------------------------------------------------------------ the parent

/// One report, over all times it was sent.
struct SentReport {
    std::uint64_t tokens = 0;
    bool counted = false;    ///< acknowledged as counted
    bool in_flight = false;  ///< sent, and not answered
};

std::string killed_store_name(const testing::TestParamInfo<std::string>& store) {
    return store.param;
}

class LimitKill : public testing::TestWithParam<std::string> {
  protected:
    LimitKill() : seed_(std::random_device{}()), random_(seed_) {
        std::printf("[   seed   ] %llu\n", static_cast<unsigned long long>(seed_));
    }
    void SetUp() override {
        if (GetParam() == "sqlite") {
            store_ = folder_.file("store.db");
        } else if (support::postgres_address().empty()) {
            GTEST_SKIP() << "FF_TEST_POSTGRES is not set";
        } else {
            store_ = support::postgres_store(folder_.file("store"));
        }
        define();
    }

    std::shared_ptr<Engine> open(std::shared_ptr<Clock> clock = nullptr) {
        EngineOptions options;
        options.clock = std::move(clock);
        options.warn = [](std::string_view) {};  // soft breaches
        auto engine = Engine::open(store_, options);
        EXPECT_TRUE(engine) << engine.error().message();
        return engine ? *engine : nullptr;
    }
    template <class Op>
    static typename Op::Result ok(Engine& engine, Op op) {
        auto result = engine.run(std::move(op));
        EXPECT_TRUE(result) << Op::name << ": " << result.error().message();
        return result ? std::move(*result) : typename Op::Result{};
    }

    void define();
    /// So much more may be used.
    void raise(Engine& engine, std::uint64_t tokens);
    void note(const std::string& line);
    /// What is there, as of one moment. `still`: nobody works on the store.
    void verify(bool still);
    void verify_rows(store::Reader& reader, bool still);
    /// Usage is what was acknowledged, and some of what was in flight.
    void verify_usage(const core::Budget& budget);
    static void verify_scanners(Engine& engine);
    /// Lets everything run to its end.
    void finish();
    void verify_end(Engine& engine);

    const std::uint64_t seed_;
    std::mt19937_64 random_;
    TempDir folder_;
    std::string store_;
    std::uint64_t hard_ = 0;
    std::map<std::string, SentReport> sent_;
    std::set<ExecutionId> created_;
    std::size_t lines_ = 0;
    std::size_t breaches_ = 0;
    std::size_t idle_ = 0;
};

void LimitKill::define() {
    const auto engine = open();
    ASSERT_TRUE(engine);
    CreateBudget budget;
    budget.budget_id = shared_budget;
    budget.dimensions = {"tokens"};
    budget.hard_limits = {1};
    budget.soft_limits = {0};
    ok(*engine, budget);
    ok(*engine, CreateQuotaPolicy{shared_quota, {1, 150, slots_max, 20}});
}

void LimitKill::raise(Engine& engine, std::uint64_t tokens) {
    hard_ += tokens;
    ok(engine, UpdateBudgetLimits{shared_budget, {{"tokens", {hard_, hard_ - hard_ / 8}}}});
}

void LimitKill::note(const std::string& line) {
    std::istringstream in(line);
    std::string what;
    std::string text;
    in >> what >> text;
    ++lines_;
    if (what == "idle") {
        ++idle_;
    } else if (what == "create") {
        created_.insert(ExecutionId::parse(text).value_or(ExecutionId{}));
    } else if (what == "send") {
        in >> sent_[text].tokens;
        sent_[text].in_flight = true;
    } else if (what == "told") {
        std::string outcome;
        in >> outcome;
        SentReport& report = sent_[text];
        report.in_flight = false;
        const bool breach = outcome == to_string(UsageOutcome::hard_breach);
        if (report.counted) {
            EXPECT_EQ(outcome, to_string(UsageOutcome::already_applied)) << line;
        } else {
            EXPECT_NE(outcome, to_string(UsageOutcome::already_applied)) << line;
        }
        breaches_ += breach ? 1 : 0;
        report.counted = report.counted || !breach;
    } else if (what != "lease") {
        ADD_FAILURE() << "the child: " << line;
    }
}

void LimitKill::verify_usage(const core::Budget& budget) {
    std::uint64_t acknowledged = 0;
    std::uint64_t in_flight = 0;
    for (const auto& [key, report] : sent_) {
        acknowledged += report.counted ? report.tokens : 0;
        in_flight += report.in_flight && !report.counted ? report.tokens : 0;
    }
    const std::uint64_t used = tokens_of(budget.usage);
    EXPECT_GE(used, acknowledged) << "usage is lost";
    EXPECT_LE(used, acknowledged + in_flight) << "usage is counted twice";
}

void LimitKill::verify_rows(store::Reader& reader, bool still) {
    constexpr std::size_t all = 1'000'000;
    const auto budget = *reader.budget(shared_budget);
    const auto policy = *reader.policy(shared_quota);
    ASSERT_TRUE(budget && policy);
    EXPECT_LE(tokens_of(budget->usage) + tokens_of(budget->reserved), hard_);
    if (still) {
        verify_usage(*budget);
    }

    std::set<ExecutionId> active;
    const auto executions = *reader.newest(std::numeric_limits<core::Eid>::max(), all);
    for (const core::Execution& e : executions) {
        if (e.state.phase == LifecyclePhase::active) {
            active.insert(e.id);
        } else {
            EXPECT_FALSE(e.reserved_in) << e.id.to_string() << " does not run and reserves";
            EXPECT_FALSE(e.holds_slots) << e.id.to_string() << " does not run and holds a slot";
        }
    }
    std::uint64_t reserved = 0;
    const auto ledger = *reader.ledgers(shared_budget, std::nullopt, all);
    for (const core::LedgerRow& row : ledger) {
        reserved += tokens_of(row.reserved);
        EXPECT_TRUE(active.contains(row.key.execution)) << row.key.execution.to_string();
    }
    EXPECT_EQ(tokens_of(budget->reserved), reserved);
    std::set<ExecutionId> slots;
    const auto admissions = *reader.slots(shared_quota, std::nullopt, all);
    for (const core::Admission& row : admissions) {
        slots.insert(row.key.execution);
    }
    EXPECT_EQ(slots, active) << "slots are those that run";
    EXPECT_EQ(policy->running, slots.size());
    EXPECT_LE(policy->running, slots_max);
    EXPECT_EQ(policy->in_window,
              *reader.starts(shared_quota, std::numeric_limits<TimestampMs>::max()));
}

void LimitKill::verify(bool still) {
    const auto location = *store::parse_location(store_);
    std::unique_ptr<store::Store> opened;
    if (GetParam() == "sqlite") {
        opened = *store::SqliteStore::open(location, {});
    } else {
        opened = *store::PostgresStore::open(location, {});
    }
    const auto done = opened->read([&](store::Reader& reader) -> expected<void> {
        verify_rows(reader, still);
        return {};
    });
    EXPECT_TRUE(done) << done.error().message();
}

void LimitKill::verify_scanners(Engine& engine) {
    for (const char* scanner : {"budget_reconciler", "quota_reconciler"}) {
        const ScannerResult found = ok(engine, RunScanner{scanner});
        EXPECT_EQ(found.processed, 0U) << scanner;
        EXPECT_TRUE(found.findings.empty()) << found.findings.front();
    }
}

void LimitKill::finish() {
    auto clock = std::make_shared<ManualClock>(SystemClock().now() + 3'600'000);
    const auto engine = open(clock);
    ASSERT_TRUE(engine);
    raise(*engine, 1'000'000);
    for (int idle = 0; idle < 20;) {
        const auto claimed =
            ok(*engine, with(claim_by("last"), [](Claim& op) { op.max_tasks = 50; }));
        ASSERT_LE(claimed.tasks.size(), slots_max);
        for (const ClaimedTask& task : claimed.tasks) {
            ok(*engine, Complete{task.handle, "", {}, Source::lease_holder});
        }
        idle = claimed.tasks.empty() ? idle + 1 : 0;
        if (idle > 0) {
            clock->advance(500);  // two make a window of starts
            ok(*engine, RunScanner{"lease_expiry"});
        }
    }
    verify_end(*engine);
}

void LimitKill::verify_end(Engine& engine) {
    for (const ExecutionId& id : created_) {
        const auto info = ok(engine, ReadExecutionInfo{id});
        EXPECT_TRUE(is_terminal(info.state))
            << id.to_string() << " is stuck: " << words(info.state) << " " << info.blocking_detail;
    }
    const auto policy = ok(engine, ReadQuotaPolicy{shared_quota});
    ASSERT_TRUE(policy);
    EXPECT_EQ(policy->running, 0U);
    EXPECT_EQ(policy->in_window, 0U) << "all have aged";
    EXPECT_EQ(ok(engine, GetBudgetStatus{shared_budget}).reserved, Amounts{});
    verify_scanners(engine);

    // Every report once more: what was acknowledged is known, and then all of them count.
    std::uint64_t all = 0;
    for (const auto& [key, report] : sent_) {
        const UsageResult told =
            ok(engine, ReportUsageAdmin{shared_budget, {{"tokens", report.tokens}}, key});
        if (report.counted) {
            EXPECT_EQ(told.outcome, UsageOutcome::already_applied) << key << " was lost";
        }
        all += report.tokens;
    }
    const BudgetStatus status = ok(engine, GetBudgetStatus{shared_budget});
    EXPECT_EQ(tokens_of(status.usage), all);

    // A breach, its number and its event are there together or not at all.
    std::map<std::string, std::uint64_t> events;
    ReadEvents op;
    op.family = EventFamily::budgets;
    op.cursor = EventCursor::earliest();
    op.limit = 1'000;
    for (EventPage page = ok(engine, op); !page.events.empty(); page = ok(engine, op)) {
        for (const Event& event : page.events) {
            events[event.type] += 1;
        }
        op.cursor = page.next_cursor;
    }
    EXPECT_EQ(events["budget_hard_breach"], status.breach_count);
    EXPECT_EQ(events["budget_soft_breach"], status.soft_breach_count);
    EXPECT_GE(status.breach_count, breaches_);
    std::printf("[   told   ] %zu lines, %zu executions, %zu reports, %zu breaches, %zu idle\n",
                lines_, created_.size(), sent_.size(), breaches_, idle_);
}

TEST_P(LimitKill, KillsLoseNoUsageAndFreeNoSlotTwice) {
    for (int round = 0; round < 5 && !HasFailure(); ++round) {
        SCOPED_TRACE("seed " + std::to_string(seed_) + ", round " + std::to_string(round));
        {
            const auto engine = open();
            ASSERT_TRUE(engine);
            raise(*engine, 40 + random_() % 160);
        }
        const std::size_t until = lines_ + 50 + random_() % 400;
        run_and_kill(limited_child, store_, random_(), [&](const std::string& line) {
            note(line);
            return lines_ >= until;
        });
        verify(true);
        const auto engine = open();
        ASSERT_TRUE(engine);
        verify_scanners(*engine);
    }
    finish();
}

INSTANTIATE_TEST_SUITE_P(Stores, LimitKill, testing::Values("sqlite", "postgres"),
                         killed_store_name);

/// Two processes on one database; one of them is killed, the other goes on.
class LimitKillOfOne : public LimitKill {
  protected:
    using Child = std::unique_ptr<CrashChild>;

    Child start() { return std::make_unique<CrashChild>(limited_child, store_, random_()); }
    /// Hears both until so many more lines have come.
    void listen(std::size_t lines) {
        const std::size_t until = lines_ + lines;
        while (lines_ < until && !HasFailure()) {
            std::vector<pollfd> waits;
            for (const Child& child : children_) {
                waits.push_back({child->fd(), POLLIN, 0});
            }
            ASSERT_GT(poll(waits.data(), waits.size(), 60'000), 0) << "the children say nothing";
            for (std::size_t i = 0; i < waits.size(); ++i) {
                if (waits[i].revents != 0) {
                    ASSERT_TRUE(children_[i]->hear(listener_)) << "a child ended by itself";
                }
            }
        }
    }
    /// Kills the one that stands last.
    void end_last() {
        children_.back()->end(listener_);
        children_.pop_back();
    }

    std::vector<Child> children_;
    const Listener listener_ = [this](const std::string& line) { note(line); };
};

TEST_P(LimitKillOfOne, TheOtherGoesOnAndBothKeepToTheLimits) {
    {
        const auto engine = open();
        ASSERT_TRUE(engine);
        raise(*engine, 150);
        children_.push_back(start());
        children_.push_back(start());
        for (int kills = 0; kills < 5 && !HasFailure(); ++kills) {
            SCOPED_TRACE("seed " + std::to_string(seed_) + ", kill " + std::to_string(kills));
            listen(50 + random_() % 300);
            std::swap(children_[random_() % children_.size()], children_.back());
            end_last();
            verify(false);
            verify_scanners(*engine);
            raise(*engine, 40 + random_() % 100);
            listen(30);
            children_.push_back(start());
        }
        while (!children_.empty()) {
            end_last();
        }
    }
    verify(true);
    finish();
}

INSTANTIATE_TEST_SUITE_P(Stores, LimitKillOfOne, testing::Values("postgres"), killed_store_name);

}  // namespace

}  // namespace ff::engine::test
