// What time it is at a PostgreSQL server.
#pragma once

#include "base/server_clock.h"
#include "store/postgres_db.h"

namespace ff::store {

/// Clocks that are further apart are told of.
inline constexpr DurationMs clocks_apart_ms_max = 1'000;

/// Asks a few times, a round trip each. The quickest answer says most, and is given.
expected<ClockSample> ask_time(PgConnection& connection, Clock& local);

/// For people: how far apart the clocks are, and what time it is by each.
std::string clocks_apart(const ClockSample& sample);

}  // namespace ff::store
