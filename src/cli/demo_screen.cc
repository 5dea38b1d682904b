#include "cli/demo_screen.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
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

/// The widest line of a text without colours.
std::size_t widest_line(std::string_view text) {
    std::size_t widest = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        widest = std::max(widest, columns_of(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return widest;
}

/// The width that is left for a bar, or 0 when it would be too short to tell anything.
std::size_t bar_beside(std::size_t text_columns, std::size_t columns, std::size_t bar_max) {
    constexpr std::size_t bar_min = 4;
    const std::size_t left = columns > text_columns ? columns - text_columns : 0;
    return left < bar_min ? 0 : std::min(left, bar_max);
}

Table lanes_table(const DemoBoard& board, std::size_t bar) {
    Table table({{"lane"},
                 {"waiting", Align::right},
                 {"active", Align::right},
                 {"done", Align::right},
                 {""}});
    for (std::size_t i = 0; i < demo_lanes.size(); ++i) {
        const DemoLane& lane = board.lanes[i];
        table.add({demo_lanes[i],
                   as_count(lane.waiting()),
                   {as_count(lane.active), Style::cyan},
                   {as_count(lane.done), Style::green},
                   {progress_bar(part_of(lane.done, lane.submitted), bar), Style::dim}});
    }
    return table;
}

/// The bars shrink first; where even the numbers must be cut there are no colours either.
std::string lanes_text(const DemoBoard& board, std::size_t columns, const Terminal& terminal) {
    constexpr std::size_t gap = 2;
    const std::string bare = lanes_table(board, 0).render({});
    if (widest_line(bare) > columns) {
        std::string out;
        for (std::string_view rest = bare; !rest.empty();) {
            const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
            out += cut_to(rest.substr(0, end), columns) + "\n";
            rest.remove_prefix(end + 1);
        }
        return out;
    }
    return lanes_table(board, bar_beside(widest_line(bare) + gap, columns, bar_columns))
        .render(terminal);
}

std::string total_text(const DemoBoard& board, double rate, std::size_t columns,
                       const Terminal& terminal) {
    const double part = part_of(board.done(), board.jobs);
    const std::string text =
        fmt::format("{:3.0f} %  {} of {}  {} jobs/s  {:.1f} s", std::floor(part * 100),
                    as_count(board.done()), as_count(board.jobs), rounded(rate), board.seconds());
    const std::size_t bar =
        bar_beside(columns_of(text) + 1, columns, std::min(wide_bar_columns, columns / 2));
    if (bar == 0) {
        return cut_to(text, columns);
    }
    return terminal.paint(progress_bar(part, bar), Style::green) + " " + text;
}

std::string worker_text(const DemoWorkerView& worker, std::size_t columns,
                        const Terminal& terminal) {
    const std::string name = worker.name + (worker.gpu ? " gpu" : "");
    const auto line = [&](std::string_view mark) {
        return cut_to(fmt::format("  {:<13} {}", name, mark), columns);
    };
    switch (worker.state) {
        case DemoWorkerView::State::idle: return terminal.paint(line("○"), Style::dim);
        case DemoWorkerView::State::killed: return terminal.paint(line("✗ killed"), Style::red);
        case DemoWorkerView::State::busy: break;
    }
    std::string text = line("● " + worker.doing);
    const std::size_t dot = text.find("●");
    if (dot == std::string::npos) {
        return text;
    }
    constexpr std::size_t dot_bytes = std::string_view("●").size();
    return text.substr(0, dot) + terminal.paint("●", Style::cyan) + text.substr(dot + dot_bytes);
}

std::string workers_text(const DemoBoard& board, std::size_t columns, const Terminal& terminal) {
    constexpr std::size_t workers_shown = 8;
    const auto workers = board.workers();
    std::string out;
    for (std::size_t i = 0; i < std::min(workers.size(), workers_shown); ++i) {
        out += worker_text(workers[i], columns, terminal) + "\n";
    }
    if (workers.size() > workers_shown) {
        const auto busy =
            std::ranges::count(workers, DemoWorkerView::State::busy, &DemoWorkerView::state);
        out += cut_to(fmt::format("  and {} more, {} busy in all", workers.size() - workers_shown,
                                  busy),
                      columns) +
               "\n";
    }
    return out;
}

}  // namespace

std::string demo_picture(const DemoBoard& board, std::string_view title, double rate,
                         const Terminal& terminal) {
    // The last column stays free: some terminals wrap as soon as it is filled.
    const std::size_t columns = std::max<std::size_t>(terminal.columns, 1) - 1;
    std::string text = terminal.paint(cut_to(title, columns), Style::bold) + "\n\n";
    text += lanes_text(board, columns, terminal) + "\n";
    text += total_text(board, rate, columns, terminal) + "\n\n";
    text += workers_text(board, columns, terminal) + "\n";
    const std::size_t count = board.event_count();
    for (const DemoEvent& event : board.events(count - std::min(count, events_shown))) {
        const std::string line = fmt::format("{:5.1f} s  {}", event.at_seconds, event.text);
        text += terminal.paint(cut_to(line, columns), event.style) + "\n";
    }
    return text;
}

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

void DemoScreen::draw() {
    const std::string text = demo_picture(board_, title_, rate_, Terminal::output());
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
