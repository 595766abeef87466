#include "bench/ceiling_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "harness/probes/ceiling_verdict.h"

namespace topdnn {

namespace {

constexpr std::size_t kMostReasons = 6;
constexpr std::array<std::string_view, 4> kLevels = {"l1", "l2", "llc", "dram"};

std::string ThreadsText(int threads) {
  return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

// The figure without its unit; empty if there is no such ceiling.
std::string Cell(const Ceiling* ceiling) {
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

std::string MultiplyAddTable(const std::vector<Ceiling>& ceilings, const std::set<int>& widths) {
  std::string rows;
  std::vector<std::string> absent;
  std::set<std::string> done;
  for (const Ceiling& first : ceilings) {
    if (!IsMultiplyAdd(first) || first.operands != "l1") continue;
    if (!done.insert(first.name).second) continue;
    const std::string what = fmt::format("{} {}", first.isa, first.type);
    std::string cells;
    bool measured = false;
    for (const int threads : widths) {
      const Ceiling* ceiling = Find(ceilings, first.name, threads);
      measured = measured || (ceiling != nullptr && ceiling->value);
      cells += fmt::format("{:>12}", Cell(ceiling));
    }
    if (measured) {
      rows += fmt::format("  {:<20}{} G{}\n", what, cells, first.unit);
    } else {
      absent.push_back(what);
    }
  }
  std::string header;
  for (const int threads : widths) header += fmt::format("{:>11} ", ThreadsText(threads));
  std::string text = fmt::format("  {:<20}{}\n{}", "multiply and add", header, rows);
  if (!absent.empty()) {
    text += fmt::format("  n/a: {} (the ISA is not usable, above)\n", fmt::join(absent, ", "));
  }
  return text;
}

std::string MemoryTable(const std::vector<Ceiling>& ceilings, const std::set<int>& widths) {
  std::string text = fmt::format("  {:<20}", "memory");
  for (const std::string_view level : kLevels) text += fmt::format("{:>11} ", level);
  text += "\n";
  std::vector<std::pair<std::string, std::string>> absent;  // reason, name
  for (const std::string_view what : {"read", "triad", "copy", "latency"}) {
    for (const int threads : widths) {
      std::string cells;
      bool any = false;
      for (const std::string_view level : kLevels) {
        const Ceiling* ceiling = Find(ceilings, fmt::format("{}/{}", what, level), threads);
        any = any || ceiling != nullptr;
        cells += fmt::format("{:>12}", Cell(ceiling));
        if (ceiling == nullptr || ceiling->value) continue;
        const std::pair<std::string, std::string> why = {ceiling->verdict.reason, ceiling->name};
        if (std::find(absent.begin(), absent.end(), why) == absent.end()) absent.push_back(why);
      }
      if (!any) continue;
      text += fmt::format("  {:<8}{:<12}{} {}\n", what, ThreadsText(threads), cells,
                          what == "latency" ? "ns" : "GB/s");
    }
  }
  for (std::size_t i = 0; i < absent.size();) {
    std::string names;
    const std::string& reason = absent[i].first;
    for (; i < absent.size() && absent[i].first == reason; ++i) {
      names += (names.empty() ? "" : ", ") + absent[i].second;
    }
    text += fmt::format("  n/a: {}: {}\n", names, reason);
  }
  return text;
}

std::string ReasonsText(const std::vector<Ceiling>& ceilings) {
  std::vector<std::string> reasons;
  for (const Status status : {Status::kInvalid, Status::kDegraded}) {
    for (const Ceiling& ceiling : ceilings) {
      const bool shown = !IsMultiplyAdd(ceiling) || ceiling.operands == "l1";
      if (ceiling.verdict.status != status || !ceiling.value || !shown) continue;
      reasons.push_back(fmt::format("  {} {}, {}: {}\n", NameOf(status), ceiling.name,
                                    ThreadsText(ceiling.threads), ceiling.verdict.reason));
    }
  }
  if (reasons.empty()) return "";
  const std::size_t shown = std::min(reasons.size(), kMostReasons);
  const bool starred = std::any_of(reasons.begin(), reasons.end(), [](const std::string& reason) {
    return reason.starts_with("  DEGRADED");
  });
  std::string text = starred ? "  *: DEGRADED, for the reason below\n" : "";
  for (std::size_t i = 0; i < shown; ++i) text += reasons[i];
  if (reasons.size() > shown) {
    text += fmt::format("  and {} more (--all lists them)\n", reasons.size() - shown);
  }
  return text;
}

}  // namespace

std::string CeilingTable(const std::vector<Ceiling>& ceilings) {
  const std::set<int> widths = Widths(ceilings);
  return MultiplyAddTable(ceilings, widths) + "\n" + MemoryTable(ceilings, widths) +
         ReasonsText(ceilings);
}

std::string CeilingList(const std::vector<Ceiling>& ceilings) {
  std::string text;
  for (const Ceiling& ceiling : ceilings) {
    const std::string spread =
        ceiling.spread ? fmt::format("spread {:.1f} %", *ceiling.spread * 100) : "";
    std::string line =
        fmt::format("  {:<30}{:<10} {:>16}  {:<14} {}", ceiling.name, ThreadsText(ceiling.threads),
                    ValueText(ceiling), spread, NameOf(ceiling.verdict.status));
    if (!ceiling.verdict.reason.empty()) line += ": " + ceiling.verdict.reason;
    if (ceiling.value && !ceiling.note.empty()) line += fmt::format(" ({})", ceiling.note);
    text += line + "\n";
  }
  return text;
}

}  // namespace topdnn
