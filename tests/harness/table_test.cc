#include "harness/text/table.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/text/table_widths.h"
#include "harness/text/text.h"

namespace topdnn {
namespace {

using Kind = Table::Kind;

Style PlainOf(int width) {
  return {.colour = false, .unicode = false, .terminal = false, .width = width};
}

Table Layers() {
  Table table({{.name = "stage", .least = 8},
               {.name = "share", .kind = Kind::kPercent},
               {.name = "time", .kind = Kind::kTime},
               {.name = "GFLOP/s", .kind = Kind::kFigure},
               {.name = "", .kind = Kind::kBar},
               {.name = "implementation", .least = 10, .rank = 1},
               {.name = "reason", .kind = Kind::kText, .least = 20, .rank = 2}});
  table.AddRule();
  table.Add({"layer1.0.conv1", 0.5, 1e-3, 123.4, 1.0, "brgconv:avx512_core+relu",
             "an AVX2 kernel would need another layout"});
  table.Add({"layer1.0.conv2", 0.0004, 25e-6, std::nullopt, 0.5, "jit:uni", ""});
  table.AddRule();
  table.Add({"all", "", 1.025e-3, 0.00001, 0.0, "", ""});
  return table;
}

TEST(TableTest, HasAllColumnsIn160) {
  EXPECT_EQ(Layers().Text(PlainOf(160)),
            "stage           share %  time us  GFLOP/s                implementation            "
            "reason\n"
            "-----------------------------------------------------------------------------------"
            "----------------------------------------\n"
            "layer1.0.conv1     50.0   1000    123      ############  brgconv:avx512_core+relu  "
            "an AVX2 kernel would need another layout\n"
            "layer1.0.conv2      0.0     25.0      n/a  ######        jit:uni\n"
            "-----------------------------------------------------------------------------------"
            "----------------------------------------\n"
            "all                       1025     <0.001\n");
}

TEST(TableTest, WrapsTextFirstIn100Columns) {
  EXPECT_EQ(Layers().Text(PlainOf(100)),
            "stage           share %  time us  GFLOP/s          implementation            reason\n"
            "---------------------------------------------------------------------------------"
            "-------------------\n"
            "layer1.0.conv1     50.0   1000    123      ######  brgconv:avx512_core+relu  an AVX2 "
            "kernel would\n"
            "                                                                             need "
            "another layout\n"
            "layer1.0.conv2      0.0     25.0      n/a  ###     jit:uni\n"
            "---------------------------------------------------------------------------------"
            "-------------------\n"
            "all                       1025     <0.001\n");
}

TEST(TableTest, CutsNamesAndListsOmittedColumnsIn60Columns) {
  EXPECT_EQ(Layers().Text(PlainOf(60)),
            "stage           share %  time us  GFLOP/s  implementation\n"
            "------------------------------------------------------------\n"
            "layer1.0.conv1     50.0   1000    123      brgconv..ore+relu\n"
            "layer1.0.conv2      0.0     25.0      n/a  jit:uni\n"
            "------------------------------------------------------------\n"
            "all                       1025     <0.001\n"
            "not shown in 60 columns: reason\n");
  EXPECT_EQ(Layers().Text(PlainOf(36)),
            "stage      share %  time us  GFLOP/s\n"
            "------------------------------------\n"
            "lay..onv1     50.0   1000    123\n"
            "lay..onv2      0.0     25.0      n/a\n"
            "------------------------------------\n"
            "all                  1025     <0.001\n"
            "not shown in 36 columns:\n"
            "  implementation, reason\n");
}

TEST(TableTest, APipeGetsEverything) {
  Style pipe = PlainOf(60);
  pipe.cut = false;
  EXPECT_EQ(Layers().Text(pipe), Layers().Text(PlainOf(160)));
}

TEST(TableTest, EveryLineFitsAnyWidthFrom36) {
  for (int width = 36; width <= 160; ++width) {
    const std::string text = Layers().Text(PlainOf(width), 2);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(end - at, static_cast<std::size_t>(std::max(width, 37))) << width << "\n" << text;
      at = end + 1;
    }
  }
}

TEST(TableTest, ColoursAndUnicodeDoNotChangeTheWidths) {
  Table table({{.name = "name"}, {.name = "time", .kind = Kind::kTime}, {.kind = Kind::kBar}});
  table.AddRule();
  table.Add({{"slow", Ink::kRed}, 2e-6, 0.5});
  table.Add({"fast", 1e-6, 0.0});
  EXPECT_EQ(table.Text({.colour = true, .unicode = true, .terminal = true, .width = 80}),
            "\x1b[1mname  time \u00B5s\x1b[0m\n"
            "\x1b[2m"
            "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500"
            "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500"
            "\x1b[0m\n"
            "\x1b[31mslow\x1b[0m     2.00  \x1b[36m\u2588\u2588\u2588\u2588\u2588\u2588\x1b[0m\n"
            "fast     1.00\n");
}

TEST(TableTest, TimesShareOneUnitThatSuitsTheSmallestAndTheLargest) {
  const auto times = [](std::vector<double> seconds) {
    Table table({{.name = "t", .kind = Kind::kTime}});
    for (const double s : seconds) table.Add({s});
    return table.Text(PlainOf(80));
  };
  EXPECT_EQ(times({2e-3, 0.5e-3}), " t ms\n2.00\n0.500\n");
  EXPECT_EQ(times({4.59e-3, 6.03e-6}), "   t us\n4590\n   6.03\n");
  EXPECT_EQ(times({0.1531, 5e-6}), "   t ms\n153\n  0.005\n");
  EXPECT_EQ(times({3e-9, 0}), "t ns\n3.00\n0\n");
  EXPECT_EQ(times({-2.0, 1.0}), "  t s\n-2.00\n 1.00\n");
}

TEST(TableTest, SignsAndFixedDecimals) {
  Table table({{.name = "added", .kind = Kind::kTime, .sign = true},
               {.name = "ratio", .kind = Kind::kFigure, .decimals = 3},
               {.name = "n", .kind = Kind::kFigure, .decimals = 0}});
  table.Add({1e-3, 1.0041, 12.0});
  table.Add({-1e-3, 0.0001, std::nullopt});
  EXPECT_EQ(table.Text(PlainOf(80)),
            "added ms   ratio    n\n"
            "   +1.00   1.004   12\n"
            "   -1.00  <0.001  n/a\n");
}

TEST(TableTest, AWordLongerThanItsColumnIsBroken) {
  Table table({{.name = "a", .kind = Kind::kText, .least = 4}, {.name = "b", .kind = Kind::kWord}});
  table.Add({"abcdefghij kl", "x"});
  EXPECT_EQ(table.Text(PlainOf(7)),
            "a     b\n"
            "abcd  x\n"
            "efgh\n"
            "ij\n"
            "kl\n");
}

TEST(TableTest, RowsHaveACellForEachColumn) {
  Table table({{.name = "a"}, {.name = "b"}});
  EXPECT_THROW(table.Add({"x"}), std::invalid_argument);
  EXPECT_TRUE(table.empty());
}

TEST(FitColumnsTest, TheHighestRankBecomesNarrowerFirst) {
  const std::vector<ColumnNeed> columns = {
      {20, 10, 0, false}, {8, 8, 0, false}, {12, 6, 0, true}, {30, 10, 2, false}, {9, 9, 1, false}};
  using Widths = std::vector<std::size_t>;
  EXPECT_EQ(FitColumns(columns, 200), (Widths{20, 8, 12, 30, 9}));  // 79 and 4 gaps
  EXPECT_EQ(FitColumns(columns, 85), (Widths{20, 8, 10, 30, 9}));
  EXPECT_EQ(FitColumns(columns, 71), (Widths{20, 8, 6, 20, 9}));
  EXPECT_EQ(FitColumns(columns, 61), (Widths{20, 8, 6, 10, 9}));
  EXPECT_EQ(FitColumns(columns, 60),
            (Widths{20, 8, 0, 17, 9}));  // the bar is omitted before names are cut
  EXPECT_EQ(FitColumns(columns, 50), (Widths{17, 8, 0, 10, 9}));
  EXPECT_EQ(FitColumns(columns, 42), (Widths{20, 8, 0, 0, 9}));
  EXPECT_EQ(FitColumns(columns, 20), (Widths{10, 8, 0, 0, 0}));
  EXPECT_EQ(FitColumns(columns, 5), (Widths{10, 8, 0, 0, 0}));  // does not fit
}

TEST(CutTest, KeepsBothEnds) {
  EXPECT_EQ(CutMiddle("layer1.0.conv2", 14, true), "layer1.0.conv2");
  EXPECT_EQ(CutMiddle("layer1.0.conv2", 9, true), "laye\u2026onv2");
  EXPECT_EQ(CutMiddle("layer1.0.conv2", 9, false), "lay..onv2");
  EXPECT_EQ(CutMiddle("\u00B5\u00B5\u00B5\u00B5\u00B5", 4, true), "\u00B5\u2026\u00B5\u00B5");
  EXPECT_EQ(CutMiddle("abcdef", 2, true), "a\u2026");
}

TEST(WrapTest, ANumberAndItsPercentSignAreOneWord) {
  EXPECT_EQ(Wrap("it waited for 53 % of it", 16, 2), "it waited for\n  53 % of it\n");
}

}  // namespace
}  // namespace topdnn
