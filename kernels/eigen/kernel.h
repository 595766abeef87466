// The base of the Eigen backends' kernels: the functions for this CPU's ISA, the thread pool, the
// choice of layouts, and the registration.
//
// One registration registers an operation on two backends, `eigen` and `eigen-sgemm`. They differ
// in the code that multiplies the packed panels of a contraction (see Variant). All other
// operations run the same code in both.
//
//   const eigen::Registration kConv("conv", MakeConv);
//
// A pool has its own threads, and no kernel of these backends uses OpenMP's. The OpenMP threads of
// another backend's kernels spin for a while after their parallel regions and take CPU time away
// from the pool: a plan with a fallback to such a backend should let them wait passively
// (OMP_WAIT_POLICY=PASSIVE).

#ifndef TOPDNN_KERNELS_EIGEN_KERNEL_H_
#define TOPDNN_KERNELS_EIGEN_KERNEL_H_

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "kernels/eigen/library.h"
#include "kernels/kernel/bound_kernel.h"

namespace topdnn::eigen {

// An exception to "Run does not allocate or lock": Eigen's evaluators do both in every call. They
// take packing buffers from a free list, which the first Run fills, and small objects for tasks
// from the heap; their threads share a mutex.
class EigenKernel : public BoundKernel {
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

  const Functions& functions() const { return functions_; }
  Pool* pool() const { return pool_.get(); }

 private:
  const Functions& functions_;
  const int threads_;
  std::shared_ptr<Pool> pool_;
};

// Settles the layout of an operand: the first of the `acceptable` tags that the request allows.
// Returns a refusal when it allows none. Does nothing when the computation has no such operand.
std::optional<Refusal> Settle(KernelRequest& request, Arg arg,
                              std::initializer_list<std::string_view> acceptable);

// Settles every operand of this rank on one layout. `layout` is Layout::Plain or
// Layout::ChannelsLast.
std::optional<Refusal> SettleAll(KernelRequest& request, int rank, Layout (*layout)(int rank));

// Settles an operand on the request's layout, or row-major. Refuses a blocked layout.
std::optional<Refusal> SettleUnblocked(KernelRequest& request, Arg arg);

// Settles all operands on one layout: the first one that the request names, or row-major.
std::optional<Refusal> SettleOneLayout(KernelRequest& request);

// The algorithm of the variant eigen-rows: our way to compute max pooling, LRN and the weights'
// gradient of a depthwise convolution. Its threads share rows. Forward, max pooling and LRN save a
// workspace. TensorFlow's way has no workspace: its backward pass computes the values again.
inline constexpr std::string_view kRows = "rows";

// Settles which of the two ways a request of pooling or LRN gets: rows if it asks for them or reads
// their workspace (`algorithm` is then kRows), and otherwise TensorFlow's way.
std::optional<Refusal> SettleRows(KernelRequest& request);

// Makes a kernel from the functions that serve the request. The request is the maker's own copy, to
// settle its layouts. It is in f32, and names no algorithm that the registration does not list.
using Maker = std::function<KernelOrRefusal(const Functions& functions, KernelRequest& request)>;

// The maker of a kernel that accepts any layouts.
template <typename KernelType, typename OpType>
KernelOrRefusal Make(const Functions& functions, KernelRequest& request) {
  return std::make_unique<KernelType>(request, functions, request.OpAs<OpType>());
}

class Registration {
 public:
  // `algorithms` are those that a request may name.
  Registration(std::string_view kind, const Maker& make,
               std::initializer_list<std::string_view> algorithms = {});
  // A maker that takes the operation by its type.
  template <typename OpType>
  Registration(std::string_view kind,
               KernelOrRefusal (*make)(const Functions&, KernelRequest&, const OpType&),
               std::initializer_list<std::string_view> algorithms = {})
      : Registration(
            kind,
            [make](const Functions& functions, KernelRequest& request) {
              return make(functions, request, request.OpAs<OpType>());
            },
            algorithms) {}
};

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_KERNEL_H_
