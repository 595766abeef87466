// The highest rates of one core per cycle, measured on this machine. A neighbour makes the rates
// too low and the costs too high, so each has the spread of its windows. Top-Down bounds use them
// to check that the machine was undisturbed, and for bounds that a disturbance can only widen.

#ifndef TOPDNN_HARNESS_PROBES_CORE_RATES_H_
#define TOPDNN_HARNESS_PROBES_CORE_RATES_H_

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "harness/exact/instructions/counts.h"

namespace topdnn {

// Per cycle of each thread, while all threads of the team work. Absent: not measured.
struct CoreRates {
  int threads = 1;
  int threads_per_core = 1;
  std::optional<double> slots;  // instructions issued
  // Floating-point operations by width, counted as in FP_ARITH_INST_RETIRED (a multiply-add is 2,
  // independent of its lanes). Scalars are assumed to be as fast as 128 bits.
  std::array<std::optional<double>, kFpWidths> fp;
  std::optional<double> loads, stores;      // instructions
  std::optional<double> mispredict_cycles;  // cycles that a misprediction costs
  // Latency of a load from L1 followed by a multiply-add: the cycles of one link of a chain.
  std::optional<double> link_cycles;
  // Relative spread of the windows of each rate, by its name in the JSON ("slots", "fp/256", ...).
  // Empty: not known (recorded by an earlier version).
  std::map<std::string, double> spreads;
};

// Takes about 0.1 s. Every rate is absent if the core's clock cannot be measured (no clock chain
// for this architecture).
CoreRates MeasureCoreRates(int threads);

// Combines the rates before and after a run: the higher rate, the lower cost, and the widest
// spread, including the difference of the two. Absent if either is. Pure.
CoreRates Joined(const CoreRates& before, const CoreRates& after);

// Converts to and from an object with a member for each rate, null if absent; the spreads may be
// missing. Throws nlohmann::json::exception for other JSON.
nlohmann::ordered_json ToJson(const CoreRates& rates);
CoreRates CoreRatesFromJson(const nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_CORE_RATES_H_
