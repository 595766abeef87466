#include "bench/studies/corun/corun_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "harness/counters/source.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

std::optional<double> MedianOf(const std::optional<Summary>& seconds) {
  return seconds ? std::optional(seconds->median) : std::nullopt;
}

std::string MebibytesText(double bytes) { return ThreeDigits(bytes / (1 << 20)) + " MiB"; }

namespace {

std::string WordOf(SharingVerdict verdict) {
  if (verdict == SharingVerdict::kSlower) return "slower";
  return verdict == SharingVerdict::kFaster ? "faster" : "";
}

// An exact count in millions; nothing if the workload was not counted at all.
Table::Cell MillionsCell(const CorunCounts& counts, const std::string& event) {
  if (counts.events.empty()) return "";
  const auto found = counts.events.find(event);
  return Scaled(found == counts.events.end() ? std::nullopt : found->second, 1e-6);
}

// What others on the machine disturbed has no verdict.
std::string VerdictWord(const CorunTimes& times, Status status) {
  if (!times.slowdown) return "not measured";
  return status == Status::kOk ? WordOf(times.verdict) : "disturbed";
}

void AddRow(const CorunTimes& times, Status status, Table& table) {
  const bool slower = times.verdict == SharingVerdict::kSlower && status == Status::kOk;
  const Ink ink = slower ? Ink::kYellow : Ink::kPlain;
  table.Add({OneLine(times.name),
             WordsOf(times.pass),
             MedianOf(times.solo),
             MedianOf(times.shared),
             times.lost(),
             {SlowdownText(times.slowdown), ink},
             SlowdownRangeText(times.slowdown),
             {VerdictWord(times, status), ink},
             MillionsCell(times.counts, "exact/instructions"),
             MillionsCell(times.counts, std::string(kFlopsEvent))});
}

std::vector<const CorunTimes*> ByLoss(const CorunMember& member) {
  std::vector<const CorunTimes*> stages;
  for (const CorunTimes& stage : member.stages) stages.push_back(&stage);
  std::stable_sort(stages.begin(), stages.end(), [](const CorunTimes* a, const CorunTimes* b) {
    // (stages without a figure are last)
    return a->lost() && (!b->lost() || *a->lost() > *b->lost());
  });
  return stages;
}

std::string HeadingOf(const CorunMember& member, const Style& style) {
  std::string line = fmt::format("{} (CPU{} {}): ", OneLine(member.workload),
                                 member.cpus.size() == 1 ? "" : "s", fmt::join(member.cpus, ","));
  const std::optional<Slowdown>& slowdown = member.iteration.slowdown;
  if (!slowdown) return Wrap(line + "not measured: " + member.reason, style.width, 2);
  const std::string figures = fmt::format("{:.3f} (95 %: {:.3f} to {:.3f})", slowdown->median,
                                          slowdown->ci95.low, slowdown->ci95.high);
  if (member.status == Status::kDegraded) {
    return Wrap(line + "DEGRADED: disturbed, so without a verdict: factor " + figures, style.width,
                2);
  }
  switch (member.iteration.verdict) {
    case SharingVerdict::kSlower:
      line += "slower by the factor " + figures;
      break;
    case SharingVerdict::kFaster:
      line += "faster than alone, factor " + figures;
      break;
    default:
      line += "no difference found, factor " + figures;
  }
  return Wrap(line, style.width, 2);
}

// The line of what the workload has and takes; empty without partitions.
std::string PartitionText(const CorunMember& member, const Style& style) {
  const PartitionReadings& readings = member.readings;
  std::vector<std::string> parts;
  if (member.partition.mask) parts.push_back("ways " + MaskText(*member.partition.mask));
  if (member.partition.bandwidth) {
    parts.push_back(fmt::format("bandwidth {} %", *member.partition.bandwidth));
  }
  if (readings.occupancy) {
    parts.push_back("occupies " + MebibytesText(*readings.occupancy));
  }
  if (readings.bytes_per_second) {
    parts.push_back(fmt::format("memory {} GB/s", ThreeDigits(*readings.bytes_per_second * 1e-9)));
  }
  if (readings.local_bytes_per_second) {
    parts.push_back(fmt::format("of this socket {} GB/s",
                                ThreeDigits(*readings.local_bytes_per_second * 1e-9)));
  }
  if (parts.empty()) return "";
  return Wrap(fmt::format("  {}", fmt::join(parts, ", ")), style.width, 4);
}

constexpr std::array kNodes = {"Frontend_Bound", "Bad_Speculation", "Backend_Bound",
                               "Memory_Bound",   "Core_Bound",      "Retiring"};

std::string NodeText(const PmuCounts& read, const char* node) {
  if (!read.topdown) return std::string(kAbsentText);
  const auto found = read.topdown->find(node);
  if (found == read.topdown->end() || !found->second) return std::string(kAbsentText);
  return fmt::format("{:.1f}", 100 * *found->second);
}

// The Top-Down of the stages and of the iteration; empty if there is none.
std::string TopdownText(const CorunMember& member, std::span<const CorunTimes* const> stages,
                        const Style& style) {
  const auto has = [](const CorunCounts& counts) {
    return counts.solo.topdown.has_value() || counts.shared.topdown.has_value();
  };
  if (!has(member.iteration.counts)) return "";
  std::vector<Table::Column> columns = {{.name = "stage"}, {.name = "pass", .least = 9}};
  for (const char* node : kNodes) {
    columns.push_back({.name = WordsOf(node), .kind = Table::Kind::kRight, .unit = "%"});
  }
  Table table(columns);
  const auto add = [&table](const CorunTimes& times) {
    std::vector<Table::Cell> cells = {OneLine(times.name), WordsOf(times.pass)};
    for (const char* node : kNodes) {
      cells.emplace_back(NodeText(times.counts.solo, node) + " > " +
                         NodeText(times.counts.shared, node));
    }
    table.Add(std::move(cells));
  };
  for (const CorunTimes* stage : stages) {
    if (has(stage->counts)) add(*stage);
  }
  if (!table.empty()) table.AddRule();
  add(member.iteration);
  return Wrap("Top-Down, alone > beside the others, percent of the slots:", style.width, 2) +
         table.Text(style);
}

std::string MemberText(const CorunMember& member, std::size_t most_stages, const Style& style) {
  std::string text = HeadingOf(member, style) + PartitionText(member, style);
  if (!member.iteration.solo && !member.iteration.shared) return text;
  Table table({{.name = "stage"},
               {.name = "pass", .least = 9},
               {.name = "alone", .kind = Table::Kind::kTime},
               {.name = "shared", .kind = Table::Kind::kTime},
               {.name = "lost", .kind = Table::Kind::kTime, .sign = true},
               {.name = "slowdown", .kind = Table::Kind::kRight},
               {.name = "95 %", .kind = Table::Kind::kRight, .rank = 1},
               {.name = "verdict", .kind = Table::Kind::kWord},
               {.name = "instr.", .kind = Table::Kind::kFigure, .unit = "M", .rank = 2},
               {.name = "FLOPs", .kind = Table::Kind::kFigure, .unit = "M", .rank = 2}});
  const std::vector<const CorunTimes*> stages = ByLoss(member);
  const std::size_t shown = std::min(most_stages, stages.size());
  if (stages.size() > 1) {  // a single stage is the iteration
    for (std::size_t i = 0; i < shown; ++i) AddRow(*stages[i], member.status, table);
    table.AddRule();
  }
  AddRow(member.iteration, member.status, table);
  text += table.Text(style);
  if (shown < stages.size()) {
    text += fmt::format("--all shows the other {} stages\n", stages.size() - shown);
  }
  return text + TopdownText(member, std::span(stages).first(shown), style);
}

// Reasons with the workloads that they are of: "no Top-Down (a, b): not supported: ...".
std::string CountReasonsText(const CorunGroup& group, const Style& style) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> workloads;
  for (const CorunMember& member : group.members) {
    const CorunCounts& counts = member.iteration.counts;
    const std::string name = OneLine(member.workload);
    if (!counts.reason.empty()) {
      workloads[{counts.flops ? "counted exactly" : "not counted exactly", counts.reason}]
          .push_back(name);
    }
    if (!counts.topdown_reason.empty()) {
      const bool any = counts.solo.topdown || counts.shared.topdown;
      workloads[{any ? "Top-Down" : "no Top-Down", counts.topdown_reason}].push_back(name);
    }
  }
  std::string text;
  for (const auto& [what, names] : workloads) {
    text += Wrap(fmt::format("{} ({}): {}", what.first, fmt::join(names, ", "), what.second),
                 style.width, 2);
  }
  return text;
}

