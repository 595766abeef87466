// Inner product as TensorFlow computes it with Eigen: a matrix product of src (N, C) with weights
// (C, K). An image keeps its layout, NHWC or NCHW; the weights use the same order.

#include <span>
#include <string_view>

#include "kernels/eigen/kernel.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/kernel/fidelity.h"

namespace topdnn {

namespace {

class InnerProductEigen : public eigen::EigenKernel {
 public:
  // `inputs_first`: the weights are (C, K) in memory, otherwise (K, C).
  InnerProductEigen(const KernelRequest& request, const eigen::Functions& functions,
                    const InnerProductOp& op, bool inputs_first)
      : EigenKernel(request, functions, "matmul"),
        n_(op.batch()),
        c_(op.inputs()),
        k_(op.outputs()),
        epilogue_(op.epilogue()),
        inputs_first_(inputs_first) {
    if (pass() == Pass::kBackwardWeights && epilogue_.bias) ReserveScratch(request.threads * k_);
  }

 private:
  void Compute() override {
    switch (pass()) {
      case Pass::kForward:
        functions().matmul(pool(), {.m = n_,
                                    .n = k_,
                                    .k = c_,
                                    .transpose_b = !inputs_first_,
                                    .a = Data(Arg::kSrc),
                                    .b = Data(Arg::kWeights),
                                    .c = Data(Arg::kDst),
                                    .epilogue = {epilogue_.bias ? Data(Arg::kBias) : nullptr,
                                                 epilogue_.relu, epilogue_.bound}});
        return;
      case Pass::kBackwardData:
        functions().matmul(pool(), {.m = n_,
                                    .n = c_,
                                    .k = k_,
                                    .transpose_b = inputs_first_,
                                    .a = Data(Arg::kDiffDst),
                                    .b = Data(Arg::kWeights),
                                    .c = Data(Arg::kDiffSrc)});
        return;
      case Pass::kBackwardWeights:
        functions().matmul(pool(), {.m = inputs_first_ ? c_ : k_,
                                    .n = inputs_first_ ? k_ : c_,
                                    .k = n_,
                                    .transpose_a = true,
                                    .a = inputs_first_ ? Data(Arg::kSrc) : Data(Arg::kDiffDst),
                                    .b = inputs_first_ ? Data(Arg::kDiffDst) : Data(Arg::kSrc),
                                    .c = Data(Arg::kDiffWeights)});
        if (epilogue_.bias) {
          functions().column_sums(pool(), n_, k_, Data(Arg::kDiffDst), Scratch(),
                                  Data(Arg::kDiffBias));
        }
        return;
    }
  }

  const std::int64_t n_, c_, k_;
  const InnerProductEpilogue epilogue_;
  const bool inputs_first_;
};

// Layouts of src and of weights that order the inputs in the same way.
struct Pairing {
  std::string_view src, weights;
  bool inputs_first;
};

// In order of preference; TensorFlow's is first.
constexpr Pairing kOfMatrices[] = {{"ab", "ba", true}, {"ab", "ab", false}};
constexpr Pairing kOfImages[] = {{"acdb", "cdba", true},
                                 {"acdb", "acdb", false},
                                 {"abcd", "bcda", true},
                                 {"abcd", "abcd", false}};

// Settles the request's layouts on a pairing. Returns false when the request does not allow it.
bool SettleOn(const Pairing& pairing, KernelRequest& request) {
  for (const Arg arg : {Arg::kSrc, Arg::kDiffSrc}) {
    if (eigen::Settle(request, arg, {pairing.src})) return false;
  }
  for (const Arg arg : {Arg::kWeights, Arg::kDiffWeights}) {
    if (eigen::Settle(request, arg, {pairing.weights})) return false;
  }
  for (const Arg arg : {Arg::kDst, Arg::kDiffDst}) {
    if (eigen::Settle(request, arg, {"ab"})) return false;
  }
  return true;
}

KernelOrRefusal MakeEigenInnerProduct(const eigen::Functions& functions, KernelRequest& request,
                                      const InnerProductOp& op) {
  const std::span<const Pairing> pairings =
      op.src_shape().rank() == 2 ? std::span<const Pairing>(kOfMatrices) : kOfImages;
  for (const Pairing& pairing : pairings) {
    KernelRequest settled = request;
    if (!SettleOn(pairing, settled)) continue;
    return std::make_unique<InnerProductEigen>(settled, functions, op, pairing.inputs_first);
  }
  return Refusal{
      "eigen needs src row-major or NHWC, and weights with their inputs in the same order"};
}

const eigen::Registration kInnerProductEigen("inner_product", MakeEigenInnerProduct);
const FidelityDeclaration kInnerProductEigenFidelity(
    {"inner_product", "eigen", Fidelity::kSame,
     "a contraction, with the bias in its output kernel; the bias gradient as in bias_op.cc",
     "matmul_op.cc"});

}  // namespace

}  // namespace topdnn
