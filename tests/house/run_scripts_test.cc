// Tests the shell scripts, most of them as copies in a folder whose path has a space. Other scripts
// take the places of dpkg-query, apt-get, sudo, id, cmake and ctest, and log their calls. So the
// tests also cover other systems: without root, without sudo, without Debian.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kDpkgQuery = R"(for name in "${@:3}"; do
  if grep -qxF "$name" "$STAGE/installed"; then echo "installed $name"; else unknown=1; fi
done
exit ${unknown:-0}
)";
constexpr const char* kAptGet = R"(echo "apt-get $*" >>"$STAGE/log"
if [ -e "$STAGE/locked" ]; then
  echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt)' >&2
  exit 100
fi
[ -z "$APT_FAILS" ] || exit 100
if [ "$2" = install ]; then printf '%s\n' "${@:5}" >>"$STAGE/installed"; fi
)";
constexpr const char* kSudo = R"(echo "sudo $1" >>"$STAGE/log"
exec "$@"
)";
constexpr const char* kCMake = R"(echo "cmake $*" >>"$STAGE/log"
if [ "$1" = --preset ]; then
  mkdir -p build/release
  cache=build/release/CMakeCache.txt
  touch "$cache"
  for option in -DCMAKE_HOME_DIRECTORY="$PWD" "$@"; do
    case $option in
      -DTOPDNN_EIGEN_ISAS=*) ;;
      -D*=*)
        name=${option%%=*} type=BOOL
        name=${name#-D}
        if [ "$name" = CMAKE_HOME_DIRECTORY ]; then type=INTERNAL; fi
        sed -i "/^$name:/d" "$cache"
        echo "$name:$type=${option#*=}" >>"$cache" ;;
    esac
  done
  : >build/release/build.ninja
elif [ -e "$2/topdnn" ]; then
  echo '[0/2] Re-checking globbed directories...'
  echo 'ninja: no work to do.'
elif [ -n "$BUILD_FAILS" ]; then
  echo 'error: broken'
  exit 1
else
  echo '[1/1] Linking topdnn'
  program=$2/topdnn
  if [ "${!#}" = topdnn_only_profile ]; then program=$2/only_profile/topdnn; fi
  mkdir -p "${program%/*}"
  printf '#!/bin/bash\necho "in $PWD:"\nprintf "[%%s]" "$@"\nexit 7\n' >"$program"
  chmod +x "$program"
fi
)";
constexpr const char* kCtest = R"(echo "ctest $*" >>"$STAGE/log"
if [ -n "$CTEST_LOG" ]; then
  mkdir -p "$2/Testing/Temporary"
  printf "$CTEST_LOG" >"$2/Testing/Temporary/LastTest.log"
fi
exit ${CTEST_STATUS:-0}
)";

