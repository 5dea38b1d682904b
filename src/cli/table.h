// Aligned tables for people. Cells are foreign text: they are made printable when they are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"

namespace ff::cli {

enum class Align : std::uint8_t { left, right };
/// Whether a column gives up width when the window is too narrow.
enum class Give : std::uint8_t { keep, shrink };

struct Column {
    std::string title;
    Align align = Align::left;
    Give give = Give::keep;
};

struct Cell {
    std::string text;
    Style style = Style::plain;

    Cell(std::string t, Style s = Style::plain)  // NOLINT(google-explicit-constructor)
        : text(std::move(t)), style(s) {}
    Cell(std::string_view t, Style s = Style::plain)  // NOLINT(google-explicit-constructor)
        : text(t), style(s) {}
    Cell(const char* t, Style s = Style::plain)  // NOLINT(google-explicit-constructor)
        : text(t), style(s) {}
};

class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// Missing cells at the end are empty.
    void add(std::vector<Cell> cells);
    [[nodiscard]] bool empty() const { return rows_.empty(); }

    /// One line a row, a line of titles first unless all titles are empty. Fits the window by
    /// cutting the columns that may shrink.
    [[nodiscard]] std::string render(const Terminal& terminal) const;

  private:
    [[nodiscard]] std::vector<std::size_t> widths(std::size_t columns_max) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

}  // namespace ff::cli
