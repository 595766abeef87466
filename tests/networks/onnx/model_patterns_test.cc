// Parts of published networks as their exporters write them, on every backend. The weights are so
// simple that the results can be computed by hand. Comments show the calculations.

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
using testing::Pointwise;

class ModelPatternTest : public testing::TestWithParam<std::string> {
 protected:
  static void Expect(const ModelBuilder& model, const ImportOptions& options,
                     const NamedValues& inputs, const NamedValues& expected) {
    const ImportedNetwork network = ImportOnnx(model.Bytes(), options);
    const NamedValues results = RunNetwork(network, inputs, GetParam());
    ASSERT_EQ(results.size(), expected.size());
    for (const auto& [name, values] : expected) {
      EXPECT_THAT(results.at(name), Pointwise(DoubleNear(1e-5), values)) << name;
    }
  }
};

// SSD, UltraFace: a convolution for each scale, whose channels become rows of boxes; all scales in
// one tensor, and the scores as probabilities of the two classes.
TEST_P(ModelPatternTest, HeadsOfSeveralScales) {
  ModelBuilder model;
  model.Input("x", {1, 1, 2, 2}).Output("scores").Output("boxes");
  model.Floats("to_scores", {2, 1, 1, 1}, {0, 1});
  model.Floats("to_boxes", {4, 1, 1, 1}, {1, 2, 3, 4});
  AddInts(model.Node("MaxPool", "small", {"x"}), "kernel_shape", {2, 2});
  model.Ints("score_rows", {1, -1, 2});
  model.Ints("box_rows", {1, -1, 4});
  for (const std::string scale : {"x", "small"}) {
    for (const std::string head : {"score", "box"}) {
      const std::string name = scale + "_" + head;
      model.Node("Conv", name, {scale, head == "box" ? "to_boxes" : "to_scores"});
      AddInts(model.Node("Transpose", name + "_last", {name}), "perm", {0, 2, 3, 1});
      model.Node("Reshape", name + "_flat", {name + "_last", head + "_rows"});
    }
  }
  AddInt(model.Node("Concat", "all_scores", {"x_score_flat", "small_score_flat"}), "axis", 1);
  AddInt(model.Node("Softmax", "scores", {"all_scores"}), "axis", 2);
  AddInt(model.Node("Concat", "boxes", {"x_box_flat", "small_box_flat"}), "axis", 1);
  // The logits of a pixel v are (0, v). The maximum of the image is log 3.
  const double a = std::log(3.0);
  Expect(model, {}, {{"x", {0, a, -a, 0}}},
         {{"scores", {0.5, 0.5, 0.25, 0.75, 0.75, 0.25, 0.5, 0.5, 0.25, 0.75}},
          {"boxes", {0,      0,      0, 0, a, 2 * a, 3 * a, 4 * a, -a,    -2 * a,
                     -3 * a, -4 * a, 0, 0, 0, 0,     a,     2 * a, 3 * a, 4 * a}}});
}

// PyTorch's pixel shuffle before DepthToSpace existed: (1, 4, 1, 2) to (1, 1, 2, 4), whose element
// (h, w) is channel 2 (h mod 2) + w mod 2 of pixel (h / 2, w / 2).
TEST_P(ModelPatternTest, PixelShuffle) {
  ModelBuilder model;
  model.Input("x", {1, 4, 1, 2}).Output("y");
  model.Ints("split", {-1, 1, 2, 2, 1, 2});
  model.Ints("joined", {-1, 1, 2, 4});
  model.Node("Reshape", "blocks", {"x", "split"});
  AddInts(model.Node("Transpose", "turned", {"blocks"}), "perm", {0, 1, 4, 2, 5, 3});
  model.Node("Reshape", "larger", {"turned", "joined"});
  model.Node("Relu", "y", {"larger"});
  Expect(model, {}, {{"x", {1, 2, 3, 4, 5, 6, 7, 8}}}, {{"y", {1, 3, 2, 4, 5, 7, 6, 8}}});
}

