#include "harness/measure/watched_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {
namespace {

// Three iterations of two stages, of which the first has run and the second is in its second stage.
TEST(WatchedRunTest, TheLastMarkNamesTheStage) {
  EXPECT_EQ(WatchedRun::Now(), "");
  EXPECT_EQ(WatchedRun::StageNow(), nullptr);
  const std::vector<TimedStage> stages = {{"conv1", {}}, {"relu1", {}}};
  std::vector<std::uint64_t> marks(9, 0);
  const WatchedRun outer("cnn");
  EXPECT_EQ(WatchedRun::Now(), "cnn");
  {
    const WatchedRun inner(stages, marks);
    EXPECT_EQ(WatchedRun::Now(), "cnn");
    EXPECT_EQ(WatchedRun::StageNow(), nullptr);
    const std::vector<std::string_view> now = {"conv1", "relu1", "cnn", "conv1", "relu1"};
    for (std::size_t i = 0; i < now.size(); ++i) {
      marks[i] = 100 + 10 * i;
      EXPECT_EQ(WatchedRun::Now(), now[i]) << i;
      EXPECT_EQ(WatchedRun::StageNow() != nullptr, now[i] != "cnn") << i;
    }
    marks[0] = 500;  // the warm-up writes the first row repeatedly
    EXPECT_EQ(WatchedRun::Now(), "conv1");
  }
  EXPECT_EQ(WatchedRun::Now(), "cnn");
}

TEST(WatchedRunTest, AMeasurementCountsItsIterations) {
  const std::uint64_t before = WatchedIterations();
  std::string seen;
  auto look = [&seen] { seen = WatchedRun::Now(); };
  const std::vector<TimedStage> stages = {{"conv1", Action::Of(look)}};
  MeasureOptions options;
  options.iterations = 7;
  options.most_warmup_iterations = 1;
  MeasureSequence(stages, options);
  EXPECT_EQ(seen, "conv1");
  EXPECT_GE(WatchedIterations() - before, 8u);
  EXPECT_EQ(WatchedRun::Now(), "");
}

TEST(WatchedRunTest, ANoticedFlagCounts) {
  std::atomic<bool> flag = false;
  const std::uint64_t before = WatchedIterations();
  EXPECT_FALSE(IsCancelled(nullptr));
  EXPECT_FALSE(IsCancelled(&flag));
  EXPECT_EQ(WatchedIterations(), before);
  flag = true;
  EXPECT_TRUE(IsCancelled(&flag));
  EXPECT_EQ(WatchedIterations(), before + 1);
}

}  // namespace
}  // namespace topdnn
