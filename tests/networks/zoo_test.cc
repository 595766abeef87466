// The zoo: published totals, and every network through a training step and an inference step, each
// stage held to the reference.

#include "networks/zoo/zoo.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "networks/check.h"
#include "networks/parameters.h"
#include "networks/planner.h"

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

constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kBatch = 2;

std::unique_ptr<Plan> MakeSmall(const std::string& name, PlanRequest request) {
  const NetworkOffer& network = *FindNetwork(name);
  request.threads = 2;
  auto plan = MakePlan(network.build({kBatch, network.small, kClasses}), request);
  plan->Allocate();
  InitializeParameters(*plan, 1);
  plan->Write(plan->Find(BufferRole::kInput),
              NormalValues(2, static_cast<std::size_t>(kBatch * network.small.elements())));
  if (request.training) plan->Write(plan->Find(BufferRole::kLabels), std::vector<double>{3, 1});
  return plan;
}

void ExpectStagesAgree(Plan& plan) {
  const std::vector<StageCheck> checks = CheckStages(plan);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Stage& stage = plan.stages()[i];
    EXPECT_TRUE(checks[i].agrees) << stage.name << " " << NameOf(stage.pass) << " "
                                  << stage.op->Problem() << " " << stage.kernel->implementation()
                                  << ": " << checks[i].reason;
  }
}

class ZooNetworkTest : public testing::TestWithParam<std::string> {};

TEST_P(ZooNetworkTest, EveryStageOfATrainingStepAgrees) {
  const auto plan = MakeSmall(GetParam(), {});
  ExpectStagesAgree(*plan);
}

TEST_P(ZooNetworkTest, EveryStageOfInferenceAgrees) {
  PlanRequest request;
  request.training = false;
  const auto plan = MakeSmall(GetParam(), request);
  ExpectStagesAgree(*plan);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const NetworkOffer& network : Networks()) names.push_back(network.FullName());
  return names;
}

std::string NameOfCase(const testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooNetworkTest, testing::ValuesIn(Names()), NameOfCase);

}  // namespace
}  // namespace topdnn
