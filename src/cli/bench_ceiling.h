// What the machine can do without us: the ceilings that our own figures are compared with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ff/error.h>

#include "cli/bench_figures.h"
#include "store/sqlite_db.h"

namespace ff::cli {

/// Appends of 4 KiB made durable one by one, a second.
expected<double> fsyncs_per_second(const std::string& folder, double seconds);

/// A program that does nothing but SQLite: per operation one indexed select, one insert, two
/// updates and one insert of an event, prepared, on a table of job rows with two more indexes.
/// WAL, synchronous=FULL. Used by one thread; the table keeps its size, so it may be asked often.
class SqliteCeiling {
  public:
    static expected<std::unique_ptr<SqliteCeiling>> make(const std::string& folder,
                                                         std::int64_t rows);
    ~SqliteCeiling();
    SqliteCeiling(const SqliteCeiling&) = delete;
    SqliteCeiling& operator=(const SqliteCeiling&) = delete;

    /// With so many operations a transaction.
    expected<double> operations_per_second(int per_transaction, double seconds);

  private:
    SqliteCeiling() = default;
    expected<void> prepare();
    expected<void> fill();
    expected<void> operation();
    [[nodiscard]] std::string id_of(std::int64_t eid) const;

    std::string path_;
    std::int64_t rows_ = 0;
    std::unique_ptr<store::SqliteDb> db_;
    store::Statement begin_;
    store::Statement commit_;
    store::Statement select_;
    store::Statement insert_attempt_;
    store::Statement update_lease_;
    store::Statement update_progress_;
    store::Statement insert_event_;
    std::int64_t next_ = 0;  ///< operation number
};

/// `ff bench ceiling`: of the store that is measured.
expected<void> bench_ceilings(const BenchOptions& options, const std::string& folder,
                              Figures& figures);

/// Rows of the ceiling's table: those of the spec, fewer for a quick run.
std::int64_t ceiling_rows(const BenchOptions& options);

}  // namespace ff::cli
