// Tenants that share a lane. One hands in much at once, another little a moment later: they take
// turns by their key, and no tenant runs more than two at a time.
#include <ff/testing.h>
#include <ff/flowfabric.hpp>

#include <cstdio>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <string>

namespace {

constexpr ff::QuotaPolicyId two_each{ff::Uuid{{0xfa, 0x1e}}};

void run() {
    const auto engine = std::make_shared<ff::testing::Engine>();
    ff::Client client(engine, {.ns = "examples"});
    ff::CreateQuotaPolicy quota;
    quota.quota_policy_id = two_each;
    quota.limits.max_concurrent = 2;
    quota.limits.per_key = true;
    ff::value_or_throw(engine->run(quota));
    ff::value_or_throw(
        engine->run(ff::AttachQuota{two_each, ff::LimitTarget::namespace_, "examples"}));

    for (const auto& [tenant, jobs] : {std::pair{"whale", 6}, {"shrimp", 2}, {"crab", 3}}) {
        for (int i = 1; i <= jobs; ++i) {
            client.submit(
                ff::Submit("render", tenant + (" " + std::to_string(i))).limit_key(tenant));
        }
    }
    ff::Claim claim;
    claim.lanes = {"default"};
    claim.ns = "examples";
    claim.worker_id = "renderer";
    claim.worker_instance_id = "renderer-1";
    claim.max_tasks = 100;
    for (int round = 1;; ++round) {
        const auto given = ff::value_or_throw(engine->run(claim));
        if (given.tasks.empty()) {
            break;
        }
        std::printf("round %d:", round);
        for (const ff::ClaimedTask& task : given.tasks) {
            std::printf(" %s,", task.input_payload.c_str());
        }
        std::printf(" and no more\n");
        for (const ff::ClaimedTask& task : given.tasks) {
            ff::value_or_throw(engine->run(ff::Complete{task.handle, "", {}}));
        }
    }
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fair_tenants: %s\n", error.what());
        return 1;
    }
}
