// One training step of the zoo's networks against PyTorch's, in double: the loss, and the gradient
// of every parameter. torch_gradients.py has written the files in tests/networks/gradients/. The
// reference backend computes the step; zoo_slow_test.cc compares the other backends with it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "networks/graph/zoo.h"
#include "networks/planning/planner.h"
#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

constexpr const char* kGradientFolder = TOPDNN_SOURCE_DIR "/tests/networks/gradients";

// Values from -1 to 1, as in torch_gradients.py.
std::vector<double> Drawn(std::uint64_t tensor, std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t z = (i + (tensor << 32) + 1) * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    values[i] = std::ldexp(static_cast<double>(z >> 11), -52) - 1;
  }
  return values;
}

constexpr std::uint64_t kProjection = 1000;

struct TorchTensor {
  std::string name;
  std::size_t elements;
  double norm, projection;
};

std::vector<TorchTensor> ReadTensors(const std::string& path) {
  std::ifstream file(path);
  std::vector<TorchTensor> tensors;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#' || line.rfind("tensor,", 0) == 0) continue;
    std::replace(line.begin(), line.end(), ',', ' ');
    TorchTensor& tensor = tensors.emplace_back();
    std::istringstream(line) >> tensor.name >> tensor.elements >> tensor.norm >> tensor.projection;
  }
  return tensors;
}

// The networks that have a file; an underscore stands for the colon of a variant.
std::vector<std::string> NetworksWithGradients() {
  std::vector<std::string> names;
  for (const NetworkOffer& network : Networks()) {
    std::string name = network.FullName();
    std::replace(name.begin(), name.end(), ':', '_');
    if (std::filesystem::exists(std::string(kGradientFolder) + "/" + name + ".csv")) {
      names.push_back(network.FullName());
    }
  }
  return names;
}

std::vector<double> DrawnParameter(const Parameter& spec, std::uint64_t tensor) {
  std::vector<double> values = Drawn(tensor, static_cast<std::size_t>(spec.shape.elements()));
  for (double& value : values) {
    if (spec.arg == Arg::kBias || spec.arg == Arg::kShift) {
      value *= 0.1;
    } else if (spec.arg == Arg::kScale || spec.fan_in == 0) {  // a layer scale
      value = 1.0 + 0.2 * value;
    } else {
      value *= std::sqrt(6.0 / static_cast<double>(spec.fan_in));
    }
  }
  return values;
}

class TorchGradientsTest : public testing::TestWithParam<std::string> {};

TEST_P(TorchGradientsTest, AreThoseOfTheReference) {
  std::string file = GetParam();
  std::replace(file.begin(), file.end(), ':', '_');
  const std::vector<TorchTensor> expected =
      ReadTensors(std::string(kGradientFolder) + "/" + file + ".csv");
  PlanRequest request;
  request.backend = "reference";
  request.type = DataType::kF64;
  request.dropout = false;
  const auto plan = MakeSmall(GetParam(), request);
  ASSERT_EQ(plan->parameters().size() + 1, expected.size());
  for (std::size_t i = 0; i < plan->parameters().size(); ++i) {
    const PlanParameter& parameter = plan->parameters()[i];
    ASSERT_EQ(static_cast<std::size_t>(parameter.spec.shape.elements()), expected[i + 1].elements)
        << parameter.layer << " is " << expected[i + 1].name;
    plan->Write(parameter.value, DrawnParameter(parameter.spec, i + 1));
  }
  const BufferId image = plan->Find(BufferRole::kInput);
  plan->Write(image,
              Drawn(0, static_cast<std::size_t>(plan->buffers()[image].desc.shape.elements())));
  plan->Run();
  EXPECT_NEAR(plan->Read(plan->FindByName("loss")).front(), expected[0].projection,
              1e-10 * expected[0].norm);
  // Gradients that are zero by definition are rounding errors, in PyTorch's step too.
  double largest = 0;
  for (const TorchTensor& tensor : expected) largest = std::max(largest, tensor.norm);
  double worst = 0;
  for (std::size_t i = 0; i < plan->parameters().size(); ++i) {
    const PlanParameter& parameter = plan->parameters()[i];
    const TorchTensor& tensor = expected[i + 1];
    const std::vector<double> gradient = plan->Read(parameter.gradient);
    const std::vector<double> factors = Drawn(kProjection + i + 1, gradient.size());
    double squares = 0;
    double projection = 0;
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      squares += gradient[j] * gradient[j];
      projection += gradient[j] * factors[j];
    }
    const double allowed = 1e-8 * tensor.norm + 1e-11 * largest;
    EXPECT_NEAR(std::sqrt(squares), tensor.norm, allowed) << parameter.layer << " " << tensor.name;
    EXPECT_NEAR(projection, tensor.projection, allowed) << parameter.layer << " " << tensor.name;
    worst = std::max(worst, std::abs(projection - tensor.projection) / allowed * 1e-8);
  }
  RecordProperty("largest_relative_difference", std::to_string(worst * 1e12) + "e-12");
}

INSTANTIATE_TEST_SUITE_P(Zoo, TorchGradientsTest, testing::ValuesIn(NetworksWithGradients()),
                         NameOfCase);

// The stored files, computed again where PyTorch is installed.
TEST(TorchFilesTest, TheFilesAreThoseOfTheGenerator) {
  const std::string command =
      "python3 " TOPDNN_SOURCE_DIR "/tests/networks/torch_gradients.py --check squeezenet";
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
  ASSERT_TRUE(WIFEXITED(status));
  constexpr int kSkipped = 77;
  if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 1) {
    EXPECT_TRUE(WEXITSTATUS(status) == kSkipped || WEXITSTATUS(status) == 127);
    GTEST_SKIP() << "python3-torch and python3-torchvision are not installed";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace topdnn
