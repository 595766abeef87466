#include "kernels/interpolate/interpolate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

constexpr std::array<std::string_view, 3> kInterpolations = {"nearest", "linear", "cubic"};
constexpr std::array<std::string_view, 6> kCoordinates = {"half",       "pytorch", "corners",
                                                          "asymmetric", "tfhalf",  "symmetric"};
constexpr std::array<std::string_view, 4> kRoundings = {"preferfloor", "preferceil", "floor",
                                                        "ceil"};

// Where index i of the result lies in the source.
double CoordinateOf(Coordinates mode, double i, std::int64_t in, std::int64_t out, double scale) {
  switch (mode) {
    case Coordinates::kPytorchHalfPixel:
      if (out == 1) return 0;
      break;
    case Coordinates::kAlignCorners:
      return out == 1 ? 0 : i * static_cast<double>(in - 1) / static_cast<double>(out - 1);
    case Coordinates::kAsymmetric:
      return i / scale;
    case Coordinates::kTfHalfPixel:
      return (i + 0.5) / scale;
    case Coordinates::kHalfPixelSymmetric: {
      const auto extent = static_cast<double>(in);
      const double moved = extent / 2 * (1 - static_cast<double>(out) / (extent * scale));
      return moved + (i + 0.5) / scale - 0.5;
    }
    case Coordinates::kHalfPixel:
      break;
  }
  return (i + 0.5) / scale - 0.5;
}

// A scale in f32 is only close to the intended one. A coordinate that is halfway or whole within
// the error of f32 becomes exactly that, so that the rounding does not depend on the error.
double Snapped(double x) {
  constexpr double kError = 1e-6;
  const double snapped = std::round(2 * x) / 2;
  return std::abs(x - snapped) <= kError * std::max(1.0, std::abs(x)) ? snapped : x;
}

double NearestOf(NearestRounding rounding, double x) {
  switch (rounding) {
    case NearestRounding::kPreferFloor:
      return std::ceil(Snapped(x) - 0.5);
    case NearestRounding::kPreferCeil:
      return std::floor(Snapped(x) + 0.5);
    case NearestRounding::kFloor:
      return std::floor(Snapped(x));
    case NearestRounding::kCeil:
      break;
  }
  return std::ceil(Snapped(x));
}

// The weights of the four elements around a coordinate that is `r` beyond the second one. Source:
// Keys 1981, "Cubic Convolution Interpolation for Digital Image Processing".
std::array<double, 4> CubicWeights(double a, double r) {
  const auto near = [a](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };  // |x| <= 1
  const auto far = [a](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(1 + r), near(r), near(1 - r), far(2 - r)};
}

}  // namespace

AxisWeights AxisWeights::Transposed(std::int64_t extent) const {
  AxisWeights gradient;
  gradient.starts.assign(static_cast<std::size_t>(extent) + 1, 0);
  for (const std::int64_t source : sources) ++gradient.starts[static_cast<std::size_t>(source) + 1];
  for (std::size_t i = 1; i < gradient.starts.size(); ++i) {
    gradient.starts[i] += gradient.starts[i - 1];
  }
  gradient.sources.resize(sources.size());
  gradient.weights.resize(sources.size());
  std::vector<std::int64_t> next = gradient.starts;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    for (auto at = static_cast<std::size_t>(starts[i]);
         at < static_cast<std::size_t>(starts[i + 1]); ++at) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(sources[at])]++);
      gradient.sources[to] = static_cast<std::int64_t>(i);
      gradient.weights[to] = weights[at];
    }
  }
  return gradient;
}

