// Top-Down bounds of kernels that really run, alone and next to busy neighbours: they contain the
// true values, or they are absent with a reason. The true values follow from the instructions of
// the kernel and their cycles in instruction tables (Agner Fog, instruction tables; uops.info).
// Where memory or a predictor decides, they follow from the run's time, with a clock of this file,
// a chain of multiplications. They use neither the rates nor the clock nor the tables under test.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "harness/bounds/topdown_bounds.h"
#include "harness/counters/source.h"
#include "harness/machine/clock.h"
#include "harness/machine/machine.h"
#include "harness/measure/measure.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/probes/quiet.h"
#include "harness/results/stage_record.h"
#include "harness/topdown/metric.h"
#include "harness/topdown/perf_events.h"

#if defined(__x86_64__)

namespace topdnn {
namespace {

// ---- The manual's values, independent of the tables under test ---------------------------------

struct Manual {
  const char* cpu;
  double slots;  // per cycle
  double alus;   // register additions per cycle
};

constexpr Manual kManuals[] = {{"skylake_x", 4, 4},
                               {"cascade_lake_x", 4, 4},
                               {"cooper_lake_x", 4, 4},
                               {"ice_lake_x", 5, 4},
                               {"sapphire_rapids", 6, 5},
                               {"emerald_rapids", 6, 5},
                               {"granite_rapids", 6, 5},
                               {"zen4", 6, 4},
                               {"zen5", 8, 6}};

const Manual* ManualOfThisCpu() {
  const std::string cpu = IdentifyCpu().microarchitecture;
  for (const Manual& manual : kManuals) {
    if (cpu == manual.cpu) return &manual;
  }
  return nullptr;
}

// ---- Kernels -----------------------------------------------------------------------------------

struct Data {
  const std::uint8_t* bytes = nullptr;  // 0 or 1 each
  std::uint64_t mask = 0;
  std::uint64_t position = 0;
};

// A loop of `body`. The loop's counter and jump take one slot if they fuse, otherwise two.
#define KERNEL(name, begin, body, end)                                                        \
  void name(Data&, std::int64_t n) {                                                          \
    asm volatile(begin ".p2align 6\n1:\n\t" body "sub $1, %[n]\n\tjnz 1b\n\t" end             \
                 : [n] "+r"(n)                                                                \
                 :                                                                            \
                 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "xmm0", \
                   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",    \
                   "xmm10", "xmm11", "xmm12", "xmm13");                                       \
  }

constexpr double kMultiplications = 32, kMultiplyCycles = 3;
KERNEL(Multiplications, "mov $3, %%eax\n\tmov $5, %%ecx\n\t",
       ".rept 32\n\timul %%rcx, %%rax\n\t.endr\n\t", "")
constexpr double kAdditions = 64;
KERNEL(Additions, "xor %%eax, %%eax\n\t",
       ".rept 8\n\tadd %%rax, %%rcx\n\tadd %%rax, %%rdx\n\tadd %%rax, %%rsi\n\t"
       "add %%rax, %%rdi\n\tadd %%rax, %%r8\n\tadd %%rax, %%r9\n\tadd %%rax, %%r10\n\t"
       "add %%rax, %%r11\n\t.endr\n\t",
       "")
#define ZERO                                   \
  ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n\t" \
  "vxorps %%xmm\\r, %%xmm\\r, %%xmm\\r\n\t.endr\n\t"
constexpr double kChained = 16, kFmaCycles = 4;
KERNEL(ChainedFma, ZERO, ".rept 16\n\tvfmadd213ss %%xmm2, %%xmm1, %%xmm0\n\t.endr\n\t",
       "vzeroupper\n\t")
constexpr double kFmas = 48, kFmaUnits = 2;
KERNEL(IndependentFma, ZERO,
       ".rept 4\n\t.irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\t"
       "vfmadd231ps %%ymm12, %%ymm13, %%ymm\\r\n\t.endr\n\t.endr\n\t",
       "vzeroupper\n\t")

// One branch per iteration depends on the data; the loop's branch is always taken.
void Branches(Data& data, std::int64_t n) {
  std::uint64_t count = 0;
  asm volatile(
      ".p2align 6\n1:\n\t"
      "cmpb $0, (%[bytes],%[position])\n\tje 2f\n\tadd $1, %[count]\n2:\n\t"
      "add $1, %[position]\n\tand %[mask], %[position]\n\tsub $1, %[n]\n\tjnz 1b\n\t"
      : [n] "+r"(n), [position] "+r"(data.position), [count] "+r"(count)
      : [bytes] "r"(data.bytes), [mask] "r"(data.mask)
      : "cc", "memory");
}

// Eight loads; each address is the result of the load before it.
constexpr double kLoads = 8, kMaxL1Cycles = 5;
void Chase(Data& data, std::int64_t n) {
  asm volatile(
      ".p2align 6\n1:\n\t.rept 8\n\tmov (%[at]), %[at]\n\t.endr\n\tsub $1, %[n]\n\tjnz 1b\n\t"
      : [at] "+r"(data.position), [n] "+r"(n)
      :
      : "cc", "memory");
}

// ---- The true values ---------------------------------------------------------------------------

struct Truth {
  double low, high;
};
using Truths = std::map<std::string, Truth>;

double TicksOf(void (*run)(Data&, std::int64_t), Data& data, std::int64_t n) {
  const std::uint64_t begin = ReadTsc();
  run(data, n);
  return static_cast<double>(ReadTsc() - begin);
}

// The core's clock, from a chain of multiplications of 3 cycles each: the fastest of several
// windows.
double OwnHertz() {
  double ticks = 1e30;
  Data none;
  for (int window = 0; window < 40; ++window) {
    ticks = std::min(ticks, TicksOf(Multiplications, none, 200));
  }
  return 200 * kMultiplications * kMultiplyCycles / ticks * TscFrequency().hz;
}

// Cycles per iteration: the fastest of several windows.
double CyclesOf(void (*run)(Data&, std::int64_t), Data& data, std::int64_t n) {
  double ticks = 1e30;
  for (int window = 0; window < 40; ++window) ticks = std::min(ticks, TicksOf(run, data, n));
  return ticks / TscFrequency().hz * OwnHertz() / static_cast<double>(n);
}

// For a kernel of `slots` micro-ops in `cycles` that otherwise waits for its units. The loop's
// counter and jump may take one more slot; 3 % allow for effects that the tables omit.
Truths CoreBoundTruth(double slots, double cycles, double width) {
  const double retiring = slots / (cycles * width);
  const double most = std::min(1.0, (slots + 1) / (cycles * width));
  return {{"Retiring", {0.97 * retiring, most}},
          {"Core_Bound", {std::max(0.0, 0.97 - most), 1 - 0.97 * retiring}},
          {"Bad_Speculation", {0, 0.03}},
          {"Frontend_Bound", {0, 0.03}},
          {"Memory_Bound", {0, 0.03}},
          {"Memory_And_Frontend_Bound", {0, 0.03}}};
}

struct Kernel {
  const char* what;
  void (*run)(Data&, std::int64_t);
  Data data;
  std::int64_t iterations;
  // The true values of a run with this many cycles per iteration.
  std::function<Truths(const Manual&, double cycles)> truths;
};

constexpr std::size_t kRandomBytes = 1 << 20;

struct Buffers {
  std::vector<std::uint8_t> random = std::vector<std::uint8_t>(kRandomBytes);
  std::vector<std::uint8_t> zeros = std::vector<std::uint8_t>(kRandomBytes);
  std::unique_ptr<ProbeBuffers> memory;

  Buffers() {
    std::mt19937_64 generator(11);
    for (std::uint8_t& byte : random) byte = generator() >> 40 & 1;
    std::string note;
    const std::size_t bytes =
        WorkingSet(ReadTopology(), "dram", 1, static_cast<std::size_t>(AvailableMemory()), note);
    const Probe* chase = FindProbe("chase");
    if (bytes == 0 || chase == nullptr) return;
    memory = std::make_unique<ProbeBuffers>(bytes);
    chase->prepare(*chase, *memory, Fill::kReals, 3);
  }
};

std::vector<Kernel> KernelsOf(Buffers& buffers) {
  std::vector<Kernel> kernels = {
      {"dependent multiplications",
       Multiplications,
       {},
       20000,
       [](const Manual& manual, double) {
         return CoreBoundTruth(kMultiplications + 1, kMultiplications * kMultiplyCycles,
                               manual.slots);
       }},
      {"independent additions",
       Additions,
       {},
       60000,
       [](const Manual& manual, double) {
         // The loop's counter and jump may share a unit with the additions.
         Truths truths =
             CoreBoundTruth(kAdditions + 1, (kAdditions + 1) / manual.alus, manual.slots);
         truths["Retiring"].low *= 0.9;
         truths["Core_Bound"].high += 0.1;
         return truths;
       }},
      {"dependent FMA",
       ChainedFma,
       {},
       30000,
       [](const Manual& manual, double) {
         return CoreBoundTruth(kChained + 1, kChained * kFmaCycles, manual.slots);
       }},
      {"independent FMA",
       IndependentFma,
       {},
       60000,
       [](const Manual& manual, double) {
         return CoreBoundTruth(kFmas + 1, kFmas / kFmaUnits, manual.slots);
       }},
      {"random branches",
       Branches,
       {.bytes = buffers.random.data(), .mask = kRandomBytes - 1},
       100000,
       [&buffers](const Manual& manual, double cycles) {
         Data same = {.bytes = buffers.zeros.data(), .mask = kRandomBytes - 1};
         const double predicted = CyclesOf(Branches, same, 20000);
         const double lost = 1 - predicted / cycles;
         // 6.5 instructions on average; two pairs of them may fuse. Half of the branches
         // mispredict; some cores count the refill for the front end.
         return Truths{{"Retiring", {4.5 / (manual.slots * cycles), 6.5 / (manual.slots * cycles)}},
                       {"Bad_Speculation", {0.25 * lost, lost}},
                       {"Memory_Bound", {0, 0.05}}};
       }}};
  if (buffers.memory) {
    const auto first = reinterpret_cast<std::uint64_t>(buffers.memory->memory.get());
    kernels.push_back({"pointer chase",
                       Chase,
                       {.position = first},
                       3000,
                       [](const Manual& manual, double cycles) {
                         const double retiring = (kLoads + 1) / (manual.slots * cycles);
                         const double hit = kLoads * kMaxL1Cycles / cycles;
                         return Truths{{"Retiring", {0.9 * retiring, 1.1 * retiring}},
                                       {"Memory_Bound", {1 - hit - 1.3 * retiring, 1}},
                                       {"Memory_And_Frontend_Bound", {1 - hit, 1}},
                                       {"Core_Bound", {0, hit}},
                                       {"Bad_Speculation", {0, 0.02}}};
                       }});
  }
  return kernels;
}

// ---- The code under test, as the profile uses it -----------------------------------------------

struct KernelRun {
  Record record;
  CoreTime time;
};

KernelRun Measure(Kernel& kernel, CounterSource& exact, QuietCheck& quiet, QuietReading& quietest) {
  auto call = [&kernel] { kernel.run(kernel.data, kernel.iterations); };
  const TimedStage stage{kernel.what, Action::Of(call)};
  MeasureOptions options;
  options.iterations = 12;
  options.most_warmup_iterations = 3;
  options.sources = {&exact};
  options.core_hertz = []() -> std::optional<double> { return CoreClock().hz; };
  options.best_speeds = quietest;
  options.speeds = [&](bool brief) {
    const QuietReading now = brief ? quiet.ReadBriefly() : quiet.Read();
    if (!brief) quietest = Best(quietest, now);
    return now;
  };
  const SequenceSamples samples = MeasureSequence({&stage, 1}, options);
  KernelRun run;
  run.record =
      RecordOf(samples.step, samples.events, JudgeDisturbance(samples.disturbance), "in-network");
  AddRunCounts(samples.step, samples.run_events, run.record);
  const double before = *samples.disturbance.core_hertz_before;
  const double after = *samples.disturbance.core_hertz_after;
  run.time = {.seconds = run.record.seconds->median,
              .threads = 1,
              .hertz_low = std::min(before, after),
              .hertz_high = std::max(before, after),
              .instruction_cache = 32768};
  return run;
}

BoundsOrReason BoundsOf(const KernelRun& run, const CoreRates& rates) {
  if (std::string why = WhyNoBounds(run.record.status); !why.empty()) {
    return {.bounds = std::nullopt, .reason = why + ": " + run.record.reason};
  }
  const auto work = CoreWorkOf(run.record.events);
  if (!work) return {.bounds = std::nullopt, .reason = run.record.counts_reason};
  return BoundTopdown(*work, run.time, FindTopdownTable(TopdownNameOf(IdentifyCpu())).pipeline,
                      rates);
}

// The true values outside of their bounds; empty if there are none.
std::string Outside(const TopdownBounds& bounds, const Truths& truths) {
  std::string outside;
  for (const auto& [node, truth] : truths) {
    const auto found = bounds.find(node);
    if (found == bounds.end()) continue;  // no bounds
    if (truth.high < found->second.low || truth.low > found->second.high) {
      outside += fmt::format("{} is {:.3g} to {:.3g}, outside {:.3g} to {:.3g}; ", node, truth.low,
                             truth.high, found->second.low, found->second.high);
    }
  }
  return outside;
}

// Processes that keep every CPU busy.
class Neighbours {
 public:
  explicit Neighbours(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::uint64_t work = 1;; ++work) asm volatile("" : "+r"(work));
      }
      if (child > 0) children_.push_back(child);
    }
  }
  ~Neighbours() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

