// What a decision gets beside the rows and the command: the time, fresh ids, and settings.
#pragma once

#include <string>
#include <unordered_map>

#include <ff/handle.h>
#include <ff/ids.h>
#include <ff/policy.h>

namespace ff::core {

/// Settings of the engine that decisions depend on.
struct Settings {
    BackendTag backend = BackendTag::sqlite;
    PartitionCounts partitions;
    DurationMs reclaim_grace_ms = 0;
    DurationMs retention_ms = 86'400'000;
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
};

}  // namespace ff::core
