// The commands export and run, and --weights.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/formats/npz.h"
#include "networks/parameters/parameters.h"
#include "tests/bench/program.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::Not;

class OnnxCommandsTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  // Writes an image of noise to `name`.
  std::string Image(const std::string& name, const Shape& shape) const {
    Tensor tensor(shape);
    FromDouble(NormalValues(3, static_cast<std::size_t>(shape.elements())), tensor.desc(),
               tensor.data());
    const auto bytes = EncodeNpy(ToNpy(tensor));
    folder_.Write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return Path(name);
  }

  static NpyArray ReadArray(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return DecodeNpy({bytes, bytes + text.size()}, path);
  }

  void ExpectGood(const std::vector<std::string>& arguments) const {
    const Outcome outcome = RunProgram(arguments);
    ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  }

  void ExpectRefused(const std::vector<std::string>& arguments, const std::string& why) const {
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(why));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }

  TestFolder folder_;
};

// A run of the zoo's network, of its ONNX file, and with weights from an archive.
TEST_F(OnnxCommandsTest, AnExportedNetworkGivesTheSameOutput) {
  const std::string input = "input=" + Image("x.npy", {3, 3, 32, 32});
  const std::string onnx = Path("cnn.onnx");
  ExpectGood({"export", "cnn", onnx, "--seed", "4"});
  ExpectGood({"step", "cnn", "--seed", "4", "--batch", "2", "--data", "synthetic", "--dump",
              Path("step.npz")});
  const std::string weighted = Path("weighted.onnx");
  ExpectGood({"export", "cnn", weighted, "--weights", Path("step.npz")});
  for (const char* backend : {"onednn", "openblas"}) {
    ExpectGood({"run", "cnn", "--seed", "4", "--backend", backend, "--input", input, "--output",
                Path("zoo")});
    ExpectGood({"run", onnx, "--backend", backend, "--input", input, "--output", Path("file")});
    ExpectGood({"run", "cnn", "--weights", Path("step.npz"), "--backend", backend, "--input", input,
                "--output", Path("weights")});
    ExpectGood(
        {"run", weighted, "--backend", backend, "--input", input, "--output", Path("weighted")});
    const NpyArray zoo = ReadArray(Path("zoo/output.npy"));
    EXPECT_EQ(zoo.shape, (Shape{3, 10}));
    EXPECT_EQ(zoo.data, ReadArray(Path("file/output.npy")).data) << backend;
    const NpyArray by_weights = ReadArray(Path("weights/output.npy"));
    EXPECT_NE(zoo.data, by_weights.data) << "a step's parameters are drawn in another way";
    EXPECT_EQ(by_weights.data, ReadArray(Path("weighted/output.npy")).data) << backend;
  }
  ExpectGood({"run", "cnn", "--seed", "5", "--input", input, "--output", Path("other")});
  EXPECT_NE(ReadArray(Path("other/output.npy")).data, ReadArray(Path("zoo/output.npy")).data);
}

TEST_F(OnnxCommandsTest, AFileCanBeUsedAsANetwork) {
  const std::string onnx = Path("small.onnx");
  ExpectGood({"export", "cnn", onnx});
  const Outcome profile =
      RunProgram({"profile", onnx, "--train", "--batch", "2", "--iterations", "1", "--threads", "1",
                  "--counters", "none", "--data", "synthetic"});
  EXPECT_EQ(profile.exit_status, kExitGood) << profile.output;
  EXPECT_THAT(profile.output, HasSubstr("conv1"));
}

