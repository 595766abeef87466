// What one core does in a cycle at best, as measured here. A neighbour makes these rates too low
// and the costs too high, so each has the spread of its windows. Top-Down bounds use them as
// witnesses of an undisturbed machine, and for ends that a disturbance only moves outwards.

#ifndef TOPDNN_HARNESS_PROBES_CORE_RATES_H_
#define TOPDNN_HARNESS_PROBES_CORE_RATES_H_

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "harness/exact/counts.h"

namespace topdnn {

// Per cycle of each thread, with all threads of the team at work. Absent: not measured here.
struct CoreRates {
  int threads = 1;
  std::optional<double> slots;  // instructions issued
  // Floating-point operations as FP_ARITH_INST_RETIRED counts them (a multiply-add is 2, whatever
  // its lanes), by width; scalars are taken to be as fast as 128 bits.
  std::array<std::optional<double>, kFpWidths> fp;
  std::optional<double> loads, stores;      // instructions
  std::optional<double> mispredict_cycles;  // cycles that one costs
  // Latency of a load from L1 and, after it, of a multiply-add: the cycles of a chain's link.
  std::optional<double> link_cycles;
  // By the names in the JSON ("slots", "fp/256", ...): how far the windows of each rate lay apart,
  // as a share of the best. Empty: not known (recorded by an earlier version).
  std::map<std::string, double> spreads;
};

// Takes about 0.1 s. Without a clock of the core (an architecture whose chain is not known) every
// rate is absent.
CoreRates MeasureCoreRates(int threads);

// One set of rates from those before and after a run: the higher of two rates, the lower of two
// costs, and the widest spread, what they differ by included. Absent where either is. Pure.
CoreRates Joined(const CoreRates& before, const CoreRates& after);

// An object with a member for each rate, null where it is absent, and back; the spreads may be
// missing. Throws nlohmann::json::exception for any other JSON.
nlohmann::ordered_json ToJson(const CoreRates& rates);
CoreRates CoreRatesFromJson(const nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_CORE_RATES_H_
