// Concatenation on oneDNN. Forward: its concat primitive. Backward: oneDNN has none, so a reorder
// copies each part of diff_dst.

#include "kernels/library/onednn.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "kernels/concat/concat.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

KernelOrRefusal MakeForward(const KernelRequest& request, const ConcatOp& op) {
  const Layout other = FirstSettledLayout(request, op.dst_shape().rank());
  const int sources = static_cast<int>(op.sources().size());
  std::vector<dnnl::memory::desc> descs;
  descs.reserve(static_cast<std::size_t>(sources));
  for (int i = 0; i < sources; ++i) descs.push_back(onednn::DescOf(request, IndexedSrc(i), other));
  const auto pd = onednn::DescribeConcat(onednn::Attributes(), onednn::DescOf(request, Arg::kDst),
                                         op.axis(), descs);
  std::vector<onednn::PrimitiveOperand> operands;
  operands.reserve(static_cast<std::size_t>(sources) + 1);
  for (int i = 0; i < sources; ++i) {
    operands.push_back({IndexedSrc(i), Direction::kIn, DNNL_ARG_MULTIPLE_SRC + i,
                        descs[static_cast<std::size_t>(i)]});
  }
  operands.push_back({Arg::kDst, Direction::kOut, DNNL_ARG_DST, pd.dst_desc()});
  return onednn::MakePrimitiveKernel<dnnl::concat>(request, pd, std::move(operands));
}

// One reorder per source, from its part of diff_dst.
class ConcatBackward : public Kernel {
 public:
  // Throws dnnl::error when a part begins or ends inside a block of the layout.
  ConcatBackward(const KernelRequest& request, const ConcatOp& op) {
    const Layout other = FirstSettledLayout(request, op.dst_shape().rank());
    const dnnl::memory::desc whole = onednn::DescOf(request, Arg::kDiffDst, other);
    for (int i = 0; i < static_cast<int>(op.sources().size()); ++i) {
      const Shape& shape = op.sources()[static_cast<std::size_t>(i)];
      dnnl::memory::dims offsets(static_cast<std::size_t>(shape.rank()), 0);
      offsets[static_cast<std::size_t>(op.axis())] = op.OffsetOf(i);
      const dnnl::reorder::primitive_desc pd(
          onednn::Engine(), whole.submemory_desc(onednn::Dims(shape), offsets), onednn::Engine(),
          onednn::DescOf(request, IndexedDiffSrc(i), other), onednn::Attributes());
      parts_.push_back(onednn::MakePrimitiveKernel<dnnl::reorder>(
          request, pd,
          {{Arg::kDiffDst, Direction::kIn, DNNL_ARG_FROM, pd.src_desc(), onednn::ToLayout(whole)},
           {IndexedDiffSrc(i), Direction::kOut, DNNL_ARG_TO, pd.dst_desc()}}));
      const Kernel& part = *parts_.back();
      run_scratch_bytes_ = std::max(run_scratch_bytes_, part.run_scratch_bytes());
      if (operands_.empty()) operands_.push_back(part.operands().front());
      operands_.push_back(part.operands().back());
    }
    implementation_ = parts_.front()->implementation();
    isa_ = parts_.front()->isa();
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    for (const auto& part : parts_) part->Prepare(memory);
  }
  void Run() noexcept override {
    for (const auto& part : parts_) part->Run();
  }

 private:
  std::vector<std::unique_ptr<Kernel>> parts_;
};

KernelOrRefusal MakeOneDnnConcat(const KernelRequest& request, const ConcatOp& op) {
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    if (request.execution.pass == Pass::kForward) return MakeForward(request, op);
    return std::make_unique<ConcatBackward>(request, op);
  });
}

const KernelRegistration kConcatOneDnn("concat", "onednn", MakeOneDnnConcat);

}  // namespace

}  // namespace topdnn
