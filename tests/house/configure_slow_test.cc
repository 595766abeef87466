// The checkout may be in any folder: the libraries of a floor are lists of files, which must not
// depend on the names of the folders above the checkout.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;

// The object files of the libraries of harness/, kernels/ and bench/ that a build folder compiles.
std::set<std::string> ObjectsOf(const fs::path& build) {
  std::ifstream file(build / "build.ninja");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::regex object(R"(\nbuild ((harness|kernels|bench)/CMakeFiles/topdnn_\S+\.o):)");
  std::set<std::string> objects;
  for (std::sregex_iterator found(text.begin(), text.end(), object), end; found != end; ++found) {
    objects.insert((*found)[1]);
  }
  return objects;
}

// Configures the source tree, as if it was in the folder `name`, and returns its objects.
std::set<std::string> ObjectsIn(const std::string& name) {
  const TestFolder folder;
  const fs::path tree = folder.path() / name;
  fs::create_directories(tree.parent_path());
  fs::create_directory_symlink(TOPDNN_SOURCE_DIR, tree);
  const fs::path build = folder.path() / "build";
  const Outcome configured = RunShell("cmake -G Ninja -DCMAKE_BUILD_TYPE=Release -S " +
                                      Quoted(tree.string()) + " -B " + Quoted(build.string()));
  EXPECT_EQ(configured.exit_status, 0) << configured.output;
  return ObjectsOf(build);
}

TEST(ConfigureTest, FoldersNamedLikeThoseOfTheProjectChangeNothing) {
  const std::set<std::string> objects = ObjectsIn("elsewhere");
  EXPECT_GT(objects.size(), 100U);
  EXPECT_EQ(ObjectsIn("harness/report/topdown/exact/user_cache/sharing/per_isa/commands/profile"),
            objects);
}

}  // namespace
}  // namespace topdnn
