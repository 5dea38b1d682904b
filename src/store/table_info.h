// What a table is, whatever its records are: its columns, and how records and lists of them are
// treated by their address. So what goes over columns is compiled once, for all tables; templates
// over the type of a record only hand it over. Made from the lists in tables.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ff::store {

/// How a value is kept.
enum class Kind : std::uint8_t { integer, text, bytes };

/// What is done with members of a type, whichever column they are; see value_codec.h. There is one
/// for each type in member_types.h.
struct MemberType;

/// A column and the member of a record that it keeps. What goes over columns is compiled once, for
/// all tables: it is given a record by its address, and finds the members there.
struct ColumnInfo {
    const char* name = nullptr;
    Kind kind = Kind::integer;
    std::size_t offset = 0;  ///< of the member, from the beginning of the record
    const MemberType* type = nullptr;

    [[nodiscard]] const void* in(const void* row) const {
        return static_cast<const std::byte*>(row) + offset;
    }
    [[nodiscard]] void* in(void* row) const { return static_cast<std::byte*>(row) + offset; }
};

/// The list of a record's columns; tables.h.
template <class Row>
struct Table;

/// Which columns of a row; bit i is column i.
using ColumnMask = std::uint64_t;
inline constexpr std::size_t columns_max = 64;

/// The columns of a table, in order.
using Columns = std::span<const ColumnInfo>;

/// The columns in which two records of one table differ.
ColumnMask difference(Columns columns, const void* a, const void* b);

/// What is done with records of a type, and with vectors of them, by their address.
struct RecordType {
    std::size_t size;
    const void* (*unset)();    ///< a record that nothing was done to
    void* (*add)(void* list);  ///< a new record, the last
    void (*drop_last)(void* list);
    void (*clear)(void* list);
    std::span<const std::byte> (*bytes)(const void* list);  ///< where its records lie
};

/// A table, whatever its records are.
struct TableInfo {
    const char* name;
    const char* source;  ///< where its rows are read: itself, or the view that completes them
    int since;
    Columns columns;
    std::size_t key_columns;
    std::size_t named_columns;
    RecordType record;

    [[nodiscard]] ColumnMask key_mask() const { return (ColumnMask{1} << key_columns) - 1; }
    [[nodiscard]] ColumnMask named_mask() const { return (ColumnMask{1} << named_columns) - 1; }
    [[nodiscard]] ColumnMask all_columns() const {
        return ~ColumnMask{0} >> (columns_max - columns.size());
    }
    /// What an insert of this row has to name.
    [[nodiscard]] ColumnMask insert_mask(const void* row) const {
        return difference(columns, row, record.unset()) | named_mask();
    }
};

/// Collects the columns of a table. Those there is no room for are counted all the same, so that
/// they are refused in words.
struct ColumnCollector {
    std::array<ColumnInfo, columns_max> columns{};
    std::size_t count = 0;

    constexpr void operator()(const ColumnInfo& column) {
        if (count < columns_max) {
            columns[count] = column;
        }
        ++count;
    }
};

template <class Row>
inline constexpr auto columns_of = [] {
    constexpr ColumnCollector all = [] {
        ColumnCollector collector;
        Table<Row>::columns(collector);
        return collector;
    }();
    static_assert(all.count <= columns_max, "a ColumnMask has 64 bits");
    std::array<ColumnInfo, all.count> out{};
    std::copy_n(all.columns.begin(), all.count, out.begin());
    return out;
}();

template <class Row>
constexpr RecordType record_type() {
    using List = std::vector<Row>;
    return {.size = sizeof(Row),
            .unset = []() -> const void* {
                static const Row unset;
                return &unset;
            },
            .add = [](void* list) -> void* { return &static_cast<List*>(list)->emplace_back(); },
            .drop_last = [](void* list) { static_cast<List*>(list)->pop_back(); },
            .clear = [](void* list) { static_cast<List*>(list)->clear(); },
            .bytes =
                [](const void* list) {
                    return std::as_bytes(std::span(*static_cast<const List*>(list)));
                }};
}

