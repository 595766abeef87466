// The table of functions that this library exports (kernels/eigen/functions.h). Each file of this
// folder fills the entries of its functions:
//
//   const Entry kAddBias(&Functions::add_bias, AddBias);

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_TABLE_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_TABLE_H_

#include <type_traits>

#include "kernels/eigen/functions.h"

namespace topdnn::eigen {

// Complete when the library is loaded.
extern Functions table;

// From set_failure_recorder; any thread may call it while a kernel runs.
extern FailureRecorder record_failure;

class Entry {
 public:
  template <typename Value>
  Entry(Value Functions::*entry, std::type_identity_t<Value> value) {
    table.*entry = value;
  }
};

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_TABLE_H_
