// The translator of the exact counter must stay small enough to be read completely.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/house/source_tree.h"

namespace topdnn {
namespace {

// The translator counts, and for the experiment `core` runs code uncounted and with its operands
// redirected; that experiment's part of the folder is about 580 lines. Following the runs of
// branches takes 80.
constexpr std::size_t kMaxLines = 1395;       // of the translator
constexpr std::size_t kMaxLinesInAll = 3670;  // of the folder

// The translator: decode and classify, translate and relocate, dispatch and link, count and fold,
// and what they share. The other files of the folder map memory, follow mappings, signals, system
// calls and threads, or are the counter source.
constexpr std::string_view kTranslator[] = {"instructions/decode.h",
                                            "instructions/decode.cc",
                                            "emitter.h",
                                            "translate.cc",
                                            "branch_runs.cc",
                                            "dispatch.cc",
                                            "fold.cc",
                                            "context.h",
                                            "fixed_code.cc"};

// Lines other than blank lines and comments.
std::size_t CodeLines(std::string_view text) {
  const std::vector<std::string> lines = LinesOf(text);
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [](const auto& line) {
    const std::size_t first = line.find_first_not_of(" \t");
    return first != std::string::npos && line.compare(first, 2, "//") != 0;
  }));
}

TEST(ExactSizeTest, TheTranslatorIsSmall) {
  std::size_t lines = 0;
  for (const std::string_view name : kTranslator) {
    lines += CodeLines(ReadSource("harness/exact/" + std::string(name)).text);
  }
  EXPECT_LT(lines, kMaxLines);
  EXPECT_GT(lines, kMaxLines / 4) << "the list of its files is out of date";
}

TEST(ExactSizeTest, TheWholeFolderIsSmall) {
  std::size_t lines = 0;
  for (const SourceFile& file : CppFiles()) {
    if (file.path.starts_with("harness/exact/")) lines += CodeLines(file.text);
  }
  EXPECT_LT(lines, kMaxLinesInAll);
}

TEST(ExactSizeTest, OnlyLinesOfCodeCount) {
  EXPECT_EQ(CodeLines("// why\n\n  // more\nint x;  // this one\n\t\n#endif\n"), 2U);
}

}  // namespace
}  // namespace topdnn
