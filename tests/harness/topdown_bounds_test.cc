// Top-Down bounds computed by hand: each end, each reason for absent bounds, and that a disturbed
// rate never makes an interval narrower. bounds_kernels_slow_test.cc has kernels that really run.

#include "harness/bounds/topdown_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "harness/topdown/metric.h"
#include "tests/harness/quiet_core_rates.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

CorePipeline SixWide() {
  return {.slots = 6,
          .reorder_buffer = 300,
          .op_cache = 6000,
          .fp_256 = 6,
          .fp_512 = 3,
          .source = "a manual"};
}

// 1e6 cycles; with the noise that the bounds assume, 0.98e6 to 1.02e6.
CoreTime OneMillionCycles() {
  return {.seconds = 1e-3,
          .threads = 1,
          .hertz_low = 1e9,
          .hertz_high = 1e9,
          .instruction_cache = 32768};
}

CoreWork MixedWork() {
  CoreWork work;
  work.instructions = 1.2e6;
  work.conditional_branches = 0.1e6;
  work.fusible_instructions = 0.05e6;
  work.slow_instructions = 100;
  work.instruction_bytes = 6e6;
  work.predicted_branches = 2000;
  work.taken_branches = 4000;
  work.fp[kPacked512] = 2.7e6;
  work.code_bytes = 3200;
  return work;
}

BoundsOrReason Bounded(const CoreWork& work) {
  return BoundTopdown(work, OneMillionCycles(), SixWide(), QuietRates());
}

void ExpectInterval(const BoundsOrReason& made, const char* node, double low, double high) {
  ASSERT_TRUE(made.bounds) << made.reason;
  ASSERT_TRUE(made.bounds->contains(node)) << node;
  EXPECT_NEAR(made.bounds->at(node).low, low, 1e-6) << node;
  EXPECT_NEAR(made.bounds->at(node).high, high, 1e-6) << node;
  EXPECT_FALSE(made.bounds->at(node).basis.empty()) << node;
}

TEST(TopdownBounds, FollowFromCountsAndTheManual) {
  const BoundsOrReason made = Bounded(MixedWork());
  EXPECT_EQ(made.reason, "");
  // 1,049,900 instructions that cannot fuse in 6.12e6 slots; 2.41e6 slots at most in 5.88e6.
  ExpectInterval(made, "Retiring", 0.1715523, 0.4098639);
  // 2,000 branches of 300 / 6 + 20 cycles in 0.98e6.
  ExpectInterval(made, "Bad_Speculation", 0, 0.1428571);
  // 187,500 windows less 174,983 full ones, 20,000 cycles of bubbles, 15,000 of 50 cold lines.
  ExpectInterval(made, "Frontend_Bound", 0, 0.0484864);
  // 0.9e6 cycles of 512-bit operations in 1.02e6, less the highs above; all but what retires.
  ExpectInterval(made, "Core_Bound", 0.2811455, 0.8284477);
  ExpectInterval(made, "Memory_Bound", 0, 0.5473022);
  EXPECT_THAT(made.bounds->at("Bad_Speculation").basis, HasSubstr("assuming no machine clears"));
}

// 1,000 missed branches and 50 cold blocks, of 25 cycles, in 0.98e6.
TEST(CountShares, UsesTheBranchesOwnCounts) {
  CoreWork work = MixedWork();
  const auto bad = [&] {
    return CountShares(work, OneMillionCycles(), {1e-3, 1e-3}, SixWide(), QuietRates())
        ->bad_speculation;
  };
  EXPECT_NEAR(bad(), 0.1428571, 1e-6) << "without them, each branch may miss";
  work.missed_branches = 1000;
  work.code_blocks = 50;
  EXPECT_NEAR(bad(), 1050 * 25 / 0.98e6, 1e-9);
  work.missed_branches = 1e5;  // never more than there are branches
  EXPECT_NEAR(bad(), 2000 * 25 / 0.98e6, 1e-9);
}

