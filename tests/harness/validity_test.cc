// Which figures the validity pass removes or marks. The expected values are computed by hand.

#include "harness/results/validity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace topdnn {
namespace {

using testing::HasSubstr;

constexpr const char* kFma = "fma/avx512/f32/l1";

Ceiling CeilingNamed(const std::string& name, double value, Verdict verdict = {}) {
  Ceiling ceiling;
  ceiling.name = name;
  ceiling.value = value;
  ceiling.verdict = std::move(verdict);
  return ceiling;
}

// 2 GFLOP in 10 ms: 200 GFLOP/s.
Record RecordUnder(double ceiling) {
  Record record;
  record.name = "conv1";
  record.seconds = Summary{.median = 0.01, .min = 0.009, .p90 = 0.011, .n = 20};
  record.flops = 2e9;
  record.ceiling_flops_per_second = ceiling;
  record.ceiling_name = kFma;
  record.topdown_bounds = TopdownBounds{{"Retiring", {.low = 0.2, .high = 0.4, .basis = "b"}}};
  return record;
}

TEST(ValidityTest, ARecordBelowItsCeilingDoesNotChange) {
  Record record = RecordUnder(250e9);
  JudgeRecord(std::vector{CeilingNamed(kFma, 250e9)}, record);
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_EQ(record.reason, "");
  EXPECT_DOUBLE_EQ(*record.PeakFraction(), 0.8);
  EXPECT_TRUE(record.topdown_bounds);
}

Ceiling DramAt(double bytes_per_second) {
  Ceiling dram = CeilingNamed("read/dram", bytes_per_second);
  dram.unit = "B/s";
  dram.operands = "dram";
  return dram;
}

// 10 ms at 10 GB/s: 100 MB.
TEST(MemoryShareTest, IsEstimatedFromTheBytesThatAStageMoves) {
  const std::vector ceilings = {DramAt(10e9)};
  Record record = RecordUnder(250e9);
  EXPECT_EQ(MemoryShareOf(ceilings, record).high, 1) << "the bytes are not known";
  record.bytes = 5e6;
  EXPECT_EQ(MemoryShareOf(ceilings, record).low, 0);
  EXPECT_DOUBLE_EQ(MemoryShareOf(ceilings, record).high, 0.1);
  record.bytes = 50e6;
  EXPECT_EQ(MemoryShareOf(ceilings, record).low, 0.5);
  EXPECT_EQ(MemoryShareOf(ceilings, record).high, 1);
  EXPECT_EQ(MemoryShareOf({}, record).low, 0) << "the rate of DRAM is not known";
}

// Memory at half of its best speed, and two stages: one computes, one waits for memory.
TEST(ValidityTest, WhatMovedCondemnsOnlyWhatDependsOnIt) {
  const std::vector ceilings = {CeilingNamed(kFma, 250e9), DramAt(10e9)};
  Record computes = RecordUnder(250e9);
  computes.bytes = 2e6;
  computes.speeds.memory = 0.5;
  computes.seconds_interval = Interval{0.0099, 0.0101};
  Record waits = computes;
  waits.bytes = 80e6;
  JudgeRecord(ceilings, computes);
  EXPECT_EQ(computes.status, Status::kOk);
  EXPECT_TRUE(computes.topdown_bounds);
  EXPECT_NEAR(computes.seconds_interval->low, 0.0099 * (1 - 0.04 * 0.5), 1e-12);
  EXPECT_NEAR(computes.seconds_interval->high, 0.0101, 1e-12);
  JudgeRecord(ceilings, waits);
  EXPECT_EQ(waits.status, Status::kDegraded);
  EXPECT_THAT(waits.reason, HasSubstr("a probe of memory ran at 50 %"));
  EXPECT_FALSE(waits.topdown_bounds);
  EXPECT_NEAR(waits.seconds_interval->low, 0.0099 * 0.5, 1e-12);
  // The clock, the other way round.
  computes.speeds = {.clock_change = 0.05, .arithmetic = {}, .memory = {}};
  waits.speeds = computes.speeds;
  computes.status = waits.status = Status::kOk;
  waits.bytes = 80e6;
  JudgeRecord(ceilings, computes);
  EXPECT_EQ(computes.status, Status::kDegraded);
  JudgeRecord(ceilings, waits);
  EXPECT_EQ(waits.status, Status::kOk);
}

// Of a step of 20 ms, 10 ms wait for memory for 0.5 to 1 of the time, and 10 ms for at most 0.04.
TEST(ValidityTest, AStepDependsOnMemoryAsItsStagesDo) {
  Report report;
  Record computes = RecordUnder(250e9);
  computes.bytes = 2e6;
  Record waits = RecordUnder(250e9);
  waits.bytes = 80e6;
  report.stages = {computes, waits};
  report.step = RecordUnder(250e9);
  report.step.seconds_interval = Interval{0.02, 0.02};
  report.step.speeds.memory = 0.6;
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9), DramAt(10e9)}, .isolated = {}}, report);
  EXPECT_EQ(report.step.status, Status::kDegraded);  // 0.52 x 0.4
  EXPECT_NEAR(report.step.seconds_interval->low, 0.02 * (1 - 0.52 * 0.4), 1e-12);
}

