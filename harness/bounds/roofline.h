// The position of a region under this machine's measured roofs.
//
// It uses two intensities: operations per byte between core and L1, which are counted exactly (the
// cache-aware roofline: Ilic, Pratas, Sousa, IEEE Computer Architecture Letters 13(1), 2014), and
// operations per byte that must come from memory at least once (the original one: Williams,
// Waterman, Patterson, CACM 52(4), 2009).

#ifndef TOPDNN_HARNESS_BOUNDS_ROOFLINE_H_
#define TOPDNN_HARNESS_BOUNDS_ROOFLINE_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/probes/ceilings.h"

namespace topdnn {

struct Roof {
  std::string name;  // of the ceiling
  double value = 0;  // FLOP/s or B/s of all threads
};

struct Roofline {
  double flops = 0;      // of one run
  bool counted = false;  // as executed; otherwise as the definition has them
  double seconds = 0;
  std::optional<double> l1_bytes;    // loaded and stored, as executed
  std::optional<double> dram_bytes;  // compulsory: each operand once
  std::optional<Roof> compute, l1, dram;

  double flops_per_second() const { return flops / seconds; }
  std::optional<double> l1_intensity() const;    // FLOP/B
  std::optional<double> dram_intensity() const;  // FLOP/B
  // The lowest of the roofs at these intensities, in FLOP/s, under the ceiling's name. The roof of
  // memory applies only if the bytes do not fit the last cache: see `dram_applies`.
  std::optional<Roof> attainable() const;
  // The lowest of the roofs that are known.
  std::optional<Roof> lowest_known() const;
  bool dram_applies = true;
  // A roof that applies has no valid ceiling, so the lowest of the others may not be the lowest:
  // there is none.
  bool withheld = false;
};

// The bandwidth roof of a level ("l1", "dram"): the fastest of its probes. The ceilings are all of
// one number of threads.
std::optional<Roof> BandwidthRoof(const std::vector<Ceiling>& ceilings, const std::string& level);

nlohmann::ordered_json ToJson(const Roofline& roofline);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_BOUNDS_ROOFLINE_H_
