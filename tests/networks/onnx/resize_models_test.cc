// Resize and Upsample of several opsets as networks, against values worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "networks/onnx/export/exporter.h"
#include "networks/onnx/import/importer.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void AddString(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

using Attributes = std::map<std::string, std::string>;

// A model that resizes a tensor of this shape by scales.
ModelBuilder ByScales(std::int64_t opset, const std::vector<std::int64_t>& shape,
                      const std::vector<float>& scales, const Attributes& attributes) {
  ModelBuilder model(opset);
  model.Input("x", shape).Output("y");
  const auto count = static_cast<std::int64_t>(scales.size());
  const bool upsample = opset < 10;
  std::vector<std::string> inputs = {"x"};
  if (opset >= 11) inputs.emplace_back();
  if (opset >= 9) {
    model.Floats("scales", {count}, scales);
    inputs.emplace_back("scales");
  }
  onnx::NodeProto& node = model.Node(upsample ? "Upsample" : "Resize", "y", inputs);
  if (opset < 9) {
    auto& attribute = *node.add_attribute();
    attribute.set_name("scales");
    attribute.set_type(onnx::AttributeProto::FLOATS);
    for (const float scale : scales) attribute.add_floats(scale);
  }
  for (const auto& [name, value] : attributes) AddString(node, name, value);
  return model;
}

ModelBuilder BySizes(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& sizes,
                     const Attributes& attributes) {
  ModelBuilder model(13);
  model.Input("x", shape).Output("y");
  model.Ints("sizes", sizes);
  onnx::NodeProto& node = model.Node("Resize", "y", {"x", "", "", "sizes"});
  for (const auto& [name, value] : attributes) AddString(node, name, value);
  return model;
}

std::vector<double> Resized(const ModelBuilder& model, const std::vector<double>& input,
                            const std::string& backend = "reference") {
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  return RunGraph(network.graph, network.parameters, input, backend);
}

// Before opset 11 index i of the result lies at i / scale.
TEST(ResizeModelsTest, OlderOpsetsDivideTheIndexByTheScale) {
  for (const char* backend : {"reference", "onednn", "openblas", "eigen", "eigen-sgemm"}) {
    for (const std::int64_t opset : {7, 9, 10}) {
      const auto enlarged = [&](const char* mode) {
        return Resized(ByScales(opset, {1, 1, 1, 2}, {1, 1, 1, 2.5F}, {{"mode", mode}}), {0, 10},
                       backend);
      };
      // Indices at 0, 0.4, 0.8, 1.2 and 1.6.
      EXPECT_THAT(enlarged("nearest"), ElementsAre(0, 0, 0, 10, 10)) << backend << opset;
      const std::vector<double> linear = enlarged("linear");
      ASSERT_EQ(linear.size(), 5u);
      EXPECT_NEAR(linear[1], 4, 1e-5) << backend << opset;
      EXPECT_NEAR(linear[2], 8, 1e-5) << backend << opset;
      EXPECT_EQ(linear[4], 10) << backend << opset;
    }
  }
}

TEST(ResizeModelsTest, CoordinatesAreThoseOfTheOpset) {
  const auto nearest = [](std::int64_t opset, const std::string& coordinates) {
    return ByScales(opset, {1, 1, 4}, {1, 1, 0.5F},
                    {{"coordinate_transformation_mode", coordinates}, {"nearest_mode", "floor"}});
  };
  const std::vector<double> input = {1, 2, 3, 4};
  // (i + 0.5) / 0.5: indices at 1 and 3. half_pixel subtracts 0.5 from them.
  EXPECT_THAT(Resized(nearest(11, "tf_half_pixel_for_nn"), input), ElementsAre(2, 4));
  EXPECT_THAT(Resized(nearest(11, "half_pixel"), input), ElementsAre(1, 3));
  EXPECT_THAT(RefusalOf(nearest(13, "tf_half_pixel_for_nn").Bytes()),
              HasSubstr("coordinate_transformation_mode tf_half_pixel_for_nn"));
  EXPECT_THAT(RefusalOf(nearest(13, "tf_crop_and_resize").Bytes()),
              HasSubstr("coordinate_transformation_mode tf_crop_and_resize"));
}

TEST(ResizeModelsTest, CornersAlignOnlyIfTheScaleGivesTheResult) {
  const Attributes linear = {{"mode", "linear"},
                             {"coordinate_transformation_mode", "align_corners"}};
  EXPECT_THAT(Resized(BySizes({1, 1, 3}, {1, 1, 5}, linear), {0, 8, 0}),
              ElementsAre(0, 4, 8, 4, 0));
  EXPECT_THAT(Resized(ByScales(13, {1, 1, 2}, {1, 1, 1.5F}, linear), {0, 8}), ElementsAre(0, 4, 8));
  EXPECT_THAT(RefusalOf(ByScales(13, {1, 1, 3}, {1, 1, 1.5F}, linear).Bytes()),
              HasSubstr("align_corners with a scale of 1.5 for 3 elements"));
}