TEST_F(OnnxCommandsTest, ImpossibleRequestsAreRefusedInOneLine) {
  const std::string image = Image("x.npy", {1, 3, 32, 32});
  const std::string input = "input=" + image;
  const std::string out = Path("out");
  const std::string onnx = Path("cnn.onnx");
  ExpectGood({"export", "cnn", onnx});
  folder_.Write("broken.onnx", "not a model");
  folder_.Write("w.safetensors", "short");
  folder_.Write("w.txt", "x");
  WriteNpz(Path("w.npz"), {{"conv1/weights", ReadArray(image)}});
  ExpectRefused({"run", "cnn", "--input", image, "--output", out}, "NAME=FILE.npy");
  ExpectRefused({"run", onnx, "--input", "x=" + image, "--output", out}, "is named input");
  ExpectRefused({"run", onnx, "--input", "input=" + Path("none.npy"), "--output", out}, "none.npy");
  ExpectRefused(
      {"run", onnx, "--input", "input=" + Image("y.npy", {1, 3, 32, 31}), "--output", out},
      "not 1x3x32x31");
  ExpectRefused({"run", onnx, "--input", input, "--output", image}, "give a folder");
  ExpectRefused(
      {"run", "cnn", "--input", "input=" + Image("grey.npy", {1, 1, 32, 32}), "--output", out},
      "takes images (N, 3, H, W), not 1x1x32x32");
  ExpectRefused({"run", Path("none.onnx"), "--input", input, "--output", out}, "none.onnx");
  ExpectRefused({"run", Path("broken.onnx"), "--input", input, "--output", out},
                "not an ONNX model");
  ExpectRefused({"run", "cnm", "--input", input, "--output", out}, "did you mean cnn?");
  ExpectRefused({"export", "cnn", Path("no/such/x.onnx")}, "no/such/x.onnx");
  const auto with_weights = [&](const std::string& weights) {
    return std::vector<std::string>{"run",     "cnn", "--weights", Path(weights),
                                    "--input", input, "--output",  out};
  };
  ExpectRefused(with_weights("w.txt"), "give an .npz or a .safetensors file");
  ExpectRefused(with_weights("w.safetensors"), "truncated");
  ExpectRefused(with_weights("none.npz"), "none.npz");
  ExpectRefused(with_weights("w.npz"), "conv1/weights is 1x3x32x32, not 32x3x3x3");
}

TEST_F(OnnxCommandsTest, AQuantizedNetworkRunsInIntegers) {
  const std::string drawn = Path("drawn.onnx"), int8 = Path("int8.onnx");
  ExpectGood({"export", "lenet5", drawn});
  const Outcome quantized =
      RunProgram({"quantize", drawn, int8, "--data", "synthetic", "--images", "64"});
  ASSERT_EQ(quantized.exit_status, kExitGood) << quantized.output;
  EXPECT_THAT(quantized.output, HasSubstr("layers with weights of 8 bits"));
  EXPECT_THAT(quantized.output, HasSubstr("in f32 and"));
  const Outcome plan = RunProgram({"plan", int8, "--infer", "--backend", "reference"});
  EXPECT_THAT(plan.output, HasSubstr("quantized_conv"));
  ExpectRefused({"quantize", int8, Path("again.onnx")}, "is quantized already");
  ExpectRefused({"quantize", drawn, drawn}, "drawn.onnx");
  ExpectRefused({"quantize", "lenet5", int8, "--images", "0"}, "--images 0");
  ExpectRefused({"quantize", "lenet5", int8, "--entropy", "--percentile", "99"},
                "give one of them");
  ExpectRefused({"quantize", "lenet5", int8, "--percentile", "10"}, "--percentile");
  ExpectRefused({"profile", int8, "--train"}, "topdnn trains in floating point");
}

