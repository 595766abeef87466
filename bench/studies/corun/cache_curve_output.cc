// The table and the JSON of a cache curve.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bench/studies/corun/cache_curve.h"
#include "bench/studies/corun/corun_table.h"
#include "harness/report/json.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

constexpr double kMebi = 1 << 20;

// What the point is called in a table: "3 ways", "12 MiB"; with a star if it was not held.
std::string NameOf(const CachePoint& point, bool by_ways) {
  if (!by_ways) {
    return MebibytesText(static_cast<double>(point.occupied_bytes)) + (point.is_void() ? "*" : "");
  }
  return CountText(point.ways, "way");
}

// The star's meaning; empty without one.
std::string NotHeldText(const CacheCurve& curve, const Style& style) {
  std::vector<std::string> names;
  for (const CachePoint& point : curve.points) {
    if (point.is_void()) names.push_back(NameOf(point, curve.by_ways));
  }
  if (names.empty()) return "";
  return Wrap(
      fmt::format("* not held: {}: the neighbour could not keep its part in the cache, so these "
                  "sizes say only what a neighbour costs that reads from DRAM",
                  fmt::join(names, ", ")),
      style.width, 2);
}

Table::Cell RatioCell(const CorunTimes& times) {
  const bool slower = times.verdict == SharingVerdict::kSlower;
  return {SlowdownText(times.slowdown), slower ? Ink::kYellow : Ink::kPlain};
}

std::string PointsTable(const CacheCurve& curve, const Style& style) {
  std::vector<Table::Column> columns = {
      {.name = curve.by_ways ? "has" : "occupied", .kind = Table::Kind::kRight},
      {.name = "mask", .kind = Table::Kind::kWord, .rank = 1},
      {.name = "alone", .kind = Table::Kind::kTime},
      {.name = "here", .kind = Table::Kind::kTime},
      {.name = "slowdown", .kind = Table::Kind::kRight},
      {.name = "95 %", .kind = Table::Kind::kRight},
      {.name = "access", .kind = Table::Kind::kFigure, .unit = "ns"},
      {.name = "alone", .kind = Table::Kind::kFigure, .unit = "ns"},
      {.name = "held", .kind = Table::Kind::kFigure, .unit = "MiB"},
      {.name = "occupancy", .kind = Table::Kind::kFigure, .unit = "MiB", .rank = 2},
      {.name = "memory", .kind = Table::Kind::kFigure, .unit = "GB/s", .rank = 3}};
  // Columns that no point of this kind of curve has are left out.
  const auto keep = [&curve](std::size_t column) {
    const auto any = [&curve](const auto& has) {
      return std::any_of(curve.points.begin(), curve.points.end(), has);
    };
    if (column == 1) return curve.by_ways;
    if (column >= 6 && column <= 8) return !curve.by_ways;
    if (column == 9) return any([](const auto& p) { return p.member.readings.occupancy; });
    if (column == 10) return any([](const auto& p) { return p.member.readings.bytes_per_second; });
    return true;
  };
  std::vector<Table::Column> kept;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (keep(i)) kept.push_back(columns[i]);
  }
  Table table(kept);
  for (const CachePoint& point : curve.points) {
    const CorunTimes& times = point.member.iteration;
    const PartitionReadings& readings = point.member.readings;
    const std::vector<Table::Cell> cells = {NameOf(point, curve.by_ways),
                                            MaskText(point.mask),
                                            MedianOf(times.solo),
                                            MedianOf(times.shared),
                                            RatioCell(times),
                                            SlowdownRangeText(times.slowdown),
                                            Scaled(MedianOf(point.access.shared), 1e9),
                                            Scaled(MedianOf(point.access.solo), 1e9),
                                            Scaled(point.held_bytes, 1 / kMebi),
                                            Scaled(readings.occupancy, 1 / kMebi),
                                            Scaled(readings.bytes_per_second, 1e-9)};
    std::vector<Table::Cell> row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (keep(i)) row.push_back(cells[i]);
    }
    table.Add(std::move(row));
  }
  return table.Text(style);
}

// The indices of the stages, the largest slowdown of any point first.
std::vector<std::size_t> ByLargest(const CacheCurve& curve) {
  const std::size_t stages = curve.points.front().member.stages.size();
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t s = 0; s < stages; ++s) {
    double largest = 0;
    for (const CachePoint& point : curve.points) {
      const auto& slowdown = point.member.stages[s].slowdown;
      if (slowdown) largest = std::max(largest, slowdown->median);
    }
    order.emplace_back(-largest, s);
  }
  std::stable_sort(order.begin(), order.end());
  std::vector<std::size_t> indices;
  indices.reserve(order.size());
  for (const auto& [key, stage] : order) indices.push_back(stage);
  return indices;
}

