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
    std::string names;   ///< a, b, c
    std::string arrays;  ///< $1, $2, $3, if 1 is first
    std::string values;  ///< u.a, u.b, u.c with numbers of events worked out
    std::string sets;    ///< a = u.a, … without the key
    std::vector<std::string> key;
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
            key.push_back(name);
        } else {
            add_item(sets, ", ", name + " = " + value);
        }
    }
};

PgParams params_of_arrays(const std::vector<PgArray>& arrays) {
    PgParams params;
    for (const PgArray& array : arrays) {
        params.array(array);
    }
    return params;
}

}  // namespace

bool is_event_number(std::string_view column) {
    return column == "event_id" || column == "previous_event_id" || column == "last_event_id";
}

std::string same_key(const std::vector<std::string>& columns) {
    std::string out;
    for (const std::string& column : columns) {
        add_item(out, " AND ", "t." + column + " = u." + column);
    }
    return out;
}

std::string select_keys(const TableInfo& table, const std::vector<std::string>& key) {
    std::string arrays;
    std::string names;
    for (std::size_t i = 0; i < key.size(); ++i) {
        add_item(arrays, ", ", "$" + std::to_string(i + 1));
        add_item(names, ", ", key[i]);
    }
    return "SELECT " + column_list(table, "t.") + " FROM unnest(" + arrays + ") AS u(" + names +
           ") JOIN " + table.source + " t ON " + same_key(key);
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
           " WHERE " + same_key(columns.key);
}

std::string delete_set_text(const TableInfo& table, int first) {
    const PgColumns columns(table, table.key_mask(), first, EventBase::counter);
    return std::string("DELETE FROM ") + table.name + " t USING unnest(" + columns.arrays +
           ") AS u(" + columns.names + ") WHERE " + same_key(columns.key);
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

PgTableSets::PgTableSets(const TableInfo& table) : table_(table) {}

PgTableSets::~PgTableSets() = default;

void PgTableSets::update(const void* before, const void* after) {
    if (const ColumnMask mask = difference(table_.columns, before, after); mask != 0) {
        updates_.add(after, mask | table_.key_mask());
    }
}

bool PgTableSets::holds_event_numbers(const Set& set) const {
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
        if ((set.mask >> i & 1U) != 0 && is_event_number(table_.columns[i].name)) {
            return true;
        }
    }
    return false;
}

void PgTableSets::erase(const void* row) {
    if (erased_ == 0) {
        erased_keys_ = arrays_for(table_.key_mask());
    }
    put_row(erased_keys_, row, table_.key_mask());
    erased_ += 1;
}

std::vector<PgArray> PgTableSets::arrays_for(ColumnMask mask) const {
    std::vector<PgArray> arrays;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
        if ((mask >> i & 1U) != 0) {
            arrays.emplace_back(array_type(table_.columns[i].kind));
        }
    }
    return arrays;
}

void PgTableSets::put_row(std::vector<PgArray>& arrays, const void* row, ColumnMask mask) const {
    auto array = arrays.begin();
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
        if ((mask >> i & 1U) != 0) {
            const ColumnInfo& column = table_.columns[i];
            column.type->put(*array++, column.kind, column.in(row));
        }
    }
}

PgParams PgTableSets::params_of(const Set& set) const {
    std::vector<PgArray> arrays = arrays_for(set.mask);
    for (const void* row : set.rows) {
        put_row(arrays, row, set.mask);
    }
    return params_of_arrays(arrays);
}

template <class Emit>
void PgTableSets::each(EventBase base, Emit emit) {
    if (erased_ > 0) {
        emit(params_of_arrays(erased_keys_), false,
             [&](int first) { return delete_set_text(table_, first); });
    }
    const auto emit_set = [&](const Set& set, auto text) {
        if (!set.rows.empty()) {
            emit(params_of(set), holds_event_numbers(set), text);
        }
    };
    emit_set(inserts_,
             [&](int first) { return insert_set_text(table_, inserts_.mask, false, first, base); });
    emit_set(puts_,
             [&](int first) { return insert_set_text(table_, puts_.mask, true, first, base); });
    emit_set(updates_,
             [&](int first) { return update_set_text(table_, updates_.mask, first, base); });
}

void PgTableSets::queue(PgConnection& connection, std::int64_t events) {
    each(EventBase::counter, [&](PgParams params, bool numbered, auto text) {
        if (numbered) {
            params.integer(events);
        }
        connection.queue(text(1), std::move(params));
    });
}

void PgTableSets::chain(PgChain& chain) {
    each(EventBase::drawn, [&](PgParams params, bool, auto text) {
        chain.add(text(chain.next()), std::move(params));
    });
}

}  // namespace ff::store
