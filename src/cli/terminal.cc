#include "cli/terminal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/text.h"

namespace ff::cli {

namespace {

constexpr std::size_t columns_default = 80;
constexpr std::size_t rows_default = 24;

int first_fault = 0;  // of standard output, which one thread writes to

bool has_value(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

Terminal look_at(int fd) {
    Terminal terminal;
    terminal.interactive = isatty(fd) == 1;
    if (!terminal.interactive) {
        return terminal;
    }
    const char* kind = std::getenv("TERM");
    const bool dumb = kind != nullptr && std::string_view(kind) == "dumb";
    terminal.colour = !dumb && !has_value("NO_COLOR");
    winsize size{};
    const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    terminal.columns = known ? size.ws_col : columns_default;
    terminal.rows = known && size.ws_row > 0 ? size.ws_row : rows_default;
    return terminal;
}

std::string_view code_of(Style style) {
    switch (style) {
        case Style::plain: return "";
        case Style::bold: return "\x1b[1m";
        case Style::dim: return "\x1b[2m";
        case Style::green: return "\x1b[32m";
        case Style::yellow: return "\x1b[33m";
        case Style::red: return "\x1b[31m";
        case Style::cyan: return "\x1b[36m";
    }
    return "";
}

}  // namespace

Terminal Terminal::output() { return look_at(STDOUT_FILENO); }
Terminal Terminal::errors() { return look_at(STDERR_FILENO); }

std::string Terminal::paint(std::string_view text, Style style) const {
    const std::string_view code = colour && !text.empty() ? code_of(style) : std::string_view();
    return code.empty() ? std::string(text) : fmt::format("{}{}\x1b[0m", code, text);
}

void prepare_output() {
    std::signal(SIGPIPE, SIG_IGN);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) {
            continue;
        }
        if (fd == STDOUT_FILENO) {
            first_fault = EBADF;
        }
        // The lowest number that is free, which is this one.
        [[maybe_unused]] const int same = open("/dev/null", O_RDWR);
    }
}

void print_out(std::string_view text) {
    if (first_fault != 0) {
        return;
    }
    errno = 0;
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) {
        first_fault = errno != 0 ? errno : EIO;
    }
}

int output_fault() { return first_fault; }

void ProgressLine::show(std::string_view text) {
    if (!terminal_.interactive) {
        return;
    }
    fmt::print(stderr, "\r{}\x1b[K", cut_to(text, terminal_.columns - 1));
    std::fflush(stderr);
    shown_ = true;
}

void ProgressLine::clear() {
    if (shown_) {
        fmt::print(stderr, "\r\x1b[K");
        std::fflush(stderr);
        shown_ = false;
    }
}

}  // namespace ff::cli