std::string StagesTable(const CacheCurve& curve, std::size_t most_stages, const Style& style) {
  const std::vector<CorunTimes>& stages = curve.points.front().member.stages;
  if (stages.size() < 2) return "";  // a single stage is the iteration
  std::vector<Table::Column> columns = {{.name = "stage"}, {.name = "pass", .least = 9, .rank = 3}};
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    // On a narrow terminal the first and the last part are the most important ones.
    const bool end = i == 0 || i + 1 == curve.points.size();
    columns.push_back({.name = NameOf(curve.points[i], curve.by_ways),
                       .kind = Table::Kind::kRight,
                       .rank = end ? 0 : 1 + static_cast<int>(i % 2)});
  }
  Table table(columns);
  const std::vector<std::size_t> order = ByLargest(curve);
  const std::size_t shown = std::min(most_stages, order.size());
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<Table::Cell> row = {OneLine(stages[order[i]].name), WordsOf(stages[order[i]].pass)};
    for (const CachePoint& point : curve.points) {
      row.push_back(RatioCell(point.member.stages[order[i]]));
    }
    table.Add(std::move(row));
  }
  std::string text = "\nslowdown of each stage, the largest first\n" + table.Text(style);
  if (shown < order.size()) {
    text += fmt::format("--all shows the other {} stages\n", order.size() - shown);
  }
  return text;
}

std::string ExplanationOf(const CacheCurve& curve) {
  const std::string rounds = fmt::format(
      "{} of windows of {:g} s; a slowdown is the median over the rounds, with "
      "its 95 % interval",
      CountText(curve.rounds, "round"), curve.window_seconds);
  if (curve.by_ways) {
    return rounds + ", of the time with these ways, divided by the time alone with all ways";
  }
  std::string text = rounds +
                     ", of the time beside the neighbour, divided by the time alone. 'access' is "
                     "the time of one access of the neighbour, of which four are under way. 'held' "
                     "is how much of its part it has in the cache beside the workload, an estimate "
                     "from that time";
  if (curve.hit_seconds && curve.miss_seconds) {
    text += fmt::format(": {} ns is a hit, {} ns is a miss", ThreeDigits(*curve.hit_seconds * 1e9),
                        ThreeDigits(*curve.miss_seconds * 1e9));
  }
  return text;
}

// One line for all points with a reason: most often they have the same.
std::string ReasonsOf(const CacheCurve& curve, const Style& style) {
  std::vector<std::string> names;
  const CorunMember* first = nullptr;
  for (const CachePoint& point : curve.points) {
    if (point.member.reason.empty()) continue;
    names.push_back(NameOf(point, curve.by_ways));
    if (first == nullptr) first = &point.member;
  }
  if (first == nullptr) return "";
  return Wrap(
      fmt::format("{}: {}: {}", NameOf(first->status), fmt::join(names, ", "), first->reason),
      style.width, 2);
}

}  // namespace

std::string CacheCurveTable(const CacheCurve& curve, std::size_t most_stages, const Style& style) {
  std::string text = Wrap(
      fmt::format("{} (CPU{} {}), {} of {}{}", OneLine(curve.workload),
                  curve.cpus.size() == 1 ? "" : "s", fmt::join(curve.cpus, ","), curve.cache,
                  MebibytesText(static_cast<double>(curve.cache_bytes)),
                  curve.by_ways ? ", by the ways that it has" : ", partly occupied by a neighbour"),
      style.width, 2);
  if (!curve.points.empty()) {
    text += PointsTable(curve, style) + StagesTable(curve, most_stages, style);
  }
  text += NotHeldText(curve, style) + Wrap(ExplanationOf(curve), style.width, 2);
  for (const std::string& note : curve.notes) text += Wrap("note: " + note, style.width, 2);
  return text + ReasonsOf(curve, style);
}

nlohmann::ordered_json CacheCurveJson(const CacheCurve& curve) {
  auto json = nlohmann::ordered_json::array();
  for (const CachePoint& point : curve.points) {
    nlohmann::ordered_json row;
    if (curve.by_ways) {
      row["ways"] = point.ways;
      row["mask"] = MaskText(point.mask);
    } else {
      row["occupied_bytes"] = point.occupied_bytes;
      row["access_seconds"] = JsonNumber(MedianOf(point.access.shared));
      row["access_seconds_alone"] = JsonNumber(MedianOf(point.access.solo));
      row["held_bytes"] = JsonNumber(point.held_bytes);
      row["held"] = point.held_bytes ? nlohmann::ordered_json(!point.is_void()) : nullptr;
      const auto& slowdown = point.access.slowdown;
      row["access_slowdown"] = slowdown ? JsonNumber(slowdown->median) : nullptr;
    }
    nlohmann::ordered_json member = CorunMemberJson(point.member);
    for (const char* const known : {"workload", "cpus", "ways"}) member.erase(known);
    row.update(member);
    json.push_back(row);
  }
  return json;
}

}  // namespace topdnn
