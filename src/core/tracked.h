// A row that a batch has loaded and may have changed.
#pragma once

#include <optional>
#include <utility>

namespace ff::core {

/// A row as the store has it and as the batch wants it. One that is only looked at is kept once.
template <class T>
class Tracked {
  public:
    bool loaded = false;
    bool dirty = false;
    bool implied = false;  ///< other rows say the same: it is not written (store/implied.h)
    std::optional<T> stored;

    void load(std::optional<T> row) {
        if (loaded) {
            return;  // the batch's own view is newer than a second load
        }
        loaded = true;
        stored = std::move(row);
    }
    void put(T row) {
        loaded = true;
        dirty = true;
        changed_ = std::move(row);
    }
    void erase() {
        loaded = true;
        dirty = true;
        changed_.reset();
    }
    /// As the batch wants it.
    [[nodiscard]] const std::optional<T>& current() const { return dirty ? changed_ : stored; }
    [[nodiscard]] const T* get() const { return current() ? &*current() : nullptr; }
    /// The row, which must be there, to be changed in place.
    [[nodiscard]] T& edit() {
        if (!dirty) {
            dirty = true;
            changed_ = stored;
        }
        return *changed_;
    }

  private:
    std::optional<T> changed_;  ///< when dirty
};

}  // namespace ff::core