// ShuffleNet and FastestDet: layers read half of the channels, then the halves are interleaved.
TEST_P(ModelPatternTest, SplitAndChannelShuffle) {
  ModelBuilder model;
  model.Input("x", {1, 4, 1, 1}).Output("y");
  AddInt(model.Node("Split", "left", {"x"}), "axis", 1);
  model.proto.mutable_graph()->mutable_node(0)->add_output("right");
  model.Floats("w", {2, 1, 1, 1}, {10, 100});
  AddInt(model.Node("Conv", "conv", {"right", "w"}), "group", 2);
  model.Node("Relu", "relu", {"conv"});
  AddInt(model.Node("Concat", "both", {"left", "relu"}), "axis", 1);
  model.Ints("split", {1, 2, 2, 1, 1});
  model.Ints("joined", {1, 4, 1, 1});
  model.Node("Reshape", "halves", {"both", "split"});
  AddInts(model.Node("Transpose", "turned", {"halves"}), "perm", {0, 2, 1, 3, 4});
  model.Node("Reshape", "y", {"turned", "joined"});
  // left (1, 2), right (3, -4): computed (30, 0), interleaved.
  Expect(model, {}, {{"x", {1, 2, 3, -4}}}, {{"y", {1, 30, 2, 0}}});
}

// DenseNet in the ONNX model zoo: each layer reads all earlier ones, and a batch normalization is
// followed by a written-out scale and shift.
TEST_P(ModelPatternTest, DenseBlock) {
  ModelBuilder model;
  model.Input("x", {1, 1, 1, 2}).Output("y");
  for (const char* layer : {"1", "2"}) {
    const std::string n = layer;
    const std::string source = n == "1" ? "x" : "cat1";
    const std::int64_t channels = n == "1" ? 1 : 2;
    const std::vector<std::int64_t> per_channel = {channels, 1, 1};
    const auto all = [&](float value) {
      return std::vector<float>(static_cast<std::size_t>(channels), value);
    };
    model.Floats("one" + n, {channels}, all(1));
    model.Floats("zero" + n, {channels}, all(0));
    model.Floats("mean" + n, {channels}, all(1));
    model.Floats("variance" + n, {channels}, all(3));
    AddFloat(model.Node("BatchNormalization", "norm" + n,
                        {source, "one" + n, "zero" + n, "mean" + n, "variance" + n}),
             "epsilon", 1);
    model.Floats("scale" + n, per_channel, all(2));
    model.Floats("shift" + n, per_channel, all(1));
    model.Node("Mul", "scaled" + n, {"norm" + n, "scale" + n});
    model.Node("Add", "shifted" + n, {"scaled" + n, "shift" + n});
    model.Node("Relu", "relu" + n, {"shifted" + n});
    model.Floats("w" + n, {1, channels, 1, 1}, n == "1" ? all(3) : std::vector<float>{1, 10});
    model.Node("Conv", "conv" + n, {"relu" + n, "w" + n});
    AddInt(model.Node("Concat", n == "1" ? "cat1" : "y", {source, "conv" + n}), "axis", 1);
  }
  // 2 (x - 1) / 2 + 1 = x: each layer is a ReLU and its weights. x = (5, -7): conv1 = (15, 0),
  // conv2 = relu(x) + 10 conv1 = (155, 0).
  Expect(model, {}, {{"x", {5, -7}}}, {{"y", {5, -7, 15, 0, 155, 0}}});
}

// MobileNetV3 in text detectors: squeeze and excitation with HardSigmoid, HardSwish written out, an
// enlarged map added to a larger one, and height and width that the user sets.
TEST_P(ModelPatternTest, DetectorOfTextWithOpenSize) {
  ModelBuilder model;
  model.Input("x", {0, 1, 0, 0}).Output("y");
  model.Node("GlobalAveragePool", "mean", {"x"});
  model.Floats("w", {1, 1, 1, 1}, {1});
  model.Node("Conv", "squeezed", {"mean", "w"});
  onnx::NodeProto& gate = model.Node("HardSigmoid", "gate", {"squeezed"});
  AddFloat(gate, "alpha", 0.25F);
  AddFloat(gate, "beta", 0.5F);
  model.Node("Mul", "excited", {"x", "gate"});
  model.Floats("three", {}, {3});
  model.Floats("six", {}, {6});
  model.Floats("zero", {}, {0});
  model.Node("Add", "plus3", {"excited", "three"});
  model.Node("Clip", "clipped", {"plus3", "zero", "six"});
  model.Node("Mul", "product", {"excited", "clipped"});
  model.Node("Div", "swish", {"product", "six"});
  onnx::NodeProto& pool = model.Node("AveragePool", "half", {"swish"});
  AddInts(pool, "kernel_shape", {2, 2});
  AddInts(pool, "strides", {2, 2});
  model.Floats("scales", {4}, {1, 1, 2, 2});
  model.Node("Resize", "larger", {"half", "", "scales"});
  model.Node("Add", "y", {"larger", "swish"});
  // The mean is 2, so the gate is 1. HardSwish of (0, 8, -4, 4): v clip(v + 3, 0, 6) / 6 is
  // (0, 8, 0, 4), with the mean 3.
  Expect(model, {.shapes = {{"x", Shape{1, 1, 2, 2}}}}, {{"x", {0, 8, -4, 4}}},
         {{"y", {3, 11, 3, 7}}});
}

