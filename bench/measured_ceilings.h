// This machine's ceilings, held to the best that it has reached before, and the ceiling that a
// kernel is held to.

#ifndef TOPDNN_BENCH_MEASURED_CEILINGS_H_
#define TOPDNN_BENCH_MEASURED_CEILINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/probes/ceilings.h"
#include "harness/record.h"
#include "harness/user_cache/remembered_best.h"
#include "kernels/tensor.h"

namespace topdnn {

// What this user's cache remembers of this machine with these libraries.
RememberedBest BestOfThisMachine();
// Remembers these rates; those that are not OK are not among RatesOf. Where nothing can be kept, it
// says so once, on standard error.
void RememberRates(const std::vector<RateSeen>& seen);

// MeasureCeilings, marked where the machine has reached more before, and remembered.
std::vector<Ceiling> MeasureCeilingsOfThisMachine(int threads);

// The same, measured once a run and width: takes about a second when first asked for a width.
const std::vector<Ceiling>& MeasuredCeilings(int threads);

// The ceiling of a kernel that multiplies in this type, with code of this ISA, on so many threads,
// with its verdict; or nullptr. The integer probes are named after s8 and multiply u8 by s8, as the
// instructions do.
const Ceiling* CeilingOfKernel(const std::vector<Ceiling>& ceilings, std::string_view isa,
                               DataType type, int threads);
// Of MeasuredCeilings.
const Ceiling* CeilingOfKernel(std::string_view isa, DataType type, int threads);

// Gives the record the ceiling that it is held to, with its verdict; nullptr: none. One that is
// INVALID gives it no value, so that no share of it is published.
void HoldTo(const Ceiling* ceiling, Record& record);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_MEASURED_CEILINGS_H_
