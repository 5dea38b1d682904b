// Kill, with flows: a child submits graphs, ends and cancels their members, and is killed without
// warning, also in the middle of a cascade that is kept in ff_flow_work between transactions. What
// was acknowledged must be there, every graph must be sound, and in the end all of them must end.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/flow_invariants.h"
#include "core/flow_rules.h"
#include "engine/conformance.h"
#include "engine/crash_child.h"
#include "store/location.h"
#include "store/sqlite_store.h"
#include "support/eventually.h"

namespace ff::engine::test {

namespace {

constexpr int rounds = 5;
constexpr int child_threads = 4;
/// Skipping so many changes more rows than one transaction may.
constexpr std::size_t long_chain = 3'000;
constexpr std::size_t everything = 10'000'000;

// ------------------------------------------------------------------------------------- the child

std::string node_name(std::size_t number) { return "n" + std::to_string(number); }

SubmitFlow nodes(std::size_t count) {
    SubmitFlow op;
    op.flow_kind = "crash";
    op.ns = "acme";
    for (std::size_t i = 0; i < count; ++i) {
        op.nodes.push_back({node_name(i), job(), {}});
    }
    return op;
}

void edge(SubmitFlow& op, std::size_t from, std::size_t to,
          DependencyKind kind = DependencyKind::success_only) {
    op.edges.push_back({node_name(from), node_name(to), kind, {}, {}});
}

SubmitFlow chain(std::size_t length) {
    SubmitFlow op = nodes(length);
    for (std::size_t i = 1; i < length; ++i) {
        edge(op, i - 1, i);
    }
    return op;
}

/// One, many that wait for it, and one that waits for these as the policy says.
SubmitFlow fan(std::size_t width, GroupPolicy policy) {
    SubmitFlow op = nodes(width + 2);
    for (std::size_t i = 1; i <= width; ++i) {
        edge(op, 0, i);
        edge(op, i, width + 1);
    }
    op.nodes.back().policy = policy;
    return op;
}

class FlowWorker {
  public:
    FlowWorker(Engine& engine, const Ledger& ledger, const std::string& name, std::uint64_t seed)
        : engine_(engine), ledger_(ledger), name_(name), random_(seed) {}

    [[noreturn]] void run() {
        for (;;) {
            submit();
            work();
            work();
        }
    }

  private:
    void submit() {
        switch (random_() % 8) {
            case 0:
            case 1: return skip_long_chain();
            case 2: return cancel_flow(submit(fan(20, GroupPolicy::all_of())));
            case 3: submit(fan(12, GroupPolicy::any_of(OnSatisfied::cancel_remaining))); return;
            case 4: submit(fan(12, GroupPolicy::quorum(5, OnSatisfied::cancel_remaining))); return;
            case 5: {
                SubmitFlow op = chain(6);
                op.settings.on_member_failure = OnMemberFailure::cancel_rest;
                edge(op, 0, 5, DependencyKind::always);
                submit(std::move(op));
                return;
            }
            case 6: {
                SubmitFlow op = fan(20, GroupPolicy::all_of());
                op.settings.max_active_members = 3;
                submit(std::move(op));
                return;
            }
            default: submit(chain(2 + random_() % 9)); return;
        }
    }

    SubmitFlowResult submit(SubmitFlow op) {
        const std::size_t count = op.nodes.size();
        auto made = engine_.run(std::move(op));
        if (!ledger_.accepts(made)) {
            _exit(3);
        }
        ledger_.write("flow", made->flow_id.to_string(), count);
        return std::move(*made);
    }

    void cancel_flow(const SubmitFlowResult& flow) {
        if (ledger_.accepts(engine_.run(CancelFlow{flow.flow_id, "not wanted"}))) {
            ledger_.write("cancelled", flow.flow_id.to_string());
        }
    }

    void skip_long_chain() {
        SubmitFlow op = chain(long_chain);
        op.nodes[0].execution.delay_until = std::numeric_limits<TimestampMs>::max() / 2;
        const SubmitFlowResult flow = submit(std::move(op));
        if (ledger_.accepts(engine_.run(CancelExecution{LeaseRef(flow.nodes.at(node_name(0))),
                                                        "not wanted", "operator_override"}))) {
            ledger_.write("skipping", flow.flow_id.to_string());
        }
    }

    void work() {
        const auto claimed = engine_.run(with(claim_by(name_), [&](auto& op) {
            op.max_tasks = 1 + static_cast<std::uint32_t>(random_() % 40);
            op.lease_ttl_ms = 60'000;
        }));
        if (!ledger_.accepts(claimed)) {
            return;
        }
        std::vector<Complete> good;
        std::vector<Fail> bad;
        for (const ClaimedTask& task : claimed->tasks) {
            if (random_() % 10 == 0) {
                bad.push_back({task.handle, "bad luck", "permanent", Source::lease_holder});
            } else {
                good.push_back({task.handle, "done", {}, Source::lease_holder});
            }
        }
        end(good, "completed");
        end(bad, "failed");
    }

