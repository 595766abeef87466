// One sentence for each Top-Down node that is larger than it should be, for whoever tunes a kernel
// of a neural network.

#ifndef TOPDNN_HARNESS_TOPDOWN_ADVICE_H_
#define TOPDNN_HARNESS_TOPDOWN_ADVICE_H_

#include <string>
#include <vector>

#include "harness/topdown/metric.h"

namespace topdnn {

struct TopdownAdvice {
  std::string node;
  double value = 0;  // fraction of slots
  std::string sentence;
};

// The nodes above their threshold, largest first. A node speaks only when none of its
// children does, as theirs say more. Thresholds: TMA's (pmu-tools), by node.
std::vector<TopdownAdvice> AdviseOn(const TopdownResult& result);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_ADVICE_H_
