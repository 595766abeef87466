// Concatenation on oneDNN. Forward: its concat primitive. Backward: oneDNN has none, so a reorder
// copies each part of diff_dst.

#include "kernels/library/onednn.h"

#include <algorithm>
#include <span>

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
  ConcatBackward(const KernelRequest& request, const ConcatOp& op)
      : threads_(request.threads), stream_(onednn::Engine()) {
    const Layout other = FirstSettledLayout(request, op.dst_shape().rank());
    const dnnl::memory::desc whole = onednn::DescOf(request, Arg::kDiffDst, other);
    operands_.push_back({Arg::kDiffDst,
                         Direction::kIn,
                         {op.dst_shape(), request.execution.type, onednn::ToLayout(whole)}});
    for (int i = 0; i < static_cast<int>(op.sources().size()); ++i) {
      const Shape& shape = op.sources()[static_cast<std::size_t>(i)];
      dnnl::memory::dims offsets(static_cast<std::size_t>(shape.rank()), 0);
      offsets[static_cast<std::size_t>(op.axis())] = op.OffsetOf(i);
      const dnnl::memory::desc part = whole.submemory_desc(onednn::Dims(shape), offsets);
      const dnnl::memory::desc result = onednn::DescOf(request, IndexedDiffSrc(i), other);
      descs_.emplace_back(onednn::Engine(), part, onednn::Engine(), result, onednn::Attributes());
      scratch_bytes_ = std::max(scratch_bytes_, descs_.back().scratchpad_desc().get_size());
      operands_.push_back({IndexedDiffSrc(i),
                           Direction::kOut,
                           {shape, request.execution.type, onednn::ToLayout(result)}});
    }
    implementation_ = descs_.front().impl_info_str();
    isa_ = onednn::IsaOf(implementation_);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    if (primitives_.empty()) {
      const ThreadWidth width(threads_);
      primitives_.assign(descs_.begin(), descs_.end());
      scratchpad_ = AlignedMemory(scratch_bytes_);
    }
    memories_.clear();
    arguments_.clear();
    const auto bind = [this](int arg, const dnnl::memory::desc& desc, void* data) {
      memories_.emplace_back(desc, onednn::Engine(), data);
      arguments_.push_back({arg, memories_.back().get()});
    };
    for (int i = 0; i < static_cast<int>(descs_.size()); ++i) {
      const auto& pd = descs_[static_cast<std::size_t>(i)];
      bind(DNNL_ARG_FROM, pd.src_desc(), memory.at(Arg::kDiffDst));
      bind(DNNL_ARG_TO, pd.dst_desc(), memory.at(IndexedDiffSrc(i)));
      bind(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratchpad_.data());
    }
  }

  void Run() noexcept override {
    for (std::size_t i = 0; i < primitives_.size(); ++i) {
      onednn::Execute(primitives_[i], stream_,
                      std::span(arguments_).subspan(i * kArguments, kArguments));
    }
  }

 private:
  static constexpr std::size_t kArguments = 3;  // from, to, scratchpad

  int threads_;
  dnnl::stream stream_;
  std::vector<dnnl::reorder::primitive_desc> descs_;
  std::vector<dnnl::reorder> primitives_;
  AlignedMemory scratchpad_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;  // kArguments per primitive
};

KernelOrRefusal MakeOneDnnConcat(const KernelRequest& request) {
  const auto& op = dynamic_cast<const ConcatOp&>(*request.op);
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    if (request.execution.pass == Pass::kForward) return MakeForward(request, op);
    return std::make_unique<ConcatBackward>(request, op);
  });
}

const KernelRegistration kOneDnn("concat", "onednn", MakeOneDnnConcat);

}  // namespace

}  // namespace topdnn
