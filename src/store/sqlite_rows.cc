#include "store/sqlite_rows.h"

#include <utility>

#include "base/check.h"

namespace ff::store {

namespace {

constexpr std::size_t rows_at_once = 16;

}  // namespace

Statement& StatementCache::get(const std::string& text) {
    auto it = statements_.find(text);
    if (it == statements_.end()) {
        auto statement = db_.prepare(text);
        FF_CHECK(statement.has_value(), statement ? "" : statement.error().message().c_str());
        it = statements_.emplace(text, std::move(*statement)).first;
    }
    return it->second;
}

expected<void> TableWriter::insert(const void* row) {
    return insert_one(row, table_.insert_mask(row));
}

expected<void> TableWriter::insert_one(const void* row, ColumnMask mask) {
    return write(inserts_, row, mask, "INSERT INTO ");
}

expected<void> TableWriter::insert_all(const std::vector<const void*>& rows) {
    // Every insert names something, so no row has the mask of what is behind the last.
    const auto mask_of = [&](std::size_t i) {
        return i < rows.size() ? table_.insert_mask(rows[i]) : ColumnMask{0};
    };
    ColumnMask next = mask_of(0);
    for (std::size_t at = 0; at < rows.size();) {
        const ColumnMask mask = next;
        std::size_t end = at;
        do {
            next = mask_of(++end);
        } while (next == mask && end - at < rows_at_once);
        if (end - at == rows_at_once) {
            FF_TRY_VOID(insert_set(rows.data() + at, mask));
            at = end;
        }
        for (; at < end; ++at) {
            FF_TRY_VOID(insert_one(rows[at], mask));
        }
    }
    return {};
}

expected<void> TableWriter::put(const void* row) {
    return write(replaces_, row, table_.insert_mask(row), "INSERT OR REPLACE INTO ");
}

expected<void> TableWriter::update(const void* before, const void* after) {
    const ColumnMask mask = difference(table_.columns, before, after);
    if (mask == 0) {
        return {};
    }
    auto it = updates_.find(mask);
    if (it == updates_.end()) {
        FF_TRY(Statement statement, db_.prepare(update_text(table_, mask)));
        it = updates_.emplace(mask, std::move(statement)).first;
    }
    put_columns(it->second, table_.columns, after, mask);
    put_columns(it->second, table_.columns, after, table_.key_mask());
    return it->second.run();
}

expected<void> TableWriter::erase(const void* row) {
    if (!erase_) {
        FF_TRY(erase_, db_.prepare(delete_text(table_)));
    }
    put_columns(erase_, table_.columns, row, table_.key_mask());
    return erase_.run();
}

expected<void> TableWriter::write(Statements& statements, const void* row, ColumnMask mask,
                                  const std::string& verb) {
    auto it = statements.find(mask);
    if (it == statements.end()) {
        std::string text = insert_text(table_, mask);
        text.replace(0, std::string("INSERT INTO ").size(), verb);
        FF_TRY(Statement statement, db_.prepare(text));
        it = statements.emplace(mask, std::move(statement)).first;
    }
    put_columns(it->second, table_.columns, row, mask);
    return it->second.run();
}

/// A conflict ends the transaction, as it does anyway: a statement that could be undone alone would
/// have to keep a journal of its own, which costs more than what is won.
expected<void> TableWriter::insert_set(const void* const* rows, ColumnMask mask) {
    auto it = sets_.find(mask);
    if (it == sets_.end()) {
        std::string text = insert_text(table_, mask, "", rows_at_once);
        text.replace(0, std::string("INSERT").size(), "INSERT OR ROLLBACK");
        FF_TRY(Statement statement, db_.prepare(text));
        it = sets_.emplace(mask, std::move(statement)).first;
    }
    for (std::size_t i = 0; i < rows_at_once; ++i) {
        put_columns(it->second, table_.columns, rows[i], mask);
    }
    return it->second.run();
}

}  // namespace ff::store
