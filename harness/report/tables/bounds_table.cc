#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/report/grouped_names.h"
#include "harness/report/registry.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

constexpr std::size_t kStrip = 25;

const Bound* MemoryOf(const TopdownBounds& bounds) {
  const Bound* alone = FindBound(bounds, "Memory_Bound");
  return alone != nullptr ? alone : FindBound(bounds, "Memory_And_Frontend_Bound");
}

// "RRRRCCCCCC.......MMM": letters for the lower ends, dots for slots that may belong to any node.
std::string Strip(const TopdownBounds& bounds) {
  const auto columns = [](const Bound* bound) {
    const double low = bound == nullptr ? 0 : bound->low;
    return static_cast<std::size_t>(low * static_cast<double>(kStrip));
  };
  const std::size_t retiring = columns(FindBound(bounds, "Retiring"));
  const std::size_t core = columns(FindBound(bounds, "Core_Bound"));
  const std::size_t memory = columns(MemoryOf(bounds));
  std::string strip = std::string(retiring, 'R') + std::string(core, 'C');
  strip += std::string(kStrip - std::min(kStrip, retiring + core + memory), '.');
  return strip + std::string(memory, 'M');
}

bool HasBounds(const Record& record) {
  return record.topdown_bounds && record.status != Status::kFailed;
}

void AddBounds(const Record& record, const std::string& name, Table& table) {
  if (!HasBounds(record)) return;
  const TopdownBounds& bounds = *record.topdown_bounds;
  const bool joined = FindBound(bounds, "Memory_And_Frontend_Bound") != nullptr;
  const auto text = [](const Bound* bound) { return BoundText(bound, kAbsentText); };
  table.Add({name, WordsOf(record.pass), text(FindBound(bounds, "Retiring")),
             text(FindBound(bounds, "Bad_Speculation")), text(FindBound(bounds, "Core_Bound")),
             text(MemoryOf(bounds)),
             joined ? "in memory" : text(FindBound(bounds, "Frontend_Bound")), Strip(bounds)});
}

void AddRoofline(const Record& record, Table& table) {
  if (!record.roofline || record.status == Status::kFailed) return;
  const Roofline& r = *record.roofline;
  const std::optional<Roof> roof = r.attainable();
  std::optional<double> attainable, share;
  if (roof) {
    attainable = roof->value * 1e-9;
    share = r.flops_per_second() / roof->value;
  }
  table.Add({record.name, WordsOf(record.pass), r.flops_per_second() * 1e-9, r.l1_intensity(),
             r.dram_intensity(), attainable, share,
             roof         ? roof->name
             : r.withheld ? "not decided"
                          : ""});
}

// Why a stage has no lowest roof.
std::string WithheldText(const Report& report, const Style& style) {
  const bool any = std::any_of(report.stages.begin(), report.stages.end(), [](const Record& stage) {
    return stage.roofline && stage.roofline->withheld;
  });
  if (!any) return "";
  return Wrap(
      "not decided: the ceiling of a roof that applies is not valid, or the caches keep part of "
      "the data",
      style.width, 2);
}

// "no Top-Down bounds: the record is DEGRADED (conv1 forward, step)", each reason once.
std::string BoundsReasons(const Report& report, const Style& style) {
  GroupedNames reasons;
  const auto add = [&](const Record& record, std::string name) {
    if (record.topdown_bounds || record.bounds_reason.empty()) return;
    reasons.Add(record.bounds_reason, std::move(name));
  };
  for (const Record& stage : report.stages) add(stage, LabelOf(stage));
  add(report.step, "step");
  std::string text;
  for (const NamesOfText& group : reasons.groups()) {
    text += Wrap(fmt::format("no Top-Down bounds: {} ({})", group.text, group.NamesText()),
                 style.width, 2);
  }
  return text;
}

}  // namespace

const Bound* FindBound(const TopdownBounds& bounds, const char* node) {
  const auto found = bounds.find(node);
  return found == bounds.end() ? nullptr : &found->second;
}

std::string BoundText(const Bound* bound, std::string_view absent) {
  if (bound == nullptr) return std::string(absent);
  return fmt::format("{:.0f}-{:.0f}", std::floor(bound->low * 100), std::ceil(bound->high * 100));
}

std::string BoundsTable(const Report& report, const Style& style, const std::string& what) {
  constexpr Table::Kind kRight = Table::Kind::kRight;
  Table table({{.name = what},
               {.name = "pass", .least = 9},
               {.name = "retiring", .kind = kRight, .unit = "%"},
               {.name = "bad spec.", .kind = kRight, .unit = "%"},
               {.name = "core", .kind = kRight, .unit = "%"},
               {.name = "memory", .kind = kRight, .unit = "%"},
               {.name = "front end", .kind = kRight, .unit = "%"},
               {.name = "at least", .kind = Table::Kind::kWord, .rank = 1}});
  for (const Record& stage : report.stages) AddBounds(stage, stage.name, table);
  AddBounds(report.step, "step", table);
  const std::string reasons = BoundsReasons(report, style);
  if (table.empty()) return reasons.empty() ? "" : "\n" + reasons;
  return "\n" +
         Wrap(
             "Top-Down bounds (estimated): shares of the pipeline's slots, computed from exact "
             "counts, not read from a PMU",
             style.width, 2) +
         table.Text(style) +
         Wrap(
             "at least: R retiring, C core, M memory, each at its lower end. n/a: the counts "
             "leave it open.",
             style.width, 2) +
         reasons;
}

std::string RooflineTable(const Report& report, const Style& style) {
  constexpr Table::Kind kFigure = Table::Kind::kFigure;
  Table table({{.name = "stage"},
               {.name = "pass", .least = 9},
               {.name = "GFLOP/s", .kind = kFigure},
               {.name = "FLOP/B L1", .kind = kFigure},
               {.name = "FLOP/B DRAM", .kind = kFigure},
               {.name = "attainable", .kind = kFigure},
               {.name = "share", .kind = Table::Kind::kPercent},
               {.name = "lowest roof", .rank = 1}});
  for (const Record& stage : report.stages) AddRoofline(stage, table);
  if (table.empty()) return "";
  return "\n" +
         Wrap(
             "Roofline: operations over bytes loaded and stored (L1) and over compulsory bytes "
             "(DRAM)",
             style.width, 2) +
         table.Text(style) + WithheldText(report, style);
}

namespace {

const ReportRegistration kBounds(TableReport{
    .name = "bounds",
    .place = 3,
    .text = [](const Report& report, const Style& style, const ConsoleOptions& options) {
      // (the tree has them, with other evidence)
      return report.step.tree && !options.explain ? "" : BoundsTable(report, style);
    }});

const ReportRegistration kRoofline(TableReport{
    .name = "roofline",
    .help = "the stages under the machine's measured roofs",
    .place = 4,
    .shown = TableReport::Shown::kOnRequest,
    .text = [](const Report& report, const Style& style, const ConsoleOptions&) {
      return RooflineTable(report, style);
    }});

}  // namespace

}  // namespace topdnn
