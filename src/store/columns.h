// What a table's list of columns is written with. Only headers with such lists include this;
// tables.h, which has the last, ends the macros.
#pragma once

#include <cstddef>
#include <utility>

#include "store/member_types.h"
#include "store/table_info.h"

// A table calls a function with each of its columns and that column's member of the rows it is
// given, of which there may be none. Outside of tests only the array of columns is made so: there
// are hundreds of them, and each would be code of its own.
#define FF_COLUMNS(record)                                                                         \
    using Row = record;                                                                            \
    template <class Fn, class... Rows>                                                             \
    static constexpr void columns(Fn&& fn, [[maybe_unused]] Rows&... rows)
#define FF_COLUMN(name, kind, path)                                                                \
    fn(ColumnInfo{name, Kind::kind, offsetof(Row, path),                                           \
                  &MemberOf<decltype(std::declval<Row&>().path)>::type},                           \
       rows.path...)

// Records are no more than the standard calls conditionally supported here, and our compilers do.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
