// What only requests of budgets and quotas have.
#include "wire/request_in.h"
#include "wire/request_out.h"
#include "wire/request_schema.h"
#include "wire/requests.h"

namespace ff::wire {

void write(std::string& out, const BudgetLimit& limit) {
    out += "{\"hard\":";
    write_number(out, limit.hard);
    out += ",\"soft\":";
    write_number(out, limit.soft);
    out.push_back('}');
}

Fault read(const json& value, BudgetLimit& out) {
    if (value.if_object() == nullptr) {
        return ": expected an object";
    }
    for (const auto& [name, into] : {std::pair{"hard", &out.hard}, {"soft", &out.soft}}) {
        if (const json* member = value.find(name)) {
            if (Fault fault = read(*member, *into); !fault.empty()) {
                return "." + std::string(name) + fault;
            }
        }
    }
    return {};
}

// ------------------------------------------------------------------------------------- reading

namespace {

struct GivenNumber {
    const char* name;
    std::uint64_t QuotaLimits::* member;
};
constexpr GivenNumber given_numbers[] = {{"window_seconds", &QuotaLimits::window_seconds},
                                         {"rate_limit", &QuotaLimits::max_requests_per_window},
                                         {"concurrency_cap", &QuotaLimits::max_concurrent},
                                         {"jitter_ms", &QuotaLimits::jitter_ms}};

}  // namespace

void RequestIn::budget_id(BudgetId& id) { named_id("budget_id", id); }
void RequestIn::quota_id(QuotaPolicyId& id) { named_id("quota_policy_id", id); }

void RequestIn::required_id(std::string_view name, AnyValue id) {
    const json* member = wanted(name);
    if (member == nullptr) {
        return;
    }
    Fault fault = id.read(*member);
    if (!fault.empty() && member->if_string() != nullptr) {
        keep_id(name, fault.substr(2));
    } else {
        keep(name, std::move(fault));
    }
}

void RequestIn::given_limits(std::optional<QuotaLimits>& limits) {
    for (const GivenNumber& number : given_numbers) {
        if (const json* member = member_of(number.name); member != nullptr && !member->is_null()) {
            if (!limits) {
                limits.emplace();
            }
            keep(number.name, read(*member, (*limits).*number.member));
        }
    }
}

void RequestOut::given_limits(std::optional<QuotaLimits>& limits) {
    if (limits) {
        for (const GivenNumber& number : given_numbers) {
            body_.field(number.name, (*limits).*number.member);
        }
    }
}

void RequestSchema::given_limits(std::optional<QuotaLimits>& /*limits*/) {
    for (const GivenNumber& number : given_numbers) {
        member(number.name, schemas::of(std::uint64_t{}), false);
    }
}

json schemas::of(const BudgetLimit& /*limit*/) {
    return json{{"type", "object"},
                {"properties", json{{"hard", of(std::uint64_t{})}, {"soft", of(std::uint64_t{})}}}};
}

}  // namespace ff::wire
