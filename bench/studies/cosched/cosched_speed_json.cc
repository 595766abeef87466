// The speed model of `topdnn cosched` as JSON.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/command_line/command.h"
#include "bench/studies/cosched/cosched_measure.h"
#include "harness/files/input_file.h"
#include "harness/report/json.h"
#include "harness/text/nested_json.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// A value in a file, and its place for messages.
class Reader {
 public:
  Reader(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  [[noreturn]] void Refuse(const std::string& why) const {
    throw UsageError(fmt::format("{}: {}; write it with --write-curves", OneLine(place_), why));
  }

  Reader At(const char* key) const {
    if (!json_.is_object() || !json_.contains(key)) Refuse(fmt::format("has no \"{}\"", key));
    return {json_.at(key), fmt::format("{}: {}", place_, key)};
  }
  std::vector<Reader> Items() const {
    if (!json_.is_array()) Refuse("is not an array");
    std::vector<Reader> items;
    for (const Json& item : json_) {
      items.emplace_back(item, fmt::format("{}[{}]", place_, items.size()));
    }
    return items;
  }
  double Number(double least, double most) const {
    const double value = json_.is_number() ? json_.get<double>() : std::nan("");
    if (!(value >= least && value <= most)) {
      Refuse(fmt::format("must be a number of {} to {}", least, most));
    }
    return value;
  }
  int Whole(int least, int most) const {
    const double value = Number(least, most);
    if (value != std::floor(value)) Refuse("must be a whole number");
    return static_cast<int>(value);
  }
  std::string Text() const {
    if (!json_.is_string()) Refuse("is not text");
    return json_.get<std::string>();
  }

 private:
  const Json& json_;
  std::string place_;
};

constexpr double kMostSeconds = 1e6;
constexpr double kLeastSeconds = 1e-9;

SpeedCurve CurveFrom(const Reader& from) {
  SpeedCurve curve;
  curve.network = from.At("network").Text();
  const std::string mode = from.At("mode").Text();
  if (mode != "train" && mode != "infer") from.At("mode").Refuse("must be train or infer");
  curve.training = mode == "train";
  curve.batch = from.At("batch").Whole(1, 65536);
  curve.startup_seconds = from.At("startup_seconds").Number(0, kMostSeconds);
  curve.change_seconds = from.At("change_seconds").Number(0, kMostSeconds);
  for (const Reader& step : from.At("steps").Items()) {
    const int width = step.At("width").Whole(1, kMostTraceWidth);
    curve.step_seconds[width] = step.At("seconds").Number(kLeastSeconds, kMostSeconds);
  }
  if (curve.step_seconds.empty()) from.At("steps").Refuse("is empty");
  return curve;
}

}  // namespace

Json SpeedModelJson(const SpeedModel& model) {
  Json json = {{"curves", Json::array()}, {"losses", Json::array()}};
  for (const SpeedCurve& curve : model.curves) {
    Json row = {{"network", curve.network},
                {"mode", curve.training ? "train" : "infer"},
                {"batch", curve.batch},
                {"startup_seconds", JsonNumber(curve.startup_seconds)},
                {"change_seconds", JsonNumber(curve.change_seconds)},
                {"steps", Json::array()},
                {"serial_share", JsonNumber(FitAmdahl(curve.step_seconds).serial)}};
    for (const auto& [width, seconds] : curve.step_seconds) {
      row["steps"].push_back({{"width", width}, {"seconds", JsonNumber(seconds)}});
    }
    json["curves"].push_back(row);
  }
  for (const LoadLoss& loss : model.losses) {
    json["losses"].push_back(
        {{"load", JsonNumber(loss.load)}, {"efficiency", JsonNumber(loss.efficiency)}});
  }
  return json;
}

SpeedModel ReadSpeedModel(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  const std::string text = ReadInputFile(
      path, {.most_bytes = kMostBytes, .smaller = "write fewer curves"},
      [&](const std::string& why) { throw UsageError(fmt::format("{}: {}", OneLine(path), why)); });
  const Json json = ParseForeignJson<Json>(text);
  const Reader reader(json, path);
  if (json.is_discarded()) reader.Refuse("is not JSON");
  SpeedModel model;
  for (const Reader& curve : reader.At("curves").Items()) model.curves.push_back(CurveFrom(curve));
  for (const Reader& loss : reader.At("losses").Items()) {
    model.losses.push_back({.load = loss.At("load").Number(1, 1e6),
                            .efficiency = loss.At("efficiency").Number(1e-6, 1e6)});
    const std::size_t count = model.losses.size();
    if (count > 1 && model.losses[count - 2].load >= model.losses[count - 1].load) {
      loss.Refuse("the loads must ascend");
    }
  }
  return model;
}

}  // namespace topdnn
