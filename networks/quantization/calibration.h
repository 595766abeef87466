// The ranges of a network's values on given images: what a quantization needs to know.

#ifndef TOPDNN_NETWORKS_QUANTIZATION_CALIBRATION_H_
#define TOPDNN_NETWORKS_QUANTIZATION_CALIBRATION_H_

#include <map>
#include <string>

#include "networks/plan/plan.h"
#include "networks/quantization/magnitude_histogram.h"
#include "networks/quantization/quantized_graph.h"

namespace topdnn {

// How a range follows from the elements of a value. Elements outside it saturate; the smaller the
// range, the finer the steps inside it.
struct RangeRule {
  // 100: the least and the largest element of all steps. Below 100: each step has the range that
  // contains this percentage of its elements, with the same share cut at both ends (an end at 0
  // stays); the result is the mean of these ranges.
  double percentile = 100;
  // Instead: the range of the least relative entropy (networks/quantization/magnitude_histogram.h),
  // from -limit to limit, or from 0 for a value without negative elements.
  bool entropy = false;
};

// Collects ranges from steps of a plan that computes each layer in a stage of its own (made with
// PlanRequest::fuse false).
class Calibration {
 public:
  Calibration(Plan& plan, RangeRule rule);

  // Runs one step on what the plan's input contains. Throws std::invalid_argument for a value that
  // is not finite.
  void RunStep();

  // By the name of the layer that computes the value; of an input, its name. Empty before the
  // first step.
  std::map<std::string, ValueRange> Ranges() const;

 private:
  struct Sum {
    double least = 0, most = 0;
  };

  bool IsOfAllSteps() const;
  void Collect(const std::string& name, BufferId buffer);

  Plan& plan_;
  RangeRule rule_;
  int steps_ = 0;
  std::map<std::string, Sum> sums_;  // of the ranges; or the range of all steps
  std::map<std::string, MagnitudeHistogram> histograms_;  // with `entropy`
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_QUANTIZATION_CALIBRATION_H_