 private:
  std::vector<pid_t> children_;
};

class BoundsKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    manual_ = ManualOfThisCpu();
    if (manual_ == nullptr) GTEST_SKIP() << "this test has no manual values for this CPU";
    if (!WhyAbsent(*FindProbe("core/fp/chain"), MachineIsas()).empty()) GTEST_SKIP() << "no FMA";
    for (const SourceOffer& offer : CounterSources()) {
      if (offer.name == "exact" && offer.probe().works) exact_ = offer.open();
    }
    if (exact_ == nullptr) GTEST_SKIP() << "the exact counter does not work on this machine";
    kernels_ = KernelsOf(buffers_);
  }

  // One run of all kernels between two measurements of the rates.
  void Round() {
    const CoreRates before = MeasureCoreRates(1);
    std::vector<KernelRun> runs;
    std::vector<double> hertz = {OwnHertz()};  // before each run, and after the last one
    for (Kernel& kernel : kernels_) {
      runs.push_back(Measure(kernel, *exact_, quiet_, quietest_));
      hertz.push_back(OwnHertz());
    }
    const CoreRates rates = Joined(before, MeasureCoreRates(1));
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const BoundsOrReason made = BoundsOf(runs[i], rates);
      ASSERT_NE(made.bounds.has_value(), !made.reason.empty());
      if (!made.bounds) {
        ++absent_[made.reason.substr(0, made.reason.find_first_of("(:"))];
        continue;
      }
      // The true values follow from cycles, so from the clock while the kernel ran.
      const auto [low, high] = std::minmax(hertz[i], hertz[i + 1]);
      if (high > 1.01 * low) {
        ++absent_["the clock moved, so the true values are not known"];
        continue;
      }
      ++present_;
      Check(kernels_[i], runs[i].time.seconds * (low + high) / 2, *made.bounds);
    }
  }

  void Check(const Kernel& kernel, double cycles, const TopdownBounds& bounds) {
    const Truths truths = kernel.truths(*manual_, cycles / static_cast<double>(kernel.iterations));
    EXPECT_EQ(Outside(bounds, truths), "") << kernel.what;
    if (shown_[kernel.what]) return;
    shown_[kernel.what] = true;
    std::string line = fmt::format("{:26}", kernel.what);
    for (const auto& [node, bound] : bounds) {
      line += fmt::format("  {} {:.3f}..{:.3f}", node, bound.low, bound.high);
      const auto truth = truths.find(node);
      if (truth == truths.end()) continue;
      line += fmt::format(" (is {:.3f}..{:.3f})", truth->second.low, truth->second.high);
    }
    fmt::print("{}\n", line);
  }

  void Summary() const {
    fmt::print("{} bounds hold; absent:\n", present_);
    for (const auto& [reason, times] : absent_) fmt::print("  {:4} {}\n", times, reason);
  }

  const Manual* manual_ = nullptr;
  std::unique_ptr<CounterSource> exact_;
  Buffers buffers_;
  std::vector<Kernel> kernels_;
  QuietCheck quiet_{1};
  QuietReading quietest_;
  int present_ = 0;
  std::map<std::string, int> absent_;
  std::map<std::string, bool> shown_;
};

