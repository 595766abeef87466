// Calls of the C library and the kernel that fail, one at a time, in whole commands: each ends with
// one line and its status, with whole files, without temporary ones, and with no process left.
//
// A run without a fault counts the calls. Of those, some are drawn by a seed: with
// TOPDNN_FAULTS=all, up to 60 of each function in slow commands and 1,000 in fast ones (hours);
// with TOPDNN_FAULTS=N, N of each command. Only then memory and the loading of libraries fail, too:
// most of their calls are in libraries, some of which do not look at the result, and another
// machine draws others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "harness/machine/cpu_set.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = TOPDNN_BINARY_DIR "/tests/faults/libfail_call.so";

constexpr int kFewFaults = 2;

struct HostileCommand {
  const char* name;
  int faults;  // that are drawn by default: kFewFaults of a slow command
  // For the shell, after the program's name; the folder has the files of SetUpTestSuite.
  const char* arguments;
};

void PrintTo(const HostileCommand& command, std::ostream* stream) { *stream << command.name; }

// The two commands that measure all ceilings measure those of small caches, in half of the time.
// (corun and bench read the machine's own.)
std::string Topology(std::string_view command) {
  if (command != "profile" && command != "sweep") return "";
  return "HWLOC_THISSYSTEM=1 HWLOC_SYNTHETIC='pack:1 l3:1(size=4194304) core:" +
         std::to_string(sysconf(_SC_NPROCESSORS_CONF)) +
         " l2:1(size=1048576) l1:1(size=49152) pu:1' ";
}

#define TOPDNN_REPLAY                                                               \
  "profile cnn --infer --backend reference --batch 1 --threads 1 --data synthetic " \
  "--counters replay:" TOPDNN_SOURCE_DIR                                            \
  "/tests/bench/recordings/cnn_reference_sapphire_rapids.json --no-experiments --json "

const HostileCommand kCommands[] = {
    {"profile", kFewFaults,
     "profile lenet5 --infer --batch 2 --iterations 2 --data synthetic --no-isolated --threads 2 "
     "--no-experiments --json out.json --csv out.csv --record recording.json"},
    {"bench", kFewFaults,
     "bench --problem relu/1x8x8x8 --threads 1 --benchmark_min_time=0.001 "
     "--benchmark_filter=forward/onednn/f32/t1/manual --benchmark_out=out.json"},
    {"sweep", kFewFaults,
     "sweep --networks lenet5 --modes infer --batch 2 --seconds 0.05 --out study"},
    {"corun", kFewFaults,
     "corun --workload 'lenet5 infer batch 2 threads 1' 'lenet5 infer batch 2 threads 1' "
     "--rounds 6 --window 0.05s --counters none --json out.json"},
    {"replay", 8, TOPDNN_REPLAY "out.json --csv out.csv --html out.html"},
    {"trace", 8, "trace --read-only kernels.log --json out.json --save problems.txt"},
    {"run", 8, "run net.onnx --input input=x.npy --output results"},
    {"export", 8, "export lenet5 out.onnx"},
    {"report", 8, "report profile.json --html out.html"},
    {"results", 8, "results add profile.json --store store"},
    {"compare", 8, "compare profile.json profile.json --json out.json"},
    {"topdown", 8,
     "topdown --cpu sapphire_rapids --events " TOPDNN_SOURCE_DIR
     "/tests/bench/event_files/spr_default.json --json out.json"},
    {"plan", 8, "plan cnn --train --batch 4 --threads 2"},
    {"step", 8, "step lenet5 --batch 2 --data synthetic --dump out.npz"},
    {"quantize", kFewFaults, "quantize net.onnx out.onnx --data synthetic"},
    {"cosched", 8, "cosched --jobs 4 --simulate --json out.json"},
    {"exact", kFewFaults,
     "profile lenet5 --infer --batch 2 --threads 1 --exact-baseline out.json"}};

struct Fault {
  std::string call;
  std::int64_t at = 0;
  int times = 1;  // 0: it and all later ones
};

void PrintTo(const Fault& fault, std::ostream* stream) {
  *stream << fault.call << " fails at call " << fault.at << (fault.times == 0 ? " and after" : "");
}

