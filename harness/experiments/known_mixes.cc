#include "harness/experiments/known_mixes.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "harness/counters/clock.h"
#include "harness/experiments/memory_experiment.h"
#include "harness/machine/machine.h"

namespace topdnn {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kRounds = 9;
constexpr std::size_t kSpreadPerPage = 4;  // lines of each page in the truth of a chase

struct Mix {
  const char* name;
  std::size_t bytes;     // of each thread, on its own pages; 0: a quarter of L2
  int multiplications;   // per line, each after the one before
  bool chase;            // the next line depends on the value of this one
  std::size_t accesses;  // of each thread
};

// Large buffers exceed every L2. The chase stays within the reach of a second-level TLB (16 MiB on
// Zen 5), because the small buffer of the truth needs no page walks.
constexpr std::size_t kLarge = std::size_t{128} << 20;
constexpr std::size_t kChased = std::size_t{4} << 20;
constexpr Mix kMixes[] = {{"compute only", 0, 64, false, 1U << 14},
                          {"data that L2 holds", 0, 0, false, 1U << 19},
                          {"stream", kLarge, 0, false, 1U << 21},
                          {"stream, 8 multiplications a line", kLarge, 8, false, 1U << 19},
                          {"stream, 32 multiplications a line", kLarge, 32, false, 1U << 17},
                          {"chase", kChased, 0, true, 1U << 17},
                          {"chase, 8 multiplications a line", kChased, 8, true, 1U << 17}};

// Zeroed memory of 4 KiB pages.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) {
    void* const mapped =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    madvise(mapped, bytes, MADV_NOHUGEPAGE);
    std::memset(mapped, 0, bytes);
    data_ = static_cast<std::byte*>(mapped);
  }
  ~Buffer() { munmap(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<std::byte> bytes() const { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

// The lines that a walk visits: a power of two, in the order of their addresses.
struct Lines {
  std::span<std::byte> buffer;
  std::size_t count = 0;
  std::size_t stride = kLine;  // bytes from one to the next
  // Moves the lines of different pages to different places in their pages, so that a larger stride
  // does not use only a part of the sets of L2.
  std::size_t skew = 0;

  const std::byte* InOrder(std::size_t line) const {
    return buffer.data() + (line & (count - 1)) * kLine;
  }
  const std::byte* Spread(std::size_t line) const {
    const std::size_t k = line & (count - 1);
    return buffer.data() + k * stride + (k / kSpreadPerPage & skew) * kLine;
  }
};

// Reads lines of a buffer whose number of lines is a power of two. The chase visits each line once
// per period (a linear congruence with full period: Knuth, TAOCP volume 2, 3.2.1.2, theorem A) and
// depends on the value read, whose bits `none` removes.
// A mix without multiplications has a loop of its own: a stream from L2 takes one cycle per line,
// so every other instruction would hide a part of the waits.
template <bool kChase, bool kMultiply>
double WalkOf(const Lines& lines, const Mix& mix, std::uint64_t none) {
  std::uint64_t line = 0;
  std::uint64_t bits = 0;
  double sum = 1;
  for (std::size_t i = 0; i < mix.accesses; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, kChase ? lines.Spread(line) : lines.InOrder(line), sizeof value);
    line = kChase ? line * 1664525 + 1013904223 + (value & none) : line + 1;
    bits ^= value;
    if (!kMultiply) continue;
    for (int k = 0; k < mix.multiplications; ++k) sum = sum * 0.999 + 0.001;
  }
  return sum + static_cast<double>(bits & none);
}

double Walk(const Lines& lines, const Mix& mix, std::uint64_t none) {
  if (mix.multiplications > 0) {
    return mix.chase ? WalkOf<true, true>(lines, mix, none) : WalkOf<false, true>(lines, mix, none);
  }
  return mix.chase ? WalkOf<true, false>(lines, mix, none) : WalkOf<false, false>(lines, mix, none);
}

volatile double sink;
volatile std::uint64_t nothing = 0;

// A mix on one buffer per thread.
struct Team {
  const Mix* mix;
  std::vector<Lines> lines;  // of each thread

  void operator()() const {
#pragma omp parallel num_threads(static_cast <int>(lines.size()))
    sink = Walk(lines[static_cast<std::size_t>(omp_get_thread_num())], *mix, nothing);
  }
};

double SecondsOf(const Team& team, const TickClock& clock) {
  const std::uint64_t start = clock.now();
  team();
  return clock.SecondsBetween(start, clock.now()).value_or(0);
}

// 1 - time(small) / time(large): the interval of the median over the rounds.
Interval TruthOf(const Team& large, const Team& small) {
  const TickClock clock = BestClock();
  std::vector<double> shares;
  for (std::size_t round = 0; round < kRounds; ++round) {
    small();
    const double fast = SecondsOf(small, clock);
    large();
    const double slow = SecondsOf(large, clock);
    if (slow > 0) shares.push_back(1 - fast / slow);
  }
  const Interval truth = MedianInterval(shares).value_or(Interval{0, 1});
  return {std::max(0.0, truth.low), std::max(0.0, truth.high)};
}

Interval HullOf(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

MixResult Run(const Mix& mix, int threads, const std::vector<Cache>& caches) {
  MixResult result;
  result.name = mix.name;
  result.threads = threads;
  Topology topology;
  topology.caches = caches;
  const auto l2 = std::bit_floor(static_cast<std::size_t>(CacheSize(topology, 2)));
  std::vector<std::unique_ptr<Buffer>> own;
  const auto team_on = [&](std::size_t bytes, std::size_t lines) {
    Team team{&mix, {}};
    for (int thread = 0; thread < threads; ++thread) {
      own.push_back(std::make_unique<Buffer>(bytes));
      const std::size_t stride = bytes / lines;
      team.lines.push_back({own.back()->bytes(), lines, stride, stride / kLine - 1});
    }
    return team;
  };
  try {
    if (l2 == 0) throw RemapError("the size of L2 is not reported");
    const std::size_t own_bytes = mix.bytes == 0 ? l2 / 4 : mix.bytes;
    // (the experiment copies the buffers)
    const double needed = 2.0 * static_cast<double>(own_bytes) * threads;
    const auto available = static_cast<double>(DescribeMachine().available_memory);
    if (available > 0 && needed > available / 2) {
      throw RemapError(fmt::format("its {:.0f} MiB are more than half of the {:.0f} MiB of memory",
                                   needed / (1 << 20), available / (1 << 20)));
    }
    Team large = team_on(own_bytes, own_bytes / kLine);
    // The chase visits as many pages in the truth as on its own memory: the experiment leaves the
    // addresses, so it leaves the waits for the TLB, too.
    const std::size_t small_bytes = mix.chase ? own_bytes : l2 / 4;
    const std::size_t small_lines = l2 / 4 / kLine;
    const std::size_t spread = kSpreadPerPage * (small_bytes / kRemapPage);
    const Team small =
        team_on(small_bytes, mix.chase ? std::min(small_lines, spread) : small_lines);
    if (mix.bytes > 0) result.truth = TruthOf(large, small);
    const std::vector<TimedStage> stages = {{mix.name, Action::Of(large)}};
    MemorySubject subject;
    subject.stages = stages;
    for (const Lines& lines : large.lines) subject.memory.push_back(lines.buffer);
    subject.threads = threads;
    MemoryExperimentOptions options;
    options.seconds = 0.2;
    options.compare_instructions = false;  // the walk is the same for all values
    const MemoryExperiment experiment = RunMemoryExperiment(subject, caches, options);
    const StageMemory& stage = experiment.stages.front();
    result.reason = stage.reason;
    // Neighbours of the last cache come and go, so the truth is measured before and after.
    if (mix.bytes > 0) result.truth = HullOf(result.truth, TruthOf(large, small));
    const auto shares = SharesOf(stage.rounds, MemoryRegime::kHot, MemoryDoubt());
    if (shares) result.measured = shares->memory;
  } catch (const RemapError& e) {
    result.reason = e.what();
  } catch (const std::bad_alloc&) {
    result.reason = "not enough memory";
  }
  JudgeMix(result);
  return result;
}

}  // namespace

void JudgeMix(MixResult& mix) {
  if (!mix.measured) {
    mix.verdict = Status::kSkipped;
    if (mix.reason.empty()) mix.reason = "the experiment has no interval";
    return;
  }
  if (mix.truth.high >= mix.measured->low && mix.truth.low <= mix.measured->high) {
    mix.verdict = Status::kOk;
    return;
  }
  mix.verdict = Status::kDegraded;
  mix.reason =
      "the truth is outside the interval: a disturbed machine, or the technique does not hold here";
}

std::vector<MixResult> RunKnownMixes(const std::vector<Cache>& caches, int threads,
                                     const std::function<void(std::string_view)>& say) {
  std::vector<int> widths = {1};
  if (threads > 1) widths.push_back(threads);
  std::vector<MixResult> results;
  for (const int width : widths) {
    for (const Mix& mix : kMixes) {
      say(fmt::format("memory experiment: {}", mix.name));
      results.push_back(Run(mix, width, caches));
    }
  }
  return results;
}

}  // namespace topdnn
