#include "harness/report/bounds_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
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

// "RRRRCCCCCC.......MMM": letters for the lower ends, dots for slots that may be of any node.
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
  const bool joined = Find(bounds, "Memory_And_Frontend_Bound") != nullptr;
  return names.Line(
      name, record.pass,
      {IntervalText(Find(bounds, "Retiring")), IntervalText(Find(bounds, "Bad_Speculation")),
       IntervalText(Find(bounds, "Core_Bound")), IntervalText(MemoryOf(bounds)),
       joined ? "in memory" : IntervalText(frontend)},
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

// "no Top-Down bounds: the record is DEGRADED (conv1 forward, step)", each reason once.
std::string BoundsReasons(const Report& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  const auto add = [&](const Record& record, const std::string& name) {
    if (record.topdown_bounds || record.bounds_reason.empty()) return;
    auto place = std::find_if(reasons.begin(), reasons.end(), [&](const auto& entry) {
      return entry.first == record.bounds_reason;
    });
    if (place == reasons.end()) place = reasons.insert(reasons.end(), {record.bounds_reason, {}});
    place->second.push_back(name);
  };
  for (const Record& stage : report.stages) add(stage, stage.name + " " + WordsOf(stage.pass));
  add(report.step, "step");
  std::string text;
  for (const auto& [reason, names] : reasons) {
    const std::string whom = names.size() > 3
                                 ? fmt::format("{} and {} more", names.front(), names.size() - 1)
                                 : fmt::format("{}", fmt::join(names, ", "));
    text += fmt::format("no Top-Down bounds: {} ({})\n", reason, whom);
  }
  return text;
}

}  // namespace

std::string BoundsTable(const Report& report, const Style& style) {
  const Names names(report, style);
  std::string lines;
  for (const Record& stage : report.stages) lines += BoundsLine(names, stage, stage.name);
  lines += BoundsLine(names, report.step, "step");
  const std::string reasons = BoundsReasons(report);
  if (lines.empty()) return reasons.empty() ? "" : "\n" + reasons;
  return "\nTop-Down bounds (estimated): shares of the pipeline's slots, worked out from exact "
         "counts, not read from a PMU\n" +
         names.Line("stage", "pass", {"retiring", "bad spec.", "core", "memory", "front end"},
                    "at least") +
         lines +
         "at least: R retiring, C core, M memory, each at its lower end. n/a: the counts leave it "
         "open.\n" +
         reasons;
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
