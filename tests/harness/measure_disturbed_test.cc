// Sequences of which other work disturbs some samples.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "harness/measure/measure.h"
#include "harness/results/stage_record.h"
#include "tests/harness/measure_fixture.h"

namespace topdnn {
namespace {

// A neighbour takes the CPU for 100 us in the third of 20 iterations.
TEST_F(MeasureTest, AnIterationInWhichAThreadWaitedIsLeftOut) {
  options.sources.clear();
  options.most_warmup_iterations = 1;
  auto neighbour = [&] {
    if (b.runs != 1 + 3) return;
    waited += 100'000;
    fake_now += 100'000;
  };
  stages.push_back({"neighbour", Action::Of(neighbour)});
  const SequenceSamples samples = MeasureSequence(stages, options);
  ASSERT_EQ(samples.step.seconds.size(), 20u);
  EXPECT_NEAR(samples.step.seconds[2], 100.4e-6, 1e-12);
  EXPECT_EQ(samples.step.selection.kept.size(), 19u);
  EXPECT_EQ(samples.step.selection.left_out.at(static_cast<std::size_t>(Disturber::kWaited)), 1);
  const Record record = RecordOf(samples.step, {}, {}, "");
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_EQ(record.seconds->n, 19);
  EXPECT_NEAR(record.seconds->p90, 400e-9, 1e-15);
  EXPECT_EQ(record.left_out, (std::map<std::string, std::int64_t>{{"waited for a CPU", 1}}));
}

// In iterations of 4 ms the stages are judged by themselves: only the stage that a neighbour
// interrupted, and the step, lose the sample.
TEST_F(MeasureTest, InLongIterationsEachStageIsJudged) {
  options.sources.clear();
  options.most_warmup_iterations = 1;
  a.nanoseconds = 1'000'000;
  auto interrupted = [&] {
    fake_now += 3'000'000;
    if (a.runs % 2 == 0) return;
    fake_now += 2'000'000;
    waited += 2'000'000;
  };
  const std::array<TimedStage, 2> two = {{stages[0], {"interrupted", Action::Of(interrupted)}}};
  const SequenceSamples samples = MeasureSequence(two, options);
  EXPECT_EQ(samples.stages[0].selection.kept.size(), 20u);
  EXPECT_EQ(samples.stages[1].selection.kept.size(), 10u);
  EXPECT_EQ(samples.step.selection.kept.size(), 10u);
  for (const double seconds : UndisturbedSeconds(samples.stages[1])) {
    EXPECT_NEAR(seconds, 3e-3, 1e-12);
  }
  for (const double seconds : UndisturbedSeconds(samples.step)) EXPECT_NEAR(seconds, 4e-3, 1e-12);
}

// A reading between stages takes 5 us, which belongs to no stage.
TEST_F(MeasureTest, AReadingBetweenStagesIsNotPartOfTheirTimes) {
  options.sources.clear();
  a.nanoseconds = 1'000'000;
  b.nanoseconds = 3'000'000;
  options.waiting->nanoseconds = [] {
    fake_now += 5'000;
    return std::uint64_t{0};
  };
  const SequenceSamples samples = MeasureSequence(stages, options);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(samples.stages[0].seconds[i], 1e-3, 1e-12);
    EXPECT_NEAR(samples.stages[1].seconds[i], 3e-3, 1e-12);
    EXPECT_NEAR(samples.step.seconds[i], 4e-3, 1e-12);
  }
}

// Short iterations share a reading, so that readings take at most 1 % of the time.
TEST_F(MeasureTest, ShortIterationsAreJudgedInGroups) {
  options.sources.clear();
  options.iterations = 100;
  options.most_warmup_iterations = 1;
  options.waiting->cost_seconds = 40e-9;  // of ten iterations of 400 ns
  std::int64_t readings = 0;
  options.waiting->nanoseconds = [&] {
    ++readings;
    return std::uint64_t{a.runs > 1 + 35 ? 1000U : 0U};  // in the fourth group
  };
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_EQ(readings, 20);
  EXPECT_EQ(samples.step.selection.kept.size(), 90u);
  for (std::size_t i = 30; i < 40; ++i) EXPECT_NEAR(samples.step.waited[i], 0.25, 1e-9);
}

// Without 30 undisturbed iterations, or a tenth, the timing lasts up to four times as long.
TEST_F(MeasureTest, TimingGoesOnUntilEnoughIterationsAreUndisturbed) {
  options.sources.clear();
  options.iterations.reset();
  options.most_warmup_iterations = 1;
  a.nanoseconds = 1'000'000;  // 100 iterations of 1 ms in `seconds`
  b.nanoseconds = 0;
  options.seconds = 0.1;
  options.waiting->cost_seconds = 1e-6;
  std::int64_t quiet_after = 0;
  auto neighbour = [&] { waited += a.runs > quiet_after ? 0 : 500'000; };
  stages.push_back({"neighbour", Action::Of(neighbour)});
  EXPECT_EQ(MeasureSequence(stages, options).step.seconds.size(), 100u);
  a.runs = 0;
  quiet_after = 180;
  SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_EQ(samples.step.selection.kept.size(), 20u);  // a tenth of 199
  EXPECT_TRUE(samples.step.selection.enough);
  EXPECT_EQ(RecordOf(samples.step, {}, {}, "").status, Status::kOk);
  a.runs = 0;
  quiet_after = 1'000'000;
  samples = MeasureSequence(stages, options);
  EXPECT_EQ(samples.step.seconds.size(), 400u);
  const Record record = RecordOf(samples.step, {}, {}, "");
  EXPECT_EQ(record.status, Status::kDegraded);
  EXPECT_NE(record.reason.find("no sample of 400 is undisturbed"), std::string::npos);
}

// A budget ends the timing below its least number of iterations.
TEST_F(MeasureTest, ABudgetEndsTheTimingEarly) {
  options.sources.clear();
  options.iterations.reset();
  options.most_warmup_iterations = 1;
  options.seconds = 1;
  options.least_iterations = 5;
  a.nanoseconds = 900'000'000;
  EXPECT_EQ(MeasureSequence(stages, options).step.seconds.size(), 5u);
  auto neighbour = [&] { fake_now += b.runs > 1 ? 4'000'000'000 : 0; };
  stages.push_back({"neighbour", Action::Of(neighbour)});
  options.budget_seconds = 0;
  b.runs = 0;
  // Five iterations of the warm-up's 0.9 s, twice, are the budget: two of 4.9 s.
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_EQ(samples.step.seconds.size(), 2u);
  EXPECT_EQ(samples.cut_short, "timing ended after 10 s with 2 of 5 iterations");
}

// The probes between iterations are followed by an iteration that is not timed.
TEST_F(MeasureTest, ProbesBetweenIterationsCostLittleAndAreNotTimed) {
  options.sources.clear();
  options.iterations.reset();
  options.most_warmup_iterations = 1;
  a.nanoseconds = 1'000'000;
  b.nanoseconds = 0;
  options.seconds = 2;
  options.most_iterations = 10'000;
  int brief_readings = 0;
  bool slow = false;
  options.speeds = [&](bool brief) {
    fake_now += 1'000'000;
    brief_readings += brief ? 1 : 0;
    slow = a.runs > 1500;
    return QuietReading{100e9, slow ? 30e9 : 80e9};
  };
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_GE(brief_readings, 5);
  EXPECT_LE(brief_readings, 20);  // 2 ms each, at most 1.5 % of 2 s
  EXPECT_EQ(a.runs, 1 + brief_readings + static_cast<std::int64_t>(samples.step.seconds.size()));
  EXPECT_EQ(samples.marks.size(), 2u + static_cast<std::size_t>(brief_readings));
  const Selection& selection = samples.step.selection;
  EXPECT_NEAR(
      static_cast<double>(selection.left_out.at(static_cast<std::size_t>(Disturber::kSlowMemory))),
      500, 200);
  EXPECT_DOUBLE_EQ(*samples.disturbance.memory_ratio, 1.0);  // of the samples that are kept
}

// ---- A clock that goes backwards.

}  // namespace
}  // namespace topdnn
