// A PostgreSQL server to measure: databases that go when a measurement is over, and pgbench as the
// ceiling. All through the server's own programs, so that this room needs no library of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ff/error.h>

#include "cli/bench_figures.h"

namespace ff::cli {

/// The address with another database in it; nothing when it is no address of PostgreSQL.
std::optional<std::string> with_database(std::string_view url, std::string_view database);

/// Transactions a second, from what pgbench printed at its end. `internal` when it says none.
expected<double> pgbench_rate(std::string_view printed);

/// The folder in which the server keeps its data; empty when it does not tell.
std::string data_folder(const std::string& url);

/// A database `ff_bench_<process>_<name>` on the server of an address, dropped with the object.
class ScratchDatabase {
  public:
    static expected<std::unique_ptr<ScratchDatabase>> make(const std::string& server_url,
                                                           std::string_view name);
    /// Says so when it has to leave the database behind.
    ~ScratchDatabase();
    ScratchDatabase(const ScratchDatabase&) = delete;
    ScratchDatabase& operator=(const ScratchDatabase&) = delete;

    [[nodiscard]] const std::string& url() const { return url_; }

  private:
    ScratchDatabase() = default;

    std::string server_url_;
    std::string name_;
    std::string url_;
};

/// What the server does without us: `pgbench -N` by 16 clients, an update, a read and an insert a
/// transaction. Asked as often as wanted; the tables keep their size.
class PgbenchCeiling {
  public:
    enum class Protocol : std::uint8_t { simple, prepared };

    static expected<std::unique_ptr<PgbenchCeiling>> make(const BenchOptions& options);

    expected<double> transactions_per_second(Protocol protocol, int seconds);
    /// What a commit has survived when it is answered.
    [[nodiscard]] const std::string& durability() const { return durability_; }

  private:
    PgbenchCeiling() = default;

    std::string program_;
    std::string durability_;
    std::unique_ptr<ScratchDatabase> database_;
};

/// `ff bench ceiling --store postgres`.
expected<void> bench_postgres_ceilings(const BenchOptions& options, Figures& figures);

}  // namespace ff::cli
