// YOLOv8n: Jocher, Chaurasia and Qiu 2023, Ultralytics YOLOv8, with the depth 0.33 and the width
// 0.25 of its configuration: backbone, neck and head without post-processing. The result has a row
// for each output, 16 for each side of a box and one for each class, over the places of the three
// scales. (Ultralytics' loss compares boxes; here the loss is the cross-entropy of a place's
// outputs.)

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"

namespace topdnn::yolov8n {

namespace {

constexpr std::int64_t kBoxOutputs = 4 * 16;

class YoloBuilder {
 public:
  explicit YoloBuilder(const NetworkSize& size) : net_("yolov8n", size), classes_(size.classes) {}

  Graph Build() && {
    ValueId x = Conv("conv1", Conv("conv0", net_.input(), 16, 3, 2), 32, 3, 2);
    x = Split("c2f2", x, 32, 1, true);
    const ValueId third = Split("c2f4", Conv("conv3", x, 64, 3, 2), 64, 2, true);
    const ValueId fourth = Split("c2f6", Conv("conv5", third, 128, 3, 2), 128, 2, true);
    x = Split("c2f8", Conv("conv7", fourth, 256, 3, 2), 256, 1, true);
    const ValueId fifth = Pyramid("sppf9", x);
    const ValueId up = Join("concat11", net_.RepeatPixels("up10", fifth, 2), fourth, "c2f12", 128);
    const ValueId small = Join("concat14", net_.RepeatPixels("up13", up, 2), third, "c2f15", 64);
    const ValueId middle = Join("concat17", Conv("conv16", small, 64, 3, 2), up, "c2f18", 128);
    const ValueId large = Join("concat20", Conv("conv19", middle, 128, 3, 2), fifth, "c2f21", 256);
    const std::vector<ValueId> scales = {Detect("detect.small", small, 64),
                                         Detect("detect.middle", middle, 64),
                                         Detect("detect.large", large, 64)};
    net_.Concat("detect", scales, 2);
    return std::move(net_).Take();
  }

 private:
  ValueId Conv(const std::string& name, ValueId from, std::int64_t outputs, std::int64_t kernel,
               std::int64_t stride = 1) {
    return net_.ConvNormActivation(
        name, from, {.outputs = outputs, .kernel = kernel, .stride = stride, .padding = kernel / 2},
        Activation::kSwish, 1e-3F);
  }

  // C2f: half of the channels pass through pairs of convolutions; all intermediate results are
  // concatenated.
  ValueId Split(const std::string& name, ValueId from, std::int64_t outputs, int pairs,
                bool shortcuts) {
    const std::int64_t half = outputs / 2;
    const ValueId x = Conv(name + ".conv1", from, outputs, 1);
    std::vector<ValueId> parts = {net_.Channels(name + ".left", x, 0, half),
                                  net_.Channels(name + ".right", x, half, half)};
    for (int i = 0; i < pairs; ++i) {
      const std::string pair = fmt::format("{}.pair{}", name, i);
      const ValueId y =
          Conv(pair + ".conv2", Conv(pair + ".conv1", parts.back(), half, 3), half, 3);
      parts.push_back(shortcuts ? net_.Add(pair + ".add", y, parts.back()) : y);
    }
    return Conv(name + ".conv2", net_.Concat(name + ".concat", parts), outputs, 1);
  }

  // SPPF: maxima over windows of 5, 9 and 13 pixels, as poolings of poolings.
  ValueId Pyramid(const std::string& name, ValueId from) {
    const std::int64_t outputs = net_.shape(from)[1];
    std::vector<ValueId> parts = {Conv(name + ".conv1", from, outputs / 2, 1)};
    for (int i = 1; i <= 3; ++i) {
      parts.push_back(net_.MaxPool(fmt::format("{}.pool{}", name, i), parts.back(),
                                   {.kernel = 5, .stride = 1, .padding = 2}));
    }
    return Conv(name + ".conv2", net_.Concat(name + ".concat", parts), outputs, 1);
  }

  ValueId Join(const std::string& concat, ValueId a, ValueId b, const std::string& split,
               std::int64_t outputs) {
    return Split(split, net_.Concat(concat, {a, b}), outputs, 1, false);
  }

  // (N, outputs, places) of a scale. `least`: the channels of the smallest scale.
  ValueId Detect(const std::string& name, ValueId from, std::int64_t least) {
    const std::int64_t class_width =
        std::max<std::int64_t>(least, std::min<std::int64_t>(classes_, 100));
    const ValueId boxes = Branch(name + ".box", from, kBoxOutputs, kBoxOutputs);
    const ValueId x =
        net_.Concat(name, {boxes, Branch(name + ".class", from, class_width, classes_)});
    const Shape& shape = net_.shape(x);
    return net_.Reshape(name + ".places", x, {shape[0], shape[1], shape[2] * shape[3]});
  }

  ValueId Branch(const std::string& name, ValueId from, std::int64_t width, std::int64_t outputs) {
    const ValueId x = Conv(name + ".conv2", Conv(name + ".conv1", from, width, 3), width, 3);
    return net_.Conv(name + ".conv3", x, {.outputs = outputs, .kernel = 1});
  }

  NetworkBuilder net_;
  const std::int64_t classes_;
};

Graph BuildYolo(const NetworkSize& size) { return YoloBuilder(size).Build(); }

const NetworkRegistration kYolo(
    {.name = "yolov8n",
     .source = "Jocher et al. 2023; Ultralytics",
     .image = {3, 640, 640},
     .classes = 80,
     .build = BuildYolo,
     .published = {.parameters = PublishedFigure{3157184, 1},
                   .macs = PublishedFigure{4.35e9, 5e7},
                   .source = "Ultralytics: gradients; 8.7 GFLOPs, two for each MAC"}});

}  // namespace

}  // namespace topdnn::yolov8n
