// The Python module `topdnn`: its own checks (module_checks.py) and the examples.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// In an environment as a user of the build folder has it.
Outcome Python(const std::string& arguments, const std::string& variables = "") {
  return RunShell("env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" +
                  Quoted(TOPDNN_SOURCE_DIR "/harness/c_api/python") +
                  " TOPDNN_LIBRARY=" + Quoted(TOPDNN_BINARY_DIR "/libtopdnn.so") + " " + variables +
                  " /usr/bin/python3 " + arguments);
}

// Skips without the interpreter's package, and under sanitizers, whose runtime Python lacks.
#define TOPDNN_NEEDS_PYTHON(package)                                                    \
  if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime cannot be loaded into Python"; \
  if (RunShell("/usr/bin/python3 -c 'import " package "'").exit_status != 0) {          \
    GTEST_SKIP() << "Python has no module " package;                                    \
  }

void Passes(const std::string& check, const std::string& variables = "") {
  const Outcome outcome =
      Python(Quoted(TOPDNN_SOURCE_DIR "/tests/c_api/module_checks.py") + " " + check, variables);
  if (outcome.exit_status == 77) GTEST_SKIP() << outcome.output;
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
}

TEST(PythonModuleTest, ReportsWrongUse) {
  TOPDNN_NEEDS_PYTHON("ctypes");
  Passes("WrongUse");
}

TEST(PythonModuleTest, PassesExceptionsAndResultsOn) {
  TOPDNN_NEEDS_PYTHON("ctypes");
  Passes("Outcomes");
}

TEST(PythonModuleTest, ProfilesSteps) {
  TOPDNN_NEEDS_PYTHON("ctypes");
  Passes("Steps");
}

TEST(PythonModuleTest, CountsAllThreads) {
  TOPDNN_NEEDS_PYTHON("ctypes");
  Passes("Threads");
}

TEST(PythonModuleTest, CountsAMatrixProductOnOneThread) {
  TOPDNN_NEEDS_PYTHON("numpy");
  Passes("Products", "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1");
}

TEST(PythonModuleTest, CountsAMatrixProductOnTwoThreads) {
  TOPDNN_NEEDS_PYTHON("numpy");
  Passes("Products", "OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2");
}

TEST(PythonModuleTest, ProfilesTheModulesOfPyTorch) {
  TOPDNN_NEEDS_PYTHON("torch");
  Passes("Modules");
}

TEST(PythonModuleTest, SaysWhichLibraryIsMissing) {
  TOPDNN_NEEDS_PYTHON("ctypes");
  const Outcome outcome = Python("-c 'import topdnn'", "TOPDNN_LIBRARY=/no/libtopdnn.so");
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("ImportError: topdnn: libtopdnn.so cannot be loaded"));
}

// The file of an example is a result that the program reads.
void RunsAndIsRead(const std::string& example) {
  const TestFolder folder;
  const std::string file = Quoted((folder.path() / "p.json").string());
  const Outcome ran = Python(Quoted(TOPDNN_SOURCE_DIR "/examples/python/" + example) + " " + file,
                             "OMP_NUM_THREADS=1");
  ASSERT_EQ(ran.exit_status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("verdict: "));
  EXPECT_THAT(ran.output, HasSubstr("step: "));
  const std::string topdnn = Quoted(TOPDNN_BINARY_DIR "/topdnn");
  const std::string page = Quoted((folder.path() / "p.html").string());
  const Outcome drawn = RunShell(topdnn + " report " + file + " --html " + page);
  EXPECT_EQ(drawn.exit_status, 0) << drawn.output;
  const Outcome compared = RunShell(topdnn + " compare " + file + " " + file);
  EXPECT_EQ(compared.exit_status, 0) << compared.output;
  const std::string store = Quoted((folder.path() / "store").string());
  const Outcome stored = RunShell(topdnn + " results --store " + store + " add " + file);
  EXPECT_EQ(stored.exit_status, 0) << stored.output;
}

TEST(PythonExamplesTest, Plain) {
  TOPDNN_NEEDS_PYTHON("ctypes");
  RunsAndIsRead("plain.py");
}

TEST(PythonExamplesTest, NumPy) {
  TOPDNN_NEEDS_PYTHON("numpy");
  RunsAndIsRead("layers.py");
}

}  // namespace
}  // namespace topdnn
