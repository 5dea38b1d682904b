#include "cli/demo_screen.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cli/table.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

constexpr std::size_t events_shown = 6;
constexpr double print_every_s = 0.5;
constexpr double rate_window_s = 0.5;
constexpr std::size_t bar_columns = 24;
constexpr std::size_t wide_bar_columns = 40;

std::size_t count_lines(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

std::string as_count(std::int64_t count) {
    return with_commas(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)));
}

double part_of(std::int64_t done, std::int64_t all) {
    return all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all);
}

}  // namespace

std::string progress_bar(double part, std::size_t columns) {
    const auto full =
        static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(columns));
    std::string out;
    for (std::size_t i = 0; i < columns; ++i) {
        out += i < full ? "█" : "░";
    }
    return out;
}

DemoScreen::DemoScreen(const DemoBoard& board, std::string title)
    : board_(board), title_(std::move(title)) {
    print_out(interactive_ ? "\x1b[?25l" : title_ + "\n");
}

DemoScreen::~DemoScreen() {
    update();
    if (interactive_) {
        print_out("\x1b[?25h");
    }
}

void DemoScreen::update() {
    measure_rate();
    if (interactive_) {
        draw();
    } else {
        print_lines();
    }
}

void DemoScreen::measure_rate() {
    const double now = board_.seconds();
    if (now - rate_at_ >= rate_window_s) {
        const std::int64_t done = board_.done();
        rate_ = static_cast<double>(done - rate_done_) / (now - rate_at_);
        rate_at_ = now;
        rate_done_ = done;
    }
}

std::string DemoScreen::lanes_text(const Terminal& terminal) const {
    Table table({{"lane"},
                 {"waiting", Align::right},
                 {"active", Align::right},
                 {"done", Align::right},
                 {""}});
    for (std::size_t i = 0; i < demo_lanes.size(); ++i) {
        const DemoLane& lane = board_.lanes[i];
        table.add({demo_lanes[i],
                   as_count(lane.waiting()),
                   {as_count(lane.active), Style::cyan},
                   {as_count(lane.done), Style::green},
                   {progress_bar(part_of(lane.done, lane.submitted), bar_columns), Style::dim}});
    }
    return table.render(terminal);
}

std::string DemoScreen::workers_text(const Terminal& terminal) const {
    constexpr std::size_t workers_shown = 8;
    const auto workers = board_.workers();
    std::string out;
    std::size_t busy = 0;
    for (const DemoWorkerView& worker : workers) {
        busy += worker.state == DemoWorkerView::State::busy ? 1 : 0;
    }
    for (std::size_t i = 0; i < std::min(workers.size(), workers_shown); ++i) {
        const DemoWorkerView& worker = workers[i];
        const std::string name = worker.name + (worker.gpu ? " gpu" : "");
        switch (worker.state) {
            case DemoWorkerView::State::idle:
                out += terminal.paint(fmt::format("  {:<13} ○", name), Style::dim) + "\n";
                break;
            case DemoWorkerView::State::busy:
                out += fmt::format("  {:<13} {} {}\n", name, terminal.paint("●", Style::cyan),
                                   worker.doing);
                break;
            case DemoWorkerView::State::killed:
                out += terminal.paint(fmt::format("  {:<13} ✗ killed", name), Style::red) + "\n";
                break;
        }
    }
    if (workers.size() > workers_shown) {
        out += fmt::format("  and {} more, {} busy in all\n", workers.size() - workers_shown, busy);
    }
    return out;
}

void DemoScreen::draw() {
    const Terminal terminal = Terminal::output();
    std::string text = terminal.paint(cut_to(title_, terminal.columns - 1), Style::bold) + "\n\n";
    text += lanes_text(terminal) + "\n";
    const double part = part_of(board_.done(), board_.jobs);
    text += terminal.paint(progress_bar(part, std::min(wide_bar_columns, terminal.columns / 2)),
                           Style::green);
    text += fmt::format(" {:3.0f} %  {} of {}  {} jobs/s  {:.1f} s\n\n", std::floor(part * 100),
                        as_count(board_.done()), as_count(board_.jobs), rounded(rate_),
                        board_.seconds());
    text += workers_text(terminal) + "\n";
    const std::size_t count = board_.event_count();
    const auto events = board_.events(count - std::min(count, events_shown));
    for (const DemoEvent& event : events) {
        const std::string line = fmt::format("{:5.1f} s  {}", event.at_seconds, event.text);
        text += terminal.paint(cut_to(line, terminal.columns - 1), event.style) + "\n";
    }
    // Up to where the last picture began; every line is cleared to its end, then what is below.
    std::string screen = lines_drawn_ > 0 ? fmt::format("\x1b[{}A", lines_drawn_) : "";
    for (char c : text) {
        if (c == '\n') {
            screen += "\x1b[K";
        }
        screen += c;
    }
    lines_drawn_ = count_lines(text);
    print_out(screen + "\x1b[J");
}

void DemoScreen::print_lines() {
    std::string text;
    for (const DemoEvent& event : board_.events(events_printed_)) {
        events_printed_ += 1;
        if (event.weight == DemoEvent::Weight::notable) {
            text += fmt::format("{:5.1f} s  {}\n", event.at_seconds, event.text);
        }
    }
    const double now = board_.seconds();
    if (now - printed_at_ >= print_every_s) {
        printed_at_ = now;
        text += fmt::format("{:5.1f} s  {} of {} done, {} waiting, {} active, {} jobs/s\n", now,
                            as_count(board_.done()), as_count(board_.jobs),
                            as_count(board_.waiting()), as_count(board_.active()), rounded(rate_));
    }
    if (!text.empty()) {
        print_out(text);
    }
}

}  // namespace ff::cli
