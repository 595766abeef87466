// What differs between two measurements besides their times: the machine, the libraries, the
// settings, and what the runs measured of the machine.

#ifndef TOPDNN_BENCH_STUDIES_COMPARE_SETTINGS_DIFFERENCES_H_
#define TOPDNN_BENCH_STUDIES_COMPARE_SETTINGS_DIFFERENCES_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace topdnn {

// One line for each difference, with both values: "threads: 1 in A, 2 in B". `a` and `b` are
// results without their stages (ComparedRun::about).
std::vector<std::string> SettingsDifferences(const nlohmann::ordered_json& a,
                                             const nlohmann::ordered_json& b);

// One line for each ceiling that differs by more than its spreads in A and B together.
std::vector<std::string> CeilingDifferences(const nlohmann::ordered_json& a,
                                            const nlohmann::ordered_json& b);

// Why the times of the two steps are not comparable: another network, mode or batch. Empty if they
// are.
std::string WhyNotComparable(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

// Natural logarithms of the machine's slowdown from A to B (positive: B is slower): the median over
// the ceilings of arithmetic, then that over the others. A group has none if no ceiling of it is OK
// in both.
std::vector<double> CeilingChanges(const nlohmann::ordered_json& a,
                                   const nlohmann::ordered_json& b);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COMPARE_SETTINGS_DIFFERENCES_H_