// The header of the first entry claims 32 GiB. Its shape is refused before it is unpacked.
TEST_F(OnnxCommandsTest, ShapesOfWeightsAreCheckedBeforeUnpacking) {
  const std::string image = Image("x.npy", {1, 3, 32, 32});
  WriteNpz(Path("w.npz"), {{"conv1/bias", ReadArray(Image("y.npy", {1000}))}});
  std::ifstream whole(Path("w.npz"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  whole.close();
  const std::size_t at = bytes.find("'shape': (1000,), }      ");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 25, "'shape': (8589934592,), }");
  // (the checksums no longer match, but they are checked only at the end of an entry)
  folder_.Write("w.npz", bytes);
  ExpectRefused({"run", "cnn", "--weights", Path("w.npz"), "--input", "input=" + image, "--output",
                 Path("out")},
                "conv1/bias is 8589934592, not 32");
}

TEST_F(OnnxCommandsTest, NonFiniteWeightsAreRefused) {
  ExpectGood({"step", "cnn", "--batch", "2", "--data", "synthetic", "--dump", Path("good.npz")});
  NamedArrays arrays = ReadNpz(Path("good.npz"));
  for (auto& [name, array] : arrays) {
    if (name == "weights/conv2/bias") std::memset(array.data.data() + 12, 0xff, 4);
  }
  WriteNpz(Path("bad.npz"), arrays);
  ExpectRefused({"step", "cnn", "--batch", "2", "--data", "synthetic", "--weights", Path("bad.npz"),
                 "--dump", Path("again.npz")},
                "bad.npz: conv2/bias has nan at element 3");
}

// A sweep gives --prefetch to every case.
TEST_F(OnnxCommandsTest, ANetworkWithoutImagesHasNoFedStep) {
  ModelBuilder model;
  model.Input("x", {4, 6}).Output("y");
  model.Floats("w", {6, 5});
  model.Node("MatMul", "y", {"x", "w"});
  folder_.Write("rows.onnx", model.Bytes());
  const Outcome outcome = RunProgram({"profile", Path("rows.onnx"), "--infer", "--prefetch", "2",
                                      "--iterations", "1", "--threads", "1", "--counters", "none",
                                      "--no-isolated", "--json", Path("o.json")});
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("takes batches of 6, no images"));
  EXPECT_TRUE(ReadJson(Path("o.json"))["fed_step"].is_null());
}

// One image and one Reshape to a fixed shape, as PyTorch exports them.
class FixedBatchTest : public OnnxCommandsTest {
 protected:
  std::string Model(const std::vector<std::int64_t>& dims) const {
    ModelBuilder model;
    model.Input("x", dims).Output("fc");
    model.Floats("w", {2, 3, 3, 3});
    AddInts(model.Node("Conv", "conv", {"x", "w"}), "pads", {1, 1, 1, 1});
    model.Node("GlobalAveragePool", "pool", {"conv"});
    model.Ints("shape", {1, 2});
    model.Node("Reshape", "flat", {"pool", "shape"});
    model.Floats("v", {2, 5});
    model.Node("MatMul", "fc", {"flat", "v"});
    folder_.Write("fixed.onnx", model.Bytes());
    return Path("fixed.onnx");
  }
};

TEST_F(FixedBatchTest, TheBatchOfTheFileIsTheDefault) {
  const std::string onnx = Model({1, 3, 8, 8});
  const Outcome plan = RunProgram({"plan", onnx, "--infer"});
  EXPECT_EQ(plan.exit_status, kExitGood) << plan.output;
  EXPECT_THAT(plan.output, HasSubstr("batch 1,"));
  ExpectGood(
      {"profile", onnx, "--infer", "--iterations", "1", "--counters", "none", "--threads", "1"});
  const Outcome four = RunProgram({"plan", onnx, "--infer", "--batch", "4"});
  EXPECT_THAT(four.output, HasSubstr("batch 4,"));
}

TEST_F(FixedBatchTest, SizeSettlesOpenExtents) {
  const std::string onnx = Model({1, 3, 0, 0});
  ExpectRefused({"plan", onnx, "--infer"}, "by --size");
  ExpectRefused({"plan", onnx, "--infer", "--size", "-8"}, "--size -8: must be 1 or more");
  const Outcome plan = RunProgram({"plan", onnx, "--infer", "--size", "8"});
  EXPECT_EQ(plan.exit_status, kExitGood) << plan.output;
  ExpectRefused({"plan", Model({1, 3, 8, 8}), "--infer", "--size", "8"}, "leave --size out");
  ExpectRefused({"plan", onnx, "--infer", "--classes", "8"}, "leave --classes out");
}

