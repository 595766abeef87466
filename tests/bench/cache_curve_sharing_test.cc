// `topdnn corun --cache-curve`: the neighbour's CPU, its part of the cache, and the output.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/studies/corun/cache_curve.h"
#include "harness/machine/topology.h"
#include "harness/sharing/occupant_member.h"
#include "harness/text/errors.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Cores with two hyperthreads each (0,4), (1,5), (2,6), (3,7); two last caches.
Topology TwoCaches() {
  Topology topology;
  topology.allowed = {0, 1, 2, 3, 4, 5, 6, 7};
  topology.cpus_of_cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  topology.cpus_of_last_cache = {{0, 1, 4, 5}, {2, 3, 6, 7}};
  return topology;
}

CurveCpus CpusOf(const std::string& words, const Topology& topology) {
  return CpusOfCurve(ParseCorunWords(words), topology);
}

std::string RefusalOf(const std::string& words, const Topology& topology) {
  try {
    CpusOf(words, topology);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(CurveCpusTest, TheNeighbourHasACoreOfTheSameCache) {
  const CurveCpus any = CpusOf("lenet5 infer", TwoCaches());
  EXPECT_THAT(any.workload, ElementsAre(0, 4));
  EXPECT_EQ(any.neighbour, 1);
  EXPECT_FALSE(any.share_core);
  const CurveCpus second = CpusOf("cpus 3 lenet5 infer", TwoCaches());
  EXPECT_THAT(second.workload, ElementsAre(3));
  EXPECT_EQ(second.neighbour, 2);  // not 7, the hyperthread of CPU 3
  EXPECT_FALSE(second.share_core);
}

TEST(CurveCpusTest, AHyperthreadIsTakenOnlyIfNoCoreIsLeft) {
  const CurveCpus cpus = CpusOf("cpus 2,3,6 lenet5 infer", TwoCaches());
  EXPECT_EQ(cpus.neighbour, 7);
  EXPECT_TRUE(cpus.share_core);
}

TEST(CurveCpusTest, WithoutASharedCacheItIsRefused) {
  EXPECT_THAT(RefusalOf("cpus 2,3,6,7 lenet5 infer", TwoCaches()),
              AllOf(HasSubstr("share their last cache with no other CPU"), HasSubstr("cpus LIST")));
  EXPECT_THAT(RefusalOf("cpus 0,2 lenet5 infer", TwoCaches()), HasSubstr("several last caches"));
  EXPECT_THAT(RefusalOf("cpus 9 lenet5 infer", TwoCaches()), HasSubstr("may use the CPUs"));
  EXPECT_THAT(RefusalOf("lenet5 infer threads 4", TwoCaches()), HasSubstr("fewer threads"));
  Topology alone;
  alone.allowed = {0};
  alone.cpus_of_cores = {{0}};
  alone.cpus_of_last_cache = {{0}};
  EXPECT_THAT(RefusalOf("lenet5 infer", alone), HasSubstr("with no other CPU"));
  Topology own = TwoCaches();  // a last cache for each core
  own.cpus_of_last_cache = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  EXPECT_THAT(RefusalOf("cpus 0,4 lenet5 infer", own), HasSubstr("with no other CPU"));
  own.cpus_of_last_cache.clear();
  EXPECT_THAT(RefusalOf("lenet5 infer", own), HasSubstr("not known"));
}

TEST(OccupantTest, ItsPartsAreEighthsOfTheCache) {
  constexpr std::size_t kCache = std::size_t{32} << 20;
  for (std::size_t part = 0; part < kCacheParts; ++part) {
    EXPECT_EQ(OccupiedBytes(kCache, part), part * (kCache / 8));
  }
  // A cache of 30.25 MiB: a part has whole lines on each of the chains.
  EXPECT_NEAR(static_cast<double>(OccupiedBytes(31719424, 4)), 31719424 / 2.0, 4096);
  EXPECT_GT(OccupantLead(kCache), OccupantLead(0));
}

TEST(OccupantTest, ItMeasuresAnAccessAtEverySize) {
  const auto occupant = MakeOccupantMember(std::size_t{1} << 20);
  ASSERT_EQ(occupant->stages().size(), 1u);
  std::vector<double> memory(100000);
  for (const std::size_t part : {0u, 3u, 7u, 0u}) {
    IterationLog log(memory);
    const auto begin = GroupClock::now() + std::chrono::milliseconds(2);
    occupant->Run({begin, begin + std::chrono::milliseconds(100), part}, log);
    ASSERT_GT(log.values(), 0u);
    EXPECT_GT(memory[0], 0);
  }
}

TEST(OccupantTest, AMissTakesLongerThanAHit) {
  // (far smaller than the last cache, and larger than L1)
  const auto occupant = MakeOccupantMember(std::size_t{4} << 20);
  const auto least = [&](std::size_t setting) {
    std::vector<double> memory(100000);
    IterationLog log(memory);
    const auto begin = GroupClock::now() + std::chrono::milliseconds(2);
    occupant->Run({begin, begin + std::chrono::milliseconds(100), setting}, log);
    memory.resize(log.values());
    return memory.empty() ? 0 : *std::min_element(memory.begin(), memory.end());
  };
  const double miss = least(kMissSetting);
  if (miss == 0) GTEST_SKIP() << "this architecture cannot flush its caches in user mode";
  EXPECT_GT(miss, least(1));
}

TEST(HeldShareTest, IsTheShareOfHits) {
  EXPECT_DOUBLE_EQ(*HeldShare(4e-9, 4e-9, 24e-9), 1);
  EXPECT_DOUBLE_EQ(*HeldShare(9e-9, 4e-9, 24e-9), 0.75);
  EXPECT_DOUBLE_EQ(*HeldShare(24e-9, 4e-9, 24e-9), 0);
  EXPECT_DOUBLE_EQ(*HeldShare(30e-9, 4e-9, 24e-9), 0);
  EXPECT_DOUBLE_EQ(*HeldShare(3e-9, 4e-9, 24e-9), 1);
  EXPECT_FALSE(HeldShare(4e-9, 4e-9, 5e-9));  // no clear difference
  EXPECT_FALSE(HeldShare({}, 4e-9, 24e-9));
  EXPECT_FALSE(HeldShare(4e-9, {}, 24e-9));
  EXPECT_FALSE(HeldShare(4e-9, 4e-9, {}));
}

TEST(OccupantTest, ACacheLargerThanMemoryIsRefused) {
  EXPECT_THROW(MakeOccupantMember(std::size_t{1} << 60), InputError);
  EXPECT_THROW(MakeOccupantMember(0), InputError);
}

bool HasNeighbour() {
  try {
    CpusOf("lenet5 infer batch 1", ReadTopology());
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

TEST(CacheCurveTest, ATinyRunHasAllKeys) {
  if (!HasNeighbour()) GTEST_SKIP() << "no two CPUs that this process may use share a last cache";
  const TestFolder folder;
  const std::string file = folder.path() / "curve.json";
  const Outcome outcome = RunProgram({"corun", "--cache-curve", "--rounds", "6", "--window", "0.02",
                                      "--json", file, "--workload", "lenet5 infer batch 1"});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("occupied"), HasSubstr("c1"), HasSubstr("access"),
                                    HasSubstr("the neighbour runs on CPU")));
  const nlohmann::json json = ReadJson(file);
  const nlohmann::json& curve = json.at("cache_curve");
  ASSERT_EQ(curve.size(), kCacheParts);
  const auto cache = json.at("cache_bytes").get<std::size_t>();
  for (std::size_t part = 0; part < kCacheParts; ++part) {
    const nlohmann::json& row = curve[part];
    EXPECT_EQ(row.at("occupied_bytes"), OccupiedBytes(cache, part));
    EXPECT_TRUE(row.contains("slowdown"));
    EXPECT_TRUE(row.contains("ci95"));
    EXPECT_TRUE(row.contains("access_seconds"));
    EXPECT_TRUE(row.contains("access_seconds_alone"));
    EXPECT_TRUE(row.contains("held_bytes"));
    if (!row.at("held_bytes").is_null()) {
      EXPECT_LE(row.at("held_bytes"), row.at("occupied_bytes"));
    }
    const auto& stages = row.at("stages");
    ASSERT_FALSE(stages.empty());
    // (the number of reorders depends on the CPU)
    EXPECT_EQ(std::count_if(stages.begin(), stages.end(),
                            [](const auto& stage) { return stage.at("pass") != "reorder"; }),
              7);
    EXPECT_TRUE(row.at("stages")[0].contains("ci95"));
  }
}

TEST(CacheCurveTest, NeedsOneWorkloadAndNoPartitions) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--workload", "probe fma", "probe l2"},
        {"--workload", "probe fma", "--ways", "f"},
        {"--matrix", "probe fma,probe l2"},
        {"--workload", "probe fma", "--matrix", "probe fma,probe l2"}}) {
    std::vector<std::string> arguments = {"corun", "--cache-curve"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("--cache-curve"));
  }
}

