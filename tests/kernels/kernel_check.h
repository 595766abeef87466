// Checks a backend's kernel against the reference: seeded random operands in the kernel's own types
// and layouts, guarded memory, two runs at the request's width. Every result is compared with the
// reference's, which is computed in f64 from the same (already rounded) inputs.
//
//   CheckAgainstReference("onednn", RequestFor(op, {Pass::kForward}, 2), seed);
//
// A difference, an unexpected refusal or a write outside an operand is a gtest failure. It names
// the operation, problem, pass and element.

#ifndef TOPDNN_TESTS_KERNELS_KERNEL_CHECK_H_
#define TOPDNN_TESTS_KERNELS_KERNEL_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/check/random_inputs.h"
#include "kernels/kernel/kernel.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

// Memory with a pattern on both sides, which a kernel must not change.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  explicit GuardedMemory(std::size_t bytes);

  std::byte* data() const { return memory_.data() + kGuard; }
  std::size_t bytes() const { return bytes_; }
  bool Intact() const;

 private:
  static constexpr std::size_t kGuard = 256;  // a multiple of a cache line
  static constexpr unsigned char kPattern = 0xa5;
  std::size_t bytes_ = 0;
  AlignedMemory memory_;
};

// A kernel with its own guarded memory for every operand.
class KernelRun {
 public:
  KernelRun(const std::string& backend, const KernelRequest& request);

  // nullptr when the backend refused.
  Kernel* kernel() const;
  // The reason why there is no kernel.
  std::string refusal() const;

  const TensorDesc& DescOf(Arg arg) const { return kernel()->Find(arg)->desc; }
  void Set(Arg arg, const std::vector<double>& values);
  std::vector<double> Get(Arg arg) const;
  const GuardedMemory& memory(Arg arg) const { return memory_.at(arg); }
  // Binds two operands to the same memory. They must have the same descriptor.
  void Alias(Arg arg, Arg of) { aliases_[arg] = of; }

  // Sets every input of `values` that the kernel has.
  void SetInputs(const Values& values);

  void Run();
  // Runs again without a new Prepare.
  void RunAgain();

 private:
  std::string backend_;
  KernelRequest request_;
  KernelOrRefusal answer_;
  Values stored_;
  std::map<Arg, GuardedMemory> memory_;
  std::map<Arg, Arg> aliases_;
};

std::string Describe(const std::string& backend, const KernelRequest& request);

// A request without settled layouts.
KernelRequest RequestFor(std::shared_ptr<const Op> op, const Execution& execution, int threads);

// A request for a problem's word by one algorithm, with the layout of src forward, of diff_dst
// backward.
KernelRequest RequestOnImages(const std::string& problem, const std::string& algorithm,
                              const Execution& execution, int threads, const std::string& layout);

// The same request for the reference in f64, row-major.
KernelRequest ReferenceRequest(const KernelRequest& request);

// The forward request in training that writes the workspace that the backward `request` reads.
KernelRequest ForwardOf(const KernelRequest& request);

// Gives `run` the workspace that the forward pass of the same backend has written.
void CopyWorkspace(const KernelRun& forward, KernelRun& run);

// All results of the reference in f64 for `inputs`. A pass that reads a workspace gets the one that
// forward writes for `forward_inputs`.
Values ReferenceResults(const KernelRequest& request, const Values& inputs,
                        const Values& forward_inputs = {});

// How much an element may differ. The rounding error of a sum, relative to the sum of the terms'
// magnitudes, grows with the square root of its length; a factor of 8 makes this nearly certain
// (Higham and Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput.
// 41(5), 2019). The rounding of the stored result is added. Sums are in f32 or wider, unless the
// caller gives another type.
struct Allowance {
  double of_sum;
  double of_result;

  static Allowance Of(const KernelRequest& request, DataType result, double slack,
                      std::optional<DataType> sum_type);
  double At(double expected, double magnitude) const;
};

// NaN matches NaN, and an infinity matches itself.
bool SameWithin(double actual, double expected, double tolerance);

bool ExpectSame(const std::vector<double>& actual, const std::vector<double>& expected,
                const std::vector<double>& magnitude, const Allowance& allowance,
                const std::string& what);

enum class Verdict { kAgrees, kRefused, kDiffers };

struct CheckOptions {
  // A factor on the allowance, for algorithms that are less accurate (Winograd).
  double slack = 1;
  // Whether the caller accepts a refusal.
  bool may_refuse = false;
  // Inputs that replace the random ones of the same role.
  Values inputs = {};
  // Sums of |terms| for results that subtract; the reference would cancel them on absolute inputs.
  Values magnitudes = {};
  // The type in which sums accumulate, if it is narrower than f32 (oneDNN's bf16 pooling adds the
  // gradients of overlapping windows in bf16).
  std::optional<DataType> sum_type = std::nullopt;
};

// Whether oneDNN computes in bf16 on this CPU (on x86: from AVX-512 with BW, DQ and VL on).
bool OneDnnHasBf16();

// Runs the backend's kernel on random inputs and compares every result with the reference's. Stores
// the name of the implementation in `implementation` if it is given.
Verdict CheckAgainstReference(const std::string& backend, const KernelRequest& request,
                              std::uint64_t seed, const CheckOptions& options = {},
                              std::string* implementation = nullptr);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_KERNEL_CHECK_H_
