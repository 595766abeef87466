#include "harness/probes/quiet.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/isa.h"
#include "harness/machine/machine.h"
#include "harness/probes/ceiling_verdict.h"
#include "harness/probes/ceilings.h"
#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

constexpr double kWindowSeconds = 0.5e-3;
constexpr std::string_view kIssueProbe = "core/issue/moves";
constexpr double kPaceSeconds = 3e-6;
constexpr double kMostPaceCost = 50e-6;
constexpr double kMinCommonPace = 0.5;  // of the slowest thread's time
constexpr std::size_t kPaceBytes = 8192;

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
  const Probe* issue = FindProbe(kIssueProbe);
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

CorePace::State& CorePace::StateOf(int threads) {
  static std::mutex mutex;
  static std::map<int, State> states;
  const std::scoped_lock lock(mutex);
  return states[threads];
}

CorePace::CorePace(int threads)
    : probe_(FindProbe(kIssueProbe)),
      clock_(BestClock()),
      state_(&StateOf(threads)),
      members_(static_cast<std::size_t>(threads)) {
  if (probe_ == nullptr || !WhyAbsent(*probe_, MachineIsas()).empty()) return;
  for (Member& member : members_) member.buffers = std::make_unique<ProbeBuffers>(kPaceBytes);
  iterations_ = 1000;
  double highest = 0;
  for (int i = 0; i < 3; ++i) highest = std::max(highest, Read());
  const double of_one = threads * probe_->work.instructions / highest;
  iterations_ = highest > 0 ? std::max<std::int64_t>(1, std::llround(kPaceSeconds / of_one)) : 0;
  if (!works()) return;
  std::array<double, 9> seconds{};
  for (double& one : seconds) {
    const std::uint64_t begin = clock_.now();
    Read();
    one = clock_.SecondsBetween(begin, clock_.now()).value_or(0);
  }
  cost_seconds_ = Median(seconds);
  if (cost_seconds_ > kMostPaceCost || !KeepsItsClock()) iterations_ = 0;
}

// Whether readings after multiply-adds reach the full pace. (Cores up to Ice Lake lower their clock
// for wide vectors, for 0.7 ms longer than they last: Intel's optimization manual, section 2.)
bool CorePace::KeepsItsClock() {
  if (state_->keeps_its_clock) return *state_->keeps_its_clock;
  bool& keeps = state_->keeps_its_clock.emplace(true);
  const Probe* fma = WidestProbe(ProbeKind::kFma, "f32");
  if (fma == nullptr) return keeps;
  constexpr int kMostWindows = 100;  // another machine may disturb most of them
  ProbeTeam team(*fma, static_cast<int>(members_.size()), kPaceBytes, kWindowSeconds);
  double highest = 0;
  for (int i = 0; i < kMostWindows && (i < 5 || IsSlow(highest)); ++i) {
    team.Window();
    highest = std::max(highest, Read());
    Read();
  }
  keeps = !IsSlow(highest);
  return keeps;
}

CorePace::Ticks CorePace::ReadTicks() noexcept {
  const int threads = static_cast<int>(members_.size());
  int present = 0;
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    if (thread == 0) present = omp_get_num_threads();
    Member& self = members_[static_cast<std::size_t>(thread)];
    // All at once: threads of ours may share a core, too.
#pragma omp barrier
    self.begin = clock_.now();
    probe_->run(*self.buffers, iterations_);
    self.end = clock_.now();
  }
  if (present != threads) return {};
  std::uint64_t last_begin = 0;
  std::uint64_t first_end = ~std::uint64_t{0};
  std::uint64_t slowest = 0;
  for (const Member& member : members_) {
    last_begin = std::max(last_begin, member.begin);
    first_end = std::min(first_end, member.end);
    if (member.end > member.begin) slowest = std::max(slowest, member.end - member.begin);
  }
  return {slowest, first_end > last_begin ? first_end - last_begin : 0};
}

double CorePace::PaceOf(Ticks ticks) noexcept {
  if (ticks.slowest == 0) return 0;
  const auto slowest = static_cast<double>(ticks.slowest);
  const double instructions = static_cast<double>(iterations_) * probe_->work.instructions;
  const double pace =
      static_cast<double>(members_.size()) * instructions / (slowest * clock_.seconds_per_tick);
  // (threads of ours that share a core and ran one after the other are no measure)
  if (pace > full() && static_cast<double>(ticks.common) >= kMinCommonPace * slowest) {
    const double other = state_->highest.exchange(pace, std::memory_order_relaxed);
    const double confirmed = std::min(pace, other);
    if (confirmed > full()) state_->full.store(confirmed, std::memory_order_relaxed);
  }
  return pace;
}

std::optional<double> QuietWindows::Measure() {
  const double before = pace_.works() ? pace_.Read() : 0;
  const std::optional<double> rate = team_.Window();
  last_ = pace_.works() ? std::min(before, pace_.Read()) : 0;
  return rate;
}

void QuietWindows::Keep(double value) {
  all_.values.push_back(value);
  all_.on_cpu.push_back(team_.on_cpu());
  slower_.push_back(last_);
}

bool QuietWindows::IsQuiet(std::size_t window) const {
  return all_.on_cpu[window] >= kMinOnCpu && !(pace_.works() && pace_.IsSlow(slower_[window]));
}

int QuietWindows::undisturbed() const {
  int quiet = 0;
  for (std::size_t i = 0; i < slower_.size(); ++i) quiet += IsQuiet(i) ? 1 : 0;
  return quiet;
}

QuietWindows::Kept QuietWindows::Take(int least) const {
  if (undisturbed() < least) return all_;
  Kept kept;
  for (std::size_t i = 0; i < slower_.size(); ++i) {
    if (!IsQuiet(i)) continue;
    kept.values.push_back(all_.values[i]);
    kept.on_cpu.push_back(all_.on_cpu[i]);
  }
  return kept;
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
