// One of a number of places, given back when it goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "wire/errors.h"

namespace ff::http {

/// How many are taken. Permits hold it: the last may go when the service is gone.
using Places = std::shared_ptr<std::atomic<std::size_t>>;

class Permit {
  public:
    /// Nothing when all places are taken.
    static std::shared_ptr<Permit> take(const Places& taken, std::size_t most) {
        if (taken->fetch_add(1) >= most) {
            taken->fetch_sub(1);
            return nullptr;
        }
        return std::shared_ptr<Permit>(new Permit(taken));
    }
    ~Permit() { taken_->fetch_sub(1); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

  private:
    explicit Permit(Places taken) : taken_(std::move(taken)) {}
    const Places taken_;
};

/// The answer to who found no place.
inline wire::Answer no_permit(std::string_view pool, std::size_t most) {
    return wire::write_error({ErrorCode::too_many_waiters,
                              "too many concurrent " + std::string(pool) + " calls (server max: " +
                                  std::to_string(most) + "); retry with backoff",
                              {}});
}

}  // namespace ff::http
