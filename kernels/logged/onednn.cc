// A logged primitive on oneDNN, and its reference: the implementation of the same primitive that
// oneDNN calls "ref", on row-major tensors. Times do not depend on the numbers of scales and zero
// points, which a log does not have either.

#include "kernels/library/onednn.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel/registry.h"
#include "kernels/logged/logged_primitive.h"

namespace topdnn {

namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Flags = dnnl::normalization_flags;
using Hint = dnnl::prop_kind;

constexpr float kEpsilon = 1e-5F;  // a log has none, and it does not change the time

// By oneDNN's name. Throws dnnl::error for an unknown one.
dnnl::algorithm AlgorithmOf(const std::string& name) {
  using dnnl::algorithm;
  static const auto* const algorithms = [] {
    auto* named = new std::map<std::string, algorithm>();
    for (const algorithm one : {algorithm::convolution_direct,
                                algorithm::convolution_auto,
                                algorithm::convolution_winograd,
                                algorithm::deconvolution_direct,
                                algorithm::deconvolution_winograd,
                                algorithm::pooling_max,
                                algorithm::pooling_avg_include_padding,
                                algorithm::pooling_avg_exclude_padding,
                                algorithm::eltwise_relu,
                                algorithm::eltwise_tanh,
                                algorithm::eltwise_elu,
                                algorithm::eltwise_square,
                                algorithm::eltwise_abs,
                                algorithm::eltwise_sqrt,
                                algorithm::eltwise_swish,
                                algorithm::eltwise_linear,
                                algorithm::eltwise_soft_relu,
                                algorithm::eltwise_mish,
                                algorithm::eltwise_logistic,
                                algorithm::eltwise_exp,
                                algorithm::eltwise_gelu_tanh,
                                algorithm::eltwise_gelu_erf,
                                algorithm::eltwise_log,
                                algorithm::eltwise_clip,
                                algorithm::eltwise_clip_v2,
                                algorithm::eltwise_pow,
                                algorithm::eltwise_round,
                                algorithm::eltwise_hardswish,
                                algorithm::binary_add,
                                algorithm::binary_mul,
                                algorithm::binary_max,
                                algorithm::binary_min,
                                algorithm::binary_div,
                                algorithm::binary_sub,
                                algorithm::binary_ge,
                                algorithm::binary_gt,
                                algorithm::binary_le,
                                algorithm::binary_lt,
                                algorithm::binary_eq,
                                algorithm::binary_ne}) {
      named->emplace(dnnl_alg_kind2str(dnnl::convert_to_c(one)), one);
    }
    return named;
  }();
  const auto found = algorithms->find(name);
  if (found == algorithms->end()) throw dnnl::error(dnnl_unimplemented, "no such algorithm");
  return found->second;
}

// The place of an operand among the arguments of the primitive; those with an index are of a
// post-op.
int ArgumentOf(const LoggedPrimitive& primitive, Arg arg) {
  if (!arg.is_indexed()) return onednn::ArgumentOf(arg);
  const auto& post_op = primitive.post_ops.at(static_cast<std::size_t>(arg.index));
  const int role = onednn::ArgumentOf(Arg(arg.role == Arg::kSrc ? Arg::kSum : arg.role));
  if (post_op.kind == LoggedPostOp::Kind::kDepthwise) return DNNL_ARG_ATTR_POST_OP_DW | role;
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(arg.index) | role;
}

// The elements of dst that have a factor of their own.
std::int64_t FactorsOf(const LoggedPrimitive& primitive, const LoggedFactor& factor) {
  const Arg of = factor.of.value_or(Arg::kDst);
  std::int64_t factors = 1;
  for (const Operand& operand : primitive.operands) {
    for (int d = 0; operand.arg == of && d < operand.shape.rank(); ++d) {
      if ((factor.mask & (1 << d)) != 0) factors *= operand.shape[d];
    }
  }
  return factors;
}

// Builds the primitive of a request.
class Builder {
 public:
  // `reference`: on row-major tensors.
  Builder(const KernelRequest& request, bool reference)
      : request_(request),
        op_(request.OpAs<LoggedOp>()),
        primitive_(op_.primitive()),
        reference_(reference),
        attributes_(onednn::Attributes()) {
    AddPostOps();
    for (const LoggedFactor& factor : primitive_.scales) {
      const int argument = factor.of ? ArgumentOf(primitive_, *factor.of) : 0;
      onednn::SetScales(attributes_, argument, factor.mask, FactorsOf(primitive_, factor),
                        factor.of ? 0.5F : op_.ScaleOfSums());
    }
    for (const LoggedFactor& factor : primitive_.zero_points) {
      onednn::SetZeroPoints(attributes_, ArgumentOf(primitive_, factor.of.value()), factor.mask,
                            FactorsOf(primitive_, factor));
    }
  }

