// `topdnn machine`: what this machine is, what it can reach, and what can be counted here.

#include "harness/machine/machine.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/command.h"
#include "bench/command_parser.h"
#include "bench/libraries.h"
#include "bench/workload.h"
#include "harness/counters/source.h"
#include "harness/probes/ceilings.h"
#include "harness/report/atomic_file.h"
#include "harness/report/json.h"
#include "harness/report/style.h"
#include "harness/report/text.h"

namespace topdnn {

namespace {

struct MachineOptions {
  std::string json;
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
  for (const IsaVerdict& verdict : machine.isas) {
    if (!verdict.usable) fmt::print("          no {}: {}\n", NameOf(verdict.isa), verdict.reason);
  }
  fmt::print("Cores     {} of {} CPUs may be used\n", machine.topology.allowed.size(),
             machine.topology.cpus);
  for (const Cache& cache : machine.topology.caches) {
    fmt::print("Cache     L{} {} {:.0f} KiB, {} of them\n", cache.level, cache.type,
               static_cast<double>(cache.size) / 1024, cache.instances);
  }
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

std::string ValueText(const Ceiling& ceiling) {
  if (!ceiling.value) return "n/a";
  if (ceiling.unit == "s") return TimeText(ceiling.value, false);
  return fmt::format("{:.1f} G{}", *ceiling.value / 1e9, ceiling.unit);
}

void PrintCeilings(const std::vector<Ceiling>& ceilings) {
  for (const Ceiling& ceiling : ceilings) {
    if (!ceiling.value) continue;
    fmt::print("  {:<34} {:>2} {:>16}   spread {:>4.1f} %  {}\n", ceiling.name, ceiling.threads,
               ValueText(ceiling), ceiling.spread.value_or(0) * 100, ceiling.note);
  }
  for (const Ceiling& ceiling : ceilings) {
    if (!ceiling.value) fmt::print("  {:<34}  n/a: {}\n", ceiling.name, ceiling.verdict.reason);
  }
}

void PrintSources(const std::vector<SourceState>& states) {
  for (const auto& [offer, availability] : states) {
    fmt::print("  {:<10} {:<5} {}: {}\n", offer.name, availability.works ? "works" : "no",
               offer.what, availability.reason);
    if (!availability.remedy.empty()) fmt::print("  {:<16} fix: {}\n", "", availability.remedy);
  }
}

int RunMachine(const MachineOptions& options) {
  if (!options.json.empty()) CheckWritable(options.json);
  const int threads = ThreadsOf({});
  ProgressLine progress(DetectStyle(stderr));
  progress.Show("measuring this machine");
  const Machine machine = DescribeMachine();
  const std::vector<SourceState> sources = ProbeSources();
  std::vector<Ceiling> ceilings = MeasureCeilings(1);
  if (threads > 1) {
    for (Ceiling& ceiling : MeasureCeilings(threads)) ceilings.push_back(std::move(ceiling));
  }
  progress.Erase();
  if (options.json != kStandardOutput) {
    PrintMachine(machine);
    fmt::print("\nMeasured ceilings (threads, 90th percentile of the windows)\n");
    PrintCeilings(ceilings);
    fmt::print("\nCounter sources\n");
    PrintSources(sources);
  }
  if (options.json.empty()) return kExitGood;
  nlohmann::ordered_json json = {{"schema", 1}, {"command", CommandLine()}};
  json["machine"] = ToJson(machine);
  json["machine"]["libraries"] = LibraryVersions();
  json["ceilings"] = nlohmann::ordered_json::array();
  for (const Ceiling& ceiling : ceilings) json["ceilings"].push_back(ToJson(ceiling));
  json["counters"] = nlohmann::ordered_json::array();
  for (const SourceState& source : sources) json["counters"].push_back(ToJson(source));
  WriteFileAtomically(options.json, JsonText(json));
  return kExitGood;
}

std::function<int()> Configure(CommandParser& parser) {
  auto options = std::make_shared<MachineOptions>();
  parser.Add("--json", options->json, "file for the same as JSON; - is standard output");
  return [options] { return RunMachine(*options); };
}

const CommandRegistration kMachine({"machine", "what this machine is, can reach and can count",
                                    Configure});

}  // namespace

}  // namespace topdnn
