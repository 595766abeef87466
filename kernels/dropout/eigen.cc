// Dropout on the threads of Eigen's pool. TensorFlow draws its random numbers on such a pool too.

#include "kernels/dropout/loops.h"
#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"

namespace topdnn {

namespace {

RangeRunner OnPool(const eigen::Functions& functions, int threads) {
  return [&functions, pool = eigen::SharePool(functions, threads)](
             std::int64_t blocks, const std::function<void(std::int64_t, std::int64_t)>& body) {
    constexpr double kBytes = 36;   // of four elements: f32 in and out, and one byte of mask each
    constexpr double kCycles = 40;  // about the cost of drawing four numbers
    functions.for_ranges(
        pool.get(), blocks, kBytes, kCycles,
        [](const void* context, std::int64_t first, std::int64_t end) {
          (*static_cast<const std::function<void(std::int64_t, std::int64_t)>*>(context))(first,
                                                                                          end);
        },
        &body);
  };
}

KernelOrRefusal MakeEigenDropout(const eigen::Functions& functions, KernelRequest& request) {
  return MakeDropoutLoops(
      request, [&functions, threads = request.threads] { return OnPool(functions, threads); });
}

const eigen::Registration kDropoutEigen("dropout", MakeEigenDropout);
const FidelityDeclaration kDropoutEigenFidelity(
    {"dropout", "eigen", Fidelity::kOurs,
     "one loop draws, compares and multiplies on Eigen's pool, in our order of Philox's numbers; "
     "TensorFlow composes it of RandomUniform, GreaterEqual, Cast and two products",
     "tensorflow/python/ops/nn_ops.py"});

}  // namespace

}  // namespace topdnn
