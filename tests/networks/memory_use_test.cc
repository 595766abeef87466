// The memory that a plan reports is the memory that the process uses.

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "networks/graph/zoo.h"
#include "networks/parameters/parameters.h"
#include "networks/planning/planner.h"

namespace topdnn {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// A line of /proc/self/status in bytes: "VmRSS", "VmHWM".
double StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kib = 0;
    if (word == name + ":" && status >> kib) return kib * 1024;
  }
  return 0;
}

// Resets VmHWM to the current use (proc(5), clear_refs). Returns false when that is not possible.
bool ResetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

class MemoryUseTest : public testing::TestWithParam<bool> {};

TEST_P(MemoryUseTest, ThePeakOfAStepAgreesWithThePlanWithinTenPercent) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory is counted too";
  malloc_trim(0);  // memory that earlier tests have freed
  const double before = StatusBytes("VmRSS");
  PlanRequest request;
  request.training = GetParam();
  request.threads = 2;
  const NetworkOffer& network = *FindNetwork(request.training ? "googlenet:bn" : "resnet50");
  // (large enough that oneDNN's own code, about 30 MB, is less than a tenth)
  const std::int64_t batch = request.training ? 16 : 8;
  const auto plan = MakePlan(network.build({batch, network.image, network.classes}), request);
  plan->Allocate();
  InitializeParameters(*plan, 1);
  malloc_trim(0);  // memory that drawing the parameters has freed
  if (!ResetPeak()) GTEST_SKIP() << "/proc/self/clear_refs cannot be written";
  plan->Run();
  const double used = StatusBytes("VmHWM") - before;
  const auto planned = static_cast<double>(plan->bytes());
  EXPECT_GT(planned, 2e8);
  EXPECT_NEAR(used / planned, 1.0, 0.1) << used << " bytes used, " << planned << " planned";
}

INSTANTIATE_TEST_SUITE_P(Modes, MemoryUseTest, testing::Bool());

}  // namespace
}  // namespace topdnn
