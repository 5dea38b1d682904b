// Writing a store as JSON lines.
#include <ff/json.h>
#include "store/row_text.h"
#include "store/transfer.h"

namespace ff::store {

namespace {

constexpr std::size_t page_rows = 64;  // a payload is at most a mebibyte

std::string header_line(const StoreFacts& facts, TimestampMs now) {
    const PartitionCounts& counts = facts.partitions;
    return js::dump(js::Object{{"flowfabric_export", 1},
                               {"schema", facts.schema},
                               {"partitions", js::Object{{"flow", int{counts.flow}},
                                                         {"budget", int{counts.budget}},
                                                         {"quota", int{counts.quota}}}},
                               {"exported_at_ms", now},
                               {"eid_high", facts.eid_high},
                               {"event_high", facts.event_high}}) +
           "\n";
}

std::string end_line(const TransferSummary& summary) {
    js::Object rows;
    for (std::size_t table = 0; table < transfer_tables; ++table) {
        rows.emplace_back(std::string(table_name(empty_batch(table))), summary.rows[table]);
    }
    return js::dump(js::Object{{"flowfabric_export_end", 1}, {"rows", std::move(rows)}}) + "\n";
}

std::string lines_of(const RowBatch& batch) {
    std::string out;
    const RowsView rows = view_of(batch);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        out += std::string(R"({"table":")") + rows.table().name + R"(","row":)";
        append_row(out, rows.table(), rows[i]);
        out += "}\n";
    }
    return out;
}

/// A row that does not read says which table it is in.
Error in_table(std::string_view table, Error error) {
    if (error.code == ErrorCode::corruption) {
        error.detail =
            std::string(table) + ": a row does not read: " + error.detail + "; see ff doctor";
    }
    return error;
}

}  // namespace

expected<TransferSummary> export_store(ExportSource& source, const ExportOptions& options,
                                       const std::function<expected<void>(std::string_view)>& out) {
    TransferSummary summary;
    summary.facts = source.facts();
    summary.exported_at = options.now;
    FF_TRY_VOID(out(header_line(summary.facts, options.now)));
    for (std::size_t table = 0; table < transfer_tables; ++table) {
        RowBatch page = empty_batch(table);
        const std::string_view name = table_name(page);
        do {
            if (auto read = source.next_page(page, page_rows); !read) {
                return std::unexpected(in_table(name, std::move(read).error()));
            }
            FF_TRY_VOID(out(lines_of(page)));
            summary.rows[table] += row_count(page);
            if (!options.progress(name, summary.rows[table])) {
                return ff::fail(ErrorCode::shutting_down, "interrupted: the export is not whole");
            }
        } while (row_count(page) == page_rows);
    }
    FF_TRY_VOID(source.finish());
    FF_TRY_VOID(out(end_line(summary)));
    summary.lines = summary.total() + 2;
    return summary;
}

}  // namespace ff::store
