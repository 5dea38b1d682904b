// What a decision gets beside the rows and the command: the time, fresh ids, and settings.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include <ff/handle.h>
#include <ff/ids.h>
#include <ff/policy.h>

#include "core/keystore.h"

namespace ff::core {

/// How large a graph may be, so that one client cannot stall the writer.
struct FlowLimits {
    std::uint64_t members = 10'000;
    std::uint64_t edges = 50'000;
    std::uint64_t inbound_edges = 1'024;  ///< of one execution
    std::size_t visited_nodes = 100'000;  ///< by the search for a cycle
    std::size_t cascade_rows = 4'096;     ///< changed in one transaction; the rest goes on after it
};

/// Settings of the engine that decisions depend on.
struct Settings {
    BackendTag backend = BackendTag::sqlite;
    PartitionCounts partitions;
    DurationMs reclaim_grace_ms = 0;
    DurationMs retention_ms = 86'400'000;
    FlowLimits flows;
    bool make_waitpoint_key = true;  ///< when a token is wanted and there is none to sign with
    std::string keystore_key;        ///< 32 bytes that secrets are sealed with, or empty
};

/// Parsed policies by their stored text. Most executions share a handful of policies, so a claim
/// or a failure rarely parses. Not thread-safe.
class PolicyCache {
  public:
    /// The policy, or `corruption` when the stored text does not parse.
    expected<const Policy*> get(const std::string& json);

  private:
    static constexpr std::size_t entries_max = 1024;
    std::unordered_map<std::string, Policy> parsed_;
};

/// Hands out the numbers of new rows. Implemented by the store; a number that is not used is lost.
class RowNumbers {
  public:
    virtual ~RowNumbers() = default;
    virtual std::int64_t next_eid(TimestampMs now) = 0;
    virtual std::int64_t next_route_id() = 0;
};

struct Context {
    TimestampMs now = 0;
    IdSource& ids;
    RowNumbers& numbers;
    PolicyCache& policies;
    const Settings& settings;
    Keystore& keystore;
};

}  // namespace ff::core
