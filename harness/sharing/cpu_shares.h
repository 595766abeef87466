// Divides the CPUs that may be used among workloads that run at once.

#ifndef TOPDNN_HARNESS_SHARING_CPU_SHARES_H_
#define TOPDNN_HARNESS_SHARING_CPU_SHARES_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace topdnn {

struct CpuWish {
  std::vector<int> cpus;    // exactly these; empty: a share of the others
  std::size_t threads = 0;  // at least as many CPUs; 0: any number
};

struct CpuShares {
  std::vector<std::vector<int>> cpus;  // by workload
  // Whether hyperthreads of one core belong to several workloads.
  bool share_cores = false;
};

// `cores`: the allowed CPUs of each core. CPUs that a wish names are not given to workloads that
// name none. Those get whole cores, in their order; what is left over goes to those of any number,
// one core at a time. If there are too few cores, they get single CPUs: first one of each core,
// then the hyperthreads. Absent if there are too few CPUs. Pure.
std::optional<CpuShares> ShareCpus(const std::vector<std::vector<int>>& cores,
                                   std::span<const CpuWish> wishes);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_CPU_SHARES_H_
