// One of a number of places, given back when it goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "wire/errors.h"

namespace ff::http {

class Permit {
  public:
    /// Nothing when all places are taken.
    static std::shared_ptr<Permit> take(std::atomic<std::size_t>& taken, std::size_t most) {
        if (taken.fetch_add(1) >= most) {
            taken.fetch_sub(1);
            return nullptr;
        }
        return std::shared_ptr<Permit>(new Permit(taken));
    }
    ~Permit() { taken_.fetch_sub(1); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

  private:
    explicit Permit(std::atomic<std::size_t>& taken) : taken_(taken) {}
    std::atomic<std::size_t>& taken_;
};

/// The answer to who found no place.
inline wire::Answer no_permit(std::string_view pool, std::size_t most) {
    return wire::write_error({ErrorCode::too_many_waiters,
                              "too many concurrent " + std::string(pool) + " calls (server max: " +
                                  std::to_string(most) + "); retry with backoff",
                              {}});
}

}  // namespace ff::http
