// How a place in line is kept in ff_ready. The place of most is their own number; only who has
// another place needs both, so the row has 0 for the number of all others.
#pragma once

#include <cstdint>

#include "core/derive.h"
#include "store/sql_statement.h"

namespace ff::store {

inline core::Eid stored_eid(const core::ReadyKey& key) {
    return key.eid == key.place ? 0 : key.eid;
}

/// From the columns rank, place and eid of a row.
inline core::ReadyKey take_ready_key(ValueSource& row, core::RouteId route) {
    const auto rank = static_cast<std::int32_t>(row.integer());
    const core::Eid place = row.integer();
    const core::Eid eid = row.integer();
    return {route, rank, place, eid == 0 ? place : eid};
}

}  // namespace ff::store
