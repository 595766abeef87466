// `topdnn scale --predict`: weak scaling on more ranks than were measured, by a model that is
// fitted to the measured sums and compared with the measured steps.

#ifndef TOPDNN_BENCH_STUDIES_SCALE_SCALE_PREDICTION_H_
#define TOPDNN_BENCH_STUDIES_SCALE_SCALE_PREDICTION_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/ranks/allreduce_model.h"
#include "bench/ranks/transport.h"
#include "bench/studies/scale/scale_run.h"

namespace topdnn {

struct PredictedStep {
  int ranks = 2;
  double step = 0;
  double exposed = 0;
  double efficiency = 0;             // the measured step of one rank divided by `step`
  std::optional<double> measured{};  // median seconds of a step on so many ranks
  std::optional<double> error{};     // relative, of `step`
  // The same, measured on ranks that share CPUs: on CPUs of their own, a step takes at most so
  // long, and the efficiency is at least this.
  std::optional<double> step_bound{};
  std::optional<double> efficiency_bound{};
};

struct ScalePrediction {
  std::vector<AllreduceModel> models;  // the best first; empty if there is no prediction
  std::vector<AllreducePoint> points;  // that they are fitted to
  bool distinguished = false;          // whether the points distinguish the algorithms
  bool on_own_cpus = true;             // false: only ranks that share CPUs were measured
  std::vector<PredictedStep> steps;    // measured numbers of ranks, and 2, 4, ... 4096
  std::vector<std::string> assumptions;
  std::string reason;  // why there is no prediction
};

// From the groups of weak scaling, ascending, the first of one rank. The model is fitted to the
// groups whose ranks have their own CPUs, or to all groups if there are fewer than two of those.
// Pure.
ScalePrediction PredictScaling(const std::vector<GroupRun>& measured, Wire wire);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SCALE_SCALE_PREDICTION_H_
