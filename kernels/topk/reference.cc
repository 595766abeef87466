// The largest or smallest elements by their definition: a stable sort of each row.

#include "kernels/kernel/reference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "kernels/kernel/registry.h"
#include "kernels/topk/topk.h"

namespace topdnn {

namespace {

template <typename T>
class TopKReference : public ReferenceKernel {
 public:
  TopKReference(const KernelRequest& request, const TopKOp& op)
      : ReferenceKernel(request), op_(op) {
    scratch_bytes_ = static_cast<std::size_t>(op.extent()) * sizeof(std::int64_t);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    ReferenceKernel::Prepare(memory);
    order_.resize(static_cast<std::size_t>(op_.extent()));
  }

  void Run() noexcept override {
    const std::int64_t stride = op_.stride(), extent = op_.extent(), k = op_.settings().k;
    for (std::int64_t row = 0; row < op_.rows(); ++row) {
      const T* src = Data<T>(Arg::kSrc) + row / stride * stride * extent + row % stride;
      T* dst = Data<T>(Arg::kDst) + row / stride * stride * k + row % stride;
      for (std::int64_t i = 0; i < extent; ++i) order_[static_cast<std::size_t>(i)] = i;
      // The index decides between equal elements, so that the order is that of a stable sort.
      std::sort(order_.begin(), order_.end(), [&](std::int64_t a, std::int64_t b) {
        const T x = src[a * stride], y = src[b * stride];
        if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && (!std::isnan(y) || a < b);
        if (x == y) return a < b;
        return op_.settings().largest ? x > y : x < y;
      });
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t at = order_[static_cast<std::size_t>(i)];
        dst[i * stride] = op_.settings().indices ? static_cast<T>(at) : src[at * stride];
      }
    }
  }

 private:
  const TopKOp op_;
  std::vector<std::int64_t> order_;
};

const KernelRegistration kTopKReference("topk", "reference", MakeReference<TopKOp, TopKReference>);

}  // namespace

}  // namespace topdnn
