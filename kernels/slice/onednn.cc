// A slice on oneDNN, which has no such primitive: a part of a tensor that begins anywhere, and
// whose elements follow each other, is copied by a reorder.

#include "kernels/library/onednn.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/slice/slice.h"

namespace topdnn {

namespace {

// Forward: from the part of src to dst. Backward: zeros, then from diff_dst to the part of
// diff_src.
class OneDnnSlice : public Kernel {
 public:
  // Throws dnnl::error when the part begins or ends inside a block of the layout.
  OneDnnSlice(const KernelRequest& request, const SliceOp& op)
      : forward_(request.execution.pass == Pass::kForward),
        threads_(request.threads),
        stream_(onednn::Engine()),
        whole_(forward_ ? Arg::kSrc : Arg::kDiffSrc),
        part_(forward_ ? Arg::kDst : Arg::kDiffDst) {
    const DataType type = request.execution.type;
    const Layout layout = FirstSettledLayout(request, op.src_shape().rank());
    const dnnl::memory::desc whole = onednn::DescOf(request, whole_, layout);
    const dnnl::memory::desc part = onednn::DescOf(request, part_, layout);
    dnnl::memory::dims starts;
    for (const SliceAxis& axis : op.axes()) starts.push_back(axis.start);
    const dnnl::memory::desc inside = whole.submemory_desc(onednn::Dims(op.dst_shape()), starts);
    desc_ = {onednn::Engine(), forward_ ? inside : part, onednn::Engine(), forward_ ? part : inside,
             onednn::Attributes()};
    bytes_ = whole.get_size();
    const Direction of_whole = forward_ ? Direction::kIn : Direction::kOut;
    const Direction of_part = forward_ ? Direction::kOut : Direction::kIn;
    operands_ = {{whole_, of_whole, {op.src_shape(), type, onednn::ToLayout(whole)}},
                 {part_, of_part, {op.dst_shape(), type, onednn::ToLayout(part)}}};
    if (!forward_) std::swap(operands_[0], operands_[1]);
    operands_[0].unread = op.Operands(request.execution)[0].unread;
    scratch_bytes_ = desc_.scratchpad_desc().get_size();
    implementation_ = desc_.impl_info_str();
    isa_ = onednn::IsaOf(implementation_);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    if (!scratchpad_.data()) {
      const ThreadWidth width(threads_);
      primitive_ = dnnl::reorder(desc_);
      scratchpad_ = AlignedMemory(std::max<std::size_t>(scratch_bytes_, 1));
    }
    whole_data_ = memory.at(whole_);
    memories_.clear();
    arguments_.clear();
    const auto bind = [this](int arg, const dnnl::memory::desc& desc, void* data) {
      memories_.emplace_back(desc, onednn::Engine(), data);
      arguments_.push_back({arg, memories_.back().get()});
    };
    bind(DNNL_ARG_FROM, desc_.src_desc(), memory.at(forward_ ? whole_ : part_));
    bind(DNNL_ARG_TO, desc_.dst_desc(), memory.at(forward_ ? part_ : whole_));
    bind(DNNL_ARG_SCRATCHPAD, desc_.scratchpad_desc(), scratchpad_.data());
  }

  void Run() noexcept override {
    if (!forward_) Clear();
    onednn::Execute(primitive_, stream_, arguments_);
  }

 private:
  void Clear() const {
    constexpr std::size_t kPiece = 4096;
#pragma omp parallel for if (bytes_ >= kMinParallelElements * sizeof(float))
    for (std::size_t at = 0; at < bytes_; at += kPiece) {
      std::memset(static_cast<std::byte*>(whole_data_) + at, 0, std::min(kPiece, bytes_ - at));
    }
  }

  const bool forward_;
  const int threads_;
  dnnl::stream stream_;
  const Arg whole_, part_;
  std::size_t bytes_ = 0;
  dnnl::reorder::primitive_desc desc_;
  dnnl::reorder primitive_;
  AlignedMemory scratchpad_;
  void* whole_data_ = nullptr;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

KernelOrRefusal MakeOneDnnSlice(const KernelRequest& request) {
  const auto& op = dynamic_cast<const SliceOp&>(*request.op);
  const bool copies = op.border() == SliceBorder::kNone && op.src_shape().rank() > 0 &&
                      std::all_of(op.axes().begin(), op.axes().end(), [](const SliceAxis& axis) {
                        return axis.step == 1 || axis.extent == 1;
                      });
  if (!copies) return Refusal{"oneDNN copies only elements that follow each other"};
  return onednn::Offer(
      request, [&]() -> KernelOrRefusal { return std::make_unique<OneDnnSlice>(request, op); });
}

const KernelRegistration kOneDnnSlice("slice", "onednn", MakeOneDnnSlice);

}  // namespace

}  // namespace topdnn
