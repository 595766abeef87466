// This machine's ceilings, checked against the best values it has reached before, and the ceiling
// that a kernel is compared with.

#ifndef TOPDNN_BENCH_MACHINE_MEASURED_CEILINGS_H_
#define TOPDNN_BENCH_MACHINE_MEASURED_CEILINGS_H_

#include <functional>
#include <string_view>
#include <vector>

#include "harness/probes/ceilings.h"
#include "harness/results/record.h"
#include "harness/user_cache/remembered_best.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

// The best rates in this user's cache for this machine with these libraries.
RememberedBest BestOfThisMachine();
// Remembers these rates; RatesOf includes only those that are OK. If they cannot be stored, prints
// the reason once on standard error.
void RememberRates(const std::vector<RateSeen>& seen);

// How long one measurement of all ceilings takes: a second, or the variable TOPDNN_CEILING_SECONDS.
// Throws UsageError for a variable that is no such number.
double CeilingSeconds();

// Calls MeasureCeilings, marks ceilings below the best remembered ones, and remembers the new ones.
std::vector<Ceiling> MeasureCeilingsOfThisMachine(
    int threads, const std::function<bool(const Ceiling&)>& needed = {});

// The same, measured once per run and width. The first call for a width takes CeilingSeconds().
const std::vector<Ceiling>& MeasuredCeilings(int threads);

// The ceiling, with its verdict, for a kernel that multiplies in this type with code of this ISA on
// this many threads; nullptr if there is none. The integer probes are named after s8 and multiply
// u8 by s8, as the instructions do.
const Ceiling* CeilingOfKernel(const std::vector<Ceiling>& ceilings, std::string_view isa,
                               DataType type, int threads);
// The same, from MeasuredCeilings.
const Ceiling* CeilingOfKernel(std::string_view isa, DataType type, int threads);

// Sets the record's ceiling and its verdict; nullptr: none. An INVALID ceiling sets no value, so
// that no share of it is published.
void HoldTo(const Ceiling* ceiling, Record& record);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_MACHINE_MEASURED_CEILINGS_H_