  KernelOrRefusal Make() const {
    const std::string& name = primitive_.name;
    const Pass pass = request_.execution.pass;
    if (name == "convolution" && pass == Pass::kForward) return Convolution();
    if (name == "deconvolution") return Deconvolution();
    if (name == "inner_product" && pass == Pass::kForward) return InnerProduct();
    if (name == "matmul") return Matmul();
    if (name == "binary") return Binary();
    if (name == "pooling" && pass == Pass::kForward) return Pooling();
    if (name == "eltwise" && pass == Pass::kForward) return Eltwise();
    if (name == "shuffle") return Shuffle();
    if (name == "prelu") return Prelu();
    if (name == "layer_normalization") return LayerNormalization();
    return Refusal{"oneDNN's " + name + " is not among the logged primitives"};
  }

 private:
  Desc Of(Arg arg) const {
    const std::optional<Operand> operand = op_.Find(request_.execution, arg);
    if (!operand) return {};
    const Layout plain = Layout::Plain(operand->shape.rank());
    const Layout settled = request_.LayoutOf(arg);
    const bool weights = arg == Arg::kWeights || arg == Arg::kDiffWeights;
    const bool chooses =
        !reference_ && settled.is_any() && (weights || primitive_.inner_dst.rank() > 0);
    return onednn::ToMemoryDesc({operand->shape, operand->type,
                                 chooses                          ? Layout::Any()
                                 : settled.is_any() || reference_ ? plain
                                                                  : settled});
  }

  void AddPostOps() {
    dnnl::post_ops post_ops;
    for (std::size_t i = 0; i < primitive_.post_ops.size(); ++i) {
      const LoggedPostOp& one = primitive_.post_ops[i];
      const int index = static_cast<int>(i);
      switch (one.kind) {
        case LoggedPostOp::Kind::kSum:
          onednn::AppendSum(
              post_ops, one.scale, one.zero_point,
              one.sum_type ? onednn::ToDnnlType(*one.sum_type) : dnnl::memory::data_type::undef);
          break;
        case LoggedPostOp::Kind::kEltwise:
          onednn::AppendEltwise(post_ops, AlgorithmOf(one.algorithm), one.alpha, one.beta,
                                one.scale);
          break;
        case LoggedPostOp::Kind::kBinary:
          post_ops.append_binary(AlgorithmOf(one.algorithm), Of(IndexedSrc(index)));
          break;
        case LoggedPostOp::Kind::kPrelu: {
          int mask = 0;
          const Shape weights = op_.Find(request_.execution, {Arg::kWeights, index})->shape;
          for (int d = 0; d < weights.rank(); ++d) mask |= weights[d] > 1 ? 1 << d : 0;
          post_ops.append_prelu(mask);
          break;
        }
        case LoggedPostOp::Kind::kDepthwise:
          onednn::AppendDepthwise(post_ops, one.stride,
                                  op_.Find(request_.execution, {Arg::kBias, index}).has_value());
          break;
      }
    }
    attributes_.set_post_ops(post_ops);
  }

