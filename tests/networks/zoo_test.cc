// The zoo: published totals, and each stage of a training step and an inference step against the
// reference. The large networks are in zoo_slow_test.cc.

#include "networks/zoo/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/thread_width.h"
#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

struct PublishedTotals {
  std::string network;  // full name
  std::int64_t conv_macs, fc_macs, parameters;
};

// tests/networks/networks.csv; its comments name the sources.
std::vector<PublishedTotals> ReadPublished() {
  std::ifstream file(TOPDNN_SOURCE_DIR "/tests/networks/networks.csv");
  std::vector<PublishedTotals> rows;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#' || line.rfind("network,", 0) == 0) continue;
    std::istringstream fields(line);
    std::string name, conv, fc, parameters;
    std::getline(fields, name, ',');
    std::getline(fields, conv, ',');
    std::getline(fields, fc, ',');
    std::getline(fields, parameters, ',');
    rows.push_back({name, std::stoll(conv), std::stoll(fc), std::stoll(parameters)});
  }
  return rows;
}

TEST(ZooTest, TotalsAreThePublishedOnes) {
  std::map<std::string, PublishedTotals> published;
  for (const PublishedTotals& row : ReadPublished()) published[row.network] = row;
  for (const NetworkOffer& network : Networks()) {
    SCOPED_TRACE(network.FullName());
    ASSERT_EQ(published.count(network.FullName()), 1u) << "networks.csv has no row";
    const PublishedTotals& row = published[network.FullName()];
    const Graph graph = network.build({1, network.image, network.classes});
    std::int64_t conv = 0;
    std::int64_t fc = 0;
    for (const GraphNode& node : graph.nodes()) {
      const std::int64_t macs = node.op->WorkOf(Pass::kForward, DataType::kF32).macs;
      (node.op->kind() == "conv" ? conv : fc) += macs;
    }
    EXPECT_EQ(conv, row.conv_macs);
    EXPECT_EQ(fc, row.fc_macs);
    EXPECT_EQ(graph.Totals().parameters, row.parameters);
  }
  EXPECT_EQ(published.size(), Networks().size());
}

TEST(ZooTest, AFullNameIsRegisteredOnce) {
  EXPECT_THROW(NetworkRegistration(*FindNetwork("cnn")), std::logic_error);
}

// Runs the step and checks that the result of each forward stage has a plausible scale.
void ExpectPlausibleActivations(Plan& plan) {
  const ThreadWidth width(plan.threads());
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Stage& stage = plan.stages()[i];
    plan.RunStage(i);
    if (stage.pass != StagePass::kForward) continue;
    double squares = 0;
    const std::vector<double> values = plan.Read(stage.buffers.at(Arg::kDst));
    for (const double value : values) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(values.size()));
    EXPECT_TRUE(rms > 1e-3 && rms < 1e4) << stage.name << ": " << rms;
  }
}

class ZooNetworkTest : public testing::TestWithParam<std::string> {};

TEST_P(ZooNetworkTest, EveryStageOfATrainingStepAgrees) {
  const auto plan = MakeSmall(GetParam());
  ExpectStagesAgree(*plan);
}

TEST_P(ZooNetworkTest, EveryStageOfInferenceAgrees) {
  PlanRequest request;
  request.training = false;
  const auto plan = MakeSmall(GetParam(), request);
  ExpectStagesAgree(*plan);
}

TEST_P(ZooNetworkTest, ActivationsHaveAPlausibleScale) {
  PlanRequest request;
  for (const bool training : {true, false}) {
    request.training = training;
    const auto plan = MakeSmall(GetParam(), request);
    ExpectPlausibleActivations(*plan);
  }
}

// In mobilenet_v2 every ReLU6 follows a convolution and its batch normalization. On openblas it is
// a layer by itself, as in Caffe.
TEST(FusionTest, ABoundedReluIsComputedByTheConvolution) {
  PlanRequest request;
  request.training = false;
  for (const char* backend : {"onednn", "openblas", "eigen"}) {
    request.backend = backend;
    const auto plan = MakeSmall("mobilenet_v2", request);
    const auto alone =
        std::count_if(plan->stages().begin(), plan->stages().end(),
                      [](const Stage& stage) { return stage.op->kind() == "bounded_relu"; });
    EXPECT_EQ(alone, std::string(backend) == "openblas" ? 35 : 0) << backend;
    ExpectStagesAgree(*plan);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooNetworkTest, testing::ValuesIn(NetworksOf(NetworkClass::kSmall)),
                         NameOfCase);

}  // namespace
}  // namespace topdnn
