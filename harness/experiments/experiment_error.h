// The error of an experiment that cannot run.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_EXPERIMENT_ERROR_H_
#define TOPDNN_HARNESS_EXPERIMENTS_EXPERIMENT_ERROR_H_

#include "harness/text/errors.h"

namespace topdnn {

// The system refuses what an experiment needs. The message is one line.
class ExperimentError : public RunFailure {
 public:
  using RunFailure::RunFailure;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_EXPERIMENT_ERROR_H_
