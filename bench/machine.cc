// `topdnn machine`: describes this machine, its ceilings, and what can be counted on it.

#include "harness/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/ceiling_table.h"
#include "bench/command.h"
#include "bench/command_parser.h"
#include "bench/libraries.h"
#include "bench/measured_ceilings.h"
#include "bench/workload.h"
#include "harness/counters/source.h"
#include "harness/machine/cpu_set.h"
#include "harness/probes/ceiling_verdict.h"
#include "harness/report/atomic_file.h"
#include "harness/report/json.h"
#include "harness/report/style.h"
#include "harness/report/text.h"

namespace topdnn {

namespace {

struct MachineOptions {
  std::string json;
  bool all = false;
};

struct SourceState {
  SourceOffer offer;
  Availability availability;
};

std::vector<SourceState> ProbeSources() {
  std::vector<SourceState> states;
  for (const SourceOffer& offer : CounterSources()) states.push_back({offer, offer.probe()});
  return states;
}

nlohmann::ordered_json ToJson(const SourceState& state) {
  return {{"name", state.offer.name},
          {"what", state.offer.what},
          {"works", state.availability.works},
          {"reason", state.availability.reason},
          {"remedy", state.availability.remedy}};
}

constexpr double kGiB = 1 << 30;

// The ISAs that cannot be used, by reason.
std::map<std::string, std::vector<std::string>> AbsentIsas(const Machine& machine) {
  std::map<std::string, std::vector<std::string>> absent;
  for (const IsaVerdict& verdict : machine.isas) {
    if (!verdict.usable) absent[verdict.reason].emplace_back(NameOf(verdict.isa));
  }
  return absent;
}

void PrintMachine(const Machine& machine) {
  const Cpu& cpu = machine.cpu;
  fmt::print("CPU       {} ({} family {} model {} stepping {}), {}{}\n", cpu.brand, cpu.vendor,
             cpu.family, cpu.model, cpu.stepping, cpu.microarchitecture,
             cpu.hypervisor.empty() ? "" : ", in a virtual machine (" + cpu.hypervisor + ")");
  std::vector<std::string> usable;
  for (const IsaVerdict& verdict : machine.isas) {
    if (verdict.usable) usable.emplace_back(NameOf(verdict.isa));
  }
  fmt::print("ISAs      {}\n", fmt::join(usable, " "));
  for (const auto& [reason, names] : AbsentIsas(machine)) {
    fmt::print("          not {}: {}\n", fmt::join(names, " "), reason);
  }
  const int allowed = static_cast<int>(machine.topology.allowed.size());
  fmt::print("Cores     {} of {} CPUs may be used\n", allowed, machine.topology.cpus);
  const std::string quota = QuotaNote(DefaultThreads(allowed, machine.cgroup.cpu_quota), allowed,
                                      machine.cgroup.cpu_quota);
  if (!quota.empty()) fmt::print("          {}\n", quota);
  std::vector<std::string> caches;
  for (const Cache& cache : machine.topology.caches) {
    caches.push_back(fmt::format("L{} {} {} KiB ({} of them)", cache.level, cache.type,
                                 cache.size / 1024, cache.instances));
  }
  fmt::print("Caches    {}\n", fmt::join(caches, ", "));
  fmt::print("Memory    {:.1f} GiB may be used\n",
             static_cast<double>(machine.available_memory) / kGiB);
  fmt::print("Clock     TSC {:.4f} GHz", machine.tsc.hz / 1e9);
  if (machine.core_clock) {
    fmt::print(", core {:.3f} GHz (spread {:.2f} %)", machine.core_clock->hz / 1e9,
               machine.core_clock->spread * 100);
  }
  fmt::print("\nSystem    {}\n", machine.operating_system);
  for (const std::string& doubt : machine.doubts) fmt::print("Doubt     {}\n", doubt);
}

void PrintSources(const std::vector<SourceState>& states) {
  for (const auto& [offer, availability] : states) {
    fmt::print("  {:<10} {:<5} {}: {}\n", offer.name, availability.works ? "works" : "no",
               offer.what, availability.reason);
    if (!availability.remedy.empty()) fmt::print("  {:<16} fix: {}\n", "", availability.remedy);
  }
}

// On one thread and on a run's default threads. Each is checked against the other and against the
// remembered best.
std::vector<Ceiling> CeilingsOfWidths(int threads) {
  std::vector<Ceiling> ceilings = MeasureCeilings(1);
  if (threads > 1) {
    for (Ceiling& ceiling : MeasureCeilings(threads)) ceilings.push_back(std::move(ceiling));
  }
  JudgeWidths(ceilings);
  const std::vector<RateSeen> seen = RatesOf(ceilings);
  MarkAgainstBest(BestOfThisMachine(), ceilings);
  RememberRates(seen);
  return ceilings;
}

int RunMachine(const MachineOptions& options) {
  if (!options.json.empty()) CheckWritable(options.json);
  const int threads = ThreadsOf({});
  ProgressLine progress(DetectStyle(stderr));
  progress.Show("measuring this machine");
  const Machine machine = DescribeMachine();
  const std::vector<SourceState> sources = ProbeSources();
  const std::vector<Ceiling> ceilings = CeilingsOfWidths(threads);
  progress.Erase();
  if (options.json != kStandardOutput) {
    PrintMachine(machine);
    fmt::print("\nMeasured ceilings (90th percentile of 1 ms windows{})\n",
               options.all ? "" : "; --all lists every one with its spread");
    fmt::print("{}", options.all ? CeilingList(ceilings) : CeilingTable(ceilings));
    fmt::print("\nCounter sources\n");
    PrintSources(sources);
  }
  const bool measured = std::any_of(ceilings.begin(), ceilings.end(),
                                    [](const Ceiling& ceiling) { return ceiling.value; });
  const int exit_status = measured ? kExitGood : kExitNothing;
  if (options.json.empty()) return exit_status;
  nlohmann::ordered_json json = {{"schema", 1}, {"command", CommandLine()}};
  json["machine"] = ToJson(machine);
  json["machine"]["libraries"] = LibraryVersions();
  json["ceilings"] = nlohmann::ordered_json::array();
  for (const Ceiling& ceiling : ceilings) json["ceilings"].push_back(ToJson(ceiling));
  json["counters"] = nlohmann::ordered_json::array();
  for (const SourceState& source : sources) json["counters"].push_back(ToJson(source));
  WriteFileAtomically(options.json, JsonText(json));
  return exit_status;
}

std::function<int()> Configure(CommandParser& parser) {
  auto options = std::make_shared<MachineOptions>();
  parser.AddFlag("--all", options->all,
                 "one line for each ceiling, with its spread and its reason");
  parser.Add("--json", options->json,
             "write everything to this file as JSON; - is standard output");
  return [options] { return RunMachine(*options); };
}

const CommandRegistration kMachine({"machine",
                                    "this machine, its measured ceilings, and what can be counted",
                                    Configure});

}  // namespace

}  // namespace topdnn
