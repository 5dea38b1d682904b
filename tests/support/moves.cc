#include "support/moves.h"

#include "support/batch.h"

namespace ff::testing {

namespace {

enum class Fence : std::uint8_t { present, stale, none };

/// The lease a holder would name: the present one or, once that is over, the last one. A stale
/// holder has the epoch before, which every older lease resembles.
LeaseRef lease_of(const World& world, const ExecutionId& id, Fence fence) {
    LeaseRef ref(id);
    const core::Execution* e = world.find(id);
    if (e == nullptr || fence == Fence::none || !e->current_attempt_index) {
        return ref;
    }
    ref.lease_epoch = e->lease_epoch;
    if (e->lease_id) {
        ref.lease_id = e->lease_id;
        ref.attempt_id = e->current_attempt_id;
    } else if (const core::Attempt* last = world.attempt(id, *e->current_attempt_index)) {
        ref.lease_id = last->lease_id;
        ref.attempt_id = last->attempt_id;
    }
    if (fence == Fence::stale) {
        *ref.lease_epoch -= 1;
        ref.lease_id = LeaseId{};
    }
    return ref;
}

class List {
  public:
    explicit List(std::vector<Subject> subjects) : subjects_(std::move(subjects)) {}

    std::vector<Move> make() {
        for (std::size_t i = 0; i < subjects_.size(); ++i) {
            subject_ = subjects_[i];
            name_ = std::string(1, static_cast<char>('a' + i));
            add_create();
            add_grants();
            add_operator();
            add_holder();
        }
        for (const std::string worker : {"w1", "w2"}) {
            add_claims(worker);
        }
        add_time();
        return std::move(moves_);
    }

  private:
    /// `make(world)` gives the operation to run.
    template <class Make>
    void add(std::string operation, const std::string& on, Make make, bool stale = false) {
        std::string name = operation + " " + on;
        moves_.push_back({std::move(operation), std::move(name), stale,
                          [make](const World& world) { return Request(make(world)); }});
    }

    void add_create() {
        add("create", name_, [subject = subject_](const World& world) {
            CreateExecution op;
            op.execution_id = subject.id;
            op.ns = "tenant";
            op.lane_id = "main";
            op.execution_kind = "job";
            op.policy = subject.policy;
            if (subject.deadline_after) {
                op.execution_deadline_at = world.now + *subject.deadline_after;
            }
            return op;
        });
    }

    template <class Op>
    Op by(const std::string& worker) const {
        Op op;
        op.execution_id = subject_.id;
        op.worker_id = worker;
        op.worker_instance_id = worker + "-1";
        op.lane_id = "main";
        if constexpr (requires { op.lease_ttl_ms; }) {
            op.lease_ttl_ms = lease_steps * step_ms;
        } else {
            op.grant_ttl_ms = step_ms;
        }
        return op;
    }
    template <class Op>
    void add_fixed(const Op& op, const std::string& detail = "") {
        add(std::string(Op::name), name_ + detail, [op](const World&) { return op; });
    }

    void add_grants() {
        for (const std::string worker : {"w1", "w2"}) {
            add_fixed(by<IssueClaimGrant>(worker), " " + worker);
            add_fixed(by<ClaimExecution>(worker), " " + worker);
            add_fixed(by<ClaimResumedExecution>(worker), " " + worker);
            add_fixed(by<IssueReclaimGrant>(worker), " " + worker);
            add_fixed(by<ReclaimExecution>(worker), " " + worker);
        }
        add_fixed(IssueGrantAndClaim{subject_.id, "main", lease_steps * step_ms});
    }

    void add_operator() {
        add_fixed(CancelExecution{LeaseRef(subject_.id), "enough"}, " by operator");
        add_fixed(MarkLeaseExpiredIfDue{subject_.id});
        add_fixed(RevokeLease{.execution_id = subject_.id});
        add_fixed(ChangePriority{subject_.id, 0}, " 0");
        add_fixed(ChangePriority{subject_.id, 1}, " 1");
        add_fixed(ReplayExecution{subject_.id});
        add_fixed(BlockExecution{subject_.id, "paused_by_operator", std::nullopt}, " operator");
        add_fixed(BlockExecution{subject_.id, "waiting_for_capable_worker", std::nullopt},
                  " route");
        add_fixed(UnblockExecution{subject_.id, std::nullopt});
    }

