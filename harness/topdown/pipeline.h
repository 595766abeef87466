// What a core's pipeline holds and handles at most, from the vendors' manuals. Bounds without a PMU
// divide by these, because a rate that is measured beside a neighbour is too low.

#ifndef TOPDNN_HARNESS_TOPDOWN_PIPELINE_H_
#define TOPDNN_HARNESS_TOPDOWN_PIPELINE_H_

#include <string_view>

namespace topdnn {

// 0: not known, or not needed.
struct CorePipeline {
  int slots = 0;           // a cycle: what every Top-Down fraction is a fraction of
  int reorder_buffer = 0;  // micro-ops in flight
  int op_cache = 0;        // micro-ops
  // Floating-point operations a cycle, as FP_ARITH_INST_RETIRED counts them: a multiply-add is 2,
  // an addition 1, whatever their lanes. For vectors of up to 256 bits, and of 512.
  int fp_256 = 0, fp_512 = 0;
  std::string_view source;  // of these figures: a literal
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_PIPELINE_H_
