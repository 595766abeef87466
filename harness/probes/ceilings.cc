#include "harness/probes/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/machine/cpu.h"
#include "harness/machine/machine.h"
#include "harness/probes/ceiling_verdict.h"
#include "harness/probes/quiet.h"
#include "harness/probes/team.h"

namespace topdnn {
namespace {

constexpr double kWindowSeconds = 1e-3;
// How often a disturbed ceiling is repeated, if time remains.
constexpr int kMaxRetries = 3;
// After this many times the budget plus 2 s for the buffers, one window is enough for each
// remaining ceiling.
constexpr double kPatience = 4;
// One ceiling is measured for at most this many times the length of its windows.
constexpr double kPatienceOfOne = 8;
constexpr std::array<std::string_view, 4> kLevels = {"l1", "l2", "llc", "dram"};

std::string LevelName(int level) { return fmt::format("L{}", level); }

// A ceiling to measure.
struct Plan {
  Ceiling ceiling;
  const Probe* probe = nullptr;  // nullptr: none, the note says why
  std::size_t working_set = 8192;
  double work = 0;  // per iteration, in the ceiling's unit
  bool latency = false;
  // The working set of one thread alone also belongs to this level.
  bool comparable_alone = true;
  int cores = 0;  // see JudgeCeiling
};

using Clock = std::chrono::steady_clock;

Plan FmaPlan(const Probe& probe, int threads) {
  Plan plan;
  const FmaShape& shape = *probe.fma;
  plan.ceiling.name = probe.name;
  plan.ceiling.isa = NameOf(probe.isa);
  plan.ceiling.type = shape.type;
  plan.ceiling.operands = shape.streamed ? "l1" : "registers";
  plan.ceiling.threads = threads;
  plan.ceiling.unit = shape.type == "s8" ? "OP/s" : "FLOP/s";
  plan.ceiling.note = WhyAbsent(probe, MachineIsas());
  if (plan.ceiling.note.empty()) plan.probe = &probe;
  plan.work = probe.work.flops;
  return plan;
}

Plan MemoryPlan(std::string_view what, ProbeKind kind, std::string_view level, int threads,
                const Topology& topology, std::size_t memory) {
  Plan plan;
  plan.ceiling.name = fmt::format("{}/{}", what, level);
  plan.ceiling.operands = level;
  plan.ceiling.threads = threads;
  plan.latency = kind == ProbeKind::kChase;
  plan.ceiling.unit = plan.latency ? "s" : "B/s";
  plan.working_set = WorkingSet(topology, level, threads, memory, plan.ceiling.note);
  const Probe* probe = WidestProbe(kind);
  if (probe == nullptr) {
    plan.ceiling.note = "no probe for this architecture";
    return plan;
  }
  plan.ceiling.isa = NameOf(probe->isa);
  plan.work =
      plan.latency ? probe->work.loads : probe->work.bytes_loaded + probe->work.bytes_stored;
  if (plan.working_set != 0) plan.probe = probe;
  const std::int64_t last = CacheSize(topology, LastCacheLevel(topology));
  plan.comparable_alone = level != "dram" || plan.working_set >= 2 * static_cast<std::size_t>(last);
  return plan;
}

std::vector<Plan> Plans(int threads) {
  const Topology topology = ReadTopology();
  const std::string doubt = LastLevelCacheDoubt(topology, !IdentifyCpu().hypervisor.empty());
  const auto memory = static_cast<std::size_t>(AvailableMemory());
  std::vector<Plan> plans;
  for (const Probe& probe : Probes()) {
    if (probe.kind == ProbeKind::kFma) plans.push_back(FmaPlan(probe, threads));
  }
  const auto add = [&](std::string_view what, ProbeKind kind, std::string_view level) {
    Plan plan = MemoryPlan(what, kind, level, threads, topology, memory);
    if (plan.ceiling.note.empty() && level == "llc") plan.ceiling.note = doubt;
    plans.push_back(std::move(plan));
  };
  for (const std::string_view level : kLevels) add("read", ProbeKind::kRead, level);
  for (const std::string_view level : kLevels) add("triad", ProbeKind::kTriad, level);
  add("copy", ProbeKind::kCopy, "dram");
  for (const std::string_view level : kLevels) add("latency", ProbeKind::kChase, level);
  for (Plan& plan : plans) plan.cores = topology.allowed_cores;
  return plans;
}

// Measures until `windows` windows are undisturbed: their threads had a CPU and its core for
// themselves. After twice the total length of that many it stops as soon as there are `least`, and
// after kPatienceOfOne times the length even if they are disturbed. In a hurry it stops after twice
// the length with one window.
Ceiling Measure(const Plan& plan, int windows, int least, KeptPages& pages) {
  Ceiling ceiling = plan.ceiling;
  const auto skip = [&ceiling](const std::string& reason) {
    ceiling.verdict = {Status::kSkipped, reason};
    return ceiling;
  };
  if (plan.probe == nullptr) return skip(ceiling.note);
  ProbeTeam team(*plan.probe, ceiling.threads, plan.working_set, kWindowSeconds, &pages);
  const bool compared = ceiling.threads > 1 && plan.comparable_alone && !plan.latency;
  const int between = std::max(1, windows / kMinWindows);
  QuietWindows measured(team, ceiling.threads);
  // On a busy machine a window lasts many times its length, because threads wait for a CPU. Then
  // fewer windows are better than an endless measurement.
  const auto begin = Clock::now();
  const auto after = [&](double lengths) {
    return Clock::now() > begin + std::chrono::duration<double>(lengths * windows * kWindowSeconds);
  };
  for (int window = 0; measured.undisturbed() < windows; ++window) {
    const bool late = after(2);
    const bool in_a_hurry = least == 1;
    const bool spent = in_a_hurry ? late : after(kPatienceOfOne);
    if (late && (measured.undisturbed() >= least || (window >= least && spent))) break;
    const std::optional<double> rate = measured.Measure();
    if (!rate) {
      return skip(fmt::format("OpenMP gave fewer than {} threads", ceiling.threads));
    }
    measured.Keep(plan.latency ? ceiling.threads / (*rate * plan.work) : *rate * plan.work);
    if (compared && window % between == 0 && (window == 0 || !late)) {
      const double alone = team.WindowAlone() * plan.work;
      ceiling.alone = std::max(ceiling.alone.value_or(0), alone);
    }
  }
  QuietWindows::Kept kept = measured.Take(kMinWindows);
  ceiling.undisturbed = measured.undisturbed() >= kMinWindows;
  SummarizeWindows(std::move(kept.values), std::move(kept.on_cpu), ceiling);
  ceiling.verdict = JudgeCeiling(ceiling, plan.cores);
  return ceiling;
}

int Measurable(const std::vector<Plan>& plans) {
  return static_cast<int>(std::count_if(plans.begin(), plans.end(),
                                        [](const Plan& plan) { return plan.probe != nullptr; }));
}

// Measures all ceilings in `budget_seconds`, then repeats those that are not OK for at most as long
// again.
std::vector<Ceiling> MeasureAll(const std::vector<Plan>& plans, double budget_seconds) {
  const double each = budget_seconds / std::max(Measurable(plans), 1);
  const int windows = std::max(kMinWindows, static_cast<int>(each / kWindowSeconds));
  KeptPages pages;
  std::vector<Ceiling> ceilings;
  ceilings.reserve(plans.size());
  // If windows wait for a CPU for tens of milliseconds, measuring all of them would take minutes.
  const auto hurry = Clock::now() + std::chrono::duration<double>(kPatience * budget_seconds + 2);
  for (const Plan& plan : plans) {
    ceilings.push_back(Measure(plan, windows, Clock::now() > hurry ? 1 : kMinWindows, pages));
  }
  const auto deadline = Clock::now() + std::chrono::duration<double>(budget_seconds);
  for (int retry = 0; retry < kMaxRetries; ++retry) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (!ceilings[i].value || ceilings[i].verdict.status == Status::kOk) continue;
      if (Clock::now() > deadline) return ceilings;
      ceilings[i] = KeepBetter(ceilings[i], Measure(plans[i], windows, kMinWindows, pages));
    }
  }
  return ceilings;
}

}  // namespace

