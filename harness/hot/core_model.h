// The cycles of a loop's iteration if all its data are in L1 and all its branches are predicted:
// the most of the cycles of each unit, of dispatch, of taken branches, of lines of code, and of the
// longest chain of dependent instructions. Against 92 measured kernels of oneDNN, Eigen and
// OpenBLAS its median error was 4 %, and 40 % for one in ten; so it only names what binds a loop.

#ifndef TOPDNN_HARNESS_HOT_CORE_MODEL_H_
#define TOPDNN_HARNESS_HOT_CORE_MODEL_H_

#include <string>
#include <utility>
#include <vector>

#include "harness/hot/executed_code.h"
#include "harness/hot/form_costs.h"

namespace topdnn {

// An instruction of a path, executed `weight` times per iteration.
struct PathInstruction {
  const ExecutedInstruction* instruction = nullptr;
  double weight = 1;
};

// The longest chain of dependent instructions through the iterations of a loop.
struct DependencyChain {
  double cycles = 0;        // of an iteration
  double instructions = 0;  // of the chain, per iteration
  double fmas = 0;          // of these, multiply-adds
  bool forwarded = false;   // it passes through a store and a load of the same address
};

DependencyChain LongestChain(const std::vector<PathInstruction>& path, const FormCosts& costs);

struct CoreCycles {
  double cycles = 0;
  std::string binds;  // "FMA", "loads", "chain of 4", "store forwarding", "code lines", ...
  // All that takes cycles, from the most to the fewest.
  std::vector<std::pair<std::string, double>> units;
  DependencyChain chain;
};

// Of an iteration of a loop; `chains`: false for code that is not repeated.
CoreCycles ModelPath(const std::vector<PathInstruction>& path, const FormCosts& costs,
                     bool chains = true);

// The slots of the pipeline that the code takes at most, by the measured slots of its forms.
// ASSUMED of a form that was not measured: 2, and 100 more if it may be microcoded.
double MostSlots(const ExecutedCode& code, const FormCosts& costs);

// Whether the instruction multiplies and adds in one.
bool IsFma(const Instruction& instruction);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_CORE_MODEL_H_