template <class Row>
constexpr const char* source_of() {
    if constexpr (requires { Table<Row>::view; }) {
        return Table<Row>::view;
    } else {
        return Table<Row>::name;
    }
}
template <class Row>
constexpr int since_of() {
    if constexpr (requires { Table<Row>::since; }) {
        return Table<Row>::since;
    } else {
        return 1;
    }
}

template <class Row>
constexpr TableInfo make_table_info() {
    constexpr std::size_t keys = Table<Row>::key_columns;
    constexpr std::size_t named = Table<Row>::named_columns;
    static_assert(0 < keys && keys <= named, "every insert names the key");
    static_assert(named <= columns_of<Row>.size(), "a table has the columns that inserts name");
    static_assert(named < columns_max, "a mask of the named columns is made by a shift");
    return {.name = Table<Row>::name,
            .source = source_of<Row>(),
            .since = since_of<Row>(),
            .columns = columns_of<Row>,
            .key_columns = keys,
            .named_columns = named,
            .record = record_type<Row>()};
}

template <class Row>
inline constexpr TableInfo table_info = make_table_info<Row>();

/// Records of one table to look at.
class RowsView {
  public:
    template <class Row>
    explicit RowsView(const std::vector<Row>& rows)
        : table_(&table_info<Row>), bytes_(std::as_bytes(std::span(rows))) {}
    RowsView(const TableInfo& table, std::span<const std::byte> bytes)
        : table_(&table), bytes_(bytes) {}

    [[nodiscard]] const TableInfo& table() const { return *table_; }
    [[nodiscard]] std::size_t size() const { return bytes_.size() / table_->record.size; }
    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    [[nodiscard]] const void* operator[](std::size_t i) const {
        return bytes_.data() + i * table_->record.size;
    }
    /// One of them alone.
    [[nodiscard]] RowsView only(std::size_t i) const {
        return {*table_, bytes_.subspan(i * table_->record.size, table_->record.size)};
    }

  private:
    const TableInfo* table_;
    std::span<const std::byte> bytes_;
};

/// A vector of records of one table, to be filled.
class RowList {
  public:
    template <class Row>
    explicit RowList(std::vector<Row>& rows) : table_(&table_info<Row>), list_(&rows) {}

    [[nodiscard]] const TableInfo& table() const { return *table_; }
    [[nodiscard]] RowsView view() const { return {*table_, table_->record.bytes(list_)}; }
    void* add() { return table_->record.add(list_); }
    void drop_last() { table_->record.drop_last(list_); }
    void clear() { table_->record.clear(list_); }

  private:
    const TableInfo* table_;
    void* list_;
};

// ------------------------------------------------------------------------ texts of statements

/// Adds to a list within a text: the separator comes between items.
void add_item(std::string& list, const char* separator, const std::string& item);

/// `a, b, c` of all columns.
std::string column_list(const TableInfo& table, const std::string& prefix = "");
/// `a, b` of the key.
std::string key_list(const TableInfo& table);
/// `INSERT INTO t (masked columns) VALUES ($1, …)`, with `tail` for a conflict clause; with several
/// rows, their parameters go on from one to the next.
std::string insert_text(const TableInfo& table, ColumnMask mask, const std::string& tail = "",
                        std::size_t rows = 1);
/// What makes an insert of the whole row replace a row of the same key: ` ON CONFLICT …`.
std::string conflict_clause(const TableInfo& table);
/// The first page of a table in key order; `LIMIT` is $1.
std::string first_page_text(const TableInfo& table);
/// The page after a key: its columns are $1…, `LIMIT` comes last.
std::string next_page_text(const TableInfo& table);
/// `UPDATE t SET masked columns WHERE key`; the key's parameters come last.
std::string update_text(const TableInfo& table, ColumnMask mask);
std::string delete_text(const TableInfo& table);

template <class Row>
std::string column_list(const std::string& prefix = "") {
    return column_list(table_info<Row>, prefix);
}

}  // namespace ff::store
