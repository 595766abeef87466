// `topdnn machine`: describes this machine, its ceilings, and what can be counted on it.

#include "harness/machine/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/machine/libraries.h"
#include "bench/machine/measured_ceilings.h"
#include "bench/workload/workload.h"
#include "harness/counters/source.h"
#include "harness/files/atomic_file.h"
#include "harness/machine/cpu_set.h"
#include "harness/probes/ceiling_verdict.h"
#include "harness/report/json.h"
#include "harness/report/publish_result.h"
#include "harness/report/tables/tables.h"
#include "harness/text/style.h"
#include "harness/text/table.h"
#include "harness/text/text.h"
#include "kernels/library/openblas.h"

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

// The facts about the machine, each with its heading. Lines are wrapped.
class Facts {
 public:
  explicit Facts(const Style& style) : style_(style) {}

  // Without a heading, the fact belongs to the one above.
  void Add(std::string_view heading, const std::string& fact) {
    text_ += Wrap(PadRight(heading, kHeading) + fact, style_.width, kHeading);
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kHeading = 10;
  const Style& style_;
  std::string text_;
};

std::string CachesText(const Machine& machine) {
  std::vector<std::string> caches;
  for (const Cache& cache : machine.topology.caches) {
    caches.push_back(fmt::format("L{} {} {} KiB ({} of them)", cache.level, cache.type,
                                 cache.size / 1024, cache.instances));
  }
  return fmt::format("{}", fmt::join(caches, ", "));
}

std::string ClockText(const Machine& machine) {
  std::string text = fmt::format("TSC {:.4f} GHz", machine.tsc.hz / 1e9);
  if (machine.core_clock) {
    text += fmt::format(", core {:.3f} GHz (spread {:.2f} %)", machine.core_clock->hz / 1e9,
                        machine.core_clock->spread * 100);
  }
  return text;
}

std::string MachineText(const Machine& machine, const Style& style) {
  Facts facts(style);
  const Cpu& cpu = machine.cpu;
  facts.Add(
      "CPU",
      fmt::format("{} ({} family {} model {} stepping {}), {}{}", cpu.brand, cpu.vendor, cpu.family,
                  cpu.model, cpu.stepping,
                  cpu.microarchitecture.empty() ? "not known" : cpu.microarchitecture,
                  cpu.hypervisor.empty() ? "" : ", in a virtual machine (" + cpu.hypervisor + ")"));
  std::vector<std::string> usable;
  for (const IsaVerdict& verdict : machine.isas) {
    if (verdict.usable) usable.emplace_back(NameOf(verdict.isa));
  }
  facts.Add("ISAs", fmt::format("{}", fmt::join(usable, " ")));
  for (const auto& [reason, names] : AbsentIsas(machine)) {
    facts.Add("", fmt::format("not {}: {}", fmt::join(names, " "), reason));
  }
  const int allowed = static_cast<int>(machine.topology.allowed.size());
  facts.Add("Cores", fmt::format("{} of {} CPUs may be used", allowed, machine.topology.cpus));
  const std::string quota = QuotaNote(DefaultThreads(allowed, machine.cgroup.cpu_quota), allowed,
                                      machine.cgroup.cpu_quota);
  if (!quota.empty()) facts.Add("", quota);
  facts.Add("Caches", CachesText(machine));
  facts.Add("Memory", fmt::format("{:.1f} GiB may be used",
                                  static_cast<double>(machine.available_memory) / kGiB));
  facts.Add("Clock", ClockText(machine));
  facts.Add("System", machine.operating_system);
  for (const std::string& doubt : machine.doubts) facts.Add("Doubt", doubt);
  if (const std::string doubt = openblas::OldCodeDoubt(); !doubt.empty()) facts.Add("Doubt", doubt);
  return facts.text();
}

std::string SourcesText(const std::vector<SourceState>& states, const Style& style) {
  Table table({{.name = "source"},
               {.name = "works", .kind = Table::Kind::kWord},
               {.name = "what it counts, or why not", .kind = Table::Kind::kText, .least = 40}});
  for (const auto& [offer, availability] : states) {
    table.Add(
        {offer.name, availability.works ? "yes" : "no", offer.what + ": " + availability.reason});
    if (!availability.remedy.empty()) table.Add({"", "", "fix: " + availability.remedy});
  }
  return table.Text(style, 2);
}

// On one thread and on a run's default threads. Each is checked against the other and against the
// remembered best.
std::vector<Ceiling> CeilingsOfWidths(int threads) {
  std::vector<Ceiling> ceilings = MeasureCeilings(1, CeilingSeconds());
  if (threads > 1) {
    for (Ceiling& ceiling : MeasureCeilings(threads, CeilingSeconds())) {
      ceilings.push_back(std::move(ceiling));
    }
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
  const auto json = [&] {
    nlohmann::ordered_json all = {{"schema", 1}, {"command", CommandLine()}};
    all["machine"] = ToJson(machine);
    all["machine"]["libraries"] = LibraryVersions();
    all["ceilings"] = nlohmann::ordered_json::array();
    for (const Ceiling& ceiling : ceilings) all["ceilings"].push_back(ToJson(ceiling));
    all["counters"] = nlohmann::ordered_json::array();
    for (const SourceState& source : sources) all["counters"].push_back(ToJson(source));
    return all;
  };
  PublishResult(options.json, json, [&](const Style& style) {
    return fmt::format("{}\nMeasured ceilings (90th percentile of 1 ms windows{})\n{}\n{}",
                       MachineText(machine, style),
                       options.all ? "" : "; --all lists every one with its spread",
                       options.all ? CeilingList(ceilings, style) : CeilingTable(ceilings, style),
                       SourcesText(sources, style));
  });
  const bool measured = std::any_of(ceilings.begin(), ceilings.end(),
                                    [](const Ceiling& ceiling) { return ceiling.value; });
  return measured ? kExitGood : kExitNothing;
}

std::function<int()> ConfigureMachine(CommandParser& parser) {
  auto options = std::make_shared<MachineOptions>();
  parser.AddFlag("--all", options->all,
                 "one line for each ceiling, with its spread and its reason");
  parser.Add("--json FILE", options->json,
             "write everything to this file as JSON; - is standard output");
  return [options] { return RunMachine(*options); };
}

const CommandRegistration kMachine({"machine", Question::kMeasure,
                                    "this machine, its measured ceilings, and what can be counted",
                                    ConfigureMachine, "topdnn machine --json machine.json"});

}  // namespace

}  // namespace topdnn
