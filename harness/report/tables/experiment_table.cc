#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/report/grouped_names.h"
#include "harness/report/registry.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

// Empty if there is none, so that a column of none is left out.
std::string NodeText(const Bound* bound) { return BoundText(bound, ""); }

// How much faster the record would be without this share of its time.
std::optional<double> SpeedupWithout(double share) {
  if (!(share < 1)) return std::nullopt;
  return 1 / (1 - share);
}

std::optional<double> MemoryBoundOfPmu(const Record& record) {
  if (!record.topdown) return std::nullopt;
  const auto found = record.topdown->find("Memory_Bound");
  return found == record.topdown->end() ? std::nullopt : found->second;
}

// Positive above the interval, negative below it, 0 inside.
double PointsApart(double value, const Bound& interval) {
  return std::max(value - interval.high, 0.0) + std::min(value - interval.low, 0.0);
}

// The PMU's Memory_Bound, in percent; empty without one.
std::string PmuText(const Record& record) {
  const std::optional<double> pmu = MemoryBoundOfPmu(record);
  return pmu ? fmt::format("{:.0f}", *pmu * 100) : "";
}

// "+7": the PMU's value is 7 points above the interval; "0": it is inside.
std::string ApartText(const Record& record, const Bound& memory) {
  const std::optional<double> pmu = MemoryBoundOfPmu(record);
  if (!pmu) return "";
  const double apart = PointsApart(*pmu, memory);
  return apart == 0 ? "0" : fmt::format("{:+.0f}", apart * 100);
}

void AddRow(const Record& record, const std::string& name, Table& table) {
  if (!record.topdown_experiment) return;
  const TopdownBounds& split = *record.topdown_experiment;
  const Bound* memory = FindBound(split, "Memory_Bound");
  table.Add({name, WordsOf(record.pass), record.Median(), NodeText(memory), PmuText(record),
             ApartText(record, *memory), NodeText(FindBound(split, "L3_Bound")),
             NodeText(FindBound(split, "DRAM_Bound")), NodeText(FindBound(split, "Retiring")),
             NodeText(FindBound(split, "Core_Bound")), NodeText(FindBound(split, "Rest")),
             SpeedupWithout(memory->high)});
}

// The time that memory costs, at least.
double CostOfMemory(const Record& record) {
  if (!record.topdown_experiment || !record.seconds) return 0;
  return record.topdown_experiment->at("Memory_Bound").low * record.seconds->median;
}

std::string AdviceOn(const Record& record) {
  const Bound& memory = record.topdown_experiment->at("Memory_Bound");
  const std::optional<double> most = SpeedupWithout(memory.high);
  std::string line = fmt::format(
      "{}: {:.0f} % ({:.0f} to {:.0f}) waits for memory: {} without these waits", LabelOf(record),
      (memory.low + memory.high) * 50, memory.low * 100, memory.high * 100,
      most ? fmt::format("at most {:.1f} x faster", *most) : "the gain is not known");
  // If all other work vanished, the waits would remain: at least the lower end of the time.
  line += fmt::format(", and at most {:.1f} x with fewer instructions", 1 / memory.low);
  return line;
}

}  // namespace

std::string ExperimentTable(const Report& report, const Style& style,
                            const StageTableOptions& stages) {
  constexpr Table::Kind kRight = Table::Kind::kRight;
  Table table({{.name = "stage"},
               {.name = "pass", .least = 9},
               {.name = "time", .kind = Table::Kind::kTime},
               {.name = "memory", .kind = kRight, .unit = "%"},
               {.name = "by PMU", .kind = kRight, .unit = "%", .rank = 1},
               {.name = "apart", .kind = kRight, .unit = "%", .rank = 1},
               {.name = "of it L3", .kind = kRight, .unit = "%", .rank = 2},
               {.name = "DRAM", .kind = kRight, .unit = "%", .rank = 2},
               {.name = "retiring", .kind = kRight, .unit = "%", .rank = 1},
               {.name = "core", .kind = kRight, .unit = "%", .rank = 1},
               {.name = "rest", .kind = kRight, .unit = "%", .rank = 1},
               {.name = "gain at most", .kind = Table::Kind::kFigure, .unit = "x"}});
  GroupedNames reasons;
  for (const Record* shown : ShownStages(report, stages)) {
    const Record& stage = *shown;
    AddRow(stage, stage.name, table);
    if (!stage.experiment_reason.empty()) reasons.Add(stage.experiment_reason, LabelOf(stage));
  }
  AddRow(report.step, "step", table);
  std::string text;
  for (const NamesOfText& group : reasons.groups()) {
    text +=
        Wrap(fmt::format("no experiment: {} ({})", group.text, group.NamesText()), style.width, 2);
  }
  if (table.empty()) return text.empty() ? "" : "\n" + text;
  return "\n" +
         Wrap(
             "Memory by experiment: the share of the time that vanishes on memory that L2 holds as "
             "a whole (95 % interval)",
             style.width, 2) +
         table.Text(style) + ExperimentAdvice(report, style, 3) + text;
}

std::string ExperimentAdvice(const Report& report, const Style& style, std::size_t count) {
  std::vector<const Record*> costly;
  for (const Record& stage : report.stages) {
    if (CostOfMemory(stage) > 0) costly.push_back(&stage);
  }
  std::stable_sort(costly.begin(), costly.end(), [](const Record* a, const Record* b) {
    return CostOfMemory(*a) > CostOfMemory(*b);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(count, costly.size()); ++i) {
    text += Wrap(AdviceOn(*costly[i]), style.width, 2);
  }
  return text;
}

namespace {

const ReportRegistration kExperiment(TableReport{
    .name = "experiment",
    .place = 3,
    .text = [](const Report& report, const Style& style, const ConsoleOptions& options) {
      return options.AsksFor("memory") ? ExperimentTable(report, style, options.stages) : "";
    }});

}  // namespace

}  // namespace topdnn
