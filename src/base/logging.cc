#include <ff/logging.h>

#include <cstdio>
#include <string>

namespace ff {

void log_to_stderr(Severity severity, std::string_view line) {
    if (severity == Severity::debug) {
        return;
    }
    // One call, so that lines of two threads do not mix.
    std::string text("flowfabric: ");
    text.append(to_string(severity)).append(": ").append(line).push_back('\n');
    std::fputs(text.c_str(), stderr);
}

}  // namespace ff
