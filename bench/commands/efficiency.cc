// `topdnn efficiency [NET ...]`: whole networks' efficiency compared with an accelerator's
// published figures.

#include "bench/profile/limits/efficiency.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/choice/networks/network_choice.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/interrupt.h"
#include "bench/command_line/plugin_words.h"
#include "bench/machine/measured_ceilings.h"
#include "bench/profile/plan_profile.h"
#include "bench/workload/images.h"
#include "bench/workload/workload.h"
#include "harness/files/atomic_file.h"
#include "harness/report/json.h"
#include "harness/report/publish_result.h"
#include "harness/results/validity.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/text/table.h"
#include "harness/text/text.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

struct EfficiencyOptions {
  WorkloadOptions workload;
  std::vector<std::string> networks = {"alexnet", "googlenet", "resnet50"};
  double seconds = 3.0;
  std::string json;
};

// One network's row, and its object in the JSON file.
struct Row {
  std::optional<Efficiency> efficiency;
  std::optional<double> published;
  nlohmann::ordered_json json;
  Verdict verdict;
};

Row Measure(const std::string& network, const EfficiencyOptions& options) {
  WorkloadOptions workload_options = options.workload;
  workload_options.network = network;
  workload_options.reports_failures = true;
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
  row.verdict = {report.step.status, report.step.reason};
  row.json = {{"network", workload.network},
              {"batch", workload.batch},
              {"dtype", workload.dtype},
              {"backend", workload.backend},
              {"threads", workload.plan->threads()},
              {"status", NameOf(report.step.status)},
              {"reason", nullptr}};
  if (!report.step.reason.empty()) row.json["reason"] = report.step.reason;
  row.efficiency = EfficiencyOf(*workload.plan, report);
  if (const auto published = PublishedFor(network)) row.published = published->Share();
  if (!row.efficiency) return row;
  const Efficiency& efficiency = *row.efficiency;
  row.json["operations"] = JsonNumber(efficiency.operations);
  row.json["seconds"] = JsonNumber(efficiency.seconds);
  row.json["gops"] = JsonNumber(efficiency.Rate() * 1e-9);
  row.json["ceiling"] = efficiency.ceiling_name;
  row.json["ceiling_gops"] = JsonNumber(efficiency.ceiling * 1e-9);
  row.json["efficiency"] = JsonNumber(efficiency.Share());
  row.json["published"] = JsonNumber(row.published);
  return row;
}

// The rows, and below them each verdict that is not OK, with the networks that have it.
std::string RowsText(const std::vector<Row>& rows, const Style& style) {
  constexpr Table::Kind kFigure = Table::Kind::kFigure;
  Table table({{.name = "network"},
               {.name = "images/s", .kind = kFigure},
               {.name = "Gops/s", .kind = kFigure},
               {.name = "ceiling", .kind = kFigure, .unit = "Gops/s"},
               {.name = "efficiency", .kind = Table::Kind::kPercent},
               {.name = "Snowflake", .kind = Table::Kind::kPercent},
               {.name = "status", .kind = Table::Kind::kWord}});
  std::map<std::string, std::vector<std::string>> doubts;
  for (const Row& row : rows) {
    const std::string network = row.json.at("network").get<std::string>();
    const std::optional<Efficiency>& efficiency = row.efficiency;
    const auto figure = [&efficiency](auto of) {
      return efficiency ? std::optional<double>(of(*efficiency)) : std::nullopt;
    };
    const std::string status(NameOf(row.verdict.status));
    table.Add({network, figure([](const Efficiency& e) { return e.images_per_second; }),
               figure([](const Efficiency& e) { return e.Rate() * 1e-9; }),
               figure([](const Efficiency& e) { return e.ceiling * 1e-9; }),
               figure([](const Efficiency& e) { return e.Share(); }), row.published, status});
    if (row.verdict.status != Status::kOk) {
      doubts[status + ": " + row.verdict.reason].push_back(network);
    }
  }
  std::string text = table.Text(style);
  for (const auto& [doubt, networks] : doubts) {
    text += Wrap(fmt::format("{}: {}", fmt::join(networks, ", "), doubt), style.width, 2);
  }
  return text;
}

