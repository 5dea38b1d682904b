// The metrics of a server: requests by route, and what its engine did.
#include "http/server_metrics.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/exposition.h"
#include "http/test_server.h"

namespace ff::http {
namespace {

using std::chrono::milliseconds;
using Labels = std::map<std::string, std::string>;

ParsedExposition parsed(const ServerMetrics& metrics) {
    ParsedExposition out = parse_exposition(metrics.scrape());
    for (const std::string& fault : out.faults) {
        ADD_FAILURE() << fault;
    }
    return out;
}

TEST(ServerMetrics, RequestsAreCountedByMethodTemplateAndStatus) {
    ServerMetrics metrics("1.2.3", "sqlite");
    RouteMetrics& route = metrics.route("POST", "/v1/executions/{id}/cancel");
    route.answered(200, milliseconds(3));
    route.answered(200, milliseconds(40));
    route.answered(409, milliseconds(1));
    route.answered(7, milliseconds(1));
    metrics.route("BREW", "").answered(404, milliseconds(1));
    const ParsedExposition out = parsed(metrics);
    const auto labels = [](std::string method, std::string path, std::string status) {
        return Labels{{"method", method}, {"path", path}, {"status", status}};
    };
    const std::string path = "/v1/executions/{id}/cancel";
    EXPECT_EQ(out.value("ff_http_requests_total", labels("POST", path, "200")), 2);
    EXPECT_EQ(out.value("ff_http_requests_total", labels("POST", path, "409")), 1);
    EXPECT_EQ(out.value("ff_http_requests_total", labels("POST", path, "500")), 1);
    EXPECT_EQ(out.value("ff_http_requests_total", labels("OTHER", "unknown", "404")), 1);
    EXPECT_EQ(out.value("ff_http_request_duration_seconds_count", labels("POST", path, "200")), 2);
    EXPECT_NEAR(*out.value("ff_http_request_duration_seconds_sum", labels("POST", path, "200")),
                0.043, 1e-6);
    EXPECT_EQ(&route, &metrics.route("POST", path));
}

TEST(ServerMetrics, RefusalsBeforeRoutingCountAsUnknown) {
    std::mutex mutex;
    std::vector<std::string> seen;  // guarded by mutex
    test::TestOptions options;
    options.service.gate.api_token = "secret";
    options.service.finished = [&](const RequestHead& head, const Route* route, int status,
                                   std::chrono::nanoseconds) {
        const std::lock_guard lock(mutex);
        seen.push_back(head.method + " " + (route != nullptr ? route->path : "unknown") + " " +
                       std::to_string(status));
    };
    const test::TestServer server(std::move(options));
    const std::vector<std::string> token{"Authorization: Bearer secret"};
    EXPECT_EQ(server.get("/v1/lanes").status, 401);
    EXPECT_EQ(server.ask(test::request_text("GET", "/v1/nothing", {}, token)).status, 404);
    EXPECT_EQ(server.ask(test::request_text("PUT", "/v1/executions", {}, token)).status, 405);
    EXPECT_EQ(server.ask(test::request_text("GET", "/v1/lanes", {}, token)).status, 200);
    EXPECT_TRUE(test::eventually("all are counted", [&] {
        const std::lock_guard lock(mutex);
        return seen.size() == 4;
    }));
    EXPECT_EQ(seen, (std::vector<std::string>{"GET unknown 401", "GET unknown 404",
                                              "PUT unknown 405", "GET /v1/lanes 200"}));
}

TEST(ServerMetrics, EventsAndFramesAreToldByFamilyAndMode) {
    EngineStats stats;
    stats.event_lag[static_cast<std::size_t>(EventFamily::completion)] = 7;
    stats.event_readers[static_cast<std::size_t>(EventFamily::workers)] = 3;
    stats.frames[static_cast<std::size_t>(FrameMode::best_effort)] = 11;
    stats.inconsistent_executions = 2;
    ServerMetrics metrics("1", "sqlite");
    metrics.watch([&] { return stats; });
    const ParsedExposition out = parsed(metrics);
    EXPECT_EQ(out.value("ff_event_lag", {{"family", "completion"}}), 7);
    EXPECT_EQ(out.value("ff_event_lag", {{"family", "workers"}}), 0);
    EXPECT_EQ(out.value("ff_event_subscribers", {{"family", "workers"}}), 3);
    EXPECT_EQ(out.value("ff_stream_frames_total", {{"mode", "best_effort"}}), 11);
    EXPECT_EQ(out.value("ff_stream_frames_total", {{"mode", "durable"}}), 0);
    EXPECT_EQ(out.value("ff_inconsistent_executions"), 2);
}

TEST(ServerMetrics, JoinsAndCancelsOfFlowsAreTold) {
    EngineStats stats;
    stats.flows.policies_set[static_cast<std::size_t>(GroupPolicyKind::quorum)] = 2;
    stats.flows.joins_satisfied = 3;
    stats.flows.siblings_cancelled = 5;
    stats.flows.siblings_spared = 1;
    stats.flows.joins_resumed = 4;
    stats.flows.cancel_backlog = 6;
    ServerMetrics metrics("1", "sqlite");
    metrics.watch([&] { return stats; });
    const ParsedExposition out = parsed(metrics);
    EXPECT_EQ(out.value("ff_edge_group_policy_total", {{"policy", "quorum"}}), 2);
    EXPECT_EQ(out.value("ff_edge_group_policy_total", {{"policy", "all_of"}}), 0);
    EXPECT_EQ(
        out.value("ff_sibling_cancel_dispatched_total", {{"reason", "sibling_quorum_satisfied"}}),
        3);
    EXPECT_EQ(
        out.value("ff_sibling_cancel_dispatched_total", {{"reason", "sibling_quorum_impossible"}}),
        0);
    EXPECT_EQ(out.value("ff_sibling_cancel_disposition_total", {{"disposition", "cancelled"}}), 5);
    EXPECT_EQ(out.value("ff_sibling_cancel_disposition_total", {{"disposition", "spared"}}), 1);
    EXPECT_EQ(out.value("ff_sibling_cancel_reconcile_total", {{"action", "completed_drain"}}), 4);
    EXPECT_EQ(out.value("ff_cancel_backlog_depth", {}), 6);
}

TEST(ServerMetrics, ManyThreadsMayAnswerOneRoute) {
    ServerMetrics metrics("1", "sqlite");
    RouteMetrics& route = metrics.route("GET", "/v1/x");
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&route] {
            for (int i = 0; i < 1'000; ++i) {
                route.answered(200 + i % 10, milliseconds(1));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const ParsedExposition out = parsed(metrics);
    for (int status = 200; status < 210; ++status) {
        EXPECT_EQ(
            out.value("ff_http_requests_total",
                      {{"method", "GET"}, {"path", "/v1/x"}, {"status", std::to_string(status)}}),
            800);
    }
}

TEST(ServerMetrics, SayWhatIsRunning) {
    ServerMetrics metrics("1.2.3", "postgres");
    const ParsedExposition out = parsed(metrics);
    EXPECT_EQ(out.value("ff_build_info", {{"version", "1.2.3"}, {"store", "postgres"}}), 1);
    EXPECT_EQ(out.value("ff_shutdown_timeout_total"), 0);
    metrics.shutdown_timeouts().add();
    EXPECT_EQ(parsed(metrics).value("ff_shutdown_timeout_total"), 1);
}

TEST(ServerMetrics, LanesOfGrantsAreFolded) {
    ServerMetrics metrics("1", "sqlite");
    for (int i = 0; i < 100; ++i) {
        metrics.claim_from_grant("lane" + std::to_string(i)).observe(milliseconds(1));
    }
    const ParsedExposition out = parsed(metrics);
    EXPECT_EQ(out.value("ff_claim_from_grant_duration_seconds_count", {{"lane", "other"}}), 36);
}

/// What a worker with a grant does: a grant from a lane, and what the claim with it is answered.
test::RawAnswer claim_with_grant(const test::TestServer& server, std::string_view kind = {}) {
    const test::RawAnswer grant =
        server.post("/v1/workers/w/claim",
                    R"({"lane_id":"default","worker_instance_id":"i","grant_ttl_ms":5000})");
    EXPECT_EQ(grant.status, 200) << grant.body;
    json body{{"worker_id", "w"},
              {"worker_instance_id", "i"},
              {"lane_id", "default"},
              {"grant_key", grant.member("grant_key")}};
    if (!kind.empty()) {
        body.set("kind", kind);
    }
    return server.post("/v1/executions/" + test::encoded(grant.member("execution_id")) + "/claim",
                       js::dump(body));
}

TEST(ServerMetrics, AGrantThatBecomesALeaseIsTimedByLane) {
    ServerMetrics metrics("1", "sqlite");
    test::TestOptions options;
    options.service.claimed_from_grant = [&](std::string_view lane, std::chrono::nanoseconds took) {
        EXPECT_GT(took.count(), 0);
        metrics.claim_from_grant(lane).observe(took);
    };
    const test::TestServer server(std::move(options));
    const auto timed = [&] {
        return parsed(metrics)
            .value("ff_claim_from_grant_duration_seconds_count", {{"lane", "default"}})
            .value_or(0);
    };
    const std::string id = server.create();
    const test::RawAnswer fresh = claim_with_grant(server);
    EXPECT_EQ(fresh.status, 200) << fresh.body;
    EXPECT_EQ(timed(), 1);
    const std::string path = "/v1/executions/" + test::encoded(id);
    const auto release = [&](const test::RawAnswer& task) {
        const std::string handle = R"({"handle":")" + task.member("handle") + "\"}";
        EXPECT_EQ(server.post(path + "/attempts/0/release", handle).status, 200);
    };
    release(fresh);
    const test::RawAnswer resumed = claim_with_grant(server);
    EXPECT_EQ(resumed.member("resumed"), "true");
    EXPECT_EQ(timed(), 2) << "once, though two operations were tried";
    release(resumed);
    EXPECT_EQ(claim_with_grant(server, "resume").status, 200);
    EXPECT_EQ(timed(), 3);

    const std::string worker =
        R"({"worker_id":"w2","worker_instance_id":"i2","lane_id":"default","grant_ttl_ms":5000})";
    EXPECT_EQ(server.post(path + "/revoke-lease", "").status, 200);
    EXPECT_EQ(server.post(path + "/reclaim", worker).member("status"), "granted");
    EXPECT_EQ(server.post(path + "/claim-reclaimed", worker).member("status"), "claimed");
    EXPECT_EQ(timed(), 4);

    EXPECT_EQ(server.post(path + "/claim-reclaimed", worker).member("status"), "grant_not_found");
    EXPECT_EQ(server
                  .post(path + "/claim", R"({"worker_id":"w","worker_instance_id":"i",)"
                                         R"("lane_id":"default","grant_key":"none"})")
                  .status,
              409);
    EXPECT_EQ(timed(), 4) << "a refusal is no claim";
}

TEST(ServerMetrics, TellWhatTheEngineDid) {
    auto opened = Engine::open("memory:");
    ASSERT_TRUE(opened) << opened.error().message();
    Engine& engine = **opened;
    ServerMetrics metrics("1", "memory");
    metrics.watch(engine);
    ASSERT_TRUE(engine.run(CreateExecution{.ns = "n", .lane_id = "mail", .execution_kind = "k"}));
    auto claimed = engine.run(
        Claim{.lanes = {"mail"}, .worker_id = "w", .worker_instance_id = "w1", .max_wait_ms = 0});
    ASSERT_TRUE(claimed && claimed->tasks.size() == 1);
    ASSERT_TRUE(engine.run(Renew{.lease = claimed->tasks[0].handle}));
    EXPECT_FALSE(engine.run(
        DeliverSignal{.execution_id = claimed->tasks[0].execution_id(), .signal_name = "go"}));
    ASSERT_TRUE(engine.run(Complete{.lease = claimed->tasks[0].handle}));
    EXPECT_FALSE(engine.run(Renew{.lease = claimed->tasks[0].handle}));
    ASSERT_TRUE(engine.run(RunScanner{"grant_sweep"}));
    const ParsedExposition out = parsed(metrics);
    EXPECT_EQ(out.value("ff_claims_total", {{"lane", "mail"}}), 1);
    EXPECT_EQ(out.value("ff_attempt_outcome_total", {{"lane", "mail"}, {"outcome", "ok"}}), 1);
    EXPECT_EQ(out.value("ff_attempt_outcome_total", {{"lane", "mail"}, {"outcome", "error"}}), 0);
    EXPECT_EQ(out.value("ff_lease_renewal_total", {{"outcome", "ok"}}), 1);
    EXPECT_EQ(out.value("ff_lease_renewal_total", {{"outcome", "err"}}), 1);
    EXPECT_EQ(out.value("ff_waitpoint_token_refused_total", {{"code", "missing_token"}}), 1);
    EXPECT_EQ(out.value("ff_waitpoint_token_refused_total", {{"code", "invalid_token"}}), 0);
    EXPECT_EQ(out.value("ff_store_tx_duration_seconds_count", {{"op", "transaction"}}), 4);
    EXPECT_EQ(out.value("ff_store_retries_total", {{"reason", "busy"}}), 0);
    EXPECT_EQ(out.value("ff_scanner_cycle_total", {{"scanner", "grant_sweep"}}), 1);
    EXPECT_EQ(out.value("ff_poll_waiting"), 0);
}

}  // namespace
}  // namespace ff::http
