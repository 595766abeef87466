// Holds a backend's kernel to the reference: seeded random operands in the kernel's own types and
// layouts, guarded memory, one run at the request's width, and every result compared with the
// reference's, computed in f64 from the very same (already rounded) inputs.
//
//   CheckAgainstReference("onednn", RequestFor(op, {Pass::kForward}, 2), seed);
//
// A difference, a refusal where the caller expected none or a write outside an operand is a gtest
// failure that names operation, problem, pass and element.

#ifndef TOPDNN_TESTS_KERNELS_KERNEL_CHECK_H_
#define TOPDNN_TESTS_KERNELS_KERNEL_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/random_inputs.h"
#include "kernels/registry.h"
#include "kernels/tensor.h"

namespace topdnn {

// Memory with a pattern on both sides that a kernel must leave alone.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  explicit GuardedMemory(std::size_t bytes);

  std::byte* data() const { return memory_.data() + kGuard; }
  std::size_t bytes() const { return bytes_; }
  bool Intact() const;

 private:
  static constexpr std::size_t kGuard = 256;  // keeps the operand on a cache line boundary
  static constexpr unsigned char kPattern = 0xa5;
  std::size_t bytes_ = 0;
  AlignedMemory memory_;
};

// A kernel with guarded memory of its own for every operand.
class KernelRun {
 public:
  KernelRun(const std::string& backend, const KernelRequest& request);

  // nullptr when the backend refused.
  Kernel* kernel() const;
  // Why there is no kernel.
  std::string refusal() const;

  const TensorDesc& DescOf(Arg arg) const { return kernel()->Find(arg)->desc; }
  void Set(Arg arg, const std::vector<double>& values);
  std::vector<double> Get(Arg arg) const;
  const GuardedMemory& memory(Arg arg) const { return memory_.at(arg); }
  // Makes two operands one piece of memory (they must have the same descriptor).
  void Alias(Arg arg, Arg of) { aliases_[arg] = of; }

  // Sets every input of `values` that the kernel has.
  void SetInputs(const Values& values);

  void Run();
  // Without a new Prepare.
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

// A request with no layout settled yet.
KernelRequest RequestFor(std::shared_ptr<const Op> op, const Execution& execution, int threads);

// The same request for the reference in f64, row-major.
KernelRequest ReferenceRequest(const KernelRequest& request);

// The forward request in training whose workspace the backward `request` reads.
KernelRequest ForwardOf(const KernelRequest& request);

// Gives `run` the workspace that the same backend's forward pass leaves.
void CopyWorkspace(const KernelRun& forward, KernelRun& run);

// Every result of the reference in f64 on `inputs` (and, for a pass that reads a workspace, on the
// one that forward leaves for `forward_inputs`).
Values ReferenceResults(const KernelRequest& request, const Values& inputs,
                        const Values& forward_inputs = {});

// The inputs' magnitudes: the reference run on them sums |terms|, which scales rounding errors. (A
// learning rate is subtracted, so it turns negative.)
Values Magnitudes(Values values);

// How much an element may differ: the rounding of the sum, which grows with the square root of its
// length with a probability that a factor of 8 makes overwhelming (Higham and Mary, "A new
// approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019), over the
// sum of the terms' magnitudes, and the rounding of the stored result. Sums are in f32 or wider
// unless the caller knows better.
struct Allowance {
  double of_sum;
  double of_result;

  static Allowance Of(const KernelRequest& request, DataType result, double slack,
                      std::optional<DataType> sum_type);
  double At(double expected, double magnitude) const;
};

// NaN agrees with NaN, an infinity with itself.
bool SameWithin(double actual, double expected, double tolerance);

bool ExpectSame(const std::vector<double>& actual, const std::vector<double>& expected,
                const std::vector<double>& magnitude, const Allowance& allowance,
                const std::string& what);

enum class Verdict { kAgrees, kRefused, kDiffers };

struct CheckOptions {
  // Multiplies the allowance for an algorithm that is less accurate by its nature (Winograd).
  double slack = 1;
  // Whether a refusal is an answer that the caller deals with.
  bool may_refuse = false;
  // Inputs that replace the random ones of their role.
  Values inputs = {};
  // Sums of |terms| of results that subtract, which the reference on absolute inputs would cancel.
  Values magnitudes = {};
  // The type that sums accumulate in, where that is narrower than f32 (oneDNN's bf16 pooling adds
  // the gradients of overlapping windows in bf16).
  std::optional<DataType> sum_type = std::nullopt;
};

// Runs the backend's kernel on random inputs and compares every result with the reference's.
// `implementation`, when given, gets the name of what ran.
Verdict CheckAgainstReference(const std::string& backend, const KernelRequest& request,
                              std::uint64_t seed, const CheckOptions& options = {},
                              std::string* implementation = nullptr);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_KERNEL_CHECK_H_
