// Completion scripts for shells, made from a description of the command line. Pure functions.
#pragma once

#include <string>
#include <vector>

#include <ff/states.h>

namespace ff::cli {

FF_WORD_ENUM(Shell, bash, zsh, fish)

/// An option, or an argument without a name.
struct CompletedOption {
    std::vector<std::string> names;  ///< `-o`, `--output`
    std::string help;
    bool takes_value = false;
    std::vector<std::string> words;  ///< what the value can be
    bool files = false;              ///< the value is a file
};

struct CompletedCommand {
    std::string name;
    std::string help;
    std::vector<CompletedOption> options;
    std::vector<CompletedOption> arguments;
    std::vector<CompletedCommand> commands;
};

/// A script that needs nothing but the shell: the program is not asked again.
std::string completion_script(Shell shell, const CompletedCommand& program);

}  // namespace ff::cli
