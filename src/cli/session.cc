#include "cli/session.h"

#include <ff/clock.h>

#include "cli/terminal.h"

namespace ff::cli {

expected<Session> open_session(const CommonOptions& options, Access access) {
    FF_TRY(const Target target, choose_target(options.connect));
    Session session;
    FF_TRY(session.engine, open_engine(target, access));
    session.output = options.output;
    session.view = {Terminal::output(), SystemClock().now()};
    return session;
}

ExitCode with_session(const CommonOptions& options, Access access,
                      const std::function<ExitCode(const Session&)>& body) {
    const auto session = open_session(options, access);
    return session ? body(*session) : complain(session.error());
}

ExitCode print_from(const CommonOptions& options,
                    const std::function<expected<std::string>(const Session&)>& body) {
    return with_session(options, Access::look, [&](const Session& session) {
        const auto text = body(session);
        if (!text) {
            return complain(text.error());
        }
        print_out(*text);
        return ExitCode::ok;
    });
}

}  // namespace ff::cli
