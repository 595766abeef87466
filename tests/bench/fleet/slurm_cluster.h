// A Slurm of two nodes on this host, n1 and n2, for tests that need a real slurmctld. Its processes
// end with the test.

#ifndef TOPDNN_TESTS_BENCH_FLEET_SLURM_CLUSTER_H_
#define TOPDNN_TESTS_BENCH_FLEET_SLURM_CLUSTER_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "tests/process/test_folder.h"

namespace topdnn {

// Waits until `done`, for at most `seconds`. Slurm finds a dead node within ten.
bool WaitUntil(const std::function<bool()>& done, int seconds = 60);

// The script `cluster`. Its processes end with this one, however that ends: their standard input is
// a pipe from here. Sets SLURM_CONF.
class Cluster {
 public:
  explicit Cluster(const std::filesystem::path& folder);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  bool ready() const { return ready_; }
  // A line that `cluster` knows: "kill n1".
  void Tell(const std::string& line) const;

 private:
  std::FILE* pipe_ = nullptr;
  bool ready_ = false;
};

// Skips with the reason where Slurm is missing or does not start.
class SlurmClusterTest : public testing::Test {
 protected:
  void SetUp() override;

  TestFolder folder_;
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_BENCH_FLEET_SLURM_CLUSTER_H_
