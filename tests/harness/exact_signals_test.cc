// The exact counter under signals: counts stay exact, and handlers find the state of a native run.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"

#if defined(__x86_64__)

#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

// Labels of harness/exact/context.cc: the call of a region's first instruction, and where it
// returns.
extern "C" {
__attribute__((visibility("hidden"))) void TopdnnExactCall();
__attribute__((visibility("hidden"))) void TopdnnExactStop();
}

namespace topdnn {
namespace {

// Installs a handler for the object's lifetime.
class Handler {
 public:
  Handler(int signal, void (*function)(int, siginfo_t*, void*), int flags = 0) : signal_(signal) {
    struct sigaction ours = {};
    ours.sa_sigaction = function;
    ours.sa_flags = SA_SIGINFO | flags;
    sigaction(signal, &ours, &old_);
  }
  ~Handler() { sigaction(signal_, &old_, nullptr); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  int signal_;
  struct sigaction old_ = {};
};

// Sends a signal repeatedly to the thread that creates the object, during its lifetime.
class Storm {
 public:
  // The counter makes its trial before the sender starts: the trial forks, and AddressSanitizer of
  // GCC 12 does not take its own locks at a fork. A child that is forked while the sender starts
  // may wait for one of them forever.
  explicit Storm(std::vector<int> signals)
      : available_(ExactCounter::Probe().works),
        to_(pthread_self()),
        signals_(std::move(signals)),
        sender_([this] {
          while (!stop_) {
            for (const int signal : signals_) pthread_kill(to_, signal);
            usleep(20);
          }
        }) {
    EXPECT_TRUE(available_);
  }
  ~Storm() {
    stop_ = true;
    sender_.join();
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;

 private:
  bool available_;
  std::atomic<bool> stop_{false};
  pthread_t to_;
  std::vector<int> signals_;
  std::thread sender_;
};

// Counts the signals of a storm.
struct Seen {
  // True if the region runs in this thread: a timer's signal may go to any thread of the process.
  static inline thread_local volatile bool inside = false;
  std::atomic<long> times{0};  // handlers that began inside the region
};
Seen seen;

// One scalar addition in a separate function, which the region also calls.
[[gnu::noinline]] void AddOnce() { asm volatile("addsd %%xmm0, %%xmm0" ::: "xmm0"); }

void Count1000(int, siginfo_t*, void*) {
  if (!seen.inside) return;
  ++seen.times;
  for (int k = 0; k < 1000; ++k) AddOnce();
}

// Every kind of block: calls, branches in both directions, `rep`, indirect branches, live flags, a
// loop.
constexpr long kRounds = 40000;
void Mixture(void* result) {
  static void (*volatile indirect)() = AddOnce;
  static char buffer[64];
  std::uint64_t state = 1;
  std::uint64_t sum = 0;
  seen.inside = true;
  for (long k = 0; k < kRounds; ++k) {
    AddOnce();
    indirect();
    state = state * 6364136223846793005U + 1442695040888963407U;
    if ((state >> 60) < 5) sum += state;
    void* to = buffer;
    std::uint64_t n = 40;
    asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(state) : "memory");
    asm volatile(
        "cmp %1, %2\n mov %%rax, %%rax\n adc $3, %0\n mov $3, %%ecx\n"
        "1: lea 1(%0), %0\n loop 1b"
        : "+r"(sum)
        : "r"(state), "r"(sum)
        : "rcx", "cc");
    sum += static_cast<unsigned char>(buffer[k % 40]);
  }
  seen.inside = false;
  *static_cast<std::uint64_t*>(result) = sum;
}

// Counts the mixture until `at_least` handlers have run in it. The result is that of the first run,
// and each handler adds exactly `per_signal` operations to the count.
void ExpectExactUnder(Storm* storm, long at_least, long per_signal) {
  std::uint64_t expected = 0;
  long handled = 0;
  for (int repeat = 0; repeat < 10000 && handled < at_least; ++repeat) {
    std::uint64_t result = 0;
    seen.times = 0;
    const ExactCounts counts = ExactCounter::Count(Mixture, &result);
    if (repeat == 0) expected = result;
    ASSERT_EQ(result, expected);
    // The sender is a thread outside the region. The counts are those of this thread.
    if (!counts.complete) {
      ASSERT_NE(storm, nullptr) << counts.incomplete_reason;
      ASSERT_NE(counts.incomplete_reason.find("a thread outside"), std::string::npos)
          << counts.incomplete_reason;
    }
    ASSERT_EQ(counts.fp[kF64][kScalar],
              static_cast<std::uint64_t>(2 * kRounds + per_signal * seen.times))
        << "with " << seen.times << " signals in run " << repeat;
    handled += seen.times;
  }
  EXPECT_GE(handled, at_least);
}

TEST(ExactSignals, AStormOfOneSignal) {
  const Handler handler(SIGUSR1, Count1000);
  Storm storm({SIGUSR1});
  ExpectExactUnder(&storm, 2000, 1000);
}

TEST(ExactSignals, AStormOfSignalsThatInterruptEachOther) {
  const Handler first(SIGUSR1, Count1000);
  const Handler second(SIGUSR2, Count1000);
  const Handler third(SIGHUP, Count1000, SA_RESTART);
  Storm storm({SIGUSR1, SIGUSR2, SIGHUP});
  ExpectExactUnder(&storm, 2000, 1000);
}

// A handler that begins just before or after a region runs natively, and so do those that interrupt
// it. A breakpoint puts the first handler between the mark of the region's begin and its first
// instruction, or between its last one and the mark of its end.
void RaisesAtABreakpoint(void (*place)()) {
  static std::uint8_t* at;
  static std::uint8_t replaced;
  static volatile int nested;
  at = reinterpret_cast<std::uint8_t*>(place);
  nested = 0;
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{4095};
  constexpr std::size_t kTwoPages = 8192;
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(page), kTwoPages, PROT_READ | PROT_WRITE | PROT_EXEC),
            0);
  const Handler trap(SIGTRAP, [](int, siginfo_t*, void* state) {
    *at = replaced;
    auto& rip = static_cast<ucontext_t*>(state)->uc_mcontext.gregs[REG_RIP];
    // (the counter may have moved it to the mark of the begin)
    if (rip == reinterpret_cast<greg_t>(at) + 1) --rip;
    raise(SIGUSR1);
  });
  const Handler inner(SIGUSR1, [](int, siginfo_t*, void*) { nested = nested + 1; });
  static const auto add = [] { AddOnce(); };
  auto region = [] { add(); };
  constexpr std::uint8_t kBreakpoint = 0xcc;
  ASSERT_TRUE(ExactCounter::Count(region).complete);  // (the trial comes first)
  replaced = *at;
  *at = kBreakpoint;
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_EQ(*at, replaced);
  mprotect(reinterpret_cast<void*>(page), kTwoPages, PROT_READ | PROT_EXEC);
  EXPECT_EQ(nested, 1);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(counts.fp[kF64][kScalar], 1u);
}

TEST(ExactSignals, AHandlerAtTheEdgeOfARegionMayBeInterrupted) {
  RaisesAtABreakpoint(TopdnnExactCall);
  RaisesAtABreakpoint(TopdnnExactStop);
}

TEST(ExactSignals, AStormOnASignalStack) {
  std::vector<char> memory(1U << 16);
  stack_t ours = {};
  ours.ss_sp = memory.data();
  ours.ss_size = memory.size();
  stack_t old = {};
  sigaltstack(&ours, &old);
  {
    const Handler handler(SIGUSR1, Count1000, SA_ONSTACK);
    Storm storm({SIGUSR1});
    ExpectExactUnder(&storm, 1000, 1000);
  }
  sigaltstack(&old, nullptr);
}

TEST(ExactSignals, ATimer) {
  const Handler handler(SIGALRM, Count1000);
  itimerval often = {};
  often.it_interval.tv_usec = often.it_value.tv_usec = 200;
  setitimer(ITIMER_REAL, &often, nullptr);
  ExpectExactUnder(nullptr, 500, 1000);
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
}

// Instructions, branches and bytes of a region do not depend on the number of interruptions. The
// handler's counts are measured separately and subtracted.
TEST(ExactSignals, EveryCountUnderAStorm) {
  // Without a branch, so that a signal at the region's first or last instructions counts the same.
  static const auto empty = [](int, siginfo_t*, void*) { seen.times += seen.inside; };
  const Handler handler(SIGUSR1, empty);
  std::uint64_t result = 0;
  seen.times = 0;
  const ExactCounts quiet = ExactCounter::Count(Mixture, &result);
  ASSERT_EQ(seen.times, 0);
  ASSERT_TRUE(quiet.complete) << quiet.incomplete_reason;
  // The handler's counts: those of a region that raises the signal a known number of times.
  const auto raising = [](int times) {
    const auto region = [](void* n) {
      const pid_t process = getpid();
      const pid_t thread = gettid();
      seen.inside = true;
      for (int k = 0; k < *static_cast<int*>(n); ++k) tgkill(process, thread, SIGUSR1);
      seen.inside = false;
    };
    return ExactCounter::Count(region, &times);
  };
  const ExactCounts one = raising(1);
  const ExactCounts two = raising(2);
  const auto idle = [](int times) {
    const auto region = [](void* n) {
      const pid_t process = getpid();
      const pid_t thread = gettid();
      seen.inside = true;
      for (int k = 0; k < *static_cast<int*>(n); ++k) tgkill(process, thread, 0);
      seen.inside = false;
    };
    return ExactCounter::Count(region, &times);
  };
  const ExactCounts idle_one = idle(1);
  const ExactCounts idle_two = idle(2);
  const auto own = [&](auto count) {
    return (count(two) - count(one)) - (count(idle_two) - count(idle_one));
  };
  const Storm storm({SIGUSR1});
  long handled = 0;
  for (int repeat = 0; repeat < 1000 && handled < 500; ++repeat) {
    seen.times = 0;
    const ExactCounts stormy = ExactCounter::Count(Mixture, &result);
    // Each handler ends with one system call.
    const std::uint64_t handlers = stormy.system_calls - quiet.system_calls;
    EXPECT_GE(handlers, static_cast<std::uint64_t>(seen.times));
    EXPECT_LE(handlers, static_cast<std::uint64_t>(seen.times + 10));
    const auto expect = [&](const char* what, auto count) {
      EXPECT_EQ(count(stormy), count(quiet) + handlers * own(count))
          << what << " with " << handlers << " signals";
    };
    expect("instructions", [](const ExactCounts& c) { return c.instructions; });
    expect("branches", [](const ExactCounts& c) { return c.conditional_branches; });
    expect("taken", [](const ExactCounts& c) { return c.conditional_taken; });
    expect("indirect", [](const ExactCounts& c) { return c.indirect_branches; });
    expect("loads", [](const ExactCounts& c) { return c.loads; });
    expect("stored bytes", [](const ExactCounts& c) { return c.store_bytes; });
    handled += seen.times;
    if (HasFailure()) return;
  }
  EXPECT_GE(handled, 500);
}

// A fault's handler finds the address of the instruction and its registers, and continues after it.
TEST(ExactSignals, AHandlerThatStepsOverAFault) {
  static std::uint64_t faults;
  static bool agrees;
  const Handler handler(SIGSEGV, [](int, siginfo_t*, void* state) {
    auto& registers = static_cast<ucontext_t*>(state)->uc_mcontext.gregs;
    const auto* code = reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]);
    const std::uint8_t expected[] = {0x48, 0x8b, 0x01};  // mov rax, [rcx]
    agrees = agrees && std::memcmp(code, expected, sizeof expected) == 0 &&
             registers[REG_RCX] == 8 && registers[REG_RAX] == 1234;
    registers[REG_RIP] += 3;
    registers[REG_RDX] = 77;
    ++faults;
  });
  std::uint64_t sum = 0;
  auto region = [&] {
    for (int k = 0; k < 100; ++k) {
      std::uint64_t value = 1234;
      std::uint64_t other = 0;
      asm volatile("test %%rax, %%rax\n mov (%%rcx), %%rax"
                   : "+a"(value), "+d"(other)
                   : "c"(8L)
                   : "memory", "cc");
      sum += value + other;
    }
  };
  for (const bool counted : {false, true}) {
    faults = 0;
    sum = 0;
    agrees = true;
    if (counted) {
      const ExactCounts counts = ExactCounter::Count(region);
      EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
    } else {
      region();
    }
    EXPECT_EQ(faults, 100U);
    EXPECT_TRUE(agrees);
    EXPECT_EQ(sum, 100U * (1234 + 77));
  }
}

