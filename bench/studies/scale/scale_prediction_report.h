// The table and the JSON of `topdnn scale --predict`.

#ifndef TOPDNN_BENCH_STUDIES_SCALE_SCALE_PREDICTION_REPORT_H_
#define TOPDNN_BENCH_STUDIES_SCALE_SCALE_PREDICTION_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/studies/scale/scale_prediction.h"
#include "harness/text/style.h"

namespace topdnn {

std::string PredictionTable(const ScalePrediction& prediction, const Style& style);

// Adds the keys "model", "predicted" and "prediction_reason".
void AddPrediction(const ScalePrediction& prediction, nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SCALE_SCALE_PREDICTION_REPORT_H_
