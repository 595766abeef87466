// Files that are damaged, or made to crash or hang their reader or to use up its memory.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <random>
#include <string>

#include "networks/onnx/import/importer.h"
#include "networks/onnx/model/parsed_size.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"
#include "tests/networks/onnx/sample_graphs.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

constexpr std::size_t kLimit = std::size_t{64} << 20;

// A network and a refusal in one line are both correct. Anything else is a failure.
void ExpectReadOrRefused(const std::string& bytes) {
  try {
    ImportOnnx(bytes, {.memory_limit = kLimit});
  } catch (const OnnxError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 100'000u);
  }
}

TEST(HostileModelTest, SamplesAreImported) {
  for (const std::string& sample : SampleModels()) {
    EXPECT_NO_THROW(ImportOnnx(sample, {.memory_limit = kLimit}));
  }
}

TEST(HostileModelTest, EveryTruncatedFileIsReadOrRefused) {
  for (const std::string& sample : SampleModels()) {
    for (std::size_t size = 0; size < sample.size(); size += 1 + size / 512) {
      ExpectReadOrRefused(sample.substr(0, size));
    }
  }
}

// Bytes are changed, replaced by those of other samples, removed or repeated: a thousand files per
// sample, the same in every run.
TEST(HostileModelTest, MutationsAreReadOrRefused) {
  std::mt19937 random(20240607);
  const std::vector<std::string> samples = SampleModels();
  const auto below = [&](std::size_t bound) { return random() % bound; };
  const std::vector<std::string> interesting = {std::string("\x00", 1),
                                                "\xff",
                                                "\x7f",
                                                "\x80",
                                                std::string(9, '\xff') + "\x01",
                                                std::string("\xff\xff\xff\xff\x07", 5)};
  for (const std::string& sample : samples) {
    for (int i = 0; i < 1000; ++i) {
      std::string bytes = sample;
      for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
        // Most of a file is weights; its structure is at both ends.
        const std::size_t at =
            below(2) == 0 ? below(bytes.size())
                          : bytes.size() - 1 - below(std::min<std::size_t>(bytes.size(), 600));
        const std::string& other = samples[below(samples.size())];
        const std::size_t length = 1 + below(32);
        switch (below(5)) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes.replace(at, 1, interesting[below(interesting.size())]);
            break;
          case 2:
            bytes.erase(at, length);
            break;
          case 3:
            bytes.insert(at, bytes.substr(at, length));
            break;
          default:
            bytes.replace(at, length, other.substr(below(other.size()), length));
        }
        if (bytes.empty()) bytes = sample;
      }
      ExpectReadOrRefused(bytes);
    }
  }
}

TEST(HostileModelTest, DeclaredShapesAreCheckedAgainstTheData) {
  const auto with_dims = [](const std::vector<std::int64_t>& dims) {
    ModelBuilder model;
    model.Input("x", {1, 2, 4, 4}).Output("y");
    onnx::TensorProto& weights = model.Floats("w", {2, 2, 1, 1});
    weights.clear_dims();
    for (const std::int64_t dim : dims) weights.add_dims(dim);
    model.Node("Conv", "y", {"x", "w"});
    return model.Bytes();
  };
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(RefusalOf(with_dims({-2, -2, 1, 1})), HasSubstr("initializer w: invalid extent -2"));
  EXPECT_THAT(RefusalOf(with_dims({kHuge, kHuge, 1, 1})), HasSubstr("invalid extent"));
  EXPECT_THAT(RefusalOf(with_dims({1 << 20, 1 << 20, 1, 1})), HasSubstr("16 bytes of data"));
  EXPECT_THAT(RefusalOf(with_dims({3, 2, 1, 1})), HasSubstr("the file is damaged"));
  EXPECT_THAT(RefusalOf(with_dims(std::vector<std::int64_t>(40, 1))), HasSubstr("32 dimensions"));
}

// The importer makes the addition a part of the product, which it refuses. The message must not
// name the nodes that read the product.
TEST(HostileModelTest, ARefusedNodeIsTheOnlyOneNamed) {
  ModelBuilder model;
  model.Input("x", {1, 4}).Output("y");
  model.Floats("m", {4, 2});
  model.Floats("b", {2});
  model.Node("MatMul", "product", {"x", "m"});
  model.Node("Add", "biased", {"product", "b"});
  model.Node("Relu", "y", {"biased"});
  EXPECT_EQ(ImportOnnx(model.Bytes(), {}).graph.nodes().size(), 2u);
  model.proto.mutable_graph()->mutable_initializer(0)->set_dims(0, 2);
  model.proto.mutable_graph()->mutable_initializer(0)->set_dims(1, 4);
  model.Floats("b4", {4});
  *model.proto.mutable_graph()->mutable_node(1)->mutable_input(1) = "b4";
  const std::string refusal = RefusalOf(model.Bytes());
  EXPECT_THAT(refusal, HasSubstr("MatMul at product"));
  EXPECT_EQ(refusal.find("biased"), std::string::npos) << refusal;
}

