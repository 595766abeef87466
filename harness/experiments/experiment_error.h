// The error of an experiment that cannot run.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_EXPERIMENT_ERROR_H_
#define TOPDNN_HARNESS_EXPERIMENTS_EXPERIMENT_ERROR_H_

#include <stdexcept>

namespace topdnn {

// The system refuses what an experiment needs. The message is one line.
class ExperimentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_EXPERIMENT_ERROR_H_