InterpolateOp::InterpolateOp(Shape src, Shape dst, std::vector<double> scales,
                             InterpolateSettings settings)
    : src_(std::move(src)), dst_(std::move(dst)), scales_(std::move(scales)), settings_(settings) {
  CheckExtents("interpolation", src_);
  CheckExtents("interpolation to a result", dst_);
  const bool positive = std::all_of(scales_.begin(), scales_.end(), [](double scale) {
    return std::isfinite(scale) && scale >= 1e-9;  // coordinates fit 64 bits
  });
  if (src_.rank() == 0 || src_.rank() != dst_.rank() ||
      scales_.size() != static_cast<std::size_t>(src_.rank()) || !positive ||
      !std::isfinite(settings_.cubic_a)) {
    throw std::invalid_argument(fmt::format(
        "interpolation of {} to {} by scales of [{}]: it needs a dimension, one positive "
        "scale for each, and a finite coefficient",
        src_.ToString(), dst_.ToString(), fmt::join(scales_, ", ")));
  }
  CheckWork("interpolation", {dst_.elements(), Taps()});
}

InterpolateOp RepeatPixels(const Shape& src, PixelFactors factors) {
  const auto [h, w] = factors;
  CheckExtents("repeated pixels", src);
  if (src.rank() != 4 || h < 1 || w < 1 || h > kMaxElements / src[2] || w > kMaxElements / src[3]) {
    throw std::invalid_argument(fmt::format(
        "repeated pixels of {} by {} and {}: it needs (N, C, H, W) and whole factors of "
        "1 or more that leave at most {} elements",
        src.ToString(), h, w, kMaxElements));
  }
  return {src,
          Shape{src[0], src[1], src[2] * h, src[3] * w},
          {1, 1, static_cast<double>(h), static_cast<double>(w)},
          {.coordinates = Coordinates::kAsymmetric, .rounding = NearestRounding::kFloor}};
}

AxisWeights InterpolateOp::WeightsOf(int d) const {
  const std::int64_t in = src_[d], out = dst_[d];
  const double scale = scales_[static_cast<std::size_t>(d)];
  AxisWeights axis;
  double sum = 0;
  const auto add = [&](double source, double weight) {
    const auto last = static_cast<double>(in - 1);
    if (settings_.exclude_outside && (source < 0 || source > last)) return;
    axis.sources.push_back(static_cast<std::int64_t>(std::clamp(source, 0.0, last)));
    axis.weights.push_back(weight);
    sum += weight;
  };
  for (std::int64_t i = 0; i < out; ++i) {
    const double x = CoordinateOf(settings_.coordinates, static_cast<double>(i), in, out, scale);
    const double below = std::floor(x), rest = x - below;
    sum = 0;
    if (Copies(d)) {
      add(static_cast<double>(i), 1);
    } else if (settings_.interpolation == Interpolation::kNearest) {
      add(std::clamp(NearestOf(settings_.rounding, x), 0.0, static_cast<double>(in - 1)), 1);
    } else if (settings_.interpolation == Interpolation::kLinear) {
      const double inside = std::clamp(x, 0.0, static_cast<double>(in - 1));
      const double first = std::floor(inside);
      add(first, 1 - (inside - first));
      if (inside > first) add(first + 1, inside - first);
    } else {
      const auto weights = CubicWeights(static_cast<double>(settings_.cubic_a), rest);
      for (std::size_t t = 0; t < weights.size(); ++t) {
        add(below - 1 + static_cast<double>(t), weights[t]);
      }
    }
    if (settings_.exclude_outside && sum != 0) {
      for (auto at = static_cast<std::size_t>(axis.starts.back()); at < axis.weights.size(); ++at) {
        axis.weights[at] /= sum;
      }
    }
    axis.starts.push_back(static_cast<std::int64_t>(axis.sources.size()));
  }
  return axis;
}

std::optional<PixelFactors> InterpolateOp::RepeatedPixels() const {
  const Coordinates coordinates = settings_.coordinates;
  const NearestRounding rounding = settings_.rounding;
  const bool same =
      (coordinates == Coordinates::kAsymmetric && rounding == NearestRounding::kFloor) ||
      (coordinates == Coordinates::kHalfPixel && rounding == NearestRounding::kPreferFloor);
  if (settings_.interpolation != Interpolation::kNearest || !same || src_.rank() != 4) return {};
  for (int d = 0; d < 4; ++d) {
    const std::int64_t factor = dst_[d] / src_[d];
    if (factor * src_[d] != dst_[d] || (d < 2 && factor != 1) ||
        scales_[static_cast<std::size_t>(d)] != static_cast<double>(factor)) {
      return {};
    }
  }
  return PixelFactors{dst_[2] / src_[2], dst_[3] / src_[3]};
}

