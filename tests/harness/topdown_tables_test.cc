// Checks every table with counts whose fractions are computed by hand.

#include <gtest/gtest.h>
#include <perfmon/pfmlib_perf_event.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "harness/topdown/advice.h"
#include "harness/topdown/metric.h"
#include "tests/harness/topdown_vectors.h"

namespace topdnn {
namespace {

std::map<std::string, double> AllOf(const TopdownResult& result) {
  std::map<std::string, double> values;
  for (const auto* level : {&result.level1, &result.level2, &result.level3, &result.instead}) {
    for (const auto& [name, value] : *level) {
      if (value) values[name] = *value;
    }
  }
  return values;
}

TEST(TopdownTables, GiveTheFractionsComputedByHand) {
  for (const Vector& vector : Vectors()) {
    SCOPED_TRACE(vector.cpu + " " + vector.label);
    const auto result = EvaluateTopdown(FindTopdownTable(vector.cpu), vector.counts, vector.smt);
    const auto values = AllOf(result);
    EXPECT_TRUE(result.missing.empty());
    ASSERT_EQ(values.size(), vector.expected.size());
    for (const auto& [name, value] : vector.expected) {
      ASSERT_EQ(values.count(name), 1u) << name;
      EXPECT_NEAR(values.at(name), value, 1e-12) << name;
    }
  }
}

TEST(TopdownTables, EveryTableHasAVector) {
  for (const TopdownTable& table : TopdownTables()) {
    bool found = false;
    for (const Vector& vector : Vectors()) {
      found = found || &FindTopdownTable(vector.cpu) == &table;
    }
    EXPECT_TRUE(found) << table.cpu;
    EXPECT_FALSE(table.source.empty()) << table.cpu;
  }
}

TEST(TopdownTables, AnAbsentEventMakesOnlyItsNodesNull) {
  for (const Vector& vector : Vectors()) {
    const TopdownTable& table = FindTopdownTable(vector.cpu);
    for (const auto& [absent, count] : vector.counts) {
      SCOPED_TRACE(vector.cpu + " " + vector.label + " without " + absent);
      Counts counts = vector.counts;
      counts.erase(absent);
      const auto result = EvaluateTopdown(table, counts, vector.smt);
      const auto values = AllOf(result);
      // Lion Cove's metrics are fractions of their own sum, and need no slots.
      const bool needed = vector.cpu != "lunar_lake_p" || !vector.label.starts_with("metrics") ||
                          absent != "TOPDOWN.SLOTS";
      EXPECT_EQ(values.size() < vector.expected.size(), needed);
      EXPECT_EQ(std::count(result.missing.begin(), result.missing.end(), absent), needed ? 1 : 0);
      for (const auto& [name, value] : values) EXPECT_NEAR(value, vector.expected.at(name), 1e-12);
    }
  }
}

TEST(TopdownTables, ReadOnlyEventsThatTheyDeclare) {
  for (const TopdownTable& table : TopdownTables()) {
    for (const bool smt : {false, true}) {
      for (const std::string& name : EvaluateTopdown(table, {}, smt).missing) {
        const bool declared =
            std::any_of(table.events.begin(), table.events.end(),
                        [&](const TopdownEvent& event) { return event.name == name; });
        EXPECT_TRUE(declared) << table.cpu << " " << name;
      }
    }
  }
}

// The events of a refinement are reported as missing only if some of them were counted.
TEST(TopdownTables, AnIncompleteRefinementIsReported) {
  const TopdownTable& table = FindTopdownTable("sapphire_rapids");
  EXPECT_TRUE(EvaluateTopdown(table, Metrics(6, 300), false).level3.empty());
  EXPECT_TRUE(EvaluateTopdown(table, Metrics(6, 300), false).level4.empty());
  Counts begun = Plus(Metrics(6, 300), kRapidsStalls);
  begun.erase("MEMORY_ACTIVITY.STALLS_L2_MISS");
  const auto result = EvaluateTopdown(table, begun, false);
  EXPECT_EQ(result.level3.size(), 5u);
  EXPECT_EQ(result.missing, (std::vector<std::string>{"MEMORY_ACTIVITY.STALLS_L2_MISS"}));
  // Each node is judged separately; the events of FLOPs do not count for it.
  Counts ports = Plus(Metrics(6, 300), kSapphirePorts);
  EXPECT_EQ(EvaluateTopdown(table, ports, false).level3.size(), 6u);
  EXPECT_TRUE(EvaluateTopdown(table, ports, false).missing.empty());
  EXPECT_TRUE(
      EvaluateTopdown(table, Plus(Metrics(6, 300), {{"EXE.AMX_BUSY", 1}}), false).level3.empty());
  const auto deeper = EventsOfPath(table, 0, 3, false);
  EXPECT_EQ(deeper.size(), EventsOfPath(table, 0, 2, false).size() + 6 + 9 + 8);
}

// The parts of a node of level 3 need no other event of level 3.
TEST(TopdownTables, Level4StandsAlone) {
  const auto result = EvaluateTopdown(
      FindTopdownTable("sapphire_rapids"),
      Plus(Metrics(6, 300), {{"CPU_CLK_UNHALTED.THREAD", 1000},
                             {"OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD:c4", 300},
                             {"OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD", 700}}),
      false);
  ASSERT_EQ(result.level4.size(), 2u);
  EXPECT_EQ(result.level4[0].first, "MEM_Bandwidth");
  EXPECT_NEAR(result.level4[0].second.value(), 0.3, 1e-12);
  EXPECT_EQ(result.level4[1].first, "MEM_Latency");
  EXPECT_NEAR(result.level4[1].second.value(), 0.4, 1e-12);
  EXPECT_TRUE(result.level3.empty());
  EXPECT_TRUE(result.missing.empty());
}

TEST(TopdownAdvice, ADeeperNodeReplacesItsParentIfTheParentIsRelevant) {
  TopdownResult result;
  result.level1 = {{"Backend_Bound", .5}};
  result.level2 = {{"Memory_Bound", .1}, {"Core_Bound", .4}};
  result.level3 = {{"DRAM_Bound", .3}, {"Divider", .05}, {"Ports_Utilized_0", .3}};
  const auto deep = AdviseOn(result);
  ASSERT_EQ(deep.size(), 1u);
  EXPECT_EQ(deep[0].node, "Ports_Utilized_0");
  result.level3.clear();
  ASSERT_EQ(AdviseOn(result).size(), 1u);
  EXPECT_EQ(AdviseOn(result)[0].node, "Core_Bound");
}

TEST(TopdownTables, FlopEventsCountLanes) {
  for (const TopdownTable& table : TopdownTables()) {
    for (const ExtraEvent& extra : table.extras) {
      EXPECT_TRUE(extra.metric == "flops" || extra.metric == "memory") << extra.event.name;
      EXPECT_EQ(extra.flops > 0, extra.metric == "flops" && extra.event.name != "EXE.AMX_BUSY");
    }
  }
  double widest = 0;
  for (const ExtraEvent& extra : FindTopdownTable("granite_rapids").extras) {
    widest = std::max(widest, extra.flops);
  }
  EXPECT_EQ(widest, 32);  // half precision in 512 bits
}

// A virtual machine with the architectural events only: the others open, and stay 0.
TEST(TopdownTables, EventsThatNeverCountAreMissing) {
  const Counts partial = {{"CPU_CLK_UNHALTED.THREAD", 1000},  {"UOPS_ISSUED.ANY", 0},
                          {"UOPS_RETIRED.RETIRE_SLOTS", 0},   {"INT_MISC.RECOVERY_CYCLES", 0},
                          {"IDQ_UOPS_NOT_DELIVERED.CORE", 0}, {"INST_RETIRED.ANY", 900},
                          {"BR_MISP_RETIRED.ALL_BRANCHES", 3}};
  const auto result = EvaluateTopdown(FindTopdownTable("skylake_x"), partial, false);
  for (const auto& [name, value] : result.level1) EXPECT_FALSE(value) << name;
  EXPECT_EQ(std::count(result.missing.begin(), result.missing.end(), "UOPS_ISSUED.ANY"), 1);
  const Counts shared = Plus(partial, {{"CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 0},
                                       {"CPU_CLK_UNHALTED.REF_XCLK", 25},  // architectural, too
                                       {"INT_MISC.RECOVERY_CYCLES_ANY", 0}});
  const auto both = EvaluateTopdown(FindTopdownTable("skylake_x"), shared, true);
  for (const auto& [name, value] : both.level1) EXPECT_FALSE(value) << name;
  Counts idle = partial;  // a region with few uops is another thing
  idle["UOPS_ISSUED.ANY"] = idle["UOPS_RETIRED.RETIRE_SLOTS"] = 40;
  EXPECT_TRUE(EvaluateTopdown(FindTopdownTable("skylake_x"), idle, false).level1[0].second);
}

// If Bad_Speculation is the remainder, or all slots are counted, level 1 adds up to 1.
TEST(TopdownTables, LevelOneAddsUpToOne) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> share(0.05, 1);
  for (int round = 0; round < 300; ++round) {
    const double a = share(random), b = share(random), c = share(random), d = share(random);
    const double s = 1e9, unit = s / (a + b + c + d);
    const Counts metrics = {{"TOPDOWN.SLOTS", s},
                            {"PERF_METRICS.FRONTEND_BOUND", a * unit},
                            {"PERF_METRICS.BAD_SPECULATION", b * unit},
                            {"PERF_METRICS.BACKEND_BOUND", c * unit},
                            {"PERF_METRICS.RETIRING", d * unit},
                            {"INT_MISC.UOP_DROPPING", 0.01 * s},
                            {"INT_MISC.CLEARS_COUNT", 1e6}};
    for (const char* cpu : {"ice_lake_x", "sapphire_rapids", "granite_rapids", "lunar_lake_p"}) {
      const auto result = EvaluateTopdown(FindTopdownTable(cpu), metrics, false);
      double sum = 0;
      for (const auto& [name, value] : result.level1) sum += value.value();
      EXPECT_NEAR(sum, 1, 1e-9) << cpu;
    }
  }
}

TEST(TopdownTables, FractionsAreNeverNegativeNorDividedByZero) {
  std::mt19937_64 random(11);
  std::uniform_int_distribution<int> small(0, 5);
  for (int round = 0; round < 100; ++round) {
    for (const TopdownTable& table : TopdownTables()) {
      Counts counts;
      for (const TopdownEvent& event : table.events) counts[event.name] = small(random);
      for (const auto& [name, value] : AllOf(EvaluateTopdown(table, counts, round % 2 == 0))) {
        EXPECT_GE(value, 0) << table.cpu << " " << name;
        EXPECT_TRUE(std::isfinite(value)) << table.cpu << " " << name;
      }
    }
  }
}

TEST(TopdownTables, AnUnknownCpuIsAnErrorThatListsTheKnownOnes) {
  try {
    FindTopdownTable("pentium");
    FAIL();
  } catch (const TopdownError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("pentium"), std::string::npos);
    for (const char* known : {"skylake_x", "zen5", "neoverse_v2", "gracemont"}) {
      EXPECT_NE(message.find(known), std::string::npos) << known;
    }
  }
}

// The raw codes were copied from the vendors' lists by hand; libpfm4 has an independent copy.
TEST(TopdownTables, RawCodesAgreeWithLibpfm4) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "libpfm4 knows these events, all of x86, only on x86";
#endif
  // libpfm4 reads its environment once, at the first use in the process.
  pfm_terminate();
  setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
  ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
  int compared = 0;
  for (const TopdownTable& table : TopdownTables()) {
    std::vector<TopdownEvent> events = table.events;
    for (const ExtraEvent& extra : table.extras) events.push_back(extra.event);
    for (const TopdownEvent& event : events) {
      if (event.libpfm4.empty()) continue;
      perf_event_attr attr{};
      attr.size = sizeof attr;
      pfm_perf_encode_arg_t encode{};
      encode.size = sizeof encode;
      encode.attr = &attr;
      const int result =
          pfm_get_os_event_encoding(event.libpfm4.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT, &encode);
      ASSERT_EQ(result, PFM_SUCCESS) << event.libpfm4 << ": " << pfm_strerror(result);
      EXPECT_EQ(attr.config, event.code) << table.cpu << " " << event.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 40);
}

}  // namespace
}  // namespace topdnn
