// Addition and functions of one or two tensors by their definitions, in double. A NaN stays a NaN.

#include "kernels/kernel/reference.h"

#include "kernels/eltwise/add.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

template <typename T>
class AddReference : public ReferenceKernel {
 public:
  AddReference(const KernelRequest& request, const AddOp& op)
      : ReferenceKernel(request),
        n_(op.shape().elements()),
        sources_(op.sources()),
        relu_(op.relu()) {}

  void Run() noexcept override {
    T* dst = Data<T>(Arg::kDst);
    for (std::int64_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (int s = 0; s < sources_; ++s) sum += static_cast<double>(Indexed<T>(s)[i]);
      dst[i] = static_cast<T>(relu_ && sum < 0 ? 0.0 : sum);
    }
  }

 private:
  const std::int64_t n_;
  const int sources_;
  const bool relu_;
};

template <typename T>
class UnaryReference : public ReferenceKernel {
 public:
  UnaryReference(const KernelRequest& request, const UnaryOp& op)
      : ReferenceKernel(request), op_(op) {}

  void Run() noexcept override {
    const auto alpha = static_cast<double>(op_.alpha());
    const auto beta = static_cast<double>(op_.beta());
    for (std::int64_t i = 0; i < op_.shape().elements(); ++i) {
      const auto x = static_cast<double>(Data<T>(Arg::kSrc)[i]);
      if (forward()) {
        Data<T>(Arg::kDst)[i] = static_cast<T>(op_.function().value(x, alpha, beta));
      } else {
        const auto gradient = static_cast<double>(Data<T>(Arg::kDiffDst)[i]);
        const double derivative = op_.function().derivative(x, alpha, beta);
        Data<T>(Arg::kDiffSrc)[i] = static_cast<T>(gradient * derivative);
      }
    }
  }

 private:
  const UnaryOp op_;
};

template <typename T>
class BinaryReference : public ReferenceKernel {
 public:
  BinaryReference(const KernelRequest& request, const BinaryOp& op)
      : ReferenceKernel(request), op_(op) {}

  void Run() noexcept override {
    if (!forward()) return Backward();
    for (std::int64_t i = 0; i < op_.dst().elements(); ++i) {
      const auto a = static_cast<double>(DataOf<T>(op_.first_arg())[PlaceIn(op_.first(), i)]);
      const auto b = static_cast<double>(DataOf<T>(op_.second_arg())[PlaceIn(op_.second(), i)]);
      Data<T>(Arg::kDst)[i] = static_cast<T>(op_.function().value(a, b));
    }
  }

 private:
  // Of a product; each element of the second source is for a row of the first, a trained one for a
  // row of each image.
  void Backward() const {
    const bool trained = op_.is_trained();
    const std::int64_t rows = op_.second().elements(), images = trained ? op_.dst()[0] : 1;
    const std::int64_t length = op_.dst().elements() / rows / images;
    const T *a = DataOf<T>(op_.first_arg()), *b = DataOf<T>(op_.second_arg()),
            *diff = Data<T>(Arg::kDiffDst);
    T* diff_a = trained ? Data<T>(Arg::kDiffSrc) : Indexed<T>(2);
    T* diff_b = trained ? Data<T>(Arg::kDiffWeights) : Indexed<T>(3);
    for (std::int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::int64_t image = 0; image < images; ++image) {
        const std::int64_t first = (image * rows + row) * length;
        for (std::int64_t i = first; i < first + length; ++i) {
          diff_a[i] = static_cast<T>(static_cast<double>(diff[i]) * static_cast<double>(b[row]));
          sum += static_cast<double>(diff[i]) * static_cast<double>(a[i]);
        }
      }
      diff_b[row] = static_cast<T>(sum);
    }
  }

  // The position in a source of the element for the element `i` of the result.
  std::int64_t PlaceIn(const Shape& source, std::int64_t i) const {
    std::int64_t place = 0;
    std::int64_t stride = 1;
    for (int d = source.rank() - 1; d >= 0; --d) {
      if (source[d] != 1) place += i % op_.dst()[d] * stride;
      stride *= source[d];
      i /= op_.dst()[d];
    }
    return place;
  }

  const BinaryOp op_;
};

const KernelRegistration kReferenceAdd("add", "reference", MakeReference<AddOp, AddReference>);
const KernelRegistration kReferenceBinary("binary", "reference",
                                          MakeReference<BinaryOp, BinaryReference>);
const KernelRegistration kReferenceUnary("unary", "reference",
                                         MakeReference<UnaryOp, UnaryReference>);

}  // namespace

}  // namespace topdnn
