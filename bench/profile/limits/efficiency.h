// Efficiency as papers on accelerators report it: the multiply-accumulates of a network's
// definition, two operations each, divided by the time of a whole inference step and by the
// machine's ceiling.

#ifndef TOPDNN_BENCH_PROFILE_LIMITS_EFFICIENCY_H_
#define TOPDNN_BENCH_PROFILE_LIMITS_EFFICIENCY_H_

#include <optional>
#include <string>
#include <string_view>

#include "harness/results/record.h"
#include "networks/plan/plan.h"

namespace topdnn {

struct Efficiency {
  double operations = 0;  // per step: 2 x multiply-accumulates of convolutions and dense layers
  double seconds = 0;     // of the step, median
  double ceiling = 0;     // operations per second
  std::string ceiling_name;
  double images_per_second = 0;

  double Rate() const { return operations / seconds; }
  // May be above 1 where an algorithm (Winograd) or a kernel (padding) skips defined operations.
  double Share() const { return Rate() / ceiling; }
};

// Absent if the report lacks the step's time, its ceiling or the number of images.
std::optional<Efficiency> EfficiencyOf(const Plan& plan, const Report& report);

// What an accelerator's paper claims for a network.
struct PublishedEfficiency {
  std::string_view network;
  double operations_per_second;
  double peak_operations_per_second;
  std::string_view source;

  double Share() const { return operations_per_second / peak_operations_per_second; }
};

// For a name with a variant ("NETWORK:VARIANT"), the figures of NETWORK. Absent for a network that
// the paper does not list.
std::optional<PublishedEfficiency> PublishedFor(std::string_view full_name);

// "efficiency: 8.18 G operations (2 x the multiply-accumulates as defined) in 10.1 ms are 810
// Gops/s, 81.2 % of 997 Gops/s (CEILING)", followed by the published figures, if there are any.
std::string EfficiencyNote(std::string_view network, const Efficiency& efficiency);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_LIMITS_EFFICIENCY_H_
