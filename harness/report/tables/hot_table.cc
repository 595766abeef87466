#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "harness/report/registry.h"
#include "harness/report/tables/tables.h"
#include "harness/text/grouped_digits.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

bool IsListed(const HotLoop& loop) { return !loop.listing.empty(); }

bool AnyListed(const Record& record) { return record.hot && record.hot->listed(); }

std::string PerAccess(double flops, double accesses, const char* what) {
  if (accesses <= 0) return fmt::format("no {}", what);
  return fmt::format("{:.3g} per {}", flops / accesses, what);
}

// "bound by FMA 97 %; loads 38 %, dispatch 24 %".
std::string BindingText(const HotLoop& loop) {
  constexpr std::size_t kMostUnits = 4;
  constexpr double kLeastUnit = 0.05;
  std::string text = loop.binding ? fmt::format("bound by {} {:.0f} %", loop.binding->what,
                                                100 * loop.binding->share)
                                  : "bound by: " + loop.binding_reason;
  std::vector<std::string> others;
  for (std::size_t u = loop.binding ? 1 : 0; u < loop.units.size() && u < kMostUnits; ++u) {
    const double share = loop.units[u].second / std::max(1e-9, loop.cycles.value_or(0));
    if (share < kLeastUnit) break;
    others.push_back(fmt::format("{} {:.0f} %", loop.units[u].first, 100 * share));
  }
  if (others.empty()) return text;
  return text + (loop.binding ? "; " : "; modelled: ") + fmt::format("{}", fmt::join(others, ", "));
}

std::string LoopText(const HotLoop& loop) {
  const double trips = static_cast<double>(loop.iterations) / static_cast<double>(loop.entries);
  std::string text = fmt::format("  loop  {}\n", loop.place);
  text += fmt::format("    {:.1f} % of the instructions", 100 * loop.instruction_share);
  if (loop.flop_share) text += fmt::format(", {:.1f} % of the FLOPs", 100 * *loop.flop_share);
  text += fmt::format("; {} iterations, {:.1f} each time\n", GroupedDigits(loop.iterations), trips);
  text += fmt::format("    an iteration: {:.0f} instructions, {:.4g} FLOPs, {}, {}",
                      loop.instructions, loop.flops, PerAccess(loop.flops, loop.loads, "load"),
                      PerAccess(loop.flops, loop.stores, "store"));
  if (loop.spills > 0) text += fmt::format(", {:.3g} spills", loop.spills);
  text += '\n';
  if (loop.cycles) {
    text += fmt::format("    {:.1f} cycles an iteration, modelled; {}\n", *loop.cycles,
                        BindingText(loop));
  }
  for (const std::string& line : loop.listing) text += "    " + line + '\n';
  return text;
}

}  // namespace

std::string HotLoopsText(const std::string& name, const std::string& implementation,
                         const HotLoops& hot) {
  if (!hot.listed()) return "";
  std::string text = fmt::format("\n{} ({})\n", name, implementation);
  text += fmt::format("  {} instructions in {} blocks, 95 % of them in {}\n",
                      GroupedDigits(hot.instructions), hot.blocks, hot.blocks_of_95_percent);
  return text + ListedLoopsText(hot);
}

std::string ListedLoopsText(const HotLoops& hot) {
  std::string text;
  for (const HotLoop& loop : hot.loops) {
    if (IsListed(loop)) text += LoopText(loop);
  }
  return text;
}

std::string HotTableText(const Report& report) {
  if (std::none_of(report.stages.begin(), report.stages.end(), AnyListed)) return "";
  std::string text;
  for (const Record& stage : report.stages) {
    const std::string name = stage.name + " " + WordsOf(stage.pass);
    if (stage.hot) {
      text += HotLoopsText(name, stage.implementation, *stage.hot);
    } else if (!stage.hot_reason.empty()) {
      text +=
          fmt::format("\n{} ({})\n  no loops: {}\n", name, stage.implementation, stage.hot_reason);
    }
  }
  return text;
}

namespace {

const ReportRegistration kHot(TableReport{
    .name = "hot",
    .place = 7,
    .text = [](const Report& report, const Style&, const ConsoleOptions&) {
      return HotTableText(report);
    }});

}  // namespace

}  // namespace topdnn
