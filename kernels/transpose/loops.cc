// Transposition in f32 as loops over the rows of the result, for backends whose libraries have
// none.

#include <cstring>
#include <map>
#include <vector>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/transpose/transpose.h"

namespace topdnn {

namespace {

class TransposeLoops : public LoopsKernel {
 public:
  TransposeLoops(const KernelRequest& request, const TransposeOp& op)
      : LoopsKernel(request), move_(op.In(request.execution.pass)) {
    const Layout plain = Layout::Plain(move_.shape.rank());
    permutation_ = move_.Between(plain, plain);
    if (permutation_.is_copy()) return;
    length_ = permutation_.extents[static_cast<std::size_t>(permutation_.order.back())];
    scratch_bytes_ =
        static_cast<std::size_t>(move_.shape.elements() / length_) * sizeof(std::int64_t);
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    LoopsKernel::Prepare(memory);
    if (!permutation_.is_copy()) FindRows();
  }

  void Run() noexcept override {
    const float* from = Data<float>(move_.from);
    float* to = Data<float>(move_.to);
    if (permutation_.is_copy()) {
      return CopyBytes(from, static_cast<std::size_t>(move_.shape.elements()) * sizeof(float), to);
    }
    const auto rows = static_cast<std::int64_t>(starts_.size());
#pragma omp parallel for if (rows * length_ >= kMinParallelElements)
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* source = from + starts_[static_cast<std::size_t>(row)];
      float* result = to + row * length_;
      if (stride_ == 1) {
        std::memcpy(result, source, static_cast<std::size_t>(length_) * sizeof(float));
      } else {
        for (std::int64_t i = 0; i < length_; ++i) result[i] = source[i * stride_];
      }
    }
  }

 private:
  void FindRows() {
    std::vector<std::int64_t> strides(permutation_.extents.size(), 1);
    for (std::size_t d = strides.size() - 1; d > 0; --d) {
      strides[d - 1] = strides[d] * permutation_.extents[d];
    }
    starts_ = {0};
    for (std::size_t i = 0; i + 1 < permutation_.order.size(); ++i) {
      const auto d = static_cast<std::size_t>(permutation_.order[i]);
      std::vector<std::int64_t> next;
      next.reserve(starts_.size() * static_cast<std::size_t>(permutation_.extents[d]));
      for (const std::int64_t start : starts_) {
        for (std::int64_t at = 0; at < permutation_.extents[d]; ++at) {
          next.push_back(start + at * strides[d]);
        }
      }
      starts_ = std::move(next);
    }
    stride_ = strides[static_cast<std::size_t>(permutation_.order.back())];
  }

  const Transposition move_;
  Permutation permutation_;
  std::int64_t length_ = 0;           // length of a row of the result
  std::int64_t stride_ = 0;           // stride of its elements in the source
  std::vector<std::int64_t> starts_;  // start of each row in the source
};

const KernelRegistration kLoops("transpose", "native", MakeLoops<TransposeOp, TransposeLoops>);
const FidelityDeclaration kLoopsFidelity({"transpose", "native", Fidelity::kOurs,
                                          "loops; Caffe has no such operation"});

}  // namespace

}  // namespace topdnn
