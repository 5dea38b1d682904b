#include "engine/event_trim.h"

#include <algorithm>

namespace ff::engine {

expected<std::optional<std::int64_t>> EventTrim::beyond_rows(store::Reader& reader,
                                                             EventFamily family,
                                                             std::uint64_t rows_max) {
    auto& counted = counted_[static_cast<std::size_t>(family)];
    FF_TRY(const std::int64_t highest, reader.highest_event());
    FF_TRY(const std::int64_t trimmed, reader.event_floor(family));
    if (counted && trimmed > counted->floor) {
        counted.reset();  // rows that were counted are gone, by age or by another process
    }
    if (counted) {
        FF_TRY(const std::uint64_t fresh, reader.count_events(family, counted->highest, highest));
        if (fresh > 0) {
            FF_TRY(const auto floor, reader.nth_event(family, counted->floor, fresh - 1));
            counted = Counted{floor.value_or(counted->floor), highest};
        }
        return counted->floor;
    }
    // Ids are distinct: fewer ids than rows may be need no counting.
    if (static_cast<std::uint64_t>(highest - std::min(trimmed, highest)) <= rows_max) {
        return std::optional<std::int64_t>();
    }
    FF_TRY(const std::uint64_t rows, reader.count_events(family, 0, highest));
    if (rows <= rows_max) {
        return std::optional<std::int64_t>();
    }
    FF_TRY(const auto floor, reader.nth_event(family, 0, rows - rows_max - 1));
    counted = Counted{floor.value_or(0), highest};
    return floor;
}

expected<std::optional<std::int64_t>> EventTrim::through(store::Store& store, EventFamily family,
                                                         const Limits& limits) {
    std::optional<std::int64_t> out;
    FF_TRY_VOID(store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(out, reader.oldest_events(family, limits.before, limits.rows_a_pass));
        if (limits.rows_max == 0) {
            return {};
        }
        FF_TRY(auto floor, beyond_rows(reader, family, limits.rows_max));
        if (!floor) {
            return {};
        }
        FF_TRY(const auto most, reader.nth_event(family, 0, limits.rows_a_pass - 1));
        floor = std::min(*floor, most.value_or(*floor));
        // What is no longer there has gone before.
        FF_TRY(const std::uint64_t rows, reader.count_events(family, 0, *floor));
        if (rows > 0) {
            out = std::max(out.value_or(0), *floor);
        }
        return {};
    }));
    return out;
}

}  // namespace ff::engine
