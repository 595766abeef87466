#include "bench/studies/scale/scale_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "bench/studies/results/result_file.h"
#include "bench/studies/scale/scale_prediction_report.h"
#include "harness/report/json.h"
#include "harness/statistics/interval.h"
#include "harness/statistics/summary.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// Absent for one rank, which does not communicate.
std::optional<double> CommunicationOf(const GroupFigures& group, bool with_hidden) {
  if (group.ranks == 1 || group.exposed.empty()) return std::nullopt;
  return Median(group.exposed) + (with_hidden ? Median(group.hidden) : 0);
}

std::string SizeText(std::int64_t bytes) {
  constexpr double kKilo = 1e3;
  const auto size = static_cast<double>(bytes);
  if (size < kKilo * kKilo) return ThreeDigits(size / kKilo) + " kB";
  return ThreeDigits(size / kKilo / kKilo) + " MB";
}

std::string VerdictText(const ScaleReport& report, const Style& style) {
  const GroupFigures& last = report.groups.back();
  std::string text = fmt::format("verdict: {}", NameOf(report.verdict.status));
  if (!report.verdict.reason.empty()) text += fmt::format(" ({})", report.verdict.reason);
  const auto step = MedianIfAny(last.step);
  if (!step) return Wrap(text + "; no times", style.width, 2);
  text += fmt::format("; {}: a step of {} images takes {}", CountText(last.ranks, "rank"),
                      last.global_batch, TimeText(step, style.unicode));
  if (const auto exposed = CommunicationOf(last, false)) {
    text += fmt::format(", {} of it ({}) exposed communication", TimeText(exposed, style.unicode),
                        PercentText(*exposed / *step));
  }
  return Wrap(text, style.width, 2);
}

std::string HeadText(const ScaleReport& report, const ScaleOptions& options, const Style& style) {
  const GroupFigures& last = report.groups.back();
  std::string text =
      fmt::format("{} training, {} on {}, batch {} ({} per rank), {} per rank, {}", report.network,
                  report.dtype, report.backend, last.global_batch, last.global_batch / last.ranks,
                  CountText(report.ranks.front().threads, "thread"), report.source);
  text += fmt::format(
      "; gradients in {} of at most {} or one layer, {} on the wire, {}; MPI: {}",
      CountText(std::ssize(last.buckets), "bucket"), SizeText(report.bucket_bytes), options.wire,
      options.no_overlap ? "after the backward pass" : "during the backward pass", report.mpi);
  return Wrap(OneLine(text), style.width, 2);
}

// "fc +2": the first layer, and how many more.
std::string ShortName(const std::string& layers) {
  const auto more = std::count(layers.begin(), layers.end(), ' ');
  return more < 2 ? layers : fmt::format("{} +{}", layers.substr(0, layers.find(' ')), more);
}

std::string BucketTable(const GroupFigures& group, const Style& style) {
  using Kind = Table::Kind;
  Table table({{.name = "bucket", .kind = Kind::kName, .least = 8},
               {.name = "size", .kind = Kind::kRight},
               {.name = "time", .kind = Kind::kTime},
               {.name = "hidden", .kind = Kind::kTime},
               {.name = "exposed", .kind = Kind::kTime},
               {.name = "alone", .kind = Kind::kTime},
               {.name = "GB/s", .kind = Kind::kFigure},
               {.name = "ceiling", .kind = Kind::kPercent}});
  constexpr double kGiga = 1e-9;
  for (const BucketFigures& bucket : group.buckets) {
    table.Add({OneLine(ShortName(bucket.layers)), SizeText(bucket.bytes), bucket.seconds,
               bucket.hidden, bucket.exposed, bucket.alone, Scaled(bucket.bytes_per_second, kGiga),
               bucket.ceiling_share});
  }
  return table.Text(style);
}

