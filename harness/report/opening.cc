#include "harness/report/opening.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/report/grouped_names.h"
#include "harness/results/groups.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

// The parts of a reason, which "; " joins.
std::vector<std::string_view> PartsOf(std::string_view reason) {
  constexpr std::string_view kJoint = "; ";
  std::vector<std::string_view> parts;
  while (!reason.empty()) {
    const std::size_t end = std::min(reason.find(kJoint), reason.size());
    parts.push_back(reason.substr(0, end));
    reason.remove_prefix(std::min(end + kJoint.size(), reason.size()));
  }
  return parts;
}

// The reason without the parts that the step has too.
std::string OwnReason(const Record& stage, const Record& step) {
  const std::vector<std::string_view> known = PartsOf(step.reason);
  std::vector<std::string_view> own;
  for (const std::string_view part : PartsOf(stage.reason)) {
    if (std::find(known.begin(), known.end(), part) == known.end()) own.push_back(part);
  }
  return fmt::format("{}", fmt::join(own, "; "));
}

// "Backend_Bound 42 %": the largest node of level 1 except Retiring. Empty without a Top-Down
// profile.
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
  if (record.bound_by) return fmt::format(" ({})", TextOf(*record.bound_by));
  if (const auto peak = record.PeakFraction()) reasons.push_back(PercentText(peak) + " of peak");
  if (const std::string loss = LargestLoss(record); !loss.empty()) reasons.push_back(loss);
  return reasons.empty() ? "" : fmt::format(" ({})", fmt::join(reasons, ", "));
}

}  // namespace

std::string StatusText(Status status, std::string_view reason) {
  std::string text(NameOf(status));
  if (!reason.empty()) text += fmt::format(": {}", reason);
  return text;
}

bool StandsOut(const Record& stage, const Record& step) {
  return stage.status != step.status || !OwnReason(stage, step).empty();
}

std::string VerdictText(const Report& report, const Style& style) {
  const Record& step = report.step;
  std::string text = Wrap("verdict: " + StatusText(step.status, step.reason), style.width, 2);
  GroupedNames others;
  for (const Record& stage : report.stages) {
    if (!StandsOut(stage, step)) continue;
    others.Add(StatusText(stage.status, OwnReason(stage, step)), LabelOf(stage));
  }
  for (const NamesOfText& group : others.groups()) {
    text += Wrap(fmt::format("  {}: {}", group.NamesText(), group.text), style.width, 4);
  }
  return text;
}

std::string CostliestText(const Report& report, const Style& style) {
  const std::optional<double> whole = SecondsForShares(report);
  if (!whole || !(*whole > 0)) return "";
  std::vector<const Record*> stages;
  for (const Record& stage : report.stages) {
    if (stage.seconds && stage.status != Status::kFailed) stages.push_back(&stage);
  }
  if (stages.empty()) return "";
  constexpr std::size_t kMax = 3;
  const std::size_t shown = std::min(kMax, stages.size());
  std::partial_sort(
      stages.begin(), stages.begin() + static_cast<std::ptrdiff_t>(shown), stages.end(),
      [](const Record* a, const Record* b) { return a->seconds->median > b->seconds->median; });
  stages.resize(shown);
  std::vector<std::string> texts;
  for (const Record* stage : stages) {
    const double share = stage->seconds->median / *whole;
    texts.push_back(fmt::format("{} {}{}", LabelOf(*stage), PercentText(share), WhyOf(*stage)));
  }
  return Wrap(fmt::format("most time: {}", fmt::join(texts, "; ")), style.width, 2);
}

}  // namespace topdnn
