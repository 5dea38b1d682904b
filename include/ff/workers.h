// The operations on workers and lanes, and on the engine itself: what it can do, its upkeep, its
// store. <ff/executions.h> says how operations are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/executions.h>

namespace ff {

// ------------------------------------------------------------------------------------------ lanes

struct SetLaneState {
    using Result = Done;
    static constexpr std::string_view name = "set_lane_state";

    std::string lane_id;  ///< registered if new
    LaneState state = LaneState::active;
};

struct LaneInfo {
    std::string lane_id;
    LaneState state = LaneState::active;
    bool operator==(const LaneInfo&) const = default;
};

struct LanePage {
    std::vector<LaneInfo> lanes;
    std::optional<std::string> next_cursor;
};

struct ListLanes {
    using Result = LanePage;
    static constexpr std::string_view name = "list_lanes";
    std::optional<std::string> cursor;
    std::uint32_t limit = 1000;
};

// ---------------------------------------------------------------------------------------- workers

struct RegisterWorkerResult {
    bool refreshed = false;  ///< false: newly registered
};

struct RegisterWorker {
    using Result = RegisterWorkerResult;
    static constexpr std::string_view name = "register_worker";

    std::string ns;
    std::string worker_id;
    std::string worker_instance_id;
    std::vector<std::string> lanes;  ///< 1..64
    std::vector<std::string> capabilities;
    DurationMs liveness_ttl_ms = 60'000;
};

struct HeartbeatResult {
    bool registered = false;  ///< false: register again
    TimestampMs next_expiry_ms = 0;
};

struct HeartbeatWorker {
    using Result = HeartbeatResult;
    static constexpr std::string_view name = "heartbeat_worker";

    std::string ns;
    std::string worker_instance_id;
};

struct MarkWorkerDeadResult {
    bool marked = false;
    std::uint32_t leases_revoked = 0;
};

struct MarkWorkerDead {
    using Result = MarkWorkerDeadResult;
    static constexpr std::string_view name = "mark_worker_dead";

    std::string ns;
    std::string worker_instance_id;
    std::string reason;
    bool revoke_leases = false;
};

struct WorkerInfo {
    std::string ns;
    std::string worker_id;
    std::string worker_instance_id;
    std::vector<std::string> lanes;
    std::vector<std::string> capabilities;
    DurationMs liveness_ttl_ms = 0;
    TimestampMs registered_at_ms = 0;
    TimestampMs last_heartbeat_ms = 0;
};

struct WorkerCursor {
    std::string ns;
    std::string worker_instance_id;
};

struct WorkerPage {
    std::vector<WorkerInfo> workers;
    std::optional<WorkerCursor> next_cursor;
};

/// Live workers by (namespace, instance), of one namespace or of all.
struct ListWorkers {
    using Result = WorkerPage;
    static constexpr std::string_view name = "list_workers";
    std::optional<std::string> ns;
    std::optional<WorkerCursor> after;
    std::uint32_t limit = 1000;  ///< capped at 10000
};

// ------------------------------------------------------------------------------------- the engine

struct ScannerResult {
    std::uint64_t processed = 0;
    std::uint64_t errors = 0;
    std::vector<std::string> findings;  ///< of the index reconciler: what it could not mend
};

/// Runs one pass of a named background job now. Due work is handled by due time anyway; a pass
/// is the safety net, and finds nothing in a healthy store.
struct RunScanner {
    using Result = ScannerResult;
    static constexpr std::string_view name = "run_scanner";

    std::string scanner;
};

struct Capabilities {
    std::string family;  ///< sqlite or postgres
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint32_t patch = 0;
    std::string durability;
    PartitionCounts partitions;
    std::vector<std::pair<std::string, bool>> supports;
};

struct ReadCapabilities {
    using Result = Capabilities;
    static constexpr std::string_view name = "capabilities";
};

/// One background job of this engine, since it was opened.
struct ScannerInfo {
    std::string scanner;
    DurationMs period_ms = 0;  ///< 0: only when asked
    std::uint64_t cycles = 0;
    std::uint64_t processed = 0;
    std::uint64_t errors = 0;
    std::optional<TimestampMs> last_run_at;
    std::uint64_t last_duration_us = 0;
    std::uint64_t total_duration_us = 0;
};

struct ListScanners {
    using Result = std::vector<ScannerInfo>;
    static constexpr std::string_view name = "list_scanners";
};

/// What an operator asks of a store.
struct StoreReport {
    std::string family;  ///< sqlite, postgres or memory
    std::string durability;
    std::string wake_ups;  ///< how it hears of other processes; empty when there are none
    std::uint32_t schema_version = 0;
    std::string prepared;     ///< what opening did to the schema: `no_op`, or `applied: ` and what
    std::uint64_t bytes = 0;  ///< of the database; 0: in memory
    std::uint64_t log_bytes = 0;  ///< of the write-ahead log, where it is the store's own
    PartitionCounts partitions;
};

struct ReadStoreReport {
    using Result = StoreReport;
    static constexpr std::string_view name = "read_store_report";
};

}  // namespace ff
