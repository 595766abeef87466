// `topdnn scale` whose ranks srun starts, on a real Slurm.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/fleet/slurm_cluster.h"
#include "tests/process/child_process.h"

namespace topdnn {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class SrunTest : public SlurmClusterTest {
 protected:
  void SetUp() override {
    if (RunShell("test -e " + Quoted(TOPDNN_BINARY_DIR "/libtopdnn_mpi.so")).exit_status != 0) {
      GTEST_SKIP() << "topdnn is built without MPI: install libopenmpi-dev and configure again";
    }
    SlurmClusterTest::SetUp();
  }

  // (Open MPI leaks memory)
  Outcome Run(const std::string& launcher) const {
    return RunShell("env -u OMP_NUM_THREADS ASAN_OPTIONS=detect_leaks=0 " + launcher + " " +
                    Quoted(TOPDNN_BINARY_DIR "/topdnn") +
                    " scale lenet5 --batch 16 --steps 5 --learning-rate 0.01 --data synthetic "
                    "--json " +
                    Quoted(json_path()));
  }
  std::string json_path() const { return (folder_.path() / "scale.json").string(); }
  Json Result() const {
    std::ifstream file(json_path());
    return Json::parse(file);
  }
};

TEST_F(SrunTest, PmixConnectsTheRanks) {
  if (RunShell("srun --mpi=list 2>&1 | grep pmix").exit_status != 0) {
    GTEST_SKIP() << "this Slurm has no PMIx: install slurm-wlm-basic-plugins and libpmix2";
  }
  const Outcome one = Run("");
  ASSERT_EQ(one.exit_status, 0) << one.output;
  const Json alone = Result();
  const Outcome two = Run("timeout 100 srun --mpi=pmix --nodes=1 --ntasks=2 --overcommit");
  ASSERT_EQ(two.exit_status, 0) << two.output;
  const Json json = Result();
  EXPECT_EQ(json["ranks"], 2);
  // The ranks of a node share its CPUs, as srun says how many there are.
  const Json cpus = alone["threads"];
  EXPECT_EQ(json["threads"], std::max(cpus.get<int>() / 2, 1));
  ASSERT_EQ(json["loss"].size(), alone["loss"].size());
  for (std::size_t i = 0; i < alone["loss"].size(); ++i) {
    EXPECT_NEAR(json["loss"][i].get<double>() / alone["loss"][i].get<double>(), 1, 1e-5) << i;
  }
}

// Without the refusal, each rank would run as the only one, or Open MPI would print 20 lines.
TEST_F(SrunTest, RanksThatCannotCommunicateAreRefusedInOneLine) {
  for (const std::string mpi : {"none", "pmi2"}) {
    const std::string launcher = "timeout 100 srun --mpi=" + mpi + " --nodes=1 --ntasks=2";
    if (RunShell(launcher + " true").exit_status != 0) continue;  // this Slurm has no such plugin
    const Outcome outcome = Run(launcher);
    EXPECT_EQ(outcome.exit_status, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("use `srun --mpi=pmix`, or start mpirun"));
    const std::size_t first = outcome.output.find("topdnn: ");
    EXPECT_EQ(outcome.output.find("topdnn: ", first + 1), std::string::npos) << outcome.output;
    EXPECT_EQ(outcome.output.find("MPI_ERRORS_ARE_FATAL"), std::string::npos) << outcome.output;
  }
}

}  // namespace
}  // namespace topdnn
