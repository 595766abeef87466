// Rows that no operation of topdnn computes, as the primitive that oneDNN logged: with scales, zero
// points and any post-ops, and layer normalizations, PReLU and shuffles.

#include "bench/log/translate/logged_translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"
#include "kernels/logged/logged_primitive.h"

namespace topdnn {

namespace {

using Extents = std::vector<std::int64_t>;
using Kind = LoggedPostOp::Kind;

template <typename Number>
Number NumberIn(std::string_view text) {
  const auto value = ParseNumber<Number>(text);
  if (!value) throw NotTranslated(fmt::format("'{}' among the attributes is no number", text));
  return *value;
}

// The part i of "a:b:c", or `otherwise`.
template <typename Number>
Number PartOr(const std::vector<std::string_view>& parts, std::size_t i, Number otherwise) {
  return i < parts.size() ? NumberIn<Number>(parts[i]) : otherwise;
}

class LoggedReader {
 public:
  explicit LoggedReader(const RowReader& row) : row_(row) {
    primitive_.name = row.row().primitive;
    constexpr std::string_view kLater = "_v2";
    if (primitive_.name.ends_with(kLater)) {
      primitive_.name.resize(primitive_.name.size() - kLater.size());
    }
    primitive_.algorithm = row.Algorithm();
    primitive_.problem = row.row().problem;
    primitive_.attributes = row.row().attributes;
  }

  TracedProblem Read() {
    static const std::map<std::string_view, void (LoggedReader::*)()> kReaders = {
        {"convolution", &LoggedReader::ReadConvolution},
        {"deconvolution", &LoggedReader::ReadConvolution},
        {"inner_product", &LoggedReader::ReadInnerProduct},
        {"matmul", &LoggedReader::ReadMatmul},
        {"binary", &LoggedReader::ReadBinary},
        {"pooling", &LoggedReader::ReadPooling},
        {"eltwise", &LoggedReader::ReadEltwise},
        {"shuffle", &LoggedReader::ReadShuffle},
        {"prelu", &LoggedReader::ReadPrelu},
        {"layer_normalization", &LoggedReader::ReadLayerNormalization}};
    const auto reader = kReaders.find(primitive_.name);
    if (reader == kReaders.end()) {
      throw NotTranslated(fmt::format("topdnn has no kernels for {}", row_.row().primitive));
    }
    (this->*reader->second)();
    if (forward()) {
      ReadAttributes();
    } else {
      row_.RefuseAttributes();
    }
    TracedProblem problem;
    problem.execution = {row_.pass(), row_.training(), primitive_.operands.front().type};
    problem.op = std::make_shared<LoggedOp>(std::move(primitive_), problem.execution);
    problem.layouts = std::move(layouts_);
    return problem;
  }

 private:
  bool forward() const { return row_.pass() == Pass::kForward; }

  void Add(Arg arg, Direction direction, const Extents& shape, DataType type) {
    if (shape.size() > kMostDimensions) throw NotTranslated("more dimensions than oneDNN has");
    primitive_.operands.push_back({arg, direction, Shape(shape), type});
  }

  // An operand that the log describes. `may_choose`: oneDNN chooses a layout that no tag describes.
  void Add(Arg arg, Direction direction, const Extents& shape, const TracedTensor& tensor,
           bool may_choose = false) {
    Add(arg, direction, shape, row_.TypeOf(tensor));
    if (tensor.format_kind == "any") return;
    if (may_choose && (tensor.format_kind != "blocked" || !tensor.extra.empty())) return;
    if (DimensionsOf(tensor) != shape.size()) {
      throw NotTranslated(fmt::format("{} in {} has other dimensions than the problem '{}'",
                                      tensor.name, tensor.layout, primitive_.problem));
    }
    layouts_[arg] = row_.LayoutOf(tensor);
  }

  Extents Spatial(char letter, std::int64_t otherwise = -1) const {
    Extents extents;
    for (const char axis : {'d', 'h', 'w'}) {
      if (!row_.Has({'i', axis})) continue;
      const std::string name = {letter, axis};
      extents.push_back(otherwise < 0 ? row_.Number(name) : row_.NumberOr(name, otherwise));
    }
    return extents;
  }

  static Extents With(Extents first, const Extents& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  }

