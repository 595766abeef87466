// Which CPUs a job of a given width gets. Pure.

#ifndef TOPDNN_HARNESS_SCHEDULING_CPU_ASSIGNMENT_H_
#define TOPDNN_HARNESS_SCHEDULING_CPU_ASSIGNMENT_H_

#include <span>
#include <vector>

#include "harness/scheduling/policies.h"

namespace topdnn {

struct CpuClaim {
  JobWidth wanted;
  std::vector<int> now;  // the CPUs that the job has
};

// The CPUs of each claim, as many as its width. A job with a part gets CPUs of that part, which has
// `part_width` CPUs. Another job keeps CPUs that it has, then gets free ones in the order of
// `available`; if there are too few, it gets CPUs that the fewest jobs have. A width above the
// number of CPUs gets all of them.
std::vector<std::vector<int>> AssignCpus(std::span<const int> available, int part_width,
                                         std::span<const CpuClaim> claims);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SCHEDULING_CPU_ASSIGNMENT_H_
