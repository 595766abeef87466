#include "harness/probes/core_rates.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "harness/machine/clock.h"
#include "harness/machine/topology.h"
#include "harness/probes/ceiling_verdict.h"
#include "harness/probes/quiet.h"
#include "harness/probes/team.h"
#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

constexpr double kWindowSeconds = 0.3e-3;
constexpr int kWindows = 12;
constexpr int kMostWindows = 6 * kWindows;
constexpr std::size_t kWorkingSet = 8192;  // in L1
// More random bytes than a branch predictor can learn.
constexpr std::size_t kRandomBytes = std::size_t{1} << 20;

double Instructions(const ProbeWork& work) { return work.instructions; }
double Loads(const ProbeWork& work) { return work.loads; }
double Stores(const ProbeWork& work) { return work.stores; }
template <int kLanes>
double FpCount(const ProbeWork& work) {
  return work.flops / kLanes;
}

// The rates and costs by their names in the JSON.
struct Member {
  const char* name;
  std::optional<double> CoreRates::*value;
  bool cost = false;  // in cycles: lower is better
};

constexpr Member kMembers[] = {{"slots", &CoreRates::slots},
                               {"loads", &CoreRates::loads},
                               {"stores", &CoreRates::stores},
                               {"mispredict_cycles", &CoreRates::mispredict_cycles, true},
                               {"link_cycles", &CoreRates::link_cycles, true}};
constexpr const char* kFpNames[kFpWidths] = {"fp/scalar", "fp/128", "fp/256", "fp/512"};

template <class Rates>
auto& RateOf(Rates& rates, std::string_view name) {
  for (const Member& member : kMembers) {
    if (name == member.name) return rates.*member.value;
  }
  return rates.fp.at(static_cast<std::size_t>(
      std::find(std::begin(kFpNames), std::end(kFpNames), name) - std::begin(kFpNames)));
}

// A rate is the highest of its probes.
struct Row {
  const char* probe;
  double (*amount)(const ProbeWork&);  // per iteration
  const char* rate;
};

constexpr Row kRows[] = {
    {"core/issue/moves", Instructions, "slots"},
    {"core/issue/memory", Instructions, "slots"},
    {"core/fp/128", FpCount<4>, "fp/128"},
    {"fma/avx2/f32/registers", FpCount<8>, "fp/128"},
    {"core/fp/256", FpCount<8>, "fp/256"},
    {"fma/avx2/f32/registers", FpCount<8>, "fp/256"},
    {"core/fp/512", FpCount<16>, "fp/512"},
    {"fma/avx512/f32/registers", FpCount<16>, "fp/512"},
    {"core/load/8", Loads, "loads"},
    {"core/store/8", Stores, "stores"},
};

// Iterations per cycle of each thread.
struct Pace {
  double median = 0, best = 0;  // best: the 90th percentile of the windows

  double spread() const { return 1 - median / best; }
};

// Uses windows in which the threads had a CPU and its core for themselves; of at most kMostWindows.
// The clock is read around each window, because it changes. Absent if the probe cannot run.
std::optional<Pace> PaceOf(const char* name, int threads, std::size_t working_set) {
  const Probe* probe = FindProbe(name);
  if (probe == nullptr || !WhyAbsent(*probe, MachineIsas()).empty()) return std::nullopt;
  ProbeTeam team(*probe, threads, working_set, kWindowSeconds);
  QuietWindows measured(team, threads);
  double before = CoreClock().hz;
  for (int window = 0; window < kMostWindows && measured.undisturbed() < kWindows; ++window) {
    const std::optional<double> rate = measured.Measure();
    const double after = CoreClock().hz;
    const double hertz = std::max(before, after);
    before = after;
    if (!rate || !(hertz > 0)) return std::nullopt;
    measured.Keep(*rate / hertz / threads);
  }
  QuietWindows::Kept kept = measured.Take(kMinWindows);
  KeepUndisturbedWindows(kept.values, kept.on_cpu);
  std::sort(kept.values.begin(), kept.values.end());
  return Pace{QuantileOfSorted(kept.values, 0.5), QuantileOfSorted(kept.values, 0.9)};
}

}  // namespace

