// Convolution as TensorFlow computes it with Eigen (conv_ops.cc), in NHWC and HWIO. Forward is a
// matrix product if a patch is the whole image or one position of it, and otherwise a contraction
// over image patches. The gradients use explicit im2col and col2im for every shape; the variant
// eigen-matmul computes them as a matrix product where a patch is the whole image or one position.
// Depthwise convolutions use separate loops, as in DepthwiseConv2dNative; in the variant eigen-rows
// the gradient by weights is ours. Other grouped convolutions run group by group.

#include <algorithm>

#include "kernels/conv/conv.h"
#include "kernels/conv/group_by_group.h"
#include "kernels/conv/im2col.h"
#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/variant.h"

namespace topdnn {

namespace {

eigen::Convolution Describe(const ConvExtents& e) {
  return {.n = e.n,
          .c = e.c,
          .h = e.h,
          .w = e.w,
          .k = e.k,
          .r = e.r,
          .s = e.s,
          .stride_h = e.stride_h,
          .stride_w = e.stride_w,
          .pad_top = e.pad_top,
          .pad_left = e.pad_left,
          .pad_bottom = e.pad_bottom,
          .pad_right = e.pad_right,
          .dilation_h = e.dilation_h,
          .dilation_w = e.dilation_w,
          .oh = e.oh(),
          .ow = e.ow()};
}

eigen::Epilogue Describe(const ConvEpilogue& epilogue, const float* bias) {
  return {epilogue.bias ? bias : nullptr, epilogue.relu, epilogue.bound};
}

// Whether the kernel covers the whole image exactly once.
bool PatchIsImage(const ConvExtents& e) {
  return e.r == e.h && e.s == e.w && e.oh() == 1 && e.ow() == 1 && e.dilation_h == 1 &&
         e.dilation_w == 1 && std::max({e.pad_top, e.pad_left, e.pad_bottom, e.pad_right}) == 0;
}

// Whether the source is already the matrix of its patches (N*OH*OW, R*S*C).
bool SourceIsMatrix(const ConvExtents& e) { return ColIsImage(e) || PatchIsImage(e); }

// How the gradients divide the images, as in TensorFlow 2.5: Conv2DCustomBackpropInputOp in
// conv_grad_input_ops.cc and Conv2DCustomBackpropFilterOp in conv_grad_filter_ops.cc, the default
// operations of a CPU. Sizes are in elements.
class ImageShards {
 public:
  ImageShards(const ConvExtents& e, Pass pass, int threads)
      : shares_product_(pass == Pass::kBackwardData &&
                        (e.n == 1 || WorkOfImage(e) / threads >= kSecondCache)),
        images_(std::min((kLastCache + WorkOfImage(e) - 1) / WorkOfImage(e), e.n)) {}

  // In backward_data: whether all threads share the product of one image after the other, because
  // there is only one image or each thread has enough work. Otherwise each thread computes the
  // products of its own images.
  bool shares_product() const { return shares_product_; }
  // Number of images whose patches are stored at a time.
  std::int64_t images() const { return shares_product_ ? 1 : images_; }

 private:
  // TensorFlow assumes these caches on every CPU.
  static constexpr std::int64_t kSecondCache = (256 << 10) / sizeof(float);
  static constexpr std::int64_t kLastCache = (30 << 20) / sizeof(float);

  // An image's patches, its part of dst, and the weights.
  static std::int64_t WorkOfImage(const ConvExtents& e) {
    const std::int64_t patch = e.r * e.s * e.c;
    const std::int64_t outputs = e.oh() * e.ow();
    return outputs * patch + outputs * e.k + patch * e.k;
  }

  bool shares_product_;
  std::int64_t images_;
};

class ConvEigen : public eigen::EigenKernel {
 public:
  // `product`: one matrix product, without patches.
  ConvEigen(const KernelRequest& request, const eigen::Functions& functions, const ConvOp& op,
            bool product)
      : ConvEigen(request, functions, op, product,
                  ImageShards(op.extents(), request.execution.pass, request.threads)) {}

 private:
  ConvEigen(const KernelRequest& request, const eigen::Functions& functions, const ConvOp& op,
            bool product, const ImageShards& shards)
      : EigenKernel(request, functions,
                    AlgorithmOf(request.execution.pass, product, shards.shares_product())),
        e_(Describe(op.extents())),
        epilogue_(op.epilogue()),
        product_(product),
        rows_(e_.n * e_.oh * e_.ow),
        patch_(e_.r * e_.s * e_.c),
        images_(shards.images()),
        shares_product_(shards.shares_product()) {
    const std::int64_t col =
        product_ || pass() == Pass::kForward ? 0 : images_ * e_.oh * e_.ow * patch_;
    const bool sums_bias = pass() == Pass::kBackwardWeights && epilogue_.bias;
    ReserveRunScratch(std::max(col, sums_bias ? request.threads * e_.k : 0));
  }

