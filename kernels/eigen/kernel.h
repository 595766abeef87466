// The base of the Eigen backends' kernels: operands bound by role, the functions for this CPU's
// ISA, the thread pool, scratch memory, and the choice of layouts.
//
// Two backends use it, `eigen` and `eigen-sgemm`. They differ in the code that multiplies the
// packed panels of a contraction (see Variant). All other operations run the same code in both.
//
// A pool has its own threads. The OpenMP threads of other backends' kernels spin for a while after
// their parallel regions and take CPU time away from the pool. A program that uses both should let
// OpenMP wait passively (OMP_WAIT_POLICY=PASSIVE).

#ifndef TOPDNN_KERNELS_EIGEN_KERNEL_H_
#define TOPDNN_KERNELS_EIGEN_KERNEL_H_

#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "kernels/eigen/library.h"
#include "kernels/kernel.h"

namespace topdnn::eigen {

// An exception to "Run does not allocate or lock": Eigen's evaluators do both in every call. They
// take packing buffers from a free list, which the first Run fills, and small objects for tasks
// from the heap; their threads share a mutex.
class EigenKernel : public Kernel {
 public:
  void Prepare(const std::map<Arg, void*>& memory) override;
  // Sets OpenMP's width to 1 while it runs, so that a contraction's sgemm stays on the thread that
  // calls it. The pool's width is the request's `threads`.
  void Run() noexcept override;

 protected:
  // `request` must have every layout settled. `algorithm` is the part of implementation() that
  // names the algorithm.
  EigenKernel(const KernelRequest& request, const Functions& functions, std::string_view algorithm);

  virtual void Compute() = 0;

  // Memory of an operand, bound by Prepare. nullptr when the request has no such operand.
  template <typename T = float>
  T* Data(Arg arg) const {
    return static_cast<T*>(data_[static_cast<std::size_t>(arg)]);
  }
  const Functions& functions() const { return functions_; }
  Pool* pool() const { return pool_.get(); }
  int threads() const { return threads_; }
  float* scratch() const { return reinterpret_cast<float*>(scratch_.data()); }
  void ReserveScratch(std::int64_t floats) {
    scratch_bytes_ = static_cast<std::size_t>(floats) * sizeof(float);
  }

 private:
  const Functions& functions_;
  const int threads_;
  std::shared_ptr<Pool> pool_;
  AlignedMemory scratch_;
  // Indexed by role. Kernels of operations with several sources store those themselves.
  std::array<void*, static_cast<std::size_t>(Arg::kIndexedSrc)> data_ = {};
};

// Settles the layout of an operand: the first of the `acceptable` tags that the request allows.
// Returns a refusal when it allows none. Does nothing when the computation has no such operand.
std::optional<Refusal> Settle(KernelRequest& request, Arg arg,
                              std::initializer_list<std::string_view> acceptable);

// Settles all operands on one layout: the first one that the request names, or row-major.
std::optional<Refusal> SettleOneLayout(KernelRequest& request);

// Runs the body of a maker with the functions that serve the request, or returns the reason why
// there are none. Eigen's code is compiled for f32.
template <typename Body>
KernelOrRefusal Offer(Variant variant, const KernelRequest& request, Body body) {
  if (request.execution.type != DataType::kF32) {
    return Refusal{"eigen computes in f32, not " + std::string(NameOf(request.execution.type))};
  }
  if (!request.algorithm.empty()) {
    return Refusal{"eigen has no algorithm '" + request.algorithm + "'"};
  }
  auto found = FindFunctions(variant, request.isa);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  return body(*std::get<const Functions*>(found), KernelRequest(request));
}

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_KERNEL_H_
