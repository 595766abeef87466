#include "bench/studies/fleet/fleet_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "bench/studies/results/result_file.h"
#include "harness/report/json.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;
using Kind = Table::Kind;

std::string StateOf(const FleetTask& task) {
  return task.slurm.job == 0 ? "unknown" : task.slurm.state;
}

// The cases with a time.
std::size_t MeasuredIn(const Json& index) {
  std::size_t measured = 0;
  for (const Json& row : index.at("cases")) {
    if (IsMeasured(TextAt(row, "status"))) ++measured;
  }
  return measured;
}

}  // namespace

std::string StatusText(const std::vector<FleetTask>& tasks, const Style& style) {
  Table table({{.name = "kind"},
               {.name = "set", .kind = Kind::kRight},
               {.name = "job", .kind = Kind::kRight},
               {.name = "state", .kind = Kind::kWord},
               {.name = "node", .kind = Kind::kWord, .rank = 1},
               {.name = "finished", .kind = Kind::kRight}});
  std::string problems;
  std::size_t cases = 0, finished = 0;
  for (const FleetTask& task : tasks) {
    cases += task.cases;
    finished += task.finished;
    table.Add({OneLine(task.kind.name), std::to_string(task.set),
               task.slurm.job == 0 ? std::string("n/a") : std::to_string(task.slurm.job),
               StateOf(task), OneLine(task.slurm.nodes),
               fmt::format("{} of {}", task.finished, task.cases)});
    if (task.problem.empty()) continue;
    problems += Wrap(fmt::format("{} set {}: {} of {} cases: {}", OneLine(task.kind.name), task.set,
                                 task.finished, task.cases, task.problem),
                     style.width, 2);
  }
  std::string text = fmt::format("{} of {} cases are finished\n", finished, cases);
  text += table.Text(style) + problems;
  if (!problems.empty()) {
    text += "`topdnn fleet submit STUDY --resume` submits what is not complete\n";
  }
  return text;
}

Json StatusJson(const Fleet& fleet, const std::vector<FleetTask>& tasks) {
  Json list = Json::array();
  std::size_t cases = 0, finished = 0;
  for (const FleetTask& task : tasks) {
    cases += task.cases;
    finished += task.finished;
    list.push_back({{"kind", task.kind.name},
                    {"set", task.set},
                    {"job", task.slurm.job == 0 ? Json(nullptr) : Json(task.slurm.job)},
                    {"state", task.slurm.job == 0 ? Json(nullptr) : Json(task.slurm.state)},
                    {"node", TextOrNull(task.slurm.nodes)},
                    {"cases", task.cases},
                    {"finished", task.finished},
                    {"problem", TextOrNull(task.problem)}});
  }
  return {{"schema", kResultSchema},
          {"fleet", fleet.id},
          {"cases", cases},
          {"finished", finished},
          {"tasks", std::move(list)}};
}

std::string CollectionText(const Collection& collection, const Style& style) {
  Table table({{.name = "machine", .least = 20},
               {.name = "CPU", .rank = 2},
               {.name = "nodes", .rank = 1},
               {.name = "measured", .kind = Kind::kRight},
               {.name = "not measured", .kind = Kind::kRight},
               {.name = "missing", .kind = Kind::kRight}});
  for (const CollectedMachine& machine : collection.machines) {
    const std::size_t measured = MeasuredIn(machine.index);
    const std::size_t rows = machine.index.at("cases").size();
    table.Add({OneLine(machine.name), OneLine(machine.cpu),
               OneLine(fmt::format("{}", fmt::join(machine.hosts, ", "))), std::to_string(measured),
               std::to_string(rows - measured),
               std::to_string(machine.index.at("left_out").get<std::size_t>())});
  }
  std::string text = table.empty() ? "" : table.Text(style);
  if (!collection.machines.empty()) {
    text += Wrap("in " + OneLine(collection.machines.front().folder.parent_path().string()),
                 style.width, 2);
  }
  if (collection.Partial()) {
    text += fmt::format("partial: {} of {} cases are finished\n", collection.finished,
                        collection.cases);
  }
  return text;
}

Json CollectionJson(const Fleet& fleet, const Collection& collection) {
  Json machines = Json::array();
  for (const CollectedMachine& machine : collection.machines) {
    const std::size_t rows = machine.index.at("cases").size();
    machines.push_back({{"name", machine.name},
                        {"cpu", TextOrNull(machine.cpu)},
                        {"hosts", machine.hosts},
                        {"folder", machine.folder.string()},
                        {"cases", rows + machine.index.at("left_out").get<std::size_t>()},
                        {"finished", rows},
                        {"measured", MeasuredIn(machine.index)}});
  }
  return {{"schema", kResultSchema},         {"fleet", fleet.id},
          {"cases", collection.cases},       {"finished", collection.finished},
          {"partial", collection.Partial()}, {"machines", std::move(machines)}};
}

}  // namespace topdnn