  static std::string_view AlgorithmOf(Pass pass, bool product, bool shares_product) {
    if (product) return "matmul";
    switch (pass) {
      case Pass::kForward:
        return "patches_contraction";
      case Pass::kBackwardWeights:
        return "im2col+contraction";
      case Pass::kBackwardData:
        break;
    }
    return shares_product ? "contraction+col2im" : "sharded_gemm+col2im";
  }

  void Compute() override {
    switch (pass()) {
      case Pass::kForward:
        return Forward();
      case Pass::kBackwardData:
        return BackwardData();
      case Pass::kBackwardWeights:
        return BackwardWeights();
    }
  }

  void Forward() {
    const eigen::Epilogue epilogue = Describe(epilogue_, Data(Arg::kBias));
    if (product_) {
      functions().matmul(pool(), {.m = rows_,
                                  .n = e_.k,
                                  .k = patch_,
                                  .a = Data(Arg::kSrc),
                                  .b = Data(Arg::kWeights),
                                  .c = Data(Arg::kDst),
                                  .epilogue = epilogue});
    } else {
      functions().conv_forward(pool(), e_, Data(Arg::kSrc), Data(Arg::kWeights), epilogue,
                               Data(Arg::kDst));
    }
  }

  void BackwardData() {
    if (product_) {
      functions().matmul(pool(), {.m = rows_,
                                  .n = patch_,
                                  .k = e_.k,
                                  .transpose_b = true,
                                  .a = Data(Arg::kDiffDst),
                                  .b = Data(Arg::kWeights),
                                  .c = Data(Arg::kDiffSrc)});
    } else {
      functions().conv_backward_data(pool(), e_, Data(Arg::kDiffDst), Data(Arg::kWeights), images_,
                                     shares_product_, Scratch(), Data(Arg::kDiffSrc));
    }
  }

  void BackwardWeights() {
    if (product_) {
      functions().matmul(pool(), {.m = patch_,
                                  .n = e_.k,
                                  .k = rows_,
                                  .transpose_a = true,
                                  .a = Data(Arg::kSrc),
                                  .b = Data(Arg::kDiffDst),
                                  .c = Data(Arg::kDiffWeights)});
    } else {
      functions().conv_backward_weights(pool(), e_, Data(Arg::kSrc), Data(Arg::kDiffDst), images_,
                                        Scratch(), Data(Arg::kDiffWeights));
    }
    if (epilogue_.bias) {
      functions().column_sums(pool(), rows_, e_.k, Data(Arg::kDiffDst), Scratch(),
                              Data(Arg::kDiffBias));
    }
  }

  const eigen::Convolution e_;
  const ConvEpilogue epilogue_;
  const bool product_;
  const std::int64_t rows_, patch_, images_;
  const bool shares_product_;
};

class DepthwiseEigen : public eigen::EigenKernel {
 public:
  DepthwiseEigen(const KernelRequest& request, const eigen::Functions& functions, const ConvOp& op)
      : EigenKernel(request, functions,
                    request.algorithm == eigen::kRows ? "depthwise_rows" : "depthwise"),
        e_(Describe(op.extents())),
        epilogue_(op.epilogue()),
        by_rows_(request.algorithm == eigen::kRows) {
    const bool sums_bias = pass() == Pass::kBackwardWeights && epilogue_.bias;
    if (by_rows_) {
      ReserveScratch(request.threads * e_.r * e_.s * e_.k);
    } else if (sums_bias) {
      ReserveScratch(request.threads * e_.k);
    }
  }

 private:
  void Compute() override {
    switch (pass()) {
      case Pass::kForward:
        functions().depthwise_forward(pool(), e_, Data(Arg::kSrc), Data(Arg::kWeights),
                                      Describe(epilogue_, Data(Arg::kBias)), Data(Arg::kDst));
        return;
      case Pass::kBackwardData:
        functions().depthwise_backward_data(pool(), e_, Data(Arg::kDiffDst), Data(Arg::kWeights),
                                            Data(Arg::kDiffSrc));
        return;
      case Pass::kBackwardWeights:
        if (by_rows_) {
          functions().depthwise_backward_weights_rows(
              pool(), e_, Data(Arg::kSrc), Data(Arg::kDiffDst), Scratch(), Data(Arg::kDiffWeights));
        } else {
          functions().depthwise_backward_weights(pool(), e_, Data(Arg::kSrc), Data(Arg::kDiffDst),
                                                 Data(Arg::kDiffWeights));
        }
        if (epilogue_.bias) {
          functions().column_sums(pool(), e_.n * e_.oh * e_.ow, e_.k, Data(Arg::kDiffDst),
                                  Scratch(), Data(Arg::kDiffBias));
        }
        return;
    }
  }

