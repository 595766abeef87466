// Convolution on oneDNN: the direct algorithm, unless the request names another one.

#include "kernels/library/onednn.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"
#include "kernels/library/onednn_convolution.h"
#include "kernels/reorder/in_f32.h"

namespace topdnn {

namespace {

std::vector<SpatialAxis> AxesOf(const ConvExtents& e) {
  return {{e.h, e.r, e.stride_h, e.dilation_h, e.pad_top, e.pad_bottom},
          {e.w, e.s, e.stride_w, e.dilation_w, e.pad_left, e.pad_right}};
}

// The algorithm of the variant onednn-f32: bf16 tensors, which are converted to f32.
constexpr const char* kInF32 = "in-f32";

dnnl::algorithm AlgorithmOf(const KernelRequest& request) {
  return request.algorithm == "winograd" ? dnnl::algorithm::convolution_winograd
                                         : dnnl::algorithm::convolution_direct;
}

dnnl::primitive_attr AttributesOf(const ConvEpilogue& epilogue) {
  dnnl::primitive_attr attributes = onednn::Attributes();
  dnnl::post_ops post_ops;
  if (epilogue.sum) post_ops.append_sum();
  if (epilogue.relu) onednn::AppendRelu(post_ops, epilogue.bound);
  if (const UnaryFunction* const function = epilogue.function) {
    onednn::AppendEltwise(post_ops, *onednn::AlgorithmOfFunction(function->name), function->alpha,
                          function->beta);
  }
  attributes.set_post_ops(post_ops);
  return attributes;
}

// A fault of oneDNN's kernels that a trial may miss, because it shows in some runs only.
struct KnownFault {
  const char* report;
  const char* versions;  // that have it
  const char* what;
  bool (*has)(const KernelRequest& request, const ConvOp& op, const Kernel& kernel);
};

// The gradients by the weights of strided 1x1 convolutions in channels-last images. The kernel
// packs a block of channels, and writes all of it where there are fewer.
bool PacksMoreChannels(const KernelRequest& request, const ConvOp& op, const Kernel& kernel) {
  const ConvExtents& e = op.extents();
  const std::int64_t block = kernel.isa() == "avx512" ? 16 : 8;
  return request.execution.pass == Pass::kBackwardWeights && e.r == 1 && e.s == 1 &&
         (e.stride_h > 1 || e.stride_w > 1) && e.c / e.groups < block &&
         kernel.implementation().find("1x1") != std::string::npos &&
         kernel.Find(Arg::kSrc)->desc.layout.tag() == "acdb";
}

constexpr KnownFault kKnownFaults[] = {
    {"oneDNN#6035", "2.6.3 to the main branch of 2026", "writes past its workspace",
     PacksMoreChannels},
};

KernelOrRefusal WithoutKnownFaults(const KernelRequest& request, const ConvOp& op,
                                   KernelOrRefusal offer) {
  const auto* const kernel = std::get_if<std::unique_ptr<Kernel>>(&offer);
  if (kernel == nullptr) return offer;
  for (const KnownFault& fault : kKnownFaults) {
    if (!fault.has(request, op, **kernel)) continue;
    return Refusal{fmt::format("oneDNN's {} {} here ({}, in {})", (*kernel)->implementation(),
                               fault.what, fault.report, fault.versions),
                   /*failed=*/true};
  }
  return offer;
}

KernelOrRefusal MakeOneDnnConv(const KernelRequest& request, const ConvOp& op) {
  if (request.algorithm == kInF32) return MakeInF32(request, "onednn", "");
  if (!request.algorithm.empty() && request.algorithm != "direct" &&
      request.algorithm != "winograd") {
    return Refusal{
        fmt::format("oneDNN's convolution has the algorithms direct, winograd and {}, not {}",
                    kInF32, request.algorithm)};
  }
  if (request.execution.type == DataType::kS8 && !onednn::SumsAreExact()) {
    return Refusal{
        "oneDNN halves the weights of a convolution with an s8 source on a CPU without VNNI, so "
        "its sums are not exact"};
  }
  if (const UnaryFunction* const function = op.epilogue().function;
      function != nullptr && !onednn::AlgorithmOfFunction(function->name)) {
    return Refusal{fmt::format("oneDNN has no {} here", function->name)};
  }
  return WithoutKnownFaults(
      request, op, onednn::Offer(request, [&] {
        return onednn::MakeConvolution(
            request, {AxesOf(op.extents()), op.src_shape(), op.weights_shape(), op.dst_shape(),
                      AlgorithmOf(request), AttributesOf(op.epilogue())});
      }));
}

// Blocked images. oneDNN chooses the layout of images with few channels, which blocks would pad.
Layout BlockedImages(const Shape& shape, bool /*chooses*/) {
  constexpr std::int64_t kMinChannels = 8;
  return shape[1] < kMinChannels ? Layout::Any() : onednn::BlockedActivations();
}

const KernelRegistration kConvOneDnn("conv", "onednn", MakeOneDnnConv);
const VariantRegistration kBlocked({.name = "onednn-blocked",
                                    .backend = "onednn",
                                    .kinds = {"conv"},
                                    .types = {DataType::kF32, DataType::kBF16},
                                    .activations = BlockedImages});
const VariantRegistration kWinograd(
    {.name = "onednn-winograd", .backend = "onednn", .algorithm = "winograd", .kinds = {"conv"}});
const VariantRegistration kConverted({.name = "onednn-f32",
                                      .backend = "onednn",
                                      .algorithm = kInF32,
                                      .kinds = {"conv"},
                                      .types = {DataType::kBF16}});

}  // namespace

}  // namespace topdnn
