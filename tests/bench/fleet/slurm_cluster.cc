#include "tests/bench/fleet/slurm_cluster.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <thread>

#include "tests/process/child_process.h"

namespace topdnn {

namespace fs = std::filesystem;

bool WaitUntil(const std::function<bool()>& done, int seconds) {
  constexpr int kChecksPerSecond = 5;
  for (int i = 0; i < seconds * kChecksPerSecond; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1000 / kChecksPerSecond));
  }
  return false;
}

Cluster::Cluster(const fs::path& folder) {
  fs::create_directories(folder);
  const int port = 20000 + 3 * (getpid() % 4000);  // (below the ports of outgoing connections)
  const std::string command = "exec " + Quoted(TOPDNN_SOURCE_DIR "/tests/bench/fleet/cluster") +
                              " " + Quoted(folder.string()) + " " + std::to_string(port) + " >" +
                              Quoted((folder / "cluster.log").string()) + " 2>&1";
  // NOLINTNEXTLINE(cert-env33-c)
  pipe_ = popen(command.c_str(), "we");
  ready_ = WaitUntil([&] { return fs::exists(folder / "ready"); });
  setenv("SLURM_CONF", (folder / "slurm.conf").c_str(), 1);
}

Cluster::~Cluster() { pclose(pipe_); }

void Cluster::Tell(const std::string& line) const {
  std::fputs((line + "\n").c_str(), pipe_);
  std::fflush(pipe_);
}

void SlurmClusterTest::SetUp() {
  setenv("PATH", (std::string(getenv("PATH")) + ":/usr/sbin:/sbin").c_str(), 1);
  for (const auto& [program, package] :
       std::map<std::string, std::string>{{"slurmctld", "slurmctld"},
                                          {"slurmd", "slurmd"},
                                          {"sbatch", "slurm-client"},
                                          {"munged", "munge"},
                                          {"mungekey", "munge"}}) {
    if (RunShell("command -v " + program).exit_status == 0) continue;
    GTEST_SKIP() << program << " is missing: install " << package;
  }
  if (RunShell("unshare --pid --fork --mount-proc true").exit_status != 0) {
    GTEST_SKIP() << "no namespace of processes for the daemons: run this as root";
  }
  cluster_ = std::make_unique<Cluster>(folder_.path() / "slurm");
  // Until here, no code of topdnn runs: a container may refuse what the daemons need.
  const std::string logs = Quoted(folder_.path().string()) + "/slurm/";
  if (!cluster_->ready() || RunShell("cat " + logs + "ready").output != "n1 idle\nn2 idle\n") {
    GTEST_SKIP() << "Slurm's nodes do not start here: "
                 << RunShell("tail -n 20 " + logs + "*.log").output;
  }
}

}  // namespace topdnn
