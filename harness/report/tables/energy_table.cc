#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/report/registry.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

// The packages and the memory; of a machine with a meter, what the meter read.
std::optional<double> Joules(const Record& record) {
  if (const auto meter = record.Event(kMeterEvent)) return meter;
  const auto package = record.Event("energy/package");
  if (!package) return std::nullopt;
  return *package + record.Event("energy/dram").value_or(0);
}

std::optional<double> Quotient(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

// Gokhale and others, "Snowflake: An efficient hardware accelerator for convolutional neural
// networks", ISCAS 2017, abstract. "": no figures for this network.
std::string PublishedText(const Report& report) {
  const auto named = [&report](const char* network) {
    return std::any_of(report.subject.begin(), report.subject.end(), [&](const auto& entry) {
      return entry.first == "network" && entry.second.json() == network;
    });
  };
  const double images = named("alexnet") ? 10.3 : named("googlenet") ? 3.6 : 0;
  if (images == 0) return "";
  return fmt::format(
      "The accelerator Snowflake, as published (ISCAS 2017): {} images per joule,\n"
      "  and 128 Gops/s at 9.48 W, which are 13.5 Gops/W.\n",
      images);
}

}  // namespace

std::string EnergyTableText(const Report& report, const Style& style) {
  if (!Joules(report.step)) return "";
  constexpr Table::Kind kFigure = Table::Kind::kFigure;
  Table table({{.name = "energy"},
               {.name = "pass", .least = 9},
               {.name = "energy", .kind = kFigure, .unit = "J"},
               {.name = "of it idle", .kind = kFigure, .unit = "J"},
               {.name = "power", .kind = kFigure, .unit = "W"},
               {.name = "Gops/W", .kind = kFigure}});
  const auto add = [&table](const Record& record, const std::string& name) {
    const auto joules = Joules(record);
    if (!joules) return;
    table.Add({name, WordsOf(record.pass), joules, record.Event("energy/idle"),
               Quotient(joules, record.Median()), Scaled(Quotient(record.flops, joules), 1e-9)});
  };
  for (const Record& stage : report.stages) add(stage, stage.name);
  add(report.step, "step");
  std::string text = "\n" + table.Text(style);
  if (const auto images = Quotient(report.items_per_step, Joules(report.step))) {
    text += fmt::format("{} images per joule. Gops: an addition or a multiplication is one.\n",
                        ThreeDigits(*images)) +
            PublishedText(report);
  }
  return text;
}

namespace {

const ReportRegistration kEnergyReport(TableReport{
    .name = "energy",
    .place = 3,
    .text = [](const Report& report, const Style& style, const ConsoleOptions&) {
      return EnergyTableText(report, style);
    }});

}  // namespace

}  // namespace topdnn
