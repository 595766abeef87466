// Concatenation in an unblocked layout as copies of rows, shared by the pool's threads.

#include <string>
#include <vector>

#include "kernels/concat/concat.h"
#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/tensor/permutation.h"

namespace topdnn {

namespace {

class ConcatEigen : public eigen::EigenKernel {
 public:
  ConcatEigen(const KernelRequest& request, const eigen::Functions& functions, const ConcatOp& op)
      : EigenKernel(request, functions, "rows") {
    // In memory order, dimensions before the axis count rows, and dimensions after it are part of a
    // row.
    const std::string& tag = operands().front().desc.layout.tag();
    const std::size_t axis = tag.find(static_cast<char>('a' + op.axis()));
    std::int64_t inner = 1;
    for (std::size_t i = 0; i < tag.size(); ++i) {
      const std::int64_t extent = op.dst_shape()[tag[i] - 'a'];
      if (i < axis) rows_ *= extent;
      if (i > axis) inner *= extent;
    }
    for (const Shape& part : op.sources()) lengths_.push_back(part[op.axis()] * inner);
    length_ = op.dst_shape()[op.axis()] * inner;
  }

 private:
  void Compute() override {
    float* whole = Data(forward() ? Arg::kDst : Arg::kDiffDst);
    int source = 0;
    for (const std::int64_t length : lengths_) {
      float* part = Indexed(source++);
      if (forward()) {
        functions().copy_rows(pool(), rows_, length, part, length, whole, length_);
      } else {
        functions().copy_rows(pool(), rows_, length, whole, length_, part, length);
      }
      whole += length;
    }
  }

  std::int64_t rows_ = 1;
  std::vector<std::int64_t> lengths_;  // length of a row, by part
  std::int64_t length_ = 0;            // length of a row of the whole tensor
};

KernelOrRefusal MakeEigenConcat(const eigen::Functions& functions, KernelRequest& request) {
  if (auto refusal = eigen::SettleOneLayout(request)) return *std::move(refusal);
  const Layout& layout = request.layouts.begin()->second;
  if (!IsUnblocked(layout)) {
    return Refusal{"eigen concatenates in unblocked layouts only, not in " + layout.tag()};
  }
  return eigen::Make<ConcatEigen, ConcatOp>(functions, request);
}

const eigen::Registration kConcatEigen("concat", MakeEigenConcat);
const FidelityDeclaration kConcatEigenFidelity(
    {"concat", "eigen", Fidelity::kOurs,
     "one source after the other, rows shared by the threads; "
     "TensorFlow's threads share the elements of the result",
     "concat_lib_cpu.h"});

}  // namespace

}  // namespace topdnn
