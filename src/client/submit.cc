#include <ff/submit.h>

#include <utility>

namespace ff {

void Submit::refuse(std::string_view member, Error error) {
    if (!fault_) {
        error.detail = std::string(member) + ": " + error.detail;
        fault_ = std::move(error);
    }
}

void Submit::refuse(std::string_view member, std::string why) {
    refuse(member, Error{ErrorCode::invalid_input, std::move(why), {}});
}

Policy& Submit::own_policy() { return policy_ ? *policy_ : policy_.emplace(); }

RetryPolicy& Submit::own_retries() {
    auto& retries = own_policy().retry_policy;
    return retries ? *retries : retries.emplace();
}

TimeoutPolicy& Submit::own_timeouts() {
    auto& timeouts = own_policy().timeout_policy;
    return timeouts ? *timeouts : timeouts.emplace();
}

Submit& Submit::lane(std::string name) {
    if (name.empty()) {
        refuse("lane", "it is empty; leave the call out for the lane `default`");
    }
    op_.lane_id = std::move(name);
    return *this;
}

Submit& Submit::tag(std::string key, std::string value) {
    op_.tags.insert_or_assign(std::move(key), std::move(value));
    return *this;
}

Submit& Submit::idempotency_key(std::string key) {
    if (key.empty()) {
        refuse("idempotency_key", "it is empty, and would make nothing the same as before");
    }
    op_.idempotency_key = std::move(key);
    return *this;
}

Submit& Submit::priority(std::int32_t value) {
    if (value < 0 || value > priority_max) {
        refuse("priority",
               std::to_string(value) + " is not within 0 and " + std::to_string(priority_max));
    }
    op_.priority = value;
    return *this;
}

Submit& Submit::encoding(std::string name) {
    op_.payload_encoding = std::move(name);
    return *this;
}

Submit& Submit::creator(std::string identity) {
    op_.creator_identity = std::move(identity);
    return *this;
}

Submit& Submit::deterministic(const Uuid& uuid) {
    uuid_ = uuid;
    return *this;
}

Submit& Submit::delay_until(TimestampMs at) {
    op_.delay_until = at;
    delay_.reset();
    return *this;
}

Submit& Submit::delay(std::chrono::milliseconds by) {
    if (by.count() < 0) {
        refuse("delay", "it is negative");
    }
    delay_ = by;
    op_.delay_until.reset();
    return *this;
}

Submit& Submit::deadline_at(TimestampMs at) {
    op_.execution_deadline_at = at;
    return *this;
}

Submit& Submit::deadline(std::chrono::milliseconds after_creation) {
    if (after_creation.count() <= 0) {
        refuse("deadline", "it is not after the creation");
    }
    own_timeouts().execution_deadline_ms = after_creation.count();
    op_.execution_deadline_at.reset();
    return *this;
}

Submit& Submit::policy(Policy policy) {
    policy_ = std::move(policy);
    return *this;
}

Submit& Submit::policy(std::string_view text) {
    auto parsed = Policy::parse(text, UnknownMembers::refused);
    if (parsed) {
        policy_ = std::move(*parsed);
    } else {
        refuse("policy", std::move(parsed).error());
    }
    return *this;
}

Submit& Submit::retries(std::uint32_t most) {
    own_retries().max_retries = most;
    return *this;
}

Submit& Submit::backoff(Backoff backoff) {
    own_retries().backoff = backoff;
    return *this;
}

Submit& Submit::limit_key(std::string key) {
    own_policy().limit_key = std::move(key);
    return *this;
}

Submit& Submit::capabilities(std::vector<std::string> required) {
    Policy& policy = own_policy();
    if (!policy.routing_requirements) {
        policy.routing_requirements.emplace();
    }
    policy.routing_requirements->required_capabilities = std::move(required);
    return *this;
}

Submit& Submit::attempt_timeout(std::chrono::milliseconds most) {
    if (most.count() <= 0) {
        refuse("attempt_timeout", "it leaves an attempt no time");
    }
    own_timeouts().attempt_timeout_ms = most.count();
    return *this;
}

Submit& Submit::reclaims(std::uint32_t most) {
    own_policy().max_reclaim_count = most;
    return *this;
}

expected<CreateExecution> Submit::build(Clock& clock) const {
    if (fault_) {
        return std::unexpected(*fault_);
    }
    CreateExecution op = op_;
    if (op.lane_id.empty()) {
        op.lane_id = "default";
    }
    if (delay_) {
        op.delay_until = later(clock.now(), *delay_);
    }
    if (policy_) {
        op.policy = policy_->to_json();
    }
    return op;
}

}  // namespace ff