TEST_F(FixedBatchTest, InputShapeSettlesOpenExtents) {
  const std::string onnx = Model({0, 3, 0, 0});
  for (const char* command : {"plan", "profile"}) {
    std::vector<std::string> words = {command, onnx, "--infer", "--input-shape", "x=1x3x8x6"};
    if (std::string(command) == "profile") {
      for (const char* word : {"--iterations", "1", "--counters", "none", "--threads", "1"}) {
        words.emplace_back(word);
      }
    }
    const Outcome outcome = RunProgram(words);
    EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("batch 1,"));
  }
  const auto refused = [&](const std::string& shape, const std::string& why) {
    ExpectRefused({"plan", onnx, "--infer", "--input-shape", shape}, why);
  };
  refused("1x3x8x8", "it has no '='");
  refused("x=1x3x8x", "an extent is not a number");
  refused("x=1x3x8x8y", "not separated by x");
  refused("x=1x3x0x8", "an extent is not a number from 1");
  refused("x=1x4x8x8", "input x is 1x3x8x8, not 1x4x8x8");
  refused("z=1x3x8x8", "it has no input z: its input is named x");
  ExpectRefused({"plan", "cnn", "--input-shape", "x=1x3x32x32"}, "its input is named input");
  ExpectRefused({"plan", "cnn", "--input-shape", "input=1x3x32x32", "--size", "64"},
                "leave --size out");
  ExpectRefused({"plan", "cnn", "--onnx-output", "y"}, "leave --onnx-output out");
}

// Rows of a spectrum instead of images.
TEST_F(OnnxCommandsTest, ANetworkWithoutImagesIsFedWithNumbers) {
  ModelBuilder model;
  model.Input("rows", {0, 4}).Output("y");
  model.Floats("w", {4, 3});
  model.Node("MatMul", "y", {"rows", "w"});
  folder_.Write("rows.onnx", model.Bytes());
  const std::string onnx = Path("rows.onnx");
  ExpectGood({"plan", onnx, "--infer", "--batch", "2"});
  const Outcome profile = RunProgram({"profile", onnx, "--infer", "--batch", "2", "--iterations",
                                      "1", "--counters", "none", "--threads", "1", "--json", "-"});
  EXPECT_EQ(profile.exit_status, kExitGood) << profile.output;
  EXPECT_THAT(profile.output, HasSubstr("numbers drawn by seed 1"));
  ExpectRefused({"plan", onnx, "--batch", "2"}, "takes 2x4, no images: give --infer");
  ExpectRefused({"profile", onnx, "--infer", "--data", "synthetic"}, "no images: leave --data");
}

