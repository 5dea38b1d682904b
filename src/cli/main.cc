// The `ff` program.
#include "cli/command_line.h"

int main(int argc, char** argv) { return static_cast<int>(ff::cli::run_command_line(argc, argv)); }
