// The slots per cycle of each CPU table.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "harness/topdown/metric.h"
#include "harness/topdown/perf_events.h"

namespace topdnn {
namespace {

TEST(CorePipeline, HasTheSlotsOfEachTablesFormulas) {
  const std::map<std::string, int> slots = {{"skylake_x", 4},
                                            {"ice_lake_x", 5},
                                            {"sapphire_rapids", 6},
                                            {"granite_rapids", 6},
                                            {"lunar_lake_p", 8},
                                            {"gracemont", 5},
                                            {"zen4", 6},
                                            {"zen5", 8},
                                            {"zen6", 8},
                                            {"haswell_x", 4},
                                            {"broadwell_x", 4},
                                            {"alder_lake_p", 6},
                                            {"raptor_lake_p", 6},
                                            {"meteor_lake_p", 6},
                                            {"crestmont", 6},
                                            {"skymont", 8},
                                            {"ampere_one", 4},
                                            {"olympus", 10},
                                            {"neoverse_v3", 10},
                                            {"neoverse_n3", 5},
                                            {"neoverse_v1", 8},
                                            {"neoverse_n2", 5},
                                            {"neoverse_n2_r0p0", 5},
                                            {"neoverse_v2", 8},
                                            {"neoverse_n1", 0}};  // N1 counts no slots
  for (const TopdownTable& table : TopdownTables()) {
    ASSERT_TRUE(slots.contains(table.cpu)) << table.cpu;
    EXPECT_EQ(table.pipeline.slots, slots.at(table.cpu)) << table.cpu;
    EXPECT_EQ(table.pipeline.source.empty(), table.pipeline.slots == 0) << table.cpu;
  }
}

// A core without events for Top-Down has a pipeline all the same.
TEST(CorePipeline, IsKnownWithoutATable) {
  for (const char* const name : {"zen", "zen2", "zen3"}) {
    Cpu cpu;
    cpu.microarchitecture = name;
    EXPECT_EQ(TopdownTableOf(cpu), nullptr) << name;
    EXPECT_EQ(PipelineOf(cpu).slots, 6) << name;
    EXPECT_FALSE(PipelineOf(cpu).source.empty()) << name;
  }
  Cpu cpu;
  cpu.microarchitecture = "zen4";
  EXPECT_EQ(PipelineOf(cpu).reorder_buffer, 320);
  cpu.microarchitecture = "another";
  EXPECT_EQ(PipelineOf(cpu).slots, 0);
}

}  // namespace
}  // namespace topdnn
