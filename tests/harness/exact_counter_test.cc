// Compares the exact counter with single-stepping and with known counts.

#include <gtest/gtest.h>

#include "harness/exact/counter.h"

#if defined(__x86_64__)

#include <dlfcn.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <memory_resource>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tests/harness/exact_oracle.h"
#include "tests/harness/far_return.h"

namespace topdnn {
namespace {

// Counts both ways after a warm-up. The region must execute the same instructions in each run.
template <class Region>
void ExpectAsStepped(Region region) {
  // memcpy's instructions depend on alignment, which is the same in every run.
  const auto call = [](void* r) {
    alignas(4096) char aligns_the_stack = 0;
    (*static_cast<Region*>(r))();
    asm volatile("" : : "r"(&aligns_the_stack));
  };
  for (int k = 0; k < 3; ++k) call(&region);
  // The first count of a process allocates memory, which changes malloc's path in the region's next
  // run.
  ExactCounter::Count(call, &region);
  const std::uint64_t stepped = SingleStep(call, &region);
  const ExactCounts counts = ExactCounter::Count(call, &region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(counts.instructions, stepped);
  EXPECT_EQ(SingleStep(call, &region), stepped) << "the region's instructions vary";
}

// AddressSanitizer walks the stack at each allocation, and the stack of the reference is less deep.
#if defined(__SANITIZE_ADDRESS__)
#define SKIP_WHERE_ALLOCATING_DEPENDS_ON_THE_STACK() \
  GTEST_SKIP() << "the instructions of an allocation depend on the stack's depth"
#else
#define SKIP_WHERE_ALLOCATING_DEPENDS_ON_THE_STACK() static_cast<void>(0)
#endif

volatile double sink;

TEST(ExactCounter, WorksOnThisMachine) {
  const Availability available = ExactCounter::Probe();
  EXPECT_TRUE(available.works) << available.reason;
}

void DoNothing(void*) { asm volatile("nop"); }

TEST(ExactCounter, EmptyFunction) {
  const ExactCounts counts = ExactCounter::Count(DoNothing, nullptr);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_GE(counts.instructions, 2U);
  EXPECT_EQ(counts.indirect_branches, 1U);
  EXPECT_EQ(counts.flops(), 0U);
  EXPECT_EQ(counts.threads, 1);
}

TEST(ExactCounter, LoopOfKnownLength) {
  ExpectAsStepped([] {
    asm volatile(
        "mov $1000, %%ecx\n"
        "1: add $3, %%rax\n dec %%ecx\n jnz 1b\n"
        :
        :
        : "rax", "rcx", "cc");
  });
  const ExactCounts counts = ExactCounter::Count(
      [](void*) {
        asm volatile(
            "mov $1000, %%ecx\n"
            "1: add $3, %%rax\n dec %%ecx\n jnz 1b\n"
            :
            :
            : "rax", "rcx", "cc");
      },
      nullptr);
  EXPECT_EQ(counts.conditional_branches, 1000U);
  EXPECT_EQ(counts.conditional_taken, 999U);
  EXPECT_EQ(counts.minority_branches, 1U);
}

TEST(ExactCounter, HashMapAndStrings) {
  ExpectAsStepped([] {
    // without the heap, whose state differs from run to run
    static char memory[100000];
    std::pmr::monotonic_buffer_resource pool(memory, sizeof memory);
    std::pmr::unordered_map<std::string, int> map(&pool);
    for (int k = 0; k < 50; ++k) map["key" + std::to_string(k % 17)] += k;
    sink = map.at("key3");
  });
}

TEST(ExactCounter, Exceptions) {
  SKIP_WHERE_ALLOCATING_DEPENDS_ON_THE_STACK();
  ExpectAsStepped([] {
    for (int k = 0; k < 3; ++k) {
      try {
        throw std::runtime_error("x");
      } catch (const std::exception& e) {
        sink = e.what()[0];
      }
    }
  });
}

TEST(ExactCounter, ExceptionThatLeavesTheRegion) {
  EXPECT_THROW(ExactCounter::Count([](void*) { throw std::runtime_error("out"); }, nullptr),
               std::runtime_error);
  // The next count is complete again.
  EXPECT_TRUE(ExactCounter::Count([](void*) { sink = 1; }, nullptr).complete);
}

TEST(ExactCounter, CopiesAndStrings) {
  std::vector<char> a(5000, 'a');
  std::vector<char> b(5000);
  a.back() = 0;
  ExpectAsStepped([&] {
    std::memcpy(b.data(), a.data(), a.size());
    std::memset(a.data(), 'b', 777);
    sink = static_cast<double>(std::strlen(b.data())) + std::memcmp(a.data(), b.data(), 1000);
  });
}

TEST(ExactCounter, FormattedDoubles) {
  ExpectAsStepped([] {
    char text[100];
    std::snprintf(text, sizeof text, "%.17g %a %Lf %s", 1.0 / 3, 2.5, 3.25L, "s");
    sink = text[0] + std::strtod(text, nullptr);
  });
}

TEST(ExactCounter, SortWithCallback) {
  SKIP_WHERE_ALLOCATING_DEPENDS_ON_THE_STACK();
  ExpectAsStepped([] {
    int values[200];
    unsigned seed = 1;
    for (int& v : values) v = static_cast<int>(seed = seed * 1103515245U + 12345U) >> 8;
    std::qsort(values, 200, sizeof(int), [](const void* x, const void* y) {
      return *static_cast<const int*>(x) < *static_cast<const int*>(y) ? -1 : 1;
    });
    sink = values[100];
  });
}

TEST(ExactCounter, VirtualCallsAndRecursion) {
  SKIP_WHERE_ALLOCATING_DEPENDS_ON_THE_STACK();
  ExpectAsStepped([] {
    std::function<int(int)> fibonacci = [&](int n) {
      return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    };
    sink = fibonacci(10);
  });
}

TEST(ExactCounter, LongJump) {
  ExpectAsStepped([] {
    static std::jmp_buf place;
    volatile int times = 0;
    setjmp(place);
    times = times + 1;
    if (times < 5) std::longjmp(place, 1);
    sink = times;
  });
}

TEST(ExactCounter, RegularExpression) {
  SKIP_WHERE_ALLOCATING_DEPENDS_ON_THE_STACK();
  // (a set such as [0-9] takes a hundred times the instructions, 20 s in single steps)
  ExpectAsStepped([] { sink = std::regex_match("aabb42", std::regex("a+b*42")); });
}

TEST(ExactCounter, LoadedLibrary) {
  const ExactCounts counts = ExactCounter::Count(
      [](void*) {
        void* library = dlopen("libz.so.1", RTLD_NOW);
        if (library == nullptr) return;
        using Crc = unsigned long (*)(unsigned long, const char*, unsigned);
        const auto crc = reinterpret_cast<Crc>(dlsym(library, "crc32"));
        sink = static_cast<double>(crc(0, "topdnn", 6));
        dlclose(library);
      },
      nullptr);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_GT(counts.instructions, 1000U);
}

TEST(ExactCounter, SystemCalls) {
  ExpectAsStepped([] {
    for (int k = 0; k < 10; ++k) syscall(SYS_getppid);
  });
  const ExactCounts counts = ExactCounter::Count(
      [](void*) {
        for (int k = 0; k < 10; ++k) syscall(SYS_getppid);
      },
      nullptr);
  EXPECT_EQ(counts.system_calls, 10U);
}

TEST(ExactCounter, RepeatedStringInstructions) {
  const auto region = [](void*) {
    static char from[1000];
    static char to[1000];
    void* d = to;
    const void* s = from;
    std::uint64_t n = 1000;
    asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
    d = to;
    n = 100;
    asm volatile("rep stosq" : "+D"(d), "+c"(n) : "a"(0) : "memory");
    d = to;
    n = 0;
    asm volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(0) : "memory");
    d = to;
    s = from;
    n = 200;
    from[99] = 1;
    asm volatile("repe cmpsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory", "cc");
  };
  ExpectAsStepped([&] { region(nullptr); });
  const ExactCounts counts = ExactCounter::Count(region, nullptr);
  EXPECT_GE(counts.load_bytes, 1000U + 200U);
  EXPECT_LT(counts.load_bytes, 1000U + 200U + 200U);
  EXPECT_GE(counts.store_bytes, 1000U + 800U);
  EXPECT_LT(counts.store_bytes, 1000U + 800U + 200U);
}

TEST(ExactCounter, X87) {
  ExpectAsStepped([] {
    asm volatile("fld1\n fldpi\n fadd %%st(1), %%st\n fsqrt\n fmulp\n fstp %%st(0)" : : : "st");
  });
  const ExactCounts counts = ExactCounter::Count(
      [](void*) {
        asm volatile("fld1\n fldpi\n fadd %%st(1)\n fsqrt\n fmulp\n fstp %%st" ::: "st");
      },
      nullptr);
  EXPECT_EQ(counts.x87, 3U);
}

TEST(ExactCounter, LoopInstructions) {
  ExpectAsStepped([] {
    asm volatile(
        "mov $7, %%rcx\n 1: nop\n loop 1b\n jrcxz 2f\n nop\n 2: xor %%eax, %%eax\n"
        "mov $3, %%rcx\n 3: cmp $1, %%rcx\n loopne 3b\n"
        :
        :
        : "rax", "rcx", "cc");
  });
}

TEST(ExactCounter, FloatingPointClasses) {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("fma")) {
    GTEST_SKIP() << "needs AVX-512";
  }
  const ExactCounts counts = ExactCounter::Count(
      [](void*) {
        asm volatile(
            "vpxor %%xmm0, %%xmm0, %%xmm0\n"
            "mov $5, %%eax\n kmovw %%eax, %%k1\n"
            "addss %%xmm0, %%xmm0\n mulsd %%xmm0, %%xmm0\n"
            "addps %%xmm0, %%xmm0\n vmulpd %%ymm0, %%ymm0, %%ymm0\n"
            "vfmadd231ps %%zmm0, %%zmm0, %%zmm1\n"
            "vfmadd231ps %%zmm0, %%zmm0, %%zmm1%{%%k1%}\n"
            "vfnmadd213pd %%ymm0, %%ymm0, %%ymm1\n"
            "vmaxps %%zmm0, %%zmm0, %%zmm1\n vcmpps $0, %%zmm0, %%zmm0, %%k1\n"
            "vcvtps2pd %%ymm0, %%zmm1\n vxorps %%ymm0, %%ymm0, %%ymm1\n vzeroupper\n"
            :
            :
            : "rax", "xmm0", "xmm1");
      },
      nullptr);
  EXPECT_EQ(counts.fp[kF32][kScalar], 1U);
  EXPECT_EQ(counts.fp[kF64][kScalar], 1U);
  EXPECT_EQ(counts.fp[kF32][kPacked128], 1U);
  EXPECT_EQ(counts.fp[kF64][kPacked256], 3U);
  EXPECT_EQ(counts.fp[kF32][kPacked512], 5U);
  EXPECT_EQ(counts.flops(), 1U + 1U + 4U + 3U * 4U + 5U * 16U);
}

// Machine code: mov eax, value; ret.
void WriteFunction(std::uint8_t* code, std::uint32_t value) {
  code[0] = 0xb8;
  std::memcpy(code + 1, &value, 4);
  code[5] = 0xc3;
}

TEST(ExactCounter, CodeGeneratedInsideTheRegion) {
  ExpectAsStepped([] {
    auto* code = static_cast<std::uint8_t*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    WriteFunction(code, 7);
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    if (reinterpret_cast<int (*)()>(code)() != 7) std::abort();
    mprotect(code, 4096, PROT_READ | PROT_WRITE);
    WriteFunction(code, 8);
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    if (reinterpret_cast<int (*)()>(code)() != 8) std::abort();
    munmap(code, 4096);
  });
}

TEST(ExactCounter, CodeRewrittenWithoutSystemCall) {
  auto* code = static_cast<std::uint8_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  ExpectAsStepped([=] {
    for (std::uint32_t k = 0; k < 20; ++k) {
      WriteFunction(code, k);
      for (int times = 0; times < 3; ++times) {
        if (reinterpret_cast<std::uint32_t (*)()>(code)() != k) std::abort();
      }
    }
  });
  WriteFunction(code, 1);  // the page is writable again
  munmap(code, 4096);
}

volatile std::sig_atomic_t signals_seen;

TEST(ExactCounter, SignalHandlersAreTranslated) {
  struct sigaction ours = {};
  struct sigaction old = {};
  ours.sa_handler = [](int) {
    asm volatile("mov $100, %%ecx\n 1: addss %%xmm0, %%xmm0\n dec %%ecx\n jnz 1b" ::
                     : "rcx", "cc", "xmm0");
    signals_seen = signals_seen + 1;
  };
  sigaction(SIGUSR1, &ours, &old);
  signals_seen = 0;
  const ExactCounts counts = ExactCounter::Count(
      [](void*) {
        for (int k = 0; k < 5; ++k) raise(SIGUSR1);
      },
      nullptr);
  sigaction(SIGUSR1, &old, nullptr);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  EXPECT_EQ(signals_seen, 5);
  EXPECT_EQ(counts.fp[kF32][kScalar], 500U);
}

TEST(ExactCounter, LeavingASignalHandlerByLongJump) {
  static sigjmp_buf place;
  struct sigaction ours = {};
  struct sigaction old = {};
  ours.sa_handler = [](int) { siglongjmp(place, 1); };
  sigaction(SIGSEGV, &ours, &old);
  const ExactCounts counts = ExactCounter::Count(
      [](void*) {
        static int times;
        for (times = 0; times < 3; ++times) {
          if (sigsetjmp(place, 1) == 0) {
            asm volatile("movl $1, (%0)" ::"r"(0L) : "memory");
          }
        }
        sink = 5;
      },
      nullptr);
  sigaction(SIGSEGV, &old, nullptr);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
}

double Chain(int n) {
  double x = 1;
  for (int k = 0; k < n; ++k) asm volatile("addsd %0, %0" : "+x"(x));
  return x;
}

TEST(ExactCounter, TeamsAreCountedCompletely) {
  omp_set_num_threads(2);
#pragma omp parallel
  { sink = Chain(1); }
  for (int repeat = 0; repeat < 5; ++repeat) {
    const ExactCounts counts = ExactCounter::Count(
        [](void*) {
          for (int k = 0; k < 3; ++k) {
#pragma omp parallel for schedule(static)
            for (int i = 0; i < 1000; ++i) sink = Chain(10);
          }
        },
        nullptr);
    EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
    EXPECT_EQ(counts.fp[kF64][kScalar], 30000U);
    EXPECT_EQ(counts.threads, 2);
  }
}

TEST(ExactCounter, TeamsOfDifferentFunctions) {
  omp_set_num_threads(2);
  std::vector<int> a(100);
  std::vector<int> b(100);
  auto region = [&] {
    for (int k = 0; k < 3; ++k) {
#pragma omp parallel for
      for (int i = 0; i < 100; ++i) a[static_cast<std::size_t>(i)] += i;
#pragma omp parallel for schedule(dynamic)
      for (int i = 0; i < 100; ++i) b[static_cast<std::size_t>(i)] += 2 * i;
    }
  };
  const ExactCounts counts = ExactCounter::Count(region);
  EXPECT_TRUE(counts.complete) << counts.incomplete_reason;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a[static_cast<std::size_t>(i)], 3 * i);
    EXPECT_EQ(b[static_cast<std::size_t>(i)], 6 * i);
  }
}

