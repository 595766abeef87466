// `topdnn scale` under mpirun: the same loss as one process, and how ranks refuse and end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/child_process.h"
#include "tests/process/mpirun.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = Quoted(TOPDNN_BINARY_DIR "/topdnn");

// The columns of the longest line.
std::ptrdiff_t LongestLine(const std::string& text) {
  std::ptrdiff_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    longest = std::max(longest, std::count_if(line.begin(), line.end(), [](char c) {
                         return (static_cast<unsigned char>(c) & 0xC0) !=
                                0x80;  // the first byte of a character
                       }));
  }
  return longest;
}

class ScaleTest : public testing::Test {
 protected:
  void SetUp() override {
    if (RunShell("command -v mpirun").exit_status != 0) {
      GTEST_SKIP() << "mpirun is missing: install openmpi-bin";
    }
    if (RunShell("test -e " + Quoted(TOPDNN_BINARY_DIR "/libtopdnn_mpi.so")).exit_status != 0) {
      GTEST_SKIP() << "topdnn is built without MPI: install libopenmpi-dev and configure again";
    }
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer does not see the synchronisation of Open MPI";
#endif
  }

  std::string json_path() const { return (folder_.path() / "scale.json").string(); }
  Json Result() const {
    std::ifstream file(json_path());
    return Json::parse(file);
  }
  Outcome Run(int ranks, const std::string& arguments) const {
    return RunShell((ranks == 1 ? "OMP_NUM_THREADS=1" : Mpirun(ranks)) + " " + kProgram +
                    " scale " + arguments + " --data synthetic --json " + Quoted(json_path()));
  }
  // The launcher does not wait before it ends the others. (Open MPI leaks memory.) Open MPI 5 names
  // its folder by its PID alone: one that is left of an earlier run with that PID is an error.
  std::string Mpirun(int ranks) const {
    return std::string(kMpirunVariables) + "TMPDIR=" + Quoted(folder_.path().string()) +
           " OMPI_MCA_odls_base_sigkill_timeout=0 ASAN_OPTIONS=detect_leaks=0 timeout 120 mpirun "
           "-np " +
           std::to_string(ranks);
  }
  // Two ranks with different arguments, and variables of the second. (One `mpirun` with a command
  // for each, separated by a colon, ends with a segmentation fault in Debian 13's Open MPI 5.0.7.)
  Outcome RunPair(const std::string& first, const std::string& second,
                  const std::string& variables_of_second = "") const {
    const std::string step = kProgram + " scale lenet5 --batch 4 ";
    const std::string pair = "if [ \"$OMPI_COMM_WORLD_RANK\" = 0 ]; then exec " + step + first +
                             "; else exec env " + variables_of_second + " " + step + second +
                             "; fi";
    return RunShell(Mpirun(2) + " sh -c " + Quoted(pair));
  }
  // Starts an endless run, does something to its second rank, the process $2 of the shell, and
  // returns how the run ends.
  Outcome DisturbedRun(const std::string& disturbance, const std::string& options = "") const {
    return RunShell(
        "children() { cat /proc/$1/task/*/children 2>/dev/null; }\n" + Mpirun(2) + " " + kProgram +
        " scale lenet5 --batch 4 --steps 1000000 " + options + " --json " + Quoted(json_path()) +
        " & launcher=$!\n"
        "until [ $(echo $ranks | wc -w) -ge 2 ]; do\n"
        "  sleep 0.05\n"
        "  ranks=; for mpirun in $(children $launcher); do ranks=$(children $mpirun); done\n"
        "done\n"
        "sleep 1.5\n"
        "set -- $ranks\n" +
        disturbance + "; wait $launcher");
  }
  Json Measured(int ranks, const std::string& arguments) const {
    const Outcome outcome = Run(ranks, arguments);
    EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
    if (ranks > 1) {
      EXPECT_LE(LongestLine(outcome.output), 80) << outcome.output;
    }
    return Result();
  }

  TestFolder folder_;
};

double LossError(const Json& a, const Json& b) {
  EXPECT_EQ(a["loss"].size(), b["loss"].size());
  double error = 0;
  for (std::size_t i = 0; i < std::min(a["loss"].size(), b["loss"].size()); ++i) {
    error = std::max(error, std::abs(a["loss"][i].get<double>() / b["loss"][i].get<double>() - 1));
  }
  return error;
}

