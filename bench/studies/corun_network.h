// A network as a member of a group of processes: its steps, stage by stage.

#ifndef TOPDNN_BENCH_STUDIES_CORUN_NETWORK_H_
#define TOPDNN_BENCH_STUDIES_CORUN_NETWORK_H_

#include <memory>

#include "bench/workload/workload.h"
#include "harness/sharing/member.h"

namespace topdnn {

// Plans the network, checks every stage against the reference, and warms up. Throws MemberRefusal
// for options that are not possible, and std::runtime_error for a result that disagrees.
std::unique_ptr<Member> MakeNetworkMember(WorkloadOptions options, bool training);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_NETWORK_H_
