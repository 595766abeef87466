#include "harness/probes/quiet.h"

#include <algorithm>
#include <string>
#include <vector>

#include "harness/machine/isa.h"
#include "harness/machine/machine.h"
#include "harness/probes/ceiling_verdict.h"
#include "harness/probes/ceilings.h"
#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

constexpr double kWindowSeconds = 0.5e-3;

// The rates of windows in which the threads had their CPUs: a window that waited for a CPU says
// nothing about the speed. Absent if OpenMP gives fewer threads.
std::optional<std::vector<double>> Rates(ProbeTeam& team, double work, int windows) {
  std::vector<double> rates;
  for (int i = 0; i < windows; ++i) {
    const std::optional<double> rate = team.Window();
    if (!rate) return std::nullopt;
    if (team.on_cpu() >= kMinOnCpu) rates.push_back(*rate * work);
  }
  return rates;
}

// The median of a few windows, so that a single interrupt has no effect.
std::optional<double> Rate(ProbeTeam* team, double work) {
  constexpr int kWindows = 4;
  if (team == nullptr) return std::nullopt;
  const auto rates = Rates(*team, work, kWindows);
  return rates ? MedianIfAny(*rates) : std::nullopt;
}

// The better of two windows.
std::optional<double> BriefRate(ProbeTeam* team, double work) {
  if (team == nullptr) return std::nullopt;
  const auto rates = Rates(*team, work, 2);
  if (!rates || rates->empty()) return std::nullopt;
  return *std::max_element(rates->begin(), rates->end());
}

std::optional<double> Higher(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

}  // namespace

QuietCheck::QuietCheck(int threads) {
  const Probe* fma = WidestProbe(ProbeKind::kFma, "f32");
  if (fma != nullptr) {
    fma_ = std::make_unique<ProbeTeam>(*fma, threads, 8192, kWindowSeconds);
    flops_ = fma->work.flops;
  }
  const Probe* issue = FindProbe("core/issue/moves");
  if (issue != nullptr && WhyAbsent(*issue, MachineIsas()).empty()) {
    issue_ = std::make_unique<ProbeTeam>(*issue, threads, 8192, kWindowSeconds);
    instructions_ = issue->work.instructions;
  }
  const Probe* read = WidestProbe(ProbeKind::kRead);
  if (read != nullptr) {
    std::string note;
    const std::size_t working_set = WorkingSet(ReadTopology(), "dram", threads,
                                               static_cast<std::size_t>(AvailableMemory()), note);
    memory_ = std::make_unique<ProbeTeam>(*read, threads, working_set, kWindowSeconds);
    bytes_ = read->work.bytes_loaded;
  }
}

QuietReading QuietCheck::Read() {
  return {Rate(fma_.get(), flops_), Rate(memory_.get(), bytes_), Rate(issue_.get(), instructions_)};
}

QuietReading QuietCheck::ReadBriefly() {
  return {BriefRate(fma_.get(), flops_), BriefRate(memory_.get(), bytes_),
          BriefRate(issue_.get(), instructions_)};
}

QuietReading Best(const QuietReading& a, const QuietReading& b) {
  return {Higher(a.flops_per_second, b.flops_per_second),
          Higher(a.bytes_per_second, b.bytes_per_second),
          Higher(a.instructions_per_second, b.instructions_per_second)};
}

std::optional<double> QuietRatio(const QuietReading& best, const QuietReading& now) {
  std::optional<double> worst;
  for (const auto rate : {&QuietReading::flops_per_second, &QuietReading::bytes_per_second}) {
    if (!(best.*rate) || !(now.*rate)) continue;
    double share = *(now.*rate) / *(best.*rate);
    const bool is_memory = rate == &QuietReading::bytes_per_second;
    if (is_memory && share > 1 - kMemoryNoise) share = 1.0;
    worst = std::min(worst.value_or(1.0), share);
  }
  return worst;
}

}  // namespace topdnn
