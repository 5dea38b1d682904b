// The rows of a store in pages, for checks that visit all of them. What one call gives is of one
// moment. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/records.h"
#include "store/store.h"

namespace ff::cli {

/// A table whose rows follow from others, found by all these columns; `texts` of them, the first
/// ones, are texts and the rest are integers.
struct SideTable {
    const char* name;
    std::vector<const char*> columns;
    std::size_t texts = 0;
};
struct SideKey {
    std::vector<std::string> texts;
    std::vector<std::int64_t> numbers;
};

class RowSource {
  public:
    using Eid = core::Eid;
    /// What was asked for and is there. A row that does not read is `corruption`.
    template <class T>
    using Found = std::map<Eid, expected<T>>;

    virtual ~RowSource() = default;
    virtual expected<std::uint64_t> count_executions() = 0;
    virtual expected<std::vector<Eid>> eids_after(Eid after, std::size_t limit) = 0;
    virtual expected<Found<core::Execution>> executions(std::span<const Eid> eids) = 0;
    /// Without an entry: it has none.
    virtual expected<Found<std::vector<core::Attempt>>> attempts(std::span<const Eid> eids) = 0;
    virtual expected<Found<core::ExecutionInput>> inputs(std::span<const Eid> eids) = 0;
    virtual expected<std::vector<FlowId>> flow_ids_after(const std::optional<FlowId>& after,
                                                         std::size_t limit) = 0;
    /// The places of those keys that the table does not have, ascending.
    virtual expected<std::vector<std::size_t>> missing(const SideTable& table,
                                                       std::span<const SideKey> keys) = 0;
    /// Executions of which a table has rows, and which do not exist; at most a thousand.
    virtual expected<std::vector<Eid>> orphans(const std::string& table) = 0;
    /// The same of flows.
    virtual expected<std::vector<FlowId>> flow_orphans(const std::string& table) = 0;
};

/// What orphans() and flow_orphans() ask.
std::string orphans_text(const std::string& table);
std::string flow_orphans_text(const std::string& table);

}  // namespace ff::cli