CoreRates MeasureCoreRates(int threads) {
  CoreRates rates;
  rates.threads = threads;
  rates.threads_per_core = ThreadsPerCore(ReadTopology(), threads);
  for (const Row& row : kRows) {
    const std::optional<Pace> pace = PaceOf(row.probe, threads, kWorkingSet);
    if (!pace) continue;
    const double rate = pace->best * row.amount(FindProbe(row.probe)->work);
    std::optional<double>& known = RateOf(rates, row.rate);
    if (known && *known >= rate) continue;
    known = rate;
    rates.spreads[row.rate] = pace->spread();
  }
  rates.fp[kScalar] = rates.fp[kPacked128];
  const std::optional<Pace> loads = PaceOf("chase", threads, kWorkingSet);
  const std::optional<Pace> adds = PaceOf("core/fp/chain", threads, kWorkingSet);
  if (loads && adds) {
    rates.link_cycles = 1 / (loads->median * FindProbe("chase")->work.loads) +
                        2 / (adds->median * FindProbe("core/fp/chain")->work.flops);
    rates.spreads["link_cycles"] = std::max(loads->spread(), adds->spread());
  }
  const std::optional<Pace> predicted = PaceOf("branch/taken", threads, kRandomBytes);
  const std::optional<Pace> random = PaceOf("branch/random", threads, kRandomBytes);
  if (predicted && random) {
    // Half of the iterations mispredict, on average.
    rates.mispredict_cycles = 2 * (1 / random->median - 1 / predicted->best);
    rates.spreads["mispredict_cycles"] = std::max(predicted->spread(), random->spread());
  }
  return rates;
}

CoreRates Joined(const CoreRates& before, const CoreRates& after) {
  CoreRates joined;
  joined.threads = before.threads;
  joined.threads_per_core = before.threads_per_core;
  const auto join = [&](const std::string& name, bool cost) {
    const std::optional<double> a = RateOf(before, name);
    const std::optional<double> b = RateOf(after, name);
    if (!a || !b) return;
    const auto [low, high] = std::minmax(*a, *b);
    RateOf(joined, name) = cost ? low : high;
    double spread = high > 0 ? 1 - low / high : 1;
    bool known = false;
    for (const CoreRates* rates : {&before, &after}) {
      const auto found = rates->spreads.find(name);
      if (found == rates->spreads.end()) continue;
      spread = std::max(spread, found->second);
      known = true;
    }
    if (known) joined.spreads[name] = spread;
  };
  for (const Member& member : kMembers) join(member.name, member.cost);
  for (const char* name : kFpNames) join(name, false);
  return joined;
}

nlohmann::ordered_json ToJson(const CoreRates& rates) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json = {{"threads", rates.threads},
                                 {"threads_per_core", rates.threads_per_core}};
  for (const Member& member : kMembers) json[member.name] = number(rates.*member.value);
  for (const std::optional<double>& rate : rates.fp) json["fp"].push_back(number(rate));
  json["spreads"] = rates.spreads;
  return json;
}

CoreRates CoreRatesFromJson(const nlohmann::ordered_json& json) {
  const auto number = [](const nlohmann::ordered_json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
  };
  CoreRates rates;
  rates.threads = json.at("threads").get<int>();
  rates.threads_per_core = json.value("threads_per_core", 1);  // earlier versions have none
  for (const Member& member : kMembers) rates.*member.value = number(json.at(member.name));
  for (std::size_t width = 0; width < rates.fp.size(); ++width) {
    rates.fp[width] = number(json.at("fp").at(width));
  }
  if (json.contains("spreads")) {
    rates.spreads = json.at("spreads").get<std::map<std::string, double>>();
  }
  return rates;
}

}  // namespace topdnn