std::string RankTable(const ScaleReport& report, const Style& style) {
  using Kind = Table::Kind;
  Table table({{.name = "rank", .kind = Kind::kRight},
               {.name = "host", .kind = Kind::kName},
               {.name = "compute", .kind = Kind::kTime},
               {.name = "of median rank", .kind = Kind::kRight},
               {.name = "slowest in", .kind = Kind::kPercent},
               {.name = "exposed", .kind = Kind::kTime}});
  const GroupFigures& group = report.groups.back();
  constexpr double kPercent = 100;
  for (std::size_t i = 0; i < group.rank.size(); ++i) {
    const RankFigures& rank = group.rank[i];
    table.Add(
        {fmt::format("{}", i), OneLine(report.ranks[i].host), rank.compute,
         rank.excess ? fmt::format("{:+.1f} %", *rank.excess * kPercent) : std::string(kAbsentText),
         rank.slowest, rank.exposed});
  }
  return table.Text(style);
}

std::string IntervalText(std::span<const double> seconds, const Style& style) {
  const auto interval = MedianInterval(seconds);
  if (!interval) return std::string(kAbsentText);
  // "17.5 to 17.7 ms": the unit once, if it is the same.
  std::string low = TimeText(interval->low, style.unicode);
  const std::string high = TimeText(interval->high, style.unicode);
  const std::size_t unit = low.find(' ');
  if (high.ends_with(low.substr(unit))) low.resize(unit);
  return fmt::format("{} to {}", low, high);
}

std::optional<Speedup> SpeedupIn(const ScaleReport& report, const GroupFigures& group, bool weak) {
  const auto one = MedianIfAny(report.groups.front().step);
  const auto own = MedianIfAny(group.step);
  if (report.groups.front().ranks != 1 || !one || !own) return std::nullopt;
  return SpeedupOf(*one, *own, group.ranks, weak);
}

std::string ScalingTable(const ScaleReport& report, bool weak, const Style& style) {
  using Kind = Table::Kind;
  Table table({{.name = "ranks", .kind = Kind::kRight},
               {.name = "step", .kind = Kind::kTime},
               {.name = "95 %", .kind = Kind::kRight},
               {.name = "compute", .kind = Kind::kTime, .rank = 1},
               {.name = "exposed", .kind = Kind::kTime},
               {.name = "speed-up", .kind = Kind::kFigure},
               {.name = "efficiency", .kind = Kind::kPercent}});
  for (const GroupFigures& group : report.groups) {
    const auto speedup = SpeedupIn(report, group, weak);
    table.Add({fmt::format("{}", group.ranks), MedianIfAny(group.step),
               IntervalText(group.step, style), MedianIfAny(group.compute),
               CommunicationOf(group, false),
               speedup ? std::optional(speedup->images) : std::nullopt,
               speedup ? std::optional(speedup->efficiency) : std::nullopt});
  }
  return table.Text(style);
}

Json BucketJson(const BucketFigures& bucket) {
  return {{"layers", bucket.layers},
          {"bytes", bucket.bytes},
          {"seconds", JsonNumber(bucket.seconds)},
          {"hidden", JsonNumber(bucket.hidden)},
          {"exposed", JsonNumber(bucket.exposed)},
          {"alone", JsonNumber(bucket.alone)},
          {"bytes_per_second", JsonNumber(bucket.bytes_per_second)},
          {"ceiling_share", JsonNumber(bucket.ceiling_share)}};
}

// The keys of a group of ranks.
void AddGroup(const GroupFigures& group, Json& json) {
  const auto summary = SummaryIfAny(group.step);
  json["global_batch"] = group.global_batch;
  json["step"] = {{"seconds", SecondsJson(summary)},
                  {"ci95", IntervalJson(MedianInterval(group.step))}};
  const auto step = MedianIfAny(group.step);
  json["images_per_second"] =
      step ? JsonNumber(static_cast<double>(group.global_batch) / *step) : Json();
  json["compute"] = JsonNumber(MedianIfAny(group.compute));
  json["communication"] = JsonNumber(CommunicationOf(group, true));
  json["exposed"] = JsonNumber(CommunicationOf(group, false));
  json["buckets"] = Json::array();
  for (const BucketFigures& bucket : group.buckets) json["buckets"].push_back(BucketJson(bucket));
  json["ceiling"] = nullptr;
  if (group.ceiling) {
    json["ceiling"] = {{"bytes_per_second", JsonNumber(group.ceiling->bytes_per_second)},
                       {"bytes", group.ceiling->bytes}};
  }
}

}  // namespace

