#include "bench/benchdnn/row_of_spatial_problem.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/log/read/traced_tensor.h"

namespace topdnn {

namespace {

// The name of axis `i` of `axes`: h and w of an image.
char AxisName(std::size_t i, std::size_t axes) { return "dhw"[3 - axes + i]; }

// "_id8od4kd3sd2dd0pd1_ih8...". `windows`: how many windows an axis has. `transposed`: the windows
// are over the result.
template <class Windows>
std::string AxesText(const std::vector<SpatialAxis>& axes, bool transposed, Windows windows) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const SpatialAxis& axis = axes[i];
    const std::int64_t in = transposed ? windows(axis) : axis.extent;
    const std::int64_t out = transposed ? axis.extent : windows(axis);
    text += fmt::format("_i{0}{1}o{0}{2}k{0}{3}s{0}{4}d{0}{5}p{0}{6}", AxisName(i, axes.size()), in,
                        out, axis.kernel, axis.stride, axis.dilation - 1, axis.pad_before);
  }
  return text;
}

std::int64_t OutputsOf(const SpatialAxis& axis) { return axis.outputs(); }

std::string GroupsText(std::int64_t groups) {
  return groups > 1 ? fmt::format("g{}", groups) : std::string();
}

// The layout of the weights as a log writes it; empty if the kernel chooses it. A deconvolution's
// weights are (OC, IC, ...) there. With several groups, the weights of the log have one more
// dimension. topdnn's weights have it only in a deconvolution of images; all others are row-major.
std::string WeightsTag(const RowMaker& maker, const ConvNdExtents& e, bool transposed) {
  const bool grouped = e.groups > 1;
  const std::size_t axes = e.axes.size();
  std::string tag;
  if (grouped && !(transposed && axes == 2)) {
    tag = Layout::Plain(static_cast<int>(axes) + 3).tag();
  } else {
    for (const Arg arg : {Arg::kWeights, Arg::kDiffWeights}) {
      const auto found = maker.problem().layouts.find(arg);
      if (found == maker.problem().layouts.end() || found->second.is_opaque()) continue;
      tag = found->second.tag();
    }
  }
  if (!transposed) return tag;
  return grouped ? ExchangeDimensions(tag, 'b', 'c') : ExchangeDimensions(tag, 'a', 'b');
}

}  // namespace

void ConvNdRow(const ConvNdOp& op, RowMaker& maker) {
  const ConvNdExtents& e = op.extents();
  maker.Set("convolution",
            fmt::format("{}mb{}_ic{}oc{}{}", GroupsText(e.groups), e.n, e.c, e.k,
                        AxesText(e.axes, /*transposed=*/false, OutputsOf)),
            "alg:convolution_direct");
  maker.AddProduct(WeightsTag(maker, e, /*transposed=*/false));
}

void ConvTransposeRow(const ConvTransposeOp& op, RowMaker& maker) {
  const ConvNdExtents& e = op.extents();
  maker.Set("deconvolution",
            fmt::format("{}mb{}_ic{}oc{}{}", GroupsText(e.groups), e.n, e.k, e.c,
                        AxesText(e.axes, /*transposed=*/true, OutputsOf)),
            "alg:deconvolution_direct");
  maker.AddProduct(WeightsTag(maker, e, /*transposed=*/true));
}

void InterpolateRow(const InterpolateOp& op, RowMaker& maker) {
  const InterpolateSettings& settings = op.settings();
  const Shape& src = op.src_shape();
  const Shape& dst = op.dst_shape();
  constexpr int kFirst = 2;  // of the axes
  const bool nearest = op.RepeatedPixels().has_value();
  bool same = nearest || (settings.interpolation == Interpolation::kLinear &&
                          settings.coordinates == Coordinates::kHalfPixel && src.rank() > kFirst &&
                          src.rank() <= kFirst + static_cast<int>(kMaxSpatialAxes));
  std::string axes;
  for (int d = 0; same && d < src.rank(); ++d) {
    const double scale = static_cast<double>(dst[d]) / static_cast<double>(src[d]);
    same = op.scales()[static_cast<std::size_t>(d)] == scale && (d >= kFirst || src[d] == dst[d]);
    if (d < kFirst) continue;
    const char name = AxisName(static_cast<std::size_t>(d - kFirst),
                               static_cast<std::size_t>(src.rank() - kFirst));
    axes += fmt::format("_i{0}{1}o{0}{2}", name, src[d], dst[d]);
  }
  if (!same) {
    throw NotTranslated("oneDNN's linear resampling is of images, with half pixels");
  }
  maker.Set("resampling", fmt::format("mb{}ic{}{}", src[0], src[1], axes),
            nearest ? "alg:resampling_nearest" : "alg:resampling_linear");
  maker.Add("src", {Arg::kSrc, Arg::kDiffSrc});
  maker.Add("dst", {Arg::kDst, Arg::kDiffDst});
}

void PoolNdRow(const PoolNdOp& op, RowMaker& maker) {
  const PoolNdExtents& e = op.extents();
  const auto windows = [&e](const SpatialAxis& axis) { return PooledExtent(axis, e.ceil_mode); };
  std::string_view algorithm;
  switch (op.algorithm()) {
    case PoolNdAlgorithm::kMax:
      algorithm = "pooling_max";
      break;
    case PoolNdAlgorithm::kAverage:
      algorithm = "pooling_avg_exclude_padding";
      break;
    case PoolNdAlgorithm::kAverageOfPadding:
      if (e.ceil_mode) {
        throw NotTranslated("oneDNN counts the elements beyond the padding in an average");
      }
      algorithm = "pooling_avg_include_padding";
      break;
    case PoolNdAlgorithm::kLp:
      throw NotTranslated("oneDNN has no pooling by a norm");
  }
  maker.Set("pooling",
            fmt::format("mb{}ic{}{}", e.n, e.c, AxesText(e.axes, /*transposed=*/false, windows)),
            fmt::format("alg:{}", algorithm));
  // (training would write a workspace)
  maker.row().prop_kind = "forward_inference";
  maker.Add("src", {Arg::kSrc});
  maker.Add("dst", {Arg::kDst});
}

}  // namespace topdnn
