// The counts of `topdnn corun`: exact ones as in a profile, and Top-Down alone and beside the
// others, on a simulated PMU that counts time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/studies/corun/corun.h"
#include "bench/studies/corun/corun_counts.h"
#include "bench/studies/corun/corun_table.h"
#include "bench/studies/corun/corun_topdown.h"
#include "harness/exact/counter.h"
#include "harness/machine/cpu_set.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/bench/timed_pmu.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string Cpu() { return "cpus " + std::to_string(AllowedCpus().cpus.front()) + " "; }

nlohmann::json CorunOf(const std::vector<std::string>& workloads) {
  const TestFolder folder;
  const std::string file = (folder.path() / "corun.json").string();
  std::vector<std::string> arguments = {"corun", "--rounds", "6",  "--window",
                                        "0.01",  "--json",   file, "--workload"};
  for (const std::string& words : workloads) arguments.push_back(Cpu() + words);
  const Outcome outcome = RunProgram(arguments);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("not counted exactly (" + Cpu() + "probe idle"));
  return ReadJson(file);
}

TEST(CorunCountsTest, AStepIsCountedAsInAProfile) {
  const Availability exact = ExactCounter::Probe();
  if (!exact.works) GTEST_SKIP() << exact.reason;
  const nlohmann::json group =
      CorunOf({"lenet5 infer batch 2 threads 1", "probe idle", "command true"})["group"];
  const TestFolder folder;
  const std::string file = (folder.path() / "profile.json").string();
  const Outcome profiled =
      RunProgram({"profile", "lenet5", "--infer", "--batch", "2", "--threads", "1", "--counters",
                  "exact", "--no-isolated", "--iterations", "1", "--json", file, "--quiet"});
  ASSERT_EQ(profiled.exit_status, 0) << profiled.output;
  const nlohmann::json profile = ReadJson(file);
  const nlohmann::json& lenet = group[0];
  ASSERT_EQ(lenet["stages"].size(), profile["stages"].size());
  double instructions = 0;
  for (std::size_t s = 0; s < profile["stages"].size(); ++s) {
    const nlohmann::json& own = lenet["stages"][s];
    const nlohmann::json& other = profile["stages"][s];
    EXPECT_EQ(own["name"], other["name"]);
    EXPECT_EQ(own["flops_counted"], other["flops_counted"]) << own["name"];
    EXPECT_TRUE(own["counts_reason"].is_null());
    instructions += own["events"]["exact/instructions"].get<double>();
  }
  EXPECT_EQ(lenet["events"].size(), profile["step"]["events"].size());
  EXPECT_EQ(lenet["flops_counted"], profile["step"]["flops_counted"]);
  EXPECT_EQ(lenet["events"]["exact/instructions"], instructions);
  // (the code that a loop begins with depends on the alignment of its data)
  const double expected = profile["step"]["events"]["exact/instructions"];
  EXPECT_NEAR(instructions, expected, 0.01 * expected);
  for (const nlohmann::json& other : {group[1], group[2]}) {
    EXPECT_TRUE(other["events"].is_null());
    EXPECT_TRUE(other["flops_counted"].is_null());
    EXPECT_EQ(other["counts_reason"], "only networks are counted");
    EXPECT_TRUE(other["topdown"].is_null());
    EXPECT_EQ(other["topdown_reason"], "not supported: only networks are counted");
  }
}

CorunGroup RunOnPmu(const std::vector<std::string>& words, int refusal = 0) {
  std::vector<CorunWorkload> workloads;
  for (const std::string& one : words) workloads.push_back(ParseCorunWords(Cpu() + one));
  return RunCorun(workloads, ReadTopology(),
                  {.rounds = 6,
                   .window_seconds = 0.08,
                   .counting = {.exact = true,
                                .open_perf = [refusal] { return OpenTimedPmu(refusal); },
                                .table = &FindTopdownTable("zen4")}});
}

// A group forks, and a team of threads does not survive that.
#define SKIP_WITH_THREADS()                                                      \
  if (const auto tasks = std::filesystem::directory_iterator("/proc/self/task"); \
      std::distance(begin(tasks), end(tasks)) > 1)                               \
  GTEST_SKIP() << "a test before this one has started threads: run this one by itself"

