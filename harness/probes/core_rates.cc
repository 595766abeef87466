#include "harness/probes/core_rates.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/machine/clock.h"
#include "harness/probes/team.h"
#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

constexpr double kWindowSeconds = 0.3e-3;
constexpr int kWindows = 12;
constexpr std::size_t kWorkingSet = 8192;  // in L1
// Too many random bytes for a predictor to learn by heart.
constexpr std::size_t kRandomBytes = std::size_t{1} << 20;

double Instructions(const ProbeWork& work) { return work.instructions; }
double Loads(const ProbeWork& work) { return work.loads; }
double Stores(const ProbeWork& work) { return work.stores; }
double Operations(const ProbeWork& work) { return work.loads + work.stores; }
double LoadBytes(const ProbeWork& work) { return work.bytes_loaded; }
double StoreBytes(const ProbeWork& work) { return work.bytes_stored; }
// (the loop's own branch is one of them)
double Taken(const ProbeWork& work) { return work.instructions - 1; }
template <int kLanes>
double FpCount(const ProbeWork& work) {
  return work.flops / kLanes;
}

std::optional<double>& Slots(CoreRates& r) { return r.slots; }
std::optional<double>& LoadRate(CoreRates& r) { return r.loads; }
std::optional<double>& StoreRate(CoreRates& r) { return r.stores; }
std::optional<double>& OperationRate(CoreRates& r) { return r.memory_operations; }
std::optional<double>& LoadByteRate(CoreRates& r) { return r.load_bytes; }
std::optional<double>& StoreByteRate(CoreRates& r) { return r.store_bytes; }
std::optional<double>& TakenRate(CoreRates& r) { return r.taken_branches; }
template <FpWidth kWidth>
std::optional<double>& Fp(CoreRates& r) {
  return r.fp[kWidth];
}

// A rate is that of the fastest of its probes.
struct Row {
  const char* probe;
  double (*amount)(const ProbeWork&);  // of an iteration
  std::optional<double>& (*rate)(CoreRates&);
};

constexpr Row kRows[] = {
    {"core/issue/moves", Instructions, Slots},
    {"core/issue/memory", Instructions, Slots},
    {"core/taken", Taken, TakenRate},
    {"core/fp/128", FpCount<4>, Fp<kPacked128>},
    {"fma/avx2/f32/registers", FpCount<8>, Fp<kPacked128>},
    {"core/fp/256", FpCount<8>, Fp<kPacked256>},
    {"fma/avx2/f32/registers", FpCount<8>, Fp<kPacked256>},
    {"core/fp/512", FpCount<16>, Fp<kPacked512>},
    {"fma/avx512/f32/registers", FpCount<16>, Fp<kPacked512>},
    {"core/load/8", Loads, LoadRate},
    {"core/store/8", Stores, StoreRate},
    {"core/load_store/8", Operations, OperationRate},
    {"core/load/32", LoadBytes, LoadByteRate},
    {"core/load/64", LoadBytes, LoadByteRate},
    {"core/store/32", StoreBytes, StoreByteRate},
    {"core/store/64", StoreBytes, StoreByteRate},
};

struct Member {
  const char* name;
  std::optional<double> CoreRates::*value;
};

constexpr Member kMembers[] = {{"slots", &CoreRates::slots},
                               {"loads", &CoreRates::loads},
                               {"stores", &CoreRates::stores},
                               {"memory_operations", &CoreRates::memory_operations},
                               {"load_bytes", &CoreRates::load_bytes},
                               {"store_bytes", &CoreRates::store_bytes},
                               {"taken_branches", &CoreRates::taken_branches},
                               {"mispredict_cycles", &CoreRates::mispredict_cycles},
                               {"link_cycles", &CoreRates::link_cycles}};

// Iterations a cycle of each thread, of so many windows that a neighbour disturbs few; the clock is
// read around each, as it moves.
std::vector<double> IterationsPerCycle(const char* name, int threads, std::size_t working_set) {
  const Probe* probe = FindProbe(name);
  if (probe == nullptr || !WhyAbsent(*probe, MachineIsas()).empty()) return {};
  ProbeTeam team(*probe, threads, working_set, kWindowSeconds);
  std::vector<double> values;
  double before = CoreClock().hz;
  for (int window = 0; window < kWindows; ++window) {
    const std::optional<double> rate = team.Window();
    const double after = CoreClock().hz;
    const double hertz = std::max(before, after);
    before = after;
    if (!rate || !(hertz > 0)) return {};
    values.push_back(*rate / hertz / threads);
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

CoreRates MeasureCoreRates(int threads) {
  CoreRates rates;
  rates.threads = threads;
  for (const Row& row : kRows) {
    const std::vector<double> iterations = IterationsPerCycle(row.probe, threads, kWorkingSet);
    if (iterations.empty()) continue;
    const double rate = QuantileOfSorted(iterations, 0.9) * row.amount(FindProbe(row.probe)->work);
    std::optional<double>& known = row.rate(rates);
    known = std::max(known.value_or(0), rate);
  }
  rates.fp[kScalar] = rates.fp[kPacked128];
  const std::vector<double> loads = IterationsPerCycle("chase", threads, kWorkingSet);
  const std::vector<double> adds = IterationsPerCycle("core/fp/chain", threads, kWorkingSet);
  if (!loads.empty() && !adds.empty()) {
    rates.link_cycles = 1 / (QuantileOfSorted(loads, 0.5) * FindProbe("chase")->work.loads) +
                        2 / (QuantileOfSorted(adds, 0.5) * FindProbe("core/fp/chain")->work.flops);
  }
  const std::vector<double> predicted = IterationsPerCycle("branch/taken", threads, kRandomBytes);
  const std::vector<double> random = IterationsPerCycle("branch/random", threads, kRandomBytes);
  if (!predicted.empty() && !random.empty()) {
    // Every other iteration mispredicts, on average.
    rates.mispredict_cycles =
        2 * (1 / QuantileOfSorted(random, 0.5) - 1 / QuantileOfSorted(predicted, 0.9));
  }
  return rates;
}

nlohmann::ordered_json ToJson(const CoreRates& rates) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json = {{"threads", rates.threads}};
  for (const Member& member : kMembers) json[member.name] = number(rates.*member.value);
  for (const std::optional<double>& rate : rates.fp) json["fp"].push_back(number(rate));
  return json;
}

CoreRates CoreRatesFromJson(const nlohmann::ordered_json& json) {
  const auto number = [](const nlohmann::ordered_json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
  };
  CoreRates rates;
  rates.threads = json.at("threads").get<int>();
  for (const Member& member : kMembers) rates.*member.value = number(json.at(member.name));
  for (std::size_t width = 0; width < rates.fp.size(); ++width) {
    rates.fp[width] = number(json.at("fp").at(width));
  }
  return rates;
}

}  // namespace topdnn
