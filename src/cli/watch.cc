#include "cli/watch.h"

#include <fmt/core.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>

#include <ff/clock.h>

#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

/// A signal that comes just before a wait is seen after this long at the latest.
constexpr DurationMs wait_step_ms = 200;

/// Keys arrive one by one and are not shown, for as long as the object lives.
class Keys {
  public:
    Keys() {
        termios now{};
        readable_ = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before_) == 0;
        if (readable_) {
            now = before_;
            now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            tcsetattr(STDIN_FILENO, TCSANOW, &now);
        }
    }
    ~Keys() {
        if (readable_) {
            tcsetattr(STDIN_FILENO, TCSANOW, &before_);
        }
    }
    Keys(const Keys&) = delete;
    Keys& operator=(const Keys&) = delete;

    /// Waits for a key; 0 when none came.
    char wait(DurationMs ms) {
        pollfd keyboard{readable_ ? STDIN_FILENO : -1, POLLIN, 0};
        char key = 0;
        if (poll(&keyboard, 1, static_cast<int>(ms)) == 1 && readable_ &&
            read(STDIN_FILENO, &key, 1) != 1) {
            readable_ = false;  // the terminal is gone
        }
        return key;
    }

  private:
    termios before_{};
    bool readable_ = false;
};

/// A screen of its own, which leaves the one before as it was.
class Screen {
  public:
    Screen() { print_out("\x1b[?1049h\x1b[?25l"); }
    ~Screen() { print_out("\x1b[?25h\x1b[?1049l"); }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    /// Replaces what is shown. Lines that do not fit below are left out.
    static void show(std::string_view text, const Terminal& terminal) {
        std::string out = "\x1b[H";
        std::size_t rows = 1;
        while (!text.empty() && (terminal.rows == 0 || rows < terminal.rows)) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            out += text.substr(0, end);
            out += "\x1b[K\n";
            rows += 1;
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        print_out(out + "\x1b[J");
    }
};

/// False when it is time to end.
bool pause_for(DurationMs ms, Keys& keys) {
    using Steady = std::chrono::steady_clock;
    const auto until = Steady::now() + std::chrono::milliseconds(ms);
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now());
        if (InterruptGuard::interrupted() || output_fault() != 0) {
            return false;
        }
        if (left.count() <= 0) {
            return true;
        }
        const char key = keys.wait(std::min<DurationMs>(left.count(), wait_step_ms));
        if (key == 'q' || key == 'Q') {
            return false;
        }
    }
}

std::string heading(const std::string& title, DurationMs every_ms, const Terminal& terminal) {
    const std::string text =
        fmt::format("{}   every {}   {}   q ends", printable(title), span_text(every_ms),
                    time_text(SystemClock().now()).substr(11, 8));
    return terminal.paint(cut_to(text, std::max<std::size_t>(terminal.columns, 2) - 1),
                          Style::dim) +
           "\n\n";
}

ExitCode watch_in_place(DurationMs every_ms, const std::string& title, std::string text,
                        const std::function<expected<std::string>()>& frame) {
    const InterruptGuard guard;
    Keys keys;
    const Screen screen;
    for (;;) {
        const Terminal terminal = Terminal::output();
        Screen::show(heading(title, every_ms, terminal) + text, terminal);
        if (!pause_for(every_ms, keys)) {
            return ExitCode::ok;
        }
        auto next = frame();
        text =
            next ? std::move(*next)
                 : terminal.paint("ff: " + printable(sentence_of(next.error())), Style::red) + "\n";
    }
}

ExitCode watch_in_lines(DurationMs every_ms, std::string text,
                        const std::function<expected<std::string>()>& frame) {
    const InterruptGuard guard;
    Keys keys;
    for (;;) {
        print_out(text);
        if (!pause_for(every_ms, keys)) {
            return ExitCode::ok;
        }
        auto next = frame();
        if (!next) {
            complain(sentence_of(next.error()));
        }
        text = next ? std::move(*next) : "";
    }
}

}  // namespace

ExitCode watch(DurationMs every_ms, const std::string& title,
               const std::function<expected<std::string>()>& frame) {
    auto first = frame();
    if (!first) {
        return complain(first.error());
    }
    return Terminal::output().interactive
               ? watch_in_place(every_ms, title, std::move(*first), frame)
               : watch_in_lines(every_ms, std::move(*first), frame);
}

ExitCode print_or_watch(const CommonOptions& options, const std::optional<DurationMs>& every_ms,
                        const std::string& title,
                        const std::function<expected<std::string>(const Session&)>& body) {
    if (!every_ms) {
        return print_from(options, body);
    }
    return watch(*every_ms, title, [&]() -> expected<std::string> {
        FF_TRY(const Session session, open_session(options, Access::look));
        FF_TRY(std::string text, body(session));
        // Frames of a table follow each other; what programs read has no empty lines.
        const bool apart = !for_programs(options.output) && !session.view.terminal.interactive;
        return text + (apart ? "\n" : "");
    });
}

}  // namespace ff::cli
