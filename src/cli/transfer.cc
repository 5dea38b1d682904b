#include "cli/transfer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include <ff/clock.h>

#include <ff/json.h>
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "store/placed_file.h"
#include "store/postgres_db.h"
#include "store/sqlite_backup.h"
#include "store/store_file.h"
#include "store/transfer.h"

namespace ff::cli {

namespace {

using SteadyClock = std::chrono::steady_clock;
using store::TransferSummary;

constexpr std::string_view standard_stream = "-";

/// Progress on standard error a few times a second, and an ear for Ctrl-C.
class Watch {
  public:
    /// False when the work is to stop.
    bool show(const std::function<std::string()>& text) {
        const auto now = SteadyClock::now();
        if (now - shown_at_ >= std::chrono::milliseconds(100)) {
            shown_at_ = now;
            line_.show(text());
        }
        return !InterruptGuard::interrupted();
    }
    store::TransferProgress for_rows(const std::string& doing) {
        return [this, doing](std::string_view table, std::uint64_t rows) {
            return show([&] { return fmt::format("{} {} {} …", doing, table, with_commas(rows)); });
        };
    }
    void clear() { line_.clear(); }
    [[nodiscard]] DurationMs elapsed_ms() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - began_)
            .count();
    }

  private:
    InterruptGuard guard_;
    ProgressLine line_;
    SteadyClock::time_point began_ = SteadyClock::now();
    SteadyClock::time_point shown_at_ = began_;
};

/// The store as people may see it: an address may hold a password.
std::string shown(const std::string& db) {
    const auto location = store::parse_location(db);
    if (location && location->form == store::Location::Form::postgres) {
        return store::printable_url(db).value_or("the PostgreSQL store");
    }
    return db;
}

std::uint64_t count_of(const TransferSummary& summary, std::string_view table) {
    for (std::size_t i = 0; i < store::transfer_tables; ++i) {
        if (store::table_name(store::empty_batch(i)) == table) {
            return summary.rows[i];
        }
    }
    return 0;
}

js::Value summary_json(const TransferSummary& summary, const std::string& store,
                       const std::string& file, DurationMs elapsed_ms) {
    js::Object rows;
    for (std::size_t i = 0; i < store::transfer_tables; ++i) {
        rows.emplace_back(std::string(store::table_name(store::empty_batch(i))), summary.rows[i]);
    }
    return js::Object{{"store", store},
                      {"file", file},
                      {"schema", summary.facts.schema},
                      {"exported_at_ms", summary.exported_at},
                      {"executions", count_of(summary, "ff_exec_core")},
                      {"rows", std::move(rows)},
                      {"event_high", summary.facts.event_high},
                      {"elapsed_ms", elapsed_ms}};
}

/// `12 executions (340 rows)`.
std::string amount(const TransferSummary& summary) {
    return fmt::format("{} executions ({} rows in all)",
                       with_commas(count_of(summary, "ff_exec_core")),
                       with_commas(summary.total()));
}

Error writing_failed(const std::string& what, int fault) {
    return {fault == ENOSPC ? ErrorCode::store_full : ErrorCode::store_io,
            fmt::format("cannot write {}: {}", what, std::strerror(fault)),
            {}};
}

// -------------------------------------------------------------------------------------- export

/// Where the lines of an export go: standard output, or a file that appears when it is whole.
class ExportOutput {
  public:
    static expected<ExportOutput> open(const ExportOptions& options) {
        ExportOutput out;
        if (options.out == standard_stream) {
            return out;
        }
        const auto existing = options.force ? store::Existing::replace : store::Existing::keep;
        FF_TRY(auto file, store::PlacedFile::make(options.out, existing));
        out.file_.emplace(std::move(file));
        out.fd_ = ::open(out.file_->path().c_str(), O_WRONLY | O_CLOEXEC);
        if (out.fd_ < 0) {
            return std::unexpected(writing_failed(options.out, errno));
        }
        return out;
    }
    ExportOutput(ExportOutput&& other) noexcept
        : file_(std::move(other.file_)), fd_(std::exchange(other.fd_, -1)) {}
    ExportOutput& operator=(ExportOutput&&) = delete;
    ~ExportOutput() { close_file(); }

    expected<void> write(std::string_view text) {
        if (!file_) {
            print_out(text);
            if (const int fault = output_fault(); fault != 0) {
                return std::unexpected(writing_failed("the export", fault));
            }
            return {};
        }
        while (!text.empty()) {
            const ssize_t written = ::write(fd_, text.data(), text.size());
            if (written < 0 && errno != EINTR) {
                return std::unexpected(writing_failed(file_->target(), errno));
            }
            text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
        }
        return {};
    }
    /// The export is whole.
    expected<void> finish() {
        close_file();
        return file_ ? file_->place() : expected<void>();
    }

  private:
    ExportOutput() = default;
    void close_file() {
        if (fd_ >= 0) {
            close(std::exchange(fd_, -1));
        }
    }

    std::optional<store::PlacedFile> file_;
    int fd_ = -1;
};

