// A trial in a child process ends, whatever it does, and the process that started it goes on.

#include "harness/machine/child_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <stdexcept>
#include <vector>

#include "harness/exact/counter.h"
#include "harness/experiments/core_experiment.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

TEST(ChildTrial, SaysHowItEnded) {
  EXPECT_TRUE(RunInChild([] { return true; }, 10).succeeded);
  const TrialEnd failed = RunInChild([] { return false; }, 10);
  EXPECT_FALSE(failed.succeeded);
  EXPECT_EQ(failed.signal, 0);
  for (const int signal : {SIGSEGV, SIGFPE, SIGILL, SIGABRT}) {
    const TrialEnd end = RunInChild([signal] { return raise(signal) != 0; }, 10);
    EXPECT_FALSE(end.succeeded);
    EXPECT_EQ(end.signal, signal);
  }
  const TrialEnd endless = RunInChild(
      [] {
        for (;;) pause();
        return true;
      },
      1);
  EXPECT_EQ(endless.signal, SIGALRM);
  EXPECT_EQ(EndBySignal(endless.signal), "did not end");
  EXPECT_EQ(EndBySignal(SIGSEGV), "was ended by signal 11 (Segmentation fault)");
}

// Otherwise the child goes on as this process, prints its message and removes its files.
TEST(ChildTrial, AnExceptionEndsTheChild) {
  EXPECT_EQ(RunInChild([]() -> bool { throw std::bad_alloc(); }, 10).error, ENOMEM);
  const TrialEnd failed = RunInChild([]() -> bool { throw std::runtime_error("no"); }, 10);
  EXPECT_EQ(failed.error, 0);
  EXPECT_FALSE(failed.succeeded);
  EXPECT_EQ(failed.signal, 0);
}

TEST(ChildTrial, WorksWithoutNoticesOfChildren) {
  struct sigaction ignored = {};
  ignored.sa_handler = SIG_IGN;
  struct sigaction own = {};
  ASSERT_EQ(sigaction(SIGCHLD, &ignored, &own), 0);
  EXPECT_TRUE(RunInChild([] { return true; }, 10).succeeded);
  struct sigaction now = {};
  sigaction(SIGCHLD, &own, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
}

#if defined(__x86_64__)

// The first stage crashes wherever it is tried, and the second one is still measured.
TEST(ChildTrial, ACrashLeavesTheOtherStagesOfTheExperimentCore) {
  if (const Availability can = ExactCounter::Probe(); !can.works) GTEST_SKIP() << can.reason;
  std::vector<float> data(1 << 12, 1.0F);
  const pid_t own = getpid();
  auto sum = [&data] {
    float all[8] = {};
    for (std::size_t k = 0; k < data.size(); ++k) all[k % 8] += data[k];
    data[0] = all[0] > 0 ? 1 : 2;
  };
  auto crash = [&] {
    if (getpid() != own) raise(SIGSEGV);
    sum();
  };
  const std::vector<TimedStage> stages = {{"crash", Action::Of(crash)}, {"sum", Action::Of(sum)}};
  const CoreSubject subject = {.stages = stages,
                               .tensors = {std::as_bytes(std::span(data))},
                               .threads = 1,
                               .before_iteration = {}};
  const std::vector<StageCore> result = RunCoreExperiment(subject, {.seconds = 2});
  ASSERT_EQ(result.size(), 2U);
  EXPECT_THAT(result[0].reason, HasSubstr("was ended by signal 11"));
  EXPECT_TRUE(result[0].rounds.empty());
  EXPECT_THAT(result[1].reason, testing::Not(HasSubstr("signal")));
}

#endif

}  // namespace
}  // namespace topdnn