// The fastest run is undisturbed if another one takes nearly the same time, and so is the highest
// of all readings of the clock. The manual's rates have no spread. So there are bounds, and they
// contain the true values.
TEST_F(BoundsKernels, OfTheFastestRunContainTheTrueValues) {
  CoreRates rates;
  rates.slots = manual_->slots;
  rates.mispredict_cycles = 20;
  rates.link_cycles = 12;
  rates.spreads = {{"none, from the manual", 0.0}};
  for (Kernel& kernel : kernels_) {
    KernelRun run = Measure(kernel, *exact_, quiet_, quietest_);
    double second = std::numeric_limits<double>::infinity();
    double hertz = run.time.hertz_high;
    for (int again = 0; again < 40; ++again) {
      if (again >= 4 && second < 1.002 * run.record.seconds->min) break;
      KernelRun other = Measure(kernel, *exact_, quiet_, quietest_);
      hertz = std::max(hertz, other.time.hertz_high);
      if (other.record.seconds->min < run.record.seconds->min) std::swap(run, other);
      second = std::min(second, other.record.seconds->min);
    }
    run.time.seconds = run.record.seconds->min;
    run.time.hertz_high = hertz;
    run.record.status = Status::kOk;
    const BoundsOrReason made = BoundsOf(run, rates);
    ASSERT_TRUE(made.bounds) << kernel.what << ": " << made.reason;
    EXPECT_TRUE(made.bounds->contains("Retiring")) << kernel.what;
    Check(kernel, run.time.seconds * OwnHertz(), *made.bounds);
  }
}

TEST_F(BoundsKernels, ContainTheTrueValuesOrAreAbsent) {
  for (int round = 0; round < 5; ++round) Round();
  Summary();
}

TEST_F(BoundsKernels, ContainTheTrueValuesOrAreAbsentNextToBusyNeighbours) {
  const Neighbours neighbours(2 * omp_get_num_procs());
  for (int round = 0; round < 6; ++round) Round();
  Summary();
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
