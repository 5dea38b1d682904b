#include "support/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace ff::testing {

namespace {

std::string trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t");
    const auto end = text.find_last_not_of(" \t");
    return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream in{std::string(text)};
    return {std::istream_iterator<std::string>(in), {}};
}

std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, by);) {
        parts.push_back(part);
    }
    return parts;
}

std::string signed_text(std::int64_t n) { return (n >= 0 ? "+" : "") + std::to_string(n); }

std::string lease_text(std::uint32_t index, std::uint64_t epoch) {
    return "#" + std::to_string(index) + " e" + std::to_string(epoch);
}

template <class E>
std::string text(E word) {
    return std::string(to_string(word));
}

}  // namespace

/// A command as words: the plain ones in order, the `name=value` ones by name.
class Scenario::Row {
  public:
    explicit Row(std::string_view command) {
        for (const std::string& word : words_of(command)) {
            const auto equals = word.find('=');
            if (equals == std::string::npos) {
                plain_.push_back(word);
            } else {
                named_[word.substr(0, equals)] = word.substr(equals + 1);
            }
        }
    }
    std::string next() { return at_ < plain_.size() ? plain_[at_++] : ""; }
    std::int64_t number() { return std::stoll(next()); }
    [[nodiscard]] bool has(const std::string& name) const { return named_.contains(name); }
    [[nodiscard]] std::string get(const std::string& name, const std::string& other = "") const {
        auto it = named_.find(name);
        return it == named_.end() ? other : it->second;
    }
    [[nodiscard]] std::int64_t number(const std::string& name, std::int64_t other) const {
        return has(name) ? std::stoll(get(name)) : other;
    }
    [[nodiscard]] std::vector<std::string> list(const std::string& name) const {
        return split(get(name), ',');
    }

  private:
    std::vector<std::string> plain_;
    std::map<std::string, std::string> named_;
    std::size_t at_ = 0;
};

Scenario::~Scenario() {
    for (const std::string& violation : violations) {
        ADD_FAILURE() << violation;
    }
}

CreateExecution Scenario::create_args() {
    CreateExecution args;
    args.ns = "tenant";
    args.lane_id = "main";
    args.execution_kind = "job";
    args.input_payload = "input";
    args.creator_identity = "tester";
    return args;
}

Claim Scenario::claim_args(const std::string& worker) {
    Claim args;
    args.lanes = {"main"};
    args.worker_id = worker;
    args.worker_instance_id = worker + "-1";
    return args;
}

const core::Execution& Scenario::row(const std::string& name) const {
    static const core::Execution blank;
    const core::Execution* found = find(id(name));
    EXPECT_NE(found, nullptr) << name;
    return found != nullptr ? *found : blank;
}

core::Attempt Scenario::attempt_row(const std::string& name, std::uint32_t index) const {
    const core::Attempt* found = attempt(id(name), index);
    EXPECT_NE(found, nullptr) << name << " #" << index;
    return found != nullptr ? *found : core::Attempt{};
}

const Handle& Scenario::handle(const std::string& name, const std::string& worker) const {
    return handles.at({name, worker});
}

std::vector<std::string> Scenario::history(const std::string& name) const {
    std::vector<std::string> out;
    for (const core::ExecutionEvent& event : records.events) {
        if (event.execution_id == id(name)) {
            out.push_back(text(event.type) + (event.reason ? ":" + *event.reason : "") +
                          (event.outcome ? "=" + text(*event.outcome) : ""));
        }
    }
    return out;
}

std::string Scenario::name_of(const ExecutionId& id) const {
    auto it = std::ranges::find(ids, id, [](const auto& entry) { return entry.second; });
    return it == ids.end() ? id.to_string() : it->first;
}

