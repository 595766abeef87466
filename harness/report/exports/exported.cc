#include "harness/report/exports/exported.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "harness/report/grouped_names.h"
#include "harness/text/one_line.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// The parts of the subject that identify a run, in the order of the name, with the word before
// each.
struct NamePart {
  std::string_view key;
  std::string_view word;
};
constexpr std::array kNameParts = {NamePart{"network", ""},     NamePart{"mode", ""},
                                   NamePart{"batch", "batch "}, NamePart{"dtype", ""},
                                   NamePart{"backend", ""},     NamePart{"threads", "threads "}};

// The text of a string or a number; empty for anything else.
std::string ScalarText(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.is_number() || json.is_boolean() ? json.dump() : "";
}

// "cnn/training/batch 128/"
std::string NameOfRun(const Report& report) {
  std::string name;
  for (const NamePart& part : kNameParts) {
    for (const auto& [key, value] : report.subject) {
      const std::string text = key == part.key ? ScalarText(value.json()) : "";
      if (!text.empty()) name += fmt::format("{}{}/", part.word, text);
    }
  }
  return name;
}

// Adds a number to a name that is in `used`.
std::string Unused(const std::string& wanted, std::set<std::string>& used) {
  constexpr std::size_t kMaxColumns = 240;  // and a number
  const std::string name = CutMiddle(OneLine(wanted), kMaxColumns, true);
  std::string unused = name;
  for (int i = 2; !used.insert(unused).second; ++i) unused = fmt::format("{} {}", name, i);
  return unused;
}

}  // namespace

std::string MemberText(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? ScalarText(*found) : "";
}

bool MayBeExported(const Record& record) {
  return record.status != Status::kInvalid && record.status != Status::kFailed;
}

std::optional<Summary> ExportedTime(const Record& record) {
  if (!MayBeExported(record) || !record.seconds) return std::nullopt;
  for (const double seconds : {record.seconds->median, record.seconds->min, record.seconds->p90}) {
    if (!std::isfinite(seconds) || seconds <= 0) return std::nullopt;
  }
  return record.seconds;
}

std::string MachineText(const Report& report) {
  const Json& machine = report.machine.json();
  if (!machine.is_object()) return "";
  const Json cpu = machine.value("cpu", Json());
  std::string text = MemberText(cpu, "brand");
  const std::string core = MemberText(cpu, "microarchitecture");
  if (!core.empty()) text += text.empty() ? core : fmt::format(" ({})", core);
  const std::string system = MemberText(machine, "operating_system");
  if (!system.empty()) text += (text.empty() ? "" : ", ") + system;
  return text;
}

BenchmarkNames BenchmarkNamesOf(const Report& report) {
  const std::string run = NameOfRun(report);
  std::set<std::string> used;
  BenchmarkNames names;
  names.step = Unused(run + "step", used);
  for (const Record& stage : report.stages) {
    std::string name = run + LabelOf(stage);
    if (!stage.regime.empty() && stage.regime != report.step.regime) name += " " + stage.regime;
    names.stages.push_back(Unused(name, used));
  }
  return names;
}

}  // namespace topdnn
