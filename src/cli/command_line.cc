#include "cli/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/completion.h"
#include "cli/grammar.h"
#include "cli/profile_list.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "store/sqlite_db.h"

namespace ff::cli {

namespace {

std::string version_text() {
    return fmt::format("ff {} (SQLite {})", FF_VERSION, store::sqlite_version());
}

// --------------------------------------------------------------------------- what was meant

/// `ff inspect ls`.
std::string path_of(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return parent == nullptr ? command.get_name() : path_of(*parent) + " " + command.get_name();
}

const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
    return command.get_option_no_throw(name);
}

const CLI::App* find_command(const CLI::App& parent, const std::string& name) {
    const auto found =
        parent.get_subcommands([&](const CLI::App* app) { return app->check_name(name); });
    return found.empty() ? nullptr : found.front();
}

bool takes_commands(const CLI::App& command) {
    return !command.get_subcommands([](const CLI::App*) { return true; }).empty();
}

bool takes_arguments(const CLI::App& command) {
    return !command.get_options([](const CLI::Option* o) { return o->get_positional(); }).empty();
}

std::vector<std::string> commands_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::App* known : command.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(known->get_name());
    }
    return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

std::string meant(const std::string& word, const std::vector<std::string>& known) {
    const std::string nearest = nearest_word(word, known);
    return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

/// What other programs call it.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {
    {"describe", "get"}, {"enqueue", "submit"}, {"kill", "cancel"}, {"list", "ls"},
    {"log", "tail"},     {"logs", "tail"},      {"ps", "ls"},       {"retry", "replay"},
    {"run", "submit"},   {"server", "serve"},   {"show", "get"},    {"start", "serve"},
    {"status", "get"},   {"stop", "cancel"},
};

std::string meant_command(const std::string& word, const std::vector<std::string>& known) {
    for (const auto& [theirs, ours] : other_names) {
        if (word == theirs && std::ranges::find(known, ours) != known.end()) {
            return fmt::format("; did you mean {}?", ours);
        }
    }
    return meant(word, known);
}

/// The command that the words lead to, and the first word that nobody knows.
struct Reading {
    const CLI::App* command;
    std::string fault;  ///< empty: every word is known
};

/// CLI11 reports what is missing before what is misspelt; people need it the other way round.
Reading read_words(const CLI::App& app, const std::vector<std::string>& words) {
    const CLI::App* at = &app;
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        const std::string& word = words[i];
        if (word.size() > 1 && word[0] == '-') {
            const bool is_long = word[1] == '-';
            const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
            const CLI::Option* option = find_option(*at, name);
            if (option == nullptr) {
                return {at, "unknown option " + name + meant(name, options_of(*at))};
            }
            const bool takes_next = name == word && option->get_items_expected_max() > 0;
            i += takes_next ? 1 : 0;
        } else if (const CLI::App* command = find_command(*at, word); command != nullptr) {
            at = command;
        } else if (takes_commands(*at)) {
            return {at, fmt::format("unknown command \"{}\"{}", word,
                                    meant_command(word, commands_of(*at)))};
        } else if (!takes_arguments(*at)) {
            return {at, fmt::format("unexpected argument \"{}\"", word)};
        }
    }
    return {at, ""};
}

/// `ff help doctor` is `ff doctor --help`, `ff version` is `ff --version`.
std::vector<std::string> words_of(int argc, const char* const* argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    } else if (!words.empty() && words[0] == "version") {
        words[0] = "--version";
    }
    return words;
}

ExitCode refuse_usage(const CLI::App& command, std::string_view fault) {
    const std::string_view between = fault.ends_with('?') ? " See" : "; see";
    complain(fmt::format("{}{} {} --help", fault, between, path_of(command)));
    return ExitCode::usage;
}

/// What CLI11 says of a fault, as the rest of the program would say it.
std::string in_our_words(const std::string& fault) {
    if (fault.starts_with("A subcommand")) {
        return "name a command";
    }
    const std::size_t colon = fault.find(": ");
    if (fault.starts_with("The following argument") && colon != std::string::npos) {
        return fmt::format("unexpected argument \"{}\"", fault.substr(colon + 2));
    }
    return fault;
}

ExitCode parse_and_run(CLI::App& app, const std::vector<std::string>& words, const Action& action) {
    const Reading reading = read_words(app, words);
    if (!reading.fault.empty()) {
        return refuse_usage(*reading.command, reading.fault);
    }
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 wants it
    } catch (const CLI::Success& asked) {
        std::ostringstream text;  // help or version
        app.exit(asked, text, text);
        print_out(text.str());
        return ExitCode::ok;
    } catch (const CLI::ParseError& error) {
        return refuse_usage(*reading.command, in_our_words(error.what()));
    }
    return action ? action() : ExitCode::usage;
}