std::string InterpolateOp::Problem() const {
  const auto name = [](const auto& names, auto value) {
    return names[static_cast<std::size_t>(value)];
  };
  std::string problem = fmt::format(
      "{}{}_to{}_scale{}_{}", name(kInterpolations, settings_.interpolation), src_.ToString(),
      dst_.ToString(), fmt::join(scales_, "x"), name(kCoordinates, settings_.coordinates));
  if (settings_.interpolation == Interpolation::kNearest) {
    problem += fmt::format("_{}", name(kRoundings, settings_.rounding));
  }
  if (settings_.interpolation == Interpolation::kCubic) {
    problem += fmt::format("_a{}", settings_.cubic_a);
  }
  if (settings_.exclude_outside) problem += "_exclude";
  return problem;
}

std::vector<Operand> InterpolateOp::Operands(const Execution& execution) const {
  if (!TypesOf(execution).has_gradients &&  // int8
      (execution.pass != Pass::kForward || !RepeatedPixels())) {
    return {};
  }
  return UnaryOperands(execution, src_, dst_);
}

std::int64_t InterpolateOp::Taps() const {
  const std::int64_t each = settings_.interpolation == Interpolation::kNearest  ? 1
                            : settings_.interpolation == Interpolation::kLinear ? 2
                                                                                : 4;
  std::int64_t taps = 1;
  for (int d = 0; d < src_.rank(); ++d) taps *= Copies(d) ? 1 : each;
  return taps;
}

Arithmetic InterpolateOp::ArithmeticOf(const Execution& execution) const {
  if (!Has(execution)) return {};
  const bool copies = settings_.interpolation == Interpolation::kNearest;
  Arithmetic work;
  if (!copies) work.flops = 2 * dst_.elements() * Taps();
  if (copies && execution.pass == Pass::kBackwardData) work.flops = dst_.elements();
  return work;
}

std::int64_t InterpolateOp::AccumulationLength(Pass pass) const {
  if (pass == Pass::kForward) return Taps() == 1 ? 0 : Taps();
  const std::int64_t results = dst_.elements() / src_.elements();  // per element, about
  return RepeatedPixels() ? results : Taps() * (results + 2);
}

namespace {

// The value of an enumeration whose name is a flag of the word; its first one without such a flag.
template <typename Enum, typename Names>
Enum ReadFlag(const ProblemWord& word, const Names& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (word.Flag(names[i])) return static_cast<Enum>(i);
  }
  return Enum{};
}

std::shared_ptr<const Op> ParseInterpolate(const ProblemWord& word) {
  InterpolateSettings settings;
  for (std::size_t i = 0; i < kInterpolations.size(); ++i) {
    if (word.name() == kInterpolations[i]) settings.interpolation = static_cast<Interpolation>(i);
  }
  settings.coordinates = ReadFlag<Coordinates>(word, kCoordinates);
  if (settings.interpolation == Interpolation::kNearest) {
    settings.rounding = ReadFlag<NearestRounding>(word, kRoundings);
  }
  if (settings.interpolation == Interpolation::kCubic) {
    settings.cubic_a = word.NumberOr("a", settings.cubic_a);
  }
  settings.exclude_outside = word.Flag("exclude");
  return std::make_shared<InterpolateOp>(word.shape(), Shape(word.WholeNumbers("to")),
                                         word.Numbers("scale"), settings);
}

const ProblemRegistration kInterpolateProblem("interpolate", ParseInterpolate,
                                              {"nearest", "linear", "cubic"});

}  // namespace

}  // namespace topdnn
