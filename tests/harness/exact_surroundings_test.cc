// The exact counter with other activities of a process: processes, threads, the kernel's pages,
// contexts, libraries that are loaded and unloaded.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"

#if defined(__x86_64__)

#include <dlfcn.h>
#include <omp.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "harness/exact/context.h"
#include "harness/exact/dispatch_turn.h"
#include "harness/exact/threads.h"
#include "tests/harness/exact_oracle.h"

namespace topdnn {
namespace {

// Sums with branches and calls.
std::uint64_t Work(int n) {
  std::vector<std::uint64_t> values;
  std::uint64_t state = 1;
  for (int k = 0; k < n; ++k) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    if ((state >> 60) < 5) values.push_back(state);
    if (values.size() > 100) values.clear();
  }
  return state + values.size();
}

TEST(ExactSurroundings, AProcessStartedInsideMakesItIncomplete) {
  int status = -1;
  auto region = [&] {
    pid_t child = 0;
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    if (posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, nullptr) == 0) {
      waitpid(child, &status, 0);
    }
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(counts.complete);
}

TEST(ExactSurroundings, AForkedChildContinues) {
  int status = -1;
  auto region = [&] {
    const pid_t child = fork();
    if (child == 0) _exit(Work(1000) == 0 ? 1 : 7);
    waitpid(child, &status, 0);
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(counts.complete);
}

TEST(ExactSurroundings, AForkedChildHasTheProgramsHandlers) {
  struct sigaction ours = {};
  struct sigaction old = {};
  ours.sa_handler = [](int) {};
  sigaction(SIGUSR1, &ours, &old);
  int status = -1;
  auto region = [&] {
    const pid_t child = fork();
    if (child == 0) {
      struct sigaction now = {};
      sigaction(SIGUSR1, nullptr, &now);
      _exit(now.sa_handler == ours.sa_handler ? 7 : 1);
    }
    waitpid(child, &status, 0);
  };
  const ExactCounts counts = ExactCounter::Count(region);
  sigaction(SIGUSR1, &old, nullptr);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(counts.complete);
}

volatile int written_by_children = 0;

// A separate function without arguments or loops, because vfork may clobber registers.
[[gnu::noinline]] pid_t StartChildThatWrites() {
  const pid_t child = vfork();
  if (child == 0) {
    written_by_children = written_by_children + 1;
    _exit(5);
  }
  return child;
}

TEST(ExactSurroundings, AChildThatBorrowsTheMemory) {
  int status = -1;
  written_by_children = 0;
  auto region = [&] {
    for (int k = 0; k < 3; ++k) waitpid(StartChildThatWrites(), &status, 0);
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_EQ(written_by_children, 3);
  EXPECT_FALSE(counts.complete);
}

TEST(ExactSurroundings, ThreadsThatStartAndEndInside) {
  std::atomic<std::uint64_t> sum{0};
  auto region = [&] {
    for (int k = 0; k < 3; ++k) {
      std::thread first([&] { sum += Work(1000); });
      std::thread second([&] { sum += Work(2000); });
      first.join();
      second.join();
    }
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_EQ(sum, 3 * (Work(1000) + Work(2000)));
  EXPECT_FALSE(counts.complete);
}

int Deeper(int depth, bool throws, std::jmp_buf* place) {
  if (depth > 0) return Deeper(depth - 1, throws, place) + 1;
  if (throws) throw 42;
  std::longjmp(*place, 43);
}

// Exceptions and jumps over translated frames, with frames of qsort between them.
TEST(ExactSurroundings, WaysOutOfManyFrames) {
  int caught = 0;
  int jumped = 0;
  auto region = [&] {
    try {
      Deeper(50, true, nullptr);
    } catch (const int value) {
      caught = value;
    }
    static std::jmp_buf place;
    const int value = setjmp(place);
    if (value == 0) {
      int numbers[] = {2, 1};
      std::qsort(numbers, 2, sizeof *numbers,
                 [](const void*, const void*) { return Deeper(50, false, &place); });
    }
    jumped = value;
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(caught, 42);
  EXPECT_EQ(jumped, 43);
}

// A thread maps new code where another thread has run old code, and notifies it only through
// memory.
TEST(ExactSurroundings, CodeMappedAgainWhileAWorkerRunsIt) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer has no shadow for memory that is mapped again";
#endif
  auto* place = reinterpret_cast<std::uint8_t*>(0x21000000000);
  const auto map = [&](int value) {
    auto* code = static_cast<std::uint8_t*>(
        mmap(place, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    code[0] = 0xb8;  // mov eax, value; ret
    std::memcpy(code + 1, &value, 4);
    code[5] = 0xc3;
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
  };
  constexpr int kTimes = 200;
  std::atomic<int> mapped{0};
  std::atomic<int> called{0};
  int sum = 0;
  int (*function)() = nullptr;
  std::memcpy(&function, &place, sizeof place);
  omp_set_num_threads(2);
  int threads = 0;
  auto region = [&] {
#pragma omp parallel
    {
      if (omp_get_thread_num() == 0) threads = omp_get_num_threads();
      for (int k = 1; k <= kTimes && omp_get_num_threads() == 2; ++k) {
        if (omp_get_thread_num() == 0) {
          map(k);
          mapped = k;
          while (called != k) {
          }
        } else {
          while (mapped != k) {
          }
          sum += function();
          sum += function();
          called = k;
        }
      }
    }
  };
  const ExactCounts counts = ExactCounter::Count(region);
  if (threads != 2) GTEST_SKIP() << "OpenMP gives no team of two threads";
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(sum, kTimes * (kTimes + 1));
  munmap(place, 4096);
}

// A restartable sequence that spins until the kernel aborts it.
TEST(ExactSurroundings, ARestartableSequence) {
  if (__rseq_size == 0) GTEST_SKIP() << "this system has no restartable sequences";
  struct sigaction ours = {};
  struct sigaction old = {};
  ours.sa_handler = [](int) {};
  sigaction(SIGALRM, &ours, &old);
  itimerval often = {};
  often.it_interval.tv_usec = often.it_value.tv_usec = 5000;
  setitimer(ITIMER_REAL, &often, nullptr);
  std::uint64_t aborted = 0;
  auto region = [&] {
    std::uint64_t n = 3000000000;
    asm volatile(
        ".pushsection __rseq_cs, \"aw\"\n .balign 32\n"
        "3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n .popsection\n"
        "lea 3b(%%rip), %%rax\n mov %%rax, %%fs:8(%2)\n"
        "1: dec %1\n jnz 1b\n"
        "2: jmp 5f\n"
        ".byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n"
        "4: mov $1, %0\n"
        "5:"
        : "+r"(aborted), "+r"(n)
        : "r"(__rseq_offset)
        : "rax", "cc", "memory");
  };
  const ExactCounts counts = ExactCounter::Count(region);
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &old, nullptr);
  EXPECT_EQ(aborted, 1U);
  EXPECT_FALSE(counts.complete);
}

TEST(ExactSurroundings, TheKernelsSharedPage) {
  timespec time = {};
  auto region = [&] { clock_gettime(CLOCK_MONOTONIC, &time); };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_GT(time.tv_sec + time.tv_nsec, 0);
}

TEST(ExactSurroundings, TheVsyscallPage) {
  std::ifstream maps("/proc/self/maps");
  bool mapped = false;
  for (std::string line; std::getline(maps, line);) {
    mapped = mapped || line.find("[vsyscall]") != std::string::npos;
  }
  if (!mapped) GTEST_SKIP() << "this kernel maps no vsyscall page";
  std::time_t time = 0;
  auto region = [&] {
    const std::uintptr_t address = 0xffffffffff600400U;
    std::time_t (*function)(std::time_t*) = nullptr;
    std::memcpy(&function, &address, sizeof address);
    time = function(nullptr);
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_NEAR(static_cast<double>(time), static_cast<double>(std::time(nullptr)), 5);
}

ucontext_t outside;
ucontext_t inside;
int visits;

TEST(ExactSurroundings, AContextOnAnotherStack) {
  std::vector<char> stack(1U << 16);
  visits = 0;
  auto region = [&] {
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack.data();
    inside.uc_stack.ss_size = stack.size();
    inside.uc_link = &outside;
    makecontext(
        &inside,
        [] {
          ++visits;
          swapcontext(&inside, &outside);
          ++visits;
        },
        0);
    swapcontext(&outside, &inside);
    swapcontext(&outside, &inside);
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_EQ(visits, 2);
  // The other stack is above or below this one. If above, the region seems to be left.
  const char here = 0;
  if (stack.data() > &here) {
    EXPECT_FALSE(counts.complete);
    EXPECT_EQ(counts.incomplete_reason.find("the region left translation"), 0U);
  } else {
    EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
    EXPECT_GE(counts.system_calls, 4U);  // each change of context sets the signal mask
  }
}

TEST(ExactSurroundings, ALibraryThatIsLoadedAndUnloaded) {
  if (dlopen("libz.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr) {
    GTEST_SKIP() << "zlib is part of this program";
  }
  unsigned long sums[3] = {};
  auto region = [&] {
    for (unsigned long& sum : sums) {
      void* library = dlopen("libz.so.1", RTLD_NOW);
      if (library == nullptr) return;
      using Crc = unsigned long (*)(unsigned long, const char*, unsigned);
      sum = reinterpret_cast<Crc>(dlsym(library, "crc32"))(0, "topdnn", 6);
      dlclose(library);
    }
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[1], sums[2]);
}

// Different code at the address of translated code.
TEST(ExactSurroundings, MemoryOfCodeIsReused) {
  int sum = 0;
  auto region = [&] {
    for (int value = 1; value <= 20; ++value) {
      auto* code = static_cast<std::uint8_t*>(mmap(reinterpret_cast<void*>(0x20000000000), 4096,
                                                   PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      code[0] = 0xb8;  // mov eax, value; ret
      std::memcpy(code + 1, &value, 4);
      code[5] = 0xc3;
      mprotect(code, 4096, PROT_READ | PROT_EXEC);
      sum += reinterpret_cast<int (*)()>(code)();
      munmap(code, 4096);
    }
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(sum, 210);
}

// The code after a branch is rewritten. Both directions of the branch are still counted.
TEST(ExactSurroundings, CodeRewrittenAfterABranch) {
  auto* code = static_cast<std::uint8_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  // cmp edi, 1; je +6; mov eax, 7; ret; mov eax, 9; ret
  const std::uint8_t text[] = {0x83, 0xff, 0x01, 0x74, 0x06, 0xb8, 7, 0,   0,
                               0,    0xc3, 0xb8, 9,    0,    0,    0, 0xc3};
  std::memcpy(code, text, sizeof text);
  int (*function)(int) = nullptr;
  std::memcpy(&function, &code, sizeof code);
  bool agrees = true;
  auto region = [&] {
    for (std::uint8_t k = 0; k < 20; ++k) {
      *static_cast<volatile std::uint8_t*>(code + 6) = k;
      for (int times = 0; times < 3; ++times) {
        agrees = agrees && function(0) == k;
        agrees = agrees && function(1) == 9;
      }
      agrees = agrees && function(0) == k;
    }
  };
  auto idle = [&] {
    for (std::uint8_t k = 0; k < 20; ++k) {
      *static_cast<volatile std::uint8_t*>(code + 6) = k;
    }
  };
  idle();
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_TRUE(agrees);
  // 140 times: 60 taken, 80 not. The compiler adds the region's own loops and conditions.
  EXPECT_GE(counts.conditional_branches, 140U);
  EXPECT_GE(counts.conditional_taken, 60U);
  EXPECT_GE(counts.conditional_branches - counts.conditional_taken, 80U);
  EXPECT_LE(counts.conditional_taken, counts.conditional_branches);
  EXPECT_GE(counts.minority_branches, 60U);
  EXPECT_LE(counts.minority_branches, 60U + 20U + 20U);
  munmap(code, 4096);
}

// An indirect branch with more targets than the ways of a look-up set.
TEST(ExactSurroundings, TargetsThatCollide) {
  constexpr std::size_t kStride = 1U << 16;
  constexpr int kFunctions = 5;
  auto* code = static_cast<std::uint8_t*>(mmap(
      nullptr, kFunctions * kStride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  int (*functions[kFunctions])() = {};
  for (int k = 0; k < kFunctions; ++k) {
    std::uint8_t* at = code + static_cast<std::size_t>(k) * kStride;
    const std::uint8_t text[] = {0xb8, static_cast<std::uint8_t>(k), 0, 0, 0, 0xc3};
    std::memcpy(at, text, sizeof text);
    std::memcpy(&functions[k], &at, sizeof at);
  }
  mprotect(code, kFunctions * kStride, PROT_READ | PROT_EXEC);
  int sum = 0;
  auto region = [&] {
    for (int k = 0; k < 1000; ++k) sum += functions[k * k % kFunctions]();
  };
  region();
  const int once = sum;
  void (*call)(void*) = [](void* r) { (*static_cast<decltype(region)*>(r))(); };
  const std::uint64_t stepped = SingleStep(call, &region);
  const ExactCounts counts = ExactCounter::Count(call, &region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(counts.instructions, stepped);
  EXPECT_EQ(sum, 3 * once);
  munmap(code, kFunctions * kStride);
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
