#include "cli/completion.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "cli/text.h"

namespace ff::cli {

namespace {

/// Calls `visit` for the command and all below it, with the words that lead there.
void for_each_command(
    const CompletedCommand& command, const std::string& path,
    const std::function<void(const CompletedCommand&, const std::string&)>& visit) {
    visit(command, path);
    for (const CompletedCommand& child : command.commands) {
        for_each_command(child, path + " " + child.name, visit);
    }
}

/// A text in single quotes, as all three shells read it.
std::string in_quotes(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return out + "'";
}

/// The first sentence or line, which is what there is room for.
std::string short_help(const std::string& help) {
    return help.substr(0, std::min(help.find_first_of("\n(:;"), help.size()));
}

std::vector<std::string> names_of(const CompletedCommand& command) {
    std::vector<std::string> names;
    for (const CompletedCommand& child : command.commands) {
        names.push_back(child.name);
    }
    return names;
}

struct OptionNames {
    std::vector<std::string> all;
    std::vector<std::string> with_value;
};

OptionNames option_names(const CompletedCommand& command) {
    OptionNames out;
    for (const CompletedOption& option : command.options) {
        out.all.insert(out.all.end(), option.names.begin(), option.names.end());
        if (option.takes_value) {
            out.with_value.insert(out.with_value.end(), option.names.begin(), option.names.end());
        }
    }
    return out;
}

/// What the arguments of a command can be.
CompletedOption arguments_of(const CompletedCommand& command) {
    CompletedOption out;
    for (const CompletedOption& argument : command.arguments) {
        out.words.insert(out.words.end(), argument.words.begin(), argument.words.end());
        out.files = out.files || argument.files;
    }
    return out;
}

std::string spaced(const std::vector<std::string>& list) { return joined(list, " "); }

// ----------------------------------------------------------------------------------- bash and zsh

/// `ff ls)` and so on: what can follow each command. The same text is right in bash and in zsh.
std::string describe_cases(const CompletedCommand& program) {
    std::string out;
    for_each_command(program, program.name,
                     [&](const CompletedCommand& command, const std::string& path) {
                         const OptionNames options = option_names(command);
                         const CompletedOption arguments = arguments_of(command);
                         out += fmt::format(
                             "    {})\n        commands={}\n        options={}\n"
                             "        valued={}\n        words={}\n        files={} ;;\n",
                             in_quotes(path), in_quotes(spaced(names_of(command))),
                             in_quotes(spaced(options.all)), in_quotes(spaced(options.with_value)),
                             in_quotes(spaced(arguments.words)), arguments.files ? "yes" : "''");
                     });
    return out;
}

/// `ff ls --state)` and so on: what the value of an option can be.
std::string value_cases(const CompletedCommand& program) {
    std::string out;
    for_each_command(
        program, program.name, [&](const CompletedCommand& command, const std::string& path) {
            for (const CompletedOption& option : command.options) {
                if (option.words.empty() && !option.files) {
                    continue;
                }
                std::vector<std::string> places;
                for (const std::string& name : option.names) {
                    places.push_back(in_quotes(path + " " + name));
                }
                out += fmt::format("    {}) words={} files={} ;;\n", joined(places, "|"),
                                   in_quotes(spaced(option.words)), option.files ? "yes" : "''");
            }
        });
    return out;
}

constexpr std::string_view bash_head = R"(# Completion of ff for bash: source this file.

# What can follow a command: sets commands, options, valued, words, files.
_ff_describe() {
    commands='' options='' valued='' words='' files=''
    case "$1" in
)";

constexpr std::string_view bash_values = R"(    esac
}

# What the value of an option can be: sets words, files.
_ff_values() {
    words='' files=''
    case "$1 $2" in
)";

constexpr std::string_view bash_tail = R"(    esac
}

_ff() {
    local cur="${COMP_WORDS[COMP_CWORD]}" path=ff i word option=''
    local commands options valued words files
    COMPREPLY=()
    _ff_describe "$path"
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if [[ $word == '=' ]]; then
            continue
        elif [[ -n $option ]]; then
            option=''
        elif [[ $word == -* ]]; then
            [[ " $valued " == *" $word "* ]] && option=$word
        elif [[ " $commands " == *" $word "* ]]; then
            path="$path $word"
            _ff_describe "$path"
        fi
    done
    [[ $cur == '=' ]] && cur=''
    if [[ -n $option ]]; then
        _ff_values "$path" "$option"
    elif [[ $cur == -* ]]; then
        words=$options files=''
    else
        words="$commands $words"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [[ -n $files ]]; then
        compopt -o filenames 2> /dev/null
        COMPREPLY+=($(compgen -f -- "$cur"))
    fi
}