void ExpectTopdown(const PmuCounts& read) {
  ASSERT_TRUE(read.topdown);
  EXPECT_NEAR(read.topdown->at("Retiring").value(), 0.5, 0.02);
  EXPECT_NEAR(read.topdown->at("Backend_Bound").value(), 0.25, 0.02);
  EXPECT_NEAR(read.topdown->at("Memory_Bound").value(), 0.125, 0.02);
  EXPECT_NEAR(read.topdown->at("Frontend_Bound").value(), 1.0 / 6, 0.02);
  EXPECT_NEAR(read.topdown->at("Bad_Speculation").value(), 1.0 / 12, 0.02);
  EXPECT_EQ(read.running_fraction, 1);
  EXPECT_GT(read.events.at("ex_ret_ops").value(), 0);
}

TEST(CorunTopdownTest, EachNetworkHasItAloneAndBesideTheOthers) {
  SKIP_WITH_THREADS();
  const std::string words = "lenet5 train batch 16 threads 1";
  const CorunGroup group = RunOnPmu({words, words, "probe idle"});
  ASSERT_EQ(group.members.size(), 3u);
  for (const std::size_t member : {0u, 1u}) {
    const CorunCounts& step = group.members[member].iteration.counts;
    ExpectTopdown(step.solo);
    ExpectTopdown(step.shared);
    EXPECT_EQ(step.topdown_reason, "");
    std::size_t with = 0;
    for (const CorunTimes& stage : group.members[member].stages) {
      if (stage.counts.topdown_reason.empty()) {
        ExpectTopdown(stage.counts.solo);
        ++with;
      } else {
        EXPECT_THAT(stage.counts.topdown_reason, HasSubstr("too short"));
        EXPECT_FALSE(stage.counts.solo.topdown && stage.counts.shared.topdown);
      }
    }
    EXPECT_GT(with, 0u);
  }
  // Equal workloads are counted once, because another process has other alignments.
  EXPECT_EQ(group.members[0].iteration.counts.events, group.members[1].iteration.counts.events);
  const std::string text = CorunTable(group, 100, Style{});
  EXPECT_THAT(text, AllOf(HasSubstr("Top-Down, alone > beside the others"),
                          HasSubstr("no Top-Down (" + Cpu() + "probe idle): not supported: only")));
}

TEST(CorunTopdownTest, WithoutAPmuItIsNotSupported) {
  SKIP_WITH_THREADS();
  const CorunGroup group = RunOnPmu({"lenet5 infer batch 1 threads 1"}, ENOENT);
  const CorunTimes& iteration = group.members[0].iteration;
  EXPECT_TRUE(iteration.solo);
  EXPECT_FALSE(iteration.counts.solo.topdown);
  EXPECT_THAT(iteration.counts.solo.events, IsEmpty());
  EXPECT_THAT(iteration.counts.topdown_reason, StartsWith("not supported: "));
  EXPECT_EQ(group.members[0].stages[0].counts.topdown_reason, iteration.counts.topdown_reason);
}

// A member with one stage of 1 ms, and the counts of a window: 100 cycles of six slots.
CorunMember MemberOfAStage() {
  const Summary time = {.median = 1e-3, .min = 1e-3, .p90 = 1e-3, .n = 9};
  CorunMember member;
  member.iteration.name = "iteration";
  member.iteration.solo = member.iteration.shared = time;
  member.stages = {member.iteration};
  member.stages[0].name = "conv1";
  return member;
}

CountsMessage MessageOfEvents() {
  CountsMessage message;
  message.step.reason = "not asked for";
  message.events = {"ls_not_halted_cyc", "ex_ret_ops"};
  message.event_passes = {0, 0};
  message.reading_seconds = 1e-6;
  return message;
}

WindowSamples WindowOf(double ops, double fraction = 1) {
  return {.stages = 1,
          .seconds = {100, fraction, ops, fraction, 100, fraction, ops, fraction},
          .waited = {}};
}

CorunMember WithCounts(const CountsMessage& message, const std::vector<WindowSamples>& solo,
                       const std::vector<WindowSamples>& shared, bool table = true) {
  CorunMember member = MemberOfAStage();
  AddCounts(message, solo, shared, {.table = table ? &FindTopdownTable("zen4") : nullptr}, member);
  return member;
}

TEST(CorunTopdownTest, IsThatOfTheWindowsOfItsCondition) {
  const CountsMessage message = MessageOfEvents();
  const CorunMember member = WithCounts(message, {WindowOf(300), WindowOf(420)}, {WindowOf(150)});
  for (const CorunTimes* times : {&member.iteration, &member.stages[0]}) {
    EXPECT_DOUBLE_EQ(times->counts.solo.topdown->at("Retiring").value(), 0.6);
    EXPECT_DOUBLE_EQ(times->counts.shared.topdown->at("Retiring").value(), 0.25);
    EXPECT_EQ(times->counts.solo.topdown->at("Backend_Bound"), std::nullopt);
    EXPECT_EQ(times->counts.topdown_reason, "");
  }
}

