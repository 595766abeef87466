#include "harness/bounds/topdown_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace topdnn {
namespace {

// How far two readings of a clock or rate lie apart on a quiet machine.
constexpr double kNoise = 0.02;
// Instructions that take more than a slot: retired slots were seen within 10 to 15 % of them.
constexpr double kSlotsPerInstruction = 1.15;
// The cost of a misprediction differs with what stands before and behind the branch.
constexpr double kMispredictSpread = 1.25;
// More than a 64-bit division, an atomic operation or a gather takes (Agner Fog, instruction
// tables).
constexpr double kSlowCycles = 100;

double Clamp(double fraction) { return std::clamp(fraction, 0.0, 1.0); }

// The longest time, in cycles of a thread, that one unit needs for its share of the work.
struct Busiest {
  double cycles = 0;
  std::string_view unit = "none of the units measured";
};

Busiest BusiestUnit(const CoreWork& work, const CoreRates& rates) {
  Busiest busiest;
  const auto take = [&](std::string_view unit, double cycles) {
    if (cycles > busiest.cycles) busiest = {cycles, unit};
  };
  const auto consider = [&](std::string_view unit, double amount, const std::optional<double>& r) {
    if (r) take(unit, amount / *r);
  };
  double fp = 0;  // all widths share their units
  for (int w = 0; w < kFpWidths; ++w) {
    const auto width = static_cast<std::size_t>(w);
    if (rates.fp[width]) fp += work.fp[width] / *rates.fp[width];
  }
  take("floating-point units", fp);
  consider("loads", work.loads, rates.loads);
  consider("stores", work.stores, rates.stores);
  consider("loads and stores", work.loads + work.stores, rates.memory_operations);
  consider("bytes loaded", work.load_bytes, rates.load_bytes);
  consider("bytes stored", work.store_bytes, rates.store_bytes);
  consider("branches taken", work.taken_branches, rates.taken_branches);
  return busiest;
}

// Fractions of the cycles, or of the slots where they say so.
struct Shares {
  double retiring_low, retiring_high;  // of the slots
  double bad;                          // at most
  double busy;                         // of the busiest unit, at least
  double chain;                        // of one chain through all instructions, at most
  double memory;                       // of the memory's bandwidth, at least
  double bubbles;                      // of branches taken, at most
};

// The smallest interval that the other nodes leave.
void Add(TopdownBounds& bounds, const char* name, double low, double high, std::string basis) {
  bounds[name] = {low, std::max(low, high), std::move(basis)};
}

}  // namespace

std::optional<TopdownBounds> BoundTopdown(const CoreWork& work, const CoreTime& time,
                                          const CoreRates& rates) {
  if (!rates.slots || !rates.mispredict_cycles || !(time.hertz_low > 0) || !(time.seconds > 0)) {
    return std::nullopt;
  }
  const double threads = time.threads;
  const double fewest = time.seconds * time.hertz_low * threads * (1 - kNoise);
  const double most = time.seconds * time.hertz_high * threads * (1 + kNoise);
  const double penalty = *rates.mispredict_cycles * kMispredictSpread;
  const double mispredicts = work.minority_branches + work.indirect_branches;
  const Busiest busiest = BusiestUnit(work, rates);
  Shares s{};
  s.retiring_low = Clamp((work.instructions - work.conditional_branches) / (*rates.slots * most));
  s.retiring_high = Clamp(work.instructions * kSlotsPerInstruction / (*rates.slots * fewest));
  s.bad = Clamp(mispredicts * penalty / fewest);
  s.busy = Clamp(busiest.cycles / most);
  s.chain = 1;
  if (rates.link_cycles) {
    s.chain = Clamp(
        (work.instructions * *rates.link_cycles + work.slow_instructions * kSlowCycles) / fewest);
  }
  if (time.memory_bytes_per_second > 0) {
    s.memory = Clamp(time.memory_bytes / time.memory_bytes_per_second / time.seconds);
  }
  if (rates.taken_branches) s.bubbles = Clamp(work.taken_branches / *rates.taken_branches / fewest);

  const bool code_fits = work.code_bytes > 0 && 2 * work.code_bytes <= time.instruction_cache;
  const bool eliminated = code_fits && time.threads == 1 && rates.taken_branches;
  const double rest = 1 - s.retiring_low;
  const double core_low = std::min(rest, Clamp(s.busy - s.retiring_high - s.bad));
  const double core_high = std::max(core_low, std::min(rest, s.chain));
  const double by_elimination =
      1 - s.retiring_high - s.bad - core_high - (eliminated ? s.bubbles : 0);
  // (a core waits for its units longer than they are busy: nothing is taken to overlap)
  const double by_bandwidth = s.memory - s.busy - s.retiring_high - s.bad;
  const double memory_low =
      std::min(rest - core_low, Clamp(std::max(by_elimination, by_bandwidth)));
  TopdownBounds bounds;
  Add(bounds, "Retiring", s.retiring_low, s.retiring_high,
      fmt::format("{:.4g} instructions, {:.4g} of them conditional branches, over {:.2f} slots a "
                  "cycle of {:.4g} to {:.4g} cycles",
                  work.instructions, work.conditional_branches, *rates.slots, fewest, most));
  Add(bounds, "Bad_Speculation", 0, std::min(s.bad, rest - core_low - memory_low),
      fmt::format("at most {:.4g} mispredictions of {:.0f} cycles", mispredicts, penalty));
  Add(bounds, "Core_Bound", core_low, std::min(core_high, rest - memory_low),
      fmt::format("busiest: {}, {:.1f} % of the cycles at its measured rate; one chain through all "
                  "instructions, {:.0f} % at most",
                  busiest.unit, s.busy * 100, s.chain * 100));
  if (eliminated) {
    Add(bounds, "Frontend_Bound", 0, std::min(s.bubbles, rest - core_low - memory_low),
        fmt::format("at most {:.4g} branches taken, {:.2f} a cycle; {:.0f} bytes of code stay in "
                    "the instruction cache",
                    work.taken_branches, *rates.taken_branches, work.code_bytes));
  }
  std::string memory = s.memory > 0
                           ? fmt::format(
                                 "{:.4g} bytes that no cache holds are {:.1f} % of the time "
                                 "at the measured bandwidth; at most the remainder",
                                 time.memory_bytes, s.memory * 100)
                           : "at most the remainder";
  memory += eliminated          ? ", the front end being eliminated"
            : time.threads == 1 ? "; the code does not fit the instruction cache"
                                : "; threads that wait for each other are in it";
  Add(bounds, eliminated ? "Memory_Bound" : "Memory_And_Frontend_Bound", memory_low,
      rest - core_low, std::move(memory));
  return bounds;
}

}  // namespace topdnn
