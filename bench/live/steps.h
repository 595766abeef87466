// Finds the steps of a program in the sequence of its primitives: the part that is repeated.

#ifndef TOPDNN_BENCH_LIVE_STEPS_H_
#define TOPDNN_BENCH_LIVE_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace topdnn {

struct FoundSteps {
  std::size_t length = 0;           // primitives of a step; 0: nothing repeats
  std::vector<std::size_t> begins;  // the first primitive of each step, ascending
};

// Pure. `rows` names the primitive of each execution. The length is the smallest one whose
// repetitions cover nearly as many primitives as those of any other length; of the repeated part,
// the steps are all occurrences, so an evaluation between two of them does no harm. Layers that are
// repeated inside a step cover less than the step does.
FoundSteps FindSteps(std::span<const std::uint32_t> rows);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LIVE_STEPS_H_
