// The differences between oneDNN 2 (from 2.6) and oneDNN 3, in one place. The functions take oneDNN
// 3's arguments in its order; for oneDNN 2 they omit what its descriptors do not have. Source:
// oneDNN's guide "Transition from v2.x to v3.x" and the two versions of dnnl.hpp.

#ifndef TOPDNN_KERNELS_LIBRARY_ONEDNN_API_H_
#define TOPDNN_KERNELS_LIBRARY_ONEDNN_API_H_

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn::onednn {

// The CPU engine of the process.
const dnnl::engine& Engine();

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

// The descriptor of a primitive without a hint.
template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc Describe(const dnnl::primitive_attr& attributes,
                                            const Arguments&... arguments) {
  return {OperationDesc<Primitive>::Of(arguments...), attributes, Engine()};
}

// The descriptor of a backward primitive; `forward` is the hint.
template <typename Primitive, typename ForwardDesc, typename... Arguments>
typename Primitive::primitive_desc DescribeBackward(const dnnl::primitive_attr& attributes,
                                                    const ForwardDesc& forward,
                                                    const Arguments&... arguments) {
  return {OperationDesc<Primitive>::Of(arguments...), attributes, Engine(), forward};
}

#else

template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc Describe(const dnnl::primitive_attr& attributes,
                                            const Arguments&... arguments) {
  return {Engine(), arguments..., attributes};
}

template <typename Primitive, typename ForwardDesc, typename... Arguments>
typename Primitive::primitive_desc DescribeBackward(const dnnl::primitive_attr& attributes,
                                                    const ForwardDesc& forward,
                                                    const Arguments&... arguments) {
  return {Engine(), arguments..., forward, attributes};
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

// Appends an element-wise function to the post-operations.
void AppendEltwise(dnnl::post_ops& post_ops, dnnl::algorithm algorithm, float alpha, float beta);

// Appends a ReLU to the post-operations. Bound 0: none.
void AppendRelu(dnnl::post_ops& post_ops, float bound);

// Appends a depthwise convolution of 3x3 windows with padding 1, in f32.
void AppendDepthwise(dnnl::post_ops& post_ops, dnnl::memory::dim stride, bool bias);

// Multiplies the result by a factor before `post_ops`, which must be empty.
void ScaleResult(dnnl::primitive_attr& attributes, dnnl::post_ops& post_ops, float factor);

// Multiplies the sums of each channel of dst, with their bias, by its own factor. Throws
// dnnl::error for oneDNN 3, which adds the bias after the factors.
void ScaleSums(dnnl::primitive_attr& attributes, const std::vector<float>& factors);

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
