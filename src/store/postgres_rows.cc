#include "store/postgres_rows.h"

namespace ff::store {

namespace {

/// The event counter before the batch drew `$parameter` numbers, as n.base.
std::string counter_less(int parameter) {
    return "(SELECT value - $" + std::to_string(parameter) +
           " AS base FROM ff_meta WHERE name = 'event_high') n";
}

/// The masked columns and what stands for them behind unnest.
struct PgColumns {
    std::string names;    ///< a, b, c
    std::string arrays;   ///< $1, $2, $3, if 1 is first
    std::string values;   ///< u.a, u.b, u.c with numbers of events worked out
    std::string sets;     ///< a = u.a, … without the key
    std::string matches;  ///< t.key = u.key AND …
    bool numbered = false;
    int next;  ///< the number of the next parameter
    EventBase base;

    PgColumns(const TableInfo& table, ColumnMask mask, int first, EventBase from_where)
        : next(first), base(from_where) {
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if ((mask >> i & 1U) != 0) {
                add_column(table.columns[i].name, i < table.key_columns);
            }
        }
    }

    /// The rows that `unnest` makes of the arrays, joined with the counter when numbers need it.
    [[nodiscard]] std::string from() const {
        return " FROM unnest(" + arrays + ") AS u(" + names + ")" +
               (!numbered                  ? std::string()
                : base == EventBase::drawn ? " CROSS JOIN drawn n"
                                           : " CROSS JOIN " + counter_less(next));
    }

  private:
    void add_column(const std::string& name, bool is_key) {
        const bool number = is_event_number(name);
        const std::string value = number ? "CASE WHEN u." + name + " < 0 THEN n.base - u." + name +
                                               " ELSE u." + name + " END"
                                         : "u." + name;
        numbered = numbered || number;
        add_item(names, ", ", name);
        add_item(arrays, ", ", "$" + std::to_string(next++));
        add_item(values, ", ", value);
        if (is_key) {
            add_item(matches, " AND ", "t." + name + " = u." + name);
        } else {
            add_item(sets, ", ", name + " = " + value);
        }
    }
};

}  // namespace

bool is_event_number(std::string_view column) {
    return column == "event_id" || column == "previous_event_id" || column == "last_event_id";
}

std::string insert_set_text(const TableInfo& table, ColumnMask mask, bool replace, int first,
                            EventBase base) {
    const PgColumns columns(table, mask, first, base);
    return std::string("INSERT INTO ") + table.name + " (" + columns.names + ") SELECT " +
           columns.values + columns.from() +
           (replace ? " WHERE TRUE" + conflict_clause(table) : std::string());
}

std::string update_set_text(const TableInfo& table, ColumnMask mask, int first, EventBase base) {
    const PgColumns columns(table, mask | table.key_mask(), first, base);
    return std::string("UPDATE ") + table.name + " t SET " + columns.sets + columns.from() +
           " WHERE " + columns.matches;
}

std::string delete_set_text(const TableInfo& table, int first) {
    const PgColumns columns(table, table.key_mask(), first, EventBase::counter);
    return std::string("DELETE FROM ") + table.name + " t USING unnest(" + columns.arrays +
           ") AS u(" + columns.names + ") WHERE " + columns.matches;
}

PgArray::Type array_type(Kind kind) {
    switch (kind) {
        case Kind::integer: return PgArray::Type::integers;
        case Kind::text: return PgArray::Type::texts;
        case Kind::bytes: return PgArray::Type::bytes;
    }
    return PgArray::Type::bytes;
}

// ----------------------------------------------------------------------------------- PgTableSets

bool PgTableSets::holds_event_numbers(const Set& set) const {
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
        if ((set.mask >> i & 1U) != 0 && is_event_number(table_.columns[i].name)) {
            return true;
        }
    }
    return false;
}

PgParams PgTableSets::params_of(const Set& set) const {
    std::vector<PgArray> arrays;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
        if ((set.mask >> i & 1U) != 0) {
            arrays.emplace_back(array_type(table_.columns[i].kind));
        }
    }
    for (const void* row : set.rows) {
        put_(arrays, row, set.mask);
    }
    PgParams params;
    for (const PgArray& array : arrays) {
        params.array(array);
    }
    return params;
}

template <class Emit>
void PgTableSets::each(EventBase base, Emit emit) {
    if (!erasures_.rows.empty()) {
        emit(erasures_, [&](int first) { return delete_set_text(table_, first); });
    }
    if (!inserts_.rows.empty()) {
        emit(inserts_,
             [&](int first) { return insert_set_text(table_, inserts_.mask, false, first, base); });
    }
    if (!puts_.rows.empty()) {
        emit(puts_,
             [&](int first) { return insert_set_text(table_, puts_.mask, true, first, base); });
    }
    if (!updates_.rows.empty()) {
        emit(updates_,
             [&](int first) { return update_set_text(table_, updates_.mask, first, base); });
    }
}

void PgTableSets::queue(PgConnection& connection, std::int64_t events) {
    each(EventBase::counter, [&](const Set& set, auto text) {
        PgParams params = params_of(set);
        if (&set != &erasures_ && holds_event_numbers(set)) {
            params.integer(events);
        }
        connection.queue(text(1), std::move(params));
    });
}

void PgTableSets::chain(PgChain& chain) {
    each(EventBase::drawn,
         [&](const Set& set, auto text) { chain.add(text(chain.next()), params_of(set)); });
}

}  // namespace ff::store
