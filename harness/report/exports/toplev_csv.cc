// The Top-Down nodes of each stage in the CSV of `toplev.py -x,` (github.com/andikleen/pmu-tools:
// class OutputCSV of tl_output.py, in the form with a header line; csv_formats.py of commit 0a825eb
// has an example row), for the scripts and spreadsheets that read it. As in toplev's interval mode,
// each block of rows has a time stamp: the end of the stage, in a step that is made of the stages'
// medians. Only measured nodes are written: bounds from exact counts are estimates.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "harness/report/exports/csv.h"
#include "harness/report/exports/exported.h"
#include "harness/report/grouped_names.h"
#include "harness/report/opening.h"
#include "harness/report/registry.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

// toplev's path and unit of a node (the names and domains of pmu-tools' *_ratios.py).
struct ToplevNode {
  std::string_view name;
  std::string_view path;
  std::string_view unit;
};

constexpr std::string_view kSlots = "% Slots";
constexpr std::string_view kStalls = "% Stalls";
constexpr std::string_view kClocks = "% Clocks";

constexpr std::array kToplevNodes = {
    ToplevNode{"Frontend_Bound", "Frontend_Bound", kSlots},
    ToplevNode{"Fetch_Latency", "Frontend_Bound.Fetch_Latency", kSlots},
    ToplevNode{"Fetch_Bandwidth", "Frontend_Bound.Fetch_Bandwidth", kSlots},
    ToplevNode{"Bad_Speculation", "Bad_Speculation", kSlots},
    ToplevNode{"Branch_Mispredicts", "Bad_Speculation.Branch_Mispredicts", kSlots},
    ToplevNode{"Machine_Clears", "Bad_Speculation.Machine_Clears", kSlots},
    ToplevNode{"Backend_Bound", "Backend_Bound", kSlots},
    ToplevNode{"Memory_Bound", "Backend_Bound.Memory_Bound", kSlots},
    ToplevNode{"L1_Bound", "Backend_Bound.Memory_Bound.L1_Bound", kStalls},
    ToplevNode{"L2_Bound", "Backend_Bound.Memory_Bound.L2_Bound", kStalls},
    ToplevNode{"L3_Bound", "Backend_Bound.Memory_Bound.L3_Bound", kStalls},
    ToplevNode{"DRAM_Bound", "Backend_Bound.Memory_Bound.DRAM_Bound", kStalls},
    ToplevNode{"Store_Bound", "Backend_Bound.Memory_Bound.Store_Bound", kStalls},
    ToplevNode{"Core_Bound", "Backend_Bound.Core_Bound", kSlots},
    ToplevNode{"Divider", "Backend_Bound.Core_Bound.Divider", kClocks},
    ToplevNode{"AMX_Busy", "Backend_Bound.Core_Bound.AMX_Busy", kClocks},
    ToplevNode{"Ports_Utilized_0", "Backend_Bound.Core_Bound.Ports_Utilization.Ports_Utilized_0",
               kClocks},
    ToplevNode{"Ports_Utilized_1", "Backend_Bound.Core_Bound.Ports_Utilization.Ports_Utilized_1",
               kClocks},
    ToplevNode{"Ports_Utilized_2", "Backend_Bound.Core_Bound.Ports_Utilization.Ports_Utilized_2",
               kClocks},
    ToplevNode{"Ports_Utilized_3m", "Backend_Bound.Core_Bound.Ports_Utilization.Ports_Utilized_3m",
               kClocks},
    ToplevNode{"Resource_Bound", "Backend_Bound.Resource_Bound", kSlots},
    ToplevNode{"Retiring", "Retiring", kSlots},
    ToplevNode{"Light_Operations", "Retiring.Light_Operations", kSlots},
    ToplevNode{"Heavy_Operations", "Retiring.Heavy_Operations", kSlots}};

// The columns after the time stamp. toplev has "CPUs" before them only if it prints several CPUs;
// here all threads of a stage are one value.
constexpr std::string_view kHead =
    "Timestamp,Area,Value,Unit,Description,Sample,Stddev,Multiplex,Bottleneck,Idle\n";

// toplev's readers omit lines that begin with '#', after removing quotes.
std::string Comment(const std::string& text) { return CsvField("# " + OneLine(text)) + "\n"; }

std::string CsvRow(double end, std::string_view path, std::string_view unit, double fraction,
                   const Record& stage) {
  const std::string multiplex =
      stage.running_fraction ? fmt::format("{:.1f}", 100 * *stage.running_fraction) : "";
  std::string label = LabelOf(stage);
  if (stage.status != Status::kOk) label += "; " + StatusText(stage.status, stage.reason);
  return fmt::format("{:.9f},{},{:.2f},{},{},,,{},,\n", end, CsvField(OneLine(path)),
                     100 * fraction, unit, CsvField(OneLine(label)), multiplex);
}

// The rows of a stage: toplev's nodes in its order, then other nodes of this CPU. Empty without
// any node.
std::string Block(double end, const Record& stage) {
  std::map<std::string, std::optional<double>, std::less<>> nodes(stage.topdown->begin(),
                                                                  stage.topdown->end());
  std::string rows;
  const auto add = [&](std::string_view name, std::string_view path, std::string_view unit) {
    const auto found = nodes.find(name);
    if (found == nodes.end()) return;
    if (found->second && std::isfinite(*found->second)) {
      rows += CsvRow(end, path, unit, *found->second, stage);
    }
    nodes.erase(found);
  };
  for (const ToplevNode& node : kToplevNodes) add(node.name, node.path, node.unit);
  while (!nodes.empty()) {
    const std::string name = nodes.begin()->first;
    // Stalled_Frontend and Stalled_Backend of cores without slot events are shares of cycles.
    add(name, name, name.starts_with("Stalled_") ? kClocks : "%");
  }
  return rows;
}

// With the notes of the counter sources that did not work, if there are any.
std::string WhyNoRows(const Report& report) {
  std::string text = Comment(
      "no rows: Top-Down was not measured: the counted events give no node of the CPU's table");
  for (const Note& note : report.notes) {
    if (note.text.starts_with("counters: ")) text += Comment(note.text);
  }
  return text;
}

std::string ToplevText(const Report& report) {
  std::string text = Comment(
      "topdnn: Top-Down of each stage, in the format of pmu-tools' toplev.py -x,; a time stamp is "
      "the end of the stage in a step made of medians; the description is the stage");
  text += Comment(report.command);
  if (const std::string machine = MachineText(report); !machine.empty()) text += Comment(machine);
  std::string blocks;
  double end = 0;
  for (const Record& stage : report.stages) {
    const auto seconds = ExportedTime(stage);
    if (!seconds) {
      blocks +=
          Comment("no rows: " + LabelOf(stage) + ": " + StatusText(stage.status, stage.reason));
      continue;
    }
    end += seconds->median;
    if (stage.topdown) blocks += Block(end, stage);
  }
  if (report.partial) text += Comment("partial: interrupted, stages are missing");
  const bool measured = std::any_of(report.stages.begin(), report.stages.end(),
                                    [](const Record& stage) { return stage.topdown.has_value(); });
  if (!measured) text += WhyNoRows(report);
  return text + std::string(kHead) + blocks;
}

const ReportRegistration kToplev(FileReport{
    .name = "toplev-csv",
    .help = "write each stage's measured Top-Down nodes to this file in toplev's CSV",
    .text = ToplevText});

}  // namespace

}  // namespace topdnn
