// What failed when its time had come, and when it is tried again: it must not hold up the others.
// Writer thread only.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include <ff/ids.h>

namespace ff::engine {

template <class Key>
class SetAside {
  public:
    /// It failed; after a few times in a row it is left alone for longer.
    void add(const Key& key, TimestampMs now) {
        Failing& failing = failing_[key];
        failing.times += 1;
        failing.until = now + (failing.times < failures_max ? retry_ms : rest_ms);
    }
    [[nodiscard]] bool holds(const Key& key, TimestampMs now) const {
        const auto it = failing_.find(key);
        return it != failing_.end() && it->second.until > now;
    }
    /// How many are left alone now: as many more must be asked for to find others.
    [[nodiscard]] std::size_t count(TimestampMs now) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            failing_, [now](const auto& entry) { return entry.second.until > now; }));
    }
    /// Those that were tried again and went well.
    void forget(std::span<const Key> keys, TimestampMs now) {
        for (const Key& key : keys) {
            if (const auto it = failing_.find(key);
                it != failing_.end() && it->second.until <= now) {
                failing_.erase(it);
            }
        }
    }
    /// After a look at everything that is due: what might be tried again and is not among `taken`
    /// has nothing due any more.
    void keep_only(std::span<const Key> taken, TimestampMs now) {
        std::erase_if(failing_, [&](const auto& entry) {
            return entry.second.until <= now &&
                   std::ranges::find(taken, entry.first) == taken.end();
        });
    }
    /// When the first of them is tried again.
    [[nodiscard]] std::optional<TimestampMs> next_at(TimestampMs now) const {
        std::optional<TimestampMs> at;
        for (const auto& [key, failing] : failing_) {
            if (failing.until > now) {
                at = std::min(at.value_or(failing.until), failing.until);
            }
        }
        return at;
    }

  private:
    static constexpr DurationMs retry_ms = 1'000;
    static constexpr int failures_max = 3;
    static constexpr DurationMs rest_ms = 60'000;
    struct Failing {
        TimestampMs until = 0;
        int times = 0;
    };
    std::map<Key, Failing> failing_;
};

}  // namespace ff::engine
