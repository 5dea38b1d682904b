// What the code that every SQL database shares sees of one: values that go in and come out,
// statements, a connection. That code is compiled once; a virtual call a column costs nothing next
// to what the database does. One thread at a time, like the connections behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ff/error.h>

#include "store/schema.h"

namespace ff::store {

/// Takes values, one after the other.
class ValueSink {
  public:
    virtual void null() = 0;
    virtual void integer(std::int64_t value) = 0;
    // What these are given stays where it is until the sink was used: for a statement until its
    // reset(), since it may be read with each step.
    virtual void text(std::string_view value) = 0;
    virtual void bytes(std::string_view value) = 0;
    // What these are given may go.
    virtual void text_copy(const std::string& value) = 0;
    virtual void bytes_copy(const std::string& value) = 0;

  protected:
    ~ValueSink() = default;
};

/// Gives values, one after the other.
class ValueSource {
  public:
    [[nodiscard]] virtual bool is_null() const = 0;
    virtual void skip() = 0;
    virtual std::int64_t integer() = 0;
    /// Of texts too. Good until the source moves on to another row.
    virtual std::string_view bytes() = 0;
    /// Remembers the first column that does not hold what it should.
    virtual void corrupt(const char* name, const std::string& value) = 0;

  protected:
    ~ValueSource() = default;
};

/// A statement, used as: bind in order with the calls of the sink, then step() until it gives
/// false; reset() before the next use (run() does both). Also the source of the current row.
///
/// After an error of step() or run() it is as after reset(). What check() finds ends nothing: who
/// gives up the rows that are left calls reset().
class SqlStatement : public ValueSink, public ValueSource {
  public:
    using ValueSink::bytes;
    using ValueSink::integer;
    using ValueSource::bytes;
    using ValueSource::integer;

    /// True when there is a row. Columns are then taken in order, starting at the first.
    virtual expected<bool> step() = 0;
    /// Steps to the end, then resets.
    virtual expected<void> run() = 0;
    /// Every parameter is to be bound anew, there is no row, and whatever was wrong is forgotten.
    virtual void reset() = 0;
    /// `corruption` if any column was corrupt since the last step.
    [[nodiscard]] virtual expected<void> check() const = 0;

  protected:
    ~SqlStatement() = default;
};

/// Statements by text, each for one caller at a time.
class SqlStatements {
  public:
    virtual ~SqlStatements() = default;
    virtual SqlStatement& get(const std::string& text) = 0;
};

/// A connection as far as migrations and the like need it.
class SqlDb {
  public:
    [[nodiscard]] virtual Dialect dialect() const = 0;
    /// A text that begins a transaction which no other process can migrate beside; empty when one
    /// is under way already.
    [[nodiscard]] virtual const char* begin_migration() const = 0;
    /// Of the store in it; 0 when there is none yet.
    virtual expected<int> schema_version() = 0;
    /// Runs one or more statements that give no rows.
    virtual expected<void> execute(const std::string& text) = 0;
    /// The first value of the first row, as text; empty when there is none.
    virtual expected<std::string> scalar(const std::string& text) = 0;

  protected:
    ~SqlDb() = default;
};

}  // namespace ff::store
