// The axes of a sweep: what its cases differ in.

#ifndef TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_AXES_H_
#define TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_AXES_H_

#include <map>
#include <string>
#include <vector>

namespace topdnn {

struct SweepAxis {
  std::string key;     // in the JSON: "batch"
  std::string option;  // "--batch"
  std::string values;  // for the help: "8,32"
  std::string help;
  std::string usual = {};                 // the value without the option; empty: the profile's own
  bool number = false;                    // the values are whole numbers, from 0
  std::vector<std::string> choices = {};  // the valid values; empty: any
};

// In the order in which a table shows them.
const std::vector<SweepAxis>& SweepAxes();

// The values of each axis, by key. An axis that is not listed has its usual value.
using AxisValues = std::map<std::string, std::vector<std::string>>;

// Splits "8,32". Throws UsageError, in one line, for no value, an unknown value, a value that is no
// number, and a value that is given twice.
std::vector<std::string> ParseAxis(const SweepAxis& axis, const std::string& values);

// One case of the product: its value on each axis, by key.
using CaseValues = std::map<std::string, std::string>;

// The product of all axes; the last axis changes fastest.
std::vector<CaseValues> Product(const AxisValues& values);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_AXES_H_