// 300,000 cycles of delivery less the 174,983 of the instructions' slots, 15,000 of cold lines and
// 1,250 of cold branches, in 0.98e6; but the code is cold for 1,000 cycles at most.
TEST(CountShares, MeasuredDeliveryBoundsBranchesAndFrontEndTogether) {
  CoreWork work = MixedWork();
  work.code_blocks = 50;
  const auto shares = [&work] {
    return *CountShares(work, OneMillionCycles(), {1e-3, 1e-3}, SixWide(), QuietRates());
  };
  const CountedShares assumed = shares();
  EXPECT_FALSE(assumed.lost);
  EXPECT_NEAR(assumed.core.low, 0.2811455 + 3 * 4000 / 0.98e6, 1e-6) << "bubbles of 2 cycles";
  work.delivery_cycles = 300'000;
  EXPECT_NEAR(*shares().lost, (125'016.7 + 16'250) / 0.98e6, 1e-6);
  EXPECT_NEAR(shares().core.low, 0.9e6 / 1.02e6 - 0.4098639 - *shares().lost, 1e-6);
  work.cold_cycles = 1000;
  EXPECT_NEAR(*shares().lost, (125'016.7 + 1000) / 0.98e6, 1e-6);
  EXPECT_NEAR(shares().bad_speculation, *shares().lost, 1e-9) << "less than 2,000 branches cost";
  EXPECT_EQ(shares().frontend, assumed.frontend) << "less than was lost";
  work.delivery_cycles = 100'000;  // fused instructions
  EXPECT_NEAR(*shares().lost, 1000 / 0.98e6, 1e-9);
  EXPECT_EQ(shares().frontend, shares().lost);
  work.code_blocks.reset();
  EXPECT_FALSE(shares().lost);
}

// The time is in an interval: 1 to 2 ms.
TEST(CountShares, AWiderTimeMakesWiderShares) {
  const auto shares =
      CountShares(MixedWork(), OneMillionCycles(), {1e-3, 2e-3}, SixWide(), QuietRates());
  ASSERT_TRUE(shares);
  EXPECT_NEAR(shares->retiring.low, 0.1715523 / 2, 1e-6);
  EXPECT_NEAR(shares->retiring.high, 0.4098639, 1e-6);
  EXPECT_EQ(shares->busiest, "floating-point work");
}

TEST(CountShares, MeasuredSlotsReplaceTheAssumedOnes) {
  CoreWork work = MixedWork();
  work.most_slots = 1.2e6;
  const auto s = CountShares(work, OneMillionCycles(), {1e-3, 1e-3}, SixWide(), QuietRates());
  EXPECT_NEAR(s->retiring.high, 1.2 / (6 * 0.98), 1e-6);
}

// As many cycles of loads, or of stores, in place of the floating-point operations.
TEST(TopdownBounds, CoreBoundsLowerEndIsOfTheBusiestUnit) {
  CoreWork work = MixedWork();
  work.fp = {};
  CorePipeline pipeline = SixWide();
  pipeline.loads = 2;
  pipeline.stores = 1;
  const auto bounded = [&] {
    return BoundTopdown(work, OneMillionCycles(), pipeline, QuietRates());
  };
  work.loads = 1.8e6;
  work.stores = 0.4e6;
  ExpectInterval(bounded(), "Core_Bound", 0.2811455, 0.8284477);
  EXPECT_THAT(bounded().bounds->at("Core_Bound").basis, HasSubstr("88.2 % of the cycles: loads"));
  work.loads = 0.4e6;
  work.stores = 0.9e6;
  ExpectInterval(bounded(), "Core_Bound", 0.2811455, 0.8284477);
  pipeline.stores = 0;                                     // not in the table
  EXPECT_FALSE(bounded().bounds->contains("Core_Bound"));  // loads alone give no lower end
}

TEST(TopdownBounds, MemoryIsTheRemainder) {
  CoreWork work;
  work.instructions = 0.02e6;
  work.instruction_bytes = 0.1e6;
  work.predicted_branches = 100;
  work.code_bytes = 64;
  CoreRates rates = QuietRates();
  rates.link_cycles = 15;
  const auto made = BoundTopdown(work, OneMillionCycles(), SixWide(), rates);
  // A chain of 0.02e6 links of 15 cycles in 0.98e6.
  ExpectInterval(made, "Core_Bound", 0, 0.3061224);
  // 1 less 0.0068027 retiring, 0.0071429 mispredictions, the chain, 0.0003061 for one cold line,
  // and 0.1 that a neighbour may take unseen.
  ExpectInterval(made, "Memory_Bound", 0.5796259, 1 - 0.0032680);
}

// The kernel's time does not belong to the region, and looks like a stall.
TEST(TopdownBounds, MemoryHasNoLowerEndWithSystemCalls) {
  CoreWork work;
  work.instructions = 0.02e6;
  work.instruction_bytes = 0.1e6;
  work.code_bytes = 64;
  EXPECT_GT(Bounded(work).bounds->at("Memory_Bound").low, 0.5);
  work.system_calls = 1;
  EXPECT_FALSE(Bounded(work).bounds->contains("Memory_Bound"));
}

// The clock changed during the run: each end uses the clock that makes the interval wider.
TEST(TopdownBounds, LowerEndsUseTheFastestClockAndUpperEndsTheSlowest) {
  CoreTime time = OneMillionCycles();
  time.hertz_high = 1.1e9;  // at most 1.122e6 cycles
  const auto made = BoundTopdown(MixedWork(), time, SixWide(), QuietRates());
  // 1,049,900 instructions in 6.732e6 slots; the upper end is that of a constant clock.
  ExpectInterval(made, "Retiring", 0.1559566, 0.4098639);
  // 0.9e6 of 1.122e6 cycles, less 0.4098639, 0.1428571 and 0.0484864.
  ExpectInterval(made, "Core_Bound", 0.2009316, 1 - 0.1559566);
}

TEST(TopdownBounds, EachThreadLoadsItsCode) {
  CoreTime time = OneMillionCycles();
  time.threads = 2;
  time.seconds = 0.5e-3;
  // As for one thread, minus the 15,000 cycles that 50 more cold lines may take in 0.98e6.
  const auto made = BoundTopdown(MixedWork(), time, SixWide(), QuietRates());
  ExpectInterval(made, "Core_Bound", 0.2658394, 0.8284477);
}

TEST(TopdownBounds, AMeasuredCostBelowTheManualsIsNotUsed) {
  CoreRates cheap = QuietRates();
  cheap.mispredict_cycles = 1;
  cheap.link_cycles = 2;
  const auto made = BoundTopdown(MixedWork(), OneMillionCycles(), SixWide(), cheap);
  EXPECT_NEAR(made.bounds->at("Bad_Speculation").high, 0.1428571, 1e-6);
  cheap.mispredict_cycles = 27;  // 2,000 of 50 + 27 cycles
  EXPECT_NEAR(BoundTopdown(MixedWork(), OneMillionCycles(), SixWide(), cheap)
                  .bounds->at("Bad_Speculation")
                  .high,
              0.1571429, 1e-6);
}

TEST(TopdownBounds, FrontEndAndMemoryAreOneNodeIfTheyCannotBeSeparated) {
  const auto has = [](const CoreWork& work, const CoreTime& time, const char* node) {
    const auto made = BoundTopdown(work, time, SixWide(), QuietRates());
    EXPECT_TRUE(made.bounds) << made.reason;
    return made.bounds && made.bounds->contains(node);
  };
  const CoreTime time = OneMillionCycles();
  CoreWork work = MixedWork();
  EXPECT_TRUE(has(work, time, "Memory_Bound"));
  EXPECT_FALSE(has(work, time, "Memory_And_Frontend_Bound"));
  CoreTime two = time;
  two.threads = 2;
  EXPECT_FALSE(has(work, two, "Memory_Bound"));
  EXPECT_FALSE(has(work, two, "Frontend_Bound"));
  CoreTime unknown_cache = time;
  unknown_cache.instruction_cache = 0;
  EXPECT_FALSE(has(work, unknown_cache, "Memory_Bound"));
  // 15,005 bytes are 3,001 instructions of 5 bytes: more than half of the micro-op cache.
  work.code_bytes = 15005;
  EXPECT_FALSE(has(work, time, "Frontend_Bound"));
  work.code_bytes = 14995;
  EXPECT_TRUE(has(work, time, "Frontend_Bound"));
}

TEST(TopdownBounds, CoreBoundHasNoLowerEndWithoutABoundedFrontEnd) {
  CoreWork work = MixedWork();
  work.code_bytes = 40000;
  const auto made = Bounded(work);
  ASSERT_TRUE(made.bounds);
  EXPECT_FALSE(made.bounds->contains("Core_Bound"));  // it would be 0 to 1
}

TEST(TopdownBounds, AnUninformativeNodeIsOmitted) {
  CoreWork work = MixedWork();
  work.predicted_branches = 0.5e6;
  work.fp = {};
  const auto made = Bounded(work);
  ASSERT_TRUE(made.bounds);
  EXPECT_FALSE(made.bounds->contains("Bad_Speculation"));
  EXPECT_FALSE(made.bounds->contains("Core_Bound"));
  EXPECT_FALSE(made.bounds->contains("Memory_Bound"));
  EXPECT_TRUE(made.bounds->contains("Retiring"));
}

TEST(TopdownBounds, AnUnknownReorderBufferOrUnitGivesNoEnd) {
  CorePipeline slots_alone;
  slots_alone.slots = 6;
  const auto made = BoundTopdown(MixedWork(), OneMillionCycles(), slots_alone, QuietRates());
  ASSERT_TRUE(made.bounds) << made.reason;
  EXPECT_EQ(made.bounds->size(), 1u);
  EXPECT_NEAR(made.bounds->at("Retiring").low, 0.1715523, 1e-6);
}

TEST(TopdownBounds, AreAbsentWithTheReason) {
  const CoreTime time = OneMillionCycles();
  const auto reason = [](const CoreWork& work, const CoreTime& t, const CorePipeline& pipeline,
                         const CoreRates& rates) {
    const auto made = BoundTopdown(work, t, pipeline, rates);
    EXPECT_FALSE(made.bounds);
    return made.reason;
  };
  EXPECT_THAT(reason(MixedWork(), time, CorePipeline(), QuietRates()), HasSubstr("slots of this"));
  EXPECT_THAT(reason(MixedWork(), time, SixWide(), CoreRates()), HasSubstr("not measured"));
  CoreTime no_clock = time;
  no_clock.hertz_low = no_clock.hertz_high = 0;
  EXPECT_THAT(reason(MixedWork(), no_clock, SixWide(), QuietRates()), HasSubstr("core clock"));
  CoreRates old = QuietRates();
  old.spreads.clear();
  EXPECT_THAT(reason(MixedWork(), time, SixWide(), old), HasSubstr("without their spread"));
  CoreRates spread = QuietRates();
  spread.spreads["loads"] = 0.051;
  EXPECT_THAT(reason(MixedWork(), time, SixWide(), spread), HasSubstr("loads: 5.1 %"));
  CoreRates taken = QuietRates();
  taken.slots = 3.5;
  EXPECT_THAT(reason(MixedWork(), time, SixWide(), taken), HasSubstr("a neighbour"));
  // All of 8 hyperthreads of 4 cores: each gets half of the slots, which is no disturbance.
  CoreRates siblings = QuietRates();
  siblings.threads = 8;
  siblings.threads_per_core = 2;
  siblings.slots = 2.9;
  EXPECT_THAT(reason(MixedWork(), time, SixWide(), siblings),
              AllOf(HasSubstr("2 threads share the slots"), HasSubstr("--threads 4")));
  CoreRates other_core = QuietRates();
  other_core.slots = 6.2;
  EXPECT_THAT(reason(MixedWork(), time, SixWide(), other_core),
              HasSubstr("table has only 6 slots"));
  CoreWork too_many = MixedWork();
  too_many.instructions = 6.5e6;
  EXPECT_THAT(reason(too_many, time, SixWide(), QuietRates()), HasSubstr("contradict"));
  CoreWork too_much = MixedWork();
  too_much.fp[kPacked512] = 3.1e6;
  EXPECT_THAT(reason(too_much, time, SixWide(), QuietRates()), HasSubstr("floating-point work"));
  CoreRates slow_loads = QuietRates();
  CoreWork loads = MixedWork();
  loads.loads = 1.2e6;
  EXPECT_TRUE(BoundTopdown(loads, time, SixWide(), slow_loads).bounds);
  slow_loads.loads = 1.1;  // 1.2e6 loads take 1.09e6 cycles then
  EXPECT_THAT(reason(loads, time, SixWide(), slow_loads), HasSubstr("more loads per cycle"));
  EXPECT_THAT(reason(CoreWork(), time, SixWide(), QuietRates()), HasSubstr("no instruction"));
}

TEST(TopdownBounds, ExistOnlyForUndisturbedRecords) {
  EXPECT_EQ(WhyNoBounds(Status::kOk), "");
  EXPECT_THAT(WhyNoBounds(Status::kDegraded), HasSubstr("DEGRADED"));
  EXPECT_THAT(WhyNoBounds(Status::kInvalid), HasSubstr("INVALID"));
  EXPECT_NE(WhyNoBounds(Status::kFailed), "");
  EXPECT_NE(WhyNoBounds(Status::kSkipped), "");
}

// ---- The effect of disturbances ----------------------------------------------------------------

bool Holds(const BoundsOrReason& wide, const TopdownBounds& narrow) {
  if (!wide.bounds) return !wide.reason.empty();
  for (const auto& [node, bound] : *wide.bounds) {
    const auto found = narrow.find(node);
    if (found == narrow.end()) return false;
    if (bound.low > found->second.low + 1e-12) return false;
    if (bound.high < found->second.high - 1e-12) return false;
  }
  return true;
}

CoreWork RandomWork(std::mt19937& random) {
  const auto up_to = [&random](double most) {
    return std::uniform_real_distribution<double>(0, most)(random);
  };
  CoreWork work;
  work.instructions = up_to(4e6);
  work.conditional_branches = up_to(0.1 * work.instructions);
  work.fusible_instructions = up_to(0.1 * work.instructions);
  work.slow_instructions = up_to(1000);
  work.instruction_bytes = 5 * work.instructions;
  work.predicted_branches = up_to(5000);
  work.taken_branches = up_to(5000);
  work.fp[kPacked256] = up_to(2.5e6);
  work.fp[kPacked512] = up_to(1.2e6);
  work.loads = up_to(0.5 * work.instructions);
  work.stores = up_to(0.3 * work.instructions);
  work.code_bytes = up_to(20000);
  return work;
}

// A neighbour makes rates lower and costs higher. The bounds get wider, or there are none.
TEST(TopdownBounds, ADisturbedRateNeverMakesAnIntervalNarrower) {
  std::mt19937 random(5);
  int present = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const CoreWork work = RandomWork(random);
    const BoundsOrReason quiet = Bounded(work);
    if (!quiet.bounds) continue;
    ++present;
    for (const double by : {0.99, 0.9, 0.6, 0.2}) {
      std::vector<CoreRates> disturbed(8, QuietRates());
      *disturbed[0].slots *= by;
      *disturbed[1].loads *= by;
      *disturbed[2].stores *= by;
      *disturbed[3].fp[kPacked256] *= by;
      *disturbed[4].fp[kPacked512] *= by;
      *disturbed[5].mispredict_cycles /= by;
      *disturbed[6].link_cycles /= by;
      disturbed[7].spreads["slots"] = 1 - by;
      for (std::size_t i = 0; i < disturbed.size(); ++i) {
        EXPECT_TRUE(
            Holds(BoundTopdown(work, OneMillionCycles(), SixWide(), disturbed[i]), *quiet.bounds))
            << "trial " << trial << ", rate " << i << ", by " << by;
      }
    }
  }
  EXPECT_GT(present, 300);
}

TEST(TopdownBounds, StayFractionsInOrder) {
  std::mt19937 random(6);
  for (int trial = 0; trial < 500; ++trial) {
    const BoundsOrReason made = Bounded(RandomWork(random));
    ASSERT_NE(made.bounds.has_value(), !made.reason.empty());
    if (!made.bounds) continue;
    double lows = 0;
    for (const auto& [node, bound] : *made.bounds) {
      EXPECT_GE(bound.low, 0) << node;
      EXPECT_LE(bound.low, bound.high) << node;
      EXPECT_LE(bound.high, 1) << node;
      lows += bound.low;
    }
    EXPECT_LE(lows, 1);
  }
}

// ---- The inputs: counts and tables -------------------------------------------------------------

TEST(CoreWork, IsAbsentIfAnyCountIsAbsent) {
  std::map<std::string, std::optional<double>> events;
  for (const char* name : {"instructions",
                           "openmp_instructions",
                           "conditional_branches",
                           "branches_taken",
                           "openmp_branches",
                           "indirect_branches",
                           "loads",
                           "stores",
                           "load_bytes",
                           "store_bytes",
                           "code_bytes",
                           "slow_instructions",
                           "system_calls",
                           "fusible_instructions",
                           "instruction_bytes",
                           "FP_ARITH_INST_RETIRED.SCALAR_SINGLE",
                           "FP_ARITH_INST_RETIRED.128B_PACKED_SINGLE",
                           "FP_ARITH_INST_RETIRED.256B_PACKED_DOUBLE",
                           "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE",
                           "FP_ARITH_INST_RETIRED2.512B_PACKED_HALF"}) {
    events[std::string("exact/") + name] = 5;
  }
  events["exact/openmp_instructions"] = 2;
  events["exact/openmp_branches"] = 1;
  ASSERT_TRUE(CoreWorkOf(events));
  EXPECT_EQ(CoreWorkOf(events)->instructions, 3);        // 5 less the OpenMP runtime's 2
  EXPECT_EQ(CoreWorkOf(events)->predicted_branches, 9);  // 5 conditional, 5 indirect, less 1
  EXPECT_EQ(CoreWorkOf(events)->fp[kScalar], 5);
  EXPECT_EQ(CoreWorkOf(events)->fp[kPacked128], 5);
  EXPECT_EQ(CoreWorkOf(events)->fp[kPacked256], 5);
  EXPECT_EQ(CoreWorkOf(events)->fp[kPacked512], 10);
  EXPECT_EQ(CoreWorkOf(events)->loads, 5);
  EXPECT_FALSE(CoreWorkOf(events)->missed_branches);
  auto with_branches = events;
  with_branches["exact/minority_branches"] = 7;  // of an earlier version
  EXPECT_EQ(CoreWorkOf(with_branches)->missed_branches, 7);
  with_branches["exact/missed_branches"] = 3;
  EXPECT_EQ(CoreWorkOf(with_branches)->missed_branches, 3);
  for (auto& [name, value] : events) {
    const auto kept = value;
    value.reset();
    EXPECT_FALSE(CoreWorkOf(events)) << name;
    value = kept;
  }
  EXPECT_FALSE(CoreWorkOf({}));
}

// (1.2e6 - 0.1e6 - 0.05e6 - 100) instructions over 1.1e6 cycles of 6 slots.
TEST(TopdownBounds, ADisturbedRunBoundsRetiringFromBelow) {
  const TopdownBounds bounds = BoundDisturbed(MixedWork(), OneMillionCycles(), SixWide());
  EXPECT_NEAR(bounds.at("Retiring").low, 0.159076, 1e-6);
  EXPECT_EQ(bounds.at("Retiring").high, 1);
  EXPECT_EQ(bounds.at("Core_Bound").low, 0);
  EXPECT_NEAR(bounds.at("Core_Bound").high, 1 - 0.159076, 1e-6);
  CoreTime slower = OneMillionCycles();
  slower.seconds *= 2;
  EXPECT_NEAR(BoundDisturbed(MixedWork(), slower, SixWide()).at("Retiring").low, 0.079538, 1e-6);
  CoreTime no_clock = OneMillionCycles();
  no_clock.hertz_high = 0;
  EXPECT_TRUE(BoundDisturbed(MixedWork(), no_clock, SixWide()).empty());
  EXPECT_TRUE(BoundDisturbed(MixedWork(), OneMillionCycles(), {}).empty());
}

}  // namespace
}  // namespace topdnn
