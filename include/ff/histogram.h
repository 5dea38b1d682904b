// How long things took, in fixed classes: a picture of many durations in sixteen numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ff {

struct DurationHistogram {
    /// Upper bounds of the classes in microseconds, inclusive; one more class holds what is longer.
    static constexpr std::array<std::uint64_t, 14> bounds_us{
        1'000,   2'500,   5'000,     10'000,    25'000,    50'000,     100'000,
        250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 30'000'000};

    std::array<std::uint64_t, bounds_us.size() + 1> counts{};  ///< in each class, not summed up
    std::uint64_t sum_us = 0;

    [[nodiscard]] std::uint64_t count() const {
        std::uint64_t all = 0;
        for (const std::uint64_t n : counts) {
            all += n;
        }
        return all;
    }
    bool operator==(const DurationHistogram&) const = default;
};

}  // namespace ff
