#include "harness/report/dram_table.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "harness/counters/source.h"
#include "harness/report/text.h"

namespace topdnn {

namespace {

constexpr std::size_t kMostName = 26;
constexpr std::size_t kFigure = 12;

std::optional<double> EventOf(const Record& record, std::string_view event) {
  const auto found = record.events.find(std::string(event));
  return found == record.events.end() ? std::nullopt : found->second;
}

std::optional<double> Times(std::optional<double> value, double factor) {
  if (value) *value *= factor;
  return value;
}

std::string Row(const Record& record, const std::string& name, std::size_t width,
                const Style& style) {
  std::string line = PadRight(Cut(name, width, style.unicode), width);
  for (const auto& figure :
       {Times(EventOf(record, kDramReadEvent), 1e-6), Times(EventOf(record, kDramWriteEvent), 1e-6),
        Times(record.bytes, 1e-6), Times(record.DramBytesPerSecond(), 1e-9)}) {
    line += PadLeft(FigureText(figure), kFigure);
  }
  return line + "\n";
}

}  // namespace

std::string DramTableText(const Report& report, const Style& style) {
  const auto counted = [](const Record& record) {
    return EventOf(record, kDramReadEvent) || EventOf(record, kDramWriteEvent);
  };
  if (std::none_of(report.stages.begin(), report.stages.end(), counted)) return "";
  std::size_t width = 12;
  for (const Record& stage : report.stages) {
    width = std::max(width, ColumnsOfText(WordsOf(stage.name + " " + stage.pass)));
  }
  width = std::min(width, kMostName);
  std::string text = PadRight("DRAM", width);
  for (const char* head : {"read MB", "written MB", "least MB", "GB/s"}) {
    text += PadLeft(head, kFigure);
  }
  text += "\n";
  for (const Record& stage : report.stages) {
    text += Row(stage, WordsOf(stage.name + " " + stage.pass), width, style);
  }
  return text + Row(report.step, "step", width, style);
}

}  // namespace topdnn
