// The repository's own files, as the tests of the house read them.

#ifndef TOPDNN_TESTS_HOUSE_SOURCE_TREE_H_
#define TOPDNN_TESTS_HOUSE_SOURCE_TREE_H_

#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

struct SourceFile {
  std::string path;  // relative to the repository root: "kernels/op.h"
  std::string text;
};

// The C++ files (.h, .cc) of the five floors and of tests/, sorted by path.
std::vector<SourceFile> CppFiles();

// Everything that is written by hand: the C++ files, CMake's, scripts, tables and documents. Sorted
// by path.
std::vector<SourceFile> AllFiles();

// One file by its path. Throws std::runtime_error when it cannot be read.
SourceFile ReadSource(std::string_view path);

std::vector<std::string> LinesOf(std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HOUSE_SOURCE_TREE_H_
