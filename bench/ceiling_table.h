// The measured ceilings as `topdnn machine` prints them: a table of multiply-adds by ISA and type,
// a table of memory by level, and what is wrong with any of them.

#ifndef TOPDNN_BENCH_CEILING_TABLE_H_
#define TOPDNN_BENCH_CEILING_TABLE_H_

#include <string>
#include <vector>

#include "harness/probes/ceilings.h"

namespace topdnn {

// One screen. A value that is DEGRADED has a star, one that is INVALID is not shown; the reasons of
// the first few stand below. Pure.
std::string CeilingTable(const std::vector<Ceiling>& ceilings);

// A line for each, with its spread, verdict and note; those that are absent are in it, too. Pure.
std::string CeilingList(const std::vector<Ceiling>& ceilings);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CEILING_TABLE_H_
