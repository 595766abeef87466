// How a kernel relates to a framework: on `eigen` to TensorFlow 2.5 without oneDNN, and on
// `openblas` and `native`, which a plan on OpenBLAS uses together, to BVLC Caffe 1.0. A kernel's
// file declares it below the registration:
//
//   const FidelityDeclaration kAsTensorFlow({"gemm", "eigen", Fidelity::kSame, "a contraction",
//                                            "matmul_op.cc"});
//
// `topdnn kernels --fidelity` prints all declarations.

#ifndef TOPDNN_KERNELS_KERNEL_FIDELITY_H_
#define TOPDNN_KERNELS_KERNEL_FIDELITY_H_

#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

enum class Fidelity {
  kSame,  // the same algorithm, division among threads and library calls, read in `source`
  kOurs,  // our own code: `how` says what the framework does instead, read in `source`, or that it
          // has no such operation
};

struct FidelityEntry {
  std::string kind;     // "conv"
  std::string backend;  // "eigen", "openblas" or "native"
  Fidelity fidelity;
  std::string how;
  // The framework's file, below tensorflow/core/kernels/ or caffe/src/caffe/, or a path that begins
  // with tensorflow/. Empty: the framework has no such operation.
  std::string source = {};
  std::vector<Pass> passes = {};  // empty: all
};

class FidelityDeclaration {
 public:
  explicit FidelityDeclaration(FidelityEntry entry);
};

// Sorted by operation, backend and pass.
std::vector<FidelityEntry> FidelityEntries();

// "same", "ours".
std::string NameOf(Fidelity fidelity);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_FIDELITY_H_