  // src, weights, bias and dst of a product, or their gradients.
  void AddProduct(const Extents& src, const Extents& weights, const Extents& bias,
                  const Extents& dst) {
    const Pass pass = row_.pass();
    const auto role = [pass](Pass writes, Arg value, Arg gradient) {
      return pass == writes ? gradient : value;
    };
    const auto direction = [pass](Pass writes) {
      return pass == writes ? Direction::kOut : Direction::kIn;
    };
    Add(role(Pass::kBackwardData, Arg::kSrc, Arg::kDiffSrc), direction(Pass::kBackwardData), src,
        row_.Tensor({"src", "diff_src"}));
    Add(role(Pass::kBackwardWeights, Arg::kWeights, Arg::kDiffWeights),
        direction(Pass::kBackwardWeights), weights, row_.Tensor({"wei", "diff_wei"}),
        /*may_choose=*/true);
    if (row_.HasTensor("bia") && pass != Pass::kBackwardData) {
      Add(role(Pass::kBackwardWeights, Arg::kBias, Arg::kDiffBias),
          direction(Pass::kBackwardWeights), bias, row_.TypeOf(row_.Tensor({"bia"})));
    }
    Add(forward() ? Arg::kDst : Arg::kDiffDst, forward() ? Direction::kOut : Direction::kIn, dst,
        row_.Tensor({"dst", "diff_dst"}));
  }

  // Strides, dilations and padding. Returns the extents of the result. `derive`: from the others,
  // because those of the log may be the result of a post-op.
  Extents ReadWindow(const Extents& kernel, bool transposed, bool derive) {
    primitive_.strides = Spatial('s', 1);
    primitive_.dilations = Spatial('d', 0);
    primitive_.pad_before = Spatial('p', 0);
    const Extents in = Spatial('i');
    Extents out = Spatial('o');
    for (std::size_t a = 0; a < in.size(); ++a) {
      const std::int64_t window = (kernel[a] - 1) * (primitive_.dilations[a] + 1) + 1;
      const std::int64_t before = primitive_.pad_before[a], stride = primitive_.strides[a];
      if (derive && stride > 0) out[a] = (in[a] + 2 * before - window) / stride + 1;
      const std::int64_t from = transposed ? out[a] : in[a], to = transposed ? in[a] : out[a];
      const std::int64_t after = (to - 1) * stride + window - from - before;
      if (stride < 1 || after <= -stride || after >= std::max<std::int64_t>(window, 2)) {
        throw NotTranslated(fmt::format("the problem '{}' contradicts itself", primitive_.problem));
      }
      primitive_.pad_after.push_back(after);
    }
    return out;
  }

  void ReadPooling() {
    if (!forward() || row_.training()) throw NotTranslated("a pooling of training with post-ops");
    primitive_.kernel = Spatial('k');
    const Extents outputs = ReadWindow(primitive_.kernel, /*transposed=*/false, /*derive=*/false);
    const Extents images = {row_.Number("mb"), row_.Number("ic")};
    Add(Arg::kSrc, Direction::kIn, With(images, Spatial('i')), row_.Tensor({"src"}));
    Add(Arg::kDst, Direction::kOut, With(images, outputs), row_.Tensor({"dst"}));
  }

  void ReadEltwise() {
    if (!forward()) throw NotTranslated("a gradient of a function that topdnn does not compute");
    primitive_.alpha = static_cast<float>(row_.RealOr("alpha", 0));
    primitive_.beta = static_cast<float>(row_.RealOr("beta", 0));
    AddData(Arg::kSrc, Arg::kDst, row_.Shapes().front().extents());
  }

  void ReadConvolution() {
    if (primitive_.name == "convolution" && !forward()) {
      throw NotTranslated("a gradient of a convolution that topdnn does not compute");
    }
    const std::int64_t groups = row_.NumberOr("g", 1);
    const std::int64_t outputs = row_.Number("oc"), inputs = row_.Number("ic");
    if (groups < 1 || outputs % groups != 0 || inputs % groups != 0) {
      throw NotTranslated(fmt::format("{} groups do not divide the channels", groups));
    }
    const bool transposed = primitive_.name == "deconvolution";
    const LoggedPostOp depthwise = DepthwiseOf();
    const Extents in = Spatial('i'), kernel = Spatial('k');
    const Extents out = ReadWindow(kernel, transposed, depthwise.stride > 0);
    const Extents weights =
        groups > 1 ? Extents{groups, outputs / groups, inputs / groups} : Extents{outputs, inputs};
    const std::int64_t images = row_.Number("mb");
    Extents dst = With({images, outputs}, out);
    if (depthwise.stride > 0) {
      primitive_.inner_dst = Shape(dst);
      dst = With({images, outputs}, AfterDepthwise(out, depthwise.stride));
    }
    AddProduct(With({images, inputs}, in), With(weights, kernel), {outputs}, dst);
  }

