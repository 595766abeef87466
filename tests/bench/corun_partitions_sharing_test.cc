// The partitions of `topdnn corun`: the options, and runs on a fake of the kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/studies/corun/cache_curve.h"
#include "bench/studies/corun/corun.h"
#include "bench/studies/corun/corun_partitions.h"
#include "bench/studies/corun/corun_table.h"
#include "harness/machine/cpu_set.h"
#include "harness/resctrl/control_group.h"
#include "tests/resctrl/fake_resctrl.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ResctrlCapabilities Of(const FakeMachine& machine) {
  return ReadCapabilities(FakeResctrl(MakeFakeState(machine)));
}

// The message of the refusal; empty if there is none.
std::string RefusalOf(const PartitionOptions& options, const FakeMachine& machine = {},
                      std::size_t workloads = 2) {
  try {
    PlanPartitions(options, workloads, Of(machine));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(PlanPartitionsTest, EveryWorkloadGetsItsMaskAndItsBandwidth) {
  const PartitionPlan plan =
      PlanPartitions({.ways = "0xf,ff0", .bandwidth = "100,30"}, 2, Of(FakeMachine{}));
  ASSERT_EQ(plan.parts.size(), 2u);
  EXPECT_EQ(plan.parts[0].mask, 0xfu);
  EXPECT_EQ(plan.parts[1].mask, 0xff0u);
  EXPECT_EQ(plan.parts[0].bandwidth, 100);
  EXPECT_EQ(plan.parts[1].bandwidth, 30);
  EXPECT_THAT(plan.notes, IsEmpty());
}

TEST(PlanPartitionsTest, OverlapsAndRoundingAreSaid) {
  FakeMachine machine;
  machine.caches["L3"].shareable = 0xc00;
  const PartitionPlan plan =
      PlanPartitions({.ways = "3f,ff0", .bandwidth = "100,31"}, 2, Of(machine));
  EXPECT_EQ(plan.parts[1].bandwidth, 40);
  EXPECT_THAT(plan.notes,
              ElementsAre(AllOf(HasSubstr("3f and ff0 overlap"), HasSubstr("share 2 ways of L3")),
                          HasSubstr("devices also use the ways 0xc00"),
                          AllOf(HasSubstr("31 %"), HasSubstr("40 %"), HasSubstr("10 %"))));
}

TEST(PlanPartitionsTest, WhatTheMachineCannotDoIsRefused) {
  EXPECT_THAT(RefusalOf({.ways = "0,f"}), HasSubstr("the mask 0 is zero"));
  EXPECT_THAT(RefusalOf({.ways = "5,f"}), HasSubstr("the mask 5 is not contiguous"));
  EXPECT_THAT(RefusalOf({.ways = "f,1fff"}), HasSubstr("wider than this cache's mask 0xfff"));
  EXPECT_THAT(RefusalOf({.ways = "f"}), HasSubstr("has 1 value for 2 workloads"));
  EXPECT_THAT(RefusalOf({.ways = "f,f,f"}), HasSubstr("has 3 values for 2 workloads"));
  EXPECT_THAT(RefusalOf({.ways = "f,"}), HasSubstr("'' is not a mask"));
  EXPECT_THAT(RefusalOf({.ways = "f,way"}), HasSubstr("'way' is not a mask"));
  EXPECT_THAT(RefusalOf({.bandwidth = "100"}), HasSubstr("has 1 value for 2 workloads"));
  for (const char* const list : {"100,0", "100,9", "100,101", "100,-5", "100,x", "100,50%"}) {
    EXPECT_THAT(RefusalOf({.bandwidth = list}), HasSubstr("from 10 to 100")) << list;
  }
  FakeMachine wide;
  wide.caches["L3"].least_bits = 2;
  EXPECT_THAT(RefusalOf({.ways = "1,f"}, wide), HasSubstr("fewer than the 2 adjacent bits"));
  FakeMachine few;
  few.caches["L3"].closids = 2;
  EXPECT_THAT(RefusalOf({.ways = "f,f"}, few), HasSubstr("2 classes of service (CLOSIDs)"));
  FakeMachine monitor;
  monitor.caches.clear();
  monitor.bandwidth = false;
  EXPECT_THAT(RefusalOf({.ways = "f,f"}, monitor), HasSubstr("--cache-curve"));
  EXPECT_THAT(RefusalOf({.sweep_ways = true}, monitor), HasSubstr("--cache-curve"));
  EXPECT_THAT(RefusalOf({.bandwidth = "50,50"}, monitor), HasSubstr("no info/MB"));
}

TEST(PlanPartitionsTest, SparseMasksAreAllowedWhereTheMachineHasThem) {
  FakeMachine machine;
  machine.caches["L3"].sparse = true;
  EXPECT_EQ(RefusalOf({.ways = "5,f0f"}, machine), "");
}

TEST(PlanPartitionsTest, BandwidthInAnotherUnitIsRefused) {
  const auto state = MakeFakeState();
  for (auto& [domain, value] : state->groups[""].schemata["MB"]) value = 2048;  // AMD
  const ResctrlCapabilities machine = ReadCapabilities(FakeResctrl(state));
  EXPECT_THROW(PlanPartitions({.bandwidth = "50,50"}, 2, machine), UsageError);
}

TEST(StepsOfWaysTest, EveryStepDividesTheWholeCache) {
  CacheControl cache;
  cache.rules = {.all = 0x3f, .least_bits = 2, .sparse = false, .shareable = 0};
  const std::vector<WaysStep> steps = StepsOfWays(cache, true);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps.front().ways, 2);
  EXPECT_EQ(steps.back().ways, 4);
  for (const WaysStep& step : steps) {
    EXPECT_EQ(step.mask & step.rest, 0u);
    EXPECT_EQ(step.mask | step.rest, 0x3fu);
    EXPECT_EQ(MaskProblem(step.mask, cache.rules), "");
    EXPECT_EQ(MaskProblem(step.rest, cache.rules), "");
  }
  EXPECT_EQ(StepsOfWays(cache, false).back().mask, 0x3fu);
  cache.rules.all = 0x7;
  EXPECT_THAT(StepsOfWays(cache, true), IsEmpty());
}

TEST(PartitionsTest, GroupsAreMadeSetAndRemoved) {
  const auto state = MakeFakeState();
  FakeResctrl(state).MakeFolder("others");
  FakeResctrl(state).MakeFolder("topdnn-" + std::to_string(PidNamespace()) + "-1073741800-1-0");
  {
    const Partitions partitions(std::make_unique<FakeResctrl>(state),
                                {.ways = "f,ff0", .bandwidth = "100,25"}, 2);
    ASSERT_EQ(state->groups.size(), 4u);
    EXPECT_THAT(partitions.plan().notes, testing::Contains(HasSubstr("removed 1 group")));
    std::vector<std::uint64_t> masks, bandwidths;
    for (const auto& [name, group] : state->groups) {
      if (!name.starts_with("topdnn-")) continue;
      masks.push_back(group.schemata.at("L3").at(0));
      EXPECT_EQ(group.schemata.at("L3").at(1), masks.back());  // both sockets
      bandwidths.push_back(group.schemata.at("MB").at(1));
    }
    EXPECT_THAT(masks, ElementsAre(0xf, 0xff0));
    EXPECT_THAT(bandwidths, ElementsAre(100, 30));
  }
  EXPECT_EQ(state->groups.size(), 2u);
  EXPECT_TRUE(state->groups.contains("others"));
}

TEST(PartitionsTest, ARefusalOfTheKernelLeavesNoGroup) {
  const auto state = MakeFakeState();
  FakeResctrl(state).MakeFolder("a");
  FakeResctrl(state).MakeFolder("b");
  state->machine.bandwidth_closids = 4;  // one is left for two workloads
  EXPECT_THROW(Partitions(std::make_unique<FakeResctrl>(state), {.ways = "f,f"}, 2), UsageError);
  EXPECT_EQ(state->groups.size(), 3u);
}

TEST(PartitionsTest, CodeAndDataGetTheSameMask) {
  FakeMachine machine;
  machine.caches = {{"L3CODE", {}}, {"L3DATA", {}}};
  const auto state = MakeFakeState(machine);
  const Partitions partitions(std::make_unique<FakeResctrl>(state), {.ways = "3,c"}, 2);
  std::set<std::uint64_t> masks;
  for (const auto& [name, group] : state->groups) {
    EXPECT_EQ(group.schemata.at("L3CODE"), group.schemata.at("L3DATA"));
    masks.insert(group.schemata.at("L3CODE").at(0));
  }
  EXPECT_TRUE(masks.contains(0x3) && masks.contains(0xc));
}

TEST(PartitionsTest, AMachineMayDivideOnlyL2) {
  FakeMachine machine;
  machine.caches = {{"L2", {.all = 0xff, .closids = 4}}};
  machine.bandwidth = false;
  machine.monitor = false;
  machine.domains = {0, 1, 2, 3};
  const auto state = MakeFakeState(machine);
  Partitions partitions(std::make_unique<FakeResctrl>(state), {.ways = "f,f0"}, 2);
  EXPECT_EQ(partitions.cache()->cache, "L2");
  EXPECT_EQ(std::prev(state->groups.end())->second.schemata.at("L2").at(3), 0xf0u);
  partitions.BeginWindow();
  partitions.EndWindow(0);
  EXPECT_FALSE(partitions.ReadingsOf(0, 0).occupancy);
}

// The kernel may set another bandwidth than it is asked for.
TEST(PartitionsTest, TheBandwidthIsReadBack) {
  FakeMachine machine;
  machine.granularity = 25;
  const auto state = MakeFakeState(machine);
  state->texts["info/MB/bandwidth_gran"] = "10\n";
  const Partitions partitions(std::make_unique<FakeResctrl>(state), {.bandwidth = "30,100"}, 2);
  EXPECT_EQ(partitions.plan().parts[0].bandwidth, 50);
}

TEST(PartitionsTest, ReadingsAreMediansOfWindows) {
  const auto state = MakeFakeState();
  Partitions partitions(std::make_unique<FakeResctrl>(state), {.ways = "f,f0"}, 2);
  const std::string name = std::prev(state->groups.end())->first;  // of the second workload
  auto& counters = state->groups.at(name).counters;
  int total = 0;
  for (const int occupied : {1000, 3000, 2000}) {
    partitions.BeginWindow();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    counters["mon_L3_00/llc_occupancy"] = std::to_string(occupied) + "\n";
    counters["mon_L3_01/mbm_total_bytes"] = std::to_string(total += 1000000) + "\n";
    counters["mon_L3_01/mbm_local_bytes"] = "Unavailable\n";
    partitions.EndWindow(2);
  }
  const PartitionReadings readings = partitions.ReadingsOf(2, 1);
  EXPECT_EQ(readings.occupancy, 2000);
  ASSERT_TRUE(readings.bytes_per_second);
  EXPECT_GT(*readings.bytes_per_second, 0);
  EXPECT_LE(*readings.bytes_per_second, 1e9);  // a megabyte in a millisecond or more
  EXPECT_FALSE(readings.local_bytes_per_second);
  EXPECT_EQ(partitions.ReadingsOf(2, 0).occupancy, 0);
  EXPECT_FALSE(partitions.ReadingsOf(0, 0).occupancy);
  EXPECT_FALSE(partitions.ReadingsOf(9, 0).occupancy);
}

// Workloads that need little, on the first CPU.
std::vector<CorunWorkload> Little(std::size_t count) {
  const std::string cpu = "cpus " + std::to_string(AllowedCpus().cpus.front());
  return std::vector<CorunWorkload>(count, ParseCorunWords(cpu + " probe branch"));
}

FakeMachine SmallMachine() {
  FakeMachine machine;
  machine.caches["L3"].all = 0xf;
  machine.every_process = true;
  return machine;
}

TEST(WaysSweepTest, EveryStepSetsTheWaysOfAll) {
  const auto state = MakeFakeState(SmallMachine());
  Partitions partitions(std::make_unique<FakeResctrl>(state), {.sweep_ways = true}, 2);
  state->writes.clear();
  const CacheCurve curve =
      RunWaysSweep(Little(2), ReadTopology(), partitions, {.rounds = 6, .window_seconds = 0.02});
  ASSERT_EQ(curve.points.size(), 3u);
  std::set<std::string> lines;
  for (const std::string& write : state->writes) {
    lines.insert(write.substr(write.rfind('-') + 1));  // the number of the group, and the line
  }
  EXPECT_THAT(lines, ElementsAre("0/schemata: L3:0=1;1=1\n", "0/schemata: L3:0=3;1=3\n",
                                 "0/schemata: L3:0=7;1=7\n", "0/schemata: L3:0=f;1=f\n",
                                 "1/schemata: L3:0=8;1=8\n", "1/schemata: L3:0=c;1=c\n",
                                 "1/schemata: L3:0=e;1=e\n"));
  const auto json = CacheCurveJson(curve);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0].at("ways"), 1);
  EXPECT_EQ(json[2].at("ways"), 3);
  EXPECT_EQ(json[1].at("mask"), "0x3");
  EXPECT_EQ(json[1].at("llc_occupancy_bytes"), 0);
  for (const auto& row : json) {
    for (const char* const key : {"slowdown", "ci95", "stages", "status"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
  }
  EXPECT_THAT(CacheCurveTable(curve, 15, Style{}),
              AllOf(HasSubstr("1 way "), HasSubstr("0x7"), HasSubstr("by the ways")));
}

TEST(WaysSweepTest, AnErrorOfTheKernelEndsIt) {
  const auto state = MakeFakeState(SmallMachine());
  Partitions partitions(std::make_unique<FakeResctrl>(state), {.sweep_ways = true}, 1);
  state->errors[std::prev(state->groups.end())->first + "/schemata"] = EIO;
  EXPECT_THROW(RunWaysSweep(Little(1), ReadTopology(), partitions, {.window_seconds = 0.02}),
               ResctrlError);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no process is left
}

TEST(CorunTableTest, APartitionHasALine) {
  CorunGroup group;
  group.notes = {"the masks overlap"};
  CorunMember member;
  member.workload = "net";
  member.cpus = {0};
  member.status = Status::kSkipped;
  member.reason = "none";
  member.partition = {.mask = 0xf0, .bandwidth = 20};
  member.readings = {.occupancy = 3 << 20, .bytes_per_second = 5e9, .local_bytes_per_second = {}};
  group.members = {member};
  group.rounds = 6;
  EXPECT_THAT(CorunTable(group, 15, Style{}),
              AllOf(HasSubstr("ways 0xf0, bandwidth 20 %, occupies 3.00 MiB, memory 5.00 GB/s"),
                    HasSubstr("note: the masks overlap"), Not(HasSubstr("this socket"))));
  const auto json = CorunMemberJson(member);
  EXPECT_EQ(json.at("ways"), "0xf0");
  EXPECT_EQ(json.at("bandwidth_percent"), 20);
  EXPECT_EQ(json.at("llc_occupancy_bytes"), 3 << 20);
  EXPECT_TRUE(json.at("local_memory_bytes_per_second").is_null());
}

}  // namespace
}  // namespace topdnn
