// What an engine says of its background jobs and its store.
#include "engine/conformance.h"

#include <algorithm>
#include <set>

#include "store/schema.h"

namespace ff::engine::test {

class ReportConformance : public Conformance {
  protected:
    ScannerInfo scanner(const std::string& name) {
        for (const ScannerInfo& info : ok(ListScanners{})) {
            if (info.scanner == name) {
                return info;
            }
        }
        ADD_FAILURE() << "no scanner " << name;
        return {};
    }
};
FF_ON_EVERY_ENGINE(ReportConformance);

TEST_P(ReportConformance, EveryScannerIsListedOnceWithItsPeriod) {
    EngineOptions options;
    options.scanner_periods_ms = {{"grant_sweep", 700}, {"unblock", 0}};
    options.background = false;
    open_with(options);
    std::set<std::string> names;
    for (const ScannerInfo& info : ok(ListScanners{})) {
        EXPECT_TRUE(names.insert(info.scanner).second) << info.scanner;
        EXPECT_EQ(info.cycles, 0U) << info.scanner;
        EXPECT_FALSE(info.last_run_at) << info.scanner;
    }
    const std::set<std::string> all{
        "attempt_timeout",       "cancel_reconciler",      "delayed_promoter",
        "dependency_reconciler", "edge_cancel_dispatcher", "edge_cancel_reconciler",
        "event_trimmer",         "execution_deadline",     "flow_projector",
        "grant_sweep",           "idempotency_sweep",      "index_reconciler",
        "lease_expiry",          "pending_wp_expiry",      "retention_trimmer",
        "budget_reconciler",     "budget_reset",           "quota_reconciler",
        "stream_trimmer",        "suspension_timeout",     "unblock",
        "worker_ttl_sweep"};
    EXPECT_EQ(names, all);
    EXPECT_EQ(scanner("grant_sweep").period_ms, 700);
    EXPECT_EQ(scanner("unblock").period_ms, 0);
    EXPECT_EQ(scanner("lease_expiry").period_ms, 1'500);
}

TEST_P(ReportConformance, APassIsCountedWithWhatItDid) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.background = false;
    open_with(options);
    ok(registration("i1"));
    ok(registration("i2"));
    clock().advance(3'600'000);
    EXPECT_EQ(ok(RunScanner{"worker_ttl_sweep"}).processed, 2U);
    const ScannerInfo once = scanner("worker_ttl_sweep");
    EXPECT_EQ(once.cycles, 1U);
    EXPECT_EQ(once.processed, 2U);
    EXPECT_EQ(once.errors, 0U);
    EXPECT_EQ(once.last_run_at, now());
    EXPECT_EQ(once.total_duration_us, once.last_duration_us);
    clock().advance(5);
    EXPECT_EQ(ok(RunScanner{"worker_ttl_sweep"}).processed, 0U);
    const ScannerInfo twice = scanner("worker_ttl_sweep");
    EXPECT_EQ(twice.cycles, 2U);
    EXPECT_EQ(twice.processed, 2U);
    EXPECT_EQ(twice.last_run_at, now());
    EXPECT_EQ(twice.total_duration_us, once.last_duration_us + twice.last_duration_us);
    EXPECT_EQ(scanner("grant_sweep").cycles, 0U);
}

TEST_P(ReportConformance, PassesInTheBackgroundAreCountedToo) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.scanner_periods_ms = {{"grant_sweep", 100}};
    open_with(options);
    after(100);
    settle();
    EXPECT_GE(scanner("grant_sweep").cycles, 1U);
    const std::uint64_t before = scanner("grant_sweep").cycles;
    after(100);
    settle();
    EXPECT_GT(scanner("grant_sweep").cycles, before);
}

TEST_P(ReportConformance, TheStoreSaysWhatItIs) {
    EngineOptions options;
    options.flow_partitions = 4;
    open_with(options);
    const StoreReport report = ok(ReadStoreReport{});
    const Capabilities capabilities = ok(ReadCapabilities{});
    EXPECT_EQ(report.family, capabilities.family);
    EXPECT_EQ(report.durability, capabilities.durability);
    EXPECT_EQ(report.partitions, capabilities.partitions);
    EXPECT_EQ(report.partitions.flow, 4);
    EXPECT_EQ(report.schema_version,
              static_cast<std::uint32_t>(store::migrations().back().version));
    EXPECT_EQ(report.wake_ups.empty(), report.family != "postgres");
    EXPECT_TRUE(report.prepared == "no_op" || report.prepared.starts_with("applied: "))
        << report.prepared;
}

TEST_P(ReportConformance, TheSizeOfAStoreGrowsWithWhatIsInIt) {
    const auto total = [&] {
        const StoreReport report = ok(ReadStoreReport{});
        return report.bytes + report.log_bytes;
    };
    const StoreReport empty = ok(ReadStoreReport{});
    if (!GetParam().durable) {
        EXPECT_EQ(empty.bytes + empty.log_bytes, 0U) << "in memory";
        return;
    }
    EXPECT_GT(empty.bytes, 0U);
    const std::uint64_t before = total();
    constexpr std::size_t payload = 200'000;
    for (int i = 0; i < 10; ++i) {
        // Bytes that cannot be kept in less room.
        std::string bytes;
        while (bytes.size() < payload) {
            bytes += new_uuid().to_string();
        }
        create(with(job(), [&](auto& op) { op.input_payload = bytes; }));
    }
    EXPECT_GT(total(), before + 10 * payload / 2);
    if (empty.family == "postgres") {
        EXPECT_EQ(ok(ReadStoreReport{}).log_bytes, 0U) << "its log is the server's";
    }
}

}  // namespace ff::engine::test
