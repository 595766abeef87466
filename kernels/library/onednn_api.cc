#include "kernels/library/onednn_api.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <numeric>

namespace topdnn::onednn {

namespace {

using DimList = dnnl::memory::dims;

// The part of a blocked descriptor that a tag defines.
struct Blocking {
  DimList dims;
  DimList padded_dims;
  DimList strides;  // of the blocks, in elements
  DimList inner_blocks;
  std::vector<int> inner_dimensions;
};

// The product of the inner blocks of each dimension.
DimList BlockSizes(const Blocking& blocking) {
  DimList sizes(blocking.dims.size(), 1);
  for (std::size_t i = 0; i < blocking.inner_blocks.size(); ++i) {
    sizes[static_cast<std::size_t>(blocking.inner_dimensions[i])] *= blocking.inner_blocks[i];
  }
  return sizes;
}

// Sets the strides and the padding of a densely packed tensor with the dimensions in `order`,
// outermost first.
void Pack(const std::vector<int>& order, Blocking& blocking) {
  const DimList sizes = BlockSizes(blocking);
  dnnl::memory::dim stride = 1;
  for (const dnnl::memory::dim size : blocking.inner_blocks) stride *= size;
  for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
    const auto d = static_cast<std::size_t>(*dimension);
    blocking.padded_dims[d] = (blocking.dims[d] + sizes[d] - 1) / sizes[d] * sizes[d];
    blocking.strides[d] = stride;
    stride *= blocking.padded_dims[d] / sizes[d];
  }
}

struct ParsedTag {
  std::vector<int> order;  // of the dimensions, outermost first
  DimList inner_blocks;
  std::vector<int> inner_dimensions;
};

ParsedTag Parse(const std::string& tag) {
  ParsedTag parsed;
  std::size_t at = 0;
  for (; at < tag.size() && std::isalpha(static_cast<unsigned char>(tag[at])) != 0; ++at) {
    parsed.order.push_back(std::tolower(static_cast<unsigned char>(tag[at])) - 'a');
  }
  while (at < tag.size()) {
    std::size_t digits = 0;
    parsed.inner_blocks.push_back(std::stoll(tag.substr(at), &digits));
    parsed.inner_dimensions.push_back(tag[at + digits] - 'a');
    at += digits + 1;
  }
  if (parsed.inner_blocks.size() > DNNL_MAX_NDIMS) {
    throw dnnl::error(dnnl_unimplemented, "too many blocks");
  }
  return parsed;
}

Blocking Packed(const DimList& dims, const ParsedTag& tag) {
  Blocking blocking{dims, dims, dims, tag.inner_blocks, tag.inner_dimensions};
  Pack(tag.order, blocking);
  return blocking;
}

// The tag of a densely packed tensor, or empty. The stride of a dimension with a single block has
// no meaning.
std::string TagOf(const Blocking& blocking) {
  std::vector<int> order(blocking.dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return blocking.strides[static_cast<std::size_t>(a)] >
           blocking.strides[static_cast<std::size_t>(b)];
  });
  const DimList sizes = BlockSizes(blocking);
  Blocking packed = blocking;
  Pack(order, packed);
  std::string tag;
  for (const int dimension : order) {
    const auto d = static_cast<std::size_t>(dimension);
    if (packed.padded_dims[d] != blocking.padded_dims[d]) return {};
    const bool counts = blocking.padded_dims[d] > sizes[d];
    if (counts && packed.strides[d] != blocking.strides[d]) return {};
    tag += static_cast<char>((sizes[d] > 1 ? 'A' : 'a') + dimension);
  }
  for (std::size_t i = 0; i < blocking.inner_blocks.size(); ++i) {
    tag += std::to_string(blocking.inner_blocks[i]);
    tag += static_cast<char>('a' + blocking.inner_dimensions[i]);
  }
  return tag;
}

}  // namespace

// Its logarithm is not used: 2.6 computes -1.4e-6 for log(1).
std::optional<dnnl::algorithm> AlgorithmOfFunction(std::string_view name) {
  using dnnl::algorithm;
  static const std::map<std::string_view, algorithm> algorithms = {
      {"abs", algorithm::eltwise_abs},
      {"elu", algorithm::eltwise_elu},
      {"exp", algorithm::eltwise_exp},
      {"gelu", algorithm::eltwise_gelu_erf},
      {"gelu_tanh", algorithm::eltwise_gelu_tanh},
      {"hard_swish", algorithm::eltwise_hardswish},
      {"leaky_relu", algorithm::eltwise_relu},
      {"mish", algorithm::eltwise_mish},
      {"sqrt", algorithm::eltwise_sqrt},
      {"square", algorithm::eltwise_square},
      {"swish", algorithm::eltwise_swish},
      {"tanh", algorithm::eltwise_tanh},
  };
  const auto found = algorithms.find(name);
  return found == algorithms.end() ? std::nullopt : std::optional(found->second);
}