// Inception: towers over one image, one of them with an average over the window alone, and an
// auxiliary output before the last layer.
TEST_P(ModelPatternTest, TowersWithAnAuxiliaryOutput) {
  ModelBuilder model;
  model.Input("x", {1, 1, 1, 3}).Output("aux").Output("y");
  model.Floats("w1", {1, 1, 1, 1}, {2});
  model.Floats("w3", {1, 1, 1, 3}, {1, 1, 1});
  model.Node("Conv", "one", {"x", "w1"});
  AddInts(model.Node("Conv", "three", {"x", "w3"}), "pads", {0, 1, 0, 1});
  onnx::NodeProto& pool = model.Node("AveragePool", "pool", {"x"});
  AddInts(pool, "kernel_shape", {1, 3});
  AddInts(pool, "pads", {0, 1, 0, 1});
  AddInt(model.Node("Concat", "aux", {"one", "three", "pool"}), "axis", 1);
  model.Node("Relu", "relu", {"aux"});
  model.Node("GlobalAveragePool", "mean", {"relu"});
  model.Node("Flatten", "flat", {"mean"});
  model.Floats("v", {3, 1}, {1, 1, 1});
  model.Node("Gemm", "y", {"flat", "v"});
  // x = (3, 6, -3): the averages at both ends are of two elements. The means of the ReLUs:
  // (6 + 12 + 0) / 3, (9 + 6 + 3) / 3, (4.5 + 2 + 1.5) / 3.
  Expect(model, {}, {{"x", {3, 6, -3}}},
         {{"aux", {6, 12, -6, 9, 6, 3, 4.5, 2, 1.5}}, {"y", {6 + 6 + 8.0 / 3}}});
}

// UltraFace: boxes are offsets from constant priors, and become corners.
TEST_P(ModelPatternTest, BoxesFromPriors) {
  ModelBuilder model;
  model.Input("x", {1, 2, 4}).Output("corners");
  model.Ints("zero", {0});
  model.Ints("two", {2});
  model.Ints("four", {4});
  model.Ints("axis", {2});
  model.Node("Slice", "offsets", {"x", "zero", "two", "axis"});
  model.Node("Slice", "sizes", {"x", "two", "four", "axis"});
  model.Floats("variance", {}, {0.5F});
  model.Floats("prior_centres", {1, 2, 2}, {1, 2, 3, 4});
  model.Floats("prior_sizes", {1, 2, 2}, {2, 4, 6, 8});
  model.Floats("half", {}, {2});
  model.Node("Mul", "scaled", {"offsets", "variance"});
  model.Node("Mul", "moved", {"scaled", "prior_sizes"});
  model.Node("Add", "centres", {"moved", "prior_centres"});
  model.Node("Exp", "grown", {"sizes"});
  model.Node("Mul", "extents", {"grown", "prior_sizes"});
  model.Node("Div", "radii", {"extents", "half"});
  model.Node("Sub", "least", {"centres", "radii"});
  model.Node("Add", "most", {"centres", "radii"});
  AddInt(model.Node("Concat", "corners", {"least", "most"}), "axis", 2);
  // Box 1: centre (1 + 1, 2 - 2), radii (1, 2). Box 2: centre (3, 4), radii (3 e^log 2, 4).
  Expect(model, {}, {{"x", {1, -1, 0, 0, 0, 0, std::log(2.0), 0}}},
         {{"corners", {1, -2, 3, 2, -3, 0, 9, 8}}});
}