    template <class Op>
    void end(const std::vector<Op>& ends, const char* word) {
        const auto answers = engine_.run_all(ends);
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (ledger_.accepts(answers[i])) {
                ledger_.write(word, ends[i].lease.execution_id.to_string());
            }
        }
    }

    Engine& engine_;
    const Ledger& ledger_;
    const std::string name_;
    std::mt19937_64 random_;
};

[[noreturn]] void run_child(const std::string& store, const Ledger& ledger, std::uint64_t seed) {
    auto engine = Engine::open(store);
    if (!engine) {
        ledger.write("error", engine.error().message());
        _exit(3);
    }
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < child_threads; ++t) {
        threads.emplace_back(
            [&, t] { FlowWorker(**engine, ledger, "w" + std::to_string(t), seed + t).run(); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    _exit(3);
}

[[maybe_unused]] const bool child_added = add_crash_child("flows", run_child);

// ------------------------------------------------------------------------------------ the parent

class FlowCrash : public testing::Test {
  protected:
    FlowCrash() : seed_(std::random_device{}()), random_(seed_) {
        std::printf("[   seed   ] %llu\n", static_cast<unsigned long long>(seed_));
    }

    void note(const std::string& line);
    /// What was told is in the store, and every graph is sound.
    void verify();
    void verify_flow(const core::FlowRows& rows);
    void verify_end(const core::FlowRows& rows);
    static expected<core::FlowRows> rows_of(store::Reader& reader, const core::Flow& flow);
    /// Everything that can be claimed is completed, until nothing more becomes ready.
    void finish_all(Engine& engine);

    const std::uint64_t seed_;
    std::mt19937_64 random_;
    TempDir folder_;
    const std::string store_ = folder_.file("store.db");
    std::map<FlowId, std::size_t> flows_;  ///< how many nodes they were acknowledged with
    std::set<FlowId> cancelled_;
    std::set<FlowId> skipping_;
    std::map<ExecutionId, PublicState> ended_;
    std::size_t lines_ = 0;
    std::map<FlowId, std::size_t> there_;  ///< all of the store when it was last looked at
    std::size_t backlogs_ = 0;             ///< kills that left a cascade unfinished
    bool all_ended_ = false;
};

void FlowCrash::note(const std::string& line) {
    std::istringstream in(line);
    std::string what;
    std::string id;
    in >> what >> id;
    ++lines_;
    const auto flow = FlowId::parse(id);
    const auto execution = ExecutionId::parse(id);
    if (what == "flow" && flow) {
        in >> flows_[*flow];
    } else if (what == "cancelled" && flow) {
        cancelled_.insert(*flow);
    } else if (what == "skipping" && flow) {
        skipping_.insert(*flow);
    } else if (what == "completed" && execution) {
        EXPECT_TRUE(ended_.emplace(*execution, PublicState::completed).second) << line;
    } else if (what == "failed" && execution) {
        EXPECT_TRUE(ended_.emplace(*execution, PublicState::failed).second) << line;
    } else {
        ADD_FAILURE() << "the child: " << line;
    }
}

expected<core::FlowRows> FlowCrash::rows_of(store::Reader& reader, const core::Flow& flow) {
    core::FlowRows rows;
    rows.flow = flow;
    FF_TRY(rows.members, reader.members(flow.id, std::nullopt, everything));
    FF_TRY(rows.edges, reader.edges_of_flow(flow.id));
    FF_TRY(rows.groups, reader.groups_of_flow(flow.id));
    FF_TRY(const auto work, reader.flow_work(flow.id, 1));
    rows.work_waits = !work.empty();
    return rows;
}

void FlowCrash::verify_flow(const core::FlowRows& rows) {
    SCOPED_TRACE("flow " + rows.flow.id.to_string());
    for (const std::string& violation : core::check_flow(rows)) {
        ADD_FAILURE() << violation;
    }
    if (const auto told = flows_.find(rows.flow.id); told != flows_.end()) {
        EXPECT_EQ(rows.members.size(), told->second);
    }
    if (cancelled_.contains(rows.flow.id)) {
        EXPECT_EQ(rows.flow.state, FlowState::cancelled);
    }
    for (const core::Execution& member : rows.members) {
        if (const auto told = ended_.find(member.id); told != ended_.end()) {
            EXPECT_EQ(member.public_state, told->second) << member.id.to_string();
        }
    }
    if (all_ended_) {
        verify_end(rows);
    }
}

void FlowCrash::verify_end(const core::FlowRows& rows) {
    EXPECT_FALSE(rows.work_waits);
    EXPECT_TRUE(rows.flow.finished_at);
    EXPECT_EQ(rows.flow.live, 0U);
    std::map<ExecutionId, TerminalOutcome> ends;
    bool bad = false;
    for (const core::Execution& member : rows.members) {
        EXPECT_TRUE(is_terminal(member.state)) << member.id.to_string() << " is stuck";
        ends[member.id] = member.state.outcome;
        bad = bad || core::is_bad_end(member);
    }
    if (rows.flow.state != FlowState::cancelled) {
        EXPECT_EQ(rows.flow.state, bad ? FlowState::failed : FlowState::completed);
    }
    std::map<ExecutionId, GroupState> groups;
    for (const core::EdgeGroup& group : rows.groups) {
        groups[group.downstream] = group.state;
    }
    for (const core::Edge& edge : rows.edges) {
        EXPECT_EQ(edge.outcome, ends.at(edge.upstream)) << "an edge resolved by another end";
        if (ends.at(edge.downstream) == TerminalOutcome::success) {
            EXPECT_EQ(groups.at(edge.downstream), GroupState::satisfied) << "it ran too early";
        }
    }
    if (skipping_.contains(rows.flow.id)) {
        EXPECT_EQ(
            std::ranges::count(rows.members, PublicState::skipped, &core::Execution::public_state),
            static_cast<std::ptrdiff_t>(long_chain - 1));
    }
}

void FlowCrash::verify() {
    auto store = store::SqliteStore::open(*store::parse_location(store_), {});
    ASSERT_TRUE(store) << store.error().message();
    there_.clear();
    const auto read = (*store)->read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto flows, reader.flows(std::nullopt, std::nullopt, everything));
        for (const core::Flow& flow : flows) {
            there_[flow.id] = flow.node_count;
            FF_TRY(const core::FlowRows rows, rows_of(reader, flow));
            verify_flow(rows);
        }
        FF_TRY(const auto work, reader.flow_work(std::nullopt, 1));
        backlogs_ += work.empty() ? 0 : 1;
        return {};
    });
    EXPECT_TRUE(read) << read.error().message();
    for (const auto& [id, count] : flows_) {
        EXPECT_TRUE(there_.contains(id)) << id.to_string() << " was acknowledged and is lost";
    }
}

