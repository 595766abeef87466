#include "harness/report/tables/context_gap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/report/registry.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

std::string SignedTimeText(double seconds, bool unicode) {
  return (seconds < 0 ? "-" : "+") + TimeText(std::abs(seconds), unicode);
}

Table EmptyTable() {
  constexpr Table::Kind kTime = Table::Kind::kTime;
  return Table({{.name = "stage"},
                {.name = "pass", .least = 9},
                {.name = "hot", .kind = kTime},
                {.name = "cold", .kind = kTime},
                {.name = "in network", .kind = kTime},
                {.name = "added", .kind = kTime, .sign = true},
                {.name = "by caches", .kind = kTime, .sign = true},
                {.name = "rest", .kind = kTime, .sign = true}});
}

void AddRow(const std::string& name, const std::string& pass, const std::optional<ContextGap>& gap,
            Table& table) {
  const auto figure = [&gap](double value) { return gap ? std::optional(value) : std::nullopt; };
  const ContextGap g = gap.value_or(ContextGap());
  table.Add({name, WordsOf(pass), figure(g.hot), figure(g.cold), figure(g.in_network),
             figure(g.Added()), figure(g.CachesAtMost()), figure(g.Rest())});
}

void Add(const ContextGap& gap, ContextGap& sum) {
  sum.hot += gap.hot;
  sum.cold += gap.cold;
  sum.in_network += gap.in_network;
}

}  // namespace

double ContextGap::CachesAtMost() const {
  return std::clamp(Added(), 0.0, std::max(0.0, cold - hot));
}

std::optional<ContextGap> ContextGapOf(const Record& record) {
  const auto seconds = [&](const char* regime) -> std::optional<double> {
    const auto found = record.seconds_by_regime.find(regime);
    if (found == record.seconds_by_regime.end() || record.status == Status::kFailed) {
      return std::nullopt;
    }
    return found->second.median;
  };
  const auto hot = seconds("isolated-hot");
  const auto cold = seconds("isolated-cold");
  const auto in_network = seconds("in-network");
  if (!hot || !cold || !in_network) return std::nullopt;
  return ContextGap{*hot, *cold, *in_network};
}

std::string ContextGapText(const Report& report, const Style& style) {
  ContextGap kernels;
  ContextGap reorders;
  double caches = 0;
  Table table = EmptyTable();
  bool any = false;
  for (const Record& stage : report.stages) {
    const std::optional<ContextGap> gap = ContextGapOf(stage);
    AddRow(stage.name, stage.pass, gap, table);
    if (!gap) continue;
    any = true;
    Add(*gap, stage.pass == "reorder" ? reorders : kernels);
    caches += gap->CachesAtMost();
  }
  if (!any) return "";
  table.AddRule();
  AddRow("all kernels", "", kernels, table);
  AddRow("all reorders", "", reorders, table);
  ContextGap all = kernels;
  Add(reorders, all);
  std::string text =
      "\nwhat the network adds to each stage's time by itself\n\n" + table.Text(style);
  if (kernels.hot == 0) return text;  // every kernel FAILED its check
  const std::string sentence = fmt::format(
      "in the network the stages take {:.2f} x the kernels by themselves with hot caches: {} of "
      "reorders, at most {} for colder caches, {} for the rest; with cold caches throughout it "
      "would be {:.2f} x",
      all.in_network / kernels.hot, SignedTimeText(reorders.hot, style.unicode),
      SignedTimeText(caches, style.unicode), SignedTimeText(all.Added() - caches, style.unicode),
      all.cold / kernels.hot);
  return text + "\n" + Wrap(sentence, style.width, 2);
}

namespace {

const ReportRegistration kContextGap(TableReport{
    .name = "context-gap",
    .help = "time each stage hot, cold and in the network, and explain the difference",
    .place = 5,
    .shown = TableReport::Shown::kOnRequest,
    .text = [](const Report& report, const Style& style, const ConsoleOptions&) {
      return ContextGapText(report, style);
    }});

}  // namespace

}  // namespace topdnn
