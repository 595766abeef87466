// Workers of teams that end, or have no context.

#include <gtest/gtest.h>

#if defined(__x86_64__)

#include <malloc.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "harness/exact/context.h"
#include "harness/exact/counter.h"
#include "harness/exact/dispatch_turn.h"
#include "harness/exact/threads.h"

namespace topdnn {
namespace {

// A worker beyond the limit runs natively, because other threads could not correct its translation
// when code changes.
bool AWorkerBeyondTheLimitIsMissed() {
  static Context known;
  std::uint32_t registered = 0;
  while (registered <= kMaxContexts && RegisterContext(&known)) ++registered;
  if (registered > kMaxContexts) return false;
  BeginTeam();
  bool ran = false;
  TeamCall call = {[](void* flag) { *static_cast<bool*>(flag) = true; }, &ran};
  // Workers that have ended may have left contexts, one for each thread of this region.
  for (std::size_t counted = 0; counted <= EndTeam().size(); ++counted) {
    ran = false;
    std::thread([&call] { RunTeamCall(&call); }).join();
  }
  static Context master;
  NoteOtherThreads(&master, ThreadTimes());
  return ran && master.incomplete != nullptr &&
         std::string(master.incomplete).find("1024 threads") != std::string::npos;
}

TEST(ExactThreads, AWorkerBeyondTheLimitMakesItIncomplete) {
  // In a child process, because the contexts of this one would be used up.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(AWorkerBeyondTheLimitIsMissed() ? 7 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}
// A worker that has done its share ends when `may_end` is set.
std::atomic<bool> may_end{false};
std::thread* late = nullptr;

void EndLateWorker() {
  if (late == nullptr) return;
  may_end = true;
  late->join();
}

// The handler is registered before static objects exist, so that it runs after their destructors.
[[gnu::constructor(101)]] void RegisterEnd() {
  if (std::atexit(EndLateWorker) != 0) std::abort();
}

TEST(ExactThreads, AWorkerMayEndAfterStaticObjects) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    mallopt(M_PERTURB, 0x55);  // freed memory that is read again holds no addresses
    BeginTeam();
    std::atomic<int> shares{0};
    TeamCall call = {[](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &shares};
    for (int k = 0; k < 40; ++k) std::thread([&call] { RunTeamCall(&call); }).join();
    late = new std::thread([&call, &shares] {
      RunTeamCall(&call);
      ++shares;
      while (!may_end) std::this_thread::yield();
    });
    while (shares < 42) std::this_thread::yield();
    std::exit(7);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

// Children count at the same time as each other and as their parent, whose translated code they
// would share.
TEST(ExactThreads, ForkedChildrenCountAtTheSameTime) {
  if (const auto exact = ExactCounter::Probe(); !exact.works) GTEST_SKIP() << exact.reason;
  const auto counts_ten_chains = [] {
    bool right = true;
    for (int k = 0; k < 60; ++k) {
      auto region = [] {
        double sum = 0;
        for (int i = 0; i < 10; ++i) asm volatile("addsd %0, %0" : "+x"(sum));
      };
      const ExactCounts counts = ExactCounter::Count(region);
      right = right && counts.complete && counts.fp[kF64][kScalar] == 10;
    }
    return right;
  };
  EXPECT_TRUE(counts_ten_chains());
  pid_t children[3];
  for (pid_t& child : children) {
    child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(counts_ten_chains() ? 7 : 1);
  }
  EXPECT_TRUE(counts_ten_chains());
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
}

// A thread of the team starts a thread that ends: its work is not counted.
TEST(ExactThreads, AThreadThatAWorkerStartsAndEndsMakesItIncomplete) {
  if (const auto exact = ExactCounter::Probe(); !exact.works) GTEST_SKIP() << exact.reason;
  auto region = [] {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) std::thread([] {}).join();
  };
  ExactCounter::Count(region);  // (starts the team's threads)
  const ExactCounts counts = ExactCounter::Count(region);
  if (counts.threads != 2) GTEST_SKIP() << "OpenMP gives no second thread here";
  EXPECT_FALSE(counts.complete);
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
