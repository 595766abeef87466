#include "bench/cases/kernel_timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "harness/machine/clock.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/problem.h"

namespace topdnn {
namespace {

// Counts its readings. If it runs the regions itself, it counts the runs.
class CountingSource : public CounterSource {
 public:
  explicit CountingSource(bool runs) : runs_(runs) {}
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 1; }
  void Read(std::uint64_t* raw) noexcept override { *raw = runs_ ? regions_ : ++readings_; }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return FoldCounts(before, after);
  }
  bool runs_region() const override { return runs_; }
  void Run(void (*region)(void* context), void* context) override {
    ++regions_;
    region(context);
  }

  std::uint64_t regions_ = 0, readings_ = 0;

 private:
  bool runs_;
  std::vector<std::string> events_ = {"regions"};
};

MeasuredKernel MeasuredRelu(const KernelTiming& timing) {
  const KernelProblem problem(ParseProblem("relu/1x16x28x28"),
                              {Pass::kForward, true, DataType::kF32});
  auto made = KernelCase::Make(*FindVariant("onednn"), problem, 1);
  auto& kernel = *std::get<std::unique_ptr<KernelCase>>(made);
  return MeasureKernel("relu", kernel, timing);
}

// Bounds compare exact counts with the cycles of the timed runs.
TEST(KernelTimingTest, TheClockIsReadAroundRunsThatAreCountedExactly) {
  CountingSource exact(true), read(false);
  KernelTiming timing;
  timing.iterations = 7;
  for (const bool cold : {false, true}) {
    timing.cold = cold;
    timing.sources = {&read, &exact};
    const Disturbance seen = MeasuredRelu(timing).samples.disturbance;
    EXPECT_EQ(seen.core_hertz_before.has_value(), ReadCoreHertz().has_value());
    EXPECT_EQ(seen.core_hertz_after.has_value(), ReadCoreHertz().has_value());
    timing.sources = {&read};
    EXPECT_FALSE(MeasuredRelu(timing).samples.disturbance.core_hertz_before);
  }
}

TEST(KernelTimingTest, CountsFollowTheTimedRuns) {
  CountingSource exact(true);
  KernelTiming timing;
  timing.iterations = 7;
  timing.sources = {&exact};
  const MeasuredKernel measured = MeasuredRelu(timing);
  EXPECT_EQ(measured.samples.step.seconds.size(), 7u);
  // (the undisturbed ones, beside a neighbour)
  EXPECT_GE(measured.record.seconds->n, 1);
  EXPECT_LE(measured.record.seconds->n, 7);
  EXPECT_EQ(exact.regions_, 1u);
  EXPECT_EQ(measured.record.events.at("regions"), 1);
  CountingSource read(false);
  timing.sources = {&read};
  const MeasuredKernel again = MeasuredRelu(timing);
  // Two readings differ by 1. The cost of a reading, which is subtracted, is also 1.
  EXPECT_EQ(again.record.events.at("regions"), 0);
  EXPECT_EQ(again.samples.stages.at(0).counts.size(), 7u);
  EXPECT_EQ(read.regions_, 0u);
}

}  // namespace
}  // namespace topdnn
