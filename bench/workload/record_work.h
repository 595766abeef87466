// What a kernel's work is by its definition, in the terms of a record.

#ifndef TOPDNN_BENCH_WORKLOAD_RECORD_WORK_H_
#define TOPDNN_BENCH_WORKLOAD_RECORD_WORK_H_

#include "harness/results/record.h"
#include "kernels/op/op.h"

namespace topdnn {

// Sets the analytic figures. Without operations the record has no FLOPs, instead of 0.
inline void SetWork(const Work& work, Record& record) {
  if (work.flops > 0) {
    record.flops = static_cast<double>(work.flops);
    record.flops_without_padding = static_cast<double>(work.flops_without_padding);
  }
  record.bytes = static_cast<double>(work.bytes);
}

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_RECORD_WORK_H_
