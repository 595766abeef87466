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

// A pace below this share of the full one is slow. Readings of a core that nothing else used had 94
// to 100 % of the highest (a virtual machine on Zen 3, 150,000 readings), those of a shared one 40
// to 70 %.
inline constexpr double kMinPace = 0.94;

// Whether the cores are undisturbed at this moment, in a few microseconds and without memory: the
// pace at which each thread of the team issues instructions. Another machine on the other hardware
// thread of a core takes about half of it, for some milliseconds at a time, and no account of this
// machine shows that. A core at its full clock issues as fast as it can, so undisturbed readings
// hardly scatter.
class CorePace {
 public:
  explicit CorePace(int threads);

  // Whether there is a probe for this architecture, and OpenMP gives this many threads.
  bool works() const { return iterations_ > 0; }
  // Instructions per second, all threads at the pace of the slowest one. Does not allocate.
  double Read() noexcept;
  // The highest reading of teams of this width so far, in this process.
  double full() const { return full_->load(std::memory_order_relaxed); }
  // Whether a reading is below kMinPace of that.
  bool IsSlow(double pace) const { return pace < kMinPace * full(); }
  // The median time of a reading.
  double cost_seconds() const { return cost_seconds_; }

 private:
  struct Member {
    std::unique_ptr<ProbeBuffers> buffers;
    double seconds = 0;
    std::byte apart[128] = {};  // keeps two threads in separate cache lines
  };

  const Probe* probe_;
  TickClock clock_;
  std::atomic<double>* full_;
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

  int undisturbed() const { return undisturbed_; }
  // The kept values and the shares on a CPU: of the undisturbed windows, or of all if fewer than
  // `least` are undisturbed.
  struct Kept {
    std::vector<double> values, on_cpu;
  };
  Kept Take(int least) const;

 private:
  ProbeTeam& team_;
  CorePace pace_;
  Kept all_;
  std::vector<bool> quiet_;
  double slower_ = 0;  // pace around the last window
  int undisturbed_ = 0;
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