    /// `make(lease, world)` gives the operation of a lease holder; every fence is tried.
    template <class Make>
    void add_fenced(Make make, const std::string& detail = "") {
        using Op = decltype(make(LeaseRef(), std::declval<const World&>()));
        const auto with = [&](Fence fence, const std::string& word) {
            add(
                std::string(Op::name), name_ + detail + word,
                [make, fence, id = subject_.id](const World& world) {
                    return make(lease_of(world, id, fence), world);
                },
                fence == Fence::stale);
        };
        with(Fence::present, "");
        with(Fence::stale, " (stale)");
        with(Fence::none, " (no fence)");
    }

    void add_holder() {
        add_fenced([](LeaseRef l, const World&) { return Renew{l, lease_steps * step_ms}; });
        add_fenced([](LeaseRef l, const World&) { return Progress{l, 50, std::nullopt}; });
        add_fenced([](LeaseRef l, const World&) { return Complete{l, "result"}; });
        add_fenced([](LeaseRef l, const World&) { return Fail{l, "boom", "transient"}; });
        add_fenced([](LeaseRef l, const World&) { return Fail{l, "boom", "permanent"}; },
                   " for good");
        add_fenced(
            [](LeaseRef l, const World&) { return CancelExecution{l, "enough", "lease_holder"}; });
        add_fenced([](LeaseRef l, const World& w) { return Delay{l, w.now + step_ms}; });
        add_fenced([](LeaseRef l, const World& w) { return Delay{l, w.now}; }, " to now");
        add_fenced([](LeaseRef l, const World&) { return WaitChildren{l}; });
        add_fenced([](LeaseRef l, const World&) { return Release{l}; });
    }

    void add_claims(const std::string& worker) {
        add("claim", worker, [worker](const World&) {
            Claim op;
            op.lanes = {"main"};
            op.worker_id = worker;
            op.worker_instance_id = worker + "-1";
            op.lease_ttl_ms = lease_steps * step_ms;
            return op;
        });
        add("claim_for_worker", worker, [worker](const World&) {
            ClaimForWorker op;
            op.lane_id = "main";
            op.worker_id = worker;
            op.worker_instance_id = worker + "-1";
            op.grant_ttl_ms = step_ms;
            return op;
        });
    }

    void add_time() {
        moves_.push_back({"time", "time passes and timers fire", false, {}, step_ms, true});
        moves_.push_back({"time", "time passes unnoticed", false, {}, step_ms, false});
        moves_.push_back({"time", "timers fire", false, {}, 0, true});
    }

    std::vector<Subject> subjects_;
    Subject subject_;
    std::string name_;
    std::vector<Move> moves_;
};

}  // namespace

Subject subject(std::uint8_t n, std::optional<std::string> policy) {
    Subject made;
    made.id.uuid.bytes[15] = n;
    made.policy = std::move(policy);
    return made;
}

std::vector<Move> all_moves(const std::vector<Subject>& subjects) { return List(subjects).make(); }

std::optional<Error> Move::play(World& world) const {
    if (request) {
        return run_one(world, request(world));
    }
    world.now += passes;
    if (fires) {
        world.tick();
    }
    return std::nullopt;
}

std::string misbehaviour(const Move& move, const World& before, const World& after,
                         const std::optional<Error>& error) {
    if (error && error->code == ErrorCode::lease_expired) {
        // Unchanged, or exactly as if the lease had been marked for its own sake.
        for (const auto& [id, e] : before.records.executions) {
            World marked = before;
            static_cast<void>(marked.run(MarkLeaseExpiredIfDue{id}));
            if (after.records == marked.records) {
                return "";
            }
        }
    }
    if (error && after.records != before.records) {
        return "refused with " + error->message() + " and changed something";
    }
    const bool writes = after.records != before.records;
    if (move.stale && !error && writes && move.operation != CancelExecution::name) {
        return "a stale lease holder changed something";
    }
    return "";
}

core::Settings small_settings() {
    core::Settings settings;
    settings.retention_ms = 2 * step_ms;
    return settings;
}

}  // namespace ff::testing
