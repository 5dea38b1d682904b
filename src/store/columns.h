// What a table's list of columns is written with. Only headers with such lists include this;
// tables.h, which has the last, ends the macros.
#pragma once

#include <cstdint>

namespace ff::store {

/// How a value is kept.
enum class Kind : std::uint8_t { integer, text, bytes };

struct ColumnInfo {
    const char* name;
    Kind kind;
};

// A table calls a function with each of its columns and that column's member of the rows it is
// given, of which there may be none. One instantiation a type of member, not one a column: there
// are hundreds of columns.
#define FF_COLUMNS                                                                                 \
    template <class Fn, class... Rows>                                                             \
    static constexpr void columns(Fn&& fn, [[maybe_unused]] Rows&... rows)
#define FF_COLUMN(name, kind, path) fn(ColumnInfo{name, Kind::kind}, rows.path...)

template <class Row>
struct Table;

}  // namespace ff::store
