#include "bench/choice/networks/network_choice.h"

#include <gtest/gtest.h>

#include "bench/workload/images.h"
#include "networks/plan/check.h"

namespace topdnn {
namespace {

TEST(FastestVariantsTest, EachProblemGetsTheVariantWithTheFastestStages) {
  const VariantTimes ways[] = {
      {{1, 1, 1}, {{"small", {0.1, 0.2, 0.1}}, {"large", {0.5, 0.5, 0.9}}}},
      {{1, 1, 1}, {{"small", {0.3, 0.3, 0.3}}, {"large", {0.4, 0.4, 0.1}}}}};
  const auto fastest = FastestVariants(ways);
  EXPECT_EQ(fastest.at("small"), 0U);
  EXPECT_EQ(fastest.at("large"), 1U);
}

TEST(FastestVariantsTest, TheFirstStaysIfAnotherIsHardlyFaster) {
  const VariantTimes ways[] = {{{1}, {{"conv", {0.100}}}}, {{1}, {{"conv", {0.099}}}}};
  EXPECT_EQ(FastestVariants(ways).at("conv"), 0U);
}

TEST(MixedStepTest, TakesTheFastestVariantOfEachKey) {
  const VariantTimes ways[] = {
      {{9, 9, 9}, {{"a", {3, 3, 4}}, {"a forward", {1, 1, 1}}, {"a backward", {2, 2, 3}}}},
      {{8, 7, 8}, {{"a", {4, 4, 4}}, {"a forward", {3, 3, 0}}, {"a backward", {1, 1, 1}}}}};
  // From the second variant's 8: its forward pass takes 3, the first one's takes 1.
  EXPECT_EQ(MixedStep(ways, {"a forward", "a backward"}), 6);
}

TEST(FastestStepTest, HasTheSmallestMedian) {
  const VariantTimes ways[] = {{{1.0, 1.0, 1.0}, {}}, {{0.8, 0.8, 3.0}, {}}, {{0.5, 1.2, 1.2}, {}}};
  EXPECT_EQ(FastestStep(ways), 1U);
}

TEST(FastestStepTest, TheFirstStaysIfAnotherIsHardlyFaster) {
  const VariantTimes ways[] = {{{1.0}, {}}, {{0.995}, {}}};
  EXPECT_EQ(FastestStep(ways), 0U);
}

TEST(ChooseInNetworkTest, TheChosenPlanAgreesWithTheReference) {
  for (const bool training : {false, true}) {
    WorkloadOptions options;
    options.network = "cnn";
    options.batch = 2;
    options.backend = kAutoBackend;
    options.oversubscribe = true;
    options.threads = 2;
    SelectionCache empty("");
    const std::string text = ChooseInNetworkWith(empty, options, training);
    EXPECT_NE(text.find("auto: "), std::string::npos) << text;
    ASSERT_TRUE(options.variants);
    Workload workload = MakeWorkload(options, training);
    TrainingImages(options, workload).FillNext(*workload.plan);
    for (const StageCheck& check : CheckStages(*workload.plan)) {
      EXPECT_TRUE(check.agrees) << check.reason;
    }
  }
}

class RememberedChoiceTest : public testing::Test {
 protected:
  RememberedChoiceTest() {
    options_.network = "cnn";
    options_.batch = 2;
    options_.backend = kAutoBackend;
    options_.threads = 1;
  }

  // As if an earlier run had chosen the variant for one pass of cnn's second convolution.
  void Remember(const std::string& variant, bool training = false,
                const std::string& pass = "forward") {
    cache_.Add(KeyOfNetwork(options_, training),
               {.variant = "",
                .against = "onednn",
                .gain = 1.5,
                .error = 0,
                .layers = {{"n2c32h15w15k64r3s3u1v1p0q0_bias " + pass, {variant}}}});
  }

  WorkloadOptions options_;
  SelectionCache cache_ = SelectionCache("");
};

TEST_F(RememberedChoiceTest, IsUsedWithoutARace) {
  Remember("onednn-nhwc");
  EXPECT_EQ(
      ChooseInNetworkWith(cache_, options_, false),
      "auto: onednn-nhwc for 1 of 3 convolutions, the step 1.50 x as fast as with the backend's "
      "own choice, remembered");
  const Workload planned = PlanWorkload(options_, false);
  for (const Stage& stage : planned.plan->stages()) {
    EXPECT_EQ(stage.variant, stage.name == "conv2" ? "onednn-nhwc" : "") << stage.name;
  }
}

TEST_F(RememberedChoiceTest, IsOfOnePassInTraining) {
  Remember("onednn-nhwc", true, "backward_data");
  // (the gradient of conv1's source is not needed: 8 passes)
  EXPECT_EQ(ChooseInNetworkWith(cache_, options_, true),
            "auto: onednn-nhwc for 1 of 8 passes of convolutions, the step 1.50 x as fast as with "
            "the backend's own choice, remembered");
  const Workload planned = PlanWorkload(options_, true);
  for (const Stage& stage : planned.plan->stages()) {
    const bool chosen = stage.name == "conv2" && stage.pass == StagePass::kBackwardData;
    EXPECT_EQ(stage.variant, chosen ? "onednn-nhwc" : "") << stage.name;
  }
}

// The map is present although it is empty: without one, each convolution would be chosen by itself.
TEST_F(RememberedChoiceTest, TheBackendsOwnChoiceIsAChoice) {
  cache_.Add(KeyOfNetwork(options_, false), {.variant = "", .against = "onednn"});
  EXPECT_EQ(ChooseInNetworkWith(cache_, options_, false),
            "auto: the backend's own choice for every layer, as no other is faster, remembered");
  ASSERT_TRUE(options_.variants);
  EXPECT_TRUE(options_.variants->empty());
}

TEST_F(RememberedChoiceTest, AnUnknownVariantIsNotUsed) {
  Remember("onednn-of-another-version");
  EXPECT_EQ(ChooseInNetworkWith(cache_, options_, false).find("remembered"), std::string::npos);
}

TEST_F(RememberedChoiceTest, DependsOnTheStepAndTheThreads) {
  const SelectionKey key = KeyOfNetwork(options_, false);
  EXPECT_EQ(KeyOfNetwork(options_, false).problem, key.problem);
  EXPECT_NE(KeyOfNetwork(options_, true).problem, key.problem);
  WorkloadOptions other = options_;
  other.batch = 3;
  EXPECT_NE(KeyOfNetwork(other, false).problem, key.problem);
  other = options_;
  other.threads = 2;
  other.oversubscribe = true;
  EXPECT_NE(KeyOfNetwork(other, false).problem, key.problem);
}

TEST(ChooseInNetworkTest, AnotherBackendIsNotChanged) {
  WorkloadOptions options;
  options.backend = "eigen";
  EXPECT_EQ(ChooseInNetwork(options, false), "");
  EXPECT_FALSE(options.variants);
}

}  // namespace
}  // namespace topdnn
