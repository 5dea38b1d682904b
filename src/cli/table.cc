#include "cli/table.h"

#include <algorithm>
#include <numeric>

#include "cli/text.h"

namespace ff::cli {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest = 8;  // a column that shrinks keeps this much

std::string padded(const Terminal& terminal, const Cell& cell, std::size_t width, Align align,
                   bool last) {
    const std::string text = cut_to(cell.text, width);
    const std::string space(width - std::min(width, columns_of(text)), ' ');
    const std::string painted = terminal.paint(text, cell.style);
    if (align == Align::right) {
        return space + painted;
    }
    return last ? painted : painted + space;
}

}  // namespace

void Table::add(std::vector<Cell> cells) {
    for (Cell& cell : cells) {
        cell.text = printable(cell.text);
    }
    cells.resize(columns_.size(), Cell(""));
    rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(std::size_t columns_max) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = columns_of(columns_[i].title);
        for (const auto& row : rows_) {
            width = std::max(width, columns_of(row[i].text));
        }
        out.push_back(width);
    }
    if (columns_max == 0) {
        return out;
    }
    std::size_t total = std::accumulate(out.begin(), out.end(), gap * (columns_.size() - 1));
    // The widest of those that may shrink gives way first, so that none is cut for another's sake.
    while (total > columns_max) {
        std::size_t* widest = nullptr;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (columns_[i].give == Give::shrink && out[i] > narrowest &&
                (widest == nullptr || out[i] > *widest)) {
                widest = &out[i];
            }
        }
        if (widest == nullptr) {
            break;
        }
        *widest -= 1;
        total -= 1;
    }
    return out;
}

std::string Table::render(const Terminal& terminal) const {
    const auto width = widths(terminal.columns);
    const auto line = [&](const std::vector<Cell>& cells) {
        std::string out;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const bool last = i + 1 == columns_.size();
            out += padded(terminal, cells[i], width[i], columns_[i].align, last);
            out += last ? "" : std::string(gap, ' ');
        }
        out.erase(out.find_last_not_of(' ') + 1);
        return out + "\n";
    };
    std::string out;
    if (std::ranges::any_of(columns_, [](const Column& c) { return !c.title.empty(); })) {
        std::vector<Cell> titles;
        for (const Column& column : columns_) {
            titles.emplace_back(column.title, Style::bold);
        }
        out += line(titles);
    }
    for (const auto& row : rows_) {
        out += line(row);
    }
    return out;
}

}  // namespace ff::cli
