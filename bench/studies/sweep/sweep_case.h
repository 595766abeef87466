// One case of a sweep: a profile that is measured in a separate process.

#ifndef TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_CASE_H_
#define TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_CASE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/studies/sweep/sweep_axes.h"

namespace topdnn {

// What all cases have in common: options of `topdnn profile` and their values, in their order.
using CaseSettings = std::vector<std::pair<std::string, std::string>>;

struct SweepCase {
  CaseValues values;
  int repeat = 1;  // from 1
};

// Letters, digits and "-_."; everything else becomes "_". At most 100 characters.
std::string FileName(std::string text);

// "cnn-train-b32-f32-onednn-shared-p2-1f3a5c7e": the values, readable and safe in a file name, and
// a checksum of the values, the settings and the repeat. Equal cases have equal names.
std::string IdOf(const SweepCase& one, const CaseSettings& settings);

// All cases, round by round, each round in another random order, so that a long disturbance does
// not fall on neighbours of the grid. The same seed gives the same order.
std::vector<SweepCase> ScheduleOf(const AxisValues& values, int repeats, std::uint64_t seed);

// The arguments of `topdnn profile` for the case, without the program. `json`: the file for its
// profile. `cpus`: how many CPUs this process may use. Without a number of threads, a private
// placement leaves one CPU for the input pipeline.
std::vector<std::string> ArgumentsOf(const SweepCase& one, const CaseSettings& settings,
                                     const std::string& json, int cpus);

// The environment variables that limit the ISA.
std::vector<std::pair<std::string, std::string>> EnvironmentOf(const SweepCase& one);

// The row of a case, with the result's keys still null: the values by key, numbers as numbers.
nlohmann::ordered_json RowOf(const SweepCase& one, const CaseSettings& settings);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_CASE_H_
