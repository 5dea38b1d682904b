// Writes of a batch as sets: one statement a table and kind, however many rows. A row-by-row
// statement costs ten times the row on PostgreSQL, even in a pipeline.
//
// Events are numbered by the database: a batch calls its own -1, -2, ... and the statements turn
// these into the next free numbers, which a counter row gives out at the very end of the
// transaction. Who holds that row commits before anybody gets higher numbers, so no event ever
// becomes visible behind one that was seen.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "store/postgres_db.h"
#include "store/prepare.h"
#include "store/ready_row.h"
#include "store/value_codec.h"

namespace ff::store {

/// Columns that hold numbers of events.
bool is_event_number(std::string_view column);

/// The array that holds values kept so.
PgArray::Type array_type(Kind kind);

/// Where a set finds the number of the event before the batch's first, as n.base.
enum class EventBase : std::uint8_t {
    counter,  ///< in the counter, from which the batch has drawn as many as the last parameter says
    drawn,    ///< in what drawing from it gave, earlier in the same chain
};

/// `t.a = u.a AND …` of these columns.
std::string same_key(const std::vector<std::string>& columns);

std::string select_keys(const TableInfo& table, const std::vector<std::string>& key);
/// The rows with these keys: `SELECT all columns FROM unnest($1, …) AS u(key) JOIN table t`.
template <class Row>
std::string select_keys(const std::vector<std::string>& key) {
    return select_keys(table_info<Row>, key);
}

/// Statements for sets: the masked columns as arrays from `$first` on, and behind them, when one of
/// the columns holds numbers of events that are drawn already, how many. `replace`: rows may be
/// there already.
std::string insert_set_text(const TableInfo& table, ColumnMask mask, bool replace, int first,
                            EventBase base);
std::string update_set_text(const TableInfo& table, ColumnMask mask, int first, EventBase base);
std::string delete_set_text(const TableInfo& table, int first);

/// Statements that are sent as one, none of which needs what another does: for a few rows the
/// statement costs more than the rows.
class PgChain {
  public:
    /// The number of the next parameter.
    [[nodiscard]] int next() const { return static_cast<int>(params_.size()) + 1; }
    void add(const std::string& text, PgParams params) {
        if (!last_.empty()) {
            before_ += (before_.empty() ? "WITH c" : ", c") + std::to_string(++count_) + " AS (" +
                       last_ + ")";
        }
        last_ = text;
        params_.append(std::move(params));
    }
    /// The first of a chain whose others may use EventBase::drawn.
    void draw_events(std::int64_t events) {
        PgParams params;
        params.integer(events);
        before_ =
            "WITH drawn AS (UPDATE ff_meta SET value = value + $1 WHERE name = 'event_high'"
            " RETURNING value - $1 AS base)";
        params_.append(std::move(params));
    }
    void queue(PgConnection& connection) {
        if (!last_.empty()) {
            connection.queue(before_.empty() ? last_ : before_ + " " + last_, std::move(params_));
        }
    }

  private:
    std::string before_;
    std::string last_;
    PgParams params_;
    int count_ = 0;
};

/// What a batch does to one table, whatever its rows are. Those that are inserted, put or updated
/// are kept by address until queue().
class PgTableSets {
  public:
    explicit PgTableSets(const TableInfo& table);
    ~PgTableSets();
    PgTableSets(const PgTableSets&) = delete;
    PgTableSets& operator=(const PgTableSets&) = delete;

    [[nodiscard]] std::size_t size() const {
        return inserts_.rows.size() + puts_.rows.size() + updates_.rows.size() + erased_;
    }
    [[nodiscard]] std::size_t erased() const { return erased_; }

    /// Queues the statements; `events` is how many numbers of events the batch draws.
    void queue(PgConnection& connection, std::int64_t events);
    /// Puts them into a chain; events are drawn in it, if at all.
    void chain(PgChain& chain);

    /// A row whose key is new.
    void insert(const void* row) { inserts_.add(row, table_.insert_mask(row)); }
    /// A row that may replace one of the same key.
    void put(const void* row) { puts_.add(row, table_.insert_mask(row)); }
    void update(const void* before, const void* after);
    /// Only the key counts.
    void erase(const void* row);

  private:
    /// Rows with all columns that any of them needs: a row that has nothing new in one of them
    /// writes what it has.
    struct Set {
        std::vector<const void*> rows;
        ColumnMask mask = 0;

        void add(const void* row, ColumnMask columns) {
            rows.push_back(row);
            mask |= columns;
        }
    };

    [[nodiscard]] bool holds_event_numbers(const Set& set) const;
    /// An array for each of these columns, of what the rows have there.
    [[nodiscard]] std::vector<PgArray> arrays_for(ColumnMask mask) const;
    void put_row(std::vector<PgArray>& arrays, const void* row, ColumnMask mask) const;
    [[nodiscard]] PgParams params_of(const Set& set) const;
    /// Calls `emit` for each statement there is, with its parameters, whether it needs the number
    /// of events behind them, and what gives its text from the number of its first parameter.
    template <class Emit>
    void each(EventBase base, Emit emit);

    const TableInfo& table_;
    Set inserts_;
    Set puts_;
    Set updates_;
    std::vector<PgArray> erased_keys_;
    std::size_t erased_ = 0;
};

/// The same with the type of the rows.
template <class Row>
class PgRowSet : public PgTableSets {
  public:
    PgRowSet() : PgTableSets(table_info<Row>) {}

