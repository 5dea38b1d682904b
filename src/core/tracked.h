// A row that a batch has loaded and may have changed.
#pragma once

#include <optional>
#include <utility>

namespace ff::core {

/// A row as the store has it and as the batch wants it.
template <class T>
struct Tracked {
    bool loaded = false;
    bool dirty = false;
    std::optional<T> stored;
    std::optional<T> current;

    void load(std::optional<T> row) {
        if (loaded) {
            return;  // the batch's own view is newer than a second load
        }
        loaded = true;
        current = row;
        stored = std::move(row);
    }
    void put(T row) {
        loaded = true;
        dirty = true;
        current = std::move(row);
    }
    void erase() {
        loaded = true;
        dirty = true;
        current.reset();
    }
    [[nodiscard]] const T* get() const { return current ? &*current : nullptr; }
};

}  // namespace ff::core