TEST_F(ScaleTest, TheLossIsThatOfOneProcess) {
  const std::string words = "lenet5 --batch 16 --steps 10 --learning-rate 0.01";
  const Json one = Measured(1, words);
  EXPECT_TRUE(one["communication"].is_null());
  EXPECT_TRUE(one["buckets"][0]["exposed"].is_null());
  ASSERT_EQ(one["loss"].size(), 15U);
  EXPECT_GT(std::abs(one["loss"][14].get<double>() / one["loss"][0].get<double>() - 1), 0.01);
  for (const int ranks : {2, 4}) {
    const Json json = Measured(ranks, words + " --bucket-size 0.01");
    EXPECT_EQ(json["ranks"], ranks);
    EXPECT_EQ(json["threads"], 1);
    EXPECT_EQ(json["global_batch"], 16);
    EXPECT_LT(LossError(json, one), 1e-5) << ranks;
    EXPECT_GT(json["buckets"].size(), 2U);
    double exposed = 0;
    for (const Json& bucket : json["buckets"]) {
      exposed += bucket["exposed"].get<double>();
      EXPECT_GE(bucket["seconds"], bucket["exposed"]);
      EXPECT_LE(bucket["ceiling_share"], 1);
    }
    EXPECT_GT(exposed, 0);
    EXPECT_GE(json["communication"], json["exposed"]);
    EXPECT_EQ(json["by_rank"].size(), static_cast<std::size_t>(ranks));
  }
  EXPECT_LT(LossError(Measured(2, words + " --no-overlap"), one), 1e-5);
  const Json bf16 = Measured(2, words + " --wire bf16");
  EXPECT_EQ(bf16["buckets"][0]["bytes"].get<double>() * 2, one["buckets"][0]["bytes"]);
  EXPECT_LT(LossError(bf16, one), 1e-2);
  EXPECT_GT(LossError(bf16, one), 0);
}

TEST_F(ScaleTest, ScalingTablesCompareNumbersOfRanks) {
  const Json strong = Measured(2, "cnn --batch 8 --steps 8 --scaling strong");
  ASSERT_EQ(strong["groups"].size(), 2U);
  EXPECT_EQ(strong["groups"][0]["ranks"], 1);
  EXPECT_EQ(strong["groups"][0]["efficiency"], 1);
  EXPECT_EQ(strong["groups"][1]["global_batch"], 8);
  EXPECT_EQ(strong["groups"][1]["step"]["ci95"].size(), 2U);
  EXPECT_LE(strong["loss_error"], strong["loss_bound"]);
  const Json weak = Measured(3, "lenet5 --batch 4 --steps 8 --scaling weak --ranks 2,1");
  ASSERT_EQ(weak["groups"].size(), 2U);
  EXPECT_EQ(weak["ranks"], 2);
  EXPECT_EQ(weak["complete"], true);
  EXPECT_EQ(weak["groups"][0]["global_batch"], 4);
  EXPECT_EQ(weak["groups"][1]["global_batch"], 8);
  EXPECT_TRUE(weak["loss_error"].is_null());
}

// With more ranks than CPUs, a measured step gives only a lower bound of the efficiency.
TEST_F(ScaleTest, RanksThatShareCpusBoundAPrediction) {
  const auto cpus = static_cast<int>(std::thread::hardware_concurrency());
  if (cpus < 2 || cpus > 8) GTEST_SKIP() << cpus << " CPUs: the test needs 2 to 8";
  const int ranks = cpus + 2;
  const Outcome outcome =
      Run(ranks, "lenet5 --batch 2 --steps 3 --predict --ranks 1,2," + std::to_string(ranks));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("verdict: DEGRADED (" + std::to_string(ranks) +
                                        " threads of the ranks share"));
  EXPECT_THAT(outcome.output, HasSubstr("lower bounds of the efficiency"));
  const Json json = Result();
  EXPECT_EQ(json["status"], "DEGRADED");
  EXPECT_THAT(json["model"]["assumptions"][0].get<std::string>(), HasSubstr("as the 2 ranks did"));
  for (const Json& point : json["model"]["points"]) EXPECT_EQ(point["ranks"], 2);
  std::size_t bounds = 0;
  for (const Json& step : json["predicted"]) {
    EXPECT_EQ(step["error"].is_number(), step["ranks"] == 2) << step;
    EXPECT_EQ(step["step_bound"].is_number(), step["ranks"] == ranks) << step;
    if (step["ranks"] != ranks) continue;
    ++bounds;
    EXPECT_EQ(step["step_bound"], json["groups"][2]["step"]["seconds"]["median"]);
  }
  EXPECT_EQ(bounds, 1U);
}

// One line of ours; mpirun adds its own.
void ExpectOneLine(const Outcome& outcome, int status, const std::string& text) {
  EXPECT_EQ(outcome.exit_status, status) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(text));
  const std::size_t first = outcome.output.find("topdnn: ");
  EXPECT_EQ(outcome.output.find("topdnn: ", first + 1), std::string::npos) << outcome.output;
}