void AppendRelu(dnnl::post_ops& post_ops, float bound) {
  using dnnl::algorithm;
  AppendEltwise(post_ops, bound == 0.0F ? algorithm::eltwise_relu : algorithm::eltwise_clip, 0.0F,
                bound);
}

void AppendSum(dnnl::post_ops& post_ops, float scale, std::int32_t zero_point,
               dnnl::memory::data_type type) {
  post_ops.append_sum(scale, zero_point, type);
}

#if DNNL_VERSION_MAJOR < 3

dnnl::concat::primitive_desc DescribeConcat(const dnnl::primitive_attr& attributes,
                                            const dnnl::memory::desc& dst, int axis,
                                            const std::vector<dnnl::memory::desc>& sources) {
  return {dst, axis, sources, Engine(), attributes};
}

void AppendEltwise(dnnl::post_ops& post_ops, dnnl::algorithm algorithm, float alpha, float beta,
                   float scale) {
  post_ops.append_eltwise(scale, algorithm, alpha, beta);
}

void SetScales(dnnl::primitive_attr& attributes, int argument, int mask, std::int64_t count,
               float value) {
  const std::vector<float> values(static_cast<std::size_t>(count), value);
  if (argument == 0) {
    attributes.set_output_scales(mask, values);
  } else {
    attributes.set_scales(argument, mask, values);
  }
}

void SetZeroPoints(dnnl::primitive_attr& attributes, int argument, int mask, std::int64_t count) {
  attributes.set_zero_points(argument, mask,
                             std::vector<std::int32_t>(static_cast<std::size_t>(count), 1));
}

void AppendDepthwise(dnnl::post_ops& post_ops, dnnl::memory::dim stride, bool bias) {
  constexpr auto kF32 = dnnl::memory::data_type::f32;
  const auto bias_type = bias ? kF32 : dnnl::memory::data_type::undef;
  if (stride == 1) {
    post_ops.append_dw_k3s1p1(kF32, bias_type, kF32, 0, {});
  } else {
    post_ops.append_dw_k3s2p1(kF32, bias_type, kF32, 0, {});
  }
}

void ScaleResult(dnnl::primitive_attr& attributes, dnnl::post_ops& /*post_ops*/, float factor) {
  attributes.set_output_scales(0, {factor});
}

void ScaleSums(dnnl::primitive_attr& attributes, const std::vector<float>& factors) {
  attributes.set_output_scales(1 << 1, factors);
}

dnnl::memory::dims DimsOf(const dnnl::memory::desc& desc) { return desc.dims(); }
dnnl::memory::data_type TypeOf(const dnnl::memory::desc& desc) { return desc.data_type(); }

dnnl::memory::desc DescOfTag(const dnnl::memory::dims& dims, dnnl::memory::data_type type,
                             const std::string& tag) {
  const Blocking packed = Packed(dims, Parse(tag));
  dnnl::memory::desc result(dims, type, dnnl::memory::dims{});
  auto& blocking = result.data.format_desc.blocking;
  std::copy(packed.padded_dims.begin(), packed.padded_dims.end(), result.data.padded_dims);
  std::copy(packed.strides.begin(), packed.strides.end(), blocking.strides);
  std::copy(packed.inner_blocks.begin(), packed.inner_blocks.end(), blocking.inner_blks);
  std::copy(packed.inner_dimensions.begin(), packed.inner_dimensions.end(), blocking.inner_idxs);
  blocking.inner_nblks = static_cast<int>(packed.inner_blocks.size());
  return result;
}

std::string TagOf(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  if (data.format_kind != dnnl_blocked || data.extra.flags != 0 || data.offset0 != 0) return {};
  const auto& blocking = data.format_desc.blocking;
  const auto list = [](const auto* first, int length) {
    return std::vector<dnnl::memory::dim>(first, first + length);
  };
  const auto inner = list(blocking.inner_idxs, blocking.inner_nblks);
  return TagOf(Blocking{list(data.dims, data.ndims), list(data.padded_dims, data.ndims),
                        list(blocking.strides, data.ndims),
                        list(blocking.inner_blks, blocking.inner_nblks),
                        std::vector<int>(inner.begin(), inner.end())});
}

#else

dnnl::concat::primitive_desc DescribeConcat(const dnnl::primitive_attr& attributes,
                                            const dnnl::memory::desc& dst, int axis,
                                            const std::vector<dnnl::memory::desc>& sources) {
  return {Engine(), dst, axis, sources, attributes};
}

