// `topdnn efficiency [NET ...]`: whole networks' efficiency compared with an accelerator's
// published figures.

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/command.h"
#include "bench/command_parser.h"
#include "bench/efficiency.h"
#include "bench/images.h"
#include "bench/interrupt.h"
#include "bench/measured_ceilings.h"
#include "bench/network_choice.h"
#include "bench/plan_profile.h"
#include "bench/workload.h"
#include "harness/report/atomic_file.h"
#include "harness/report/json.h"
#include "harness/report/style.h"
#include "harness/validity.h"

namespace topdnn {

namespace {

struct EfficiencyOptions {
  WorkloadOptions workload;
  std::vector<std::string> networks = {"alexnet", "googlenet", "resnet50"};
  double seconds = 3.0;
  std::string json;
};

// One network's line, and its object in the JSON file.
struct Row {
  std::string text;
  nlohmann::ordered_json json;
  Status status = Status::kOk;
};

std::string HeadLine() {
  return fmt::format("{:<16}{:>10}{:>12}{:>12}{:>12}{:>22}\n", "network", "images/s", "Gops/s",
                     "ceiling", "efficiency", "Snowflake published");
}

Row Measure(const std::string& network, const EfficiencyOptions& options) {
  WorkloadOptions workload_options = options.workload;
  workload_options.network = network;
  ChooseInNetwork(workload_options, /*training=*/false);
  Workload workload = MakeWorkload(workload_options, /*training=*/false);
  TrainingImages images(workload_options, workload);
  ProfileSettings settings;
  settings.seconds = options.seconds;
  settings.isolate = false;
  settings.best_reading = BestQuietReading(BestOfThisMachine(), workload.plan->threads());
  settings.cancel = &InterruptFlag();
  const PlanProfile profile =
      ProfilePlan(workload_options, /*training=*/false, *workload.plan, images, settings);
  const std::vector<Ceiling>& ceilings = MeasuredCeilings(workload.plan->threads());
  Report report = ReportOf(*workload.plan, profile, ceilings, Regime::kInNetwork);
  JudgeReport({.ceilings = ceilings, .isolated = {}}, report);
  report.items_per_step = static_cast<double>(workload.batch);
  Row row;
  row.status = report.step.status;
  row.json = {{"network", workload.network},
              {"batch", workload.batch},
              {"dtype", workload.dtype},
              {"backend", workload.backend},
              {"threads", workload.plan->threads()},
              {"status", NameOf(report.step.status)},
              {"reason", nullptr}};
  if (!report.step.reason.empty()) row.json["reason"] = report.step.reason;
  const std::optional<Efficiency> efficiency = EfficiencyOf(*workload.plan, report);
  if (!efficiency) {
    row.text = fmt::format("{:<16}{} {}\n", network, NameOf(row.status), report.step.reason);
    return row;
  }
  const auto published = PublishedFor(network);
  row.text = fmt::format("{:<16}{:>10.4g}{:>12.4g}{:>12.4g}{:>10.1f} %{:>22}\n", network,
                         efficiency->images_per_second, efficiency->Rate() * 1e-9,
                         efficiency->ceiling * 1e-9, efficiency->Share() * 100,
                         published ? fmt::format("{:.1f} %", published->Share() * 100) : "n/a");
  if (row.status != Status::kOk) {
    row.text += fmt::format("  {}: {}\n", NameOf(row.status), report.step.reason);
  }
  row.json["operations"] = JsonNumber(efficiency->operations);
  row.json["seconds"] = JsonNumber(efficiency->seconds);
  row.json["gops"] = JsonNumber(efficiency->Rate() * 1e-9);
  row.json["ceiling"] = efficiency->ceiling_name;
  row.json["ceiling_gops"] = JsonNumber(efficiency->ceiling * 1e-9);
  row.json["efficiency"] = JsonNumber(efficiency->Share());
  row.json["published"] = JsonNumber(published ? std::optional(published->Share()) : std::nullopt);
  return row;
}

int RunEfficiency(const EfficiencyOptions& options) {
  if (!(options.seconds > 0)) throw UsageError("--seconds: must be above 0");
  if (!options.json.empty()) CheckWritable(options.json);
  InterruptFlag();
  std::FILE* const table = options.json == kStandardOutput ? stderr : stdout;
  fmt::print(table, "inference, batch {}, dtype {}, backend {}\n{}",
             options.workload.batch.value_or(options.workload.default_batch),
             options.workload.dtype, options.workload.backend, HeadLine());
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  bool failed = false;
  for (const std::string& network : options.networks) {
    if (Interrupted()) break;
    Row row = Measure(network, options);
    fmt::print(table, "{}", row.text);
    failed = failed || row.status == Status::kFailed || row.status == Status::kInvalid;
    rows.push_back(std::move(row.json));
  }
  fmt::print(
      table,
      "numerator: 2 x the multiply-accumulates of convolutions and dense layers as defined, over "
      "the whole step's median;\ndenominator: the multiply-add ceiling fed from L1, as measured "
      "here\npublished: {}\n",
      PublishedFor("alexnet")->source);
  if (!options.json.empty()) {
    WriteFileAtomically(options.json, JsonText({{"schema", 1}, {"networks", rows}}));
  }
  if (Interrupted()) return kExitInterrupted;
  return failed ? kExitWrong : kExitGood;
}

std::function<int()> Configure(CommandParser& parser) {
  auto options = std::make_shared<EfficiencyOptions>();
  options->workload.default_batch = 8;
  parser.AddList("networks", options->networks, "NET ...",
                 "networks (default: those with a published figure)");
  parser.Add("--backend", options->workload.backend, "onednn, openblas, ...");
  parser.Add("--dtype", options->workload.dtype, "element type of activations: f32, bf16, f16");
  parser.Add("--batch", options->workload.batch, "images per step");
  parser.Add("--threads", options->workload.threads, "OpenMP threads (default: as allowed)");
  parser.Add("--seconds", options->seconds, "seconds of timed steps for each network",
             Range{0, 1e6});
  parser.Add("--json", options->json, "write the figures to this file; - is standard output");
  return [options] { return RunEfficiency(*options); };
}

const CommandRegistration kEfficiency(
    {"efficiency", "whole networks' share of the ceiling, as papers on accelerators report it",
     Configure});

}  // namespace

}  // namespace topdnn