complete -F _ff ff
)";

std::string bash_script(const CompletedCommand& program) {
    return std::string(bash_head) + describe_cases(program) + std::string(bash_values) +
           value_cases(program) + std::string(bash_tail);
}

constexpr std::string_view zsh_head = R"(#compdef ff
# Completion of ff for zsh: put this file as _ff into a folder of $fpath.

# What can follow a command: sets commands, options, valued, words_, files.
_ff_describe() {
    commands='' options='' valued='' words='' files=''
    case "$1" in
)";

constexpr std::string_view zsh_tail = R"(    esac
}

_ff() {
    local given=("${words[@]}") at=$CURRENT
    local cur="${given[at]}" path_=ff i word option=''
    local commands options valued words files
    _ff_describe "$path_"
    for ((i = 2; i < at; i++)); do
        word="${given[i]}"
        if [[ -n $option ]]; then
            option=''
        elif [[ $word == -* ]]; then
            [[ " $valued " == *" $word "* ]] && option=$word
        elif [[ " $commands " == *" $word "* ]]; then
            path_="$path_ $word"
            _ff_describe "$path_"
        fi
    done
    if [[ -n $option ]]; then
        _ff_values "$path_" "$option"
    elif [[ $cur == -* ]]; then
        words=$options files=''
    else
        words="$commands $words"
    fi
    compadd -- ${=words}
    [[ -n $files ]] && _files
    return 0
}

if [[ $funcstack[1] == _ff ]]; then
    _ff "$@"
else
    compdef _ff ff
fi
)";

std::string zsh_script(const CompletedCommand& program) {
    return std::string(zsh_head) + describe_cases(program) + std::string(bash_values) +
           value_cases(program) + std::string(zsh_tail);
}

// ------------------------------------------------------------------------------------------- fish

constexpr std::string_view fish_head = R"(# Completion of ff for fish.

# Do the words that were typed lead to this command?
function __ff_at
    set -l path ff
    set -l given (commandline -opc)
    set -e given[1]
    for word in $given
        if contains -- "$path $word" $__ff_commands
            set path "$path $word"
        end
    end
    test "$path" = "$argv"
end

)";

/// `-s o -l output`.
std::string fish_names(const CompletedOption& option) {
    std::string out;
    for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    return out;
}

std::string fish_option(const std::string& condition, const CompletedOption& option) {
    std::string out = fmt::format("complete -c ff -n {}{}", condition, fish_names(option));
    if (option.takes_value) {
        out += option.files ? " -r -F" : " -x";
    }
    if (!option.words.empty()) {
        out += " -a " + in_quotes(spaced(option.words));
    }
    return out + " -d " + in_quotes(short_help(option.help)) + "\n";
}

std::string fish_script(const CompletedCommand& program) {
    std::string paths;
    std::string rules = "complete -c ff -f\n";
    for_each_command(
        program, program.name, [&](const CompletedCommand& command, const std::string& path) {
            paths += " " + in_quotes(path);
            const std::string condition = in_quotes("__ff_at " + path);
            for (const CompletedCommand& child : command.commands) {
                rules += fmt::format("complete -c ff -n {} -a {} -d {}\n", condition,
                                     in_quotes(child.name), in_quotes(short_help(child.help)));
            }
            const CompletedOption arguments = arguments_of(command);
            if (!arguments.words.empty()) {
                rules += fmt::format("complete -c ff -n {} -a {}\n", condition,
                                     in_quotes(spaced(arguments.words)));
            }
            if (arguments.files) {
                rules += fmt::format("complete -c ff -n {} -F\n", condition);
            }
            for (const CompletedOption& option : command.options) {
                rules += fish_option(condition, option);
            }
        });
    return std::string(fish_head) + "set -g __ff_commands" + paths + "\n\n" + rules;
}

}  // namespace

std::string completion_script(Shell shell, const CompletedCommand& program) {
    switch (shell) {
        case Shell::bash: return bash_script(program);
        case Shell::zsh: return zsh_script(program);
        case Shell::fish: return fish_script(program);
    }
    return "";
}

}  // namespace ff::cli
