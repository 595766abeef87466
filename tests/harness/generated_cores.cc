#include "tests/harness/generated_cores.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace topdnn {
namespace {

// Of a core's slots: front end, back end, retiring, bad speculation.
struct Shares {
  double frontend, backend, retiring, bad;
};

Shares RandomShares(std::mt19937_64& random) {
  std::uniform_real_distribution<double> share(0.05, 1);
  Shares s = {share(random), share(random), share(random), share(random)};
  const double sum = s.frontend + s.backend + s.retiring + s.bad;
  return {s.frontend / sum, s.backend / sum, s.retiring / sum, s.bad / sum};
}

double RandomCycles(std::mt19937_64& random) {
  return static_cast<double>(1'000'000 + random() % 1'000'000'000);
}

std::uint64_t Whole(double value) { return static_cast<std::uint64_t>(std::llround(value)); }

double At(const EventCounts& counts, const std::string& name) {
  for (const auto& [event, count] : counts) {
    if (event == name) return static_cast<double>(count);
  }
  throw std::out_of_range(name);
}

KnownNodes Nodes(double frontend, double backend, double retiring, double bad) {
  return {{"Frontend_Bound", frontend},
          {"Backend_Bound", backend},
          {"Retiring", retiring},
          {"Bad_Speculation", bad}};
}

KnownNodes WithBadAsRest(double frontend, double backend, double retiring) {
  return Nodes(frontend, backend, retiring, 1 - frontend - backend - retiring);
}

// ---- AMD (Processor Programming Reference, "Pipeline Utilization").

EventCounts ZenCounts(int width, std::mt19937_64& random) {
  const double cycles = RandomCycles(random), slots = width * cycles;
  const Shares s = RandomShares(random);
  return {{"ls_not_halted_cyc", Whole(cycles)},
          {"de_src_op_disp.all", Whole(slots * (s.retiring + s.bad))},
          {"ex_ret_ops", Whole(slots * s.retiring)},
          {"de_no_dispatch_per_slot.no_ops_from_frontend", Whole(slots * s.frontend)},
          {"de_no_dispatch_per_slot.backend_stalls", Whole(slots * s.backend)}};
}

KnownNodes ZenNodes(int width, const EventCounts& c) {
  const double slots = width * At(c, "ls_not_halted_cyc"), retired = At(c, "ex_ret_ops");
  return Nodes(At(c, "de_no_dispatch_per_slot.no_ops_from_frontend") / slots,
               At(c, "de_no_dispatch_per_slot.backend_stalls") / slots, retired / slots,
               (At(c, "de_src_op_disp.all") - retired) / slots);
}

// ---- Intel's performance cores with PERF_METRICS (SDM volume 3, 20.3.9.3).

EventCounts MetricCounts(int width, std::mt19937_64& random) {
  const double slots = width * RandomCycles(random);
  const Shares s = RandomShares(random);
  return {{"slots", Whole(slots)},
          {"topdown-fe-bound", Whole(slots * s.frontend)},
          {"topdown-be-bound", Whole(slots * s.backend)},
          {"topdown-retiring", Whole(slots * s.retiring)},
          {"topdown-bad-spec", Whole(slots * s.bad)},
          {"int_misc.uop_dropping", Whole(slots * s.frontend / 50)},
          {"int_misc.clears_count", Whole(slots * s.bad / 70)}};
}

// Up to Redwood Cove, dropped uops are not the front end's.
template <bool kDropped>
KnownNodes MetricNodes(int /*width*/, const EventCounts& c) {
  const double sum = At(c, "topdown-fe-bound") + At(c, "topdown-be-bound") +
                     At(c, "topdown-retiring") + At(c, "topdown-bad-spec");
  const double dropped = kDropped ? At(c, "int_misc.uop_dropping") / At(c, "slots") : 0;
  return WithBadAsRest(At(c, "topdown-fe-bound") / sum - dropped, At(c, "topdown-be-bound") / sum,
                       At(c, "topdown-retiring") / sum);
}

// Ice Lake's register counts the slots after a clear, 5 each, not as the back end's.
KnownNodes IceLakeNodes(int width, const EventCounts& c) {
  const KnownNodes nodes = MetricNodes<true>(width, c);
  const double cleared = width * At(c, "int_misc.clears_count") / At(c, "slots");
  return WithBadAsRest(nodes.at("Frontend_Bound"), nodes.at("Backend_Bound") + cleared,
                       nodes.at("Retiring"));
}

// ---- Intel's cores before Ice Lake (Optimization Reference Manual, B.1, "Top-Down").

EventCounts SkylakeCounts(int width, std::mt19937_64& random) {
  const double cycles = RandomCycles(random), slots = width * cycles;
  const Shares s = RandomShares(random);
  const double recovery = std::floor(slots * s.bad / 3 / width);
  return {{"cycles", Whole(cycles)},
          {"idq_uops_not_delivered.core", Whole(slots * s.frontend)},
          {"uops_issued.any", Whole(slots * (s.retiring + s.bad) - width * recovery)},
          {"uops_retired.retire_slots", Whole(slots * s.retiring)},
          {"int_misc.recovery_cycles", Whole(recovery)}};
}

KnownNodes SkylakeNodes(int width, const EventCounts& c) {
  const double slots = width * At(c, "cycles");
  const double retired = At(c, "uops_retired.retire_slots");
  const double bad =
      (At(c, "uops_issued.any") - retired + width * At(c, "int_misc.recovery_cycles")) / slots;
  const double frontend = At(c, "idq_uops_not_delivered.core") / slots;
  return Nodes(frontend, 1 - frontend - bad - retired / slots, retired / slots, bad);
}

// ---- Intel's efficiency cores (SDM volume 3, 20.3.9; perfmon's TMA for Gracemont and later).

EventCounts AtomCounts(int width, std::mt19937_64& random) {
  const double cycles = RandomCycles(random), slots = width * cycles;
  const Shares s = RandomShares(random);
  return {{"cpu_clk_unhalted.core", Whole(cycles)},
          {"topdown_fe_bound.all", Whole(slots * s.frontend)},
          {"topdown_be_bound.all", Whole(slots * s.backend)},
          {"topdown_retiring.all", Whole(slots * s.retiring)},
          {"topdown_bad_speculation.all", Whole(slots * s.bad)}};
}

KnownNodes AtomNodes(int width, const EventCounts& c) {
  const double slots = width * At(c, "cpu_clk_unhalted.core");
  return Nodes(At(c, "topdown_fe_bound.all") / slots, At(c, "topdown_be_bound.all") / slots,
               At(c, "topdown_retiring.all") / slots, At(c, "topdown_bad_speculation.all") / slots);
}

KnownNodes GracemontNodes(int width, const EventCounts& c) {
  const double slots = width * At(c, "cpu_clk_unhalted.core");
  return WithBadAsRest(At(c, "topdown_fe_bound.all") / slots, At(c, "topdown_be_bound.all") / slots,
                       At(c, "topdown_retiring.all") / slots);
}

// ---- Arm (the "Telemetry Specification" of each core; its licensees' documents).

EventCounts ArmCounts(int width, std::mt19937_64& random) {
  const double cycles = RandomCycles(random), slots = width * cycles;
  const Shares s = RandomShares(random);
  return {{"cpu_cycles", Whole(cycles)},
          {"op_spec", Whole(slots * (s.retiring + s.bad))},
          {"stall_slot", Whole(slots * (s.frontend + s.backend))},
          {"stall_slot_frontend", Whole(slots * s.frontend)},
          {"stall_slot_backend", Whole(slots * s.backend)},
          {"op_retired", Whole(slots * s.retiring)},
          {"br_mis_pred", Whole(cycles / 1000)},
          {"stall_frontend_flush", Whole(cycles * s.frontend / 7)},
          {"stall_slot_frontend_without_mispred", Whole(slots * s.frontend)},
          {"cpu_slot", Whole(slots)}};
}

// Cycles of flushes for each mispredicted branch: those that stall slots of the front end and of
// the back end, and those of bad speculation. `kIdle`: slots per cycle that STALL_SLOT and
// STALL_SLOT_FRONTEND count too much (Neoverse N2 before r0p3).
template <int kFrontend, int kBackend, int kBad, int kIdle = 0>
KnownNodes BranchNodes(int width, const EventCounts& c) {
  const double cycles = At(c, "cpu_cycles"), slots = width * cycles;
  const double used = 1 - (At(c, "stall_slot") - kIdle * cycles) / slots;
  const double retired = At(c, "op_retired") / At(c, "op_spec");
  const double mispredicted = At(c, "br_mis_pred") / cycles;
  return Nodes((At(c, "stall_slot_frontend") - kIdle * cycles) / slots - kFrontend * mispredicted,
               At(c, "stall_slot_backend") / slots - kBackend * mispredicted, retired * used,
               (1 - retired) * used + kBad * mispredicted);
}

EventCounts N2R0p0Counts(int width, std::mt19937_64& random) {
  EventCounts counts = ArmCounts(width, random);
  for (auto& [name, count] : counts) {
    if (name == "stall_slot" || name == "stall_slot_frontend") count += counts[0].second;
  }
  return counts;
}

KnownNodes FlushNodes(int width, const EventCounts& c) {
  const double cycles = At(c, "cpu_cycles"), slots = width * cycles;
  const double used = 1 - At(c, "stall_slot") / slots;
  const double retired = At(c, "op_retired") / At(c, "op_spec");
  const double flushed = At(c, "stall_frontend_flush") / cycles;
  return Nodes(At(c, "stall_slot_frontend") / slots - flushed, At(c, "stall_slot_backend") / slots,
               retired * used, (1 - retired) * used + flushed);
}

KnownNodes OlympusNodes(int /*width*/, const EventCounts& c) {
  const double slots = At(c, "cpu_slot");
  return WithBadAsRest(At(c, "stall_slot_frontend_without_mispred") / slots,
                       At(c, "stall_slot_backend") / slots,
                       At(c, "op_retired") / At(c, "op_spec") * (1 - At(c, "stall_slot") / slots));
}

KnownNodes AmpereNodes(int width, const EventCounts& c) {
  const double slots = width * At(c, "cpu_cycles"), retiring = At(c, "op_retired") / slots;
  const double bad = At(c, "op_spec") / slots - retiring;
  const double backend = At(c, "stall_slot_backend") / slots;
  return Nodes(1 - retiring - bad - backend, backend, retiring, bad);
}

template <typename T>
const T& OneOf(const std::vector<T>& values, std::mt19937_64& random) {
  return values[random() % values.size()];
}

}  // namespace

const std::vector<GeneratedCore>& GeneratedCores() {
  static const std::vector<GeneratedCore> cores = {
      {"zen4", 6, ZenCounts, ZenNodes},
      {"zen5", 8, ZenCounts, ZenNodes},
      {"zen6", 8, ZenCounts, ZenNodes},
      {"ice_lake_x", 5, MetricCounts, IceLakeNodes},
      {"sapphire_rapids", 6, MetricCounts, MetricNodes<true>, "cpu_core"},
      {"granite_rapids", 6, MetricCounts, MetricNodes<true>},
      {"alder_lake_p", 6, MetricCounts, MetricNodes<true>, "cpu_core"},
      {"meteor_lake_p", 6, MetricCounts, MetricNodes<true>, "cpu_core"},
      {"lunar_lake_p", 8, MetricCounts, MetricNodes<false>, "cpu_core"},
      {"haswell_x", 4, SkylakeCounts, SkylakeNodes, "", true},
      {"broadwell_x", 4, SkylakeCounts, SkylakeNodes, "", true},
      {"skylake_x", 4, SkylakeCounts, SkylakeNodes, "", true},
      {"gracemont", 5, AtomCounts, GracemontNodes, "cpu_atom", true},
      {"crestmont", 6, AtomCounts, AtomNodes, "cpu_atom"},
      {"skymont", 8, AtomCounts, AtomNodes, "cpu_atom"},
      {"neoverse_v1", 8, ArmCounts, BranchNodes<4, 0, 4>, "", true},
      {"neoverse_n2", 5, ArmCounts, BranchNodes<1, 3, 4>, "", true},
      {"neoverse_n2_r0p0", 5, N2R0p0Counts, BranchNodes<1, 3, 4, 1>, "", true},
      {"neoverse_v2", 8, ArmCounts, BranchNodes<1, 3, 4>, "", true},
      {"neoverse_n3", 5, ArmCounts, FlushNodes, "", true},
      {"neoverse_v3", 10, ArmCounts, FlushNodes, "", true},
      {"olympus", 10, ArmCounts, OlympusNodes, "", true},
      {"ampere_one", 4, ArmCounts, AmpereNodes, "", true}};
  return cores;
}

FileShape RandomShape(const GeneratedCore& core, std::mt19937_64& random) {
  FileShape shape;
  shape.json = random() % 2 == 0;
  shape.version = static_cast<int>(random() % 4);
  shape.separator = OneOf<char>({',', ',', ';', '\t', '|'}, random);
  shape.repeated = random() % 4 == 0;
  shape.intervals = OneOf<int>({0, 0, 2, 5}, random);
  shape.summary = random() % 3 == 0;
  shape.parts =
      OneOf<std::string>({"", "", "cpu", "core", "die", "socket", "node", "thread"}, random);
  if (random() % 4 == 0) {
    shape.groups = OneOf<std::vector<std::string>>(
        {{"web", "batch"}, {"/", "1000"}, {"system.slice/a b.service"}}, random);
  }
  if (random() % 3 == 0) shape.pmu = core.pmu;
  shape.running = OneOf<double>({100, 100, 33.3, 100}, random);
  shape.regrouped = random() % 4 == 0;
  shape.two_a_line = random() % 4 == 0;
  shape.idle = OneOf<Idle>({Idle::kNever, Idle::kNever, Idle::kAll, Idle::kOneEvent}, random);
  return shape;
}

std::map<std::string, EventCounts> RandomCounts(const GeneratedCore& core, const FileShape& shape,
                                                std::mt19937_64& random) {
  std::map<std::string, EventCounts> counts;
  for (const std::string& group : shape.groups) counts[group] = core.counts(core.width, random);
  if (shape.groups.empty()) counts[""] = core.counts(core.width, random);
  return counts;
}

std::string Describe(const GeneratedCore& core, const FileShape& shape, const std::string& text) {
  return fmt::format("{} version {} parts '{}' groups {} intervals {}\n{}", core.cpu, shape.version,
                     shape.parts, shape.groups.size(), shape.intervals, text.substr(0, 1500));
}

}  // namespace topdnn