// 0.7 in f32 is less than 0.7, but ten elements become seven.
TEST(ResizeModelsTest, TheExtentIsTheProductInF32) {
  const ModelBuilder model = ByScales(13, {1, 1, 10}, {1, 1, 0.7F}, {{"mode", "linear"}});
  EXPECT_EQ(ImportOnnx(model.Bytes(), {}).outputs.front().shape, (Shape{1, 1, 7}));
}

// The published case test_resize_upsample_scales_linear_half_pixel_symmetric of ONNX 1.14 and
// later.
TEST(ResizeModelsTest, ASymmetricHalfPixelHasThePublishedResult) {
  const ModelBuilder model =
      ByScales(19, {1, 1, 2, 2}, {1, 1, 2.3F, 2.94F},
               {{"mode", "linear"}, {"coordinate_transformation_mode", "half_pixel_symmetric"}});
  const std::vector<double> result = Resized(model, {1, 2, 3, 4});
  const std::vector<double> first_rows = {1,          1.15986395, 1.5,        1.84013605,
                                          2,          1.56521738, 1.72508133, 2.06521738,
                                          2.40535343, 2.56521738};
  ASSERT_EQ(result.size(), 20u);
  for (std::size_t i = 0; i < first_rows.size(); ++i) EXPECT_NEAR(result[i], first_rows[i], 1e-6);
}

// The published cases test_resize_upsample_sizes_nearest_not_larger and not_smaller: 2x2 to at most
// or at least 7x8, by 3.5 and by 4.
TEST(ResizeModelsTest, SizesMayBeLimits) {
  const auto row_of = [](const char* policy) {
    ModelBuilder model(18);
    model.Input("x", {1, 1, 2, 2}).Output("y");
    model.Ints("sizes", {7, 8});
    onnx::NodeProto& node = model.Node("Resize", "y", {"x", "", "", "sizes"});
    AddInts(node, "axes", {2, 3});
    AddString(node, "keep_aspect_ratio_policy", policy);
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    const std::vector<double> all =
        RunGraph(network.graph, network.parameters, {1, 2, 3, 4}, "reference");
    return std::vector<double>(all.begin(), all.begin() + network.outputs.front().shape[3]);
  };
  EXPECT_THAT(row_of("not_larger"), ElementsAre(1, 1, 1, 1, 2, 2, 2));
  EXPECT_THAT(row_of("not_smaller"), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2));
  EXPECT_THAT(row_of("stretch"), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2));
}

// 3 x 1.5 is 4.5: the policy rounds it to 5, and a node with scales to 4.
TEST(ResizeModelsTest, ASizeThatNoScaleGivesIsNotExported) {
  ModelBuilder model(18);
  model.Input("x", {1, 1, 3, 8}).Output("y");
  model.Ints("sizes", {5, 12});
  onnx::NodeProto& node = model.Node("Resize", "y", {"x", "", "", "sizes"});
  AddInts(node, "axes", {2, 3});
  AddString(node, "keep_aspect_ratio_policy", "not_larger");
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  ASSERT_EQ(network.outputs.front().shape, Shape({1, 1, 5, 12}));
  EXPECT_THAT([&] { ExportOnnx(network.graph, network.parameters); },
              testing::ThrowsMessage<OnnxError>(HasSubstr("gives 4 of 3 elements, not 5")));
}

TEST(ResizeModelsTest, ImpossibleResultsAreRefused) {
  const auto by_scale = [](float scale) {
    return RefusalOf(ByScales(13, {1, 1, 4}, {1, 1, scale}, {}).Bytes());
  };
  for (const float scale : {0.0F, -1.0F, 0.1F, 1e30F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(by_scale(scale), HasSubstr("a scale of")) << scale;
  }
  const auto by_size = [](std::int64_t size) {
    return RefusalOf(BySizes({1, 1, 4}, {1, 1, size}, {{"mode", "linear"}}).Bytes(),
                     {.memory_limit = 1 << 20});
  };
  EXPECT_THAT(by_size(0), HasSubstr("every extent must be 1 or more"));
  EXPECT_THAT(by_size(-3), HasSubstr("every extent must be 1 or more"));
  EXPECT_THAT(by_size(std::int64_t{1} << 40), HasSubstr("does not fit the memory"));
  EXPECT_THAT(by_size(std::numeric_limits<std::int64_t>::max()), HasSubstr("at most"));
  EXPECT_THAT(RefusalOf(BySizes({1, 1, 4}, {1, 8}, {}).Bytes()),
              HasSubstr("it needs 3 scales or sizes"));
  EXPECT_THAT(RefusalOf(ByScales(10, {1, 1, 4}, {1, 1, 0.5F}, {}).Bytes()),
              HasSubstr("before opset 11, which does not define the rounding"));
  EXPECT_THAT(RefusalOf(ByScales(13, {1, 1, 4}, {1, 1, 2}, {{"mode", "area"}}).Bytes()),
              HasSubstr("mode area"));
}

}  // namespace
}  // namespace topdnn