// The handler replaces the instruction that it interrupted.
TEST(ExactSignals, AHandlerThatRepairsTheCode) {
  static std::uint8_t* code;
  code = static_cast<std::uint8_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  static bool agrees;
  agrees = true;
  const Handler handler(SIGILL, [](int, siginfo_t* info, void* state) {
    auto& registers = static_cast<ucontext_t*>(state)->uc_mcontext.gregs;
    agrees = agrees && info->si_addr == code + 3 &&
             registers[REG_RIP] == reinterpret_cast<greg_t>(code + 3);
    code[3] = 0xff;  // inc eax
    code[4] = 0xc0;
  });
  int sum = 0;
  auto region = [&] {
    for (int k = 0; k < 20; ++k) {
      const std::uint8_t text[] = {0x8d, 0x47, 0x01,
                                   0x0f, 0x0b, 0xc3};  // lea eax,[rdi+1]; ud2; ret
      std::memcpy(code, text, sizeof text);
      int (*function)(int) = nullptr;
      std::memcpy(&function, &code, sizeof code);
      sum += function(k);
    }
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_TRUE(agrees);
  EXPECT_EQ(sum, 190 + 40);
  munmap(code, 4096);
}

TEST(ExactSignals, AHandlerInstalledInsideTheRegion) {
  static volatile int calls;
  calls = 0;
  bool agrees = true;
  auto region = [&] {
    struct sigaction ours = {};
    struct sigaction old = {};
    struct sigaction now = {};
    ours.sa_handler = [](int) {
      calls = calls + 1;
      for (int k = 0; k < 10; ++k) AddOnce();
    };
    sigaction(SIGUSR2, &ours, &old);
    sigaction(SIGUSR2, nullptr, &now);
    agrees = agrees && now.sa_handler == ours.sa_handler && (now.sa_flags & SA_SIGINFO) == 0;
    for (int k = 0; k < 5; ++k) raise(SIGUSR2);
    sigaction(SIGUSR2, &old, &now);
    agrees = agrees && now.sa_handler == ours.sa_handler && old.sa_handler == SIG_DFL;
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(counts.fp[kF64][kScalar], 50U);
  EXPECT_EQ(calls, 5);
  EXPECT_TRUE(agrees);
  struct sigaction after = {};
  sigaction(SIGUSR2, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
}

TEST(ExactSignals, AHandlerThatIsInstalledOnce) {
  static volatile int calls;
  calls = 0;
  const Handler handler(
      SIGUSR2, [](int, siginfo_t*, void*) { calls = calls + 1; }, SA_RESETHAND);
  bool reset = false;
  auto region = [&] {
    raise(SIGUSR2);
    struct sigaction now = {};
    sigaction(SIGUSR2, nullptr, &now);
    reset = now.sa_handler == SIG_DFL;
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(reset);
}

// The signal mask while a handler runs, and the number of handlers during one wait.
TEST(ExactSignals, AWaitForSeveralSignals) {
  static volatile int calls;
  static volatile bool masked;
  const auto count = [](int, siginfo_t*, void*) {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    masked = sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGWINCH) == 1;
    calls = calls + 1;
  };
  const Handler first(SIGUSR1, count);
  const Handler second(SIGUSR2, [](int, siginfo_t*, void*) { calls = calls + 10; });
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGUSR1);
  sigaddset(&both, SIGUSR2);
  sigset_t waiting;
  sigemptyset(&waiting);
  sigaddset(&waiting, SIGWINCH);
  auto region = [&] {
    sigset_t old;
    pthread_sigmask(SIG_BLOCK, &both, &old);
    for (int k = 0; k < 5; ++k) {
      pthread_kill(pthread_self(), SIGUSR1);
      pthread_kill(pthread_self(), SIGUSR2);
      sigsuspend(&waiting);
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  };
  for (const bool counted : {false, true}) {
    calls = 0;
    masked = false;
    if (counted) {
      const ExactCounts counts = ExactCounter::Count(region);
      EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
    } else {
      region();
    }
    EXPECT_EQ(calls, 55);
    EXPECT_TRUE(masked);
  }
}

TEST(ExactSignals, JumpsOutOfHandlersUnderAStorm) {
  static sigjmp_buf place;
  static volatile long jumps;
  const Handler handler(SIGUSR1, Count1000);
  const Handler other(SIGUSR2, [](int, siginfo_t*, void*) {
    if (!seen.inside) return;
    jumps = jumps + 1;
    siglongjmp(place, 1);
  });
  auto region = [] {
    // The region itself raises the signal whose handler jumps out.
    static volatile int k;
    k = 0;
    while (k < 300) {
      k = k + 1;
      if (sigsetjmp(place, 1) == 0) {
        seen.inside = true;
        AddOnce();
        raise(SIGUSR2);
      }
      seen.inside = false;
    }
  };
  const Storm storm({SIGUSR1});
  for (int repeat = 0; repeat < 20; ++repeat) {
    jumps = 0;
    seen.times = 0;
    const ExactCounts counts = ExactCounter::Count(region);
    ASSERT_EQ(jumps, 300);
    ASSERT_EQ(counts.fp[kF64][kScalar], static_cast<std::uint64_t>(300 + 1000 * seen.times));
  }
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