TEST(HostileModelTest, HugeWindowsAndResultsAreRefused) {
  const auto with_pads = [](std::int64_t pad, std::int64_t stride) {
    ModelBuilder model;
    model.Input("x", {1, 2, 4, 4}).Output("y");
    model.Floats("w", {2, 2, 1, 1});
    onnx::NodeProto& conv = model.Node("Conv", "y", {"x", "w"});
    AddInts(conv, "pads", {pad, pad, pad, pad});
    AddInts(conv, "strides", {stride, stride});
    return model.Bytes();
  };
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const ImportOptions limited{.memory_limit = kLimit};
  EXPECT_THAT(RefusalOf(with_pads(kHuge, 1), limited), HasSubstr("padding of"));
  EXPECT_THAT(RefusalOf(with_pads(-1, 1), limited), HasSubstr("padding of -1"));
  EXPECT_THAT(RefusalOf(with_pads(1 << 20, 1), limited), HasSubstr("does not fit the memory"));
  EXPECT_THAT(RefusalOf(with_pads((std::int64_t{1} << 31) - 1, 1), limited), HasSubstr("y ("));
  EXPECT_THAT(RefusalOf(with_pads(0, 0), limited), HasSubstr("stride"));
  ModelBuilder input;
  input.Input("x", {kHuge, kHuge, kHuge}).Output("y");
  input.Node("Relu", "y", {"x"});
  RefusalOf(input.Bytes(), limited);
}

// One initializer that thousands of layers read becomes thousands of copies.
TEST(HostileModelTest, CopiesOfDataAreLimited) {
  ModelBuilder model;
  model.Input("x", {1, 512}).Output("y999");
  model.Floats("w", {512, 512});
  std::string last = "x";
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "y" + std::to_string(i);
    model.Node("MatMul", name, {last, "w"});
    last = name;
  }
  EXPECT_THAT(RefusalOf(model.Bytes(), {.memory_limit = kLimit}), HasSubstr("that may be used"));

  ModelBuilder expanded;
  expanded.Input("x", {1, 4}).Output("y");
  expanded.Ints("shape", {1 << 20, 1 << 20});
  expanded.Node("ConstantOfShape", "zeros", {"shape"});
  expanded.Node("Add", "y", {"x", "zeros"});
  EXPECT_THAT(RefusalOf(expanded.Bytes()), HasSubstr("ConstantOfShape at zeros"));
}

// An empty message has two bytes in the file and hundreds in memory.
TEST(HostileModelTest, EmptyMessagesAreCountedBeforeParsing) {
  std::string graph;
  for (int i = 0; i < 1'000'000; ++i) graph += std::string("\x0a\x00", 2);  // node {}
  onnx::ModelProto model;
  std::string bytes = "\x3a";  // graph
  for (std::size_t length = graph.size(); length > 0; length >>= 7) {
    bytes += static_cast<char>((length & 0x7f) | (length >= 0x80 ? 0x80 : 0));
  }
  bytes += graph;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  EXPECT_GT(
      ParsedSizeAtMost(stream, static_cast<int>(bytes.size()), *onnx::ModelProto::descriptor()),
      200'000'000u);
  // (the missing opset would be refused, too, but only after the nodes are parsed)
  EXPECT_THAT(RefusalOf(bytes, {.memory_limit = kLimit}), HasSubstr("MiB may be used"));
}

