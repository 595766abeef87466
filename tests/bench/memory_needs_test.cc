// The computed memory needs of commands agree with their peak memory.

#include "bench/workload/memory_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "bench/command_line/command.h"
#include "bench/workload/workload.h"
#include "networks/graph/zoo.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// The largest peak memory of the processes that this one has started, in bytes.
double PeakOfChildren() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

class MemoryNeedsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory is counted too";
    if (PeakOfChildren() > 5e7) GTEST_SKIP() << "another test's process took more; run it alone";
  }

  // Expects a peak below the computed need, and not far below it.
  void ExpectPeak(std::size_t said, const std::vector<std::string>& arguments) const {
    const Outcome outcome = RunProgram(arguments);
    ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    EXPECT_LT(PeakOfChildren(), static_cast<double>(said));
    EXPECT_GT(PeakOfChildren(), 0.4 * static_cast<double>(said));
  }

  TestFolder folder_;
};

TEST_F(MemoryNeedsTest, OfAnExport) {
  const Graph graph = FindNetwork("resnet18")->build({1, {3, 64, 64}, 1000});
  ExpectPeak(BytesToExport(graph) + kLibraryBytes,
             {"export", "resnet18", folder_.path() / "x.onnx", "--size", "64"});
}

TEST_F(MemoryNeedsTest, OfADumpedStep) {
  WorkloadOptions options;
  options.network = "resnet18";
  options.size = 64;
  options.batch = 1;
  options.threads = 1;
  const Workload workload = PlanWorkload(options, /*training=*/true);
  ExpectPeak(workload.plan->bytes() + BytesToDump(*workload.plan) + kLibraryBytes,
             {"step", "resnet18", "--size", "64", "--batch", "1", "--threads", "1", "--data",
              "synthetic", "--dump", folder_.path() / "x.npz"});
}

TEST(RequireMemoryTest, SaysWhatIsNeededAndWhatToDo) {
  EXPECT_NO_THROW(RequireMemory(1, "the export", "free memory"));
  try {
    RequireMemory(std::size_t{1} << 60, "the export", "free memory");
    ADD_FAILURE() << "nothing was refused";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the export needs about 1099511627776 MiB, and "));
    EXPECT_THAT(error.what(), testing::HasSubstr("may be used: free memory"));
  }
}

}  // namespace
}  // namespace topdnn
