// The translator of the exact counter stays small enough to be read and trusted as a whole.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/house/source_tree.h"

namespace topdnn {
namespace {

constexpr std::size_t kMostLines = 1300;       // of the translator
constexpr std::size_t kMostLinesInAll = 3000;  // of the folder

// Decode and classify, translate and relocate, dispatch and chain, count and fold: the four rooms
// and what they share. The rest of the folder maps their memory, follows mappings, signals, system
// calls and threads, and is the counter source.
constexpr std::string_view kTranslator[] = {"decode.h",     "decode.cc",    "emitter.h",
                                            "translate.cc", "dispatch.cc",  "fold.cc",
                                            "context.h",    "fixed_code.cc"};

// Lines that are neither blank nor all comment.
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
  EXPECT_LT(lines, kMostLines);
  EXPECT_GT(lines, kMostLines / 4) << "is the list of its files still right?";
}

TEST(ExactSizeTest, TheWholeFolderIsSmall) {
  std::size_t lines = 0;
  for (const SourceFile& file : CppFiles()) {
    if (file.path.starts_with("harness/exact/")) lines += CodeLines(file.text);
  }
  EXPECT_LT(lines, kMostLinesInAll);
}

TEST(ExactSizeTest, OnlyLinesOfCodeCount) {
  EXPECT_EQ(CodeLines("// why\n\n  // more\nint x;  // this one\n\t\n#endif\n"), 2U);
}

}  // namespace
}  // namespace topdnn
