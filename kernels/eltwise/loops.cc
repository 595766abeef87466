// Addition, and functions of one tensor, in f32 as vectorised loops.

#include "kernels/eltwise/loops.h"

#include <algorithm>

#include "kernels/eltwise/add.h"
#include "kernels/fidelity.h"
#include "kernels/omp_loops.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class AddLoops : public LoopsKernel {
 public:
  AddLoops(const KernelRequest& request, const AddOp& op)
      : LoopsKernel(request), n_(op.shape().elements()), sources_(op.sources()), relu_(op.relu()) {}

  // Works in pieces that stay in the first-level cache while the sources are added one after the
  // other.
  void Run() noexcept override {
    constexpr std::int64_t kPiece = 2048;
#pragma omp parallel for if (n_ * sources_ >= kMinParallelElements)
    for (std::int64_t at = 0; at < n_; at += kPiece) {
      const std::int64_t count = std::min(kPiece, n_ - at);
      float* dst = Data<float>(Arg::kDst) + at;
      AddPair(Indexed<float>(0) + at, Indexed<float>(1) + at, count, dst);
      for (int s = 2; s < sources_; ++s) {
        AddPair(dst, Indexed<float>(s) + at, count, dst);
      }
      if (relu_) Relu(count, dst);
    }
  }

 private:
  static void AddPair(const float* a, const float* b, std::int64_t count, float* sum) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
  }

  static void Relu(std::int64_t count, float* values) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) values[i] = values[i] < 0.0F ? 0.0F : values[i];
  }

  const std::int64_t n_;
  const int sources_;
  const bool relu_;
};

const KernelRegistration kAdd("add", "openblas", MakeLoops<AddOp, AddLoops>);
const KernelRegistration kUnary("unary", "openblas", MakeOmpRange<UnaryLoop>);
const FidelityDeclaration kFidelity[] = {
    FidelityDeclaration({"add", "openblas", Fidelity::kOurs,
                         "one loop; Caffe calls axpy for each source", "layers/eltwise_layer.cpp"}),
    FidelityDeclaration({"unary", "openblas", Fidelity::kOurs,
                         "one loop for each function; Caffe has a layer for some of them"}),
};

}  // namespace

}  // namespace topdnn
