// How far the events of a family may be deleted: what is too old, and what is too much.
//
// Counting a million rows every minute would cost more than keeping them; what has been counted is
// remembered, and only what came since is looked at. Writer thread only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <ff/events.h>

#include "store/store.h"

namespace ff::engine {

class EventTrim {
  public:
    struct Limits {
        TimestampMs before = 0;       ///< older ones go
        std::uint64_t rows_max = 0;   ///< of a table; 0: as many as come
        std::size_t rows_a_pass = 0;  ///< no more than so many go at a time
    };
    /// The id through which events go now; nothing when none do.
    expected<std::optional<std::int64_t>> through(store::Store& store, EventFamily family,
                                                  const Limits& limits);

  private:
    /// Behind `floor` there were exactly as many rows as may be, up to `highest`.
    struct Counted {
        std::int64_t floor = 0;
        std::int64_t highest = 0;
    };
    expected<std::optional<std::int64_t>> beyond_rows(store::Reader& reader, EventFamily family,
                                                      std::uint64_t rows_max);

    std::array<std::optional<Counted>, enum_count<EventFamily>> counted_;
};

}  // namespace ff::engine