std::size_t WorkingSet(const Topology& topology, std::string_view level, int threads,
                       std::size_t memory, std::string& note) {
  constexpr std::size_t kMinBytes = 8192;
  const auto size = [&](int l) { return static_cast<std::size_t>(CacheSize(topology, l)); };
  const int last = LastCacheLevel(topology);
  const auto team = static_cast<std::size_t>(threads);
  const std::size_t below = size(std::min(last, 2));
  const auto share = [&](int l) {  // of a thread
    return size(l) / static_cast<std::size_t>(ThreadsSharing(topology, l, threads));
  };
  if (level == "l1" || level == "l2") {
    const int number = level == "l1" ? 1 : 2;
    if (size(number) == 0) {
      note = LevelName(number) + " is not reported";
      return 0;
    }
    const std::size_t half = std::max(kMinBytes, std::bit_floor(share(number) / 2));
    if (number == 1 || half >= 2 * share(1)) return half;
    note = fmt::format("a thread's share of L2 ({} KiB) is not well above its L1", share(2) >> 10);
    return 0;
  }
  if (level == "llc") {
    if (last < 3) {
      note = "no cache beyond L2 is reported";
      return 0;
    }
    if (below == 0) {
      note = "L2 is not reported";
      return 0;
    }
    // At least four times L2, and at most 3/4 of a thread's share of the last level.
    const std::size_t wanted = std::bit_ceil(4 * below);
    if (wanted <= share(last) * 3 / 4) return wanted;
    note = fmt::format("a thread's share of {} ({} KiB) is not well above its L2", LevelName(last),
                       share(last) >> 10);
    return 0;
  }
  // Four times all last caches that the threads may use, as STREAM requires, but at most an eighth
  // of the memory.
  constexpr std::size_t kMaxWorkingSet = std::size_t{2} << 30;
  const auto cached = static_cast<std::size_t>(LastCacheBytes(topology, threads));
  const std::size_t wanted = std::max<std::size_t>(4 * cached, std::size_t{64} << 20);
  const std::size_t limit = std::bit_floor(std::min(memory / 8, kMaxWorkingSet));
  const std::size_t total = std::min(std::bit_ceil(wanted), limit);
  const std::size_t each = std::max(kMinBytes, std::bit_floor(total / team));
  if (each * team < 2 * cached) {
    note = fmt::format("working set of {} MiB only, {} is reported as {} MiB: partly cached",
                       each * team >> 20, LevelName(last), cached >> 20);
  }
  return each;
}

