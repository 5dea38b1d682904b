// Places for requests that wait: counted by kind and together, given back when a request goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "wire/errors.h"

namespace ff::http {

/// How many places are taken: a handle, so that a permit may go when its service is gone. Those of
/// one kind may be among all there are, whose number is bounded too.
class Places {
  public:
    explicit Places(std::size_t most) : state_(std::make_shared<State>(most)) {}
    static Places among(const Places& all) {
        Places places(std::numeric_limits<std::size_t>::max());
        places.state_->all = all.state_;
        return places;
    }

    /// False when as many are taken as may be, of this kind or of all.
    bool take(std::size_t most) { return state_->take(most); }
    void give_back() { state_->give_back(); }
    [[nodiscard]] std::size_t taken() const { return state_->taken; }

  private:
    struct State {
        explicit State(std::size_t limit) : most(limit) {}
        bool take(std::size_t limit) {
            if (taken.fetch_add(1) >= limit || (all && !all->take(all->most))) {
                taken.fetch_sub(1);
                return false;
            }
            return true;
        }
        void give_back() {
            taken.fetch_sub(1);
            if (all) {
                all->give_back();
            }
        }
        const std::size_t most;
        std::shared_ptr<State> all;
        std::atomic<std::size_t> taken{0};
    };
    std::shared_ptr<State> state_;
};

/// One of a number of places, given back when it goes.
class Permit {
  public:
    /// Nothing when all places are taken.
    static std::shared_ptr<Permit> take(Places places, std::size_t most) {
        return places.take(most) ? std::shared_ptr<Permit>(new Permit(std::move(places))) : nullptr;
    }
    ~Permit() { places_.give_back(); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

  private:
    explicit Permit(Places places) : places_(std::move(places)) {}
    Places places_;
};

/// The answer to who found no place.
inline wire::Answer no_permit(std::string_view pool, std::size_t most) {
    return wire::write_error({ErrorCode::too_many_waiters,
                              "too many concurrent " + std::string(pool) + " calls (server max: " +
                                  std::to_string(most) + "); retry with backoff",
                              {}});
}

}  // namespace ff::http
