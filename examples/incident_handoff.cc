// Incident hand-off: a worker dies with work in hand, an operator gives that work to a named second
// worker, and after too many such hand-overs the execution fails for good.
#include <ff/testing.h>
#include <ff/flowfabric.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

namespace {

using Status = ff::IssueReclaimGrantResult::Status;

/// A worker that takes one execution and is never heard of again.
void claim_and_die(ff::testing::Engine& engine, const std::string& name) {
    ff::Claim claim;
    claim.lanes = {"incidents"};
    claim.worker_id = name;
    claim.worker_instance_id = name + "-1";
    claim.lease_ttl_ms = 10'000;
    const auto claimed = ff::value_or_throw(engine.run(claim));
    std::printf("%s took attempt %u and died\n", name.c_str(),
                claimed.tasks.at(0).handle.attempt_index);
    engine.advance(std::chrono::seconds(10));
}

ff::IssueReclaimGrantResult grant_to(ff::Client& client, const ff::ExecutionId& id,
                                     const std::string& worker) {
    ff::IssueReclaimGrant op;
    op.execution_id = id;
    op.worker_id = worker;
    op.worker_instance_id = worker + "-1";
    op.lane_id = "incidents";
    return client.issue_reclaim_grant(op);
}

void run() {
    const auto engine = std::make_shared<ff::testing::Engine>();
    ff::Client client(engine, {.ns = "examples"});
    const auto id =
        client.submit(ff::Submit("repair", "pump 7").lane("incidents").reclaims(1)).id();

    claim_and_die(*engine, "anna");
    for (const ff::ExpiredLease& lost : client.expired_leases()) {
        std::printf("expired: the lease of %s\n", lost.worker_instance_id.c_str());
    }

    // The second one is named in the grant: nobody else can use it.
    const auto granted = grant_to(client, id, "bert");
    ff::ReclaimExecution take_over;
    take_over.execution_id = id;
    take_over.worker_id = "bert";
    take_over.worker_instance_id = "bert-1";
    take_over.lane_id = "incidents";
    take_over.lease_ttl_ms = 10'000;
    const auto taken = client.claim_reclaimed(*granted.grant, take_over);
    std::printf("bert took over attempt %u: %s\n", taken.task->handle.attempt_index,
                std::string(ff::to_string(taken.task->attempt_type)).c_str());
    engine->advance(std::chrono::seconds(10));
    std::printf("bert died too\n");

    const auto third = grant_to(client, id, "carl");
    std::printf("carl may %s: %u hand-over is the most\n",
                third.status == Status::reclaim_cap_exceeded ? "not" : "", third.reclaim_count);
    const auto ended = client.wait(id, std::chrono::seconds(10));
    std::printf("%s: %s\n", std::string(ff::to_string(ended.state)).c_str(), ended.reason.c_str());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "incident_handoff: %s\n", error.what());
        return 1;
    }
}
