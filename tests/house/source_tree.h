// Reads the repository's files for the house tests.

#ifndef TOPDNN_TESTS_HOUSE_SOURCE_TREE_H_
#define TOPDNN_TESTS_HOUSE_SOURCE_TREE_H_

#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

struct SourceFile {
  std::string path;  // relative to the repository root: "kernels/op/op.h"
  std::string text;
};

// The C++ files (.h, .cc) of the five floors and of tests/, sorted by path.
std::vector<SourceFile> CppFiles();

// All files that are written by hand: C++, CMake, scripts, tables and documents; sorted by path.
std::vector<SourceFile> AllFiles();

// One file by its path. Throws std::runtime_error if it cannot be read.
SourceFile ReadSource(std::string_view path);

std::vector<std::string> LinesOf(std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HOUSE_SOURCE_TREE_H_
