// A set of families of events.
#pragma once

#include <cstdint>

#include <ff/events.h>

namespace ff::engine {

/// Which families something was written to.
class EventFamilies {
  public:
    void add(EventFamily family) { bits_ |= 1U << static_cast<unsigned>(family); }
    void add(EventFamilies others) { bits_ |= others.bits_; }
    [[nodiscard]] bool has(EventFamily family) const {
        return (bits_ & (1U << static_cast<unsigned>(family))) != 0;
    }
    [[nodiscard]] bool empty() const { return bits_ == 0; }

  private:
    std::uint32_t bits_ = 0;
};

}  // namespace ff::engine
