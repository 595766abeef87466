// A slice on oneDNN, which has no such primitive: a part of a tensor that begins anywhere, and
// whose elements follow each other, is copied by a reorder.

#include "kernels/library/onednn.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/slice/slice.h"

namespace topdnn {

namespace {

// Backward: zeros, then a reorder from diff_dst to the part of diff_src.
class SliceGradient : public onednn::PrimitiveKernel {
 public:
  using PrimitiveKernel::PrimitiveKernel;

  void Prepare(const std::map<Arg, void*>& memory) override {
    PrimitiveKernel::Prepare(memory);
    whole_ = static_cast<std::byte*>(memory.at(Arg::kDiffSrc));
    bytes_ = Find(Arg::kDiffSrc)->desc.bytes();
  }

  void Run() noexcept override {
    constexpr std::size_t kPiece = 4096;
#pragma omp parallel for if (bytes_ >= kMinParallelElements * sizeof(float))
    for (std::size_t at = 0; at < bytes_; at += kPiece) {
      std::memset(whole_ + at, 0, std::min(kPiece, bytes_ - at));
    }
    PrimitiveKernel::Run();
  }

 private:
  std::byte* whole_ = nullptr;
  std::size_t bytes_ = 0;
};

// Throws dnnl::error when the part begins or ends inside a block of the layout.
std::unique_ptr<Kernel> MakeReorder(const KernelRequest& request, const SliceOp& op) {
  const bool forward = request.execution.pass == Pass::kForward;
  const Arg whole_arg = forward ? Arg::kSrc : Arg::kDiffSrc;
  const Arg part_arg = forward ? Arg::kDst : Arg::kDiffDst;
  const Layout layout = FirstSettledLayout(request, op.src_shape().rank());
  const dnnl::memory::desc whole = onednn::DescOf(request, whole_arg, layout);
  const dnnl::memory::desc part = onednn::DescOf(request, part_arg, layout);
  dnnl::memory::dims starts;
  for (const SliceAxis& axis : op.axes()) starts.push_back(axis.start);
  const dnnl::memory::desc inside = whole.submemory_desc(onednn::Dims(op.dst_shape()), starts);
  const Layout of_whole = onednn::ToLayout(whole);
  if (forward) {
    const dnnl::reorder::primitive_desc pd(onednn::Engine(), inside, onednn::Engine(), part,
                                           onednn::Attributes());
    return onednn::MakePrimitiveKernel<dnnl::reorder>(
        request, pd,
        {{whole_arg, Direction::kIn, DNNL_ARG_FROM, pd.src_desc(), of_whole},
         {part_arg, Direction::kOut, DNNL_ARG_TO, pd.dst_desc()}});
  }
  const dnnl::reorder::primitive_desc pd(onednn::Engine(), part, onednn::Engine(), inside,
                                         onednn::Attributes());
  return std::make_unique<SliceGradient>(
      request, pd.impl_info_str(), pd.scratchpad_desc(),
      std::vector<onednn::PrimitiveOperand>{
          {part_arg, Direction::kIn, DNNL_ARG_FROM, pd.src_desc()},
          {whole_arg, Direction::kOut, DNNL_ARG_TO, pd.dst_desc(), of_whole}},
      [pd]() -> dnnl::primitive { return dnnl::reorder(pd); });
}

KernelOrRefusal MakeOneDnnSlice(const KernelRequest& request, const SliceOp& op) {
  const bool copies = op.border() == SliceBorder::kNone && op.src_shape().rank() > 0 &&
                      std::all_of(op.axes().begin(), op.axes().end(), [](const SliceAxis& axis) {
                        return axis.step == 1 || axis.extent == 1;
                      });
  if (!copies) return Refusal{"oneDNN copies only elements that follow each other"};
  return onednn::Offer(request, [&]() -> KernelOrRefusal { return MakeReorder(request, op); });
}

const KernelRegistration kOneDnnSlice("slice", "onednn", MakeOneDnnSlice);

}  // namespace

}  // namespace topdnn