  const eigen::Convolution e_;
  const ConvEpilogue epilogue_;
  const bool by_rows_;
};

constexpr std::string_view kMatMul = "matmul";

// The swap of MakeGroupByGroup, by Eigen's shuffle.
SwapOuter MakeSwap(const eigen::Functions& functions, int threads) {
  return [&functions, pool = eigen::SharePool(functions, threads)](
             std::int64_t outer, std::int64_t middle, std::int64_t inner, const float* src,
             float* dst) {
    const std::int64_t extents[4] = {1, outer, middle, inner};
    constexpr int kOrder[4] = {0, 2, 1, 3};
    functions.shuffle(pool.get(), extents, kOrder, src, dst);
  };
}

KernelOrRefusal MakeEigenConv(const eigen::Functions& functions, KernelRequest& request) {
  const auto& op = request.OpAs<ConvOp>();
  if (std::string why = FunctionRefusal("eigen computes", *request.op, request.execution.pass);
      !why.empty()) {
    return Refusal{std::move(why)};
  }
  const bool depthwise = IsDepthwise(op.extents());
  if (request.algorithm == eigen::kRows &&
      (request.execution.pass != Pass::kBackwardWeights || !depthwise)) {
    return Refusal{
        "eigen has the algorithm 'rows' only for the gradient of a depthwise convolution by its "
        "weights"};
  }
  const bool gives_matmul = request.algorithm == kMatMul;
  if (gives_matmul && (request.execution.pass == Pass::kForward || depthwise ||
                       !SourceIsMatrix(OfOneGroup(op.extents())))) {
    return Refusal{
        "eigen has the algorithm 'matmul' only for the gradients of a convolution whose patches "
        "are whole images or single positions; forward always uses it there"};
  }
  if (op.extents().groups != 1 && !depthwise) {
    return MakeGroupByGroup(
        request, op, [&](KernelRequest one) { return MakeEigenConv(functions, one); },
        [&functions, threads = request.threads] { return MakeSwap(functions, threads); });
  }
  if (op.epilogue().sum && request.execution.pass == Pass::kForward) {
    return Refusal{
        "eigen does not support a fused addition: its contraction overwrites the result"};
  }
  for (const Arg arg : {Arg::kSrc, Arg::kDst, Arg::kDiffSrc, Arg::kDiffDst}) {
    if (auto refusal = eigen::Settle(request, arg, {"acdb"})) return *std::move(refusal);
  }
  for (const Arg arg : {Arg::kWeights, Arg::kDiffWeights}) {
    const std::string_view hwio = depthwise ? "deabc" : "cdba";
    if (auto refusal = eigen::Settle(request, arg, {hwio})) return *std::move(refusal);
  }
  if (depthwise) return eigen::Make<DepthwiseEigen, ConvOp>(functions, request);
  const bool product =
      SourceIsMatrix(op.extents()) && (request.execution.pass == Pass::kForward || gives_matmul);
  return std::make_unique<ConvEigen>(request, functions, op, product);
}

const eigen::Registration kConvEigen("conv", MakeEigenConv, {kMatMul, eigen::kRows});
const FidelityDeclaration kConvEigenFidelity[] = {
    FidelityDeclaration(
        {"conv",
         "eigen",
         Fidelity::kSame,
         "a matrix product where patches are whole images or single positions, otherwise a "
         "contraction with implicit patches; depthwise as in depthwise_conv_op.cc; ours: dilated "
         "patches are packed by vectors and not by element, a group of 1x1 is a matrix product, "
         "and weights are stored by group and not shuffled in each call",
         "conv_ops.cc",
         {Pass::kForward}}),
    FidelityDeclaration({"conv",
                         "eigen",
                         Fidelity::kSame,
                         "sharded gemm and col2im tap by tap, or one gemm at a time; depthwise as "
                         "in depthwise_conv_grad_op.cc; `eigen-matmul`, dilation and groups are "
                         "ours (TensorFlow refuses both on a CPU)",
                         "conv_grad_input_ops.h",
                         {Pass::kBackwardData}}),
    FidelityDeclaration(
        {"conv",
         "eigen",
         Fidelity::kSame,
         "im2col of a shard tap by tap, then a contraction that accumulates; depthwise as in "
         "depthwise_conv_grad_op.cc; `eigen-matmul`, `eigen-rows`, dilation and groups are ours "
         "(TensorFlow refuses both on a CPU); the bias gradient, as in bias_op.cc, is a part of it",
         "conv_grad_filter_ops.cc",
         {Pass::kBackwardWeights}}),
};

const VariantRegistration kEigenVariant(
    {.name = "eigen-matmul", .backend = "eigen", .algorithm = "matmul", .kinds = {"conv"}});

}  // namespace

}  // namespace topdnn