void WriteFile(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

class RunScriptsTest : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path root = TOPDNN_SOURCE_DIR;
    for (const char* script :
         {"setup/install", "setup/build", "setup/jobs", "bench/run", "tests/run",
          "tests/case_totals", "tests/skips", "tests/skip_reasons.txt"}) {
      fs::create_directories((tree_ / script).parent_path());
      fs::copy_file(root / script, tree_ / script);
    }
    WriteFile(tree_ / "setup/packages.txt",
              "# name, then why\n\nhere        stands\ngone-dev    does not\nci:checker  checks\n"
              "package:packer  packs\n");
    fs::create_directories(stage_ / "bin");
    fs::create_directories(stage_ / "elsewhere");
    WriteFile(stage_ / "installed", "here\n");
    for (const char* tool : {"bash", "env", "cat", "dirname", "readlink", "grep", "awk", "flock",
                             "mkdir", "chmod", "nproc", "rm"}) {
      const Outcome found = RunShell(std::string("command -v ") + tool);
      ASSERT_EQ(found.exit_status, 0) << tool;
      fs::create_symlink(LinesOf(found.output).at(0), stage_ / "bin" / tool);
    }
    Play("dpkg-query", kDpkgQuery);
    Play("apt-get", kAptGet);
    Play("sudo", kSudo);
    Play("cmake", kCMake);
    Play("ctest", kCtest);
    Play("id", "echo 0\n");
  }

  // Replaces an outside program by a script.
  void Play(const std::string& program, const std::string& body) {
    const fs::path path = stage_ / "bin" / program;
    WriteFile(path, "#!/bin/bash\n" + body);
    fs::permissions(path, fs::perms::owner_all);
  }
  void Remove(const std::string& program) { fs::remove(stage_ / "bin" / program); }

  // Runs a script of the tree from another folder, with the given variables (NAME=value ...).
  Outcome Run(const std::string& script, const std::string& variables = "",
              const std::string& arguments = "") {
    return RunShell(
        "cd " + Quoted((stage_ / "elsewhere").string()) +
        " && unset CI WEEKLY TIDY TOPDNN_NO_INSTALL APT_FAILS BUILD_FAILS CTEST_STATUS CTEST_LOG"
        " && PATH=" +
        Quoted((stage_ / "bin").string()) + " STAGE=" + Quoted(stage_.string()) + " " + variables +
        " " + Quoted((tree_ / script).string()) + " " + arguments);
  }

  // The calls of outside programs so far.
  std::vector<std::string> Log() const {
    if (!fs::exists(stage_ / "log")) return {};
    std::ifstream file(stage_ / "log");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  const TestFolder folder_{"topdnn run "};
  const fs::path stage_ = folder_.path();
  fs::path tree_ = stage_ / "the tree";
};

TEST_F(RunScriptsTest, NoInstallPrintsMissingPackagesAndChangesNothing) {
  const Outcome outcome = Run("setup/install", "TOPDNN_NO_INSTALL=1");
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(LinesOf(outcome.output),
              ElementsAre(testing::AllOf(HasSubstr("missing packages: gone-dev;"),
                                         HasSubstr("apt-get install"))));
  EXPECT_THAT(Log(), IsEmpty());
  EXPECT_EQ(Run("bench/run", "TOPDNN_NO_INSTALL=1").exit_status, 2);
  EXPECT_EQ(Run("tests/run", "TOPDNN_NO_INSTALL=1").exit_status, 2);
  EXPECT_THAT(Log(), IsEmpty());
}

TEST_F(RunScriptsTest, NoInstallSucceedsIfNothingIsMissing) {
  WriteFile(stage_ / "installed", "here\ngone-dev\n");
  const Outcome outcome = Run("setup/install", "TOPDNN_NO_INSTALL=1");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.output, "");
}

TEST_F(RunScriptsTest, RootInstallsOnceAndThenPrintsNothing) {
  const Outcome first = Run("setup/install");
  EXPECT_EQ(first.exit_status, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("gone-dev"));
  const auto calls = ElementsAre("apt-get -qq update",
                                 "apt-get -qq install --yes --no-install-recommends gone-dev");
  EXPECT_THAT(Log(), calls);
  const Outcome second = Run("setup/install");
  EXPECT_EQ(second.exit_status, 0);
  EXPECT_EQ(second.output, "");
  EXPECT_THAT(Log(), calls);
}

TEST_F(RunScriptsTest, PackagesForCiAreInstalledOnlyForCi) {
  EXPECT_EQ(Run("setup/install", "", "--ci").exit_status, 0);
  EXPECT_THAT(Log().back(), testing::EndsWith(" gone-dev checker"));
}

TEST_F(RunScriptsTest, PackagesThatMakePackagesAreInstalledOnlyForThat) {
  EXPECT_EQ(Run("setup/install", "", "--packages").exit_status, 0);
  EXPECT_THAT(Log().back(), testing::EndsWith(" gone-dev packer"));
}

TEST_F(RunScriptsTest, OthersInstallThroughSudo) {
  Play("id", "echo 1000\n");
  EXPECT_EQ(Run("setup/install").exit_status, 0);
  EXPECT_THAT(Log(), ElementsAre("sudo env", "apt-get -qq update", "sudo env",
                                 StartsWith("apt-get -qq install")));
}

