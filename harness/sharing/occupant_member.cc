#include "harness/sharing/occupant_member.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <numeric>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/machine/machine.h"
#include "harness/measure/flush.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

// One cache line: the next one of its chain.
struct alignas(64) Line {
  Line* next = nullptr;
};

constexpr std::size_t kChains = 4;          // that it follows at once
constexpr std::size_t kSmallLines = 64;     // of setting 0: 4 KiB
constexpr std::size_t kStepsAtOnce = 4096;  // of an iteration, on every chain

// Links the lines into one circle in a random order, so that no prefetcher predicts it.
void LinkInCircle(std::span<Line> lines, std::mt19937& random) {
  std::vector<std::uint32_t> order(lines.size());
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  for (std::size_t i = 0; i < order.size(); ++i) {
    lines[order[i]].next = &lines[order[(i + 1) % order.size()]];
  }
}

class Lines {
 public:
  explicit Lines(std::size_t count) : count_(count) {
    void* const memory = mmap(nullptr, count * sizeof(Line), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    // Small pages would add the time of a TLB miss to most accesses.
    madvise(memory, count * sizeof(Line), MADV_HUGEPAGE);
    data_ = static_cast<Line*>(memory);
  }
  ~Lines() { munmap(data_, count_ * sizeof(Line)); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  std::span<Line> part(std::size_t first, std::size_t count) const {
    return {data_ + first, count};
  }

 private:
  std::size_t count_;
  Line* data_ = nullptr;
};

// The memory is divided into blocks of an eighth of the cache, and a block into chains.
class OccupantMember final : public Member {
 public:
  explicit OccupantMember(std::size_t cache_bytes)
      : chain_lines_(cache_bytes / kCacheParts / kChains / sizeof(Line)),
        lines_(chain_lines_ * kChains * (kCacheParts - 1) + kSmallLines) {
    std::mt19937 random(1);
    for (std::size_t block = 0; block < kCacheParts - 1; ++block) {
      for (std::size_t chain = 0; chain < kChains; ++chain) {
        LinkInCircle(ChainOf(block, chain), random);
      }
    }
    for (std::size_t chain = 0; chain < kChains; ++chain) LinkInCircle(SmallChain(chain), random);
    Select(0);
    iteration_seconds_ = WarmUp([this] { Step(); });
  }

  std::vector<MemberStage> stages() const override { return {{"access", "occupant"}}; }
  double iteration_seconds() const override { return iteration_seconds_; }

  void Run(const Window& window, IterationLog& log) override {
    if (window.setting == kMissSetting) return RunMisses(window, log);
    Select(std::min(window.setting, kCacheParts - 1));
    while (GroupClock::now() < window.begin) Step();
    double seconds = 0;
    RunIterations(
        window, {&seconds, 1},
        [this](std::span<double> time) {
          const std::uint64_t before = clock_.now();
          Step();
          time[0] = clock_.SecondsBetween(before, clock_.now()).value_or(0) /
                    static_cast<double>(kStepsAtOnce * kChains);
        },
        log);
  }

 private:
  void RunMisses(const Window& window, IterationLog& log) {
    if (!FlushFromCaches(std::as_bytes(SmallChain(0)))) {
      std::this_thread::sleep_until(window.end);
      return;
    }
    Select(1);
    left_ = 0;
    const std::size_t steps = std::min(kStepsAtOnce, chain_lines_);
    double seconds = 0;
    RunIterations(
        window, {&seconds, 1},
        [this, steps](std::span<double> time) {
          if (left_ < steps) {
            FlushFromCaches(std::as_bytes(lines_.part(0, chain_lines_ * kChains)));
            Enter();
          }
          const std::uint64_t before = clock_.now();
          Follow(steps);
          left_ -= steps;
          time[0] = clock_.SecondsBetween(before, clock_.now()).value_or(0) /
                    static_cast<double>(steps * kChains);
        },
        log);
  }

  std::span<Line> ChainOf(std::size_t block, std::size_t chain) const {
    return lines_.part((block * kChains + chain) * chain_lines_, chain_lines_);
  }
  std::span<Line> SmallChain(std::size_t chain) const {
    constexpr std::size_t kEach = kSmallLines / kChains;
    return lines_.part(chain_lines_ * kChains * (kCacheParts - 1) + chain * kEach, kEach);
  }

  void Select(std::size_t blocks) {
    blocks_ = blocks;
    block_ = 0;
    Enter();
  }

  void Enter() {
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      at_[chain] = blocks_ == 0 ? SmallChain(chain).data() : ChainOf(block_, chain).data();
    }
    left_ = blocks_ == 0 ? kStepsAtOnce : chain_lines_;
  }

  void Step() {
    for (std::size_t steps = kStepsAtOnce; steps > 0;) {
      const std::size_t now = std::min(steps, left_);
      Follow(now);
      steps -= now;
      left_ -= now;
      if (left_ > 0) continue;
      block_ = blocks_ == 0 ? 0 : (block_ + 1) % blocks_;
      Enter();
    }
  }

  void Follow(std::size_t steps) {
    std::array<Line*, kChains> at = at_;
    for (std::size_t i = 0; i < steps; ++i) {
      for (Line*& line : at) line = line->next;
    }
    at_ = at;
    asm volatile("" : : "g"(at_.data()) : "memory");  // keeps the loads
  }

  std::size_t chain_lines_;
  Lines lines_;
  TickClock clock_ = BestClock();
  std::size_t blocks_ = 0;  // that it occupies
  std::size_t block_ = 0;   // in which it is
  std::size_t left_ = 0;    // steps in this block
  std::array<Line*, kChains> at_ = {};
  double iteration_seconds_ = 0;
};

}  // namespace

std::size_t OccupiedBytes(std::size_t cache_bytes, std::size_t setting) {
  const std::size_t chain = cache_bytes / kCacheParts / kChains / sizeof(Line);
  return setting * chain * kChains * sizeof(Line);
}

std::optional<double> HeldShare(std::optional<double> access, std::optional<double> hit,
                                std::optional<double> miss) {
  constexpr double kClearly = 1.5;
  if (!access || !hit || !miss || !(*hit > 0) || *miss < kClearly * *hit) return std::nullopt;
  return std::clamp((*miss - *access) / (*miss - *hit), 0.0, 1.0);
}

double OccupantLead(std::size_t occupied_bytes) {
  constexpr double kWakeSeconds = 0.005;
  constexpr double kAccessSeconds = 50e-9;  // from DRAM, with four at once: more than it takes
  const std::size_t lines = occupied_bytes / sizeof(Line);
  return kWakeSeconds + static_cast<double>(lines) * kAccessSeconds;
}

std::unique_ptr<Member> MakeOccupantMember(std::size_t cache_bytes) {
  const auto memory = static_cast<std::size_t>(std::max<std::int64_t>(AvailableMemory(), 0));
  if (cache_bytes / kCacheParts / kChains < sizeof(Line) || cache_bytes > memory / 2) {
    throw InputError(
        fmt::format("a cache of {} MiB cannot be occupied with {} MiB of free memory: free some",
                    cache_bytes >> 20, memory >> 20));
  }
  return std::make_unique<OccupantMember>(cache_bytes);
}

}  // namespace topdnn
