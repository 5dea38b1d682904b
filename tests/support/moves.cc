#include "support/moves.h"

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

template <class T>
std::optional<Error> refusal(const Result<T>& result) {
    return result ? std::nullopt : std::optional(result.error());
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
                          [make](World& world) { return refusal(world.run(make(world))); }});
    }

    void add_create() {
        add("create", name_, [subject = subject_](World& world) {
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
        add(std::string(Op::name), name_ + detail, [op](World&) { return op; });
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
    void add_fenced(const std::string& name, Make make) {
        for (const auto& [fence, word] :
             {std::pair{Fence::present, ""}, std::pair{Fence::stale, " (stale)"},
              std::pair{Fence::none, " (no fence)"}}) {
            add(
                name + " " + name_ + word,
                [make, fence = fence, id = subject_.id](World& world) {
                    return make(lease_of(world, id, fence), world);
                },
                fence == Fence::stale);
        }
    }

    void add_holder() {
        add_fenced("renew", [](LeaseRef l, World&) { return Renew{l, lease_steps * step_ms}; });
        add_fenced("progress", [](LeaseRef l, World&) { return Progress{l, 50, std::nullopt}; });
        add_fenced("complete", [](LeaseRef l, World&) { return Complete{l, "result"}; });
        add_fenced("fail", [](LeaseRef l, World&) { return Fail{l, "boom", "transient"}; });
        add_fenced("fail for good",
                   [](LeaseRef l, World&) { return Fail{l, "boom", "permanent"}; });
        add_fenced("cancel",
                   [](LeaseRef l, World&) { return CancelExecution{l, "enough", "lease_holder"}; });
        add_fenced("delay", [](LeaseRef l, World& w) { return Delay{l, w.now + step_ms}; });
        add_fenced("delay to the past", [](LeaseRef l, World& w) { return Delay{l, w.now}; });
        add_fenced("wait for children of", [](LeaseRef l, World&) { return WaitChildren{l}; });
        add_fenced("release", [](LeaseRef l, World&) { return Release{l}; });
    }

    void add_claims(const std::string& worker) {
        add("claim " + worker, [worker](World&) {
            Claim op;
            op.lanes = {"main"};
            op.worker_id = worker;
            op.worker_instance_id = worker + "-1";
            op.lease_ttl_ms = lease_steps * step_ms;
            return op;
        });
        add("claim for worker " + worker, [worker](World&) {
            ClaimForWorker op;
            op.lane_id = "main";
            op.worker_id = worker;
            op.worker_instance_id = worker + "-1";
            op.grant_ttl_ms = step_ms;
            return op;
        });
    }

    void add_time() {
        moves_.push_back({"time passes and timers fire", false, [](World& world) {
                              world.now += step_ms;
                              world.tick();
                              return std::optional<Error>();
                          }});
        moves_.push_back({"time passes unnoticed", false, [](World& world) {
                              world.now += step_ms;
                              return std::optional<Error>();
                          }});
        moves_.push_back({"timers fire", false, [](World& world) {
                              world.tick();
                              return std::optional<Error>();
                          }});
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

core::Settings small_settings() {
    core::Settings settings;
    settings.retention_ms = 2 * step_ms;
    return settings;
}

}  // namespace ff::testing
