// A kernel from one loop in f32 whose iterations are independent. OpenMP's threads share the
// iterations here, and those of Eigen's pool in kernels/eigen/range_loop.h. So an operation that no
// library has is written once.
//
// A loop is a class with
//
//   explicit Loop(const KernelRequest& request);
//   std::int64_t iterations() const;
//   double cycles() const;               // of an iteration, about
//   std::array<Arg, kLoopOperands> operands() const;  // the result last; the same one may repeat
//   void Run(const LoopOperands& operands, std::int64_t first, std::int64_t end) const;

#ifndef TOPDNN_KERNELS_KERNEL_RANGE_LOOP_H_
#define TOPDNN_KERNELS_KERNEL_RANGE_LOOP_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "kernels/kernel/omp_loops.h"

namespace topdnn {

inline constexpr std::size_t kLoopOperands = 3;
using LoopOperands = std::array<float*, kLoopOperands>;

template <typename Loop>
class OmpRangeKernel : public LoopsKernel {
 public:
  explicit OmpRangeKernel(const KernelRequest& request) : LoopsKernel(request), loop_(request) {}

  void Run() noexcept override {
    LoopOperands data;
    std::size_t next = 0;
    for (const Arg arg : loop_.operands()) {
      data[next++] = DataOf(arg);
    }
    const std::int64_t n = loop_.iterations();
    DivideEvenly(n, static_cast<double>(n) * loop_.cycles() >= kMinParallelElements,
                 [&](std::int64_t first, std::int64_t end) { loop_.Run(data, first, end); });
  }

 private:
  const Loop loop_;
};

template <typename Loop>
KernelOrRefusal MakeOmpRange(const KernelRequest& request) {
  if (std::string why = LoopsRefusal(request); !why.empty()) return Refusal{std::move(why)};
  return std::make_unique<OmpRangeKernel<Loop>>(request);
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_RANGE_LOOP_H_