  void ReadInnerProduct() {
    const Extents pixels = Spatial('i');
    const std::int64_t images = row_.Number("mb"), outputs = row_.Number("oc");
    AddProduct(With({images, row_.Number("ic")}, pixels),
               With({outputs, row_.Number("ic")}, pixels), {outputs}, {images, outputs});
  }

  void ReadMatmul() {
    const std::vector<Shape> shapes = row_.Shapes();
    if (shapes.size() < 2 || shapes[0].rank() != shapes[1].rank() || shapes[0].rank() < 2) {
      throw NotTranslated("the matrices of a matmul have the same two or more dimensions");
    }
    const int rank = shapes[0].rank();
    Extents dst, bias(static_cast<std::size_t>(rank), 1);
    for (int d = 0; d < rank; ++d) dst.push_back(std::max(shapes[0][d], shapes[1][d]));
    dst[static_cast<std::size_t>(rank) - 2] = shapes[0][rank - 2];
    bias.back() = dst.back() = shapes[1][rank - 1];
    if (row_.HasTensor("bia") && row_.Tensor({"bia"}).mask >= 0) {
      bias = Masked(dst, row_.Tensor({"bia"}).mask);
    }
    AddProduct(shapes[0].extents(), shapes[1].extents(), bias, dst);
  }

  void ReadBinary() {
    const std::vector<Shape> shapes = row_.Shapes();
    if (shapes.size() < 2 || shapes[0].rank() != shapes[1].rank()) {
      throw NotTranslated("the sources of a binary have the same number of dimensions");
    }
    Extents dst;
    for (int d = 0; d < shapes[0].rank(); ++d) {
      const std::int64_t first = shapes[0][d], second = shapes[1][d];
      if (first != second && first != 1 && second != 1) {
        throw NotTranslated("extents that do not match");
      }
      dst.push_back(std::max(first, second));
    }
    Add(Arg::kSrc, Direction::kIn, shapes[0].extents(), row_.Tensor("src", 0));
    Add(Arg::kSum, Direction::kIn, shapes[1].extents(), row_.Tensor("src", 1));
    Add(Arg::kDst, Direction::kOut, dst, row_.Tensor({"dst"}));
  }

  // src and dst, or their gradients, of an operation with one shape. (one description serves for
  // both: oneDNN 2 has no other)
  void AddData(Arg in, Arg out, const Extents& shape) {
    const bool reads = forward();
    const TracedTensor& from =
        row_.Tensor(reads ? std::vector<std::string_view>{"data", "src", "dst"}
                          : std::vector<std::string_view>{"diff_dst", "diff", "diff_src", "data"});
    const TracedTensor& to =
        row_.Tensor(reads ? std::vector<std::string_view>{"dst", "data", "src"}
                          : std::vector<std::string_view>{"diff_src", "diff", "diff_dst", "data"});
    if (from.type != to.type || from.layout != to.layout) {
      throw NotTranslated(fmt::format(
          "topdnn's {} has {} and {} of one type and layout, not {} and {}", primitive_.name,
          from.name, to.name, from.type + " " + from.layout, to.type + " " + to.layout));
    }
    Add(in, Direction::kIn, shape, from);
    Add(out, Direction::kOut, shape, to);
  }

  void ReadShuffle() {
    primitive_.axis = row_.Number("axis");
    primitive_.groups = row_.Number("group");
    const Extents shape = row_.Shapes().front().extents();
    if (forward()) {
      AddData(Arg::kSrc, Arg::kDst, shape);
    } else {
      AddData(Arg::kDiffDst, Arg::kDiffSrc, shape);
    }
  }

  void ReadPrelu() {
    const std::vector<Shape> shapes = row_.Shapes();
    if (shapes.size() < 2) throw NotTranslated("a PReLU has two shapes");
    const Extents& weights = shapes[1].extents();
    if (forward()) {
      AddData(Arg::kSrc, Arg::kDst, shapes[0].extents());
    } else {
      AddData(Arg::kDiffDst, Arg::kDiffSrc, shapes[0].extents());
      Add(Arg::kSrc, Direction::kIn, shapes[0].extents(), row_.Tensor({"data", "src"}));
      Add(Arg::kDiffWeights, Direction::kOut, weights, row_.Tensor({"diff_wei", "wei"}));
    }
    Add(Arg::kWeights, Direction::kIn, weights, row_.Tensor({"wei"}));
  }

