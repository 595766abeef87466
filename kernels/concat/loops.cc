// Concatenation in f32 as copies of rows, for backends whose libraries have none.

#include <algorithm>
#include <cstring>

#include "kernels/concat/concat.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

class ConcatLoops : public LoopsKernel {
 public:
  ConcatLoops(const KernelRequest& request, const ConcatOp& op) : LoopsKernel(request), rows_(op) {}

  // Each thread copies an equal part of the elements: rows of images may be few, and sources are of
  // different lengths.
  void Run() noexcept override {
    const std::int64_t elements = rows_.outer * rows_.dst_length;
    DivideEvenly(elements, elements >= kMinParallelElements,
                 [this](std::int64_t first, std::int64_t end) { Copy(first, end); });
  }

 private:
  // The elements of the whole tensor from `first` on, before `end`.
  void Copy(std::int64_t first, std::int64_t end) const {
    while (first < end) {
      const std::int64_t row = first / rows_.dst_length;
      const std::int64_t place = first % rows_.dst_length;
      const auto after = std::upper_bound(rows_.starts.begin(), rows_.starts.end(), place);
      const auto s = static_cast<std::size_t>(after - rows_.starts.begin()) - 1;
      const std::int64_t in_part = place - rows_.starts[s];
      const std::int64_t count = std::min(end - first, rows_.lengths[s] - in_part);
      const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
      float* part = Indexed<float>(static_cast<int>(s)) + row * rows_.lengths[s] + in_part;
      if (pass() == Pass::kForward) {
        std::memcpy(Data<float>(Arg::kDst) + first, part, bytes);
      } else {
        std::memcpy(part, Data<float>(Arg::kDiffDst) + first, bytes);
      }
      first += count;
    }
  }

  const ConcatRows rows_;
};

const KernelRegistration kLoops("concat", "native", MakeLoops<ConcatOp, ConcatLoops>);
const FidelityDeclaration kLoopsFidelity({"concat", "native", Fidelity::kOurs,
                                          "copies on all threads; Caffe's are serial",
                                          "layers/concat_layer.cpp"});

}  // namespace

}  // namespace topdnn
