// The capacities and rates of a core's pipeline, from the vendors' manuals. Bounds without a PMU
// use these, because a rate measured next to a neighbour is too low.

#ifndef TOPDNN_HARNESS_TOPDOWN_PIPELINE_H_
#define TOPDNN_HARNESS_TOPDOWN_PIPELINE_H_

#include <string_view>

namespace topdnn {

// 0: not known, or not needed.
struct CorePipeline {
  int slots = 0;           // per cycle: the denominator of every Top-Down fraction
  int reorder_buffer = 0;  // micro-ops in flight
  int op_cache = 0;        // micro-ops
  // Floating-point operations per cycle, as FP_ARITH_INST_RETIRED counts them: a multiply-add is 2
  // and an addition 1, independent of the number of lanes. For vectors of up to 256 bits, and of
  // 512.
  int fp_256 = 0, fp_512 = 0;
  // Load and store instructions per cycle, of the vector width that allows the most.
  int loads = 0, stores = 0;
  // Bytes of code whose micro-ops the micro-op cache delivers in a cycle: Skylake's, the smallest.
  int window_bytes = 32;
  // Slots of an instruction, on average over a kernel: ASSUMED. Intel's cores split one with an
  // indexed address (Agner Fog, instruction tables).
  double slots_per_instruction = 2;
  std::string_view source;  // of these figures: a literal
};

// The pipeline of a core whose PMU has no events for Top-Down, so that no table of formulas gives
// it: AMD's Zen, Zen 2 and Zen 3. No slots if it is not known.
CorePipeline PipelineWithoutEvents(std::string_view cpu);

// Whether a measured dispatch width is that of the pipeline: beside other work it is lower.
inline bool AgreesWithSlots(double width, const CorePipeline& pipeline) {
  return width > 0.9 * pipeline.slots && width < 1.1 * pipeline.slots;
}

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_PIPELINE_H_