std::vector<Ceiling> MeasureCeilings(int threads, double budget_seconds,
                                     const std::function<bool(const Ceiling&)>& needed) {
  std::vector<Plan> plans = Plans(threads);
  if (!needed) return MeasureAll(plans, budget_seconds);
  const int possible = Measurable(plans);
  for (Plan& plan : plans) {
    if (plan.probe == nullptr || needed(plan.ceiling)) continue;
    plan.probe = nullptr;
    plan.ceiling.note = "not measured: this run compares nothing with it";
  }
  return MeasureAll(plans, budget_seconds * Measurable(plans) / std::max(possible, 1));
}

std::vector<Ceiling> RemeasureCeilings(const std::vector<Ceiling>& previous,
                                       const std::vector<std::string>& names,
                                       double budget_seconds) {
  std::vector<Ceiling> reconciled = previous;
  std::vector<Plan> again;
  std::vector<Ceiling*> earlier;
  std::map<int, std::vector<Plan>> plans;  // by width
  for (Ceiling& ceiling : reconciled) {
    if (std::find(names.begin(), names.end(), ceiling.name) == names.end()) continue;
    std::vector<Plan>& known = plans[ceiling.threads];
    if (known.empty()) known = Plans(ceiling.threads);
    const auto plan = std::find_if(known.begin(), known.end(), [&ceiling](const Plan& candidate) {
      return candidate.ceiling.name == ceiling.name;
    });
    if (plan == known.end() || plan->probe == nullptr) continue;
    again.push_back(*plan);
    earlier.push_back(&ceiling);
  }
  const std::vector<Ceiling> measured = MeasureAll(again, budget_seconds);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    *earlier[i] = Reconcile(*earlier[i], measured[i]);
  }
  return reconciled;
}

const Ceiling* CeilingFor(const std::vector<Ceiling>& ceilings, std::string_view isa,
                          std::string_view type, int threads) {
  // SSE4.1 adds no arithmetic over SSE2.
  const std::string name(isa == "sse41" ? "sse2" : isa);
  const Ceiling* extension = nullptr;
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.type != type || ceiling.threads != threads || ceiling.operands != "l1" ||
        !ceiling.value) {
      continue;
    }
    if (ceiling.isa == name) return &ceiling;
    if (ceiling.isa.starts_with(name + "_")) extension = &ceiling;
  }
  return extension;
}

nlohmann::ordered_json ToJson(const Ceiling& ceiling) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  const auto text = [](const std::string& value) {
    return value.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
  };
  return {{"name", ceiling.name},
          {"isa", text(ceiling.isa)},
          {"type", text(ceiling.type)},
          {"operands", ceiling.operands},
          {"threads", ceiling.threads},
          {"value", number(ceiling.value)},
          {"unit", ceiling.unit},
          {"median", number(ceiling.median)},
          {"spread", number(ceiling.spread)},
          {"one_thread", number(ceiling.alone)},
          {"on_cpu", number(ceiling.on_cpu)},
          {"windows", ceiling.windows},
          {"note", text(ceiling.note)},
          {"status", NameOf(ceiling.verdict.status)},
          {"reason", text(ceiling.verdict.reason)}};
}

}  // namespace topdnn
