#include "kernels/kernel/run_failure.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/kernel/failed_kernel.h"

namespace topdnn {
namespace {

TEST(RunFailureTest, TheFirstFailureIsKeptUntilItIsTaken) {
  EXPECT_EQ(TakeRunFailure(), "");
  RecordRunFailure("dnnl_primitive_execute", 1);
  RecordRunFailure("another", 2);
  const std::string failure = TakeRunFailure();
  EXPECT_EQ(failure.find("dnnl_primitive_execute failed with status 1"), 0u) << failure;
  EXPECT_EQ(TakeRunFailure(), "");
  EXPECT_NO_THROW(ThrowOnRunFailure());
  RecordRunFailure("another", 2);
  EXPECT_THROW(ThrowOnRunFailure(), KernelFailed);
}

TEST(RunFailureTest, AnyThreadMayRecordOne) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { RecordRunFailure("call", 3); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(TakeRunFailure(), "");
  EXPECT_EQ(TakeRunFailure(), "");
}

}  // namespace
}  // namespace topdnn
