// What one core does in a cycle at best, measured: the ceilings of Top-Down bounds. A data sheet
// does not know what a hypervisor's core shares with its sibling, and static models were wrong
// about multiply-adds of 512 bits.

#ifndef TOPDNN_HARNESS_PROBES_CORE_RATES_H_
#define TOPDNN_HARNESS_PROBES_CORE_RATES_H_

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "harness/exact/counts.h"

namespace topdnn {

// Per cycle of each thread, with all threads of the team at work. Absent: not measured here.
struct CoreRates {
  int threads = 1;
  std::optional<double> slots;  // instructions issued
  // Floating-point operations as FP_ARITH_INST_RETIRED counts them (a multiply-add is 2, whatever
  // its lanes), by width; scalars are taken to be as fast as 128 bits.
  std::array<std::optional<double>, kFpWidths> fp;
  std::optional<double> loads, stores, memory_operations;  // instructions
  std::optional<double> load_bytes, store_bytes;
  std::optional<double> taken_branches;
  std::optional<double> mispredict_cycles;  // cycles that one costs
  // Latency of a load from L1 and, after it, of a multiply-add: the cycles of a chain's link.
  std::optional<double> link_cycles;
};

// Takes about 0.1 s. Without a clock of the core (an architecture whose chain is not known) every
// rate is absent.
CoreRates MeasureCoreRates(int threads);

// An object with a member for each rate, null where it is absent, and back. What is no such object
// throws nlohmann::json::exception.
nlohmann::ordered_json ToJson(const CoreRates& rates);
CoreRates CoreRatesFromJson(const nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_CORE_RATES_H_
