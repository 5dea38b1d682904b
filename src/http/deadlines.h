// When connections must have moved on. Each kind of waiting has one fixed length, so the connection
// that waits longest is always at the front: setting a deadline and finding those that have passed
// cost the same however many connections there are. One thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>

namespace ff::http {

/// What a connection waits for.
enum class Waits : std::uint8_t { idle, head, body, send, linger };
inline constexpr std::size_t kinds_of_waiting = 5;

template <class Owner>
class Deadlines {
  public:
    using Clock = std::chrono::steady_clock;
    struct Entry {
        Clock::time_point at;
        Owner* owner;
    };
    /// Where an owner stands; it stands in one place at most.
    class Place {
      public:
        Place() = default;
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;

      private:
        friend class Deadlines;
        std::list<Entry>* list_ = nullptr;
        typename std::list<Entry>::iterator at_;
    };

    explicit Deadlines(std::array<std::chrono::milliseconds, kinds_of_waiting> lengths)
        : lengths_(lengths) {}

    void set(Place& place, Owner& owner, Waits waits) {
        auto& list = lists_[static_cast<std::size_t>(waits)];
        const auto at = Clock::now() + lengths_[static_cast<std::size_t>(waits)];
        if (place.list_ == nullptr) {
            list.push_back({at, &owner});
            place.at_ = std::prev(list.end());
        } else {
            list.splice(list.end(), *place.list_, place.at_);
            place.at_->at = at;
        }
        place.list_ = &list;
    }

    void clear(Place& place) {
        if (place.list_ != nullptr) {
            place.list_->erase(place.at_);
            place.list_ = nullptr;
        }
    }

    /// Calls `late(owner)` for each whose time has passed; it must set or clear its place.
    template <class Fn>
    void sweep(Clock::time_point now, Fn late) {
        for (auto& list : lists_) {
            while (!list.empty() && list.front().at <= now) {
                late(*list.front().owner);
            }
        }
    }

  private:
    const std::array<std::chrono::milliseconds, kinds_of_waiting> lengths_;
    std::array<std::list<Entry>, kinds_of_waiting> lists_;
};

}  // namespace ff::http
