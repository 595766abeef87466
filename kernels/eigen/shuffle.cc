#include "kernels/eigen/shuffle.h"

#include <fmt/format.h>

#include <array>

namespace topdnn::eigen {

namespace {

constexpr int kMaxDimensions = 4;

class ShuffleEigen : public EigenKernel {
 public:
  ShuffleEigen(const KernelRequest& request, const Functions& functions, Arg from, Arg to,
               const Permutation& permutation)
      : EigenKernel(request, functions, permutation.is_copy() ? "copy" : "shuffle"),
        from_(from),
        to_(to),
        is_copy_(permutation.is_copy()) {
    // Fewer dimensions than compiled: leading dimensions of extent 1 fill the rest.
    const std::size_t missing = kMaxDimensions - permutation.order.size();
    for (std::size_t i = 0; i < missing; ++i) order_[i] = static_cast<int>(i);
    for (std::size_t i = missing; i < kMaxDimensions; ++i) {
      extents_[i] = permutation.extents[i - missing];
      order_[i] = static_cast<int>(missing) + permutation.order[i - missing];
    }
  }

 private:
  void Compute() override {
    if (is_copy_) {
      const std::int64_t n = extents_.back();
      functions().copy_rows(pool(), 1, n, Data(from_), n, Data(to_), n);
    } else {
      functions().shuffle(pool(), extents_.data(), order_.data(), Data(from_), Data(to_));
    }
  }

  const Arg from_, to_;
  const bool is_copy_;
  std::array<std::int64_t, kMaxDimensions> extents_ = {1, 1, 1, 1};
  std::array<int, kMaxDimensions> order_ = {};
};

}  // namespace

KernelOrRefusal MakeShuffle(const KernelRequest& settled, const Functions& functions, Arg from,
                            Arg to, const Permutation& permutation) {
  if (permutation.order.size() > kMaxDimensions) {
    return Refusal{fmt::format("eigen permutes at most {} dimensions, not {}", kMaxDimensions,
                               permutation.order.size())};
  }
  return std::make_unique<ShuffleEigen>(settled, functions, from, to, permutation);
}

}  // namespace topdnn::eigen
