// Counts of cores whose events count the slots of each node, for topdown_vectors.h.

#ifndef TOPDNN_TESTS_HARNESS_TOPDOWN_SLOT_VECTORS_H_
#define TOPDNN_TESTS_HARNESS_TOPDOWN_SLOT_VECTORS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace topdnn {

using Counts = std::map<std::string, double, std::less<>>;

// S = 4 * 1000. FE 800/S. Bad (2200 - 2000 + 4*50)/S. Ret 2000/S. BE the rest. Fetch_Latency
// 4*100/S. Mispredicts .1 * 30/40.
inline Counts Haswell(const std::pair<const std::string, double>& recovery, const std::string& one,
                      const std::string& two, const std::string& three) {
  return {recovery,
          {"CPU_CLK_UNHALTED.THREAD", 1000},
          {"UOPS_ISSUED.ANY", 2200},
          {"UOPS_RETIRED.RETIRE_SLOTS", 2000},
          {"IDQ_UOPS_NOT_DELIVERED.CORE", 800},
          {"IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 100},
          {"BR_MISP_RETIRED.ALL_BRANCHES", 30},
          {"MACHINE_CLEARS.COUNT", 10},
          {"INST_RETIRED.ANY", 1000},
          {"CYCLE_ACTIVITY.STALLS_LDM_PENDING", 150},
          {"CYCLE_ACTIVITY.CYCLES_NO_EXECUTE", 250},
          {"RESOURCE_STALLS.SB", 50},
          {"RS_EVENTS.EMPTY_CYCLES", 20},
          {"UOPS_EXECUTED." + one, 750},
          {"UOPS_EXECUTED." + two, 550},
          {"UOPS_EXECUTED." + three, 300}};
}
inline const Counts kHaswell = Haswell({"INT_MISC.RECOVERY_CYCLES", 50}, "CORE_CYCLES_GE_1",
                                       "CORE_CYCLES_GE_2", "CORE_CYCLES_GE_3");
// Of 250 + 750 - 550 + 50 cycles, 150 + 50 wait for memory. The front end is not slow enough for
// the scheduler's empty cycles to count.
inline const std::map<std::string, double> kHaswellNodes = {
    {"Frontend_Bound", .2},       {"Bad_Speculation", .1},
    {"Backend_Bound", .2},        {"Retiring", .5},
    {"Fetch_Latency", .1},        {"Fetch_Bandwidth", .1},
    {"Branch_Mispredicts", .075}, {"Machine_Clears", .025},
    {"Memory_Bound", .08},        {"Core_Bound", .12}};
inline const Counts kHaswellLoads = {{"CYCLE_ACTIVITY.STALLS_L1D_PENDING", 110},
                                     {"CYCLE_ACTIVITY.STALLS_L2_PENDING", 80},
                                     {"MEM_LOAD_UOPS_RETIRED.L3_HIT", 21},
                                     {"MEM_LOAD_UOPS_RETIRED.L3_MISS", 1}};
inline const std::map<std::string, double> kHaswellLevel3 = {{"L1_Bound", .04},
                                                             {"L2_Bound", .03},
                                                             {"L3_Bound", .06},
                                                             {"DRAM_Bound", .02},
                                                             {"Store_Bound", .05}};

// S = s * 1000; each count is its share of S.
inline const std::map<std::string, double> kAtomParts = {
    {"TOPDOWN_FE_BOUND.FRONTEND_LATENCY", .15},
    {"TOPDOWN_FE_BOUND.FRONTEND_BANDWIDTH", .05},
    {"TOPDOWN_BAD_SPECULATION.MISPREDICT", .06},
    {"TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS", .04},
    {"TOPDOWN_BE_BOUND.ALLOC_RESTRICTIONS", .1},
    {"TOPDOWN_FE_BOUND.ICACHE", .07},
    {"TOPDOWN_FE_BOUND.ITLB_MISS", .03},
    {"TOPDOWN_FE_BOUND.BRANCH_DETECT", .04},
    {"TOPDOWN_FE_BOUND.BRANCH_RESTEER", .01},
    {"TOPDOWN_FE_BOUND.CISC", .02},
    {"TOPDOWN_FE_BOUND.DECODE", .011},
    {"TOPDOWN_FE_BOUND.PREDECODE", .012},
    {"TOPDOWN_FE_BOUND.OTHER", .007},
    {"TOPDOWN_BAD_SPECULATION.NUKE", .025},
    {"TOPDOWN_BAD_SPECULATION.FASTNUKE", .015},
    {"TOPDOWN_BE_BOUND.MEM_SCHEDULER", .08},
    {"TOPDOWN_BE_BOUND.NON_MEM_SCHEDULER", .05},
    {"TOPDOWN_BE_BOUND.REGISTER", .03},
    {"TOPDOWN_BE_BOUND.REORDER_BUFFER", .02},
    {"TOPDOWN_BE_BOUND.SERIALIZATION", .005}};
inline const std::map<std::string, double> kAtomNodes = {{"Frontend_Bound", .2},
                                                         {"Bad_Speculation", .1},
                                                         {"Backend_Bound", .3},
                                                         {"Retiring", .4},
                                                         {"Fetch_Latency", .15},
                                                         {"Fetch_Bandwidth", .05},
                                                         {"Branch_Mispredicts", .06},
                                                         {"Machine_Clears", .04},
                                                         {"Core_Bound", .1},
                                                         {"Resource_Bound", .2},
                                                         {"ICache_Misses", .07},
                                                         {"ITLB_Misses", .03},
                                                         {"Branch_Detect", .04},
                                                         {"Branch_Resteer", .01},
                                                         {"CISC", .02},
                                                         {"Decode", .011},
                                                         {"Predecode", .012},
                                                         {"Other_FB", .007},
                                                         {"Nuke", .025},
                                                         {"Fast_Nuke", .015},
                                                         {"Mem_Scheduler", .08},
                                                         {"Non_Mem_Scheduler", .05},
                                                         {"Register", .03},
                                                         {"Reorder_Buffer", .02},
                                                         {"Serialization", .005}};
inline Counts Atom(double s, const std::vector<std::string>& level1) {
  const double slots = s * 1000;
  Counts counts = {{"CPU_CLK_UNHALTED.CORE", 1000},
                   {level1[0], .2 * slots},
                   {level1[1], .1 * slots},
                   {level1[2], .3 * slots},
                   {level1[3], .4 * slots}};
  for (const auto& [name, share] : kAtomParts) counts[name] = share * slots;
  return counts;
}

inline Counts NeoverseFlushed(double s) {
  return {{"CPU_CYCLES", 1000},
          {"STALL_SLOT", 500 * s},
          {"STALL_SLOT_FRONTEND", 200 * s},
          {"STALL_SLOT_BACKEND", 300 * s},
          {"OP_RETIRED", 300 * s},
          {"OP_SPEC", 400 * s},
          {"STALL_FRONTEND_FLUSH", 50}};
}
inline const std::map<std::string, double> kFlushNodes = {
    {"Frontend_Bound", .15}, {"Bad_Speculation", .175}, {"Backend_Bound", .3}, {"Retiring", .375}};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_TOPDOWN_SLOT_VECTORS_H_
