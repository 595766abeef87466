// The pipeline utilization formulas of AMD's Zen 4 and later, which count dispatch slots directly.
// Nodes have Yasin's names; comments give AMD's.

#ifndef TOPDNN_HARNESS_TOPDOWN_CPUS_ZEN_H_
#define TOPDNN_HARNESS_TOPDOWN_CPUS_ZEN_H_

#include <string>
#include <vector>

#include "harness/topdown/metric.h"

namespace topdnn {

// An entry of the micro-op cache holds up to eight instructions that end in one line of 64 bytes
// (AMD Software Optimization Guides for Zen 4 and Zen 5, 57647 and 58455, section 2.9).
inline constexpr int kOpCacheLine = 64;
// ASSUMED. An operation with an operand in memory is one macro-op, with an indexed address, too;
// conversions between general and vector registers, and some stores, are two (Agner Fog,
// instruction tables, Zen 4).
inline constexpr double kSlotsOfMostCode = 1.25;

// `kWidth`: dispatch slots per cycle. Bits 8-11 of an event's number are bits 32-35 of the code.
template <int kWidth>
class ZenPipeline {
 public:
  static constexpr int kSlots = kWidth;

  // `restarts`: the event of pipeline restarts not caused by a branch. `latency`: cycles without
  // any op from the front end. `names`: whether libpfm4 knows this core (as amd64_fam19h_zen4).
  static std::vector<TopdownEvent> Events(const TopdownEvent& restarts, const std::string& latency,
                                          bool names) {
    const auto pfm = [names](const char* event) {
      return names ? std::string("amd64_fam19h_zen4::") + event : std::string();
    };
    constexpr std::uint64_t kNoDispatch = 0x1000000A0;
    return {
        {"ls_not_halted_cyc", 0x76, "cycles", pfm("CYCLES_NOT_IN_HALT")},
        {kFrontend, kNoDispatch | 0x100, "", pfm("DISPATCH_STALLS_1:FE_NO_OPS")},
        {latency, (std::uint64_t{kWidth} << 24) | kNoDispatch | 0x100, "", ""},
        {"de_no_dispatch_per_slot.backend_stalls", kNoDispatch | 0x1E00, "", ""},
        {"de_no_dispatch_per_slot.smt_contention", kNoDispatch | 0x6000, "", ""},
        {"de_src_op_disp.all", 0x7AA, "", ""},
        {"ex_ret_ops", 0xC1, "", pfm("RETIRED_OPS")},
        {"ex_ret_ucode_ops", 0x1000000C2, "", pfm("RETIRED_UCODE_OPS")},
        {"ex_no_retire.load_not_complete", 0xA2D6, "", ""},
        {"ex_no_retire.not_complete", 0x2D6, "", ""},
        {"ex_ret_brn_misp", 0xC3, "branch-misses", pfm("RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED")},
        restarts};
  }

  // `latency` and `mispredicts`: the formulas of Fetch_Latency and Branch_Mispredicts, which read
  // the events `latency` and `restarts` of Events.
  static std::vector<TopdownPath> Paths(MaybeValue (*latency)(const TopdownCounts&),
                                        MaybeValue (*mispredicts)(const TopdownCounts&)) {
    return {{"dispatch slots",
             {{"Frontend_Bound", 1, [](C e) { return e(kFrontend) / Slots(e); }},
              {"Bad_Speculation", 1,
               [](C e) { return (e("de_src_op_disp.all") - e("ex_ret_ops")) / Slots(e); }},
              {"Backend_Bound", 1,
               [](C e) { return e("de_no_dispatch_per_slot.backend_stalls") / Slots(e); }},
              {"Retiring", 1, [](C e) { return e("ex_ret_ops") / Slots(e); }},
              // Slots used by the other hardware thread: a fifth node, which is not in Yasin's
              // method.
              {"SMT_Contention", 1,
               [](C e) { return e("de_no_dispatch_per_slot.smt_contention") / Slots(e); }},
              {"Fetch_Latency", 2, latency},
              {"Fetch_Bandwidth", 2, Level2Rest::FetchBandwidth},
              {"Branch_Mispredicts", 2, mispredicts},
              // AMD: pipeline restarts.
              {"Machine_Clears", 2, Level2Rest::MachineClears},
              {"Memory_Bound", 2,
               [](C e) {
                 return e.Node("Backend_Bound") * e("ex_no_retire.load_not_complete") /
                        e("ex_no_retire.not_complete");
               }},
              {"Core_Bound", 2, Level2Rest::CoreBound},
              // AMD: microcode.
              {"Heavy_Operations", 2, [](C e) { return e("ex_ret_ucode_ops") / Slots(e); }},
              // AMD: fastpath.
              {"Light_Operations", 2, Level2Rest::LightOperations}}}};
  }

  // FLOPs of SSE and AVX (`operations`: the unit mask of all kinds), and fills from memory. A
  // multiply-add counts as two. x87 is not included. `libpfm4`: libpfm4's name of the FLOP event;
  // may be empty.
  static std::vector<ExtraEvent> Extras(std::uint64_t operations, const std::string& libpfm4) {
    return {
        {"flops", {"fp_ret_sse_avx_ops.all", operations << 8 | 0x03, "", libpfm4, kCounterPair}, 1},
        {"memory", {"ls_any_fills_from_sys.dram_io_all", 0x4844, "", ""}, 0}};
  }

  static MaybeValue Slots(const TopdownCounts& e) { return kWidth * e("ls_not_halted_cyc"); }

 private:
  using C = const TopdownCounts&;
  static constexpr const char* kFrontend = "de_no_dispatch_per_slot.no_ops_from_frontend";
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_CPUS_ZEN_H_
