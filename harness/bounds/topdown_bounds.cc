#include "harness/bounds/topdown_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace topdnn {
namespace {

// The difference between two readings of a clock on a quiet machine.
constexpr double kNoise = 0.02;
// Slots of an instruction that may take long (a gather of 16 lanes: 81 on Zen 4; Agner Fog,
// instruction tables).
constexpr double kSlowSlots = 100;
// More than a 64-bit division, an atomic operation or a gather takes.
constexpr double kSlowCycles = 100;
// Smallest assumed costs of operations that are also measured: a misprediction costs 11 to 20
// cycles, a load from L1 followed by a multiply-add 9 to 11 (Agner Fog, microarchitecture and
// instruction tables).
constexpr double kMispredictCycles = 20;
constexpr double kLinkCycles = 12;
// ASSUMED: a branch that waits for a chain of operations costs this much more than that of the
// probe, which waits for a load (1.08 measured on Zen 3).
constexpr double kLateBranch = 1.25;
// Cycles that are lost at a taken branch: if a larger level of the target buffer predicts it, and
// if so few blocks of code are executed that the fast level has the targets of all (1,024 or more
// on Zen 2 and later and on Golden Cove; Agner Fog, microarchitecture).
constexpr double kBubble = 5;
constexpr double kNearBubble = 2;
constexpr double kNearBlocks = 1000;
// Of a line of code that comes from memory. ASSUMED.
constexpr double kColdLineCycles = 300;
constexpr double kCodeLine = 64;
// The length of an AVX-512 instruction with an address. A longer average is assumed to be a
// miscount.
constexpr double kMaxInstructionBytes = 8;
// A run is still OK if a neighbour slows a probe down by this share (kMinQuietRatio).
constexpr double kUnseen = 0.10;
// An interval that excludes less than this at each end is omitted.
constexpr double kInformative = 0.01;
// A larger spread means that the machine was disturbed.
constexpr double kMaxSpread = 0.05;
// Instructions issued per cycle, divided by the slots: the probes reach 0.75 (Zen 5) to 1.
constexpr double kMinIssue = 0.6;
// A run may exceed the rates measured around it by this factor.
constexpr double kMaxBusyShare = 1.05;

double Clamp(double fraction) { return std::clamp(fraction, 0.0, 1.0); }

// The unit that was busiest at its measured rate: an explanation, and a check of the rates.
struct Busiest {
  double share = 0;  // of the cycles
  std::string_view unit = "none of the units measured";
};

Busiest BusiestUnit(const CoreWork& work, const CoreRates& rates, double cycles) {
  Busiest busiest;
  const auto take = [&](std::string_view unit, double busy) {
    if (busy / cycles > busiest.share) busiest = {busy / cycles, unit};
  };
  double fp = 0;  // all widths share their units
  for (std::size_t width = 0; width < rates.fp.size(); ++width) {
    if (rates.fp[width]) fp += work.fp[width] / *rates.fp[width];
  }
  take("floating-point units", fp);
  if (rates.loads) take("loads", work.loads / *rates.loads);
  if (rates.stores) take("stores", work.stores / *rates.stores);
  return busiest;
}

// The share of the cycles that a unit needs at least, at the full rates of the CPU's table.
Busiest BusiestOfTable(const CoreWork& work, const CorePipeline& pipeline, double cycles) {
  Busiest busiest;
  const auto take = [&](std::string_view unit, double busy) {
    if (busy / cycles > busiest.share) busiest = {busy / cycles, unit};
  };
  if (pipeline.fp_256 > 0) {
    const double narrow = work.fp[kScalar] + work.fp[kPacked128] + work.fp[kPacked256];
    const double wide = pipeline.fp_512 > 0 ? work.fp[kPacked512] / pipeline.fp_512 : 0;
    take("floating-point work", narrow / pipeline.fp_256 + wide);
  }
  if (pipeline.loads > 0) take("loads", work.loads / pipeline.loads);
  if (pipeline.stores > 0) take("stores", work.stores / pipeline.stores);
  return busiest;
}

// Instructions that surely took a slot of their own.
double UnfusedInstructions(const CoreWork& work) {
  return std::max(0.0, work.instructions - work.conditional_branches - work.fusible_instructions -
                           work.slow_instructions);
}

// Of all threads, at least and at most.
Interval CyclesIn(Interval seconds, const CoreTime& time) {
  return {seconds.low * time.hertz_low * time.threads * (1 - kNoise),
          seconds.high * time.hertz_high * time.threads * (1 + kNoise)};
}

// Lower and upper ends before they are combined; shares are of the slots.
struct Shares {
  double retiring_low = 0, retiring_high = 1;
  double mispredicts = 0, mispredict_cost = 0;  // a cost in cycles of all slots
  double bad = 1;
  Busiest busy;  // the unit that is busy for most of the cycles at the table's full rates
  double chain = 1;
  std::optional<double> frontend;
  double code_operations = 0;  // micro-ops in the code, about
};

// Sets `frontend`, if the code fits the micro-op cache twice.
void BoundFrontend(const CoreWork& work, const CoreTime& time, const CorePipeline& pipeline,
                   double fewest, Shares& s) {
  if (!(work.instruction_bytes > 0)) return;
  // The bytes include the OpenMP runtime's instructions; the instructions do not.
  const double bytes = std::min(kMaxInstructionBytes, work.instruction_bytes / work.instructions);
  s.code_operations = work.code_bytes / bytes;
  if (2 * s.code_operations > pipeline.op_cache) return;
  if (2 * work.code_bytes > time.instruction_cache) return;
  const double windows = std::max(0.0, work.instruction_bytes / pipeline.window_bytes -
                                           UnfusedInstructions(work) / pipeline.slots);
  const double bubble = work.code_blocks.value_or(1e9) <= kNearBlocks ? kNearBubble : kBubble;
  s.frontend = Clamp(
      (windows + bubble * work.taken_branches + time.threads * ColdCodeCycles(work.code_bytes)) /
      fewest);
}

Shares SharesOf(const CoreWork& work, const CoreTime& time, const CorePipeline& pipeline,
                const CoreRates& rates, double fewest, double most) {
  Shares s;
  const double unfused = UnfusedInstructions(work);
  s.retiring_low = unfused / (pipeline.slots * most);
  const double assumed_slots =
      pipeline.slots_per_instruction * work.instructions + kSlowSlots * work.slow_instructions;
  s.retiring_high = Clamp(std::min(assumed_slots, work.most_slots.value_or(assumed_slots)) /
                          (pipeline.slots * fewest));
  s.mispredicts = work.predicted_branches;
  s.mispredict_cost = static_cast<double>(pipeline.reorder_buffer) / pipeline.slots +
                      std::max(kMispredictCycles, rates.mispredict_cycles.value_or(0));
  if (pipeline.reorder_buffer > 0) s.bad = Clamp(s.mispredicts * s.mispredict_cost / fewest);
  s.busy = BusiestOfTable(work, pipeline, most);
  s.chain = Clamp((work.instructions * std::max(kLinkCycles, rates.link_cycles.value_or(0)) +
                   work.slow_instructions * kSlowCycles) /
                  fewest);
  BoundFrontend(work, time, pipeline, fewest, s);
  return s;
}

// Cycles that so many mispredictions cost at most. Absent without the measured cost.
std::optional<double> MispredictedCycles(const CoreWork& work, double missed,
                                         const CoreRates& rates) {
  if (!rates.mispredict_cycles) return std::nullopt;
  return std::min(work.predicted_branches, missed) * kLateBranch *
         std::max(kMispredictCycles, *rates.mispredict_cycles);
}

// Cycles that mispredictions and the front end cost at most: those of delivering the instructions,
// without the slots of the instructions themselves, and what was not cold when that was measured.
std::optional<double> LostCycles(const CoreWork& work, int threads, const CorePipeline& pipeline,
                                 const CoreRates& rates) {
  if (!work.delivery_cycles || !work.code_blocks) return std::nullopt;
  const std::optional<double> cold = MispredictedCycles(work, *work.code_blocks * threads, rates);
  if (!cold) return std::nullopt;
  const double assumed = threads * ColdCodeCycles(work.code_bytes) + *cold;
  return std::max(0.0, *work.delivery_cycles - UnfusedInstructions(work) / pipeline.slots) +
         std::min(assumed, work.cold_cycles.value_or(assumed));
}

std::string Contradiction(const Shares& s, const Busiest& busiest) {
  if (s.retiring_low > 1) {
    return fmt::format(
        "counts and time contradict each other: the instructions need {:.0f} % of "
        "the slots",
        s.retiring_low * 100);
  }
  if (s.busy.share > 1) {
    return fmt::format(
        "counts and time contradict each other: {} alone would take {:.0f} % of "
        "the cycles",
        s.busy.unit, s.busy.share * 100);
  }
  if (busiest.share > kMaxBusyShare) {
    return fmt::format(
        "the run did more {} per cycle ({:.0f} %) than measured before and after it",
        busiest.unit == "floating-point units" ? "floating-point operations" : busiest.unit,
        busiest.share * 100);
  }
  return "";
}

}  // namespace

