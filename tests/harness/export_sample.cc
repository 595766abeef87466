#include "tests/harness/export_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "harness/report/evolution.h"
#include "harness/report/registry.h"
#include "harness/results/groups.h"
#include "tests/process/test_folder.h"

namespace topdnn {

namespace {

// Debian's python3 has the modules of Debian's packages. Another one may come first in PATH.
constexpr const char* kPython = "/usr/bin/python3 ";

using Json = nlohmann::ordered_json;

Record Stage(std::string name, std::string op, std::string pass, Status status,
             std::optional<double> seconds) {
  Record record;
  record.name = std::move(name);
  record.op = std::move(op);
  record.pass = std::move(pass);
  record.regime = "in-network";
  record.implementation = "jit:avx512";
  record.isa = "avx512";
  record.status = status;
  if (status != Status::kOk) record.reason = "reason " + std::string(kHostile);
  if (seconds) {
    record.seconds = Summary{.median = *seconds, .min = *seconds / 2, .p90 = *seconds * 2, .n = 50};
  }
  record.flops = 0.4e9;
  return record;
}

void AddCounts(Record& record) {
  record.bytes = 4e6;
  record.flops_counted = 0.42e9;
  record.ceiling_flops_per_second = 400e9;
  record.ceiling_name = "fma/avx512/f32/l1";
  record.events = {
      {"cycles", 6e6}, {"absent", std::nullopt}, {"odd", std::numeric_limits<double>::quiet_NaN()}};
  record.running_fraction = 0.5;
  record.topdown = {{"Retiring", 0.5},    {"Backend_Bound", 0.25}, {"Memory_Bound", 0.125},
                    {"L1_Bound", 0.0625}, {"Own_Node", 0.75},      {"Core_Bound", std::nullopt}};
  record.topdown_bounds = {{"Retiring", {0.54321, 0.54321, "counts"}}};
  record.topdown_experiment = {{"Memory_Bound", {0.54321, 0.54321, "experiment"}}};
}

}  // namespace

Report ExportSample() {
  Report report;
  report.command = "topdnn profile " + std::string(kHostile);
  report.machine = Json{
      {"cpu", {{"brand", "Some CPU"}, {"microarchitecture", "zen5"}}},
      {"operating_system", kHostile},
      {"ceilings",
       {{{"name", "fma/avx512/f32/l1"},
         {"threads", 2},
         {"value", 400e9},
         {"unit", "FLOP/s"},
         {"status", "DEGRADED"}},
        {{"name", "read/dram"},
         {"threads", 2},
         {"value", 8642e8},
         {"unit", "B/s"},
         {"status", "INVALID"}},
        {{"name", "latency/l2"}, {"threads", 1}, {"value", 5e-9}, {"unit", "s"}, {"status", "OK"}},
        {{"name", "copy/dram"},
         {"threads", 1},
         {"value", nullptr},
         {"unit", "B/s"},
         {"status", "SKIPPED"}}}}};
  report.subject = {{"network", Json(kHostile)},    {"batch", Json(8)},
                    {"dtype", Json("f32")},         {"backend", Json("onednn")},
                    {"threads", Json(2)},           {"mode", Json("training")},
                    {"regime", Json("in-network")}, {"choice", Json{{"conv1", "nhwc"}}}};
  report.step = Stage("step", "", "", Status::kDegraded, 10e-3);
  AddCounts(report.step);
  report.step.flops = 2e9;
  report.items_per_step = 8;
  report.stages = {Stage("conv1", "conv", "forward", Status::kOk, 2e-3),
                   Stage(kHostile, "pool", "forward", Status::kDegraded, 3e-3),
                   Stage(kHostile, "pool", "forward", Status::kOk, 1e-3),
                   Stage("w", "reorder", "reorder", Status::kOk, 0.5e-3),
                   Stage("conv1", "conv", "backward_data", Status::kFailed, 0.777),
                   Stage("pool1", "pool", "backward_data", Status::kInvalid, 0.8642),
                   Stage("relu1", "relu", "backward_data", Status::kSkipped, std::nullopt),
                   Stage("conv1", "sgd", "update", Status::kOk, 0.25e-3)};
  AddCounts(report.stages[0]);
  report.stages[3].flops.reset();
  report.notes = {{.text = "main " + std::string(kHostile), .main = true}, {.text = "minor"}};
  return report;
}

std::string ExportOf(const std::string& name, const Report& report) {
  for (const FileReport& file : FileReports()) {
    if (file.name == name) return file.text(report);
  }
  throw std::invalid_argument("no report " + name);
}

void AddIterations(Report& report) {
  SequenceSamples samples;
  double sum = 0;
  std::vector<std::string> groups;
  const auto series = [](double seconds) {
    StageSamples own;
    own.warmup_seconds = {2 * seconds, seconds, seconds};
    own.seconds = {seconds, seconds};
    return own;
  };
  for (std::size_t s = 0; s < report.stages.size(); ++s) {
    const double seconds = 1e-3 * static_cast<double>(s + 1);
    sum += seconds;
    samples.stages.push_back(series(seconds));
    groups.push_back(GroupOfPass(report.stages[s].pass));
  }
  samples.step = series(sum);
  samples.step.name = "step";
  report.evolution = EvolutionJson(samples, PhasesOf(samples, groups));
}

Outcome RunPython(const std::string& program, const std::string& text) {
  const TestFolder folder;
  const std::string script = folder.Write("check.py", program);
  const std::string file = folder.Write("text", text);
  return RunShell(kPython + Quoted(script) + " " + Quoted(file));
}

bool HasPythonModule(const std::string& module) {
  return RunShell(std::string(kPython) + "-c " + Quoted("import " + module)).exit_status == 0;
}

void ExpectOnlyValidFigures(const std::string& text) {
  using testing::HasSubstr;
  using testing::Not;
  for (const char* digits : {"54321", "54.32", "777", "8642"}) {
    EXPECT_THAT(text, Not(HasSubstr(digits)));
  }
  for (const char* odd : {"nan", "NaN", "inf,", "Infinity"}) EXPECT_THAT(text, Not(HasSubstr(odd)));
}

}  // namespace topdnn
