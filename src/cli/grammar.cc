#include "cli/grammar.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "cli/execution_ids.h"
#include "cli/flow_run.h"

namespace ff::cli {

namespace {

constexpr Range<double> watch_seconds{0.1, 3'600.0};

/// `2`, `0.5`, `500ms`; nothing when it is something else, such as an id.
std::optional<DurationMs> watch_period(const std::string& text) {
    double seconds = 0;
    std::errc fault{};
    const auto span = parse_span(text);
    if (span) {
        seconds = static_cast<double>(*span) / 1'000;
    } else if (!parses_as(text, seconds, fault)) {
        return std::nullopt;
    }
    if (seconds < watch_seconds.low || seconds > watch_seconds.high) {
        return std::nullopt;
    }
    return static_cast<DurationMs>(std::llround(seconds * 1'000));
}

/// The digits of an id, or of its end.
bool may_be_id(const std::string& text) {
    return text.size() >= suffix_digits_min && std::ranges::all_of(text, [](unsigned char c) {
               return std::isxdigit(c) != 0 || c == '-';
           });
}

class HelpFormatter final : public CLI::Formatter {
  public:
    std::string make_option_name(const CLI::Option* option, bool positional) const override {
        return positional ? option->get_type_name()
                          : CLI::Formatter::make_option_name(option, positional);
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        const bool named = !option->get_positional() && option->get_type_size() != 0;
        return (named ? " " + option->get_type_name() : "") +
               (option->get_required() && named ? " (required)" : "");
    }

    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override {
        std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
        for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) {
            text.erase(at, 1);
        }
        return text;
    }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      const std::string& examples) {
    CLI::App* command = parent.add_subcommand(name, help);
    if (!examples.empty()) {
        command->footer("Examples:\n" + examples);
    }
    return *command;
}

void add_common(CLI::App& app, const Common& common) {
    add_output(app, common->output);
    add_connection(app, common);
}

void add_connection(CLI::App& app, const Common& common) {
    constexpr const char* group = "Connection";
    app.add_option("--connect", common->connect.connect,
                   "A server (http://HOST:PORT) or a store (sqlite:PATH, postgres://…)")
        ->type_name("ADDRESS")
        ->group(group);
    app.add_option("--profile", common->connect.profile,
                   "A name of the profiles file; see ff profiles")
        ->type_name("NAME")
        ->group(group)
        ->excludes(app.get_option("--connect"));
}

void add_watch(CLI::App& app, std::optional<DurationMs>& every_ms) {
    const auto check = [](std::string& text) {
        return watch_period(text)
                   ? std::string()
                   : fmt::format("{} is not in the range {} seconds", text, watch_seconds.text());
    };
    const auto take = [&every_ms](const std::string& text) { every_ms = watch_period(text); };
    app.add_option_function<std::string>(
           "--watch", take, "Show it again and again (every second unless told otherwise)")
        ->check(CLI::Validator(check, ""))
        ->type_name("[SECONDS]");
}

std::vector<std::string> spell_out_bare(std::vector<std::string> words) {
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        const std::string next = i + 1 < words.size() ? words[i + 1] : "";
        if (words[i] == "--watch" && !watch_period(next)) {
            words[i] = "--watch=1";
        } else if (words[i] == "--resume" && !may_be_id(next)) {
            words[i] = fmt::format("--resume={}", newest_run);
        }
    }
    return words;
}

void add_list_filter(CLI::App& app, ListFilter& filter) {
    add_text(app, "--ns", filter.ns, "NS", "Of this namespace");
    add_text(app, "--lane", filter.lane, "LANE", "Of this lane");
    add_text(app, "--kind", filter.kind, "KIND", "Of this kind");
    const auto take = [&filter](const std::vector<std::string>& given) {
        for (const std::string& word : given) {
            if (const auto state = parse_enum<PublicState>(word)) {
                filter.states.push_back(*state);
            }
        }
    };
    app.add_option_function<std::vector<std::string>>(
           "--state", take,
           "In this state (may be repeated): waiting, delayed, rate_limited, waiting_children,\n"
           "active, suspended, resumable, completed, failed, cancelled, expired, skipped")
        ->allow_extra_args(false)
        ->delimiter(',')
        ->check(quiet(CLI::IsMember(words<PublicState>())))
        ->type_name("STATE");
    add_texts(app, "--tag", filter.tags, "KEY=VALUE", "With this tag, all of them");
    add_text(app, "--since", filter.since, "SPAN|TIME", "Created then or later: 10m, 2026-03-01");
    add_text(app, "--until", filter.until, "SPAN|TIME", "Created before");
    app.add_flag("--oldest", filter.oldest_first, "Oldest first");
    add_number(app, "--limit", filter.limit, Range{1, 1'000}, "How many at most", "50");
    add_text(app, "--cursor", filter.cursor, "CURSOR", "Continue where a list ended");
}

}  // namespace ff::cli