TEST(ValidityTest, AtMostTwoPercentAboveTheCeilingAreAllowed) {
  Record allowed = RecordUnder(200e9 / 1.0199);
  JudgeRecord(std::vector{CeilingNamed(kFma, 200e9 / 1.0199)}, allowed);
  EXPECT_EQ(allowed.status, Status::kOk);
  Record above = RecordUnder(200e9 / 1.0201);
  JudgeRecord(std::vector{CeilingNamed(kFma, 200e9 / 1.0201)}, above);
  EXPECT_EQ(above.status, Status::kInvalid);
  EXPECT_THAT(above.reason, HasSubstr("1.02 x its ceiling fma/avx512/f32/l1"));
  EXPECT_FALSE(above.PeakFraction());
  EXPECT_FALSE(above.topdown_bounds);
  EXPECT_TRUE(above.seconds) << "the time itself was measured";
}

TEST(ValidityTest, ExecutedOperationsCountIfFewerThanDefined) {
  Record winograd = RecordUnder(150e9);  // 1.33 x as defined
  winograd.implementation = "jit_wino_4x3:avx512_core";
  winograd.flops_counted = 1e9;  // 0.67 x as executed
  JudgeRecord(std::vector{CeilingNamed(kFma, 150e9)}, winograd);
  EXPECT_EQ(winograd.status, Status::kOk);
  EXPECT_NEAR(*winograd.PeakFraction(), 0.6667, 1e-4);
  EXPECT_DOUBLE_EQ(*winograd.Gflops(), 200);
  Record padded = RecordUnder(250e9);
  padded.flops_counted = 4e9;
  EXPECT_DOUBLE_EQ(*padded.PeakFraction(), 0.8) << "padding does not count as use of the machine";
  Record maxima = RecordUnder(250e9);
  maxima.flops_counted = 0.0;
  EXPECT_DOUBLE_EQ(*maxima.PeakFraction(), 0.8) << "comparisons are not counted";
}

TEST(ValidityTest, AnUncountedWinogradAboveTheCeilingHasNoShare) {
  Record record = RecordUnder(150e9);
  record.implementation = "jit_wino_4x3:avx512_core";
  JudgeRecord(std::vector{CeilingNamed(kFma, 150e9)}, record);
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_FALSE(record.PeakFraction());
}

// 1.33 x as defined. Without the operations on padding it is 0.93 x: the ceiling may be right, but
// the share is not known.
TEST(ValidityTest, AnUncountedStageThatMaySkipPaddingIsNotAboveTheCeiling) {
  Record record = RecordUnder(150e9);
  record.flops_without_padding = 1.4e9;
  Report report;
  report.stages = {record, RecordUnder(250e9)};
  JudgeReport({.ceilings = {CeilingNamed(kFma, 150e9)}, .isolated = {}}, report);
  EXPECT_EQ(report.stages[0].status, Status::kOk);
  EXPECT_FALSE(report.stages[0].PeakFraction());
  EXPECT_TRUE(report.stages[1].PeakFraction());

  record.flops_without_padding = 1.6e9;  // 1.07 x
  JudgeRecord(std::vector{CeilingNamed(kFma, 150e9)}, record);
  EXPECT_EQ(record.status, Status::kInvalid);
  EXPECT_THAT(record.reason, HasSubstr("1.07 x its ceiling"));
}

