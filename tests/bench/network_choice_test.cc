#include "bench/choice/network_choice.h"

#include <gtest/gtest.h>

#include "bench/workload/images.h"
#include "networks/check.h"

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
    const std::string text = ChooseInNetwork(options, training);
    EXPECT_NE(text.find("auto: "), std::string::npos) << text;
    ASSERT_TRUE(options.variants);
    Workload workload = MakeWorkload(options, training);
    TrainingImages(options, workload).FillNext(*workload.plan);
    for (const StageCheck& check : CheckStages(*workload.plan)) {
      EXPECT_TRUE(check.agrees) << check.reason;
    }
  }
}

TEST(ChooseInNetworkTest, AnotherBackendIsNotChanged) {
  WorkloadOptions options;
  options.backend = "eigen";
  EXPECT_EQ(ChooseInNetwork(options, false), "");
  EXPECT_FALSE(options.variants);
}

}  // namespace
}  // namespace topdnn
