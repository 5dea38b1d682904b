// toml++, with one set of switches for everybody. Slow to compile: only files that read TOML
// include it, and config_file.cc compiles what is behind it.
#pragma once

#define TOML_HEADER_ONLY 0
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
