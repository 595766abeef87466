// Each type of error has its exit status, and only what is no error type of the program is called
// an internal error.

#include "bench/command_line/ending.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "bench/command_line/command.h"
#include "datasets/dataset.h"
#include "harness/experiments/footprint.h"
#include "harness/files/atomic_file.h"
#include "harness/text/errors.h"
#include "harness/topdown/metric.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/op/problem.h"
#include "networks/onnx/model/model.h"
#include "networks/plan/plan.h"

namespace topdnn {
namespace {

template <class Error>
Ending EndingOfError(const Error& error) {
  return EndingOf(std::make_exception_ptr(error));
}

template <class Error>
int StatusOfError() {
  const Ending ending = EndingOfError(Error("what"));
  EXPECT_EQ(ending.line, "what");
  return ending.status;
}

TEST(EndingTest, TheUsersInputIsStatus2) {
  EXPECT_EQ(StatusOfError<UsageError>(), kExitUsage);
  EXPECT_EQ(StatusOfError<InputError>(), kExitUsage);
  EXPECT_EQ(StatusOfError<TopdownError>(), kExitUsage);
  EXPECT_EQ(StatusOfError<ProblemError>(), kExitUsage);
  EXPECT_EQ(StatusOfError<PlanError>(), kExitUsage);
  EXPECT_EQ(StatusOfError<OnnxError>(), kExitUsage);
  EXPECT_EQ(StatusOfError<DatasetError>(), kExitUsage);
  EXPECT_EQ(StatusOfError<std::invalid_argument>(), kExitUsage);
  EXPECT_EQ(StatusOfError<std::overflow_error>(), kExitUsage);
}

TEST(EndingTest, AFailureOfTheRunIsStatus1) {
  EXPECT_EQ(StatusOfError<RunFailure>(), kExitWrong);
  EXPECT_EQ(StatusOfError<WriteError>(), kExitWrong);
  EXPECT_EQ(StatusOfError<RemapError>(), kExitWrong);
  EXPECT_EQ(StatusOfError<KernelFailed>(), kExitWrong);
  EXPECT_EQ(EndingOfError(std::bad_alloc()).status, kExitWrong);
  const std::system_error full(ENOSPC, std::generic_category(), "file");
  EXPECT_EQ(EndingOfError(full).status, kExitWrong);
  EXPECT_EQ(
      EndingOfError(full).line.find("file: No space left on device (an input/output error); "), 0u);
}

TEST(EndingTest, TheOthers) {
  EXPECT_EQ(StatusOfError<NothingMeasured>(), kExitNothing);
  EXPECT_EQ(EndingOfError(Interruption()).status, kExitInterrupted);
  EXPECT_EQ(EndingOfError(Interruption()).line, "interrupted before there was a result");
  for (const Ending& ending :
       {EndingOfError(std::runtime_error("odd")), EndingOfError(std::logic_error("odd"))}) {
    EXPECT_EQ(ending.status, kExitWrong);
    EXPECT_EQ(ending.line, "internal error: odd; report it with the command line");
  }
}

}  // namespace
}  // namespace topdnn
