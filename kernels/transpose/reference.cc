// Transposition by its definition: element by element over row-major tensors.

#include "kernels/kernel/reference.h"

#include "kernels/kernel/registry.h"
#include "kernels/transpose/transpose.h"

namespace topdnn {

namespace {

template <typename T>
class TransposeReference : public ReferenceKernel {
 public:
  TransposeReference(const KernelRequest& request, const TransposeOp& op)
      : ReferenceKernel(request), move_(op.In(request.execution.pass)) {}

  void Run() noexcept override {
    const std::int64_t elements = move_.shape.elements();
    for (std::int64_t i = 0; i < elements; ++i) {
      Data<T>(move_.to)[i] = Data<T>(move_.from)[SourceOf(i)];
    }
  }

 private:
  // The position in the source of the element at position `i` of the result.
  std::int64_t SourceOf(std::int64_t i) const {
    std::int64_t source = 0;
    for (int d = move_.shape.rank() - 1; d >= 0; --d) {
      const int from = move_.order[static_cast<std::size_t>(d)];
      std::int64_t stride = 1;
      for (int inner = from + 1; inner < move_.shape.rank(); ++inner) stride *= move_.shape[inner];
      source += i % move_.shape[from] * stride;
      i /= move_.shape[from];
    }
    return source;
  }

  const Transposition move_;
};

const KernelRegistration kTransposeReference("transpose", "reference",
                                             MakeReference<TransposeOp, TransposeReference>);

}  // namespace

}  // namespace topdnn
