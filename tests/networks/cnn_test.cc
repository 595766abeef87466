// The network `cnn` as a whole: totals, and one training step on each backend.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "kernels/check/tolerance.h"
#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"
#include "networks/parameters/parameters.h"
#include "networks/plan/check.h"
#include "networks/planning/planner.h"

namespace topdnn {
namespace {

constexpr std::int64_t kCnnBatch = 4;

Graph Cnn() { return FindNetwork("cnn")->build({kCnnBatch, {3, 32, 32}, 10}); }

std::unique_ptr<Plan> MakeCnn(const std::string& backend, Optimizer optimizer = {}) {
  PlanRequest request;
  request.backend = backend;
  request.threads = 2;
  request.optimizer = optimizer;
  auto plan = MakePlan(Cnn(), request);
  plan->Allocate();
  InitializeParameters(*plan, 1);
  plan->Write(plan->Find(BufferRole::kInput), NormalValues(2, kCnnBatch * 3 * 32 * 32));
  plan->Write(plan->Find(BufferRole::kLabels), std::vector<double>{3, 1, 4, 1});
  return plan;
}

TEST(CnnTest, TotalsAreThoseOfTheTutorial) {
  const GraphTotals totals = Cnn().Totals();
  EXPECT_EQ(totals.macs, 4548608 * kCnnBatch);
  EXPECT_EQ(totals.parameters, 122570);
}

TEST(CnnTest, ATrainingStepHasEveryStage) {
  const auto plan = MakeCnn("onednn");
  std::map<std::string, int> stages;
  std::int64_t forward_flops = 0;
  for (const Stage& stage : plan->stages()) {
    ++stages[std::string(stage.op->kind()) + " " + std::string(NameOf(stage.pass))];
    if (stage.pass == StagePass::kForward && stage.work().macs > 0) {
      forward_flops += stage.work().flops;
    }
  }
  EXPECT_EQ(stages["conv forward"], 3);
  EXPECT_EQ(stages["conv backward_data"], 2);  // the first needs none
  EXPECT_EQ(stages["conv backward_weights"], 3);
  EXPECT_EQ(stages["pool forward"], 2);
  EXPECT_EQ(stages["pool backward_data"], 2);
  EXPECT_EQ(stages["inner_product forward"], 2);
  EXPECT_EQ(stages["inner_product backward_data"], 2);
  EXPECT_EQ(stages["inner_product backward_weights"], 2);
  EXPECT_EQ(stages["softmax_cross_entropy loss"], 1);
  EXPECT_EQ(stages["sgd update"], 5);
  EXPECT_EQ(forward_flops, 2 * 4548608 * kCnnBatch);
}

// The first consumer settles the input's layout, so no stage reorders the input. On oneDNN the
// convolution of an AVX-512 CPU reads NHWC, and others may read NCHW.
TEST(CnnTest, TheInputIsInTheLayoutOfItsFirstConsumer) {
  for (const char* backend : {"eigen", "onednn", "openblas", "reference"}) {
    for (const bool training : {false, true}) {
      PlanRequest request;
      request.backend = backend;
      request.training = training;
      request.fallback = {"onednn"};
      const auto plan = MakePlan(Cnn(), request);
      const BufferId input = plan->Find(BufferRole::kInput);
      const TensorDesc& desc = plan->buffers()[input].desc;
      // (with SSE4.1 the weights are reordered before)
      const Stage& first =
          *std::find_if(plan->stages().begin(), plan->stages().end(),
                        [](const Stage& stage) { return stage.op->kind() != "reorder"; });
      EXPECT_EQ(first.name, "conv1") << backend;
      EXPECT_EQ(first.buffers.at(Arg::kSrc), input) << backend;
      EXPECT_EQ(desc, first.kernel->Find(Arg::kSrc)->desc) << backend;
      const std::string layout = desc.layout.tag();
      if (std::string(backend) == "eigen") {
        EXPECT_EQ(layout, "acdb");
      } else if (std::string(backend) != "onednn") {
        EXPECT_EQ(layout, "abcd") << backend;
      }
    }
  }
}

// An input of blocked channels would need padding that no image has.
TEST(CnnTest, AnInputIsNeverBlocked) {
  NetworkBuilder net("wide", {2, {16, 8, 8}, 10});
  net.Conv("conv1", net.input(), {.outputs = 16, .kernel = 3});
  PlanRequest request;
  request.training = false;
  request.variants[{"conv1", Pass::kForward}] = {"onednn-blocked"};
  const auto plan = MakePlan(std::move(net).Take(), request);
  const TensorDesc& desc = plan->buffers()[plan->Find(BufferRole::kInput)].desc;
  EXPECT_TRUE(desc.layout.IsPlainFor(desc.shape)) << desc.layout.tag();
  EXPECT_EQ(plan->stages().front().pass, StagePass::kReorder);
}

class CnnBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(CnnBackendTest, EveryStageAgreesWithTheReference) {
  const auto plan = MakeCnn(GetParam());
  const std::vector<StageCheck> checks = CheckStages(*plan);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Stage& stage = plan->stages()[i];
    EXPECT_TRUE(checks[i].agrees) << stage.name << " " << NameOf(stage.pass) << " "
                                  << stage.kernel->implementation() << ": " << checks[i].reason;
  }
}

TEST_P(CnnBackendTest, OneStepAgreesWithTheReference) {
  const auto plan = MakeCnn(GetParam());
  const auto reference = MakeCnn("reference");
  plan->Run();
  reference->Run();
  const auto error = [&](BufferId a, BufferId b) {
    return RelativeError(plan->Read(a), reference->Read(b));
  };
  EXPECT_LT(error(plan->FindByName("loss"), reference->FindByName("loss")), 1e-5);
  ASSERT_EQ(plan->parameters().size(), reference->parameters().size());
  for (std::size_t i = 0; i < plan->parameters().size(); ++i) {
    const PlanParameter& ours = plan->parameters()[i];
    const PlanParameter& theirs = reference->parameters()[i];
    EXPECT_LT(error(ours.gradient, theirs.gradient), 1e-4) << ours.layer << ours.spec.name;
    EXPECT_LT(error(ours.value, theirs.value), 1e-5) << ours.layer << ours.spec.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, CnnBackendTest,
                         testing::Values("onednn", "eigen", "eigen-sgemm", "reference"));

TEST(CnnTest, TrainingLowersTheLoss) {
  for (const Optimizer::Kind kind : {Optimizer::Kind::kSgd, Optimizer::Kind::kAdam}) {
    Optimizer optimizer;
    optimizer.kind = kind;
    optimizer.learning_rate = kind == Optimizer::Kind::kSgd ? 0.01F : 0.001F;
    optimizer.momentum = 0.9F;
    const auto plan = MakeCnn("onednn", optimizer);
    plan->Run();
    const double before = plan->Read(plan->FindByName("loss")).front();
    for (int i = 0; i < 30; ++i) plan->Run();
    EXPECT_LT(plan->Read(plan->FindByName("loss")).front(), before / 2);
  }
}

TEST(CnnTest, ParametersDependOnlyOnTheSeed) {
  const auto onednn = MakeCnn("onednn");
  const auto reference = MakeCnn("reference");
  for (std::size_t i = 0; i < onednn->parameters().size(); ++i) {
    EXPECT_EQ(onednn->Read(onednn->parameters()[i].value),
              reference->Read(reference->parameters()[i].value));
  }
  const auto first = onednn->Read(onednn->parameters()[0].value);
  InitializeParameters(*onednn, 2);
  EXPECT_NE(onednn->Read(onednn->parameters()[0].value), first);
}

TEST(PlanErrorTest, AnErrorIsOneLine) {
  PlanRequest request;
  request.memory_limit = 1000;
  EXPECT_THROW(MakePlan(Cnn(), request), PlanError);
  request.memory_limit = 0;
  request.backend = "abacus";
  try {
    MakePlan(Cnn(), request);
    FAIL() << "planned on a backend that does not exist";
  } catch (const PlanError& error) {
    const std::string line = error.what();
    EXPECT_NE(line.find("conv1"), std::string::npos);
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace topdnn
