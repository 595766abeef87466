// Each header compiles alone. The check is either its own .cc file, which includes it first, or the
// target headers_alone, a part of `all`. These tests check that one of the two covers every header,
// and that the method finds a header that depends on another include.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

// Exit status of the compiler on a file that includes `header` twice, as headers_alone does.
int CompileAlone(const std::string& header) {
  const TestFolder folder;
  const std::string path = folder.Write("planted.h", header);
  const std::string include = "#include \"" + path + "\"\n";
  return RunShell("printf %s " + Quoted(include + include) + " | " + Quoted(TOPDNN_CXX_COMPILER) +
                  " -std=c++20 -fsyntax-only -x c++ -")
      .exit_status;
}

// Whether the .cc file beside `header` includes it before anything else.
bool OwnFileIncludesItFirst(const std::string& header) {
  std::ifstream own(TOPDNN_SOURCE_DIR "/" + header.substr(0, header.size() - 1) + "cc");
  for (std::string line; std::getline(own, line);) {
    if (line.starts_with("#include")) return line == "#include \"" + header + "\"";
  }
  return false;
}

TEST(HeaderAloneTest, EveryHeaderIsCovered) {
  std::ifstream list(TOPDNN_BINARY_DIR "/headers_alone.txt");
  std::vector<std::string> covered;
  for (std::string line; std::getline(list, line);) covered.push_back(line);
  std::vector<std::string> headers;
  for (const SourceFile& file : CppFiles()) {
    if (file.path.ends_with(".h") && !OwnFileIncludesItFirst(file.path)) {
      headers.push_back(file.path);
    }
  }
  EXPECT_THAT(covered, testing::UnorderedElementsAreArray(headers));
}

TEST(HeaderAloneTest, AHeaderThatDependsOnAnotherIncludeIsFound) {
  EXPECT_EQ(
      CompileAlone("#ifndef G\n#define G\n#include <vector>\nstd::vector<int> F();\n#endif\n"), 0);
  EXPECT_NE(CompileAlone("#ifndef G\n#define G\nstd::vector<int> F();\n#endif\n"), 0);
  EXPECT_NE(CompileAlone("struct WithoutGuard {};\n"), 0);
}

}  // namespace
}  // namespace topdnn
