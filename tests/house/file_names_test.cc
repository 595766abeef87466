// A file is named after its concept, guarded by its path, and short.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace topdnn {
namespace {

constexpr std::size_t kMaxFileLines = 500;

// A file with one of these names does not hold one concept.
bool NamesNoConcept(const std::string& path) {
  static const std::regex pattern("(^|[/_.])(utils?|common|misc|helpers?)([/_.]|$)");
  return std::regex_search(path, pattern);
}

// "kernels/conv/conv.h" -> "TOPDNN_KERNELS_CONV_CONV_H_"
std::string GuardOf(const std::string& path) {
  std::string guard = "TOPDNN_";
  for (const char c : path) {
    guard += std::isalnum(static_cast<unsigned char>(c)) != 0
                 ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                 : '_';
  }
  return guard + "_";
}

// The file begins with comments and the guard, and ends with the guard's name.
bool IsGuarded(const SourceFile& header) {
  const std::string guard = GuardOf(header.path);
  std::vector<std::string> lines = LinesOf(header.text);
  std::erase_if(lines, [](const auto& line) { return line.empty() || line.starts_with("//"); });
  return lines.size() >= 3 && lines[0] == "#ifndef " + guard && lines[1] == "#define " + guard &&
         lines.back() == "#endif  // " + guard;
}

TEST(FileNamesTest, EveryFileIsNamedAfterAConcept) {
  for (const SourceFile& file : AllFiles()) EXPECT_FALSE(NamesNoConcept(file.path)) << file.path;
}

TEST(FileNamesTest, NamesWithoutAConceptAreFound) {
  for (const char* path : {"kernels/utils.h", "bench/util/x.h", "kernels/conv_helpers.cc",
                           "harness/common/time.h", "misc.cc", "kernels/common.avx2.cc"}) {
    EXPECT_TRUE(NamesNoConcept(path)) << path;
  }
  for (const char* path : {"harness/utilization.h", "kernels/commoner.h", "bench/summary.h"}) {
    EXPECT_FALSE(NamesNoConcept(path)) << path;
  }
}

TEST(FileNamesTest, NamesAreLowerCase) {
  static const std::regex pattern("[a-z0-9_./]+");
  for (const SourceFile& file : CppFiles()) {
    EXPECT_TRUE(std::regex_match(file.path, pattern)) << file.path;
  }
}

TEST(FileNamesTest, HeadersAreGuardedByTheirPath) {
  for (const SourceFile& file : CppFiles()) {
    if (file.path.ends_with(".h")) {
      EXPECT_TRUE(IsGuarded(file)) << file.path << " expected guard: " << GuardOf(file.path);
    }
  }
}

TEST(FileNamesTest, AWrongGuardIsFound) {
  const std::string right =
      "// Why.\n\n#ifndef TOPDNN_A_B_AVX2_H_\n#define TOPDNN_A_B_AVX2_H_\nint x;\n"
      "#endif  // TOPDNN_A_B_AVX2_H_\n";
  EXPECT_TRUE(IsGuarded({"a/b.avx2.h", right}));
  EXPECT_FALSE(IsGuarded({"a/c.avx2.h", right}));
  EXPECT_FALSE(IsGuarded({"a/b.avx2.h", "#pragma once\nint x;\n"}));
}

TEST(FileNamesTest, HeadersBeginWithTheirPurpose) {
  for (const SourceFile& file : CppFiles()) {
    if (file.path.ends_with(".h")) {
      EXPECT_TRUE(file.text.starts_with("// ")) << file.path;
    }
  }
}

TEST(FileNamesTest, FilesAreShort) {
  for (const SourceFile& file : CppFiles()) {
    EXPECT_LE(LinesOf(file.text).size(), kMaxFileLines) << file.path << ": split it by concept";
  }
}

// Two tests that use the same file name are a race, because ctest runs several tests at once.
TEST(FileNamesTest, TestsUseTestFolderForTheirFiles) {
  for (const SourceFile& file : CppFiles()) {
    if (!file.path.starts_with("tests/") || file.path == "tests/process/test_folder.h" ||
        file.path == "tests/house/file_names_test.cc") {
      continue;
    }
    for (const char* maker : {"TempDir(", "temp_directory_path", "mkdtemp", "\"/tmp"}) {
      EXPECT_EQ(file.text.find(maker), std::string::npos)
          << file.path << ": " << maker << "; use TestFolder (tests/process/test_folder.h)";
    }
  }
}

// CMake builds only tests in these folders; another test would never run.
TEST(FileNamesTest, EveryTestIsInAFolderThatIsBuilt) {
  const std::string list = ReadSource("tests/CMakeLists.txt").text;
  for (const SourceFile& file : CppFiles()) {
    if (!file.path.ends_with("_test.cc")) continue;
    const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
    EXPECT_THAT(list, testing::HasSubstr("topdnn_tests(" +
                                         folder.lexically_relative("tests").string() + " "))
        << file.path;
  }
}

}  // namespace
}  // namespace topdnn
