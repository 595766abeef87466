// Concatenation in an unblocked layout as copies of rows, shared by the pool's threads.

#include <string>
#include <vector>

#include "kernels/concat/concat.h"
#include "kernels/eigen/kernel.h"
#include "kernels/permutation.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class ConcatEigen : public eigen::EigenKernel {
 public:
  ConcatEigen(const KernelRequest& request, const eigen::Functions& functions, const ConcatOp& op)
      : EigenKernel(request, functions, "rows"),
        forward_(request.execution.pass == Pass::kForward) {
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

  void Prepare(const std::map<Arg, void*>& memory) override {
    EigenKernel::Prepare(memory);
    parts_.clear();
    for (int i = 0; i < static_cast<int>(lengths_.size()); ++i) {
      parts_.push_back(
          static_cast<float*>(memory.at(forward_ ? IndexedSrc(i) : IndexedDiffSrc(i))));
    }
  }

 private:
  void Compute() override {
    float* whole = Data(forward_ ? Arg::kDst : Arg::kDiffDst);
    for (std::size_t i = 0; i < parts_.size(); whole += lengths_[i++]) {
      if (forward_) {
        functions().copy_rows(pool(), rows_, lengths_[i], parts_[i], lengths_[i], whole, length_);
      } else {
        functions().copy_rows(pool(), rows_, lengths_[i], whole, length_, parts_[i], lengths_[i]);
      }
    }
  }

  const bool forward_;
  std::int64_t rows_ = 1;
  std::vector<std::int64_t> lengths_;  // length of a row, by part
  std::int64_t length_ = 0;            // length of a row of the whole tensor
  std::vector<float*> parts_;
};

template <eigen::Variant kVariant>
KernelOrRefusal MakeConcat(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        if (auto refusal = eigen::SettleOneLayout(settled)) return *std::move(refusal);
        const Layout& layout = settled.layouts.begin()->second;
        if (!IsUnblocked(layout)) {
          return Refusal{"eigen concatenates in unblocked layouts only, not in " + layout.tag()};
        }
        return std::make_unique<ConcatEigen>(settled, functions,
                                             dynamic_cast<const ConcatOp&>(*request.op));
      });
}

const KernelRegistration kGebp("concat", "eigen", MakeConcat<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("concat", "eigen-sgemm", MakeConcat<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
