// Listing: a long list read page by page, as a range.
//
//   for (const ff::ExecutionInfo& found : client.executions({.lane_id = "web"})) { … }
//
// One pass, one thread; the next page is asked for when it is needed.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ff/error.h>
#include <ff/exception.h>

namespace ff {

template <class T>
class Listing {
  public:
    struct Page {
        std::vector<T> items;
        bool more = false;  ///< a page may be empty and still not be the last
    };
    /// Gives the next page each time.
    using FetchFn = std::move_only_function<expected<Page>()>;

    explicit Listing(FetchFn fetch) : fetch_(std::move(fetch)) {}

    /// The next one, nothing at the end. After an error it may be called again.
    expected<std::optional<T>> try_next() {
        while (at_ == page_.items.size()) {
            if (!page_.more) {
                return std::optional<T>();
            }
            FF_TRY(page_, fetch_());
            at_ = 0;
        }
        return std::optional<T>(std::move(page_.items[at_++]));
    }
    /// All that are left. Throws.
    std::vector<T> all() {
        std::vector<T> out;
        while (auto item = value_or_throw(try_next())) {
            out.push_back(std::move(*item));
        }
        return out;
    }

    class Iterator {
      public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        explicit Iterator(Listing& listing) : listing_(&listing) { ++*this; }
        const T& operator*() const { return *item_; }
        const T* operator->() const { return &*item_; }
        Iterator& operator++() {
            item_ = value_or_throw(listing_->try_next());
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return !item_; }

      private:
        Listing* listing_;
        std::optional<T> item_;
    };

    /// Both may throw when a page cannot be read.
    Iterator begin() { return Iterator(*this); }
    std::default_sentinel_t end() { return {}; }

  private:
    FetchFn fetch_;
    Page page_{{}, true};
    std::size_t at_ = 0;
};

}  // namespace ff
