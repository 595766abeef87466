// Counts for every Top-Down table; the comments compute the fractions by hand.

#ifndef TOPDNN_TESTS_HARNESS_TOPDOWN_VECTORS_H_
#define TOPDNN_TESTS_HARNESS_TOPDOWN_VECTORS_H_

#include <map>
#include <string>
#include <vector>

#include "tests/harness/topdown_slot_vectors.h"

namespace topdnn {

struct Vector {
  std::string cpu;
  std::string label;
  bool smt;
  Counts counts;
  std::map<std::string, double> expected;
};

// S = 4 * 1000. FE 800/S. Bad (2200 - 2000 + 4*50)/S. BE 1 - .2 - (2200 + 200)/S. Ret 2000/S.
// Fetch_Latency 4*100/S. Mispredicts .1 * 30/40. Memory .2 * (150+50)/(200 + 100 + .5*100 + 50).
// Heavy (2000 + 200 - 1800)/S.
inline const Counts kSkylake = {{"CPU_CLK_UNHALTED.THREAD", 1000},
                                {"UOPS_ISSUED.ANY", 2200},
                                {"UOPS_RETIRED.RETIRE_SLOTS", 2000},
                                {"UOPS_RETIRED.MACRO_FUSED", 200},
                                {"INST_RETIRED.ANY", 1800},
                                {"INT_MISC.RECOVERY_CYCLES", 50},
                                {"IDQ_UOPS_NOT_DELIVERED.CORE", 800},
                                {"IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 100},
                                {"BR_MISP_RETIRED.ALL_BRANCHES", 30},
                                {"MACHINE_CLEARS.COUNT", 10},
                                {"CYCLE_ACTIVITY.STALLS_MEM_ANY", 150},
                                {"CYCLE_ACTIVITY.STALLS_TOTAL", 200},
                                {"EXE_ACTIVITY.1_PORTS_UTIL", 100},
                                {"EXE_ACTIVITY.2_PORTS_UTIL", 100},
                                {"EXE_ACTIVITY.BOUND_ON_STORES", 50}};
inline const std::map<std::string, double> kSkylakeNodes = {
    {"Frontend_Bound", .2},       {"Bad_Speculation", .1},
    {"Backend_Bound", .2},        {"Retiring", .5},
    {"Fetch_Latency", .1},        {"Fetch_Bandwidth", .1},
    {"Branch_Mispredicts", .075}, {"Machine_Clears", .025},
    {"Memory_Bound", .1},         {"Core_Bound", .1},
    {"Heavy_Operations", .1},     {"Light_Operations", .4}};

inline Counts With(Counts counts, const Counts& more) {
  for (const auto& [name, value] : more) counts[name] = value;
  return counts;
}

// A thread works for 1600 cycles, and in three quarters of them the other thread of the core does,
// too: it has half of 1200 cycles and all of 400, so 1000.
inline const Counts kThreeQuartersShared = {{"CPU_CLK_UNHALTED.THREAD", 1600},
                                            {"CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 25},
                                            {"CPU_CLK_UNHALTED.REF_XCLK", 100}};

// The same core with both threads in use: S = 4 * 1000, recovery 100/2.
inline Counts SkylakeSmt() {
  Counts counts =
      With(With(kSkylake, kThreeQuartersShared), {{"INT_MISC.RECOVERY_CYCLES_ANY", 100}});
  counts.erase("INT_MISC.RECOVERY_CYCLES");
  return counts;
}

// S = 10000. Fetch_Latency (5*400 - 500)/S. Mispredicts .1 * 60/100.
// Memory .35 * (300+50)/(400 + 150 + .4*250 + 50). Heavy 4000/5000*1000/S + .4*(150-100)/1000.
inline const Counts kIceLakeBoth = {{"TOPDOWN.SLOTS", 10000},
                                    {"INT_MISC.UOP_DROPPING", 500},
                                    {"INT_MISC.CLEARS_COUNT", 100},
                                    {"IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 400},
                                    {"BR_MISP_RETIRED.ALL_BRANCHES", 60},
                                    {"MACHINE_CLEARS.COUNT", 40},
                                    {"CYCLE_ACTIVITY.STALLS_MEM_ANY", 300},
                                    {"CYCLE_ACTIVITY.STALLS_TOTAL", 400},
                                    {"EXE_ACTIVITY.1_PORTS_UTIL", 150},
                                    {"EXE_ACTIVITY.2_PORTS_UTIL", 250},
                                    {"EXE_ACTIVITY.BOUND_ON_STORES", 50},
                                    {"UOPS_RETIRED.SLOTS", 4000},
                                    {"UOPS_ISSUED.ANY", 5000},
                                    {"IDQ.MS_UOPS", 1000},
                                    {"IDQ.MITE_UOPS", 1000},
                                    {"UOPS_DECODED.DEC0", 150},
                                    {"UOPS_DECODED.DEC0:c1", 100}};
inline const std::map<std::string, double> kIceLakeNodes = {
    {"Frontend_Bound", .15},     {"Bad_Speculation", .1},
    {"Backend_Bound", .35},      {"Retiring", .4},
    {"Fetch_Latency", .15},      {"Fetch_Bandwidth", 0},
    {"Branch_Mispredicts", .06}, {"Machine_Clears", .04},
    {"Memory_Bound", .175},      {"Core_Bound", .175},
    {"Heavy_Operations", .1},    {"Light_Operations", .3}};
// Sum 5000: FE 1000/5000 - 500/S. BE 1500/5000 + 5*100/S. Ret 2000/5000.
inline const Counts kIceLakeMetrics = {{"PERF_METRICS.FRONTEND_BOUND", 1000},
                                       {"PERF_METRICS.BAD_SPECULATION", 500},
                                       {"PERF_METRICS.BACKEND_BOUND", 1500},
                                       {"PERF_METRICS.RETIRING", 2000}};
// FE (2000 - 500)/S. BE 3000/S + 5*100/S. Ret 4000/S.
inline const Counts kIceLakeGuest = {{"IDQ_UOPS_NOT_DELIVERED.CORE", 2000},
                                     {"TOPDOWN.BACKEND_BOUND_SLOTS", 3000}};

// Six slots, S = 6000, dropped .05: FE .2 - .05, Fetch_Latency .1 - .05, Bad is the rest.
inline const std::map<std::string, double> kRapidsNodes = {
    {"Frontend_Bound", .15},     {"Bad_Speculation", .15},
    {"Backend_Bound", .3},       {"Retiring", .4},
    {"Fetch_Latency", .05},      {"Fetch_Bandwidth", .1},
    {"Branch_Mispredicts", .05}, {"Machine_Clears", .1},
    {"Memory_Bound", .2},        {"Core_Bound", .1},
    {"Heavy_Operations", .1},    {"Light_Operations", .3}};
// Eight slots, S = 8000, nothing dropped.
inline const std::map<std::string, double> kLunarNodes = {
    {"Frontend_Bound", .2},      {"Bad_Speculation", .1},
    {"Backend_Bound", .3},       {"Retiring", .4},
    {"Fetch_Latency", .1},       {"Fetch_Bandwidth", .1},
    {"Branch_Mispredicts", .05}, {"Machine_Clears", .05},
    {"Memory_Bound", .2},        {"Core_Bound", .1},
    {"Heavy_Operations", .1},    {"Light_Operations", .3}};

// `s`: slots per cycle, over 1000 cycles.
inline Counts Metrics(double s, double drop) {
  Counts counts = {{"TOPDOWN.SLOTS", 1000 * s},
                   {"PERF_METRICS.FRONTEND_BOUND", 200 * s},
                   {"PERF_METRICS.BAD_SPECULATION", 100 * s},
                   {"PERF_METRICS.BACKEND_BOUND", 300 * s},
                   {"PERF_METRICS.RETIRING", 400 * s},
                   {"PERF_METRICS.HEAVY_OPERATIONS", 100 * s},
                   {"PERF_METRICS.BRANCH_MISPREDICTS", 50 * s},
                   {"PERF_METRICS.FETCH_LATENCY", 100 * s},
                   {"PERF_METRICS.MEMORY_BOUND", 200 * s}};
  if (drop > 0) counts["INT_MISC.UOP_DROPPING"] = drop;
  return counts;
}

inline Counts Guest(double s, double drop) {
  Counts counts = {{"TOPDOWN.SLOTS", 1000 * s},
                   {"IDQ_BUBBLES.CORE", 200 * s},
                   {"IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE", 100},
                   {"TOPDOWN.BACKEND_BOUND_SLOTS", 300 * s},
                   {"TOPDOWN.BR_MISPREDICT_SLOTS", 50 * s},
                   {"TOPDOWN.MEMORY_BOUND_SLOTS", 200 * s},
                   {"UOPS_RETIRED.HEAVY", 100 * s},
                   {"UOPS_RETIRED.SLOTS", 400 * s}};
  if (drop > 0) counts["INT_MISC.UOP_DROPPING"] = drop;
  return counts;
}

// Lion Cove counts the cycles of Fetch_Latency: 100/1000.
inline Counts LionCoveGuest() {
  Counts counts =
      With(Guest(8, 0), {{"CPU_CLK_UNHALTED.THREAD", 1000}, {"IDQ_BUBBLES.FETCH_LATENCY", 100}});
  counts.erase("IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE");
  return counts;
}

// S = s * 1000. Bad (400 - 300) s/S, mispredicts .1 * 30/40, memory .3 * 100/300.
inline Counts Zen(double s, const std::string& latency, const std::string& restarts) {
  return {{"ls_not_halted_cyc", 1000},
          {"de_no_dispatch_per_slot.no_ops_from_frontend", 200 * s},
          {latency, 100},
          {"de_no_dispatch_per_slot.backend_stalls", 300 * s},
          {"de_no_dispatch_per_slot.smt_contention", 100 * s},
          {"de_src_op_disp.all", 400 * s},
          {"ex_ret_ops", 300 * s},
          {"ex_ret_ucode_ops", 50 * s},
          {"ex_no_retire.load_not_complete", 100},
          {"ex_no_retire.not_complete", 300},
          {"ex_ret_brn_misp", 30},
          {restarts, 10}};
}
inline const std::map<std::string, double> kZenNodes = {
    {"Frontend_Bound", .2},   {"Bad_Speculation", .1},      {"Backend_Bound", .3},
    {"Retiring", .3},         {"SMT_Contention", .1},       {"Fetch_Latency", .1},
    {"Fetch_Bandwidth", .1},  {"Branch_Mispredicts", .075}, {"Machine_Clears", .025},
    {"Memory_Bound", .1},     {"Core_Bound", .2},           {"Heavy_Operations", .05},
    {"Light_Operations", .25}};

// N = s * 1000; a quarter of N stalls at each end, so half is used, 90 % of that retires; ten
// mispredicted branches in 1000 cycles. `extra`: the additional cycles that early N2 counts.
inline Counts Neoverse(double s, double extra) {
  return {{"CPU_CYCLES", 1000},
          {"STALL_SLOT", 500 * s + extra},
          {"STALL_SLOT_FRONTEND", 250 * s + extra},
          {"STALL_SLOT_BACKEND", 250 * s},
          {"OP_RETIRED", 900},
          {"OP_SPEC", 1000},
          {"BR_MIS_PRED", 10}};
}
// V1 moves 4 cycles a branch from the front end: .25 - .04, .1*.5 + .04.
inline const std::map<std::string, double> kV1Nodes = {
    {"Frontend_Bound", .21}, {"Bad_Speculation", .09}, {"Backend_Bound", .25}, {"Retiring", .45}};
// N2 and V2 move 1 cycle from the front end and 3 from the back end.
inline const std::map<std::string, double> kV2Nodes = {
    {"Frontend_Bound", .24}, {"Bad_Speculation", .09}, {"Backend_Bound", .22}, {"Retiring", .45}};

inline Counts Plus(const Counts& counts, const Counts& more) { return With(counts, more); }
inline std::map<std::string, double> And(std::map<std::string, double> nodes,
                                         const std::map<std::string, double>& more) {
  nodes.insert(more.begin(), more.end());
  return nodes;
}

// Of 1000 cycles 150 stall on memory, 120 beyond the first cache, 100 beyond the second, 60 beyond
// the third. L2: hits 20 * (1 + 5/10) = 30 of 30 + 90, so a quarter of (120 - 100). DRAM gets the
// rest of that: .06 + .02 - .005.
inline const Counts kStalls = {
    {"CYCLE_ACTIVITY.STALLS_L1D_MISS", 120}, {"CYCLE_ACTIVITY.STALLS_L2_MISS", 100},
    {"CYCLE_ACTIVITY.STALLS_L3_MISS", 60},   {"MEM_LOAD_RETIRED.L2_HIT", 20},
    {"MEM_LOAD_RETIRED.FB_HIT", 5},          {"MEM_LOAD_RETIRED.L1_MISS", 10}};
inline const std::map<std::string, double> kSkylakeLevel3 = {{"L1_Bound", .03},
                                                             {"L2_Bound", .005},
                                                             {"L3_Bound", .04},
                                                             {"DRAM_Bound", .075},
                                                             {"Store_Bound", .05}};
// Ice Lake's vector has 300 stalls on memory of 2000 cycles.
inline const std::map<std::string, double> kIceLakeLevel3 = {{"L1_Bound", .09},
                                                             {"L2_Bound", .0025},
                                                             {"L3_Bound", .02},
                                                             {"DRAM_Bound", .0375},
                                                             {"Store_Bound", .025}};
inline const Counts kRapidsStalls = {
    {"CPU_CLK_UNHALTED.THREAD", 1000},       {"EXE_ACTIVITY.BOUND_ON_LOADS", 200},
    {"EXE_ACTIVITY.BOUND_ON_STORES", 10},    {"MEMORY_ACTIVITY.STALLS_L1D_MISS", 150},
    {"MEMORY_ACTIVITY.STALLS_L2_MISS", 120}, {"MEMORY_ACTIVITY.STALLS_L3_MISS", 70}};
inline const std::map<std::string, double> kRapidsLevel3 = {{"L1_Bound", .05},
                                                            {"L2_Bound", .03},
                                                            {"L3_Bound", .05},
                                                            {"DRAM_Bound", .07},
                                                            {"Store_Bound", .01}};
// In 1000 cycles: the divider works in 50, no port in 90, one port in 100, two in 100, more in 600;
// AMX works in 250. On Granite Rapids a serializing instruction causes 30 of the 90 idle cycles. On
// Sapphire Rapids it causes 30 of the 40 cycles with nothing to issue, and (90 + 40 - 30) is
// divided by the 700 stalls minus the 200 for loads.
inline const Counts kPorts = {{"EXE_ACTIVITY.EXE_BOUND_0_PORTS", 90}};
inline const Counts kSkylakePorts =
    With(kPorts, {{"ARITH.DIVIDER_ACTIVE", 50}, {"UOPS_EXECUTED.CORE_CYCLES_GE_3", 600}});
inline const Counts kIceLakePorts =
    With(kPorts, {{"ARITH.DIVIDER_ACTIVE", 50}, {"UOPS_EXECUTED.CYCLES_GE_3", 600}});
inline const Counts kRapidsPorts = With(kPorts, {{"CPU_CLK_UNHALTED.THREAD", 1000},
                                                 {"ARITH.DIV_ACTIVE", 50},
                                                 {"EXE.AMX_BUSY", 250},
                                                 {"RESOURCE_STALLS.SCOREBOARD", 30},
                                                 {"EXE_ACTIVITY.1_PORTS_UTIL", 100},
                                                 {"EXE_ACTIVITY.2_PORTS_UTIL", 100},
                                                 {"UOPS_EXECUTED.CYCLES_GE_3", 600}});
inline const std::map<std::string, double> kPortNodes = {{"Divider", .05},
                                                         {"Ports_Utilized_0", .09},
                                                         {"Ports_Utilized_1", .1},
                                                         {"Ports_Utilized_2", .1},
                                                         {"Ports_Utilized_3m", .6}};
inline const Counts kSapphirePorts = With(kRapidsPorts, {{"RS.EMPTY_RESOURCE", 40},
                                                         {"CYCLE_ACTIVITY.STALLS_TOTAL", 700},
                                                         {"EXE_ACTIVITY.BOUND_ON_LOADS", 200}});
inline const std::map<std::string, double> kSapphirePortNodes = {
    {"Divider", .05},         {"AMX_Busy", .25},        {"Ports_Utilized_0", .05},
    {"Ports_Utilized_1", .1}, {"Ports_Utilized_2", .1}, {"Ports_Utilized_3m", .6}};
inline const std::map<std::string, double> kRapidsPortNodes = {
    {"Divider", .05},         {"AMX_Busy", .25},        {"Ports_Utilized_0", .06},
    {"Ports_Utilized_1", .1}, {"Ports_Utilized_2", .1}, {"Ports_Utilized_3m", .6}};
// Three of four stalled cycles wait for memory.
inline const Counts kArmStalls = {{"STALL_BACKEND", 400}, {"STALL_BACKEND_MEM", 300}};

inline const std::vector<Vector>& Vectors() {
  static const std::vector<Vector> vectors = {
      {"skylake_x", "one thread", false, kSkylake, kSkylakeNodes},
      {"cascade_lake", "two threads", true, SkylakeSmt(), kSkylakeNodes},
      {"ice_lake_x", "metrics", false, With(kIceLakeBoth, kIceLakeMetrics), kIceLakeNodes},
      {"ice_lake_x", "guest", false, With(kIceLakeBoth, kIceLakeGuest), kIceLakeNodes},
      {"sapphire_rapids", "metrics", false, Metrics(6, 300), kRapidsNodes},
      {"emerald_rapids", "guest", false, Guest(6, 300), kRapidsNodes},
      {"granite_rapids", "metrics", false, Metrics(6, 300), kRapidsNodes},
      {"granite_rapids", "guest", false, Guest(6, 300), kRapidsNodes},
      {"lunar_lake_p", "metrics", false, Metrics(8, 0), kLunarNodes},
      {"lunar_lake_p", "guest", false, LionCoveGuest(), kLunarNodes},
      {"lunar_lake_p", "metrics, level 3", false,
       Plus(Metrics(8, 0), {{"CPU_CLK_UNHALTED.THREAD", 1000},
                            {"MEMORY_STALLS.L1", 100},
                            {"MEMORY_STALLS.L2", 50},
                            {"MEMORY_STALLS.L3", 200},
                            {"MEMORY_STALLS.MEM", 150},
                            {"EXE_ACTIVITY.BOUND_ON_STORES", 10}}),
       And(kLunarNodes, {{"L1_Bound", .1},
                         {"L2_Bound", .05},
                         {"L3_Bound", .2},
                         {"DRAM_Bound", .15},
                         {"Store_Bound", .01}})},
      {"alder_lake_p", "metrics", false, Metrics(6, 300), kRapidsNodes},
      {"raptor_lake_p", "level 3", false, Plus(Guest(6, 300), kRapidsStalls),
       And(kRapidsNodes, kRapidsLevel3)},
      {"meteor_lake_p", "metrics", false, Metrics(6, 300), kRapidsNodes},
      {"haswell_x", "one thread", false, kHaswell, kHaswellNodes},
      {"haswell_x", "level 3", false, Plus(kHaswell, kHaswellLoads),
       And(kHaswellNodes, kHaswellLevel3)},
      // Of 350 + (750 - 550) / 2 + 50 cycles, 150 + 50 wait for memory.
      {"haswell_x", "two threads", true,
       Plus(With(Haswell({"INT_MISC.RECOVERY_CYCLES_ANY", 100}, "CORE_CYCLES_GE_1",
                         "CORE_CYCLES_GE_2", "CORE_CYCLES_GE_3"),
                 kThreeQuartersShared),
            {{"CYCLE_ACTIVITY.CYCLES_NO_EXECUTE", 350},
             {"ARITH.DIVIDER_UOPS", 7},
             {"UOPS_EXECUTED.CORE:inv:c1", 500}}),
       And(kHaswellNodes, {{"Divider", .07},
                           {"Ports_Utilized_0", .25},
                           {"Ports_Utilized_1", .1},
                           {"Ports_Utilized_2", .125},
                           {"Ports_Utilized_3m", .15}})},
      {"broadwell_x", "one thread", false,
       Haswell({"INT_MISC.RECOVERY_CYCLES", 50}, "CYCLES_GE_1_UOP_EXEC", "CYCLES_GE_2_UOPS_EXEC",
               "CYCLES_GE_3_UOPS_EXEC"),
       kHaswellNodes},
      {"sierra_forest", "", false,
       Atom(6, {"TOPDOWN_FE_BOUND.ALL_P", "TOPDOWN_BAD_SPECULATION.ALL_P", "TOPDOWN_BE_BOUND.ALL_P",
                "TOPDOWN_RETIRING.ALL_P"}),
       kAtomNodes},
      {"skymont", "", false,
       Atom(8, {"TOPDOWN_FE_BOUND.ALL", "TOPDOWN_BAD_SPECULATION.ALL", "TOPDOWN_BE_BOUND.ALL_P",
                "TOPDOWN_RETIRING.ALL"}),
       kAtomNodes},
      // S = 10 * 1000 (5 * 1000): FE .2 - 50/1000, BE .3, Ret 3/4 * (1 - .5), Bad 1/4 * .5 + .05.
      {"neoverse_v3", "", false, NeoverseFlushed(10), kFlushNodes},
      {"neoverse_n3", "", false, NeoverseFlushed(5), kFlushNodes},
      {"neoverse_v3", "level 2", false,
       Plus(NeoverseFlushed(10), {{"STALL_BACKEND", 400}, {"STALL_BACKEND_MEMBOUND", 300}}),
       And(kFlushNodes, {{"Memory_Bound", .225}, {"Core_Bound", .075}})},
      // S = CPU_SLOT. Ret 3/4 * (1 - .5), Bad the rest.
      {"olympus",
       "",
       false,
       {{"CPU_SLOT", 10000},
        {"STALL_SLOT_FRONTEND_WITHOUT_MISPRED", 1500},
        {"STALL_SLOT_BACKEND", 3000},
        {"STALL_SLOT", 5000},
        {"OP_RETIRED", 3000},
        {"OP_SPEC", 4000}},
       kFlushNodes},
      // S = 4 * 1000. FE the rest: .2; beyond it 1000 - 800 slots, so latency (150 - 200/4)/1000.
      {"ampere_one",
       "",
       false,
       {{"CPU_CYCLES", 1000},
        {"STALL_SLOT_BACKEND", 1200},
        {"STALL_SLOT_FRONTEND", 1000},
        {"STALL_FRONTEND", 150},
        {"OP_RETIRED", 1600},
        {"OP_SPEC", 2000},
        {"BR_MIS_PRED_RETIRED", 30},
        {"GPC_FLUSH", 40},
        {"STALL_BACKEND_CACHE", 150},
        {"STALL_BACKEND_TLB", 50}},
       {{"Frontend_Bound", .2},
        {"Bad_Speculation", .1},
        {"Backend_Bound", .3},
        {"Retiring", .4},
        {"Fetch_Latency", .1},
        {"Fetch_Bandwidth", .1},
        {"Branch_Mispredicts", .075},
        {"Machine_Clears", .025},
        {"Memory_Bound", .2},
        {"Core_Bound", .1}}},
      {"zen6", "", false,
       Zen(8, "de_no_dispatch_per_slot.no_ops_from_frontend:c8", "bp_fe_redir.resync"), kZenNodes},
      {"skylake_x", "level 3", false,
       Plus(With(kSkylake, kStalls), {{"L1D_PEND_MISS.FB_FULL:c1", 90}}),
       And(kSkylakeNodes, kSkylakeLevel3)},
      {"ice_lake_x", "level 3", false,
       Plus(With(With(kIceLakeBoth, kIceLakeMetrics), kStalls),
            {{"L1D_PEND_MISS.FB_FULL_PERIODS", 90}, {"CPU_CLK_UNHALTED.THREAD", 2000}}),
       And(kIceLakeNodes, kIceLakeLevel3)},
      {"sapphire_rapids", "level 3", false, Plus(Metrics(6, 300), kRapidsStalls),
       And(kRapidsNodes, kRapidsLevel3)},
      {"granite_rapids", "level 3", false, Plus(Guest(6, 300), kRapidsStalls),
       And(kRapidsNodes, kRapidsLevel3)},
      {"skylake_x", "ports", false, Plus(kSkylake, kSkylakePorts), And(kSkylakeNodes, kPortNodes)},
      // Half of the core's 1900 cycles with at least one port in use, 1700 with two, 1500 with
      // three; 80 and 144 of the thread's 1600.
      {"skylake_x", "ports, two threads", true,
       Plus(SkylakeSmt(), {{"ARITH.DIVIDER_ACTIVE", 80},
                           {"EXE_ACTIVITY.EXE_BOUND_0_PORTS", 144},
                           {"UOPS_EXECUTED.CORE_CYCLES_GE_1", 1900},
                           {"UOPS_EXECUTED.CORE_CYCLES_GE_2", 1700},
                           {"UOPS_EXECUTED.CORE_CYCLES_GE_3", 1500}}),
       And(kSkylakeNodes, {{"Divider", .05},
                           {"Ports_Utilized_0", .09},
                           {"Ports_Utilized_1", .1},
                           {"Ports_Utilized_2", .1},
                           {"Ports_Utilized_3m", .75}})},
      // Ice Lake's vector already has 150 and 250 cycles with one and two ports.
      {"ice_lake_x", "ports", false,
       Plus(With(With(kIceLakeBoth, kIceLakeMetrics), kIceLakePorts),
            {{"CPU_CLK_UNHALTED.THREAD", 1000}}),
       And(kIceLakeNodes, {{"Divider", .05},
                           {"Ports_Utilized_0", .09},
                           {"Ports_Utilized_1", .15},
                           {"Ports_Utilized_2", .25},
                           {"Ports_Utilized_3m", .6}})},
      {"emerald_rapids", "ports", false, Plus(Metrics(6, 300), kSapphirePorts),
       And(kRapidsNodes, kSapphirePortNodes)},
      {"granite_rapids", "ports", false, Plus(Guest(6, 300), kRapidsPorts),
       And(kRapidsNodes, kRapidsPortNodes)},
      {"neoverse_v1", "level 2", false, Plus(Neoverse(8, 0), kArmStalls),
       And(kV1Nodes, {{"Memory_Bound", .1875}, {"Core_Bound", .0625}})},
      {"neoverse_n2", "level 2", false, Plus(Neoverse(5, 0), kArmStalls),
       And(kV2Nodes, {{"Memory_Bound", .165}, {"Core_Bound", .055}})},
      // S = 5 * 1000, each count a fraction of it.
      {"gracemont",
       "",
       false,
       {{"CPU_CLK_UNHALTED.CORE", 1000},
        {"TOPDOWN_FE_BOUND.ALL", 1000},
        {"TOPDOWN_BE_BOUND.ALL", 1500},
        {"TOPDOWN_RETIRING.ALL", 2000},
        {"TOPDOWN_FE_BOUND.FRONTEND_LATENCY", 750},
        {"TOPDOWN_FE_BOUND.FRONTEND_BANDWIDTH", 250},
        {"TOPDOWN_BE_BOUND.ALLOC_RESTRICTIONS", 500},
        {"TOPDOWN_BAD_SPECULATION.MISPREDICT", 300},
        {"TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS", 200}},
       {{"Frontend_Bound", .2},
        {"Bad_Speculation", .1},
        {"Backend_Bound", .3},
        {"Retiring", .4},
        {"Fetch_Latency", .15},
        {"Fetch_Bandwidth", .05},
        {"Branch_Mispredicts", .06},
        {"Machine_Clears", .04},
        {"Core_Bound", .1},
        {"Resource_Bound", .2}}},
      {"zen4", "", false,
       Zen(6, "de_no_dispatch_per_slot.no_ops_from_frontend:c6", "resyncs_or_nc_redirects"),
       kZenNodes},
      {"zen5", "", false,
       Zen(8, "de_no_dispatch_per_slot.no_ops_from_frontend:c8", "bp_redirects.resync"), kZenNodes},
      {"neoverse_v1", "", false, Neoverse(8, 0), kV1Nodes},
      {"neoverse_v2", "", false, Neoverse(8, 0), kV2Nodes},
      {"neoverse_n2", "", false, Neoverse(5, 0), kV2Nodes},
      {"neoverse_n2_r0p0", "", false, Neoverse(5, 1000), kV2Nodes},
      {"neoverse_n1",
       "",
       false,
       {{"CPU_CYCLES", 1000}, {"STALL_FRONTEND", 100}, {"STALL_BACKEND", 300}},
       {{"Stalled_Frontend", .1}, {"Stalled_Backend", .3}}},
  };
  return vectors;
}

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_TOPDOWN_VECTORS_H_
