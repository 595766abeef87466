// The tables and the JSON of `topdnn scale`.

#ifndef TOPDNN_BENCH_STUDIES_SCALE_SCALE_REPORT_H_
#define TOPDNN_BENCH_STUDIES_SCALE_SCALE_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/studies/scale/scale.h"
#include "bench/studies/scale/scale_agreement.h"
#include "bench/studies/scale/scale_figures.h"
#include "bench/studies/scale/scale_prediction.h"
#include "harness/statistics/status.h"
#include "harness/text/style.h"

namespace topdnn {

struct ScaleReport {
  std::string network, backend, dtype, source, mpi;
  std::int64_t bucket_bytes = 0;  // at most
  std::vector<RankIdentity> ranks;
  std::vector<GroupFigures> groups;  // ascending; the last one is the largest
  std::vector<double> losses;        // of the largest group
  // Strong scaling: the largest difference of a group's losses from those of one rank, and the
  // bound that it is compared with; absent where they may differ.
  std::optional<double> loss_error, loss_bound;
  std::optional<ScalePrediction> prediction;
  std::vector<std::string> notes;
  Verdict verdict;
  bool complete = true;
};

std::string ScaleTable(const ScaleReport& report, const ScaleOptions& options, const Style& style);
nlohmann::ordered_json ScaleJson(const ScaleReport& report, const ScaleOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SCALE_SCALE_REPORT_H_