TEST_F(RunScriptsTest, WithoutRootAndSudoOneLineSaysSo) {
  Play("id", "echo 1000\n");
  Remove("sudo");
  const Outcome outcome = Run("setup/install");
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(
      LinesOf(outcome.output),
      ElementsAre(testing::AllOf(HasSubstr("gone-dev"), HasSubstr("not root and has no sudo"),
                                 HasSubstr("apt-get install"))));
  EXPECT_THAT(Log(), IsEmpty());
}

TEST_F(RunScriptsTest, WithoutAptOrDebianOneLineSaysSo) {
  Remove("apt-get");
  const Outcome no_apt = Run("setup/install");
  EXPECT_EQ(no_apt.exit_status, 2);
  EXPECT_THAT(LinesOf(no_apt.output),
              ElementsAre(testing::AllOf(HasSubstr("gone-dev"), HasSubstr("no apt-get"))));
  Remove("dpkg-query");
  const Outcome no_dpkg = Run("setup/install");
  EXPECT_EQ(no_dpkg.exit_status, 2);
  EXPECT_THAT(LinesOf(no_dpkg.output), ElementsAre(HasSubstr("Debian 12")));
}

TEST_F(RunScriptsTest, AFailedDownloadStopsEverything) {
  const Outcome outcome = Run("bench/run", "APT_FAILS=1");
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("apt-get update failed"));
  EXPECT_THAT(Log(), ElementsAre("apt-get -qq update"));
}

TEST_F(RunScriptsTest, InstallWaitsForAPackageLock) {
  WriteFile(stage_ / "locked", "");
  Play("sleep",
       "echo \"sleep $1\" >>\"$STAGE/log\"\n"
       "[ \"$(grep -c sleep \"$STAGE/log\")\" -lt 2 ] || rm \"$STAGE/locked\"\n");
  const Outcome outcome = Run("setup/install");
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(Log(), ElementsAre("apt-get -qq update", "sleep 5", "apt-get -qq update", "sleep 5",
                                 "apt-get -qq update", StartsWith("apt-get -qq install")));
  // One line says so, however long it waits.
  const auto lines = LinesOf(outcome.output);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return line.find("held by process 7") != std::string::npos;
                          }),
            1)
      << outcome.output;
}

TEST_F(RunScriptsTest, InstallEndsIfThePackageLockIsHeldForTenMinutes) {
  WriteFile(stage_ / "locked", "");
  Play("sleep", "echo \"sleep $1\" >>\"$STAGE/log\"\n");
  const Outcome outcome = Run("setup/install");
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("apt-get update failed"));
  const auto log = Log();
  EXPECT_EQ(std::count(log.begin(), log.end(), "sleep 5"), 120);
}

TEST_F(RunScriptsTest, AnUnknownArgumentIsRefused) {
  const Outcome outcome = Run("setup/install", "", "--now");
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(LinesOf(outcome.output), ElementsAre(HasSubstr("unknown argument --now")));
}

TEST_F(RunScriptsTest, BenchRunBuildsOnceAndPassesArgumentsFolderAndStatus) {
  WriteFile(stage_ / "installed", "here\ngone-dev\n");
  const std::string from_topdnn =
      "in " + (stage_ / "elsewhere").string() + ":\n[machine][--json][a b.json]";
  const Outcome first = Run("bench/run", "", "machine --json 'a b.json'");
  EXPECT_EQ(first.exit_status, 7) << first.output;
  EXPECT_THAT(first.output, testing::EndsWith(from_topdnn));
  EXPECT_THAT(first.output, HasSubstr("Configuring"));
  EXPECT_THAT(first.output, HasSubstr("Building topdnn"));
  EXPECT_THAT(Log(), ElementsAre("cmake --preset release", StartsWith("cmake --build ")));
  // The second run does not configure and prints nothing itself.
  const Outcome second = Run("bench/run", "", "machine --json 'a b.json'");
  EXPECT_EQ(second.exit_status, 7);
  EXPECT_EQ(second.output, from_topdnn);
  EXPECT_THAT(Log(), SizeIs(3));
}