// A row-major image of zeros, as NumPy writes it.
std::string ZerosAsNpy() {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 32, 32), }";
  header.resize(118, ' ');
  header.back() = '\n';
  return std::string("\x93NUMPY\x01\x00v\x00", 10) + header + std::string(32 * 32 * 4, '\0');
}

class FaultTest : public testing::TestWithParam<HostileCommand> {
 protected:
  // The processes that a run leaves become children of this one.
  FaultTest() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

  // `before` and `after` are for the shell; after it, $! is the process.
  Outcome Run(const TestFolder& folder, const std::string& environment,
              const std::string& before = "true", const std::string& after = "") const {
    fs::copy_file(inputs_->path() / "profile.json", folder.path() / "profile.json");
    fs::copy_file(inputs_->path() / "net.onnx", folder.path() / "net.onnx");
    fs::copy_file(TOPDNN_SOURCE_DIR "/tests/bench/traces/topdnn-onednn2-kernels.log",
                  folder.path() / "kernels.log");
    folder.Write("x.npy", ZerosAsNpy());
    return RunShell("cd " + Quoted(folder.path().string()) + " && mkdir cache && ulimit -c 0 && " +
                    before + " && { timeout -k 5 300 env XDG_CACHE_HOME=$PWD/cache " +
                    Topology(GetParam().name) + environment + " LD_PRELOAD=" + Quoted(kLibrary) +
                    " " + QuotedProgram() + " " + GetParam().arguments + " 2>&1 >out.txt" + after +
                    "; }");
  }

  // How often each function is called.
  std::map<std::string, std::int64_t> CountCalls() const {
    const TestFolder folder;
    const TestFolder report;
    const std::string file = report.path() / "calls";
    const Outcome outcome = Run(folder, "FAIL_REPORT=" + Quoted(file));
    EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    std::map<std::string, std::int64_t> calls;
    std::ifstream lines(file);
    std::string name;
    for (std::int64_t n = 0; lines >> name >> n;) calls[name] = std::max(calls[name], n);
    return calls;
  }

  // Returns the exit status.
  int Try(const Fault& fault) const {
    const TestFolder folder;
    const Outcome outcome =
        Run(folder, "FAIL_CALL=" + fault.call + " FAIL_AT=" + std::to_string(fault.at) +
                        " FAIL_TIMES=" + std::to_string(fault.times));
    // A file that cannot be opened may be the user's, and so may a limit of processes; all other
    // faults are failures of the run.
    std::vector<int> good = {kExitGood, kExitWrong, kExitNothing};
    for (const char* of_user : {"open", "create", "dlopen", "fork", "pthread_create"}) {
      if (fault.call == of_user) good.push_back(kExitUsage);
    }
    // A program goes on after half a write, after a signal, and with another time of day.
    for (const char* harmless : {"short_write", "interrupted", "realtime"}) {
      if (fault.call == harmless) good = {kExitGood};
    }
    Check(folder.path(), outcome, good, fault.call == "mmap" || fault.call == "malloc");
    return outcome.exit_status;
  }

  // `may_crash`: in a library, of which the program's one line speaks. The code generator of oneDNN
  // 2.6.3 does not look at the result of mmap, nor hwloc 2.9.0 at that of malloc (seen in
  // hwloc_bitmap_set within hwloc_topology_load).
  static void Check(const fs::path& folder, const Outcome& outcome, const std::vector<int>& good,
                    bool may_crash) {
    EXPECT_THAT(good, testing::Contains(outcome.exit_status)) << outcome.output;
    CheckLines(folder, outcome, may_crash);
    CheckFiles(folder);
    EXPECT_EQ(waitpid(-1, nullptr, 0), -1) << "a process is left";
    EXPECT_EQ(errno, ECHILD);
  }

  static void SetUpTestSuite() {
    inputs_ = new TestFolder();
    const Outcome outcome = RunShell("cd " + Quoted(inputs_->path().string()) + " && " +
                                     QuotedProgram() + " export lenet5 net.onnx && " +
                                     QuotedProgram() + " " TOPDNN_REPLAY "profile.json");
    ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  }
  static void TearDownTestSuite() { delete std::exchange(inputs_, nullptr); }

