#include "harness/report/opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "harness/report/text.h"
#include "harness/validity.h"

namespace topdnn {

namespace {

std::string LabelOf(const Record& record) { return record.name + " " + WordsOf(record.pass); }

// "DEGRADED: REASON"
std::string StatusText(const Record& record) {
  std::string text(NameOf(record.status));
  if (!record.reason.empty()) text += ": " + record.reason;
  return text;
}

// "Memory_Bound 42 %", the largest node of level 1 but Retiring; empty without a Top-Down profile.
std::string LargestLoss(const Record& record) {
  if (!record.topdown) return "";
  std::pair<std::string, double> largest;
  for (const char* node : {"Frontend_Bound", "Bad_Speculation", "Backend_Bound"}) {
    const auto found = record.topdown->find(node);
    if (found == record.topdown->end() || !found->second || *found->second <= largest.second) {
      continue;
    }
    largest = {node, *found->second};
  }
  return largest.first.empty() ? ""
                               : fmt::format("{} {:.0f} %", largest.first, 100 * largest.second);
}

std::string WhyOf(const Record& record) {
  std::vector<std::string> reasons;
  if (const auto peak = record.PeakFraction()) reasons.push_back(PercentText(peak) + " of peak");
  if (const std::string loss = LargestLoss(record); !loss.empty()) reasons.push_back(loss);
  return reasons.empty() ? "" : fmt::format(" ({})", fmt::join(reasons, ", "));
}

}  // namespace

std::string VerdictText(const Report& report, const Style& style) {
  std::string text = Wrap("verdict: " + StatusText(report.step), style.width, 2);
  std::vector<std::pair<std::string, std::vector<std::string>>> others;
  for (const Record& stage : report.stages) {
    const std::string status = StatusText(stage);
    if (status == StatusText(report.step)) continue;
    auto place = std::find_if(others.begin(), others.end(),
                              [&](const auto& entry) { return entry.first == status; });
    if (place == others.end()) place = others.insert(others.end(), {status, {}});
    place->second.push_back(LabelOf(stage));
  }
  for (const auto& [status, names] : others) {
    const std::string stages = names.size() > 3
                                   ? fmt::format("{} and {} more", names[0], names.size() - 1)
                                   : fmt::format("{}", fmt::join(names, ", "));
    text += Wrap(fmt::format("  {}: {}", stages, status), style.width, 4);
  }
  return text;
}

std::string CostliestText(const Report& report, const Style& style) {
  if (!report.step.seconds || !(report.step.seconds->median > 0)) return "";
  std::vector<const Record*> stages;
  for (const Record& stage : report.stages) {
    if (stage.seconds && stage.status != Status::kFailed) stages.push_back(&stage);
  }
  if (stages.empty()) return "";
  constexpr std::size_t kMost = 3;
  const std::size_t shown = std::min(kMost, stages.size());
  std::partial_sort(
      stages.begin(), stages.begin() + static_cast<std::ptrdiff_t>(shown), stages.end(),
      [](const Record* a, const Record* b) { return a->seconds->median > b->seconds->median; });
  stages.resize(shown);
  std::vector<std::string> texts;
  for (const Record* stage : stages) {
    const double share = stage->seconds->median / report.step.seconds->median;
    texts.push_back(fmt::format("{} {}{}", LabelOf(*stage), PercentText(share), WhyOf(*stage)));
  }
  return Wrap(fmt::format("most time: {}", fmt::join(texts, "; ")), style.width, 2);
}

}  // namespace topdnn