TEST(ValidityTest, ACountedWinogradAboveTheCeilingIsInvalid) {
  Record record = RecordUnder(150e9);
  record.implementation = "jit_wino_4x3:avx512_core";
  record.flops_counted = 1.8e9;  // 180 GFLOP/s as executed
  JudgeRecord(std::vector{CeilingNamed(kFma, 150e9)}, record);
  EXPECT_EQ(record.status, Status::kInvalid);
  EXPECT_THAT(record.reason, HasSubstr("1.20 x its ceiling"));
}

TEST(ValidityTest, AnInvalidCeilingGivesNoShare) {
  for (const Status status : {Status::kInvalid, Status::kSkipped}) {
    Record record = RecordUnder(250e9);
    JudgeRecord(std::vector{CeilingNamed(kFma, 250e9, {status, "spread"})}, record);
    EXPECT_EQ(record.status, Status::kOk);
    EXPECT_FALSE(record.PeakFraction());
  }
  Record unknown = RecordUnder(250e9);
  JudgeRecord(std::vector{CeilingNamed("fma/avx2/f32/l1", 250e9)}, unknown);
  EXPECT_FALSE(unknown.PeakFraction());
  Record zero = RecordUnder(0);
  JudgeRecord(std::vector{CeilingNamed(kFma, 0)}, zero);
  EXPECT_FALSE(zero.PeakFraction());
  EXPECT_FALSE(zero.ceiling_flops_per_second) << "0 is not a ceiling";
}

TEST(ValidityTest, ADegradedCeilingDegradesTheRecord) {
  Record record = RecordUnder(250e9);
  JudgeRecord(std::vector{CeilingNamed(kFma, 250e9, {Status::kDegraded, "spread 9 %"})}, record);
  EXPECT_EQ(record.status, Status::kDegraded);
  EXPECT_EQ(record.reason, "the ceiling fma/avx512/f32/l1: spread 9 %");
  EXPECT_FALSE(record.topdown_bounds);
}

TEST(ValidityTest, ADisturbedRecordHasNoBounds) {
  Record record = RecordUnder(250e9);
  record.status = Status::kDegraded;
  record.reason = "interrupted";
  JudgeRecord(std::vector{CeilingNamed(kFma, 250e9)}, record);
  EXPECT_FALSE(record.topdown_bounds);
  EXPECT_NE(record.bounds_reason, "");
  EXPECT_EQ(record.reason, "interrupted");
}

TEST(ValidityTest, AFailedRecordHasNoTime) {
  Record record = RecordUnder(250e9);
  record.status = Status::kFailed;
  record.seconds_by_regime["isolated-hot"] = *record.seconds;
  JudgeRecord(std::vector{CeilingNamed(kFma, 250e9)}, record);
  EXPECT_FALSE(record.seconds);
  EXPECT_TRUE(record.seconds_by_regime.empty());
}

// 200 GFLOP/s at 10 FLOP per byte from L1 and 5 per byte from DRAM.
Record RecordWithRoofs(double compute, double l1, double dram) {
  Record record = RecordUnder(compute);
  Roofline roofline;
  roofline.flops = 2e9;
  roofline.seconds = 0.01;
  roofline.l1_bytes = 2e8;
  roofline.dram_bytes = 4e8;
  roofline.compute = Roof{kFma, compute};
  roofline.l1 = Roof{"read/l1", l1};
  roofline.dram = Roof{"read/dram", dram};
  record.roofline = roofline;
  return record;
}

TEST(ValidityTest, RoofsOfCeilingsThatAreNotOkAreRemoved) {
  const std::vector ceilings = {CeilingNamed(kFma, 250e9),
                                CeilingNamed("read/l1", 30e9, {Status::kDegraded, "spread"}),
                                CeilingNamed("read/dram", 50e9)};
  Record record = RecordWithRoofs(250e9, 30e9, 50e9);
  JudgeRecord(ceilings, record);
  ASSERT_TRUE(record.roofline);
  EXPECT_TRUE(record.roofline->compute);
  EXPECT_FALSE(record.roofline->l1);
  EXPECT_TRUE(record.roofline->dram);
  EXPECT_FALSE(record.roofline->attainable()) << "the roof of L1 may be the lowest";
}

