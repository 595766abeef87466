// The best that this machine has been seen to reach, kept from run to run: what shows a neighbour
// that is there from the beginning of a run to its end, and so slows everything alike.

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
  std::optional<double> best;  // reached, and confirmed by a second run
  // One run reached this, which nothing has confirmed yet.
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

// What two runs on a quiet machine differ by: for what a core has to itself, and for memory.
inline constexpr double kRunNoise = 0.05;
// Below this share of the best (memory's: 1 - kMemoryNoise) something takes from the machine.
inline constexpr double kLeastOfBest = 0.90;
// Two measurements of one ceiling, on one machine, do not differ by more unless one is wrong.
inline constexpr double kMostGain = 1.10;

// The rates of the ceilings whose verdict is OK, latencies left out, and of a reading of the quiet
// check on so many threads.
std::vector<RateSeen> RatesOf(const std::vector<Ceiling>& ceilings);
std::vector<RateSeen> RatesOf(const QuietReading& reading, int threads);

// Keeps the highest rates. A first one, and one that exceeds the best by more than kMostGain, waits
// as unconfirmed until another run agrees within the noise, so that one absurd value is forgotten
// and not held against every later run. Pure.
void Remember(const std::vector<RateSeen>& seen, RememberedBest& known);

// Why the ceiling cannot be this machine's best: "the machine reaches 71 % of its own best (...)";
// empty when it is, or when nothing is remembered. Pure.
std::string JudgeAgainstBest(const Ceiling& ceiling, const RememberedBest& known);
// Marks each measured ceiling of which that says something DEGRADED. Pure.
void MarkAgainstBest(const RememberedBest& known, std::vector<Ceiling>& ceilings);
// The remembered reading to hold a quiet check on so many threads against (QuietRatio).
QuietReading BestQuietReading(const RememberedBest& known, int threads);

// What a rate depends on: CPU, ISAs, hypervisor, the CPUs allowed, the library versions (as the
// caller words them) and this boot, after which the same virtual machine may live on another host.
std::string MachineKey(const Cpu& cpu, const std::vector<IsaVerdict>& isas,
                       const std::vector<int>& allowed, const std::string& libraries,
                       const std::string& boot_id);
// Of this machine, here and now.
std::string ThisMachineKey(const std::string& libraries);

// What the file remembers of that machine; nothing when it cannot be read.
RememberedBest ReadRememberedBest(const CacheFolder& folder, const std::string& machine_key);
// Remembers, in the file, beside what other processes add meanwhile. Returns an empty string, or in
// one line why nothing is kept. The file keeps the 16 machines that were seen last.
std::string UpdateRememberedBest(const CacheFolder& folder, const std::string& machine_key,
                                 const std::vector<RateSeen>& seen);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_USER_CACHE_REMEMBERED_BEST_H_