 private:
  // A sweep has the line in its list of cases, and bench in the row of the kernel. (The fault may
  // be in a case and in the sweep itself, which count their calls apart.)
  static void CheckLines(const fs::path& folder, const Outcome& outcome, bool may_crash) {
    int lines_to_user = 0, rows = 0;
    std::ifstream table(folder / "out.txt");
    for (std::string row; std::getline(table, row);) {
      rows += row.find(" ERROR OCCURRED: 'FAILED: ") != std::string::npos ? 1 : 0;
    }
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) {
      const bool is_note = line.find("is not remembered") != std::string::npos ||
                           line.find("is not computed by this kernel") != std::string::npos ||
                           line.starts_with("topdnn: the machine is busy");
      // (those of the OpenMP runtime, of Google Benchmark and of the dynamic linker)
      const bool is_own =
          line.starts_with("topdnn: ") || line.starts_with("libgomp: ") ||
          line.starts_with("invalid file name: ") ||
          line.starts_with("Failed to read from file ") ||
          line.find(": error while loading shared libraries: ") != std::string::npos;
      const bool is_row = line.find(": FAILED: ") != std::string::npos ||
                          line.find(": SKIPPED: ") != std::string::npos ||
                          line.find(": OUT_OF_MEMORY: ") != std::string::npos ||
                          line.find(": TIMEOUT: ") != std::string::npos ||
                          line.find(": CRASHED: ") != std::string::npos;
      rows += is_row ? 1 : 0;
      lines_to_user += is_own && !is_note && !is_row ? 1 : 0;
      EXPECT_EQ(line.find(": FAILED:  "), std::string::npos) << "a row without a reason: " << line;
    }
    if (outcome.exit_status != kExitGood) {  // (otherwise they are notes)
      EXPECT_LE(lines_to_user, 1) << outcome.output;
      EXPECT_LE(rows, 1) << outcome.output;
      EXPECT_GE(lines_to_user + rows, 1) << outcome.output;
    }
    for (const char* bad :
         {"internal error", "terminate called", "std::bad_alloc", "must be installed", "crashed"}) {
      if (may_crash && std::string_view(bad) == "crashed") continue;
      EXPECT_EQ(outcome.output.find(bad), std::string::npos) << outcome.output;
    }
  }

  static void CheckFiles(const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      EXPECT_FALSE(name.starts_with(".topdnn-") || name.ends_with(".tmp")) << name << " is left";
      if (entry.path().extension() == ".json") {
        EXPECT_NO_THROW(ReadJson(entry.path())) << entry.path() << " is not whole";
      }
    }
  }

  static TestFolder* inputs_;
};

TestFolder* FaultTest::inputs_ = nullptr;

TEST_P(FaultTest, EndsWithOneLine) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer replaces these functions itself";
#endif
  const char* const wanted = std::getenv("TOPDNN_FAULTS");
  const bool all = wanted != nullptr && std::string(wanted) == "all";
  const int most = all ? 0 : wanted != nullptr ? std::atoi(wanted) : GetParam().faults;
  const std::string name = GetParam().name;
  std::seed_seq seed(name.begin(), name.end());
  std::mt19937 random(seed);
  std::vector<Fault> faults;
  for (const auto& [call, n] : CountCalls()) {
    const bool in_libraries = call == "malloc" || call == "mmap" || call == "dlopen";
    if (wanted == nullptr && in_libraries) continue;
    const std::int64_t most_of_call = GetParam().faults == kFewFaults ? 60 : 1000;
    const std::int64_t step = std::max<std::int64_t>(1, n / most_of_call);
    for (std::int64_t at = 1; at <= n; at += step) {
      faults.push_back(
          {call, at + static_cast<std::int64_t>(random() % step), static_cast<int>(random() % 2)});
      if (call == "interrupted") faults.back().times = 1;  // (a program may repeat it for ever)
    }
  }
  ASSERT_FALSE(faults.empty());
  std::shuffle(faults.begin(), faults.end(), random);
  if (!all) {
    // One of each function first, so that the many allocations do not crowd out the others.
    std::map<std::string, int> seen;
    std::vector<std::pair<int, Fault>> ranked;
    for (const Fault& fault : faults) ranked.emplace_back(seen[fault.call]++, fault);
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    faults.clear();
    for (int i = 0; i < std::min<int>(most, static_cast<int>(ranked.size())); ++i) {
      faults.push_back(ranked[static_cast<std::size_t>(i)].second);
    }
  }
  std::map<int, int> ends;
  for (const Fault& fault : faults) {
    SCOPED_TRACE(testing::PrintToString(fault));
    ++ends[Try(fault)];
  }
  std::cout << faults.size() << " faults: ";
  for (const auto& [status, n] : ends) std::cout << n << " ended with status " << status << ", ";
  std::cout << "as they should unless a failure is above\n";
}