std::string ReasonsText(const CorunGroup& group, const Style& style) {
  std::string text;
  for (const CorunMember& member : group.members) {
    if (member.status != Status::kDegraded) continue;
    text += Wrap(fmt::format("DEGRADED: {}: {}", OneLine(member.workload), member.reason),
                 style.width, 2);
  }
  return text;
}

// "1.234*", "1.234*?".
std::string CellText(const CorunPair& pair) {
  const bool differs = pair.iteration.verdict == SharingVerdict::kSlower ||
                       pair.iteration.verdict == SharingVerdict::kFaster;
  const bool degraded = pair.status == Status::kDegraded;
  return SlowdownText(pair.iteration.slowdown) + (differs ? "*" : "") + (degraded ? "?" : "");
}

std::string Figure(const char* name, const std::optional<Slowdown>& value) {
  if (!value) return fmt::format("{} {}", name, kAbsentText);
  return fmt::format("{} {:.3f} ({:.3f} to {:.3f})", name, value->median, value->ci95.low,
                     value->ci95.high);
}

}  // namespace

std::string SlowdownText(const std::optional<Slowdown>& value) {
  return value ? fmt::format("{:.3f}", value->median) : std::string(kAbsentText);
}

std::string SlowdownRangeText(const std::optional<Slowdown>& value) {
  return value ? fmt::format("{:.3f}-{:.3f}", value->ci95.low, value->ci95.high) : "";
}