TEST_F(RunScriptsTest, BenchRunWithoutArgumentsProfiles) {
  Run("setup/build", "", "topdnn");
  const Outcome outcome = Run("bench/run");
  const std::string report = (tree_ / "build/report.html").string();
  EXPECT_THAT(outcome.output, testing::EndsWith("[profile][cnn][--train][--html][" + report + "]"));
}

TEST_F(RunScriptsTest, TheFirstTableDoesNotWaitForOtherCommands) {
  const std::string output = Run("bench/run").output;
  const auto table = output.find("[profile][cnn][--train]");
  EXPECT_LT(output.find("Building topdnn_only_profile"), table) << output;
  EXPECT_LT(table, output.find("Building topdnn in")) << output;
  EXPECT_THAT(output, HasSubstr("Building topdnn in"));
}

TEST_F(RunScriptsTest, AFailedBuildHasStatusOneAndRunsNothing) {
  const Outcome outcome = Run("bench/run", "BUILD_FAILS=1");
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("error: broken"));
  EXPECT_THAT(LinesOf(outcome.output).back(), HasSubstr("the build failed"));
}

TEST_F(RunScriptsTest, ABuildShowsEachLineAtOnce) {
  // The line must be in the file before the build ends.
  Play("cmake",
       "[ $1 = --build ] || exit 0\n"
       "echo '[1/1] Compiling'\n"
       "for attempt in {1..20}; do\n"
       "  if grep -q Compiling \"$STAGE/shown\"; then echo 'seen at once' >>\"$STAGE/log\"; exit; "
       "fi\n"
       "  /bin/sleep 0.5\n"
       "done\n");
  const std::string shown = Quoted((stage_ / "shown").string());
  EXPECT_EQ(Run("setup/build", "CI=", "all 2>" + shown).exit_status, 0);
  EXPECT_THAT(Log(), testing::Contains("seen at once"));
}

TEST_F(RunScriptsTest, AMovedTreeIsConfiguredAgain) {
  Run("bench/run");
  fs::rename(tree_, stage_ / "moved");
  tree_ = stage_ / "moved";
  EXPECT_EQ(Run("bench/run").exit_status, 7);
  EXPECT_THAT(Log(), testing::Contains("cmake --preset release --fresh"));
}

// tests/run installs packages that bench/run does not need, and the build has parts for some of
// them.
TEST_F(RunScriptsTest, NewPackagesAreConfigured) {
  WriteFile(stage_ / "installed", "here\n");
  Run("setup/build", "", "topdnn");
  Run("setup/build", "", "topdnn");
  const auto configured = [this] {
    const auto log = Log();
    return std::count(log.begin(), log.end(), "cmake --preset release");
  };
  EXPECT_EQ(configured(), 1);
  WriteFile(stage_ / "installed", "here\nchecker\n");
  Run("setup/build", "", "topdnn");
  EXPECT_EQ(configured(), 2);
}

TEST_F(RunScriptsTest, TestsRunBuildsAllAndPassesArguments) {
  WriteFile(stage_ / "installed", "here\ngone-dev\n");
  EXPECT_EQ(Run("tests/run", "", "-R 'a b'").exit_status, 0);
  const auto log = Log();
  ASSERT_THAT(log, SizeIs(3));
  EXPECT_THAT(log[1], testing::EndsWith("--target all"));
  EXPECT_THAT(log[2], testing::AllOf(StartsWith("ctest --test-dir " + tree_.string()),
                                     HasSubstr("--output-on-failure"), HasSubstr(" -j "),
                                     testing::EndsWith("-R a b")));
}

TEST_F(RunScriptsTest, AFailedTestHasStatusOne) {
  EXPECT_EQ(Run("tests/run", "CTEST_STATUS=8").exit_status, 1);
}

