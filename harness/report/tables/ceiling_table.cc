#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "harness/probes/ceiling_verdict.h"
#include "harness/report/tables/tables.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

constexpr std::size_t kMaxReasons = 6;
constexpr std::array<std::string_view, 4> kTableLevels = {"l1", "l2", "llc", "dram"};

std::string ThreadsText(int threads) {
  return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

// The figure without its unit; empty if there is no such ceiling.
std::string CeilingCell(const Ceiling* ceiling) {
  if (ceiling == nullptr) return "";
  if (!ceiling->value) return "n/a ";
  if (ceiling->verdict.status >= Status::kInvalid) return "INVALID ";
  const double scaled = *ceiling->value * (IsLatency(*ceiling) ? 1e9 : 1e-9);
  return fmt::format("{:.1f}{}", scaled, ceiling->verdict.status == Status::kDegraded ? '*' : ' ');
}

const Ceiling* Find(const std::vector<Ceiling>& ceilings, std::string_view name, int threads) {
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.name == name && ceiling.threads == threads) return &ceiling;
  }
  return nullptr;
}

std::set<int> Widths(const std::vector<Ceiling>& ceilings) {
  std::set<int> widths;
  for (const Ceiling& ceiling : ceilings) widths.insert(ceiling.threads);
  return widths;
}

bool IsMultiplyAdd(const Ceiling& ceiling) { return !ceiling.type.empty(); }

std::string LineOf(const std::string& text, const Style& style) {
  return Wrap("  " + text, style.width, 4);
}

std::string MultiplyAddTable(const std::vector<Ceiling>& ceilings, const std::set<int>& widths,
                             const Style& style) {
  std::vector<Table::Column> columns = {{.name = "multiply and add", .least = 16}};
  for (const int threads : widths) {
    columns.push_back({.name = ThreadsText(threads) + " ", .kind = Table::Kind::kRight});
  }
  columns.push_back({.name = "", .kind = Table::Kind::kWord});
  Table table(std::move(columns));
  std::vector<std::string> absent;
  std::set<std::string> done;
  for (const Ceiling& first : ceilings) {
    if (!IsMultiplyAdd(first) || first.operands != "l1") continue;
    if (!done.insert(first.name).second) continue;
    const std::string what = fmt::format("{} {}", first.isa, first.type);
    std::vector<Table::Cell> row = {what};
    bool measured = false;
    for (const int threads : widths) {
      const Ceiling* ceiling = Find(ceilings, first.name, threads);
      measured = measured || (ceiling != nullptr && ceiling->value);
      row.emplace_back(CeilingCell(ceiling));
    }
    row.emplace_back("G" + first.unit);
    if (measured) {
      table.Add(std::move(row));
    } else {
      absent.push_back(what);
    }
  }
  std::string text = table.Text(style, 2);
  if (!absent.empty()) {
    text += LineOf(fmt::format("n/a: {} (the ISA is not usable, above)", fmt::join(absent, ", ")),
                   style);
  }
  return text;
}

// "n/a: NAME, NAME: REASON", a line for each run of ceilings with the same reason.
std::string AbsentText(const std::vector<std::pair<std::string, std::string>>& absent,
                       const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < absent.size();) {
    std::string names;
    const std::string& reason = absent[i].first;
    for (; i < absent.size() && absent[i].first == reason; ++i) {
      names += (names.empty() ? "" : ", ") + absent[i].second;
    }
    text += LineOf(fmt::format("n/a: {}: {}", names, reason), style);
  }
  return text;
}

std::string MemoryTable(const std::vector<Ceiling>& ceilings, const std::set<int>& widths,
                        const Style& style) {
  std::vector<Table::Column> columns = {{.name = "memory"}, {.name = ""}};
  for (const std::string_view level : kTableLevels) {
    columns.push_back({.name = std::string(level) + " ", .kind = Table::Kind::kRight});
  }
  columns.push_back({.name = "", .kind = Table::Kind::kWord});
  Table table(std::move(columns));
  std::vector<std::pair<std::string, std::string>> absent;  // reason, name
  for (const std::string_view what : {"read", "triad", "copy", "latency"}) {
    for (const int threads : widths) {
      std::vector<Table::Cell> row = {what, ThreadsText(threads)};
      bool any = false;
      for (const std::string_view level : kTableLevels) {
        const Ceiling* ceiling = Find(ceilings, fmt::format("{}/{}", what, level), threads);
        any = any || ceiling != nullptr;
        row.emplace_back(CeilingCell(ceiling));
        if (ceiling == nullptr || ceiling->value) continue;
        const std::pair<std::string, std::string> why = {ceiling->verdict.reason, ceiling->name};
        if (std::find(absent.begin(), absent.end(), why) == absent.end()) absent.push_back(why);
      }
      row.emplace_back(what == "latency" ? "ns" : "GB/s");
      if (any) table.Add(std::move(row));
    }
  }
  return table.Text(style, 2) + AbsentText(absent, style);
}

std::string ReasonsText(const std::vector<Ceiling>& ceilings, const Style& style) {
  std::vector<std::string> reasons;
  for (const Status status : {Status::kInvalid, Status::kDegraded}) {
    for (const Ceiling& ceiling : ceilings) {
      const bool shown = !IsMultiplyAdd(ceiling) || ceiling.operands == "l1";
      if (ceiling.verdict.status != status || !ceiling.value || !shown) continue;
      reasons.push_back(fmt::format("{} {}, {}: {}", NameOf(status), ceiling.name,
                                    ThreadsText(ceiling.threads), ceiling.verdict.reason));
    }
  }
  if (reasons.empty()) return "";
  const std::size_t shown = std::min(reasons.size(), kMaxReasons);
  const bool starred = std::any_of(reasons.begin(), reasons.end(), [](const std::string& reason) {
    return reason.starts_with("DEGRADED");
  });
  std::string text = starred ? "  *: DEGRADED, for the reason below\n" : "";
  for (std::size_t i = 0; i < shown; ++i) text += LineOf(reasons[i], style);
  if (reasons.size() > shown) {
    text += fmt::format("  and {} more (--all lists them)\n", reasons.size() - shown);
  }
  return text;
}

}  // namespace

std::string CeilingTable(const std::vector<Ceiling>& ceilings, const Style& style) {
  const std::set<int> widths = Widths(ceilings);
  return MultiplyAddTable(ceilings, widths, style) + "\n" + MemoryTable(ceilings, widths, style) +
         ReasonsText(ceilings, style);
}

std::string CeilingList(const std::vector<Ceiling>& ceilings, const Style& style) {
  Table table({{.name = "ceiling", .least = 20},
               {.name = "threads", .kind = Table::Kind::kFigure, .decimals = 0},
               {.name = "value", .kind = Table::Kind::kRight},
               {.name = "spread", .kind = Table::Kind::kPercent},
               {.name = "status", .kind = Table::Kind::kWord},
               {.name = "reason", .kind = Table::Kind::kText, .least = 14, .rank = 1}});
  for (const Ceiling& ceiling : ceilings) {
    std::string reason = ceiling.verdict.reason;
    if (ceiling.value && !ceiling.note.empty()) {
      reason += fmt::format("{}({})", reason.empty() ? "" : " ", ceiling.note);
    }
    table.Add({ceiling.name, static_cast<double>(ceiling.threads), ValueText(ceiling),
               ceiling.spread ? Table::Cell(*ceiling.spread) : Table::Cell(""),
               std::string(NameOf(ceiling.verdict.status)), reason});
  }
  return table.Text(style, 2);
}

}  // namespace topdnn