TEST(ValidityTest, ARoofThatDoesNotApplyIsNotMissed) {
  const std::vector ceilings = {CeilingNamed(kFma, 250e9), CeilingNamed("read/l1", 30e9),
                                CeilingNamed("read/dram", 50e9, {Status::kDegraded, "spread"})};
  Record record = RecordWithRoofs(250e9, 30e9, 50e9);
  record.roofline->dram_applies = false;
  JudgeRecord(ceilings, record);
  ASSERT_TRUE(record.roofline && record.roofline->attainable());
  EXPECT_EQ(record.roofline->attainable()->name, kFma);
}

TEST(ValidityTest, ARegionAboveTheRoofOfMemoryUsesCaches) {
  const std::vector ceilings = {CeilingNamed(kFma, 250e9), CeilingNamed("read/l1", 30e9),
                                CeilingNamed("read/dram", 30e9)};
  Record record = RecordWithRoofs(250e9, 30e9, 30e9);  // 150 GFLOP/s by DRAM, 300 by L1
  JudgeRecord(ceilings, record);
  ASSERT_TRUE(record.roofline);
  EXPECT_FALSE(record.roofline->dram_applies);
  EXPECT_EQ(record.roofline->attainable()->name, kFma);
}

TEST(ValidityTest, ARegionAboveAllRoofsHasNoRoofline) {
  const std::vector ceilings = {CeilingNamed(kFma, 250e9), CeilingNamed("read/l1", 10e9),
                                CeilingNamed("read/dram", 50e9)};
  Record record = RecordWithRoofs(250e9, 10e9, 50e9);  // 100 GFLOP/s by L1
  JudgeRecord(ceilings, record);
  EXPECT_FALSE(record.roofline);
}

TEST(ValidityTest, ARegionMayBeTwoPercentAboveItsRoof) {
  const auto has_roofline = [](double l1) {
    const std::vector ceilings = {CeilingNamed(kFma, 250e9), CeilingNamed("read/l1", l1),
                                  CeilingNamed("read/dram", 50e9)};
    Record record = RecordWithRoofs(250e9, l1, 50e9);
    JudgeRecord(ceilings, record);
    return record.roofline.has_value();
  };
  EXPECT_TRUE(has_roofline(19.7e9));   // 197 GFLOP/s by L1: 1.015 x
  EXPECT_FALSE(has_roofline(19.5e9));  // 195: 1.026 x
}

TEST(ValidityTest, ARoofOfZeroIsRemoved) {
  const std::vector ceilings = {CeilingNamed(kFma, 250e9), CeilingNamed("read/l1", 30e9),
                                CeilingNamed("read/dram", 50e9)};
  Record record = RecordWithRoofs(250e9, 0, 50e9);
  JudgeRecord(ceilings, record);
  ASSERT_TRUE(record.roofline);
  EXPECT_FALSE(record.roofline->l1);
}

TEST(ValidityTest, ARecordAboveItsCeilingHasNoRoofline) {
  const std::vector ceilings = {CeilingNamed(kFma, 150e9), CeilingNamed("read/l1", 30e9),
                                CeilingNamed("read/dram", 50e9)};
  Record record = RecordWithRoofs(150e9, 30e9, 50e9);
  JudgeRecord(ceilings, record);
  EXPECT_EQ(record.status, Status::kInvalid);
  EXPECT_FALSE(record.roofline);
}

TEST(ValidityTest, AnUncountedWinogradKeepsTheRoofsOfMemory) {
  const std::vector ceilings = {CeilingNamed(kFma, 150e9), CeilingNamed("read/l1", 30e9),
                                CeilingNamed("read/dram", 50e9)};
  Record record = RecordWithRoofs(150e9, 30e9, 50e9);
  record.implementation = "jit_wino_4x3:avx512_core";
  JudgeRecord(ceilings, record);
  ASSERT_TRUE(record.roofline);
  EXPECT_FALSE(record.roofline->compute);
  EXPECT_EQ(record.roofline->lowest_known()->name, "read/dram");  // 250 GFLOP/s, 300 by L1
  EXPECT_FALSE(record.roofline->attainable()) << "the roof of computing may be lower";
}

Report ReportWithNotes() {
  Report report;
  report.step = RecordUnder(250e9);
  report.stages = {RecordUnder(250e9)};
  report.notes = {{.text = "fact", .basis = Note::Basis::kFact},
                  {.text = "step", .basis = Note::Basis::kStep},
                  {.text = "isolated", .basis = Note::Basis::kIsolated},
                  {.text = "ceiling", .basis = Note::Basis::kCeiling}};
  return report;
}