TEST(ExactCounter, WorkOfAnotherThreadMakesItIncomplete) {
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  std::thread other([&] {
    while (!stop) {
      sink = Chain(100);
      ++rounds;
    }
  });
  while (rounds == 0) std::this_thread::yield();
  auto region = [&] {
    const int before = rounds;
    while (rounds < before + 100) usleep(1000);
  };
  const ExactCounts counts = ExactCounter::Count(region);
  stop = true;
  other.join();
  EXPECT_FALSE(counts.complete);
  EXPECT_NE(counts.incomplete_reason.find("a thread outside"), std::string::npos)
      << counts.incomplete_reason;
}

TEST(ExactCounter, AThreadOfTheRegionMakesItIncomplete) {
  const ExactCounts counts =
      ExactCounter::Count([](void*) { std::thread([] { sink = Chain(100000); }).join(); }, nullptr);
  EXPECT_FALSE(counts.complete);
}

TEST(ExactCounter, NestedCountsAreRefused) {
  EXPECT_THROW(
      ExactCounter::Count([](void*) { ExactCounter::Count([](void*) {}, nullptr); }, nullptr),
      std::logic_error);
}

TEST(ExactCounter, CodeThatCannotBeTranslatedIsIncomplete) {
  const ExactCounts counts = ExactCounter::Count([](void*) { FarReturn(); }, nullptr);
  EXPECT_FALSE(counts.complete);
  EXPECT_NE(counts.incomplete_reason.find("cannot be translated"), std::string::npos);
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