// float16 throughout, with a .npy of float16: the result is rounded to it. 1/3 has 11 bits.
TEST_F(OnnxCommandsTest, RunReadsAndWritesHalfNumbers) {
  ModelBuilder model;
  model.Input("x", {1, 3}, onnx::TensorProto::FLOAT16).Output("y", onnx::TensorProto::FLOAT16);
  model.Floats("three", {}, {3});
  model.Node("Div", "y", {"x", "three"});
  folder_.Write("half.onnx", model.Bytes());
  for (const DataType type : {DataType::kF16, DataType::kF32}) {
    Tensor tensor(Shape{1, 3}, type);
    FromDouble(std::vector<double>{1, 1.0 / 4096 + 1, -3}, tensor.desc(), tensor.data());
    const auto bytes = EncodeNpy(ToNpy(tensor));
    folder_.Write("x.npy", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    ExpectGood({"run", Path("half.onnx"), "--input", "x=" + Path("x.npy"), "--output", Path("d"),
                "--backend", "reference"});
    const NpyArray y = ReadArray(Path("d/y.npy"));
    EXPECT_EQ(y.type, DataType::kF16);
    // (the second element is rounded to 1 when it is read)
    EXPECT_EQ(ToDouble({y.shape, y.type, Layout::Plain(2)}, y.data.data()),
              (std::vector<double>{1365.0 / 4096, 1365.0 / 4096, -1}));
  }
}

TEST_F(OnnxCommandsTest, RunChecksTheIntegersOfAnInput) {
  ModelBuilder model;
  model.Input("x", {1, 3}, onnx::TensorProto::UINT8).Output("y");
  AddInt(model.Node("Cast", "y0", {"x"}), "to", onnx::TensorProto::FLOAT);
  model.Node("Neg", "y", {"y0"});
  folder_.Write("bytes.onnx", model.Bytes());
  const auto run = [&](const std::vector<double>& values) {
    Tensor tensor(Shape{1, 3});
    FromDouble(values, tensor.desc(), tensor.data());
    const auto bytes = EncodeNpy(ToNpy(tensor));
    folder_.Write("x.npy", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return std::vector<std::string>{
        "run",      Path("bytes.onnx"), "--input",   "x=" + Path("x.npy"),
        "--output", Path("d"),          "--backend", "reference"};
  };
  ExpectGood(run({0, 7, 255}));
  ExpectRefused(run({0, 7, 256}),
                "input x has the element 256, and the model takes u8s of 0 to 255");
  ExpectRefused(run({0.5, 7, 255}), "input x has the element 0.5");
  ExpectGood({"profile", Path("bytes.onnx"), "--infer", "--seconds", "0.01", "--counters", "none",
              "--no-isolated", "--backend", "reference"});
}

// Training would change the product instead of its factors.
TEST_F(OnnxCommandsTest, ComputedWeightsAreNotTrained) {
  ModelBuilder model;
  model.Input("x", {4, 3}).Output("y");
  model.Floats("v", {3, 2}, {1, 2, 3, 4, 5, 6});
  model.Floats("g", {2}, {1, 2});
  model.Node("Mul", "w", {"v", "g"});
  model.Node("MatMul", "y", {"x", "w"});
  folder_.Write("computed.onnx", model.Bytes());
  ExpectRefused({"step", Path("computed.onnx"), "--dump", Path("d.npz")},
                "the weights of layer y are computed from other constants, by Mul at w");
  ExpectGood({"plan", Path("computed.onnx"), "--infer"});
}

TEST_F(OnnxCommandsTest, RunWritesEachOutputInTheModelsType) {
  ModelBuilder model(13);
  model.Input("rows", {0, 4}).Output("place").Output("larger");
  onnx::NodeProto& place = model.Node("ArgMax", "place", {"rows"});
  AddInt(place, "axis", 1);
  AddInt(place, "keepdims", 0);
  model.Floats("limit", {}, {2});
  model.Node("Greater", "larger", {"rows", "limit"});
  folder_.Write("types.onnx", model.Bytes());
  Tensor rows(Shape{2, 4});
  FromDouble(std::vector<double>{1, 5, 2, 3, 7, 0, -1, 4}, rows.desc(), rows.data());
  const auto bytes = EncodeNpy(ToNpy(rows));
  folder_.Write("rows.npy", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  ExpectGood({"run", Path("types.onnx"), "--input", "rows=" + Path("rows.npy"), "--output",
              Path("types")});
  const auto values_of = [&](const std::string& name, DataType type, const Shape& shape) {
    const NpyArray array = ReadArray(Path("types/" + name));
    EXPECT_EQ(array.type, type) << name;
    EXPECT_EQ(array.shape.ToString(), shape.ToString()) << name;
    return ToDouble({array.shape, array.type, Layout::Plain(array.shape.rank())},
                    array.data.data());
  };
  EXPECT_EQ(values_of("place.npy", DataType::kS64, {2}), (std::vector<double>{1, 0}));
  EXPECT_EQ(values_of("larger.npy", DataType::kU8, {2, 4}),
            (std::vector<double>{0, 1, 0, 1, 1, 0, 0, 1}));
}

// Two images of a detector: boxes and scores, from an image and a factor.
class SeveralValuesTest : public OnnxCommandsTest {
 protected:
  std::string Model() const {
    ModelBuilder model;
    model.Input("image", {0, 3, 8, 8}).Input("factor", {1, 1, 1, 1});
    model.Output("boxes").Output("scores/all");
    model.Floats("w", {2, 3, 3, 3});
    AddInts(model.Node("Conv", "boxes", {"image", "w"}), "pads", {1, 1, 1, 1});
    model.Node("Mul", "scaled", {"boxes", "factor"});
    model.Node("Sigmoid", "scores/all", {"scaled"});
    folder_.Write("several.onnx", model.Bytes());
    return Path("several.onnx");
  }
};

TEST_F(SeveralValuesTest, RunReadsEachInputAndWritesEachOutput) {
  const std::string onnx = Model();
  const std::string image = "image=" + Image("image.npy", {2, 3, 8, 8});
  const std::string factor = "factor=" + Image("factor.npy", {1, 1, 1, 1});
  const std::string out = Path("out");
  ExpectGood({"run", onnx, "--input", image, "--input", factor, "--output", out});
  const NpyArray boxes = ReadArray(out + "/boxes.npy");
  const NpyArray scores = ReadArray(out + "/scores_all.npy");
  const NpyArray by = ReadArray(Path("factor.npy"));
  ASSERT_EQ(boxes.shape, (Shape{2, 2, 8, 8}));
  ASSERT_EQ(scores.shape, boxes.shape);
  const auto at = [](const NpyArray& array, std::size_t i) {
    float value = 0;
    std::memcpy(&value, array.data.data() + i * sizeof(float), sizeof(float));
    return value;
  };
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_NEAR(at(scores, i), 1 / (1 + std::exp(-at(boxes, i) * at(by, 0))), 1e-6) << i;
  }
  ExpectGood({"run", onnx, "--onnx-output", "boxes", "--input", image, "--output", Path("one")});
  EXPECT_EQ(ReadArray(Path("one/boxes.npy")).data, boxes.data);
  EXPECT_FALSE(std::filesystem::exists(Path("one/scores_all.npy")));
  ExpectRefused({"run", onnx, "--input", image, "--output", out},
                "input factor is needed: give --input factor=FILE.npy");
  ExpectRefused({"run", onnx, "--input", image, "--input", image, "--output", out}, "given twice");
}

TEST_F(SeveralValuesTest, PlanAndProfileTakeTheFile) {
  const std::string onnx = Model();
  const Outcome plan = RunProgram({"plan", onnx, "--infer", "--batch", "2"});
  EXPECT_EQ(plan.exit_status, kExitGood) << plan.output;
  EXPECT_THAT(plan.output, HasSubstr("scaled"));
  const Outcome one = RunProgram({"plan", onnx, "--infer", "--onnx-output", "boxes"});
  EXPECT_THAT(one.output, Not(HasSubstr("scaled")));
  ExpectGood({"profile", onnx, "--infer", "--batch", "2", "--iterations", "1", "--counters", "none",
              "--threads", "1"});
  ExpectRefused({"plan", onnx}, "has 2 outputs, and training needs one");
  ExpectRefused({"plan", onnx, "--infer", "--onnx-output", "mask"},
                "it has no output mask; there are: boxes, scores/all");
  const std::string boxes = Path("only_boxes.onnx");
  ExpectGood({"export", onnx, boxes, "--onnx-output", "boxes", "--input-shape", "image=2x3x8x8"});
  ExpectGood({"plan", boxes, "--infer", "--onnx-output", "output"});
  const std::string int8 = Path("int8.onnx");
  ExpectGood({"quantize", onnx, int8, "--data", "synthetic", "--images", "8", "--batch", "4",
              "--test-images", "0"});
  // (oneDNN 3 has no such convolution)
  ExpectGood({"run", int8, "--fallback", "--input", "input=" + Image("image.npy", {2, 3, 8, 8}),
              "--input", "factor=" + Image("factor.npy", {1, 1, 1, 1}), "--output", Path("int8")});
  EXPECT_EQ(ReadArray(Path("int8/boxes.npy")).shape, (Shape{2, 2, 8, 8}));
}

}  // namespace
}  // namespace topdnn
