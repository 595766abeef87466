// The zoo: published totals, and each stage of a training step and an inference step against the
// reference. The large networks are in zoo_slow_test.cc.

#include "networks/graph/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel/thread_width.h"
#include "kernels/simd/vector_isa.h"
#include "networks/graph/builder.h"
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

// The figures that `topdnn networks` shows beside topdnn's own.
TEST(ZooTest, TotalsAreThoseShownAsPublished) {
  int figures = 0;
  for (const NetworkOffer& network : Networks()) {
    SCOPED_TRACE(network.FullName());
    const GraphTotals totals = network.build({1, network.image, network.classes}).Totals();
    const auto check = [&](const std::optional<PublishedFigure>& figure, std::int64_t own) {
      if (!figure) return;
      ++figures;
      EXPECT_LE(std::abs(static_cast<double>(own) - figure->value), figure->unit / 2);
      EXPECT_FALSE(network.published.source.empty());
    };
    check(network.published.parameters, totals.parameters);
    check(network.published.macs, totals.macs);
  }
  EXPECT_EQ(figures, 2 * 21 - 1);  // torchvision's inception_v3 counts the auxiliary head
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

// Dense layers, the first with a batch normalization, both with a ReLU bounded by 0.5.
std::unique_ptr<Plan> MakeDense(const PlanRequest& request) {
  NetworkBuilder net("dense", {.batch = 4, .image = {3, 6, 6}, .classes = 5});
  ValueId x = net.BatchNorm("norm", net.Dense("fc1", net.input(), 16));
  x = net.Relu("relu1", x, 0.5F);
  x = net.Relu("relu2", net.Dense("fc2", x, 12), 0.5F);
  net.Dense("fc3", x, 5);
  auto plan = MakePlan(std::move(net).Take(), request);
  plan->Allocate();
  InitializeParameters(*plan, 1);
  plan->Write(plan->Find(BufferRole::kInput), NormalValues(2, 4 * 3 * 6 * 6));
  if (request.training)
    plan->Write(plan->Find(BufferRole::kLabels), std::vector<double>{3, 1, 0, 4});
  plan->Run();
  return plan;
}

// How many stages of the forward pass compute an operation of this kind.
std::ptrdiff_t CountForward(const Plan& plan, std::string_view kind) {
  return std::count_if(plan.stages().begin(), plan.stages().end(), [&](const Stage& stage) {
    return stage.pass == StagePass::kForward && stage.op->kind() == kind;
  });
}

TEST(FusionTest, ADenseLayerComputesItsNormalizationAndBoundedRelu) {
  PlanRequest request;
  for (const char* backend : {"onednn", "openblas", "eigen"}) {
    SCOPED_TRACE(backend);
    const bool fuses = std::string(backend) != "openblas";  // a layer by itself in Caffe
    request.backend = backend;
    request.training = false;
    const auto inference = MakeDense(request);
    EXPECT_EQ(CountForward(*inference, "batchnorm"), 0);
    EXPECT_EQ(CountForward(*inference, "bounded_relu"), fuses ? 0 : 2);
    ExpectStagesAgree(*inference);
    request.training = true;
    const auto training = MakeDense(request);
    EXPECT_EQ(CountForward(*training, "batchnorm"), 1);
    // topdnn's own batch normalization fuses its ReLU.
    const int by_norm = std::string(backend) != "eigen" && !WidestVectorIsa().empty() ? 1 : 0;
    EXPECT_EQ(CountForward(*training, "bounded_relu"), (fuses ? 1 : 2) - by_norm);
    ExpectStagesAgree(*training);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooNetworkTest, testing::ValuesIn(NetworksOf(NetworkClass::kSmall)),
                         NameOfCase);

}  // namespace
}  // namespace topdnn
