// Prepared sweeps: the grid of a question that people ask often. Adding one is a line of the table.

#ifndef TOPDNN_BENCH_STUDIES_SWEEP_STUDY_H_
#define TOPDNN_BENCH_STUDIES_SWEEP_STUDY_H_

#include <string>
#include <vector>

#include "bench/studies/sweep/sweep_axes.h"
#include "bench/studies/sweep/sweep_case.h"

namespace topdnn {

struct Study {
  std::string name;
  std::string help;
  AxisValues values;
  CaseSettings settings;
};

const std::vector<Study>& Studies();

std::vector<std::string> StudyNames();

// Throws UsageError for an unknown name.
const Study& FindStudy(const std::string& name);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SWEEP_STUDY_H_
