#include "harness/probes/ceiling_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace topdnn {
namespace {

using testing::HasSubstr;

Ceiling Made(double value, int threads = 1, const char* operands = "l1") {
  Ceiling ceiling;
  ceiling.name = std::string("read/") + operands;
  ceiling.operands = operands;
  ceiling.unit = "B/s";
  ceiling.threads = threads;
  ceiling.value = value;
  ceiling.spread = 0.01;
  return ceiling;
}

Ceiling Marked(double value, Status status) {
  Ceiling ceiling = Made(value);
  ceiling.verdict = {status, status == Status::kOk ? "" : "set by the test"};
  return ceiling;
}

TEST(SummarizeWindows, ValueIsNearTheBestAndSpreadIsTheDifferenceToTheMedian) {
  Ceiling rate = Made(0);
  // Eleven windows: the quantiles are windows 1, 5 and 9 (from 0) in sorted order.
  SummarizeWindows({100, 98, 97, 96, 95, 90, 80, 70, 60, 50, 40},
                   {1, 0.98, 0.9, 0.9, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.4}, rate);
  EXPECT_EQ(rate.value, 98);
  EXPECT_EQ(rate.median, 90);
  EXPECT_DOUBLE_EQ(*rate.spread, 8.0 / 98);
  EXPECT_EQ(rate.windows, 11);
  EXPECT_EQ(rate.on_cpu, 0.98);
  Ceiling latency = Made(0);
  latency.unit = "s";
  SummarizeWindows({1, 2, 3, 4, 5, 8, 10, 20, 30, 40, 50}, {}, latency);
  EXPECT_FALSE(latency.on_cpu);
  EXPECT_EQ(latency.value, 2);
  EXPECT_EQ(latency.median, 8);
  EXPECT_DOUBLE_EQ(*latency.spread, 0.75);
}

// Beside a neighbour that takes a CPU in three of eight windows, the other five give the ceiling.
TEST(SummarizeWindows, WindowsWithoutACpuAreLeftOutIfEnoughRemain) {
  Ceiling rate = Made(0);
  SummarizeWindows({100, 50, 99, 40, 100, 98, 60, 100}, {1, 0.5, 0.97, 0.4, 1, 0.99, 0.949, 0.95},
                   rate);
  EXPECT_EQ(rate.windows, 5);
  EXPECT_EQ(rate.median, 100);
  EXPECT_DOUBLE_EQ(*rate.spread, 0);
  EXPECT_EQ(JudgeCeiling(rate, 4).status, Status::kOk);
  Ceiling few = Made(0);
  SummarizeWindows({100, 50, 99, 40, 100, 98, 60, 40}, {1, 0.5, 0.97, 0.4, 1, 0.99, 0.94, 0.4},
                   few);
  EXPECT_EQ(few.windows, 8);
}

TEST(JudgeCeiling, RejectsBySpread) {
  const auto status = [](double spread, const char* operands) {
    Ceiling ceiling = Made(100, 1, operands);
    ceiling.spread = spread;
    return JudgeCeiling(ceiling, 4).status;
  };
  EXPECT_EQ(status(0.03, "l1"), Status::kOk);
  EXPECT_EQ(status(0.06, "l1"), Status::kDegraded);
  EXPECT_EQ(status(0.06, "dram"), Status::kOk);  // memory varies more than a core
  EXPECT_EQ(status(0.06, "registers"), Status::kDegraded);
  EXPECT_EQ(status(0.25, "llc"), Status::kDegraded);
  EXPECT_EQ(status(0.40, "l1"), Status::kInvalid);
  EXPECT_EQ(status(0.40, "dram"), Status::kInvalid);
  Ceiling ceiling = Made(100);
  ceiling.spread = 0.12;
  EXPECT_THAT(JudgeCeiling(ceiling, 4).reason, HasSubstr("12 % worse"));
}

TEST(JudgeCeiling, RejectsThreadsWithoutACpu) {
  Ceiling ceiling = Made(100, 2);
  ceiling.on_cpu = 0.97;
  EXPECT_EQ(JudgeCeiling(ceiling, 2).status, Status::kOk);
  ceiling.on_cpu = 0.52;
  EXPECT_EQ(JudgeCeiling(ceiling, 2),
            (Verdict{Status::kInvalid,
                     "the threads had a CPU for only 52 % of the time even in the best windows"}));
}

TEST(JudgeCeiling, MarksCeilingsWithFewWindows) {
  Ceiling ceiling = Made(100);
  ceiling.windows = 1;
  EXPECT_EQ(JudgeCeiling(ceiling, 2).status, Status::kDegraded);
  EXPECT_THAT(JudgeCeiling(ceiling, 2).reason, HasSubstr("only 1 of 5 windows"));
  ceiling.windows = 5;
  EXPECT_EQ(JudgeCeiling(ceiling, 2).status, Status::kOk);
}

TEST(JudgeCeiling, KeepsTheReasonOfAnAbsentCeiling) {
  Ceiling ceiling = Made(1);
  ceiling.value.reset();
  ceiling.verdict = {Status::kSkipped, "no such cache"};
  EXPECT_EQ(JudgeCeiling(ceiling, 4), ceiling.verdict);
}

Verdict OfTeam(double value, int threads, double alone, int cores, const char* operands = "l1") {
  Ceiling ceiling = Made(value, threads, operands);
  ceiling.alone = alone;
  return JudgeCeiling(ceiling, cores);
}

TEST(JudgeCeiling, ManyThreadsReachAtLeastTheRateOfOne) {
  EXPECT_EQ(OfTeam(500e9, 2, 256e9, 2).status, Status::kOk);
  const Verdict lost = OfTeam(27e9, 2, 256e9, 2);
  EXPECT_EQ(lost.status, Status::kInvalid);
  EXPECT_THAT(lost.reason, HasSubstr("27.0 GB/s on 2 threads is lower than 256.0 GB/s on one"));
  EXPECT_EQ(OfTeam(27e9, 2, 256e9, 2, "dram").status, Status::kInvalid);
  // A rate up to a tenth lower may be noise.
  EXPECT_EQ(OfTeam(95e9, 2, 100e9, 2, "dram").status, Status::kDegraded);
  EXPECT_EQ(OfTeam(101e9, 2, 100e9, 2, "dram").status, Status::kOk);
  EXPECT_EQ(OfTeam(89e9, 2, 100e9, 2, "dram").status, Status::kInvalid);
}

TEST(JudgeCeiling, LatenciesAreNotSummedOverThreads) {
  Ceiling latency = Made(4.1e-9, 2, "l2");
  latency.unit = "s";
  latency.alone = 4.0e-9;
  EXPECT_EQ(JudgeCeiling(latency, 2).status, Status::kOk);
}

TEST(JudgeCeiling, ThreadsOnSeparateCoresReachMostOfTheirSum) {
  EXPECT_EQ(OfTeam(110, 2, 100, 2).status, Status::kDegraded);
  EXPECT_EQ(OfTeam(110, 2, 100, 1).status, Status::kOk);         // two hyperthreads of a core
  EXPECT_EQ(OfTeam(110, 2, 100, 2, "llc").status, Status::kOk);  // shared by the cores
  EXPECT_EQ(OfTeam(600, 8, 100, 8).status, Status::kOk);         // half of the cores at half speed
  EXPECT_EQ(OfTeam(520, 8, 80, 8).status, Status::kOk);          // the clock of all cores, 0.81
  EXPECT_EQ(OfTeam(450, 8, 100, 8).status, Status::kDegraded);
}

TEST(KeepBetter, PrefersTheBetterVerdictThenTheHigherValue) {
  const Ceiling kept = KeepBetter(Marked(90, Status::kInvalid), Marked(100, Status::kOk));
  EXPECT_EQ(kept.value, 100);
  EXPECT_EQ(kept.verdict.status, Status::kOk);
  EXPECT_EQ(KeepBetter(Marked(90, Status::kDegraded), Marked(80, Status::kDegraded)).value, 90);
  EXPECT_EQ(KeepBetter(Marked(80, Status::kDegraded), Marked(90, Status::kDegraded)).value, 90);
  EXPECT_EQ(KeepBetter(Marked(99, Status::kOk), Marked(98, Status::kInvalid)).value, 99);
  // A slightly higher rate is within the spread of the steady batch.
  EXPECT_EQ(KeepBetter(Marked(99, Status::kOk), Marked(101, Status::kInvalid)).verdict.status,
            Status::kOk);
}

TEST(KeepBetter, MarksASteadyBatchBelowARejectedOne) {
  // A neighbour started between the batches and kept running.
  const Ceiling kept = KeepBetter(Marked(200e9, Status::kDegraded), Marked(100e9, Status::kOk));
  EXPECT_EQ(kept.value, 100e9);
  EXPECT_EQ(kept.verdict.status, Status::kDegraded);
  EXPECT_THAT(kept.verdict.reason, HasSubstr("another batch of windows reached 200.0 GB/s"));
}

TEST(Reconcile, KeepsTheHigherOfTwoThatAgree) {
  const Ceiling kept = Reconcile(Marked(100, Status::kOk), Marked(103, Status::kOk));
  EXPECT_EQ(kept.value, 103);
  EXPECT_EQ(kept.verdict.status, Status::kOk);
  EXPECT_EQ(Reconcile(Marked(103, Status::kOk), Marked(100, Status::kOk)).value, 103);
  // The second measurement confirms the first, which was disturbed.
  EXPECT_EQ(Reconcile(Marked(100, Status::kDegraded), Marked(99, Status::kOk)).verdict.status,
            Status::kOk);
  EXPECT_EQ(Reconcile(Marked(100, Status::kInvalid), Marked(99, Status::kInvalid)).verdict.status,
            Status::kInvalid);
}

TEST(Reconcile, MarksMeasurementsThatDiffer) {
  for (const bool fell : {true, false}) {
    const Ceiling high = Marked(100e9, Status::kOk);
    const Ceiling low = Marked(90e9, Status::kOk);
    const Ceiling kept = fell ? Reconcile(high, low) : Reconcile(low, high);
    EXPECT_EQ(kept.value, 100e9);
    EXPECT_EQ(kept.verdict.status, Status::kDegraded);
    EXPECT_THAT(kept.verdict.reason, HasSubstr("before the run"));
  }
  Ceiling memory = Made(100, 2, "dram");
  Ceiling less = Made(90, 2, "dram");
  EXPECT_EQ(Reconcile(memory, less).verdict.status, Status::kOk);
  // A latency is better when it is lower.
  memory.unit = less.unit = "s";
  EXPECT_EQ(Reconcile(memory, less).value, 90);
}

TEST(Reconcile, KeepsTheUndisturbedMeasurement) {
  Ceiling undisturbed = Marked(98e9, Status::kOk);
  undisturbed.undisturbed = true;
  const Ceiling low = Marked(50e9, Status::kOk);
  const Ceiling high = Marked(100e9, Status::kOk);
  for (const Ceiling& kept :
       {Reconcile(undisturbed, high), Reconcile(low, undisturbed), KeepBetter(undisturbed, high),
        KeepBetter(low, undisturbed), Reconcile(undisturbed, low)}) {
    EXPECT_EQ(kept.value, 98e9);
    EXPECT_EQ(kept.verdict.status, Status::kOk);
  }
  // Other work does not raise a rate.
  const Ceiling higher = Reconcile(undisturbed, Marked(110e9, Status::kOk));
  EXPECT_EQ(higher.value, 110e9);
  EXPECT_THAT(higher.verdict.reason, HasSubstr("98.0 GB/s before the run"));
  undisturbed.verdict.status = Status::kInvalid;
  EXPECT_EQ(KeepBetter(undisturbed, low).value, 50e9);
}

TEST(Reconcile, KeepsTheOnlyMeasurement) {
  Ceiling absent = Made(1);
  absent.value.reset();
  EXPECT_EQ(Reconcile(Marked(7, Status::kOk), absent).value, 7);
  EXPECT_EQ(Reconcile(absent, Marked(7, Status::kOk)).value, 7);
}

TEST(JudgeWidths, MarksEveryRateBelowThatOfFewerThreads) {
  std::vector<Ceiling> ceilings = {Made(100, 1), Made(99, 2), Made(180, 4), Made(50, 8)};
  ceilings.push_back(Made(60, 2, "dram"));  // nothing to compare with
  Ceiling latency = Made(10, 1, "l2");
  latency.unit = "s";
  ceilings.push_back(latency);
  latency.threads = 2;
  latency.value = 5;
  ceilings.push_back(latency);
  JudgeWidths(ceilings);
  EXPECT_EQ(ceilings[0].verdict.status, Status::kOk);
  EXPECT_EQ(ceilings[1].verdict.status, Status::kDegraded);
  EXPECT_EQ(ceilings[2].verdict.status, Status::kOk);
  EXPECT_EQ(ceilings[3].verdict.status, Status::kInvalid);
  EXPECT_THAT(ceilings[3].verdict.reason, HasSubstr("on one thread"));
  EXPECT_THAT(ceilings[3].verdict.reason, testing::Not(HasSubstr(";"))) << "marked once";
  for (std::size_t i = 4; i < ceilings.size(); ++i) {
    EXPECT_EQ(ceilings[i].verdict.status, Status::kOk) << i;
  }
}

TEST(RemeasureCeilings, MeasuresOnlyTheNamedCeilings) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the probes are written for x86-64";
#endif
  // Impossible values, so that the second measurement cannot agree. Undisturbed windows replace it.
  Ceiling named;
  named.name = "fma/sse2/f32/l1";
  named.operands = "l1";
  named.unit = "FLOP/s";
  named.value = 1;
  Ceiling other = named;
  other.name = "read/l1";
  const std::vector<Ceiling> after = RemeasureCeilings({named, other}, {named.name}, 0.02);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_GT(*after[0].value, 1e9);
  const bool differs = after[0].verdict.reason.find("before the run") != std::string::npos;
  EXPECT_NE(differs, after[0].undisturbed) << after[0].verdict.reason;
  EXPECT_EQ(after[1].value, 1);
  EXPECT_EQ(after[1].verdict.status, Status::kOk);
}

TEST(CeilingJson, HasStatusAndReason) {
  Ceiling ceiling = Made(100, 2);
  EXPECT_EQ(ToJson(ceiling).at("status"), "OK");
  EXPECT_TRUE(ToJson(ceiling).at("reason").is_null());
  EXPECT_TRUE(ToJson(ceiling).at("one_thread").is_null());
  ceiling.alone = 60;
  ceiling.verdict = {Status::kDegraded, "a neighbour"};
  EXPECT_EQ(ToJson(ceiling).at("status"), "DEGRADED");
  EXPECT_EQ(ToJson(ceiling).at("reason"), "a neighbour");
  EXPECT_EQ(ToJson(ceiling).at("one_thread"), 60);
}

}  // namespace
}  // namespace topdnn
