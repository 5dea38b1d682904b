// Where the library's lines for people go: a function of the user's, or stderr.
//
// Workers and layers write few lines: what a person must know who looks after a process. Each is
// complete in itself and carries no payload and no credential.
#pragma once

#include <functional>
#include <string_view>

#include <ff/states.h>

namespace ff {

FF_WORD_ENUM(Severity, debug, info, warn, error)

/// Takes one line without its end. Called from any thread, also from several at once.
using LogFn = std::function<void(Severity, std::string_view line)>;

/// Writes `flowfabric: <severity>: <line>` to stderr; debug lines are left out.
void log_to_stderr(Severity severity, std::string_view line);

}  // namespace ff