TEST_F(RunScriptsTest, CasesThatTestsCountedAreSummedForEveryStatus) {
  const std::string log =
      "CTEST_LOG='Output:\\ncases | randomised | 7\\ncases | ONNX | 2\\n"
      "left out | ONNX | a | 3-D\\nleft out | ONNX | b | it is u8\\nleft out | ONNX | c | 3-D\\n"
      "left out | ONNX | d | 3-D\\nleft out | ONNX | e | 3-D\\nPASSED\\ncases | randomised | 5\\n"
      "left out | pmu | f | no counter\\n'";
  const Outcome passed = Run("tests/run", log);
  EXPECT_EQ(passed.exit_status, 0);
  EXPECT_THAT(passed.output, testing::EndsWith("Cases in these tests:\n"
                                               "  randomised: 12\n"
                                               "  ONNX: 2, left out 5\n"
                                               "       4  3-D (a, c, d, ...)\n"
                                               "       1  it is u8 (b)\n"
                                               "  pmu: 0, left out 1\n"
                                               "       1  no counter (f)\n"));
  const Outcome failed = Run("tests/run", log + " CTEST_STATUS=8");
  EXPECT_EQ(failed.exit_status, 1);
  EXPECT_THAT(failed.output, HasSubstr("randomised: 12"));
  // The log of an earlier run is not counted again.
  EXPECT_THAT(Run("tests/run", "CTEST_STATUS=8").output, testing::Not(HasSubstr("Cases")));
}

// A package that a test needs must be in the list of packages, so CI accepts only what no package
// mends.
TEST_F(RunScriptsTest, SkipsAreListedByReasonAndCiRefusesUnknownOnes) {
  const std::string known = "a.cc:3: Skipped\\nneeds two CPUs\\n\\n";
  const std::string unknown = "a.cc:9: Skipped\\nlibx is not installed\\n\\n";
  const auto with_log = [](const std::string& text) { return "CTEST_LOG='" + text + "'"; };
  const Outcome listed = Run("tests/run", with_log(known + unknown + known));
  EXPECT_EQ(listed.exit_status, 0);
  EXPECT_THAT(listed.output, testing::EndsWith("Skipped tests: 3\n     2  needs two CPUs\n"
                                               "     1  libx is not installed\n"));
  EXPECT_EQ(Run("tests/run", "CI=true " + with_log(known)).exit_status, 0);
  const Outcome refused = Run("tests/run", "CI=true " + with_log(known + unknown));
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_THAT(refused.output, HasSubstr("libx is not installed (NOT IN THE LIST)"));
  EXPECT_THAT(refused.output, testing::Not(HasSubstr("two CPUs (NOT")));
}

// The log of ctest 3.25 for a test that passed, one that failed, and one with many lines, none of
// which gives the reason.
TEST_F(RunScriptsTest, FailuresAreExcerptsOfTheLog) {
  const auto block = [](const std::string& name, const std::string& output,
                        const std::string& end) {
    return "1/3 Testing: " + name + "\n1/3 Test: " + name + "\nOutput:\n----------\n" + output +
           "<end of output>\nTest time =   0.50 sec\n----------\nTest " + end + ".\n----------\n\n";
  };
  std::string many;
  for (int i = 1; i <= 20; ++i) many += "line " + std::to_string(i) + "\n";
  const fs::path log = stage_ / "LastTest.log";
  WriteFile(log, block("good", "a.cc:1: Failure\n", "Passed") +
                     block("bad", "[ RUN ]\na.cc:7: Failure\nValue of: x\n", "Failed") +
                     block("silent", many, "Failed"));
  const Outcome result =
      RunShell(Quoted(TOPDNN_SOURCE_DIR "/tests/failures") + " " + Quoted(log.string()));
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_THAT(result.output, testing::StartsWith("bad, 0.50 s:\n    a.cc:7: Failure\n"
                                                 "    Value of: x\nsilent, 0.50 s:\n    line 9\n"));
  EXPECT_THAT(result.output, testing::EndsWith("    line 20\n"));
}