std::string CorunTable(const CorunGroup& group, std::size_t most_stages, const Style& style) {
  std::string text;
  std::size_t timed = 0;
  for (const CorunMember& member : group.members) {
    text += MemberText(member, most_stages, style) + "\n";
    timed += member.iteration.slowdown.has_value();
  }
  if (group.rounds == 0) return text;
  text +=
      Wrap(fmt::format("group: {}, {}, {} (without any loss {}, 1 and 1)", Figure("STP", group.stp),
                       Figure("ANTT", group.antt), Figure("fairness", group.fairness), timed),
           style.width, 2);
  text += Wrap(fmt::format("{} of windows of {:g} s; the figures are medians over the "
                           "rounds, with 95 % intervals; a factor whose interval contains 1 is "
                           "no slowdown",
                           CountText(group.rounds, "round"), group.window_seconds),
               style.width, 2);
  text += ReasonsText(group, style) + CountReasonsText(group, style);
  for (const std::string& note : group.notes) text += Wrap("note: " + note, style.width, 2);
  if (group.share_cpus) {
    text += Wrap(
        "workloads take turns on a CPU, so their times are the means of a window, and "
        "not its medians",
        style.width, 2);
  } else if (group.share_cores) {
    text += Wrap(
        "hyperthreads of one core belong to several workloads, so they also share the "
        "core's units and its L1 and L2",
        style.width, 2);
  }
  return text;
}

std::string CorunMatrixTable(std::span<const CorunPair> matrix, const Style& style) {
  std::vector<std::string> names;  // in their order
  std::map<std::pair<std::string, std::string>, const CorunPair*> pairs;
  for (const CorunPair& pair : matrix) {
    pairs[{pair.victim, pair.aggressor}] = &pair;
    for (const std::string& name : {pair.victim, pair.aggressor}) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<Table::Column> columns = {{.name = "victim \\ beside", .least = 16}};
  std::string text = Wrap(
      "Slowdown of each workload (row) beside each one (column). * the 95 % interval does not "
      "contain 1; ? DEGRADED: other programs had its CPUs for some time",
      style.width, 2);
  for (std::size_t i = 0; i < names.size(); ++i) {
    columns.push_back({.name = OneLine(names[i]), .kind = Table::Kind::kRight});
  }
  Table table(columns);
  for (const std::string& victim : names) {
    std::vector<Table::Cell> cells = {OneLine(victim)};
    for (const std::string& aggressor : names) {
      const auto found = pairs.find({victim, aggressor});
      cells.emplace_back(found == pairs.end() ? std::string(kAbsentText)
                                              : CellText(*found->second));
    }
    table.Add(std::move(cells));
  }
  return text + table.Text(style);
}

}  // namespace topdnn
