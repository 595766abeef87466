// A loop whose iterations are independent (kernels/kernel/range_loop.h) on the threads of Eigen's
// pool.

#ifndef TOPDNN_KERNELS_EIGEN_RANGE_LOOP_H_
#define TOPDNN_KERNELS_EIGEN_RANGE_LOOP_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "kernels/eigen/kernel.h"
#include "kernels/kernel/range_loop.h"

namespace topdnn::eigen {

template <typename Loop>
class RangeKernel : public EigenKernel {
 public:
  RangeKernel(const KernelRequest& request, const Functions& functions)
      : EigenKernel(request, functions, "loop"), loop_(request) {}

 private:
  struct Context {
    const Loop* loop;
    LoopOperands data;
  };

  void Compute() override {
    Context context{&loop_, {}};
    std::size_t next = 0;
    for (const Arg arg : loop_.operands()) {
      context.data[next++] = DataOf(arg);
    }
    constexpr double kBytes = kLoopOperands * sizeof(float);
    functions().for_ranges(
        pool(), loop_.iterations(), kBytes, loop_.cycles(),
        [](const void* given, std::int64_t first, std::int64_t end) {
          const auto& of_loop = *static_cast<const Context*>(given);
          of_loop.loop->Run(of_loop.data, first, end);
        },
        &context);
  }

  const Loop loop_;
};

template <typename Loop>
KernelOrRefusal MakeRange(const Functions& functions, KernelRequest& request) {
  if (std::string why = LoopsRefusal(request); !why.empty()) return Refusal{std::move(why)};
  return std::make_unique<RangeKernel<Loop>>(request, functions);
}

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_RANGE_LOOP_H_
