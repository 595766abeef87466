#include "harness/experiments/memory_times.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "harness/measure/undisturbed.h"

namespace topdnn {

namespace {

double Clamp(double share) { return std::clamp(share, 0.0, 1.0); }

constexpr double kTeamSeconds = 2e-6;  // to wake a team that waits passively

// The 95 % interval of the median of each end over the rounds, moved outward by the method's error.
template <class Low, class High>
std::optional<Interval> ShareOver(std::span<const MemoryRound> rounds, Low low, High high) {
  std::vector<double> lows, highs;
  for (const MemoryRound& round : rounds) {
    lows.push_back(low(round));
    highs.push_back(high(round));
  }
  const std::optional<Interval> from = MedianInterval(lows);
  const std::optional<Interval> to = MedianInterval(highs);
  if (!from || !to) return std::nullopt;
  return Interval{Clamp(from->low - kMemoryShareError), Clamp(to->high + kMemoryShareError)};
}

// Yasin's Memory_Bound includes the waits beyond L2, so its upper end is an upper end of theirs,
// too. An upper end below the measured interval contradicts it, and is not used.
void NarrowBy(const TopdownBounds* counted, Bound* memory) {
  if (counted == nullptr) return;
  for (const char* name : {"Memory_Bound", "Memory_And_Frontend_Bound"}) {
    const auto found = counted->find(name);
    if (found == counted->end()) continue;
    const double high = found->second.high;
    if (high >= memory->high || high < memory->low) continue;
    memory->high = high;
    memory->basis += "; upper end by bound: " + found->second.basis;
  }
}

}  // namespace

std::vector<MemoryRound> UndisturbedRounds(std::span<const MemoryRound> rounds) {
  std::vector<double> waited;
  waited.reserve(rounds.size());
  for (const MemoryRound& round : rounds) waited.push_back(round.waited);
  std::vector<MemoryRound> kept;
  for (const std::size_t i : SelectRounds(waited)) kept.push_back(rounds[i]);
  return kept;
}

double ColdCodeSeconds(double code_bytes, double hertz) {
  return ColdCodeCycles(code_bytes) / hertz + kTeamSeconds;
}

std::optional<MemoryShares> SharesOf(std::span<const MemoryRound> rounds, MemoryRegime regime,
                                     const MemoryDoubt& doubt) {
  const bool hot = regime == MemoryRegime::kHot;
  const auto whole = [hot](const MemoryRound& r) { return hot ? r.hot.value_or(0) : r.in_network; };
  const bool timed =
      std::all_of(rounds.begin(), rounds.end(), [&](const MemoryRound& r) { return whole(r) > 0; });
  if (!timed) return std::nullopt;
  // How much longer the region takes than without the waits, as a share of its time.
  const auto beyond = [&](std::span<const MemoryRound> of, auto fast) {
    const auto low = [&, fast](const MemoryRound& r) {
      // (a disturbed repetition may take longer than in the network)
      const double repeated = r.hot ? std::min(*r.hot, whole(r)) - fast(r) : 0;
      if (hot || !doubt.cold_code_seconds) return repeated / whole(r);
      const double in_network = r.in_network - fast(r) - *doubt.cold_code_seconds;
      return (r.hot ? std::max(repeated, in_network) : in_network) / whole(r);
    };
    const auto high = [&, fast](const MemoryRound& r) {
      return (whole(r) - fast(r) + doubt.kept_seconds) / whole(r);
    };
    return ShareOver(of, low, high);
  };
  const auto memory = beyond(rounds, [](const MemoryRound& r) { return r.second_level; });
  if (!memory) return std::nullopt;
  MemoryShares shares{.memory = *memory, .last_level = {}, .dram = {}};
  std::vector<MemoryRound> with_last;
  std::copy_if(rounds.begin(), rounds.end(), std::back_inserter(with_last),
               [](const MemoryRound& r) { return r.last_level.has_value(); });
  shares.dram = beyond(with_last, [](const MemoryRound& r) { return *r.last_level; });
  const auto last = [&](const MemoryRound& r) {
    return (*r.last_level - r.second_level) / whole(r);
  };
  shares.last_level = ShareOver(with_last, last, last);
  return shares;
}

TopdownBounds SplitOf(const MemoryShares& shares, const TopdownBounds* counted) {
  TopdownBounds split;
  const auto measured = [&split](const char* name, const std::optional<Interval>& share,
                                 const char* basis) {
    if (share) split[name] = {share->low, share->high, basis};
  };
  measured("Memory_Bound", shares.memory,
           "experiment: its own pages against a footprint of the size of L2");
  NarrowBy(counted, &split["Memory_Bound"]);
  std::vector<std::string> nodes = {"Memory_Bound"};
  if (counted != nullptr) {
    for (const char* name : {"Retiring", "Core_Bound"}) {
      const auto found = counted->find(name);
      Bound bound{0, 1, "what the other nodes leave"};
      if (found != counted->end()) {
        bound = found->second;
      } else if (!split.contains("Retiring")) {
        continue;  // nothing was counted
      }
      bound.basis = "bound: " + bound.basis;
      split[name] = std::move(bound);
      nodes.emplace_back(name);
    }
  }
  // The nodes and the rest sum to 1, so no node exceeds what the lower ends of the others leave.
  double low = 0;
  double high = 0;
  for (const std::string& node : nodes) low += split[node].low;
  low = std::min(low, 1.0);
  for (const std::string& node : nodes) {
    Bound& bound = split[node];
    bound.high = std::max(bound.low, std::min(bound.high, 1 - (low - bound.low)));
    high += bound.high;
  }
  split["Rest"] = {Clamp(1 - high), Clamp(1 - low),
                   nodes.size() == 1 ? "what the experiment leaves: every other node"
                                     : "what the other nodes leave"};
  measured("L3_Bound", shares.last_level,
           "experiment: a footprint in the last cache against one in L2");
  measured("DRAM_Bound", shares.dram,
           "experiment: its own pages against a footprint in the last cache");
  for (const char* part : {"L3_Bound", "DRAM_Bound"}) {  // both are parts of Memory_Bound
    if (!split.contains(part)) continue;
    split[part].high = std::min(split[part].high, split["Memory_Bound"].high);
    split[part].low = std::min(split[part].low, split[part].high);
  }
  return split;
}

}  // namespace topdnn
