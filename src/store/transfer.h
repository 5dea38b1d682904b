// Whole stores as JSON lines: how a store is moved to another file, machine or database.
//
// The form of an export, one JSON object a line:
//
//   {"flowfabric_export":1,"schema":1,"partitions":{"flow":1,"budget":1,"quota":1},
//    "exported_at_ms":…,"eid_high":…,"event_high":…}                                 the header
//   {"table":"ff_exec_core","row":{"eid":1,"id":"0000…",…}}                          a row
//   {"flowfabric_export_end":1,"rows":{"ff_route":2,…}}                              the end
//
// Tables come in the order of RowBatch, rows in the order of their key. A column is left out when
// it is null or what a new record has. Integers (and words, as their number) are JSON integers,
// texts JSON strings, bytes lower-case hex: one spelling for one value, and an id can be searched
// for. A text that is not UTF-8 is {"hex":"…"}. Side tables are not exported: they follow from the
// rows (core/derive.h). Numbers and ids are kept as they are, so cursors and leases stay good.
// Tokens of waitpoints and the secrets they are signed with are among the rows, sealed or not as
// the store has them, so that a token goes on working after a move: an export is as confidential as
// the store itself.
//
// A database joins by an ExportSource and an ImportTarget, and a line in each function of
// transfer_open.cc. Everything here is used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ff/error.h>
#include <ff/ids.h>

#include "core/derive.h"
#include "core/records.h"
#include "core/suspension_records.h"
#include "core/webhook_records.h"
#include "store/location.h"
#include "store/prepare.h"
#include "store/tables.h"

namespace ff::store {

/// Rows of one table. The alternatives are all tables there are, in the order of an export: a row
/// comes after those it refers to.
using RowBatch = std::variant<
    std::vector<core::Route>, std::vector<core::Lane>, std::vector<core::Flow>,
    std::vector<core::Execution>, std::vector<core::ExecutionInput>, std::vector<core::Attempt>,
    std::vector<core::GrantRow>, std::vector<core::Edge>, std::vector<core::EdgeGroup>,
    std::vector<core::FlowWork>, std::vector<core::Suspension>, std::vector<core::Waitpoint>,
    std::vector<core::Signal>, std::vector<core::Satisfier>, std::vector<core::StreamMeta>,
    std::vector<core::FrameRow>, std::vector<core::SummaryRow>, std::vector<core::HmacKey>,
    std::vector<core::Budget>, std::vector<core::LedgerRow>, std::vector<core::UsageDedup>,
    std::vector<core::QuotaPolicy>, std::vector<core::Admission>, std::vector<core::Attachment>,
    std::vector<core::IdempotencyEntry>, std::vector<core::WorkerRow>,
    std::vector<core::ExecutionEvent>, std::vector<core::LogEvent>, std::vector<core::EventTrim>,
    std::vector<core::Webhook>>;
inline constexpr std::size_t transfer_tables = std::variant_size_v<RowBatch>;

RowList list_of(RowBatch& rows);
RowsView view_of(const RowBatch& rows);

/// A batch without rows of a table, by its place in the order.
RowBatch empty_batch(std::size_t table);
/// `ff_route` and so on.
std::string_view table_name(const RowBatch& rows);
std::size_t row_count(const RowBatch& rows);
/// The version of the schema that brought the table.
int schema_of(const RowBatch& rows);

/// What a store is, beside its rows.
struct StoreFacts {
    int schema = 0;
    PartitionCounts partitions;
    // The highest numbers ever given out: new ones go on above, though rows may be gone.
    std::int64_t eid_high = 0;
    std::int64_t event_high = 0;

    bool operator==(const StoreFacts&) const = default;
};

// ------------------------------------------------------------------- what a database implements

/// Tables read in pages.
class RowPages {
  public:
    virtual ~RowPages() = default;
    /// Replaces the rows by those that follow the last of them in key order (without any: by the
    /// first of the table), at most `limit`. Fewer than that: the table ends.
    virtual expected<void> next_page(RowBatch& rows, std::size_t limit) = 0;
};

/// One view of a store: nothing that is committed later is in it. Ends with the object.
class ExportSource : public RowPages {
  public:
    [[nodiscard]] virtual const StoreFacts& facts() const = 0;
    /// Called when everything was read: a fault if it was not one view after all.
    virtual expected<void> finish() = 0;
};

/// An empty store to be filled in one transaction. Destroying it before commit() undoes everything.
class ImportTarget : public RowPages {
  public:
    /// Begins. Refuses a store that holds anything (is_in_the_way() says so of the error) and one
    /// with other partition counts (`partition_mismatch`). Lanes that it registered itself go.
    virtual expected<void> begin(const StoreFacts& facts) = 0;
    /// New rows, with what side_rows() says of them. A row that the database refuses is an error
    /// made by refused_row().
    virtual expected<void> write(const RowBatch& rows) = 0;
    /// Commits durably. Numbers given out later are above the highest of `facts`.
    virtual expected<void> commit(const StoreFacts& facts) = 0;
};

/// The rows of ff_ready, ff_timer, ff_turn, ff_listed and ff_exec_tag that go with a batch. Tags
/// point into the batch.
struct SideRows {
    std::vector<core::ReadyKey> ready;
    std::vector<core::TimerKey> timers;
    std::vector<core::TurnKey> turns;
    std::vector<ListedKey> listed;
    std::vector<TagRow> tags;
};
SideRows side_rows(RowsView rows);

/// The error of a row that cannot be written; `index` is its place in the batch.
Error refused_row(std::size_t index, std::string why);
/// The index of such an error.
std::optional<std::size_t> refused_row_of(const Error& error);
/// Refuses counts that differ: `partition_mismatch`.
expected<void> check_partitions(const PartitionCounts& stored, const PartitionCounts& exported);

// ----------------------------------------------------------------------------- the two databases

/// A file is opened beside its owner. `invalid_config` for a store that cannot be read so.
expected<std::unique_ptr<ExportSource>> open_export_source(const Location& location);
/// A file is made when it is missing, and goes again when nothing was imported.
expected<std::unique_ptr<ImportTarget>> open_import_target(const Location& location);

// ----------------------------------------------------------------------------- export and import

/// Called now and then with the table and its rows so far; false stops with `shutting_down`.
using TransferProgress = std::function<bool(std::string_view table, std::uint64_t rows)>;

struct TransferSummary {
    StoreFacts facts;
    TimestampMs exported_at = 0;
    std::array<std::uint64_t, transfer_tables> rows{};  ///< of each table
    std::uint64_t lines = 0;

    [[nodiscard]] std::uint64_t total() const;
};

struct ExportOptions {
    TimestampMs now = 0;
    TransferProgress progress = [](std::string_view, std::uint64_t) { return true; };
};
/// `out` takes whole lines, several at once; its fault ends the export.
expected<TransferSummary> export_store(ExportSource& source, const ExportOptions& options,
                                       const std::function<expected<void>(std::string_view)>& out);

/// Whether executions must hold the invariants (core/invariants.h). Rows must always be readable,
/// in order, and refer to rows that are there.
enum class Soundness : std::uint8_t { demanded, as_it_is };

struct ImportOptions {
    Soundness soundness = Soundness::demanded;
    TransferProgress progress = [](std::string_view, std::uint64_t) { return true; };
};
/// On any fault the target is as it was. What is wrong with the text is `corruption`, or
/// `schema_too_new`, with the number of the line: `line 17: ff_exec_core: priority: …`.
expected<TransferSummary> import_store(ImportTarget& target, std::istream& in,
                                       const ImportOptions& options);

}  // namespace ff::store
