// Rounds of a sequence under several conditions.

#include "harness/experiments/interleaved.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "harness/text/errors.h"

namespace topdnn {
namespace {

class InterleavedTest : public testing::Test {
 protected:
  struct Log {
    InterleavedTest* of;
    std::string text;
    void operator()() const { of->log_ += text; }
  };

  Condition ConditionNamed(const std::string& name, std::span<const TimedStage> stages) {
    return {.stages = stages,
            .before_iteration = Action::Of(input_),
            .enter = [this, name] { log_ += "<" + name; },
            .leave = [this] { log_ += ">"; }};
  }

  std::string log_;
  Log input_{this, "i"};
  Log first_{this, "1"};
  Log second_{this, "2"};
  std::vector<TimedStage> stages_ = {{"first", Action::Of(first_)},
                                     {"second", Action::Of(second_)}};
};

// No time at all still gives the 6 rounds that an interval needs.
TEST_F(InterleavedTest, EveryRoundRunsEveryConditionInAlternatingOrder) {
  const std::vector<Condition> conditions = {ConditionNamed("a", stages_),
                                             ConditionNamed("b", stages_)};
  const ConditionTimes times = RunInterleaved(conditions, {.seconds = 0, .progress = {}});
  const std::string two_rounds = "<ai12i12><bi12i12><bi12i12><ai12i12>";
  EXPECT_EQ(log_, two_rounds + two_rounds + two_rounds);
  ASSERT_EQ(times.size(), 2U);
  for (const auto& of_condition : times) {
    ASSERT_EQ(of_condition.size(), 2U);
    for (const auto& of_stage : of_condition) {
      ASSERT_EQ(of_stage.size(), 6U);
      for (const double seconds : of_stage) EXPECT_GT(seconds, 0);
    }
  }
}

TEST_F(InterleavedTest, ACancelledRoundIsLeftOut) {
  std::atomic<bool> cancel = false;
  int rounds = 0;
  Condition last = ConditionNamed("b", stages_);
  last.enter = [&] {
    if (++rounds == 4) cancel = true;  // "b" is the first condition of the fourth round
  };
  const std::vector<Condition> conditions = {ConditionNamed("a", stages_), last};
  const ConditionTimes times =
      RunInterleaved(conditions, {.seconds = 1000, .cancel = &cancel, .progress = {}});
  EXPECT_EQ(times[0][0].size(), 3U);
  EXPECT_EQ(times[1][1].size(), 3U);
}

TEST(ConditionTimesTest, ASequenceTakesTheSumOfItsStagesInEachRound) {
  const ConditionTimes times = {{{1, 2}, {10, 20}}, {{3, 4}, {30, 40}}};
  EXPECT_EQ(TimesOfStage(times, 1), (std::vector<std::vector<double>>{{10, 20}, {30, 40}}));
  EXPECT_EQ(TimesOfSequence(times), (std::vector<std::vector<double>>{{11, 22}, {33, 44}}));
}

// Seven rounds of two conditions: the second is disturbed for one stage, or in one condition.
TEST(ConditionTimesTest, ARoundIsUndisturbedIfEveryConditionIs) {
  const ConditionTimes waited = {{{0, 0.2, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0}},
                                 {{0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0.005}}};
  EXPECT_EQ(UndisturbedRounds(TimesOfStage(waited, 0)),
            (std::vector<std::size_t>{0, 2, 3, 4, 5, 6}));
  EXPECT_EQ(UndisturbedRounds(TimesOfStage(waited, 1)).size(), 7U);
  EXPECT_EQ(UndisturbedRounds(waited).size(), 6U);
  EXPECT_EQ(TimesInRounds({{1, 2, 3}, {4, 5, 6}}, {0, 2}),
            (std::vector<std::vector<double>>{{1, 3}, {4, 6}}));
}

TEST_F(InterleavedTest, ReceivesTheWaitingOfEveryTime) {
  const std::vector<Condition> conditions = {ConditionNamed("a", stages_),
                                             ConditionNamed("b", stages_)};
  ConditionTimes waited;
  const ConditionTimes times =
      RunInterleaved(conditions, {.seconds = 0, .waited = &waited, .progress = {}});
  ASSERT_EQ(waited.size(), 2U);
  for (const auto& of_condition : waited) {
    ASSERT_EQ(of_condition.size(), 2U);
    for (const auto& of_stage : of_condition) EXPECT_EQ(of_stage.size(), times[0][0].size());
  }
}

TEST_F(InterleavedTest, ConditionsHaveTheSameStages) {
  const std::vector<TimedStage> one = {stages_.front()};
  const std::vector<Condition> conditions = {ConditionNamed("a", stages_),
                                             ConditionNamed("b", one)};
  EXPECT_THROW(RunInterleaved(conditions, {}), InputError);
}

}  // namespace
}  // namespace topdnn
