// The ranges of a network's values on given images: what a quantization needs to know.

#ifndef TOPDNN_NETWORKS_CALIBRATION_H_
#define TOPDNN_NETWORKS_CALIBRATION_H_

#include <map>
#include <memory>
#include <string>

#include "networks/plan.h"
#include "networks/quantized_graph.h"

namespace topdnn {

// Collects ranges from steps of a plan that computes each layer in a stage of its own (made with
// PlanRequest::fuse false).
class Calibration {
 public:
  // `percentile` 100: the least and the largest element of all steps. Below: the mean over the
  // steps of the range that contains this percentage of a step's elements, cut at both ends alike;
  // an end at 0 stays. The values outside it saturate, and those inside it get smaller units.
  Calibration(Plan& plan, double percentile);

  // Runs one step on what the plan's input contains. Throws std::invalid_argument for a value that
  // is not finite.
  void RunStep();

  // By the name of the layer that computes the value; the network's input is "input". Empty before
  // the first step.
  std::map<std::string, ValueRange> Ranges() const;

 private:
  struct Sum {
    double least = 0, most = 0;
  };

  void Collect(const std::string& name, BufferId buffer);

  Plan& plan_;
  double percentile_;
  int steps_ = 0;
  std::map<std::string, Sum> sums_;  // of the ranges, or with percentile 100 the range
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_CALIBRATION_H_
