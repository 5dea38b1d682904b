// Writes of a batch as sets: one statement a table and kind, however many rows. A row-by-row
// statement costs ten times the row on PostgreSQL, even in a pipeline.
//
// Events are numbered by the database: a batch calls its own -1, -2, ... and the statements turn
// these into the next free numbers, which a counter row gives out at the very end of the
// transaction. Who holds that row commits before anybody gets higher numbers, so no event ever
// becomes visible behind one that was seen.
#pragma once

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

inline PgArray::Type array_type(Kind kind) {
    switch (kind) {
        case Kind::integer: return PgArray::Type::integers;
        case Kind::text: return PgArray::Type::texts;
        case Kind::bytes: return PgArray::Type::bytes;
    }
    return PgArray::Type::bytes;
}

/// Statements for sets: the masked columns as arrays $1…, and behind them, when one of the columns
/// holds numbers of events, how many numbers the batch draws. `replace`: rows may be there already.
std::string insert_set_text(const TableInfo& table, ColumnMask mask, bool replace);
std::string update_set_text(const TableInfo& table, ColumnMask mask);
std::string delete_set_text(const TableInfo& table);

/// `(SELECT …) n` with n.base, the event counter before the batch drew `$parameter` numbers.
std::string event_base(int parameter);

/// What a batch does to one table. Rows are kept by address until queue().
template <class Row>
class PgRowSet {
  public:
    /// A row whose key is new.
    void insert(const Row& row) { add(inserts_, row, insert_mask(row)); }
    /// A row that may replace one of the same key.
    void put(const Row& row) { add(puts_, row, insert_mask(row)); }
    void update(const Row& before, const Row& after) {
        if (const ColumnMask mask = difference(before, after); mask != 0) {
            add(updates_, after, mask);
        }
    }
    /// What the store had, if anything, becomes this, if anything.
    void change(const std::optional<Row>& before, const Row& after) {
        if (before) {
            update(*before, after);
        } else {
            insert(after);
        }
    }
    void erase(Row row) { erased_.push_back(std::move(row)); }

    [[nodiscard]] std::size_t size() const {
        return inserts_.rows.size() + puts_.rows.size() + updates_.rows.size() + erased_.size();
    }

    [[nodiscard]] std::size_t erased() const { return erased_.size(); }

    /// Queues the statements; `events` is how many numbers of events the batch draws.
    void queue(PgConnection& connection, std::int64_t events) {
        if (!erased_.empty()) {
            Set set;
            for (const Row& row : erased_) {
                set.rows.push_back(&row);
            }
            send(connection, delete_set_text(table_info<Row>), set.rows, key_mask<Row>(), events);
        }
        if (!inserts_.rows.empty()) {
            send(connection, insert_set_text(table_info<Row>, inserts_.mask, false), inserts_.rows,
                 inserts_.mask, events);
        }
        if (!puts_.rows.empty()) {
            send(connection, insert_set_text(table_info<Row>, puts_.mask, true), puts_.rows,
                 puts_.mask, events);
        }
        if (!updates_.rows.empty()) {
            send(connection, update_set_text(table_info<Row>, updates_.mask), updates_.rows,
                 updates_.mask | key_mask<Row>(), events);
        }
    }

  private:
    /// Rows with all columns that any of them needs: a row that has nothing new in one of them
    /// writes what it has.
    struct Set {
        std::vector<const Row*> rows;
        ColumnMask mask = 0;
    };

    static void add(Set& set, const Row& row, ColumnMask mask) {
        set.rows.push_back(&row);
        set.mask |= mask;
    }

    static void send(PgConnection& connection, const std::string& text,
                     const std::vector<const Row*>& rows, ColumnMask mask, std::int64_t events) {
        std::vector<PgArray> arrays;
        bool numbered = false;
        for (std::size_t i = 0; i < column_count<Row>; ++i) {
            if ((mask >> i & 1U) != 0) {
                arrays.emplace_back(array_type(column_infos<Row>[i].kind));
                numbered = numbered || is_event_number(column_infos<Row>[i].name);
            }
        }
        for (const Row* row : rows) {
            std::size_t i = 0;
            auto array = arrays.begin();
            const auto put = [&](const ColumnInfo& column, const auto& value) {
                if ((mask >> i++ & 1U) != 0) {
                    put_value(*array++, column.kind, value);
                }
            };
            for_each_column<Row>(put, *row);
        }
        PgParams params;
        for (const PgArray& array : arrays) {
            params.array(array);
        }
        if (numbered && mask != key_mask<Row>()) {
            params.integer(events);
        }
        connection.queue(text, std::move(params));
    }

    Set inserts_;
    Set puts_;
    Set updates_;
    std::vector<Row> erased_;
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
        if (erased_ > 0) {
            std::string matches;
            for (const std::string& column : columns_) {
                matches += (matches.empty() ? "t." : " AND t.") + column + " = u." + column;
            }
            send(connection, erasures_,
                 "DELETE FROM " + table_ + " t USING unnest(" + arrays() + ") AS u(" + names() +
                     ") WHERE " + matches);
        }
        if (inserted_ > 0) {
            send(connection, inserts_,
                 "INSERT INTO " + table_ + " (" + names() + ") SELECT * FROM unnest(" + arrays() +
                     ")");
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
    static void send(PgConnection& connection, const std::vector<PgArray>& arrays,
                     const std::string& text) {
        PgParams params;
        for (const PgArray& array : arrays) {
            params.array(array);
        }
        connection.queue(text, std::move(params));
    }
    [[nodiscard]] std::string names() const {
        std::string out;
        for (const std::string& column : columns_) {
            out += (out.empty() ? "" : ", ") + column;
        }
        return out;
    }
    [[nodiscard]] std::string arrays() const {
        std::string out;
        for (std::size_t i = 1; i <= columns_.size(); ++i) {
            out += (out.empty() ? "$" : ", $") + std::to_string(i);
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
        ready.queue(connection);
        timers.queue(connection);
        turns.queue(connection);
        listed.queue(connection);
        tags.queue(connection);
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
