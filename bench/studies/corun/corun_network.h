// A network as a member of a group of processes: its steps, stage by stage.

#ifndef TOPDNN_BENCH_STUDIES_CORUN_CORUN_NETWORK_H_
#define TOPDNN_BENCH_STUDIES_CORUN_CORUN_NETWORK_H_

#include <memory>

#include "bench/studies/corun/corun_counts.h"
#include "bench/workload/workload.h"
#include "harness/sharing/member.h"

namespace topdnn {

// Plans the network, checks every stage against the reference, warms up, and counts a step. Its
// message is a CountsMessage, and in a window of kCountedWindow it reads the PMU. Throws
// InputError for options that are not possible, and std::runtime_error for a result that
// disagrees.
std::unique_ptr<Member> MakeNetworkMember(WorkloadOptions options, bool training,
                                          const CorunCounting& counting = {});

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_CORUN_NETWORK_H_
