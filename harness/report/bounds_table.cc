#include "harness/report/bounds_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/report/text.h"

namespace topdnn {

namespace {

constexpr std::size_t kMostName = 20;
constexpr std::size_t kPass = 16;
constexpr std::size_t kFigure = 11;
constexpr std::size_t kStrip = 25;

const Bound* Find(const TopdownBounds& bounds, const char* node) {
  const auto found = bounds.find(node);
  return found == bounds.end() ? nullptr : &found->second;
}

// "12-38 %"
std::string IntervalText(const Bound* bound) {
  if (bound == nullptr) return std::string(kAbsentText);
  return fmt::format("{:.0f}-{:.0f} %", std::floor(bound->low * 100), std::ceil(bound->high * 100));
}

const Bound* MemoryOf(const TopdownBounds& bounds) {
  const Bound* alone = Find(bounds, "Memory_Bound");
  return alone != nullptr ? alone : Find(bounds, "Memory_And_Frontend_Bound");
}

// "RRRRCCCCCC.......MMM": a letter is a slot that is certain, a dot one that is not.
std::string Strip(const TopdownBounds& bounds) {
  const auto columns = [](const Bound* bound) {
    const double low = bound == nullptr ? 0 : bound->low;
    return static_cast<std::size_t>(low * static_cast<double>(kStrip));
  };
  const std::size_t retiring = columns(Find(bounds, "Retiring"));
  const std::size_t core = columns(Find(bounds, "Core_Bound"));
  const std::size_t memory = columns(MemoryOf(bounds));
  std::string strip = std::string(retiring, 'R') + std::string(core, 'C');
  strip += std::string(kStrip - std::min(kStrip, retiring + core + memory), '.');
  return strip + std::string(memory, 'M');
}

// The columns that every line begins with.
class Names {
 public:
  Names(const Report& report, const Style& style) : style_(style) {
    for (const Record& stage : report.stages) width_ = std::max(width_, ColumnsOfText(stage.name));
    width_ = std::min(width_, kMostName);
  }

  std::string Line(const std::string& name, const std::string& pass,
                   const std::vector<std::string>& figures, const std::string& end) const {
    std::string line = PadRight(Cut(name, width_, style_.unicode), width_) + "  " +
                       PadRight(Cut(WordsOf(pass), kPass, style_.unicode), kPass);
    for (const std::string& figure : figures) line += "  " + PadLeft(figure, kFigure);
    line += "  " + end;
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

 private:
  const Style& style_;
  std::size_t width_ = 5;
};

std::string BoundsLine(const Names& names, const Record& record, const std::string& name) {
  if (!record.topdown_bounds || record.status == Status::kFailed) return "";
  const TopdownBounds& bounds = *record.topdown_bounds;
  const Bound* frontend = Find(bounds, "Frontend_Bound");
  const bool apart = Find(bounds, "Memory_Bound") != nullptr;
  return names.Line(
      name, record.pass,
      {IntervalText(Find(bounds, "Retiring")), IntervalText(Find(bounds, "Bad_Speculation")),
       IntervalText(Find(bounds, "Core_Bound")), IntervalText(MemoryOf(bounds)),
       apart ? IntervalText(frontend) : "in memory"},
      Strip(bounds));
}

std::string RooflineLine(const Names& names, const Record& record) {
  if (!record.roofline || record.status == Status::kFailed) return "";
  const Roofline& r = *record.roofline;
  const std::optional<Roof> roof = r.attainable();
  std::optional<double> share;
  if (roof) share = r.flops_per_second() / roof->value;
  const auto giga = [](double value) { return ThreeDigits(value * 1e-9); };
  return names.Line(
      record.name, record.pass,
      {giga(r.flops_per_second()), FigureText(r.l1_intensity()), FigureText(r.dram_intensity()),
       roof ? giga(roof->value) : std::string(kAbsentText), PercentText(share)},
      roof ? roof->name : "");
}

}  // namespace

std::string BoundsTable(const Report& report, const Style& style) {
  const Names names(report, style);
  std::string lines;
  for (const Record& stage : report.stages) lines += BoundsLine(names, stage, stage.name);
  lines += BoundsLine(names, report.step, "step");
  if (lines.empty()) return "";
  return "\nTop-Down bounds: estimated from exact counts over measured ceilings, not read from a "
         "PMU\n" +
         names.Line("stage", "pass", {"retiring", "bad spec.", "core", "memory", "front end"},
                    "certain of it") +
         lines;
}

std::string RooflineTable(const Report& report, const Style& style) {
  const Names names(report, style);
  std::string lines;
  for (const Record& stage : report.stages) lines += RooflineLine(names, stage);
  if (lines.empty()) return "";
  return "\nRoofline: operations over bytes loaded and stored (L1) and over compulsory bytes "
         "(DRAM)\n" +
         names.Line("stage", "pass", {"GFLOP/s", "FLOP/B L1", "FLOP/B DRAM", "attainable", "share"},
                    "lowest roof") +
         lines;
}

}  // namespace topdnn
