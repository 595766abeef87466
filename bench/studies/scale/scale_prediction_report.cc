#include "bench/studies/scale/scale_prediction_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/report/json.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

std::string ModelText(const ScalePrediction& prediction, const Style& style) {
  constexpr double kGiga = 1e-9;
  std::string text = "model of a sum, fitted to " + fmt::format("{}", prediction.points.size()) +
                     " measured ones: ";
  for (const AllreduceModel& model : prediction.models) {
    text += fmt::format(
        "{}{}: latency {}, {} GB/s, relative error {}",
        &model == &prediction.models.front() ? "" : "; ", NameOf(model.algorithm),
        TimeText(model.latency, style.unicode),
        FigureText(model.seconds_per_byte > 0 ? std::optional(kGiga / model.seconds_per_byte)
                                              : std::nullopt),
        PercentText(model.residual));
  }
  if (prediction.distinguished) {
    text += fmt::format("; {} fits best", NameOf(prediction.models.front().algorithm));
  } else {
    text += fmt::format(
        "; one number of ranks does not distinguish the algorithms, so {} is an assumption: time "
        "another number above 1, too, such as 4, each with CPUs of its own",
        NameOf(prediction.models.front().algorithm));
  }
  return Wrap(text, style.width, 2);
}

std::string ErrorText(const ScalePrediction& prediction, const Style& style) {
  std::optional<double> largest;
  std::string bounds, broken;
  for (const PredictedStep& step : prediction.steps) {
    if (step.error) largest = std::max(largest.value_or(0), std::abs(*step.error));
    if (!step.step_bound) continue;
    bounds += fmt::format("{}{} on {}", bounds.empty() ? "" : ", ",
                          PercentText(*step.efficiency_bound), step.ranks);
    if (step.step <= *step.step_bound) continue;
    broken += fmt::format("{}{}", broken.empty() ? "" : ", ", step.ranks);
  }
  std::string text =
      largest ? fmt::format("largest error of a predicted step at the measured points: {}\n",
                            PercentText(*largest))
              : Wrap("error: not known, because no two ranks with CPUs of their own were measured",
                     style.width, 2);
  if (bounds.empty()) return text;
  const std::string verdict =
      broken.empty()
          ? "the predictions are not below them"
          : fmt::format("the prediction on {} ranks is below, so the model is wrong there", broken);
  return text + Wrap(fmt::format("ranks that share CPUs are lower bounds of the efficiency: {}; {}",
                                 bounds, verdict),
                     style.width, 2);
}

}  // namespace

std::string PredictionTable(const ScalePrediction& prediction, const Style& style) {
  if (!prediction.reason.empty()) {
    return fmt::format("no prediction: {}\n", prediction.reason);
  }
  using Kind = Table::Kind;
  Table table({{.name = "ranks", .kind = Kind::kRight},
               {.name = "predicted step", .kind = Kind::kTime},
               {.name = "exposed", .kind = Kind::kTime},
               {.name = "efficiency", .kind = Kind::kPercent},
               {.name = "measured step", .kind = Kind::kTime},
               {.name = "error", .kind = Kind::kRight}});
  constexpr double kPercent = 100;
  for (const PredictedStep& step : prediction.steps) {
    table.Add({fmt::format("{}", step.ranks), step.step, step.exposed, step.efficiency,
               step.measured ? Table::Cell(*step.measured) : Table::Cell(""),
               step.error ? fmt::format("{:+.1f} %", *step.error * kPercent) : std::string()});
  }
  std::string text = "predicted weak scaling (modelled, not measured)\n" + table.Text(style) +
                     ErrorText(prediction, style) + ModelText(prediction, style);
  for (const std::string& assumption : prediction.assumptions) {
    text += Wrap("assumed: " + assumption, style.width, 2);
  }
  return text;
}

void AddPrediction(const ScalePrediction& prediction, Json& json) {
  json["model"] = nullptr;
  json["predicted"] = Json::array();
  json["prediction_reason"] = TextOrNull(prediction.reason);
  if (prediction.models.empty()) return;
  const auto model = [](const AllreduceModel& fitted) {
    return Json{{"algorithm", NameOf(fitted.algorithm)},
                {"latency", JsonNumber(fitted.latency)},
                {"seconds_per_byte", JsonNumber(fitted.seconds_per_byte)},
                {"residual", JsonNumber(fitted.residual)}};
  };
  json["model"] = model(prediction.models.front());
  json["model"]["distinguished"] = prediction.distinguished;
  json["model"]["assumptions"] = prediction.assumptions;
  json["model"]["fits"] = Json::array();
  for (const AllreduceModel& fitted : prediction.models) {
    json["model"]["fits"].push_back(model(fitted));
  }
  json["model"]["points"] = Json::array();
  for (const AllreducePoint& point : prediction.points) {
    json["model"]["points"].push_back(
        {{"ranks", point.ranks}, {"bytes", point.bytes}, {"seconds", JsonNumber(point.seconds)}});
  }
  for (const PredictedStep& step : prediction.steps) {
    json["predicted"].push_back({{"ranks", step.ranks},
                                 {"step", JsonNumber(step.step)},
                                 {"exposed", JsonNumber(step.exposed)},
                                 {"efficiency", JsonNumber(step.efficiency)},
                                 {"measured", JsonNumber(step.measured)},
                                 {"error", JsonNumber(step.error)},
                                 {"step_bound", JsonNumber(step.step_bound)},
                                 {"efficiency_bound", JsonNumber(step.efficiency_bound)}});
  }
}

}  // namespace topdnn
