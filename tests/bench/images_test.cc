// Images that feed a plan's input, in the input's layout.

#include "bench/workload/images.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace topdnn {
namespace {

WorkloadOptions CnnOn(const std::string& backend) {
  WorkloadOptions options;
  options.network = "cnn";
  options.batch = 2;
  options.backend = backend;
  options.data = "synthetic";
  options.oversubscribe = true;
  return options;
}

std::vector<double> InputOf(const Plan& plan) { return plan.Read(plan.Find(BufferRole::kInput)); }

// (2, 3, 32, 32), each element with its own value.
Batch NumberedBatch() {
  Batch batch;
  for (int i = 0; i < 2 * 3 * 32 * 32; ++i) batch.images.push_back(static_cast<float>(i));
  batch.labels = {3, 1};
  return batch;
}

TEST(FeedBatchTest, ImagesAreTheSameInEveryLayoutOfTheInput) {
  for (const char* backend : {"reference", "eigen"}) {
    const Workload workload = MakeWorkload(CnnOn(backend), true);
    const Plan& plan = *workload.plan;
    FeedBatch(plan, NumberedBatch());
    const std::vector<double> input = InputOf(plan);
    for (std::size_t i = 0; i < input.size(); ++i) ASSERT_EQ(input[i], static_cast<double>(i));
    EXPECT_EQ(plan.Read(plan.Find(BufferRole::kLabels)), (std::vector<double>{3, 1}));
    // NHWC: the second element is the second channel of the first pixel.
    const auto* data = static_cast<const float*>(plan.Data(plan.Find(BufferRole::kInput)));
    EXPECT_EQ(data[1], std::string(backend) == "eigen" ? 1024.0F : 1.0F);
  }
}

// The kept batches change their layout when plans of different layouts take turns.
TEST(TrainingImagesTest, PlansOfDifferentLayoutsGetTheSameImages) {
  const Workload planes = MakeWorkload(CnnOn("reference"), true);
  const Workload pixels = MakeWorkload(CnnOn("eigen"), true);
  TrainingImages images(CnnOn("reference"), planes);
  images.FillNext(*planes.plan);
  const std::vector<double> first = InputOf(*planes.plan);
  for (const Workload* workload : {&pixels, &planes, &pixels, &pixels}) {
    images.GoTo(0);
    images.FillNext(*workload->plan);
    EXPECT_EQ(InputOf(*workload->plan), first);
  }
}

}  // namespace
}  // namespace topdnn