  // The kernel of the primitive.
  template <typename Primitive>
  KernelOrRefusal Kernel(const typename Primitive::primitive_desc& pd) const {
    std::vector<onednn::PrimitiveOperand> operands;
    for (const Operand& operand : primitive_.operands) {
      const int argument = ArgumentOf(primitive_, operand.arg);
      const Desc known = pd.query_md(dnnl::query::exec_arg_md, argument);
      operands.push_back(
          {operand.arg, operand.direction, argument, known.is_zero() ? Of(operand.arg) : known});
    }
    return onednn::MakePrimitiveKernel<Primitive>(request_, pd, std::move(operands));
  }

  template <typename Primitive, typename... Arguments>
  typename Primitive::primitive_desc Describe(const Arguments&... arguments) const {
    return reference_ ? onednn::Describe<Primitive, true>(attributes_, arguments...)
                      : onednn::Describe<Primitive>(attributes_, arguments...);
  }
  template <typename Primitive, typename... Arguments>
  typename Primitive::primitive_desc DescribeBackward(const Arguments&... arguments) const {
    return reference_ ? onednn::DescribeBackward<Primitive, true>(attributes_, arguments...)
                      : onednn::DescribeBackward<Primitive>(attributes_, arguments...);
  }

  dnnl::algorithm Algorithm() const { return AlgorithmOf(primitive_.algorithm); }
  Hint Forward() const { return onednn::ForwardKind(request_); }

  // The result before a depthwise convolution has any layout.
  Desc Dst() const {
    if (primitive_.inner_dst.rank() == 0) return Of(Arg::kDst);
    const DataType type = op_.Find(request_.execution, Arg::kDst)->type;
    const Layout plain = Layout::Plain(primitive_.inner_dst.rank());
    return onednn::ToMemoryDesc({primitive_.inner_dst, type, reference_ ? plain : Layout::Any()});
  }

  KernelOrRefusal Convolution() const {
    using Conv = dnnl::convolution_forward;
    return Kernel<Conv>(Describe<Conv>(
        Forward(), Algorithm(), Of(Arg::kSrc), Of(Arg::kWeights), Of(Arg::kBias), Dst(),
        primitive_.strides, primitive_.dilations, primitive_.pad_before, primitive_.pad_after));
  }

  KernelOrRefusal Deconvolution() const {
    using Forward = dnnl::deconvolution_forward;
    using Data = dnnl::deconvolution_backward_data;
    using Weights = dnnl::deconvolution_backward_weights;
    const LoggedPrimitive& p = primitive_;
    const Pass pass = request_.execution.pass;
    const Desc src = Of(pass == Pass::kBackwardData ? Arg::kDiffSrc : Arg::kSrc);
    const Desc weights = Of(pass == Pass::kBackwardWeights ? Arg::kDiffWeights : Arg::kWeights);
    const Desc bias = Of(pass == Pass::kBackwardWeights ? Arg::kDiffBias : Arg::kBias);
    const Desc dst = Of(pass == Pass::kForward ? Arg::kDst : Arg::kDiffDst);
    const auto forward = Describe<Forward>(this->Forward(), Algorithm(), src, weights, bias, dst,
                                           p.strides, p.dilations, p.pad_before, p.pad_after);
    if (pass == Pass::kForward) return Kernel<Forward>(forward);
    if (pass == Pass::kBackwardData) {
      return Kernel<Data>(DescribeBackward<Data>(forward, Algorithm(), src, weights, dst, p.strides,
                                                 p.dilations, p.pad_before, p.pad_after));
    }
    return Kernel<Weights>(DescribeBackward<Weights>(forward, Algorithm(), src, weights, bias, dst,
                                                     p.strides, p.dilations, p.pad_before,
                                                     p.pad_after));
  }

  KernelOrRefusal InnerProduct() const {
    using Product = dnnl::inner_product_forward;
    return Kernel<Product>(Describe<Product>(Forward(), Of(Arg::kSrc), Of(Arg::kWeights),
                                             Of(Arg::kBias), Of(Arg::kDst)));
  }

  KernelOrRefusal Matmul() const {
    return Kernel<dnnl::matmul>(
        Describe<dnnl::matmul>(Of(Arg::kSrc), Of(Arg::kWeights), Of(Arg::kBias), Of(Arg::kDst)));
  }

