// cmake --install: the files that it installs below a prefix work from there. Each file belongs to
// one component, and CPack makes a Debian package of a component.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>

#include "harness/counters/source.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

std::string Printed(const std::string& command) {
  const Outcome outcome = RunShell(command);
  EXPECT_EQ(outcome.exit_status, 0) << command << "\n" << outcome.output;
  return outcome.output;
}

void Install(const std::string& prefix, const std::string& arguments = "") {
  Printed("cmake --install " + Quoted(TOPDNN_BINARY_DIR) + " --prefix " + Quoted(prefix) + " " +
          arguments);
}

std::set<std::string> FilesBelow(const std::string& folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) {
      // (without following a link, whose target may be in another component)
      files.insert(entry.path().lexically_relative(folder));
    }
  }
  return files;
}

class InstallTest : public testing::Test {
 protected:
  void SetUp() override { Install(prefix); }

  // The only file of that name below the prefix.
  std::filesystem::path Find(const std::string& name) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(prefix)) {
      if (entry.path().filename() == name) return entry.path();
    }
    return {};
  }

  const TestFolder folder;
  const std::string prefix = folder.path() / "prefix";
};

TEST_F(InstallTest, TheProgramFindsItsLibrariesAndIsCompleted) {
  const std::string program = Quoted(prefix + "/bin/topdnn");
  Printed(program + " plan cnn --infer --batch 1 --backend eigen");
  const auto manual = Find("topdnn.1.gz");
  Printed("bash -n " +
          Quoted(manual.parent_path().string() + "/../../bash-completion/completions/topdnn"));
  EXPECT_NE(Find("_topdnn"), "");
  EXPECT_THAT(Printed("gzip -dc " + Quoted(manual.string())), HasSubstr(".SS profile"));
}

TEST_F(InstallTest, APluginIsCompiledWithTheHeader) {
  const std::string include = Find("plugin.h").parent_path().parent_path();
  Printed("cd " + Quoted(folder.path().string()) + " && cc -shared -fPIC -I " + Quoted(include) +
          " " + Quoted(TOPDNN_SOURCE_DIR "/examples/conv.c") + " -o libmine.so && " +
          Quoted(prefix + "/bin/topdnn") +
          " plan lenet5 --infer --batch 1 --backend mine --fallback --plugin ./libmine.so");
}

// The example, outside the tree, built by CMake and linked again by pkg-config.
TEST_F(InstallTest, AnotherProgramMeasuresWithTheHarness) {
  const std::string in_folder = "cd " + Quoted(folder.path().string()) + " && ";
  std::filesystem::copy(TOPDNN_SOURCE_DIR "/examples/harness", folder.path() / "harness");
  Printed(in_folder + "cmake -G Ninja -S harness -B build -DCMAKE_PREFIX_PATH=" + Quoted(prefix) +
          " -DCMAKE_CXX_COMPILER=" + Quoted(TOPDNN_CXX_COMPILER) + " && cmake --build build");
  const std::string by_cmake = Printed(in_folder + "build/measured");
  const std::string by_pkg_config =
      Printed(in_folder +
              "export PKG_CONFIG_PATH=" + Quoted(Find("topdnn-harness.pc").parent_path().string()) +
              " && " + Quoted(TOPDNN_CXX_COMPILER) +
              " build/CMakeFiles/measured.dir/measured.cc.o -o measured "
              "$(pkg-config --cflags --libs topdnn-harness) && ./measured");
  const std::string sources =
      fmt::format(" {} counter sources\n", CounterSources().size());  // of the build
  for (const std::string& output : {by_cmake, by_pkg_config}) {
    EXPECT_THAT(output, HasSubstr(sources));
    EXPECT_THAT(output, testing::ContainsRegex("sort: median [0-9.]+ us"));
  }
}

// In C and in Python, without topdnn's sources.
TEST_F(InstallTest, TheSharedLibraryServesCAndPython) {
  const std::string library = Find("libtopdnn.so").parent_path();
  Printed("cd " + Quoted(folder.path().string()) + " && cc -std=c99 -Wall -Werror -I " +
          Quoted(prefix + "/include") + " " +
          Quoted(TOPDNN_SOURCE_DIR "/examples/harness/stages.c") + " -o stages -L " +
          Quoted(library) + " -ltopdnn && LD_LIBRARY_PATH=" + Quoted(library) + " ./stages");
  const std::string modules = Find("_library.py").parent_path().parent_path();
  EXPECT_THAT(Printed("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + Quoted(modules) +
                      " /usr/bin/python3 -c 'import topdnn; print(topdnn.__version__)'"),
              testing::MatchesRegex("[0-9.]+\n"));
}

TEST_F(InstallTest, EachFileBelongsToOneComponent) {
  std::set<std::string> files;
  std::size_t sum = 0;
  for (const std::string component : {"program", "mpi", "harness", "library", "python", "plugin"}) {
    const std::string own = folder.path() / component;
    std::filesystem::create_directory(own);
    Install(own, "--component " + component);
    const auto installed = FilesBelow(own);
    if (component != "mpi") {  // (without MPI it is empty)
      EXPECT_FALSE(installed.empty()) << component;
    }
    sum += installed.size();
    files.insert(installed.begin(), installed.end());
  }
  EXPECT_EQ(files, FilesBelow(prefix));
  EXPECT_EQ(sum, files.size()) << "a file is in two components";
}

// The smallest package. tests/packages checks the others.
TEST(DebianPackageTest, HasItsFieldsAndIsReproducible) {
  if (RunShell("command -v dpkg-deb").exit_status != 0) GTEST_SKIP() << "this is not Debian";
  const TestFolder folder;
  const auto pack = [&folder](const std::string& name) {
    const std::string own = folder.path() / name;
    Printed("umask 022 && SOURCE_DATE_EPOCH=86400 cpack --config " +
            Quoted(TOPDNN_BINARY_DIR "/CPackConfig.cmake") + " -D CPACK_COMPONENTS_ALL=plugin -B " +
            Quoted(own));
    for (const auto& entry : std::filesystem::directory_iterator(own)) {
      if (entry.path().extension() == ".deb") return Quoted(entry.path().string());
    }
    return std::string("no-package");
  };
  const std::string package = pack("first");
  const std::string version = Printed(Quoted(TOPDNN_BINARY_DIR "/topdnn") + " --version");
  const std::string fields = Printed("dpkg-deb --field " + package);
  EXPECT_THAT(fields, HasSubstr("Package: libtopdnn-plugin-dev\n"));
  EXPECT_THAT(fields, HasSubstr("Version: " + version.substr(7, version.size() - 8) + "-1"));
  EXPECT_THAT(fields, HasSubstr("Architecture: all\n"));
  const std::string files = Printed("TZ=UTC dpkg-deb --contents " + package);
  EXPECT_THAT(files, testing::ContainsRegex("-rw-r--r-- root/root +[0-9]+ 1970-01-02 00:00 "
                                            "./usr/include/topdnn/plugin.h\n"));
  EXPECT_THAT(files, HasSubstr("./usr/share/doc/libtopdnn-plugin-dev/copyright\n"));
  EXPECT_THAT(files, HasSubstr("./usr/share/doc/libtopdnn-plugin-dev/changelog.Debian.gz\n"));
  Printed("cmp " + package + " " + pack("second"));
}

}  // namespace
}  // namespace topdnn
