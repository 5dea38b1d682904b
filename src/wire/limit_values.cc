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
    const json* const hard = value.find("hard");
    const json* const soft = value.find("soft");
    // One that is left out is none. Both are left out when a name is misspelt.
    if (hard == nullptr && soft == nullptr) {
        return ": expected hard, soft or both";
    }
    for (const auto& [name, member, into] :
         {std::tuple{"hard", hard, &out.hard}, {"soft", soft, &out.soft}}) {
        if (member != nullptr) {
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

}  // namespace ff::wire