std::string Scenario::take(const ClaimedTask& task, const std::string& worker) {
    const std::string name = name_of(task.execution_id());
    handles[{name, worker}] = task.handle;
    handles[{name, ""}] = task.handle;
    return text(task.handle.kind) + " " + text(task.attempt_type) + " " +
           lease_text(task.handle.attempt_index, task.handle.lease_epoch);
}

// ------------------------------------------------------------------------------- the commands

/// One function for each command; its name in the table at the end.
struct Scenario::Commands {
    using Function = std::string (*)(Scenario&, Row&);
    static const std::map<std::string_view, Function>& table();

    template <class T, class InWords>
    static std::string say(const expected<T>& result, InWords in_words) {
        return result ? in_words(*result) : text(result.error().code);
    }
    template <class T>
    static std::string ok(const T&) {
        return "ok";
    }
    static std::string state(const StateResult& r) { return text(r.public_state); }

    static ExecutionId named(Scenario& s, Row& row) {
        s.subject_ = row.next();
        return s.id(s.subject_);
    }
    /// Execution, worker and lane of a call about a grant.
    template <class Args>
    static Args addressed(Scenario& s, Row& row) {
        Args args;
        args.execution_id = named(s, row);
        args.worker_id = row.next();
        args.worker_instance_id = args.worker_id + "-1";
        args.lane_id = row.get("lane", "main");
        return args;
    }
    /// `as=w1` is that worker's newest handle, `as=nobody` no fence at all.
    static LeaseRef lease(Scenario& s, Row& row) {
        const ExecutionId id = named(s, row);
        auto it = s.handles.find({s.subject_, row.get("as")});
        return it == s.handles.end() ? LeaseRef(id) : LeaseRef(it->second);
    }

    static std::string after(Scenario& s, Row& row) {
        s.advance(row.number());
        return "";
    }
    static std::string pass(Scenario& s, Row& row) {
        s.now += row.number();
        return "";
    }
    static std::string tick(Scenario& s, Row&) { return std::to_string(s.World::tick()); }

    static std::string create(Scenario& s, Row& row) {
        s.subject_ = row.next();
        CreateExecution args = create_args();
        args.lane_id = row.get("lane", args.lane_id);
        args.ns = row.get("ns", args.ns);
        args.execution_kind = row.get("kind", args.execution_kind);
        args.priority = static_cast<std::int32_t>(row.number("priority", 0));
        if (row.has("policy")) {
            args.policy = s.policies.at(row.get("policy"));
        }
        if (row.has("key")) {
            args.idempotency_key = row.get("key");
        }
        if (row.has("id")) {
            args.execution_id = s.id(row.get("id"));
        }
        if (row.has("delay")) {
            args.delay_until = s.now + row.number("delay", 0);
        }
        if (row.has("deadline")) {
            args.execution_deadline_at = s.now + row.number("deadline", 0);
        }
        return say(s.run(std::move(args)), [&](const CreateResult& r) -> std::string {
            if (!r.created) {
                return "duplicate " + s.name_of(r.execution_id);
            }
            s.ids[s.subject_] = r.execution_id;
            return "created";
        });
    }

