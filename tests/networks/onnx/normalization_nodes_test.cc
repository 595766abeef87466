// Normalizations of ONNX without a node test in version 1.12, worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "networks/onnx/import/importer.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

const char* const kNormalizationBackends[] = {"reference", "onednn", "openblas", "eigen"};

std::vector<double> Normalized(const ModelBuilder& model, const std::vector<double>& input,
                               const std::string& backend) {
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  return RunGraph(network.graph, network.parameters, input, backend);
}

// Two groups of two channels with 2 elements each. The mean and deviation of the groups are 4 and
// 2, and 10 and 0.
TEST(NormalizationNodesTest, GroupsOfChannels) {
  for (const std::int64_t opset : {18, 21}) {
    ModelBuilder model(opset);
    model.Input("x", {1, 4, 1, 2}).Output("y");
    const std::vector<float> scale =
        opset < 21 ? std::vector<float>{2, 3} : std::vector<float>{2, 5, 3, 7};
    const std::vector<float> shift =
        opset < 21 ? std::vector<float>{1, -1} : std::vector<float>{1, 0, -1, 4};
    model.Floats("scale", {static_cast<std::int64_t>(scale.size())}, scale);
    model.Floats("shift", {static_cast<std::int64_t>(shift.size())}, shift);
    onnx::NodeProto& node = model.Node("GroupNormalization", "y", {"x", "scale", "shift"});
    AddInt(node, "num_groups", 2);
    AddFloat(node, "epsilon", 1e-12F);
    const std::vector<double> expected = opset < 21
                                             ? std::vector<double>{-1, -1, 3, 3, -1, -1, -1, -1}
                                             : std::vector<double>{-1, -1, 5, 5, -1, -1, 4, 4};
    for (const char* backend : kNormalizationBackends) {
      EXPECT_THAT(Normalized(model, {2, 2, 6, 6, 10, 10, 10, 10}, backend),
                  Pointwise(DoubleNear(1e-5), expected))
          << backend << " in opset " << opset;
    }
  }
}

TEST(NormalizationNodesTest, RowsByTheirNorm) {
  for (const std::int64_t p : {1, 2}) {
    ModelBuilder model(13);
    model.Input("x", {2, 2}).Output("y");
    AddInt(model.Node("LpNormalization", "y", {"x"}), "p", p);
    const std::vector<double> expected = p == 1 ? std::vector<double>{3.0 / 7, -4.0 / 7, 0, 1}
                                                : std::vector<double>{0.6, -0.8, 0, 1};
    for (const char* backend : kNormalizationBackends) {
      EXPECT_THAT(Normalized(model, {3, -4, 0, 2}, backend), Pointwise(DoubleNear(1e-6), expected))
          << backend << " with p " << p;
    }
  }
  ModelBuilder model(13);
  model.Input("x", {2, 2}).Output("y");
  AddInt(model.Node("LpNormalization", "y", {"x"}), "p", 3);
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("p 3"));
}

TEST(NormalizationNodesTest, ARowOfZerosByItsNormIsZero) {
  for (const std::int64_t p : {1, 2}) {
    ModelBuilder model(13);
    model.Input("x", {2, 2}).Output("y");
    AddInt(model.Node("LpNormalization", "y", {"x"}), "p", p);
    const std::vector<double> expected = {0, 0, 0, -1};
    for (const char* backend : kNormalizationBackends) {
      EXPECT_THAT(Normalized(model, {0, 0, 0, -2}, backend), Pointwise(DoubleNear(1e-6), expected))
          << backend << " with p " << p;
    }
  }
}

TEST(NormalizationNodesTest, AConstantChannelByItsVarianceIsZero) {
  ModelBuilder model(13);
  model.Input("x", {2, 2, 1, 1}).Output("y");
  model.Node("MeanVarianceNormalization", "y", {"x"});
  const std::vector<double> expected = {0, -1, 0, 1};
  for (const char* backend : kNormalizationBackends) {
    EXPECT_THAT(Normalized(model, {3, 4, 3, 8}, backend), Pointwise(DoubleNear(1e-6), expected))
        << backend;
  }
}

TEST(NormalizationNodesTest, ClipWithComputedBounds) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  AddInt(model.Node("ReduceMean", "mean", {"x"}), "keepdims", 0);
  model.Floats("most", {}, {6.0F});
  model.Node("Clip", "y", {"x", "mean", "most"});
  for (const char* backend : kNormalizationBackends) {
    EXPECT_EQ(Normalized(model, {1, 3, 4, 8}, backend), (std::vector<double>{4, 4, 4, 6}))
        << backend;
  }
}

}  // namespace
}  // namespace topdnn