std::string ScaleTable(const ScaleReport& report, const ScaleOptions& options, const Style& style) {
  const GroupFigures& last = report.groups.back();
  std::string text = VerdictText(report, style) + HeadText(report, options, style);
  if (!options.scaling.empty()) {
    const bool weak = options.scaling == "weak";
    text += fmt::format("\n{} scaling: {} images {}\n", options.scaling,
                        weak ? last.global_batch / last.ranks : last.global_batch,
                        weak ? "per rank" : "in all");
    text += ScalingTable(report, weak, style);
  }
  if (report.prediction) text += "\n" + PredictionTable(*report.prediction, style);
  text += "\n" + BucketTable(last, style);
  if (last.ceiling) {
    constexpr double kGiga = 1e-9;
    text += Wrap(fmt::format("ceiling: {} GB/s, the best sum over the ranks in this run, of {}",
                             ThreeDigits(last.ceiling->bytes_per_second * kGiga),
                             SizeText(last.ceiling->bytes)),
                 style.width, 2);
  }
  if (last.ranks > 1) text += "\n" + RankTable(report, style);
  text += "\n";
  if (!report.losses.empty()) {
    text += fmt::format("loss: {:.6f} at step 1, {:.6f} at step {}\n", report.losses.front(),
                        report.losses.back(), report.losses.size());
  }
  if (report.loss_error) {
    text += Wrap(
        fmt::format("the losses of all numbers of ranks differ by at most {:.2g}{}",
                    *report.loss_error,
                    report.loss_bound ? fmt::format(" (the bound is {:.2g})", *report.loss_bound)
                                      : std::string()),
        style.width, 2);
  }
  for (const std::string& note : report.notes) text += Wrap(OneLine(note), style.width, 2);
  return text;
}

Json ScaleJson(const ScaleReport& report, const ScaleOptions& options) {
  Json json = NewResult({{"network", report.network},
                         {"mode", "train"},
                         {"dtype", report.dtype},
                         {"backend", report.backend},
                         {"status", NameOf(report.verdict.status)},
                         {"reason", TextOrNull(report.verdict.reason)},
                         {"complete", report.complete},
                         {"partial", !report.complete},
                         {"mpi", report.mpi},
                         {"ranks", report.groups.back().ranks},
                         {"threads", report.ranks.front().threads},
                         {"wire", options.wire},
                         {"overlap", !options.no_overlap},
                         {"bucket_size", report.bucket_bytes},
                         {"scaling", TextOrNull(options.scaling)}});
  AddGroup(report.groups.back(), json);
  json["loss"] = Json::array();
  for (const double loss : report.losses) json["loss"].push_back(JsonNumber(loss));
  json["loss_error"] = JsonNumber(report.loss_error);
  json["loss_bound"] = JsonNumber(report.loss_bound);
  json["by_rank"] = Json::array();
  for (std::size_t i = 0; i < report.groups.back().rank.size(); ++i) {
    const RankFigures& rank = report.groups.back().rank[i];
    json["by_rank"].push_back({{"rank", i},
                               {"host", report.ranks[i].host},
                               {"compute", JsonNumber(rank.compute)},
                               {"excess", JsonNumber(rank.excess)},
                               {"slowest", JsonNumber(rank.slowest)},
                               {"on_cpu", JsonNumber(rank.on_cpu)},
                               {"exposed", JsonNumber(rank.exposed)}});
  }
  json["groups"] = Json::array();
  for (const GroupFigures& group : report.groups) {
    Json row = {{"ranks", group.ranks}};
    AddGroup(group, row);
    const auto speedup = SpeedupIn(report, group, options.scaling == "weak");
    row["speedup"] = speedup ? JsonNumber(speedup->images) : Json();
    row["efficiency"] = speedup ? JsonNumber(speedup->efficiency) : Json();
    json["groups"].push_back(std::move(row));
  }
  if (report.prediction) AddPrediction(*report.prediction, json);
  json["notes"] = report.notes;
  return json;
}

}  // namespace topdnn