  void ReadLayerNormalization() {
    const std::string flags = row_.Flags("GSCH");
    const auto has = [&flags](char flag) { return flags.find(flag) != std::string::npos; };
    primitive_.given_statistics = has('G');
    primitive_.has_scale = has('S') || has('C');
    primitive_.has_shift = has('S') || has('H');
    primitive_.computes_parameters = row_.row().prop_kind == "backward";
    const Extents shape = row_.Shapes().front().extents();
    if (shape.size() < 2) throw NotTranslated("a layer normalization of less than two dimensions");
    const Extents rows(shape.begin(), shape.end() - 1), channels = {shape.back()};
    if (forward()) {
      AddData(Arg::kSrc, Arg::kDst, shape);
    } else {
      AddData(Arg::kDiffDst, Arg::kDiffSrc, shape);
      Add(Arg::kSrc, Direction::kIn, shape, row_.Tensor({"data", "src"}));
    }
    const bool reads = !forward() || primitive_.given_statistics;
    if (reads || row_.training()) {
      for (const Arg arg : {Arg::kMean, Arg::kVariance}) {
        Add(arg, reads ? Direction::kIn : Direction::kOut, rows, DataType::kF32);
      }
    }
    const bool gradients = !forward() && primitive_.computes_parameters;
    const auto parameter = [&](bool present, Arg value, Arg gradient) {
      if (!present) return;
      Add(value, Direction::kIn, channels, DataType::kF32);
      if (gradients) Add(gradient, Direction::kOut, channels, DataType::kF32);
    };
    parameter(primitive_.has_scale, Arg::kScale, Arg::kDiffScale);
    parameter(primitive_.has_shift, Arg::kShift, Arg::kDiffShift);
  }

  void ReadAttributes() {
    for (const std::string_view word : SplitText(row_.row().attributes, " ")) {
      const std::size_t colon = std::min(word.find(':'), word.size());
      const std::string_view name = word.substr(0, colon);
      const std::string_view rest = colon < word.size() ? word.substr(colon + 1) : "";
      if (word.empty()) continue;
      if (name == "attr-post-ops") {
        for (const std::string_view one : SplitText(rest, "+")) AddPostOp(one);
      } else if (name == "attr-oscale") {
        primitive_.scales.push_back({std::nullopt, NumberIn<int>(rest.substr(0, rest.find(':')))});
      } else if (name == "attr-scales") {
        primitive_.scales = FactorsIn(rest);
      } else if (name == "attr-zero-points") {
        primitive_.zero_points = FactorsIn(rest);
      } else {
        throw NotTranslated(fmt::format("topdnn's kernels have no {}", word));
      }
    }
    ScaleSumsOfProducts();
  }

  // "src0:0:0.5+wei:2:f32": whose, mask, and what topdnn does not need.
  static std::vector<LoggedFactor> FactorsIn(std::string_view text) {
    static const std::map<std::string_view, Arg> kArgs = {{"src", Arg::kSrc},
                                                          {"src0", Arg::kSrc},
                                                          {"src1", Arg::kSum},
                                                          {"wei", Arg::kWeights},
                                                          {"dst", Arg::kDst}};
    std::vector<LoggedFactor> factors;
    for (const std::string_view one : SplitText(text, "+")) {
      const std::vector<std::string_view> parts = SplitText(one, ":");
      const auto arg = kArgs.find(parts[0]);
      if (arg == kArgs.end() || parts.size() < 2) {
        throw NotTranslated(fmt::format("topdnn's kernels have no factors '{}'", one));
      }
      factors.push_back({arg->second, NumberIn<int>(parts[1])});
    }
    return factors;
  }

  // oneDNN 3 has a scale of each operand of a product, and oneDNN 2 one of its sums.
  void ScaleSumsOfProducts() {
    if (primitive_.name == "binary" || primitive_.scales.empty() || !primitive_.scales[0].of)
      return;
    int mask = 0;
    for (const LoggedFactor& factor : primitive_.scales) {
      if (factor.of != Arg::kWeights || factor.mask == 0) continue;
      mask = primitive_.name == "matmul" ? factor.mask : 1 << 1;
    }
    primitive_.scales = {{std::nullopt, mask}};
  }

  // The dimensions of which the mask has the bits; the others are 1.
  static Extents Masked(Extents extents, int mask) {
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if ((mask >> d & 1) == 0) extents[d] = 1;
    }
    return extents;
  }

  Extents Masked(int mask) const {
    for (const Operand& operand : primitive_.operands) {
      if (operand.arg == Arg::kDst) return Masked(operand.shape.extents(), mask);
    }
    throw NotTranslated("a post-op without a result");
  }

