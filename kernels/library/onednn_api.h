// The differences between oneDNN 2 (from 2.6) and oneDNN 3, in one place. The functions take oneDNN
// 3's arguments in its order; for oneDNN 2 they omit what its descriptors do not have. Source:
// oneDNN's guide "Transition from v2.x to v3.x" and the two versions of dnnl.hpp.

#ifndef TOPDNN_KERNELS_LIBRARY_ONEDNN_API_H_
#define TOPDNN_KERNELS_LIBRARY_ONEDNN_API_H_

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace topdnn::onednn {

// The CPU engine of the process.
const dnnl::engine& Engine();

// The first implementation; `kUnoptimized`: the first one that oneDNN calls a reference. (The
// iterator of oneDNN 2 needs the operation descriptor, so no later caller can do this.)
template <bool kUnoptimized, typename PrimitiveDesc>
PrimitiveDesc Chosen(PrimitiveDesc pd) {
  if constexpr (kUnoptimized) {
    while (std::string_view(pd.impl_info_str()).find("ref") == std::string_view::npos) {
      if (!pd.next_impl()) throw dnnl::error(dnnl_unimplemented, "it has no reference for this");
    }
  }
  return pd;
}

#if DNNL_VERSION_MAJOR < 3

// Makes an operation descriptor, which oneDNN 3 does not have, from the arguments of oneDNN 3.
template <typename Primitive>
struct OperationDesc {
  template <typename... Arguments>
  static typename Primitive::desc Of(const Arguments&... arguments) {
    return typename Primitive::desc(arguments...);
  }
};

template <>
struct OperationDesc<dnnl::eltwise_forward> {
  static dnnl::eltwise_forward::desc Of(dnnl::prop_kind prop, dnnl::algorithm algorithm,
                                        const dnnl::memory::desc& src,
                                        const dnnl::memory::desc& /*dst*/, float alpha,
                                        float beta) {
    return {prop, algorithm, src, alpha, beta};
  }
};
template <>
struct OperationDesc<dnnl::eltwise_backward> {
  static dnnl::eltwise_backward::desc Of(dnnl::algorithm algorithm,
                                         const dnnl::memory::desc& diff_src,
                                         const dnnl::memory::desc& /*diff_dst*/,
                                         const dnnl::memory::desc& data, float alpha, float beta) {
    return {algorithm, diff_src, data, alpha, beta};
  }
};

// oneDNN 2's `pooling_forward` has no dilation. topdnn computes dilated windows by its own loops.
template <>
struct OperationDesc<dnnl::pooling_forward> {
  static dnnl::pooling_forward::desc Of(
      dnnl::prop_kind prop, dnnl::algorithm algorithm, const dnnl::memory::desc& src,
      const dnnl::memory::desc& dst, const dnnl::memory::dims& strides,
      const dnnl::memory::dims& kernel, const dnnl::memory::dims& /*dilation*/,
      const dnnl::memory::dims& pad_before, const dnnl::memory::dims& pad_after) {
    return {prop, algorithm, src, dst, strides, kernel, pad_before, pad_after};
  }
};
template <>
struct OperationDesc<dnnl::pooling_backward> {
  static dnnl::pooling_backward::desc Of(
      dnnl::algorithm algorithm, const dnnl::memory::desc& diff_src,
      const dnnl::memory::desc& diff_dst, const dnnl::memory::dims& strides,
      const dnnl::memory::dims& kernel, const dnnl::memory::dims& /*dilation*/,
      const dnnl::memory::dims& pad_before, const dnnl::memory::dims& pad_after) {
    return {algorithm, diff_src, diff_dst, strides, kernel, pad_before, pad_after};
  }
};

template <>
struct OperationDesc<dnnl::batch_normalization_forward> {
  static dnnl::batch_normalization_forward::desc Of(dnnl::prop_kind prop,
                                                    const dnnl::memory::desc& src,
                                                    const dnnl::memory::desc& /*dst*/,
                                                    float epsilon,
                                                    dnnl::normalization_flags flags) {
    return {prop, src, epsilon, flags};
  }
};
template <>
struct OperationDesc<dnnl::batch_normalization_backward> {
  static dnnl::batch_normalization_backward::desc Of(dnnl::prop_kind prop,
                                                     const dnnl::memory::desc& diff_src,
                                                     const dnnl::memory::desc& /*diff_dst*/,
                                                     const dnnl::memory::desc& src, float epsilon,
                                                     dnnl::normalization_flags flags) {
    return {prop, diff_src, src, epsilon, flags};
  }
};

template <>
struct OperationDesc<dnnl::layer_normalization_forward> {
  static dnnl::layer_normalization_forward::desc Of(
      dnnl::prop_kind prop, const dnnl::memory::desc& src, const dnnl::memory::desc& /*dst*/,
      const dnnl::memory::desc& statistics, float epsilon, dnnl::normalization_flags flags) {
    return {prop, src, statistics, epsilon, flags};
  }
};
template <>
struct OperationDesc<dnnl::layer_normalization_backward> {
  static dnnl::layer_normalization_backward::desc Of(
      dnnl::prop_kind prop, const dnnl::memory::desc& diff_src,
      const dnnl::memory::desc& /*diff_dst*/, const dnnl::memory::desc& src,
      const dnnl::memory::desc& statistics, float epsilon, dnnl::normalization_flags flags) {
    return {prop, diff_src, src, statistics, epsilon, flags};
  }
};

template <>
struct OperationDesc<dnnl::lrn_forward> {
  static dnnl::lrn_forward::desc Of(dnnl::prop_kind prop, dnnl::algorithm algorithm,
                                    const dnnl::memory::desc& src,
                                    const dnnl::memory::desc& /*dst*/, dnnl::memory::dim size,
                                    float alpha, float beta, float k) {
    return {prop, algorithm, src, size, alpha, beta, k};
  }
};
template <>
struct OperationDesc<dnnl::lrn_backward> {
  static dnnl::lrn_backward::desc Of(dnnl::algorithm algorithm, const dnnl::memory::desc& diff_src,
                                     const dnnl::memory::desc& /*diff_dst*/,
                                     const dnnl::memory::desc& src, dnnl::memory::dim size,
                                     float alpha, float beta, float k) {
    return {algorithm, src, diff_src, size, alpha, beta, k};
  }
};

template <>
struct OperationDesc<dnnl::softmax_forward> {
  static dnnl::softmax_forward::desc Of(dnnl::prop_kind prop, dnnl::algorithm /*accurate*/,
                                        const dnnl::memory::desc& src,
                                        const dnnl::memory::desc& /*dst*/, int axis) {
    return {prop, src, axis};
  }
};
template <>
struct OperationDesc<dnnl::softmax_backward> {
  static dnnl::softmax_backward::desc Of(dnnl::algorithm /*accurate*/,
                                         const dnnl::memory::desc& diff_src,
                                         const dnnl::memory::desc& /*diff_dst*/,
                                         const dnnl::memory::desc& dst, int axis) {
    return {diff_src, dst, axis};
  }
};

template <>
struct OperationDesc<dnnl::shuffle_forward> {
  static dnnl::shuffle_forward::desc Of(dnnl::prop_kind prop, const dnnl::memory::desc& src,
                                        const dnnl::memory::desc& /*dst*/, int axis, int groups) {
    return {prop, src, axis, groups};
  }
};
template <>
struct OperationDesc<dnnl::shuffle_backward> {
  static dnnl::shuffle_backward::desc Of(const dnnl::memory::desc& diff_src,
                                         const dnnl::memory::desc& /*diff_dst*/, int axis,
                                         int groups) {
    return {diff_src, axis, groups};
  }
};

template <>
struct OperationDesc<dnnl::prelu_forward> {
  static dnnl::prelu_forward::desc Of(dnnl::prop_kind prop, const dnnl::memory::desc& src,
                                      const dnnl::memory::desc& weights,
                                      const dnnl::memory::desc& /*dst*/) {
    return {prop, src, weights};
  }
};
template <>
struct OperationDesc<dnnl::prelu_backward> {
  static dnnl::prelu_backward::desc Of(const dnnl::memory::desc& src,
                                       const dnnl::memory::desc& weights,
                                       const dnnl::memory::desc& diff_src,
                                       const dnnl::memory::desc& diff_weights,
                                       const dnnl::memory::desc& /*diff_dst*/) {
    return {src, weights, diff_src, diff_weights};
  }
};

// Whether the attributes come first, as of all primitives but a shuffle.
template <typename Primitive>
inline constexpr bool kAttributesFirst =
    std::is_constructible_v<typename Primitive::primitive_desc, typename Primitive::desc,
                            dnnl::primitive_attr, dnnl::engine>;

// The descriptor of a primitive without a hint. `kUnoptimized`: of its reference implementation.
template <typename Primitive, bool kUnoptimized = false, typename... Arguments>
typename Primitive::primitive_desc Describe(const dnnl::primitive_attr& attributes,
                                            const Arguments&... arguments) {
  const auto desc = OperationDesc<Primitive>::Of(arguments...);
  if constexpr (kAttributesFirst<Primitive>) {
    return Chosen<kUnoptimized>(typename Primitive::primitive_desc(desc, attributes, Engine()));
  } else {
    return Chosen<kUnoptimized>(typename Primitive::primitive_desc(desc, Engine(), attributes));
  }
}

// The descriptor of a backward primitive; `forward` is the hint.
template <typename Primitive, bool kUnoptimized = false, typename ForwardDesc,
          typename... Arguments>
typename Primitive::primitive_desc DescribeBackward(const dnnl::primitive_attr& attributes,
                                                    const ForwardDesc& forward,
                                                    const Arguments&... arguments) {
  using PrimitiveDesc = typename Primitive::primitive_desc;
  const auto desc = OperationDesc<Primitive>::Of(arguments...);
  if constexpr (std::is_constructible_v<PrimitiveDesc, decltype(desc), dnnl::primitive_attr,
                                        dnnl::engine, ForwardDesc>) {
    return Chosen<kUnoptimized>(PrimitiveDesc(desc, attributes, Engine(), forward));
  } else {
    return Chosen<kUnoptimized>(PrimitiveDesc(desc, Engine(), forward, attributes));
  }
}

#else

template <typename Primitive, bool kUnoptimized = false, typename... Arguments>
typename Primitive::primitive_desc Describe(const dnnl::primitive_attr& attributes,
                                            const Arguments&... arguments) {
  return Chosen<kUnoptimized>(
      typename Primitive::primitive_desc(Engine(), arguments..., attributes));
}

template <typename Primitive, bool kUnoptimized = false, typename ForwardDesc,
          typename... Arguments>
typename Primitive::primitive_desc DescribeBackward(const dnnl::primitive_attr& attributes,
                                                    const ForwardDesc& forward,
                                                    const Arguments&... arguments) {
  return Chosen<kUnoptimized>(
      typename Primitive::primitive_desc(Engine(), arguments..., forward, attributes));
}

#endif

// Whether the gradient of a batch normalization with use_shift must have a shift as operand, as in
// 2.6. With this operand, 3.7 refuses to run.
inline constexpr bool kBackwardNeedsShift = DNNL_VERSION_MAJOR < 3;

dnnl::concat::primitive_desc DescribeConcat(const dnnl::primitive_attr& attributes,
                                            const dnnl::memory::desc& dst, int axis,
                                            const std::vector<dnnl::memory::desc>& sources);

// The element-wise function with that name (kernels/eltwise/unary.h) and the same parameters;
// hard_swish only with ONNX's, because oneDNN 2 has no others.
std::optional<dnnl::algorithm> AlgorithmOfFunction(std::string_view name);

// Appends an element-wise function to the post-operations; oneDNN 3 has no scale of its result.
void AppendEltwise(dnnl::post_ops& post_ops, dnnl::algorithm algorithm, float alpha, float beta,
                   float scale = 1.0F);

// Appends the addition of the scaled earlier content of dst, read in this type (undef: dst's).
void AppendSum(dnnl::post_ops& post_ops, float scale, std::int32_t zero_point,
               dnnl::memory::data_type type);

// Appends a ReLU to the post-operations. Bound 0: none.
void AppendRelu(dnnl::post_ops& post_ops, float bound);

// Appends a depthwise convolution of 3x3 windows with padding 1, in f32.
void AppendDepthwise(dnnl::post_ops& post_ops, dnnl::memory::dim stride, bool bias);

// Multiplies the result by a factor before `post_ops`, which must be empty.
void ScaleResult(dnnl::primitive_attr& attributes, dnnl::post_ops& post_ops, float factor);

// Multiplies the sums of each channel of dst, with their bias, by its own factor. Throws
// dnnl::error for oneDNN 3, which adds the bias after the factors.
void ScaleSums(dnnl::primitive_attr& attributes, const std::vector<float>& factors);

// Multiplies an operand, or with argument 0 the sums of each element of dst, by `count` factors of
// this value; and subtracts zero points of 1 from an operand. Throws dnnl::error for oneDNN 3,
// where a program gives them as further operands.
void SetScales(dnnl::primitive_attr& attributes, int argument, int mask, std::int64_t count,
               float value);
void SetZeroPoints(dnnl::primitive_attr& attributes, int argument, int mask, std::int64_t count);

dnnl::memory::dims DimsOf(const dnnl::memory::desc& desc);
dnnl::memory::data_type TypeOf(const dnnl::memory::desc& desc);

// The descriptor of a densely packed tensor by its letter tag ("aBcd16b"). Throws dnnl::error when
// there is none: oneDNN 2 takes any blocking, oneDNN 3 only the tags that it has a name for.
dnnl::memory::desc DescOfTag(const dnnl::memory::dims& dims, dnnl::memory::data_type type,
                             const std::string& tag);

// The letter tag of a densely packed blocked descriptor. Empty when no tag defines the positions of
// its elements.
std::string TagOf(const dnnl::memory::desc& desc);

}  // namespace topdnn::onednn

#endif  // TOPDNN_KERNELS_LIBRARY_ONEDNN_API_H_
