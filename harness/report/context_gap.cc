#include "harness/report/context_gap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/report/text.h"

namespace topdnn {

namespace {

constexpr std::size_t kNameWidth = 20;
constexpr std::size_t kPassWidth = 16;
constexpr std::size_t kTimeWidth = 10;

std::string SignedTimeText(double seconds, bool unicode) {
  return (seconds < 0 ? "-" : "+") + TimeText(std::abs(seconds), unicode);
}

std::string Line(const std::string& name, const std::string& pass,
                 const std::optional<ContextGap>& gap, const Style& style) {
  std::string line = PadRight(Cut(name, kNameWidth, style.unicode), kNameWidth) + "  " +
                     PadRight(Cut(WordsOf(pass), kPassWidth, style.unicode), kPassWidth);
  const auto add = [&](const std::string& cell) { line += "  " + PadLeft(cell, kTimeWidth); };
  if (!gap) return line + "  " + PadLeft(kAbsentText, kTimeWidth) + "\n";
  for (const double seconds : {gap->hot, gap->cold, gap->in_network}) {
    add(TimeText(seconds, style.unicode));
  }
  for (const double seconds : {gap->Added(), gap->CachesAtMost(), gap->Rest()}) {
    add(SignedTimeText(seconds, style.unicode));
  }
  return line + "\n";
}

std::string Head() {
  std::string line = PadRight("stage", kNameWidth) + "  " + PadRight("pass", kPassWidth);
  for (const char* title : {"hot", "cold", "in network", "added", "by caches", "rest"}) {
    line += "  " + PadLeft(title, kTimeWidth);
  }
  return line + "\n";
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
  std::string lines;
  bool any = false;
  for (const Record& stage : report.stages) {
    const std::optional<ContextGap> gap = ContextGapOf(stage);
    lines += Line(stage.name, stage.pass, gap, style);
    if (!gap) continue;
    any = true;
    Add(*gap, stage.pass == "reorder" ? reorders : kernels);
    caches += gap->CachesAtMost();
  }
  if (!any) return "";
  std::string text = "\nwhat the network adds to each stage's time by itself\n\n" + Head() + lines;
  text += Line("all kernels", "", kernels, style) + Line("all reorders", "", reorders, style);
  ContextGap all = kernels;
  Add(reorders, all);
  text += fmt::format(
      "\nin the network the stages take {:.2f} x the kernels by themselves with hot caches: {} of "
      "reorders, at most {} for colder caches, {} for the rest; with cold caches throughout it "
      "would be {:.2f} x\n",
      all.in_network / kernels.hot, SignedTimeText(reorders.hot, style.unicode),
      SignedTimeText(caches, style.unicode), SignedTimeText(all.Added() - caches, style.unicode),
      all.cold / kernels.hot);
  return text;
}

}  // namespace topdnn