    static std::string claim(Scenario& s, Row& row) {
        const std::string worker = row.next();
        Claim args = claim_args(worker);
        args.lanes = row.has("lane") ? row.list("lane") : args.lanes;
        args.capabilities = row.list("can");
        args.kinds = row.list("kinds");
        args.lease_ttl_ms = row.number("ttl", args.lease_ttl_ms);
        if (row.has("ns")) {
            args.ns = row.get("ns");
        }
        return say(s.run(std::move(args)), [&](const ClaimResult& r) -> std::string {
            if (r.tasks.empty()) {
                return "nothing";
            }
            s.subject_ = s.name_of(r.tasks[0].execution_id());
            return s.subject_ + " " + s.take(r.tasks[0], worker);
        });
    }
    static std::string claim_for_worker(Scenario& s, Row& row) {
        ClaimForWorker args;
        args.worker_id = row.next();
        args.worker_instance_id = args.worker_id + "-1";
        args.lane_id = row.get("lane", "main");
        args.capabilities = row.list("can");
        args.grant_ttl_ms = row.number("ttl", args.grant_ttl_ms);
        if (row.has("ns")) {
            args.ns = row.get("ns");
        }
        return say(s.run(std::move(args)), [&](const ClaimForWorkerResult& r) -> std::string {
            if (!r.grant) {
                return "nothing";
            }
            s.subject_ = s.name_of(r.grant->execution_id);
            return s.subject_ + " " + grant_text(*r.grant);
        });
    }
    static std::string grant_text(const Grant& grant) {
        return text(grant.kind) + " #" + std::to_string(grant.attempt_index);
    }
    static std::string issue_claim_grant(Scenario& s, Row& row) {
        auto args = addressed<IssueClaimGrant>(s, row);
        args.capabilities = row.list("can");
        args.grant_ttl_ms = row.number("ttl", args.grant_ttl_ms);
        return say(s.run(std::move(args)), grant_text);
    }
    template <class Args>
    static std::string use_grant(Scenario& s, Row& row) {
        auto args = addressed<Args>(s, row);
        args.lease_ttl_ms = row.number("ttl", args.lease_ttl_ms);
        return say(s.run(args),
                   [&](const ClaimedTask& task) { return s.take(task, args.worker_id); });
    }
    static std::string issue_grant_and_claim(Scenario& s, Row& row) {
        IssueGrantAndClaim args;
        args.execution_id = named(s, row);
        args.lane_id = "main";
        return say(s.run(std::move(args)), [&](const OperatorLease& lease) {
            s.handles[{s.subject_, ""}] = lease.handle;
            return lease_text(lease.attempt_index, lease.lease_epoch);
        });
    }
    static std::string issue_reclaim_grant(Scenario& s, Row& row) {
        auto args = addressed<IssueReclaimGrant>(s, row);
        args.worker_capabilities = row.list("can");
        args.grant_ttl_ms = row.number("ttl", args.grant_ttl_ms);
        return say(s.run(std::move(args)), [](const IssueReclaimGrantResult& r) -> std::string {
            switch (r.status) {
                case IssueReclaimGrantResult::Status::granted: return "granted";
                case IssueReclaimGrantResult::Status::not_reclaimable: return "not_reclaimable";
                case IssueReclaimGrantResult::Status::reclaim_cap_exceeded: break;
            }
            return "reclaim_cap_exceeded";
        });
    }
    static std::string reclaim_execution(Scenario& s, Row& row) {
        auto args = addressed<ReclaimExecution>(s, row);
        args.lease_ttl_ms = row.number("ttl", args.lease_ttl_ms);
        if (row.has("cap")) {
            args.max_reclaim_count = static_cast<std::uint32_t>(row.number("cap", 0));
        }
        return say(s.run(args), [&](const ReclaimResult& r) -> std::string {
            switch (r.status) {
                case ReclaimResult::Status::claimed: return s.take(*r.task, args.worker_id);
                case ReclaimResult::Status::not_reclaimable: return "not_reclaimable";
                case ReclaimResult::Status::reclaim_cap_exceeded: return "reclaim_cap_exceeded";
                case ReclaimResult::Status::grant_not_found: break;
            }
            return "grant_not_found";
        });
    }

