#include "store/transfer.h"

#include <charconv>
#include <string>
#include <system_error>

#include "store/tables.h"

namespace ff::store {

namespace {

constexpr std::string_view row_field = "row";

template <std::size_t... I>
RowBatch make_empty(std::size_t table, std::index_sequence<I...>) {
    RowBatch rows;
    (void)((I == table && (rows.emplace<I>(), true)) || ...);
    return rows;
}

void add_side_rows(const core::Execution& row, SideRows& out) {
    if (const auto key = core::ready_key(row)) {
        out.ready.push_back(*key);
    }
    if (const auto key = core::timer_key(row)) {
        out.timers.push_back(*key);
    }
    if (const auto key = core::turn_key(row)) {
        out.turns.push_back(*key);
    }
    if (const auto bucket = core::bucket(row); bucket != core::Bucket::none) {
        out.listed.emplace_back(bucket, row.eid);
    }
}

void add_side_rows(const core::ExecutionInput& row, SideRows& out) {
    for (const auto& [key, value] : row.tags) {
        out.tags.push_back({key, value, row.eid});
    }
}

}  // namespace

RowBatch empty_batch(std::size_t table) {
    return make_empty(table, std::make_index_sequence<transfer_tables>());
}

RowList list_of(RowBatch& rows) {
    return std::visit([](auto& list) { return RowList(list); }, rows);
}

RowsView view_of(const RowBatch& rows) {
    return std::visit([](const auto& list) { return RowsView(list); }, rows);
}

std::string_view table_name(const RowBatch& rows) { return view_of(rows).table().name; }

std::size_t row_count(const RowBatch& rows) { return view_of(rows).size(); }

int schema_of(const RowBatch& rows) { return view_of(rows).table().since; }

SideRows side_rows(RowsView rows) {
    SideRows out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (&rows.table() == &table_info<core::Execution>) {
            add_side_rows(*static_cast<const core::Execution*>(rows[i]), out);
        } else if (&rows.table() == &table_info<core::ExecutionInput>) {
            add_side_rows(*static_cast<const core::ExecutionInput*>(rows[i]), out);
        }  // the other tables have none
    }
    return out;
}

Error refused_row(std::size_t index, std::string why) {
    return {
        ErrorCode::corruption, std::move(why), {{std::string(row_field), std::to_string(index)}}};
}

std::optional<std::size_t> refused_row_of(const Error& error) {
    const std::string_view text = error.field(row_field);
    std::size_t index = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), index);
    return text.empty() || fault != std::errc{} ? std::nullopt : std::optional(index);
}

expected<void> check_partitions(const PartitionCounts& stored, const PartitionCounts& exported) {
    if (stored == exported) {
        return {};
    }
    const auto words = [](const PartitionCounts& counts) {
        return std::to_string(counts.flow) + " flow, " + std::to_string(counts.budget) +
               " budget and " + std::to_string(counts.quota) + " quota partitions";
    };
    return ff::fail(ErrorCode::partition_mismatch, "the store has " + words(stored) +
                                                       ", the export " + words(exported) +
                                                       "; import into a new store");
}

std::uint64_t TransferSummary::total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : rows) {
        sum += count;
    }
    return sum;
}

}  // namespace ff::store