expected<TransferSummary> export_to(const ExportOptions& options, Watch& watch) {
    FF_TRY(const store::Location location, store::parse_location(options.db));
    std::error_code ignored;
    if (location.form == store::Location::Form::sqlite_file && options.out != standard_stream &&
        std::filesystem::equivalent(location.target, options.out, ignored)) {
        return ff::fail(ErrorCode::invalid_config,
                        options.out + " is the store itself; name another file for the export");
    }
    FF_TRY(const auto source, store::open_export_source(location));
    FF_TRY(ExportOutput out, ExportOutput::open(options));
    store::ExportOptions how;
    how.now = SystemClock().now();
    how.progress = watch.for_rows("exporting");
    FF_TRY(auto summary, store::export_store(*source, how, [&](std::string_view lines) {
               return out.write(lines);
           }));
    FF_TRY_VOID(out.finish());
    return summary;
}

// -------------------------------------------------------------------------------------- import

expected<TransferSummary> import_from(const ImportOptions& options, Watch& watch) {
    FF_TRY(const store::Location location, store::parse_location(options.db));
    std::ifstream file;
    const bool piped = options.file == standard_stream;
    if (!piped) {
        std::error_code ignored;
        if (std::filesystem::is_directory(options.file, ignored)) {
            return ff::fail(ErrorCode::store_open_failed,
                            options.file + " is a folder; name the file of an export");
        }
        errno = 0;
        file.open(options.file, std::ios::binary);
        if (!file && errno == ENOENT) {
            return std::unexpected(store::missing_file(options.file));
        }
        if (!file) {
            return ff::fail(ErrorCode::store_open_failed,
                            fmt::format("cannot read {}: {}", options.file, std::strerror(errno)));
        }
    } else {
        std::ios::sync_with_stdio(false);
    }
    FF_TRY(const auto target, store::open_import_target(location));
    store::ImportOptions how;
    how.soundness = options.unsound ? store::Soundness::as_it_is : store::Soundness::demanded;
    how.progress = watch.for_rows("importing");
    return store::import_store(*target, piped ? std::cin : file, how);
}

// -------------------------------------------------------------------------------------- backup

expected<store::BackupSummary> back_up(const BackupOptions& options, Watch& watch) {
    FF_TRY(const store::Location location, store::parse_location(options.db));
    if (location.form == store::Location::Form::postgres) {
        return ff::fail(ErrorCode::invalid_config,
                        "ff backup copies SQLite files; use pg_dump for a PostgreSQL database, or "
                        "ff export for a copy that any store can import");
    }
    if (location.form != store::Location::Form::sqlite_file) {
        return ff::fail(ErrorCode::invalid_config,
                        fmt::format("{} is not a file; name a SQLite store's file", options.db));
    }
    store::BackupOptions how;
    how.existing = options.force ? store::Existing::replace : store::Existing::keep;
    how.quick = options.quick;
    how.progress = [&](std::uint64_t pages, std::uint64_t total) {
        return watch.show([&] {
            return fmt::format("copying page {} of {} …", with_commas(pages), with_commas(total));
        });
    };
    return store::backup_sqlite(location, options.to, how);
}

}  // namespace

ExitCode run_export(const ExportOptions& options) {
    Watch watch;
    const auto summary = export_to(options, watch);
    watch.clear();
    if (!summary) {
        return complain(summary.error());
    }
    const bool to_file = options.out != standard_stream;
    const std::string text =
        for_programs(options.output)
            ? document(options.output,
                       summary_json(*summary, shown(options.db), options.out, watch.elapsed_ms()))
            : fmt::format("exported {} to {} in {}\n", amount(*summary),
                          to_file ? options.out : "standard output", span_text(watch.elapsed_ms()));
    if (to_file) {
        print_out(text);
    } else if (for_programs(options.output) || Terminal::errors().interactive) {
        fmt::print(stderr, "{}", text);
    }
    return ExitCode::ok;
}

ExitCode run_import(const ImportOptions& options) {
    Watch watch;
    const auto summary = import_from(options, watch);
    watch.clear();
    if (!summary) {
        return complain(summary.error());
    }
    print_out(for_programs(options.output)
                  ? document(options.output, summary_json(*summary, shown(options.db), options.file,
                                                          watch.elapsed_ms()))
                  : fmt::format("imported {} into {} in {}\n", amount(*summary), shown(options.db),
                                span_text(watch.elapsed_ms())));
    return ExitCode::ok;
}

ExitCode run_backup(const BackupOptions& options) {
    Watch watch;
    const auto summary = back_up(options, watch);
    watch.clear();
    if (!summary) {
        return complain(summary.error());
    }
    const js::Value object = js::Object{{"store", options.db},
                                        {"backup", summary->path},
                                        {"bytes", summary->bytes},
                                        {"executions", summary->executions},
                                        {"check", options.quick ? "quick" : "full"},
                                        {"elapsed_ms", watch.elapsed_ms()}};
    print_out(for_programs(options.output)
                  ? document(options.output, object)
                  : fmt::format("{} holds {} executions, {}; checked and safe on disk in {}\n",
                                options.to, with_commas(summary->executions),
                                bytes_text(summary->bytes), span_text(watch.elapsed_ms())));
    return ExitCode::ok;
}

}  // namespace ff::cli
