// Finds the library of Eigen code that serves a request, and the thread pools that its kernels
// share.

#ifndef TOPDNN_KERNELS_EIGEN_LIBRARY_H_
#define TOPDNN_KERNELS_EIGEN_LIBRARY_H_

#include <memory>
#include <string_view>
#include <variant>

#include "kernels/eigen/functions.h"
#include "kernels/kernel/kernel.h"

namespace topdnn::eigen {

// The code that multiplies packed panels inside a contraction: Eigen's own gebp, or, as in
// TensorFlow, a single-threaded oneDNN sgemm.
enum class Variant { kGebp, kSgemm };

// The functions of `variant`, compiled for `isa` ("sse2", "avx2", "avx512"). Empty: for the widest
// ISA that this CPU supports. The library is loaded once, from the program's folder or the one
// above it, and stays loaded.
std::variant<const Functions*, Refusal> FindFunctions(Variant variant, std::string_view isa);

// The pool of `threads` threads. All prepared kernels of the same functions and width share it; its
// threads end when the last of these kernels is destroyed.
std::shared_ptr<Pool> SharePool(const Functions& functions, int threads);

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_LIBRARY_H_