TEST_F(ScaleTest, RefusesTogether) {
  ExpectOneLine(Run(2, "lenet5 --batch 9"), 2,
                "--batch 9: does not divide among 2 ranks; take 8 or 10");
  ExpectOneLine(Run(2, "lenet5 --bucket-size 0"), 2, "--bucket-size 0: must be more than 0 MiB");
  ExpectOneLine(Run(2, "lenet5 --batch 8 --ranks 1,3"), 2, "--ranks: '3': must be 1 to 2");
  ExpectOneLine(RunPair("", "--seed 2"), 2, "rank 1 on");
  ExpectOneLine(RunPair("", "", "DNNL_MAX_CPU_ISA=SSE41"), 2, "in onednn isa: 'sse41', not");
}

// Another launcher than MPI's starts such ranks. Each would run as the only one.
TEST_F(ScaleTest, RefusesRanksThatMpiDoesNotConnect) {
  ExpectOneLine(
      RunShell(Mpirun(1) + " env OMPI_COMM_WORLD_SIZE=2 " + kProgram + " scale lenet5 --batch 4"),
      2, "2 ranks were started, but MPI connects 1: use the mpirun of Open MPI");
}

TEST_F(ScaleTest, NamesTheRanksWhoseGradientsAreNotFinite) {
  ExpectOneLine(Run(2, "lenet5 --batch 4 --learning-rate 1e30"), 1,
                "the gradients of rank 0, 1 are not finite at step");
  EXPECT_EQ(Result()["status"], "FAILED");
  EXPECT_TRUE(Result()["step"]["seconds"].is_null());  // a wrong result has no times
  // The first of two numbers of ranks fails.
  ExpectOneLine(Run(2, "lenet5 --batch 4 --learning-rate 1e30 --scaling strong"), 1,
                "the gradients of rank 0 are not finite at step");
  EXPECT_THAT(Result()["reason"].get<std::string>(), Not(HasSubstr("interrupted")));
}

// The reader of rank 0's output goes on after more than --wait-limit.
TEST_F(ScaleTest, RanksWaitForTheOutputForAnyTime) {
  const std::string run = kProgram +
                          " scale lenet5 --batch 4 --steps 400 --wait-limit 2 --data synthetic"
                          " --json -";
  const std::string reader =
      "python3 -c 'import fcntl, os, sys, time\n"
      "F_SETPIPE_SZ = 1031\n"
      "fcntl.fcntl(0, F_SETPIPE_SZ, 4096)\n"
      "os.read(0, 1)\n"
      "time.sleep(5)\n"
      "sys.stdin.buffer.read()'";
  const Outcome outcome = RunShell(Mpirun(2) + " sh -c " +
                                   Quoted("if [ \"$OMPI_COMM_WORLD_RANK\" != 0 ]; then exec " +
                                          run + "; fi\n" + run + " | " + reader));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("has waited")));
}

TEST_F(ScaleTest, AnInterruptOfOneRankKeepsTheStepsOfAll) {
  const Outcome outcome = DisturbedRun("kill -INT $2");
  EXPECT_EQ(outcome.exit_status, 130) << outcome.output;
  const Json json = Result();
  EXPECT_EQ(json["partial"], true);
  EXPECT_EQ(json["status"], "DEGRADED");
  EXPECT_LT(json["loss"].size(), 1000000U);
}

TEST_F(ScaleTest, TheDeathOfOneRankEndsAll) {
  const Outcome outcome = DisturbedRun("kill -KILL $2");
  EXPECT_EQ(outcome.exit_status, 137) << outcome.output;
  EXPECT_FALSE(std::filesystem::exists(json_path()));
}

// Only steps have a limit: ranks wait for the preparation of others for any time. So a rank that
// was stopped before its first step goes on after some seconds, and is stopped again.
TEST_F(ScaleTest, ARankThatHangsIsNamedAndEndsAll) {
  ExpectOneLine(DisturbedRun("while kill -STOP $2 2>/dev/null; do\n"
                             "  for second in 1 2 3 4 5 6 7 8; do\n"
                             "    sleep 1; kill -0 $2 2>/dev/null || break 2\n"
                             "  done\n"
                             "  kill -CONT $2; sleep 1\n"
                             "done",
                             "--wait-limit 1"),
                1, "rank 0: has waited 1 s for rank 1, which hangs or is slow");
}

// A copy of the program in another folder does not find its library.
TEST_F(ScaleTest, WithoutMpiOneLineSaysWhatToInstall) {
  const std::string copy = Quoted((folder_.path() / "bin" / "topdnn").string());
  const Outcome outcome =
      RunShell("mkdir " + Quoted((folder_.path() / "bin").string()) + " && cp " + kProgram + " " +
               copy + " && " + copy + " scale lenet5");
  ExpectOneLine(outcome, 2, "install libopenmpi-dev and openmpi-bin");
}

}  // namespace
}  // namespace topdnn
