// Objects that are made one after another, stay where they are, and go together.
//
// Their memory is kept for the next ones: a batch makes as many cells as the one before it, of
// kilobytes each, and giving these back every time costs more than what is done in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

namespace ff::core {

template <class T>
class Pool {
    using Slots = std::vector<std::unique_ptr<std::optional<T>>>;

    template <class Object>
    class Iterator {
      public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::forward_iterator_tag;

        Iterator() = default;
        explicit Iterator(typename Slots::const_iterator at) : at_(at) {}
        Object& operator*() const { return ***at_; }
        Object* operator->() const { return &***at_; }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        Iterator operator++(int) {
            Iterator before = *this;
            ++at_;
            return before;
        }
        bool operator==(const Iterator&) const = default;

      private:
        typename Slots::const_iterator at_;
    };

  public:
    T& add() {
        if (used_ == slots_.size()) {
            slots_.push_back(std::make_unique<std::optional<T>>());
        }
        return slots_[used_++]->emplace();
    }
    void clear() {
        for (std::size_t i = 0; i < used_; ++i) {
            slots_[i]->reset();
        }
        used_ = 0;
        slots_.resize(std::min(slots_.size(), kept_max));
    }
    [[nodiscard]] std::size_t size() const { return used_; }
    [[nodiscard]] bool empty() const { return used_ == 0; }

    [[nodiscard]] auto begin() { return Iterator<T>(slots_.begin()); }
    [[nodiscard]] auto end() { return Iterator<T>(slots_.begin() + used()); }
    [[nodiscard]] auto begin() const { return Iterator<const T>(slots_.begin()); }
    [[nodiscard]] auto end() const { return Iterator<const T>(slots_.begin() + used()); }

  private:
    /// A large batch does not leave its room behind for ever.
    static constexpr std::size_t kept_max = 1'024;

    [[nodiscard]] std::ptrdiff_t used() const { return static_cast<std::ptrdiff_t>(used_); }

    Slots slots_;
    std::size_t used_ = 0;
};

}  // namespace ff::core