  // The extents of what a depthwise post-op makes of `inner`: a window of 3, padded by 1. oneDNN 2
  // logs these extents, and oneDNN 3 and benchdnn have those of `inner`.
  Extents AfterDepthwise(const Extents& inner, std::int64_t stride) const {
    for (const auto& [name, type] :
         {std::pair{"src_fused", row_.Tensor({"dst"}).type}, {"wei_fused", "f32"}}) {
      if (!row_.HasTensor(name) || row_.Tensor({name}).type == type) continue;
      throw NotTranslated(fmt::format("topdnn's depthwise post-op has {} in {}, not in {}", name,
                                      type, row_.Tensor({name}).type));
    }
    Extents result = inner;
    for (std::int64_t& extent : result) extent = (extent + stride - 1) / stride;
    if (const Extents logged = Spatial('o'); logged != inner && logged != result) {
      throw NotTranslated(fmt::format("the problem '{}' contradicts itself", primitive_.problem));
    }
    return result;
  }

  // The depthwise convolution among the post-ops, "dw:k3s2p1"; of stride 0 if there is none.
  LoggedPostOp DepthwiseOf() const {
    LoggedPostOp found{.kind = Kind::kDepthwise};
    for (const std::string_view word : SplitText(row_.row().attributes, "+ ")) {
      const std::size_t at = word.find("dw");
      if (at == std::string_view::npos || (at > 0 && word[at - 1] != ':')) continue;
      const std::string_view window = word.substr(std::min(at + 3, word.size()), 6);
      if (window != "k3s1p1" && window != "k3s2p1") {
        throw NotTranslated(fmt::format("topdnn's kernels have no post-op {}", word));
      }
      found.stride = window[3] - '0';
    }
    return found;
  }

  void AddPostOp(std::string_view text) {
    const std::vector<std::string_view> parts = SplitText(text, ":");
    const std::string_view name = parts[0];
    const int index = static_cast<int>(primitive_.post_ops.size());
    LoggedPostOp one{.kind = Kind::kEltwise, .algorithm = std::string(name)};
    if (name == "sum") {
      one.kind = Kind::kSum;
      one.scale = PartOr<float>(parts, 1, 1);
      one.zero_point = PartOr<std::int32_t>(parts, 2, 0);
      if (parts.size() > 3) one.sum_type = ParseDataType(parts[3]);
      for (Operand& operand : primitive_.operands) {
        if (operand.arg == Arg::kDst) operand.direction = Direction::kInOut;
      }
    } else if (name.starts_with("eltwise_")) {
      one.alpha = PartOr<float>(parts, 1, 0);
      one.beta = PartOr<float>(parts, 2, 0);
      one.scale = PartOr<float>(parts, 3, 1);
    } else if (name.starts_with("binary_") && parts.size() > 2) {
      one.kind = Kind::kBinary;
      TracedTensor operand;
      operand.name = "the operand of a post-op";
      operand.type = parts[1];
      operand.layout = parts.size() > 3 ? parts[3] : "any";
      operand.format_kind = operand.layout == "any" ? "any" : "blocked";
      Add(IndexedSrc(index), Direction::kIn, Masked(NumberIn<int>(parts[2])), operand);
    } else if (name == "prelu" && parts.size() > 1) {
      one.kind = Kind::kPrelu;
      Add({Arg::kWeights, index}, Direction::kIn, Masked(NumberIn<int>(parts[1])), DataType::kF32);
    } else if (name.starts_with("dw")) {
      one = DepthwiseOf();
      if (primitive_.inner_dst.rank() < 2) {
        throw NotTranslated("a depthwise post-op of another primitive than a convolution");
      }
      const std::int64_t channels = primitive_.inner_dst[1];
      Add({Arg::kWeights, index}, Direction::kIn, {channels, 1, 1, 3, 3}, DataType::kF32);
      // (oneDNN 2 does not log this bias: it is taken to be there with the other one)
      if (row_.HasTensor(row_.HasTensor("src_fused") ? "bia_fused" : "bia")) {
        Add({Arg::kBias, index}, Direction::kIn, {channels}, DataType::kF32);
      }
    } else {
      throw NotTranslated(fmt::format("topdnn's kernels have no post-op {}", text));
    }
    primitive_.post_ops.push_back(std::move(one));
  }

  const RowReader& row_;
  LoggedPrimitive primitive_;
  std::map<Arg, Layout> layouts_;
};

}  // namespace

TracedProblem LoggedProblemOf(const RowReader& row) { return LoggedReader(row).Read(); }

}  // namespace topdnn
