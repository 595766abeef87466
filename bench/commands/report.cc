// `topdnn report RESULT...`: an HTML page of results that were written before.

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/studies/results/result_file.h"
#include "bench/studies/results/result_page.h"
#include "harness/files/atomic_file.h"
#include "harness/report/html/page.h"

namespace topdnn {

namespace {

struct ReportOptions {
  std::vector<std::string> results;
  std::string html;
};

// Adds to each case of a sweep the command of its profile, if that file is there. `path`: the
// folder of the sweep, or its index.
void AddCommands(const std::string& path, nlohmann::ordered_json& sweep) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
  for (auto& one : sweep.at("cases")) {
    const auto file = one.find("file");
    if (one.contains("command") || file == one.end() || !file->is_string()) continue;
    if (!fs::exists(folder / file->get<std::string>())) continue;
    const ResultFile profile = ReadSweepCase(folder.string(), file->get<std::string>());
    if (profile.json.contains("command")) one["command"] = profile.json["command"];
  }
}

nlohmann::ordered_json DrawnData(ResultFile result) {
  if (result.kind == ResultKind::kSweep) AddCommands(result.path, result.json);
  if (result.kind == ResultKind::kFleet && !result.json.contains("comparison")) {
    throw UsageError(
        fmt::format("{}: compares no machines: write it with `topdnn fleet collect STUDY "
                    "--compare MACHINE --all --json FILE`",
                    result.path));
  }
  if (auto data = PageDataOf(result)) return *std::move(data);
  throw UsageError(
      fmt::format("{}: a {} file, which `report` does not draw: give a profile, the "
                  "folder of a sweep, a comparison, a fleet, a corun, a cosched, or a trace",
                  result.path, NameOf(result.kind)));
}

// The data of one result. The message of an error names the result.
nlohmann::ordered_json CheckedData(const std::string& path) {
  try {
    return DrawnData(ReadResult(path));
  } catch (const nlohmann::json::exception&) {
    throw UsageError(
        fmt::format("{}: a key has another type than topdnn writes: write the result "
                    "again with topdnn",
                    path));
  }
}

int RunReport(const ReportOptions& options) {
  if (options.results.empty()) {
    throw UsageError(
        "report: no result: give profiles, folders of sweeps, comparisons, coruns, coscheds or "
        "traces");
  }
  if (options.html.empty()) {
    throw UsageError("report: no output: give --html FILE, or --html - for standard output");
  }
  CheckOutputs({options.html}, options.results);
  std::vector<nlohmann::ordered_json> results;
  for (const std::string& path : options.results) results.push_back(CheckedData(path));
  WriteFileAtomically(options.html, HtmlPage(results));
  return kExitGood;
}

std::function<int()> ConfigureReport(CommandParser& parser) {
  auto options = std::make_shared<ReportOptions>();
  parser.AddList("results", options->results, "RESULT...",
                 "files that profile, compare, fleet collect, corun, cosched or trace wrote with "
                 "--json, and folders of sweeps");
  parser.Add("--html FILE", options->html, "write the page to this file; - is standard output");
  return [options] { return RunReport(*options); };
}

const CommandRegistration kReport(
    {"report", Question::kCompare,
     "an HTML page of profiles, sweeps, comparisons, coruns, coscheds and traces", ConfigureReport,
     "topdnn report out.json --html report.html"});

}  // namespace

}  // namespace topdnn
