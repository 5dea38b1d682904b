// One command's conversation with an engine: what it talks to, and for whom it prints.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <ff/engine.h>

#include "cli/connection.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/views.h"

namespace ff::cli {

/// The options that every such command has.
struct CommonOptions {
    ConnectOptions connect;
    Output output = Output::text;
};

struct Session {
    std::shared_ptr<Engine> engine;
    Output output = Output::text;
    View view;

    template <class Op>
    expected<typename Op::Result> ask(Op op) const {
        return engine->run(std::move(op));
    }
};

expected<Session> open_session(const CommonOptions& options, Access access);

/// Opens a session and runs `body`. What went wrong becomes a line and an exit code.
ExitCode with_session(const CommonOptions& options, Access access,
                      const std::function<ExitCode(const Session&)>& body);

/// The same for a command that has one text to print.
ExitCode print_from(const CommonOptions& options,
                    const std::function<expected<std::string>(const Session&)>& body);

}  // namespace ff::cli