    static std::string renew(Scenario& s, Row& row) {
        Renew args{lease(s, row), row.number("ttl", 30'000)};
        return say(s.run(std::move(args)), [&](const RenewResult& r) {
            return signed_text(r.expires_at_ms - s.now) + " e" + std::to_string(r.lease_epoch);
        });
    }
    static std::string progress(Scenario& s, Row& row) {
        Progress args{lease(s, row), std::nullopt, std::nullopt};
        args.percent = static_cast<std::int32_t>(row.number());
        return say(s.run(std::move(args)), ok<Done>);
    }
    static std::string complete(Scenario& s, Row& row) {
        Complete args{.lease = lease(s, row)};
        if (row.has("result")) {
            args.result_payload = row.get("result");
        }
        return say(s.run(std::move(args)), state);
    }
    static std::string fail(Scenario& s, Row& row) {
        Fail args{.lease = lease(s, row), .failure_reason = row.get("reason", "boom")};
        args.failure_category = row.next();
        return say(s.run(std::move(args)), [&](const FailResult& r) -> std::string {
            return r.retry_scheduled ? "retry " + signed_text(r.delay_until - s.now) + " #" +
                                           std::to_string(r.next_attempt_index)
                                     : "failed";
        });
    }
    static std::string cancel(Scenario& s, Row& row) {
        CancelExecution args{lease(s, row), row.get("reason", "enough"),
                             row.get("source", "operator_override")};
        return say(s.run(std::move(args)), state);
    }
    static std::string delay(Scenario& s, Row& row) {
        Delay args{.lease = lease(s, row)};
        args.delay_until = s.now + row.number();
        return say(s.run(std::move(args)), state);
    }
    static std::string wait_children(Scenario& s, Row& row) {
        return say(s.run(WaitChildren{.lease = lease(s, row)}), state);
    }
    static std::string release(Scenario& s, Row& row) {
        return say(s.run(Release{.lease = lease(s, row)}), state);
    }

    static std::string mark_lease_expired(Scenario& s, Row& row) {
        return say(s.run(MarkLeaseExpiredIfDue{named(s, row)}),
                   [](const MarkLeaseExpiredResult& r) { return std::string(r.outcome); });
    }
    static std::string revoke_lease(Scenario& s, Row& row) {
        RevokeLease args{.execution_id = named(s, row)};
        if (row.has("instance")) {
            args.worker_instance_id = row.get("instance");
        }
        return say(s.run(std::move(args)), [](const RevokeResult& r) {
            return r.revoked ? "revoked e" + std::to_string(r.lease_epoch) : std::string(r.reason);
        });
    }
    static std::string change_priority(Scenario& s, Row& row) {
        ChangePriority args{.execution_id = named(s, row)};
        args.new_priority = static_cast<std::int32_t>(row.number());
        return say(s.run(args), ok<StateResult>);
    }
    static std::string replay(Scenario& s, Row& row) {
        return say(s.run(ReplayExecution{named(s, row)}), state);
    }
    static std::string block(Scenario& s, Row& row) {
        BlockExecution args{.execution_id = named(s, row)};
        args.reason = row.next();
        return say(s.run(std::move(args)), [](const BlockResult& r) {
            return std::string(r.blocked ? "blocked" : "rejected");
        });
    }
    static std::string unblock(Scenario& s, Row& row) {
        UnblockExecution args{.execution_id = named(s, row)};
        if (const std::string reason = row.next(); !reason.empty()) {
            args.expected_reason = reason;
        }
        return say(s.run(std::move(args)), ok<Done>);
    }
    static std::string lane(Scenario& s, Row& row) {
        SetLaneState args{.lane_id = row.next()};
        args.state = parse_enum<LaneState>(row.next()).value();
        return say(s.run(std::move(args)), ok<Done>);
    }
};

const std::map<std::string_view, Scenario::Commands::Function>& Scenario::Commands::table() {
    static const std::map<std::string_view, Function> commands = {
        {"after", after},
        {"pass", pass},
        {"tick", tick},
        {"create", create},
        {"claim", claim},
        {"claim_for_worker", claim_for_worker},
        {"issue_claim_grant", issue_claim_grant},
        {"claim_execution", use_grant<ClaimExecution>},
        {"claim_resumed_execution", use_grant<ClaimResumedExecution>},
        {"issue_grant_and_claim", issue_grant_and_claim},
        {"issue_reclaim_grant", issue_reclaim_grant},
        {"reclaim_execution", reclaim_execution},
        {"renew", renew},
        {"progress", progress},
        {"complete", complete},
        {"fail", fail},
        {"cancel", cancel},
        {"delay", delay},
        {"wait_children", wait_children},
        {"release", release},
        {"mark_lease_expired", mark_lease_expired},
        {"revoke_lease", revoke_lease},
        {"change_priority", change_priority},
        {"replay", replay},
        {"block", block},
        {"unblock", unblock},
        {"lane", lane},
    };
    return commands;
}

// ---------------------------------------------------------------------------------- the state

std::string Scenario::fact(const core::Execution& e, const std::string& name) const {
    const auto time = [&](const std::optional<TimestampMs>& at) {
        return at ? signed_text(*at - now) : "none";
    };
    const std::map<std::string, std::string> facts = {
        {"epoch", std::to_string(e.lease_epoch)},
        {"attempts", std::to_string(e.total_attempt_count)},
        {"retries", std::to_string(e.retry_count)},
        {"replays", std::to_string(e.replay_count)},
        {"reclaims", std::to_string(e.lease_reclaim_count)},
        {"priority", std::to_string(e.priority)},
        {"type", text(e.attempt_type)},
        {"reason", e.failure_reason.value_or("none")},
        {"worker", e.worker_id.value_or("none")},
        // Times, from now on.
        {"delay", time(e.delay_until)},
        {"expires", time(e.lease_expires_at)},
        {"attempt_deadline", time(e.attempt_deadline_at)},
        {"deadline", time(e.execution_deadline_at)},
        {"timer", time(e.timer_at)},
        {"started", time(e.started_at)},
    };
    auto it = facts.find(name);
    return it == facts.end() ? "unknown fact" : it->second;
}

/// What of the expected words does not hold; empty when all do.
std::string Scenario::differences(std::string_view expected) const {
    std::string wrong;
    std::string subject = subject_;
    for (const std::string& word : words_of(expected)) {
        if (word.ends_with(':')) {
            subject = word.substr(0, word.size() - 1);
            continue;
        }
        const core::Execution* e = find(id(subject));
        if (e == nullptr || word == "gone") {
            wrong += (e == nullptr) == (word == "gone") ? "" : " " + word;
            continue;
        }
        const auto equals = word.find('=');
        if (equals != std::string::npos) {
            const std::string is = fact(*e, word.substr(0, equals));
            wrong += is == word.substr(equals + 1) ? "" : " " + word + " (is " + is + ")";
            continue;
        }
        const std::set<std::string> is = {
            text(e->public_state),       text(e->state.phase),   text(e->state.ownership),
            text(e->state.eligibility),  text(e->state.outcome), text(e->state.blocking_reason),
            text(e->state.attempt_state)};
        wrong += is.contains(word) ? ""
                                   : " " + word + " (is " + text(e->public_state) + " " +
                                         text(e->state.attempt_state) + ")";
    }
    return wrong;
}

void Scenario::play(std::string_view table, std::source_location where) {
    for (const std::string& line : split(std::string(table), '\n')) {
        const std::string content = trimmed(line);
        if (content.empty() || content.starts_with('#')) {
            continue;
        }
        std::vector<std::string> columns = split(content, '|');
        columns.resize(3);
        if (!trimmed(columns[0]).empty()) {
            Row row(columns[0]);
            const auto command = Commands::table().find(row.next());
            ASSERT_NE(command, Commands::table().end()) << content;
            const std::string answer = command->second(*this, row);
            const std::string expected = trimmed(columns[1]);
            if (!expected.empty() && answer != expected) {
                ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
                    << content << "\n  answered: " << answer;
            }
        }
        if (const std::string wrong = differences(columns[2]); !wrong.empty()) {
            ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
                << content << "\n  does not hold:" << wrong;
        }
    }
}

}  // namespace ff::testing