/// What could not be printed makes a success a failure. A reader who had enough is no fault.
ExitCode after_output(ExitCode code) {
    const int fault = output_fault();
    if (fault == 0 || fault == EPIPE) {
        return code;
    }
    complain(fmt::format("cannot write output: {}", std::strerror(fault)));
    return code == ExitCode::ok ? ExitCode::failed : code;
}

// ------------------------------------------------------------------------------ for the shell

/// The words that a value can be. Some names of types are these words, see add_word().
std::vector<std::string> words_of_type(const std::string& type) {
    if (type == "STATE") {
        return words<PublicState>();
    }
    const bool any_upper =
        std::ranges::any_of(type, [](unsigned char c) { return c >= 'A' && c <= 'Z'; });
    return any_upper || !type.contains('|') ? std::vector<std::string>()
                                            : CLI::detail::split(type, '|');
}

CompletedOption describe(const CLI::Option& option) {
    CompletedOption out;
    for (const std::string& name : option.get_snames()) {
        out.names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        out.names.push_back("--" + name);
    }
    const std::string type = option.get_type_name();
    out.help = option.get_description();
    out.takes_value = option.get_items_expected_max() > 0;
    out.words = words_of_type(type);
    out.files = type == "FILE" || type == "DIR" || type == "STORE";
    return out;
}

CompletedCommand describe(const CLI::App& command) {
    CompletedCommand out{command.get_name(), command.get_description(), {}, {}, {}};
    for (const CLI::Option* option : command.get_options()) {
        (option->get_positional() ? out.arguments : out.options).push_back(describe(*option));
    }
    for (const CLI::App* child : command.get_subcommands([](const CLI::App*) { return true; })) {
        out.commands.push_back(describe(*child));
    }
    return out;
}

void add_profiles(CLI::App& app, Action& action, const Common& common) {
    CLI::App& c = add_command(
        app, "profiles", "Names for servers and stores",
        "  ff profiles\n"
        "  ff --profile prod ls\n"
        "They stand in ~/.config/flowfabric/config.toml (FF_CONFIG names another file):\n"
        "  default = \"local\"\n"
        "  [profiles.local]\n"
        "  connect = \"sqlite:app.db\"\n"
        "  [profiles.prod]\n"
        "  connect = \"https://flow.example.org\"\n"
        "  token_file = \"prod.token\"        # readable by you only");
    c.group("Shell");
    add_output(c, common->output);
    on_command(c, action, [common] { return list_profiles(common->output); });
}

void add_completion(CLI::App& app, Action& action) {
    auto shell = std::make_shared<Shell>(Shell::bash);
    CLI::App& c =
        add_command(app, "completion", "Completion of commands and options for a shell",
                    "  ff completion bash > ~/.local/share/bash-completion/completions/ff\n"
                    "  ff completion zsh > ~/.zfunc/_ff\n"
                    "  ff completion fish > ~/.config/fish/completions/ff.fish");
    c.group("Shell");
    add_word(c, "shell", *shell, "Which shell").required();
    on_command(c, action, [&app, shell] {
        print_out(completion_script(*shell, describe(app)));
        return ExitCode::ok;
    });
}

}  // namespace

ExitCode run_command_line(int argc, const char* const* argv) {
    prepare_output();
    CLI::App app("FlowFabric: durable execution in one program and one file.", "ff");
    Action action;
    const auto common = std::make_shared<CommonOptions>();
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.formatter(help_formatter());
    app.footer(
        "Examples:\n"
        "  ff demo                                   # see it work\n"
        "  ff submit email.receipt '{\"order\":17}'    # hand in work; prints its id\n"
        "  ff ls --state failed --since 1h           # what went wrong\n"
        "  ff why 5f6071                             # why it is not running\n"
        "  ff top                                    # watch it all\n"
        "  ff flow run build.toml                    # run a graph of commands\n"
        "  ff help tag set                           # the help of a command\n"
        "Commands talk to --connect, --profile, $FF_CONNECT, the default of ff profiles, or\n"
        "http://127.0.0.1:9090, in this order.\n"
        "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict.");
    add_common(app, common);
    add_work_commands(app, action, common);
    add_flow_commands(app, action, common);
    add_wait_commands(app, action, common);
    add_limit_commands(app, action, common);
    add_event_commands(app, action, common);
    add_operator_commands(app, action, common);
    add_serve_commands(app, action, common);
    add_store_commands(app, action);
    add_profiles(app, action, common);
    add_completion(app, action);
    return after_output(parse_and_run(app, spell_out_bare(words_of(argc, argv)), action));
}

}  // namespace ff::cli
