// A step that is fed by its input pipeline, divided into the time it waits for the input, its own
// computing, and the rest. The parts of each step are consecutive, so they sum to the step.

#ifndef TOPDNN_HARNESS_RESULTS_FED_STEP_H_
#define TOPDNN_HARNESS_RESULTS_FED_STEP_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/statistics/interval.h"
#include "harness/statistics/summary.h"

namespace topdnn {

// The times of the parts of one step, in seconds.
struct FedStepTimes {
  double input_wait = 0, compute = 0, other = 0;
};

// The times of one part, over all steps.
struct StepPart {
  double mean = 0;               // seconds; the means of the parts sum to the step's mean
  std::optional<Interval> ci95;  // of the median; absent below 6 steps
  Summary seconds;
};

struct FedStep {
  std::string source;               // the data set
  int prefetch = 0;                 // batches prepared ahead; 0: by the computing thread itself
  int loaders = 0;                  // loader threads
  std::string augmentation;         // "crop,flip"; or empty
  std::string placement;            // "shared", "private"
  std::vector<FedStepTimes> times;  // of the steps, in their order
  StepPart step = {}, compute = {}, input_wait = {}, other = {};
};

// Sets the four parts from the times. Throws std::invalid_argument for no steps.
void Summarize(FedStep& step);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESULTS_FED_STEP_H_
