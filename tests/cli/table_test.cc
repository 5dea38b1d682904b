// Tables, numbers and foreign text as people see them.
#include "cli/table.h"

#include <gtest/gtest.h>

#include "cli/svg_plot.h"
#include "cli/text.h"

namespace ff::cli {
namespace {

Terminal plain(std::size_t columns) {
    Terminal terminal;
    terminal.columns = columns;
    return terminal;
}

TEST(Table, AlignsColumnsAndLeavesNoTrailingSpace) {
    Table table({{"name"}, {"count", Align::right}, {"note"}});
    table.add({"a", "1"});
    table.add({"long name", "1,000", "yes"});
    EXPECT_EQ(table.render(plain(0)),
              "name       count  note\n"
              "a              1\n"
              "long name  1,000  yes\n");
}

TEST(Table, ShrinksOnlyWhatMayShrink) {
    Table table({{"id"}, {"text", Align::left, Give::shrink}});
    table.add({"0123456789", "a rather long sentence about nothing"});
    EXPECT_EQ(table.render(plain(30)),
              "id          text\n"
              "0123456789  a rather long sen…\n");
    EXPECT_EQ(table.render(plain(0)),
              "id          text\n"
              "0123456789  a rather long sentence about nothing\n");
}

TEST(Table, CountsCharactersNotBytes) {
    Table table({{""}, {""}});
    table.add({"…é", "x"});
    table.add({"ab", "y"});
    EXPECT_EQ(table.render(plain(0)), "…é  x\nab  y\n");
}

TEST(Table, ColoursOnlyWhereTheyAreSeen) {
    Table table({{""}});
    table.add({{"done", Style::green}});
    EXPECT_EQ(table.render(plain(0)), "done\n");
    Terminal colourful = plain(80);
    colourful.colour = true;
    EXPECT_EQ(table.render(colourful), "\x1b[32mdone\x1b[0m\n");
}

TEST(Detail, HasItsMillisecondsAsATimeOrASpan) {
    EXPECT_EQ(detail_text("delayed until 1790000000000"), "delayed until 2026-09-21 14:13:20.000Z");
    EXPECT_EQ(detail_text("retry backoff until 1790000000123 (attempt 0 failed: 1790000000456)"),
              "retry backoff until 2026-09-21 14:13:20.123Z (attempt 0 failed: 1790000000456)")
        << "a reason is as it was";
    EXPECT_EQ(detail_text("suspension escalated: timeout at 1790000000000"),
              "suspension escalated: timeout at 2026-09-21 14:13:20.000Z");
    EXPECT_EQ(detail_text("resume delay 90000ms after signal go"),
              "resume delay 1 min 30 s after signal go");
    for (const char* same :
         {"", "delayed until tomorrow", "delayed until ", "2 dep(s) unresolved"}) {
        EXPECT_EQ(detail_text(same), same);
    }
}

TEST(Table, ForeignTextCannotSteerTheTerminal) {
    Table table({{""}});
    table.add({std::string("a\x1b[31m\nb\xff")});
    EXPECT_EQ(table.render(plain(0)), "a\\x1b[31m\\nb\\xff\n");
}

TEST(Text, Numbers) {
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(1'000), "1,000");
    EXPECT_EQ(with_commas(1'234'567), "1,234,567");
    EXPECT_EQ(rounded(18'432.7), "18,400");
    EXPECT_EQ(rounded(105'210), "105,000");
    EXPECT_EQ(rounded(254.4), "254");
    EXPECT_EQ(rounded(73.21), "73.2");
    EXPECT_EQ(rounded(0.4149), "0.41");
    EXPECT_EQ(bytes_text(712), "712 B");
    EXPECT_EQ(bytes_text(4'403), "4.3 KiB");
    EXPECT_EQ(bytes_text(1'288'490'189), "1.2 GiB");
}

TEST(Text, Times) {
    EXPECT_EQ(span_text(640), "640 ms");
    EXPECT_EQ(span_text(12'400), "12.4 s");
    EXPECT_EQ(span_text(200'000), "3 min 20 s");
    EXPECT_EQ(span_text(18'720'000), "5 h 12 min");
    EXPECT_EQ(span_text(273'600'000), "3 d 4 h");
    EXPECT_EQ(span_text(-1'500), "-1.5 s");
    EXPECT_EQ(time_text(0), "1970-01-01 00:00:00.000Z");
    EXPECT_EQ(time_text(1'700'000'000'123), "2023-11-14 22:13:20.123Z");
}

TEST(Text, CutsAtCharacters) {
    EXPECT_EQ(cut_to("abc", 3), "abc");
    EXPECT_EQ(cut_to("abcd", 3), "ab…");
    EXPECT_EQ(cut_to("éééé", 3), "éé…");
    EXPECT_EQ(cut_to("abc", 0), "");
}

TEST(Plot, IsAnSvgWithEveryLine) {
    Plot plot;
    plot.title = "a < b";
    plot.lines.push_back({"claim", {{1'000, 10}, {1'000'000, 12}}});
    plot.lines.push_back({"log n", {{1'000, 10}, {1'000'000, 20}}, true});
    const std::string svg = plot.svg();
    EXPECT_TRUE(svg.starts_with("<svg ")) << svg;
    EXPECT_TRUE(svg.ends_with("</svg>\n")) << svg;
    for (const char* part : {"a &lt; b", "claim", "log n", "1,000,000", "polyline"}) {
        EXPECT_NE(svg.find(part), std::string::npos) << part;
    }
}

}  // namespace
}  // namespace ff::cli
