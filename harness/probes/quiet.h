// Checks whether the machine is quiet: three short probes before, during and after a measurement,
// of arithmetic and clock, of issuing instructions, and of memory. All are needed: a neighbour that
// uses memory bandwidth does not slow arithmetic down, and one on the other hardware thread of the
// core takes issue slots, of which multiply-adds leave most free.

#ifndef TOPDNN_HARNESS_PROBES_QUIET_H_
#define TOPDNN_HARNESS_PROBES_QUIET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/probes/team.h"

namespace topdnn {

struct QuietReading {
  std::optional<double> flops_per_second;  // absent if no probe can run
  std::optional<double> bytes_per_second;
  std::optional<double> instructions_per_second = {};

  bool operator==(const QuietReading&) const = default;
};

class QuietCheck {
 public:
  // Allocates and fills a working set in DRAM (about 0.1 s).
  explicit QuietCheck(int threads);

  // Takes about 6 ms and empties the caches: call it before the warm-up and after the last
  // iteration, not in between. A rate is absent if the threads had no CPU for themselves.
  QuietReading Read();
  // Takes about 2.5 ms: the better of two short windows. Noisier than Read.
  QuietReading ReadBriefly();

 private:
  std::unique_ptr<ProbeTeam> fma_;
  std::unique_ptr<ProbeTeam> issue_;
  std::unique_ptr<ProbeTeam> memory_;
  double flops_ = 0;  // per iteration
  double instructions_ = 0;
  double bytes_ = 0;
};

// A pace below this share of the full one is slow. Readings of one core, or of two, that nothing
// else used had 94 to 100 % of the highest (a virtual machine on Zen 3, 150,000 readings), those of
// shared ones 40 to 70 %.
inline constexpr double kMinPace = 0.94;

// Whether the cores are undisturbed at this moment, in a few microseconds and without memory: the
// pace at which each thread of the team issues instructions. Another machine on the other hardware
// thread of a core takes about half of it, for some milliseconds at a time, and no account of this
// machine shows that. A core at its full clock issues as fast as it can, so undisturbed readings
// hardly scatter.
class CorePace {
 public:
  explicit CorePace(int threads);

  // False if there is no probe for this architecture, OpenMP gives fewer threads, a reading takes
  // over 50 us (more threads than CPUs, or threads that sleep), or multiply-adds lower the clock:
  // then a slow pace after them says nothing about others.
  bool works() const { return iterations_ > 0; }
  // Instructions per second, all threads at the pace of the slowest one. Does not allocate.
  double Read() noexcept { return PaceOf(ReadTicks()); }
  // The same in two steps: the first one computes with integers only, for code that runs where
  // floating-point arithmetic is left out (harness/exact/redirect.h).
  struct Ticks {
    std::uint64_t slowest = 0, common = 0;  // 0: no reading
  };
  Ticks ReadTicks() noexcept;
  double PaceOf(Ticks ticks) noexcept;
  // The highest pace of teams of this width that two readings had so far, in this process.
  double full() const { return state_->full.load(std::memory_order_relaxed); }
  // Whether a reading is below kMinPace of that.
  bool IsSlow(double pace) const { return pace < kMinPace * full(); }
  // The median time of a reading.
  double cost_seconds() const { return cost_seconds_; }

 private:
  // Of all teams of a width.
  struct State {
    std::atomic<double> full = 0;
    std::atomic<double> highest = 0;  // reading above `full`, not yet confirmed
    std::optional<bool> keeps_its_clock;
  };
  struct Member {
    std::unique_ptr<ProbeBuffers> buffers;
    std::uint64_t begin = 0, end = 0;
    std::byte apart[128] = {};  // keeps two threads in separate cache lines
  };

  static State& StateOf(int threads);
  bool KeepsItsClock();

  const Probe* probe_;
  TickClock clock_;
  State* state_;
  std::vector<Member> members_;
  std::int64_t iterations_ = 0;
  double cost_seconds_ = 0;
};

// The windows of a team, and which of them were undisturbed: the threads had a CPU for themselves,
// and the pace was not slow before and after.
class QuietWindows {
 public:
  QuietWindows(ProbeTeam& team, int threads) : team_(team), pace_(threads) {}

  // A window's rate (ProbeTeam::Window).
  std::optional<double> Measure();
  // Keeps a value of the last window.
  void Keep(double value);

  int undisturbed() const;
  // The kept values and the shares on a CPU: of the undisturbed windows, or of all if fewer than
  // `least` are undisturbed.
  struct Kept {
    std::vector<double> values, on_cpu;
  };
  Kept Take(int least) const;

 private:
  bool IsQuiet(std::size_t window) const;

  ProbeTeam& team_;
  CorePace pace_;
  Kept all_;
  std::vector<double> slower_;  // pace around each window
  double last_ = 0;             // around the last one
};

// The relative difference between two readings of memory's rate on a quiet virtual machine (7 to 25
// % observed). Arithmetic repeats more closely (kMinQuietRatio).
inline constexpr double kMemoryNoise = 0.30;

// The lower of the rates of arithmetic and memory as a share of the best known reading; 1:
// undisturbed. A memory loss within its noise counts as 1. Absent if neither rate can be compared.
// For races, whose candidates take turns: a neighbour on the core slows all of them down. Pure.
std::optional<double> QuietRatio(const QuietReading& best, const QuietReading& now);

// The higher of two readings, separately for each rate. Pure.
QuietReading Best(const QuietReading& a, const QuietReading& b);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_QUIET_H_
