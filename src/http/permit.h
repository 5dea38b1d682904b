// Places for requests that wait: counted by kind and together, given back when a request goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "wire/errors.h"

namespace ff::http {

/// How many places are taken. Those of one kind may be part of all there are, whose number is
/// bounded too.
class Places {
  public:
    explicit Places(std::size_t most) : most_(most) {}
    explicit Places(Places* all) : all_(all) {}

    /// False when as many are taken as may be, of this kind or of all.
    bool take(std::size_t most) {
        if (taken_.fetch_add(1) >= most || (all_ != nullptr && !all_->take(all_->most_))) {
            taken_.fetch_sub(1);
            return false;
        }
        return true;
    }
    void give_back() {
        taken_.fetch_sub(1);
        if (all_ != nullptr) {
            all_->give_back();
        }
    }
    [[nodiscard]] std::size_t taken() const { return taken_; }

  private:
    std::atomic<std::size_t> taken_{0};
    std::size_t most_ = std::numeric_limits<std::size_t>::max();
    Places* all_ = nullptr;
};

/// One of a number of places, given back when it goes.
class Permit {
  public:
    /// Nothing when all places are taken.
    static std::shared_ptr<Permit> take(Places& places, std::size_t most) {
        return places.take(most) ? std::shared_ptr<Permit>(new Permit(places)) : nullptr;
    }
    ~Permit() { places_.give_back(); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

  private:
    explicit Permit(Places& places) : places_(places) {}
    Places& places_;
};

/// The answer to who found no place.
inline wire::Answer no_permit(std::string_view pool, std::size_t most) {
    return wire::write_error({ErrorCode::too_many_waiters,
                              "too many concurrent " + std::string(pool) + " calls (server max: " +
                                  std::to_string(most) + "); retry with backoff",
                              {}});
}

}  // namespace ff::http
