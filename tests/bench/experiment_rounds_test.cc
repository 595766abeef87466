// Which times of conditions that ran in turn a record gets, and which records get none.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/profile/experiments.h"
#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

using RoundSeconds = std::vector<std::vector<double>>;

// Two conditions, two stages and seven rounds. In the third round other work took a CPU from the
// second stage. Nothing is published of the first one, whose result is wrong.
TEST(ExperimentRounds, GivesEachRecordItsUndisturbedTimes) {
  const ConditionTimes times = {{{1, 2, 3, 4, 5, 6, 7}, {10, 20, 30, 40, 50, 60, 70}},
                                {{1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2, 2}}};
  ConditionTimes waited(2, RoundSeconds(2, std::vector<double>(7, 0)));
  waited[0][1][2] = 0.5;
  Report report;
  report.stages.resize(2);
  report.stages[0].status = Status::kFailed;
  report.stages[1].seconds = report.step.seconds = Summarize(std::vector<double>{1.0});
  std::vector<RecordRounds> seen;
  std::vector<std::string> why;
  AddRounds(times, waited, report,
            [&](std::size_t stage, const RecordRounds& own, const Record& record) {
              EXPECT_EQ(stage, seen.size());
              EXPECT_EQ(&record, stage < 2 ? &report.stages[stage] : &report.step);
              seen.push_back(own);
              why.push_back(own.why_not);
            });
  EXPECT_EQ(why, (std::vector<std::string>{"the record is FAILED", "", ""}));
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].seconds, (RoundSeconds{times[0][0], times[1][0]}));
  EXPECT_EQ(seen[1].rounds, (std::vector<std::size_t>{0, 1, 3, 4, 5, 6}));
  EXPECT_EQ(seen[1].seconds, (RoundSeconds{{10, 20, 40, 50, 60, 70}, {2, 2, 2, 2, 2, 2}}));
  EXPECT_EQ(seen[2].seconds, (RoundSeconds{{11, 22, 44, 55, 66, 77}, {3, 3, 3, 3, 3, 3}}));
}

}  // namespace
}  // namespace topdnn
