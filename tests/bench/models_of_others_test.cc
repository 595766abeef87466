// ONNX models of others (models_of_others/README.md) on the command line: each is planned, and
// gives the values that loops outside of this program gave.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/formats/npz.h"
#include "bench/workload/workload.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

std::string ModelPath(const std::string& name) {
  return std::string(TOPDNN_SOURCE_DIR "/tests/bench/models_of_others/") + name;
}

struct ExpectedModel {
  std::string name, shape;
  std::vector<double> values;
};

std::vector<ExpectedModel> ExpectedModels() {
  std::ifstream file(ModelPath("expected.txt"));
  std::vector<ExpectedModel> models;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    ExpectedModel model;
    words >> model.name >> model.shape;
    for (double value = 0; words >> value;) model.values.push_back(value);
    models.push_back(std::move(model));
  }
  return models;
}

class ModelsOfOthersTest : public testing::Test {
 protected:
  // The input for which expected.txt has the result: bytes, or multiples of 1/8.
  std::string InputFor(const std::string& model, const Shape& shape) const {
    const bool bytes = model == "uint8_input" || model == "nemo_requant";
    std::vector<double> values;
    for (int i = 0; i < static_cast<int>(shape.elements()); ++i) {
      values.push_back(bytes ? i * 83 % 256 : (i * 37 % 29 - 14) / 8.0);
    }
    const DataType type = model == "h1"            ? DataType::kF16
                          : model == "uint8_input" ? DataType::kU8
                                                   : DataType::kF32;
    Tensor tensor(shape, type);
    FromDouble(values, tensor.desc(), tensor.data());
    const auto npy = EncodeNpy(ToNpy(tensor));
    folder_.Write("x.npy", {reinterpret_cast<const char*>(npy.data()), npy.size()});
    return "x=" + (folder_.path() / "x.npy").string();
  }

  NpyArray Result() const {
    const std::string path = (folder_.path() / "d/y.npy").string();
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return DecodeNpy({bytes, bytes + text.size()}, path);
  }

  std::string Folder() const { return (folder_.path() / "d").string(); }

 private:
  TestFolder folder_;
};

Shape InputShape(const std::string& model) {
  if (model == "redReduceMax1x1") return {2, 3, 1, 1};
  if (model == "uint8_input" || model == "nemo_requant") return {1, 3, 8, 8};
  if (model.starts_with("fold") || model.starts_with("cw")) return {1, 3, 4, 4};
  return {1, 3, 6, 6};
}

TEST_F(ModelsOfOthersTest, EachIsPlannedAndGivesItsValues) {
  const std::vector<ExpectedModel> models = ExpectedModels();
  ASSERT_EQ(models.size(), 17u);
  for (const ExpectedModel& model : models) {
    const std::string file = ModelPath(model.name + ".onnx");
    SCOPED_TRACE(model.name);
    // What `topdnn plan --infer` does, without another process.
    WorkloadOptions options;
    options.network = file;
    EXPECT_NO_THROW(PlanWorkload(options, /*training=*/false));
    const Outcome run =
        RunProgram({"run", file, "--input", InputFor(model.name, InputShape(model.name)),
                    "--output", Folder(), "--threads", "1"});
    ASSERT_EQ(run.exit_status, kExitGood) << run.output;
    const NpyArray y = Result();
    EXPECT_EQ(y.shape.ToString(), model.shape);
    EXPECT_EQ(y.type, model.name == "h1" ? DataType::kF16 : DataType::kF32);
    const std::vector<double> values =
        ToDouble({y.shape, y.type, Layout::Plain(y.shape.rank())}, y.data.data());
    ASSERT_EQ(values.size(), model.values.size());
    // A sum that ends between two numbers of float16 may be rounded to either.
    const double relative = y.type == DataType::kF16 ? 1.0 / 1024 : 1e-5;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double tolerance = relative * std::max(1.0, std::fabs(model.values[i]));
      EXPECT_NEAR(values[i], model.values[i], tolerance) << i;
    }
  }
}

// Weights made of constants are not trained, and the line names the layer and the node.
TEST_F(ModelsOfOthersTest, WeightsMadeOfConstantsAreRefusedForTraining) {
  for (const auto& [name, reason] :
       {std::pair("weightnorm.onnx",
                  "the weights of layer Conv_3 are computed from other "
                  "constants, by Mul at node 2"),
        {"fq.onnx", "the weights of layer Conv_1 are computed from other constants, by Clip"}}) {
    const Outcome outcome = RunProgram({"plan", ModelPath(name), "--train"});
    EXPECT_EQ(outcome.exit_status, kExitUsage);
    EXPECT_THAT(outcome.output, HasSubstr(reason));
  }
}

}  // namespace
}  // namespace topdnn