    void insert(const Row& row) { PgTableSets::insert(&row); }
    void put(const Row& row) { PgTableSets::put(&row); }
    void update(const Row& before, const Row& after) { PgTableSets::update(&before, &after); }
    /// What the store had, if anything, becomes this, if anything.
    void change(const std::optional<Row>& before, const Row& after) {
        if (before) {
            update(*before, after);
        } else {
            insert(after);
        }
    }
    void erase(const Row& row) { PgTableSets::erase(&row); }
};

/// Inserts and deletes of a narrow table that is all key.
class PgKeySet {
  public:
    PgKeySet(std::string table, std::vector<std::string> columns, std::vector<PgArray::Type> types)
        : table_(std::move(table)), columns_(std::move(columns)), types_(std::move(types)) {}

    /// `values` puts one value for each column into the sinks it is given.
    template <class Fn>
    void insert(Fn&& values) {
        add(inserts_, inserted_, values);
    }
    template <class Fn>
    void erase(Fn&& values) {
        add(erasures_, erased_, values);
    }
    [[nodiscard]] std::size_t inserted() const { return inserted_; }
    [[nodiscard]] std::size_t erased() const { return erased_; }

    void queue(PgConnection& connection) {
        PgChain one;
        chain(one);
        one.queue(connection);
    }
    void chain(PgChain& chain) {
        if (erased_ > 0) {
            chain.add("DELETE FROM " + table_ + " t USING unnest(" + arrays(chain.next()) +
                          ") AS u(" + names() + ") WHERE " + same_key(columns_),
                      params_of(erasures_));
        }
        if (inserted_ > 0) {
            chain.add("INSERT INTO " + table_ + " (" + names() + ") SELECT * FROM unnest(" +
                          arrays(chain.next()) + ")",
                      params_of(inserts_));
        }
    }

  private:
    template <class Fn>
    void add(std::vector<PgArray>& arrays, std::size_t& count, Fn& values) {
        if (arrays.empty()) {
            for (PgArray::Type type : types_) {
                arrays.emplace_back(type);
            }
        }
        values(arrays);
        count += 1;
    }
    static PgParams params_of(const std::vector<PgArray>& arrays) {
        PgParams params;
        for (const PgArray& array : arrays) {
            params.array(array);
        }
        return params;
    }
    [[nodiscard]] std::string names() const {
        std::string out;
        for (const std::string& column : columns_) {
            out += (out.empty() ? "" : ", ") + column;
        }
        return out;
    }
    [[nodiscard]] std::string arrays(int first) const {
        std::string out;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            out += (out.empty() ? "$" : ", $") + std::to_string(first + static_cast<int>(i));
        }
        return out;
    }

    std::string table_;
    std::vector<std::string> columns_;
    std::vector<PgArray::Type> types_;
    std::vector<PgArray> inserts_;
    std::vector<PgArray> erasures_;
    std::size_t inserted_ = 0;
    std::size_t erased_ = 0;
};

/// The narrow tables that follow from the rows of executions.
class PgSideTables {
  public:
    expected<void> add(const auto& key) {
        set_of(key).insert([&](auto& to) { put(to, key); });
        return {};
    }
    expected<void> erase(const auto& key) {
        set_of(key).erase([&](auto& to) { put(to, key); });
        return {};
    }
    void queue(PgConnection& connection) {
        PgChain one;
        chain(one);
        one.queue(connection);
    }
    void chain(PgChain& chain) {
        ready.chain(chain);
        timers.chain(chain);
        turns.chain(chain);
        listed.chain(chain);
        tags.chain(chain);
    }

    using Type = PgArray::Type;
    PgKeySet ready{"ff_ready",
                   {"route", "rank", "place", "eid"},
                   {Type::integers, Type::integers, Type::integers, Type::integers}};
    PgKeySet timers{
        "ff_timer", {"kind", "due_at", "eid"}, {Type::integers, Type::integers, Type::integers}};
    PgKeySet turns{"ff_turn", {"queue", "eid"}, {Type::integers, Type::integers}};
    PgKeySet listed{"ff_listed", {"bucket", "eid"}, {Type::integers, Type::integers}};
    PgKeySet tags{
        "ff_exec_tag", {"tag_key", "tag_value", "eid"}, {Type::texts, Type::texts, Type::integers}};

  private:
    PgKeySet& set_of(const core::ReadyKey&) { return ready; }
    PgKeySet& set_of(const core::TimerKey&) { return timers; }
    PgKeySet& set_of(const core::TurnKey&) { return turns; }
    PgKeySet& set_of(const ListedKey&) { return listed; }
    PgKeySet& set_of(const TagRow&) { return tags; }

    using Arrays = std::vector<PgArray>;
    static void put(Arrays& to, const core::ReadyKey& key) {
        to[0].integer(key.route);
        to[1].integer(key.rank);
        to[2].integer(key.place);
        to[3].integer(stored_eid(key));
    }
    static void put(Arrays& to, const core::TimerKey& key) {
        to[0].integer(static_cast<std::int64_t>(key.kind));
        to[1].integer(key.due_at);
        to[2].integer(key.eid);
    }
    static void put(Arrays& to, const core::TurnKey& key) {
        to[0].integer(key.queue);
        to[1].integer(key.eid);
    }
    static void put(Arrays& to, const ListedKey& key) {
        to[0].integer(static_cast<std::int64_t>(key.first));
        to[1].integer(key.second);
    }
    static void put(Arrays& to, const TagRow& tag) {
        to[0].text(tag.key);
        to[1].text(tag.value);
        to[2].integer(tag.eid);
    }
};

}  // namespace ff::store
