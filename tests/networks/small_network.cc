#include "tests/networks/small_network.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <vector>

#include "kernels/check/tolerance.h"
#include "networks/graph/zoo.h"
#include "networks/parameters/parameters.h"
#include "networks/plan/check.h"

namespace topdnn {

namespace {

constexpr std::int64_t kSmallClasses = 10;
constexpr std::int64_t kSmallBatch = 2;

double Largest(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace

std::vector<std::string> NetworksOf(NetworkClass wanted) {
  constexpr std::int64_t kManyParameters = 20'000'000;
  constexpr std::size_t kManyLayers = 200;
  std::vector<std::string> names;
  for (const NetworkOffer& network : Networks()) {
    const Graph graph = network.build({1, network.image, network.classes});
    const bool large =
        graph.Totals().parameters >= kManyParameters || graph.nodes().size() >= kManyLayers;
    if (large == (wanted == NetworkClass::kLarge)) names.push_back(network.FullName());
  }
  return names;
}

std::unique_ptr<Plan> MakeSmall(const std::string& name, PlanRequest request, ParameterDraw draw) {
  const NetworkOffer& network = *FindNetwork(name);
  request.threads = 2;
  auto plan = MakePlan(network.build({kSmallBatch, network.small, kSmallClasses}), request);
  plan->Allocate();
  InitializeParameters(*plan, 1, draw);
  plan->Write(plan->Find(BufferRole::kInput),
              NormalValues(2, static_cast<std::size_t>(kSmallBatch * network.small.elements())));
  if (request.training) {
    const BufferId labels = plan->Find(BufferRole::kLabels);  // of each place of the images
    const auto count = static_cast<std::size_t>(plan->buffers()[labels].desc.shape.elements());
    std::vector<double> classes(count, 1.0);
    std::fill_n(classes.begin(), count / kSmallBatch, 3.0);
    plan->Write(labels, classes);
  }
  return plan;
}

PlanRequest RequestOn(const std::string& backend, bool training) {
  PlanRequest request;
  request.backend = backend;
  request.training = training;
  return request;
}

void WriteRamp(Plan& plan) {
  const BufferId input = plan.Find(BufferRole::kInput);
  std::vector<double> image(static_cast<std::size_t>(plan.buffers()[input].desc.shape.elements()));
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<double>(i % 17) / 8 - 1;
  plan.Write(input, image);
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

void ExpectStepAgrees(const std::string& name, const PlanRequest& request, double tolerance) {
  PlanRequest by_reference = request;
  by_reference.backend = "reference";
  by_reference.rules = nullptr;
  const auto plan = MakeSmall(name, request, ParameterDraw::kComparison);
  const auto reference = MakeSmall(name, by_reference, ParameterDraw::kComparison);
  plan->Run();
  reference->Run();
  const auto error = [&](BufferId a, BufferId b) {
    return RelativeError(plan->Read(a), reference->Read(b));
  };
  EXPECT_LT(error(plan->Find(BufferRole::kOutput), reference->Find(BufferRole::kOutput)),
            tolerance);
  for (std::size_t i = 0; i < plan->statistics().size(); ++i) {
    EXPECT_LT(error(plan->statistics()[i].buffer, reference->statistics()[i].buffer), tolerance)
        << plan->statistics()[i].layer << " " << plan->statistics()[i].name;
  }
  if (!request.training) return;
  EXPECT_LT(error(plan->FindByName("loss"), reference->FindByName("loss")), tolerance);
  // In this draw the ReLUs after a shift pass all values. If then only 1x1 convolutions and a batch
  // normalization follow, the shift has no effect, and its gradient is zero except for rounding.
  double largest = 0;
  for (const PlanParameter& parameter : reference->parameters()) {
    largest = std::max(largest, Largest(reference->Read(parameter.gradient)));
  }
  for (std::size_t i = 0; i < plan->parameters().size(); ++i) {
    const PlanParameter& ours = plan->parameters()[i];
    const PlanParameter& theirs = reference->parameters()[i];
    if (Largest(reference->Read(theirs.gradient)) < 1e-6 * largest) {
      EXPECT_LT(Largest(plan->Read(ours.gradient)), tolerance * largest)
          << ours.layer << " " << ours.spec.name;
      continue;
    }
    EXPECT_LT(error(ours.gradient, theirs.gradient), tolerance)
        << ours.layer << " " << ours.spec.name;
  }
}

std::string NameOfCase(const testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace topdnn