void FlowCrash::finish_all(Engine& engine) {
    for (const auto& [id, count] : there_) {
        if (count == long_chain && !skipping_.contains(id)) {
            // The child was killed before it had cancelled the first node, or before it said so.
            EXPECT_TRUE(engine.run(CancelFlow{id, "not wanted"}));
        }
    }
    const auto all_finished = [&] {
        return std::ranges::all_of(there_, [&](const auto& flow) {
            const auto seen = engine.run(DescribeFlow{flow.first});
            return seen && *seen && (*seen)->finished_at;
        });
    };
    const auto step = [&] {
        const auto claimed =
            engine.run(with(claim_by("last"), [](auto& op) { op.max_tasks = 500; }));
        if (!claimed) {
            ADD_FAILURE() << code_of(claimed);
            return true;
        }
        std::vector<Complete> ends;
        for (const ClaimedTask& task : claimed->tasks) {
            ends.push_back({task.handle, "done", {}, Source::lease_holder});
        }
        const auto answers = engine.run_all(ends);
        for (std::size_t i = 0; i < ends.size(); ++i) {
            // Its flow may be cancelled by the end of another of these.
            if (answers[i]) {
                ended_.emplace(claimed->tasks[i].execution_id(), PublicState::completed);
            } else {
                EXPECT_EQ(answers[i].error().code, ErrorCode::execution_not_active);
            }
        }
        return claimed->tasks.empty() && all_finished();
    };
    // Cascades of thousands of members are left: under a sanitizer they take minutes.
    const bool finished = support::eventually(step, std::chrono::minutes(10));
    EXPECT_TRUE(finished) << "flows are stuck";
}

TEST_F(FlowCrash, CascadesGoOnWhereTheProcessWasKilled) {
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
        SCOPED_TRACE("seed " + std::to_string(seed_) + ", round " + std::to_string(round));
        // Every other time at the moment a long cascade has begun; it is several transactions long.
        const bool at_cascade = round % 2 == 0;
        const std::size_t until = lines_ + 20 + random_() % 200;
        run_and_kill("flows", store_, random_(), [&](const std::string& line) {
            note(line);
            return at_cascade ? line.starts_with("skipping") : lines_ >= until;
        });
        verify();
    }
    EXPECT_GT(backlogs_, 0U) << "no kill met a cascade between its transactions";
    EngineOptions options;
    options.clock = std::make_shared<ManualClock>(SystemClock().now() + 3'600'000);
    auto engine = Engine::open(store_, options);
    ASSERT_TRUE(engine) << engine.error().message();
    ASSERT_TRUE((*engine)->run(RunScanner{"lease_expiry"}));
    finish_all(**engine);
    engine->reset();
    all_ended_ = true;
    verify();
    std::printf("[ acks told] %zu in %d rounds, %zu flows, %zu left in mid-cascade\n", lines_,
                rounds, flows_.size(), backlogs_);
}

}  // namespace

}  // namespace ff::engine::test