// The log of a program that runs many tests in one process, as under the sanitizers.
TEST_F(RunScriptsTest, FailuresOfAProgramNameItsTests) {
  std::string passed;
  for (int i = 0; i < 20; ++i) passed += "[ RUN      ] B.Good\n";
  const fs::path log = stage_ / "LastTest.log";
  WriteFile(log,
            "1/1 Testing: test_kernels.part_1_of_4\nOutput:\n----------\n"
            "[ RUN      ] A.Good\n[       OK ] A.Good (1 ms)\n"
            "[ RUN      ] A.Bad\na.cc:7: Failure\n[  FAILED  ] A.Bad (1 ms)\n" +
                passed +
                "[ RUN      ] All/C.Bad/1\nc.cc:3: Failure\n"
                "[  FAILED  ] All/C.Bad/1, where GetParam() = \"eigen\" (1 ms)\n"
                "[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] A.Bad\n"
                "[  FAILED  ] All/C.Bad/1, where GetParam() = \"eigen\"\n\n 2 FAILED TESTS\n"
                "<end of output>\nTest time =   0.50 sec\n----------\nTest Failed.\n");
  const Outcome result =
      RunShell(Quoted(TOPDNN_SOURCE_DIR "/tests/failures") + " " + Quoted(log.string()));
  EXPECT_THAT(result.output, StartsWith("test_kernels.part_1_of_4, 0.50 s:\n"
                                        "    [ RUN      ] A.Bad\n    a.cc:7: Failure\n"));
  EXPECT_THAT(result.output,
              testing::EndsWith("    [  FAILED  ] A.Bad\n"
                                "    [  FAILED  ] All/C.Bad/1, where GetParam() = \"eigen\"\n"));
}

TEST_F(RunScriptsTest, CiMakesWarningsErrors) {
  Run("tests/run");
  Run("tests/run", "CI=true");
  Run("tests/run", "CI=true");
  const auto log = Log();
  EXPECT_EQ(std::count(log.begin(), log.end(),
                       "cmake --preset release -DTOPDNN_WARNINGS_AS_ERRORS=ON -DTOPDNN_WEEKLY=OFF "
                       "-DTOPDNN_EIGEN_ISAS=here"),
            1);
}

TEST_F(RunScriptsTest, CiShowsNoFailureOfAnEarlierRun) {
  for (const char* script : {".ci/run", "tests/failures"}) {
    fs::create_directories((tree_ / script).parent_path());
    fs::copy_file(fs::path(TOPDNN_SOURCE_DIR) / script, tree_ / script);
  }
  for (const char* preset : {"release", "asan"}) {
    const fs::path log = tree_ / "build" / preset / "Testing/Temporary/LastTest.log";
    fs::create_directories(log.parent_path());
    WriteFile(log,
              "1/1 Testing: earlier\nOutput:\n----------\na.cc:7: Failure\n<end of output>\n"
              "Test time =   0.50 sec\nTest Failed.\n");
  }
  const Outcome outcome = Run(".ci/run", "WEEKLY= TIDY= BUILD_FAILS=1");
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("No release test was run."));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("earlier")));
}

// What CI has left out is part of the next build by a person, and of a weekly one.
TEST_F(RunScriptsTest, CiLeavesOutWhatItRunsWeekly) {
  for (const std::string environment : {"", "CI=true WEEKLY=1"}) {
    Run("tests/run", "CI=true");
    const auto before = Log().size();
    Run("tests/run", environment);
    const auto log = Log();
    EXPECT_EQ(std::count(log.begin() + static_cast<std::ptrdiff_t>(before), log.end(),
                         "cmake --preset release -DTOPDNN_WEEKLY=ON -UTOPDNN_EIGEN_ISAS"),
              1)
        << environment;
  }
}

}  // namespace
}  // namespace topdnn