// 1.33 x the ceiling as defined. One stage executes fewer operations, and nothing counted them.
TEST(ValidityTest, AStepWithAnUncountedWinogradAboveTheCeilingHasNoShare) {
  Report report;
  report.step = RecordUnder(150e9);
  report.stages = {RecordUnder(250e9), RecordUnder(150e9)};
  report.stages[0].ceiling_flops_per_second.reset();
  report.stages[1].implementation = "jit_wino_4x3:avx512_core";
  JudgeReport({.ceilings = {CeilingNamed(kFma, 150e9)}, .isolated = {}}, report);
  EXPECT_EQ(report.step.status, Status::kOk) << report.step.reason;
  EXPECT_FALSE(report.step.PeakFraction());
  EXPECT_EQ(report.stages[0].status, Status::kOk);

  report.step = RecordUnder(150e9);
  report.stages[1] = RecordUnder(150e9);
  JudgeReport({.ceilings = {CeilingNamed(kFma, 150e9)}, .isolated = {}}, report);
  EXPECT_EQ(report.step.status, Status::kInvalid);
}

std::vector<std::string> TextsOf(const Report& report) {
  std::vector<std::string> texts;
  for (const Note& note : report.notes) texts.push_back(note.text);
  return texts;
}

TEST(ValidityTest, AStepOfNoTimeIsInvalid) {
  Report report = ReportWithNotes();
  report.step.seconds->median = 0;
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  EXPECT_EQ(report.step.status, Status::kInvalid);
  EXPECT_FALSE(report.step.seconds);
}

// It includes the time of the wrong stage.
TEST(ValidityTest, AFailedStepHasNoTimesWithItsInputPipeline) {
  Report report = ReportWithNotes();
  report.fed_step.emplace();
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  EXPECT_TRUE(report.fed_step);
  report.step.status = Status::kFailed;
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  EXPECT_FALSE(report.fed_step);
}

TEST(ValidityTest, AGroupHasAShareIfItsStagesHaveOne) {
  Report report = ReportWithNotes();
  report.stages[0].pass = "forward";
  report.groups = {{.name = "forward", .stages = 1, .peak_fraction = 0.8}};
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  EXPECT_EQ(report.groups[0].peak_fraction, 0.8);
  report.stages.push_back(RecordUnder(250e9));
  report.stages[1].pass = "update";
  report.stages[1].ceiling_flops_per_second.reset();
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  EXPECT_EQ(report.groups[0].peak_fraction, 0.8) << "a stage of another group has no ceiling";
  report.groups[0].peak_fraction = 1.03;
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  EXPECT_FALSE(report.groups[0].peak_fraction) << "above its ceiling";
  report.groups[0].peak_fraction = 0.8;
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9, {Status::kInvalid, "low"})}, .isolated = {}},
              report);
  EXPECT_FALSE(report.groups[0].peak_fraction) << "the stage lost its ceiling";
}

TEST(ValidityTest, NotesWithAValidBasisStay) {
  Report report = ReportWithNotes();
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  EXPECT_THAT(TextsOf(report), testing::ElementsAre("fact", "step", "isolated", "ceiling"));
}

TEST(ValidityTest, NotesOnADisturbedStepAreRemovedWithOneLine) {
  Report report = ReportWithNotes();
  report.step.status = Status::kDegraded;
  report.step.reason = "interrupted";
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  EXPECT_THAT(TextsOf(report), testing::ElementsAre("fact", "3 notes are omitted: interrupted"));
}

TEST(ValidityTest, NotesOnAStepWithoutATimeAreRemoved) {
  Report report = ReportWithNotes();
  report.step.seconds.reset();
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  ASSERT_EQ(report.notes.size(), 2U);
  EXPECT_EQ(report.notes[0].text, "fact");
  EXPECT_THAT(report.notes[1].text, HasSubstr("3 notes are omitted"));
}

TEST(ValidityTest, OnlyNotesOnDisturbedIsolatedTimesAreRemoved) {
  Report report = ReportWithNotes();
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {Status::kDegraded, "busy"}},
              report);
  EXPECT_THAT(TextsOf(report),
              testing::ElementsAre("fact", "step", "ceiling", "1 note is omitted: busy"));
}