double ColdCodeCycles(double code_bytes) { return code_bytes / kCodeLine * kColdLineCycles; }

std::string WhyRatesAreUnusable(const CoreRates& rates, const CorePipeline& pipeline) {
  if (!rates.slots || !rates.mispredict_cycles || !rates.link_cycles) {
    return "the rates of the cores were not measured";
  }
  if (rates.threads_per_core > 1) {
    return fmt::format(
        "{} threads share the slots of each core, and how they divide them is not known: use one "
        "thread per core (--threads {})",
        rates.threads_per_core, std::max(1, rates.threads / rates.threads_per_core));
  }
  if (rates.spreads.empty()) return "the rates of the cores were recorded without their spread";
  const auto widest =
      std::max_element(rates.spreads.begin(), rates.spreads.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (widest->second > kMaxSpread) {
    return fmt::format(
        "the measured rates of the cores spread by more than {:.0f} % ({}: {:.1f} %)",
        kMaxSpread * 100, widest->first, widest->second * 100);
  }
  const double issue = *rates.slots / pipeline.slots;
  if (issue > 1 + kNoise) {
    return fmt::format(
        "the cores issue {:.2f} instructions per cycle, but their table has only {} slots",
        *rates.slots, pipeline.slots);
  }
  if (issue < kMinIssue) {
    return fmt::format(
        "the cores issue {:.2f} instructions per cycle, too few for {} slots: a "
        "neighbour uses the cores",
        *rates.slots, pipeline.slots);
  }
  return "";
}

std::string WhyNoBounds(Status status) {
  return status == Status::kOk ? "" : fmt::format("the record is {}", NameOf(status));
}

BoundsOrReason BoundTopdown(const CoreWork& work, const CoreTime& time,
                            const CorePipeline& pipeline, const CoreRates& rates) {
  const auto refuse = [](std::string reason) {
    return BoundsOrReason{.bounds = std::nullopt, .reason = std::move(reason)};
  };
  if (pipeline.slots <= 0) return refuse("the slots of this CPU's pipeline are not known");
  if (!(work.instructions > 0)) return refuse("no instruction was counted");
  if (!(time.hertz_low > 0) || !(time.seconds > 0)) return refuse("the core clock is not known");
  if (std::string why = WhyRatesAreUnusable(rates, pipeline); !why.empty())
    return refuse(std::move(why));
  const auto [fewest, most] = CyclesIn({time.seconds, time.seconds}, time);
  const Shares s = SharesOf(work, time, pipeline, rates, fewest, most);
  const Busiest busiest = BusiestUnit(work, rates, most);
  if (std::string why = Contradiction(s, busiest); !why.empty()) return refuse(std::move(why));

  const bool apart = s.frontend && time.threads == 1;
  const double rest = 1 - s.retiring_low;
  const double core_low =
      s.frontend ? Clamp(s.busy.share - s.retiring_high - s.bad - *s.frontend) : 0.0;
  // The kernel's time looks like a stall.
  const double memory_low =
      work.system_calls > 0
          ? 0.0
          : Clamp(1 - s.retiring_high - s.bad - s.chain - (apart ? *s.frontend : 0.0) - kUnseen);
  TopdownBounds bounds;
  bool collapsed = false;
  const auto add = [&](const char* name, double low, double high, std::string basis) {
    collapsed = collapsed || !(low < high || (low == 0 && high == 0));
    // Retiring is never a remainder.
    const double nothing_known = std::string_view(name) == "Retiring" ? 1.0 : rest;
    if (low < kInformative && high > nothing_known - kInformative) return;
    bounds[name] = {low, high, std::move(basis)};
  };
  add("Retiring", s.retiring_low, std::min(s.retiring_high, 1 - core_low - memory_low),
      fmt::format(
          "{:.4g} instructions, of which {:.4g} may share a slot; {} slots per cycle ({}) of "
          "{:.4g} to {:.4g} cycles; at most {} slots an instruction on average",
          work.instructions,
          work.conditional_branches + work.fusible_instructions + work.slow_instructions,
          pipeline.slots, pipeline.source, fewest, most, pipeline.slots_per_instruction));
  add("Bad_Speculation", 0, std::min(s.bad, rest - core_low - memory_low),
      fmt::format("at most {:.4g} mispredictions, one per branch, of {:.0f} cycles each; assuming "
                  "no machine clears",
                  s.mispredicts, s.mispredict_cost));
  add("Core_Bound", core_low, std::min(s.chain, rest - memory_low),
      fmt::format(
          "busy at the table's rates for at least {:.1f} % of the cycles: {}; one chain through "
          "all instructions takes at most {:.0f} %; busiest at the measured rates: {}, {:.0f} %",
          s.busy.share * 100, s.busy.unit, s.chain * 100, busiest.unit, busiest.share * 100));
  if (apart) {
    add("Frontend_Bound", 0, std::min(*s.frontend, rest - core_low - memory_low),
        fmt::format("{:.4g} branches taken; {:.0f} bytes of code, about {:.0f} micro-ops, stay in "
                    "the micro-op cache",
                    work.taken_branches, work.code_bytes, s.code_operations));
  }
  std::string memory = apart ? "what the other nodes leave"
                       : s.frontend
                           ? "what the other nodes leave, including threads that wait "
                             "for each other"
                           : "what the other nodes leave, including the front end, because "
                             "the code does not fit the micro-op cache";
  if (time.memory_bytes > 0 && time.memory_bytes_per_second > 0) {
    memory += fmt::format(
        "; {:.4g} bytes that no cache holds take {:.0f} % of the time at the measured bandwidth",
        time.memory_bytes, 100 * time.memory_bytes / time.memory_bytes_per_second / time.seconds);
  }
  add(apart ? "Memory_Bound" : "Memory_And_Frontend_Bound", memory_low, rest - core_low,
      std::move(memory));
  if (collapsed) return refuse("the intervals contradict each other");
  if (bounds.empty()) return refuse("the counts bound no node");
  return {.bounds = std::move(bounds), .reason = ""};
}

std::optional<CountedShares> CountShares(const CoreWork& work, const CoreTime& time,
                                         Interval seconds, const CorePipeline& pipeline,
                                         const CoreRates& rates) {
  if (pipeline.slots <= 0 || !(work.instructions > 0) || !(time.hertz_low > 0) ||
      !(seconds.low > 0)) {
    return std::nullopt;
  }
  const auto [fewest, most] = CyclesIn(seconds, time);
  const Shares s = SharesOf(work, time, pipeline, rates, fewest, most);
  if (s.retiring_low > 1 || s.busy.share > 1) return std::nullopt;
  CountedShares counted;
  counted.retiring = {s.retiring_low, s.retiring_high};
  counted.frontend = s.frontend;
  counted.bad_speculation = s.bad;
  if (work.missed_branches && work.code_blocks) {
    const double missed = *work.missed_branches + *work.code_blocks * time.threads;
    const std::optional<double> bad = MispredictedCycles(work, missed, rates);
    if (bad) counted.bad_speculation = Clamp(*bad / fewest);
  }
  double apart = counted.bad_speculation + counted.frontend.value_or(1);
  if (const auto lost = LostCycles(work, time.threads, pipeline, rates)) {
    counted.lost = Clamp(*lost / fewest);
    counted.frontend = std::min(*counted.lost, counted.frontend.value_or(1));
    counted.bad_speculation = std::min(*counted.lost, counted.bad_speculation);
    apart = std::min(*counted.lost, apart);
  }
  counted.core = {Clamp(s.busy.share - s.retiring_high - apart), rates.link_cycles ? s.chain : 1};
  if (s.busy.share > 0) {
    counted.busiest = s.busy.unit;
    counted.busy = s.busy.share;
  }
  return counted;
}

TopdownBounds BoundDisturbed(const CoreWork& work, const CoreTime& time,
                             const CorePipeline& pipeline) {
  if (pipeline.slots <= 0 || !(time.hertz_high > 0) || !(time.seconds > 0)) return {};
  const double most = time.seconds * time.hertz_high * time.threads * (1 + kUnseen);
  const double retiring = Clamp(UnfusedInstructions(work) / (pipeline.slots * most));
  return {
      {"Retiring",
       {retiring, 1,
        fmt::format("{:.4g} instructions with a slot of their own in at most {:.4g} cycles of {} "
                    "slots: the fastest of runs that other work disturbed",
                    UnfusedInstructions(work), most, pipeline.slots)}},
      {"Core_Bound", {0, 1 - retiring, "what the other nodes leave"}}};
}

}  // namespace topdnn
