// The best rates that this machine has reached, kept from run to run. They reveal a neighbour that
// is active during a whole run and so slows everything equally.

#ifndef TOPDNN_HARNESS_USER_CACHE_REMEMBERED_BEST_H_
#define TOPDNN_HARNESS_USER_CACHE_REMEMBERED_BEST_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/cpu.h"
#include "harness/machine/isa.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/quiet.h"
#include "harness/user_cache/cache_folder.h"

namespace topdnn {

struct RememberedRate {
  // Confirmed by a second run, or higher than such a rate by a small gain (kMaxGain).
  std::optional<double> best;
  // Reached by one run and not yet confirmed.
  std::optional<double> unconfirmed;

  bool operator==(const RememberedRate&) const = default;
};

// By name and width: "fma/avx512/f32/l1/t2", "quiet/flops/t2".
using RememberedBest = std::map<std::string, RememberedRate>;

// A rate to remember; `noise` is the share by which it differs from run to run on a quiet machine.
struct RateSeen {
  std::string name;
  double rate = 0;
  double noise = 0;
};

// The relative difference between two runs on a quiet machine, for resources of one core. For
// memory it is kMemoryNoise (quiet.h).
inline constexpr double kRunNoise = 0.05;
// Below this share of the best (for memory: 1 - kMemoryNoise), other work uses the machine.
inline constexpr double kMinOfBest = 0.90;
// If two measurements of one ceiling on one machine differ by a larger factor (for memory:
// 1 + kMemoryNoise), one is wrong.
inline constexpr double kMaxGain = 1.10;

// The rates of the ceilings whose verdict is OK, excluding latencies, and of a reading of the quiet
// check on this many threads.
std::vector<RateSeen> RatesOf(const std::vector<Ceiling>& ceilings);
std::vector<RateSeen> RatesOf(const QuietReading& reading, int threads);

// Raises the best rates. A first rate, and a rate above the best by more than that factor (see
// kMaxGain), is unconfirmed until another run agrees within the noise; then the lower of the two is
// the best. So a single wrong value does not affect every later run. Pure.
void Remember(const std::vector<RateSeen>& seen, RememberedBest& known);

// Why the ceiling cannot be this machine's best: "the machine reaches 71 % of its own best since it
// was started (...)"; empty if it can be, or if nothing is remembered. Pure.
std::string JudgeAgainstBest(const Ceiling& ceiling, const RememberedBest& known);
// Marks each measured ceiling with such a reason as DEGRADED. Pure.
void MarkAgainstBest(const RememberedBest& known, std::vector<Ceiling>& ceilings);
// The remembered reading for a quiet check on this many threads (QuietRatio).
QuietReading BestQuietReading(const RememberedBest& known, int threads);

// The conditions on which a rate depends: CPU, ISAs, hypervisor, allowed CPUs, library versions (in
// the caller's words) and this boot, since a virtual machine may run on another host after a
// reboot.
std::string MachineKey(const Cpu& cpu, const std::vector<IsaVerdict>& isas,
                       const std::vector<int>& allowed, const std::string& libraries,
                       const std::string& boot_id);
// The key of this machine now.
std::string ThisMachineKey(const std::string& libraries);

// The file's entries for that machine; empty if it cannot be read.
RememberedBest ReadRememberedBest(const CacheFolder& folder, const std::string& machine_key);
// Adds to the file, keeping what other processes add meanwhile. Returns an empty string, or one
// line that says why nothing is stored. The file keeps the 16 most recent machines.
std::string UpdateRememberedBest(const CacheFolder& folder, const std::string& machine_key,
                                 const std::vector<RateSeen>& seen);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_USER_CACHE_REMEMBERED_BEST_H_