// YOLO of version 5 with a fixed batch: one box of (x, y, score) for each of 2 pixels, on a grid.
TEST_P(ModelPatternTest, BoxesOnAGridFollowTheBatch) {
  ModelBuilder model;
  model.Input("x", {1, 3, 1, 2}).Output("y");
  model.Ints("split", {1, 1, 3, 1, 2});
  model.Ints("rows", {1, -1, 3});
  model.Floats("grid", {1, 1, 1, 2, 2}, {0, 0, 1, 0});
  model.Floats("stride", {}, {8});
  model.Floats("two", {}, {2});
  model.Floats("half", {}, {0.5F});
  model.Node("Reshape", "boxes", {"x", "split"});
  AddInts(model.Node("Transpose", "last", {"boxes"}), "perm", {0, 1, 3, 4, 2});
  model.Node("Sigmoid", "share", {"last"});
  model.Ints("sizes", {2, 1});
  onnx::NodeProto& split = model.Node("Split", "xy", {"share", "sizes"});
  AddInt(split, "axis", 4);
  split.add_output("score");
  model.Node("Mul", "twice", {"xy", "two"});
  model.Node("Sub", "centred", {"twice", "half"});
  model.Node("Add", "placed", {"centred", "grid"});
  model.Node("Mul", "pixels", {"placed", "stride"});
  AddInt(model.Node("Concat", "all", {"pixels", "score"}), "axis", 4);
  model.Node("Reshape", "y", {"all", "rows"});
  // The sigmoid of 0 is 1/2, so x and y are 8 (1 - 1/2 + grid). That of log 3 is 3/4.
  const double a = std::log(3.0);
  Expect(model, {.batch = 2}, {{"x", {0, 0, 0, 0, 0, a, a, 0, 0, 0, 0, 0}}},
         {{"y", {4, 4, 0.5, 12, 4, 0.75, 8, 4, 0.5, 12, 4, 0.5}}});
}

// FastestDet: two scales at one size in one tensor, then heads whose scores are a softmax along the
// channels.
TEST_P(ModelPatternTest, ScalesInOneTensor) {
  ModelBuilder model;
  model.Input("large", {1, 1, 2, 2}).Input("middle", {1, 1, 1, 1}).Output("y");
  onnx::NodeProto& pool = model.Node("AveragePool", "pooled", {"large"});
  AddInts(pool, "kernel_shape", {2, 2});
  AddInts(pool, "strides", {2, 2});
  AddInt(model.Node("Concat", "both", {"pooled", "middle"}), "axis", 1);
  model.Floats("w", {3, 2, 1, 1}, {1, 0, 0, 1, 1, 1});
  model.Node("Conv", "heads", {"both", "w"});
  model.Ints("sizes", {1, 2});
  onnx::NodeProto& split = model.Node("Split", "object", {"heads", "sizes"});
  AddInt(split, "axis", 1);
  split.add_output("classes");
  model.Node("Sigmoid", "certain", {"object"});
  AddInt(model.Node("Softmax", "shares", {"classes"}), "axis", 1);
  AddInt(model.Node("Concat", "y", {"certain", "shares"}), "axis", 1);
  // The mean is log 3, and the other scale 0: heads (log 3, 0, log 3).
  const double a = std::log(3.0);
  Expect(model, {}, {{"large", {0, 2 * a, a, a}}, {"middle", {0}}}, {{"y", {0.75, 0.25, 0.75}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, ModelPatternTest,
                         testing::Values("reference", "onednn", "openblas", "eigen"));

// A kernel keeps the parameters of one folded layer, so the second one is a layer of its own:
// 2 x, then 10 times as much, then half of that.
TEST(ModelPatternsTest, OneOfTwoFactorsAfterAConvolutionIsFolded) {
  for (const bool dense : {false, true}) {
    for (const bool norms : {false, true}) {
      ModelBuilder model(13);
      model.Input("x", dense ? std::vector<std::int64_t>{1, 1} : std::vector{1L, 1L, 1L, 2L});
      model.Output("y");
      model.Floats("w", dense ? std::vector<std::int64_t>{1, 1} : std::vector{1L, 1L, 1L, 1L}, {2});
      model.Node(dense ? "MatMul" : "Conv", "layer", {"x", "w"});
      model.Floats("zero", {1}, {0});
      model.Floats("one", {1}, {1});
      const auto factor = [&](const std::string& from, const std::string& to, float value) {
        model.Floats("by" + to,
                     norms || dense ? std::vector<std::int64_t>{1} : std::vector{1L, 1L, 1L},
                     {value});
        if (norms) {
          AddFloat(model.Node("BatchNormalization", to, {from, "by" + to, "zero", "zero", "one"}),
                   "epsilon", 1e-12F);
        } else {
          model.Node("Mul", to, {from, "by" + to});
        }
      };
      factor("layer", "tenfold", 10);
      factor("tenfold", "y", 0.5F);
      const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
      for (const char* backend : {"reference", "onednn", "native", "eigen"}) {
        const std::vector<double> input =
            dense ? std::vector<double>{3} : std::vector<double>{3, 4};
        const std::vector<double> result =
            RunGraph(network.graph, network.parameters, input, backend);
        EXPECT_EQ(result, dense ? std::vector<double>{30} : (std::vector<double>{30, 40}))
            << backend << (norms ? ", normalizations" : ", factors");
      }
    }
  }
}

}  // namespace
}  // namespace topdnn
