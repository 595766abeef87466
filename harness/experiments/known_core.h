// The experiment on data in L1 (core_experiment.h) on code whose share of waiting is known: its
// interval must overlap that of the truth.
//
// The truth comes from the same code on real memory. A stream reads the lines of a buffer in order.
// With as many accesses to a buffer that L1 holds it takes the time without waits: truth = 1 -
// time(small) / time(large). For a chain of multiply-adds, and for a buffer that L1 holds, the
// truth is 0 to 10 %: translated code lies elsewhere, which alone can change its time by that much.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_KNOWN_CORE_H_
#define TOPDNN_HARNESS_EXPERIMENTS_KNOWN_CORE_H_

#include <functional>
#include <string_view>
#include <vector>

#include "harness/experiments/known_mixes.h"

namespace topdnn {

// Runs every case on one thread. `say` is called with the name of each.
std::vector<MixResult> RunKnownCore(const std::vector<Cache>& caches,
                                    const std::function<void(std::string_view)>& say);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_KNOWN_CORE_H_