TEST(ValidityTest, OnlyNotesOnARemovedCeilingAreRemoved) {
  Report report = ReportWithNotes();
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9, {Status::kInvalid, "low"})}, .isolated = {}},
              report);
  EXPECT_THAT(TextsOf(report),
              testing::ElementsAre("fact", "step", "isolated",
                                   "1 note is omitted: the step has no valid ceiling"));
}

TEST(ValidityTest, ACeilingThatOneStageExceedsIsInvalidForAll) {
  Report report;
  report.step = RecordUnder(250e9);
  report.stages = {RecordUnder(250e9), RecordUnder(250e9)};
  report.stages[1].seconds->median = 0.005;  // 400 GFLOP/s
  const std::vector ceilings = {CeilingNamed(kFma, 250e9)};
  const std::vector<Ceiling> marked = MarkExceeded(ceilings, report);
  EXPECT_EQ(marked[0].verdict.status, Status::kInvalid);
  EXPECT_THAT(marked[0].verdict.reason, HasSubstr("1.60 x"));
  JudgeReport({.ceilings = ceilings, .isolated = {}}, report);
  EXPECT_EQ(report.stages[0].status, Status::kOk);
  EXPECT_FALSE(report.stages[0].PeakFraction());
  EXPECT_EQ(report.stages[0].ceiling_verdict.status, Status::kInvalid);
  EXPECT_EQ(report.stages[1].status, Status::kInvalid);
  EXPECT_EQ(report.stages[1].ceiling_verdict.status, Status::kInvalid);
}

// The time does not depend on a ceiling that was measured beside other work.
TEST(ValidityTest, ADoubtfulCeilingThatAStageExceedsDegradesIt) {
  Report report;
  report.step = RecordUnder(250e9);
  report.stages = {RecordUnder(250e9), RecordUnder(250e9)};
  report.stages[1].seconds->median = 0.005;  // 400 GFLOP/s
  const std::vector ceilings = {CeilingNamed(kFma, 250e9, {Status::kDegraded, "few windows"})};
  JudgeReport({.ceilings = ceilings, .isolated = {}}, report);
  EXPECT_EQ(report.stages[1].status, Status::kDegraded);
  EXPECT_THAT(report.stages[1].reason, HasSubstr("1.60 x its ceiling"));
  EXPECT_THAT(report.stages[1].reason, HasSubstr("(few windows)"));
  EXPECT_TRUE(report.stages[1].seconds);
  for (const Record& stage : report.stages) {
    EXPECT_FALSE(stage.PeakFraction());
    EXPECT_EQ(stage.ceiling_verdict.status, Status::kInvalid);
  }
}

TEST(ValidityTest, TimesByRegimeOfADisturbedRunAreOmitted) {
  Report report = ReportWithNotes();
  report.stages[0].seconds_by_regime["isolated-hot"] = *report.step.seconds;
  Report disturbed = report;
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {}}, report);
  EXPECT_EQ(report.stages[0].seconds_by_regime.size(), 1u);
  JudgeReport({.ceilings = {CeilingNamed(kFma, 250e9)}, .isolated = {Status::kDegraded, "busy"}},
              disturbed);
  EXPECT_TRUE(disturbed.stages[0].seconds_by_regime.empty());
  EXPECT_THAT(TextsOf(disturbed), testing::Contains("the times by regime are omitted: busy"));
}

TEST(StatusTest, TheWorseStatusStaysAndReasonsAreJoined) {
  Verdict verdict;
  Worsen(verdict, Status::kDegraded, "a");
  Worsen(verdict, Status::kOk, "");
  Worsen(verdict, Status::kInvalid, "b");
  Worsen(verdict, Status::kDegraded, "a");
  EXPECT_EQ(verdict, (Verdict{Status::kInvalid, "a; b"}));
}

TEST(StatusTest, NamesAreReadBack) {
  for (const Status status :
       {Status::kOk, Status::kDegraded, Status::kInvalid, Status::kSkipped, Status::kFailed}) {
    EXPECT_EQ(ParseStatus(NameOf(status)), status);
  }
  EXPECT_FALSE(ParseStatus("FINE"));
}

}  // namespace
}  // namespace topdnn
