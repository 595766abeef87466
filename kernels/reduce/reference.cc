// Reduction by its definition: plain loops over row-major tensors, sums in double.

#include "kernels/kernel/reference.h"

#include <cmath>
#include <map>
#include <vector>

#include "kernels/kernel/registry.h"
#include "kernels/reduce/reduce.h"

namespace topdnn {

namespace {

template <typename T>
class ReduceReference : public ReferenceKernel {
 public:
  ReduceReference(const KernelRequest& request, const ReduceOp& op)
      : ReferenceKernel(request),
        op_(op),
        divisor_(op.algorithm() == ReduceAlgorithm::kMean ? static_cast<double>(op.count()) : 1.0) {
    const std::size_t vectors = op.algorithm() == ReduceAlgorithm::kLogSumExp ? 2 : 1;
    scratch_bytes_ =
        vectors * static_cast<std::size_t>(op.kept_shape().elements()) * sizeof(double);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    ReferenceKernel::Prepare(memory);
    sums_.resize(static_cast<std::size_t>(op_.kept_shape().elements()));
    if (op_.algorithm() == ReduceAlgorithm::kLogSumExp) shifts_.resize(sums_.size());
  }

  void Run() noexcept override {
    const std::int64_t elements = op_.src_shape().elements();
    if (pass() == Pass::kBackwardData) {
      for (std::int64_t i = 0; i < elements; ++i) {
        const auto gradient = static_cast<double>(Data<T>(Arg::kDiffDst)[TargetOf(i)]);
        Data<T>(Arg::kDiffSrc)[i] = static_cast<T>(gradient / divisor_);
      }
      return;
    }
    if (op_.algorithm() == ReduceAlgorithm::kLogSumExp) {
      Combine(DefinitionOf(ReduceAlgorithm::kMax), shifts_);
      for (double& shift : shifts_) shift = std::isinf(shift) ? 0 : shift;
    }
    const ReduceDefinition& definition = DefinitionOf(op_.algorithm());
    Combine(definition, sums_);
    for (std::size_t o = 0; o < sums_.size(); ++o) {
      const double result = definition.finish(sums_[o], ShiftOf(o));
      Data<T>(Arg::kDst)[o] = static_cast<T>(result / divisor_);
    }
  }

 private:
  double ShiftOf(std::size_t result) const { return shifts_.empty() ? 0 : shifts_[result]; }

  void Combine(const ReduceDefinition& definition, std::vector<double>& results) {
    const bool is_shift = &results == &shifts_;
    for (double& result : results) result = definition.initial;
    for (std::int64_t i = 0; i < op_.src_shape().elements(); ++i) {
      const auto o = static_cast<std::size_t>(TargetOf(i));
      results[o] = definition.combine(results[o], static_cast<double>(Data<T>(Arg::kSrc)[i]),
                                      is_shift ? 0 : ShiftOf(o));
    }
  }

  // The position in dst of the sum that includes the element of src at position `i`.
  std::int64_t TargetOf(std::int64_t i) const {
    const Shape& shape = op_.src_shape();
    std::int64_t target = 0;
    std::int64_t stride = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (!op_.Reduces(d)) {
        target += i % shape[d] * stride;
        stride *= shape[d];
      }
      i /= shape[d];
    }
    return target;
  }

  const ReduceOp op_;
  const double divisor_;
  std::vector<double> sums_, shifts_;  // shifts_ for log_sum_exp alone
};

const KernelRegistration kReduceReference("reduce", "reference",
                                          MakeReference<ReduceOp, ReduceReference>);

}  // namespace

}  // namespace topdnn
