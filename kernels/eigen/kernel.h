// What the Eigen backends' kernels share: operands bound by role, the functions for this CPU's ISA,
// the pool, scratch memory, and the choice of layouts.
//
// Two backends stand on it, `eigen` and `eigen-sgemm`, which differ in what multiplies the packed
// panels of a contraction (see Variant); every other operation runs the same code in both.
//
// A pool has its own threads. The OpenMP teams of other backends' kernels spin for a while after
// their regions and take CPUs away from it: a program that mixes the two should wait passively
// (OMP_WAIT_POLICY=PASSIVE).

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

// Run leaves to Eigen what its evaluators do at every call: they take packing buffers, which come
// from a free list that the first Run fills, and small objects for tasks and their dependencies,
// which come from the heap; and their threads meet at a mutex.
class EigenKernel : public Kernel {
 public:
  void Prepare(const std::map<Arg, void*>& memory) override;
  // The pool's width counts; OpenMP's is 1 meanwhile, so that a contraction's sgemm stays in the
  // thread that calls it.
  void Run() noexcept override;

 protected:
  // `request` with every layout settled; `algorithm` names what is done, for implementation().
  EigenKernel(const KernelRequest& request, const Functions& functions, std::string_view algorithm);

  virtual void Compute() = 0;

  // Memory of an operand, bound by Prepare; nullptr when the request has no such operand.
  template <typename T = float>
  T* Data(Arg arg) const {
    return static_cast<T*>(data_[static_cast<std::size_t>(arg)]);
  }
  const Functions& functions() const { return functions_; }
  Pool* pool() const { return pool_.get(); }
  int threads() const { return threads_; }
  float* scratch() const { return reinterpret_cast<float*>(scratch_.data()); }
  void TakeScratch(std::int64_t floats) {
    scratch_bytes_ = static_cast<std::size_t>(floats) * sizeof(float);
  }

 private:
  const Functions& functions_;
  const int threads_;
  std::shared_ptr<Pool> pool_;
  AlignedMemory scratch_;
  // By role; the sources of operations that have many are kept by their kernels.
  std::array<void*, static_cast<std::size_t>(Arg::kMultiple)> data_ = {};
};

// Settles the layout of an operand: the first of `acceptable` tags that the request allows. Why
// none does, or nothing. An operand that the computation does not have is passed over.
std::optional<Refusal> Settle(KernelRequest& request, Arg arg,
                              std::initializer_list<std::string_view> acceptable);

// Settles all operands on one layout: the first that the request names, else row-major.
std::optional<Refusal> SettleOnOne(KernelRequest& request);

// Runs a maker's body with the functions that serve the request, or says why none do. Eigen's code
// is instantiated for f32.
template <typename Body>
KernelOrRefusal Offer(Variant variant, const KernelRequest& request, Body body) {
  if (request.execution.type != DataType::kF32) {
    return Refusal{"eigen computes in f32, not " + std::string(NameOf(request.execution.type))};
  }
  auto found = FindFunctions(variant, request.algorithm);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  return body(*std::get<const Functions*>(found), KernelRequest(request));
}

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_KERNEL_H_
