// What instruction forms cost on this machine: dispatch and busy units per execution, latency, and
// throughput by themselves. Found by time alone, without a PMU.
//
// Each form runs beside instructions that keep one unit busy: the cycles that it adds are the
// cycles that it takes of this unit (Derumigny et al., "PALMED", CGO 2022). Forms are encoded anew
// with other registers and addresses, so no assembler is needed.

#ifndef TOPDNN_HARNESS_HOT_FORM_COSTS_H_
#define TOPDNN_HARNESS_HOT_FORM_COSTS_H_

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "harness/exact/instructions/decode.h"

namespace topdnn {

enum CoreUnit {
  kDispatchUnit,
  kAluUnit,
  kLoadUnit,
  kVectorLoadUnit,
  kStoreUnit,
  kVectorStoreUnit,
  kFmaUnit,
  kFpAddUnit,
  kShuffleUnit,
  kVectorIntegerUnit,
  kMultiplyUnit,
  kMaskUnit,
  kVectorToIntegerUnit,
  kDivideUnit,
  kCoreUnits
};

// "dispatch", "FMA", "loads", ...: both units of loads have one name, as have those of stores.
std::string_view NameOf(CoreUnit unit);

struct FormCost {
  std::array<double, kCoreUnits> units = {};  // cycles
  double alone = 0;                           // cycles per execution of independent ones
  std::optional<double> latency;  // absent: no result is an operand of its next execution

  bool operator==(const FormCost&) const = default;
};

struct FormCosts {
  double dispatch_width = 0;              // slots per cycle; 0: not measured
  double load = 0;                        // cycles of the load unit per load
  std::map<std::string, FormCost> forms;  // by FormOf

  bool operator==(const FormCosts&) const = default;
};

// Adds what one run measured. Other work on the core lowers the dispatch width, and raises all
// costs. So if the widths differ by more than 5 %, only the forms of the wider run are kept.
// Otherwise cycles of dispatch are scaled to the larger width: a form keeps its slots.
void AddMeasured(const FormCosts& measured, FormCosts& costs);

// An example of each form.
using FormExamples = std::map<std::string, Instruction>;

// Measures the dispatch width and the forms, about 5 ms a form; leaves out those that cannot run
// alone. Returns why nothing was measured; empty: it was.
std::string MeasureFormCosts(const FormExamples& examples, FormCosts& measured);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_FORM_COSTS_H_
