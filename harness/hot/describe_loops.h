// Turns counted blocks into the loops that a report shows, and judges what binds them.

#ifndef TOPDNN_HARNESS_HOT_DESCRIBE_LOOPS_H_
#define TOPDNN_HARNESS_HOT_DESCRIBE_LOOPS_H_

#include <cstddef>
#include <string>

#include "harness/hot/code_place.h"
#include "harness/hot/executed_code.h"
#include "harness/hot/form_costs.h"
#include "harness/hot/hot_loops.h"

namespace topdnn {

// One example of each instruction form that executes a relevant share of the code.
void AddFormExamples(const ExecutedCode& code, FormExamples& examples);

struct LoopDetail {
  std::size_t loops = 0;  // that get a listing
  std::size_t lines = 0;  // of each listing
};

// Without measured costs (dispatch_width 0) no cycles are modelled; `why_no_costs` says why.
HotLoops DescribeLoops(const ExecutedCode& code, const FormCosts& costs,
                       const std::string& why_no_costs, CodePlaces& places,
                       const LoopDetail& detail);

// What the model's cycles are compared with.
struct MeasuredCycles {
  double cycles = 0;        // of all threads together
  bool data_in_l1 = false;  // measured so (experiment `core`); otherwise waiting for data is in it
};

// The largest difference, relative to the measured cycles, at which the model may name a binding.
inline constexpr double kModelAgrees = 0.10;

// Names what binds the region and its loops, if the model agrees with the measurement; otherwise
// gives the reason: "latency or front end: ...".
void JudgeBindings(const MeasuredCycles& measured, HotLoops& hot);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_DESCRIBE_LOOPS_H_