void AppendEltwise(dnnl::post_ops& post_ops, dnnl::algorithm algorithm, float alpha, float beta,
                   float scale) {
  post_ops.append_eltwise(algorithm, alpha, beta);
  if (scale != 1.0F) post_ops.append_eltwise(dnnl::algorithm::eltwise_linear, scale, 0.0F);
}

void SetScales(dnnl::primitive_attr& /*attributes*/, int /*argument*/, int /*mask*/,
               std::int64_t /*count*/, float /*value*/) {
  throw dnnl::error(dnnl_unimplemented, "the scales of oneDNN 3 are operands");
}

void SetZeroPoints(dnnl::primitive_attr& /*attributes*/, int /*argument*/, int /*mask*/,
                   std::int64_t /*count*/) {
  throw dnnl::error(dnnl_unimplemented, "the zero points of oneDNN 3 are operands");
}

void AppendDepthwise(dnnl::post_ops& post_ops, dnnl::memory::dim stride, bool bias) {
  constexpr auto kF32 = dnnl::memory::data_type::f32;
  post_ops.append_dw(kF32, bias ? kF32 : dnnl::memory::data_type::undef, kF32, 3, stride, 1);
}

void ScaleResult(dnnl::primitive_attr& /*attributes*/, dnnl::post_ops& post_ops, float factor) {
  post_ops.append_eltwise(dnnl::algorithm::eltwise_linear, factor, 0.0F);
}

void ScaleSums(dnnl::primitive_attr& /*attributes*/, const std::vector<float>& /*factors*/) {
  throw dnnl::error(dnnl_unimplemented, "oneDNN 3 adds the bias after the scales");
}

dnnl::memory::dims DimsOf(const dnnl::memory::desc& desc) { return desc.get_dims(); }
dnnl::memory::data_type TypeOf(const dnnl::memory::desc& desc) { return desc.get_data_type(); }

namespace {

// oneDNN 3 makes a blocked descriptor only from a tag of its own list.
const std::map<std::string, dnnl::memory::format_tag>& NamedTags() {
  static const auto* const tags = [] {
    auto* named = new std::map<std::string, dnnl::memory::format_tag>();
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
      named->emplace(dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(tag)),
                     static_cast<dnnl::memory::format_tag>(tag));
    }
    return named;
  }();
  return *tags;
}

// A tag of oneDNN's list with the same positions of all elements, or empty. The order of dimensions
// with one block is free: weights of one input channel fit Abcd16a and Acdb16a.
std::string NamedTagOf(const Blocking& blocking) {
  const DimList sizes = BlockSizes(blocking);
  for (const auto& [name, tag] : NamedTags()) {
    const ParsedTag parsed = Parse(name);
    if (parsed.order.size() != blocking.dims.size() ||
        parsed.inner_blocks != blocking.inner_blocks ||
        parsed.inner_dimensions != blocking.inner_dimensions) {
      continue;
    }
    const Blocking packed = Packed(blocking.dims, parsed);
    bool same = packed.padded_dims == blocking.padded_dims;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const bool counts = blocking.padded_dims[d] > sizes[d];
      same = same && (!counts || packed.strides[d] == blocking.strides[d]);
    }
    if (same) return name;
  }
  return {};
}

}  // namespace

dnnl::memory::desc DescOfTag(const dnnl::memory::dims& dims, dnnl::memory::data_type type,
                             const std::string& tag) {
  const ParsedTag parsed = Parse(tag);
  if (parsed.inner_blocks.empty()) return {dims, type, Packed(dims, parsed).strides};
  const auto named = NamedTags().find(tag);
  if (named == NamedTags().end()) {
    throw dnnl::error(dnnl_unimplemented, "oneDNN has no name for this layout");
  }
  return {dims, type, named->second};
}

std::string TagOf(const dnnl::memory::desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return {};
  if (desc.get_submemory_offset() != 0) return {};
  const DimList inner = desc.get_inner_idxs();
  const Blocking blocking{desc.get_dims(), desc.get_padded_dims(), desc.get_strides(),
                          desc.get_inner_blks(), std::vector<int>(inner.begin(), inner.end())};
  std::string tag = TagOf(blocking);
  if (!inner.empty() && !NamedTags().contains(tag)) tag = NamedTagOf(blocking);
  if (tag.empty()) return {};
  // Extra data, such as the compensation of int8 weights, adds to the size and is not visible
  // otherwise.
  const bool extra =
      DescOfTag(desc.get_dims(), desc.get_data_type(), tag).get_size() != desc.get_size();
  return extra ? std::string() : tag;
}

#endif

}  // namespace topdnn::onednn
