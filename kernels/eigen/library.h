// Which library of Eigen code serves a request, and the thread pools that its kernels share.

#ifndef TOPDNN_KERNELS_EIGEN_LIBRARY_H_
#define TOPDNN_KERNELS_EIGEN_LIBRARY_H_

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "kernels/eigen/functions.h"
#include "kernels/kernel.h"

namespace topdnn::eigen {

// What multiplies packed panels inside a contraction: Eigen's own gebp, or, as in TensorFlow, a
// single-threaded oneDNN sgemm.
enum class Variant { kGebp, kSgemm };

// The functions of `variant` compiled for `isa` ("sse2", "avx2", "avx512"), or for the widest ISA
// that this CPU has when it is empty. The library is loaded from the program's folder or the one
// above, once, and stays.
std::variant<const Functions*, Refusal> FindFunctions(Variant variant, std::string_view isa);

// The pool of `threads` threads, shared by all kernels of these functions and this width that are
// prepared at a time; the last one to go ends its threads.
std::shared_ptr<Pool> SharePool(const Functions& functions, int threads);

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_LIBRARY_H_