TEST(CorunTopdownTest, AbsentIsNotZero) {
  const auto reason = [](const CorunMember& member) {
    return member.stages[0].counts.topdown_reason;
  };
  CountsMessage message = MessageOfEvents();
  const double absent = std::numeric_limits<double>::quiet_NaN();
  const CorunMember uncounted = WithCounts(message, {WindowOf(absent, 0)}, {WindowOf(300)});
  EXPECT_EQ(uncounted.stages[0].counts.solo.events.at("ex_ret_ops"), std::nullopt);
  EXPECT_NE(reason(uncounted), "");
  // A window that was too short has no numbers; one that is cut has none, either.
  const CorunMember empty = WithCounts(message, {{.stages = 1, .seconds = {}, .waited = {}}},
                                       {{.stages = 1, .seconds = {1}, .waited = {}}});
  EXPECT_FALSE(empty.iteration.counts.solo.topdown);
  EXPECT_THAT(reason(empty), HasSubstr("--window"));
  const CorunMember multiplexed = WithCounts(message, {WindowOf(300, 0.5)}, {WindowOf(300)});
  EXPECT_THAT(reason(multiplexed), HasSubstr("on a counter for 50 %"));
  EXPECT_EQ(multiplexed.iteration.counts.solo.running_fraction, 0.5);
  EXPECT_THAT(reason(WithCounts(message, {WindowOf(300)}, {WindowOf(300)}, false)),
              HasSubstr("no Top-Down table"));
  message.reading_seconds = 2e-4;  // a fifth of the stage
  const CorunMember short_stage = WithCounts(message, {WindowOf(300)}, {WindowOf(300)});
  EXPECT_FALSE(short_stage.stages[0].counts.solo.topdown);
  EXPECT_THAT(short_stage.stages[0].counts.solo.events, IsEmpty());
  EXPECT_THAT(reason(short_stage), StartsWith("too short"));
}

TEST(CorunCountsTest, AMessageArrivesAsItWasSent) {
  CountsMessage message = MessageOfEvents();
  message.refusal = "not supported: \xff";
  message.step = {.events = {{"exact/loads", 3.0}, {"exact/x87", std::nullopt}},
                  .flops = 1e15 + 1,
                  .reason = "at one thread"};
  message.stages = {message.step, {}};
  const CountsMessage got = ParseCountsMessage(FormatCountsMessage(message));
  EXPECT_EQ(got.step.events, message.step.events);
  EXPECT_EQ(got.step.flops, 1e15 + 1);
  EXPECT_EQ(got.step.reason, "at one thread");
  ASSERT_EQ(got.stages.size(), 2u);
  EXPECT_EQ(got.stages[1].flops, std::nullopt);
  EXPECT_EQ(got.events, message.events);
  EXPECT_EQ(got.event_passes, message.event_passes);
  EXPECT_EQ(got.refusal, "not supported: \uFFFD");
  SequenceSamples samples;
  samples.events = {"a", "b"};
  samples.stages.resize(1);
  samples.stages[0].counts = {{.value = 1}, AbsentCount(), {.value = 3}, {.value = 4}};
  samples.step.counts = {{.value = 5, .running_fraction = 0.5}, {.value = 6}, {.value = 7}, {}};
  SequenceSamples copy;
  copy.events = samples.events;
  copy.stages.resize(1);
  AppendWindowCounts(WindowCounts(samples), copy);
  ASSERT_EQ(copy.stages[0].counts.size(), 4u);
  EXPECT_EQ(copy.stages[0].counts[1].value, std::nullopt);
  EXPECT_EQ(copy.stages[0].counts[3].value, 4);
  EXPECT_EQ(copy.step.counts[0].running_fraction, 0.5);
  EXPECT_EQ(copy.step.counts[2].value, 7);
}

TEST(CorunCountsTest, TheSourcesAreChecked) {
  ExpectRefused({{"corun", "--counters", "exakt", "--workload", "probe idle"}, "exact"});
  const Availability pmu = OpenPerf({}, PerfSetting::Here()).availability;
  if (pmu.works) GTEST_SKIP() << "this machine has a PMU";
  const Outcome outcome = RunProgram({"corun", "--counters", "perf", "--workload", "probe idle"});
  EXPECT_EQ(outcome.exit_status, kExitNothing) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("--counters perf: nothing can be counted: "));
}

}  // namespace
}  // namespace topdnn
