// One sentence of advice for each Top-Down node that is too large, for the tuning of neural network
// kernels.

#ifndef TOPDNN_HARNESS_TOPDOWN_ADVICE_H_
#define TOPDNN_HARNESS_TOPDOWN_ADVICE_H_

#include <string>
#include <vector>

#include "harness/topdown/metric.h"

namespace topdnn {

struct TopdownAdvice {
  std::string node;
  double value = 0;  // fraction of slots; of cycles on level 3
  std::string sentence;
};

// The nodes above their threshold, largest first. A node is included only if none of its children
// is, since their advice is more specific. Thresholds: TMA's (pmu-tools), by node.
std::vector<TopdownAdvice> AdviseOn(const TopdownResult& result);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_ADVICE_H_