  KernelOrRefusal Binary() const {
    return Kernel<dnnl::binary>(
        Describe<dnnl::binary>(Algorithm(), Of(Arg::kSrc), Of(Arg::kSum), Of(Arg::kDst)));
  }

  KernelOrRefusal Pooling() const {
    using Pool = dnnl::pooling_forward;
    return Kernel<Pool>(Describe<Pool>(
        Hint::forward_inference, Algorithm(), Of(Arg::kSrc), Of(Arg::kDst), primitive_.strides,
        primitive_.kernel, primitive_.dilations, primitive_.pad_before, primitive_.pad_after));
  }

  KernelOrRefusal Eltwise() const {
    using Function = dnnl::eltwise_forward;
    return Kernel<Function>(Describe<Function>(Forward(), Algorithm(), Of(Arg::kSrc), Of(Arg::kDst),
                                               primitive_.alpha, primitive_.beta));
  }

  KernelOrRefusal Shuffle() const {
    using Forward = dnnl::shuffle_forward;
    using Backward = dnnl::shuffle_backward;
    const bool forward = request_.execution.pass == Pass::kForward;
    const Desc data = Of(forward ? Arg::kSrc : Arg::kDiffSrc);
    const auto axis = static_cast<int>(primitive_.axis);
    const auto groups = static_cast<int>(primitive_.groups);
    const auto pd = Describe<Forward>(this->Forward(), data, data, axis, groups);
    if (forward) return Kernel<Forward>(pd);
    return Kernel<Backward>(DescribeBackward<Backward>(pd, data, data, axis, groups));
  }

  KernelOrRefusal Prelu() const {
    using Forward = dnnl::prelu_forward;
    using Backward = dnnl::prelu_backward;
    const Desc src = Of(Arg::kSrc), weights = Of(Arg::kWeights);
    const auto pd = Describe<Forward>(this->Forward(), src, weights, src);
    if (request_.execution.pass == Pass::kForward) return Kernel<Forward>(pd);
    return Kernel<Backward>(DescribeBackward<Backward>(pd, src, weights, Of(Arg::kDiffSrc),
                                                       Of(Arg::kDiffWeights), Of(Arg::kDiffDst)));
  }

  KernelOrRefusal LayerNormalization() const {
    using Forward = dnnl::layer_normalization_forward;
    using Backward = dnnl::layer_normalization_backward;
    Flags flags = Flags::none;
    if (primitive_.has_scale) flags |= Flags::use_scale;
    if (primitive_.has_shift) flags |= Flags::use_shift;
    if (primitive_.given_statistics) flags |= Flags::use_global_stats;
    const Desc src = Of(Arg::kSrc);
    Dims rows = onednn::DimsOf(src);
    rows.pop_back();
    const Desc statistics = onednn::ToMemoryDesc(
        {topdnn::Shape(rows), DataType::kF32, Layout::Plain(static_cast<int>(rows.size()))});
    const auto forward = Describe<Forward>(this->Forward(), src, src, statistics, kEpsilon, flags);
    if (request_.execution.pass == Pass::kForward) return Kernel<Forward>(forward);
    const Hint hint = primitive_.computes_parameters ? Hint::backward : Hint::backward_data;
    return Kernel<Backward>(
        DescribeBackward<Backward>(forward, hint, src, src, src, statistics, kEpsilon, flags));
  }

  const KernelRequest& request_;
  const LoggedOp& op_;
  const LoggedPrimitive& primitive_;
  const bool reference_;
  dnnl::primitive_attr attributes_;
};

KernelOrRefusal MakeOneDnnLogged(const KernelRequest& request) {
  return onednn::Offer(request, [&] { return Builder(request, /*reference=*/false).Make(); });
}

KernelOrRefusal MakeReferenceLogged(const KernelRequest& request) {
  return onednn::Offer(request, [&] { return Builder(request, /*reference=*/true).Make(); });
}

const KernelRegistration kLoggedOneDnn("primitive", "onednn", MakeOneDnnLogged);
const KernelRegistration kLoggedReference("primitive", "reference", MakeReferenceLogged);

}  // namespace

}  // namespace topdnn
