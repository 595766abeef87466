#include "harness/report/tree_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "harness/report/grouped_names.h"
#include "harness/report/registry.h"
#include "harness/results/groups.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

struct NodeLetter {
  TreeNode node;
  char letter;
  Ink ink;
};

constexpr std::array kNodeLetters = {NodeLetter{TreeNode::kRetiring, 'R', Ink::kGreen},
                                     NodeLetter{TreeNode::kCoreBound, 'C', Ink::kBlue},
                                     NodeLetter{TreeNode::kMemoryBound, 'M', Ink::kRed},
                                     NodeLetter{TreeNode::kBadSpeculation, 'B', Ink::kMagenta},
                                     NodeLetter{TreeNode::kWaiting, 'W', Ink::kYellow}};

// A smaller stage does not change the step.
constexpr double kLeastShare = 0.01;

std::string ShareText(const std::optional<NodeShare>& share) {
  if (!share) return "";
  return fmt::format("{:.0f}-{:.0f}", std::floor(share->low * 100), std::ceil(share->high * 100));
}

void AddTreeRow(const std::string& name, const std::string& pass,
                const std::optional<TopdownTree>& tree, Table& table) {
  if (!tree) return;
  std::vector<Table::Cell> row = {name, pass};
  for (std::size_t i = 0; i < kTreeNodes; ++i) {
    row.emplace_back(ShareText((*tree)[static_cast<TreeNode>(i)]));
  }
  table.Add(std::move(row));
}

bool HasTree(const Report& report) {
  return report.step.tree ||
         std::any_of(report.stages.begin(), report.stages.end(),
                     [](const Record& stage) { return stage.tree.has_value(); });
}

std::optional<double> TreeStageSeconds(const Record& stage) {
  return stage.seconds ? std::optional(stage.seconds->median) : std::nullopt;
}

bool IsLarge(std::optional<double> seconds, const Report& report) {
  const std::optional<double> whole = SecondsForShares(report);
  return !whole || seconds.value_or(0) >= kLeastShare * *whole;
}

// Every reason once, with the stages that it is about.
std::string ReasonsOf(const Report& report, const Style& style, const std::string& what,
                      std::string Record::*reason, bool only_large) {
  GroupedNames reasons;
  for (const Record& stage : report.stages) {
    if ((stage.*reason).empty() || (only_large && !IsLarge(TreeStageSeconds(stage), report)))
      continue;
    reasons.Add(stage.*reason, LabelOf(stage));
  }
  std::string text;
  for (const NamesOfText& group : reasons.groups()) {
    text += Wrap(fmt::format("{}: {} ({})", what, group.text, group.NamesText()), style.width, 2);
  }
  return text;
}

}  // namespace

std::string NodeLetters(const TopdownTree& tree, std::size_t columns) {
  std::string letters;
  double sum = 0;
  for (const NodeLetter& one : kNodeLetters) {
    if (!tree[one.node]) continue;
    sum += tree[one.node]->low;
    const auto end =
        static_cast<std::size_t>(std::lround(std::min(sum, 1.0) * static_cast<double>(columns)));
    if (end > letters.size()) letters.append(end - letters.size(), one.letter);
  }
  letters.append(columns - letters.size(), '.');
  return letters;
}

Ink InkOfNodeLetter(char letter) {
  const auto* const found =
      std::find_if(kNodeLetters.begin(), kNodeLetters.end(),
                   [letter](const NodeLetter& one) { return one.letter == letter; });
  return found == kNodeLetters.end() ? Ink::kDim : found->ink;
}

std::string NodeLegend() {
  return "top-down: R retiring, C core, M memory, B bad speculation, W waiting for threads, each "
         "at its lower end; . not decided, or the front end";
}

std::string TreeTable(const Report& report, const Style& style) {
  if (!HasTree(report)) return "";
  std::vector<Table::Column> columns = {{.name = "stage"}, {.name = "pass", .least = 9}};
  for (const char* name :
       {"retiring", "core", "memory", "L1-L2", "L3", "DRAM", "bad spec.", "waiting", "rest"}) {
    columns.push_back({.name = name, .kind = Table::Kind::kRight, .unit = "%", .rank = 1});
  }
  Table table(std::move(columns));
  for (const Record& stage : report.stages) {
    if (IsLarge(TreeStageSeconds(stage), report)) {
      AddTreeRow(stage.name, WordsOf(stage.pass), stage.tree, table);
    }
  }
  for (const GroupSummary& group : report.groups) {
    if (IsLarge(group.seconds, report)) {
      AddTreeRow(group.name, "all", group.tree, table);
    }
  }
  AddTreeRow("step", "", report.step.tree, table);
  return "\n" +
         Wrap(
             "Top-Down tree: shares of the time, in which the nodes lie, of stages of 1 % of the "
             "step or more",
             style.width, 2) +
         table.Text(style) + ReasonsOf(report, style, "Top-Down tree", &Record::tree_reason, true);
}

std::string UndecidedText(const Report& report, const Style& style) {
  return ReasonsOf(report, style, "not decided what binds", &Record::bound_by_reason, false);
}

namespace {

const ReportRegistration kTree(TableReport{
    .name = "tree",
    .place = 2,
    .text = [](const Report& report, const Style& style, const ConsoleOptions& options) {
      return TreeTable(report, style) + (options.explain ? UndecidedText(report, style) : "");
    }});

}  // namespace

}  // namespace topdnn
