// Reorder between unblocked layouts as an Eigen shuffle: NCHW to NHWC, OIHW to HWIO and back.

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "kernels/eigen/kernel.h"
#include "kernels/registry.h"
#include "kernels/reorder/reorder.h"

namespace topdnn {

namespace {

constexpr int kMostDimensions = 4;

class ReorderEigen : public eigen::EigenKernel {
 public:
  ReorderEigen(const KernelRequest& request, const eigen::Functions& functions)
      : EigenKernel(request, functions, "shuffle") {
    const TensorDesc& from = Find(Arg::kSrc)->desc;
    const std::string& to_tag = Find(Arg::kDst)->desc.layout.tag();
    const std::string& from_tag = from.layout.tag();
    // Leading dimensions of one element make up for those that the tensor lacks.
    const int missing = kMostDimensions - from.shape.rank();
    for (int i = 0; i < missing; ++i) order_[i] = i;
    for (int i = missing; i < kMostDimensions; ++i) {
      extents_[i] = from.shape[from_tag[i - missing] - 'a'];
      order_[i] = missing + static_cast<int>(from_tag.find(to_tag[i - missing]));
    }
  }

 private:
  void Compute() override {
    functions().shuffle(pool(), extents_.data(), order_.data(), Data(Arg::kSrc), Data(Arg::kDst));
  }

  std::array<std::int64_t, kMostDimensions> extents_ = {1, 1, 1, 1};
  std::array<int, kMostDimensions> order_ = {};
};

bool IsUnblocked(const Layout& layout) {
  return !layout.is_opaque() && std::all_of(layout.tag().begin(), layout.tag().end(),
                                            [](unsigned char c) { return std::islower(c) != 0; });
}

template <eigen::Variant kVariant>
KernelOrRefusal MakeReorder(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        for (const Arg arg : {Arg::kSrc, Arg::kDst}) {
          const Operand operand = *request.op->Find(request.execution, arg);
          if (operand.type != DataType::kF32 || operand.shape.rank() > kMostDimensions) {
            return Refusal{"eigen reorders f32 tensors of up to 4 dimensions"};
          }
          Layout& layout = settled.layouts[arg];
          if (layout.is_any()) layout = Layout::Plain(operand.shape.rank());
          if (!IsUnblocked(layout)) {
            return Refusal{"eigen reorders between unblocked layouts, not " + layout.tag()};
          }
        }
        return std::make_unique<ReorderEigen>(settled, functions);
      });
}

const KernelRegistration kGebp("reorder", "eigen", MakeReorder<eigen::Variant::kGebp>);
const KernelRegistration kSgemm("reorder", "eigen-sgemm", MakeReorder<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