CachePoint PointOf(std::size_t bytes, double slowdown) {
  const Summary summary{.median = 1e-3, .min = 1e-3, .p90 = 1e-3, .n = 9};
  CachePoint point;
  point.occupied_bytes = bytes;
  point.access.shared = Summary{.median = 5e-9, .min = 5e-9, .p90 = 5e-9, .n = 9};
  const auto times = [&](const char* name, double factor) {
    CorunTimes result;
    result.name = name;
    result.pass = "forward";
    result.solo = result.shared = summary;
    result.slowdown = Slowdown{.median = factor, .ci95 = {factor - 0.01, factor + 0.01}};
    result.verdict = VerdictOf(result.slowdown);
    return result;
  };
  point.member.iteration = times("iteration", slowdown);
  point.member.stages = {times("steady", 1), times("hungry", 2 * slowdown)};
  return point;
}

TEST(CacheCurveTableTest, HasARowForEachPartAndTheHungriestStageFirst) {
  CacheCurve curve;
  curve.workload = "net";
  curve.cpus = {0};
  curve.cache = "L3";
  curve.cache_bytes = 8 << 20;
  curve.rounds = 6;
  curve.points = {PointOf(0, 1), PointOf(4 << 20, 1.5)};
  const std::string text = CacheCurveTable(curve, 1, Style{});
  EXPECT_THAT(text, AllOf(HasSubstr("L3 of 8.00 MiB"), HasSubstr("1.490-1.510"), HasSubstr("5.00"),
                          HasSubstr("3.000"), HasSubstr("the other 1 stage")));
  EXPECT_LT(text.find("4.00 MiB"), text.find("hungry"));
  EXPECT_EQ(text.find("steady"), std::string::npos);
  EXPECT_EQ(text.find("mask"), std::string::npos);
  // Absent figures stay absent.
  curve.points[1].access = {};
  curve.points[1].member.iteration.slowdown.reset();
  const auto json = CacheCurveJson(curve);
  EXPECT_TRUE(json[1].at("access_seconds").is_null());
  EXPECT_TRUE(json[1].at("slowdown").is_null());
  EXPECT_EQ(json[0].at("access_seconds"), 5e-9);
  EXPECT_THAT(CacheCurveTable(curve, 1, Style{}), HasSubstr("n/a"));
}

TEST(CacheCurveTableTest, MarksPartsThatWereNotHeld) {
  CacheCurve curve;
  curve.cache = "L3";
  curve.points = {PointOf(0, 1), PointOf(4 << 20, 1.5), PointOf(8 << 20, 1.6)};
  curve.points[0].held_bytes = 0;
  curve.points[1].held_bytes = 3.9 * (1 << 20);
  curve.points[2].held_bytes = 2 * (1 << 20);
  const std::string text = CacheCurveTable(curve, 1, Style{});
  EXPECT_THAT(text, HasSubstr("* not held: 8.00 MiB*: "));
  EXPECT_EQ(text.find("4.00 MiB*"), std::string::npos);
  EXPECT_EQ(CacheCurveJson(curve)[2].at("held"), false);
  EXPECT_EQ(CacheCurveJson(curve)[1].at("held"), true);
}

}  // namespace
}  // namespace topdnn