// From less than the libraries need to more than the command does.
TEST_P(FaultTest, EndsWithOneLineUnderALimitOfMemory) {
  std::vector<int> mebibytes = {50, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1500};
  if (std::getenv("TOPDNN_FAULTS") == nullptr) mebibytes = {50, 250};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs terabytes of addresses";
#endif
  constexpr int kNotLoaded = 127;  // of the dynamic linker
  for (const int limit : mebibytes) {
    SCOPED_TRACE(testing::Message() << limit << " MiB");
    const TestFolder folder;
    const Outcome outcome = Run(folder, "", "ulimit -v " + std::to_string(limit * 1024));
    std::vector<int> good = {kExitGood, kExitWrong, kExitNothing, kNotLoaded};
    // (no kernel passed its trial, and the line speaks of the limit)
    if (outcome.output.find("with the program's memory limited") != std::string::npos) {
      good.push_back(kExitUsage);
    }
    Check(folder.path(), outcome, good, /*may_crash=*/true);
  }
}

// All its processes are stopped for a while and go on, at several moments; then all its threads
// lose a CPU.
TEST_P(FaultTest, GoesOnAfterStopsAndWithoutACpu) {
  const char* const wanted = std::getenv("TOPDNN_FAULTS");
  const int rounds = wanted == nullptr ? 1 : 20;
  const std::string name = GetParam().name;
  std::seed_seq seed(name.begin(), name.end());
  std::mt19937 random(seed);
  const int cpu = AllowedCpus().cpus.front();
  for (int round = 0; round < rounds; ++round) {
    std::string after = " & ";
    constexpr int kStops = 5;
    for (int stop = 0; stop < kStops; ++stop) {
      // (timeout is the leader of the group of its own processes)
      after += "sleep 0.0" + std::to_string(random() % 10) + "; kill -STOP -- -$! 2>/dev/null; " +
               "sleep 0.1; kill -CONT -- -$! 2>/dev/null; ";
    }
    // (the third field behind the name is the group)
    after +=
        "for p in /proc/[0-9]*; do read -r all <$p/stat; set -- ${all##*) }; [ \"$3\" = $! ] && " +
        ("taskset -a -c -p " + std::to_string(cpu)) + " ${p#/proc/}; done >/dev/null 2>&1; wait $!";
    SCOPED_TRACE(after);
    const TestFolder folder;
    const Outcome outcome = Run(folder, "", "true", after);
    // (corun gives each member CPUs of its own, and ends with a line if one is lost)
    const std::vector<int> good =
        name == "corun" ? std::vector{kExitGood, kExitWrong} : std::vector{kExitGood};
    Check(folder.path(), outcome, good, /*may_crash=*/false);
  }
}

// The table is not empty of faults: a rename that always fails leaves no file.
TEST(FailedCallTest, ARenameThatFailsLeavesNoFile) {
  const TestFolder folder;
  const Outcome outcome =
      RunShell("cd " + Quoted(folder.path().string()) +
               " && FAIL_CALL=rename FAIL_TIMES=0 LD_PRELOAD=" + Quoted(kLibrary) + " " +
               QuotedProgram() + " export lenet5 x");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer replaces these functions itself";
#endif
  EXPECT_EQ(outcome.exit_status, kExitWrong);
  EXPECT_THAT(outcome.output, testing::StartsWith("topdnn: cannot write 'x': Input/output error"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

INSTANTIATE_TEST_SUITE_P(Commands, FaultTest, testing::ValuesIn(kCommands),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace topdnn