Row FailedRow(const std::string& network, const std::string& why) {
  Row row;
  row.verdict = {Status::kFailed, OneLine(why)};
  row.json = {{"network", network}, {"status", NameOf(Status::kFailed)}, {"reason", OneLine(why)}};
  return row;
}

// Measures one network after the other, until the run is interrupted.
std::vector<Row> MeasureAll(const EfficiencyOptions& options) {
  ProgressLine progress(DetectStyle(stderr));
  std::vector<Row> rows;
  for (const std::string& network : options.networks) {
    if (Interrupted()) break;
    progress.Show(fmt::format("{} of {}: {}", rows.size() + 1, options.networks.size(), network));
    try {
      rows.push_back(Measure(network, options));
    } catch (const KernelFailed& error) {  // the other rows stand
      rows.push_back(FailedRow(network, error.what()));
    } catch (const std::bad_alloc&) {
      rows.push_back(FailedRow(network, "too little memory"));
    } catch (const UsageError& error) {
      if (rows.empty()) throw;
      rows.push_back(FailedRow(network, error.what()));
    }
  }
  return rows;
}

int RunEfficiency(const EfficiencyOptions& options) {
  if (!(options.seconds > 0)) throw UsageError("--seconds: must be above 0");
  std::vector<std::string> files;
  for (const std::string& network : options.networks) {
    CheckNetworkName(network);
    if (IsOnnxPath(network)) files.push_back(network);
  }
  CheckOutputs({options.json}, files);
  InterruptFlag();
  const std::vector<Row> rows = MeasureAll(options);
  const auto json = [&rows] {
    nlohmann::ordered_json networks = nlohmann::ordered_json::array();
    for (const Row& row : rows) networks.push_back(row.json);
    return nlohmann::ordered_json{{"schema", 1}, {"networks", networks}};
  };
  PublishResult(options.json, json, [&](const Style& style) {
    return fmt::format(
        "inference, batch {}, dtype {}, backend {}\n{}{}{}{}",
        options.workload.batch.value_or(options.workload.default_batch), options.workload.dtype,
        options.workload.backend, RowsText(rows, style),
        Wrap("numerator: 2 x the multiply-accumulates of convolutions and dense layers as "
             "defined, over the whole step's median",
             style.width, 2),
        Wrap("denominator: the multiply-add ceiling fed from L1, as measured here", style.width, 2),
        Wrap(fmt::format("Snowflake: an accelerator, as published: {}",
                         PublishedFor("alexnet")->source),
             style.width, 2));
  });
  if (Interrupted()) return kExitInterrupted;
  const bool failed = std::any_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.verdict.status == Status::kFailed || row.verdict.status == Status::kInvalid;
  });
  return failed ? kExitWrong : kExitGood;
}

std::function<int()> ConfigureEfficiency(CommandParser& parser) {
  auto options = std::make_shared<EfficiencyOptions>();
  options->workload.default_batch = 8;
  parser.AddList("networks", options->networks, "NET ...",
                 "networks (default: those with a published figure)");
  parser.Add(fmt::format("--backend {}|{}", kAutoBackend, fmt::join(Backends(), "|")),
             options->workload.backend, "implementation of the operations");
  AddPluginOption(parser);
  parser.Add("--dtype f32|bf16|f16", options->workload.dtype, "element type of activations");
  parser.Add("--batch", options->workload.batch,
             fmt::format("images per step (default: {})", options->workload.default_batch));
  parser.Add("--threads", options->workload.threads, "OpenMP threads (default: as allowed)");
  parser.Add("--seconds", options->seconds, "seconds of timed steps for each network",
             Range{0, 1e6});
  parser.Add("--json FILE", options->json, "write the figures to this file; - is standard output");
  return [options] { return RunEfficiency(*options); };
}

const CommandRegistration kEfficiency(
    {"efficiency", Question::kMeasure,
     "whole networks' share of the ceiling, as papers on accelerators report it",
     ConfigureEfficiency, "topdnn efficiency resnet50 --batch 8"});

}  // namespace

}  // namespace topdnn
