// How commands are described to CLI11: kinds of options that check themselves and say what was
// wrong. For the few units that see CLI11, which is slow to compile.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/text.h"
#include "cli/times.h"

namespace ff::cli {

/// What the parsed command line asks for.
using Action = std::function<ExitCode()>;
/// Only one command runs, so that all of them share these.
using Common = std::shared_ptr<CommonOptions>;

template <class E>
std::vector<std::string> words() {
    return {enum_names<E>.begin(), enum_names<E>.end()};
}

/// The check without its words in the help text, which says it better.
inline CLI::Validator quiet(const CLI::Validator& check) { return check.description(""); }

/// An option that takes one of the words of an enum.
template <class E>
CLI::Option& add_word(CLI::App& app, const std::string& name, E& value, const std::string& help) {
    const auto take = [&value](const std::string& word) {
        if (const auto parsed = parse_enum<E>(word)) {
            value = *parsed;
        }
    };
    return *app.add_option_function<std::string>(name, take, help)
                ->check(quiet(CLI::IsMember(words<E>())))
                ->type_name(joined(words<E>(), "|"));
}

inline void add_output(CLI::App& app, Output& output,
                       const std::string& help = "For people (default) or for programs") {
    add_word(app, "-o,--output", output, help);
}

/// `1,000`, `0.5`.
template <class N>
std::string number_text(N value) {
    if constexpr (std::floating_point<N>) {
        if (value != std::floor(value)) {
            return fmt::format("{}", value);
        }
    }
    return with_commas(static_cast<std::uint64_t>(value));
}

template <class N>
struct Range {
    N low;
    N high;

    [[nodiscard]] std::string text() const {
        return fmt::format("{} to {}", number_text(low), number_text(high));
    }
};

template <class N>
bool parses_as(const std::string& text, N& value, std::errc& fault) {
    const char* end = text.data() + text.size();
    const auto [at, code] = std::from_chars(text.data(), end, value);
    fault = code;
    return at == end && !text.empty() && code != std::errc::invalid_argument;
}

/// What is wrong with a number, or nothing.
template <class N>
std::string fault_of_number(const std::string& text, Range<N> range) {
    N value{};
    double any{};
    std::errc fault{};
    if (!parses_as(text, value, fault)) {
        return parses_as(text, any, fault) ? text + " is not a whole number"
                                           : text + " is not a number";
    }
    const bool inside = fault == std::errc{} && value >= range.low && value <= range.high;
    return inside ? "" : fmt::format("{} is not in the range {}", text, range.text());
}

/// An option that takes a number, or a list of numbers; the help names its limits.
template <class T, class N>
CLI::Option& add_number(CLI::App& app, const std::string& name, T& value, Range<N> range,
                        const std::string& help, const std::string& usual) {
    const std::string preset = usual.empty() ? "" : "; default " + usual;
    CLI::Option* option =
        app.add_option(name, value, fmt::format("{} ({}{})", help, range.text(), preset));
    option->check(
        CLI::Validator([range](std::string& text) { return fault_of_number(text, range); }, ""));
    option->type_name("N");
    return *option;
}

/// An option that takes a text.
template <class T>
CLI::Option& add_text(CLI::App& app, const std::string& name, T& value, const std::string& type,
                      const std::string& help) {
    return *app.add_option(name, value, help)->type_name(type);
}

/// An option that may be given several times, each time with one text.
inline CLI::Option& add_texts(CLI::App& app, const std::string& name,
                              std::vector<std::string>& values, const std::string& type,
                              const std::string& help) {
    // Without this one would take all the words that follow.
    return *app.add_option(name, values, help + " (may be repeated)")
                ->allow_extra_args(false)
                ->type_name(type);
}

/// Executions as arguments, at least one.
inline void add_ids(CLI::App& app, std::vector<std::string>& ids) {
    app.add_option("id", ids, "Executions: ids, or the last 6 digits or more of them")
        ->required()
        ->type_name("ID");
}
inline void add_id(CLI::App& app, std::string& id) {
    app.add_option("id", id, "The execution: its id, or the last 6 digits or more of it")
        ->required()
        ->type_name("ID");
}

/// An option that takes a span of time.
inline CLI::Option& add_span(CLI::App& app, const std::string& name,
                             std::optional<DurationMs>& value, const std::string& help) {
    const auto check = [](std::string& text) {
        const auto span = parse_span(text);
        return span ? std::string() : span.error().detail;
    };
    const auto take = [&value](const std::string& text) {
        value = parse_span(text).value_or(DurationMs{0});
    };
    return *app.add_option_function<std::string>(name, take, help)
                ->check(CLI::Validator(check, ""))
                ->type_name("SPAN");
}

/// Help that names arguments by what they are, and leaves out what the text says anyway.
std::shared_ptr<CLI::FormatterBase> help_formatter();
/// The filters of a list of executions.
void add_list_filter(CLI::App& app, ListFilter& filter);
/// Where the command finds its engine.
void add_connection(CLI::App& app, const Common& common);
/// The same, and how it prints.
void add_common(CLI::App& app, const Common& common);
/// `--watch`, whose value may be left out: see spell_out_bare().
void add_watch(CLI::App& app, std::optional<DurationMs>& every_ms);
/// Gives a bare `--watch` or `--resume` its value. CLI11 would take the word that follows it, an id
/// or a file for example.
std::vector<std::string> spell_out_bare(std::vector<std::string> words);

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      const std::string& examples);

/// Makes `action` of a command. `run` is called when the command line is right.
inline void on_command(CLI::App& command, Action& action, std::function<ExitCode()> run) {
    command.callback([&action, run = std::move(run)] { action = run; });
}

// The groups of commands, each in a unit of its own.
void add_work_commands(CLI::App& app, Action& action, const Common& common);
void add_flow_commands(CLI::App& app, Action& action, const Common& common);
void add_wait_commands(CLI::App& app, Action& action, const Common& common);
void add_limit_commands(CLI::App& app, Action& action, const Common& common);
void add_event_commands(CLI::App& app, Action& action, const Common& common);
void add_operator_commands(CLI::App& app, Action& action, const Common& common);
void add_store_commands(CLI::App& app, Action& action);
void add_serve_commands(CLI::App& app, Action& action, const Common& common);

}  // namespace ff::cli