// A file is read in pieces, and a large tensor spans several.
TEST(HostileModelTest, AFileIsReadAsItsBytes) {
  ModelBuilder model;
  model.Input("x", {1, 256, 1, 1}).Output("conv");
  model.Floats("w", {512, 256, 1, 1});
  model.Node("Conv", "conv", {"x", "w"});
  const std::string bytes = model.Bytes();
  const TestFolder folder;
  const int file = open(folder.Write("model", bytes).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const ImportedNetwork of_bytes = ImportOnnx(bytes, {});
  for (int read = 0; read < 2; ++read) {  // the second time from the start, too
    const ImportedNetwork of_file = ImportOnnxFile(file, bytes.size(), {});
    const auto weights = of_file.parameters.at("conv/weights").values<float>();
    EXPECT_THAT(weights,
                testing::ElementsAreArray(of_bytes.parameters.at("conv/weights").values<float>()));
  }
  const auto refusal = [&](std::size_t size, std::size_t memory_limit) -> std::string {
    try {
      ImportOnnxFile(file, size, {.memory_limit = memory_limit});
    } catch (const OnnxError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(bytes.size() - 1, 0), HasSubstr("truncated"));
  EXPECT_THAT(refusal(bytes.size() + 1, 0), HasSubstr("truncated"));
  EXPECT_THAT(refusal(bytes.size(), 500'000), HasSubstr("MiB may be used"));
  close(file);
}

TEST(HostileModelTest, CyclesAndDuplicateNamesAreRefused) {
  ModelBuilder circle;
  circle.Input("x", {1, 4}).Output("b");
  circle.Node("Add", "a", {"x", "b"});
  circle.Node("Relu", "b", {"a"});
  EXPECT_THAT(RefusalOf(circle.Bytes()), HasSubstr("in a circle: b (Relu) reads a"));
  ModelBuilder self;
  self.Input("x", {1, 4}).Output("a");
  self.Node("Relu", "a", {"a"});
  EXPECT_THAT(RefusalOf(self.Bytes()), HasSubstr("in a circle: a (Relu) reads a"));
  ModelBuilder nobody;
  nobody.Input("x", {1, 4}).Output("a");
  nobody.Node("Add", "a", {"x", "y"});
  EXPECT_THAT(
      RefusalOf(nobody.Bytes()),
      HasSubstr("reads y, which no node computes and which is no input; if the graph is a part"));
  ModelBuilder twice;
  twice.Input("x", {1, 4}).Output("a");
  twice.Node("Relu", "a", {"x"});
  twice.Node("Relu", "a", {"x"});
  EXPECT_THAT(RefusalOf(twice.Bytes()), HasSubstr("two values are named a"));
  ModelBuilder initializers;
  initializers.Input("x", {1, 4}).Output("a");
  initializers.Floats("w", {1});
  initializers.Floats("w", {1});
  initializers.Node("Relu", "a", {"x"});
  EXPECT_THAT(RefusalOf(initializers.Bytes()), HasSubstr("initializer w: duplicate"));
  ModelBuilder nothing;
  nothing.Input("x", {1, 4}).Output("x");
  EXPECT_THAT(RefusalOf(nothing.Bytes()), HasSubstr("no layer leads from its input"));
}

// A chain of nodes from the last to the first: as deep as a file can be.
TEST(HostileModelTest, ALongChainInTheWrongOrderIsSorted) {
  constexpr int kNodes = 10000;
  ModelBuilder model;
  model.Input("x", {1, 4}).Output("y" + std::to_string(kNodes));
  for (int i = kNodes; i > 0; --i) {
    model.Node("Identity", "y" + std::to_string(i), {i == 1 ? "x" : "y" + std::to_string(i - 1)});
  }
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("no layer leads from its input"));
}

TEST(HostileModelTest, NonFiniteWeightsAreRefused) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    ModelBuilder model;
    model.Input("x", {1, 1, 4, 4}).Output("y");
    model.Floats("w", {2, 1, 1, 1}, {1.0F, bad});
    model.Node("Conv", "y", {"x", "w"});
    EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("y/weights has"));
    EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("at element 1: give finite values"));
  }
  ModelBuilder norm;
  norm.Input("x", {1, 2, 4, 4}).Output("y");
  norm.Floats("ones", {2}, {1.0F, 1.0F});
  norm.Floats("variance", {2}, {1.0F, -1.0F});
  norm.Node("BatchNormalization", "y", {"x", "ones", "ones", "ones", "variance"});
  EXPECT_THAT(RefusalOf(norm.Bytes()), HasSubstr("y/variance has -1 at element 1"));
}

TEST(HostileModelTest, AKernelShapeThatDiffersFromTheWeightsIsRefused) {
  const auto with_kernel = [](const std::vector<std::int64_t>& kernel) {
    ModelBuilder model;
    model.Input("x", {1, 2, 8, 8}).Output("y");
    model.Floats("w", {2, 2, 3, 3});
    AddInts(model.Node("Conv", "y", {"x", "w"}), "kernel_shape", kernel);
    return model.Bytes();
  };
  EXPECT_NO_THROW(ImportOnnx(with_kernel({3, 3}), {}));
  for (const std::vector<std::int64_t>& kernel :
       std::vector<std::vector<std::int64_t>>{{0, 0}, {-3, -3}, {5, 5}, {3, 3, 3}, {3}, {3, 1}}) {
    EXPECT_THAT(RefusalOf(with_kernel(kernel)), HasSubstr("is not that of its weights, [3, 3]"));
  }
}

TEST(HostileModelTest, DataInOtherFilesIsNotRead) {
  ModelBuilder model;
  model.Input("x", {1, 2, 4, 4}).Output("y");
  onnx::TensorProto& weights = model.Floats("w", {2, 2, 1, 1});
  weights.clear_raw_data();
  weights.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& location = *weights.add_external_data();
  location.set_key("location");
  location.set_value("../../../etc/passwd");
  model.Node("Conv", "y", {"x", "w"});
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("save the model with all its data in one file"));
}

TEST(HostileModelTest, NamesArePrintedOnOneLine) {
  ModelBuilder model;
  model.Input("x", {1, 4}).Output("y");
  model.Node("Re\nlu\x1b[31m", "y", {"x"}).set_name("a\nb");
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("Re?lu?[31m at a?b"));
}

TEST(HostileModelTest, FilesOfOtherFormatsAreRefused) {
  for (const std::string& bytes :
       {std::string(), std::string("not a model"), std::string(1000, '\0'), std::string("\x08\x07"),
        std::string(200, '\x3a')}) {
    RefusalOf(bytes);
  }
}

}  // namespace
}  // namespace topdnn
