// Addition, and functions of one and two tensors, in f32 as vectorised loops.

#include "kernels/eltwise/loops.h"

#include <algorithm>

#include "kernels/eltwise/add.h"
#include "kernels/eltwise/gate_gradients.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"

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

KernelOrRefusal MakeLoopsBinary(const KernelRequest& request) {
  if (request.execution.pass != Pass::kForward) return MakeGateGradients(request);
  return MakeOmpRange<BinaryLoop>(request);
}

const KernelRegistration kLoopsAdd("add", "native", MakeLoops<AddOp, AddLoops>);
const KernelRegistration kLoopsBinary("binary", "native", MakeLoopsBinary);
const KernelRegistration kLoopsUnary("unary", "native", MakeOmpRange<UnaryLoop>);
const FidelityDeclaration kLoopsFidelity[] = {
    FidelityDeclaration({"add", "native", Fidelity::kOurs,
                         "one loop; Caffe calls axpy for each source", "layers/eltwise_layer.cpp"}),
    FidelityDeclaration({"binary", "native", Fidelity::kOurs,
                         "loops over rows on all threads; Caffe has products and maxima of equal "
                         "shapes, on one thread",
                         "layers/eltwise_layer.cpp"}),
    FidelityDeclaration({"unary", "native", Fidelity::kOurs,
                         "one loop for each function on all threads; Caffe has a layer for some of "
                         "them (exp, log, power, absval), on one thread",
                         "layers/exp_layer.cpp"}),
};

}  // namespace

BroadcastPlaces::BroadcastPlaces(const Shape& from, const Shape& dst) : extents_(dst.extents()) {
  strides_.assign(extents_.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t d = extents_.size(); d-- > 0;) {
    const std::int64_t extent = from[static_cast<int>(d)];
    if (extent != 1) strides_[d] = stride;
    stride *= extent;
  }
  for (std::size_t d = extents_.size(); d-- > 0;) {
    if (extents_[d] == 1) continue;
    step_ = strides_[d];
    break;
  }
}

std::int64_t BroadcastPlaces::Of(std::int64_t i) const {
  std::int64_t place = 0;
  for (std::size_t d = extents_.size(); d-- > 0;) {
    place += i % extents_[d] * strides_[d];
    i /= extents_[d];
  }
  return place;
}

std::int64_t BinaryLoop::RowLength(const BinaryOp& op) {
  std::int64_t length = 1;
  bool whole_first = false, whole_second = false;
  for (int d = op.dst().rank() - 1; d >= 0; --d) {
    const std::int64_t extent = op.dst()[d];
    if (extent == 1) continue;
    const bool first = op.first()[d] == extent, second = op.second()[d] == extent;
    if (length > 1 && (first != whole_first || second != whole_second)) break;
    whole_first = first;
    whole_second = second;
    length *= extent;
  }
  return length;
}

void BinaryLoop::Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
  for (std::int64_t at = first; at < end;) {
    const std::int64_t n = std::min(end - at, row_ - at % row_);
    op_.function().values(data[0] + first_.Of(at), first_.step(), data[1] + second_.Of(at),
                          second_.step(), n, data[2] + at);
    at += n;
  }
}

}  // namespace topdnn
