// setup/packages.txt lists the packages that topdnn needs, each with its reason, including
// everything that CMake looks for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/house/source_tree.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

struct Package {
  std::string name;
  std::string reason;
};

// The packages in the text, without the marks `test:`, `ci:` and `package:`.
std::vector<Package> ParsePackages(const std::string& text) {
  static const std::regex pattern(R"(^(?:test:|ci:|package:)?(\S+)\s*(.*)$)");
  std::vector<Package> packages;
  for (const std::string& line : LinesOf(text)) {
    std::smatch match;
    if (line.empty() || line[0] == '#' || !std::regex_match(line, match, pattern)) continue;
    packages.push_back({match[1], match[2]});
  }
  return packages;
}

// The Debian 12 package of each name that CMake looks for. OpenMP and Threads are part of g++.
const std::map<std::string, std::string>& PackageOf() {
  static const std::map<std::string, std::string> table = {
      {"OpenMP", "g++"},
      {"Threads", "g++"},
      {"Eigen3", "libeigen3-dev"},
      {"benchmark", "libbenchmark-dev"},
      {"CLI11", "libcli11-dev"},
      {"fmt", "libfmt-dev"},
      {"nlohmann_json", "nlohmann-json3-dev"},
      {"zydis", "libzydis-dev"},
      {"ZLIB", "zlib1g-dev"},
      {"GTest", "libgtest-dev"},
      {"PkgConfig", "pkg-config"},
      {"Python3", "python3"},
      {"hwloc", "libhwloc-dev"},
      {"libzip", "libzip-dev"},
      {"SQLite3", "libsqlite3-dev"},
      {"openblas", "libopenblas-openmp-dev"},
      {"Protobuf", "libprotobuf-dev"},
      {"ONNX_PROTO_LIBRARY", "libonnx-dev"},
      {"DNNL_LIBRARY", "libdnnl-dev"},
      {"DNNL_INCLUDE_DIR", "libdnnl-dev"},
      {"MPI", "libopenmpi-dev"},
      {"PFM_LIBRARY", "libpfm4-dev"},
      {"XNNPACK_INCLUDE_DIR", "libxnnpack-dev"},
      {"XNNPACK_LIBRARY", "libxnnpack-dev"},
      {"PTHREADPOOL_LIBRARY", "libpthreadpool-dev"},
      {"PFM_INCLUDE_DIR", "libpfm4-dev"},
  };
  return table;
}

// The names in the find commands of a CMake file.
std::set<std::string> FindCommands(const std::string& cmake) {
  static const std::regex pattern(
      R"((?:find_package|pkg_check_modules|find_library|find_path)\s*\(\s*(\w+))");
  std::set<std::string> names;
  for (std::sregex_iterator match(cmake.begin(), cmake.end(), pattern), end; match != end;
       ++match) {
    names.insert((*match)[1]);
  }
  return names;
}

std::set<std::string> ListedNames() {
  std::set<std::string> names;
  for (const Package& package : ParsePackages(ReadSource("setup/packages.txt").text)) {
    names.insert(package.name);
  }
  return names;
}

TEST(PackagesTest, EachIsListedOnceWithItsReason) {
  std::set<std::string> seen;
  for (const Package& package : ParsePackages(ReadSource("setup/packages.txt").text)) {
    EXPECT_TRUE(seen.insert(package.name).second) << package.name << " is listed twice";
    EXPECT_GE(package.reason.size(), 10u) << package.name << " has no reason";
  }
  EXPECT_THAT(seen,
              testing::IsSupersetOf({"cmake", "ninja-build", "g++", "pkg-config", "libgmock-dev"}));
}

TEST(PackagesTest, EverythingThatCMakeLooksForIsListed) {
  const std::set<std::string> listed = ListedNames();
  std::string cmake;
  for (const SourceFile& file : AllFiles()) {
    if (file.path.starts_with("tests/outside/")) continue;     // (it looks for topdnn itself)
    if (file.path.starts_with("examples/harness/")) continue;  // (so does this)
    if (file.path.ends_with(".cmake") || file.path.ends_with("CMakeLists.txt")) cmake += file.text;
  }
  const std::set<std::string> demands = FindCommands(cmake);
  EXPECT_THAT(demands, testing::Contains("GTest"));
  for (const std::string& demand : demands) {
    const auto found = PackageOf().find(demand);
    if (found == PackageOf().end()) {
      ADD_FAILURE() << "CMake looks for " << demand
                    << ": add its package to setup/packages.txt and to the table of this test";
    } else {
      EXPECT_TRUE(listed.contains(found->second)) << demand << " needs " << found->second;
    }
  }
}

// What configuring prints with a oneDNN of this version and threading runtime, as one line.
std::string WithOneDnn(const std::string& minor, const std::string& runtime) {
  const TestFolder root;
  const auto headers = root.path() / "include/oneapi/dnnl";
  std::filesystem::create_directories(headers);
  std::filesystem::create_directories(root.path() / "lib");
  std::ofstream(root.path() / "lib/libdnnl.so") << "";
  std::ofstream(headers / "dnnl_version.h")
      << "#define DNNL_VERSION_MAJOR 2\n#define DNNL_VERSION_MINOR " << minor << "\n";
  std::ofstream(headers / "dnnl_config.h")
      << "#define DNNL_CPU_THREADING_RUNTIME DNNL_RUNTIME_" << runtime << "\n";
  std::ofstream(root.path() / "CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.25)\nproject(check NONE)\ninclude(" << TOPDNN_SOURCE_DIR
      << "/cmake/OneDnn.cmake)\nmessage(STATUS \"found ${DNNL_LIBRARY}\")\n";
  const std::string folder = Quoted(root.path().string());
  std::string output =
      RunShell("cmake -G Ninja -S " + folder + " -B " + folder + "/build -DDNNL_ROOT=" + folder)
          .output;
  return std::regex_replace(output, std::regex(R"(\s+)"), " ");
}

TEST(PackagesTest, OneDnnOfAFolderIsFoundAndChecked) {
  using testing::HasSubstr;
  EXPECT_THAT(WithOneDnn("6", "OMP"), HasSubstr("lib/libdnnl.so"));
  EXPECT_THAT(WithOneDnn("10", "OMP"), HasSubstr("lib/libdnnl.so"));
  EXPECT_THAT(WithOneDnn("5", "OMP"), HasSubstr("is too old: install 2.6 or newer"));
  EXPECT_THAT(WithOneDnn("6", "TBB"), HasSubstr("uses the threading runtime TBB"));
}

TEST(PackagesTest, ParsesMarksCommentsAndMissingReasons) {
  const auto packages =
      ParsePackages("# why\n\ng++   compiler\nci:clang-tidy  finds defects\nbare\n");
  ASSERT_EQ(packages.size(), 3u);
  EXPECT_EQ(packages[0].name, "g++");
  EXPECT_EQ(packages[0].reason, "compiler");
  EXPECT_EQ(packages[1].name, "clang-tidy");
  EXPECT_EQ(packages[2].reason, "");
}

TEST(PackagesTest, FindsTheNamesOfFindCommands) {
  EXPECT_THAT(FindCommands("find_package(Eigen3 3.4 REQUIRED)\nfind_library( X_LIBRARY x)\n"),
              testing::ElementsAre("Eigen3", "X_LIBRARY"));
}

}  // namespace
}  // namespace topdnn
