#include "store/tables.h"

#include "store/value_codec.h"

namespace ff::store {

ColumnMask difference(Columns columns, const void* a, const void* b) {
    ColumnMask mask = 0;
    ColumnMask bit = 1;
    for (const ColumnInfo& column : columns) {
        mask |= column.type->equal(column.in(a), column.in(b)) ? 0 : bit;
        bit <<= 1;
    }
    return mask;
}

void add_item(std::string& list, const char* separator, const std::string& item) {
    if (!list.empty()) {
        list += separator;
    }
    list += item;
}

namespace {

std::string parameter(std::size_t n) { return "$" + std::to_string(n); }

bool is_in(ColumnMask mask, std::size_t column) { return (mask >> column & 1U) != 0; }

/// `key = $n AND …`, starting at parameter `first`.
std::string key_condition(const TableInfo& table, std::size_t first) {
    std::string out;
    for (std::size_t i = 0; i < table.key_columns; ++i) {
        add_item(out, " AND ", table.columns[i].name + (" = " + parameter(first + i)));
    }
    return out;
}

}  // namespace

std::string column_list(const TableInfo& table, const std::string& prefix) {
    std::string out;
    for (const ColumnInfo& column : table.columns) {
        add_item(out, ", ", prefix + column.name);
    }
    return out;
}

std::string key_list(const TableInfo& table) {
    std::string out;
    for (const ColumnInfo& column : table.columns.first(table.key_columns)) {
        add_item(out, ", ", column.name);
    }
    return out;
}

std::string insert_text(const TableInfo& table, ColumnMask mask, const std::string& tail,
                        std::size_t rows) {
    std::string names;
    std::string values;
    std::size_t n = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        std::string one;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if (is_in(mask, i)) {
                add_item(one, ", ", parameter(++n));
            }
        }
        add_item(values, ", ", "(" + one + ")");
    }
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (is_in(mask, i)) {
            add_item(names, ", ", table.columns[i].name);
        }
    }
    return std::string("INSERT INTO ") + table.name + " (" + names + ") VALUES " + values + tail;
}

std::string conflict_clause(const TableInfo& table) {
    std::string sets;
    for (const ColumnInfo& column : table.columns.subspan(table.key_columns)) {
        add_item(sets, ", ", std::string(column.name) + " = excluded." + column.name);
    }
    return " ON CONFLICT (" + key_list(table) + ") DO UPDATE SET " + sets;
}

std::string first_page_text(const TableInfo& table) {
    return "SELECT " + column_list(table) + " FROM " + table.name + " ORDER BY " + key_list(table) +
           " LIMIT $1";
}

std::string next_page_text(const TableInfo& table) {
    std::string values;
    for (std::size_t i = 1; i <= table.key_columns; ++i) {
        add_item(values, ", ", parameter(i));
    }
    return "SELECT " + column_list(table) + " FROM " + table.name + " WHERE (" + key_list(table) +
           ") > (" + values + ") ORDER BY " + key_list(table) + " LIMIT " +
           parameter(table.key_columns + 1);
}

std::string update_text(const TableInfo& table, ColumnMask mask) {
    std::string sets;
    std::size_t n = 0;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (is_in(mask, i)) {
            add_item(sets, ", ", table.columns[i].name + (" = " + parameter(++n)));
        }
    }
    return std::string("UPDATE ") + table.name + " SET " + sets + " WHERE " +
           key_condition(table, n + 1);
}

std::string delete_text(const TableInfo& table) {
    return std::string("DELETE FROM ") + table.name + " WHERE " + key_condition(table, 1);
}

}  // namespace ff::store
