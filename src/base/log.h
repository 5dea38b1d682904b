// The log: one line for each event, on stderr, for people (text) or for programs (JSON).
//
//   Logger logger({.filter = *LogFilter::parse("info,http=debug")}, clock);
//   const Log log = logger.target("http");
//   log.info("listening", {{"addr", "127.0.0.1:9090"}});
//   2026-11-16T10:00:00.123Z INFO http listening addr=127.0.0.1:9090
//
// main makes the one Logger and hands out targets; there is nothing global. Any thread may log; a
// line is one write(2), and lines of two threads never mix. What is filtered out costs a comparison
// (values are views: nothing is copied or formatted). Messages and keys are literals of the
// program; what comes from outside goes into values, which are quoted, escaped and cut so that no
// text can end a line, forge another or disturb a terminal.
//
// Left to others: not logging secrets, and ignoring SIGPIPE should stderr be a pipe.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ff/clock.h>
#include <ff/error.h>
#include <ff/states.h>

namespace ff {

FF_WORD_ENUM(LogLevel, error, warn, info, debug, trace)
FF_WORD_ENUM(LogFormat, text, json_)

/// What is let through: a level for all targets, and other levels for some.
class LogFilter {
  public:
    /// `info`, or a list like `warn,http=debug`; in any case and order, the last of a name wins.
    /// Empty: `info`. `invalid_input` says which part is wrong.
    static expected<LogFilter> parse(std::string_view text);

    /// The highest level that is let through. Target `audit` is always on.
    [[nodiscard]] LogLevel level_of(std::string_view target) const;
    /// In the form that parse() reads.
    [[nodiscard]] std::string to_string() const;

  private:
    LogLevel others_ = LogLevel::info;
    std::vector<std::pair<std::string, LogLevel>> targets_;
};

/// `key=value`. Views only: what they name must live until the call that logs returns.
struct LogField {
    using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

    std::string_view key;  ///< lower case; `ts`, `level`, `target` and `msg` are taken
    Value value;

    LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
    LogField(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
    LogField(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
    LogField(std::string_view k, double v) : key(k), value(v) {}
    LogField(std::string_view k, std::same_as<bool> auto v) : key(k), value(v) {}
    template <std::signed_integral N>
    LogField(std::string_view k, N v) : key(k), value(static_cast<std::int64_t>(v)) {}
    template <std::unsigned_integral N>
        requires(!std::same_as<N, bool>)
    LogField(std::string_view k, N v) : key(k), value(static_cast<std::uint64_t>(v)) {}
};

class Logger;

/// One target of a logger: what code holds that logs. Cheap to copy; the logger must outlive it.
class Log {
  public:
    using Fields = std::initializer_list<LogField>;

    /// For lines whose values cost something to make.
    [[nodiscard]] bool on(LogLevel level) const { return level <= level_; }

    void write(LogLevel level, std::string_view message, std::span<const LogField> fields) const;
    void error(std::string_view m, Fields f = {}) const { write(LogLevel::error, m, span(f)); }
    void warn(std::string_view m, Fields f = {}) const { write(LogLevel::warn, m, span(f)); }
    void info(std::string_view m, Fields f = {}) const { write(LogLevel::info, m, span(f)); }
    void debug(std::string_view m, Fields f = {}) const { write(LogLevel::debug, m, span(f)); }
    void trace(std::string_view m, Fields f = {}) const { write(LogLevel::trace, m, span(f)); }

  private:
    friend class Logger;
    Log(Logger& logger, std::string_view target, LogLevel level)
        : logger_(&logger), target_(target), level_(level) {}
    static std::span<const LogField> span(Fields f) { return {f.begin(), f.size()}; }

    Logger* logger_;
    std::string target_;
    LogLevel level_;
};

struct LogOptions {
    LogFilter filter;
    LogFormat format = LogFormat::text;
};

class Logger {
  public:
    /// Takes one line with its line end. Never called by two threads at once.
    using Sink = std::function<void(std::string_view line)>;

    /// To stderr, or to `sink`.
    Logger(LogOptions options, std::shared_ptr<Clock> clock, Sink sink = {});
    Logger(const Logger&) = delete;
    Logger& operator=(const Logger&) = delete;

    [[nodiscard]] Log target(std::string_view name);

  private:
    friend class Log;
    void write(LogLevel level, std::string_view target, std::string_view message,
               std::span<const LogField> fields);

    // Fixed after construction.
    const LogOptions options_;
    const std::shared_ptr<Clock> clock_;
    const Sink sink_;

    std::mutex mutex_;  ///< held while the sink is called
};

/// `2026-11-16T10:00:00.123Z`. Years 0 to 9999; others are shown as the nearest of these.
std::string utc_text(TimestampMs at);

}  // namespace ff
