// The servers of Haswell and Broadwell: four slots per cycle, no PERF_METRICS register.

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

using C = const TopdownCounts&;

constexpr int kSlots = 4;  // per cycle

// If both hardware threads work, the count is per core, and each thread has half of the slots.
MaybeValue Slots(C e) {
  return e.smt() ? kSlots * e("CPU_CLK_UNHALTED.THREAD_ANY") / 2
                 : kSlots * e("CPU_CLK_UNHALTED.THREAD");
}

MaybeValue RecoveryCycles(C e) {
  return e.smt() ? e("INT_MISC.RECOVERY_CYCLES_ANY") / 2 : e("INT_MISC.RECOVERY_CYCLES");
}

// Cycles without any uop delivered: at most all cycles.
MaybeValue FetchLatencyOfHaswell(C e) {
  MaybeValue cycles = e("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE");
  const MaybeValue all = e("CPU_CLK_UNHALTED.THREAD");
  if (cycles.get() && all.get() && *all.get() < *cycles.get()) cycles = all;
  return all.get() ? kSlots * cycles / Slots(e) : MaybeValue();
}

MaybeValue FetchLatencyOfBroadwell(C e) {
  return kSlots * e("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE") / Slots(e);
}

std::vector<TopdownPath> Paths(MaybeValue (*fetch_latency)(C)) {
  return {{"general counters",
           {{"Frontend_Bound", 1, [](C e) { return e("IDQ_UOPS_NOT_DELIVERED.CORE") / Slots(e); }},
            {"Bad_Speculation", 1,
             [](C e) {
               return (e("UOPS_ISSUED.ANY") - e("UOPS_RETIRED.RETIRE_SLOTS") +
                       kSlots * RecoveryCycles(e)) /
                      Slots(e);
             }},
            {"Retiring", 1, [](C e) { return e("UOPS_RETIRED.RETIRE_SLOTS") / Slots(e); }},
            {"Backend_Bound", 1,
             [](C e) {
               return 1 -
                      (e.Node("Frontend_Bound") + e.Node("Bad_Speculation") + e.Node("Retiring"));
             }},
            {"Fetch_Latency", 2, fetch_latency},
            {"Fetch_Bandwidth", 2, Level2Rest::FetchBandwidth},
            // Assumes that a mispredicted branch and a machine clear cost the same.
            {"Branch_Mispredicts", 2,
             [](C e) {
               return e.Node("Bad_Speculation") * e("BR_MISP_RETIRED.ALL_BRANCHES") /
                      (e("BR_MISP_RETIRED.ALL_BRANCHES") + e("MACHINE_CLEARS.COUNT"));
             }},
            {"Machine_Clears", 2, Level2Rest::MachineClears}}}};
}

std::vector<TopdownEvent> Events(const std::string& core) {
  return {
      {"CPU_CLK_UNHALTED.THREAD", 0x3C, "cycles", core + "::UNHALTED_CORE_CYCLES", kFixedCounter},
      {"CPU_CLK_UNHALTED.THREAD_ANY", 0x20003C, "", ""},
      {"UOPS_ISSUED.ANY", 0x10E, "", core + "::UOPS_ISSUED:ANY"},
      {"UOPS_RETIRED.RETIRE_SLOTS", 0x2C2, "", core + "::UOPS_RETIRED:RETIRE_SLOTS"},
      {"INT_MISC.RECOVERY_CYCLES", 0x100030D, "", core + "::INT_MISC:RECOVERY_CYCLES"},
      {"INT_MISC.RECOVERY_CYCLES_ANY", 0x120030D, "", ""},
      {"IDQ_UOPS_NOT_DELIVERED.CORE", 0x19C, "", core + "::IDQ_UOPS_NOT_DELIVERED:CORE"},
      {"IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 0x400019C, "",
       core + "::IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"},
      {"BR_MISP_RETIRED.ALL_BRANCHES", 0xC5, "branch-misses",
       core + "::BR_MISP_RETIRED:ALL_BRANCHES"},
      {"MACHINE_CLEARS.COUNT", 0x10401C3, "", core + "::MACHINE_CLEARS:COUNT"}};
}

constexpr const char* kNote =
    "the back end is not divided: the formulas of its parts on this core differ between versions "
    "of TMA";

const TopdownRegistration kHaswellX({
    .cpu = "haswell_x",
    .alias = {},
    .source = "pmu-tools hsx_server_ratios.py; never run on this CPU",
    .note = kNote,
    .pipeline = {.slots = kSlots, .source = "the same as the formulas"},
    .events = Events("hsw_ep"),
    .paths = Paths(FetchLatencyOfHaswell),
});

const TopdownRegistration kBroadwellX({
    .cpu = "broadwell_x",
    .alias = {},
    .source = "pmu-tools hsx_server_ratios.py, bdx_server_ratios.py; never run on this CPU",
    .note = kNote,
    .pipeline = {.slots = kSlots, .source = "the same as the formulas"},
    .events = Events("bdw_ep"),
    .paths = Paths(FetchLatencyOfBroadwell),
});

}  // namespace

}  // namespace topdnn
