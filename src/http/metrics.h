// Counters, gauges and histograms, and the text in which Prometheus reads them (format 0.0.4).
//
// Our own, instead of prometheus-cpp: what is needed is one file that only this room sees; that
// library keeps every label set for ever, and bounding them is the part that matters here.
//
// The server owns one registry for its life. Families are made at start; a family gives out cells,
// whose addresses stay good as long as the registry. Making a cell takes a lock, so callers keep
// them; adding to one is an atomic addition. Any thread may do any of it.
//
// Label sets are bounded, whatever callers send: a label may have a limit of distinct values,
// shared by all families that have a label of that name, and a family holds fewer than a thousand
// sets. What goes beyond is counted under `other`, and nothing is lost from a sum.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/histogram.h>

#include "base/atomic_histogram.h"
#include "base/check.h"

namespace ff::http {

enum class MetricType : std::uint8_t { counter, gauge, histogram };

class Counter {
  public:
    void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

class Gauge {
  public:
    void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
    void add(std::int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
    [[nodiscard]] std::int64_t read() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::int64_t> value_{0};
};

/// The text of one scrape, made piece by piece. A family comes first, its samples after it.
class Exposition {
  public:
    using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

    /// Once for each name.
    void family(std::string_view name, MetricType type, std::string_view help);
    void sample(const Labels& labels, std::uint64_t value);
    void sample(const Labels& labels, std::int64_t value);
    void sample(const Labels& labels, double value);
    void sample(const Labels& labels, const DurationHistogram& value);

    std::string take() { return std::move(text_); }

  private:
    void line(std::string_view suffix, const Labels& labels, std::string_view bound,
              std::string_view value);

    std::string text_;
    std::string name_;
    std::set<std::string, std::less<>> names_;
};

/// A label of a family. `distinct_max` 0: its values are the program's own and few.
struct Label {
    std::string_view name;
    std::size_t distinct_max = 0;
};

/// Lanes and the like are named by callers: so many are told apart.
inline constexpr std::size_t distinct_lanes_max = 64;
inline constexpr std::size_t label_sets_max = 999;
inline constexpr std::string_view other_value = "other";

/// Which values of a bounded label are told apart: those that came first.
class DistinctValues {
  public:
    /// The value, or `other`.
    std::string_view fold(const Label& label, std::string_view value);

  private:
    std::mutex mutex_;
    std::map<std::string, std::set<std::string, std::less<>>, std::less<>> seen_;
};

/// What all families have.
class FamilyBase {
  public:
    FamilyBase(std::string_view name, MetricType type, std::string_view help,
               std::vector<Label> labels, DistinctValues& distinct);
    virtual ~FamilyBase() = default;
    FamilyBase(const FamilyBase&) = delete;
    FamilyBase& operator=(const FamilyBase&) = delete;
    virtual void write(Exposition& out) const = 0;
    [[nodiscard]] const std::string& name() const { return name_; }

  protected:
    using Values = std::vector<std::string>;
    [[nodiscard]] Values fold(const Values& values) const;
    [[nodiscard]] Exposition::Labels labels_of(const Values& values) const;
    void write_header(Exposition& out) const { out.family(name_, type_, help_); }

    const std::string name_;
    const MetricType type_;
    const std::string help_;
    const std::vector<Label> labels_;
    DistinctValues& distinct_;
};

template <class Cell>
class Family final : public FamilyBase {
  public:
    using FamilyBase::FamilyBase;

    /// The cell of these values, in the order of the labels. Keep it: finding it takes a lock.
    Cell& with(std::initializer_list<std::string_view> values) {
        FF_CHECK(values.size() == labels_.size(), "a value for each label");
        const Values wanted(values.begin(), values.end());
        {
            const std::shared_lock lock(mutex_);
            if (auto it = cells_.find(wanted); it != cells_.end()) {
                return *it->second;
            }
        }
        Values folded = fold(wanted);
        const std::lock_guard lock(mutex_);
        if (!cells_.contains(folded) && cells_.size() + 1 >= label_sets_max) {
            folded.assign(labels_.size(), std::string(other_value));
        }
        std::unique_ptr<Cell>& cell = cells_[folded];
        if (!cell) {
            cell = std::make_unique<Cell>();
        }
        return *cell;
    }

    void write(Exposition& out) const override {
        write_header(out);
        const std::shared_lock lock(mutex_);
        for (const auto& [values, cell] : cells_) {
            out.sample(labels_of(values), cell->read());
        }
    }

  private:
    mutable std::shared_mutex mutex_;
    std::map<Values, std::unique_ptr<Cell>> cells_;  // guarded by mutex_; cells are not
};

class MetricRegistry {
  public:
    /// Writes whole families at the time of a scrape, on the thread that scrapes.
    using Source = std::function<void(Exposition&)>;

    // The names and labels must be literals.
    Family<Counter>& counters(std::string_view name, std::string_view help,
                              std::vector<Label> labels = {});
    Family<Gauge>& gauges(std::string_view name, std::string_view help,
                          std::vector<Label> labels = {});
    Family<AtomicHistogram>& histograms(std::string_view name, std::string_view help,
                                        std::vector<Label> labels = {});
    /// Must stay callable as long as scrapes come.
    void add_source(Source source);

    /// What there is now: families in the order they were made, then sources.
    [[nodiscard]] std::string scrape() const;

  private:
    template <class Cell>
    Family<Cell>& make(std::string_view name, MetricType type, std::string_view help,
                       std::vector<Label> labels);

    DistinctValues distinct_;
    mutable std::mutex mutex_;
    std::deque<std::unique_ptr<FamilyBase>> families_;  // guarded by mutex_
    std::vector<Source> sources_;                       // guarded by mutex_
};

}  // namespace ff::http
